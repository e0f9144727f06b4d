//! Carries out and takes back single operations, each recognised as done or not by inode, so that both can be repeated.
//! Whatever turns up that was not expected is put back where it was and reported; nothing is ever removed for good.

use super::journal::{Action, Operation};
use crate::mount::CrashPoints;
use crate::mount::changes::compare::ConflictReason;
use crate::mount::fs::stat::{Kind, Stat};
use crate::mount::fs::tree::{self, Place, Tree, exchange, move_new};
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd;

pub(super) struct Exchange<'a> {
    pub(super) project: &'a Tree,
    pub(super) stage: &'a Tree,
    pub(super) crash_points: &'a CrashPoints,
}

/// Why an operation was not carried out. The project is as it was before it.
#[derive(Debug)]
pub(super) enum Refusal {
    Conflict(ConflictReason),
    Io(io::Error),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Refusal {
        match Errno::from_io_error(&error) {
            // A parent went away or became something else.
            Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::EXIST) => {
                Refusal::Conflict(ConflictReason::ChangedDuringApply)
            }
            _ => Refusal::Io(error),
        }
    }
}

impl From<Errno> for Refusal {
    fn from(error: Errno) -> Refusal {
        io::Error::from(error).into()
    }
}

const CHANGED: Refusal = Refusal::Conflict(ConflictReason::ChangedDuringApply);

/// What an operation came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Done {
    Yes,
    /// The directory holds something that is not ours to delete.
    Kept,
}

impl Exchange<'_> {
    pub(super) fn forward(&self, operation: &Operation) -> Result<Done, Refusal> {
        self.crash_points.at_each("forward: before");
        let done = match operation.action {
            Action::Replace => self.replace(operation)?,
            Action::Create => self.create(operation)?,
            Action::Delete => self.delete(operation)?,
            Action::RemoveDir => self.remove_dir(operation)?,
            Action::Chmod { from, to } => self.chmod(operation, from, to)?,
        };
        self.crash_points.at_each("forward: after");
        Ok(done)
    }

    fn replace(&self, operation: &Operation) -> Result<Done, Refusal> {
        let (Some(old), Some(new)) = (&operation.old, &operation.new) else { return Err(CHANGED) };
        let (path, slot) = self.places(operation)?;
        let before = path.stat()?.ok_or(CHANGED)?;
        if !before.is_same_content(old) || before.mode != old.mode {
            return Err(CHANGED);
        }
        self.crash_points.at_each("replace: looked at");
        exchange(&path, &slot)?;
        self.crash_points.at_each("replace: exchanged");
        // Only what really came out counts: the user may have saved since the look above.
        let out = slot.stat()?.ok_or(CHANGED)?;
        let reason = if !out.is_same_content(old) || out.mode != old.mode {
            ConflictReason::ChangedDuringApply
        } else if old.kind == Kind::Dir && !is_empty_dir(&slot)? {
            ConflictReason::NotEmpty
        } else {
            return Ok(Done::Yes);
        };
        put_back(&path, &slot, new)?;
        Err(Refusal::Conflict(reason))
    }

    fn create(&self, operation: &Operation) -> Result<Done, Refusal> {
        if operation.within.is_some() {
            // It came with its directory.
            return Ok(Done::Yes);
        }
        let path = self.project.place(&operation.path)?;
        let stage = self.stage.fd();
        rustix::fs::renameat_with(stage, &operation.slot, &path.dir, &path.name, RenameFlags::NOREPLACE)?;
        Ok(Done::Yes)
    }

    fn delete(&self, operation: &Operation) -> Result<Done, Refusal> {
        let Some(old) = &operation.old else { return Err(CHANGED) };
        let (path, slot) = self.places(operation)?;
        let before = path.stat()?.ok_or(CHANGED)?;
        if !before.is_same_content(old) || before.mode != old.mode {
            return Err(CHANGED);
        }
        self.crash_points.at_each("delete: looked at");
        move_new(&path, &slot)?;
        self.crash_points.at_each("delete: moved");
        let out = slot.stat()?.ok_or(CHANGED)?;
        if out.is_same_content(old) {
            return Ok(Done::Yes);
        }
        // If something new is there by now, the save that came out stays in the stage and is reported.
        move_new(&slot, &path)?;
        Err(CHANGED)
    }

    fn remove_dir(&self, operation: &Operation) -> Result<Done, Refusal> {
        let path = self.project.place(&operation.path)?;
        match rustix::fs::unlinkat(&path.dir, &path.name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(Done::Yes),
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::BUSY) => Ok(Done::Kept),
            Err(error) => Err(error.into()),
        }
    }

    fn chmod(&self, operation: &Operation, from: u32, to: u32) -> Result<Done, Refusal> {
        let path = self.project.place(&operation.path)?;
        let before = path.stat()?.ok_or(CHANGED)?;
        let as_expected = operation.old.is_none_or(|old| before.is_same_content(&old));
        // A name that it has got since may be one that nothing is applied to.
        if !as_expected || before.permissions() != from || path.has_other_names()? {
            return Err(CHANGED);
        }
        self.crash_points.at_each("chmod: looked at");
        set_permissions(&path, &before, to)?;
        Ok(Done::Yes)
    }

    /// Whether an operation is carried out, by what is there now.
    pub(super) fn is_done(&self, operation: &Operation) -> io::Result<bool> {
        let now = self.project.stat(&operation.path)?;
        let slot = tree::stat_at(self.stage.fd(), OsStr::new(&operation.slot))?;
        let is = |stat: &Option<Stat>, expected: &Option<Stat>| match (stat, expected) {
            (Some(stat), Some(expected)) => stat.is_same_content(expected),
            _ => false,
        };
        Ok(match operation.action {
            Action::Replace => is(&now, &operation.new) && is(&slot, &operation.old),
            Action::Create => is(&now, &operation.new),
            Action::Delete => now.is_none() && is(&slot, &operation.old),
            Action::RemoveDir => now.is_none() || !is_empty_dir(&self.project.place(&operation.path)?)?,
            Action::Chmod { to, .. } => now.is_some_and(|stat| stat.permissions() == to),
        })
    }

    /// Takes one operation back, if it was carried out. `false` means that the user has been there since: then the
    /// path is left alone, and what was taken out of the project stays in the stage.
    pub(super) fn back(&self, operation: &Operation) -> io::Result<bool> {
        self.crash_points.at_each("back: before");
        let Ok((path, slot)) = self.places(operation) else {
            // Without its directory the path cannot hold anything of ours.
            return Ok(operation.action == Action::Create);
        };
        let (now, staged) = (path.stat()?, slot.stat()?);
        let now_is = |expected: &Option<Stat>| match (&now, expected) {
            (Some(now), Some(expected)) => now.is_same_content(expected),
            _ => false,
        };
        let was_taken = match (&staged, &operation.old) {
            (Some(staged), Some(old)) => staged.kind == old.kind && staged.ino == old.ino,
            _ => false,
        };
        let is_back = match operation.action {
            Action::Replace | Action::Delete if !was_taken => true,
            Action::Replace if now_is(&operation.new) => {
                let holds_more = now.is_some_and(|now| now.kind == Kind::Dir) && !is_empty_dir(&path)?;
                !holds_more && {
                    exchange(&path, &slot)?;
                    self.crash_points.at_each("back: exchanged");
                    undo_late_save(&path, &slot, operation)?
                }
            }
            // Gone by the user's hand since: what was there before the apply is what there is to restore.
            Action::Delete | Action::Replace if now.is_none() => move_new(&slot, &path).is_ok(),
            Action::Delete | Action::Replace => false,
            Action::Create if !now_is(&operation.new) => {
                // Still in the stage: never carried out. Else it is the user's now.
                staged.is_some() || now.is_none() || self.waits_in_directory(operation)?
            }
            Action::Create if now.is_some_and(|now| now.kind == Kind::Dir) => {
                match rustix::fs::unlinkat(&path.dir, &path.name, AtFlags::REMOVEDIR) {
                    Ok(()) => true,
                    Err(Errno::NOTEMPTY | Errno::EXIST) => false,
                    Err(error) => return Err(error.into()),
                }
            }
            Action::Create => {
                move_new(&path, &slot)?;
                let out = slot.stat()?;
                let is_ours =
                    matches!((&out, &operation.new), (Some(out), Some(new)) if out.is_same_content(new));
                is_ours || {
                    move_new(&slot, &path)?;
                    false
                }
            }
            Action::RemoveDir => match (now, &operation.old) {
                (None, Some(old)) => {
                    make_directory(&path, old)?;
                    true
                }
                _ => true,
            },
            Action::Chmod { from, to } => match now {
                Some(now)
                    if now.permissions() == to && operation.old.is_none_or(|old| old.ino == now.ino) =>
                {
                    set_permissions(&path, &now, from)?;
                    true
                }
                _ => true,
            },
        };
        self.crash_points.at_each("back: after");
        Ok(is_back)
    }

    /// Whether it is in the stage still, in a directory that is to be made.
    fn waits_in_directory(&self, operation: &Operation) -> io::Result<bool> {
        Ok(operation.within.is_some() && self.stage.stat(&operation.staged_at())?.is_some())
    }

    fn places(&self, operation: &Operation) -> io::Result<(Place, Place)> {
        let path = self.project.place(&operation.path)?;
        let slot = self.stage.place(operation.slot.as_ref())?;
        Ok((path, slot))
    }
}

/// After an exchange back the stage must hold what we had staged; if it holds a later save of the user's, that
/// is what the project must have.
fn undo_late_save(path: &Place, slot: &Place, operation: &Operation) -> io::Result<bool> {
    let out = slot.stat()?;
    let is_ours = matches!((&out, &operation.new), (Some(out), Some(new)) if out.is_same_content(new));
    if !is_ours && out.is_some() {
        exchange(path, slot)?;
    }
    Ok(is_ours)
}

/// Swaps back what was swapped out wrongly. Should the user have saved over our version in that moment, the newest
/// save is what the project gets, and the older one stays in the stage.
fn put_back(path: &Place, slot: &Place, new: &Stat) -> io::Result<()> {
    exchange(path, slot)?;
    match slot.stat()? {
        Some(out) if out.ino != new.ino => exchange(path, slot),
        _ => Ok(()),
    }
}

fn is_empty_dir(place: &Place) -> io::Result<bool> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat(&place.dir, &place.name, flags, Mode::empty()) {
        Ok(dir) => tree::is_empty(dir.as_fd()),
        Err(_) => Ok(false),
    }
}

fn make_directory(place: &Place, old: &Stat) -> io::Result<()> {
    rustix::fs::mkdirat(&place.dir, &place.name, Mode::RWXU)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let dir = rustix::fs::openat(&place.dir, &place.name, flags, Mode::empty())?;
    let owner = (rustix::fs::Uid::from_raw(old.uid), rustix::fs::Gid::from_raw(old.gid));
    let _ = rustix::fs::fchown(&dir, Some(owner.0), Some(owner.1));
    Ok(rustix::fs::fchmod(&dir, Mode::from_raw_mode(old.mode as _))?)
}

/// Sets the permission bits of exactly the inode that was looked at, which need not be readable.
fn set_permissions(place: &Place, expected: &Stat, permissions: u32) -> io::Result<()> {
    let mode = Mode::from_raw_mode(((expected.mode & !0o777) | permissions) as _);
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&place.dir, &place.name, flags, Mode::empty())?;
        let stat = Stat::from(&rustix::fs::fstat(&fd)?);
        if stat.ino != expected.ino || stat.kind != expected.kind {
            return Err(Errno::NOENT.into());
        }
        // A descriptor that was opened without rights takes no fchmod; its name in /proc does.
        let by_fd = format!("/proc/self/fd/{}", fd.as_raw_fd());
        if rustix::fs::chmodat(rustix::fs::CWD, by_fd, mode, AtFlags::empty()).is_ok() {
            return Ok(());
        }
    }
    if expected.kind == Kind::Symlink {
        return Ok(());
    }
    Ok(rustix::fs::chmodat(&place.dir, &place.name, mode, AtFlags::empty())?)
}
