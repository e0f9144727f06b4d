//! Shows a piece of work as it happens: the runs as ever, and attempts, commands and verdicts between them.

use super::observe::RunObserver;
use crate::model::amounts;
use crate::model::printable::printable;
use crate::model::verdict::{AttemptStrategy, Check};
use crate::run::observer::Live;
use crate::run::{Observer, RunEvent};
use crate::work::cycle::request::{WorkEvent, WorkObserver};
use crate::work::evidence::{CommandEnd, View};
use serde_json::{Value, json};

/// How a piece of work is shown.
pub struct WorkObserverOf<'a> {
    runs: RunObserver<'a>,
    /// Whether events are printed as JSON lines.
    stream: bool,
    /// Whether anything is said at all.
    speaks: bool,
}

impl<'a> WorkObserverOf<'a> {
    pub fn new(runs: RunObserver<'a>, stream: bool, speaks: bool) -> WorkObserverOf<'a> {
        WorkObserverOf { runs, stream, speaks }
    }

    fn say(&mut self, text: &str) {
        if self.speaks {
            self.runs.say(&printable(text));
        }
    }
}

impl Observer for WorkObserverOf<'_> {
    fn event(&mut self, event: &RunEvent<'_>) {
        self.runs.event(event);
    }

    fn tick(&mut self, live: &Live<'_>) {
        self.runs.tick(live);
    }
}

impl WorkObserver for WorkObserverOf<'_> {
    fn work(&mut self, event: &WorkEvent<'_>) {
        if self.stream {
            self.runs.json_line(&value_of(event).to_string());
        }
        match event {
            WorkEvent::AttemptStarted { number, of, strategy, subtask } => {
                let how = match strategy {
                    AttemptStrategy::First => "",
                    AttemptStrategy::Retry => ": retry, in the same conversation",
                    AttemptStrategy::Rephrase => ": in a new conversation",
                    AttemptStrategy::ReportOnly => ": only the report",
                    AttemptStrategy::Subtask => ": a part of the task",
                };
                let part = subtask.map_or_else(String::new, |id| format!(" ({id})"));
                self.say(&format!("attempt {number} of {of}{part}{how}"));
            }
            WorkEvent::CommandEnded { command, execution } => {
                let end = match &execution.end {
                    CommandEnd::Exited(0) => "passed".to_owned(),
                    CommandEnd::Exited(code) => format!("exit {code}"),
                    CommandEnd::Signalled(signal) => format!("signal {signal}"),
                    CommandEnd::TimedOut => "timed out".to_owned(),
                    CommandEnd::Unknown(why) => why.clone(),
                };
                let took = amounts::seconds(execution.seconds);
                self.say(&format!("  {} {}: {end} ({took})", view(execution.on), command.name()));
            }
            WorkEvent::Measured { number, checks, .. } => {
                let failed: Vec<&Check> = checks.iter().filter(|check| check.blocks()).collect();
                match failed.as_slice() {
                    [] => self.say(&format!("attempt {number}: nothing in the way")),
                    some => {
                        let names: Vec<String> = some
                            .iter()
                            .take(5)
                            .map(|check| format!("{}: {}", check.id, check.observed))
                            .collect();
                        self.say(&format!("attempt {number} refused: {}", names.join("; ")));
                    }
                }
            }
            WorkEvent::Asking { role, persona } => self.say(&format!("asking {persona} ({role})")),
            WorkEvent::Note(text) => self.say(text),
        }
    }
}

fn view(view: View) -> &'static str {
    match view {
        View::Base => "before:",
        View::Result => "result:",
        View::ResultAgain => "again:",
        View::OldTests => "old tests:",
        View::OnlyTests => "only tests:",
        View::WithIgnored => "with ignored:",
    }
}

fn value_of(event: &WorkEvent<'_>) -> Value {
    match event {
        WorkEvent::AttemptStarted { number, of, strategy, subtask } => {
            json!({"type": "work.attempt", "number": number, "of": of, "strategy": strategy, "subtask": subtask})
        }
        WorkEvent::CommandEnded { command, execution } => {
            let (exit, why) = match &execution.end {
                CommandEnd::Exited(code) => (Some(*code), None),
                CommandEnd::Signalled(signal) => (Some(128 + signal), None),
                CommandEnd::TimedOut => (Some(124), Some("timed out".to_owned())),
                CommandEnd::Unknown(why) => (None, Some(why.clone())),
            };
            json!({
                "type": "work.command", "command": command.command, "on": view_name(execution.on),
                "exitCode": exit, "reason": why, "seconds": execution.seconds,
            })
        }
        WorkEvent::Measured { number, checks, signal } => {
            json!({"type": "work.measured", "number": number, "checks": checks, "signal": signal})
        }
        WorkEvent::Asking { role, persona } => {
            json!({"type": "work.asking", "role": role, "persona": persona})
        }
        WorkEvent::Note(text) => json!({"type": "work.note", "text": text}),
    }
}

fn view_name(view: View) -> &'static str {
    match view {
        View::Base => "base",
        View::Result => "result",
        View::ResultAgain => "result-again",
        View::OldTests => "old-tests",
        View::OnlyTests => "only-tests",
        View::WithIgnored => "with-ignored",
    }
}
