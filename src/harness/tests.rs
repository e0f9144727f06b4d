//! What every harness has to do, whichever it is.

use super::adapter;
use super::events::EventReader;
use crate::model::event::Event;
use crate::model::tier::Harness;
use pretty_assertions::assert_eq;
use serde_json::json;

fn reader(harness: Harness) -> Box<dyn EventReader> {
    (adapter(harness).reader)("agent")
}

#[test]
fn no_line_whatever_breaks_a_reader() {
    let deep = "[".repeat(100_000);
    let huge = json!({"type": "assistant", "message": {"content": "x".repeat(3_000_000)}}).to_string();
    let lines = [
        "not json",
        "{",
        "null",
        "42",
        "[]",
        "{}",
        "\u{feff}{}",
        r#"{"type":7}"#,
        r#"{"type":"assistant"}"#,
        r#"{"type":"assistant","message":{"content":[1,{"type":"tool_use"},{"type":"text","text":null}]}}"#,
        r#"{"type":"user","message":{"content":[{"type":"tool_result"}]}}"#,
        r#"{"type":"result"}"#,
        r#"{"type":"system","subtype":"init","plugin_errors":"x","mcp_servers":{}}"#,
        r#"{"type":"item.completed"}"#,
        r#"{"type":"item.started","item":{"type":"command_execution"}}"#,
        r#"{"type":"turn.failed"}"#,
        r#"{"type":"text"}"#,
        r#"{"type":"tool_use","part":{"state":[]}}"#,
        r#"{"type":"error"}"#,
        &deep,
        &huge,
    ];
    for harness in Harness::ALL {
        let mut reader = reader(harness);
        for line in lines {
            reader.read(line);
            reader.read_stderr(line);
        }
        assert!(!reader.conclude(true).ok, "{harness}");
    }
}

#[test]
fn what_has_no_meaning_passes_through_as_it_is() {
    for harness in Harness::ALL {
        let mut reader = reader(harness);
        assert_eq!(reader.read("  \n"), []);
        assert_eq!(reader.read("hello \u{1b}[1m\n"), [Event::Raw { value: json!("hello \u{1b}[1m") }]);
        let value = json!({"type": "never.seen", "b": [1, {"a": null}]});
        assert_eq!(reader.read(&value.to_string()), [Event::Raw { value }]);
    }
}

#[test]
fn a_silent_harness_has_failed_whatever_its_exit_code() {
    for harness in Harness::ALL {
        for clean_exit in [true, false] {
            let conclusion = reader(harness).conclude(clean_exit);
            assert!(!conclusion.ok, "{harness}");
            let reason = conclusion.reason.expect("a reason");
            assert!(reason.contains(harness.name()), "{reason}");
        }
    }
}

#[test]
fn a_harness_that_only_complains_is_quoted() {
    for harness in Harness::ALL {
        let mut reader = reader(harness);
        reader.read_stderr("\u{1b}[91m\u{1b}[1mError: \u{1b}[0mSession not found");
        reader.read_stderr("");
        let reason = reader.conclude(false).reason.expect("a reason");
        assert!(reason.ends_with("Error: Session not found"), "{reason}");
    }
}
