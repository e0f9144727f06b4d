//! What the runner itself does outside of the mount: it runs no program of the project, and takes nothing from strangers.

use crate::support::mount::{ORDINARY_ID, World, for_each_identity, identities, soon};
use crate::support::sessions::{BACKENDS, Did};
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// A repository that has to be fetched from says how, and git would do so as us.
#[test]
fn a_repository_does_not_make_the_runner_fetch_from_it() {
    for_each_identity(|world| {
        world.repository(&[("a", "x\n"), ("src/x", "x\n"), ("big/sub/f", "1\n")]);
        let proof = world.home().join("proof");
        world.outside(&format!(
            "git sparse-checkout init --cone --sparse-index; git sparse-checkout set src
             tree=$(git rev-parse HEAD:big); rm -f .git/objects/$(echo $tree | cut -c1-2)/$(echo $tree | cut -c3-)
             git config core.repositoryformatversion 1; git config extensions.partialClone evil
             git config remote.evil.promisor true; git config protocol.ext.allow always
             git config remote.evil.url 'ext::sh -c touch% {}'",
            proof.display()
        ));
        let _ = world.mounted(&["--apply", "never"], "echo new > a");
        assert!(!proof.exists());
    });
}

/// `npm run` and direnv put directories of the project into `PATH`.
#[test]
fn a_program_of_the_project_is_not_run_outside() {
    for_each_identity(|base| {
        let world = World::with_harness(base.who, "begins; answers done");
        let (asked, git_ran) = (world.home().join("asked"), world.home().join("git-ran"));
        let bin = world.project().join("node_modules/.bin");
        fs::create_dir_all(&bin).unwrap();
        for (name, text) in [
            ("claude", format!("[ \"$1\" = --version ] && touch {}; echo ran > ran", asked.display())),
            ("git", format!("touch {}", git_ran.display())),
        ] {
            fs::write(bin.join(name), format!("#!/bin/sh\n{text}\n")).unwrap();
            fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        world.give();
        for path in [bin.to_str().unwrap(), "node_modules/.bin"] {
            let mut command = world.agent_command(&["weaver", "-p", "do it", "--apply", "never"]);
            let search = format!("{path}:{}", std::env::var("PATH").unwrap());
            command.env("PATH", search).output().unwrap();
            assert!(!asked.exists(), "{path}: claude was run outside");
            assert!(!git_ran.exists(), "{path}: git was run outside");
        }
    });
}

/// What is found outside of the project may start others by name: a launcher its interpreter, git its ssh.
#[test]
fn no_program_that_is_run_outside_starts_one_of_the_project() {
    for_each_identity(|base| {
        let world = World::with_harness(base.who, "begins; answers done");
        let (bin, ran, started) =
            (world.project().join("bin"), world.home().join("ran"), world.home().join("started"));
        let script = |path: &Path, text: &str| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        };
        for name in ["claude", "codex", "opencode", "npm"] {
            let text = fs::read_to_string(world.path("bin").join(name)).unwrap_or_default();
            script(
                &world.path("bin").join(name),
                &text.replacen("#!/bin/sh", "#!/usr/bin/env interpreter", 1),
            );
        }
        script(&world.path("bin/npm"), "#!/usr/bin/env interpreter\nexit 1\n");
        let runs = format!("#!/bin/sh\necho $0 >> {}\nexec /bin/sh \"$@\"\n", started.display());
        script(&world.path("interpreters/interpreter"), &runs);
        for name in ["interpreter", "ssh", "git-remote-https"] {
            let text = format!("#!/bin/sh\necho {name} >> {}\nexec /bin/sh \"$@\"\n", ran.display());
            script(&bin.join(name), &text);
        }
        world.give();
        let path = std::env::var("PATH").unwrap();
        let dirs =
            [&bin, &world.path("bin"), &world.path("interpreters")].map(|dir| dir.display().to_string());
        let search = format!("{}:{path}", dirs.join(":"));
        for args in [
            &["doctor"][..],
            &["install", "@team/pack"],
            &["install", "git@localhost:team/pack.git"],
            &["install", "https://localhost:1/team/pack.git"],
        ] {
            let mut command = world.aw_command(args);
            let did = Did::of(&command.env("PATH", &search).env("GIT_EXEC_PATH", &bin).output().unwrap());
            assert!(!ran.exists(), "{args:?}: {} {did:#?}", world.outside("cat ~/ran"));
        }
        let started = fs::read_to_string(started).unwrap_or_default();
        assert!(started.contains("/interpreters/interpreter"), "nothing was asked: {started}");
    });
}

/// The same for those who are elsewhere: `--root`, and commands about a session.
#[test]
fn a_program_of_a_project_elsewhere_is_not_run_outside() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        let (bin, git_ran) = (world.project().join("tools/bin"), world.home().join("git-ran"));
        fs::create_dir_all(&bin).unwrap();
        fs::write(bin.join("git"), format!("#!/bin/sh\ntouch {}\n", git_ran.display())).unwrap();
        fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
        let nested = world.project().join("vendor/nested/.git");
        fs::create_dir_all(&nested).unwrap();
        world.give();
        let search = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let aw = |args: &[&str], from: &Path| {
            let did =
                Did::of(&world.aw_command(args).current_dir(from).env("PATH", &search).output().unwrap());
            assert!(!git_ran.exists(), "{args:?}: git was run outside: {did:#?}");
            did
        };
        let project = world.project().display().to_string();
        let mount = [
            "mount",
            "--root",
            &project,
            "--apply",
            "never",
            "--",
            "sh",
            "-c",
            "echo new >> a.txt; echo b > b.txt",
        ];
        aw(&mount, nested.parent().unwrap()).ends(0);
        aw(&mount, &world.home()).ends(0);
        let session = world.listed()[0]["id"].as_str().unwrap().to_owned();
        for args in [
            &["sessions", "list"][..],
            &["sessions", "show", &session],
            &["sessions", "diff", &session],
            &["sessions", "recover"],
            &["sessions", "apply", &session, "--yes"],
            &["sessions", "undo", &session, "--yes"],
            &["sessions", "redo", &session, "--yes"],
            &["sessions", "prune", "--all", "--yes"],
        ] {
            aw(args, &world.home());
        }
    });
}

/// Where everybody may write, anybody can put a layer above us.
#[test]
fn as_root_a_layer_of_a_stranger_is_not_used() {
    for who in identities() {
        let world = World::new(who);
        let shared = world.path("shared");
        let personas = shared.join(".agentworkforce/workforce/personas");
        fs::create_dir_all(&personas).unwrap();
        fs::create_dir_all(shared.join("mine")).unwrap();
        let planted = json!({"id": "planted", "intent": "x", "systemPrompt": "x", "harness": "claude"});
        fs::write(personas.join("planted.json"), planted.to_string()).unwrap();
        world.give();
        let list = |expected: bool| {
            let mut command = world.aw_command(["list", "--json"]);
            let output = command.current_dir(shared.join("mine")).output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert_eq!(text.contains("planted"), expected, "{who:?}: {text}");
            text + &String::from_utf8_lossy(&output.stderr)
        };
        list(true);
        let stranger = ORDINARY_ID + 1;
        let layer = shared.join(".agentworkforce");
        let given = Command::new("chown").args(["-R", &stranger.to_string()]).arg(&layer).status().unwrap();
        assert!(given.success());
        assert!(list(false).contains(&format!("belongs to user {stranger}")));
        // A repository of theirs is not our project either.
        fs::create_dir_all(shared.join(".git/refs")).unwrap();
        fs::create_dir_all(shared.join(".git/objects")).unwrap();
        fs::write(shared.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(shared.join("theirs"), "x").unwrap();
        let given =
            Command::new("chown").args(["-R", &stranger.to_string()]).arg(shared.join(".git")).status();
        assert!(given.unwrap().success());
        let mut command = world.aw_command(["mount", "--", "sh", "-c", "pwd; ls"]);
        let output = command.current_dir(shared.join("mine")).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.trim_end().ends_with("/shared/mine"), "{text}");
    }
}

/// Git itself refuses it; nor does it say which work is applied.
#[test]
fn as_root_a_repository_of_a_stranger_does_not_decide_what_is_applied() {
    for who in identities() {
        for backend in BACKENDS {
            let world = World::new(who);
            let shared = world.path("shared");
            fs::create_dir_all(shared.join("mine")).unwrap();
            world.give();
            for (name, text) in [
                (".git/config", "[core]\n\trepositoryformatversion = 0\n\thooksPath = mine/src\n"),
                (".git/HEAD", "ref: refs/heads/main\n"),
                (".git/info/exclude", "f\n"),
                (".git/objects/x", ""),
                (".git/refs/x", ""),
                (".gitignore", "g\n"),
            ] {
                let path = shared.join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            let stranger = (ORDINARY_ID + 1).to_string();
            let mut command = Command::new("chown");
            let theirs = [shared.join(".git"), shared.join(".gitignore")];
            assert!(command.args(["-R", &stranger]).args(theirs).status().unwrap().success());
            let work = "mkdir src; echo work > src/a; echo work > f; echo work > g";
            let mut command = world.aw_command(["mount", "--mount", backend, "--", "sh", "-c", work]);
            let output = command.current_dir(shared.join("mine")).output().unwrap();
            assert!(output.status.success(), "{output:?}");
            for file in ["src/a", "f", "g"] {
                assert!(shared.join("mine").join(file).exists(), "{who:?} {backend}: {file}: {output:?}");
            }
        }
    }
}

/// What git ignores is not shown, and may stop being ignored before the end of the run.
#[test]
fn what_has_become_a_change_since_the_review_is_not_applied() {
    for_each_identity(|base| {
        for policy in ["never", "auto"] {
            let world =
                World::with_harness(base.who, "begins; mkdir build; echo EVIL > build/evil; answers done");
            world.outside("echo build/ > .gitignore; git add -A; git commit -qm ignore");
            let mark = world.home().join("mark");
            let check = format!("touch {}; sleep 1", mark.display());
            let mut command =
                world.agent_command(&["weaver", "-p", "x", "--apply", policy, "--check", &check]);
            let mut run = command.spawn().unwrap();
            assert!(soon(|| mark.exists()), "the check does not start");
            world.outside("echo > .gitignore");
            assert!(run.wait().unwrap().code().is_some());
            assert!(!world.project().join("build").exists(), "{policy}");
            let id = world.only_session();
            world.aw(["sessions", "apply", &id]).ends(0);
            assert_eq!(world.outside("cat build/evil"), "EVIL\n");
        }
    });
}

/// A session that goes on gets its harness's directories anew.
#[test]
fn what_an_agent_leaves_in_its_harness_home_does_not_configure_the_next_attempt() {
    for_each_identity(|base| {
        for (harness, variable) in [("codex", "CODEX_HOME"), ("opencode", "OPENCODE_CONFIG_DIR")] {
            let script = format!(
                "begins; for f in config.toml AGENTS.md skills; do [ -e ${variable}/$f ] && echo $f >> found; done
                 echo x > ${variable}/config.toml; ln -sf /etc/passwd ${variable}/AGENTS.md; mkdir ${variable}/skills
                 touch made; answers done"
            );
            let world = World::with_harness(base.who, &script);
            world.persona(&crate::support::with(
                crate::support::harness::weaver(),
                &json!({"hermetic": true}),
            ));
            world.give();
            let (first, code) = world.report(&["--apply", "never", "--harness", harness]);
            assert_eq!(code, 0, "{first:#}");
            let (second, code) =
                world.report(&["--resume", first["session"].as_str().unwrap(), "--apply", "auto"]);
            assert_eq!(code, 0, "{second:#}");
            assert!(!world.project().join("found").exists(), "{harness}: {}", world.outside("cat found"));
            assert!(world.project().join("made").exists());
        }
    });
}

/// A descriptor can be opened again through `/proc`, past the mount. What a user redirects is none that leads anywhere.
#[test]
fn redirected_streams_do_not_lead_to_the_users_files() {
    for_each_identity(|world| {
        world.repository(&[("build.sh", "echo build\n"), ("a", "x\n"), (".env", "TOKEN=1\n")]);
        for (backend, sandbox) in [("overlay", "project"), ("overlay", "strict"), ("copy", "off")] {
            let flags = format!("--mount {backend} --sandbox {sandbox} --apply never");
            let aw = crate::support::mount::BINARY;
            // A script's input is shared with the commands in it: each goes on where the last one stopped.
            let said = world.outside(&format!(
                "{{ {aw} mount {flags} -- sh -c 'read line; echo got $line; echo evil > /proc/self/fd/0' || true; cat; }} \
                 < build.sh 2> err; printf '1\\n2\\n' > list; while read n; do {aw} mount {flags} -- echo run $n; done < list 2>> err"
            ));
            assert!(said.starts_with("got echo build\n"), "{said}");
            assert!(said.contains("run 1\n") && said.contains("run 2\n"), "{said}");
            assert_eq!(world.outside("cat build.sh"), "echo build\n", "{flags}");
            world.outside(&format!(
                "echo before > log; {aw} mount {flags} -- sh -c 'echo out; echo err >&2; : > /proc/self/fd/1; : > /proc/self/fd/2' >> log 2>&1 || true"
            ));
            let log = world.outside("cat log");
            assert!(log.starts_with("before\n") && log.contains("out\nerr\n"), "{flags}: {log}");
            let seen = world
                .outside(&format!("{aw} mount {flags} -- sh -c 'cat /proc/self/fd/0/.env' < . 2>&1 || true"));
            assert!(!seen.contains("TOKEN"), "{flags}: {seen}");
            world.outside("rm -f err log list");
        }
        let base = world;
        let world = World::with_harness(base.who, "begins; echo evil > /proc/self/fd/0; answers done");
        let (report, _) = world.report(&["--apply", "never"]);
        let session = world.sessions().join(report["session"].as_str().unwrap());
        assert_eq!(fs::read_to_string(session.join("attempts/1/task.md")).unwrap(), "do it");
    });
}
