//! Which MCP servers would start a file of the working tree. With `--persona-ref` the tree is a pull request's, and its files must not
//! run as a part of the persona. Programs that look for code there by themselves (`make`, `npm run`) are not seen through.

use crate::model::persona::McpServer;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// What interpreters start when they are given a directory.
const ENTRIES: [&str; 5] = ["package.json", "index.js", "index.mjs", "index.ts", "__main__.py"];

/// The servers, each with the first word that names a file of the tree.
pub(super) fn started_by(
    servers: &BTreeMap<String, McpServer>,
    tree: &Path,
    cwd: &Path,
) -> BTreeMap<String, String> {
    let tree = tree.canonicalize().unwrap_or_else(|_| tree.to_owned());
    let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
    let mut found = BTreeMap::new();
    for (name, server) in servers {
        let is_path = |word: &&String| word.contains('/') && !word.contains("://");
        let command = server.command.iter().filter(is_path).find(|word| is_in(&tree, &cwd, word));
        let words = server.args.iter().chain(server.env.values());
        let word = command.or_else(|| words.clone().find(|word| starts_from(&tree, &cwd, word)));
        found.extend(word.map(|word| (name.clone(), word.clone())));
    }
    found
}

/// Whether a path is in the tree as it is written, or behind its links. The file need not exist yet.
fn is_in(tree: &Path, cwd: &Path, word: &str) -> bool {
    let path = normal(&cwd.join(word));
    let real = path.canonicalize().ok();
    path.starts_with(tree) || real.is_some_and(|real| real.starts_with(tree))
}

/// Whether a word, or what it sets (`--config=x`), is a file of the tree or a directory that can be started. Other directories are data.
fn starts_from(tree: &Path, cwd: &Path, word: &str) -> bool {
    let parts = word.split(['=', ':', ' ', ',']).chain([word]);
    parts.filter(|part| !part.is_empty()).any(|part| {
        let path = cwd.join(part);
        let can_start =
            path.is_file() || ENTRIES.iter().any(|entry| path.join(entry).is_file() && part != ".");
        can_start && is_in(tree, cwd, part)
    })
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
        for path in ["tools/mcp.sh", "server/index.js", "docs/readme.md", "sub/x"] {
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
        ] {
            assert!(!is_untrusted(words), "{words:?}");
        }
    }
}
