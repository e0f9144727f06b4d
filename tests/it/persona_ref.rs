//! `--persona-ref`: the project layer comes from a commit, and nothing in the working tree has a say in it.

use crate::support::harness::weaver;
use crate::support::mount::{Identity, World};
use crate::support::{Ran, TestEnv, flat, warnings, with};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

const LAYER: &str = "project/.agentworkforce/workforce";

fn git(dir: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]);
    let output = command.args(args).current_dir(dir).output().expect("git runs");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn commit(env: &TestEnv) -> String {
    git(&env.project(), &["add", "--all", "--force"]);
    git(&env.project(), &["commit", "--quiet", "--allow-empty", "-m", "state"]);
    git(&env.project(), &["rev-parse", "HEAD"])
}

/// A project with a reviewer, a role, an overlay of a built-in and rules, committed on `main`.
fn project() -> (TestEnv, String) {
    let env = TestEnv::new();
    fs::remove_dir_all(env.project().join(".git")).expect("it is there");
    git(&env.project(), &["init", "--quiet", "-b", "main"]);
    let reviewer = with(
        flat("reviewer", "GOOD-PROMPT"),
        &json!({"role": "judge", "claudeMd": "reviewer.md", "mount": {"ignoredPatterns": ["good-hidden"]}}),
    );
    env.project_persona(&reviewer);
    env.project_persona(&json!({"id": "debugger", "name": "Good Debugger"}));
    env.project_role("judge", &json!({"label": "Judge", "charterFile": "judge.md"}));
    env.write(format!("{LAYER}/roles/judge.md"), "GOOD-CHARTER");
    env.write(format!("{LAYER}/personas/reviewer.md"), "GOOD-SIDECAR");
    env.write(format!("{LAYER}/agents/debugger/charter.md"), "GOOD-LEGACY");
    env.write("project/.agentignore", "good-ignored\n");
    env.write("project/.reviewer.agentreadonly", "good-readonly\n");
    env.write("project/sub/code.txt", "x");
    let commit = commit(&env);
    (env, commit)
}

/// Everything that a pull request could try.
fn plant(env: &TestEnv) {
    let evil = json!({"id": "reviewer", "intent": "reviewer", "harness": "codex", "model": "EVIL",
        "systemPrompt": "EVIL", "role": "judge", "claudeMd": "reviewer.md", "env": {"EVIL": "1"},
        "permissions": {"allow": ["EVIL"]}, "mount": {"revealPatterns": ["EVIL"]}});
    env.project_persona(&evil);
    env.project_persona(&with(evil.clone(), &json!({"id": "evil"})));
    let overlay = json!({"name": "EVIL", "systemPrompt": "EVIL", "permissions": {"allow": ["EVIL"]}});
    for builtin in ["debugger", "code-reviewer"] {
        env.project_persona(&with(overlay.clone(), &json!({"id": builtin})));
    }
    for role in ["judge", "engineer", "reviewer"] {
        env.project_role(role, &json!({"label": "EVIL", "charter": "EVIL", "defaultModel": "EVIL"}));
    }
    env.write(format!("{LAYER}/roles/judge.md"), "EVIL");
    env.write(format!("{LAYER}/personas/reviewer.md"), "EVIL");
    env.write(format!("{LAYER}/personas/broken.json"), "{\"id\": \"broken\", EVIL");
    for id in ["debugger", "reviewer", "code-reviewer"] {
        env.write(format!("{LAYER}/agents/{id}/charter.md"), "EVIL");
        env.write(format!("project/.{id}.agentignore"), "EVIL\n");
        env.write(format!("project/.{id}.agentreadonly"), "EVIL\n");
    }
    env.write("project/.agentignore", "!good-ignored\nEVIL\n");
    env.write("project/.agentreadonly", "EVIL\n");
    let config =
        r#"{"defaultModel": "EVIL", "personaDirs": ["EVIL"], "mount": {"revealPatterns": ["EVIL"]}}"#;
    env.write(format!("{LAYER}/config.json"), config);
    env.write("project/.agentworkforce/config.json", config);
    // A layer that is nearer to the working directory.
    env.persona("project/sub/.agentworkforce/workforce/personas", &evil);
    env.write("project/sub/.agentignore", "EVIL\n");
}

const SELECTORS: [&str; 3] = ["reviewer", "debugger", "code-reviewer"];

#[test]
fn nothing_that_is_planted_in_the_working_tree_has_any_effect() {
    let (mut env, _) = project();
    let plans = |env: &TestEnv, more: &[&str]| -> Vec<Value> {
        SELECTORS.map(|selector| env.plan(&[&[selector], more].concat())).into()
    };
    for cwd in ["project", "project/sub"] {
        env.set_cwd(cwd);
        let clean = plans(&env, &["--persona-ref", "main"]);
        plant(&env);
        let planted = plans(&env, &["--persona-ref", "main"]);
        assert_eq!(planted, clean, "{cwd}");
        assert!(!format!("{planted:?}").contains("EVIL"), "{cwd}");
        // The same plants do have an effect where nobody holds them off.
        for plan in plans(&env, &[]).iter().filter(|_| cwd == "project") {
            assert!(plan.to_string().contains("EVIL"), "{plan:#}");
        }
        for args in
            [&["list", "--json"][..], &["show", "reviewer", "--json"], &["show", "debugger", "--origins"]]
        {
            let ran = env.run([args, &["--persona-ref", "main"]].concat());
            assert!(ran.code == 0 && !format!("{ran:?}").contains("EVIL"), "{ran:#?}");
        }
        env.run(["show", "evil", "--persona-ref", "main"]).fails(2, "there is no persona `evil`");
        git(&env.project(), &["clean", "-qfdx"]);
        git(&env.project(), &["checkout", "-q", "--", "."]);
    }
}

#[test]
fn the_plan_is_that_of_a_clean_checkout_and_names_the_commit() {
    let (env, commit) = project();
    let checkout = env.plan(&["reviewer"]);
    let at_ref = env.plan(&["reviewer", "--persona-ref", "main"]);
    for key in ["systemPrompt", "harness", "command", "enforcement", "warnings"] {
        assert_eq!(at_ref[key], checkout[key], "{key}");
    }
    assert_eq!(at_ref["persona"]["version"], checkout["persona"]["version"]);
    assert_eq!(at_ref["sidecar"]["content"], "GOOD-SIDECAR");
    assert!(at_ref["systemPrompt"].as_str().unwrap().contains("GOOD-CHARTER"));
    assert_eq!(at_ref["personaRef"], json!({"ref": "main", "commit": commit}));
    assert_eq!(checkout["personaRef"], Value::Null);
    let place = "main:.agentworkforce/workforce";
    assert_eq!(at_ref["persona"]["origin"]["file"], format!("{place}/personas/reviewer.json"));
    assert_eq!(at_ref["persona"]["origin"]["layer"], "cwd");
    assert_eq!(at_ref["persona"]["role"]["charterOrigin"], format!("{place}/roles/judge.json"));
    let rules = at_ref["mount"]["rules"].as_array().unwrap();
    let origin =
        |pattern: &str| rules.iter().find(|rule| rule["pattern"] == pattern).unwrap()["origin"].clone();
    assert!(origin("good-ignored").as_str().unwrap().starts_with("main:.agentignore"), "{rules:#?}");
    assert!(origin("good-readonly").as_str().unwrap().starts_with("main:.reviewer.agentreadonly"));
    // The schema knows the key.
    let schema = env.run(["schema", "plan"]).json();
    assert!(jsonschema::validator_for(&schema).expect("a schema").is_valid(&at_ref));
    // A plan for people says it, too; the built-in's legacy charter came along.
    let shown = env.run(["show", "debugger", "--persona-ref", "main"]);
    assert!(shown.stderr.contains(&format!("project layer from main ({})", &commit[..12])), "{shown:#?}");
    assert!(shown.stdout.contains("main:.agentworkforce/workforce/personas/debugger.json"), "{shown:#?}");
}

#[test]
fn lists_and_lint_speak_of_the_ref() {
    let (env, commit) = project();
    env.write(format!("{LAYER}/personas/odd.json"), "{\n  \"id\": \"odd\",\n  \"intnt\": \"x\"\n}");
    git(&env.project(), &["checkout", "-q", "-b", "odd"]);
    let odd = self::commit(&env);
    fs::remove_file(env.root().join(format!("{LAYER}/personas/odd.json"))).unwrap();
    let list = env.run(["list", "--json", "--persona-ref", "main"]).json();
    assert_eq!(list["personaRef"], json!({"ref": "main", "commit": commit}));
    let rows = list["personas"].as_array().unwrap();
    let row = |id: &str| rows.iter().find(|row| row["persona"] == id);
    assert_eq!(row("reviewer").unwrap()["file"], "main:.agentworkforce/workforce/personas/reviewer.json");
    assert!(row("odd").is_none());
    let lint = env.run(["lint", "--json", "--strict", "--persona-ref", &odd]);
    assert_eq!(lint.code, 1, "{lint:#?}");
    let lint: Value = serde_json::from_str(&lint.stdout).unwrap();
    let about = |problem: &&Value| problem["key"] == "intnt";
    let problem = lint["problems"].as_array().unwrap().iter().find(about).unwrap();
    assert_eq!(problem["file"], format!("{odd}:.agentworkforce/workforce/personas/odd.json"));
    assert_eq!((&problem["line"], &problem["column"]), (&json!(3), &json!(3)));
    env.run(["lint", ".agentworkforce", "--persona-ref", "main"]).fails(2, "is a path of the working tree");
}

#[test]
fn the_users_layers_stay_and_one_in_the_working_tree_is_told() {
    let (env, _) = project();
    env.user_persona(&flat("mine", "MINE"));
    assert_eq!(warnings(&env.plan(&["mine", "--persona-ref", "main"])), Vec::<String>::new());
    env.write("project/shared/theirs.json", flat("theirs", "THEIRS").to_string());
    env.config(&json!({"personaDirs": [env.project().join("shared")]}));
    let ran = env.run(["agent", "theirs", "--dry-run", "--persona-ref", "main"]);
    assert!(ran.code == 0 && ran.stderr.contains("is in the working tree"), "{ran:#?}");
    let strict = env.run(["agent", "theirs", "--dry-run", "--strict", "--persona-ref", "main"]);
    strict.fails(4, "is in the working tree");
}

#[test]
fn a_ref_without_a_layer_is_an_empty_layer_with_a_warning() {
    let (env, _) = project();
    git(&env.project(), &["checkout", "-q", "--orphan", "bare"]);
    git(&env.project(), &["rm", "-rqf", "."]);
    git(&env.project(), &["commit", "-q", "--allow-empty", "-m", "empty"]);
    git(&env.project(), &["checkout", "-q", "main"]);
    let ran = env.run(["list", "--persona-ref", "bare"]);
    assert!(ran.code == 0 && ran.stderr.contains("the project layer is empty"), "{ran:#?}");
    assert!(!ran.stdout.contains("reviewer.json") && ran.stdout.contains("debugger"), "{ran:#?}");
    env.run(["show", "reviewer", "--persona-ref", "bare"]).fails(2, "there is no persona `reviewer`");
}

#[test]
fn a_ref_that_cannot_be_read_is_a_usage_error_that_says_why() {
    let (mut env, _) = project();
    let dry_run = |env: &TestEnv, reference: &str| -> Ran {
        env.run(["agent", "reviewer", "--dry-run", &format!("--persona-ref={reference}")])
    };
    dry_run(&env, "nowhere").fails(2, "there is no commit `nowhere`").fails(2, "hint: fetch it first");
    for hostile in ["--help", "-h", "--all", "main:.agentignore", "main..main", "main^{tree}", " "] {
        dry_run(&env, hostile).fails(2, "there is no commit");
    }
    dry_run(&env, "").fails(2, "persona-ref");
    let listed = env.run(["list", "--json", "--persona-ref", "nowhere"]);
    assert_eq!(listed.fails_in_json(2, "usage")["exitCode"], 2);
    env.set_var("PATH", "/nonexistent");
    dry_run(&env, "main").fails(2, "need git");

    let mut plain = TestEnv::new();
    plain.set_cwd("home");
    dry_run(&plain, "main").fails(2, "need a git repository");
    // A broken repository is not made up for by one further up.
    git(&plain.root(), &["init", "--quiet", "-b", "main"]);
    git(&plain.root(), &["commit", "--quiet", "--allow-empty", "-m", "outer"]);
    fs::remove_file(plain.project().join(".git/HEAD")).expect("it is there");
    plain.set_cwd("project");
    dry_run(&plain, "main").fails(2, "need a git repository");
}

#[test]
fn links_are_followed_beside_themselves_only_and_submodules_not_at_all() {
    let (env, _) = project();
    let personas = env.root().join(LAYER).join("personas");
    env.write("project/outside.json", flat("outside", "OUTSIDE").to_string());
    env.write("secret.md", "SECRET");
    symlink("reviewer.md", personas.join("beside.md")).unwrap();
    symlink("../../../outside.json", personas.join("outside.json")).unwrap();
    symlink(env.root().join("secret.md"), personas.join("secret.md")).unwrap();
    env.project_persona(&with(flat("near", "P"), &json!({"claudeMd": "beside.md"})));
    env.project_persona(&with(flat("far", "P"), &json!({"claudeMd": "secret.md"})));
    let commit = commit(&env);
    let module = format!("160000,{commit},.agentworkforce/workforce/personas/module.json");
    git(&env.project(), &["update-index", "--add", "--cacheinfo", &module]);
    git(&env.project(), &["commit", "--quiet", "-m", "a submodule"]);
    // Nobody knows whom the file outside is about, so nobody runs.
    let near = env.refused_plan(2, &["near", "--persona-ref", "HEAD"]);
    assert_eq!(near["sidecar"]["content"], "GOOD-SIDECAR");
    assert!(
        near["refusals"][0]["causes"].to_string().contains("outside.json: is a link that leads out"),
        "{near:#}"
    );
    let far = env.refused_plan(2, &["far", "--persona-ref", "HEAD"]);
    assert_eq!(far["sidecar"], Value::Null);
    assert!(warnings(&far).iter().any(|text| text.contains("leads out of its directory")), "{far:#}");
    let list = env.run(["list", "--json", "--persona-ref", "HEAD"]).json();
    let text = list.to_string();
    assert!(text.contains("outside.json: is a link that leads out of its directory"), "{text}");
    assert!(!text.contains("module"), "{text}");
}

#[test]
fn the_rules_of_a_root_below_come_from_the_ref_and_one_elsewhere_is_refused() {
    let (env, _) = project();
    env.write("project/sub/.agentignore", "good-below\n");
    commit(&env);
    env.write("project/sub/.agentignore", "EVIL\n");
    let plan = env.plan(&["reviewer", "--root", "sub", "--persona-ref", "main"]);
    let rules = plan["mount"]["rules"].to_string();
    assert!(
        rules.contains("good-below") && !rules.contains("EVIL") && !rules.contains("good-ignored"),
        "{rules}"
    );
    let home = env.home().display().to_string();
    env.run(["agent", "reviewer", "--dry-run", "--root", &home, "--persona-ref", "main"])
        .fails(2, "is outside the repository");
}

#[test]
fn reading_a_ref_runs_nothing_and_writes_nothing() {
    let (env, _) = project();
    let script = env.write("run-me", format!("#!/bin/sh\ntouch '{}'\n", env.root().join("ran").display()));
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let script = script.display().to_string();
    for (key, value) in [
        ("core.fsmonitor", script.as_str()),
        ("core.pager", &script),
        ("core.sshCommand", &script),
        ("filter.evil.smudge", &script),
        ("filter.evil.clean", &script),
        ("core.alternateRefsCommand", &script),
    ] {
        git(&env.project(), &["config", key, value]);
    }
    env.write("project/.gitattributes", "* filter=evil\n");
    let before = env.everything();
    let plan = env.plan(&["reviewer", "--persona-ref", "main"]);
    assert_eq!(plan["sidecar"]["content"], "GOOD-SIDECAR");
    assert_eq!(env.everything(), before);
}

#[test]
fn an_extending_sidecar_extends_the_file_of_the_ref() {
    let world = World::with_harness(Identity::Own, "begins; cp CLAUDE.md \"$record/seen\"; answers done");
    let project = world.project();
    let personas = project.join(".agentworkforce/workforce/personas");
    fs::create_dir_all(&personas).unwrap();
    let persona = with(weaver(), &json!({"claudeMdMode": "extend"}));
    fs::write(personas.join("weaver.json"), persona.to_string()).unwrap();
    fs::write(personas.join("weaver.md"), "OWN").unwrap();
    git(&project, &["add", "--all"]);
    git(&project, &["commit", "--quiet", "-m", "good"]);
    fs::write(project.join("CLAUDE.md"), "EVIL").unwrap();
    let run = |reference: &str| {
        world.give();
        let did = world.agent(&["weaver", "-p", "do it", "--json", "--strict", "--persona-ref", reference]);
        assert_eq!(did.code, 0, "{did:?}");
        world.recorded("seen")
    };
    assert_eq!(run("HEAD"), "REPO-CLAUDE\n\n\n---\n\nOWN");
    // A link to a file beside it is that file, as the commit has it; without a file there is nothing to extend.
    fs::remove_file(project.join("CLAUDE.md")).unwrap();
    std::os::unix::fs::symlink("AGENTS.md", project.join("CLAUDE.md")).unwrap();
    git(&project, &["commit", "--quiet", "--all", "-m", "link"]);
    fs::write(project.join("AGENTS.md"), "EVIL").unwrap();
    assert_eq!(run("HEAD"), "REPO-AGENTS\n\n\n---\n\nOWN");
    git(&project, &["rm", "--quiet", "CLAUDE.md"]);
    git(&project, &["commit", "--quiet", "-m", "gone", "CLAUDE.md"]);
    fs::write(project.join("CLAUDE.md"), "EVIL").unwrap();
    assert_eq!(run("HEAD"), "OWN");
}

#[test]
fn a_run_gets_prompt_and_skills_from_the_ref() {
    let world = World::with_harness(
        Identity::Own,
        r#"begins
        for arg; do if [ "$last" = --plugin-dir ]; then dir="$arg/skills"; fi; last="$arg"; done
        rm -rf "$record/skills"; cp -r "$dir" "$record/skills"
        answers done"#,
    );
    let project = world.project();
    let personas = project.join(".agentworkforce/workforce/personas");
    let skill = personas.join("skills/knitting/SKILL.md");
    let text = |body: &str| format!("---\nname: knitting\ndescription: how to knit\n---\n\n{body}\n");
    fs::create_dir_all(skill.parent().unwrap()).unwrap();
    fs::write(&skill, text("GOOD")).unwrap();
    // One that is named by its place in the working tree, and one that only the pull request has.
    let tree = personas.join("skills/knitting").display().to_string();
    let skills = json!([
        {"id": "knitting", "source": "./skills/knitting", "description": "x"},
        {"id": "absolute", "source": tree, "description": "x"},
        {"id": "new", "source": "./skills/new", "description": "x"},
    ]);
    let persona = with(weaver(), &json!({ "skills": skills }));
    fs::write(personas.join("weaver.json"), persona.to_string()).unwrap();
    git(&project, &["add", "--all"]);
    git(&project, &["commit", "--quiet", "-m", "good"]);
    let reference = git(&project, &["rev-parse", "HEAD"]);
    fs::write(&skill, text("EVIL")).unwrap();
    fs::create_dir_all(personas.join("skills/new")).unwrap();
    fs::write(personas.join("skills/new/SKILL.md"), text("EVIL")).unwrap();
    fs::write(personas.join("weaver.json"), with(persona, &json!({"systemPrompt": "EVIL"})).to_string())
        .unwrap();
    world.give();
    let (report, code) = world.report(&["--persona-ref", &reference]);
    assert_eq!(code, 0, "{report:#}");
    assert_eq!(world.recorded("skills/knitting/SKILL.md"), text("GOOD"));
    assert!(!report.to_string().contains("EVIL"), "{report:#}");
    let mut staged: Vec<_> = fs::read_dir(world.path("record/skills")).unwrap().flatten().collect();
    staged.retain(|entry| entry.file_name() != "knitting");
    assert!(staged.is_empty(), "{staged:?}");
    let warnings = report["warnings"].to_string();
    assert!(
        warnings.contains("skill `absolute` is left out") && warnings.contains("in the working tree"),
        "{warnings}"
    );
    assert!(warnings.contains("skill `new` is left out"), "{warnings}");
    let sessions = world.home().join(".agentworkforce/workforce/sessions");
    let mut left = walk(&sessions);
    left.retain(|path| path.contains("persona-ref-"));
    assert_eq!(left, Vec::<String>::new());
}

fn walk(dir: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    paths.flat_map(|path| [vec![path.display().to_string()], walk(&path)].concat()).collect()
}
