//! A directory that is opened once; everything below it is reached step by step without following symlinks. Access never leaves that
//! directory, whatever names an agent or a user puts there.

use crate::mount::fs::stat::{Kind, Stat};
use crate::mount::fs::walk::threads;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, RenameFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// What is at a path below a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    Present(Stat),
    /// Not there, and its directory is.
    Absent,
    /// Not there: this many leading components are directories, and the next is not.
    NoParent {
        existing: usize,
    },
}

impl Lookup {
    pub fn stat(self) -> Option<Stat> {
        match self {
            Lookup::Present(stat) => Some(stat),
            Lookup::Absent | Lookup::NoParent { .. } => None,
        }
    }
}

/// One directory, held open.
#[derive(Debug)]
pub struct Tree {
    fd: OwnedFd,
    path: PathBuf,
    /// Whether to read files of ours even if their mode denies it.
    opens_closed: bool,
}

/// The directory of an entry, held open, and the entry's name in it.
pub struct Place {
    pub dir: OwnedFd,
    pub name: OsString,
}

impl Tree {
    /// Opens a directory by its path; here a symlink is followed, because the caller chose the path.
    pub fn open(path: &Path) -> io::Result<Tree> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(path, flags, Mode::empty())?;
        Ok(Tree { fd, path: path.to_owned(), opens_closed: false })
    }

    /// Opens a directory below this one, following no symlink on the way.
    pub fn below(&self, relative: &Path) -> io::Result<Tree> {
        Ok(Tree {
            fd: self.open_dir(relative)?,
            path: self.path.join(relative),
            opens_closed: self.opens_closed,
        })
    }

    /// For our own trees with an agent's work: a file with mode 000 is work, too.
    #[must_use]
    pub fn opening_closed_files(self) -> Tree {
        Tree { opens_closed: true, ..self }
    }

    /// For messages; access always uses the descriptor.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    pub fn root_stat(&self) -> io::Result<Stat> {
        Ok(Stat::from(&rustix::fs::fstat(&self.fd)?))
    }

    /// Opens a directory below, refusing any symlink on the way. An empty path is the tree itself.
    pub fn open_dir(&self, relative: &Path) -> io::Result<OwnedFd> {
        open_dir_at(self.fd.as_fd(), &names(relative)?)
    }

    pub fn place(&self, relative: &Path) -> io::Result<Place> {
        let name = relative.file_name().ok_or_else(|| invalid(relative))?.to_owned();
        let dir = self.open_dir(relative.parent().unwrap_or(Path::new("")))?;
        Ok(Place { dir, name })
    }

    pub fn lookup(&self, relative: &Path) -> io::Result<Lookup> {
        let names = names(relative)?;
        let Some((last, parents)) = names.split_last() else {
            return Ok(Lookup::Present(self.root_stat()?));
        };
        if parents.len() > 1
            && let Ok(dir) = open_dir_at(self.fd.as_fd(), parents)
        {
            return Ok(stat_at(dir.as_fd(), last)?.map_or(Lookup::Absent, Lookup::Present));
        }
        let mut dir: Option<OwnedFd> = None;
        for (existing, name) in parents.iter().enumerate() {
            let at = dir.as_ref().map_or(self.fd.as_fd(), AsFd::as_fd);
            match rustix::fs::openat(at, *name, DIRECTORY, Mode::empty()) {
                Ok(next) => dir = Some(next),
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(Lookup::NoParent { existing }),
                Err(error) => return Err(error.into()),
            }
        }
        let at = dir.as_ref().map_or(self.fd.as_fd(), AsFd::as_fd);
        Ok(stat_at(at, last)?.map_or(Lookup::Absent, Lookup::Present))
    }

    pub fn stat(&self, relative: &Path) -> io::Result<Option<Stat>> {
        let names = names(relative)?;
        let Some((last, parents)) = names.split_last() else { return self.root_stat().map(Some) };
        if parents.is_empty() {
            return stat_at(self.fd(), last);
        }
        match open_dir_at(self.fd(), parents) {
            Ok(dir) => stat_at(dir.as_fd(), last),
            Err(error) if is_without_parent(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens a regular file for reading; anything else, especially a fifo, is refused without blocking.
    pub fn open_file(&self, relative: &Path) -> io::Result<(File, Stat)> {
        let names = names(relative)?;
        let (name, parents) = names.split_last().ok_or_else(|| invalid(relative))?;
        let dir = if parents.is_empty() { None } else { Some(open_dir_at(self.fd(), parents)?) };
        let dir = dir.as_ref().map_or(self.fd(), AsFd::as_fd);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = match rustix::fs::openat(dir, *name, flags, Mode::empty()) {
            Err(Errno::ACCESS) if self.opens_closed => open_closed(dir, name, flags)?,
            other => other?,
        };
        let stat = Stat::from(&rustix::fs::fstat(&fd)?);
        if stat.kind != Kind::File {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        Ok((File::from(fd), stat))
    }

    pub fn read_link(&self, relative: &Path) -> io::Result<OsString> {
        let place = self.place(relative)?;
        let target = rustix::fs::readlinkat(&place.dir, &place.name, Vec::new())?;
        Ok(OsStr::from_bytes(target.as_bytes()).to_owned())
    }
}

impl Place {
    pub fn stat(&self) -> io::Result<Option<Stat>> {
        stat_at(self.dir.as_fd(), &self.name)
    }

    /// Whether it is a file with more than one name (hard links).
    pub fn has_other_names(&self) -> io::Result<bool> {
        let stat = rustix::fs::statat(&self.dir, &self.name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(FileType::from_raw_mode(stat.st_mode).is_file() && stat.st_nlink > 1)
    }
}

/// A directory on the way is missing or is not a directory.
fn is_without_parent(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP))
}

/// Opens a directory below another one, by these names, refusing any symlink on the way.
fn open_dir_at(at: BorrowedFd<'_>, names: &[&OsStr]) -> io::Result<OwnedFd> {
    let [first, rest @ ..] = names else {
        return Ok(rustix::fs::openat(at, ".", DIRECTORY, Mode::empty())?);
    };
    if !rest.is_empty()
        && let Some(opened) = open_at_once(at, names)
    {
        return opened;
    }
    let mut dir = rustix::fs::openat(at, *first, DIRECTORY, Mode::empty())?;
    for name in rest {
        dir = rustix::fs::openat(&dir, *name, DIRECTORY, Mode::empty())?;
    }
    Ok(dir)
}

/// The same in one call; `None` if the kernel does not support it or a filter forbids it.
#[cfg(target_os = "linux")]
fn open_at_once(at: BorrowedFd<'_>, names: &[&OsStr]) -> Option<io::Result<OwnedFd>> {
    use rustix::fs::ResolveFlags;
    use std::sync::atomic::AtomicBool;
    static IS_MISSING: AtomicBool = AtomicBool::new(false);
    if IS_MISSING.load(Ordering::Relaxed) {
        return None;
    }
    let path: PathBuf = names.iter().collect();
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
    match rustix::fs::openat2(at, &path, DIRECTORY, Mode::empty(), resolve) {
        Err(Errno::NOSYS | Errno::PERM) => {
            IS_MISSING.store(true, Ordering::Relaxed);
            None
        }
        // A path of more than 4 KB, or a concurrent rename.
        Err(Errno::NAMETOOLONG | Errno::AGAIN | Errno::INVAL) => None,
        other => Some(other.map_err(Into::into)),
    }
}

#[cfg(not(target_os = "linux"))]
fn open_at_once(_: BorrowedFd<'_>, _: &[&OsStr]) -> Option<io::Result<OwnedFd>> {
    None
}

/// Opens a file whose mode denies access to its owner, and restores the mode afterwards.
fn open_closed(dir: BorrowedFd<'_>, name: &OsStr, flags: OFlags) -> io::Result<OwnedFd> {
    let held =
        rustix::fs::openat(dir, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    let stat = rustix::fs::fstat(&held)?;
    if !rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file() {
        return Err(Errno::ACCESS.into());
    }
    // Through its descriptor, so that it is this file whatever happens to the name.
    let by_descriptor = format!("/proc/self/fd/{}", held.as_raw_fd());
    let mode = Mode::from_raw_mode(stat.st_mode & 0o7777);
    rustix::fs::chmod(&by_descriptor, mode | Mode::RUSR)?;
    let opened = rustix::fs::open(&by_descriptor, flags.difference(OFlags::NOFOLLOW), Mode::empty());
    rustix::fs::chmod(&by_descriptor, mode)?;
    Ok(opened?)
}

/// The entry's stat, not following a symlink; `None` when there is none.
pub fn stat_at(dir: BorrowedFd<'_>, name: &OsStr) -> io::Result<Option<Stat>> {
    match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(Stat::from(&stat))),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Swaps two entries in one step.
pub fn exchange(a: &Place, b: &Place) -> io::Result<()> {
    Ok(rustix::fs::renameat_with(&a.dir, &a.name, &b.dir, &b.name, RenameFlags::EXCHANGE)?)
}

/// Moves an entry to a path that does not exist.
pub fn move_new(from: &Place, to: &Place) -> io::Result<()> {
    Ok(rustix::fs::renameat_with(&from.dir, &from.name, &to.dir, &to.name, RenameFlags::NOREPLACE)?)
}

/// The names in an open directory, without `.` and `..`, in the order of the filesystem.
pub fn list(dir: BorrowedFd<'_>) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    let mut buffer = vec![MaybeUninit::uninit(); 32 * 1024];
    // A separate descriptor: reading moves the position, and the caller's may be shared.
    let own = rustix::fs::openat(dir, ".", DIRECTORY, Mode::empty())?;
    let mut entries = RawDir::new(own, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(OsStr::from_bytes(name).to_owned());
        }
    }
    Ok(names)
}

pub fn is_empty(dir: BorrowedFd<'_>) -> io::Result<bool> {
    Ok(list(dir)?.is_empty())
}

/// Removes an entry and everything in it, never following a symlink, even where modes forbid access. Very deep directories are moved
/// up first, so that neither descriptors nor the stack run out.
pub fn remove_all(dir: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    let Some(top) = remove_or_open(dir, name)? else { return Ok(()) };
    loop {
        let names = list(top.as_fd())?;
        if names.is_empty() {
            break;
        }
        for child in names {
            remove_to_depth(top.as_fd(), &child, top.as_fd(), REMOVED_AT_ONCE)?;
        }
    }
    remove_dir(dir, name)
}

/// How many levels of directories are open at the same time.
const REMOVED_AT_ONCE: usize = 64;

/// Makes the names of directories that are moved up different from each other.
static MOVED_UP: AtomicUsize = AtomicUsize::new(0);

/// Removes what is at most so deep; what is deeper is moved to `top`.
fn remove_to_depth(dir: BorrowedFd<'_>, name: &OsStr, top: BorrowedFd<'_>, depth: usize) -> io::Result<()> {
    let Some(inner) = remove_or_open(dir, name)? else { return Ok(()) };
    if depth == 0 {
        let number = MOVED_UP.fetch_add(1, Ordering::Relaxed);
        let new = format!(".deep-{}-{number}", std::process::id());
        return Ok(rustix::fs::renameat_with(dir, name, top, &new, RenameFlags::NOREPLACE)?);
    }
    for child in list(inner.as_fd())? {
        remove_to_depth(inner.as_fd(), &child, top, depth - 1)?;
    }
    drop(inner);
    remove_dir(dir, name)
}

/// Removes what is not a directory; a directory is opened, and made one that its owner may empty.
fn remove_or_open(dir: BorrowedFd<'_>, name: &OsStr) -> io::Result<Option<OwnedFd>> {
    match rustix::fs::unlinkat(dir, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(None),
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(error) => return Err(error.into()),
    }
    let open = || rustix::fs::openat(dir, name, DIRECTORY, Mode::empty());
    let inner = match open() {
        Err(Errno::ACCESS) => {
            // An overlay's `work/work` has mode 000. It is not a symlink: the open above would have reported that.
            rustix::fs::chmodat(dir, name, Mode::RWXU, AtFlags::empty())?;
            open()?
        }
        other => other?,
    };
    if rustix::fs::fstat(&inner)?.st_mode & 0o300 != 0o300 {
        rustix::fs::fchmod(&inner, Mode::RWXU)?;
    }
    Ok(Some(inner))
}

fn remove_dir(dir: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    match rustix::fs::unlinkat(dir, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The same for a large tree, using all cores.
pub fn remove_large(dir: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    if let Ok(inner) = rustix::fs::openat(dir, name, DIRECTORY, Mode::empty())
        && let Ok(children) = list(inner.as_fd())
    {
        let next = AtomicUsize::new(0);
        let remove = || {
            while let Some(child) = children.get(next.fetch_add(1, Ordering::Relaxed)) {
                // What stays is met again below, by the one whose errors count.
                let _ = remove_all(inner.as_fd(), child);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads().min(children.len()) {
                scope.spawn(remove);
            }
            remove();
        });
    }
    remove_all(dir, name)
}

/// The components of a relative path; one that could leave the tree is refused.
fn names(relative: &Path) -> io::Result<Vec<&OsStr>> {
    relative
        .components()
        .map(|component| match component {
            Component::Normal(name) => Ok(name),
            _ => Err(invalid(relative)),
        })
        .collect()
}

fn invalid(path: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{} is not a path below the root", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_symlink_on_the_way_is_never_followed() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("root/real")).unwrap();
        std::fs::write(dir.path().join("outside"), "x").unwrap();
        symlink("..", dir.path().join("root/up")).unwrap();
        symlink("real", dir.path().join("root/in")).unwrap();
        let tree = Tree::open(&dir.path().join("root")).unwrap();
        assert_eq!(tree.lookup(Path::new("up/outside")).unwrap(), Lookup::NoParent { existing: 0 });
        assert_eq!(tree.lookup(Path::new("in/x")).unwrap(), Lookup::NoParent { existing: 0 });
        assert_eq!(tree.lookup(Path::new("real/x")).unwrap(), Lookup::Absent);
        assert_eq!(tree.lookup(Path::new("no/x/y")).unwrap(), Lookup::NoParent { existing: 0 });
        assert_eq!(tree.lookup(Path::new("real/x/y")).unwrap(), Lookup::NoParent { existing: 1 });
        assert!(tree.open_file(Path::new("up/outside")).is_err());
        assert!(tree.open_dir(Path::new("../outside")).is_err());
        assert!(tree.place(Path::new("")).is_err());
    }

    #[test]
    fn a_fifo_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, Mode::RWXU, 0).unwrap();
        assert!(Tree::open(dir.path()).unwrap().open_file(Path::new("fifo")).is_err());
    }

    #[test]
    fn a_closed_directory_is_removed_and_a_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("a/work/work")).unwrap();
        std::fs::create_dir_all(dir.path().join("keep")).unwrap();
        std::fs::write(dir.path().join("keep/file"), "x").unwrap();
        symlink("../keep", dir.path().join("a/link")).unwrap();
        rustix::fs::chmodat(rustix::fs::CWD, dir.path().join("a/work/work"), Mode::empty(), AtFlags::empty())
            .unwrap();
        let tree = Tree::open(dir.path()).unwrap();
        remove_all(tree.fd(), OsStr::new("a")).unwrap();
        remove_all(tree.fd(), OsStr::new("a")).unwrap();
        assert_eq!(list(tree.fd()).unwrap(), ["keep"]);
        assert!(dir.path().join("keep/file").exists());
    }

    #[test]
    fn a_tree_of_any_depth_is_removed_with_few_descriptors() {
        let dir = tempfile::tempdir().unwrap();
        let tree = Tree::open(dir.path()).unwrap();
        rustix::fs::mkdirat(tree.fd(), "top", Mode::RWXU).unwrap();
        let mut at = rustix::fs::openat(tree.fd(), "top", DIRECTORY, Mode::empty()).unwrap();
        for _ in 0..3000 {
            rustix::fs::mkdirat(&at, "beside", Mode::RWXU).unwrap();
            rustix::fs::mkdirat(&at, "d", Mode::RWXU).unwrap();
            at = rustix::fs::openat(&at, "d", DIRECTORY, Mode::empty()).unwrap();
        }
        drop(at);
        remove_all(tree.fd(), OsStr::new("top")).unwrap();
        assert_eq!(list(tree.fd()).unwrap(), Vec::<OsString>::new());
    }

    #[test]
    fn a_large_tree_is_removed_on_all_cores_and_a_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        for number in 0..20 {
            std::fs::create_dir_all(dir.path().join(format!("a/d{number}/work/work"))).unwrap();
            std::fs::write(dir.path().join(format!("a/d{number}/file")), "x").unwrap();
            symlink("../keep", dir.path().join(format!("a/link{number}"))).unwrap();
        }
        std::fs::create_dir_all(dir.path().join("keep")).unwrap();
        std::fs::write(dir.path().join("keep/file"), "x").unwrap();
        symlink("keep", dir.path().join("link")).unwrap();
        let tree = Tree::open(dir.path()).unwrap();
        for name in ["a", "a", "link"] {
            remove_large(tree.fd(), OsStr::new(name)).unwrap();
        }
        assert_eq!(list(tree.fd()).unwrap(), ["keep"]);
        assert!(dir.path().join("keep/file").exists());
    }
}
