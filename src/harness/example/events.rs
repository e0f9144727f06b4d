//! `example-agent --json`: `{"session":id}` first, `{"text":..}` as it works, `{"done":true}` at the end.

use crate::harness::events::{Conclusion, EventReader, text, value_of};
use crate::harness::stderr_summary::StderrSummary;
use crate::model::event::Event;

#[derive(Default)]
pub struct Example {
    session_id: Option<String>,
    last_text: Option<String>,
    done: bool,
    stderr: StderrSummary,
}

impl EventReader for Example {
    fn read(&mut self, line: &str) -> Vec<Event> {
        let value = match value_of(line) {
            Ok(value) => value,
            Err(event) => return event.into_iter().collect(),
        };
        if let Some(id) = text(&value["session"]) {
            self.session_id = Some(id.to_owned());
            return vec![Event::SessionStarted { harness_session_id: id.to_owned(), model: None }];
        }
        if let Some(said) = text(&value["text"]) {
            self.last_text = Some(said.to_owned());
            return vec![Event::Message { text: said.to_owned() }];
        }
        if value["done"] == true {
            self.done = true;
            return Vec::new();
        }
        vec![Event::Raw { value }]
    }

    fn read_stderr(&mut self, line: &str) {
        self.stderr.keep(line);
    }

    fn conclude(&mut self, clean_exit: bool) -> Conclusion {
        let ok = self.done && clean_exit;
        Conclusion {
            ok,
            result: self.last_text.clone(),
            reason: (!ok).then(|| self.stderr.explain("example ended before it was done")),
            session_id: self.session_id.clone(),
            ..Conclusion::default()
        }
    }
}
