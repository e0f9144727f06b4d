//! Reads a regular file up to a size. It waits for no fifo, reads no device and nothing without an end: what is in a project may
//! have been put there to stop us.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

#[allow(clippy::cast_possible_wrap)]
const FLAGS: i32 = rustix::fs::OFlags::NONBLOCK.union(rustix::fs::OFlags::NOCTTY).bits() as i32;

#[allow(clippy::cast_possible_wrap)]
const NO_LINK: i32 = rustix::fs::OFlags::NOFOLLOW.bits() as i32;

/// Opens a regular file; anything else is an error, at once.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(path, FLAGS)
}

fn open_with(path: &Path, flags: i32) -> io::Result<File> {
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok(file)
}

/// The same, where a link at the end of the path is refused, too.
pub fn open_no_link(path: &Path) -> io::Result<File> {
    open_with(path, FLAGS | NO_LINK)
}

/// The content of a regular file of at most this many bytes.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    content(open(path)?, most)
}

/// The content of an open file. One that grows meanwhile is read as it was.
pub fn content(file: File, most: u64) -> io::Result<Vec<u8>> {
    let size = file.metadata()?.len();
    if size > most {
        let text = format!("too large: {size} bytes, at most {most} are read");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    file.take(size).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    #[test]
    fn only_a_regular_file_of_a_sensible_size_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "12345").unwrap();
        assert_eq!(read(&file, 5).unwrap(), b"12345");
        assert_eq!(read(&file, 4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        let fifo = dir.path().join("fifo");
        mknodat(CWD, &fifo, FileType::Fifo, Mode::RWXU, 0).unwrap();
        for path in [&*fifo, Path::new("/dev/zero"), dir.path()] {
            assert!(read(path, 5).is_err(), "{}", path.display());
        }
    }
}
