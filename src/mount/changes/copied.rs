//! What differs in a copied tree from the copy as it was made: one walk that stats and reads no content.
//! It judges nothing; a file that was rewritten with the same bytes is listed too.

use super::{Found, Touched, is_git_name};
use crate::model::mount_record::MountRecord;
use crate::mount::compare::After;
use crate::mount::manifest::Manifest;
use crate::mount::stat::Kind;
use crate::mount::tree::{self, Tree};
use anyhow::Context;
use rustix::fs::{Mode, OFlags};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

/// `made` is the copy as it was made. Without it every path is a candidate, and those that the base has and the
/// copy never got are told by the record.
pub(super) fn touched(
    record: &MountRecord,
    copy: &Tree,
    base: &Manifest,
    made: Option<&Manifest>,
) -> anyhow::Result<Found> {
    let reference = made.unwrap_or(base);
    let mut walk = Walk { made, reference, seen: vec![false; reference.len()], found: Found::default() };
    walk.directory(copy.fd(), Path::new(""))
        .with_context(|| format!("cannot read {}", copy.path().display()))?;
    let Walk { seen, mut found, .. } = walk;
    for ((path, entry), seen) in reference.iter().zip(seen) {
        let never_there = made.is_none()
            && (entry.kind == Kind::Special
                || record.left_out.iter().any(|left_out| path.starts_with(&left_out.path)));
        let is_git = path.file_name().is_some_and(is_git_name);
        let is_closed = found.unreadable.iter().any(|closed| path.starts_with(closed));
        if !seen && !path.as_os_str().is_empty() && !never_there && !is_git && !is_closed {
            found.deleted(path);
        }
    }
    Ok(found)
}

struct Walk<'a> {
    made: Option<&'a Manifest>,
    reference: &'a Manifest,
    /// By index in the reference.
    seen: Vec<bool>,
    found: Found,
}

impl Walk<'_> {
    fn directory(&mut self, dir: BorrowedFd<'_>, path: &Path) -> std::io::Result<()> {
        for name in tree::list(dir)? {
            // Git in a copy is a repository of its own from the start, so a count would say nothing.
            if is_git_name(&name) {
                continue;
            }
            let Some(stat) = tree::stat_at(dir, &name)? else { continue };
            let child = path.join(&name);
            let index = self.reference.index_of(&child);
            if let Some(index) = index {
                self.seen[index] = true;
            }
            let is_untouched = self.made.is_some()
                && index.is_some_and(|index| self.reference.entry(index).is_unchanged(&stat));
            if !is_untouched {
                let after = match stat.kind {
                    Kind::File => After::File { mode: stat.mode, size: stat.size },
                    Kind::Dir => After::Dir { mode: stat.mode },
                    Kind::Symlink => After::Symlink,
                    Kind::Special => After::Special,
                };
                self.found.touched.push(Touched { path: child.clone(), after });
            }
            if stat.kind == Kind::Dir {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                match rustix::fs::openat(dir, &name, flags, Mode::empty()) {
                    Ok(inner) => self.directory(inner.as_fd(), &child)?,
                    Err(_) => self.found.unreadable.push(child),
                }
            }
        }
        Ok(())
    }
}
