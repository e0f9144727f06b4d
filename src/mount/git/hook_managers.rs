//! Programs that hooks start to learn from a file what to run: which are named in a hook, and how their files are called. A rule for
//! names rather than a list of them: each takes a dozen, and more with every version. It looks at no files.

/// By what a hook calls them, with what the names of their files begin with.
const MANAGERS: [(&str, &[&str]); 12] = [
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
];

/// What the files of the managers that are named in a text begin with.
pub(super) fn named_in(text: &str) -> impl Iterator<Item = &'static str> {
    MANAGERS
        .iter()
        .filter(move |(manager, _)| text.contains(manager))
        .flat_map(|(_, stems)| stems.iter().copied())
}

/// Patterns for the names of such files, in any directory: some have one in every package.
pub(super) fn patterns(stem: &str) -> [String; 7] {
    [
        // `.lintstagedrc.mjs`, `.lefthook-local/`, `.pre-commit-config.yaml`.
        format!(".{stem}*"),
        // json, jsonc, json5, js, yml, yaml; ts, toml; cjs, mjs, cts, mts. Not a text about it.
        format!("{stem}.[jy]*"),
        format!("{stem}.t[so]*"),
        format!("{stem}.[cm][jt]s"),
        format!("{stem}.config.*"),
        format!("{stem}-local.*"),
        format!(".config/{stem}*"),
    ]
}

/// Whether a file in the top directory has such a name, roughly.
pub(super) fn may_be_of(stem: &str, name: &str) -> bool {
    name.trim_start_matches('.').to_ascii_lowercase().starts_with(stem)
}
