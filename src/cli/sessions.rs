//! Arguments of `sessions`.

use super::values::seconds;
use clap::Subcommand;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum SessionsCommand {
    /// List sessions, newest first
    List,
    /// Show a session: its state, its changes and the next steps
    Show {
        /// The session, or the start of its name
        id: String,
    },
    /// Show what an agent said and did in a session
    Log {
        /// The session, or the start of its name
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
        /// The session, or the start of its name
        id: String,
        /// How long to wait for its end: seconds, or with a unit as in 90s or 5m
        #[arg(long, value_name = "TIME", value_parser = seconds, default_value = "60")]
        timeout: f64,
    },
    /// Show a session's changes, or those that it applied; in a pipe, a patch for `git apply`
    Diff {
        /// The session, or the start of its name
        id: String,
        /// Only this path and what is below it
        path: Option<PathBuf>,
        /// Include paths that git ignores
        #[arg(long)]
        include_ignored: bool,
    },
    /// Apply a session's changes; nothing is applied while there are conflicts
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
    },
    /// Discard a session's changes, after a question on a terminal
    Discard {
        /// The session, or the start of its name
        id: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Restore the files as they were before an apply; refused if you have edited one of them since
    Undo {
        /// The session, or the start of its name
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
        /// The session, or the start of its name
        id: String,
    },
    /// Recover sessions whose runner died: finish or roll back, then keep their changes
    Recover {
        /// The session, or the start of its name; by default, all that need it
        id: Option<String>,
    },
    /// Remove sessions without unapplied changes; what they applied can no longer be undone
    Prune {
        /// Minimum age: 7d, 12h, 30m, 90s
        #[arg(long, default_value = "7d", value_name = "AGE")]
        older_than: String,
        /// Also remove sessions with unapplied changes
        #[arg(long)]
        force: bool,
    },
}
