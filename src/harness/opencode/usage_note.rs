//! The note that our plugin (`conversation_note.js`) writes in a terminal: what all messages so far have used. They
//! themselves are in a database that only opencode reads.

use crate::harness::events::text;
use crate::harness::records::{RecordedRun, UsageNote};
use crate::model::report::Usage;
use serde_json::Value;

pub const USAGE_NOTE: UsageNote = UsageNote { file: "tmp/usage", read };

fn read(note: &Value) -> RecordedRun {
    RecordedRun {
        usage: Usage {
            input_tokens: note["input"].as_u64(),
            output_tokens: note["output"].as_u64(),
            cost_usd: note["cost"].as_f64().filter(|cost| *cost >= 0.0),
            turns: None,
        },
        model: text(&note["model"]).map(str::to_owned),
        task: text(&note["task"]).map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_note_says_what_was_used_and_asked() {
        let note = json!({"input": 30, "output": 5, "cost": 0.5, "model": "m", "task": "fix it"});
        let usage =
            Usage { input_tokens: Some(30), output_tokens: Some(5), cost_usd: Some(0.5), turns: None };
        assert_eq!(read(&note), RecordedRun { usage, model: Some("m".into()), task: Some("fix it".into()) });
        let note = json!({"input": -1, "output": "many", "cost": -1, "model": "", "task": 3});
        assert_eq!(read(&note), RecordedRun::default());
    }
}
