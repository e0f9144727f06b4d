//! Arguments of the commands that edit personas and roles.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum PersonaCommand {
    /// Change the display name (and emoji); the id never changes
    Rename {
        /// The persona's id or unique name
        id: String,
        /// The new display name; may be left out with --emoji
        #[arg(required_unless_present = "emoji")]
        name: Option<String>,
        /// The new emoji; an empty text removes it
        #[arg(long)]
        emoji: Option<String>,
        /// The layer to write to; by default the highest file of the persona, or your own layer for a built-in
        #[arg(long = "in", alias = "to", value_enum, value_name = "LAYER")]
        layer: Option<LayerArg>,
    },
    /// Edit a persona, in its own file or in an overlay
    Set(Box<PersonaSetArgs>),
    /// Delete a persona's file; built-ins cannot be deleted
    Delete {
        /// The persona's id or unique name
        id: String,
    },
    /// Remove the overlay of a built-in persona, or all personas and overlays of a layer
    Reset {
        /// The persona's id or unique name; by default, all personas of the layer
        id: Option<String>,
        /// The layer
        #[arg(long = "in", alias = "to", value_enum, default_value_t = LayerArg::User, value_name = "LAYER")]
        layer: LayerArg,
        /// Do not ask for confirmation
        #[arg(long, short)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
pub struct PersonaSetArgs {
    /// The persona's id or unique name
    pub id: String,
    /// Key of the role whose charter it follows; an empty text removes it
    #[arg(long)]
    pub role: Option<String>,
    /// What it is good at, separated by commas; an empty text removes it
    #[arg(long, value_name = "A,B")]
    pub expertise: Option<String>,
    /// When to use it; an empty text removes it
    #[arg(long)]
    pub description: Option<String>,
    /// Tags, separated by commas
    #[arg(long, value_name = "A,B")]
    pub tags: Option<String>,
    /// What it takes over from the repository's own setup, separated by commas: instructions, commands, skills, mcp, hooks; an
    /// empty text takes nothing
    #[arg(long, value_name = "KIND,...")]
    pub inherit: Option<String>,
    /// The tier to use when none is given; an empty text removes it
    #[arg(long, value_name = "TIER")]
    pub default_tier: Option<String>,
    /// Maximum cost of a run in US dollars; an empty text removes it
    #[arg(long, value_name = "USD")]
    pub max_usd: Option<String>,
    /// claude's bare mode: `true` or `false`; an empty text removes it
    #[arg(long, value_name = "BOOL")]
    pub bare_mode: Option<String>,
    /// No user-level instruction files, skills or MCP servers: `true` or `false`; an empty text removes it
    #[arg(long, value_name = "BOOL")]
    pub hermetic: Option<String>,
    /// The harness, for the tier given with --tier or for those that set none; an empty text removes it
    #[arg(long)]
    pub harness: Option<String>,
    /// The model, for the tier given with --tier or for those that set none; an empty text removes it
    #[arg(long)]
    pub model: Option<String>,
    /// The tier that --harness and --model apply to
    #[arg(long, value_name = "TIER")]
    pub tier: Option<String>,
    /// The layer to write to; by default the highest file of the persona, or your own layer for a built-in
    #[arg(long = "in", alias = "to", value_enum, value_name = "LAYER")]
    pub layer: Option<LayerArg>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LayerArg {
    Project,
    User,
}

#[derive(Debug, Subcommand)]
pub enum RoleCommand {
    /// List roles and their personas
    List,
    /// Show a role's charter and where it came from
    Show {
        /// The role's key, as `role list` shows it
        key: String,
    },
    /// Create a role; the charter comes from a file or standard input
    Create {
        /// The new role's key: a lower-case slug such as `data-steward`
        key: String,
        /// The role's display name
        #[arg(long)]
        label: String,
        #[command(flatten)]
        fields: RoleFields,
        /// Where to write it: `project`, `user` or a directory; by default, where `create` writes personas
        #[arg(long = "in", alias = "to", value_name = "project|user|DIR")]
        to: Option<String>,
    },
    /// Edit a role, in its own file or, for a built-in, in an overlay
    Set {
        /// The role's key
        key: String,
        /// The role's display name
        #[arg(long)]
        label: Option<String>,
        #[command(flatten)]
        fields: RoleFields,
        /// The layer to write to; by default the highest file of the role, or your own layer for a built-in
        #[arg(long = "in", alias = "to", value_enum, value_name = "LAYER")]
        layer: Option<LayerArg>,
    },
    /// Delete a role; built-in roles and roles in use cannot be deleted
    Delete {
        /// The role's key
        key: String,
        /// Assign its personas to this role first
        #[arg(long, value_name = "KEY")]
        reassign_to: Option<String>,
    },
    /// Remove the overlay of a built-in role, or all roles of a layer
    Reset {
        /// The role's key; by default, all roles of the layer
        key: Option<String>,
        /// The layer
        #[arg(long = "in", alias = "to", value_enum, default_value_t = LayerArg::User, value_name = "LAYER")]
        layer: LayerArg,
        /// Do not ask for confirmation
        #[arg(long, short)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
pub struct RoleFields {
    /// A file with the charter; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub charter_file: Option<PathBuf>,
    /// Harness for personas that set none; an empty text removes it
    #[arg(long)]
    pub harness: Option<String>,
    /// Model for personas that set none; an empty text removes it
    #[arg(long)]
    pub model: Option<String>,
}
