//! What earlier journals of a session did to the project, as far as a comparison with the base needs it. `apply` records it in its
//! journals.

use super::content_store::ContentHash;
use super::restored::Restorations;
use crate::mount::fs::stat::Stat;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::PathBuf;

/// Everything that earlier journals did.
#[derive(Debug, Clone, Default)]
pub struct Earlier {
    /// Files that were restored untouched.
    pub restored: Restorations,
    /// Paths whose changes are in the project: their base is what was applied.
    pub applied: HashMap<PathBuf, AppliedPath>,
}

/// A path that was applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedPath {
    /// Its state in the project afterwards; `None` if it was deleted.
    pub post: Option<Stat>,
    /// The agent's version of the file, if it is known.
    pub agents: Option<AgentsVersion>,
    /// The applied version also contains edits of the user that the mount lacks.
    pub merged: bool,
}

/// A file of the mount at the time of an apply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentsVersion {
    pub blake3: ContentHash,
    pub size: u64,
    pub mode: u32,
}
