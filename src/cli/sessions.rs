//! Arguments of `sessions`.

use clap::Subcommand;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum SessionsCommand {
    /// All sessions, newest first
    List,
    /// One session: its state, what it changed, what can be done with it
    Show {
        /// The session, or the start of its name
        id: String,
    },
    /// What a session changed, as a diff
    Diff {
        /// The session, or the start of its name
        id: String,
        /// Only this path and what is below it
        path: Option<PathBuf>,
        /// Also paths that git ignores
        #[arg(long)]
        include_ignored: bool,
    },
    /// Apply a held session; nothing is applied while anything is in conflict
    Apply {
        /// The session, or the start of its name
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
        /// Also paths that git ignores
        #[arg(long)]
        include_ignored: bool,
        /// Keep the mount after its changes were applied
        #[arg(long)]
        keep: bool,
    },
    /// Throw a session's work away
    Discard {
        /// The session, or the start of its name
        id: String,
    },
    /// Restore the files as they were before an apply, if they have not changed since
    Undo {
        /// The session, or the start of its name
        id: String,
    },
    /// Apply again what an undo took back, if the files have not changed since
    Redo {
        /// The session, or the start of its name
        id: String,
    },
    /// Take up sessions whose runner died: finish or roll back, then hold their work
    Recover {
        /// The session, or the start of its name; without it, all that need it
        id: Option<String>,
    },
    /// Remove sessions that hold nothing that is not applied; what they applied cannot be undone any more
    Prune {
        /// How old they must be: 7d, 12h, 30m, 90s
        #[arg(long, default_value = "7d", value_name = "AGE")]
        older_than: String,
        /// Also those with work that was never applied
        #[arg(long)]
        force: bool,
    },
}
