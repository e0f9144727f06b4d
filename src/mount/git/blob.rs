//! One version of a file as git sees it: bytes, or an open file if it is large; and git's name for it. A large file is read as often as
//! needed and never held in memory.

use crate::host::interruption;
use sha1::Digest;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

pub(in crate::mount) enum Blob {
    Bytes(Vec<u8>),
    /// Too large to be compared line by line.
    Large {
        file: File,
        size: u64,
    },
}

/// How a repository names its objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mount) enum ObjectFormat {
    Sha1,
    Sha256,
}

impl ObjectFormat {
    /// The name that stands for no file.
    pub(in crate::mount) fn null(self) -> String {
        "0".repeat(match self {
            ObjectFormat::Sha1 => 40,
            ObjectFormat::Sha256 => 64,
        })
    }
}

impl Blob {
    /// Up to `largest` bytes are held in memory.
    pub(in crate::mount) fn of_file(file: File, largest: u64) -> io::Result<Blob> {
        let size = file.metadata()?.len();
        if size > largest {
            return Ok(Blob::Large { file, size });
        }
        crate::files::regular::content(file, largest).map(Blob::Bytes)
    }

    pub(in crate::mount) fn size(&self) -> u64 {
        match self {
            Blob::Bytes(bytes) => bytes.len() as u64,
            Blob::Large { size, .. } => *size,
        }
    }

    /// The bytes, if they can be compared line by line.
    pub(in crate::mount) fn text(&self) -> Option<&[u8]> {
        match self {
            Blob::Bytes(bytes) if memchr::memchr(0, bytes).is_none() => Some(bytes),
            _ => None,
        }
    }

    /// What git calls it.
    pub(in crate::mount) fn id(&self, format: ObjectFormat) -> io::Result<String> {
        match format {
            ObjectFormat::Sha1 => self.digest(sha1::Sha1::new()),
            ObjectFormat::Sha256 => self.digest(sha2::Sha256::new()),
        }
    }

    fn digest<D: Digest + Write>(&self, mut digest: D) -> io::Result<String> {
        digest.update(format!("blob {}\0", self.size()));
        self.copy_to(&mut digest)?;
        Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Writes all of it. A file that changes meanwhile is an error: the patch would be wrong.
    pub(in crate::mount) fn copy_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let (file, size) = match self {
            Blob::Bytes(bytes) => return out.write_all(bytes),
            Blob::Large { file, size } => (file, *size),
        };
        let mut buffer = vec![0; 64 * 1024];
        let mut position = 0;
        while position < size {
            interruption::check()?;
            let wanted = buffer.len().min(usize::try_from(size - position).unwrap_or(usize::MAX));
            match file.read_at(&mut buffer[..wanted], position) {
                Ok(0) => return Err(io::Error::other("it changes while it is read")),
                Ok(length) => {
                    out.write_all(&buffer[..length])?;
                    position += length as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
