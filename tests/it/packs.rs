//! Packs as their users meet them: install, reinstall, lock, update, uninstall, pack.

use crate::support::packs::{PERSONAS, files, installed, lock, pack, two, with_sidecar};
use crate::support::require;
use crate::support::{TestEnv, flat, with};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;

#[test]
fn published_packs_of_the_corpus_install_lint_and_dry_run() {
    let corpus = require::corpus().join("packs");
    let mut packs = 0;
    for entry in std::fs::read_dir(corpus).expect("readable") {
        let dir = entry.expect("readable").path();
        let env = TestEnv::new();
        let report = env.run(["install", dir.to_str().expect("text"), "--json"]).json();
        let units = report["packs"][0]["units"].as_array().expect("units").clone();
        let linted = env.run(["lint", "--json"]).json();
        assert_eq!(linted["counts"]["errors"], 0, "{}: {linted:#}", dir.display());
        for unit in &units {
            let id = unit["id"].as_str().expect("an id");
            let text = env.read(format!("{PERSONAS}/{id}.json"));
            let original = std::fs::read_to_string(dir.join(format!("personas/{id}.json"))).expect("there");
            let (installed, original): (Value, Value) =
                (serde_json::from_str(&text).expect("JSON"), serde_json::from_str(&original).expect("JSON"));
            let keys =
                |value: &Value| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
            assert_eq!(keys(&installed), keys(&original), "{id}");
            for key in ["claudeMd", "agentsMd"] {
                if let Some(path) = installed[key].as_str() {
                    assert!(path.starts_with(&format!("{id}__assets/")), "{path}");
                    assert!(env.root().join(PERSONAS).join(path).is_file(), "{path}");
                }
            }
            let plan = env.plan(&[id, "--harness", "claude"]);
            assert_eq!(plan["persona"]["id"], id);
        }
        let names = installed_json_and_assets(&env);
        assert!(names.iter().all(|name| name.contains("__assets/") || !name.contains(".md")), "{names:?}");
        let before = env.everything();
        env.run(["install", dir.to_str().expect("text")]).succeeds();
        assert_eq!(env.everything(), before, "a second install is a no-op");
        packs += 1;
    }
    assert!(packs >= 4, "only {packs} packs");
}

fn installed_json_and_assets(env: &TestEnv) -> Vec<String> {
    installed(env).into_iter().filter(|name| name != "agentworkforce.lock").collect()
}

#[test]
fn assets_come_along_under_names_of_their_own_and_nothing_else_does() {
    let env = TestEnv::new();
    let text = "{\n  \"zeta\": [1.50],\n  \"id\": \"p\",\n  \"intent\": \"p\", \"description\": \"d\",\n  \
        \"harness\":\"claude\", \"systemPrompt\": \"x\",\r\n  \"claudeMd\": \"docs/x.md\",\n  \"agentsMd\": \"other/x.md\",\n  \
        \"tiers\": {\"best\": {\"claudeMd\": \"./same/x.md\"}},\n  \
        \"skills\": [{\"id\": \"s\", \"source\": \"./skills/tool\"}, {\"id\": \"r\", \"source\": \"@scope/remote\"}]\n}";
    let dir = pack(
        &env,
        "mine",
        "1.0.0",
        &[
            ("personas/deep/p.json", text),
            ("personas/deep/docs/x.md", "one"),
            ("personas/deep/other/x.md", "two"),
            ("personas/deep/same/x.md", "one"),
            ("personas/deep/unused.md", "unused"),
            ("skills/tool/SKILL.md", "# tool"),
            ("skills/tool/run.sh", "echo hi"),
            ("skills/tool/data.json", "[]"),
            ("index.js", "boom"),
        ],
    );
    std::fs::set_permissions(dir.join("skills/tool/run.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    env.run(["install", "../mine"]).succeeds();
    assert_eq!(
        installed(&env),
        [
            "agentworkforce.lock",
            "p.json",
            "p__assets/tool/SKILL.md",
            "p__assets/tool/data.json",
            "p__assets/tool/run.sh",
            "p__assets/x-3fc4ccfe.md",
            "p__assets/x.md",
        ]
    );
    let expected = text
        .replace("docs/x.md", "p__assets/x.md")
        .replace("other/x.md", "p__assets/x-3fc4ccfe.md")
        .replace("./same/x.md", "p__assets/x.md")
        .replace("./skills/tool", "./p__assets/tool");
    assert_eq!(env.read(format!("{PERSONAS}/p.json")), expected, "every other byte is as it was");
    let mode = |name: &str| {
        env.root().join(PERSONAS).join(name).metadata().unwrap().permissions().mode() & 0o111 != 0
    };
    assert!(mode("p__assets/tool/run.sh") && !mode("p__assets/tool/SKILL.md"));
    let plan = env.plan(&["p@best"]);
    assert_eq!(plan["skills"][0]["kind"], "local", "{plan:#}");
    assert!(!env.root().join("mine/ran").exists() && !env.project().join("ran").exists());
}

#[test]
fn a_role_of_the_pack_comes_with_the_persona_that_follows_it() {
    let env = TestEnv::new();
    let persona = with(flat("p", "the job"), &json!({"role": "archivist"})).to_string();
    let role = json!({"label": "Archivist", "charterFile": "archivist.md"}).to_string();
    let unused = json!({"label": "Unused"}).to_string();
    pack(
        &env,
        "mine",
        "1.0.0",
        &[
            ("personas/p.json", &persona),
            ("roles/archivist.json", &role),
            ("roles/archivist.md", "Keep everything.\n"),
            ("roles/unused.json", &unused),
        ],
    );
    let ran = env.run(["install", "../mine"]);
    assert!(ran.succeeds().stdout.contains("Installed 1 persona and 1 role of @team/mine"), "{ran:#?}");
    let roles = files(&env.root().join("project/.agentworkforce/workforce/roles"));
    assert_eq!(roles.keys().collect::<Vec<_>>(), ["archivist.json", "archivist__assets/archivist.md"]);
    assert!(env.prompt(&["p"]).contains("Keep everything."));
    assert_eq!(env.run(["lint", "--json"]).json()["counts"]["errors"], 0);
    env.run(["uninstall", "@team/mine"]).succeeds();
    assert_eq!(files(&env.root().join("project/.agentworkforce")).len(), 0);
}

#[test]
fn an_edited_file_is_skipped_and_replaced_only_when_asked() {
    let env = TestEnv::new();
    two(&env, "mine");
    env.run(["install", "../mine"]).succeeds();
    env.write(format!("{PERSONAS}/a__assets/a.md"), "mine\n");
    let before = env.everything();
    let ran = env.run(["install", "../mine"]);
    ran.fails(1, "conflict a: you changed ").fails(1, "a__assets/a.md");
    assert!(ran.stdout.contains("Installed nothing of @team/mine 1.0.0"), "{ran:#?}");
    assert_eq!(env.everything(), before);
    let report = env.run(["install", "../mine", "--json"]);
    assert_eq!(report.code, 1);
    let report: Value = serde_json::from_str(&report.stdout).expect("JSON");
    assert_eq!(
        (&report["ok"], &report["packs"][0]["units"][0]["action"]),
        (&json!(false), &json!("skipped"))
    );
    env.run(["install", "../mine", "--overwrite"]).succeeds();
    assert_eq!(env.read(format!("{PERSONAS}/a__assets/a.md")), "A1\n");
}

#[test]
fn a_persona_of_the_users_own_is_not_taken_over() {
    let env = TestEnv::new();
    two(&env, "mine");
    env.project_persona(&flat("a", "my own"));
    let own = env.read(format!("{PERSONAS}/a.json"));
    env.run(["install", "../mine"]).fails(1, "conflict a: ");
    assert_eq!(env.read(format!("{PERSONAS}/a.json")), own);
    assert_eq!(installed(&env), ["a.json", "agentworkforce.lock", "b.json", "b__assets/b.md"]);
    let locked = lock(&env);
    assert_eq!(locked["packs"]["@team/mine"]["personas"].as_object().unwrap().len(), 1);
    env.run(["uninstall", "@team/mine"]).succeeds();
    assert_eq!(installed(&env), ["a.json"]);
}

#[test]
fn a_persona_whose_id_is_taken_in_another_file_is_left_out() {
    let env = TestEnv::new();
    two(&env, "mine");
    env.write(format!("{PERSONAS}/mine-a.json"), flat("A", "my own").to_string());
    env.run(["install", "../mine"]).fails(1, "mine-a.json already exists");
    assert_eq!(installed(&env), ["agentworkforce.lock", "b.json", "b__assets/b.md", "mine-a.json"]);
    env.run(["update"]).fails(3, "mine-a.json already exists and has the same id");
    env.run(["update", "--keep-mine", "a"]).succeeds();
    for args in [&["update"][..], &["install", "../mine"], &["install", "--locked"]] {
        env.run(args).succeeds();
        assert_eq!(installed(&env).len(), 4, "{args:?}");
    }
}

#[test]
fn some_personas_of_a_pack_can_be_chosen_and_unknown_ones_write_nothing() {
    let env = TestEnv::new();
    two(&env, "mine");
    let before = env.everything();
    env.run(["install", "../mine", "--persona", "a", "--persona", "bb"])
        .fails(2, "the pack has no persona `bb`");
    assert_eq!(env.everything(), before);
    env.run(["install", "../mine", "--persona", "a"]).succeeds();
    assert_eq!(installed(&env), ["a.json", "a__assets/a.md", "agentworkforce.lock"]);
    env.run(["update"]).succeeds();
    assert_eq!(installed(&env).len(), 3, "an update brings no persona that was not asked for");
    env.run(["install", "../mine", "--persona", "b"]).succeeds();
    assert_eq!(lock(&env)["packs"]["@team/mine"]["selected"], json!(["a", "b"]));
}

#[test]
fn a_dry_run_writes_nothing_and_says_everything() {
    let env = TestEnv::new();
    two(&env, "mine");
    let before = env.everything();
    let report = env.run(["install", "../mine", "--dry-run", "--json"]).json();
    assert_eq!(report["dryRun"], true);
    assert_eq!(report["packs"][0]["name"], "@team/mine");
    assert_eq!(report["packs"][0]["units"][1]["action"], "installed");
    assert_eq!(report["packs"][0]["units"][1]["written"].as_array().unwrap().len(), 2);
    let shown = env.run(["install", "../mine", "--dry-run"]);
    assert!(shown.succeeds().stdout.contains("Would install 2 personas of @team/mine 1.0.0"), "{shown:#?}");
    assert_eq!(env.everything(), before);
}

#[test]
fn a_pack_can_go_to_the_users_own_personas() {
    let env = TestEnv::new();
    two(&env, "mine");
    env.run(["install", "../mine", "--to", "user"]).succeeds();
    assert_eq!(installed(&env), Vec::<String>::new());
    assert_eq!(env.row("a")["source"], "user");
    env.run(["update", "--to", "user"]).succeeds();
    env.run(["uninstall", "@team/mine", "--to", "user"]).succeeds();
    assert_eq!(files(&env.workforce().join("personas")).len(), 0);
}

#[test]
fn a_bare_directory_of_personas_is_a_pack() {
    let env = TestEnv::new();
    env.write("bare/one.json", with_sidecar("p").to_string());
    env.write("bare/p.md", "P");
    env.write("bare/sub/two.json", flat("q", "x").to_string());
    env.run(["install", "../bare"]).succeeds();
    assert_eq!(installed(&env), ["agentworkforce.lock", "p.json", "p__assets/p.md", "q.json"]);
    env.run(["uninstall", "bare"]).succeeds();
}

#[test]
fn the_lock_names_source_version_and_hashes() {
    let env = TestEnv::new();
    two(&env, "project/packs/mine");
    env.run(["install", "./packs/mine"]).succeeds();
    let lock = lock(&env);
    let pack = &lock["packs"]["@team/mine"];
    assert_eq!((&pack["source"], &pack["resolved"]), (&json!("./packs/mine"), &json!("1.0.0")));
    // The SHA-256 of "A1\n", as `sha256sum` prints it.
    assert_eq!(
        pack["personas"]["a"]["a__assets/a.md"],
        "sha256:4fc93a7e3b47e4212e938e7565c56b87fea6951468f59b1fd19cc4c1d8343f22"
    );
}

#[test]
fn locked_refuses_every_drift_and_restores_what_is_missing() {
    let env = TestEnv::new();
    two(&env, "mine");
    env.run(["install", "../mine", "--locked"]).fails(4, "is not in");
    env.run(["install", "--locked"]).fails(4, "there is no");
    assert!(!env.project().join(".agentworkforce").exists());
    env.run(["install", "../mine"]).succeeds();
    env.run(["install", "../mine", "--locked"]).succeeds();
    let good = env.everything();
    env.run(["install", "--locked"]).succeeds();
    assert_eq!(env.everything(), good);

    env.write("mine/personas/a.md", "A2\n");
    env.run(["install", "../mine", "--locked"]).fails(4, "a__assets/a.md of the pack differs from the lock");
    // What is there need not be fetched.
    env.run(["install", "--locked"]).succeeds();
    std::fs::remove_file(env.root().join(PERSONAS).join("a.json")).unwrap();
    let before = env.everything();
    env.run(["install", "--locked"]).fails(4, "of the pack differs from the lock");
    assert_eq!(env.everything(), before);
    env.write("mine/personas/a.md", "A1\n");
    env.run(["install", "--locked"]).succeeds();
    assert_eq!(installed(&env).len(), 5);

    env.write(format!("{PERSONAS}/b.json"), "{}");
    let before = env.everything();
    env.run(["install", "../mine", "--locked"]).fails(4, "b.json was edited and differs from the lock");
    env.run(["install", "--locked", "--json"]).fails_in_json(4, "refused");
    assert_eq!(env.everything(), before);
}

#[test]
fn a_new_version_updates_what_was_not_edited_and_nothing_else() {
    let env = TestEnv::new();
    two(&env, "mine");
    let c = flat("c", "c").to_string();
    env.write("mine/personas/c.json", &c);
    env.write("mine/personas/gone.json", flat("gone", "g").to_string());
    env.run(["install", "../mine"]).succeeds();
    // The user edits b's sidecar; the pack changes both sidecars, drops one persona and adds another.
    env.write(format!("{PERSONAS}/b__assets/b.md"), "my B\n");
    two(&env, "mine");
    env.write("mine/package.json", json!({"name": "@team/mine", "version": "2.0.0"}).to_string());
    env.write("mine/personas/a.md", "A2\n");
    env.write("mine/personas/b.md", "B2\n");
    std::fs::remove_file(env.root().join("mine/personas/gone.json")).unwrap();
    env.write("mine/personas/new.json", flat("new", "n").to_string());

    let before = env.everything();
    let shown = env.run(["update", "--diff"]);
    assert_eq!(shown.code, 3, "{shown:#?}");
    for line in ["--- here/a__assets/a.md", "-A1", "+A2", "-my B", "+B2", "would be removed gone"] {
        assert!(shown.stdout.contains(line), "{line}: {shown:#?}");
    }
    assert_eq!(env.everything(), before, "a diff writes nothing");

    let ran = env.run(["update"]);
    ran.fails(3, "conflict b: you and the pack changed it");
    let now = files(&env.root().join(PERSONAS));
    assert_eq!(now["a__assets/a.md"], "A2\n");
    assert_eq!(now["b__assets/b.md"], "my B\n");
    assert!(now.contains_key("new.json") && !now.contains_key("gone.json"));
    assert_eq!(lock(&env)["packs"]["@team/mine"]["resolved"], "2.0.0");
    // The conflict stays one until somebody settles it.
    env.run(["update"]).fails(3, "conflict b");
    env.write(format!("{PERSONAS}/b__assets/b.md"), "B2\n");
    env.run(["update"]).succeeds();
    env.run(["install", "--locked"]).succeeds();
}

#[test]
fn an_edit_of_what_the_pack_left_alone_is_kept() {
    let env = TestEnv::new();
    two(&env, "mine");
    env.run(["install", "../mine"]).succeeds();
    env.write(format!("{PERSONAS}/b__assets/b.md"), "my B\n");
    env.write("mine/personas/a.md", "A2\n");
    let ran = env.run(["update"]);
    assert!(ran.succeeds().stdout.contains("kept b: you changed"), "{ran:#?}");
    assert_eq!(env.read(format!("{PERSONAS}/b__assets/b.md")), "my B\n");
    assert_eq!(env.read(format!("{PERSONAS}/a__assets/a.md")), "A2\n");
}

#[test]
fn uninstall_removes_what_is_the_packs_and_keeps_what_is_yours() {
    let env = TestEnv::new();
    two(&env, "mine");
    two(&env, "other");
    env.write("other/personas/a.json", flat("z", "z").to_string());
    env.project_persona(&flat("own", "x"));
    env.run(["install", "../mine"]).succeeds();
    env.run(["install", "../other"]).succeeds();
    env.run(["uninstall", "@team/mne"]).fails(2, "did you mean `@team/mine`?");
    env.write(format!("{PERSONAS}/a.json"), flat("a", "edited").to_string());
    let before = env.everything();
    env.run(["uninstall", "@team/mine", "--dry-run"]).fails(1, "kept a");
    assert_eq!(env.everything(), before);
    let ran = env.run(["uninstall", "@team/mine"]);
    ran.fails(1, "kept a: you changed");
    assert!(ran.stdout.contains("kept 1 that you changed"), "{ran:#?}");
    // `b` is the other pack's, too.
    let left =
        ["a.json", "a__assets/a.md", "agentworkforce.lock", "b.json", "b__assets/b.md", "own.json", "z.json"];
    assert_eq!(installed(&env), left);
    env.run(["uninstall", "@team/other"]).succeeds();
    assert_eq!(installed(&env), ["a.json", "a__assets/a.md", "own.json"]);
}

#[test]
fn a_pack_cannot_take_the_place_of_another_by_its_name() {
    let env = TestEnv::new();
    two(&env, "mine");
    env.run(["install", "../mine"]).succeeds();
    pack(&env, "evil/mine", "9.0.0", &[("personas/x.json", &flat("x", "x").to_string())]);
    let before = env.everything();
    env.run(["install", "../evil/mine"]).fails(1, "another pack `@team/mine` is installed from");
    assert_eq!(env.everything(), before);
    env.run(["install", "../evil/mine", "--overwrite"]).succeeds();
}

#[test]
fn what_pack_writes_installs_to_the_same_bytes() {
    let env = TestEnv::new();
    let dir = two(&env, "mine");
    env.write("mine/personas/secret.md", "unreferenced");
    env.write("mine/.env", "TOKEN=x");
    env.write("mine/README.md", "read me");
    let ran = env.run(["pack", "../mine"]);
    assert!(ran.succeeds().stdout.contains("Wrote 2 personas of @team/mine 1.0.0"), "{ran:#?}");
    let archive = env.project().join("team-mine-1.0.0.tgz");
    let first = std::fs::read(&archive).unwrap();
    env.run(["pack", "../mine"]).fails(2, "already exists");
    env.run(["pack", "../mine", "--overwrite"]).succeeds();
    assert_eq!(std::fs::read(&archive).unwrap(), first, "the same files are the same archive");
    let report = env.run(["pack", "../mine", "--dry-run", "--json"]).json();
    let packed =
        ["README.md", "package.json", "personas/a.json", "personas/a.md", "personas/b.json", "personas/b.md"];
    assert_eq!(report["files"], json!(packed));

    env.run(["install", "./team-mine-1.0.0.tgz"]).succeeds();
    let of_archive = files(&env.root().join(PERSONAS));
    let other = TestEnv::new();
    other.run(["install", dir.to_str().unwrap()]).succeeds();
    let mut of_directory = files(&other.root().join(PERSONAS));
    of_directory.insert("agentworkforce.lock".into(), of_archive["agentworkforce.lock"].clone());
    assert_eq!(of_archive, of_directory);
    // The next version of an archive has another name.
    env.write("mine/package.json", json!({"name": "@team/mine", "version": "1.1.0"}).to_string());
    env.run(["pack", "../mine"]).succeeds();
    env.run(["install", "./team-mine-1.1.0.tgz"]).succeeds();
    assert_eq!(lock(&env)["packs"]["@team/mine"]["source"], "./team-mine-1.1.0.tgz");
}

#[test]
fn a_directory_without_a_manifest_can_be_packed() {
    let env = TestEnv::new();
    env.write("My Personas/p.json", with_sidecar("p").to_string());
    env.write("My Personas/p.md", "P");
    env.run(["pack", "../My Personas", "--out", "out.tgz"]).succeeds();
    env.run(["install", "./out.tgz"]).succeeds();
    assert_eq!(installed(&env), ["agentworkforce.lock", "p.json", "p__assets/p.md"]);
    assert_eq!(lock(&env)["packs"]["my-personas"]["resolved"], "0.0.0");
    env.write("broken/p.json", with_sidecar("p").to_string());
    env.run(["pack", "../broken"]).fails(1, "there is no `p.md` in the pack");
}
