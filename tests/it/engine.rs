//! The engine without a command line: a run is repeated in one session, and every attempt has a record of its own.

use crate::support::mount::{BINARY, Identity, World, read};
use agentworkforce::host::Host;
use agentworkforce::model::mount::Backend;
use agentworkforce::model::plan::PlannedCheck;
use agentworkforce::model::raw_path::RawPath;
use agentworkforce::model::selector::Selector;
use agentworkforce::mount::ViewOf;
use agentworkforce::run::attempt::{Ask, ConversationChoice};
use agentworkforce::run::debug_log::DebugLog;
use agentworkforce::run::finish::ApplyGate;
use agentworkforce::run::observer::Unwatched;
use agentworkforce::run::prepare::Probing;
use agentworkforce::run::{Engine, Observer, RunEvent, RunRequest};
use agentworkforce::workforce::Workforce;
use serde_json::{Value, json};
use std::path::PathBuf;

/// The host of a test world, as a value: this process's own environment has no part in it.
fn host_of(world: &World) -> Host {
    let path = format!("{}:{}", world.path("bin").display(), std::env::var("PATH").unwrap());
    let home = world.home().display().to_string();
    Host {
        env: [("HOME".to_owned(), home), ("PATH".to_owned(), path)].into(),
        cwd: world.project(),
        stdin_is_terminal: false,
        stderr_is_terminal: false,
    }
}

fn request(task: &str) -> RunRequest {
    let persona = Selector::parse("weaver").unwrap();
    RunRequest { task: Some(task.into()), ..RunRequest::of(persona) }
}

/// Counts what it is told.
#[derive(Default)]
struct Heard {
    attempts: Vec<u32>,
    checks: Vec<i32>,
}

impl Observer for Heard {
    fn event(&mut self, event: &RunEvent<'_>) {
        match event {
            RunEvent::AttemptEnded { number } => self.attempts.push(*number),
            RunEvent::CheckEnded(check) => self.checks.push(check.exit_code),
            _ => {}
        }
    }
}

#[test]
fn an_attempt_is_repeated_in_one_session_until_its_check_passes() {
    let world = World::with_harness(
        Identity::Own,
        r#"begins; echo "$(cat "$record/stdin")" >> said.txt; answers done"#,
    );
    let host = host_of(&world);
    let workforce = Workforce::open(&host).unwrap();
    let mut engine = Engine::new(&workforce, DebugLog::default()).unwrap();
    engine.helper = PathBuf::from(BINARY);
    let prepared = engine.prepare(&request("first"), Probing::Keep).unwrap();
    let mut heard = Heard::default();
    let mut open = engine.start(prepared, &mut heard).unwrap();

    let check = PlannedCheck { command: "grep -q second said.txt".into(), timeout_seconds: None };
    open.attempt(&Ask::planned(open.plan()), &mut heard).unwrap();
    assert_eq!(open.check(&check, ViewOf::Result, &mut heard).unwrap().exit_code, 1);
    let again =
        Ask { prompt: Some("second".into()), conversation: ConversationChoice::Same, env: Vec::new() };
    open.attempt(&again, &mut heard).unwrap();
    let argv = world.recorded_argv();
    let resumed = argv.contains(&"--resume=talk-1".to_owned());
    assert!(resumed, "the second attempt continues the conversation: {argv:?}");
    assert_eq!(open.check(&check, ViewOf::Result, &mut heard).unwrap().exit_code, 0);
    let anew = Ask { prompt: Some("third".into()), conversation: ConversationChoice::New, env: Vec::new() };
    open.attempt(&anew, &mut heard).unwrap();
    assert!(!world.recorded_argv().iter().any(|word| word.starts_with("--resume")));

    assert_eq!(open.review().unwrap().unwrap().changes.len(), 1, "one file, changed by three attempts");
    open.hold().unwrap();
    let changes = open.finish_changes(ApplyGate::Open, &mut Unwatched).unwrap();
    assert!(changes.applied.is_some());
    assert_eq!(read(world.project().join("said.txt")), "first\nsecond\nthird\n");
    assert_eq!((heard.attempts, heard.checks), (vec![1, 2, 3], vec![1, 0]));

    let session = std::fs::read_dir(world.sessions()).unwrap().next().unwrap().unwrap().path();
    for (number, task) in [(1, "first"), (2, "second"), (3, "third")] {
        let attempt = session.join(format!("attempts/{number}"));
        assert_eq!(read(attempt.join("task.md")), task);
        let command: Value = serde_json::from_str(&read(attempt.join("command.json"))).unwrap();
        assert!(command["argv"][0].as_str().unwrap().ends_with("/claude"), "{command:#}");
        let outcome: Value = serde_json::from_str(&read(attempt.join("outcome.json"))).unwrap();
        assert_eq!((&outcome["status"], &outcome["result"]), (&json!("completed"), &json!("done")));
        assert!(read(attempt.join("events.jsonl")).contains("session.started"));
        assert!(attempt.join("harness.log").is_file());
    }
    assert!(read(session.join("debug.log")).is_empty(), "nobody set up the diagnostics of this process");
}

#[test]
fn a_request_survives_being_written_down() {
    let mut asked = request("do it");
    asked.strict = true;
    asked.checks = vec![PlannedCheck { command: "make test".into(), timeout_seconds: Some(5.0) }];
    let text = serde_json::to_string(&asked).unwrap();
    assert_eq!(serde_json::from_str::<RunRequest>(&text).unwrap(), asked);
}

#[test]
fn a_check_runs_on_the_result_on_the_base_and_on_the_base_with_some_paths() {
    let world = World::with_harness(
        Identity::Own,
        "begins; echo fixed > main.txt; echo new > test.txt; answers done",
    );
    let host = host_of(&world);
    let workforce = Workforce::open(&host).unwrap();
    for backend in [Backend::Overlay, Backend::Copy] {
        let mut engine = Engine::new(&workforce, DebugLog::default()).unwrap();
        engine.helper = PathBuf::from(BINARY);
        let mut asked = request("fix it");
        asked.view.backend = Some(backend);
        let prepared = engine.prepare(&asked, Probing::Keep).unwrap();
        let mut open = engine.start(prepared, &mut Unwatched).unwrap();
        open.attempt(&Ask::planned(open.plan()), &mut Unwatched).unwrap();
        let mut passes = |command: &str, on: ViewOf<'_>| {
            let check = PlannedCheck { command: command.into(), timeout_seconds: None };
            open.check(&check, on, &mut Unwatched).unwrap().exit_code == 0
        };
        let test = [RawPath("test.txt".into())];
        let (fixed, tested) = ("grep -q fixed main.txt", "test -e test.txt");
        assert!(passes(fixed, ViewOf::Result) && passes(tested, ViewOf::Result));
        assert!(!passes(fixed, ViewOf::Base) && !passes(tested, ViewOf::Base));
        assert!(!passes(fixed, ViewOf::BaseWith(&test)) && passes(tested, ViewOf::BaseWith(&test)));

        open.put_back(&test).unwrap();
        let review = open.review().unwrap().unwrap();
        let changed: Vec<_> = review.changes.iter().map(|change| change.path.0.clone()).collect();
        assert_eq!(changed, [PathBuf::from("main.txt")], "{backend:?}");
    }
}

#[test]
fn work_is_kept_when_the_base_cannot_be_written_even_if_it_is_only_a_commit() {
    let world =
        World::with_harness(Identity::Own, "begins; git commit -q --allow-empty -m precious; answers done");
    let host = host_of(&world);
    let workforce = Workforce::open(&host).unwrap();
    let mut engine = Engine::new(&workforce, DebugLog::default()).unwrap();
    engine.helper = PathBuf::from(BINARY);
    let session = || std::fs::read_dir(world.sessions()).unwrap().next().unwrap().unwrap().path();
    let prepared = engine.prepare(&request("commit"), Probing::Keep).unwrap();
    let mut open = engine.start(prepared, &mut Unwatched).unwrap();
    std::fs::create_dir_all(session().join("manifest/in-the-way")).unwrap();
    let error = open.attempt(&Ask::planned(open.plan()), &mut Unwatched).unwrap_err();
    assert!(format!("{error:#}").contains("manifest"), "{error:#}");
    assert!(open.report.session.is_some(), "the session is named");
    drop(open);
    assert_eq!(world.listed()[0]["state"], "held", "the commit is nowhere else");
}
