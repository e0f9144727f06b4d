//! Prepares what the commands of a mount see: an overlay over the project or a copy of it, without hidden files and with the injected
//! ones. It runs nothing, and never writes to the project.

mod as_applied;
mod bare_repositories;
mod changed_files;
mod config_layer;
mod conversations;
mod copy;
mod git_marks;
mod harness_config;
mod heavy;
mod inject;
mod layout;
mod logins;
mod newly_hidden;
mod open;
mod overlay;
mod put_back;
mod record;
mod renew;
mod request;
pub mod root;
mod scan_hidden;
mod scratch;
mod setup_links;
mod upper_listing;
mod upper_state;

pub use as_applied::NotApplied;
pub use changed_files::ChangedFiles;
pub use inject::InjectedFile;
pub use newly_hidden::{hide_newly_hidden, newly_hidden};
pub use open::{OpenMount, open, reopen};
pub use request::OpenRequest;
pub use scratch::{ScratchView, ViewOf};
pub use upper_listing::UpperListing;
