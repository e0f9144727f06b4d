//! Programs that hooks start to learn from a file what to run: which are named in a hook, and how their files are called. A rule for
//! names rather than a list of them: each takes a dozen, and more with every version. It looks at no files.

/// By what a hook calls them, with what the names of their files begin with. What they run is all that their files are about, so
/// these count in every directory, and so do the directories that they name.
const MANAGERS: [(&str, &[&str]); 15] = [
    ("pre-commit", &["pre-commit"]),
    ("prek", &["pre-commit", "prek"]),
    ("lefthook", &["lefthook"]),
    ("overcommit", &["overcommit", "local-overcommit", "git-hooks"]),
    ("husky", &["husky"]),
    ("lint-staged", &["lint-staged", "lintstaged"]),
    ("nano-staged", &["nano-staged", "nanostaged"]),
    ("simple-git-hooks", &["simple-git-hooks"]),
    ("commitlint", &["commitlint"]),
    ("captainhook", &["captainhook"]),
    ("grumphp", &["grumphp"]),
    ("gitlint", &["gitlint"]),
    ("hk", &["hk"]),
    ("rusty-hook", &["rusty-hook"]),
    ("cog", &["cog"]),
];

/// Programs whose files are the project's own (`Cargo.toml`, `go.mod`) or decide about no code, and words of the shell.
const OTHERS: [&str; 118] = [
    "alias", "basename", "bg", "break", "brew", "bundle", "cargo", "case", "cat", "cd", "chmod", "chown",
    "clear", "cmake", "cmp", "composer", "continue", "corepack", "cp", "curl", "cut", "date", "declare",
    "diff", "dirname", "docker", "done", "dotnet", "echo", "egrep", "env", "esac", "exit", "export", "expr",
    "false", "fd", "fgrep", "fi", "file", "find", "for", "function", "gem", "getopts", "gh", "git",
    "git-lfs", "go", "gradle", "grep", "gzip", "hash", "head", "hostname", "id", "in", "install", "jq",
    "kill", "let", "ln", "local", "ls", "make", "mapfile", "mkdir", "mktemp", "mv", "mvn", "ninja", "npm",
    "patch", "pip", "pip3", "pnpm", "podman", "poetry", "popd", "printf", "pushd", "pwd", "read", "readlink",
    "readonly", "realpath", "return", "rg", "rm", "rmdir", "rustup", "sed", "select", "seq", "set", "shift",
    "sleep", "sort", "ssh", "stat", "stty", "swift", "tail", "tar", "tee", "test", "touch", "tput", "tr",
    "true", "type", "typeset", "uname", "unset", "uv", "wait", "wc", "which",
];

/// What the files of the managers that are named in a text begin with.
pub(super) fn named_in(text: &str) -> impl Iterator<Item = &'static str> {
    let is_named = move |name: &str| {
        let mut found = text.match_indices(name);
        found.any(|(at, _)| {
            !text[..at].ends_with(char::is_alphanumeric)
                && !text[at + name.len()..].starts_with(char::is_alphanumeric)
        })
    };
    MANAGERS.iter().filter(move |(manager, _)| is_named(manager)).flat_map(|(_, stems)| stems.iter().copied())
}

/// Patterns for the names of such files, in any directory: some have one in every package.
pub(super) fn patterns(stem: &str) -> Vec<String> {
    let own = [
        // json, jsonc, json5, js, yml, yaml; ts, toml; cjs, mjs, cts, mts. Not a text about it.
        format!("**/{stem}.[jy]*"),
        format!("**/{stem}.t[so]*"),
        format!("**/{stem}.[cm][jt]s"),
        format!("**/{stem}-local.*"),
    ];
    own.into_iter().chain(patterns_of_program(stem)).collect()
}

/// The same for any program: most take settings from files with their name, and some of these are code.
pub(super) fn patterns_of_program(name: &str) -> [String; 5] {
    [
        // `.lintstagedrc.mjs`, `.lefthook-local/`, `.pre-commit-config.yaml`.
        format!("**/.{name}*"),
        format!("**/{name}.config.*"),
        format!("**/.config/{name}*"),
        // Not a text about it.
        format!("{name}.[!m]*"),
        format!("{name}.m[jt]s"),
    ]
}

/// Whether a program may have settings with its name that are no ordinary work.
pub(super) fn may_have_settings(program: &str) -> bool {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    program.len() > 1
        && program.chars().all(is_of_name)
        && program.starts_with(|c: char| c.is_ascii_alphabetic())
        && !OTHERS.contains(&program)
}

/// Whether a file in the top directory has such a name, roughly.
pub(super) fn may_be_of(stem: &str, name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let rest = name.trim_start_matches('.').strip_prefix(stem);
    rest.is_some_and(|rest| name.starts_with('.') || rest.is_empty() || rest.starts_with(['.', '-']))
}

/// Keys of settings that say what is looked at, or where: their values are ordinary work.
const LOOKED_AT: [&str; 20] = [
    "args",
    "cwd",
    "dir",
    "dirs",
    "directories",
    "directory",
    "exclude",
    "excludes",
    "file",
    "files",
    "folders",
    "glob",
    "globs",
    "ignore",
    "ignores",
    "include",
    "includes",
    "paths",
    "root",
    "scopes",
];

/// Every value in settings that is one word, in whatever format: what manages hooks may run it, or read further settings there.
pub(super) fn values_in(settings: &str) -> Vec<&str> {
    const AROUND: [char; 10] = ['"', '\'', '[', ']', '{', '}', ',', '(', ')', ' '];
    let mut found = Vec::new();
    let mut key = "";
    for line in settings.lines().map(str::trim) {
        let line = line.strip_prefix("- ").unwrap_or(line);
        let (named, values) = match line.split_once([':', '=']) {
            Some((named, values)) => (Some(named.trim_matches(AROUND)), values),
            None => (None, line),
        };
        key = named.unwrap_or(key);
        if LOOKED_AT.contains(&key) {
            continue;
        }
        let values = values.split([',', '[', ']', '{', '}']).map(|value| value.trim_matches(AROUND));
        found.extend(values.filter(|value| !value.is_empty() && !value.contains(char::is_whitespace)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_manager_is_named_by_a_whole_word() {
        assert_eq!(named_in("exec hk run; call_lefthook x").collect::<Vec<_>>(), ["lefthook", "hk"]);
        assert_eq!(named_in("chk recognize cogs").count(), 0);
    }

    #[test]
    fn values_of_settings_are_found_in_any_format() {
        let yaml = "source_dir: tools/lh\nextends:\n  - config/hooks.yml\nroot: web/\nfiles:\n  - src\nrun: npx eslint src/\n";
        assert_eq!(values_in(yaml), ["tools/lh", "config/hooks.yml"]);
        assert_eq!(values_in("[general]\nextra-path=tools/rules\n"), ["general", "tools/rules"]);
        assert_eq!(
            values_in("{ \"plugins\": [\"a/b\", './c'], \"*.ts\": \"eslint --fix\" }"),
            ["a/b", "./c"]
        );
        assert_eq!(values_in("plugin_directory: 'tools/plug'"), ["tools/plug"]);
    }
}
