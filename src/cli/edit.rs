//! Arguments of the commands that edit personas and roles.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum PersonaCommand {
    /// Change the display name (and emoji); the id never changes
    Rename {
        /// The persona's id
        id: String,
        /// The new display name
        name: String,
        /// The new emoji; an empty text takes it away
        #[arg(long)]
        emoji: Option<String>,
    },
    /// Edit a persona, in its own file or in an overlay
    Set(PersonaSetArgs),
    /// Delete a persona's file; built-ins cannot be deleted
    Delete {
        /// The persona's id
        id: String,
    },
    /// Take the overlay of a built-in away, or all of a layer's personas and overlays
    Reset {
        /// The persona's id; without it, all of the layer
        id: Option<String>,
        /// Which layer
        #[arg(long = "in", value_enum, default_value_t = LayerArg::User, value_name = "LAYER")]
        layer: LayerArg,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
pub struct PersonaSetArgs {
    /// The persona's id
    pub id: String,
    /// Key of the role whose charter it follows; an empty text takes it away
    #[arg(long)]
    pub role: Option<String>,
    /// What it is good at, with commas; an empty text takes it away
    #[arg(long, value_name = "A,B")]
    pub expertise: Option<String>,
    /// When to use it
    #[arg(long)]
    pub description: Option<String>,
    /// Words to find it by, with commas
    #[arg(long, value_name = "A,B")]
    pub tags: Option<String>,
    /// The tier when none is asked for
    #[arg(long, value_name = "TIER")]
    pub default_tier: Option<String>,
    /// The harness, for the tier of --tier or for all
    #[arg(long)]
    pub harness: Option<String>,
    /// The model, for the tier of --tier or for all
    #[arg(long)]
    pub model: Option<String>,
    /// The tier that --harness and --model speak of
    #[arg(long, value_name = "TIER")]
    pub tier: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LayerArg {
    Project,
    User,
}

#[derive(Debug, Subcommand)]
pub enum RoleCommand {
    /// List the roles with their personas
    List,
    /// Show a role's charter and where it came from
    Show {
        /// The role's key, as `role list` shows it
        key: String,
    },
    /// Make a role; the charter comes from a file or from standard input
    Create {
        /// The new role's key: a lower-case slug such as `data-steward`
        key: String,
        /// The role's name as people say it
        #[arg(long)]
        label: String,
        #[command(flatten)]
        fields: RoleFields,
        /// Which layer
        #[arg(long = "in", value_enum, default_value_t = LayerArg::User, value_name = "LAYER")]
        layer: LayerArg,
    },
    /// Edit a role, in its own file or, for a built-in, in an overlay
    Set {
        /// The role's key
        key: String,
        /// The role's name as people say it
        #[arg(long)]
        label: Option<String>,
        #[command(flatten)]
        fields: RoleFields,
        /// Which layer an overlay goes to
        #[arg(long = "in", value_enum, default_value_t = LayerArg::User, value_name = "LAYER")]
        layer: LayerArg,
    },
    /// Delete a role; built-ins and roles in use stay
    Delete {
        /// The role's key
        key: String,
        /// Give its personas this role first
        #[arg(long, value_name = "KEY")]
        reassign_to: Option<String>,
    },
    /// Take the overlay of a built-in role away, or all roles of a layer
    Reset {
        /// The role's key; without it, all roles of the layer
        key: Option<String>,
        /// Which layer
        #[arg(long = "in", value_enum, default_value_t = LayerArg::User, value_name = "LAYER")]
        layer: LayerArg,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
pub struct RoleFields {
    /// The charter's text; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub charter_file: Option<PathBuf>,
    /// Harness of personas that name none; an empty text takes it away
    #[arg(long)]
    pub harness: Option<String>,
    /// Model of personas that name none; an empty text takes it away
    #[arg(long)]
    pub model: Option<String>,
}
