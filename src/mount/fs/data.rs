//! Reads the data of a file without its holes: a sparse file of many terabytes may contain nothing at all. Data comes in pieces, so
//! that the caller can handle signals in between.

use crate::host::interruption;
use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};

/// How many zeros stand for a hole of any length: enough to separate the data around it.
const HOLE: usize = 512;

/// A file from its beginning; each hole is a few zeros.
#[derive(Debug)]
pub struct DataReader<'a> {
    file: &'a File,
    position: u64,
    /// Where the current piece of data ends.
    end: u64,
}

impl<'a> DataReader<'a> {
    pub fn new(file: &'a File) -> io::Result<DataReader<'a>> {
        let end = if has_holes(file)? { 0 } else { u64::MAX };
        Ok(DataReader { file, position: 0, end })
    }
}

impl Read for DataReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        interruption::check()?;
        if self.position >= self.end {
            let Some((start, end)) = next_data(self.file, self.position)? else { return Ok(0) };
            let is_apart = start > self.position;
            (self.position, self.end) = (start, end);
            if is_apart {
                let length = buffer.len().min(HOLE);
                buffer[..length].fill(0);
                return Ok(length);
            }
        }
        let left = usize::try_from(self.end - self.position).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        let length = self.file.read_at(&mut buffer[..wanted], self.position)?;
        self.position += length as u64;
        Ok(length)
    }
}

/// Whether two files contain the same bytes.
pub(crate) fn is_same(a: &File, b: &File) -> io::Result<bool> {
    const CHUNK: usize = 64 * 1024;
    if a.metadata()?.len() != b.metadata()?.len() {
        return Ok(false);
    }
    let skips = has_holes(a)? && has_holes(b)?;
    let (mut from_a, mut from_b) = (vec![0; CHUNK], vec![0; CHUNK]);
    let mut position = 0;
    loop {
        interruption::check()?;
        if skips {
            let starts = [next_data(a, position)?, next_data(b, position)?];
            match starts.into_iter().flatten().map(|(start, _)| start).min() {
                Some(start) => position = start,
                None => return Ok(true),
            }
        }
        let length = read_full(a, &mut from_a, position)?;
        if read_full(b, &mut from_b, position)? != length || from_a[..length] != from_b[..length] {
            return Ok(false);
        }
        if length == 0 {
            return Ok(true);
        }
        position += length as u64;
    }
}

/// A name for what a file holds: two files of one size have the same name if they hold the same bytes, whatever of it are holes.
pub(crate) fn digest(file: &File) -> io::Result<blake3::Hash> {
    const BLOCK: usize = 4096;
    let skips = has_holes(file)?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 64 * 1024];
    let mut position = 0;
    loop {
        interruption::check()?;
        if skips {
            match next_data(file, position)? {
                // Where its block begins, so that the blocks are the same in every file.
                Some((start, _)) => position = start - start % BLOCK as u64,
                None => return Ok(hasher.finalize()),
            }
        }
        let length = read_full(file, &mut buffer, position)?;
        if length == 0 {
            return Ok(hasher.finalize());
        }
        for (at, block) in (position..).step_by(BLOCK).zip(buffer[..length].chunks(BLOCK)) {
            // One of zeros is as good as a hole.
            if block.iter().any(|&byte| byte != 0) {
                hasher.update(&at.to_le_bytes()).update(block);
            }
        }
        position += length as u64;
    }
}

fn read_full(file: &File, buffer: &mut [u8], position: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], position + filled as u64) {
            Ok(0) => break,
            Ok(length) => filled += length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Whether a file is larger than the disk space that it uses.
pub(crate) fn has_holes(file: &File) -> io::Result<bool> {
    let metadata = file.metadata()?;
    Ok(metadata.blocks().saturating_mul(512) < metadata.len())
}

/// Where the next data from this offset on begins and ends; `None` if only a hole follows. On a filesystem without holes, the whole
/// file is data.
fn next_data(file: &File, position: u64) -> io::Result<Option<(u64, u64)>> {
    let start = match seek(file, SeekFrom::Data(position)) {
        Ok(start) => start.max(position),
        Err(Errno::NXIO) => return Ok(None),
        Err(_) => return Ok((position < file.metadata()?.len()).then_some((position, u64::MAX))),
    };
    let end = seek(file, SeekFrom::Hole(start)).unwrap_or(u64::MAX);
    Ok(Some((start, end.max(start + 1))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sparse(pieces: &[(u64, &[u8])], size: u64) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(size).unwrap();
        for (at, bytes) in pieces {
            file.write_all_at(bytes, *at).unwrap();
        }
        file
    }

    #[test]
    fn holes_are_not_read_and_what_is_around_them_is() {
        let file = sparse(&[(0, b"begin"), (1 << 39, b"middle")], 1 << 40);
        let mut bytes = Vec::new();
        DataReader::new(&file).unwrap().read_to_end(&mut bytes).unwrap();
        assert!(bytes.len() < 1 << 20, "{}", bytes.len());
        assert!(bytes.starts_with(b"begin\0"));
        assert!(bytes.windows(7).any(|part| part == b"\0middle"));
    }

    #[test]
    fn sparse_files_are_compared_by_what_they_hold() {
        let size = 1 << 40;
        let one = sparse(&[(1 << 39, b"same")], size);
        assert!(is_same(&one, &sparse(&[(1 << 39, b"same")], size)).unwrap());
        assert!(is_same(&one, &sparse(&[(1 << 39, b"same"), (0, b"\0\0")], size)).unwrap());
        assert!(!is_same(&one, &sparse(&[(1 << 39, b"other")], size)).unwrap());
        assert!(!is_same(&one, &sparse(&[], size)).unwrap());
        assert!(!is_same(&one, &sparse(&[(1 << 39, b"same")], size - 1)).unwrap());
        assert!(is_same(&sparse(&[(0, b"ab")], 2), &sparse(&[(0, b"ab")], 2)).unwrap());
        assert!(!is_same(&sparse(&[(0, b"ab")], 2), &sparse(&[(0, b"ac")], 2)).unwrap());
    }

    #[test]
    fn files_have_the_same_digest_if_they_hold_the_same() {
        let size = 1 << 40;
        let name = |pieces: &[(u64, &[u8])], size| digest(&sparse(pieces, size)).unwrap();
        let one = name(&[(1 << 39, b"same")], size);
        assert_eq!(one, name(&[(1 << 39, b"same"), (0, b"\0\0")], size));
        for other in [&[(1 << 39, &b"other"[..])][..], &[], &[((1 << 39) + 4096, b"same")], &[(0, b"same")]] {
            assert_ne!(one, name(other, size));
        }
        let dense = vec![7; 200_000];
        assert_eq!(name(&[(0, &dense)], 200_000), name(&[(0, &dense)], 200_000));
        assert_ne!(name(&[(0, &dense)], 200_000), name(&[(0, &dense), (199_999, b"8")], 200_000));
    }
}
