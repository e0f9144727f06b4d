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

/// The text of a hook, and what of the project it runs without naming all of it.
const UNSPELLED: [(&str, &str); 24] = [
    ("exec node scripts/check", "scripts/check.js"),
    ("exec node scripts/later", "scripts/later.mjs"),
    ("exec deno run scripts/deno", "scripts/deno.ts"),
    ("D=scripts/in; exec node \"$D/deep\"", "scripts/in/deep.js"),
    ("python3 checks", "checks/__main__.py"),
    ("python3 whole", "whole/helper.py"),
    ("python3 -m tools.module", "tools/module/__main__.py"),
    ("python3 -c 'import json'", "json.py"),
    ("export PATH=\"$PWD/tools/path:$PATH\"; git status > /dev/null", "tools/path/git"),
    (
        "B=\"$(git rev-parse --show-toplevel)/tools/later\"; PATH=$B:$PATH git status > /dev/null",
        "tools/later/git",
    ),
    ("PYTHONPATH=tools/py python3 -c 'import lint'", "tools/py/lint.py"),
    ("ruby -r./s19/check -e 1", "s19/check.rb"),
    ("ruby -I lib/rb -rserver -e Server.run", "lib/rb/server.rb"),
    ("perl -Is12/lib -MFoo -e 1", "s12/lib/Foo.pm"),
    ("node --require ./s13/first ./s13/second", "s13/first.cjs"),
    ("git -c core.hooksPath=s42/hooks commit -q --allow-empty -m x", "s42/hooks/pre-commit"),
    ("each() { for f in \"$1\"/*; do \"$f\"; done; }; each t4/hooks", "t4/hooks/new"),
    ("git ls-files 't37/*.sh' | xargs -n1 bash", "t37/new.sh"),
    (
        "#!/usr/bin/env python3\nimport glob\nfor f in glob.glob('u1/checks/*.py'): exec(open(f).read())",
        "u1/checks/new.py",
    ),
    (
        "#!/usr/bin/env python3\nimport os, subprocess\nfor f in os.listdir('u5/c'):\n  subprocess.run(['sh', 'u5/c/' + f])",
        "u5/c/new",
    ),
    ("#!/usr/bin/env python3\nimport importlib\nimportlib.import_module('u3.mod')", "u3/mod.py"),
    ("#!/usr/bin/env python3\nimport sys\nsys.path.insert(0, 'u4/lib')\nimport late", "u4/lib/late.py"),
    ("#!/usr/bin/env node\nrequire('child_process').execFileSync('node', ['v6/tool'])", "v6/tool.js"),
    (
        "#!/usr/bin/env node\nfor (const f of require('fs').readdirSync('v1/c')) require(process.cwd() + '/v1/c/' + f)",
        "v1/c/new.js",
    ),
];

/// Hooks that only look at the project, as most do.
const LOOKING: [&str; 8] = [
    "npx eslint src/ && npm test",
    "npm --prefix web test; make -C src check; git -C src diff --quiet",
    "black . && pytest tests; flake8 . src; python3 -m black src tests",
    "export PATH=\"/usr/local/bin:$HOME/bin:$PATH\"; cargo test",
    "git ls-files 'src/*.php' | xargs -n1 php -l; node --test tests",
    "git push origin main; test -f app || echo index",
    "#!/usr/bin/env python3\nimport glob, subprocess\nfor f in glob.glob('src/**/*.py'):\n  subprocess.run(['black', f])",
    "#!/usr/bin/env node\nrequire('child_process').execFileSync('eslint', ['src/'])",
];

/// What an agent may do where these hooks are.
const STILL_ORDINARY: [&str; 15] = [
    "Cargo.toml",
    "app.js",
    "bin/tool",
    "index.js",
    "local/bin/x",
    "main.py",
    "package.json",
    "src/__init__.py",
    "src/a.py",
    "src/index.js",
    "src/new.ts",
    "test.js",
    "tests/index.js",
    "tests/test_a.py",
    "web/src/x.js",
];

#[test]
fn what_a_hook_names_without_an_ending_or_looks_for_is_not_applied() {
    for_each_identity(|world| {
        let mut files: Vec<(&str, &str)> = vec![
            ("scripts/check.js", "0\n"),
            ("checks/__main__.py", "pass\n"),
            ("whole/__main__.py", "import helper\n"),
            ("whole/helper.py", "pass\n"),
            ("tools/py/lint.py", "pass\n"),
            ("t37/old.sh", "true\n"),
            ("u1/checks/old.py", "pass\n"),
            ("u5/c/old", "true\n"),
            ("v1/c/old.js", "0\n"),
        ];
        files
            .extend(STILL_ORDINARY.iter().filter(|path| **path != "src/new.ts").map(|path| (*path, "one\n")));
        world.repository(&files);
        let hooks = UNSPELLED.iter().map(|(text, _)| text).chain(&LOOKING);
        for (number, text) in hooks.enumerate() {
            let start = if text.starts_with("#!") { "" } else { "#!/bin/sh\n" };
            world.write(format!("project/.git/hooks/hook-{number}"), format!("{start}{text}\n"));
        }
        world.give();
        world.outside("chmod +x .git/hooks/*");
        for backend in BACKENDS {
            let mut attack = String::new();
            for (_, path) in UNSPELLED {
                attack += &format!("mkdir -p $(dirname {path}); echo evil > {path}; chmod +x {path}; ");
            }
            for path in STILL_ORDINARY {
                attack += &format!("mkdir -p $(dirname {path}); echo {backend} > {path}; ");
            }
            let did = world.mounted(&["--mount", backend, "--json"], &attack).ends(0);
            let kept = paths(&did.json()["applied"]["outcome"]["review"]["protected"]);
            let left = world.outside("grep -rl evil . --exclude-dir=.git || true");
            assert_eq!(left, "", "{backend}: applied: {kept:?}");
            for path in STILL_ORDINARY {
                let now = world.outside(&format!("cat {path} || true"));
                assert_eq!(now, format!("{backend}\n"), "{backend}: {path} is ordinary: {kept:?}");
            }
        }
    });
}

/// Calls of a bare name behind an option with a value or another program, and whether the file is there before.
const BEHIND: [(&str, &str, bool); 20] = [
    ("bash -euo pipefail b1", "b1", true),
    ("bash -o pipefail b2", "b2", true),
    ("timeout -s KILL 5 bash b3", "b3", true),
    ("env -u V bash b4", "b4", true),
    ("flock .git/x.lock bash b5", "b5", true),
    ("python3 -W ignore b6", "b6", true),
    ("python3 -W ignore b7.py", "b7.py", false),
    ("python3 -X dev b8.py", "b8.py", false),
    ("awk -v a=b -f b9 /dev/null", "b9", true),
    ("sed -f b10 /dev/null", "b10", true),
    ("bash <(cat b11)", "b11", true),
    ("ssh -F b12 host", "b12", true),
    ("for s in b13; do bash \"$s\"; done", "b13", true),
    ("S=b14; bash $S", "b14", true),
    ("tsx --tsconfig t b15.ts", "b15.ts", false),
    ("uv run b16.py", "b16.py", false),
    ("java b17.java", "b17.java", false),
    ("go run b18.go", "b18.go", false),
    ("go run ./b19", "b19/main.go", true),
    ("go run ./b20/check", "b20/check/new.go", false),
];

#[test]
fn what_a_hook_runs_behind_options_and_other_programs_is_not_applied() {
    for_each_identity(|world| {
        let there = BEHIND.iter().filter(|(_, _, is_there)| *is_there).map(|(_, path, _)| (*path, "true\n"));
        let ordinary = STILL_ORDINARY.iter().map(|path| (*path, "one\n"));
        world.repository(&there.chain(ordinary).collect::<Vec<_>>());
        for (number, text) in BEHIND.iter().map(|(text, ..)| text).chain(&LOOKING).enumerate() {
            let start = if text.starts_with("#!") { "" } else { "#!/bin/bash\n" };
            world.write(format!("project/.git/hooks/hook-{number}"), format!("{start}{text}\n"));
        }
        world.give();
        world.outside(
            "chmod +x .git/hooks/*; git config alias.later '!bash -o pipefail c1'; git config core.sshCommand 'ssh -F c2'",
        );
        let attacked = BEHIND.iter().map(|(_, path, _)| *path).chain(["c1", "c2"]);
        let attacked: Vec<&str> = attacked.collect();
        for backend in BACKENDS {
            let mut attack = String::new();
            for path in &attacked {
                attack += &format!("mkdir -p $(dirname {path}); echo evil > {path}; ");
            }
            for path in STILL_ORDINARY {
                attack += &format!("mkdir -p $(dirname {path}); echo {backend} > {path}; ");
            }
            let did = world.mounted(&["--mount", backend, "--json"], &attack).ends(0);
            let kept = paths(&did.json()["applied"]["outcome"]["review"]["protected"]);
            let left = world.outside("grep -rl evil . --exclude-dir=.git || true");
            assert_eq!(left, "", "{backend}: applied: {kept:?}");
            for path in STILL_ORDINARY {
                let now = world.outside(&format!("cat {path} || true"));
                assert_eq!(now, format!("{backend}\n"), "{backend}: {path} is ordinary: {kept:?}");
            }
        }
    });
}

#[test]
fn what_a_setting_of_git_names_without_an_ending_is_not_applied() {
    const SETTINGS: [(&str, &str, &str); 6] = [
        ("filter.f.clean", "node scripts/clean", "scripts/clean.js"),
        ("diff.d.textconv", "node tools/tc", "tools/tc.js"),
        ("alias.hi", "!node scripts/hi", "scripts/hi.js"),
        ("core.editor", "node ed/main", "ed/main.js"),
        ("sequence.editor", "PATH=ed/bin:$PATH edit", "ed/bin/edit"),
        ("alias.all", "!for f in each/*; do sh $f; done; npx eslint src/", "each/new"),
    ];
    for_each_identity(|world| {
        world.repository(&[("tools/tc.js", "0\n"), ("scripts/clean.js", "0\n"), ("src/a.js", "one\n")]);
        for (key, command, _) in SETTINGS {
            assert!(world.program("git").args(["config", key, command]).status().unwrap().success());
        }
        for backend in BACKENDS {
            let attacks =
                SETTINGS.map(|(_, _, path)| format!("mkdir -p $(dirname {path}); echo evil > {path}; "));
            let attack =
                format!("{} echo {backend} > src/a.js; echo {backend} > src/new.js", attacks.concat());
            let did = world.mounted(&["--mount", backend, "--json"], &attack).ends(0);
            let kept = paths(&did.json()["applied"]["outcome"]["review"]["protected"]);
            let left = world.outside("grep -rl evil . --exclude-dir=.git || true");
            assert_eq!(left, "", "{backend}: applied: {kept:?}");
            assert_eq!(
                world.outside("cat src/a.js src/new.js"),
                format!("{backend}\n{backend}\n"),
                "{kept:?}"
            );
        }
    });
}
