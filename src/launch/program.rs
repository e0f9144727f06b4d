//! Finds the harness's program. Nothing is run here.

use super::error::LaunchError;
use crate::host::Host;
use crate::model::tier::Harness;
use crate::tool::{self, Lookup};
use std::path::PathBuf;

/// The program in `PATH`, as a shell would find it.
pub fn find(name: &str, harness: Harness, host: &Host) -> Result<PathBuf, LaunchError> {
    match tool::look_up(host, name) {
        Lookup::Found(path) => Ok(path),
        Lookup::NotExecutable(path) => Err(LaunchError::NotExecutable { path, harness }),
        Lookup::Missing => Err(LaunchError::NotFound { program: name.to_owned(), harness }),
    }
}
