//! Keeps what the user had before a pack's files take its place by `--overwrite` or `--take-theirs`.

use crate::error::Result;
use crate::files::backup::copy_aside;
use crate::pack::contents::ROLES_PREFIX;
use crate::pack::decide::{Decision, OnDisk};
use crate::pack::target::Target;
use crate::workforce::Workforce;
use std::path::PathBuf;

/// The directory that holds them; `None`: nothing of the user's goes. Called before anything is written.
pub fn keep(workforce: &Workforce, target: &Target, decisions: &[Decision]) -> Result<Option<PathBuf>> {
    let mut files = Vec::new();
    for decision in decisions {
        let goes = |path: &&String| decision.writes.contains_key(*path) || decision.removes.contains(path);
        for path in decision.differing.iter().filter(goes) {
            if matches!(target.look(path), OnDisk::File(_)) {
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
