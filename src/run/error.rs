//! The failures of a run that are decisions: what was asked for cannot be done. I/O errors are not among them.

use crate::model::amounts::counted;
use crate::model::mount::Sandbox;
use crate::model::plan::Refusal;
use crate::model::tier::Harness;
use crate::resolve::inputs::InputErrors;
use std::fmt;
use std::path::PathBuf;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum RunError {
    #[error("{}", .0.first().map_or("the run is refused", |first| &first.message))]
    Refused(Vec<Refusal>),
    #[error("{message}")]
    Selection { message: String, hint: Option<String> },
    #[error("{}", input_message(.persona, .errors))]
    Inputs { persona: String, errors: InputErrors },
    #[error("session `{session}` has no conversation to continue")]
    NoConversation { session: String },
    #[error("session `{session}` has no transcript: it ran a command, not an agent")]
    NoTranscript { session: String },
    #[error("{} in {} yet", no_session(persona.as_deref()), root.display())]
    NoSessionYet { persona: Option<String>, root: PathBuf },
    #[error("session `{session}` was discarded")]
    Discarded { session: String },
    #[error("session `{session}` is a conversation of persona `{owner}`, not of `{persona}`")]
    OtherPersona { session: String, owner: String, persona: String },
    #[error("session `{session}` is a conversation with {owner}; {asked} cannot continue it")]
    OtherHarness { session: String, owner: Harness, asked: Harness },
    #[error("session `{session}` belongs to {}", root.display())]
    OtherProject { session: String, root: PathBuf },
    #[error("session `{session}` runs at `{}` and cannot go on at `{}`", was.name(), asked.name())]
    OtherLevel { session: String, was: Sandbox, asked: Sandbox },
    #[error(
        "the copy of session `{session}` is gone, and {harness} continues a conversation only where it began"
    )]
    CopyGone { session: String, harness: Harness },
    #[error("session `{session}` began under other rules: {change}")]
    OtherRules { session: String, change: String },
    #[error("session `{session}` began with `--inherit {was}`, and this run has `{now}`")]
    OtherInherit { session: String, was: String, now: String },
    #[error("session `{session}` {}", if *is_work { "is work with a contract, which goes on under it" } else { "is no work with a contract" })]
    OtherKind { session: String, is_work: bool },
    #[error("an apply of session `{session}` was cut off")]
    UnfinishedApply { session: String },
    #[error("skills are missing, and a strict run does not start without them")]
    MissingSkills { reasons: Vec<String> },
    #[error("{} cannot be read: {why}", path.display())]
    Sidecar { path: PathBuf, why: String },
    /// During the run somebody put another directory in its place.
    #[error("{place} `{}` was moved or replaced during the run: nothing was applied", path.display())]
    Replaced {
        place: Place,
        path: PathBuf,
        /// Where the right one is, if it still exists.
        now: Option<PathBuf>,
    },
    /// Where the next run would look, and nothing was when this one started.
    #[error("`{}` has appeared during the run, and would decide about the next one: nothing was applied", path.display())]
    Appeared { path: PathBuf, note: PathBuf },
    #[error("`{}` appeared during an earlier run, and would decide about this one", path.display())]
    AppearedEarlier { path: PathBuf, note: PathBuf },
    #[error("`{}` leads elsewhere since the run started: nothing was applied", path.display())]
    LinkReplaced { path: PathBuf },
    #[error("interrupted while the check `{command}` ran")]
    CheckInterrupted { command: String, signal: i32 },
}

/// A directory that a run relies on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Home,
    Session,
    Project,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Place::Home => "the workforce home",
            Place::Session => "the session directory",
            Place::Project => "the project",
        })
    }
}

fn no_session(persona: Option<&str>) -> String {
    match persona {
        Some(persona) => format!("persona `{persona}` has no conversation"),
        None => "there is no conversation".to_owned(),
    }
}

fn input_message(persona: &str, errors: &InputErrors) -> String {
    if errors.missing.is_empty() {
        format!("persona `{persona}` has no such input")
    } else {
        format!("persona `{persona}` needs {}", counted(errors.missing.len(), "more input value"))
    }
}
