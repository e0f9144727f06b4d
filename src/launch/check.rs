//! Runs a check on the agent's result, in a view in which nothing it writes can reach what is applied.

use super::record::CappedLog;
use crate::model::secrets::{Redactor, Secrets};
use crate::mount::process::attend::{Channel, ChildOutcome, Listener, TimeLimits};
use crate::mount::{ChildCommand, ChildStdio, Ending, OpenMount, SignalInbox};
use anyhow::Result;
use sha2::{Digest, Sha256};
use std::path::Path;
use std::time::Instant;

/// How a check ended.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckOutcome {
    pub attended: ChildOutcome,
    pub seconds: f64,
    /// Hash of everything that it wrote, hexadecimal.
    pub sha256: String,
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

/// Runs one command line with the shell; what it writes goes to `log`.
pub fn run(
    view: &OpenMount,
    line: &str,
    env: &[(std::ffi::OsString, Option<std::ffi::OsString>)],
    limits: TimeLimits,
    log: &Path,
    secrets: &Secrets,
    signals: &mut SignalInbox,
) -> Result<CheckOutcome> {
    let command =
        ChildCommand { argv: ["sh", "-c", line].map(Into::into).to_vec(), env: env.to_vec(), ends_at: None };
    let started = Instant::now();
    let mut written =
        Written { log: CappedLog::create(log)?, redactor: secrets.redactor(), hash: Sha256::new() };
    let attended = view.run_with_listener(&command, ChildStdio::piped(), limits, signals, &mut written)?;
    let rest = written.redactor.finish();
    written.log.write(&rest);
    written.log.finish();
    let sha256 = written.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(CheckOutcome { attended, seconds: started.elapsed().as_secs_f64(), sha256 })
}

struct Written<'a> {
    log: CappedLog,
    redactor: Redactor<'a>,
    hash: Sha256,
}

impl Listener for Written<'_> {
    fn output(&mut self, _: Channel, bytes: &[u8]) {
        self.log.write(&self.redactor.write(bytes));
        self.hash.update(bytes);
    }
}
