//! One file a command: the only place where the stages are put together.

use crate::cli::{Cli, Command, HarnessCommand};
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::files::owned;
use crate::files::private_home::{self, PrivateHome};
use crate::host::{Host, terminal};
use crate::load::error::LoadError;
use crate::model::features::{Feature, FeatureSource};
use crate::model::selector::Selector;
use crate::run::RunRequest;
use crate::run::debug_log::DebugLog;
use crate::ui::Ui;
use crate::workforce::Workforce;

mod agent;
mod banner;
mod complete;
mod config;
mod contract;
mod create;
mod doctor;
mod edit;
mod explain;
mod export;
mod import;
mod lint;
mod list;
mod mount;
mod notify;
mod observe;
mod packs;
mod persona;
mod pick;
mod picker;
mod piped;
mod prompter;
mod request;
mod reset;
mod review;
mod role;
mod say;
mod schema;
mod sessions;
mod show;
mod sources;
mod target;
mod unknown;
mod verify;
mod work;
mod work_observer;

pub use unknown::persona_instead;

pub fn run(cli: &Cli, host: &Host, log: DebugLog, ui: &mut Ui) -> Result<Exit> {
    let _home = closed_home(cli, host)?;
    match &cli.command {
        Some(Command::Agent(args)) => agent::run(args, host, log, ui),
        Some(Command::Work(args)) => work::run(args, host, log, ui),
        Some(Command::Verify(args)) => verify::run(args, host, ui),
        Some(Command::Contract { action }) => contract::run(action, host, ui),
        Some(Command::Mount(args)) => mount::run(args, host, log, ui),
        Some(Command::Sessions { action }) => sessions::run(action, host, ui),
        Some(Command::List(args)) => list::run(args, host, ui),
        Some(Command::Show(args)) => show::run(args, host, ui),
        Some(Command::Lint(args)) => lint::run(args, host, ui),
        Some(Command::Pick(args)) => pick::run(args, host, log, ui),
        Some(Command::Create(args)) => create::run(args, host, ui),
        Some(Command::Persona { action }) => persona::run(action, host, ui),
        Some(Command::Role { action }) => role::run(action, host, ui),
        Some(Command::Schema(args)) => schema::run(args, ui),
        Some(Command::Import(args)) => import::run(args, host, ui),
        Some(Command::Export(args)) => export::run(args, host, ui),
        Some(Command::Install(args)) => packs::install::run(args, host, ui),
        Some(Command::Update(args)) => packs::update::run(args, host, ui),
        Some(Command::Uninstall(args)) => packs::uninstall::run(args, host, ui),
        Some(Command::Pack(args)) => packs::pack::run(args, host, ui),
        Some(Command::Sources { action }) => sources::run(action, host, ui),
        Some(Command::Doctor | Command::Harness { action: HarnessCommand::Check }) => {
            Ok(doctor::run(host, ui))
        }
        Some(Command::Config { action }) => config::run(action, host, ui),
        Some(Command::Completions { shell }) => Ok(complete::script(*shell, ui)),
        Some(Command::Complete { shell, words }) => Ok(complete::run(*shell, words, host, ui)),
        Some(Command::Man) => man(ui),
        Some(Command::Help { words }) => ui.usage(&crate::cli::help_of(words, &hidden(host))),
        None => bare(host, log, ui),
    }
}

/// Closes our home to others, and has it made closed for a command that may be the first to write to it; runs do so themselves, and
/// after every other command it is closed. A directory that the user has named keeps its mode: it may be there for other things, too. It
/// is refused if others can write to it: its config and personas decide what is run.
fn closed_home(cli: &Cli, host: &Host) -> Result<Option<PrivateHome>> {
    if matches!(
        cli.command,
        Some(Command::Complete { .. } | Command::Completions { .. } | Command::Man | Command::Help { .. })
    ) {
        return Ok(None);
    }
    let Ok(home) = host.workforce_home() else { return Ok(None) };
    if host.var("AGENT_WORKFORCE_HOME").is_none() {
        private_home::close_to_others(&home);
    } else if let Err(reason) = owned::check_home(&home) {
        return Err(LoadError::HomeOfOthers { home, reason }.into());
    }
    Ok(Some(match &cli.command {
        Some(Command::Config { .. }) => PrivateHome::make(&home),
        Some(Command::Create(args)) if !args.dry_run => PrivateHome::make(&home),
        _ => PrivateHome::watch(&home),
    }))
}

/// Whether this command may run something, and so keeps a log of it.
pub fn keeps_log(cli: &Cli) -> bool {
    matches!(
        cli.command,
        Some(Command::Agent(_) | Command::Work(_) | Command::Mount(_) | Command::Pick(_)) | None
    )
}

/// On a terminal a picker, otherwise the help.
fn bare(host: &Host, log: DebugLog, ui: &mut Ui) -> Result<Exit> {
    if ui.is_json() {
        return Err(
            CommandError::usage("no command is given").hint("`agentworkforce --help` shows the commands")
        );
    }
    if !host.stdin_is_terminal || !host.stderr_is_terminal {
        ui.text(&crate::cli::command(&[]).render_help().ansi().to_string());
        return Ok(Exit::Usage);
    }
    let outlines = Workforce::open_outlines(host, None)?;
    let selector = match picker::pick(&outlines, host, ui)? {
        picker::Picked::Persona(selector) => selector,
        picker::Picked::Nothing => return Ok(Exit::Done),
        picker::Picked::Signal(signal) => return Ok(Exit::Signal(u8::try_from(signal).unwrap_or(0))),
    };
    let request = RunRequest { attended: true, ..RunRequest::of(Selector::parse(&selector)?) };
    let shown = observe::Shown::of(host, false, false, ui);
    agent::carry_out(&request, agent::How::Run, shown, &Workforce::open(host)?, log, ui)
}

/// Whether a person may be at a terminal, wherever our input and output lead to: then nothing is applied unasked. If the terminal is
/// in use for something else when the question comes, the changes are held.
fn is_attended() -> bool {
    terminal::is_there()
}

/// Whether input and messages are at a terminal.
fn is_interactive(host: &Host, ui: &Ui) -> bool {
    host.stdin_is_terminal && host.stderr_is_terminal && !ui.is_json()
}

fn man(ui: &mut Ui) -> Result<Exit> {
    ui.verbatim(crate::cli::manual()?.as_bytes());
    Ok(Exit::Done)
}

/// A command whose feature is switched off, and how to switch it on.
fn disabled(workforce: &Workforce, what: &str, feature: Feature) -> CommandError {
    let state = workforce.features.iter().find(|state| state.feature.id == feature);
    let by_variable = state.is_some_and(|state| state.from == FeatureSource::Env);
    CommandError::usage(format!("`{what}` is switched off: feature `{feature}`")).hint(if by_variable {
        format!("the variable `{}` switches it off; unset it, or set it to 1", feature.variable())
    } else {
        format!("`agentworkforce config set features.{feature} true` switches it on")
    })
}

/// The commands that the help leaves out because their feature is off.
pub fn hidden(host: &Host) -> Vec<&'static str> {
    let Ok(home) = host.workforce_home() else { return Vec::new() };
    let config = crate::load::config::read(&crate::load::layers::config_path(&home));
    let states = crate::model::features::states(&host.env, &config.settings.features).unwrap_or_default();
    let off = |id: Feature| states.iter().any(|state| state.feature.id == id && !state.on);
    let mut hidden = Vec::new();
    if off(Feature::AgentLibrary) {
        hidden.extend(["role create", "role set", "role delete", "role reset"]);
    }
    if off(Feature::AgentRename) {
        hidden.push("persona rename");
    }
    hidden
}
