//! Shows a long text in the user's pager. The text is one that is safe for a terminal already; the pager gets it as its input.

use crate::host::Host;
use crate::host::terminal::UserTerminal;
use crate::tool::{self, at_terminal};
use anstream::adapter::strip_str;
use std::io;
use std::path::Path;

/// Gives whether it was shown: a short text needs no pager, and some terminals and users have none.
pub(super) fn show(host: &Host, terminal: &UserTerminal, text: &str, directory: &Path) -> io::Result<bool> {
    let Some((rows, columns)) = terminal.size() else { return Ok(false) };
    let is_dumb = host.var("TERM").is_none_or(|term| term == "dumb");
    if is_dumb || height(text, usize::from(columns)) < usize::from(rows) {
        return Ok(false);
    }
    let own = host.env.get("PAGER").map(|words| words.trim());
    let words = match own {
        Some("" | "cat") => return Ok(false),
        Some(words) => words,
        None => "less",
    };
    let Some(mut command) = at_terminal::command_of(host, words) else { return Ok(false) };
    let is_less = Path::new(command.get_program()).file_name().is_some_and(|name| name == "less");
    let has_colours = is_less && host.var("NO_COLOR").is_none();
    let text = if has_colours { text.to_owned() } else { strip_str(text).to_string() };
    if is_less {
        // Of escape sequences it passes on colours only, and nothing that is typed into it starts a program or writes a file.
        command.arg("-R").env("LESSSECURE", "1").env("LESSHISTFILE", "-");
        command.env_remove("LESSOPEN").env_remove("LESSCLOSE");
        if host.var("LESS").is_none() {
            command.env("LESS", "FRX");
        }
    }
    at_terminal::run(terminal, &mut command, directory, Some(tool::input(text.as_bytes())?))?;
    Ok(true)
}

/// How many lines of a terminal it takes.
fn height(text: &str, columns: usize) -> usize {
    let text = strip_str(text).to_string();
    text.lines().map(|line| line.chars().count().div_ceil(columns.max(1)).max(1)).sum()
}
