//! Runs what a plan says, and says what happens while it does.

pub mod events;
