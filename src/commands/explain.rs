//! The one place where a room's typed error becomes an exit code and hints. The rooms say what happened; what that means for
//! a script and what the user can do next is decided here.

use crate::error::CommandError;
use crate::exit::Exit;
use std::error::Error;

/// What a typed error means to the user.
struct Advice {
    exit: Exit,
    /// More causes than the chain of sources holds.
    causes: Vec<String>,
    hints: Vec<String>,
}

impl From<anyhow::Error> for CommandError {
    fn from(error: anyhow::Error) -> Self {
        let error = match error.downcast::<CommandError>() {
            Ok(explained) => return explained,
            Err(error) => error,
        };
        let mut chain = error.chain().map(ToString::to_string);
        let message = chain.next().unwrap_or_default();
        let causes: Vec<String> = chain.collect();
        let mut explained = CommandError::internal(message);
        explained.causes = causes;
        if let Some(advice) = error.chain().find_map(advice) {
            explained.exit = advice.exit;
            explained.causes.extend(advice.causes);
            explained.hints = advice.hints;
        }
        explained
    }
}

impl From<std::io::Error> for CommandError {
    fn from(error: std::io::Error) -> Self {
        CommandError::internal(error)
    }
}

/// One line for every room that has typed errors.
fn advice(_error: &(dyn Error + 'static)) -> Option<Advice> {
    None
}
