//! `CommandError`: what went wrong, which exit code that is, and what the user can do next.
//! It carries text; how the text is printed is decided in `ui`.

use crate::exit::Exit;
use std::fmt::Display;

pub type Result<T, E = CommandError> = std::result::Result<T, E>;

/// An error on its way to the user. Messages are lower case without a full stop and name the file and the key.
#[derive(Debug)]
pub struct CommandError {
    pub exit: Exit,
    pub message: String,
    /// From the outermost cause to the innermost.
    pub causes: Vec<String>,
    pub hints: Vec<String>,
}

impl CommandError {
    pub fn new(exit: Exit, message: impl Display) -> Self {
        CommandError { exit, message: message.to_string(), causes: Vec::new(), hints: Vec::new() }
    }

    /// Something the user asked for cannot be done as asked; nothing was started.
    pub fn usage(message: impl Display) -> Self {
        CommandError::new(Exit::Usage, message)
    }

    /// The runner itself failed: I/O it relies on, or a bug.
    pub fn internal(message: impl Display) -> Self {
        CommandError::new(Exit::Internal, message)
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Display) -> Self {
        self.hints.push(hint.to_string());
        self
    }

    #[must_use]
    pub fn maybe_hint(self, hint: Option<String>) -> Self {
        match hint {
            Some(hint) => self.hint(hint),
            None => self,
        }
    }

    #[must_use]
    pub fn caused_by(mut self, cause: impl Display) -> Self {
        self.causes.push(cause.to_string());
        self
    }
}

impl Display for CommandError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for CommandError {}
