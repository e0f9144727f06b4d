//! The note that our plugin writes in a terminal: one line with what all messages so far have used.

use crate::harness::events::{text, value_of};
use crate::harness::records::{RecordReader, RecordedRun};
use crate::model::report::Usage;

#[derive(Default)]
pub struct Recorded {
    run: RecordedRun,
}

impl RecordReader for Recorded {
    fn read(&mut self, line: &str) {
        let Ok(value) = value_of(line) else { return };
        self.run = RecordedRun {
            usage: Usage {
                input_tokens: value["input"].as_u64(),
                output_tokens: value["output"].as_u64(),
                cost_usd: value["cost"].as_f64().filter(|cost| *cost >= 0.0),
                turns: None,
            },
            model: text(&value["model"]).map(str::to_owned),
            task: text(&value["task"]).map(str::to_owned),
        };
    }

    fn recorded(&mut self) -> RecordedRun {
        self.run.clone()
    }
}
