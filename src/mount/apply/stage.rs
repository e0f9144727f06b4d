//! Puts new content beside the project, on its filesystem, complete and durable, before the project is touched.
//! It writes only into the stage directory.

use super::agents_versions::AgentsVersions;
use super::journal::{Action, Operation, Within};
use super::progress;
use super::steps::{Content, Step};
use crate::host::interruption;
use crate::mount::CrashPoints;
use crate::mount::changes::content_store::ContentHash;
use crate::mount::fs::copy_file::{Stop, copy_bytes};
use crate::mount::fs::data::has_holes;
use crate::mount::fs::stat::{Kind, PERMISSIONS, SET_ID, Stat};
use crate::mount::fs::tree::{self, Tree};
use crate::mount::fs::walk::threads;
use anyhow::Context;
use rustix::fs::{AtFlags, Gid, Mode, OFlags, Timespec, Timestamps, Uid};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// From here on one sync of the filesystem costs less than one for each file.
const MANY_FILES: usize = 200;
/// Up to this size a file is copied through memory.
const SMALL: u64 = 64 << 10;
/// So many steps are worth another thread.
const SHARE: usize = 1000;
/// So many are taken at once by a thread: a few directories.
const PORTION: usize = 100;

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
}

/// A directory that is staged to be made where nothing is. What comes into it is staged in it, and comes with it.
struct Nest {
    /// In the stage.
    path: PathBuf,
    within: Within,
    owner: Owner,
}

/// By the path in the project.
type Nests<'a> = HashMap<&'a Path, Nest>;

/// Where a step is staged: the directory in the stage, and the name there.
struct Spot<'a> {
    directory: &'a Path,
    name: &'a OsStr,
    within: Option<Within>,
    /// Who is to have it, where that is known.
    owner: Option<Owner>,
}

impl Staging<'_> {
    pub(super) fn all(&self, steps: &[Step]) -> anyhow::Result<Vec<Operation>> {
        let each = self.durable && steps.len() <= MANY_FILES;
        let mut operations: Vec<Option<Operation>> = Vec::new();
        operations.resize_with(steps.len(), || None);
        let nests = self.directories(steps, each, &mut operations)?;
        let rest: Vec<usize> = (0..steps.len()).filter(|&number| operations[number].is_none()).collect();
        self.share(steps, &nests, each, &rest, &mut operations)?;
        let mut operations: Vec<Operation> = operations.into_iter().flatten().collect();
        let closed_later = closed_later(steps, &operations);
        operations.extend(closed_later);
        self.crash_points.at("stage: all written");
        if self.durable {
            if each {
                for nest in nests.values() {
                    rustix::fs::fsync(self.stage.open_dir(&nest.path)?)?;
                }
                rustix::fs::fsync(self.stage.fd())?;
            } else {
                sync_filesystem(self.stage.fd())?;
            }
        }
        Ok(operations)
    }

    /// The directories first, parents before what is in them.
    fn directories<'s>(
        &self,
        steps: &'s [Step],
        each: bool,
        operations: &mut [Option<Operation>],
    ) -> anyhow::Result<Nests<'s>> {
        let mut nests = Nests::new();
        let mut worker = Worker::new(self, each);
        for (number, step) in steps.iter().enumerate() {
            if !matches!(step.content, Some(Content::Directory { .. })) {
                continue;
            }
            operations[number] = Some(worker.step(number, step, &nests)?);
            if step.action == Action::Create {
                let slot = u32::try_from(number).context("there are too many changes")?;
                let nest = match spot_in(&nests, step) {
                    Some((above, name)) => Nest {
                        path: above.path.join(name),
                        within: Within { names: above.within.names + 1, ..above.within },
                        owner: above.owner,
                    },
                    None => Nest {
                        path: number.to_string().into(),
                        within: Within { slot, names: 1 },
                        owner: worker.owner_above(step.path.parent().unwrap_or(Path::new(""))),
                    },
                };
                nests.insert(&step.path, nest);
            }
        }
        Ok(nests)
    }

    /// The given steps, on several cores if they are many.
    fn share(
        &self,
        steps: &[Step],
        nests: &Nests<'_>,
        each: bool,
        numbers: &[usize],
        operations: &mut [Option<Operation>],
    ) -> anyhow::Result<()> {
        let next = AtomicUsize::new(0);
        let staged: Mutex<Vec<(usize, anyhow::Result<Operation>)>> = Mutex::default();
        let work = || {
            let mut worker = Worker::new(self, each);
            let mut done = Vec::new();
            while let Some(portion) = numbers.chunks(PORTION).nth(next.fetch_add(1, Ordering::Relaxed)) {
                for &number in portion {
                    let operation = worker.step(number, &steps[number], nests);
                    let is_over = operation.is_err();
                    done.push((number, operation));
                    if is_over {
                        // The others end as soon as they ask for more.
                        next.store(numbers.len(), Ordering::Relaxed);
                        break;
                    }
                }
            }
            staged.lock().unwrap_or_else(std::sync::PoisonError::into_inner).append(&mut done);
        };
        std::thread::scope(|scope| {
            for _ in 1..threads().min(numbers.len() / SHARE) {
                scope.spawn(work);
            }
            work();
        });
        let mut staged = staged.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        // The first error counts.
        staged.sort_unstable_by_key(|(number, _)| *number);
        for (number, operation) in staged {
            operations[number] = Some(operation?);
        }
        Ok(())
    }
}

/// The directory that a step is staged in, if that is made as well, and the name there.
fn spot_in<'n, 's>(nests: &'n Nests<'_>, step: &'s Step) -> Option<(&'n Nest, &'s OsStr)> {
    if step.action != Action::Create {
        return None;
    }
    Some((nests.get(step.path.parent()?)?, step.path.file_name()?))
}

/// Directories that are to be closed once they are filled. Deepest first: one that is closed cannot be gone through any more.
fn closed_later(steps: &[Step], staged: &[Operation]) -> Vec<Operation> {
    let mut closed = Vec::new();
    for (step, operation) in steps.iter().zip(staged) {
        if let (Some(Content::Directory { mode, .. }), Some(new)) = (&step.content, &operation.new)
            && new.permissions() != *mode
        {
            closed.push((step.path.clone(), Action::Chmod { from: new.permissions(), to: *mode }));
        }
    }
    closed.sort_by(|a, b| b.0.cmp(&a.0));
    let numbered = closed.into_iter().zip(staged.len()..);
    numbered.map(|((path, action), number)| Operation::new(path, action, number)).collect()
}

/// Stages steps one after the other. Those of one directory come together, so what is known of the last one is kept.
struct Worker<'a> {
    staging: &'a Staging<'a>,
    sync: bool,
    buffer: Vec<u8>,
    /// Whether the buffer has what the last one holds.
    holds: bool,
    last_owner: Option<(PathBuf, Owner)>,
    /// Of the mount, by its path.
    last_source: Option<(PathBuf, Tree)>,
    /// Of the stage, by its path.
    last_target: Option<(PathBuf, Rc<OwnedFd>)>,
}

impl<'a> Worker<'a> {
    fn new(staging: &'a Staging<'a>, sync: bool) -> Worker<'a> {
        Worker {
            staging,
            sync,
            buffer: Vec::new(),
            holds: false,
            last_owner: None,
            last_source: None,
            last_target: None,
        }
    }

    fn step(&mut self, number: usize, step: &Step, nests: &Nests<'_>) -> anyhow::Result<Operation> {
        self.staging.crash_points.at_each("stage: before one");
        // Nothing of the project is touched yet, so it is not too late to stop.
        interruption::check()?;
        let mut operation = Operation::new(step.path.clone(), step.action, number);
        operation.old = step.old;
        operation.merged = step.merged.is_some();
        let own_name = OsString::from(&operation.slot);
        let spot = match spot_in(nests, step) {
            Some((nest, name)) => {
                Spot { directory: &nest.path, name, within: Some(nest.within), owner: Some(nest.owner) }
            }
            None => Spot { directory: Path::new(""), name: &own_name, within: None, owner: None },
        };
        operation.within = spot.within;
        self.holds = false;
        if let Some(content) = &step.content {
            let (new, written) = self.entry(step, content, &spot).with_context(|| {
                format!("cannot prepare {}", self.staging.project.path().join(&step.path).display())
            })?;
            (operation.new, operation.written) = (Some(new), written);
        }
        if let Some((agents, mount)) = self.staging.agents.as_ref().zip(self.staging.mount) {
            let content = self.holds.then_some(self.buffer.as_slice());
            let staged = || Ok(self.staging.stage.open_file(&spot.directory.join(spot.name))?.0);
            operation.agents = agents.keep(mount, step, content, staged);
        }
        progress::advance();
        Ok(operation)
    }

    /// Gives back what was staged, and the hash of what it holds.
    fn entry(
        &mut self,
        step: &Step,
        content: &Content,
        spot: &Spot<'_>,
    ) -> anyhow::Result<(Stat, Option<ContentHash>)> {
        let staging = self.staging;
        let directory = self.target(spot.directory)?;
        let directory = directory.as_ref().map_or(staging.stage.fd(), |directory| directory.as_fd());
        let (stat, written) = match content {
            Content::MountFile { mode } | Content::ProjectFile { mode } => {
                let (source, stat) = if let Content::ProjectFile { .. } = content {
                    staging.project.open_file(&step.path)?
                } else {
                    self.open_in_mount(&step.path)?
                };
                let file = new_file(directory, spot.name, *mode)?;
                if stat.size <= SMALL {
                    // Read once for the copy and the hash. One that grows meanwhile is read as it was.
                    self.buffer.clear();
                    source.take(stat.size).read_to_end(&mut self.buffer)?;
                    self.holds = true;
                    (&file).write_all(&self.buffer)?;
                    let written = ContentHash::of(&self.buffer);
                    (self.finish_file(step, &file, *mode, spot)?, Some(written))
                } else {
                    copy_bytes(source.as_fd(), file.as_fd(), interruption::check)?;
                    let stat = self.finish_file(step, &file, *mode, spot)?;
                    (stat, hash_of(&file)?)
                }
            }
            Content::MergedFile { merged, mode } => {
                let text = merged.text.as_ref().context("there is no merged text")?;
                let mut file = new_file(directory, spot.name, *mode)?;
                file.write_all(&text.result)?;
                (self.finish_file(step, &file, *mode, spot)?, Some(ContentHash::of(&text.result)))
            }
            Content::Symlink { target } => {
                rustix::fs::symlinkat(target, directory, spot.name)?;
                (stat_of(directory, spot.name)?, Some(ContentHash::of(target.as_bytes())))
            }
            Content::Directory { mode, owner } => {
                rustix::fs::mkdirat(directory, spot.name, Mode::RWXU)?;
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let dir = rustix::fs::openat(directory, spot.name, flags, Mode::empty())?;
                let owner = match owner {
                    Some(owner) => Some(*owner),
                    None => self.owner_of(step, spot),
                };
                give(dir.as_fd(), owner)?;
                // Open to us until it is filled.
                rustix::fs::fchmod(&dir, Mode::from_raw_mode((mode | 0o700) as _))?;
                (Stat::from(&rustix::fs::fstat(&dir)?), None)
            }
            Content::Undo { slot: taken } => {
                give_back(taken, directory, spot.name, self.sync)?;
                let written = content_of(staging.stage, &spot.directory.join(spot.name));
                (stat_of(directory, spot.name)?, written)
            }
        };
        staging.crash_points.at_each("stage: one written");
        Ok((stat, written))
    }

    /// Owner, attributes and mode of a file whose content is written.
    fn finish_file(&mut self, step: &Step, file: &File, mode: u32, spot: &Spot<'_>) -> anyhow::Result<Stat> {
        self.staging.crash_points.at_each("stage: content copied");
        let owner = self.owner_of(step, spot);
        let mut stat = give(file.as_fd(), owner)?;
        if step.old.is_some()
            && let Ok((old, _)) = self.staging.project.open_file(&step.path)
        {
            keep_attributes(old.as_fd(), file.as_fd());
            stat = Stat::from(&rustix::fs::fstat(file)?);
        }
        // Special bits of the file that is replaced stay, and those that the agent set do not come; but what the agent wrote must
        // not run as the owner of the user's file.
        let is_users = matches!(step.content, Some(Content::ProjectFile { .. }));
        let kept = if is_users { !PERMISSIONS } else { !PERMISSIONS & !SET_ID };
        let special = step.old.filter(|old| old.kind == Kind::File).map_or(0, |old| old.mode & kept);
        if stat.mode != mode | special {
            rustix::fs::fchmod(file, Mode::from_raw_mode((mode | special) as _))?;
            stat = Stat::from(&rustix::fs::fstat(file)?);
        }
        if self.sync {
            file.sync_all()?;
        }
        Ok(stat)
    }

    /// A run as root on somebody's checkout must not leave files of root behind.
    fn owner_of(&mut self, step: &Step, spot: &Spot<'_>) -> Owner {
        match (step.old, spot.owner) {
            (Some(old), _) => Some((old.uid, old.gid)),
            (None, Some(owner)) => owner,
            (None, None) => self.owner_above(step.path.parent().unwrap_or(Path::new(""))),
        }
    }

    /// Who has the nearest directory that is there.
    fn owner_above(&mut self, directory: &Path) -> Owner {
        if let Some((known, owner)) = &self.last_owner
            && known == directory
        {
            return *owner;
        }
        let existing = directory.ancestors().find_map(|path| self.staging.project.stat(path).ok()?);
        let owner = existing.map(|stat| (stat.uid, stat.gid));
        self.last_owner = Some((directory.to_owned(), owner));
        owner
    }

    /// A file of the mount, which nobody changes any more: its directory is opened once for all files in it.
    fn open_in_mount(&mut self, path: &Path) -> anyhow::Result<(File, Stat)> {
        let mount = self.staging.mount.context("there is no mount to take it from")?;
        let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(mount.open_file(path)?);
        };
        if self.last_source.as_ref().is_none_or(|(known, _)| known != directory) {
            self.last_source = Some((directory.to_owned(), mount.below(directory)?));
        }
        let tree = self.last_source.as_ref().map_or(mount, |(_, tree)| tree);
        Ok(tree.open_file(Path::new(name))?)
    }

    /// A directory of the stage; `None` is the stage itself.
    fn target(&mut self, directory: &Path) -> std::io::Result<Option<Rc<OwnedFd>>> {
        if directory.as_os_str().is_empty() {
            return Ok(None);
        }
        if let Some((known, open)) = &self.last_target
            && known == directory
        {
            return Ok(Some(Rc::clone(open)));
        }
        let open = Rc::new(self.staging.stage.open_dir(directory)?);
        self.last_target = Some((directory.to_owned(), Rc::clone(&open)));
        Ok(Some(open))
    }
}

/// With the mode that it will have, as far as our mask lets it: nobody else gets into the stage.
fn new_file(directory: BorrowedFd<'_>, name: &OsStr, mode: u32) -> std::io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode((mode & PERMISSIONS) as _);
    Ok(File::from(rustix::fs::openat(directory, name, flags, mode)?))
}

/// The entry that was taken out: itself where a link to it can be made, else a copy that keeps its times.
fn give_back(taken: &Path, directory: BorrowedFd<'_>, name: &OsStr, sync: bool) -> anyhow::Result<()> {
    if rustix::fs::linkat(rustix::fs::CWD, taken, directory, name, AtFlags::empty()).is_ok() {
        return Ok(());
    }
    let from = Tree::open(taken.parent().context("an undo copy has a directory")?)?;
    let taken = Path::new(taken.file_name().context("an undo copy has a name")?);
    copy_entry(&from, taken, directory, name, sync, interruption::check)
}

fn stat_of(directory: BorrowedFd<'_>, name: &OsStr) -> anyhow::Result<Stat> {
    tree::stat_at(directory, name)?.context("it went away")
}

/// Gives a file to somebody and says what it is then. Not allowed to all, nor needed.
fn give(file: BorrowedFd<'_>, owner: Owner) -> std::io::Result<Stat> {
    let stat = Stat::from(&rustix::fs::fstat(file)?);
    match owner {
        Some((uid, gid)) if (stat.uid, stat.gid) != (uid, gid) => {
            let _ = rustix::fs::fchown(file, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
            Ok(Stat::from(&rustix::fs::fstat(file)?))
        }
        _ => Ok(stat),
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
            give(file.as_fd(), Some((stat.uid, stat.gid)))?;
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
