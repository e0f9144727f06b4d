//! Arguments of `config` and `sources`.

use clap::Subcommand;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum SourcesCommand {
    /// List the layers, highest first
    List,
    /// Add a directory of personas
    Add {
        /// The directory: persona files, or `personas/` and `roles/`
        dir: PathBuf,
        /// Its position among the configured directories, from 1
        #[arg(long, value_name = "N")]
        position: Option<usize>,
    },
    /// Remove a configured directory
    Remove {
        /// Its number in `sources list`, or its path
        which: String,
    },
}

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print a setting
    Get {
        /// The key, such as `limits.usd`; `config list` shows all
        key: String,
    },
    /// Change a setting; lists take several values
    Set {
        /// The key, such as `limits.usd`; `config list` shows all
        key: String,
        /// The value; for a list, all its values
        #[arg(required = true, allow_hyphen_values = true)]
        values: Vec<String>,
    },
    /// Remove a setting
    Unset {
        /// The setting
        key: String,
    },
    /// List every setting with its value and meaning
    List,
    /// List feature flags and what set them
    Features,
}
