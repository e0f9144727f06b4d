//! The command line: clap definitions only. Commands get these typed arguments and no clap types.

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;

mod catalogue;
mod edit;
mod exchange;
mod help;
mod look;
mod manual;
mod packs;
mod runs;
mod sessions;
mod settings;
mod values;

pub use catalogue::{CreateArgs, PickArgs};
pub use edit::{LayerArg, PersonaCommand, PersonaSetArgs, RoleCommand, RoleFields};
pub use exchange::{ExportArgs, FromArg, ImportArgs};
pub use look::{LintArgs, ListArgs, SchemaArgs, SchemaFormat, ShowArgs};
pub use packs::{InstallArgs, PackArgs, UninstallArgs, UpdateArgs};
pub use runs::{AgentArgs, ApplyArg, BackendArg, ChangesArgs, MountArgs, ProjectFrom, SandboxArg};
pub use sessions::SessionsCommand;
pub use settings::{ConfigCommand, SourcesCommand};

/// Run claude, opencode or codex as a persona, in a private copy-on-write mount of your project.
#[derive(Debug, Parser)]
#[command(name = "agentworkforce", version = env!("AGENTWORKFORCE_VERSION"), disable_help_subcommand = true)]
pub struct Cli {
    /// Print one JSON object on stdout
    #[arg(long, global = true)]
    pub json: bool,

    /// Log what happens to stderr; twice for details
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,

    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a persona
    Agent(Box<AgentArgs>),
    /// Run any command in a private view of the project, then review and apply its changes
    Mount(Box<MountArgs>),
    /// List, show, apply, undo, recover or prune sessions
    Sessions {
        #[command(subcommand)]
        action: SessionsCommand,
    },
    /// List the personas of every layer
    List(ListArgs),
    /// Show a persona: its settings, their origins, its prompt and its path rules
    Show(ShowArgs),
    /// Rank personas for a task (offline), with reasons
    Pick(PickArgs),
    /// Check persona and role files, with line numbers and fixes
    Lint(LintArgs),
    /// Create a persona that runs as is
    Create(CreateArgs),
    /// Rename, edit, delete or reset a persona
    Persona {
        #[command(subcommand)]
        action: PersonaCommand,
    },
    /// List, show, create, edit or delete roles
    Role {
        #[command(subcommand)]
        action: RoleCommand,
    },
    /// Print the JSON Schema of a file or output format
    Schema(SchemaArgs),
    /// Convert agent files of other tools to personas, with a report on every field
    Import(ImportArgs),
    /// Convert a persona to an agent file for claude, opencode or codex
    Export(ExportArgs),
    /// Install the personas of a pack: a directory, a .tgz, a git url or an npm package
    Install(InstallArgs),
    /// Update installed packs; your edits are kept
    Update(UpdateArgs),
    /// Remove an installed pack; files you edited are kept
    Uninstall(UninstallArgs),
    /// Check a directory of personas and pack it as a .tgz for `install`
    Pack(PackArgs),
    /// List, add or remove directories of personas
    Sources {
        #[command(subcommand)]
        action: SourcesCommand,
    },
    /// Check harnesses, logins, the mount and your files, with fixes
    Doctor,
    /// Read and change settings
    Config {
        #[command(subcommand)]
        action: ConfigCommand,
    },
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

/// The clap command with grouped help. `hidden` commands are left out: their features are off.
pub fn command(hidden: &[&str]) -> clap::Command {
    help::grouped(Cli::command(), hidden)
}

/// The manual page.
pub fn manual() -> std::io::Result<String> {
    manual::page(command(&[]))
}

/// Parses the arguments; fails with clap's own error and its suggestion.
pub fn parse(args: impl IntoIterator<Item = OsString>, hidden: &[&str]) -> Result<Cli, clap::Error> {
    let matches = command(hidden).try_get_matches_from(args)?;
    Cli::from_arg_matches(&matches)
}

/// Whether this "error" is a request for help, or ends in it.
pub fn shows_help(error: &clap::Error) -> bool {
    !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
}
