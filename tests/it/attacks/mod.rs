//! Attacks from inside of a run, each seen to succeed before it was stopped: what they must not get, and what must go on working.

mod aliases;
mod harness_config;
mod kernel;
mod own_home;
mod renames;
mod terminal;
