//! Runs a coding agent (the *harness*: claude, codex or opencode) under a configured *persona*. This page maps the code.
//!
//! Decide, act, report. Data flows one way:
//!
//! ```text
//! data:  args -> RunRequest -> layers -> ResolvedPersona -> RunPlan -> session, mount, changes -> RunReport
//! room:  cli     commands      load      resolve            plan       run                        ui
//! ```
//!
//! Once the layers are read, everything up to the [`RunPlan`](model::plan::RunPlan) is a pure function of them. The plan holds every
//! decision that can be made before the run: limits, checks, what happens to the changes, and any reasons to refuse it. A dry run
//! prints the plan and stops. What only a person can decide later is put to a `Decider`.
//!
//! A few words: a *layer* is a directory of personas (project, configured, user, built-in); a *role* is a charter that several
//! personas share; a *tier* (`best`, `best-value`, `minimum`) picks harness and model; a *session* is one run on disk.
//!
//! # Rooms
//!
//! The rooms are the top-level modules, listed from the bottom up: each may use only rooms listed before it.
//! `tests/it/architecture` enforces this.
//!
//! | room | job |
//! |---|---|
//! | [`host`] | everything the process takes from its surroundings, as one value: environment, working directory, clock, terminals |
//! | [`exit`] | the list of exit codes |
//! | [`error`] | the error type that is shown to the user |
//! | [`model`] | plain data: persona, role, plan, report, warnings; the file formats and their JSON schemas |
//! | [`tool`] | runs other programs with a time limit and no terminal |
//! | [`git`] | runs the git command, so that no setting of a repository can make it run other code |
//! | [`remote`] | fetches remote repositories, with a time limit and no terminal |
//! | [`files`] | locked, atomic writes to the files that this program owns |
//! | [`load`] | finds layers on disk and reads them; merges nothing |
//! | [`rules`] | path rules, the built-in ones for secrets included: which paths are hidden, read-only or writable, and why |
//! | [`resolve`] | merges layers, selects tier, harness and model, composes the prompt; records where each field came from |
//! | [`workforce`] | all layers visible from the working directory, loaded once; looks up personas and roles by name |
//! | [`harness`] | one folder per harness: its command line and files, its event format, its login (`example` is for tests) |
//! | [`plan`] | makes the `RunPlan`: what is enforced and how, why to refuse, which mount to use |
//! | [`convert`] | converts other tools' agent files to personas and back |
//! | [`skills`] | turns skill sources into directories that a harness accepts, through a cache |
//! | [`pack`] | packs of personas: fetch, verify, install, record in the lock file |
//! | [`mount`] | the private view of the project: create it, start processes in it, find changes and conflicts, apply and undo them |
//! | [`session`] | the session directory: create, find and lock it; has `mount` apply, undo or recover its changes; prune |
//! | [`launch`] | writes the plan's files, runs the harness in the mount, collects its events, enforces the plan's limits |
//! | [`run`](mod@run) | the engine: prepare, open, attempt (again and again if need be), review, check, finish, report to an `Observer` |
//! | [`work`] | work with a contract: what it demands, what is measured, what follows; `cycle` alone touches the world |
//! | [`ui`] | the only writer to stdout and stderr: text, tables, JSON, colour, the progress line, logging (`-v`) |
//! | [`cli`] | clap definitions only |
//! | [`commands`] | one module per command: builds a request, calls into a room, shows the result. Its `explain` maps typed errors to exit codes and hints |
//!
//! `fuzz` exists only for tests and fuzzers. `model`, `rules`, `resolve`, `plan`, `convert`
//! and `work` (but for `work::cycle`) are pure: they touch no files, environment, clock or processes.
//!
//! # Files on disk
//!
//! Under the workforce home directory (`~/.agentworkforce/workforce`, or `AGENT_WORKFORCE_HOME`):
//!
//! | path | written by |
//! |---|---|
//! | `config.json` | the commands `config` and `sources` |
//! | `personas/`, `roles/` | the commands `persona`, `role`, `create` and `import`; [`pack`] |
//! | `recents.json` | the picker, in [`commands`] |
//! | `logs/audit.log` | the commands that edit personas and roles |
//! | `logs/last-failure.log` | [`run`](mod@run), when a run fails before its harness starts |
//! | `backups/` | [`files`] |
//! | `locks/` | [`mount`]: one apply per project at a time |
//! | `cache/mount-probe.json` | [`mount`] |
//! | `cache/skills/` | [`skills`] |
//! | `cache/versions/` | [`tool`] |
//! | `cache/sessions-tidied` | [`session`]: when old sessions were looked for last |
//! | `sessions/<id>/` | see below |
//!
//! Next to the personas that it installs, in the home or in a project, [`pack`] keeps `agentworkforce.lock` and, while it writes,
//! `.agentworkforce-journal`. In a session directory:
//!
//! | path | written by |
//! |---|---|
//! | `status.json`, `rules.json`, `inherit.json`, `lock` | [`session`] |
//! | `plan.json`, `report.json`, `harness.json`, `debug.log`, `check-<n>.log` | [`run`](mod@run) |
//! | `attempts/<n>/`: `task.md`, `command.json`, `events.jsonl`, `harness.log`, `outcome.json` | [`run`](mod@run) |
//! | `contract.json`, `history.json`, `verdict.json`, `report/`, `validation-<n>-<view>.log` | [`work`] |
//! | prompts, settings and skills for the harness | [`launch`], [`run`](mod@run) |
//! | `conversation/` | [`mount`], or the harness itself |
//! | `mount.json`, `manifest`, `upper/` (overlay) or `mount/` (copy), `base/`, `journal/`, `undo/` | [`mount`] |

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
pub mod work;
pub mod workforce;

use error::CommandError;
use exit::Exit;
use host::Host;
use run::debug_log::DebugLog;
use std::ffi::OsString;
use ui::{RunAnswer, Ui};

/// Runs the program with these arguments and returns its exit code.
pub fn run(args: &[OsString]) -> u8 {
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
        // A list that is open has a screen of its own, which would take the message with it.
        ui::raw_terminal::give_back();
        usual(panic);
        let error = CommandError::internal("this is a bug in agentworkforce")
            .caused_by(panic)
            .hint("the work of a run is in its session: `agentworkforce sessions recover`");
        let mut ui = Ui::new(json);
        ui.error(&error);
        std::process::exit(ui.finish(error.exit).code().into());
    }));
}

fn run_with(args: &[OsString], ui: &mut Ui) -> Result<Exit, CommandError> {
    let host = Host::of_this_process()?;
    #[cfg(debug_assertions)]
    assert!(args.get(1).is_none_or(|name| name != "__bug"), "a bug on purpose, for the tests");
    let parsed = cli::parse(args.iter().cloned(), &[]);
    // Reading the config for the sake of the help is only worth it where the help is shown.
    let parsed = match parsed {
        Err(error) if cli::shows_help(&error) => cli::parse(args.iter().cloned(), &commands::hidden(&host)),
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
        Err(error) => {
            let unknown = cli::unknown_command(&error, args);
            match unknown.and_then(|unknown| commands::persona_instead(&unknown, args, &host)) {
                Some(named) => Err(named),
                None => ui.usage(&error),
            }
        }
    }
}
