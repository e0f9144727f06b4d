//! What a run tells its caller, and what it asks: the seam between the engine and a terminal, a stream of JSON or a server.
//! Everything that passes here is free of the values of secrets.

use crate::model::event::Event;
use crate::model::mount_record::MountRecord;
use crate::model::plan::RunPlan;
use crate::model::report::{ReportedCheck, ReportedLeak, Status};
use crate::model::warning::Warning;
use crate::mount::apply::Selection;
use crate::mount::changes::diff::{FileDiff, diff_with_renames};
use crate::mount::changes::{Review, ThreeWay};
use std::os::fd::BorrowedFd;
use std::path::Path;

/// Something that happened.
#[derive(Debug)]
pub enum RunEvent<'a> {
    /// The mount is made; the harness or command starts next.
    Opened {
        session: &'a str,
        plan: &'a RunPlan,
        record: &'a MountRecord,
        /// The project as the agent sees it.
        directory: &'a Path,
    },
    Warning(&'a Warning),
    /// What the agent does, in a headless run.
    Agent(&'a Event),
    /// The harness ended, and its output is read.
    AttemptEnded {
        number: u32,
    },
    CheckEnded(&'a ReportedCheck),
    /// The work is done and looked at; what becomes of it is decided next.
    Concluded {
        status: Status,
        result: Option<&'a str>,
        failure: Option<Failure<'a>>,
        leaks: &'a [ReportedLeak],
        /// How many files have changed.
        changes: usize,
    },
}

/// How a run failed, and where that is recorded.
#[derive(Debug, Clone, Copy)]
pub struct Failure<'a> {
    pub status: Status,
    pub reason: &'a str,
    pub session: &'a str,
    /// What the harness wrote; it has none where it ran in a terminal.
    pub log: Option<&'a Path>,
}

pub trait Observer {
    fn event(&mut self, event: &RunEvent<'_>);
    /// Called several times a second while a headless harness runs.
    fn tick(&mut self, _live: &Live<'_>) {}
}

/// What can be known of a harness that is still running.
pub struct Live<'a> {
    /// How many files it has changed so far; `None` where only a comparison could tell.
    pub changed_files: &'a dyn Fn() -> Option<usize>,
}

/// The changes of a run, offered to a person.
pub struct Offer<'a> {
    pub session: &'a str,
    /// A directory that no agent can reach, for files that the person edits.
    pub scratch: &'a Path,
    pub review: &'a Review,
    /// What was compared.
    pub sides: &'a ThreeWay<'a>,
}

impl Offer<'_> {
    /// Reads every changed file.
    pub fn diff(&self) -> anyhow::Result<Vec<FileDiff>> {
        diff_with_renames(self.sides, self.review)
    }
}

/// What is to become of the changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    Apply(Selection),
    Keep,
    /// Keep, because whoever is to decide has the terminal in use for something else.
    NobodyToAsk,
    Discard,
    /// Keep, because this signal tells us to end.
    Interrupted(i32),
}

pub trait Decider {
    fn decide(&mut self, offer: &Offer<'_>, signals: &mut dyn Signals) -> anyhow::Result<Decision>;
}

/// The signals that arrive while a person is being asked.
pub trait Signals {
    /// The signals since the last call.
    fn take(&mut self) -> Vec<i32>;
    /// Readable as soon as there is one.
    fn wake_fd(&self) -> BorrowedFd<'_>;
}

/// For runs that nobody watches.
#[derive(Debug, Default)]
pub struct Unwatched;

impl Observer for Unwatched {
    fn event(&mut self, _: &RunEvent<'_>) {}
}

impl Decider for Unwatched {
    fn decide(&mut self, _: &Offer<'_>, _: &mut dyn Signals) -> anyhow::Result<Decision> {
        Ok(Decision::Keep)
    }
}
