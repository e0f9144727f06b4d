//! Finds what differs in a copied tree from its initial state, with one walk that reads no content. It judges nothing: a file that was
//! rewritten with the same bytes is listed too.

use super::touched::{Found, Touched, is_git_name};
use crate::host::interruption;
use crate::model::mount_record::MountRecord;
use crate::mount::changes::compare::After;
use crate::mount::changes::manifest::{Entries, Entry, Manifest, bytes_of, path_order};
use crate::mount::fs::stat::Kind;
use crate::mount::fs::tree::{self, Tree};
use crate::mount::fs::walk::DEEPEST;
use anyhow::Context;
use rustix::fs::{Mode, OFlags};
use std::cmp::Ordering;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

/// `made` is the initial state of the copy. Without it, every path is a candidate; the record tells which paths of the base were never
/// copied.
pub(super) fn touched(
    record: &MountRecord,
    copy: &Tree,
    base: &Manifest,
    made: Option<&Manifest>,
) -> anyhow::Result<Found> {
    let mut reference = made.unwrap_or(base).entries();
    let head = reference.next().transpose()?;
    let mut walk =
        Walk { has_made: made.is_some(), reference, head, missing: Vec::new(), found: Found::default() };
    walk.directory(copy.fd(), Path::new(""), 0)
        .with_context(|| format!("cannot read {}", copy.path().display()))?;
    while walk.head.is_some() {
        walk.miss()?;
    }
    let Walk { missing, mut found, .. } = walk;
    for (path, entry) in missing {
        let never_there = made.is_none()
            && (entry.kind == Kind::Special
                || record.left_out.iter().any(|left_out| path.starts_with(&left_out.path)));
        let is_git = path.file_name().is_some_and(is_git_name);
        let is_closed = found.unreadable.iter().any(|closed| path.starts_with(closed));
        if !path.as_os_str().is_empty() && !never_there && !is_git && !is_closed {
            found.deleted(&path);
        }
    }
    Ok(found)
}

/// Walks the tree and the reference side by side, both in path order.
struct Walk<'a> {
    /// Whether the reference is the initial state of the copy.
    has_made: bool,
    reference: Entries<'a>,
    /// The first entry of the reference that the walk has not reached.
    head: Option<(PathBuf, Entry)>,
    /// What the reference has and the tree does not.
    missing: Vec<(PathBuf, Entry)>,
    found: Found,
}

impl Walk<'_> {
    fn directory(&mut self, dir: BorrowedFd<'_>, path: &Path, depth: usize) -> std::io::Result<()> {
        interruption::check()?;
        let Some(mut names) = self.found.unless_closed(path, tree::list(dir))? else { return Ok(()) };
        names.sort_unstable();
        for name in names {
            // In a copy, git is a separate repository from the start, so a count would be meaningless.
            if is_git_name(&name) {
                self.found.git_entries.push(path.join(&name));
                continue;
            }
            let Some(stat) = self.found.unless_closed(path, tree::stat_at(dir, &name))? else {
                return Ok(());
            };
            let Some(stat) = stat else { continue };
            let child = path.join(&name);
            let known = self.come_to(&child)?;
            let is_untouched = self.has_made && known.is_some_and(|entry| entry.is_unchanged(&stat));
            if !is_untouched {
                let after = After::of(&stat);
                self.found.touched.push(Touched { path: child.clone(), after });
            }
            if stat.kind == Kind::Dir && depth >= DEEPEST {
                self.found.unreadable.push(child);
            } else if stat.kind == Kind::Dir {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                match rustix::fs::openat(dir, &name, flags, Mode::empty()) {
                    Ok(inner) => self.directory(inner.as_fd(), &child, depth + 1)?,
                    Err(_) => self.found.unreadable.push(child),
                }
            }
        }
        Ok(())
    }

    /// The reference's entry for a path. Everything before it that was not reached is missing in the tree.
    fn come_to(&mut self, path: &Path) -> std::io::Result<Option<Entry>> {
        while let Some((head, entry)) = &self.head {
            match path_order(bytes_of(head), bytes_of(path)) {
                Ordering::Less => self.miss()?,
                Ordering::Equal => {
                    let entry = *entry;
                    self.head = self.reference.next().transpose()?;
                    return Ok(Some(entry));
                }
                Ordering::Greater => break,
            }
        }
        Ok(None)
    }

    fn miss(&mut self) -> std::io::Result<()> {
        let next = self.reference.next().transpose()?;
        self.missing.extend(std::mem::replace(&mut self.head, next));
        Ok(())
    }
}
