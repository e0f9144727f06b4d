//! Why a harness cannot be started. Exit codes and hints are chosen in `commands::explain`.

use crate::model::tier::Harness;
use std::path::PathBuf;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum LaunchError {
    #[error("`{program}` was not found in `PATH`")]
    NotFound { program: String, harness: Harness },
    #[error("`{}` is not executable", path.display())]
    NotExecutable { path: PathBuf, harness: Harness },
    #[error("the variable `{name}` is not set")]
    VariableUnset { name: String },
}
