//! A conversation as `opencode export <id>` prints it: opencode keeps them in a database.

use crate::harness::events::text;
use crate::harness::subject;
use crate::harness::transcript::Export;
use crate::model::event::{Event, RecordedEvent};
use serde_json::Value;

pub const EXPORT: Export = Export {
    args: &["export", "--pure"],
    database_variable: "OPENCODE_DB",
    own_database: "opencode.db",
    users_database: ("XDG_DATA_HOME", ".local/share", "opencode/opencode.db"),
    read,
};

fn read(conversation: &Value) -> Vec<RecordedEvent> {
    let messages = conversation["messages"].as_array().into_iter().flatten();
    messages.flat_map(message).collect()
}

fn message(message: &Value) -> Vec<RecordedEvent> {
    let time = |value: &Value| {
        let time = value.as_i64().and_then(|millis| jiff::Timestamp::from_millisecond(millis).ok());
        time.map(|time| time.to_string())
    };
    let created = time(&message["info"]["time"]["created"]);
    let is_users = message["info"]["role"] == "user";
    let mut events = Vec::new();
    for part in message["parts"].as_array().into_iter().flatten() {
        let at = time(&part["time"]["start"]).or_else(|| time(&part["state"]["time"]["start"]));
        let at = at.or_else(|| created.clone());
        let said = text(&part["text"]).filter(|_| part["synthetic"] != true).map(str::to_owned);
        let found: Vec<Event> = match part["type"].as_str() {
            Some("text") if is_users => said.map(|text| Event::Task { text }).into_iter().collect(),
            Some("text") => said.map(|text| Event::Message { text }).into_iter().collect(),
            Some("tool") => tool(part),
            _ => Vec::new(),
        };
        events.extend(found.into_iter().map(|event| RecordedEvent { at: at.clone(), event }));
    }
    let error = &message["info"]["error"];
    if let Some(message) = text(&error["data"]["message"]).or_else(|| text(&error["name"])) {
        events.push(RecordedEvent { at: created, event: Event::Error { message: message.to_owned() } });
    }
    events
}

fn tool(part: &Value) -> Vec<Event> {
    let id = part["callID"].as_str().unwrap_or_default().to_owned();
    let name = part["tool"].as_str().unwrap_or_default().to_owned();
    let state = &part["state"];
    let started = Event::ToolStarted {
        id: id.clone(),
        name: name.clone(),
        subject: subject::of_input(&state["input"]),
    };
    if !matches!(state["status"].as_str(), Some("completed" | "error")) {
        return vec![started];
    }
    let (ok, output, seconds) = super::events::tool_end(state);
    vec![started, Event::ToolFinished { id, name, ok, output, seconds }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    #[test]
    fn a_conversation_is_what_was_said_and_done() {
        let conversation = json!({"info": {"id": "ses_1"}, "messages": [
            {"info": {"role": "user", "time": {"created": 1_794_818_376_000_i64}}, "parts": [
                {"type": "text", "text": "make it"},
                {"type": "text", "text": "added by opencode", "synthetic": true}]},
            {"info": {"role": "assistant", "time": {"created": 1_794_818_377_000_i64}}, "parts": [
                {"type": "step-start"},
                {"type": "tool", "tool": "bash", "callID": "c1", "state": {"status": "completed", "input": {"command": "ls"},
                    "output": "a\n", "metadata": {"exit": 2}, "time": {"start": 1_794_818_378_000_i64, "end": 1_794_818_379_500_i64}}},
                {"type": "text", "text": "made"}]},
        ]});
        let recorded =
            |second: u8, event| RecordedEvent { at: Some(format!("2026-11-16T08:39:{second}Z")), event };
        let expected = [
            recorded(36, Event::Task { text: "make it".into() }),
            recorded(
                38,
                Event::ToolStarted { id: "c1".into(), name: "bash".into(), subject: Some("ls".into()) },
            ),
            recorded(
                38,
                Event::ToolFinished {
                    id: "c1".into(),
                    name: "bash".into(),
                    ok: false,
                    output: Some("a\n".into()),
                    seconds: Some(1.5),
                },
            ),
            recorded(37, Event::Message { text: "made".into() }),
        ];
        assert_eq!(read(&conversation), expected);
        assert_eq!(read(&json!("nothing")), []);
    }
}
