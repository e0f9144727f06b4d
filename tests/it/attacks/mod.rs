//! Attacks from inside of a run, each seen to succeed before it was stopped: what they must not get, and what must go on working.

mod caches;
mod journals;
mod kernel;
mod pack_powers;
mod terminal;
