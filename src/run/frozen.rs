//! The changes of a run as plain values, so that what was decided about them can be held against what is applied.

use super::open::OpenRun;
use super::reviewed::Reviewed;
use crate::model::raw_path::RawPath;
use crate::mount::changes::frozen::{Frozen, freeze};
use crate::mount::changes::{Change, Review};
use anyhow::Result;

/// All changes of a run, with both sides of each.
#[derive(Debug, Clone, Default)]
pub struct FrozenWork {
    pub changes: Vec<(Change, Frozen)>,
    /// What git ignores, as far as it is not in directories of build output.
    pub ignored: Vec<RawPath>,
    /// Writes to hidden and read-only paths.
    pub protected: Vec<RawPath>,
    /// What the agent wrote and left as it was.
    pub unchanged: Vec<RawPath>,
    /// Settings and hooks of repositories that it wrote, and repositories that it made.
    pub git_settings: Vec<RawPath>,
    pub dropped_git: Vec<RawPath>,
    /// Sockets, devices and what could not be read.
    pub unusable: Vec<RawPath>,
}

impl FrozenWork {
    /// The changes by themselves.
    pub fn plain(&self) -> Vec<Change> {
        self.changes.iter().map(|(change, _)| change.clone()).collect()
    }
}

impl OpenRun<'_> {
    /// Reads what the attempts so far have changed, both sides of it. Nothing may run in the mount meanwhile.
    pub fn freeze(&mut self, largest_text: u64) -> Result<FrozenWork> {
        // What was seen before may be older than the last process.
        self.reviewed = None;
        let Some(Reviewed { work, review, merging }) = self.reviewed()? else {
            return Ok(FrozenWork::default());
        };
        let frozen = freeze(&work.three_way(*merging)?, review, largest_text)?;
        let Review {
            changes,
            ignored,
            protected,
            unchanged,
            git_settings,
            dropped_git,
            special,
            unreadable,
            ..
        } = review;
        Ok(FrozenWork {
            changes: changes.iter().cloned().zip(frozen).collect(),
            ignored: ignored.kept.clone(),
            protected: protected.iter().map(|protected| protected.path.clone()).collect(),
            unchanged: unchanged.clone(),
            git_settings: git_settings.clone(),
            dropped_git: dropped_git.clone(),
            unusable: special.iter().chain(unreadable).cloned().collect(),
        })
    }
}
