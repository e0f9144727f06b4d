//! Whether a file or directory of ours is ours alone: what somebody else could have written must decide nothing.
//! It looks at kind, owner and mode, never at content.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// `O_NOFOLLOW | O_NONBLOCK`: a link is refused, a fifo is not waited for.
#[allow(clippy::cast_possible_wrap)]
const NO_LINK: i32 = rustix::fs::OFlags::NOFOLLOW.union(rustix::fs::OFlags::NONBLOCK).bits() as i32;
const OTHERS_WRITE: u32 = 0o022;

/// Why an entry is not taken for ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotOurs {
    #[error("it is a link")]
    Link,
    #[error("it is not a regular file")]
    NotAFile,
    #[error("it is not a directory")]
    NotADirectory,
    #[error("it belongs to user {owner}")]
    Owner { owner: u32 },
    #[error("others may write to it (mode {mode:o})")]
    Writable { mode: u32 },
}

impl From<NotOurs> for io::Error {
    fn from(reason: NotOurs) -> io::Error {
        io::Error::new(io::ErrorKind::PermissionDenied, reason)
    }
}

/// Opens a file of ours for reading; `None` where there is none.
pub fn open(path: &Path) -> io::Result<Option<File>> {
    match open_with(path, OpenOptions::new().read(true)) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The content of a file of ours; `None` where there is none.
pub fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    open(path)?.map(content).transpose()
}

/// The same in a directory that only we can enter, where the mode of a file says nothing.
pub fn read_in_private(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match open_no_link(path, OpenOptions::new().read(true)) {
        Ok((file, metadata)) => check_owner(path, &metadata).and_then(|()| content(file)).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn content(mut file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut file, &mut bytes)?;
    Ok(bytes)
}

/// Opens a file of ours with these options. It is checked by its descriptor, before anything is read or written.
pub fn open_with(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let (file, metadata) = open_no_link(path, options)?;
    check_access(path, &metadata)?;
    Ok(file)
}

fn open_no_link(path: &Path, options: &mut OpenOptions) -> io::Result<(File, Metadata)> {
    let file = options.custom_flags(NO_LINK).open(path).map_err(|error| {
        let is_link = path.symlink_metadata().is_ok_and(|found| found.is_symlink());
        if is_link { NotOurs::Link.into() } else { error }
    })?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(NotOurs::NotAFile.into());
    }
    Ok((file, metadata))
}

/// Whether this is a directory that only we can write to, and no link to one.
pub fn check_directory(path: &Path) -> io::Result<()> {
    let metadata = path.symlink_metadata()?;
    if metadata.is_symlink() {
        return Err(NotOurs::Link.into());
    }
    if !metadata.is_dir() {
        return Err(NotOurs::NotADirectory.into());
    }
    check_access(path, &metadata)
}

/// Whether nobody else can write to this directory, or what a link there leads to. A group that has only its owner is nobody else.
pub fn check_home(path: &Path) -> Result<(), NotOurs> {
    let Ok(found) = path.metadata() else { return Ok(()) };
    owner_of(path, &found)?;
    let mode = found.mode() & 0o7777;
    let others = if found.gid() == found.uid() { 0o002 } else { OTHERS_WRITE };
    if mode & others != 0 { Err(NotOurs::Writable { mode }) } else { Ok(()) }
}

fn check_access(path: &Path, metadata: &Metadata) -> io::Result<()> {
    check_owner(path, metadata)?;
    let mode = metadata.mode() & 0o7777;
    if mode & OTHERS_WRITE != 0 {
        return Err(NotOurs::Writable { mode }.into());
    }
    Ok(())
}

fn check_owner(path: &Path, metadata: &Metadata) -> io::Result<()> {
    Ok(owner_of(path, metadata)?)
}

fn owner_of(path: &Path, metadata: &Metadata) -> Result<(), NotOurs> {
    let (owner, us) = (metadata.uid(), rustix::process::geteuid());
    // Root in somebody's home (`sudo -E`) finds files of that user there, who decides about the home anyway.
    let is_of_the_place = || {
        let parent = path.parent().and_then(|parent| parent.metadata().ok());
        us.is_root() && parent.is_some_and(|parent| parent.uid() == owner)
    };
    if owner != us.as_raw() && !is_of_the_place() {
        return Err(NotOurs::Owner { owner });
    }
    Ok(())
}

/// Who put this here for us to find, if it was somebody that we have no reason to trust: neither us, nor root, nor the one whose
/// directory we work in. In `/tmp` anybody can.
pub fn stranger_of(path: &Path, cwd: &Path) -> Option<u32> {
    let us = rustix::process::geteuid().as_raw();
    let place = cwd.metadata().ok().map(|cwd| cwd.uid());
    // A link and what it leads to.
    let owners = [path.symlink_metadata().ok(), path.metadata().ok()];
    owners
        .into_iter()
        .flatten()
        .map(|found| found.uid())
        .find(|owner| *owner != us && *owner != 0 && Some(*owner) != place)
}

/// The nearest directory at or above this one where a repository begins that nobody else has put there. Git refuses theirs, too.
pub fn repository_around(dir: &Path) -> Option<&Path> {
    dir.ancestors().find(|above| has_repository(above, dir))
}

/// Whether a repository begins here that counts for somebody who works in `cwd`.
pub fn has_repository(dir: &Path, cwd: &Path) -> bool {
    let git = dir.join(".git");
    git.symlink_metadata().is_ok() && stranger_of(&git, cwd).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn reason(error: &io::Error) -> Option<NotOurs> {
        error.get_ref()?.downcast_ref().copied()
    }

    #[test]
    fn a_file_of_ours_is_read_and_a_missing_one_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        assert!(read(&path).unwrap().is_none());
        fs::write(&path, "x").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        assert_eq!(read(&path).unwrap().unwrap(), b"x");
        check_directory(dir.path()).unwrap();
    }

    #[test]
    fn a_home_that_others_can_write_is_not_ours_alone() {
        let dir = tempfile::tempdir().unwrap();
        for (mode, is_ours) in [(0o700, true), (0o755, true), (0o1777, false), (0o757, false)] {
            fs::set_permissions(dir.path(), Permissions::from_mode(mode)).unwrap();
            assert_eq!(check_home(dir.path()).is_ok(), is_ours, "{mode:o}");
        }
        symlink(dir.path(), dir.path().join("link")).unwrap();
        assert_eq!(check_home(&dir.path().join("link")), Err(NotOurs::Writable { mode: 0o757 }));
        assert_eq!(check_home(&dir.path().join("none")), Ok(()));
    }

    #[test]
    fn links_fifos_and_what_others_can_write_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::write(path("file"), "x").unwrap();
        symlink("file", path("link")).unwrap();
        symlink("nothing", path("dangling")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            path("fifo"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .unwrap();
        for (name, wanted) in
            [("link", NotOurs::Link), ("dangling", NotOurs::Link), ("fifo", NotOurs::NotAFile)]
        {
            assert_eq!(reason(&read(&path(name)).unwrap_err()), Some(wanted), "{name}");
            assert_eq!(reason(&read_in_private(&path(name)).unwrap_err()), Some(wanted), "{name}");
        }
        for mode in [0o620, 0o602] {
            fs::set_permissions(path("file"), Permissions::from_mode(mode)).unwrap();
            assert_eq!(reason(&read(&path("file")).unwrap_err()), Some(NotOurs::Writable { mode }));
            assert!(read_in_private(&path("file")).is_ok());
        }
        assert_eq!(reason(&check_directory(&path("link")).unwrap_err()), Some(NotOurs::Link));
        assert_eq!(reason(&check_directory(&path("file")).unwrap_err()), Some(NotOurs::NotADirectory));
    }
}
