//! The session directory: one a run, made, listed, locked, recovered and pruned here.
//! What the work in it means is for `mount` to say.

pub mod id;
pub mod leaks;
pub mod status;
pub mod store;
pub mod work;

pub use status::SessionState;
pub use store::{Session, SessionStore};
