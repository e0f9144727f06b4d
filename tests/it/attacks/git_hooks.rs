//! What the user's own hooks lead to: scripts that an agent changes would run at the next `git commit`.

use crate::support::mount::{World, for_each_identity};
use crate::support::sessions::{BACKENDS, paths};

/// A hook, its text, and the script of the project that it runs.
const HOOKS: [(&str, &str, &str); 14] = [
    ("pre-commit", "exec \"$(dirname \"$0\")/../../scripts/lint.sh\"", "scripts/lint.sh"),
    ("commit-msg", ". \"${0%/*}/../../scripts/common.sh\"", "scripts/common.sh"),
    ("pre-push", "ROOT=$(git rev-parse --show-toplevel)\n. \"$ROOT/scripts/lib.sh\"", "scripts/lib.sh"),
    ("post-commit", ". \"$(git rev-parse --show-toplevel)/scripts/top.sh\"", "scripts/top.sh"),
    ("pre-rebase", "sh \"$(git rev-parse --show-toplevel)/scripts/bare\"", "scripts/bare"),
    ("post-merge", "scripts/first.sh", "scripts/second.sh"),
    ("post-checkout", "for f in .hooks.d/checkout/*; do sh \"$f\"; done", ".hooks.d/checkout/new"),
    (
        "pre-applypatch",
        "LOCAL=\"$(git rev-parse --show-toplevel)/.local/$(basename \"$0\")\"; [ -x \"$LOCAL\" ] && exec \"$LOCAL\"",
        ".local/pre-applypatch",
    ),
    ("post-applypatch", "eval \"$(cat tools/text)\"", "tools/text"),
    ("applypatch-msg", "run-parts tools/parts", "tools/parts/one"),
    ("post-rewrite", "DIR=tools/late; . \"$DIR/made.sh\"", "tools/late/made.sh"),
    ("pre-merge-commit", "find tools/found -type f | while read -r f; do sh \"$f\"; done", "tools/found/one"),
    ("pre-auto-gc", "call() { \"$1\"; }; call \"tools/$(echo called)\"", "tools/called"),
    (
        "prepare-commit-msg",
        "grep -q x src/*.c README.md docs/a.md package.json; for f in src/* tests/*; do cat \"$f\"; done > /dev/null
         case $1 in src/*|tests/*) echo docs/* ;; esac; find src -name '*.c' | xargs cat > /dev/null",
        "scripts/lint.sh",
    ),
];

/// The agent's ordinary work.
const ORDINARY: [&str; 8] = [
    "README.md",
    "docs/a.md",
    "package.json",
    "scripts/unrelated.sh",
    "src/a.c",
    "src/new.c",
    "tests/new/t.sh",
    "tests/t.sh",
];

fn install_hooks(world: &World) {
    let mut files: Vec<(&str, &str)> = vec![
        ("scripts/first.sh", "#!/bin/sh\n. scripts/second.sh\n"),
        ("README.md", "one\n"),
        ("docs/a.md", "one\n"),
        ("package.json", "{}\n"),
        ("src/a.c", "one\n"),
        ("tests/t.sh", "true\n"),
    ];
    let new = [".hooks.d/checkout/new", ".local/pre-applypatch", "tools/late/made.sh", "scripts/bare"];
    let scripts = HOOKS.iter().map(|(_, _, script)| *script).filter(|script| !new.contains(script));
    files.extend(scripts.map(|script| (script, "true\n")));
    files.sort_unstable();
    files.dedup();
    world.repository(&files);
    for (hook, text, _) in HOOKS {
        world.write(format!("project/.git/hooks/{hook}"), format!("#!/bin/sh\n{text}\n"));
    }
    world.give();
    world.outside("chmod +x .git/hooks/* scripts/first.sh scripts/lint.sh tools/parts/one tools/called");
}

#[test]
fn what_a_hook_runs_in_any_way_is_not_applied_and_ordinary_work_is() {
    for_each_identity(|world| {
        install_hooks(&world);
        let proof = world.path("proof");
        let mut scripts: Vec<&str> = HOOKS.iter().map(|(_, _, script)| *script).collect();
        scripts.push("scripts/first.sh");
        for backend in BACKENDS {
            let mut attack = String::new();
            for script in &scripts {
                attack += &format!(
                    "mkdir -p $(dirname {script}); echo 'echo {script} >> {}' > {script}; chmod +x {script}; ",
                    proof.display()
                );
            }
            for path in ORDINARY {
                attack += &format!("mkdir -p $(dirname {path}); echo {backend} > {path}; ");
            }
            let did = world.mounted(&["--mount", backend, "--json"], &attack).ends(0);
            let kept = paths(&did.json()["applied"]["outcome"]["review"]["protected"]);
            for path in ORDINARY {
                let now = world.outside(&format!("cat {path} || true"));
                assert_eq!(now, format!("{backend}\n"), "{backend}: {path} is ordinary: {kept:?}");
            }
            let left = world.outside("grep -rl proof . --exclude-dir=.git || true");
            assert_eq!(left, "", "{backend}: applied: {kept:?}");
            for (hook, _, _) in HOOKS {
                // Whether the hook succeeds does not matter.
                world.outside(&format!(".git/hooks/{hook} < /dev/null > /dev/null 2>&1 || true"));
            }
            let ran = std::fs::read_to_string(&proof).unwrap_or_default();
            assert_eq!(ran, "", "{backend}: the agent's programs ran");
        }
    });
}

#[test]
fn hooks_of_the_user_that_look_into_the_project_count_too() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        world.write("home/.gitconfig", "[core]\n\thooksPath = ~/hk\n");
        world.write("home/hk/pre-commit", "#!/bin/sh\n. \"$(dirname \"$0\")/shared.sh\"\n");
        let shared = "LOCAL=\"$(git rev-parse --show-toplevel)/.own/$(basename \"$0\")\"\n[ -x \"$LOCAL\" ] && exec \"$LOCAL\" \"$@\"\ntrue\n";
        world.write("home/hk/shared.sh", shared);
        world.give();
        world.outside("chmod +x ~/hk/pre-commit");
        let proof = world.path("proof");
        for backend in BACKENDS {
            let attack = format!(
                "mkdir .own; printf '#!/bin/sh\\necho x >> {}\\n' > .own/pre-commit; chmod +x .own/pre-commit; echo {backend} > a.txt",
                proof.display()
            );
            world.mounted(&["--mount", backend], &attack).ends(0).says("not applied: .own");
            assert_eq!(world.outside("cat a.txt"), format!("{backend}\n"));
            world.outside("git commit -q --allow-empty -m x");
            assert!(!proof.exists(), "{backend}: the agent's program ran");
        }
    });
}

#[test]
fn no_configuration_of_a_hook_manager_is_applied_nor_what_it_runs() {
    const NAMES: [&str; 12] = [
        "lint-staged.config.js",
        "lint-staged.config.mjs",
        ".lintstagedrc.cjs",
        ".lintstagedrc.yml",
        "lefthook-local.yaml",
        "lefthook-local.json",
        ".lefthook.toml",
        ".lefthook-local.yaml",
        "lefthook.jsonc",
        ".config/lefthook.yml",
        "commitlint.config.ts",
        "tools/check.py",
    ];
    for_each_identity(|world| {
        let config = "pre-commit:\n  commands:\n    check:\n      run: python3 tools/check.py {staged_files}\n      glob: src/*.py\n";
        world.repository(&[("lefthook.yml", config), ("tools/check.py", "pass\n"), ("src/a.py", "pass\n")]);
        world.write(
            "project/.git/hooks/pre-commit",
            "#!/bin/sh\nnpx lint-staged; lefthook run pre-commit; npx commitlint --edit \"$1\"\n",
        );
        world.give();
        for backend in BACKENDS {
            let mut attack = format!("mkdir -p .config; echo {backend} > src/a.py; ");
            for name in NAMES {
                attack += &format!("echo evil > {name}; ");
            }
            let did = world.mounted(&["--mount", backend, "--json"], &attack).ends(0);
            let kept = paths(&did.json()["applied"]["outcome"]["review"]["protected"]);
            assert_eq!(
                world.outside("grep -rl evil . --exclude-dir=.git || true"),
                "",
                "{backend}: {kept:?}"
            );
            assert_eq!(world.outside("cat src/a.py"), format!("{backend}\n"), "{backend}: {kept:?}");
        }
    });
}

#[test]
fn what_a_filter_runs_one_step_on_is_not_applied() {
    for_each_identity(|world| {
        world.repository(&[
            ("filter.sh", ". ./tools/more.sh\n"),
            ("tools/more.sh", "cat\n"),
            ("a.txt", "one\n"),
        ]);
        world.outside("git config filter.f.clean 'sh filter.sh'");
        for backend in BACKENDS {
            let attack = format!("echo evil > tools/more.sh; echo {backend} > a.txt");
            world.mounted(&["--mount", backend], &attack).ends(0).says("not applied: tools/more.sh");
            assert_eq!(world.outside("cat tools/more.sh a.txt"), format!("cat\n{backend}\n"));
        }
    });
}
