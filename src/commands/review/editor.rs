//! Lets the user edit a text in `$VISUAL` or `$EDITOR`, in a directory of its own that no agent can reach.

use crate::files::regular;
use crate::host::Host;
use crate::host::terminal::UserTerminal;
use crate::mount::changes::merge::LARGEST;
use crate::tool::at_terminal;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;

/// Those that are tried where the user names none.
const USUAL: [&str; 3] = ["editor", "vi", "nano"];

/// The user's editor; `None` if there is none that may be run.
pub(super) fn command(host: &Host) -> Option<Command> {
    let own = host.var("VISUAL").or_else(|| host.var("EDITOR"));
    match own {
        Some(words) => at_terminal::command_of(host, words),
        None => USUAL.iter().find_map(|name| at_terminal::command_of(host, name)),
    }
}

/// What the user made of the text.
pub(super) fn edit(
    mut command: Command,
    terminal: &UserTerminal,
    scratch: &Path,
    name: &str,
    text: &[u8],
) -> Result<Vec<u8>> {
    let directory = tempfile::Builder::new().prefix("edit-").tempdir_in(scratch)?;
    let file = directory.path().join(name);
    std::fs::write(&file, text)?;
    command.arg(&file);
    let program = command.get_program().to_string_lossy().into_owned();
    let ended_well = at_terminal::run(terminal, &mut command, directory.path(), None)
        .with_context(|| format!("`{program}` cannot be started"))?;
    if !ended_well {
        bail!("`{program}` failed");
    }
    regular::read(&file, LARGEST).context("the edited file cannot be read")
}

/// A file name with the ending of a path, for editors that look at it.
pub(super) fn name_for(path: &Path) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let name = path.file_name().and_then(|name| name.to_str());
    match name.filter(|name| name.chars().all(is_plain) && !name.starts_with(['.', '-'])) {
        Some(name) => name.to_owned(),
        None => "text".to_owned(),
    }
}
