//! Copies one entry of a tree (a directory with everything in it) without following links. The caller chooses the entries.

use super::copy_file::Copier;
use super::stat::Kind;
use super::tree::{self, Tree};
use super::whiteout::whiteout_at;
use rustix::fs::{Mode, OFlags, XattrFlags, fgetxattr, fsetxattr, mkdirat, openat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::AtomicBool;

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// What to copy besides files, links and directories, and what to skip.
pub(crate) struct CopyOptions<'a> {
    /// The overlay's mark of an opaque directory. If given, such marks and whiteouts are copied too.
    pub(crate) opaque: Option<&'a str>,
    /// Paths to skip, relative to the trees.
    pub(crate) skip: &'a dyn Fn(&Path) -> bool,
}

/// Copies the entry at `path` from one tree to the same path of another, whose directories exist.
pub(crate) fn copy_entry(from: &Tree, to: &Tree, path: &Path, options: &CopyOptions) -> io::Result<()> {
    let (source, target) = (from.place(path)?, to.place(path)?);
    copy_at(&source.dir, &target.dir, &source.name, path, options)
}

/// Creates the directories above `path` in a tree, with the modes that they have in another tree. Anything there that is not a
/// directory is replaced.
pub(crate) fn make_parents(from: &Tree, to: &Tree, path: &Path) -> io::Result<()> {
    let mut parents: Vec<&Path> =
        path.ancestors().skip(1).filter(|dir| !dir.as_os_str().is_empty()).collect();
    parents.reverse();
    for dir in parents {
        let place = to.place(dir)?;
        match place.stat()?.map(|stat| stat.kind) {
            Some(Kind::Dir) => continue,
            Some(_) => tree::remove_all(place.dir.as_fd(), &place.name)?,
            None => {}
        }
        let mode = from.stat(dir)?.filter(|stat| stat.kind == Kind::Dir).map_or(0o755, |stat| stat.mode);
        mkdirat(&place.dir, &place.name, Mode::RWXU)?;
        let made = openat(&place.dir, &place.name, DIRECTORY, Mode::empty())?;
        // Something is about to be put into it.
        rustix::fs::fchmod(&made, Mode::from_raw_mode((mode | 0o300) as _))?;
    }
    Ok(())
}

/// Removes the entry at `path`, if it is there.
pub(crate) fn remove_entry(tree: &Tree, path: &Path) -> io::Result<()> {
    match tree.stat(path)? {
        None => Ok(()),
        Some(_) => {
            let place = tree.place(path)?;
            tree::remove_all(place.dir.as_fd(), &place.name)
        }
    }
}

fn copy_at(from: &OwnedFd, to: &OwnedFd, name: &OsStr, path: &Path, options: &CopyOptions) -> io::Result<()> {
    let Some(stat) = tree::stat_at(from.as_fd(), name)? else { return Ok(()) };
    if (options.skip)(path) {
        return Ok(());
    }
    let reflink = AtomicBool::new(true);
    let mut copier = Copier::new(from, to, &reflink);
    let name = Path::new(name);
    match stat.kind {
        Kind::Special if stat.is_whiteout() && options.opaque.is_some() => whiteout_at(to.as_fd(), name)?,
        Kind::Special => {}
        Kind::File => {
            copier.file(name, name)?;
        }
        Kind::Symlink => {
            copier.symlink(name, name)?;
        }
        Kind::Dir => {
            match mkdirat(to, name, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            let (inner_from, inner_to) =
                (openat(from, name, DIRECTORY, Mode::empty())?, openat(to, name, DIRECTORY, Mode::empty())?);
            if let Some(opaque) = options.opaque {
                copy_mark(&inner_from, &inner_to, opaque)?;
            }
            for child in tree::list(inner_from.as_fd())? {
                copy_at(&inner_from, &inner_to, &child, &path.join(&child), options)?;
            }
            copier.finish_dir(name, name)?;
        }
    }
    Ok(())
}

fn copy_mark(from: &OwnedFd, to: &OwnedFd, mark: &str) -> io::Result<()> {
    let mut value = [0_u8; 8];
    match fgetxattr(from, mark, &mut value) {
        Ok(length) => Ok(fsetxattr(to, mark, &value[..length], XattrFlags::empty())?),
        Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
