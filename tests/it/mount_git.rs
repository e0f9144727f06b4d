//! Git in both backends: quiet about what we hide and plant, and private.

use crate::support::mount::{World, for_each_identity, read};
use pretty_assertions::assert_eq;
use std::fs;

const BACKENDS: [&[&str]; 2] = [&["--backend", "overlay"], &["--backend", "copy"]];

/// Everything that must not change in a git directory: refs, HEAD, index, objects. The time of an object is left out:
/// git refreshes it when a repository that borrows the object would have written the same one.
fn fingerprint(world: &World, git_dir: &str) -> String {
    world.outside(&format!(
        "cd {git_dir}; find . -type f | sort | xargs sha256sum; find . ! -path './objects/*/*' | sort | xargs stat -c '%n %i %Y'; \
         find ./objects | sort | xargs stat -c '%n %i'"
    ))
}

fn repository(world: &World) {
    world.files(&[
        ("a", "old"),
        ("CLAUDE.md", "theirs"),
        (".env", "S=1"),
        ("sub/.env", "S=1"),
        (".gitignore", "*.log\n"),
    ]);
    world.outside("git init -q -b main; git add -A; git commit -qm one; echo changed >> a; echo u > untracked; echo l > x.log");
}

#[test]
fn status_inside_equals_status_outside() {
    for_each_identity(|world| {
        repository(&world);
        let outside = world.outside("git status --porcelain=v1");
        for backend in BACKENDS {
            let flags = [
                backend,
                &[
                    "--hide",
                    "CLAUDE.md",
                    "--hide",
                    ".env",
                    "--plant",
                    "CLAUDE.md=ours",
                    "--plant",
                    "docs/AGENTS.md=ours",
                    "--plant",
                    "odd [x] name=ours",
                ],
            ]
            .concat();
            let before = fingerprint(&world, ".git");
            let ran =
                world.run(&flags, "git status --porcelain=v1; git diff --stat >&2; cat CLAUDE.md").expect(0);
            assert_eq!(ran.stdout, format!("{outside}ours"), "{backend:?}");
            assert_eq!(fingerprint(&world, ".git"), before, "{backend:?}");
            let git = &ran.record().git[0];
            let skipped: Vec<_> = git.skip_worktree.iter().map(|path| path.to_str().unwrap()).collect();
            assert_eq!(skipped, [".env", "CLAUDE.md", "sub/.env"]);
            let excluded: Vec<_> = git.excluded.iter().map(|path| path.to_str().unwrap()).collect();
            assert_eq!(excluded, ["docs/AGENTS.md", "odd [x] name"]);
        }
    });
}

#[test]
fn a_commit_of_everything_holds_nothing_of_ours_and_deletes_nothing_hidden() {
    for_each_identity(|world| {
        repository(&world);
        for backend in BACKENDS {
            let flags = [
                backend,
                &[
                    "--hide",
                    "CLAUDE.md",
                    "--hide",
                    ".env",
                    "--plant",
                    "CLAUDE.md=ours",
                    "--plant",
                    "AGENTS.md=ours",
                ],
            ]
            .concat();
            let before = fingerprint(&world, ".git");
            let script = "git checkout -q -b work && git add -A && git commit -qm agent && git show --stat --format=%s --name-status HEAD";
            let ran = world.run(&flags, script).expect(0);
            assert_eq!(ran.stdout, "agent\n\nM\ta\nA\tuntracked\n", "{backend:?}");
            assert_eq!(fingerprint(&world, ".git"), before, "{backend:?}: the user's repository was written");
            let private = ran.session.join(&ran.record().git[0].data);
            assert!(private.join("refs/heads/work").exists(), "{backend:?}");
        }
    });
}

#[test]
fn a_linked_worktree_is_private() {
    for_each_identity(|world| {
        repository(&world);
        world.outside("git worktree add -q ../linked; cd ../linked; echo more > CLAUDE.md");
        for backend in BACKENDS {
            let before = fingerprint(&world, ".git");
            let linked = world.path("linked");
            let flags =
                [backend, &["--hide", "CLAUDE.md", "--plant", "CLAUDE.md=ours", "--plant", "AGENTS.md=ours"]]
                    .concat();
            let mut command = world.mount(&flags, "git status --porcelain; echo x > new; git add -A; git commit -qm agent; git branch other; git log --format=%s; git stash list");
            let ran = world.ran(&command.current_dir(&linked).output().unwrap()).expect(0);
            assert_eq!(ran.stdout, "agent\none\n", "{backend:?} {ran:#?}");
            assert_eq!(fingerprint(&world, ".git"), before, "{backend:?}: the main repository was written");
            assert!(!linked.join("new").exists());
            let git = &ran.record().git[0];
            assert_eq!(&*git.common_dir, world.project().join(".git"));
            assert!(ran.session.join(&git.data).join("refs/heads/other").exists(), "{backend:?} {git:?}");
        }
    });
}

#[test]
fn submodules_are_private_and_quiet() {
    for_each_identity(|world| {
        repository(&world);
        world.outside(
            "git init -q -b main ../module; cd ../module; echo c > CLAUDE.md; echo m > m; git add -A; git commit -qm module
             cd ../project; git -c protocol.file.allow=always submodule --quiet add ../module module; git commit -qm submodule",
        );
        for backend in BACKENDS {
            let outside = world.outside("git status --porcelain");
            let before = fingerprint(&world, ".git");
            let flags = [backend, &["--hide", "CLAUDE.md", "--hide", ".env"]].concat();
            let script = "git status --porcelain; cd module; ls; echo x > m; git commit -qam agent; git log --format=%s";
            let ran = world.run(&flags, script).expect(0);
            assert_eq!(ran.stdout, format!("{outside}m\nagent\nmodule\n"), "{backend:?} {ran:#?}");
            assert_eq!(fingerprint(&world, ".git"), before, "{backend:?}");
            // The submodule as the project: its git directory is outside the root.
            let mut command = world.mount(
                &flags,
                "git status --porcelain; echo y > m; git commit -qam agent; git log --format=%s",
            );
            let ran =
                world.ran(&command.current_dir(world.project().join("module")).output().unwrap()).expect(0);
            assert_eq!(ran.stdout, "agent\nmodule\n", "{backend:?} {ran:#?}");
            assert_eq!(fingerprint(&world, ".git"), before, "{backend:?}");
            assert_eq!(read(world.project().join("module/m")), "m\n");
        }
    });
}

#[test]
fn the_objects_of_a_copy_are_borrowed() {
    for_each_identity(|world| {
        repository(&world);
        let ran = world
            .run(
                &["--backend", "copy"],
                "git fsck --no-dangling && git log --format=%s && find .git/objects -type f",
            )
            .expect(0);
        assert_eq!(ran.stdout, "one\n.git/objects/info/alternates\n");
    });
}

#[test]
fn status_in_a_copy_reads_no_file_again() {
    let world = World::new(crate::support::mount::Identity::Own);
    repository(&world);
    // The same size and time but other bytes: only somebody who reads the file sees it.
    world.outside("printf 'abc' > same; touch -d 2001-01-01 same; git add same; git commit -qm same");
    let ran = world
        .run(
            &["--backend", "copy"],
            "printf 'xyz' > same; touch -d 2001-01-01 same; git status --porcelain same",
        )
        .expect(0);
    assert_eq!(ran.stdout, "");
}

#[test]
fn hooks_and_monitors_of_the_repository_do_not_run_while_a_mount_is_opened() {
    for_each_identity(|world| {
        repository(&world);
        let trace = world.home().join("trace");
        let script = format!("#!/bin/sh\necho ran >> {}\n", trace.display());
        world.outside("mkdir -p .git/hooks; git config core.fsmonitor .git/hooks/monitor");
        for name in ["monitor", "post-index-change", "post-checkout"] {
            let path = world.project().join(".git/hooks").join(name);
            fs::write(&path, &script).unwrap();
            fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        }
        world.give();
        for backend in BACKENDS {
            let flags = [backend, &["--hide", "CLAUDE.md", "--plant", "AGENTS.md=x"]].concat();
            let _ = world.run(&flags, "true").expect(0);
            assert!(!trace.exists(), "{backend:?}");
        }
    });
}

#[test]
fn a_sparse_checkout_stays_quiet_too() {
    for_each_identity(|world| {
        repository(&world);
        world.outside(
            "git stash -q -u; git sparse-checkout init --cone; git sparse-checkout set other; test ! -e sub",
        );
        for backend in BACKENDS {
            let before = fingerprint(&world, ".git");
            let flags = [backend, &["--hide", "CLAUDE.md", "--plant", "CLAUDE.md=ours"]].concat();
            let ran = world.run(&flags, "git status --porcelain; git ls-files -v CLAUDE.md").expect(0);
            assert_eq!(ran.stdout, "S CLAUDE.md\n", "{backend:?} {ran:#?}");
            assert_eq!(fingerprint(&world, ".git"), before, "{backend:?}");
        }
    });
}
