//! The changes of a run as they were found, for everyone who shows them.

use crate::mount::changes::{Merging, Review};
use crate::session::work::Work;

/// The changes of a run, with the trees that they were found in.
pub(super) struct Reviewed {
    pub(super) work: Work,
    pub(super) review: Review,
    pub(super) merging: Merging,
}
