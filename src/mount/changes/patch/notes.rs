//! What a patch cannot say, in comments in front of it: git passes over them. Every name is on one line, so that none of them can
//! look like a part of the patch.

use super::name;
use crate::model::amounts::counted;
use crate::model::raw_path::RawPath;
use crate::mount::changes::change::Change;
use crate::mount::changes::compare::After;
use crate::mount::changes::diff::{MERGED, TOUCHED};
use crate::mount::changes::three_way::ThreeWay;
use crate::mount::fs::stat::{Kind, PERMISSIONS};
use crate::mount::fs::tree;
use std::collections::{BTreeSet, HashSet};
use std::os::fd::AsFd;
use std::path::Path;

pub(super) const COMMENT: &str = "# ";
/// How many of the files that were left out are named.
const MOST_NAMED: usize = 100;

#[derive(Default)]
pub(super) struct Notes {
    about: Vec<String>,
    missing: Vec<String>,
}

impl Notes {
    pub(super) fn add_changes(
        &mut self,
        sides: &ThreeWay<'_>,
        changes: &[&Change],
        special: &[RawPath],
    ) -> std::io::Result<()> {
        // Directories that hold something because of the patch.
        let filled = above(
            changes.iter().filter(|change| matches!(change.after, After::File { .. } | After::Symlink)),
        );
        // Directories that git removes with the last file in them.
        let emptied = above(
            changes
                .iter()
                .filter(|change| change.now.is_some_and(|now| matches!(now.kind, Kind::File | Kind::Symlink)))
                .filter(|change| change.after == After::Absent),
        );
        for change in changes {
            self.add_marks(change);
            self.add_modes(change, &filled, &emptied);
        }
        self.add_emptied(sides, changes, &filled)?;
        for path in special {
            self.missing.push(format!("a socket, fifo or device: {}", name(path)));
        }
        Ok(())
    }

    fn add_marks(&mut self, change: &Change) {
        let path = || name(&change.path);
        if let Some(reason) = change.conflict {
            self.about.push(format!("conflict: {}: {}", path(), reason.text()));
        }
        if change.merged.is_some() {
            self.about.push(format!("merged: {}: {MERGED}", path()));
        }
        if change.touched {
            self.about.push(format!("touched: {}: {TOUCHED}", path()));
        }
    }

    fn add_modes(&mut self, change: &Change, filled: &HashSet<&Path>, emptied: &HashSet<&Path>) {
        let path = || name(&change.path);
        let was = change.now.map(|now| now.permissions());
        match change.after {
            After::Dir { mode } => {
                let mode = mode & PERMISSIONS;
                let was_dir = change.now.is_some_and(|now| now.kind == Kind::Dir);
                if !was_dir && !filled.contains(change.path.0.as_path()) {
                    self.missing.push(format!("an empty directory, mode {mode:o}: {}", path()));
                } else if was_dir || !matches!(mode, 0o755 | 0o775) {
                    self.missing.push(format!("mode {mode:o} of a directory: {}", path()));
                }
            }
            After::File { mode, .. } => {
                let bits = mode & PERMISSIONS;
                let is_new_mode = change.now.is_none_or(|now| now.kind != Kind::File) || was != Some(bits);
                // What git makes of its one bit, with the usual masks.
                let is_usual = matches!(bits, 0o644 | 0o664 | 0o755 | 0o775);
                if is_new_mode && !is_usual {
                    self.missing.push(format!("mode {bits:o}: {}", path()));
                } else if let Some(was) = was.filter(|was| is_new_mode && (was ^ bits) & 0o100 == 0) {
                    self.missing.push(format!("mode {was:o} to {bits:o}: {}", path()));
                }
                if mode & !PERMISSIONS != 0 && change.merged.is_none() {
                    self.missing.push(format!(
                        "mode bits {:o}, which are never applied: {}",
                        mode & !PERMISSIONS,
                        path()
                    ));
                }
            }
            After::Absent
                if change.now.is_some_and(|now| now.kind == Kind::Dir)
                    && !emptied.contains(change.path.0.as_path()) =>
            {
                self.missing.push(format!("a directory that is removed: {}", path()));
            }
            After::Absent | After::Symlink | After::Special => {}
        }
    }

    /// Git removes a directory with the last file in it; the agent may have left it.
    fn add_emptied(
        &mut self,
        sides: &ThreeWay<'_>,
        changes: &[&Change],
        filled: &HashSet<&Path>,
    ) -> std::io::Result<()> {
        let gone: HashSet<&Path> = changes
            .iter()
            .filter(|change| change.after == After::Absent)
            .map(|change| change.path.0.as_path())
            .collect();
        let replaced: HashSet<&Path> = changes
            .iter()
            .filter(|change| !matches!(change.after, After::Dir { .. }))
            .map(|change| change.path.0.as_path())
            .collect();
        let parents: BTreeSet<&Path> = gone.iter().filter_map(|path| path.parent()).collect();
        for parent in parents {
            let is_left =
                !parent.as_os_str().is_empty() && !replaced.contains(parent) && !filled.contains(parent);
            if is_left
                && let Ok(dir) = sides.project.open_dir(parent)
                && tree::list(dir.as_fd())?.iter().all(|entry| gone.contains(parent.join(entry).as_path()))
            {
                self.missing.push(format!("a directory that stays, empty: {}", name(parent)));
            }
        }
        Ok(())
    }

    pub(super) fn left_out(&mut self, path: &Path, why: &str) {
        self.missing.push(format!("too large, {why}: {}", name(path)));
    }

    /// What did not fit into a patch that is kept.
    pub(super) fn cut(&mut self, changes: &[&Change]) {
        if changes.is_empty() {
            return;
        }
        self.about.push(format!(
            "truncated: {} left out of this patch, whose size is bounded:",
            counted(changes.len(), "path")
        ));
        self.about.extend(changes.iter().take(MOST_NAMED).map(|change| format!("  {}", name(&change.path))));
        if let Some(more) = changes.len().checked_sub(MOST_NAMED).filter(|more| *more > 0) {
            self.about.push(format!("  and {more} more"));
        }
    }

    pub(super) fn text(&self) -> String {
        let mut lines = self.about.clone();
        if !self.missing.is_empty() {
            lines.push("git cannot hold:".to_owned());
            lines.extend(self.missing.iter().map(|line| format!("  {line}")));
        }
        lines.iter().map(|line| super::comment(line)).collect()
    }
}

/// The directories above some changes.
fn above<'a>(changes: impl Iterator<Item = &'a &'a Change>) -> HashSet<&'a Path> {
    let mut above = HashSet::new();
    for change in changes {
        // One that is known is known with all above it.
        let _ = change.path.ancestors().skip(1).take_while(|directory| above.insert(*directory)).count();
    }
    above
}
