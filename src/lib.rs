//! One binary that runs a coding agent as a persona. This page is the map.
//!
//! Decide, then do, then say. Data flows one way:
//!
//! ```text
//! args -> RunRequest -> layers -> ResolvedPersona -> RunPlan -> open -> attempt* -> check -> finish -> RunReport
//! cli     commands      load      resolve            plan       run, on top of mount, launch and session
//! ```
//!
//! Everything up to the [`RunPlan`](model::plan::RunPlan) is a pure function of what was read, and the plan holds every decision:
//! limits, checks, what becomes of the changes, and the reasons for which the run would be refused. A dry run prints it and stops.
//!
//! # Rooms
//!
//! In this order: a room uses only rooms above it. `tests/it/architecture` checks that.
//!
//! | room | job |
//! |---|---|
//! | [`host`] | the process's world as a value: environment, working directory, clock, random ids, terminals |
//! | [`exit`], [`error`] | the table of exit codes; the error that a command shows |
//! | [`model`] | plain data: persona, role, plan, report, warnings |
//! | [`git`], [`tool`], [`remote`] | the git command, other programs, other people's repositories: with time limits and no terminal |
//! | [`files`] | locked, atomic writes of our own files |
//! | [`load`] | finds and reads layers; merges nothing |
//! | [`rules`] | path rules: which paths are hidden, read-only or writable, and by which rule |
//! | [`resolve`] | merges layers, selects tier, harness and model, composes the prompt; knows where every field came from |
//! | [`workforce`] | the layers of this place, opened once: finds personas and roles by name |
//! | [`harness`] | one folder per harness: its command line and files, its events, its login |
//! | [`plan`] | from a resolved persona to a `RunPlan`: enforcement, refusals, mount |
//! | [`convert`] | other tools' agent files as personas, and back |
//! | [`skills`] | from skill sources to directories that a harness takes, through a cache |
//! | [`pack`] | packs of personas: fetch, check, place, lock |
//! | [`mount`] | the private view of the project: make it, run in it, find what changed, apply, undo, recover |
//! | [`session`] | the session directory: create, list, lock, apply, undo, recover, prune |
//! | [`launch`] | puts a plan's files in place, runs the harness, reads its events, enforces its limits |
//! | [`run`] | the engine: prepare, open, attempt, review, check, finish, report; tells an `Observer`, asks a `Decider` |
//! | [`ui`] | the only writer to stdout and stderr: text, tables, JSON, colour, progress, `-v` |
//! | [`cli`] | clap definitions only |
//! | [`commands`] | one file per command: builds a request, calls a room, shows the answer; `explain` maps typed errors to exit codes and hints |
//!
//! `fuzz` exists for tests and fuzzers only. `model`, `rules`, `resolve`, `plan` and `convert` are pure: no file, environment, clock
//! or process.
//!
//! # Files on disk
//!
//! Below the workforce home (`~/.agentworkforce/workforce`, or `AGENT_WORKFORCE_HOME`):
//!
//! | path | owner |
//! |---|---|
//! | `config.json` | [`commands`] (`config`, `sources`) |
//! | `personas/`, `roles/` | [`commands`] (`persona`, `role`, `create`, `import`) |
//! | `recents.json`, `logs/audit.log` | [`commands`] (`picker`, `edit`) |
//! | `logs/last-failure.log` | [`run`]: the log of a run that failed before its harness started |
//! | `backups/` | [`files`] |
//! | `locks/`, `cache/mount-probe.json` | [`mount`] |
//! | `cache/skills/`, `cache/versions/` | [`skills`], [`tool`] |
//! | `sessions/<id>/` | [`session`] |
//! | `agentworkforce.lock`, `.agentworkforce-journal` (beside personas) | [`pack`] |
//!
//! In a session: `status.json`, `rules.json`, `lock` ([`session`]); `plan.json`, `report.json`, `harness.json`, `debug.log`,
//! `check-<n>.log`, `attempts/<n>/` with `task.md`, `command.json`, `events.jsonl`, `harness.log`, `outcome.json` ([`run`]); what the
//! harness reads ([`launch`]); `mount.json`, `manifest`, `upper/` or `mount/`, `journal/`, `undo/` ([`mount`]).

pub mod cli;
pub mod commands;
pub mod convert;
pub mod error;
pub mod exit;
pub mod files;
#[cfg(test)]
mod fuzz;
pub mod git;
pub mod harness;
pub mod host;
pub mod launch;
pub mod load;
pub mod model;
pub mod mount;
pub mod pack;
pub mod plan;
pub mod remote;
pub mod resolve;
pub mod rules;
pub mod run;
pub mod session;
pub mod skills;
pub mod tool;
pub mod ui;
pub mod workforce;

use error::CommandError;
use exit::Exit;
use host::Host;
use run::debug_log::DebugLog;
use std::ffi::OsString;
use ui::{RunAnswer, Ui};

/// Runs the program with these arguments and returns its exit code.
pub fn run(args: Vec<OsString>) -> u8 {
    // Before anything starts a thread: a user namespace can only be entered while there is one.
    if let Some(code) = mount::process::inside::run_if_hidden(&args[1.min(args.len())..]) {
        return code;
    }
    // clap decides about `--json` too late for errors about the command line itself.
    let has = |flag: &str| args.iter().take_while(|arg| *arg != "--").any(|arg| arg == flag);
    let json = has("--json") || has("--stream-json");
    report_panics(json);
    let mut ui = Ui::new(json);
    if args.get(1).is_some_and(|command| command == "agent") {
        ui.answers_for_a_run(if has("--stream-json") { RunAnswer::Lines } else { RunAnswer::Whole });
    }
    let exit = run_with(args, &mut ui).unwrap_or_else(|error| {
        ui.error(&error);
        error.exit
    });
    ui.finish(exit).code()
}

/// A panic ends like every other failure of the runner: with a message, with JSON where it is expected, with 125.
fn report_panics(json: bool) {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        usual(panic);
        let error = CommandError::internal("this is a bug in agentworkforce")
            .caused_by(panic)
            .hint("the work of a run is in its session: `agentworkforce sessions recover`");
        let mut ui = Ui::new(json);
        ui.error(&error);
        std::process::exit(ui.finish(error.exit).code().into());
    }));
}

fn run_with(args: Vec<OsString>, ui: &mut Ui) -> Result<Exit, CommandError> {
    let host = Host::of_this_process()?;
    #[cfg(debug_assertions)]
    assert!(args.get(1).is_none_or(|name| name != "__bug"), "a bug on purpose, for the tests");
    let parsed = cli::parse(args.clone(), &[]);
    // Reading the config for the sake of the help is only worth it where the help is shown.
    let parsed = match parsed {
        Err(error) if cli::shows_help(&error) => cli::parse(args, &commands::hidden(&host)),
        other => other,
    };
    match parsed {
        Ok(cli) => {
            let log = DebugLog::default();
            let kept = commands::keeps_log(&cli).then(|| log.clone());
            ui::diagnostics::install(cli.verbose, host.var("AGENTWORKFORCE_LOG"), kept).map_err(
                |problem| {
                    CommandError::usage("`AGENTWORKFORCE_LOG` is not valid")
                        .caused_by(problem)
                        .hint("use a level such as `debug`, or `agentworkforce::mount=debug`")
                },
            )?;
            commands::run(&cli, &host, log, ui)
        }
        Err(error) => ui.usage(&error),
    }
}
