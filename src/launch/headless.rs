//! Runs a harness without a terminal: its task on its input, its output as events.

use super::lines::Lines;
use crate::harness::events::{Conclusion, EventReader};
use crate::model::event::Event;
use crate::mount::process::attend::{Channel, ChildOutcome, Listener, TimeLimits};
use crate::mount::{ChildCommand, ChildStdio, Ending, OpenMount, SignalInbox};
use anyhow::Result;
use std::collections::HashSet;

/// Maximum non-event lines forwarded; the rest are only counted.
const MOST_RAW: u64 = 1000;
/// Maximum bytes of each.
const LONGEST_RAW: usize = 4096;

/// Receives what the harness does.
pub trait Audience {
    fn event(&mut self, event: &Event);
    /// Everything it writes, as it comes.
    fn output(&mut self, bytes: &[u8]);
    /// Now and then, whether something happened or not.
    fn tick(&mut self);
}

/// How a headless run ended.
#[derive(Debug)]
pub struct HeadlessOutcome {
    pub attended: ChildOutcome,
    pub conclusion: Conclusion,
    /// Non-event lines beyond those that were forwarded.
    pub flooded: u64,
}

/// Starts the harness with the task as its input and stays with it to the end.
pub fn run(
    mount: &OpenMount,
    command: &ChildCommand,
    task: &str,
    reader: Box<dyn EventReader>,
    limits: TimeLimits,
    signals: &mut SignalInbox,
    audience: &mut dyn Audience,
) -> Result<HeadlessOutcome> {
    let stdio = ChildStdio::with_input(task.as_bytes())?;
    let heard = Hearing { reader, audience, raw: 0, complaints: 0, working: HashSet::new() };
    let mut ears = Ears { stdout: Lines::default(), stderr: Lines::default(), heard };
    let attended = mount.run_with_listener(command, stdio, limits, signals, &mut ears)?;
    let Ears { mut stdout, mut stderr, mut heard } = ears;
    stdout.finish(|line| heard.line(line));
    stderr.finish(|line| heard.complaint(line));
    let clean =
        attended.ending == Ending::Code(0) && attended.reached.is_none() && attended.interrupted_by.is_none();
    let conclusion = heard.reader.conclude(clean);
    heard.audience.event(&Event::Ended {
        ok: clean && conclusion.ok,
        result: conclusion.result.clone(),
        reason: conclusion.reason.clone(),
    });
    Ok(HeadlessOutcome { attended, conclusion, flooded: heard.raw.saturating_sub(MOST_RAW) })
}

/// Turns lines into events and keeps account of tools that are at work.
struct Hearing<'a> {
    reader: Box<dyn EventReader>,
    audience: &'a mut dyn Audience,
    raw: u64,
    complaints: u64,
    working: HashSet<String>,
}

impl Hearing<'_> {
    fn line(&mut self, mut line: &[u8]) {
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        // Only an object is an event; a flood of other lines must cost nothing.
        if line.first() != Some(&b'{') {
            self.raw += 1;
            if self.raw > MOST_RAW {
                return;
            }
            line = &line[..line.len().min(LONGEST_RAW)];
        }
        for event in self.reader.read(&String::from_utf8_lossy(line)) {
            match &event {
                Event::ToolStarted { id, .. } => {
                    self.working.insert(id.clone());
                }
                Event::ToolFinished { id, .. } => {
                    self.working.remove(id);
                }
                _ => {}
            }
            self.audience.event(&event);
        }
    }

    fn complaint(&mut self, line: &[u8]) {
        self.complaints += 1;
        if self.complaints <= MOST_RAW {
            let line = &line[..line.len().min(LONGEST_RAW)];
            self.reader.read_stderr(&String::from_utf8_lossy(line));
        }
    }
}

struct Ears<'a> {
    stdout: Lines,
    stderr: Lines,
    heard: Hearing<'a>,
}

impl Listener for Ears<'_> {
    fn output(&mut self, channel: Channel, bytes: &[u8]) {
        self.heard.audience.output(bytes);
        match channel {
            Channel::Stdout => self.stdout.take(bytes, |line| self.heard.line(line)),
            Channel::Stderr => self.stderr.take(bytes, |line| self.heard.complaint(line)),
        }
    }

    fn is_at_work(&self) -> bool {
        !self.heard.working.is_empty() || self.heard.reader.tool_may_run()
    }

    fn tick(&mut self) {
        self.heard.audience.tick();
    }
}
