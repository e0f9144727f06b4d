//! Files that an apply took out of the project and put back untouched: their new ctime is not a change of the user's.
//! The journals of `apply` keep them; a comparison reads them.

use crate::model::raw_path::RawPath;
use crate::mount::fs::stat::Stat;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::PathBuf;

/// A file that we ourselves put back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Restored {
    pub path: RawPath,
    /// What it was when it was taken out.
    pub was: Stat,
    /// What it is since it was put back.
    pub is: Stat,
}

/// What a session's journals put back, by path.
pub type Restorations = HashMap<PathBuf, Vec<Restored>>;
