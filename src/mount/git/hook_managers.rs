//! Programs that hooks start, and where they are told what to run. It looks at no files, and does not know what else such a program
//! reads, such as a section of `package.json`.

use std::path::PathBuf;

/// Endings of configuration files that these programs read, and of code that they run for their configuration.
const ENDINGS: [&str; 12] =
    ["", ".yml", ".yaml", ".toml", ".json", ".jsonc", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"];

/// Names of programs, with the beginnings of their files.
const MANAGERS: [(&[&str], &[&str]); 13] = [
    (&["pre-commit", "pre_commit", "prek"], &[".pre-commit-config", "prek"]),
    (
        &["lefthook"],
        &[
            "lefthook",
            ".lefthook",
            ".config/lefthook",
            "lefthook-local",
            ".lefthook-local",
            ".config/lefthook-local",
        ],
    ),
    (&["overcommit"], &[".overcommit", ".local-overcommit", ".git-hooks"]),
    (&["husky"], &[".husky", ".huskyrc", "husky.config"]),
    (&["lint-staged"], &[".lintstagedrc", "lint-staged.config"]),
    (&["nano-staged"], &[".nano-staged", "nano-staged", ".nanostagedrc"]),
    (&["commitlint"], &[".commitlintrc", "commitlint.config"]),
    (&["commitizen", "git-cz"], &[".czrc", ".cz", "cz", ".cz-config"]),
    (&["simple-git-hooks"], &[".simple-git-hooks", "simple-git-hooks"]),
    (&["rusty-hook"], &[".rusty-hook"]),
    (&["captainhook"], &["captainhook"]),
    (&["grumphp"], &["grumphp", "grumphp.yml", "grumphp.dist"]),
    (&["githooks"], &[".githooks"]),
];

/// Places in a work tree that the programs which a hook mentions take settings from. They need not be there.
pub(super) fn settings_of(hook: &str) -> impl Iterator<Item = PathBuf> {
    let mentioned = MANAGERS.iter().filter(|(names, _)| names.iter().any(|name| hook.contains(name)));
    mentioned.flat_map(|(_, beginnings)| *beginnings).flat_map(|beginning| {
        let has_dot = beginning.contains('.');
        // `lefthook` alone is a name like any other.
        let endings = ENDINGS.iter().filter(move |ending| has_dot || !ending.is_empty());
        endings.map(move |ending| PathBuf::from(format!("{beginning}{ending}")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_name_that_a_manager_looks_for_counts() {
        let found: Vec<PathBuf> = settings_of("npx lint-staged; lefthook run pre-commit").collect();
        for name in [
            "lint-staged.config.mjs",
            ".lintstagedrc",
            ".lintstagedrc.cts",
            "lefthook-local.toml",
            ".lefthook-local.yaml",
            "lefthook.jsonc",
            ".config/lefthook.yml",
            ".lefthook",
            ".pre-commit-config.yaml",
        ] {
            assert!(found.iter().any(|path| path == Path::new(name)), "{name}");
        }
        assert!(!found.iter().any(|path| path == Path::new("lefthook")));
        assert_eq!(settings_of("make lint").count(), 0);
    }
}
