//! Lines as opencode 1.18.33 printed them against a scripted model, without what no one reads.

use super::*;
use crate::model::warning::WarningCode;
use pretty_assertions::assert_eq;
use serde_json::json;
use std::path::Path;

const START: &str = r#"{"type":"step_start","timestamp":1794818376671,"sessionID":"ses_1","part":{"id":"prt_1","messageID":"msg_1","sessionID":"ses_1","snapshot":"619c","type":"step-start"}}"#;
const WILL: &str = r#"{"type":"text","timestamp":1794818376671,"sessionID":"ses_1","part":{"id":"prt_2","messageID":"msg_1","sessionID":"ses_1","type":"text","text":"I will write.","time":{"start":1,"end":2}}}"#;
const WRITE: &str = r#"{"type":"tool_use","timestamp":1794818376695,"sessionID":"ses_1","part":{"type":"tool","tool":"write","callID":"call_2_1","state":{"status":"completed","input":{"filePath":"hello.txt","content":"hi\n"},"output":"Wrote file successfully.","metadata":{"filepath":"/project/hello.txt","exists":false,"truncated":false},"title":"hello.txt","time":{"start":1,"end":2}},"id":"prt_3","sessionID":"ses_1","messageID":"msg_1"}}"#;
const STEP: &str = r#"{"type":"step_finish","timestamp":1794818376765,"sessionID":"ses_1","part":{"id":"prt_4","reason":"tool-calls","messageID":"msg_1","sessionID":"ses_1","type":"step-finish","tokens":{"total":18,"input":11,"output":7,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0.5}}"#;
const DONE: &str = r#"{"type":"text","timestamp":1794818376907,"sessionID":"ses_1","part":{"id":"prt_6","messageID":"msg_2","sessionID":"ses_1","type":"text","text":"all done","time":{"start":1,"end":2}}}"#;
const LAST: &str = r#"{"type":"step_finish","timestamp":1794818376961,"sessionID":"ses_1","part":{"id":"prt_7","reason":"stop","messageID":"msg_2","sessionID":"ses_1","type":"step-finish","tokens":{"total":21,"input":8,"output":7,"reasoning":3,"cache":{"write":1,"read":2}},"cost":0.25}}"#;
const FAILED_COMMAND: &str = r#"{"type":"tool_use","timestamp":1,"sessionID":"ses_1","part":{"type":"tool","tool":"bash","callID":"call_2_0","state":{"status":"completed","input":{"command":"ls /x","description":"look"},"output":"ls: cannot access '/x'\n","metadata":{"exit":2,"truncated":false},"title":"ls /x"},"messageID":"msg_1"}}"#;
const REJECTED: &str = r#"{"type":"tool_use","timestamp":1,"sessionID":"ses_1","part":{"type":"tool","tool":"bash","callID":"call_2_0","state":{"status":"error","input":{"command":"ls","description":"x"},"error":"The user rejected permission to use this specific tool call.","time":{"start":1,"end":2}},"messageID":"msg_1"}}"#;
const BY_RULE: &str = r#"{"type":"tool_use","timestamp":1,"sessionID":"ses_1","part":{"type":"tool","tool":"bash","callID":"call_2_0","state":{"status":"error","input":{"command":"ls","description":"x"},"error":"The user has specified a rule which prevents you from using this specific tool call. Here are some of the relevant rules []","time":{"start":1,"end":2}},"messageID":"msg_1"}}"#;
const ERROR: &str = r#"{"type":"error","timestamp":1,"sessionID":"ses_1","error":{"name":"APIError","data":{"message":"the key is not valid","statusCode":401,"isRetryable":false,"responseBody":"{}"}}}"#;
const UNKNOWN_MODEL: &str = r#"{"type":"error","timestamp":1,"sessionID":"ses_1","error":{"name":"UnknownError","data":{"message":"Unexpected server error. Check server logs for details.","ref":"err_f2da1d6b"}}}"#;

fn warning(message: &str) -> Warning {
    Warning::new(WarningCode::Harness, message)
}

fn read(lines: &[&str]) -> (Opencode, Vec<Event>) {
    let mut reader = Opencode::new("reviewer");
    let events = lines.iter().flat_map(|line| reader.read(line)).collect();
    (reader, events)
}

#[test]
fn a_run_that_writes_a_file() {
    let (mut reader, events) = read(&[START, WILL, WRITE, STEP, START, DONE, LAST]);
    let usage = |input: u64, output: u64, cost: f64, turns: u64| Usage {
        input_tokens: Some(input),
        output_tokens: Some(output),
        cost_usd: Some(cost),
        turns: Some(turns),
    };
    let expected = [
        Event::SessionStarted { harness_session_id: "ses_1".into(), model: None },
        Event::Message { text: "I will write.".into() },
        Event::ToolStarted { id: "call_2_1".into(), name: "write".into(), subject: Some("hello.txt".into()) },
        Event::ToolFinished {
            id: "call_2_1".into(),
            name: "write".into(),
            ok: true,
            output: Some("Wrote file successfully.".into()),
            seconds: Some(0.001),
        },
        Event::Usage(usage(11, 7, 0.5, 1)),
        Event::Message { text: "all done".into() },
        Event::Usage(usage(22, 17, 0.75, 2)),
    ];
    assert_eq!(events, expected);
    let expected = Conclusion {
        ok: true,
        result: Some("all done".into()),
        usage: usage(22, 17, 0.75, 2),
        session_id: Some("ses_1".into()),
        ..Conclusion::default()
    };
    assert_eq!(reader.conclude(true), expected);
}

#[test]
fn a_text_before_the_last_call_is_not_the_final_one() {
    let (mut reader, _) = read(&[START, WILL, WRITE, STEP]);
    let conclusion = reader.conclude(true);
    assert_eq!((conclusion.ok, conclusion.result.as_deref()), (false, Some("I will write.")));
    assert_eq!(conclusion.reason.as_deref(), Some("opencode ended without a final text"));
}

#[test]
fn a_question_that_nobody_answers_ends_the_run_and_is_a_denial() {
    let (mut reader, events) = read(&[START, WILL, REJECTED, STEP]);
    assert!(matches!(&events[3], Event::ToolFinished { ok: false, .. }), "{events:#?}");
    reader.read_stderr("\u{1b}[93m\u{1b}[1m! \u{1b}[0mpermission requested: bash (ls); auto-rejecting");
    let conclusion = reader.conclude(true);
    assert_eq!((conclusion.ok, conclusion.denials), (false, vec!["bash(ls)".to_owned()]));
    let reason = "opencode ended the run because it was not allowed: bash(ls)";
    assert_eq!(conclusion.reason.as_deref(), Some(reason));
    assert_eq!(conclusion.warnings, [warning("opencode: permission requested: bash (ls); auto-rejecting")]);
}

#[test]
fn a_call_against_a_rule_is_a_denial_and_the_run_goes_on() {
    let (mut reader, _) = read(&[START, BY_RULE, STEP, START, DONE, LAST]);
    let conclusion = reader.conclude(true);
    assert_eq!((conclusion.ok, conclusion.denials), (true, vec!["bash(ls)".to_owned()]));
}

#[test]
fn an_edit_without_a_tool_for_it_is_a_denied_edit() {
    let call = |tools: &str| {
        json!({"type": "tool_use", "sessionID": "s", "part": {"tool": "write", "callID": "c", "state": {
            "status": "error", "input": {"filePath": "/project/made.txt", "content": "x"},
            "error": format!("Model tried to call unavailable tool 'invalid'. Available tools: {tools}."),
        }}})
        .to_string()
    };
    let denied = |tools: &str| {
        let (mut reader, _) = read(&[START, &call(tools), STEP, START, DONE, LAST]);
        reader.conclude(true).denied_edits
    };
    assert_eq!(denied("glob, grep, read"), [Path::new("/project/made.txt")]);
    assert_eq!(denied("glob, edit, read"), <[&Path; 0]>::default(), "it can edit in another way");
}

#[test]
fn another_agent_than_ours_is_a_failure_though_everything_looks_well() {
    let (mut reader, _) = read(&[START, DONE, LAST]);
    reader.read_stderr(
        "\u{1b}[93m\u{1b}[1m! \u{1b}[0m agent \"reviewer\" not found. Falling back to default agent",
    );
    let conclusion = reader.conclude(true);
    let said = "agent \"reviewer\" not found. Falling back to default agent";
    assert!(!conclusion.ok);
    assert_eq!(conclusion.reason.unwrap(), format!("opencode did not run the agent `reviewer`: {said}"));
    assert_eq!(conclusion.warnings, [warning(&format!("opencode: {said}"))]);
}

#[test]
fn errors_fail_the_run_with_any_exit_code() {
    for (line, reason) in [
        (ERROR, "the model answered 401: the key is not valid"),
        (UNKNOWN_MODEL, "Unexpected server error. Check server logs for details."),
    ] {
        for clean_exit in [true, false] {
            let (mut reader, events) = read(&[START, DONE, line]);
            assert_eq!(events[2], Event::Error { message: reason.into() });
            let conclusion = reader.conclude(clean_exit);
            assert_eq!((conclusion.ok, conclusion.reason.as_deref()), (false, Some(reason)));
        }
    }
}

#[test]
fn a_failed_command_is_a_tool_that_did_not_do_well() {
    let (_, events) = read(&[FAILED_COMMAND]);
    assert_eq!(
        events[1..],
        [
            Event::ToolStarted { id: "call_2_0".into(), name: "bash".into(), subject: Some("ls /x".into()) },
            Event::ToolFinished {
                id: "call_2_0".into(),
                name: "bash".into(),
                ok: false,
                output: Some("ls: cannot access '/x'\n".into()),
                seconds: None,
            },
        ]
    );
}

#[test]
fn an_answer_of_a_process_that_failed_is_a_failure() {
    let (mut reader, _) = read(&[START, DONE, LAST]);
    let conclusion = reader.conclude(false);
    let reason = "opencode answered, but did not exit cleanly";
    assert_eq!((conclusion.ok, conclusion.reason.as_deref()), (false, Some(reason)));
}

#[test]
fn an_answer_in_several_texts_is_one_result() {
    let more = DONE.replace("all done", "and more");
    let (mut reader, _) = read(&[START, WILL, STEP, START, DONE, &more, LAST]);
    assert_eq!(reader.conclude(true).result.as_deref(), Some("all done\nand more"));
}

#[test]
fn its_log_tells_the_model_and_the_agent() {
    let asks = |agent: &str, mode: &str| {
        format!(
            "timestamp=2026-11-16T09:06:55.355Z level=INFO run=b68dddf5 message=stream providerID=scratch \
             modelID=scripted session.id=ses_1 small=false agent={agent} mode={mode}"
        )
    };
    let (mut reader, _) = read(&[START, DONE, LAST]);
    for (agent, mode) in [("title", "primary"), ("reviewer", "primary"), ("general", "subagent")] {
        reader.read_stderr(&asks(agent, mode));
    }
    let conclusion = reader.conclude(true);
    assert_eq!((conclusion.ok, conclusion.model.as_deref()), (true, Some("scratch/scripted")));
    assert_eq!(conclusion.warnings, []);

    reader.read_stderr(&asks("build", "primary"));
    let reason = "opencode did not run the agent `reviewer`: it ran `build`";
    assert_eq!(reader.conclude(true).reason.as_deref(), Some(reason));
}

#[test]
fn its_log_explains_what_the_stream_does_not() {
    let logged = r#"timestamp=2026-11-16T09:07:10.711Z level=ERROR run=6e3c6080 message=failed ref=err_d949b421 error="ProviderModelNotFoundError: Model not found: scratch/nosuch." cause="ProviderModelNotFoundError: Model not found: scratch/nosuch.\n    at <anonymous>""#;
    for (line, reason) in [
        (UNKNOWN_MODEL, "Model not found: scratch/nosuch."),
        (ERROR, "the model answered 401: the key is not valid"),
    ] {
        let (mut reader, _) = read(&[line]);
        reader.read_stderr(logged);
        assert_eq!(reader.conclude(false).reason.as_deref(), Some(reason));
    }
}

#[test]
fn a_tool_at_work_is_known_by_the_log_or_else_presumed() {
    let mut reader = Opencode::new("reviewer");
    let seen = [START, WRITE, STEP, START, DONE, LAST].map(|line| {
        reader.read(line);
        reader.tool_may_run()
    });
    assert_eq!(seen, [true, true, false, true, true, false]);

    let allowed = r#"timestamp=2026-11-16T09:06:27.588Z level=INFO run=9b88d395 message=evaluated permission=bash pattern="sleep 4" action.permission=* action.action=allow action.pattern=*"#;
    let other = "timestamp=2026-11-16T09:06:26.993Z level=INFO run=9b88d395 message=init";
    let mut reader = Opencode::new("reviewer");
    reader.read_stderr(other);
    reader.read(START);
    assert!(!reader.tool_may_run(), "the model is still talking");
    reader.read_stderr(allowed);
    reader.read_stderr(other);
    assert!(reader.tool_may_run());
    reader.read(STEP);
    assert!(!reader.tool_may_run());
    reader.read(START);
    assert!(!reader.tool_may_run());
}
