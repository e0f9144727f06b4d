//! Lines as codex 0.166.0 printed them against a scripted model.

use super::*;
use pretty_assertions::assert_eq;

const STARTED: &str = r#"{"type":"thread.started","thread_id":"01a1e383-0708-7e52-8b3d-a258db85ae8c"}"#;
const UNKNOWN_MODEL: &str = r#"{"type":"item.completed","item":{"id":"item_0","type":"error","message":"Model metadata for `scripted` not found. Defaulting to fallback metadata; this can degrade performance and cause issues."}}"#;
const TURN: &str = r#"{"type":"turn.started"}"#;
const LOOKING: &str =
    r#"{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"let me look"}}"#;
const COMMAND: &str = r#"{"type":"item.started","item":{"id":"item_2","type":"command_execution","command":"/bin/bash -lc 'ls; exit 3'","aggregated_output":"","exit_code":null,"status":"in_progress"}}"#;
const COMMAND_FAILED: &str = r#"{"type":"item.completed","item":{"id":"item_2","type":"command_execution","command":"/bin/bash -lc 'ls; exit 3'","aggregated_output":"README.md\n","exit_code":3,"status":"failed"}}"#;
const CHANGE: &str = r#"{"type":"item.started","item":{"id":"item_3","type":"file_change","changes":[{"path":"/project/hello.txt","kind":"add"}],"status":"in_progress"}}"#;
const CHANGED: &str = r#"{"type":"item.completed","item":{"id":"item_3","type":"file_change","changes":[{"path":"/project/hello.txt","kind":"add"}],"status":"completed"}}"#;
const SAID: &str = r#"{"type":"item.completed","item":{"id":"item_4","type":"agent_message","text":"ok"}}"#;
const COMPLETED: &str = r#"{"type":"turn.completed","usage":{"input_tokens":22,"cached_input_tokens":0,"cache_write_input_tokens":0,"output_tokens":14,"reasoning_output_tokens":0}}"#;
const ERROR: &str = r#"{"type":"error","message":"unexpected status 401 Unauthorized: the key is not valid, url: http://127.0.0.1:1/v1/responses"}"#;
const FAILED: &str = r#"{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized: the key is not valid, url: http://127.0.0.1:1/v1/responses"}}"#;
const REJECTED: &str = r#"2026-11-16T08:42:41.224327Z ERROR codex_core::tools::router: error=exec_command failed: CreateProcess { message: "Rejected(\"`/bin/bash -lc 'rm -f x'` rejected: rm -f style commands are not permitted. Use a safer approach\")" }"#;

fn read(lines: &[&str]) -> (Codex, Vec<Event>) {
    let mut reader = Codex::default();
    let events = lines.iter().flat_map(|line| reader.read(line)).collect();
    (reader, events)
}

#[test]
fn a_run_with_a_command_and_a_patch() {
    let (mut reader, events) =
        read(&[STARTED, TURN, LOOKING, COMMAND, COMMAND_FAILED, CHANGE, CHANGED, SAID, COMPLETED]);
    let usage = Usage { input_tokens: Some(22), output_tokens: Some(14), cost_usd: None, turns: None };
    let id = "01a1e383-0708-7e52-8b3d-a258db85ae8c".to_owned();
    let expected = [
        Event::SessionStarted { harness_session_id: id.clone(), model: None },
        Event::Message { text: "let me look".into() },
        Event::ToolStarted {
            id: "item_2".into(),
            name: "command_execution".into(),
            subject: Some("ls; exit 3".into()),
        },
        Event::ToolFinished {
            id: "item_2".into(),
            name: "command_execution".into(),
            ok: false,
            output: Some("README.md\n".into()),
            seconds: None,
        },
        Event::ToolStarted {
            id: "item_3".into(),
            name: "file_change".into(),
            subject: Some("/project/hello.txt".into()),
        },
        Event::ToolFinished {
            id: "item_3".into(),
            name: "file_change".into(),
            ok: true,
            output: None,
            seconds: None,
        },
        Event::Message { text: "ok".into() },
        Event::Usage(usage.clone()),
    ];
    assert_eq!(events, expected);
    let expected = Conclusion {
        ok: true,
        result: Some("ok".into()),
        usage,
        session_id: Some(id),
        ..Conclusion::default()
    };
    assert_eq!(reader.conclude(true), expected);
}

#[test]
fn a_complaint_about_the_model_is_a_warning_and_no_failure() {
    let (mut reader, events) = read(&[STARTED, UNKNOWN_MODEL, TURN, SAID, COMPLETED]);
    assert!(matches!(&events[1], Event::Error { message } if message.starts_with("Model metadata")));
    let conclusion = reader.conclude(true);
    assert!(conclusion.ok);
    assert!(conclusion.warnings[0].message.starts_with("codex: Model metadata for `scripted` not found"));
}

#[test]
fn a_refused_key_is_said_once_and_fails_the_run() {
    let (mut reader, events) = read(&[STARTED, TURN, ERROR, FAILED]);
    assert_eq!(events.len(), 2, "{events:#?}");
    for clean_exit in [false, true] {
        let conclusion = reader.conclude(clean_exit);
        assert!(!conclusion.ok);
        assert!(conclusion.reason.unwrap().starts_with("unexpected status 401 Unauthorized: the key"));
    }
}

#[test]
fn a_turn_that_did_not_complete_is_a_failure_with_exit_0() {
    let (mut reader, _) = read(&[STARTED, TURN, SAID]);
    let conclusion = reader.conclude(true);
    assert_eq!((conclusion.ok, conclusion.result.as_deref()), (false, Some("ok")));
    assert_eq!(conclusion.reason.as_deref(), Some("codex ended without completing its turn"));
}

#[test]
fn a_completed_turn_of_a_process_that_failed_is_a_failure() {
    let (mut reader, _) = read(&[STARTED, TURN, SAID, COMPLETED]);
    let conclusion = reader.conclude(false);
    let reason = "codex completed its turn, but did not exit cleanly";
    assert_eq!((conclusion.ok, conclusion.reason.as_deref()), (false, Some(reason)));
}

#[test]
fn an_error_that_was_got_over_is_no_failure() {
    let retry = r#"{"type":"error","message":"Reconnecting... 1/5"}"#;
    let (mut reader, _) = read(&[STARTED, TURN, retry, SAID, COMPLETED]);
    assert!(reader.conclude(true).ok);
}

#[test]
fn a_thread_that_cannot_be_resumed_is_explained_by_stderr() {
    let mut reader = Codex::default();
    reader.read_stderr("Error: thread/resume failed: no rollout found for thread id 01a1 (code -32600)");
    let reason = "codex ended without completing its turn: Error: thread/resume failed: no rollout found for thread id \
                  01a1 (code -32600)";
    assert_eq!(reader.conclude(false).reason.as_deref(), Some(reason));
}

#[test]
fn a_rejected_command_is_a_denial() {
    let (mut reader, _) = read(&[STARTED, TURN, SAID, COMPLETED]);
    reader.read_stderr(REJECTED);
    reader.read_stderr(REJECTED);
    let declined = COMMAND_FAILED.replace("failed", "declined");
    reader.read(&declined);
    let conclusion = reader.conclude(true);
    assert_eq!(conclusion.denials, ["command_execution(rm -f x)", "command_execution(ls; exit 3)"]);
}

#[test]
fn tools_of_servers_are_named_as_elsewhere() {
    let line = r#"{"type":"item.started","item":{"id":"item_1","type":"mcp_tool_call","server":"notes","tool":"add","arguments":{"path":"a"},"status":"in_progress"}}"#;
    let (_, events) = read(&[line]);
    let expected =
        Event::ToolStarted { id: "item_1".into(), name: "mcp__notes__add".into(), subject: Some("a".into()) };
    assert_eq!(events, [expected]);
}
