//! Runs a check on the agent's result, in a view in which nothing it writes can reach what is applied.

use super::record::CappedLog;
use crate::model::secrets::{Redactor, Secrets};
use crate::mount::process::attend::{Channel, ChildOutcome, Listener, TimeLimits};
use crate::mount::{ChildCommand, ChildStdio, Ending, OpenMount, SignalInbox};
use anyhow::Result;
use sha2::{Digest, Sha256};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::Path;
use std::time::Instant;

/// How much of the end of the output is looked at for its last lines.
const TAIL: usize = 64 << 10;
const MOST_LINES: usize = 60;
const LONGEST_LINE: usize = 400;

/// How a check ended.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckOutcome {
    pub attended: ChildOutcome,
    pub seconds: f64,
    /// Hash of everything that it wrote, hexadecimal.
    pub sha256: String,
    /// The last lines of its output, without colours and values of secrets.
    pub tail: Vec<String>,
}

impl CheckOutcome {
    pub fn passed(&self) -> bool {
        self.exit_code() == 0
    }

    /// As a shell reports it.
    pub fn exit_code(&self) -> i32 {
        match (self.attended.reached, self.attended.ending) {
            (Some(_), _) => 124,
            (None, Ending::Code(code)) => code,
            (None, Ending::Signal(signal)) => 128 + signal,
            (None, Ending::Killed) => 137,
        }
    }
}

/// A command line for the shell, and what happens to its output.
pub struct CheckCommand<'a> {
    pub line: &'a str,
    /// Changes to our own environment.
    pub env: &'a [(OsString, Option<OsString>)],
    pub limits: TimeLimits,
    pub log: &'a Path,
    /// Gets everything that it writes, as it comes.
    pub tap: &'a mut dyn FnMut(&[u8]),
}

/// Runs a command; what it writes goes to its log.
pub fn run(
    view: &OpenMount,
    check: CheckCommand<'_>,
    secrets: &Secrets,
    signals: &mut SignalInbox,
) -> Result<CheckOutcome> {
    let CheckCommand { line, env, limits, log, tap } = check;
    let command =
        ChildCommand { argv: ["sh", "-c", line].map(Into::into).to_vec(), env: env.to_vec(), ends_at: None };
    let started = Instant::now();
    let mut output = Output::to(log, secrets, tap)?;
    let attended = view.run_with_listener(&command, ChildStdio::piped(), limits, signals, &mut output)?;
    let OutputEnd { sha256, tail } = output.finish();
    Ok(CheckOutcome { attended, seconds: started.elapsed().as_secs_f64(), sha256, tail })
}

/// What a check writes, on its way into the log.
pub struct Output<'a> {
    log: CappedLog,
    redactor: Redactor<'a>,
    hash: Sha256,
    tail: VecDeque<u8>,
    tap: &'a mut dyn FnMut(&[u8]),
}

/// What is kept of it besides the log.
pub struct OutputEnd {
    pub sha256: String,
    pub tail: Vec<String>,
}

impl<'a> Output<'a> {
    pub fn to(log: &Path, secrets: &'a Secrets, tap: &'a mut dyn FnMut(&[u8])) -> Result<Output<'a>> {
        let log = CappedLog::create(log)?;
        Ok(Output { log, redactor: secrets.redactor(), hash: Sha256::new(), tail: VecDeque::new(), tap })
    }

    pub fn take(&mut self, bytes: &[u8]) {
        let redacted = self.redactor.write(bytes);
        self.keep(&redacted);
        self.hash.update(bytes);
        (self.tap)(bytes);
    }

    pub fn finish(mut self) -> OutputEnd {
        let rest = self.redactor.finish();
        self.log.write(&rest);
        keep_tail(&mut self.tail, &rest);
        self.log.finish();
        let sha256 = self.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        OutputEnd { sha256, tail: last_lines(&Vec::from(self.tail)) }
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.log.write(bytes);
        keep_tail(&mut self.tail, bytes);
    }
}

impl Listener for Output<'_> {
    fn output(&mut self, _: Channel, bytes: &[u8]) {
        self.take(bytes);
    }
}

fn keep_tail(tail: &mut VecDeque<u8>, bytes: &[u8]) {
    let kept = &bytes[bytes.len().saturating_sub(TAIL)..];
    let over = (tail.len() + kept.len()).saturating_sub(TAIL);
    tail.drain(..over);
    tail.extend(kept);
}

/// The last lines of some output as plain text, each shortened.
fn last_lines(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let plain = anstream::adapter::strip_str(&text).to_string();
    let mut lines: Vec<String> = plain
        .lines()
        .rev()
        .map(|line| {
            line.trim_end().chars().filter(|c| !c.is_control() || *c == '\t').take(LONGEST_LINE).collect()
        })
        .skip_while(String::is_empty)
        .take(MOST_LINES)
        .collect();
    lines.reverse();
    lines
}
