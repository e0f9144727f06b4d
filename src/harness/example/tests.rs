//! The proof that a harness is one folder and one line in the enum: nothing else in the program mentions the example, and
//! everything that a run asks about a harness works for it. That `doctor` knows it is tested in `commands::doctor`.

use crate::harness::login::{Login, UserFiles};
use crate::harness::{adapter, events::Conclusion};
use crate::host::Host;
use crate::model::demand::Demand;
use crate::model::event::Event;
use crate::model::plan::EnforcementLevel::{Enforced, Unsupported};
use crate::model::selector::Selector;
use crate::model::tier::Harness;
use crate::run::prepare::Probing;
use crate::run::{Engine, RunRequest};
use crate::workforce::Workforce;
use pretty_assertions::assert_eq;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[test]
fn a_persona_on_the_example_has_a_whole_plan() {
    let world = tempfile::tempdir().expect("a directory");
    let project = world.path().join("project");
    let personas = project.join(".agentworkforce/workforce/personas");
    std::fs::create_dir_all(&personas).expect("writable");
    std::fs::create_dir_all(project.join(".git")).expect("writable");
    let persona = json!({
        "id": "p", "intent": "p", "description": "A persona.", "tags": [], "harness": "example", "model": "m1",
        "systemPrompt": "Do it.", "permissions": {"deny": ["Bash"]}, "agentsMd": "p.md", "limits": {"wallSeconds": 9},
    });
    std::fs::write(personas.join("p.json"), persona.to_string()).expect("writable");
    std::fs::write(personas.join("p.md"), "Be kind.\n").expect("writable");
    let host = Host {
        env: BTreeMap::from([("HOME".to_owned(), world.path().display().to_string())]),
        cwd: project,
        stdin_is_terminal: false,
        stderr_is_terminal: false,
    };
    let workforce = Workforce::open(&host).expect("a workforce");
    let engine = Engine::new(&workforce, crate::run::debug_log::DebugLog::default()).expect("an engine");
    let selector = Selector::parse("p").expect("a selector");
    let request = RunRequest { task: Some("go".into()), ..RunRequest::of(selector) };
    let prepared = engine.prepare(&request, Probing::LeaveNothing).expect("a plan");

    let plan = &prepared.plan;
    let agent = plan.agent().expect("an agent");
    assert_eq!((agent.harness.kind, agent.command.program.as_str()), (Harness::Example, "example-agent"));
    assert_eq!(
        serde_json::to_value(&agent.command.args).expect("JSON"),
        json!(["--json", "--model=m1", "--prompt-file", "{session}/system-prompt.md"])
    );
    assert_eq!(plan.sidecar.as_ref().map(|sidecar| sidecar.target.as_str()), Some("AGENTS.md"));
    assert!(plan.mount.rules.iter().any(|rule| rule.pattern == ".example"), "{:#?}", plan.mount.rules);
    let level =
        |demand: &Demand| plan.enforcement.iter().find(|row| row.field == *demand).map(|row| row.level);
    let levels =
        [Demand::Model, Demand::Sidecar, Demand::WallSeconds, Demand::Deny].map(|demand| level(&demand));
    assert_eq!(levels, [Some(Enforced), Some(Enforced), Some(Enforced), Some(Unsupported)]);
    assert_eq!(plan.refusals, []);
    let missing: Vec<String> =
        prepared.missing_supplies(&host).into_iter().map(|warning| warning.message).collect();
    assert!(missing.iter().any(|text| text.contains("example-agent")), "{missing:?}");
}

#[test]
fn its_output_becomes_events_and_a_conclusion() {
    let mut reader = (adapter(Harness::Example).reader)("p");
    let events: Vec<Event> = [r#"{"session":"s1"}"#, r#"{"text":"all done"}"#, r#"{"done":true}"#]
        .iter()
        .flat_map(|line| reader.read(line))
        .collect();
    let started = Event::SessionStarted { harness_session_id: "s1".into(), model: None };
    assert_eq!(events, [started, Event::Message { text: "all done".into() }]);
    let good = Conclusion {
        ok: true,
        result: Some("all done".into()),
        session_id: Some("s1".into()),
        ..Conclusion::default()
    };
    assert_eq!(reader.conclude(true), good);
}

/// A user with these variables and files.
struct User(BTreeMap<&'static str, &'static str>);

impl UserFiles for User {
    fn var(&self, name: &str) -> Option<&str> {
        self.0.get(name).copied()
    }

    fn home(&self) -> PathBuf {
        PathBuf::from("/home/u")
    }

    fn path_in_var(&self, name: &str) -> Option<PathBuf> {
        self.var(name).map(PathBuf::from)
    }

    fn now(&self) -> i64 {
        1_000
    }

    fn read(&self, path: &Path) -> Result<Option<String>, String> {
        Ok(path.to_str().and_then(|path| self.0.get(path)).map(|text| (*text).to_owned()))
    }
}

#[test]
fn its_login_is_found_in_the_environment_and_in_its_file() {
    let login = |user: &[(&'static str, &'static str)]| {
        (adapter(Harness::Example).login)(&User(user.iter().copied().collect()))
    };
    assert!(!login(&[]).is_enough());
    assert_eq!(login(&[("EXAMPLE_API_KEY", "k")]), Login::Found("EXAMPLE_API_KEY".into()));
    let file = "/home/u/.example/login.json";
    assert_eq!(login(&[(file, r#"{"token":"t"}"#)]), Login::Found(file.into()));
    assert_eq!(login(&[(file, "{")]), Login::Broken(format!("{file} is not valid JSON (line 1)")));
}

#[test]
fn it_is_found_by_its_name_like_every_harness() {
    assert_eq!("example".parse(), Ok(Harness::Example));
    assert_eq!(serde_json::to_value(Harness::Example).expect("JSON"), "example");
    assert_eq!(serde_json::from_value::<Harness>(json!("example")).expect("a harness"), Harness::Example);
}
