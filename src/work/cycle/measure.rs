//! Measures what an attempt left: freezes the changes, runs the cheap checks, then the commands if they can tell anything, then all
//! checks.

use super::base;
use super::changes::{change_set, name_of, since};
use super::command_runner::CommandRunner;
use super::executions::{self, BaseRuns, Needs};
use super::holdout::Holdout;
use super::project;
use super::request::{WorkEvent, WorkObserver};
use crate::model::contract::Contract;
use crate::model::event::{Event, RecordedEvent};
use crate::model::raw_path::RawPath;
use crate::model::settings::Settings;
use crate::model::verdict::Check;
use crate::run::frozen::FrozenWork;
use crate::run::open::OpenRun;
use crate::work::contract::Scope;
use crate::work::evidence::{
    ChangeSet, Evidence, GitFacts, HarnessEnd, LARGEST_TEXT, NamedCommit, Testimony, View,
};
use crate::work::{verify, verify_code};
use anyhow::Result;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What an attempt came to.
pub struct Measured {
    pub evidence: Evidence,
    pub checks: Vec<Check>,
    pub frozen: FrozenWork,
    /// All changes of the work; those in the evidence of a part are its own.
    pub whole: ChangeSet,
}

/// What the measurement needs besides the run.
pub struct Measuring<'a> {
    pub contract: &'a Contract,
    pub settings: &'a Settings,
    pub harness: HarnessEnd,
    pub denied: Vec<String>,
    pub outside: Vec<String>,
    pub uses_base: bool,
    pub holdout: Option<&'a Holdout>,
    pub base: &'a mut BaseRuns,
    /// What had been changed when the part began that is measured.
    pub earlier: Option<&'a ChangeSet>,
    /// The files at launch, once they are known.
    pub paths: &'a mut Option<BTreeSet<String>>,
}

/// Tools that start other agents, by their names in events.
const SUBAGENT_TOOLS: [&str; 5] = ["Task", "Agent", "Workflow", "task", "spawn_agent"];

/// Measures a run whose processes are gone. `testimony` is made from the change set, where the worker left none.
pub fn measure(
    open: &mut OpenRun<'_>,
    measuring: Measuring<'_>,
    testimony: &dyn Fn(&ChangeSet) -> Testimony,
    observer: &mut dyn WorkObserver,
) -> Result<Measured> {
    let Measuring { contract, settings, harness, denied, outside, uses_base, holdout, base, earlier, paths } =
        measuring;
    let began = Instant::now();
    let on_base = base.seconds();
    let mut tell = |execution: &_, command: &_| {
        observer.work(&WorkEvent::CommandEnded { command, execution });
    };
    if paths.is_none() {
        *paths = Some(open.base_files()?);
    }
    let files = paths.clone().unwrap_or_default();
    let is_of_project = |path: &Path| path.to_str().is_some_and(|path| files.contains(path));
    let (mut frozen, mut changes) = freeze(open, &base.written)?;
    let has_ended_well = harness == HarnessEnd::Completed;
    let root = open.plan().mount.root.clone();
    let base_setup = project::setup(contract, &root, &ChangeSet::default());
    let setup = project::setup(contract, &root, &changes);
    if has_ended_well && uses_base && !contract.validation_commands.is_empty() && !changes.files.is_empty() {
        // First: what the commands write themselves is no work.
        let mut needs = Needs {
            contract,
            holdout,
            setup: &setup,
            base_setup: &base_setup,
            uses_base,
            old: &[],
            tests: &[],
            is_of_project: &is_of_project,
            tell: &mut tell,
        };
        let all = frozen.plain();
        executions::run_base(&mut CommandRunner::of_run(open, &all, &changes), &mut needs, base)?;
        (frozen, changes) = freeze(open, &base.written)?;
    }
    let whole = changes.clone();
    if let Some(earlier) = earlier {
        changes = since(earlier, changes);
    }
    let plan_file = settings.plans_file().to_owned();
    let testimony = testimony(&changes);
    let git = git_facts(open, &frozen, &changes, &testimony)?;
    let named: Vec<&str> =
        [Some(plan_file.as_str()), contract.spec_path.as_deref()].into_iter().flatten().collect();
    let events = open.recorded_events();
    let read = |paths: &[&str], largest: u64| open.project_texts(paths.iter().copied(), largest);
    let base_value = base::base(files.clone(), &named, &changes, &read);
    let sandbox = open.report.record.as_ref().map_or("off", |record| record.sandbox.name()).to_owned();
    let mut evidence = Evidence {
        contract: contract.clone(),
        harness,
        changes,
        base: base_value,
        testimony,
        used_although_denied: used_tools(&events),
        events,
        denied,
        executions: Vec::new(),
        not_executed: None,
        git,
        outside,
        sandbox,
        uses_base,
        plan_file: plan_file.clone(),
        tdd_enforced: settings.tdd.is_enforced(),
    };
    let scope = Scope::of(contract).with_plan_file(&plan_file);
    let allows = |path: &str| scope.allows(path);
    let cheap = verify::before_commands(&evidence, &allows);
    evidence.not_executed = verify::commands_are_useless(&cheap);
    if evidence.not_executed.is_none() && !contract.validation_commands.is_empty() {
        let old = verify_code::existing_tests_changed(&evidence.changes);
        let tests = verify_code::changed_tests(&evidence.changes);
        let wanted: Vec<View> = verify_code::wanted_views(contract, &evidence.changes);
        let all = frozen.plain();
        let has_ignored = !evidence.changes.ignored.is_empty();
        let needs = Needs {
            contract,
            holdout,
            setup: &setup,
            base_setup: &base_setup,
            uses_base,
            old: &old,
            tests: &tests,
            is_of_project: &is_of_project,
            tell: &mut tell,
        };
        let mut runner = CommandRunner::of_run(open, &all, &evidence.changes);
        evidence.executions = executions::run(&mut runner, needs, &wanted, has_ignored, base)?;
    }
    let code = verify_code::checks(&evidence);
    let checks = verify::verify(&evidence, &allows, code);
    let later = evidence.executions.iter().filter(|execution| execution.on != View::Base);
    let in_commands = base.seconds() - on_base + later.map(|execution| execution.seconds).sum::<f64>();
    let own = (began.elapsed().as_secs_f64() - in_commands) * 1000.0;
    tracing::info!(own_milliseconds = format!("{own:.2}"), checks = checks.len(), "work measured");
    Ok(Measured { evidence, checks, frozen, whole })
}

/// Freezes the changes. What is a by-product goes from the mount, as far as it can be taken back.
fn freeze(open: &mut OpenRun<'_>, written: &BTreeSet<PathBuf>) -> Result<(FrozenWork, ChangeSet)> {
    let frozen = open.freeze(LARGEST_TEXT)?;
    let changes = change_set(&frozen, written);
    if changes.by_products.is_empty() {
        return Ok((frozen, changes));
    }
    let paths: Vec<RawPath> = changes.by_products.iter().map(RawPath::from).collect();
    if let Err(error) = open.put_back(&paths) {
        tracing::warn!("by-products stay in the mount: {error:#}");
        return Ok((frozen, changes));
    }
    let frozen = open.freeze(LARGEST_TEXT)?;
    let by_products = changes.by_products;
    Ok((frozen.clone(), ChangeSet { by_products, ..change_set(&frozen, written) }))
}

fn used_tools(events: &[RecordedEvent]) -> Vec<String> {
    let mut used = BTreeSet::new();
    for recorded in events {
        if let Event::ToolFinished { name, ok: true, .. } = &recorded.event
            && SUBAGENT_TOOLS.contains(&name.as_str())
        {
            used.insert(name.clone());
        }
    }
    used.into_iter().collect()
}

fn git_facts(
    open: &mut OpenRun<'_>,
    frozen: &FrozenWork,
    changes: &ChangeSet,
    testimony: &Testimony,
) -> Result<GitFacts> {
    let named = testimony.report.as_ref().and_then(|report| report.commit.clone());
    let named = match named.filter(|name| !name.trim().is_empty()) {
        Some(name) => {
            let present: Vec<PathBuf> = changes
                .files
                .iter()
                .filter(|file| file.after.is_some())
                .map(|file| file.path.0.clone())
                .collect();
            let absent: Vec<PathBuf> = changes
                .files
                .iter()
                .filter(|file| file.is_deleted())
                .map(|file| file.path.0.clone())
                .collect();
            let facts = open.commit_facts(name.trim(), &present, &absent)?;
            Some(NamedCommit {
                name,
                exists: facts.exists,
                contains_changes: facts.contains,
                branch: facts.branch,
            })
        }
        None => None,
    };
    let own = open.branch();
    let is_own = |name: &String| Some(name) == own.as_ref() || name.starts_with("harness-work/");
    let nested = open.nested_repositories(changes.files.iter().map(|file| file.path.0.as_path()));
    Ok(GitFacts {
        is_repository: open.is_repository(),
        named,
        settings_written: frozen.git_settings.iter().map(name_of).collect(),
        refs_moved: open.moved_refs().into_iter().filter(|name| !is_own(name)).collect(),
        // Only commits are exported, into a place of their own.
        would_be_exported: false,
        nested: nested.into_iter().map(|path| path.display().to_string()).collect(),
        has_superproject: open.has_superproject(),
    })
}
