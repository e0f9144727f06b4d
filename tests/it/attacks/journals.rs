//! Forged locks, journals and records in our home: recovery does nothing that an apply of that session could not have done.
//! The forger is a command in a copy, which nothing keeps from writing there as the same user.

use crate::support::mount::{World, for_each_identity};
use crate::support::sessions::Did;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A repository with something that is not the agent's to change, and a directory beside it.
fn victim(world: &World) {
    world.repository(&[("a.txt", "base\n"), ("locked.txt", "locked\n"), (".agentreadonly", "locked.txt\n")]);
    fs::create_dir_all(world.path("victim/deep")).unwrap();
    fs::write(world.path("victim/deep/precious"), "precious\n").unwrap();
    world.give();
}

fn lock_file(world: &World) -> PathBuf {
    let project = fs::metadata(world.project()).unwrap();
    world.workforce().join(format!("locks/{:x}-{:x}.lock", project.dev(), project.ino()))
}

fn journal(root: &Path, more: &Value) -> Value {
    let found = fs::metadata(root).unwrap();
    let mut journal = json!({
        "schemaVersion": 1, "number": 1, "purpose": "apply", "state": "exchanging", "root": root,
        "rootDev": found.dev(), "rootIno": found.ino(), "stage": "session", "operations": []
    });
    for (key, value) in more.as_object().unwrap() {
        journal[key] = value.clone();
    }
    journal
}

/// A deletion that was never carried out: taking it back moves slot 0 of the stage to the path. `INODE` is that of the slot.
fn planting(path: &str) -> Value {
    let stat = json!({
        "kind": "file", "mode": 493, "size": 0, "mtime": {"seconds": 1, "nanos": 0}, "dev": 0, "uid": 0, "gid": 0,
        "ctime": {"seconds": 1, "nanos": 0}, "ino": "INODE"
    });
    json!([{"path": path, "action": "delete", "slot": "0", "old": stat}])
}

/// What the forger runs: this journal in a directory, and the stage that it speaks of.
fn forge(at: &str, journal: &Value) -> String {
    let text = journal.to_string().replace("\"INODE\"", "'$inode'");
    format!(
        "mkdir -p {at}/journal {at}/undo/1\n\
         printf '#!/bin/sh\\necho owned\\n' > {at}/undo/1/0; chmod 755 {at}/undo/1/0\n\
         inode=$(stat -c %i {at}/undo/1/0)\n\
         printf %s '{text}' > {at}/journal/1.json\n"
    )
}

/// The forger's own session, from inside.
const OWN: &str = "$(echo \"$HOME\"/.agentworkforce/workforce/sessions/*)";

fn attack(world: &World, script: &str) -> Did {
    world.mounted(&["--mount", "copy", "--sandbox", "off"], &format!("{script}\necho agent > a.txt"))
}

#[track_caller]
fn nothing_is_harmed(world: &World) {
    let project = world.project();
    assert!(!project.join(".git/hooks/pre-commit").exists(), "a hook was planted");
    assert_eq!(fs::read_to_string(project.join("locked.txt")).unwrap(), "locked\n");
    assert_eq!(fs::read_to_string(world.path("victim/deep/precious")).unwrap(), "precious\n");
    assert!(!world.path("victim/planted").exists(), "a file was planted beside the project");
    assert_eq!(fs::read_to_string(project.join("a.txt")).unwrap(), "base\n", "nothing was applied");
}

/// A directory that nobody may write, not even the one who made it, is a mode like any other.
#[test]
fn what_was_undone_can_be_redone_when_its_directory_is_closed() {
    for_each_identity(|world| {
        world.files(&[("a", "base\n")]);
        world.mounted(&[], "mkdir -p n/m; echo 1 > n/f; echo 2 > n/m/g; chmod 555 n/m n").ends(0);
        let id = world.only_session();
        for _ in 0..2 {
            world.aw(["sessions", "undo", &id]).ends(0);
            assert!(!world.project().join("n").exists());
            world.aw(["sessions", "redo", &id]).ends(0);
            assert_eq!(world.outside("cat n/f n/m/g; stat -c %a n n/m"), "1\n2\n555\n555\n");
        }
        world.outside("chmod -R u+w n");
    });
}

#[test]
fn a_forged_lock_does_not_make_an_apply_run_the_forgers_journal() {
    for_each_identity(|world| {
        victim(&world);
        let evil = world.path("home/evil");
        let lock = lock_file(&world);
        let journals = [
            journal(&world.project(), &json!({"operations": planting(".git/hooks/pre-commit")})),
            journal(
                &world.project(),
                &json!({"state": "staging", "stage": {"project": {"name": "../victim"}}}),
            ),
        ];
        for forged in journals {
            let note = json!({"session": evil, "number": 1}).to_string();
            let script = format!(
                "{}mkdir -p '{}'; printf %s '{note}' > '{}'",
                forge(evil.to_str().unwrap(), &forged),
                lock.parent().unwrap().display(),
                lock.display()
            );
            let did = attack(&world, &script);
            nothing_is_harmed(&world);
            did.ends(4).says(lock.to_str().unwrap()).says("is not a session of ours");
            // Once the forged lock is gone, the work that was kept is applied.
            fs::remove_file(&lock).unwrap();
            fs::remove_dir_all(&evil).unwrap();
            world.aw(["sessions", "apply", &world.only_session()]).ends(0);
            assert_eq!(fs::read_to_string(world.project().join("a.txt")).unwrap(), "agent\n");
            world.aw(["sessions", "undo", &world.only_session()]).ends(0);
            fs::remove_dir_all(world.sessions()).unwrap();
        }
    });
}

/// A name, the forged journal, and why it is refused.
type Case = (&'static str, fn(&World) -> Value, &'static str);

#[test]
fn a_journal_that_an_agent_puts_into_its_own_session_is_not_carried_out() {
    let cases: [Case; 8] = [
        (
            "a hook",
            |world| journal(&world.project(), &json!({"operations": planting(".git/hooks/pre-commit")})),
            "is not a path that an apply changes",
        ),
        (
            "git in another case",
            |world| journal(&world.project(), &json!({"operations": planting("sub/.GIT/hooks/pre-commit")})),
            "is not a path that an apply changes",
        ),
        (
            "a path that leaves",
            |world| journal(&world.project(), &json!({"operations": planting("../victim/planted")})),
            "is not a path that an apply changes",
        ),
        (
            "an absolute path",
            |world| {
                let planted = world.path("victim/planted");
                journal(&world.project(), &json!({"operations": planting(planted.to_str().unwrap())}))
            },
            "is not a path that an apply changes",
        ),
        (
            "another project",
            |world| journal(&world.path("victim"), &json!({"operations": planting("planted")})),
            "and its session is of",
        ),
        (
            "a path that is readonly",
            |world| journal(&world.project(), &json!({"operations": planting("locked.txt")})),
            "protect `locked.txt`",
        ),
        (
            "a stage elsewhere",
            |world| {
                let stage = json!({"project": {"name": "../victim"}});
                journal(&world.project(), &json!({"state": "staging", "stage": stage}))
            },
            "is not the name of its stage",
        ),
        (
            "a slot elsewhere",
            |world| {
                let mut operations = planting("fetched");
                operations[0]["slot"] = "../../../../../victim/deep/precious".into();
                journal(&world.project(), &json!({"operations": operations}))
            },
            "is not a name in a stage",
        ),
    ];
    for_each_identity(|world| {
        for (name, forged, reason) in cases {
            eprintln!("{name}");
            victim(&world);
            let remove = if name == "a path that is readonly" { "rm -f locked.txt\n" } else { "" };
            let did = attack(&world, &format!("{remove}{}", forge(OWN, &forged(&world))));
            nothing_is_harmed(&world);
            did.ends(4).says("journal/1.json").says(reason);
            let id = world.only_session();
            for command in ["apply", "undo"] {
                world.aw(["sessions", command, &id]).ends(4).says("journal/1.json");
            }
            world.aw(["sessions", "recover"]).says("journal/1.json");
            nothing_is_harmed(&world);
            // Without the forged journal the work is applied as usual.
            let session = world.sessions().join(&id);
            fs::remove_dir_all(session.join("journal")).unwrap();
            fs::remove_dir_all(session.join("undo")).unwrap();
            world.aw(["sessions", "apply", &id]).ends(0);
            assert_eq!(fs::read_to_string(world.project().join("a.txt")).unwrap(), "agent\n");
            fs::remove_dir_all(world.sessions()).unwrap();
            fs::remove_dir_all(world.project().join(".git")).unwrap();
        }
    });
}

#[test]
fn a_lock_that_is_a_link_does_not_empty_the_file_behind_it() {
    for_each_identity(|world| {
        victim(&world);
        let lock = lock_file(&world);
        let precious = world.path("victim/deep/precious");
        let script = format!(
            "mkdir -p '{}'; ln -s '{}' '{}'",
            lock.parent().unwrap().display(),
            precious.display(),
            lock.display()
        );
        let did = attack(&world, &script);
        nothing_is_harmed(&world);
        did.ends(4).says(lock.to_str().unwrap()).says("it is a link");
        fs::remove_file(&lock).unwrap();
        world.aw(["sessions", "apply", &world.only_session()]).ends(0);
        assert_eq!(fs::read_to_string(world.project().join("a.txt")).unwrap(), "agent\n");
    });
}

#[test]
fn a_session_directory_that_is_a_link_or_open_to_others_is_not_recovered() {
    for_each_identity(|world| {
        victim(&world);
        let elsewhere = world.path("home/elsewhere");
        let forged = journal(&world.project(), &json!({"operations": planting("fetched")}));
        let lock = lock_file(&world);
        let note = json!({"session": world.sessions().join("linked"), "number": 1}).to_string();
        let script = format!(
            "{}ln -s '{}' '{}/linked'; mkdir -p '{}'; printf %s '{note}' > '{}'",
            forge(elsewhere.to_str().unwrap(), &forged),
            elsewhere.display(),
            world.sessions().display(),
            lock.parent().unwrap().display(),
            lock.display()
        );
        let did = attack(&world, &script);
        assert!(!world.project().join("fetched").exists());
        nothing_is_harmed(&world);
        did.ends(4).says("sessions/linked").says("it is a link");
    });
}

#[test]
fn records_that_are_fifos_do_not_stop_the_runner() {
    for_each_identity(|world| {
        victim(&world);
        let script =
            format!("cd {OWN}; for name in status.json plan.json; do rm -f $name; mkfifo $name; done; cd -");
        let mut command = world.mounted_command(&["--mount", "copy", "--sandbox", "off"], &script);
        let mut child = command.spawn().unwrap();
        let ended = crate::support::mount::soon(|| child.try_wait().unwrap().is_some());
        let _ = child.kill();
        assert!(ended, "the runner waits for a fifo");
        world.aw(["sessions", "list"]).ends(0);
        nothing_is_harmed(&world);
    });
}

/// In steps that are each harmless: what is brought back makes a repository of what was applied meanwhile.
#[test]
fn neither_redo_nor_undo_brings_back_what_would_be_refused_now() {
    for_each_identity(|world| {
        let rest = "mkdir -p A/objects A/refs; touch A/objects/x A/refs/x; echo '[core]' > A/config";
        world.repository(&[("A/keep", "1\n"), ("B/HEAD", "x\n"), ("hooks/pre-commit", "old\n")]);
        let session_of = |script: &str| {
            let before = world.listed();
            world.mounted(&[], script).ends(0);
            let is_new =
                |session: &&serde_json::Value| !before.iter().any(|known| known["id"] == session["id"]);
            world.listed().iter().find(is_new).unwrap()["id"].as_str().unwrap().to_owned()
        };
        let refused = |command: &str, session: &str, path: &str| {
            let did = world.aw(["sessions", command, session]);
            assert_eq!(did.code, 3, "{did:#?}");
            assert!(did.stderr.contains("cannot be brought back"), "{did:#?}");
            assert!(did.stderr.contains(path), "{did:#?}");
        };
        let head = session_of("echo 'ref: refs/heads/m' > A/HEAD; echo y > y");
        world.aw(["sessions", "undo", &head]).ends(0);
        session_of(rest);
        refused("redo", &head, "A/HEAD");
        assert!(!world.project().join("A/HEAD").exists() && !world.project().join("y").exists());

        let gone = session_of("rm B/HEAD");
        session_of(&rest.replace("A/", "B/"));
        refused("undo", &gone, "B/HEAD");
        assert!(!world.project().join("B/HEAD").exists());

        // The other way round: what only goes, goes.
        let hook = session_of("echo evil > hooks/pre-commit; echo new > z");
        world.aw(["sessions", "undo", &hook]).ends(0);
        world.outside("git config core.hooksPath hooks");
        refused("redo", &hook, "hooks/pre-commit");
        assert_eq!(world.outside("cat hooks/pre-commit"), "old\n");
        world.outside("git config --unset core.hooksPath");
        world.aw(["sessions", "redo", &hook]).ends(0);
        assert_eq!(world.outside("cat hooks/pre-commit"), "evil\n");
    });
}
