//! The repositories of a project: found, read, copied for a mount, and the agent's commits exported to the real one.
//! Files of the work tree are the business of `changes` and `apply`.

pub(in crate::mount) mod blob;
pub(crate) mod candidate;
pub(crate) mod clean_copy;
mod config_file;
pub mod copy;
pub(crate) mod credentials;
mod differing;
pub mod export;
pub(crate) mod git_directory;
pub mod harness_setup;
mod hook_managers;
mod hook_scripts;
pub(crate) mod index_file;
mod interpreters;
mod named_files;
pub mod new_objects;
mod protection;
mod quarantine;
pub(crate) mod refs;
pub(crate) mod reftable;
pub(crate) mod reftable_logs;
pub mod repository;
pub(crate) mod secret_files;
pub(crate) mod secret_texts;
pub mod settings;
pub(crate) mod settings_now;
mod shell_commands;
mod shell_runs;
pub(crate) mod shell_words;
pub mod surroundings;
mod work_trees;
