//! Lines as claude 2.1.197 printed them against a scripted model, without what no one reads.

use super::*;
use crate::model::warning::WarningCode;
use pretty_assertions::assert_eq;
use serde_json::json;
use std::path::Path;

const INIT: &str = r#"{"type":"system","subtype":"init","cwd":"/project","session_id":"28209146-a5c3-456e-bae8-ce81d95b2d3c","tools":["Bash","Write"],"mcp_servers":[],"model":"claude-opus-4-8[1m]","permissionMode":"acceptEdits","apiKeySource":"none","claude_code_version":"2.1.197","plugins":[]}"#;
const WRITE: &str = r#"{"type":"assistant","message":{"id":"msg_2","type":"message","role":"assistant","model":"claude-opus-4-8","content":[{"type":"tool_use","id":"toolu_2_0","name":"Write","input":{"file_path":"/project/hello.txt","content":"hi\n"}}],"stop_reason":null,"usage":{"input_tokens":11,"output_tokens":1}},"parent_tool_use_id":null,"session_id":"28209146-a5c3-456e-bae8-ce81d95b2d3c"}"#;
const WRITTEN: &str = r#"{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_2_0","type":"tool_result","content":"File created successfully"}]},"parent_tool_use_id":null,"session_id":"28209146-a5c3-456e-bae8-ce81d95b2d3c","tool_use_result":{"type":"create"}}"#;
const SAID: &str = r#"{"type":"assistant","message":{"id":"msg_3","type":"message","role":"assistant","model":"claude-opus-4-8","content":[{"type":"text","text":"all done"}],"stop_reason":null,"usage":{"input_tokens":11,"output_tokens":1}},"parent_tool_use_id":null,"session_id":"28209146-a5c3-456e-bae8-ce81d95b2d3c"}"#;
const RESULT: &str = r#"{"type":"result","subtype":"success","is_error":false,"api_error_status":null,"duration_ms":138,"num_turns":2,"result":"all done","stop_reason":"end_turn","session_id":"28209146-a5c3-456e-bae8-ce81d95b2d3c","total_cost_usd":0.00046,"usage":{"input_tokens":22,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":14},"modelUsage":{"claude-opus-4-8[1m]":{"inputTokens":22,"outputTokens":14,"cacheReadInputTokens":0,"cacheCreationInputTokens":0,"costUSD":0.00046}},"permission_denials":[],"terminal_reason":"completed"}"#;
const REFUSED: [&str; 3] = [
    r#"{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"retry_delay_ms":500.2,"error_status":401,"error":"authentication_failed","session_id":"s"}"#,
    r#"{"type":"assistant","message":{"id":"192f23bb","model":"<synthetic>","role":"assistant","type":"message","usage":{"input_tokens":0,"output_tokens":0},"content":[{"type":"text","text":"Failed to authenticate. API Error: 401 the key is not valid"}]},"parent_tool_use_id":null,"session_id":"s","error":"authentication_failed"}"#,
    r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":401,"num_turns":1,"result":"Failed to authenticate. API Error: 401 the key is not valid","session_id":"s","total_cost_usd":0,"usage":{"input_tokens":0,"output_tokens":0},"modelUsage":{},"permission_denials":[],"terminal_reason":"completed"}"#,
];
const MAX_TURNS: &str = r#"{"type":"result","subtype":"error_max_turns","is_error":true,"num_turns":2,"stop_reason":"tool_use","session_id":"s","total_cost_usd":0.00023,"usage":{"input_tokens":11,"output_tokens":7},"modelUsage":{"claude-opus-4-8[1m]":{"inputTokens":11,"outputTokens":7}},"permission_denials":[],"terminal_reason":"max_turns","errors":["Reached maximum number of turns (1)"]}"#;
const MAX_BUDGET: &str = r#"{"type":"result","subtype":"error_max_budget_usd","is_error":true,"num_turns":1,"stop_reason":"end_turn","session_id":"s","total_cost_usd":0.00023,"usage":{"input_tokens":0,"output_tokens":0},"modelUsage":{"claude-opus-4-8[1m]":{"inputTokens":11,"outputTokens":7}},"permission_denials":[],"errors":["Reached maximum budget ($1e-7)"]}"#;
const INTERRUPTED: &str = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":2,"stop_reason":null,"session_id":"s","total_cost_usd":0,"usage":{"input_tokens":0,"output_tokens":0},"modelUsage":{},"permission_denials":[],"terminal_reason":"aborted_streaming","errors":["[ede_diagnostic] result_type=user last_content_type=n/a stop_reason=null"]}"#;

fn read(lines: &[&str]) -> (Claude, Vec<Event>) {
    let mut reader = Claude::default();
    let events = lines.iter().flat_map(|line| reader.read(line)).collect();
    (reader, events)
}

fn usage(input: u64, output: u64, cost_usd: Option<f64>, turns: u64) -> Usage {
    Usage { input_tokens: Some(input), output_tokens: Some(output), cost_usd, turns: Some(turns) }
}

#[test]
fn a_run_that_writes_a_file() {
    let (mut reader, events) = read(&[INIT, WRITE, WRITTEN, SAID, RESULT]);
    let model = Some("claude-opus-4-8[1m]".to_owned());
    let id = "28209146-a5c3-456e-bae8-ce81d95b2d3c".to_owned();
    let expected = [
        Event::SessionStarted { harness_session_id: id.clone(), model: model.clone() },
        Event::ToolStarted {
            id: "toolu_2_0".into(),
            name: "Write".into(),
            subject: Some("/project/hello.txt".into()),
        },
        Event::Usage(usage(11, 1, None, 1)),
        Event::ToolFinished {
            id: "toolu_2_0".into(),
            name: "Write".into(),
            ok: true,
            output: Some("File created successfully".into()),
            seconds: None,
        },
        Event::Message { text: "all done".into() },
        Event::Usage(usage(22, 2, None, 2)),
        Event::Usage(usage(22, 14, Some(0.00046), 2)),
    ];
    assert_eq!(events, expected);
    let expected = Conclusion {
        ok: true,
        result: Some("all done".into()),
        usage: usage(22, 14, Some(0.00046), 2),
        session_id: Some(id),
        model,
        ..Conclusion::default()
    };
    assert_eq!(reader.conclude(true), expected);
}

#[test]
fn success_of_a_process_that_failed_is_no_success() {
    let (mut reader, _) = read(&[INIT, SAID, RESULT]);
    let conclusion = reader.conclude(false);
    assert_eq!((conclusion.ok, conclusion.result.as_deref()), (false, Some("all done")));
    assert_eq!(conclusion.reason.as_deref(), Some("claude returned a result, but did not exit cleanly"));
}

#[test]
fn a_refused_login_calls_itself_a_success_and_is_none() {
    let (mut reader, events) = read(&REFUSED);
    let message = "the model answered 401 (authentication failed); claude retries, 1 of 10";
    assert_eq!(events[0], Event::Error { message: message.into() });
    let message = "Failed to authenticate. API Error: 401 the key is not valid";
    assert_eq!(events[1], Event::Error { message: message.into() });
    let conclusion = reader.conclude(true);
    assert_eq!((conclusion.ok, conclusion.result, conclusion.reason), (false, None, Some(message.into())));
}

#[test]
fn limits_say_which_was_reached_and_keep_what_was_said() {
    for (line, reason) in
        [(MAX_TURNS, "Reached maximum number of turns (1)"), (MAX_BUDGET, "Reached maximum budget ($1e-7)")]
    {
        let (mut reader, _) = read(&[INIT, SAID, line]);
        let conclusion = reader.conclude(false);
        assert_eq!((conclusion.ok, conclusion.reason.as_deref()), (false, Some(reason)));
        assert_eq!(conclusion.result.as_deref(), Some("all done"));
        assert_eq!((conclusion.usage.input_tokens, conclusion.usage.output_tokens), (Some(11), Some(7)));
    }
}

#[test]
fn an_interrupt_is_no_success_though_the_exit_code_says_so() {
    let (mut reader, _) = read(&[INIT, SAID, INTERRUPTED]);
    let conclusion = reader.conclude(true);
    assert_eq!((conclusion.ok, conclusion.reason.as_deref()), (false, Some("claude was interrupted")));
}

#[test]
fn an_end_without_a_result_keeps_what_was_counted() {
    let (mut reader, _) = read(&[INIT, WRITE, WRITTEN, SAID]);
    let conclusion = reader.conclude(true);
    assert_eq!((conclusion.ok, conclusion.usage), (false, usage(22, 2, None, 2)));
    assert_eq!(conclusion.reason.as_deref(), Some("claude ended without a result"));
}

#[test]
fn a_result_that_does_not_say_whether_it_is_an_error_is_one() {
    let (mut reader, _) = read(&[r#"{"type":"result","subtype":"success","result":"fine"}"#]);
    assert!(!reader.conclude(true).ok);
}

#[test]
fn denied_tools_are_named() {
    let denied = r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":"Claude requested permissions to write, but you haven't granted it yet.","is_error":true,"tool_use_id":"toolu_2_0"}]},"parent_tool_use_id":null,"session_id":"s"}"#;
    let mut result: Value = serde_json::from_str(RESULT).unwrap();
    let write = json!({"tool_name": "Write", "tool_use_id": "toolu_2_0", "tool_input": {"file_path": "/project/hello.txt"}});
    result["permission_denials"] =
        json!([write, write, {"tool_name": "Bash", "tool_input": {"command": "ls /x"}}]);
    let (mut reader, events) = read(&[WRITE, denied, &result.to_string()]);
    assert!(
        matches!(&events[2], Event::ToolFinished { id, ok: false, .. } if id == "toolu_2_0"),
        "{events:#?}"
    );
    let conclusion = reader.conclude(true);
    assert!(conclusion.ok);
    assert_eq!(conclusion.denials, ["Write(/project/hello.txt)", "Bash(ls /x)"]);
    assert_eq!(conclusion.denied_edits, [Path::new("/project/hello.txt")]);
}

#[test]
fn what_could_not_be_loaded_is_a_warning() {
    let mut init: Value = serde_json::from_str(INIT).unwrap();
    init["plugin_errors"] = json!([{"plugin": "inline[0]", "type": "path-not-found", "message": "Path not found: /p (commands)"}]);
    init["mcp_servers"] =
        json!([{"name": "good", "status": "connected"}, {"name": "bad", "status": "failed"}]);
    let (mut reader, _) = read(&[&init.to_string(), SAID, RESULT]);
    reader.read_stderr("Warning: Unknown --effort value 'bogus' — ignoring it");
    let expected = [
        "claude plugin: Path not found: /p (commands)",
        "MCP server `bad`: failed",
        "claude: Unknown --effort value 'bogus' — ignoring it",
    ]
    .map(|message| Warning::new(WarningCode::Harness, message));
    assert_eq!(reader.conclude(true).warnings, expected);
}

#[test]
fn a_subagent_works_and_does_not_speak_for_the_agent() {
    let theirs =
        |line: &str| line.replace(r#""parent_tool_use_id":null"#, r#""parent_tool_use_id":"toolu_1""#);
    let (mut reader, events) = read(&[&theirs(WRITE), &theirs(WRITTEN), &theirs(SAID)]);
    let kinds: Vec<bool> =
        events.iter().map(|event| matches!(event, Event::Message { .. })).filter(|said| *said).collect();
    assert_eq!((kinds.len(), events.len()), (0, 4), "{events:#?}");
    assert_eq!(reader.conclude(true).result, None);
}

#[test]
fn of_several_results_the_last_one_counts() {
    let (mut reader, _) = read(&[INIT, SAID, RESULT, MAX_TURNS]);
    assert!(!reader.conclude(true).ok);
    let (mut reader, _) = read(&[INIT, SAID, MAX_TURNS, RESULT]);
    assert!(reader.conclude(true).ok);
}
