//! Arguments of `config` and `sources`.

use clap::Subcommand;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum SourcesCommand {
    /// The layers, highest first
    List,
    /// Add a directory of personas
    Add {
        /// The directory: persona files, or `personas/` and `roles/`
        dir: PathBuf,
        /// Its place among the configured directories, from 1
        #[arg(long, value_name = "N")]
        position: Option<usize>,
    },
    /// Take a configured directory out, by its number or its path
    Remove {
        /// Its number in `sources list`, or its path
        which: String,
    },
}

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// The value of a setting
    Get {
        /// Such as `limits.usd`; `config list` shows all
        key: String,
    },
    /// Change a setting; lists take several values
    Set {
        /// Such as `limits.usd`; `config list` shows all
        key: String,
        /// The value; for a list, all of its values
        #[arg(required = true, allow_hyphen_values = true)]
        values: Vec<String>,
    },
    /// Take a setting out
    Unset {
        /// The setting
        key: String,
    },
    /// Every setting with its value and meaning
    List,
    /// The feature flags and who decided them
    Features,
}
