//! Files of the work tree that git takes settings from or runs: edited inside, they would run on the next `git status`.

use crate::support::mount::{World, for_each_identity};
use crate::support::sessions::{BACKENDS, Did, paths};

/// A setting of the repository, the attack on the file that it names, that file, and how the user would set it off.
const ATTACKS: [(&str, &str, &str, &str); 9] = [
    (
        "git config core.hooksPath .githooks",
        "mkdir -p .githooks; EVIL > .githooks/pre-commit; chmod +x .githooks/pre-commit",
        ".githooks/pre-commit",
        "git commit -q --allow-empty -m x",
    ),
    (
        "git config core.hooksPath .husky/_; mkdir -p .husky/_; echo '. .husky/pre-commit' > .husky/_/pre-commit; chmod +x .husky/_/pre-commit",
        "EVIL > .husky/pre-commit",
        ".husky/pre-commit",
        "git commit -q --allow-empty -m x",
    ),
    (
        "git config include.path ../.gitconfig; touch .gitconfig",
        "git config -f .gitconfig core.fsmonitor \"$PWD/fs.sh\"; EVIL > fs.sh; chmod +x fs.sh",
        ".gitconfig",
        "git status",
    ),
    (
        "git config includeIf.gitdir:/.path ../.late",
        "git config -f .late core.fsmonitor \"$PWD/fs.sh\"; EVIL > fs.sh; chmod +x fs.sh",
        ".late",
        "git status",
    ),
    (
        "git config core.fsmonitor tools/watch.sh; mkdir -p tools",
        "mkdir -p tools; EVIL > tools/watch.sh; chmod +x tools/watch.sh",
        "tools/watch.sh",
        "git status",
    ),
    (
        "git config diff.external ./differ.sh",
        "EVIL > differ.sh; chmod +x differ.sh",
        "differ.sh",
        "echo more >> tracked.txt; git diff; git checkout -q tracked.txt",
    ),
    (
        "git config filter.f.clean 'sh filter.sh'; echo 'cat' > filter.sh; echo '*.txt filter=f' > .gitattributes",
        "EVIL > filter.sh",
        "filter.sh",
        "echo more >> tracked.txt; git add tracked.txt; git reset -q --hard",
    ),
    (
        "mkdir -p scripts; echo true > scripts/hook; chmod +x scripts/hook; ln -s ../../scripts/hook .git/hooks/pre-commit",
        "EVIL > scripts/hook; chmod +x scripts/hook",
        "scripts/hook",
        "git commit -q --allow-empty -m x",
    ),
    ("git config alias.go '!sh go.sh'", "EVIL > go.sh", "go.sh", "git go"),
];

fn set_off(world: &World, trigger: &str) {
    let mut command = world.program("sh");
    // Whether git succeeds does not matter.
    let _ = command.args(["-c", trigger]).output().unwrap();
}

#[test]
fn what_git_would_run_or_read_settings_from_is_not_applied() {
    for who in crate::support::mount::identities() {
        for backend in BACKENDS {
            for (setting, attack, path, trigger) in ATTACKS {
                let world = World::new(who);
                world.repository(&[("tracked.txt", "one\n"), ("ordinary.txt", "one\n")]);
                world.outside(setting);
                let proof = world.path("proof");
                let attack = attack.replace("EVIL", &format!("echo 'echo x >> {}; cat'", proof.display()));
                let did = world
                    .mounted(&["--mount", backend, "--json"], &format!("{attack}; echo two > ordinary.txt"))
                    .ends(0);
                let review = &did.json()["applied"]["outcome"]["review"];
                let kept = paths(&review["protected"]);
                assert!(kept.contains(&path.to_owned()), "{setting}: {path} is not in {kept:?}");
                assert_eq!(world.outside("cat ordinary.txt"), "two\n", "{setting}");
                set_off(&world, trigger);
                assert!(!proof.exists(), "{setting}: the agent's program ran");
            }
        }
    }
}

#[test]
fn certificates_and_lists_that_git_trusts_are_not_applied() {
    for_each_identity(|world| {
        world.repository(&[("certs/ca.crt", "ca\n"), ("certs/other", "one\n")]);
        for key in [
            "http.https://git.example/.sslCAInfo",
            "http.https://git.example:8443/a.b/.proxySSLCAInfo",
            "http.sslCAPath",
            "core.excludesFile",
            "gpg.ssh.revocationFile",
            "http.https://git.example/.sslCert",
            "http.proxySSLKey",
            "sendemail.smtpSSLCertPath",
            "fsck.skipList",
            "receive.fsck.skipList",
            "blame.ignoreRevsFile",
            "mailmap.file",
            "commit.template",
            "format.signatureFile",
            "svn.authorsProg",
        ] {
            world.outside(&format!("git config {key} certs/ca.crt"));
            let did = world.mounted(&[], "echo evil >> certs/ca.crt; echo two > certs/other").ends(0);
            did.says("not applied: certs/ca.crt");
            assert_eq!(world.outside("cat certs/*; echo one > certs/other"), "ca\ntwo\n", "{key}");
            world.outside(&format!("git config --unset {key}"));
        }
    });
}

#[test]
fn the_settings_of_a_nested_repository_count_too() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        world.outside("git init -q nested; git -C nested config core.hooksPath .hooks; echo x > nested/file");
        for backend in BACKENDS {
            let script =
                "mkdir -p nested/.hooks; echo 'exit 1' > nested/.hooks/pre-commit; echo two > nested/file";
            let did = world.mounted(&["--mount", backend, "--json"], script).ends(0);
            let kept = paths(&did.json()["applied"]["outcome"]["review"]["protected"]);
            assert!(kept.contains(&"nested/.hooks/pre-commit".to_owned()), "{kept:?}");
            assert!(!world.project().join("nested/.hooks/pre-commit").exists());
            assert_eq!(world.outside("cat nested/file; echo x > nested/file"), "two\n");
        }
    });
}

#[test]
fn the_user_s_own_setting_for_all_repositories_counts_too() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        world.write("home/.gitconfig", "[core]\n\thooksPath = .hooks\n");
        world.give();
        let did = world
            .mounted(&[], "mkdir .hooks; echo 'exit 1' > .hooks/pre-commit; git config core.editor x")
            .ends(0);
        did.says("not applied: .hooks/pre-commit").says("core.hookspath");
        assert!(!world.project().join(".hooks/pre-commit").exists());
    });
}

#[test]
fn a_submodule_that_runs_a_command_is_not_applied_and_an_ordinary_one_is() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        for backend in BACKENDS {
            let modules = |update: &str| {
                format!(
                    "printf '[submodule \"x\"]\\n\\tpath = x\\n\\turl = ./x\\n\\tupdate = {update}\\n' > .gitmodules"
                )
            };
            world
                .mounted(&["--mount", backend], &modules("!touch y"))
                .ends(0)
                .says("not applied: .gitmodules");
            assert!(!world.project().join(".gitmodules").exists());
            world.mounted(&["--mount", backend], &modules("rebase")).ends(0);
            assert!(world.outside("cat .gitmodules; rm .gitmodules").contains("rebase"));
        }
    });
}

/// Makes what git takes for a repository in a directory, in two steps; its configuration runs a program.
fn bare_repository(dir: &str, proof: &std::path::Path) -> [String; 2] {
    let proof = proof.display();
    [
        format!("mkdir -p {dir}/objects; echo 'ref: refs/heads/main' > {dir}/HEAD; echo '*' > {dir}/kept"),
        format!(
            "mkdir -p {dir}/refs; printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = .\\n\
             \\tfsmonitor = touch {proof}; false\\n' > {dir}/config"
        ),
    ]
}

#[test]
fn a_directory_that_git_takes_for_a_repository_is_not_applied() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n"), ("moved.txt", "held\n")]);
        let proof = world.path("proof");
        for backend in BACKENDS {
            let dir = format!("lib-{backend}");
            let attack = bare_repository(&dir, &proof).join("; ");
            let more = format!("echo two > a.txt; mv moved.txt {dir}/moved.txt");
            let did = world.mounted(&["--mount", backend, "--json"], &format!("{attack}; {more}")).ends(0);
            let dropped = &did.json()["applied"]["outcome"]["review"]["droppedGit"];
            assert_eq!(dropped, &serde_json::json!([dir]), "{backend}: {did:#?}");
            assert!(!world.project().join(&dir).exists(), "{backend}");
            assert_eq!(world.outside("cat a.txt moved.txt; echo one > a.txt"), "two\nheld\n", "{backend}");

            // In two runs, each of which is harmless.
            let [first, second] = bare_repository(&dir, &proof);
            world.mounted(&["--mount", backend], &first).ends(0);
            assert!(
                world.project().join(&dir).join("HEAD").exists(),
                "{backend}: the first half is ordinary"
            );
            let did = world.mounted(&["--mount", backend, "--include-ignored"], &second).ends(0);
            did.says(&format!("not applied: {dir} "));
            assert!(!world.project().join(&dir).join("refs").exists(), "{backend}");
            assert!(!world.project().join(&dir).join("config").exists(), "{backend}");
            set_off(&world, &format!("cd {dir} && git status"));
            assert!(!proof.exists(), "{backend}: the agent's program ran");
        }
    });
}

#[test]
fn a_repository_of_the_project_without_a_work_tree_keeps_its_settings() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        world.outside("git init -q --bare fixture.store");
        let before = world.outside("cat fixture.store/config; ls fixture.store/hooks");
        for backend in BACKENDS {
            let attack =
                "git -C fixture.store config core.fsmonitor evil; echo x > fixture.store/hooks/post-update";
            let did =
                world.mounted(&["--mount", backend], &format!("{attack}; echo {backend} > a.txt")).ends(0);
            did.says("not applied: fixture.store ");
            assert_eq!(
                world.outside("cat fixture.store/config; ls fixture.store/hooks"),
                before,
                "{backend}"
            );
            assert_eq!(world.outside("cat a.txt"), format!("{backend}\n"));
            let quiet = world
                .mounted(&["--mount", backend], "git -C fixture.store config --list; echo one > a.txt")
                .ends(0);
            assert!(!quiet.stderr.contains("fixture.store is"), "{quiet:#?}");
        }
    });
}

#[test]
fn the_project_itself_does_not_become_a_repository() {
    for_each_identity(|world| {
        world.write("project/a.txt", "one\n");
        world.give();
        let proof = world.path("proof");
        for backend in BACKENDS {
            let attack = bare_repository(".", &proof).join("; ");
            let did =
                world.mounted(&["--mount", backend], &format!("{attack}; echo {backend} > a.txt")).ends(0);
            did.says("not applied: config ");
            assert_eq!(
                world.outside(
                    "cat a.txt; for name in HEAD config objects refs; do test ! -e $name || echo $name; done"
                ),
                format!("{backend}\n")
            );
            set_off(&world, "git status");
            assert!(!proof.exists(), "{backend}: the agent's program ran");
        }
    });
}

#[test]
fn scripts_that_a_filter_runs_in_any_spelling_are_not_applied() {
    const FILTERS: [(&str, &str); 6] = [
        ("tools/plain.sh", "plain"),
        ("sh -c 'exec tools/sq.sh -x'", "sq"),
        ("tools/semi.sh;true", "semi"),
        ("\"$(git rev-parse --show-toplevel)\"/tools/top.sh", "top"),
        ("X=1;tools/env.sh|cat", "env"),
        ("cd tools && ./pre.sh", "pre"),
    ];
    for_each_identity(|world| {
        let scripts: Vec<String> = FILTERS.iter().map(|(_, name)| format!("tools/{name}.sh")).collect();
        let mut files: Vec<(&str, &str)> = scripts.iter().map(|path| (path.as_str(), "cat\n")).collect();
        files.push(("tools/ordinary.sh", "one\n"));
        world.repository(&files);
        for (command, name) in FILTERS {
            let (command, key) = (command.to_owned(), format!("filter.{name}.clean"));
            let did = world.program("git").args(["config", &key, &command]).output().unwrap();
            assert!(did.status.success(), "{did:?}");
        }
        for backend in BACKENDS {
            let attack = format!("for script in tools/*.sh; do echo evil-{backend} > $script; done");
            let did = world.mounted(&["--mount", backend, "--json"], &attack).ends(0);
            let mut kept = paths(&did.json()["applied"]["outcome"]["review"]["protected"]);
            kept.sort();
            let mut expected = scripts.clone();
            expected.sort();
            assert_eq!(kept, expected, "{backend}");
            assert_eq!(world.outside("grep -l evil tools/*"), "tools/ordinary.sh\n", "{backend}");
        }
    });
}

#[test]
fn scripts_that_are_not_there_yet_are_not_applied_where_a_filter_goes_to() {
    // Each with the script that it would run.
    const FILTERS: [(&str, &str); 6] = [
        ("cd tools && sh run", "tools/run"),
        ("sh -c 'cd new/er; sh start.sh'", "new/er/start.sh"),
        ("cd \"$(git rev-parse --show-toplevel)/deep\" && . script", "deep/script"),
        ("cd one; cd two; python3 both", "one/two/both"),
        ("env -C other bash go", "other/go"),
        ("sh top", "top"),
    ];
    for_each_identity(|world| {
        world.repository(&[("tools/other", "one\n")]);
        for (number, (command, _)) in FILTERS.iter().enumerate() {
            let key = format!("filter.f{number}.clean");
            let did = world.program("git").args(["config", &key, command]).output().unwrap();
            assert!(did.status.success(), "{did:?}");
        }
        let mut expected: Vec<&str> = FILTERS.iter().map(|(_, script)| *script).collect();
        expected.sort_unstable();
        for backend in BACKENDS {
            let mut attack = format!("echo {backend} > tools/other; echo {backend} > new.txt");
            for script in &expected {
                attack += &format!("; mkdir -p $(dirname {script}); echo evil > {script}");
            }
            let did = world.mounted(&["--mount", backend, "--json"], &attack).ends(0);
            let mut kept = paths(&did.json()["applied"]["outcome"]["review"]["protected"]);
            kept.sort();
            // A directory that is named and not there yet might be a script as well.
            kept.retain(|path| path != "new/er");
            assert_eq!(kept, expected, "{backend}");
            assert_eq!(world.outside("cat tools/other new.txt"), format!("{backend}\n{backend}\n"));
            assert_eq!(world.outside("grep -rl evil . --exclude-dir=.git || true"), "", "{backend}");
        }
    });
}

/// Makes a repository below the project that runs hooks from `.hooks` of its work tree, and says where that is.
const BELOW: [(&str, &str); 10] = [
    ("MODULE lib; git -C lib config core.hooksPath .hooks", "lib"),
    ("MODULE --name other lib; git -C lib config core.hooksPath .hooks", "lib"),
    (
        "MODULE lib; cd lib; MODULE in/ner; git -C in/ner config core.hooksPath .hooks; git commit -qm inner; cd ..",
        "lib/in/ner",
    ),
    ("git config core.hooksPath .hooks; git worktree add -q wt/feature", "wt/feature"),
    ("MODULE lib; git -C lib config core.hooksPath .hooks; git -C lib worktree add -q ../tree", "tree"),
    ("git clone -q ../origin vendor; git config --global core.hooksPath .hooks", "vendor"),
    ("MODULE lib; git config --global core.hooksPath .hooks", "lib"),
    (
        "git clone -q --separate-git-dir=store.d ../origin apart; git -C apart config core.hooksPath .hooks",
        "apart",
    ),
    (
        "git clone -q ../origin linked; mv linked/.git store.d; ln -s ../store.d linked/.git; git -C linked config core.hooksPath .hooks",
        "linked",
    ),
    (
        "mkdir -p conf work; git init -q conf; git -C conf config core.worktree ../../work; git -C conf config core.hooksPath .hooks",
        "work",
    ),
];

fn below(world: &World, setup: &str) {
    let module = "git -c protocol.file.allow=always submodule --quiet add";
    let mut setup = setup.replace("MODULE --name other lib", &format!("{module} --name other ORIGIN lib"));
    for path in ["lib", "in/ner"] {
        setup = setup.replace(&format!("MODULE {path}"), &format!("{module} ORIGIN {path}"));
    }
    let origin = world.path("origin");
    let setup = setup.replace("ORIGIN", origin.to_str().unwrap());
    let make = "git init -q -b main ../origin; cd ../origin; echo one > file; git add file; git commit -qm o; cd ../project";
    world.outside(&format!("{make}; {setup}"));
}

#[test]
fn what_git_runs_in_a_repository_below_the_project_is_not_applied() {
    for who in crate::support::mount::identities() {
        for backend in BACKENDS {
            for (setup, place) in BELOW {
                let world = World::new(who);
                world.repository(&[("a.txt", "one\n")]);
                below(&world, setup);
                let proof = world.path("proof");
                let attack = format!(
                    "mkdir -p {place}/.hooks; printf '#!/bin/sh\\necho x >> {}\\n' > {place}/.hooks/pre-commit
                     chmod +x {place}/.hooks/pre-commit; echo two > {place}/ordinary",
                    proof.display()
                );
                let did = world.mounted(&["--mount", backend, "--json"], &attack).ends(0);
                let kept = paths(&did.json()["applied"]["outcome"]["review"]["protected"]);
                assert!(kept.contains(&format!("{place}/.hooks/pre-commit")), "{setup}: {did:#?}");
                assert_eq!(world.outside(&format!("cat {place}/ordinary")), "two\n", "{setup}");
                let at = if place == "work" { "conf" } else { place };
                set_off(&world, &format!("git -C {at} commit -q --allow-empty -m x"));
                assert!(!proof.exists(), "{backend}: {setup}: the agent's program ran");
            }
        }
    }
}

#[test]
fn a_repository_that_came_while_the_agent_worked_counts_too() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        for backend in BACKENDS {
            let attack = "mkdir -p late/.hooks; echo 'exit 1' > late/.hooks/pre-commit; echo two > a.txt";
            let waiting = world.waiting(&["--mount", backend, "--json"], "true", attack);
            world.outside("git init -q late; git -C late config core.hooksPath .hooks");
            let did = waiting.go().ends(0);
            let kept = paths(&did.json()["applied"]["outcome"]["review"]["protected"]);
            assert!(kept.contains(&"late/.hooks/pre-commit".to_owned()), "{backend}: {did:#?}");
            assert!(!world.project().join("late/.hooks/pre-commit").exists());
            assert_eq!(world.outside("cat a.txt; echo one > a.txt; rm -rf late"), "two\n");
        }
    });
}

#[test]
fn what_git_ignores_is_ignored_wherever_the_repository_begins() {
    for_each_identity(|world| {
        world.repository(&[
            (".gitignore", "build/\n*.log\n!keep.log\n/sub/only\n"),
            ("sub/t.txt", "one\n"),
            ("sub/.gitignore", "own\n"),
        ]);
        world.outside("echo one > sub/tracked.log; git add -f sub/tracked.log; git commit -qm log; echo priv > .git/info/exclude");
        let ignored = ["build/keep.db", "x.log", "only", "own", "priv"];
        for backend in BACKENDS {
            world.outside("mkdir -p sub/build; cd sub; for one in build/keep.db x.log only own priv; do echo mine > $one; done");
            let attack = "rm -rf build only own priv; echo evil > x.log; echo two > t.txt; echo two > tracked.log; echo two > keep.log";
            world.mounted(&["--mount", backend, "--root", "sub"], attack).ends(0).says("that git ignores");
            for path in ignored {
                assert_eq!(world.outside(&format!("cat sub/{path}")), "mine\n", "{backend}: {path}");
            }
            let applied =
                world.outside("cd sub; cat t.txt tracked.log keep.log; rm keep.log; git checkout -q .");
            assert_eq!(applied, "two\ntwo\ntwo\n", "{backend}");
        }
        // What the user asks for is done.
        world.mounted(&["--root", "sub", "--include-ignored"], "rm -r build").ends(0);
        assert!(!world.project().join("sub/build").exists());
    });
}

#[test]
fn what_a_repository_below_the_project_ignores_is_ignored() {
    for_each_identity(|world| {
        // The project itself is no repository.
        world.files(&[("a.txt", "one\n"), (".gitignore", "plain\n")]);
        for (setup, place) in [
            ("git clone -q ../origin vendor; echo priv > vendor/.git/info/exclude", "vendor"),
            (
                "git init -q .; git -c protocol.file.allow=always submodule --quiet add ../origin lib
                 echo priv > .git/modules/lib/info/exclude; echo '*.txt' >> .gitignore",
                "lib",
            ),
        ] {
            world.outside(&format!(
                "rm -rf ../origin; git init -q -b main ../origin; cd ../origin; echo build > .gitignore; echo one > t.txt
                 git add .; git commit -qm o; cd ../project; {setup}"
            ));
            for backend in BACKENDS {
                world.outside(&format!("cd {place}; mkdir build; echo mine > build/x; echo mine > priv"));
                let attack = format!("cd {place}; rm -rf build priv; echo two > t.txt; echo plain > plain");
                world.mounted(&["--mount", backend], &attack).ends(0);
                let now = world.outside(&format!(
                    "cd {place}; cat build/x priv t.txt; rm -rf build priv plain; git checkout -q ."
                ));
                assert_eq!(now, "mine\nmine\ntwo\n", "{backend}: {place}");
            }
        }
    });
}

#[test]
fn the_setting_of_the_machine_counts_wherever_this_git_has_it() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        let system = world.write("etc/gitconfig", "[core]\n\thooksPath = .hooks\n");
        let git = world.outside("command -v git");
        let text =
            format!("#!/bin/sh\nGIT_CONFIG_SYSTEM='{}' exec '{}' \"$@\"\n", system.display(), git.trim_end());
        world.raw_harness("git", &text, 0o755);
        for backend in BACKENDS {
            let attack = "mkdir -p .hooks; echo 'exit 1' > .hooks/pre-commit; echo two > a.txt";
            let mut command = world.mounted_command(&["--mount", backend], attack);
            let path = std::env::var("PATH").unwrap_or_default();
            command.env("PATH", format!("{}:{path}", world.path("bin").display()));
            let did = Did::of(&command.output().unwrap()).ends(0);
            did.says("not applied: .hooks/pre-commit").says("core.hookspath");
            assert!(!world.project().join(".hooks/pre-commit").exists());
            assert_eq!(world.outside("cat a.txt; echo one > a.txt"), "two\n");
        }
    });
}

#[test]
fn what_git_ignores_by_any_of_its_settings_is_ignored() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n"), ("tracked.dat", "one\n"), (".agentignore", "keys.txt\n!\n")]);
        world.write("home/gi", "*.dat\n/made/\n");
        world.write("home/inc", format!("[core]\nexcludesFile = {}\n", world.path("home/gi").display()));
        world.write("project/keys.txt", "SECRET\n");
        world.give();
        let home = world.path("home");
        let home = home.display();
        let file = home.to_string() + "/inc";
        let global = |text: &str| format!("printf '{text}' > {home}/.gitconfig");
        let settings = [
            (global(&format!("[include]\\npath={file}\\n")), "g.dat"),
            (global(&format!("[includeIf \"gitdir:**\"]\\npath={file}\\n")), "g.dat"),
            (global(&format!("[includeIf \"onbranch:main\"]\\npath={file}\\n")), "g.dat"),
            (format!("git config include.path {file}"), "g.dat"),
            (
                format!(
                    "git config extensions.worktreeConfig true; git config --worktree include.path {file}"
                ),
                "g.dat",
            ),
            ("git config core.ignoreCase true; echo '*.DAT' > .git/info/exclude".to_owned(), "g.dat"),
            ("printf '*.dat\\n!\\n' > .git/info/exclude".to_owned(), "g.dat"),
            (String::new(), "g.dat"),
        ];
        for backend in BACKENDS {
            for (number, (setting, ignored)) in settings.iter().enumerate() {
                world.outside(&format!("cp .git/config ../kept; echo mine > {ignored}; {setting}"));
                let attack = "rm -f g.dat; echo two > tracked.dat; echo two > a.txt; mkdir made; echo x > made/x.dat; cat keys.txt || true";
                let mut command = world.mounted_command(&["--mount", backend], attack);
                if setting.is_empty() {
                    let value = world.path("home/gi");
                    command.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_KEY_0", "core.excludesFile");
                    command.env("GIT_CONFIG_VALUE_0", value);
                }
                let did = Did::of(&command.output().unwrap()).ends(0);
                did.says("that git ignores");
                assert!(!did.stdout.contains("SECRET"), "{did:#?}");
                let now =
                    world.outside(&format!("cat {ignored} tracked.dat a.txt; ls made/x.dat 2>&1 || true"));
                assert!(now.starts_with("mine\ntwo\ntwo\n"), "{backend} {number}: {setting}: {now}");
                assert!(now.contains("No such file"), "{backend} {number}: {setting}: {now}");
                world.outside(&format!("rm -rf made {home}/.gitconfig .git/config.worktree; cp ../kept .git/config; : > .git/info/exclude; git checkout -q ."));
            }
        }
    });
}

/// Mercurial, Sapling and Jujutsu run what the settings in their repositories say, some prompts even call them.
#[test]
fn a_repository_of_another_program_is_not_applied() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        world.outside("mkdir -p kept/.jj/repo; echo mine > kept/.jj/repo/config.toml");
        for backend in BACKENDS {
            let attack = "set -e; mkdir -p .hg sub/.sl x/.jj/repo evil; echo EVIL > .hg/hgrc; echo EVIL > sub/.sl/config; \
                          echo EVIL > x/.jj/repo/config.toml; echo EVIL > kept/.jj/repo/config.toml; ln -s ../evil x/.hg; \
                          echo EVIL > evil/hgrc; echo two > a.txt";
            let did = world.mounted(&["--mount", backend, "--json"], attack).ends(0);
            let kept = paths(&did.json()["applied"]["outcome"]["review"]["protected"]);
            for path in
                [".hg/hgrc", "sub/.sl/config", "x/.jj/repo/config.toml", "kept/.jj/repo/config.toml", "x/.hg"]
            {
                assert!(kept.contains(&path.to_owned()), "{backend}: {path} is not in {kept:?}");
            }
            let there = world.outside(
                "cat a.txt kept/.jj/repo/config.toml; ls -d .hg sub/.sl x/.jj x/.hg 2>/dev/null || true",
            );
            assert_eq!(there, "two\nmine\n", "{backend}");
            world.outside("git checkout -q a.txt; rm -rf evil sub x");
            // Nor does a commit bring it.
            let did = world.mounted(
                &["--mount", backend],
                "mkdir .hg; echo EVIL > .hg/hgrc; git add -f .hg; git commit -qm x",
            );
            assert!(did.stderr.contains(".hg"), "{did:#?}");
            assert!(
                !world.outside("git for-each-ref refs/agentworkforce").contains("heads"),
                "{backend}: {did:#?}"
            );
        }
    });
}
