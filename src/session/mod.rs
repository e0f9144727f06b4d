//! The session directory: one a run; made, listed, locked, applied, undone, recovered and pruned here.
//! What changed in a session's mount is for `mount` to say; nothing is parsed or printed.

pub mod apply;
pub mod diff;
pub mod entry;
pub mod error;
pub mod filter;
pub mod id;
pub mod kept_report;
pub mod leaks;
pub mod prune;
pub mod recover;
pub mod sessions;
pub mod status;
pub mod stop;
pub mod store;
pub mod tidy;
pub mod undo;
pub mod work;

pub use apply::{Applied, ApplyRequest};
pub use entry::{SessionEntry, SessionOutcome};
pub use error::SessionError;
pub use sessions::{JournalEntry, Sessions, Shown};
pub use status::{SessionState, SessionStatus};
pub use store::{Session, SessionStore};
