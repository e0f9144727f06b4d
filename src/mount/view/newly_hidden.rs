//! Finds paths that should be hidden but appeared after a mount was made, and hides them before the mount is used again.

use super::record::write_record;
use super::request::{OpenRequest, at, compile};
use crate::model::mount::{Backend, MountSpec};
use crate::model::mount_record::{HiddenPath, MountRecord};
use crate::mount::view::inject::Upper;
use crate::mount::view::scan_hidden::scan_hidden;
use anyhow::Result;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

/// Paths of the project that the rules hide but this mount does not, because they did not exist when it was made. Overlay only: a
/// copy contains nothing that came later.
pub fn newly_hidden(spec: &MountSpec, record: &MountRecord) -> Result<Vec<HiddenPath>> {
    if record.backend != Backend::Overlay {
        return Ok(Vec::new());
    }
    let rules = compile(spec)?;
    let mut found = scan_hidden(&spec.root, &rules, &spec.rules, spec.git_credentials)
        .map_err(|error| at(&spec.root, error))?;
    let git_dirs = record.git.iter().flat_map(|git| [git.common_dir.0.as_path(), git.git_dir.0.as_path()]);
    found.show_in(&spec.root, &git_dirs.collect::<Vec<_>>());
    let known: BTreeSet<&Path> = record.hidden.iter().map(|hidden| hidden.path.0.as_path()).collect();
    let is_new = |hidden: &HiddenPath| !hidden.path.0.ancestors().any(|above| known.contains(above));
    Ok(found.hidden.into_iter().filter(is_new).collect())
}

/// Hides what appeared later, before a mount is used again. What the agent itself wrote to such a path stays.
pub fn hide_newly_hidden(request: &OpenRequest, record: &mut MountRecord) -> Result<()> {
    let late = newly_hidden(request.spec, record)?;
    let Some(xattrs) = record.xattrs.filter(|_| !late.is_empty()) else { return Ok(()) };
    let dir = request.session_dir.join(&record.data);
    let hide = || -> io::Result<()> {
        let mut upper = Upper::new(&request.spec.root, &dir, xattrs)?;
        for hidden in late {
            if fs::symlink_metadata(dir.join(&hidden.path)).is_err() {
                upper.hide(&hidden.path)?;
                record.hidden.push(hidden);
            }
        }
        upper.finish()
    };
    hide().map_err(|error| at(&dir, error))?;
    record.hidden.sort_by(|a, b| a.path.cmp(&b.path));
    write_record(request.session_dir, record)
}
