//! A first word that is no command but names a persona: says how to run it. Everything else stays clap's error.

use crate::cli::UnknownCommand;
use crate::error::CommandError;
use crate::host::Host;
use crate::model::selector::Selector;
use crate::workforce::{Workforce, WorkforceError};
use std::ffi::OsString;

/// What the npm tool has for its cloud.
const NPM_COMMANDS: [&str; 9] =
    ["deploy", "deployments", "destroy", "integrations", "invoke", "login", "logout", "runs", "trigger"];

/// The error that names the persona, or `None` where the word looks like no persona.
pub fn persona_instead(unknown: &UnknownCommand, args: &[OsString], host: &Host) -> Option<CommandError> {
    if NPM_COMMANDS.contains(&unknown.word.as_str()) {
        let error = CommandError::usage(format!(
            "`{}` is a command of the npm tool, and not of this one",
            unknown.word
        ));
        return Some(
            error
                .hint("docs/migration.md has the commands of both; `agentworkforce --help` shows those here"),
        );
    }
    let selector = Selector::parse(&unknown.word).ok()?;
    let workforce = Workforce::open(host).ok()?;
    match workforce.find(&selector.name) {
        Ok(_) | Err(WorkforceError::InvalidPersona { .. }) => {
            let error = CommandError::usage(format!("`{}` is a persona, not a command", unknown.word));
            Some(error.hint(format!("run it with `{}`", with_agent(unknown, args))))
        }
        // A command that looks like the word is more likely than a persona that does.
        Err(WorkforceError::NoSuchPersona { nearest, .. }) if !unknown.has_suggestion => {
            let near = nearest.first()?;
            let error =
                CommandError::usage(format!("there is neither a command nor a persona `{}`", unknown.word));
            Some(
                error
                    .hint(format!("did you mean `agentworkforce agent {near}`?"))
                    .hint("`agentworkforce --help` shows the commands"),
            )
        }
        Err(_) => None,
    }
}

/// The same command line with `agent` in it, where it can be shown.
fn with_agent(unknown: &UnknownCommand, args: &[OsString]) -> String {
    let words: Option<Vec<&str>> = args.iter().skip(1).map(|arg| arg.to_str()).collect();
    let words = words.filter(|words| words.first() == Some(&unknown.word.as_str()));
    let words = words.unwrap_or_else(|| vec![&unknown.word]);
    let words = ["agentworkforce", "agent"].into_iter().chain(words);
    shlex::try_join(words).unwrap_or_else(|_| format!("agentworkforce agent {}", unknown.word))
}
