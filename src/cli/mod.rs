//! The command line: clap definitions only. Commands get these typed arguments and no clap types.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;

mod catalogue;
pub mod completion;
mod edit;
mod exchange;
mod help;
mod inspect;
mod manual;
mod packs;
mod runs;
mod sessions;
mod settings;
mod values;
mod work;

pub use catalogue::{CreateArgs, PickArgs};
pub use completion::AskingShell;
pub use edit::{LayerArg, PersonaCommand, PersonaSetArgs, RoleCommand, RoleFields};
pub use exchange::{ExportArgs, FromArg, ImportArgs};
pub use inspect::{LintArgs, ListArgs, SchemaArgs, SchemaFormat, ShowArgs};
pub use packs::{InstallArgs, PackArgs, UninstallArgs, UpdateArgs};
pub use runs::{
    AgentArgs, ApplyArg, BackendArg, ChangesArgs, InheritArg, MountArgs, ProjectFrom, SandboxArg, ShownArgs,
};
pub use sessions::{SessionsCommand, SessionsListArgs};
pub use settings::{ConfigCommand, SourcesCommand};
pub use work::{ContractArgs, ContractCommand, ContractNewArgs, ModeArg, SpecSkipArg, VerifyArgs, WorkArgs};

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
    /// Run a persona under a contract: its result is measured, corrected, and applied only if it is approved
    Work(Box<WorkArgs>),
    /// Measure a working tree against a git ref under a contract, for CI
    Verify(VerifyArgs),
    /// Write, check or approve contracts
    Contract {
        #[command(subcommand)]
        action: ContractCommand,
    },
    /// Run any command in a private view of the project, then review and apply its changes
    Mount(Box<MountArgs>),
    /// List, search, show, apply, undo, recover or prune sessions
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
    /// Show the help of a command
    Help {
        /// The command, and its subcommand
        #[arg(value_name = "COMMAND")]
        words: Vec<String>,
    },
    /// What the completion scripts ask
    #[command(hide = true, name = "__complete")]
    Complete {
        /// The shell that asks
        #[arg(value_enum)]
        shell: AskingShell,
        /// The words so far; from bash, the line and its word breaks
        #[arg(last = true, required = true)]
        words: Vec<OsString>,
    },
    /// The npm tool's name for `doctor`
    #[command(hide = true)]
    Harness {
        #[command(subcommand)]
        action: HarnessCommand,
    },
}

#[derive(Debug, Subcommand)]
pub enum HarnessCommand {
    /// The same as `doctor`
    Check,
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

/// The request for the help of a command, as clap answers it.
pub fn help_of(words: &[String], hidden: &[&str]) -> clap::Error {
    // Only words name commands: a flag could end the arguments before ours.
    let words = words.iter().filter(|word| !word.starts_with('-')).map(OsString::from);
    let args = std::iter::once("agentworkforce".into()).chain(words).chain(["--help".into()]);
    let mut command = command(hidden);
    match command.try_get_matches_from_mut(args) {
        Err(answer) => answer,
        Ok(_) => command.error(ErrorKind::InvalidSubcommand, "there is no such command"),
    }
}

/// A first word that is no command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownCommand {
    pub word: String,
    /// Whether clap knows a command that looks like it.
    pub has_suggestion: bool,
}

/// The first word of these arguments, if the error is that it is no command.
pub fn unknown_command(error: &clap::Error, args: &[OsString]) -> Option<UnknownCommand> {
    let ContextValue::String(word) = error.get(ContextKind::InvalidSubcommand)? else { return None };
    let is_flag = |arg: &&OsString| arg.as_encoded_bytes().starts_with(b"-");
    let first = args.iter().skip(1).find(|arg| !is_flag(arg))?;
    (first.as_os_str() == word.as_str()).then(|| UnknownCommand {
        word: word.clone(),
        has_suggestion: error.get(ContextKind::SuggestedSubcommand).is_some(),
    })
}

/// Whether this "error" is a request for help, or ends in it.
pub fn shows_help(error: &clap::Error) -> bool {
    !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
}
