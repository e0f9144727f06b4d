//! Reads one text file with limits: kind, size and encoding. What the text means is somebody else's.

use crate::model::file_problem::FileProblem;
use crate::model::locate::Place;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Files are written by hand; anything larger is a mistake, and reading it would only cost memory.
pub const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// `O_NONBLOCK`.
#[allow(clippy::cast_possible_wrap)]
const NONBLOCK: i32 = rustix::fs::OFlags::NONBLOCK.bits() as i32;

/// The text of a file, or why it cannot be read. `Ok(None)`: there is no such file.
pub fn read_text(path: &Path) -> Result<Option<String>, FileProblem> {
    let whole = |message: String| FileProblem::whole_file(path, message);
    let unreadable = |error: std::io::Error| whole(format!("cannot be read: {error}"));
    // Opening a fifo would block, and a device might never end: the flag prevents the first, the file type check both.
    let opened = std::fs::OpenOptions::new().read(true).custom_flags(NONBLOCK).open(path);
    let mut file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return match std::fs::symlink_metadata(path) {
                Ok(found) if found.is_symlink() => {
                    Err(whole("is a link to a file that does not exist".into()))
                }
                // Somebody has made it just now.
                Ok(_) => read_text(path),
                Err(_) => Ok(None),
            };
        }
        // A socket cannot be opened at all.
        Err(error) if path.metadata().is_ok_and(|found| !found.is_file()) => {
            return Err(whole(format!("is not a file ({error})")));
        }
        Err(error) => return Err(unreadable(error)),
    };
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(whole("is not a file".into()));
    }
    // Not more than its size when it was opened: a file that grows is read as it was then.
    check_size(path, metadata.len())?;
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
    file.by_ref().take(metadata.len()).read_to_end(&mut bytes).map_err(unreadable)?;
    text_of(path, bytes).map(Some)
}

fn check_size(path: &Path, size: u64) -> Result<(), FileProblem> {
    if size <= MAX_BYTES {
        return Ok(());
    }
    let (size, most) = (megabytes(size), megabytes(MAX_BYTES));
    Err(FileProblem::whole_file(path, format!("is too large: {size} MB, at most {most} MB are read")))
}

/// The bytes of a file as text, without a byte order mark.
pub fn text_of(path: &Path, bytes: Vec<u8>) -> Result<String, FileProblem> {
    check_size(path, bytes.len() as u64)?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(match text.strip_prefix('\u{feff}') {
            Some(rest) => rest.to_owned(),
            None => text,
        }),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(&error.as_bytes()[..valid]).into_owned();
            let mut problem = FileProblem::whole_file(path, "is not UTF-8 text from here on");
            problem.place = Some(Place::of_offset(&text, text.len()));
            Err(problem)
        }
    }
}

fn megabytes(bytes: u64) -> u64 {
    bytes.div_ceil(1024 * 1024)
}
