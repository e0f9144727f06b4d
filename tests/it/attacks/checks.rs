//! Attacks on `--check`: what an agent may not change, it must not change for the check either.

use crate::support::mount::{World, identities, read};
use crate::support::sessions::BACKENDS;
use serde_json::json;

/// What the agent does, and a check that fails in the project as it is and as an apply would leave it.
const ATTACKS: [(&str, &str); 18] = [
    ("echo 'exit 0' > tests/run.sh", "sh tests/run.sh"),
    ("rm -r tests; mkdir tests; echo 'exit 0' > tests/run.sh", "sh tests/run.sh"),
    ("mv tests mine; echo 'exit 0' > mine/run.sh; ln -s mine tests", "sh tests/run.sh"),
    ("rm tests/run.sh; ln -s ../newfile tests/run.sh", "sh tests/run.sh"),
    ("rm tests/run.sh", "! test -e tests/run.sh"),
    ("mkdir -p tests/more; echo x > tests/more/config", "test -e tests/more/config"),
    ("echo x > .env", "test -e .env"),
    ("mkfifo tube", "test -e tube"),
    ("git config alias.chk '!true'", "git chk"),
    ("rm .git/config; ln -s ../other .git/config; printf '[alias]\\nchk = !true\\n' > other", "git chk"),
    ("printf '#!/bin/sh\\nexit 0\\n' > .git/hooks/pre-commit", "git commit -q --allow-empty -m x"),
    ("rm -r .git/hooks; mkdir h; ln -s ../h .git/hooks", "git commit -q --allow-empty -m x"),
    (
        "cp -r .git common; git config -f common/config alias.chk '!true'; echo ../common > .git/commondir",
        "git chk",
    ),
    (
        "echo evil > evil.txt; echo evil.txt >> .git/info/exclude",
        "! git status --porcelain | grep -q evil.txt",
    ),
    (REPLACE, "git show HEAD:tests/other | grep -q agents"),
    (REPLACE_PACKED, "git show HEAD:tests/other | grep -q agents"),
    ("git rev-parse HEAD > .git/info/grafts", "test \"$(git rev-list --count HEAD)\" = 1"),
    ("git rev-parse HEAD > .git/shallow", "test \"$(git rev-list --count HEAD)\" = 1"),
];

/// Git shows another object in place of one.
const REPLACE: &str =
    "git replace -f $(git rev-parse HEAD:tests/other) $(echo agents | git hash-object -w --stdin)";
const REPLACE_PACKED: &str = "git replace -f $(git rev-parse HEAD:tests/other) $(echo agents | git hash-object -w --stdin); git pack-refs --all";

fn world(who: crate::support::mount::Identity, attack: &str) -> World {
    let world = World::with_harness(who, &format!("begins; {attack}; echo ok > newfile; answers done"));
    world.files(&[
        (".agentreadonly", "tests/\n"),
        (".gitignore", "build/\nlocal.*\n"),
        ("tests/run.sh", "exit 1\n"),
        ("tests/other", "x\n"),
    ]);
    world.outside("git add -A; git commit -qm tests; git config alias.chk '!false'");
    world.outside("printf '#!/bin/sh\\nexit 1\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit");
    world
}

#[test]
fn a_check_sees_nothing_that_is_never_applied() {
    for who in identities() {
        for backend in BACKENDS {
            for (attack, check) in ATTACKS {
                let world = world(who, attack);
                let check = format!("test -e newfile && echo seen && {check}");
                let (report, _) = world.report(&["--mount", backend, "--check", &check]);
                let done = &report["checks"][0];
                assert_ne!(done["exitCode"], json!(0), "{who:?} {backend}: {attack}: {report:#}");
                let log = read(done["logFile"].as_str().unwrap());
                assert!(log.starts_with("seen\n"), "{who:?} {backend}: {attack}: {log}");
                assert!(!world.project().join("newfile").exists(), "{backend}: {attack}");
            }
        }
    }
}

#[test]
fn a_check_has_what_the_agent_installed_and_the_report_names_what_else_git_ignores() {
    for who in identities() {
        for backend in BACKENDS {
            let world =
                world(who, "mkdir build; echo 'exit 0' > build/tool; echo x > local.db; git add newfile");
            let check = "sh build/tool && test -e local.db && grep -q two main.txt && git status";
            let (report, code) = world.report(&["--mount", backend, "--check", check]);
            assert_eq!(code, 0, "{who:?} {backend}: {report:#}");
            let warnings = report["warnings"].to_string();
            assert!(warnings.contains("not applied: local.db\""), "{warnings}");
            assert_eq!(read(world.project().join("newfile")), "ok\n");
        }
    }
}
