//! Commits of an agent that would bring in what the review refuses: they are held, and ordinary ones are not.

use crate::support::mount::{World, for_each_identity};
use crate::support::sessions::{BACKENDS, Did};
use serde_json::{Value, json};

/// What became of the agent's commits.
fn commits(did: &Did) -> Value {
    did.json()["applied"]["git"].clone()
}

#[track_caller]
fn is_held(did: &Did, path: &str) {
    let git = commits(did);
    assert_eq!(git["exported"], serde_json::json!([]), "{did:#?}");
    let held = git["held"].as_array().unwrap();
    assert!(!held.is_empty() && held.iter().any(|branch| branch["path"] == path), "{path}: {did:#?}");
}

/// Makes what git takes for a repository; its configuration runs a program.
fn hostile(dir: &str, proof: &std::path::Path) -> String {
    format!(
        "mkdir -p {dir}/objects {dir}/refs; touch {dir}/objects/.k {dir}/refs/.k; echo 'ref: refs/heads/main' > {dir}/HEAD
         printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = .\\n\\tfsmonitor = touch {}; false\\n' > {dir}/config",
        proof.display()
    )
}

#[test]
fn commits_that_bring_a_directory_that_git_takes_for_a_repository_are_held() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        let proof = world.path("proof");
        for backend in BACKENDS {
            let flags = ["--mount", backend, "--json"];
            let attack = format!(
                "{}; echo doc > tools/README; git add -f tools; git commit -qm tools",
                hostile("tools/t", &proof)
            );
            is_held(&world.mounted(&flags, &attack).ends(0), "tools/t/HEAD");
            // Removed by a later commit, it is in an earlier one.
            let attack = format!("{attack}; git rm -qr tools/t; git commit -qm gone");
            is_held(&world.mounted(&flags, &attack).ends(0), "tools/t/HEAD");
            // On two branches, each with a half of it.
            let attack = format!(
                "{}; git add -f t/HEAD t/objects; git commit -qm half; git checkout -q -b topic HEAD~1; git add -f t
                 git commit -qm rest; rm -rf t",
                hostile("t", &proof)
            );
            let git = commits(&world.mounted(&flags, &attack).ends(0));
            assert_eq!(git["exported"].as_array().unwrap().len(), 1, "{git:#}");
            assert_eq!(git["held"].as_array().unwrap().len(), 1, "{git:#}");
            world.outside("git for-each-ref --format='delete %(refname)' refs/agentworkforce | git update-ref --stdin; rm -rf t tools");
            // In two runs: the second finds what the first left.
            let [first, second] = [
                format!("{}; git add -f t/HEAD t/objects; git commit -qm half", hostile("t", &proof)),
                format!("{}; git add -f t/config t/refs; git commit -qm rest", hostile("t", &proof)),
            ];
            let git = commits(&world.mounted(&flags, &first).ends(0));
            assert_eq!(git["exported"].as_array().unwrap().len(), 1, "{git:#}");
            is_held(&world.mounted(&flags, &second).ends(0), "t/config");
            world.outside("git for-each-ref --format='delete %(refname)' refs/agentworkforce | git update-ref --stdin; rm -rf t tools");
        }
        assert!(!proof.exists());
    });
}

/// Git takes ignored files for expendable: a merge or cherry-pick overwrites what the user has there.
#[test]
fn commits_that_bring_what_git_ignores_are_held() {
    for_each_identity(|world| {
        world.repository(&[
            ("a.txt", "one\n"),
            ("kept.log", "tracked\n"),
            (".gitignore", "local.db\n.venv/\nnew/\n*.log\n"),
        ]);
        world.outside("git add -f kept.log; git commit -qm kept; mkdir .venv; echo precious | tee local.db > .venv/activate");
        for backend in BACKENDS {
            let flags = ["--mount", backend, "--json"];
            let commit = |path: &str| {
                format!("mkdir -p $(dirname {path}); echo evil > {path}; git add -f {path}; git commit -qm x")
            };
            for path in ["local.db", ".venv/activate", "new/x"] {
                is_held(&world.mounted(&flags, &commit(path)).ends(0), path);
                // What the agent makes of the ignore files does not count.
                let attack =
                    format!("echo > .gitignore; {}; git checkout -q HEAD~1 .gitignore", commit(path));
                is_held(&world.mounted(&flags, &attack).ends(0), path);
            }
            let git = commits(&world.mounted(&flags, &commit("kept.log")).ends(0));
            assert_eq!(git["held"], serde_json::json!([]), "{git:#}");
            world.outside("git checkout -q kept.log");
        }
        assert_eq!(world.outside("cat local.db .venv/activate"), "precious\nprecious\n");
    });
}

/// A pull request that was only fetched is known to git, but nobody has looked at it.
#[test]
fn the_command_for_commits_brings_no_others() {
    for_each_identity(|world| {
        world.repository(&[("a", "one\n"), (".githooks/pre-commit", "#!/bin/sh\n")]);
        world.outside(
            "git config core.hooksPath .githooks; git checkout -q -b evil; echo evil >> .githooks/pre-commit; git commit -qam evil
             git update-ref refs/remotes/origin/pr-5 HEAD; git checkout -q -; git branch -qD evil",
        );
        for moves in [false, true] {
            if moves {
                world.outside("echo 2 > b; git add b; git commit -qm two");
            }
            let attack = format!(
                "git checkout -q -b work origin/pr-5; for c in c d; do echo {moves} > $c; git add $c; git commit -qm $c; done"
            );
            let git = commits(&world.mounted(&["--json"], &attack).ends(0));
            let branch = &git["exported"][0];
            let ids: Vec<&str> =
                branch["commits"].as_array().unwrap().iter().map(|c| c["id"].as_str().unwrap()).collect();
            let command = branch["command"].as_str().unwrap();
            let expected = format!("git cherry-pick {} {}", &ids[1][..12], &ids[0][..12]);
            assert!(command.ends_with(&expected) && ids.len() == 2, "{git:#}");
        }
    });
}

/// A command that "moves your branch, the files are already applied" would publish what the review never showed.
#[test]
fn no_command_takes_over_a_commit_that_has_what_was_not_applied() {
    for_each_identity(|world| {
        world.repository(&[("src.js", "good\n"), ("other", "one\n")]);
        for backend in BACKENDS {
            let commit = |name: &str| {
                format!("echo evil > src.js; echo two > other; git commit -qam {name}-{backend}")
            };
            let script = format!("{}; git show HEAD~1:src.js > src.js", commit("back"));
            let did = world.mounted(&["--mount", backend, "--json"], &script).ends(0);
            let taken_back = &commits(&did)["exported"][0];
            assert_eq!(taken_back["differing"], json!(["src.js"]), "{taken_back:#}");
            assert!(taken_back["command"].as_str().unwrap().starts_with("git log -p "), "{taken_back:#}");
            world.outside("git checkout -q .");
            // Picked only in part.
            let flags = ["--mount", backend, "--apply", "never", "--json"];
            let held = world.mounted(&flags, &commit("part")).ends(0).json();
            let session = held["session"].as_str().unwrap();
            let did = world.aw(["sessions", "apply", session, "--only", "other"]).ends(0);
            assert!(did.stderr.contains("they differ from your files: src.js"), "{did:#?}");
            assert!(!did.stderr.contains("git reset"), "{did:#?}");
            let did = world.aw(["sessions", "apply", session]).ends(0);
            assert!(did.stderr.contains("git reset refs/agentworkforce/"), "{did:#?}");
            world.outside("git checkout -q .");
        }
    });
}

#[test]
fn commits_beside_a_repository_that_the_project_tracks_are_not_held() {
    for_each_identity(|world| {
        let fixture = [
            ("fix/repo/HEAD", "ref: x\n"),
            ("fix/repo/objects/k", ""),
            ("fix/repo/refs/k", ""),
            ("fix/a", "one\n"),
        ];
        world.repository(&fixture);
        // On a branch that is not checked out.
        world.outside("git checkout -q -b other; mkdir -p far/refs far/objects; touch far/refs/k far/objects/k far/HEAD; git add far; git commit -qm far; git checkout -q main");
        for backend in BACKENDS {
            let flags = ["--mount", backend, "--json"];
            let did = world
                .mounted(
                    &flags,
                    &format!("echo two > fix/a; mkdir refs; echo x > refs/HEAD; git add .; git commit -qm {backend}"),
                )
                .ends(0);
            let git = commits(&did);
            assert_eq!(
                (git["exported"].as_array().unwrap().len(), git["held"].clone()),
                (1, serde_json::json!([])),
                "{did:#?}"
            );
            world.outside("git checkout -q .; rm -rf refs");
            let attack = "echo evil > fix/repo/config; git add -f fix; git commit -qm fixture";
            is_held(&world.mounted(&flags, attack).ends(0), "fix/repo/config");
            let attack = "git checkout -q other; echo evil > far/config; git add -f far; git commit -qm far";
            is_held(&world.mounted(&flags, attack).ends(0), "far/config");
            world.outside("git reset -q --hard; git clean -qfd");
        }
    });
}

#[test]
fn commits_that_change_what_git_runs_by_a_setting_of_now_are_held() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        for backend in BACKENDS {
            let attack =
                "mkdir .hooks; echo 'exit 1' > .hooks/pre-commit; git add .hooks; git commit -qm hooks";
            let waiting = world.waiting(&["--mount", backend, "--json"], "true", attack);
            world.outside("git config core.hooksPath .hooks");
            is_held(&waiting.go().ends(0), ".hooks/pre-commit");
            world.outside("git config --unset core.hooksPath");
            // A file in a nested repository, which `git add` would not take.
            world.outside("git init -q nested; git -C nested config core.hooksPath .hooks");
            let attack = "blob=$(echo 'exit 1' | git hash-object -w --stdin)
                 git update-index --add --cacheinfo 100755,$blob,nested/.hooks/pre-commit; git commit -qm nested";
            is_held(
                &world.mounted(&["--mount", backend, "--json"], attack).ends(0),
                "nested/.hooks/pre-commit",
            );
            world.outside("rm -rf nested");
            let modules = "printf '[submodule \"x\"]\\n\\tpath = x\\n\\turl = ./x\\n\\tupdate = !touch y\\n' > .gitmodules";
            let attack = format!("{modules}; git add .gitmodules; git commit -qm modules");
            let git = commits(&world.mounted(&["--mount", backend, "--json"], &attack).ends(0));
            assert_eq!(git["exported"], serde_json::json!([]), "{git:#}");
        }
    });
}

#[test]
fn commits_of_a_repository_below_the_project_are_judged_by_where_its_files_are() {
    const MODULE: &str = "git -c protocol.file.allow=always submodule --quiet add";
    let setups = [
        (format!("{MODULE} ORIGIN lib"), "lib"),
        (format!("{MODULE} --name other ORIGIN lib"), "lib"),
        (
            format!("{MODULE} ORIGIN lib; cd lib; {MODULE} ORIGIN inner; git commit -qm inner; cd .."),
            "lib/inner",
        ),
        ("git worktree add -q wt/feature".to_owned(), "wt/feature"),
        ("git clone -q ORIGIN vendor".to_owned(), "vendor"),
        ("git clone -q --separate-git-dir=store.d ORIGIN apart".to_owned(), "apart"),
    ];
    for who in crate::support::mount::identities() {
        for backend in BACKENDS {
            for (setup, place) in &setups {
                let world = World::new(who);
                world.repository(&[("locked.txt", "one\n"), ("other.txt", "one\n")]);
                let origin = world.path("origin");
                let setup = setup.replace("ORIGIN", origin.to_str().unwrap());
                world.outside(&format!("git clone -q . ../origin; {setup}"));
                world.write("project/.agentreadonly", format!("/{place}/locked.txt\n"));
                world.give();
                let flags = ["--mount", backend, "--json"];
                let attack = format!("cd {place}; echo evil > locked.txt; git commit -qam evil");
                is_held(&world.mounted(&flags, &attack).ends(0), &format!("{place}/locked.txt"));
                let work = format!("cd {place}; echo two > other.txt; git commit -qam work");
                let did = world.mounted(&flags, &work).ends(0);
                let git = commits(&did);
                let exported = git["exported"].as_array().unwrap();
                assert!(!exported.is_empty() && git["held"] == serde_json::json!([]), "{setup}: {did:#?}");
                let command =
                    exported.iter().filter_map(|branch| branch["command"].as_str()).next_back().unwrap();
                assert!(command.contains(&format!("git -C {place} ")), "{setup}: {command}");
                world.outside(command);
                let subject = world.outside(&format!("git -C {place} log -1 --format=%s"));
                assert_eq!(subject, "work\n", "{setup}: {command}");
            }
        }
    }
}

#[test]
fn commits_are_not_held_because_of_a_worktree_that_the_agent_cannot_see() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        world.write("project/.agentignore", "/apart/\n");
        world.give();
        world.outside("git worktree add -q apart/tree; git clone -q . ../origin
             git -c protocol.file.allow=always submodule --quiet add ../origin lib; git commit -qm module; git -C lib config core.hooksPath .hooks");
        for backend in BACKENDS {
            // The commit of a submodule with hooks is none of the hooks.
            let work = format!(
                "cd lib; echo {backend} > a.txt; git commit -qam inner; cd ..; echo {backend} > a.txt; git commit -qam outer"
            );
            let did = world.mounted(&["--mount", backend, "--json"], &work).ends(0);
            let git = commits(&did);
            assert_eq!(
                (git["exported"].as_array().unwrap().len(), &git["held"]),
                (2, &serde_json::json!([])),
                "{did:#?}"
            );
        }
    });
}

#[test]
fn commits_in_a_repository_with_reftable_are_kept_or_held_and_never_lost() {
    for_each_identity(|world| {
        world.files(&[("a.txt", "one\n"), (".agentreadonly", "locked\n")]);
        world.outside("git init -q --ref-format=reftable -b main . && git add -A && git commit -qm base");
        world.outside("for i in $(seq 300); do echo create refs/heads/many/branch-$i HEAD; done | git update-ref --stdin; git branch packed; git pack-refs --all; git branch later");
        for backend in BACKENDS {
            let flags = ["--mount", backend, "--json"];
            // A commit that the repository has already is not brought again.
            let work = format!(
                "git checkout -q -b w1; echo {backend} > b; git add b; git commit -qm work; git branch -D packed later -q
                 git checkout -q --detach; git commit -q --allow-empty -m apart; git checkout -q main"
            );
            let did = world.mounted(&flags, &work).ends(0);
            let git = commits(&did);
            let branches: Vec<&str> =
                git["exported"].as_array().unwrap().iter().filter_map(|one| one["branch"].as_str()).collect();
            assert_eq!((branches, &git["held"]), (vec!["w1"], &serde_json::json!([])), "{backend}: {did:#?}");
            let reference = git["exported"][0]["reference"].as_str().unwrap();
            assert_eq!(world.outside(&format!("git log -1 --format=%s {reference}")), "work\n");
            let apart = format!("git checkout -q --detach; git commit -q --allow-empty -m {backend}");
            let did = world.mounted(&flags, &apart).ends(0);
            assert_eq!(commits(&did)["exported"][0]["branch"], "detached", "{backend}: {did:#?}");

            let attack = "git checkout -q -b w2; echo x > locked; git add locked; git commit -qm locked";
            is_held(&world.mounted(&flags, attack).ends(0), "locked");
            let stash =
                world.mounted(&["--mount", backend], "echo two > a.txt; git stash -q; echo c > c").ends(0);
            stash.says("a git stash of the agent stays in the session");
            let broken =
                "git checkout -q -b w3; git commit -q --allow-empty -m x; echo x > .git/reftable/tables.list";
            let did = world.mounted(&flags, &format!("{broken}; echo d > d")).ends(0);
            let reason = commits(&did)["held"][0]["reason"].to_string();
            assert!(reason.contains("reftable that cannot be read"), "{backend}: {did:#?}");
            assert_eq!(did.json()["applied"]["mountRemoved"], false, "{backend}");
            world.outside("rm -f b c d");
        }
    });
}

#[test]
fn commits_that_any_ref_or_worktree_reaches_are_kept_or_held_and_never_lost() {
    // What the agent does, the name of what is kept, and where.
    let ways = [
        ("git checkout -q --detach; WORK; git tag t1; git checkout -q main", "tags/t1"),
        (
            "git checkout -q --detach; WORK; git tag -a -m note t2; git checkout -q main; git pack-refs --all",
            "tags/t2",
        ),
        ("git worktree add -q --detach PLACE/wt; cd PLACE/wt; WORK", "worktrees/wt"),
        (
            "git checkout -q --detach; WORK; git update-ref refs/odd/place HEAD; git checkout -q main",
            "odd/place",
        ),
        ("git notes add -m note", "notes/commits"),
        (
            "git checkout -q --detach; WORK; printf '%s\\njunk' $(git rev-parse HEAD) > .git/refs/heads/odd; git checkout -q main",
            "odd",
        ),
    ];
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n"), (".agentreadonly", "locked\n")]);
        for backend in BACKENDS {
            let flags = ["--mount", backend, "--json"];
            for (number, (way, name)) in ways.iter().enumerate() {
                let work =
                    format!("echo {backend}-{number} >> a.txt; git commit -qam work-{backend}-{number}");
                let place = world.path("elsewhere").display().to_string();
                world.outside("mkdir -p ../elsewhere");
                let did = world.mounted(&flags, &way.replace("WORK", &work).replace("PLACE", &place)).ends(0);
                let git = commits(&did);
                let kept: Vec<&str> = git["exported"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .filter_map(|one| one["branch"].as_str())
                    .collect();
                assert_eq!(
                    (kept, &git["held"]),
                    (vec![*name], &serde_json::json!([])),
                    "{backend}: {way}: {did:#?}"
                );
                if way.contains("WORK") {
                    let reference = git["exported"][0]["reference"].as_str().unwrap();
                    let subject = world.outside(&format!("git log -1 --format=%s {reference}"));
                    assert_eq!(subject, format!("work-{backend}-{number}\n"), "{way}");
                }
                world.outside("rm -rf ../elsewhere; git worktree prune; git checkout -q .");
            }
            // Refused is refused, whatever reaches it; what cannot be read is held.
            let locked = "git checkout -q --detach; echo x > locked; git add locked; git commit -qm l; git tag l; git checkout -q main";
            is_held(&world.mounted(&flags, locked).ends(0), "locked");
            let work = "git checkout -q --detach; git commit -q --allow-empty -m x; git tag hidden; git checkout -q main";
            for hide in [
                "mv .git/refs/tags/hidden ../h; cp ../h .git/h; ln -s ../../h .git/refs/tags/hidden",
                "git pack-refs --all; mv .git/packed-refs .git/p; ln -s p .git/packed-refs",
                "mv .git/refs .git/r; ln -s r .git/refs",
            ] {
                let did = world.mounted(&flags, &format!("{work}; {hide}; rm -f ../h")).ends(0);
                let reason = commits(&did)["held"][0]["reason"].to_string();
                assert!(
                    reason.contains("not all of the agent's refs can be read"),
                    "{backend}: {hide}: {did:#?}"
                );
                assert_eq!(did.json()["applied"]["mountRemoved"], false, "{backend}");
            }
            // Two that are called the same are both kept.
            let both = "git checkout -q -b detached; git commit -q --allow-empty -m one; git checkout -q --detach; git commit -q --allow-empty -m two";
            let git = commits(&world.mounted(&flags, both).ends(0));
            let references: std::collections::BTreeSet<String> = git["exported"]
                .as_array()
                .unwrap()
                .iter()
                .map(|one| {
                    world.outside(&format!("git log -1 --format=%s {}", one["reference"].as_str().unwrap()))
                })
                .collect();
            assert_eq!(references, ["one\n", "two\n"].map(str::to_owned).into(), "{git:#}");
            // What a branch reaches is brought once, and so is nothing that was fetched.
            let tagged = format!(
                "echo {backend} > b; git add b; git commit -qm b; git tag v-{backend}; git tag -a -m x va-{backend}"
            );
            let did = world.mounted(&flags, &tagged).ends(0);
            assert_eq!(commits(&did)["exported"].as_array().unwrap().len(), 1, "{did:#?}");
            world.outside("rm -f b");
            let up = world.path("elsewhere/up").display().to_string();
            world.outside("mkdir -p ../elsewhere");
            let fetched = "git clone -q . UP; git -C UP commit -q --allow-empty -m up; git -C UP tag up; git remote add up UP; git fetch -q --tags up; rm -rf UP";
            let fetched = fetched.replace("UP", &up);
            let did = world.mounted(&flags, &fetched).ends(0);
            assert_eq!(commits(&did), serde_json::json!({"exported": [], "held": []}), "{did:#?}");
            // A stash is one however it is kept.
            let stash = "echo two > a.txt; git stash -q; git pack-refs --all; echo c > c";
            world
                .mounted(&["--mount", backend], stash)
                .ends(0)
                .says("a git stash of the agent stays in the session");
            world.outside("rm -f c");
        }
    });
}
