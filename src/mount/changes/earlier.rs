//! What earlier journals of a session did to paths of the project, as far as a comparison with the base has to know it.
//! The journals of `apply` keep it.

use super::content_store::ContentHash;
use super::restored::Restorations;
use crate::mount::fs::stat::Stat;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::PathBuf;

/// Everything that earlier journals did.
#[derive(Debug, Clone, Default)]
pub struct Earlier {
    /// Files that were put back untouched.
    pub restored: Restorations,
    /// Paths whose changes are in the project: their base is what was applied.
    pub applied: HashMap<PathBuf, AppliedPath>,
}

/// A path that was applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedPath {
    /// What it was in the project then; `None` if it was deleted.
    pub post: Option<Stat>,
    /// The file as the agent had it, where that is known.
    pub agents: Option<AgentsVersion>,
    /// The project got something of the user's, too, that the mount does not have.
    pub merged: bool,
}

/// A file of the mount at the time of an apply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentsVersion {
    pub blake3: ContentHash,
    pub size: u64,
    pub mode: u32,
}
