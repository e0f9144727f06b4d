//! Copies plain files out of a tree that an agent could write: no links, no special files, no modes, up to a limit. Everything else is
//! silently skipped. It removes nothing, and replaces each file atomically.

use super::stat::Kind;
use super::tree::{self, Tree};
use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const READ: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
const WRITE: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Name of a file until it is complete.
const UNFINISHED: &str = ".agentworkforce-unfinished";
const DEEPEST: usize = 16;

/// How much may still be copied.
#[derive(Debug, Clone, Copy)]
pub struct PlainCopy {
    pub files: usize,
    pub bytes: u64,
}

impl Default for PlainCopy {
    /// More than the conversations of a session will ever need.
    fn default() -> PlainCopy {
        PlainCopy { files: 20_000, bytes: 2 << 30 }
    }
}

impl PlainCopy {
    /// Copies what is below one directory to below another, both relative to a tree that is ours; without the first there is
    /// nothing to do. Paths that `skip` names, relative to the directory, are left out.
    pub fn copy(
        &mut self,
        (from, from_dir): (&Tree, &Path),
        (to, to_dir): (&Tree, &Path),
        skip: &dyn Fn(&Path) -> bool,
    ) -> io::Result<()> {
        let from = match from.open_dir(from_dir) {
            Ok(from) => from,
            Err(error) if is_other(&error) => return Ok(()),
            Err(error) => return Err(error),
        };
        let mut target = to.open_dir(Path::new(""))?;
        for name in to_dir {
            match inner(&target, name)? {
                Some(next) => target = next,
                None => return Ok(()),
            }
        }
        self.below(&from, &target, Path::new(""), DEEPEST, skip)
    }

    fn below(
        &mut self,
        from: &OwnedFd,
        to: &OwnedFd,
        path: &Path,
        deepest: usize,
        skip: &dyn Fn(&Path) -> bool,
    ) -> io::Result<()> {
        for name in tree::list(from.as_fd())? {
            let path = path.join(&name);
            if skip(&path) || name == UNFINISHED {
                continue;
            }
            match tree::stat_at(from.as_fd(), &name)?.map(|stat| stat.kind) {
                Some(Kind::Dir) if deepest > 0 => {
                    let Ok(from) = openat(from, &name, DIRECTORY, Mode::empty()) else { continue };
                    if let Some(to) = inner(to, &name)? {
                        self.below(&from, &to, &path, deepest - 1, skip)?;
                    }
                }
                Some(Kind::File) => self.file(from, to, &name)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn file(&mut self, from: &OwnedFd, to: &OwnedFd, name: &OsStr) -> io::Result<()> {
        let Ok(file) = openat(from, name, READ, Mode::empty()) else { return Ok(()) };
        let file = File::from(file);
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Ok(());
        }
        if self.files == 0 || metadata.len() > self.bytes {
            tracing::warn!(file = %name.display(), "too much for a conversation: left behind");
            return Ok(());
        }
        self.files -= 1;
        self.bytes -= metadata.len();
        match unlinkat(to, UNFINISHED, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let mut copy = File::from(openat(to, UNFINISHED, WRITE, Mode::RUSR | Mode::WUSR)?);
        io::copy(&mut (&file).take(metadata.len()), &mut copy)?;
        // Harnesses find their latest conversation by its time.
        copy.set_modified(metadata.modified()?)?;
        match renameat(to, UNFINISHED, to, name) {
            // A directory has its name.
            Err(Errno::ISDIR | Errno::EXIST | Errno::NOTEMPTY) => {
                Ok(unlinkat(to, UNFINISHED, AtFlags::empty())?)
            }
            other => Ok(other?),
        }
    }
}

/// Opens a directory in another, creating it if it is missing; `None` if something else has its name.
fn inner(dir: &OwnedFd, name: &OsStr) -> io::Result<Option<OwnedFd>> {
    debug_assert!(!name.as_bytes().contains(&b'/'));
    match mkdirat(dir, name, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    match openat(dir, name, DIRECTORY, Mode::empty()) {
        Ok(inner) => Ok(Some(inner)),
        Err(Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Whether no such directory exists: nothing at all, or something that is not a directory.
fn is_other(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn plain_files_are_copied_and_nothing_else_is_touched() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        for dir in ["deep/er", "skipped", "there"] {
            fs::create_dir_all(from.join(dir)).unwrap();
        }
        fs::create_dir_all(to.join("file-here")).unwrap();
        for file in ["a", "deep/er/b", "skipped/c", "there/d", "file-here", "late"] {
            fs::write(from.join(file), file).unwrap();
        }
        fs::set_permissions(from.join("a"), fs::Permissions::from_mode(0o6777)).unwrap();
        symlink("/etc/passwd", from.join("link")).unwrap();
        symlink("/etc", from.join("deep/link")).unwrap();
        symlink(dir.path(), to.join("there")).unwrap();
        let trees = (Tree::open(&from).unwrap(), Tree::open(&to).unwrap());
        let all = Path::new("");
        let mut copy = PlainCopy { files: 10, bytes: 25 };
        copy.copy((&trees.0, all), (&trees.1, all), &|path| path == Path::new("skipped")).unwrap();
        let listed = |dir: &Path| {
            let mut names: Vec<_> =
                fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        assert_eq!(listed(&to), ["a", "deep", "file-here", "late", "there"]);
        assert_eq!(listed(&to.join("deep")), ["er"]);
        assert_eq!(listed(&to.join("file-here")), [""; 0]);
        assert_eq!(listed(dir.path()), ["from", "to"]);
        assert_eq!(fs::metadata(to.join("a")).unwrap().permissions().mode() & 0o7777, 0o600);
        // Not even this much is left of the limit.
        fs::write(from.join("late"), "x".repeat(20)).unwrap();
        copy.copy((&trees.0, all), (&trees.1, all), &|_| false).unwrap();
        assert_eq!(fs::read_to_string(to.join("late")).unwrap(), "late");
        copy.copy((&trees.0, Path::new("nothing")), (&trees.1, Path::new("new")), &|_| false).unwrap();
        assert!(!to.join("new").exists());
    }
}
