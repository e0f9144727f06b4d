//! The table of exit codes: the one place where an outcome becomes a number. Decides nothing about outcomes.

/// What the process ends with. Scripts rely on these numbers, so they never change meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done: the run completed, checks passed, changes applied (or there were none, or they are held because asked).
    Done,
    /// The run failed: the harness failed, a check failed, or `lint`, `install` or `doctor` found problems.
    Failed,
    /// Usage, unknown persona or tier, invalid persona or config, missing input: nothing was started.
    Usage,
    /// Conflict: the work is complete and held; nothing was overwritten.
    Conflict,
    /// Refused by policy: `--strict`, `--sandbox`, `--locked`.
    Refused,
    /// A time limit, or that of disk space, was reached.
    TimedOut,
    /// The runner itself failed.
    Internal,
    /// The harness was found but cannot be executed.
    NotExecutable,
    /// The harness was not found.
    NotFound,
    /// Ended by this signal.
    Signal(u8),
    /// An interactive harness's own code, passed on as wrappers do.
    Harness(u8),
}

impl Exit {
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Conflict => 3,
            Exit::Refused => 4,
            Exit::TimedOut => 124,
            Exit::Internal => 125,
            Exit::NotExecutable => 126,
            Exit::NotFound => 127,
            Exit::Signal(n) => 128_u8.saturating_add(n),
            Exit::Harness(code) => code,
        }
    }

    /// The stable word for this outcome in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Exit::Done => "done",
            Exit::Failed => "failed",
            Exit::Usage => "usage",
            Exit::Conflict => "conflict",
            Exit::Refused => "refused",
            Exit::TimedOut => "timed-out",
            Exit::Internal => "internal",
            Exit::NotExecutable => "not-executable",
            Exit::NotFound => "not-found",
            Exit::Signal(_) => "signal",
            Exit::Harness(_) => "harness",
        }
    }
}
