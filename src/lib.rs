//! One binary that runs a coding agent as a persona. This page is the map.
//!
//! A run goes through stages, and data flows one way:
//!
//! ```text
//! args -> request -> layers -> resolved persona -> plan -> mount -> launch -> changes -> apply -> report
//! cli     commands   load      resolve             plan    mount    launch    mount      mount    commands
//! ```
//!
//! | module | job |
//! |---|---|
//! | `host` | the process's world as a value; the only reader of process state |
//! | `ui` | the only writer to stdout and stderr |
//! | `error`, `exit` | what went wrong and what to do next; the table of exit codes |
//! | `cli` | clap definitions only |
//! | `commands` | one file a command; the only place where stages are put together |
//! | `model` | plain data: formats, persona, role, plan, report |
//! | `load` | finds and reads layers; nothing merged |
//! | `resolve` | merges, selects, composes the prompt; says where every field came from |
//! | `harness` | one folder per harness: how it is told what the persona says, how its output is read, its login |
//! | `plan` | from a resolved persona to a `RunPlan` |
//! | `convert` | other tools' agent files as personas and back, with an account of every field |
//! | `mount` | the private view of the project: makes it, runs in it, says what changed, applies, undoes, recovers |
//! | `launch` | puts a plan's files in place, runs the harness in the mount, reads its events, keeps its limits, runs checks |
//! | `session` | the session directory: create, list, lock, recover, prune |
//! | `skills` | from the plan's skill sources to directories that a harness takes, through a cache |
//! | `remote` | reads other people's repositories, with a time limit and no terminal |
//! | `pack` | packs of personas: fetch, check, place, lock, write in one step |
//! | `git` | the git command so that nothing an agent wrote can make it run other code |
//! | `tool` | runs git, npx and the like with a time limit and no terminal |
//! | `store` | locked, atomic writes of our own JSON files |
//! | `fuzz` | only for tests and fuzzers: the laws that no input may break |
//!
//! `model`, `resolve`, `plan` and `convert` are pure: no file, environment, clock or process. A stage uses `model` and the
//! stages before it, never a later one. `tests/it/architecture.rs` holds these edges.
//!
//! Files on disk, all below the workforce home (`~/.agentworkforce/workforce`, or `AGENT_WORKFORCE_HOME`):
//! `config.json` (`commands::config`, `commands::sources`), `personas/` and `roles/` (`commands::persona`,
//! `commands::role`, `commands::create`, `commands::import`), `recents.json` (`commands::picker`), `logs/audit.log` (`commands::edit`), `backups/`
//! (`store::backup`), `sessions/` (`session`), `locks/` and `probe.json` (`mount`), `cache/skills/`
//! (`skills`) and `cache/versions/` (`launch`). A session holds `plan.json`, `report.json`, `harness.json`, `task.md`
//! (`commands::launch`), `events.jsonl`, `harness.log` and what the harness reads (`launch`), `status.json` and `rules.json`
//! (`session`), `mount.json`, `manifest`, `upper/` or `mount/`, `journal/` and `undo/` (`mount`).
//! Beside the personas of the home or of a project: `agentworkforce.lock` (`pack::lockfile`), and while a pack is written
//! `.agentworkforce-journal` (`pack::journal`).

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
    answer_for_bugs(json);
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

/// A bug of ours ends like every other failure of the runner: with a message, with JSON for those who wait for it, with 125.
fn answer_for_bugs(json: bool) {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        usual(panic);
        let error = CommandError::internal("this is a bug of agentworkforce")
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
