//! Attacks from inside a run: each is carried out, and then the runner's own state, the user's files and the next run are as
//! they should be.

mod aliases;
mod own_home;
mod renames;
