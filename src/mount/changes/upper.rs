//! Finds what was touched according to an overlay's upper directory: whiteouts and opaque directories are expanded to base paths. It
//! judges nothing: a directory that was only passed through is listed too.

use super::touched::{Found, Touched, is_git_name};
use crate::host::interruption;
use crate::model::mount_record::{MountRecord, XattrNamespace};
use crate::mount::changes::compare::After;
use crate::mount::changes::manifest::Manifest;
use crate::mount::fs::stat::Kind;
use crate::mount::fs::tree::{self, Tree};
use crate::mount::fs::walk::DEEPEST;
use anyhow::Context;
use rustix::fs::{Mode, OFlags};
use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

pub(super) fn touched(record: &MountRecord, upper: &Tree, base: &Manifest) -> anyhow::Result<Found> {
    let mut walk = Walk {
        hidden: record.hidden.iter().map(|hidden| hidden.path.0.as_path()).collect(),
        xattrs: record.xattrs,
        base,
        replaced: Vec::new(),
        found: Found::default(),
    };
    walk.directory(upper.fd(), Path::new(""), 0, true)
        .with_context(|| format!("cannot read {}", upper.path().display()))?;
    let Walk { replaced, mut found, .. } = walk;
    // What the base had below a directory that does not show through any more, and the mount does not have.
    let present: HashSet<PathBuf> = found.touched.iter().map(|touched| touched.path.clone()).collect();
    let mut gone = HashSet::new();
    for directory in replaced {
        for path in base.below(&directory)? {
            if !present.contains(&path) && gone.insert(path.clone()) {
                found.deleted(&path);
            }
        }
    }
    Ok(found)
}

struct Walk<'a> {
    /// Whiteouts at these paths are ours.
    hidden: HashSet<&'a Path>,
    xattrs: Option<XattrNamespace>,
    base: &'a Manifest,
    /// Paths below which the base does not show through.
    replaced: Vec<PathBuf>,
    found: Found,
}

impl Walk<'_> {
    /// The base has nothing below a path that it does not have.
    fn directory(
        &mut self,
        dir: BorrowedFd<'_>,
        path: &Path,
        depth: usize,
        in_base: bool,
    ) -> std::io::Result<()> {
        interruption::check()?;
        let Some(mut names) = self.found.unless_closed(path, tree::list(dir))? else { return Ok(()) };
        // In path order, like the review: sorting everything together later would cost more.
        names.sort_unstable();
        for name in names {
            let child = path.join(&name);
            let Some(stat) = self.found.unless_closed(path, tree::stat_at(dir, &name))? else {
                return Ok(());
            };
            let Some(stat) = stat else { continue };
            if is_git_name(&name) {
                self.found.git_entries.push(child.clone());
                self.found.git_paths += count(dir, &name, depth)?;
                continue;
            }
            if stat.is_whiteout() {
                if !self.hidden.contains(child.as_path()) {
                    self.replaced.push(child.clone());
                    self.found.deleted(&child);
                }
                continue;
            }
            let after = After::of(&stat);
            let was = if in_base { self.base.get(&child)? } else { None };
            let was_dir = was.is_some_and(|entry| entry.kind == Kind::Dir);
            if stat.kind != Kind::Dir {
                if was_dir {
                    self.replaced.push(child.clone());
                }
                self.found.touched.push(Touched { path: child, after });
                continue;
            }
            self.found.touched.push(Touched { path: child.clone(), after });
            if depth >= DEEPEST {
                self.found.unreadable.push(child);
                continue;
            }
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            match rustix::fs::openat(dir, &name, flags, Mode::empty()) {
                Ok(inner) => {
                    if was_dir && self.is_opaque(inner.as_fd())? {
                        self.replaced.push(child.clone());
                    }
                    self.directory(inner.as_fd(), &child, depth + 1, was_dir)?;
                }
                Err(_) => self.found.unreadable.push(child),
            }
        }
        Ok(())
    }

    fn is_opaque(&self, dir: BorrowedFd<'_>) -> std::io::Result<bool> {
        let Some(namespace) = self.xattrs else { return Ok(false) };
        let mut value = [0_u8; 4];
        match rustix::fs::fgetxattr(dir, namespace.opaque(), &mut value) {
            Ok(length) => Ok(length == 1 && value[0] == b'y'),
            Err(rustix::io::Errno::NODATA | rustix::io::Errno::OPNOTSUPP) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// The entries there are, the named one included, as far as they are counted one by one.
fn count(dir: BorrowedFd<'_>, name: &std::ffi::OsStr, depth: usize) -> std::io::Result<u64> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(inner) = rustix::fs::openat(dir, name, flags, Mode::empty()) else { return Ok(1) };
    let mut total = 1;
    if depth < DEEPEST {
        interruption::check()?;
        for child in tree::list(inner.as_fd())? {
            total += count(inner.as_fd(), &child, depth + 1)?;
        }
    }
    Ok(total)
}
