//! Two sides of an installed persona: what the pack says and what the user made of it. How they meet, and how they are settled.

use crate::support::packs::{PERSONAS, files, installed, lock, pack, program, two};
use crate::support::{TestEnv, flat, with};
use serde_json::{Value, json};
use std::os::unix::fs::symlink;

/// The pack of two at another version, with other sidecars.
fn version(env: &TestEnv, version: &str, a: &str, b: &str) {
    two(env, "mine");
    env.write("mine/package.json", json!({"name": "@team/mine", "version": version}).to_string());
    env.write("mine/personas/a.md", a);
    env.write("mine/personas/b.md", b);
}

/// The same as an archive in the project.
fn archive(env: &TestEnv, number: &str, a: &str, b: &str) -> String {
    version(env, number, a, b);
    env.run(["pack", "../mine"]).succeeds();
    format!("./team-mine-{number}.tgz")
}

fn sidecar(env: &TestEnv, id: &str) -> String {
    env.read(format!("{PERSONAS}/{id}__assets/{id}.md"))
}

fn edit(env: &TestEnv, id: &str, text: &str) {
    env.write(format!("{PERSONAS}/{id}__assets/{id}.md"), text);
}

fn locked(env: &TestEnv) -> Value {
    lock(env)["packs"]["@team/mine"].clone()
}

#[test]
fn a_newer_archive_replaces_what_was_not_edited() {
    let env = TestEnv::new();
    let first = archive(&env, "1.0.0", "A1\n", "B1\n");
    let second = archive(&env, "2.0.0", "A2\n", "B2\n");
    env.run(["install", &first]).succeeds();
    let ran = env.run(["install", &second]);
    assert!(ran.succeeds().stdout.contains("updated a"), "{ran:#?}");
    assert!(ran.stdout.contains("Installed 2 personas of @team/mine 2.0.0"), "{ran:#?}");
    assert_eq!((sidecar(&env, "a"), sidecar(&env, "b")), ("A2\n".into(), "B2\n".into()));
    assert_eq!((&locked(&env)["resolved"], &locked(&env)["source"]), (&json!("2.0.0"), &json!(second)));
    // The lock is true: what is missing comes back as it was.
    let good = files(&env.root().join(PERSONAS));
    std::fs::remove_file(env.root().join(PERSONAS).join("a__assets/a.md")).unwrap();
    env.run(["install", "--locked"]).succeeds();
    assert_eq!(files(&env.root().join(PERSONAS)), good);
}

#[test]
fn what_was_edited_stays_at_its_version_and_the_lock_says_so() {
    let env = TestEnv::new();
    let first = archive(&env, "1.0.0", "A1\n", "B1\n");
    let second = archive(&env, "2.0.0", "A2\n", "B2\n");
    env.run(["install", &first]).succeeds();
    let before = locked(&env);
    edit(&env, "b", "my B\n");
    let ran = env.run(["install", &second]);
    ran.fails(1, "conflict b: you and the pack changed it").fails(1, "agentworkforce update --keep-mine b");
    assert_eq!((sidecar(&env, "a"), sidecar(&env, "b")), ("A2\n".into(), "my B\n".into()));
    let after = locked(&env);
    assert_eq!(
        after["personas"]["b"], before["personas"]["b"],
        "nothing of the new version is claimed for b"
    );
    assert_eq!(after["behind"], json!({"b": {"source": first, "resolved": "1.0.0"}}));
    env.run(["install", "--locked"]).fails(4, "b__assets/b.md");
    // Taken back to what the lock says, both versions are restored, each from its own archive.
    edit(&env, "b", "B1\n");
    for id in ["a", "b"] {
        std::fs::remove_file(env.root().join(PERSONAS).join(format!("{id}.json"))).unwrap();
    }
    env.run(["install", "--locked"]).succeeds();
    assert_eq!(installed(&env).len(), 5);
    env.run(["update"]).succeeds();
    assert_eq!((sidecar(&env, "b"), &locked(&env)["behind"]), ("B2\n".into(), &Value::Null));
}

#[test]
fn a_persona_that_the_newer_archive_has_not_goes_unless_it_was_edited() {
    let env = TestEnv::new();
    env.write("mine/personas/gone.json", flat("gone", "x").to_string());
    env.write("mine/personas/dear.json", flat("dear", "x").to_string());
    let first = archive(&env, "1.0.0", "A1\n", "B1\n");
    for id in ["gone", "dear"] {
        std::fs::remove_file(env.root().join(format!("mine/personas/{id}.json"))).unwrap();
    }
    let second = archive(&env, "2.0.0", "A1\n", "B1\n");
    env.run(["install", &first]).succeeds();
    env.write(format!("{PERSONAS}/dear.json"), flat("dear", "mine").to_string());
    let ran = env.run(["install", &second]);
    ran.fails(1, "conflict dear: the pack no longer has it, and you changed");
    assert!(ran.stdout.contains("removed gone"), "{ran:#?}");
    assert!(!installed(&env).contains(&"gone.json".into()) && installed(&env).contains(&"dear.json".into()));
    // One persona of a version says nothing about the others.
    env.run(["install", &first, "--persona", "gone"]).succeeds();
    assert!(installed(&env).contains(&"gone.json".into()) && installed(&env).contains(&"b.json".into()));
}

#[test]
fn a_conflict_settled_for_mine_stays_settled_until_the_pack_changes_it_again() {
    let env = TestEnv::new();
    version(&env, "1.0.0", "A1\n", "B1\n");
    env.run(["install", "../mine"]).succeeds();
    edit(&env, "a", "my A\n");
    edit(&env, "b", "my B\n");
    version(&env, "2.0.0", "A2\n", "B2\n");
    env.run(["update"]).fails(3, "`agentworkforce update --keep-mine a b`");
    env.run(["install", "--locked"]).fails(4, "a__assets/a.md");

    let shown = env.run(["update", "--keep-mine", "a", "--dry-run"]);
    shown.fails(3, "conflict b");
    assert!(shown.stdout.contains("would be kept a"), "{shown:#?}");
    env.run(["update", "--keep-mine", "a"]).fails(3, "conflict b");
    env.run(["update", "--keep-mine"]).succeeds();
    assert_eq!((sidecar(&env, "a"), sidecar(&env, "b")), ("my A\n".into(), "my B\n".into()));
    let now = locked(&env);
    assert_eq!((&now["resolved"], now["kept"].as_object().unwrap().len()), (&json!("2.0.0"), 2));
    for args in [
        &["install", "--locked"][..],
        &["update"],
        &["install", "../mine"],
        &["install", "../mine", "--locked"],
    ] {
        let before = env.everything();
        env.run(args).succeeds();
        assert_eq!(env.everything(), before, "{args:?}");
    }
    // Edited again, it is drift; missing, it cannot come from the pack.
    edit(&env, "a", "my other A\n");
    env.run(["install", "--locked"]).fails(4, "--keep-mine a");
    std::fs::remove_file(env.root().join(PERSONAS).join("a__assets/a.md")).unwrap();
    env.run(["install", "--locked"]).fails(4, "version control");
    edit(&env, "a", "my A\n");

    version(&env, "3.0.0", "A3\n", "B2\n");
    env.run(["update"]).fails(3, "conflict a");
    assert_eq!(sidecar(&env, "a"), "my A\n");
    env.run(["update", "--take-theirs", "a"]).succeeds();
    assert_eq!((sidecar(&env, "a"), sidecar(&env, "b")), ("A3\n".into(), "my B\n".into()));
    assert_eq!(locked(&env)["kept"].as_object().unwrap().len(), 1, "b is still kept");
    env.run(["install", "--locked"]).succeeds();
    // By its name even what is no conflict goes back to the pack's.
    env.run(["update", "--take-theirs"]).succeeds();
    assert_eq!(sidecar(&env, "b"), "my B\n");
    env.run(["update", "--take-theirs", "b"]).succeeds();
    assert_eq!((sidecar(&env, "b"), &locked(&env)["kept"]), ("B2\n".into(), &Value::Null));
}

#[test]
fn what_settles_a_conflict_must_be_plain() {
    let env = TestEnv::new();
    two(&env, "mine");
    env.run(["install", "../mine"]).succeeds();
    let before = env.everything();
    env.run(["update", "--keep-mine", "aa"]).fails(2, "did you mean `a`?");
    env.run(["update", "--keep-mine", "@team/mine"]).fails(2, "packs come before `--keep-mine`");
    env.run(["update", "--keep-mine", "a", "--take-theirs", "b"])
        .fails(2, "cannot be used with '--take-theirs");
    env.run(["update", "--keep-mine", "--diff"]).fails(2, "--diff");
    assert_eq!(env.everything(), before);
    env.run(["update", "@team/mine", "--keep-mine"]).succeeds();
}

#[test]
fn my_own_persona_of_the_same_id_can_be_kept_and_a_deleted_one_stays_deleted() {
    let env = TestEnv::new();
    two(&env, "mine");
    env.project_persona(&flat("a", "my own"));
    let own = env.read(format!("{PERSONAS}/a.json"));
    env.run(["install", "../mine"]).fails(1, "conflict a: ");
    env.run(["update"]).fails(3, "conflict a");
    env.run(["update", "--keep-mine", "a"]).succeeds();
    assert_eq!(env.read(format!("{PERSONAS}/a.json")), own);
    std::fs::remove_file(env.root().join(PERSONAS).join("b.json")).unwrap();
    std::fs::remove_dir_all(env.root().join(PERSONAS).join("b__assets")).unwrap();
    env.run(["update", "--keep-mine"]).succeeds();
    for args in [&["install", "--locked"][..], &["update"], &["install", "../mine"]] {
        env.run(args).succeeds();
        assert_eq!(installed(&env), ["a.json", "agentworkforce.lock"], "{args:?}");
    }
    env.run(["install", "../mine", "--overwrite"]).succeeds();
    assert_eq!(installed(&env).len(), 5);
    env.run(["install", "--locked"]).succeeds();
}

#[test]
fn what_was_edited_here_and_removed_by_the_pack_can_be_settled_either_way() {
    for (flag, stays) in [("--keep-mine", true), ("--take-theirs", false)] {
        let env = TestEnv::new();
        two(&env, "mine");
        env.run(["install", "../mine"]).succeeds();
        edit(&env, "b", "my B\n");
        for name in ["b.json", "b.md"] {
            std::fs::remove_file(env.root().join("mine/personas").join(name)).unwrap();
        }
        let ran = env.run(["update"]);
        ran.fails(3, "conflict b: the pack no longer has it, and you changed");
        ran.fails(3, "`agentworkforce update --keep-mine b`")
            .fails(3, "`agentworkforce update --take-theirs b`");
        env.run(["update", flag, "b"]).succeeds();
        assert_eq!(installed(&env).contains(&"b__assets/b.md".to_owned()), stays);
        assert_eq!(installed(&env).contains(&"b.json".to_owned()), stays);
        assert_eq!(locked(&env)["personas"].as_object().unwrap().len(), 1, "b is no longer the pack's");
        env.run(["update"]).succeeds();
        env.run(["install", "--locked"]).succeeds();
    }
}

#[test]
fn roles_are_settled_as_personas_are() {
    let env = TestEnv::new();
    let persona = with(flat("p", "the job"), &json!({"role": "archivist"})).to_string();
    let role = |label: &str| json!({"label": label}).to_string();
    pack(&env, "mine", "1.0.0", &[("personas/p.json", &persona), ("roles/archivist.json", &role("One"))]);
    env.run(["install", "../mine"]).succeeds();
    env.write("project/.agentworkforce/workforce/roles/archivist.json", role("Mine"));
    env.write("mine/roles/archivist.json", role("Two"));
    env.run(["update"]).fails(3, "`agentworkforce update --keep-mine role:archivist`");
    env.run(["update", "--keep-mine", "role:archivist"]).succeeds();
    env.run(["install", "--locked"]).succeeds();
    assert_eq!(env.read("project/.agentworkforce/workforce/roles/archivist.json"), role("Mine"));
}

#[test]
fn uninstall_says_what_another_pack_keeps() {
    let env = TestEnv::new();
    two(&env, "mine");
    two(&env, "other");
    env.run(["install", "../mine"]).succeeds();
    env.run(["install", "../other"]).succeeds();
    let report = env.run(["uninstall", "@team/mine", "--dry-run", "--json"]).json();
    let unit = &report["packs"][0]["units"][0];
    assert_eq!((&unit["action"], &unit["keptBy"]), (&json!("kept"), &json!(["@team/other"])));
    assert_eq!((&unit["removed"], &report["ok"]), (&json!([]), &json!(true)));
    let ran = env.run(["uninstall", "@team/mine"]);
    assert!(ran.succeeds().stdout.contains("kept a: pack @team/other also has it"), "{ran:#?}");
    assert!(
        !ran.stdout.contains("removed a") && ran.stdout.contains("Removed nothing of @team/mine"),
        "{ran:#?}"
    );
    assert_eq!(installed(&env).len(), 5);
    env.run(["uninstall", "@team/other"]).succeeds();
    assert_eq!(installed(&env).len(), 0);
}

#[test]
fn two_packs_with_one_persona_do_not_spoil_each_others_lock() {
    let env = TestEnv::new();
    two(&env, "mine");
    two(&env, "other");
    env.run(["install", "../mine"]).succeeds();
    env.run(["install", "../other"]).succeeds();
    env.write("mine/personas/a.md", "A2\n");
    let ran = env.run(["update", "@team/mine"]);
    assert!(ran.succeeds().stderr.contains("a no longer belongs to pack @team/other"), "{ran:#?}");
    env.run(["install", "--locked"]).succeeds();
    env.run(["update", "@team/other"]).fails(3, "a.md belongs to pack @team/mine, in another version");
    env.write("other/personas/a.md", "A2\n");
    env.run(["update"]).succeeds();
    env.run(["install", "--locked"]).succeeds();
    assert_eq!(lock(&env)["packs"]["@team/other"]["personas"].as_object().unwrap().len(), 2);
}

#[test]
fn a_link_in_the_way_is_named_with_what_to_do() {
    let env = TestEnv::new();
    two(&env, "mine");
    env.write("elsewhere/x.json", "{}");
    std::fs::create_dir_all(env.root().join(PERSONAS)).unwrap();
    symlink(env.root().join("elsewhere/x.json"), env.root().join(PERSONAS).join("a.json")).unwrap();
    symlink(env.root().join("elsewhere"), env.root().join(PERSONAS).join("b__assets")).unwrap();
    let ran = env.run(["install", "../mine", "--overwrite"]);
    ran.fails(1, "a.json is a symbolic link")
        .fails(1, "b__assets is a symbolic link")
        .fails(1, "move it away");
    assert!(!ran.stderr.contains("--overwrite"), "{ran:#?}");
    assert!(!ran.stdout.contains("Nothing to do"), "{ran:#?}");
    std::fs::remove_file(env.root().join(PERSONAS).join("a.json")).unwrap();
    std::fs::remove_file(env.root().join(PERSONAS).join("b__assets")).unwrap();
    env.run(["install", "../mine"]).succeeds();
}

#[test]
fn an_update_goes_on_where_one_pack_cannot_be_fetched() {
    let mut env = TestEnv::new();
    for name in ["one", "two", "zed"] {
        pack(&env, name, "1.0.0", &[(&format!("personas/{name}.json"), &flat(name, "1").to_string())]);
        env.run(["install", &format!("../{name}")]).succeeds();
        env.write(format!("{name}/personas/{name}.json"), flat(name, "2").to_string());
    }
    std::fs::remove_dir_all(env.root().join("two")).unwrap();
    program(&mut env, "npm", "exit 1\n");
    let report = env.run(["update", "--dry-run", "--json"]);
    assert_eq!(report.code, 1, "{report:#?}");
    let report: Value = serde_json::from_str(&report.stdout).expect("one object");
    assert_eq!((&report["ok"], report["packs"].as_array().unwrap().len()), (&json!(false), 3));
    assert!(report["packs"][1]["error"]["message"].as_str().unwrap().contains("@team/two"), "{report:#}");
    let ran = env.run(["update"]);
    ran.fails(1, "pack `@team/two` was not updated").fails(1, "there is no ../two");
    assert!(env.read(format!("{PERSONAS}/one.json")).contains("\"2\""));
    assert!(env.read(format!("{PERSONAS}/zed.json")).contains("\"2\""), "the one after it, too");
    env.run(["update", "@team/two"]).fails(1, "there is no ../two");
}
