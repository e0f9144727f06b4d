//! Exit codes and hints for errors about packs.

use super::Advice;
use crate::exit::Exit;
use crate::model::words::nearest;
use crate::pack::error::{FetchFailure, InvalidPack, PackError};

/// What can be installed.
const PACK_SOURCES: &str = "name a directory, a `.tgz`, a persona's `.json`, a git url or an npm package";

pub fn advice(error: &PackError) -> Advice {
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
                FetchFailure::MissingProgram => hint("`agentworkforce doctor` shows how to install it"),
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
