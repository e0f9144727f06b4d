//! Other paths to the project, to hidden files or to our home: bind mounts that were there before, or are made during the
//! run.

use crate::support::mount::{BINARY, World, for_each_identity, is_unprivileged, read};
use crate::support::require;
use crate::support::sessions::Did;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

const SECRET: &str = "TOP-SECRET-VALUE";

/// Runs `before` and then `mount FLAGS -- sh -c SCRIPT` in a mount namespace of its own, so that bind mounts can be made.
fn with_mounts(world: &World, before: &str, flags: &[&str], script: &str) -> Did {
    let mut words = vec![BINARY, "mount"];
    words.extend(flags);
    words.extend(["--", "sh", "-c", script]);
    // In a user namespace of its own it would have the capability to mount, which an ordinary user has not.
    let drop =
        if is_unprivileged(world.who) { "setpriv --bounding-set=-sys_admin --inh-caps=-all" } else { "" };
    let line = format!("{before}\nexec {drop} {}", shlex::try_join(words).unwrap());
    let kind = if is_unprivileged(world.who) { "-Urm" } else { "-m" };
    Did::of(&world.program("unshare").args([kind, "sh", "-ec", &line]).output().unwrap())
}

#[test]
fn a_bind_mount_of_the_project_or_above_it_shows_the_view_and_nothing_else() {
    for_each_identity(|world| {
        world.files(&[("a", "old\n"), (".env", SECRET), ("sub/.env", SECRET), ("sub/b", "old\n")]);
        for dir in ["above", "at", "below"] {
            fs::create_dir(world.path(dir)).unwrap();
        }
        fs::write(world.path("file"), "").unwrap();
        world.give();
        let root = world.root();
        let root = root.display();
        let before = format!(
            "mount --bind {root} {root}/above; mount --bind {root}/project {root}/at
             mount --bind {root}/project/sub {root}/below; mount --bind {root}/project/.env {root}/file"
        );
        let script = format!(
            "cat {root}/above/project/.env {root}/at/.env {root}/below/.env {root}/file
             cat {root}/above/project/sub/.env {root}/at/sub/.env
             echo one > {root}/above/project/a; cat a {root}/at/a
             echo two > {root}/at/new; cat new; echo three > {root}/below/b; cat sub/b
             echo forged > {root}/file; true"
        );
        for level in ["project", "strict"] {
            let did = with_mounts(&world, &before, &["--sandbox", level, "--apply", "never"], &script);
            let did = did.ends(0);
            assert!(!did.stdout.contains(SECRET), "{level}: {did:#?}");
            if level == "project" {
                assert_eq!(did.stdout, "one\none\ntwo\nthree\n", "{did:#?}");
            }
            assert_eq!(read(world.project().join("a")), "old\n");
            assert_eq!(read(world.project().join("sub/b")), "old\n");
            assert_eq!(read(world.project().join(".env")), SECRET);
            assert!(!world.project().join("new").exists());
        }
    });
}

#[test]
fn our_home_cannot_be_written_through_a_bind_mount_of_it() {
    for_each_identity(|world| {
        world.repository(&[("a", "old\n")]);
        fs::create_dir(world.path("alias")).unwrap();
        fs::create_dir_all(world.workforce().join("locks")).unwrap();
        world.give();
        let root = world.root();
        let root = root.display();
        let before = format!("mount --bind {root}/home {root}/alias");
        let script = format!(
            "set +e; cd {root}/alias; mv .agentworkforce .x; cd .agentworkforce/workforce
             echo FORGED > config.json; echo FORGED > locks/x; ls sessions; cat sessions/*/*.json; true"
        );
        let did = with_mounts(&world, &before, &[], &script).ends(0);
        assert_eq!(did.stdout, "", "{did:#?}");
        let home = world.workforce();
        assert_eq!(
            world.outside(&format!("grep -rl FORGED --exclude-dir sessions {} || true", home.display())),
            ""
        );
    });
}

#[test]
fn a_project_that_is_a_layer_of_another_overlay_is_refused() {
    for_each_identity(|world| {
        world.files(&[("a", "old\n"), (".env", SECRET)]);
        for dir in ["upper", "work", "merged"] {
            fs::create_dir(world.path(dir)).unwrap();
        }
        world.give();
        let root = world.root();
        let root = root.display();
        let kind = if is_unprivileged(world.who) { ",userxattr" } else { "" };
        let before = format!(
            "mount -t overlay o -o lowerdir={root}/project,upperdir={root}/upper,workdir={root}/work{kind} {root}/merged"
        );
        let script = format!("cat {root}/merged/.env");
        for level in ["project", "strict"] {
            let did = with_mounts(&world, &before, &["--sandbox", level], &script).ends(4);
            assert!(!did.stdout.contains(SECRET), "{did:#?}");
            did.says("shows files of the project, too").says("hint:");
        }
    });
}

#[test]
fn as_root_a_mount_that_is_made_during_the_run_does_not_come_in() {
    require::root();
    let world = World::new(crate::support::mount::Identity::Own);
    world.files(&[("a", "old\n"), (".env", SECRET)]);
    fs::create_dir(world.path("alias")).unwrap();
    let root = world.root();
    let root = root.display();
    // Shared, as it is on most machines.
    let script = format!(
        "mount --make-rshared /; {BINARY} mount --apply never -- sh -c \
         'touch {root}/ready; while ! test -e {root}/go; do sleep 0.01; done; ls -A {root}/alias' & \
         while ! test -e {root}/ready; do sleep 0.01; done
         mount --bind {root}/project {root}/alias; touch {root}/go; wait $!; ls {root}/alias"
    );
    let output = world.program("unshare").args(["-m", "sh", "-ec", &script]).output().unwrap();
    let did = Did::of(&output).ends(0);
    assert_eq!(did.stdout, "a\n", "{did:#?}");
}

#[test]
fn another_hard_link_to_a_hidden_file_is_told() {
    for_each_identity(|world| {
        world.files(&[("a", "old\n"), (".env", SECRET), ("keys/id_rsa", SECRET)]);
        world.mounted(&[], "true").ends(0);
        world.outside("ln .env ../elsewhere");
        let did = world.mounted(&[], "true").ends(0);
        did.says("`.env` is hidden, and has another hard link that may be readable");
        assert!(!did.stderr.contains("id_rsa"), "{did:#?}");
    });
}

/// The mode of a file is that of all its names, wherever they are.
#[test]
fn a_change_of_mode_does_not_reach_the_other_names_of_a_file() {
    for_each_identity(|world| {
        world.repository(&[("a", "x\n"), (".agentreadonly", "ro/\n"), ("ro/kept", "x\n")]);
        let outside = world.home().join("secret");
        world.outside(&format!(
            "umask 077; echo S > {0}; ln {0} data.txt; ln ro/kept other.txt; chmod 600 ro/kept",
            outside.display()
        ));
        let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let project = |name: &str| world.project().join(name);
        let ran = world.mounted(&[], "chmod 777 data.txt other.txt").ends(0);
        assert_eq!((mode(&outside), mode(&project("ro/kept"))), (0o600, 0o600), "{ran:#?}");
        assert_eq!((mode(&project("data.txt")), mode(&project("other.txt"))), (0o777, 0o777), "{ran:#?}");
        assert_eq!(world.outside("cat data.txt other.txt"), "S\nx\n");
        let id = world.only_session();
        world.aw(["sessions", "undo", &id]).ends(0);
        assert_eq!((mode(&outside), mode(&project("data.txt"))), (0o600, 0o600));
        // The file itself is back, with all its names.
        let ino = |path: &std::path::Path| fs::metadata(path).unwrap().ino();
        assert_eq!(ino(&outside), ino(&project("data.txt")));
        world.aw(["sessions", "redo", &id]).ends(0);
        assert_eq!((mode(&outside), mode(&project("data.txt"))), (0o600, 0o777));
    });
}
