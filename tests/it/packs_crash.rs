//! Installs that are killed, that meet each other, or that find a file system that cannot exchange directories.

use crate::support::packs::{PERSONAS, files, installed, lock, pack, two, with_sidecar};
use crate::support::{TestEnv, flat, with};
use serde_json::json;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Fifteen personas with a sidecar each, all of one version.
fn many(env: &TestEnv, version: &str) {
    let mut contents = Vec::new();
    for number in 0..15 {
        let id = format!("p{number}");
        contents.push((format!("personas/{id}.json"), with_sidecar(&id).to_string()));
        contents.push((format!("personas/{id}.md"), format!("{version} {number}\n")));
    }
    let contents: Vec<(&str, &str)> = contents.iter().map(|(path, text)| (&**path, &**text)).collect();
    pack(env, "many", version, &contents);
}

/// What is installed, without the time at which it was.
fn state(env: &TestEnv) -> BTreeMap<String, String> {
    files(&env.root().join(PERSONAS))
}

#[test]
fn a_killed_install_leaves_the_old_state_or_the_new_one() {
    let env = TestEnv::new();
    env.project_persona(&flat("own", "x"));
    let empty = state(&env);
    many(&env, "1.0.0");
    let started = Instant::now();
    env.run(["install", "../many"]).succeeds();
    let whole = started.elapsed();
    let first = state(&env);
    many(&env, "2.0.0");
    env.run(["update"]).succeeds();
    let second = state(&env);
    assert_eq!((empty.len(), first.len(), second.len()), (1, 32, 32));

    let (mut old, mut new, mut middle) = (0, 0, 0);
    for run in 0..30_u32 {
        // One time from nothing, one time from the other version.
        let before = if run % 2 == 0 {
            env.run(["uninstall", "@team/many"]).succeeds();
            &empty
        } else {
            many(&env, "1.0.0");
            env.run(["install", "../many", "--overwrite"]).succeeds();
            many(&env, "2.0.0");
            &first
        };
        let mut command = env.command(["install", "../many", "--overwrite"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // More often towards the end, where things are written.
        let share = f64::from(run % 15) / 15.0;
        std::thread::sleep(whole.mul_f64(0.2 + share));
        // SIGKILL, to this child alone; it may have ended.
        let _ = child.kill();
        child.wait().unwrap();
        let now = state(&env);
        if now == *before {
            old += 1;
        } else {
            assert_eq!(now, second, "run {run}: neither the old state nor the new one");
            new += 1;
        }
        let layer = env.project().join(".agentworkforce/workforce");
        middle += usize::from(std::fs::read_dir(&layer).unwrap().count() > 1);
        // What was left behind is cleared away, and the next install completes.
        env.run(["install", "../many", "--overwrite"]).succeeds();
        assert_eq!(state(&env), second);
        assert_eq!(std::fs::read_dir(layer).unwrap().count(), 1, "nothing is left beside the personas");
    }
    println!("killed 30 times, {middle} times while writing: {old} old states, {new} new ones");
}

#[test]
fn installs_at_once_do_not_lose_each_other() {
    let env = TestEnv::new();
    env.project_persona(&flat("own", "x"));
    let names: Vec<String> = (0..8).map(|number| format!("pack{}", number % 4)).collect();
    for name in &names {
        let persona = with_sidecar(name).to_string();
        let paths = [format!("personas/{name}.json"), format!("personas/{name}.md")];
        pack(&env, name, "1.0.0", &[(&paths[0], &persona), (&paths[1], name)]);
    }
    // Every pack twice, all at the same time.
    let start = |name: &String| {
        let mut command = env.command(["install", &format!("../{name}")]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    for child in names.iter().map(start).collect::<Vec<_>>() {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let mut expected = vec!["agentworkforce.lock".to_owned(), "own.json".to_owned()];
    for name in &names[..4] {
        expected.extend([format!("{name}.json"), format!("{name}__assets/{name}.md")]);
    }
    expected.sort();
    assert_eq!(installed(&env), expected);
    assert_eq!(lock(&env)["packs"].as_object().unwrap().len(), 4);
    env.run(["install", "--locked"]).succeeds();
}

#[test]
fn an_edit_at_the_same_time_is_not_lost() {
    let env = TestEnv::new();
    env.project_persona(&flat("own", "x"));
    many(&env, "1.0.0");
    let done = std::sync::atomic::AtomicBool::new(false);
    let file = env.root().join(PERSONAS).join("own.json");
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut last = 0;
            // As an editor saves: a new file, renamed over the old one, whatever directory that is by then.
            while !done.load(std::sync::atomic::Ordering::SeqCst) {
                let part = env.root().join("part");
                std::fs::write(&part, format!("{}", last + 1)).unwrap();
                if std::fs::rename(&part, &file).is_ok() {
                    last += 1;
                }
                std::thread::sleep(Duration::from_millis(3));
            }
            last
        });
        let mut installs = Vec::new();
        for _ in 0..6 {
            // Disturbed is fine, as long as nothing is lost.
            installs.push(env.run(["install", "../many", "--overwrite"]));
            let _ = env.run(["uninstall", "@team/many"]);
        }
        // Judged afterwards: a failure must not leave the other thread running.
        done.store(true, std::sync::atomic::Ordering::SeqCst);
        for ran in installs {
            assert!(ran.code == 0 || ran.stderr.contains("changed by another process"), "{ran:#?}");
        }
        let last: u32 = writer.join().unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), last.to_string());
    });
}

#[test]
fn a_directory_that_cannot_be_exchanged_is_written_in_place() {
    let env = TestEnv::new();
    // More than any directory of personas has.
    for number in 0..5_001 {
        env.write(format!("{PERSONAS}/notes/{number}"), "");
    }
    two(&env, "mine");
    let before = std::fs::metadata(env.root().join(PERSONAS)).unwrap();
    env.run(["install", "../mine"]).succeeds();
    let after = std::fs::metadata(env.root().join(PERSONAS)).unwrap();
    assert_eq!(before.ino(), after.ino(), "it is the same directory");
    assert_eq!(installed(&env).len(), 5_001 + 5);
    env.run(["uninstall", "@team/mine"]).succeeds();
    assert_eq!(installed(&env).len(), 5_001);
}

/// A persona with two roles of the pack, in one version.
fn with_roles(env: &TestEnv, version: &str) {
    let role = |key: &str| {
        json!({"label": format!("{key} {version}"), "charterFile": format!("{key}.md")}).to_string()
    };
    let persona = |id: &str, role: &str| with(flat(id, version), &json!({"role": role})).to_string();
    pack(
        env,
        "mine",
        version,
        &[
            ("personas/p.json", &persona("p", "one")),
            ("personas/q.json", &persona("q", "two")),
            ("roles/one.json", &role("one")),
            ("roles/one.md", version),
            ("roles/two.json", &role("two")),
            ("roles/two.md", version),
        ],
    );
}

/// Personas and roles, without files that are no business of packs.
fn layer(env: &TestEnv) -> BTreeMap<String, String> {
    let mut found = files(&env.root().join("project/.agentworkforce/workforce"));
    found.retain(|path, _| !path.starts_with("personas/notes/"));
    found
}

/// Kills an update from 1.0.0 to 2.0.0 at every moment there is; the next command finds the old state or the new one.
fn killed_at_every_moment(env: &TestEnv) -> (usize, usize) {
    with_roles(env, "1.0.0");
    env.run(["install", "../mine"]).succeeds();
    let first = layer(env);
    with_roles(env, "2.0.0");
    env.run(["update"]).succeeds();
    let second = layer(env);
    let (mut old, mut new) = (0, 0);
    for moment in 1..100 {
        with_roles(env, "1.0.0");
        env.run(["install", "../mine", "--overwrite"]).succeeds();
        assert_eq!(layer(env), first);
        with_roles(env, "2.0.0");
        let mut command = env.command(["update"]);
        let output = command.env("AGENTWORKFORCE_TEST_KILL_AT", moment.to_string()).output().unwrap();
        if output.status.success() {
            assert!(old > 3 && new > 0, "{old} old states, {new} new ones");
            return (old, new);
        }
        // It names no version that has not come, and needs nothing fetched: the state alone is put right.
        env.run(["install", "--locked"]).succeeds();
        let now = layer(env);
        if now == first {
            old += 1;
        } else {
            assert_eq!(now, second, "killed at moment {moment}: neither the old state nor the new one");
            new += 1;
        }
        env.run(["update"]).succeeds();
        assert_eq!(layer(env), second, "the next update completes");
        let beside = std::fs::read_dir(env.project().join(".agentworkforce/workforce")).unwrap().count();
        assert_eq!(beside, 2, "nothing is left beside personas and roles");
    }
    panic!("it never ended");
}

#[test]
fn roles_and_personas_come_together_or_not_at_all_when_killed() {
    let env = TestEnv::new();
    env.project_persona(&flat("own", "x"));
    let (old, new) = killed_at_every_moment(&env);
    println!("{old} old states, {new} new ones");
    // From nothing, too: killed while the first role is there.
    env.run(["uninstall", "@team/mine"]).succeeds();
    let empty = layer(&env);
    let mut command = env.command(["install", "../mine"]);
    assert!(!command.env("AGENTWORKFORCE_TEST_KILL_AT", "5").output().unwrap().status.success());
    assert_ne!(layer(&env), empty, "it was killed in the middle");
    two(&env, "other");
    env.run(["install", "../other"]).succeeds();
    env.run(["uninstall", "@team/other"]).succeeds();
    assert_eq!(layer(&env), empty);
}

#[test]
fn files_that_are_replaced_one_by_one_are_put_back_when_killed() {
    let env = TestEnv::new();
    for number in 0..5_001 {
        env.write(format!("{PERSONAS}/notes/{number}"), "");
    }
    let (old, new) = killed_at_every_moment(&env);
    println!("{old} old states, {new} new ones");
}

#[test]
fn an_edit_after_the_kill_is_not_put_back() {
    let env = TestEnv::new();
    with_roles(&env, "1.0.0");
    env.run(["install", "../mine"]).succeeds();
    with_roles(&env, "2.0.0");
    let mut command = env.command(["update"]);
    assert!(!command.env("AGENTWORKFORCE_TEST_KILL_AT", "5").output().unwrap().status.success());
    let roles = env.root().join("project/.agentworkforce/workforce/roles");
    let changed =
        files(&roles).into_iter().find(|(_, text)| text.contains("2.0.0")).expect("one was written");
    std::fs::write(roles.join(&changed.0), "mine").unwrap();
    env.run(["update", "--keep-mine"]).succeeds();
    assert_eq!(std::fs::read_to_string(roles.join(&changed.0)).unwrap(), "mine");
}

#[test]
fn a_journal_that_leads_elsewhere_is_not_followed() {
    let env = TestEnv::new();
    two(&env, "mine");
    env.write("outside", "mine");
    let change =
        |path: &str| json!({"path": path, "before": {"hex": "6576696c", "executable": true}, "after": null});
    let paths = ["../../../../evil", "/evil", "../roles/../../evil", "link/evil"];
    let journal = json!({"schemaVersion": 1, "changes": paths.map(change)});
    env.write(format!("{PERSONAS}/.agentworkforce-journal"), journal.to_string());
    std::fs::create_dir(env.root().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink(env.root().join("elsewhere"), env.root().join(PERSONAS).join("link")).unwrap();
    env.run(["install", "../mine"]).succeeds();
    assert!(!env.everything().values().any(|text| text == "evil"), "{:#?}", env.everything());
    assert_eq!(std::fs::read_dir(env.root().join("elsewhere")).unwrap().count(), 0);
    env.write(format!("{PERSONAS}/.agentworkforce-journal"), "{");
    env.run(["install", "../mine"]).succeeds();
}
