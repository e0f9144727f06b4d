//! Copies the user's files before `--overwrite` or `--take-theirs` replaces them.

use crate::error::Result;
use crate::files::backup::copy_aside;
use crate::pack::contents::ROLES_PREFIX;
use crate::pack::decide::{Decision, OnDisk};
use crate::pack::target::Target;
use crate::workforce::Workforce;
use std::path::PathBuf;

/// Copies the files that will be replaced and returns the directory of the copies; `None` where no file of the user is
/// replaced. Called before anything is written.
pub fn back_up(workforce: &Workforce, target: &Target, decisions: &[Decision]) -> Result<Option<PathBuf>> {
    let mut files = Vec::new();
    for decision in decisions {
        let is_replaced =
            |path: &&String| decision.writes.contains_key(*path) || decision.removes.contains(path);
        for path in decision.differing.iter().filter(is_replaced) {
            if matches!(target.on_disk(path), OnDisk::File(_)) {
                let inside = path.strip_prefix(ROLES_PREFIX).map(|role| format!("roles/{role}"));
                files.push((target.path(path), PathBuf::from(inside.as_ref().unwrap_or(path))));
            }
        }
    }
    if files.is_empty() {
        return Ok(None);
    }
    Ok(Some(copy_aside(&workforce.host, &workforce.layers.home, "pack", &files)?))
}
