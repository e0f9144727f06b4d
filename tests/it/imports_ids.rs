//! The names of imported personas and roles: what the user has is never shadowed unnoticed, and nothing of one import replaces the rest.

use crate::support::{Ran, TestEnv};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const PERSONAS: &str = "project/.agentworkforce/workforce/personas";

fn read(env: &TestEnv, below: &str) -> Value {
    serde_json::from_str(&env.read(format!("project/.agentworkforce/workforce/{below}.json"))).expect("JSON")
}

fn import(env: &TestEnv, args: &[&str]) -> (i32, Value) {
    let ran: Ran = env.run(["import", "../in", "--json"].iter().chain(args));
    (ran.code, serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:#?}")))
}

fn agent(name: &str, prompt: &str) -> String {
    format!("---\nname: {name}\ndescription: d\n---\n{prompt}\n")
}

#[test]
fn the_id_of_a_persona_in_another_file_of_the_layer_is_left_to_it() {
    for (file, id, name) in [
        ("zz-mine", "reviewer", "reviewer"),
        ("Reviewer", "Reviewer", "Reviewer"),
        ("reviewer", "other", "reviewer"),
    ] {
        for args in [&[] as &[&str], &["--overwrite"], &["--dry-run"]] {
            let env = TestEnv::new();
            let mine = json!({"id": id, "intent": "x", "description": "mine", "harness": "claude",
                "systemPrompt": "Mine.", "permissions": {"deny": ["Bash"]}});
            env.write(format!("{PERSONAS}/{file}.json"), mine.to_string());
            env.write("in/agents/a.md", agent(name, "You are a reviewer."));
            let (code, report) = import(&env, args);
            assert_eq!((code, &report["differs"]), (1, &json!(1)), "{file} {args:?}: {report:#}");
            let reason = report["files"][0]["reason"].as_str().expect("a reason");
            assert!(reason.contains(&format!("{file}.json")), "{reason}");
            assert!(env.prompt(&[id]).contains("Mine."), "{file} {args:?}");
        }
    }
}

#[test]
fn a_persona_of_a_lower_layer_is_not_replaced_without_a_warning() {
    let env = TestEnv::new();
    env.write("in/agents/a.md", agent("reviewer", "You are mine."));
    env.run(["import", "../in", "--in", "user"]).succeeds();
    env.write("in/agents/a.md", agent("reviewer", "You are theirs."));
    let (code, report) = import(&env, &[]);
    let warning = &report["files"][0]["warnings"][0];
    assert_eq!((code, &warning["code"]), (0, &json!("overrides")), "{report:#}");
    assert_eq!(warning["message"], "it replaces the persona `reviewer` of layer `user`");
    // The one that is replaced is the same: nothing to warn about.
    env.write("in/agents/a.md", agent("tester-2", "You are a tester."));
    env.run(["import", "../in", "--in", "user"]).succeeds();
    let (_, report) = import(&env, &[]);
    assert_eq!(report["files"][0]["warnings"], json!([]), "{report:#}");
    // A persona of the project comes first: what is imported for the user has no effect here.
    let (_, report) = import(&env, &["--in", "user", "--dry-run"]);
    assert_eq!(report["files"][0]["warnings"], json!([]), "{report:#}");
}

#[test]
fn roles_of_two_configs_stay_two_roles() {
    for args in [&[] as &[&str], &["--overwrite"]] {
        let env = TestEnv::new();
        for (dir, charter) in [("one", "First."), ("two", "Second."), ("three", "First.")] {
            env.write(format!("in/{dir}/agents/dev/charter.md"), charter);
            let config = json!({
                "agents": {"dev": {"name": dir}, "eng": {"name": dir, "role": "engineer"}},
                "roles": {"engineer": {"label": "E", "charter": format!("{charter} E.")}},
            });
            env.write(format!("in/{dir}/config.json"), config.to_string());
        }
        let (_, dry) = import(&env, &["--dry-run"]);
        let (code, report) = import(&env, args);
        assert_eq!((code, &report["imported"]), (0, &json!(6)), "{report:#}");
        // Labels differ, too, so that three of the charters are roles of their own.
        assert_eq!(report["roles"]["imported"], 5, "{report:#}");
        assert_eq!(dry["roles"], report["roles"]);
        for id in ["dev", "dev-2", "dev-3", "eng", "eng-2", "eng-3"] {
            let persona = read(&env, &format!("personas/{id}"));
            let expected = if persona["name"] == "two" { "Second." } else { "First." };
            let role = read(&env, &format!("roles/{}", persona["role"].as_str().expect("a role")));
            assert!(
                role["charter"].as_str().expect("text").starts_with(expected),
                "{id}: {persona:#} {role:#}"
            );
        }
        // A second time nothing changes.
        let (code, again) = import(&env, args);
        assert_eq!((code, &again["unchanged"]), (0, &json!(6)), "{again:#}");
    }
}

#[test]
fn agents_of_one_config_with_the_same_slug_keep_their_own_charters() {
    let env = TestEnv::new();
    env.write("in/agents/Dev/charter.md", "Upper.");
    env.write("in/agents/dev/charter.md", "Lower.");
    let config = json!({"agents": {"Dev": {"emoji": "🧪"}, "dev": {"emoji": "🚀"}, "ops": {"role": "dev-charter"}},
        "roles": {"dev-charter": {"label": "D", "charter": "Of the role."}}});
    env.write("in/config.json", config.to_string());
    let (code, report) = import(&env, &[]);
    assert_eq!((code, &report["roles"]["imported"]), (0, &json!(3)), "{report:#}");
    for (id, charter) in [("dev", "Upper."), ("dev-2", "Lower."), ("ops", "Of the role.")] {
        let role = read(&env, &format!("personas/{id}"))["role"].as_str().expect("a role").to_owned();
        assert_eq!(read(&env, &format!("roles/{role}"))["charter"], charter, "{id}");
    }
}

#[test]
fn many_agents_of_one_name_take_no_longer_than_as_many_of_others() {
    let took = |name: &dyn Fn(usize) -> String| {
        let env = TestEnv::new();
        for number in 0..1000 {
            let prompt = format!("You are a {number}. {}", "x".repeat(2500));
            env.write(format!("in/{number:03}/agents/agent.md"), agent(&name(number), &prompt));
        }
        let began = std::time::Instant::now();
        let (_, report) = import(&env, &["--dry-run"]);
        assert_eq!(report["imported"], 1000);
        (began.elapsed(), report["files"][999]["persona"].clone())
    };
    let (others, _) = took(&|number| format!("agent-{number}"));
    let (same, last) = took(&|_| "agent".to_owned());
    assert_eq!(last, "agent-1000");
    // It took ten times as long.
    assert!(same < others * 3 + std::time::Duration::from_secs(2), "{same:?} {others:?}");
}
