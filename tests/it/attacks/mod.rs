//! Attacks from inside of a run, each seen to succeed before it was stopped: what they must not get, and what must go on working.

mod aliases;
mod caches;
mod git_commits;
mod git_settings;
mod harness_config;
mod inherit;
mod journals;
mod kernel;
mod limits;
mod outside;
mod own_home;
mod pack_powers;
mod pack_runs;
mod page;
mod persona_layers;
mod persona_ref;
mod processes;
mod renames;
mod review;
mod secrets;
mod sidecar_reads;
mod small_inputs;
mod sockets;
mod temp;
mod terminal;
mod unreadable;
