//! The changes of a run as they were found, for everyone who shows them.

use crate::mount::changes::Review;
use crate::mount::changes::diff::{FileDiff, diff};
use crate::session::work::Work;
use anyhow::Result;

/// The changes of a run, with the trees that they were found in.
pub(super) struct Reviewed {
    pub(super) work: Work,
    pub(super) review: Review,
}

impl Reviewed {
    pub(super) fn diff(&self) -> Result<Vec<FileDiff>> {
        diff(&self.work.three_way()?, &self.review, None)
    }
}
