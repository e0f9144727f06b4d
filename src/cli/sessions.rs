//! Arguments of `sessions`.

use super::values::seconds;
use crate::session::SessionOutcome;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Which sessions are listed.
#[derive(Debug, Clone, Args)]
pub struct SessionsListArgs {
    /// Only sessions with all these words in their task or result
    #[arg(value_name = "WORD")]
    pub words: Vec<String>,
    /// The same as WORD; may be repeated
    #[arg(long, value_name = "WORD")]
    pub search: Vec<String>,
    /// Only sessions of the project around DIR, or of projects below it [default without DIR: the working directory]
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = ".")]
    pub project: Option<PathBuf>,
    /// Only sessions with this outcome; several with commas. `failed`, `timed-out` and `stopped` include held ones
    #[arg(long, value_name = "STATE", value_delimiter = ',', value_parser = outcome())]
    pub state: Vec<SessionOutcome>,
    /// Only sessions of this persona
    #[arg(long, value_name = "ID")]
    pub persona: Option<String>,
    /// Only sessions started in this time or since this day: 2d, 12h, 2026-11-01
    #[arg(long, value_name = "AGE|DATE")]
    pub since: Option<String>,
}

fn outcome() -> impl TypedValueParser<Value = SessionOutcome> {
    // What the states are called in JSON is understood, too.
    let alias = |outcome: SessionOutcome| match outcome {
        SessionOutcome::Running => Some("opening"),
        SessionOutcome::NoChanges => Some("nothing"),
        _ => None,
    };
    let value = move |outcome: SessionOutcome| PossibleValue::new(outcome.name()).aliases(alias(outcome));
    let named = move |name: String| {
        let is_named = |outcome: &SessionOutcome| outcome.name() == name || alias(*outcome) == Some(&*name);
        SessionOutcome::ALL.into_iter().find(is_named).expect("one of the possible values")
    };
    PossibleValuesParser::new(SessionOutcome::ALL.map(value)).map(named)
}

#[derive(Debug, Clone, Subcommand)]
pub enum SessionsCommand {
    /// List sessions, newest first, with what they were about, how they ended and what they cost
    List(SessionsListArgs),
    /// Show a session: its task, outcome, cost, changes and checks, and what can be done next
    Show {
        /// The session: its name, a unique start of it, its last digits as in the list, or `last`
        id: String,
    },
    /// Show what an agent said and did in a session
    Log {
        /// The session: its name, a unique start of it, its last digits as in the list, or `last`
        id: String,
        /// Go on until the session ends
        #[arg(short, long)]
        follow: bool,
        /// Print the recorded lines as they are
        #[arg(long)]
        raw: bool,
    },
    /// Stop a session that is running; its changes are held
    Stop {
        /// The session: its name, a unique start of it, its last digits as in the list, or `last`
        id: String,
        /// How long to wait for its end: seconds, or with a unit as in 90s or 5m
        #[arg(long, value_name = "TIME", value_parser = seconds, default_value = "60")]
        timeout: f64,
    },
    /// Show a session's changes, or those that it applied; in a pipe, a patch for `git apply`
    Diff {
        /// The session: its name, a unique start of it, its last digits as in the list, or `last`
        id: String,
        /// Only this path and what is below it
        path: Option<PathBuf>,
        /// Include paths that git ignores
        #[arg(long)]
        include_ignored: bool,
    },
    /// Apply a session's changes; nothing is applied while there are conflicts
    Apply {
        /// The session: its name, a unique start of it, its last digits as in the list, or `last`
        id: String,
        /// Only this path; may be repeated
        #[arg(long, value_name = "PATH")]
        only: Vec<PathBuf>,
        /// Take the agent's version of a path in conflict; may be repeated
        #[arg(long, value_name = "PATH")]
        theirs: Vec<PathBuf>,
        /// Keep your version of a path in conflict; may be repeated
        #[arg(long, value_name = "PATH")]
        ours: Vec<PathBuf>,
        /// Write both versions of a text in conflict, with conflict markers; may be repeated
        #[arg(long, value_name = "PATH")]
        markers: Vec<PathBuf>,
        /// Include paths that git ignores
        #[arg(long)]
        include_ignored: bool,
        /// Do not merge: every file that you changed too is a conflict
        #[arg(long)]
        no_merge: bool,
        /// Keep the mount after its changes are applied
        #[arg(long)]
        keep: bool,
        /// Apply the result of `work` although it was not approved
        #[arg(long)]
        unverified: bool,
    },
    /// Discard a session's changes, after a question on a terminal
    Discard {
        /// The session: its name, a unique start of it, its last digits as in the list, or `last`
        id: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Restore the files as they were before an apply; refused if you have edited one of them since
    Undo {
        /// The session: its name, a unique start of it, its last digits as in the list, or `last`
        id: String,
        /// Only this path and what is below it; may be repeated
        #[arg(long, value_name = "PATH")]
        only: Vec<PathBuf>,
        /// Restore files that you have edited since, too; `sessions redo` brings your edits back
        #[arg(long)]
        force: bool,
    },
    /// Apply undone changes again, if the files have not changed since
    Redo {
        /// The session: its name, a unique start of it, its last digits as in the list, or `last`
        id: String,
    },
    /// Recover sessions whose runner died: finish or roll back, then keep their changes
    Recover {
        /// The session: its name, a unique start of it, its last digits as in the list, or `last`; by default, all that need it
        id: Option<String>,
    },
    /// Show the disk space that sessions take, the largest first
    Du,
    /// Remove sessions without unapplied changes; what they applied can no longer be undone
    Prune {
        /// Minimum age: 7d, 12h, 30m, 90s
        #[arg(long, default_value = "7d", value_name = "AGE")]
        older_than: String,
        /// Also remove sessions with unapplied changes
        #[arg(long)]
        force: bool,
        /// Say what would be removed, and remove nothing
        #[arg(long)]
        dry_run: bool,
    },
}

impl SessionsCommand {
    /// The session that it is about, if it is about one.
    pub fn session_mut(&mut self) -> Option<&mut String> {
        match self {
            SessionsCommand::Show { id }
            | SessionsCommand::Log { id, .. }
            | SessionsCommand::Stop { id, .. }
            | SessionsCommand::Diff { id, .. }
            | SessionsCommand::Apply { id, .. }
            | SessionsCommand::Discard { id, .. }
            | SessionsCommand::Undo { id, .. }
            | SessionsCommand::Redo { id } => Some(id),
            SessionsCommand::Recover { id } => id.as_mut(),
            SessionsCommand::List(_) | SessionsCommand::Du | SessionsCommand::Prune { .. } => None,
        }
    }
}
