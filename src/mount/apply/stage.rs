//! Puts new content beside the project, on its filesystem, complete and durable, before the project is touched.
//! It writes only into the stage directory.

use super::agents_versions::AgentsVersions;
use super::journal::{Action, Operation};
use super::steps::{Content, Step};
use crate::files::regular;
use crate::host::interruption;
use crate::mount::CrashPoints;
use crate::mount::changes::content_store::ContentHash;
use crate::mount::changes::earlier::AgentsVersion;
use crate::mount::fs::copy_file::{Stop, copy_bytes};
use crate::mount::fs::data::has_holes;
use crate::mount::fs::stat::{Kind, PERMISSIONS, SET_ID, Stat};
use crate::mount::fs::tree::{self, Tree};
use anyhow::Context;
use rustix::fs::{AtFlags, Gid, Mode, OFlags, Timespec, Timestamps, Uid};
use std::cell::RefCell;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// From here on one sync of the filesystem costs less than one for each file.
const MANY_FILES: usize = 200;
/// Up to this size a file is copied through memory.
const SMALL: u64 = 64 << 10;

/// User and group, if anybody has it.
type Owner = Option<(u32, u32)>;

pub(super) struct Staging<'a> {
    pub(super) stage: &'a Tree,
    pub(super) project: &'a Tree,
    /// `None` for an undo, which takes nothing from a mount.
    pub(super) mount: Option<&'a Tree>,
    pub(super) crash_points: &'a CrashPoints,
    pub(super) durable: bool,
    /// Keeps the agent's versions; `None` for an undo.
    pub(super) agents: Option<AgentsVersions>,
    pub(super) last_owner: RefCell<Option<(PathBuf, Owner)>>,
    pub(super) last_directory: RefCell<Option<(PathBuf, Tree)>>,
}

impl Staging<'_> {
    pub(super) fn all(&self, steps: &[Step]) -> anyhow::Result<Vec<Operation>> {
        let each = self.durable && steps.len() <= MANY_FILES;
        let mut operations = Vec::with_capacity(steps.len() + 1);
        let mut closed_later = Vec::new();
        for (number, step) in steps.iter().enumerate() {
            self.crash_points.at_each("stage: before one");
            // Nothing of the project is touched yet, so it is not too late to stop.
            interruption::check()?;
            let slot = number.to_string();
            let staged = match &step.content {
                None => None,
                Some(content) => Some(self.stage_entry(step, content, &slot, each).with_context(|| {
                    format!("cannot prepare {}", self.project.path().join(&step.path).display())
                })?),
            };
            let (new, written) = staged.map_or((None, None), |(new, written)| (Some(new), written));
            if let (Some(Content::Directory { mode, .. }), Some(new)) = (&step.content, &new)
                && new.permissions() != *mode
            {
                closed_later.push((step.path.clone(), new.permissions(), *mode));
            }
            operations.push(Operation {
                path: step.path.clone().into(),
                action: step.action,
                agents: self.agents_version(step, &slot),
                slot,
                old: step.old,
                new,
                post: None,
                written,
                taken_back: false,
                merged: step.merged.is_some(),
            });
        }
        // Deepest first: a directory that is closed cannot be gone through any more.
        closed_later.sort_by(|a, b| b.0.cmp(&a.0));
        for (path, from, to) in closed_later {
            let slot = operations.len().to_string();
            let action = Action::Chmod { from, to };
            operations.push(Operation {
                path: path.into(),
                action,
                slot,
                old: None,
                new: None,
                post: None,
                written: None,
                taken_back: false,
                agents: None,
                merged: false,
            });
        }
        self.crash_points.at("stage: all written");
        if self.durable {
            if each {
                rustix::fs::fsync(self.stage.fd())?;
            } else {
                sync_filesystem(self.stage.fd())?;
            }
        }
        Ok(operations)
    }

    fn agents_version(&self, step: &Step, slot: &str) -> Option<AgentsVersion> {
        let (agents, mount) = self.agents.as_ref().zip(self.mount)?;
        agents.keep(self.stage, mount, step, slot)
    }

    /// Gives back what was staged, and the hash of what it holds.
    fn stage_entry(
        &self,
        step: &Step,
        content: &Content,
        slot: &str,
        sync: bool,
    ) -> anyhow::Result<(Stat, Option<ContentHash>)> {
        let stage = self.stage.fd();
        let written = match content {
            Content::MountFile { mode } | Content::ProjectFile { mode } => {
                let (source, stat) = if let Content::ProjectFile { .. } = content {
                    self.project.open_file(&step.path)?
                } else {
                    let mount = self.mount.context("there is no mount to take it from")?;
                    self.open_in_mount(mount, &step.path)?
                };
                let file = self.new_file(slot)?;
                if stat.size <= SMALL {
                    // Read once for the copy and the hash.
                    let content = regular::content(source, SMALL)?;
                    (&file).write_all(&content)?;
                    self.finish_file(step, &file, *mode, sync)?;
                    Some(ContentHash::of(&content))
                } else {
                    copy_bytes(source.as_fd(), file.as_fd(), interruption::check)?;
                    self.finish_file(step, &file, *mode, sync)?;
                    hash_of(&file)?
                }
            }
            Content::MergedFile { merged, mode } => {
                let text = merged.text.as_ref().context("there is no merged text")?;
                let mut file = self.new_file(slot)?;
                file.write_all(&text.result)?;
                self.finish_file(step, &file, *mode, sync)?;
                Some(ContentHash::of(&text.result))
            }
            Content::Symlink { target } => {
                rustix::fs::symlinkat(target, stage, slot)?;
                Some(ContentHash::of(target.as_bytes()))
            }
            Content::Directory { mode, owner } => {
                rustix::fs::mkdirat(stage, slot, Mode::RWXU)?;
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let dir = rustix::fs::openat(stage, slot, flags, Mode::empty())?;
                match owner {
                    Some((uid, gid)) => give(dir.as_fd(), *uid, *gid),
                    None => self.give_to_owner_of(step, dir.as_fd()),
                }
                // Open to us until it is filled.
                rustix::fs::fchmod(&dir, Mode::from_raw_mode((mode | 0o700) as _))?;
                None
            }
            Content::Undo { slot: taken } => {
                self.give_back(taken, slot, sync)?;
                content_of(self.stage, Path::new(slot))
            }
        };
        self.crash_points.at_each("stage: one written");
        let stat = tree::stat_at(stage, OsStr::new(slot))?.context("it went away")?;
        Ok((stat, written))
    }

    /// Owner, attributes and mode of a file whose content is written.
    fn finish_file(&self, step: &Step, file: &File, mode: u32, sync: bool) -> anyhow::Result<()> {
        self.crash_points.at_each("stage: content copied");
        self.give_to_owner_of(step, file.as_fd());
        if step.old.is_some()
            && let Ok((old, _)) = self.project.open_file(&step.path)
        {
            keep_attributes(old.as_fd(), file.as_fd());
        }
        // Special bits of the file that is replaced stay, and those that the agent set do not come; but what the agent wrote must
        // not run as the owner of the user's file.
        let is_users = matches!(step.content, Some(Content::ProjectFile { .. }));
        let kept = if is_users { !PERMISSIONS } else { !PERMISSIONS & !SET_ID };
        let special = step.old.filter(|old| old.kind == Kind::File).map_or(0, |old| old.mode & kept);
        rustix::fs::fchmod(file, Mode::from_raw_mode((mode | special) as _))?;
        if sync {
            file.sync_all()?;
        }
        Ok(())
    }

    fn new_file(&self, slot: &str) -> std::io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(self.stage.fd(), slot, flags, Mode::RUSR | Mode::WUSR)?))
    }

    /// The entry that was taken out: itself where a link to it can be made, else a copy that keeps its times.
    fn give_back(&self, taken: &Path, slot: &str, sync: bool) -> anyhow::Result<()> {
        let stage = self.stage.fd();
        if rustix::fs::linkat(rustix::fs::CWD, taken, stage, slot, AtFlags::empty()).is_ok() {
            return Ok(());
        }
        let directory = Tree::open(taken.parent().context("an undo copy has a directory")?)?;
        let name = Path::new(taken.file_name().context("an undo copy has a name")?);
        copy_entry(&directory, name, stage, OsStr::new(slot), sync, interruption::check)
    }

    /// A run as root on somebody's checkout must not leave files of root behind. Not allowed to others, nor needed.
    fn give_to_owner_of(&self, step: &Step, file: BorrowedFd<'_>) {
        let owner = match step.old {
            Some(old) => Some((old.uid, old.gid)),
            None => self.owner_above(step.path.parent().unwrap_or(Path::new(""))),
        };
        if let Some((uid, gid)) = owner {
            give(file, uid, gid);
        }
    }

    /// Who has the nearest directory that is there. New files come directory by directory, so the last answer is kept.
    fn owner_above(&self, directory: &Path) -> Owner {
        let mut last = self.last_owner.borrow_mut();
        if let Some((known, owner)) = &*last
            && known == directory
        {
            return *owner;
        }
        let existing = directory.ancestors().find_map(|path| self.project.stat(path).ok()?);
        let owner = existing.map(|stat| (stat.uid, stat.gid));
        *last = Some((directory.to_owned(), owner));
        owner
    }

    /// A file of the mount, which nobody changes any more: its directory is opened once for all files in it.
    fn open_in_mount(&self, mount: &Tree, path: &Path) -> std::io::Result<(File, Stat)> {
        let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
            return mount.open_file(path);
        };
        let mut last = self.last_directory.borrow_mut();
        if last.as_ref().is_none_or(|(known, _)| known != directory) {
            *last = Some((directory.to_owned(), mount.below(directory)?));
        }
        match &*last {
            Some((_, tree)) => tree.open_file(Path::new(name)),
            None => mount.open_file(path),
        }
    }
}

fn give(file: BorrowedFd<'_>, uid: u32, gid: u32) {
    if let Ok(stat) = rustix::fs::fstat(file)
        && (stat.st_uid, stat.st_gid) != (uid, gid)
    {
        let _ = rustix::fs::fchown(file, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
    }
}

/// The hash of what a file holds. One with holes may be larger than anybody can read.
fn hash_of(file: &File) -> std::io::Result<Option<ContentHash>> {
    if has_holes(file)? { Ok(None) } else { ContentHash::of_file(file).map(Some) }
}

/// The hash of a file or link in a tree; `None` for anything else, and for what cannot be read.
pub(super) fn content_of(tree: &Tree, path: &Path) -> Option<ContentHash> {
    match tree.stat(path).ok()??.kind {
        Kind::File => hash_of(&tree.open_file(path).ok()?.0).ok()?,
        Kind::Symlink => Some(ContentHash::of(tree.read_link(path).ok()?.as_bytes())),
        Kind::Dir | Kind::Special => None,
    }
}

/// Access lists and the user's own attributes of the file that is replaced, as far as the filesystem has them.
fn keep_attributes(old: BorrowedFd<'_>, new: BorrowedFd<'_>) {
    let mut names = vec![0_u8; 4096];
    let Ok(length) = rustix::fs::flistxattr(old, &mut names) else { return };
    for name in names[..length].split(|&byte| byte == 0) {
        let is_kept = name.starts_with(b"user.") || name == b"system.posix_acl_access";
        let mut value = vec![0_u8; 4096];
        if is_kept && let Ok(length) = rustix::fs::fgetxattr(old, name, &mut value) {
            let _ = rustix::fs::fsetxattr(new, name, &value[..length], rustix::fs::XattrFlags::empty());
        }
    }
}

/// Copies one file or symlink with mode, owner and times, to a name that is free.
pub(super) fn copy_entry(
    from: &Tree,
    name: &Path,
    to: BorrowedFd<'_>,
    to_name: &OsStr,
    sync: bool,
    stop: Stop,
) -> anyhow::Result<()> {
    let stat = from.stat(name)?.context("it went away")?;
    match stat.kind {
        Kind::Symlink => rustix::fs::symlinkat(from.read_link(name)?, to, to_name)?,
        Kind::Dir => rustix::fs::mkdirat(to, to_name, Mode::from_raw_mode((stat.mode | 0o700) as _))?,
        Kind::Special => anyhow::bail!("it is not a file"),
        Kind::File => {
            let (source, stat) = from.open_file(name)?;
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = File::from(rustix::fs::openat(to, to_name, flags, Mode::RUSR | Mode::WUSR)?);
            copy_bytes(source.as_fd(), file.as_fd(), stop)?;
            give(file.as_fd(), stat.uid, stat.gid);
            rustix::fs::fchmod(&file, Mode::from_raw_mode(stat.mode as _))?;
            let mtime = Timespec { tv_sec: stat.mtime.seconds, tv_nsec: stat.mtime.nanos.into() };
            rustix::fs::futimens(&file, &Timestamps { last_access: mtime, last_modification: mtime })?;
            if sync {
                file.sync_all()?;
            }
        }
    }
    Ok(())
}

pub(super) fn sync_filesystem(of: BorrowedFd<'_>) -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::fs::syncfs(of)?;
    #[cfg(not(target_os = "linux"))]
    {
        let _ = of;
        rustix::fs::sync();
    }
    Ok(())
}
