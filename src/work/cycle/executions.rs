//! Runs the commands of a contract in the views that its checks need, each once per view; what ran on the state at launch is
//! remembered for the whole work.

use super::command_runner::{CommandRunner, OpenView};
use super::holdout::Holdout;
use super::part::Part;
use crate::launch::check::CheckOutcome;
use crate::model::contract::{Contract, ValidationCommand};
use crate::model::raw_path::RawPath;
use crate::mount::Ending;
use crate::run::command_views::ViewCommand;
use crate::work::evidence::{CommandEnd, Execution, View};
use crate::work::runners::SummaryReader;
use anyhow::Result;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// How long what a command needs may take.
const SETUP_SECONDS: f64 = 1200.0;

/// What is known of the state at launch: it does not change while the work goes on.
#[derive(Debug, Default)]
pub struct BaseRuns {
    /// By command line.
    known: HashMap<String, Execution>,
    /// What commands wrote there: where the worker has such files too, they are by-products.
    pub written: BTreeSet<PathBuf>,
}

impl BaseRuns {
    /// How long the commands took that are remembered.
    pub fn seconds(&self) -> f64 {
        self.known.values().map(|execution| execution.seconds).sum()
    }
}

/// What is needed besides the commands.
pub struct Needs<'a> {
    pub contract: &'a Contract,
    /// Hidden tests.
    pub holdout: Option<&'a Holdout>,
    /// Commands that prepare a view of the result; none if it has what they need already.
    pub setup: &'a [String],
    /// The same for the state at launch.
    pub base_setup: &'a [String],
    pub uses_base: bool,
    /// Existing tests, snapshots and validators that were changed.
    pub old: &'a [RawPath],
    /// Changed and new tests.
    pub tests: &'a [RawPath],
    /// Files of the user that matter to a command; others may have changed.
    pub is_of_project: &'a dyn Fn(&Path) -> bool,
    pub tell: &'a mut dyn FnMut(&Execution, &ValidationCommand),
}

/// Where a list of commands is run.
struct Place<'p> {
    view: View,
    part: Part<'p>,
    setup: &'p [String],
}

/// Runs everything that is wanted. The order is that of the contract, view by view.
pub fn run(
    runner: &mut CommandRunner<'_, '_>,
    mut needs: Needs<'_>,
    wanted: &[View],
    has_ignored: bool,
    base: &mut BaseRuns,
) -> Result<Vec<Execution>> {
    let contract = needs.contract;
    let all: Vec<usize> = (0..contract.validation_commands.len()).collect();
    let mut executions = Vec::new();
    if needs.uses_base {
        executions.extend(run_base(runner, &mut needs, base)?);
    }
    let (old, tests, setup) = (needs.old, needs.tests, needs.setup);
    let place = |view| Place { view, part: Part::of(view, old, tests), setup };
    let results = run_all(runner, &mut needs, &place(View::Result), &all)?;
    let failed: Vec<usize> =
        results.iter().filter(|execution| !execution.passed()).map(|execution| execution.command).collect();
    let passed_before = |number: &usize| {
        executions.iter().any(|run| run.on == View::Base && run.command == *number && run.passed())
    };
    // What passed before may fail by chance.
    let again: Vec<usize> = failed.iter().copied().filter(passed_before).collect();
    executions.extend(results);
    if !again.is_empty() {
        executions.extend(run_all(runner, &mut needs, &place(View::ResultAgain), &again)?);
    }
    for view in [View::OldTests, View::OnlyTests] {
        let has_changes = match view {
            View::OldTests => !old.is_empty(),
            _ => !tests.is_empty(),
        };
        if wanted.contains(&view) && has_changes {
            executions.extend(run_all(runner, &mut needs, &place(view), &all)?);
        }
    }
    if has_ignored && !failed.is_empty() {
        executions.extend(run_all(runner, &mut needs, &place(View::WithIgnored), &failed)?);
    }
    Ok(executions)
}

/// Runs the commands on the state at launch, as far as that is not known. What they wrote is noted.
pub fn run_base(
    runner: &mut CommandRunner<'_, '_>,
    needs: &mut Needs<'_>,
    base: &mut BaseRuns,
) -> Result<Vec<Execution>> {
    let commands = &needs.contract.validation_commands;
    let unknown: Vec<usize> =
        (0..commands.len()).filter(|number| !base.known.contains_key(&commands[*number].command)).collect();
    let place = Place { view: View::Base, part: Part::Nothing, setup: needs.base_setup };
    let (ran, written) = run_noting(runner, needs, &place, &unknown)?;
    base.written.extend(written);
    for execution in ran {
        base.known.insert(commands[execution.command].command.clone(), execution);
    }
    let known = |number: usize| {
        let execution = base.known.get(&commands[number].command)?;
        Some(Execution { command: number, ..execution.clone() })
    };
    Ok((0..commands.len()).filter_map(known).collect())
}

fn run_all(
    runner: &mut CommandRunner<'_, '_>,
    needs: &mut Needs<'_>,
    place: &Place<'_>,
    numbers: &[usize],
) -> Result<Vec<Execution>> {
    Ok(run_noting(runner, needs, place, numbers)?.0)
}

fn run_noting(
    runner: &mut CommandRunner<'_, '_>,
    needs: &mut Needs<'_>,
    place: &Place<'_>,
    numbers: &[usize],
) -> Result<(Vec<Execution>, BTreeSet<PathBuf>)> {
    let mut executions = Vec::new();
    let mut written = BTreeSet::new();
    // What takes long to prepare is prepared once; else no command sees what another left.
    let mut shared: Option<Prepared> = None;
    for &number in numbers {
        let command = &needs.contract.validation_commands[number];
        let prepared = match shared.take() {
            Some(prepared) => prepared,
            None => prepare(runner, needs, place)?,
        };
        let execution = match &prepared.problem {
            Some(problem) => unknown(number, place.view, problem.clone()),
            None => run_one(runner, &prepared.view, place.view, number, command)?,
        };
        (needs.tell)(&execution, command);
        executions.push(execution);
        if place.setup.is_empty() {
            written.extend(prepared.view.written());
        } else {
            shared = Some(prepared);
        }
    }
    Ok((executions, written))
}

/// A view that commands can run in, or why they cannot.
struct Prepared {
    view: OpenView,
    problem: Option<String>,
}

fn prepare(runner: &mut CommandRunner<'_, '_>, needs: &Needs<'_>, place: &Place<'_>) -> Result<Prepared> {
    let mut view = runner.view(place.part)?;
    let unclear = view.unknown().into_iter().find(|path| (needs.is_of_project)(path));
    let mut problem = unclear.map(|path| {
        format!("you have changed {} since the launch, and what it was is not known", path.display())
    });
    for line in place.setup {
        if problem.is_some() {
            break;
        }
        let mut ignore = |_: &[u8]| {};
        let command =
            ViewCommand { line, timeout_seconds: SETUP_SECONDS, log: "setup.log", tap: &mut ignore };
        let outcome = runner.run(&view, command)?;
        if !outcome.passed() {
            let why = outcome.tail.last().cloned().unwrap_or_default();
            problem = Some(format!("the setup `{line}` ended with code {}: {why}", outcome.exit_code()));
        }
    }
    if let (Some(holdout), None) = (needs.holdout, &problem) {
        view.lay_over(holdout)?;
    }
    Ok(Prepared { view, problem })
}

fn run_one(
    runner: &mut CommandRunner<'_, '_>,
    view: &OpenView,
    on: View,
    number: usize,
    command: &ValidationCommand,
) -> Result<Execution> {
    let mut reader = SummaryReader::new();
    let log = format!("validation-{}-{}.log", number + 1, name(on));
    let outcome = runner.run(
        view,
        ViewCommand {
            line: &command.command,
            timeout_seconds: command.timeout_seconds,
            log: &log,
            tap: &mut |bytes| reader.feed(bytes),
        },
    )?;
    let summary = reader.finish();
    Ok(Execution {
        command: number,
        on,
        end: end_of(&outcome),
        seconds: outcome.seconds,
        summary,
        tail: outcome.tail,
    })
}

fn end_of(outcome: &CheckOutcome) -> CommandEnd {
    match (outcome.attended.reached, outcome.attended.ending) {
        (Some(_), _) => CommandEnd::TimedOut,
        (None, Ending::Code(code)) => CommandEnd::Exited(code),
        (None, Ending::Signal(signal)) => CommandEnd::Signalled(signal),
        (None, Ending::Killed) => CommandEnd::Signalled(9),
    }
}

fn unknown(command: usize, on: View, why: String) -> Execution {
    Execution { command, on, end: CommandEnd::Unknown(why), seconds: 0.0, summary: None, tail: Vec::new() }
}

/// In the names of logs.
fn name(view: View) -> &'static str {
    match view {
        View::Base => "base",
        View::Result => "result",
        View::ResultAgain => "again",
        View::OldTests => "old-tests",
        View::OnlyTests => "only-tests",
        View::WithIgnored => "with-ignored",
    }
}
