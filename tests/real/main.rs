//! The real claude, codex and opencode, offline, against a model that says what the test scripts.

mod bare_headless;
mod bare_interactive;
mod ci_recipe;
mod denied_edits;
mod enforced_by_claude;
mod enforced_by_codex;
mod enforced_permissions;
mod enforced_sandbox;
mod enforced_texts;
mod exported;
mod inherited;
mod launched_headless;
mod launched_interactive;
mod model_server;
mod resumed;
mod support;
mod terminal;
mod watched;
mod worked;
