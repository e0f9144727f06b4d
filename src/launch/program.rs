//! Finds the harness's program. Nothing is run here.

use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::harness::adapter;
use crate::host::Host;
use crate::model::tier::Harness;
use crate::tool::{self, Lookup};
use std::path::PathBuf;

/// The program in `PATH`, as a shell would find it.
pub fn find(name: &str, harness: Harness, host: &Host) -> Result<PathBuf> {
    let install = format!("install it with `{}`", adapter(harness).install_command());
    match tool::look_up(host, name) {
        Lookup::Found(path) => Ok(path),
        Lookup::NotExecutable(path) => {
            Err(CommandError::new(Exit::NotExecutable, format!("`{}` is not executable", path.display()))
                .hint(format!("`chmod +x {}`, or {install}", path.display())))
        }
        Lookup::Missing => {
            Err(CommandError::new(Exit::NotFound, format!("`{name}` was not found in `PATH`"))
                .hint(install)
                .hint("`agentworkforce doctor` shows what is installed; `--harness` picks another one"))
        }
    }
}
