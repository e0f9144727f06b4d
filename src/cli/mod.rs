//! The command line: clap definitions only. Commands get these typed arguments and no clap types.

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

mod catalogue;
mod exchange;
mod help;
mod manual;
mod packs;

pub use packs::{InstallArgs, PackArgs, UninstallArgs, UpdateArgs};

pub use catalogue::{CreateArgs, PickArgs};
pub use exchange::{ExportArgs, FromArg, ImportArgs};

/// Run claude, opencode or codex as a persona, in a private copy-on-write mount of your project.
#[derive(Debug, Parser)]
#[command(name = "agentworkforce", version = env!("AGENTWORKFORCE_VERSION"), disable_help_subcommand = true)]
pub struct Cli {
    /// Answer with one JSON object on stdout
    #[arg(long, global = true)]
    pub json: bool,

    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a persona, or show with --dry-run what would run
    Agent(Box<AgentArgs>),
    /// Run any command in a private view of the project, then review and apply its changes
    Mount(Box<MountArgs>),
    /// List, show, apply, undo, recover or prune what runs left behind
    Sessions {
        #[command(subcommand)]
        action: SessionsCommand,
    },
    /// List the personas of every layer
    List(ListArgs),
    /// Show one persona: what it is, where each field came from, what a harness is given
    Show(ShowArgs),
    /// Rank the personas for a task, offline, with the reasons
    Pick(PickArgs),
    /// Check persona and role files, with the place and the fix of every problem
    Lint(LintArgs),
    /// Write a new persona that runs as it is and explains itself
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
    /// Turn agent files of other tools into personas, with an account of every field
    Import(ImportArgs),
    /// Write a persona as an agent file of claude, opencode or codex
    Export(ExportArgs),
    /// Install the personas of a pack: a directory, a .tgz, a git url or an npm package
    Install(InstallArgs),
    /// Bring installed packs up to date; what you edited stays
    Update(UpdateArgs),
    /// Remove an installed pack; what you edited stays
    Uninstall(UninstallArgs),
    /// Check a directory of personas and write it as a .tgz that install takes
    Pack(PackArgs),
    /// List, add or remove directories of personas
    Sources {
        #[command(subcommand)]
        action: SourcesCommand,
    },
    /// Check harnesses, logins, the mount and your files, with the fix of every gap
    Doctor,
    /// Read and change settings
    Config {
        #[command(subcommand)]
        action: ConfigCommand,
    },
    /// Print a completion script for a shell
    Completions {
        /// The shell that reads it
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

/// Where the project's own personas and rules are read.
#[derive(Debug, Args)]
pub struct ProjectFrom {
    /// Take the project's personas, roles, sidecars and rule files from this git ref, not from the working tree
    #[arg(long, value_name = "REF", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    persona_ref: Option<String>,
}

impl ProjectFrom {
    pub fn persona_ref(&self) -> Option<&str> {
        self.persona_ref.as_deref()
    }
}

/// What becomes of a run's changes.
#[derive(Debug, Args)]
pub struct ChangesArgs {
    /// What becomes of the changes; default: ask on a terminal, else auto
    #[arg(long, value_enum, value_name = "WHEN")]
    pub apply: Option<ApplyArg>,
    /// Apply changes to paths that git ignores, too
    #[arg(long)]
    pub include_ignored: bool,
    /// Keep the mount after its changes were applied, to look at it or to resume
    #[arg(long)]
    pub keep: bool,
}

#[derive(Debug, Args)]
pub struct AgentArgs {
    /// Who runs: an id or intent of `agentworkforce list`, and the tier best, best-value or minimum
    #[arg(value_name = "PERSONA[@TIER]")]
    pub selector: String,
    /// Decide everything, start nothing, write nothing, and print the plan
    #[arg(long)]
    pub dry_run: bool,
    /// Do this one task without conversation, then end
    #[arg(short, long, value_name = "TEXT", conflicts_with = "prompt_file")]
    pub prompt: Option<String>,
    /// The same with the task from a file; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub prompt_file: Option<PathBuf>,
    /// A value for an input of the persona; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = name_and_value)]
    pub input: Vec<(String, String)>,
    /// Run on this harness instead of the tier's
    #[arg(long, value_name = "claude|opencode|codex")]
    pub harness: Option<String>,
    /// Use this model instead of the tier's
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// How the private view of the project is made
    #[arg(long, value_enum, value_name = "BACKEND")]
    pub mount: Option<BackendArg>,
    /// Work in the real directory: no mount, no sidecars (the same as --mount none)
    #[arg(long, conflicts_with = "mount")]
    pub install_in_repo: bool,
    /// Mount this directory instead of the repository's top level
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Refuse the run (exit 4) unless this is protected
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub sandbox: Option<SandboxArg>,
    /// End the run after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    pub timeout: Option<f64>,
    /// End the run after so many seconds in which the harness says nothing and no tool is at work
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    pub idle_timeout: Option<f64>,
    /// End the run after so many turns of the model
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_turns: Option<u64>,
    /// End the run when it has cost so many US dollars
    #[arg(long, value_name = "USD", value_parser = not_negative)]
    pub max_usd: Option<f64>,
    /// Refuse instead of warn: everything the persona demands must be enforced
    #[arg(long)]
    pub strict: bool,
    #[command(flatten)]
    pub changes: ChangesArgs,
    /// A command that must succeed on the result before anything is applied; may be repeated
    #[arg(long, value_name = "COMMAND")]
    pub check: Vec<String>,
    /// End a check, as failed, after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = positive, requires = "check")]
    pub check_timeout: Option<f64>,
    /// Go on with the conversation and the mount of this session
    #[arg(long, value_name = "SESSION")]
    pub resume: Option<String>,
    /// Print what the agent does as JSON, an event a line, and the report last
    #[arg(long)]
    pub stream_json: bool,
    /// Take skills from the cache only, never from the network
    #[arg(long)]
    pub offline: bool,
    /// Arguments for the harness itself
    #[arg(last = true, value_name = "HARNESS ARGS")]
    pub harness_args: Vec<String>,
    #[command(flatten)]
    pub from: ProjectFrom,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum BackendArg {
    /// Overlay where it works here, else copy, with the reason
    Auto,
    /// Copy-on-write at the project's own path (Linux)
    Overlay,
    /// A copy of the project in the session
    Copy,
    /// The real directory: no review, nothing hidden
    None,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum SandboxArg {
    /// Demand nothing
    Off,
    /// The real project cannot be written and hidden files cannot be opened from inside
    Project,
    /// Besides, only the mount, temp directories, caches and the harness's own state can be written
    Strict,
}

#[derive(Debug, Args)]
pub struct MountArgs {
    /// See what this persona sees: its rules and its sidecar
    #[arg(long, value_name = "PERSONA[@TIER]")]
    pub persona: Option<String>,
    #[command(flatten)]
    pub changes: ChangesArgs,
    /// How the private view of the project is made
    #[arg(long, value_enum, value_name = "BACKEND")]
    pub mount: Option<BackendArg>,
    /// Mount this directory instead of the repository's top level
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Refuse the run (exit 4) unless this is protected
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub sandbox: Option<SandboxArg>,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
    #[command(flatten)]
    pub from: ProjectFrom,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ApplyArg {
    /// Apply when the run succeeded and nothing is in conflict
    Auto,
    /// Ask at the terminal
    Ask,
    /// Hold the changes in the session
    Never,
}

#[derive(Debug, Subcommand)]
pub enum SessionsCommand {
    /// All sessions, newest first
    List,
    /// One session: its state, what it changed, what can be done with it
    Show {
        /// The session, or the start of its name
        id: String,
    },
    /// What a session changed, as a diff
    Diff {
        /// The session, or the start of its name
        id: String,
        /// Only this path and what is below it
        path: Option<PathBuf>,
        /// Also paths that git ignores
        #[arg(long)]
        include_ignored: bool,
    },
    /// Apply a held session; nothing is applied while anything is in conflict
    Apply {
        /// The session, or the start of its name
        id: String,
        /// Only this path; may be repeated
        #[arg(long, value_name = "PATH")]
        only: Vec<PathBuf>,
        /// Take the agent's version of a path in conflict; may be repeated
        #[arg(long, value_name = "PATH")]
        theirs: Vec<PathBuf>,
        /// Keep your version of a path in conflict; may be repeated
        #[arg(long, value_name = "PATH")]
        ours: Vec<PathBuf>,
        /// Also paths that git ignores
        #[arg(long)]
        include_ignored: bool,
        /// Keep the mount after its changes were applied
        #[arg(long)]
        keep: bool,
    },
    /// Throw a session's work away
    Discard {
        /// The session, or the start of its name
        id: String,
    },
    /// Restore the files as they were before an apply, if they have not changed since
    Undo {
        /// The session, or the start of its name
        id: String,
    },
    /// Take up sessions whose runner died: finish or roll back, then hold their work
    Recover {
        /// The session, or the start of its name; without it, all that need it
        id: Option<String>,
    },
    /// Remove sessions that hold nothing that is not applied
    Prune {
        /// How old they must be: 7d, 12h, 30m, 90s
        #[arg(long, default_value = "7d", value_name = "AGE")]
        older_than: String,
        /// Also those with work that was never applied
        #[arg(long)]
        force: bool,
    },
}

#[derive(Debug, Args)]
pub struct ListArgs {
    /// One row for every tier instead of the default tier
    #[arg(long, visible_alias = "no-recommended")]
    pub all: bool,
    /// Only this tier
    #[arg(long, visible_alias = "filter-rating", value_name = "TIER")]
    pub tier: Option<String>,
    /// Only personas on this harness
    #[arg(long, visible_alias = "filter-harness", value_name = "HARNESS")]
    pub harness: Option<String>,
    /// Only personas with this tag
    #[arg(long, visible_alias = "filter-tag", value_name = "TAG")]
    pub tag: Option<String>,
    /// One row a persona: the default, accepted for old scripts
    #[arg(long, hide = true)]
    pub recommended: bool,
    /// Accepted for old scripts
    #[arg(long, hide = true)]
    pub display_description: bool,
    /// Leave the descriptions out
    #[arg(long)]
    pub no_display_description: bool,
    #[command(flatten)]
    pub from: ProjectFrom,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// An id or intent of `agentworkforce list`; without a tier, its default one
    #[arg(value_name = "PERSONA[@TIER]")]
    pub selector: String,
    /// Which file set each field
    #[arg(long)]
    pub origins: bool,
    /// The system prompt, exactly as the harness is given it
    #[arg(long)]
    pub prompt: bool,
    /// The path rules with what they match, or the decision for one path
    #[arg(long, value_name = "PATH", num_args = 0..=1)]
    #[allow(clippy::option_option)]
    pub files: Option<Option<PathBuf>>,
    /// What becomes of each demand on the harness
    #[arg(long)]
    pub enforcement: bool,
    /// Every tier, where the persona has several
    #[arg(long)]
    pub all: bool,
    /// Look at it on this harness
    #[arg(long, value_name = "HARNESS")]
    pub harness: Option<String>,
    /// A value for an input of the persona; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = name_and_value)]
    pub input: Vec<(String, String)>,
    #[command(flatten)]
    pub from: ProjectFrom,
}

#[derive(Debug, Args)]
pub struct LintArgs {
    /// Files, directories or persona ids; without any, every layer
    #[arg(value_name = "PATH|ID")]
    pub targets: Vec<String>,
    /// Warnings count as errors
    #[arg(long)]
    pub strict: bool,
    #[command(flatten)]
    pub from: ProjectFrom,
}

#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Which format
    #[arg(value_enum)]
    pub format: SchemaFormat,
    /// As a reference to read, in Markdown: persona, role and config
    #[arg(long)]
    pub markdown: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaFormat {
    /// Persona files, overlays included
    Persona,
    /// Role files
    Role,
    /// What `agent --dry-run --json` prints
    Plan,
    /// What `agent -p ... --json` prints
    Report,
    /// config.json
    Config,
}

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

fn name_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it as NAME=VALUE".into()),
    }
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 => Ok(number),
        _ => Err("must be a number above 0".into()),
    }
}

fn not_negative(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
        _ => Err("must be a number from 0 on".into()),
    }
}

/// The clap command with help grouped the way people look for things. `hidden` leaves the help: features that are off.
pub fn command(hidden: &[&str]) -> clap::Command {
    help::grouped(Cli::command(), hidden)
}

/// The manual page.
pub fn manual() -> String {
    manual::page(command(&[]))
}

/// Reads the arguments; on a problem, clap's own error with its suggestion.
pub fn parse(args: impl IntoIterator<Item = OsString>, hidden: &[&str]) -> Result<Cli, clap::Error> {
    let matches = command(hidden).try_get_matches_from(args)?;
    Cli::from_arg_matches(&matches)
}

/// Whether this "error" is a request for help, or ends in it.
pub fn shows_help(error: &clap::Error) -> bool {
    !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
}
