//! Small things of packs that make somebody trust them or not: modes, links, shared personas, roles, and the words.

use crate::support::packs::{Entry, PERSONAS, files, gzip, installed, lock, pack, tar, two, with_sidecar};
use crate::support::{TestEnv, flat, with};
use serde_json::{Value, json};
use std::os::unix::fs::{PermissionsExt, symlink};

const ROLES: &str = "project/.agentworkforce/workforce/roles";

fn set_mode(env: &TestEnv, path: &str, mode: u32) {
    std::fs::set_permissions(env.root().join(path), PermissionsExt::from_mode(mode)).unwrap();
}

fn is_executable(env: &TestEnv, path: &str) -> bool {
    env.root().join(path).metadata().unwrap().permissions().mode() & 0o111 != 0
}

/// A pack of one persona with a skill that has a script.
fn with_script(env: &TestEnv) {
    let persona = with(flat("p", "x"), &json!({"skills": [{"id": "s", "source": "./skills/s"}]}));
    let files = [
        ("personas/p.json", &persona.to_string()[..]),
        ("skills/s/SKILL.md", "---\nname: s\ndescription: d\n---\ns\n"),
        ("skills/s/run.sh", "#!/bin/sh\n"),
    ];
    pack(env, "mine", "1.0.0", &files);
}

#[test]
fn a_file_that_becomes_executable_arrives_and_one_that_ceases_to_be_does_too() {
    let env = TestEnv::new();
    with_script(&env);
    let (from, to) = ("mine/skills/s/run.sh", &format!("{PERSONAS}/p__assets/s/run.sh")[..]);
    env.run(["install", "../mine"]).succeeds();
    assert!(!is_executable(&env, to));
    for (mode, flag) in [(0o755, "update"), (0o644, "update"), (0o755, "install"), (0o644, "install")] {
        set_mode(&env, from, mode);
        let args = if flag == "update" { vec!["update"] } else { vec!["install", "../mine"] };
        let ran = env.run(["update", "--diff"]);
        assert!(ran.succeeds().stdout.contains("p__assets/s/run.sh: "), "{ran:#?}");
        let ran = env.run(&args);
        assert!(ran.succeeds().stdout.contains("updated p"), "{ran:#?}");
        assert_eq!(is_executable(&env, to), mode == 0o755, "{flag}");
        env.run(["install", "--locked"]).succeeds();
        let (again, done) =
            (env.run(&args), if flag == "update" { "is up to date" } else { "Nothing to do" });
        assert!(again.succeeds().stdout.contains(done), "{again:#?}");
    }
    assert!(env.run(["update"]).succeeds().stdout.contains("is up to date"));
    // Both modes are taken away again.
    set_mode(&env, from, 0o755);
    env.run(["update"]).succeeds();
    env.run(["uninstall", "@team/mine"]).succeeds();
    assert_eq!(installed(&env), [""; 0]);
}

#[test]
fn a_lock_of_before_that_says_nothing_of_modes_is_still_good() {
    let env = TestEnv::new();
    with_script(&env);
    set_mode(&env, "mine/skills/s/run.sh", 0o755);
    env.run(["install", "../mine"]).succeeds();
    let path = format!("{PERSONAS}/agentworkforce.lock");
    let old = env.read(&path).replace("+x\"", "\"");
    assert_ne!(old, env.read(&path), "the lock names the mode");
    env.write(&path, &old);
    env.run(["install", "--locked"]).succeeds();
    assert!(env.run(["update"]).succeeds().stdout.contains("is up to date"));
    env.write(&path, &old);
    std::fs::remove_file(env.root().join(PERSONAS).join("p__assets/s/run.sh")).unwrap();
    env.run(["install", "--locked"]).succeeds();
    assert!(is_executable(&env, &format!("{PERSONAS}/p__assets/s/run.sh")));
    env.run(["uninstall", "@team/mine"]).succeeds();
}

#[test]
fn hard_links_of_an_archive_are_files() {
    let env = TestEnv::new();
    let persona = with_sidecar("p").to_string();
    for root in ["package/", "", "./"] {
        let names: Vec<String> = ["package.json", "personas/p.json", "texts/p.md", "personas/p.md"]
            .map(|name| format!("{root}{name}"))
            .into();
        let entries = [
            Entry::file(&names[0], "{\"name\": \"linked\"}"),
            Entry::file(&names[1], &persona),
            Entry::file(&names[2], "text\n"),
            Entry::link(&names[3], b'1', &names[2]),
        ];
        env.write("linked.tgz", gzip(&tar(&entries)));
        env.run(["install", "../linked.tgz", "--overwrite"]).succeeds();
        assert_eq!(env.read(format!("{PERSONAS}/p__assets/p.md")), "text\n", "{root}");
    }
    let bad = [
        Entry::file("package/personas/p.json", &persona),
        Entry::link("package/personas/p.md", b'1', "package/x"),
    ];
    env.write("linked.tgz", gzip(&tar(&bad)));
    let ran = env.run(["install", "../linked.tgz"]);
    ran.fails(
        1,
        "the hard link `package/personas/p.md` names `package/x`, which is not in the archive before it",
    );
    assert!(!ran.stderr.contains("name a directory"), "the source is of a known form: {ran:#?}");
    env.write("linked.tgz", "no archive");
    env.run(["install", "../linked.tgz"]).fails(1, "hint: name a directory");
}

#[test]
fn a_pack_that_loses_all_it_has_to_another_one_is_named() {
    let env = TestEnv::new();
    for name in ["sa", "sb", "sc"] {
        pack(&env, name, "1.0.0", &[("personas/p.json", &flat("p", "1").to_string())]);
    }
    pack(&env, "sc", "1.0.0", &[("personas/q.json", &flat("q", "1").to_string())]);
    for name in ["sa", "sb", "sc"] {
        env.run(["install", &format!("../{name}")]).succeeds();
    }
    // The one that changes it is neither the first nor the last.
    pack(&env, "sb", "2.0.0", &[("personas/p.json", &flat("p", "2").to_string())]);
    let report: Value = serde_json::from_str(&env.run(["update", "--dry-run", "--json"]).stdout).unwrap();
    assert_eq!(report["packs"][1]["emptied"], json!(["@team/sa"]), "{report:#}");
    assert_eq!(report["packs"][1]["units"][0]["takenFrom"], json!(["@team/sa", "@team/sc"]), "{report:#}");
    let ran = env.run(["update", "@team/sb"]);
    ran.fails(0, "pack @team/sa has nothing left here and was removed from the lock");
    ran.fails(0, "p no longer belongs to pack @team/sc");
    let names: Vec<String> = lock(&env)["packs"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(names, ["@team/sb", "@team/sc"]);
}

#[test]
fn a_pack_that_was_emptied_by_the_one_before_it_does_not_fail() {
    let env = TestEnv::new();
    for name in ["sa", "sb"] {
        pack(&env, name, "1.0.0", &[("personas/p.json", &flat("p", "1").to_string())]);
        env.run(["install", &format!("../{name}")]).succeeds();
    }
    pack(&env, "sa", "2.0.0", &[("personas/p.json", &flat("p", "2").to_string())]);
    env.run(["update"]).fails(0, "pack @team/sb has nothing left here and was removed from the lock");
}

#[test]
fn a_role_stays_while_a_kept_persona_follows_it() {
    let env = TestEnv::new();
    let follows = |id: &str, role: &str| with(flat(id, "x"), &json!({"role": role})).to_string();
    let role = json!({"label": "Keeper", "charter": "Keep."}).to_string();
    pack(
        &env,
        "mine",
        "1.0.0",
        &[
            ("personas/a.json", &follows("a", "Keeper")),
            ("personas/b.json", &follows("b", "other")),
            ("roles/keeper.json", &role),
            ("roles/other.json", &role),
        ],
    );
    env.run(["install", "../mine"]).succeeds();
    let mine = with(flat("a", "my own"), &json!({"role": "keeper"}));
    env.write(format!("{PERSONAS}/a.json"), mine.to_string());
    let ran = env.run(["uninstall", "@team/mine"]);
    ran.fails(1, "kept role keeper: a, which you keep, has this role");
    assert!(ran.stdout.contains("removed role other"), "{ran:#?}");
    assert_eq!(files(&env.root().join(ROLES)).into_keys().collect::<Vec<_>>(), ["keeper.json"]);
    // Without anybody who follows them the directory goes as well.
    std::fs::remove_dir_all(env.root().join(ROLES)).unwrap();
    std::fs::remove_file(env.root().join(PERSONAS).join("a.json")).unwrap();
    env.run(["install", "../mine"]).succeeds();
    env.run(["uninstall", "@team/mine"]).succeeds();
    assert!(!env.root().join(ROLES).exists());
}

#[test]
fn a_link_out_of_the_project_is_not_written_through() {
    for link in [".agentworkforce", ".agentworkforce/workforce", ".agentworkforce/workforce/personas"] {
        let env = TestEnv::new();
        two(&env, "mine");
        std::fs::create_dir_all(env.root().join("outside")).unwrap();
        let link = env.root().join("project").join(link);
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(env.root().join("outside"), &link).unwrap();
        let before = env.everything();
        let ran = env.run(["install", "../mine"]);
        ran.fails(4, &format!("{} is a link that leaves the project", link.display())).fails(4, "outside");
        ran.fails(4, "--in user");
        assert_eq!(env.everything(), before);
        // Inside of the project it may lead where it likes.
        std::fs::remove_file(&link).unwrap();
        std::fs::create_dir_all(env.root().join("project/inside")).unwrap();
        symlink(env.root().join("project/inside"), &link).unwrap();
        env.run(["install", "../mine"]).succeeds();
    }
    let env = TestEnv::new();
    two(&env, "mine");
    let home = env.root().join("home/.agentworkforce/workforce");
    std::fs::create_dir_all(&home).unwrap();
    std::fs::create_dir_all(env.root().join("dotfiles")).unwrap();
    symlink(env.root().join("dotfiles"), home.join("personas")).unwrap();
    let ran = env.run(["install", "../mine", "--to", "user"]);
    let real = env.root().join("dotfiles").display().to_string();
    assert!(ran.succeeds().stdout.contains(&format!("personas (really {real})")), "{ran:#?}");
    assert!(env.root().join("dotfiles/a.json").exists());
}

#[test]
fn thousands_of_personas_go_as_they_came() {
    let env = TestEnv::new();
    let mut all = Vec::new();
    for number in 0..1_700 {
        let id = format!("p{number}");
        all.push((format!("personas/{id}.json"), with_sidecar(&id).to_string()));
        all.push((format!("personas/{id}.md"), id));
    }
    let all: Vec<(&str, &str)> = all.iter().map(|(path, text)| (&path[..], &text[..])).collect();
    pack(&env, "many", "1.0.0", &all);
    env.run(["install", "../many"]).succeeds();
    // More than 5,000 entries; a killed process leaves the old state or the new one, and no journal of thousands of files.
    let inode =
        |env: &TestEnv| std::os::unix::fs::MetadataExt::ino(&env.root().join(PERSONAS).metadata().unwrap());
    let before = inode(&env);
    env.run(["uninstall", "@team/many"]).succeeds();
    assert_ne!(inode(&env), before, "the directory was exchanged");
    assert_eq!(installed(&env), [""; 0]);
}

#[test]
fn what_is_wrong_is_said_in_true_words() {
    let env = TestEnv::new();
    env.write("project/.agentworkforce/workforce/personas", "a file");
    two(&env, "mine");
    for args in [&["install", "../mine"][..], &["update"], &["uninstall", "x"]] {
        let ran = env.run(args);
        ran.fails(2, "workforce/personas is a file, not the directory of personas").fails(2, "move it away");
        assert!(!ran.stderr.contains("agentworkforce.lock"), "{ran:#?}");
    }

    let env = TestEnv::new();
    let skill = |source: &str| with(flat("p", "x"), &json!({"skills": [{"id": "s", "source": source}]}));
    env.write("odd/skills/s/SKILL.md", "s");
    env.write("odd/personas/p.json", skill("../skills/s").to_string());
    env.run(["install", "../odd"]).fails(1, "write `./skills/s`");
    for source in ["file:///etc", "git+file:///etc", "FILE:///etc"] {
        env.write("odd/personas/p.json", skill(source).to_string());
        env.run(["install", "../odd"]).fails(1, "skills[0].source").fails(1, "must be a path in the pack");
    }
    env.write("odd/personas/p.json", flat("abc", "x").to_string());
    env.write("odd/personas/q.json", flat("ABC", "x").to_string());
    env.run(["install", "../odd"]).fails(1, "differ only in case");
}

#[test]
fn several_are_them_and_what_was_deleted_is_not_called_changed() {
    let env = TestEnv::new();
    two(&env, "mine");
    env.run(["install", "../mine"]).succeeds();
    for id in ["a", "b"] {
        env.write(format!("{PERSONAS}/{id}__assets/{id}.md"), "mine\n");
        env.write(format!("mine/personas/{id}.md"), "theirs\n");
    }
    let ran = env.run(["install", "../mine"]);
    ran.fails(1, "conflict a");
    assert!(ran.stdout.contains("2 personas left as you have them"), "{ran:#?}");
    let ran = env.run(["update"]);
    assert!(ran.stdout.contains("2 conflicts left as you have them"), "{ran:#?}");
    std::fs::remove_file(env.root().join(PERSONAS).join("b__assets/b.md")).unwrap();
    let ran = env.run(["update"]);
    ran.fails(3, "conflict b: you deleted what the pack changed: ");
    env.write("mine/personas/b.md", "B1\n");
    let ran = env.run(["update"]);
    assert!(ran.stdout.contains("kept b: you deleted "), "{ran:#?}");
}

#[test]
fn what_is_replaced_can_be_had_again() {
    let backed = |env: &TestEnv| files(&env.root().join("home/.agentworkforce/workforce/backups"));
    let env = TestEnv::new();
    two(&env, "mine");
    env.run(["install", "../mine"]).succeeds();
    env.write(format!("{PERSONAS}/a__assets/a.md"), "mine\n");
    env.write("mine/personas/a.md", "theirs\n");
    let ran = env.run(["update", "--take-theirs", "--dry-run"]);
    assert!(backed(&env).is_empty(), "{ran:#?}");
    let ran = env.run(["update", "--take-theirs"]);
    assert!(ran.succeeds().stdout.contains("your previous files are in "), "{ran:#?}");
    let kept = backed(&env);
    assert_eq!(kept.values().collect::<Vec<_>>(), ["mine\n"]);
    assert!(kept.keys().next().unwrap().ends_with("/a__assets/a.md"), "{kept:?}");

    let env = TestEnv::new();
    env.project_persona(&flat("a", "my own"));
    let own = env.read(format!("{PERSONAS}/a.json"));
    let ran = env.run(["install", "../mine", "--overwrite", "--json"]);
    assert_ne!(ran.code, 0, "there is no such pack yet");
    two(&env, "mine");
    let report: Value =
        serde_json::from_str(&env.run(["install", "../mine", "--overwrite", "--json"]).stdout).unwrap();
    let backup = report["packs"][0]["backup"].as_str().expect("a path").to_owned();
    assert_eq!(std::fs::read_to_string(format!("{backup}/a.json")).unwrap(), own);
    // Nothing of the user's own is replaced: nothing is kept.
    let report: Value =
        serde_json::from_str(&env.run(["install", "../mine", "--overwrite", "--json"]).stdout).unwrap();
    assert_eq!((backed(&env).len(), &report["packs"][0]["backup"]), (1, &Value::Null));
}
