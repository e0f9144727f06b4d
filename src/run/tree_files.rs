//! Which MCP servers would start a file of the working tree. With `--persona-ref` the tree is a pull request's, and its files must not
//! run as a part of the persona. Programs that look for code there by themselves (`make`, `npm run`) are not seen through.

use crate::model::persona::McpServer;
use crate::mount::git::shell_words::SEARCH_VARIABLES;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// What interpreters start when they are given a directory, whatever the ending.
const ENTRIES: [&str; 9] =
    ["package", "index", "main", "mod", "__main__", "__init__", "pyproject", "Cargo", "go"];

/// They find a file by a part of its name, and start the directory they are in.
const INTERPRETERS: [&str; 16] = [
    "node", "nodejs", "deno", "bun", "tsx", "ts-node", "python", "pypy", "uv", "ruby", "perl", "php", "java",
    "go", "cargo", "dotnet",
];
/// They start a package that is named, and the directory they are in if it is `.`.
const LAUNCHERS: [&str; 7] = ["npx", "bunx", "pnpx", "pnpm", "uvx", "pipx", "npm"];
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "busybox"];

/// The servers, each with the first word that names a file of the tree.
pub(super) fn started_by(
    servers: &BTreeMap<String, McpServer>,
    tree: &Path,
    cwd: &Path,
) -> BTreeMap<String, String> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let tree = Tree { top: real(tree), cwd: real(cwd) };
    let found = |(name, server): (&String, &McpServer)| Some((name.clone(), tree.started_by(server)?));
    servers.iter().filter_map(found).collect()
}

struct Tree {
    top: PathBuf,
    cwd: PathBuf,
}

impl Tree {
    fn started_by(&self, server: &McpServer) -> Option<String> {
        let is_path = |word: &&String| word.contains('/') && !word.contains("://");
        if let Some(command) = server.command.as_ref().filter(is_path).filter(|word| self.has_name(word)) {
            return Some(command.clone());
        }
        let words = || server.command.iter().chain(&server.args);
        let reader = Reader {
            interprets: words().any(|word| is_one_of(word, &INTERPRETERS)),
            is_shell: words().any(|word| is_one_of(word, &SHELLS)),
        };
        if words().next().is_some_and(|command| is_one_of(command, &LAUNCHERS)) && names_here(&server.args) {
            return Some(".".to_owned());
        }
        let searched = server.env.iter().filter(|(name, _)| SEARCH_VARIABLES.contains(&name.as_str()));
        let mut searched = searched.map(|(_, value)| value);
        searched.find(|value| self.is_searched(value)).cloned().or_else(|| {
            let mut words = server.args.iter().chain(server.env.values());
            words.find(|word| self.has_code(word, reader)).cloned()
        })
    }

    /// Whether a path is in the tree as it is written, or behind its links. The file need not exist yet.
    fn has_name(&self, word: &str) -> bool {
        self.readings(word).iter().any(|word| {
            let path = normal(&self.cwd.join(&**word));
            path.starts_with(&self.top) || path.canonicalize().is_ok_and(|real| real.starts_with(&self.top))
        })
    }

    /// Whether one of these directories is in the tree. One without a name is the current directory.
    fn is_searched(&self, value: &str) -> bool {
        let is_elsewhere = |part: &str| {
            let (first, rest) =
                part.split_once('/').map_or((part, None), |(first, rest)| (first, Some(rest)));
            first.starts_with('$') && (rest.is_none() || matches!(first, "$HOME" | "${HOME}"))
        };
        value.split(':').any(|part| !is_elsewhere(part) && self.has_name(part))
    }

    /// Whether a word, or what it sets (`--config=x`), is a file of the tree or a directory that can be started. Other directories
    /// are data, unless a shell may enter them.
    fn has_code(&self, word: &str, reader: Reader) -> bool {
        let unquoted: String = word.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
        let is_end = |c: char| c.is_whitespace() || "=:,;&|()<>`".contains(c);
        let mut parts: Vec<Cow<str>> = Vec::new();
        for text in [word, &unquoted] {
            parts.extend(text.split(is_end).map(Cow::Borrowed));
            // What a reference says for itself: `${NAME:-x}`.
            let inner =
                text.split(|c| is_end(c) || matches!(c, '{' | '}')).map(|part| part.trim_start_matches('-'));
            parts.extend(inner.map(Cow::Borrowed));
        }
        if reader.is_shell && (word.contains("$(") || word.contains('`')) {
            // What is filled in before a path, as the top of the repository.
            let paths = unquoted.split(is_end).filter(|part| part.starts_with('/'));
            parts.extend(paths.map(|path| Cow::Owned(format!("$top{path}"))));
        }
        parts.push(Cow::Borrowed(word));
        parts.iter().filter(|part| !part.is_empty()).any(|part| {
            let part: &str = part;
            let says_where = part.starts_with("./") || part.starts_with("../");
            let is_a_step = matches!(part.trim_end_matches('/'), "." | "..");
            if reader.is_shell && says_where && !is_a_step && self.has_name(part) {
                return true;
            }
            let modules = reader.interprets && !part.contains('/') && !part.starts_with('.');
            let module = modules.then(|| part.replace('.', "/"));
            [Some(part), module.as_deref()]
                .into_iter()
                .flatten()
                .any(|part| self.has_name(part) && self.can_start(part, reader))
        })
    }

    fn can_start(&self, part: &str, reader: Reader) -> bool {
        self.readings(part).iter().any(|part| {
            let path = normal(&self.cwd.join(&**part));
            let is_here = path == self.cwd;
            if path.is_file() || (reader.is_shell && !is_here && path.is_dir()) {
                return true;
            }
            if path.is_dir() && (reader.interprets || !is_here) {
                return ENTRIES.iter().any(|entry| has_file(&path, OsStr::new(entry)));
            }
            // An ending that is left out.
            let is_spelled = reader.interprets || part.contains('/');
            let named = path.parent().zip(path.file_name()).filter(|_| is_spelled);
            named.is_some_and(|(dir, name)| has_file(dir, name))
        })
    }

    /// A word with its references to variables filled in. Which of them lead to the tree is not known here, so each does.
    fn readings<'a>(&self, word: &'a str) -> Vec<Cow<'a, str>> {
        let mut all = vec![Cow::Borrowed(word)];
        if matches!(word, "$PWD" | "${PWD}") {
            all.push(Cow::Borrowed("."));
        }
        // A value alone (`$TOKEN`) is seldom a path.
        if word.contains('$') && word.contains('/') {
            for place in [&self.cwd, &self.top] {
                all.push(Cow::Owned(filled(word, &place.to_string_lossy())));
            }
            all.push(Cow::Owned(filled(word, "")));
        }
        all
    }
}

/// Who reads the words of a server.
#[derive(Clone, Copy)]
struct Reader {
    interprets: bool,
    is_shell: bool,
}

/// Whether a word is one of these programs, by any path and in any version (`python3.12`).
fn is_one_of(word: &str, programs: &[&str]) -> bool {
    word.split_whitespace().any(|word| {
        let name = word.rsplit('/').next().unwrap_or_default();
        programs.contains(&name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'))
    })
}

/// Whether the package that a launcher is given is the current directory.
fn names_here(args: &[String]) -> bool {
    const BEFORE: [&str; 9] =
        ["-y", "--yes", "-q", "-p", "--package", "--from", "--with", "--with-editable", "--spec"];
    let is_here =
        |word: &str| matches!(word.trim_end_matches('/'), "." | "--from=." | "--package=." | "--spec=.");
    let before = |at: usize| at.checked_sub(1).map(|at| args[at].as_str());
    let named = args.iter().enumerate().filter(|(_, word)| is_here(word));
    named.into_iter().any(|(at, word)| {
        word.starts_with('-')
            || before(at).is_none_or(|word| BEFORE.contains(&word) || word == "run" || word == "exec")
    })
}

/// Whether a directory has a file of this name, with whatever ending.
fn has_file(dir: &Path, name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    std::fs::read_dir(dir).into_iter().flatten().flatten().any(|entry| {
        let found = entry.file_name();
        let rest = found.as_encoded_bytes().strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'.') && entry.path().is_file()
    })
}

/// Every `$NAME`, `${NAME}` and `${NAME:-x}` replaced by a value; what a reference says for itself (`x`) is left to the split words.
fn filled(word: &str, value: &str) -> String {
    let mut result = String::new();
    let mut rest = word;
    while let Some(at) = rest.find('$') {
        result.push_str(&rest[..at]);
        result.push_str(value);
        rest = &rest[at + 1..];
        rest = match rest.strip_prefix('{') {
            Some(inner) => inner.split_once('}').map_or("", |(_, after)| after),
            None => rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_'),
        };
    }
    result.push_str(rest);
    result
}

fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_tree_are_found_in_commands_and_arguments() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("tree");
        for path in [
            "tools/mcp.sh",
            "server/index.js",
            "docs/readme.md",
            "sub/x.mjs",
            "sub/pkg/run.py",
            "lib/start.ts",
            "main.js",
        ] {
            let path = tree.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        std::os::unix::fs::symlink("/bin/sh", tree.join("shell")).unwrap();
        std::os::unix::fs::symlink(tree.join("tools"), dir.path().join("link")).unwrap();
        let link = dir.path().join("link/mcp.sh").display().to_string();
        let absolute = tree.join("tools/mcp.sh").display().to_string();
        let is_untrusted = |words: &[&str]| {
            let (command, args) = words.split_first().unwrap();
            let server = McpServer {
                command: Some((*command).to_owned()),
                args: args.iter().map(|arg| (*arg).to_owned()).collect(),
                ..McpServer::default()
            };
            let servers = BTreeMap::from([("s".to_owned(), server)]);
            !started_by(&servers, &tree, &tree.join("sub")).is_empty()
        };
        for words in [
            &["../tools/mcp.sh"][..],
            &["./new.sh"],
            &[&absolute],
            &[&link],
            &["../shell"],
            &["sh", "../tools/mcp.sh"],
            &["node", "../server"],
            &["node", "--require=../tools/mcp.sh"],
            &["sh", "-c", "exec ../tools/mcp.sh"],
            &["sh", "${PWD}/../tools/mcp.sh"],
            &["sh", "$PROJECT/tools/mcp.sh"],
            &["sh", "${NONE:-../tools/mcp.sh}"],
            &["node", "../server/index"],
            &["node", "../tools/mcp"],
            &["tsx", "--import", "../tools/mcp"],
            &["node", "x"],
            &["python3.12", "-m", "pkg.run"],
            &["/usr/bin/env", "deno", "run", "../lib/start"],
            &["node", ".."],
            &["deno", "run", "$PROJECT/main"],
            &["npx", "-y", "."],
            &["uvx", "--from", ".", "server"],
            &["sh", "-c", "cd ../tools && ./mcp.sh"],
            &["sh", "-c", "cd .. && cd tools && exec ./new"],
            &["sh", "-c", "exec '../tools'/mcp.sh"],
            &["sh", "-c", "exec \"$(git rev-parse --show-toplevel)/tools/mcp.sh\""],
        ] {
            assert!(is_untrusted(words), "{words:?}");
        }
        for words in [
            &["npx", "-y", "@scope/server"][..],
            &["/usr/bin/env", "node"],
            &["server", "."],
            &["server", "../docs"],
            &["server", "--url=https://h.example/x"],
            &["uvx", "mcp-server"],
            &["uvx", "x"],
            &["npx", "-y", "@scope/server", "."],
            &["npx", "-y", "@scope/server", "--root", "../docs"],
            &["sh", "-c", "exec npx -y @scope/server"],
            &["node", "/opt/server.js", "--port=80"],
            &["server", "$HOME/notes"],
        ] {
            assert!(!is_untrusted(words), "{words:?}");
        }
        for (name, value, expected) in [
            ("PATH", "tools:/bin", true),
            ("PATH", "/bin:", true),
            ("PATH", "$PWD/bin:$PATH", true),
            ("PATH", "$HOME/bin:/bin:$PATH", false),
            ("PYTHONPATH", "lib", true),
            ("NODE_OPTIONS", "--require ../tools/mcp", true),
            ("NODE_OPTIONS", "--max-old-space-size=4096", false),
            ("TOKEN", "${TOKEN}", false),
        ] {
            let env = BTreeMap::from([(name.to_owned(), value.to_owned())]);
            let server = McpServer { command: Some("server".to_owned()), env, ..McpServer::default() };
            let servers = BTreeMap::from([("s".to_owned(), server)]);
            assert_eq!(
                !started_by(&servers, &tree, &tree.join("sub")).is_empty(),
                expected,
                "{name}={value}"
            );
        }
    }
}
