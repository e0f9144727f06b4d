//! The one place where a room's typed error becomes an exit code and hints. The rooms say what happened; what that means for
//! a script and what the user can do next is decided here.

use crate::error::CommandError;
use crate::exit::Exit;
use crate::model::words::nearest;
use crate::pack::error::{FetchFailure, InvalidPack, PackError};
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
fn advice(error: &(dyn Error + 'static)) -> Option<Advice> {
    error.downcast_ref().map(pack)
}

impl From<PackError> for CommandError {
    fn from(error: PackError) -> Self {
        anyhow::Error::from(error).into()
    }
}

/// What can be installed.
const PACK_SOURCES: &str = "name a directory, a `.tgz`, a persona's `.json`, a git url or an npm package";

fn pack(error: &PackError) -> Advice {
    let mut advice = Advice { exit: Exit::Failed, causes: Vec::new(), hints: Vec::new() };
    let mut hint = |text: &str| advice.hints.push(text.to_owned());
    match error {
        PackError::InvalidSource(_) | PackError::NotFound { .. } => {
            hint(PACK_SOURCES);
            advice.exit = Exit::Usage;
        }
        PackError::InvalidPackage(_) => {
            hint("write `npm:name`, `npm:@scope/name` or either with `@version`");
            advice.exit = Exit::Usage;
        }
        PackError::UnknownSource(_) => {
            hint("for a repository write its full url; for a directory start with `./`");
            advice.exit = Exit::Usage;
        }
        PackError::Fetch { reason, causes, .. } => {
            match reason {
                FetchFailure::TimedOut => {
                    hint("check the network and the registry, or allow more time with `--timeout`");
                    advice.exit = Exit::TimedOut;
                }
                FetchFailure::NotAnArchive => hint(PACK_SOURCES),
                FetchFailure::Other => {}
            }
            advice.causes.clone_from(causes);
        }
        PackError::InvalidLock { reason, .. } => {
            hint("restore it from version control, or move it away and install the packs again");
            advice.causes.push(reason.clone());
            advice.exit = Exit::Usage;
        }
        PackError::Invalid { problems, reason } => {
            advice.hints.extend(problems.iter().filter_map(|problem| problem.fix.clone()));
            advice.hints.dedup();
            if *reason == Some(InvalidPack::PersonaDirectory) {
                advice.hints.push("`agentworkforce.personas` in package.json names the directory".into());
            }
            advice.causes.extend(problems.iter().map(ToString::to_string));
        }
        PackError::NoPersonas { .. } => hint(
            "a pack has `.json` files in `personas/`, or in the directory that `agentworkforce.personas` in its package.json names",
        ),
        PackError::UnknownPersonas { missing, available } => {
            let near = missing.first().and_then(|id| nearest(id, available.iter().map(String::as_str)));
            advice.hints.extend(near.map(|near| format!("did you mean `{near}`?")));
            advice.hints.push(format!("it has {}", available.join(", ")));
            advice.exit = Exit::Usage;
        }
        PackError::ChangedMeanwhile(_) => hint("nothing was written; run the command again"),
    }
    advice
}
