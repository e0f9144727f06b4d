//! Files that an apply took out of the project and restored untouched: their new ctime is not a change by the user. `apply` records
//! them in its journals, and comparisons read them.

use crate::model::raw_path::RawPath;
use crate::mount::fs::stat::Stat;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::PathBuf;

/// A file that we restored ourselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Restored {
    pub path: RawPath,
    /// Its state when it was taken out.
    pub was: Stat,
    /// Its state after it was restored.
    pub is: Stat,
}

/// Files that a session's journals restored, by path.
pub type Restorations = HashMap<PathBuf, Vec<Restored>>;
