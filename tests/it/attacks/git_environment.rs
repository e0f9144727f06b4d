//! Settings of git that the user has in the environment (direnv, dev containers and CI images set them): a file of the project that
//! they name would run on the next `git commit`.

use crate::support::mount::{World, for_each_identity};
use crate::support::sessions::{BACKENDS, Did, paths};
use std::process::Command;

/// Variables, each with a file of the project that git runs or takes settings from because of it.
const VARIABLES: [(&str, &str, &str); 19] = [
    ("GIT_CONFIG_COUNT", "2", ""),
    ("GIT_CONFIG_KEY_0", "core.hooksPath", ""),
    ("GIT_CONFIG_VALUE_0", ".githooks", ".githooks/pre-commit"),
    ("GIT_CONFIG_KEY_1", "alias.go", ""),
    ("GIT_CONFIG_VALUE_1", "!sh go.sh", "go.sh"),
    ("GIT_CONFIG_PARAMETERS", "'diff.x.textconv'='sh textconv' 'core.gitproxy=./old'\\''s'", "textconv"),
    ("GIT_CONFIG_GLOBAL", ".gitglobal", ".gitglobal"),
    ("GIT_EXTERNAL_DIFF", "tools/d.sh", "tools/d.sh"),
    ("GIT_SSH_COMMAND", "ssh -F./sshc", "sshc"),
    ("GIT_SSH", "tools/my ssh", "tools/my ssh"),
    ("GIT_EDITOR", "PROJECT/editor --wait", "editor"),
    ("GIT_SEQUENCE_EDITOR", "sh -c 'cd seq && sh run'", "seq/run"),
    ("GIT_PAGER", "tools/pager | cat", "tools/pager"),
    ("GIT_ASKPASS", "./ask", "ask"),
    ("GIT_PROXY_COMMAND", "./proxy", "proxy"),
    ("VISUAL", "tools/visual", "tools/visual"),
    ("GIT_TEMPLATE_DIR", "templates", "templates/hooks/pre-commit"),
    ("GNUPGHOME", "PROJECT/.keys", ".keys/gpg-agent.conf"),
    ("GIT_TRACE2", "PROJECT/trace.log", "trace.log"),
];

fn with_variables(world: &World, mut command: Command) -> Command {
    for (name, value, _) in VARIABLES {
        command.env(name, value.replace("PROJECT", world.project().to_str().unwrap()));
    }
    command
}

/// Puts a program at every path that a variable names.
fn attack(proof: &str) -> String {
    let mut script = String::new();
    for (_, _, path) in VARIABLES.iter().filter(|(_, _, path)| !path.is_empty()) {
        script += &format!(
            "mkdir -p \"$(dirname '{path}')\"; printf '#!/bin/sh\\necho x >> {proof}\\n' > '{path}'; chmod +x '{path}'\n"
        );
    }
    script + "rm -f trace.log; ln -s ../home/.profile trace.log; echo two > ordinary.txt\n"
}

#[test]
fn what_git_runs_by_the_environment_is_not_applied() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n"), ("ordinary.txt", "one\n")]);
        let proof = world.path("proof");
        let mut expected: Vec<&str> =
            VARIABLES.iter().map(|(_, _, path)| *path).filter(|path| !path.is_empty()).collect();
        expected.sort_unstable();
        for backend in BACKENDS {
            let script = attack(proof.to_str().unwrap());
            let command = world.mounted_command(&["--mount", backend, "--json"], &script);
            let did = Did::of(&with_variables(&world, command).output().unwrap()).ends(0);
            let mut kept = paths(&did.json()["applied"]["outcome"]["review"]["protected"]);
            kept.sort();
            for path in &expected {
                assert!(kept.contains(&(*path).to_owned()), "{backend}: {path} is not in {kept:?}");
            }
            assert_eq!(world.outside("cat ordinary.txt; git status --porcelain"), "two\n M ordinary.txt\n");
            let mut trigger = world.program("sh");
            trigger.args(["-c", "git commit -q --allow-empty -m x; git diff; git go; git init -q ../made"]);
            let _ = with_variables(&world, trigger).output().unwrap();
            assert!(!proof.exists(), "{backend}: the agent's program ran");
            // Git itself wrote the trace.
            world.outside("git checkout -q ordinary.txt; rm -rf ../made trace.log");
        }
    });
}

#[test]
fn commits_that_bring_what_git_runs_by_the_environment_are_held() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        for backend in BACKENDS {
            let script = "mkdir .githooks; echo 'exit 1' > .githooks/pre-commit; git add -f .githooks; git commit -qnm x; git rm -qr .githooks; git commit -qnm y";
            let mut command = world.mounted_command(&["--mount", backend, "--json"], script);
            command.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_KEY_0", "core.hooksPath");
            command.env("GIT_CONFIG_VALUE_0", ".githooks");
            let git = Did::of(&command.output().unwrap()).ends(0).json()["applied"]["git"].clone();
            assert_eq!(git["exported"], serde_json::json!([]), "{backend}: {git:#}");
            assert_eq!(git["held"][0]["path"], ".githooks/pre-commit", "{backend}: {git:#}");
        }
    });
}

/// In a project that is no repository, and in one that a variable names.
#[test]
fn the_environment_counts_wherever_the_repository_is() {
    for_each_identity(|world| {
        world.write("project/a.txt", "one\n");
        world.give();
        for backend in BACKENDS {
            let script =
                "mkdir -p templates/hooks; echo 'exit 1' > templates/hooks/pre-commit; echo two > a.txt";
            let mut command = world.mounted_command(&["--mount", backend], script);
            command.env("GIT_TEMPLATE_DIR", world.project().join("templates"));
            Did::of(&command.output().unwrap()).ends(0).says("not applied: templates/hooks");
            assert!(!world.project().join("templates").exists(), "{backend}");
            assert_eq!(world.outside("cat a.txt; echo one > a.txt"), "two\n");
        }
        world.outside("git init -q --bare ../apart; git -C ../apart config core.hooksPath .hooks");
        for backend in BACKENDS {
            let script = "mkdir -p .hooks; echo 'exit 1' > .hooks/pre-commit; echo two > a.txt";
            let mut command = world.mounted_command(&["--mount", backend], script);
            command.env("GIT_DIR", world.path("apart")).env("GIT_WORK_TREE", ".");
            Did::of(&command.output().unwrap()).ends(0).says("not applied: .hooks/pre-commit");
            assert!(!world.project().join(".hooks/pre-commit").exists(), "{backend}");
            assert_eq!(world.outside("cat a.txt; echo one > a.txt"), "two\n");
        }
    });
}
