//! Reads our own record files. One that somebody else could have written is refused, with its path.

use crate::files::owned::{self, NotOurs};
use crate::mount::MountError;
use std::fmt::Display;
use std::io;
use std::path::Path;

/// Reads a record of a session; `None` if it does not exist.
pub(super) fn read(path: &Path) -> anyhow::Result<Option<Vec<u8>>> {
    owned::read_in_private(path).map_err(|error| cannot_open(path, error))
}

/// A record that cannot be opened, or is not ours.
pub(super) fn cannot_open(path: &Path, error: io::Error) -> anyhow::Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<NotOurs>()) {
        Some(reason) => untrusted(path, reason),
        None => anyhow::Error::new(error).context(format!("cannot open {}", path.display())),
    }
}

pub(super) fn untrusted(path: &Path, reason: impl Display) -> anyhow::Error {
    MountError::UntrustedRecord { path: path.to_owned(), reason: reason.to_string() }.into()
}
