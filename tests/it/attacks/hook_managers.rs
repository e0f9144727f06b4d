//! Programs that hooks start, and that take from a file of the project what to run: whatever that file is called.

use crate::support::mount::{World, for_each_identity};
use crate::support::sessions::{BACKENDS, paths};

/// Files that one of these managers reads, and that are refused.
const FILES: [&str; 30] = [
    ".pre-commit-config.yaml",
    ".lefthook-local.yaml",
    ".lefthook.json",
    ".lefthook.toml",
    ".lefthook/pre-commit/run.sh",
    ".config/lefthook.yml",
    "lefthook-local.json",
    "lefthook-local.toml",
    "lefthook.jsonc",
    "lefthook.yml",
    "LeftHook.yml",
    ".husky/pre-push",
    ".huskyrc.js",
    "husky.config.js",
    ".lintstagedrc",
    ".lintstagedrc.cjs",
    ".lintstagedrc.mjs",
    ".lintstagedrc.yml",
    "lint-staged.config.cjs",
    "lint-staged.config.mts",
    "packages/api/.lintstagedrc.js",
    "packages/api/lint-staged.config.js",
    ".overcommit.yml",
    ".local-overcommit.yml",
    ".git-hooks/pre_commit/x.rb",
    ".simple-git-hooks.cjs",
    "simple-git-hooks.json",
    "commitlint.config.ts",
    ".commitlintrc.yaml",
    "captainhook.json",
];

/// Files that only have such a word in their name.
const OTHERS: [&str; 5] =
    ["docs/pre-commit.md", "src/lefthook_test.go", "husky-photo.png", "README.md", "lefthook.md"];

const ALL: &str = "pre-commit; npx lefthook; overcommit; husky; npx --no-install lint-staged; simple-git-hooks; commitlint -e; captainhook";

fn attack() -> String {
    let files = FILES.iter().chain(&OTHERS);
    files.map(|file| format!("mkdir -p \"$(dirname {file})\"; echo evil > {file}; ")).collect()
}

fn kept(world: &World, flags: &[&str], script: &str) -> Vec<String> {
    let did = world.mounted(&[flags, &["--json"]].concat(), script).ends(0);
    let mut kept = paths(&did.json()["applied"]["outcome"]["review"]["protected"]);
    kept.sort();
    kept
}

#[test]
fn no_configuration_of_a_hook_manager_is_applied_whatever_its_name() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        world.outside(&format!(
            "printf '#!/bin/sh\\n{ALL}\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit"
        ));
        let mut expected = FILES.map(str::to_owned).to_vec();
        expected.sort();
        for backend in BACKENDS {
            let mut kept = kept(&world, &["--mount", backend], &attack());
            // Directories of theirs are refused as well.
            kept.retain(|path| !FILES.iter().any(|file| file.starts_with(&format!("{path}/"))));
            assert_eq!(kept, expected, "{backend}");
            for file in OTHERS {
                assert!(world.project().join(file).exists(), "{backend}: {file}");
            }
            world.outside("git clean -qfdx");
        }
    });
}

#[test]
fn a_manager_is_found_behind_scripts_and_links() {
    // What the user has, what the agent changes, and whether that is refused.
    const WAYS: [(&str, &str, &str); 4] = [
        // As husky sets it up.
        (
            "mkdir -p .husky/_; echo '. .husky/h' > .husky/_/pre-commit; echo 'npx lint-staged' > .husky/pre-commit; git config core.hooksPath .husky/_",
            "echo evil > .lintstagedrc.mjs",
            ".lintstagedrc.mjs",
        ),
        (
            "mkdir scripts; printf '#!/bin/sh\\nnpx lefthook run x\\n' > scripts/hook.sh; echo 'exec ./scripts/hook.sh' > .git/hooks/pre-commit",
            "echo evil > lefthook.jsonc",
            "lefthook.jsonc",
        ),
        (
            "mkdir ci; echo x > ci/hooks.yml; ln -s ci/hooks.yml lefthook.yml; echo 'lefthook run x' > .git/hooks/pre-commit",
            "echo evil > ci/hooks.yml",
            "ci/hooks.yml",
        ),
        (
            "echo 'lefthook run x' > .git/hooks/pre-commit",
            "mkdir other; echo evil > other/lefthook.yml; ln -s other .config",
            ".config",
        ),
    ];
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        for (setup, attack, path) in WAYS {
            world.outside(&format!("mkdir -p .git/hooks; {setup}"));
            for backend in BACKENDS {
                let kept = kept(&world, &["--mount", backend], &format!("{attack}; echo {backend} > a.txt"));
                assert!(kept.contains(&path.to_owned()), "{backend}: {setup}: {kept:?}");
                assert_eq!(world.outside("cat a.txt; rm -rf other"), format!("{backend}\n"));
            }
            world.outside("rm -f .git/hooks/pre-commit; git config --unset core.hooksPath || true; git checkout -q .; git clean -qfdx");
        }
    });
}

/// Settings of managers, with what they name: code, more settings, and directories with code.
const NAMED: [(&str, &str, &str); 5] = [
    (
        "lefthook.yml",
        "source_dir: tools/lh\nextends:\n  - config/hooks.yml\nroot: src/\npre-commit:\n  jobs:\n    - run: npx eslint src/\n      glob: src/*.py\n",
        "tools/lh/commit-msg/check",
    ),
    (
        "config/hooks.yml",
        "commit-msg:\n  commands:\n    a:\n      run: sh config/far.sh\n",
        "config/hooks.yml",
    ),
    (".gitlint", "[general]\nextra-path=tools/rules\n", "tools/rules/new.py"),
    (
        ".overcommit.yml",
        "plugin_directory: 'tools/plug'\nPreCommit:\n  X:\n    include: src\n",
        "tools/plug/pre_commit/a.rb",
    ),
    ("config/far.sh", "true\n", "config/far.sh"),
];

/// Settings that programs with such names read, known or not.
const OF_ANY_NAME: [&str; 9] = [
    "hk.pkl",
    ".rusty-hook.toml",
    "cog.toml",
    "sometool.pkl",
    ".sometool.yml",
    ".sometoolrc.js",
    "packages/api/.sometoolrc.js",
    "sometool.config.mjs",
    ".config/sometool.toml",
];

#[test]
fn what_settings_of_a_manager_name_and_those_of_any_program_that_a_hook_runs_are_not_applied() {
    for_each_identity(|world| {
        let mut files: Vec<(&str, &str)> = NAMED.iter().map(|(file, text, _)| (*file, *text)).collect();
        files.extend([
            ("tools/lh/commit-msg/check", "true\n"),
            ("tools/rules/my.py", "pass\n"),
            ("tools/plug/pre_commit/a.rb", "\n"),
        ]);
        let ordinary =
            ["src/a.py", "src/sometool.rs", "sometool.md", "Cargo.toml", "go.mod", "tools/other.py"];
        files.extend(ordinary.map(|file| (file, "one\n")));
        world.repository(&files);
        let hook = "#!/bin/sh\nlefthook run x; gitlint; overcommit --run; hk run x; rusty-hook run; cog check\n\
                    if sometool check \"$@\"; then cargo test && go vet; fi\n";
        world.write("project/.git/hooks/pre-commit", hook);
        world.give();
        let mut expected: Vec<String> =
            NAMED.iter().map(|(_, _, path)| *path).chain(OF_ANY_NAME).map(str::to_owned).collect();
        expected.sort();
        for backend in BACKENDS {
            let write =
                |path: &str, text: &str| format!("mkdir -p $(dirname {path}); echo {text} >> {path}; ");
            let attack: String = expected.iter().map(|path| write(path, "evil")).collect();
            let work: String = ordinary.iter().map(|path| write(path, backend)).collect();
            let mut kept = kept(&world, &["--mount", backend], &(attack + &work));
            // Directories of theirs are refused as well.
            kept.retain(|path| !expected.iter().any(|file| file.starts_with(&format!("{path}/"))));
            assert_eq!(kept, expected, "{backend}");
            for path in ordinary {
                assert!(world.outside(&format!("cat {path}")).contains(backend), "{backend}: {path}");
            }
            world.outside("git checkout -q .");
        }
    });
}
