//! The real claude, codex and opencode, offline, against a model that says what the test scripts.

mod bare_headless;
mod bare_interactive;
mod launched_headless;
mod launched_interactive;
mod model_server;
mod planned;
mod support;
mod terminal;
