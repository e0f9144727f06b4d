//! A race: several personas work under the same contract, each in a session of its own and in a process of its own. The verified best
//! result is applied; which one that is is decided by the pure part.

use super::request::{KeptWork, VERDICT_FILE, WorkEvent, WorkObserver, WorkRequest};
use super::settle;
use crate::exit::Exit;
use crate::host::interruption;
use crate::model::plan::ApplyPolicy;
use crate::model::report::ApplyStatus;
use crate::model::selector::Selector;
use crate::model::verdict::{Confidence, Ruling};
use crate::model::warning::Warning;
use crate::mount::apply::Selection;
use crate::mount::changes::Merging;
use crate::mount::fs::stat::Kind;
use crate::mount::{SignalInbox, catch_runner_signals};
use crate::run::Engine;
use crate::run::observer::{Decider, Decision, Offer, RunEvent};
use crate::session::{ApplyRequest, Sessions};
use crate::work::race::{Entrant, best};
use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(100);

/// Who races, and how.
pub struct Race<'a> {
    pub work: &'a WorkRequest,
    pub personas: &'a [Selector],
    pub jobs: usize,
    pub discards_others: bool,
    /// Further arguments for each of the processes.
    pub args: Vec<String>,
}

/// What a race came to.
#[derive(Debug)]
pub struct FinishedRace {
    /// The verdict of the best, or of the first if none is approved, with the others beside it.
    pub value: Value,
    pub lines: Vec<String>,
    pub exit: Exit,
}

/// One of those who race, at work.
struct Runner {
    place: usize,
    child: Child,
    /// What it prints. The file has no name: the agents, who may share our temporary directory, cannot write it.
    output: File,
}

/// What a racer can answer at most.
const LARGEST_ANSWER: u64 = 64 << 20;

/// Runs the race, and applies the best result.
pub fn run(
    engine: &Engine<'_>,
    race: &Race<'_>,
    observer: &mut dyn WorkObserver,
    decider: &mut dyn Decider,
) -> Result<FinishedRace> {
    let mut signals = catch_runner_signals()?;
    let verdicts = run_all(engine, race, observer)?;
    if let Some(signal) = interruption::signal() {
        return Err(crate::mount::MountError::Stopped { signal }.into());
    }
    let sessions = Sessions {
        store: &engine.store,
        host: &engine.workforce.host,
        crash_points: &engine.crash_points,
        merging: if engine.workforce.config.settings.mount.merge.unwrap_or(true) {
            Merging::On
        } else {
            Merging::Off
        },
    };
    let entrants: Vec<Entrant> = race
        .personas
        .iter()
        .enumerate()
        .map(|(place, persona)| entrant(engine, persona, verdicts.get(&place)))
        .collect();
    let result = best(&entrants);
    let mut value = result
        .best
        .or_else(|| (0..race.personas.len()).find(|place| verdicts.contains_key(place)))
        .and_then(|place| verdicts.get(&place).cloned())
        .unwrap_or_else(|| json!({"schemaVersion": 1, "verdict": "ESCALATED"}));
    let mut exit = Exit::Failed;
    let mut warnings = Vec::new();
    if let Some(session) = result.best.and_then(|place| session_of(verdicts.get(&place)?)) {
        let applied = apply(engine, race, &sessions, &session, decider, &mut signals, &mut warnings)?;
        exit = applied.0;
        value["apply"] = json!({"status": applied.1});
        let kept = engine.store.find(&session)?;
        kept.write_json(VERDICT_FILE, &value)?;
    }
    for (place, verdict) in &verdicts {
        let is_other = Some(*place) != result.best;
        if is_other
            && race.discards_others
            && let Some(session) = session_of(verdict)
        {
            sessions.discard(&session)?;
        }
    }
    let row = |(place, entrant): (usize, &Entrant)| {
        let verdict = verdicts.get(&place);
        json!({
            "persona": race.personas[place].to_string(),
            "session": verdict.and_then(session_of),
            "verdict": verdict.map(|verdict| verdict["verdict"].clone()),
            "confidence": entrant.confidence,
            "changedLines": entrant.changed_lines,
            "costUsd": entrant.cost_usd,
            "best": result.best == Some(place),
            "tie": result.ties.contains(&place),
        })
    };
    let rows: Vec<Value> = entrants.iter().enumerate().map(row).collect();
    let lines = rows.iter().map(line).collect();
    value["race"] = json!(rows);
    for warning in &warnings {
        observer.event(&RunEvent::Warning(warning));
    }
    Ok(FinishedRace { value, lines, exit })
}

fn line(row: &Value) -> String {
    let mark = if row["best"] == true { "✓" } else { "·" };
    let tie = if row["tie"] == true { ", just as good" } else { "" };
    let cost = row["costUsd"].as_f64().map_or_else(String::new, |usd| format!(", ${usd:.2}"));
    let verdict = row["verdict"].as_str().unwrap_or("no verdict");
    let session = row["session"].as_str().unwrap_or("-");
    format!(
        "{mark} {}  {verdict}, confidence {}, {} lines{cost}{tie}  {session}",
        row["persona"].as_str().unwrap_or_default(),
        row["confidence"].as_str().unwrap_or("none"),
        row["changedLines"],
    )
}

fn session_of(verdict: &Value) -> Option<String> {
    verdict["session"].as_str().map(str::to_owned)
}

/// What one came to, as it was measured.
fn entrant(engine: &Engine<'_>, persona: &Selector, verdict: Option<&Value>) -> Entrant {
    let word = |key: &Value| serde_json::from_value::<Ruling>(key.clone()).ok();
    let ruling = verdict.and_then(|verdict| word(&verdict["verdict"])).unwrap_or(Ruling::Escalated);
    let confidence = verdict
        .and_then(|verdict| serde_json::from_value(verdict["signal"]["confidence"].clone()).ok())
        .unwrap_or(Confidence::None);
    let entry = verdict
        .and_then(session_of)
        .and_then(|session| engine.store.find(&session).ok())
        .and_then(|session| session.entry().ok());
    let costs: Vec<f64> = verdict
        .and_then(|verdict| verdict["attempts"].as_array())
        .into_iter()
        .flatten()
        .filter_map(|attempt| attempt["usage"]["cost_usd"].as_f64().or(attempt["usage"]["costUsd"].as_f64()))
        .collect();
    Entrant {
        persona: persona.to_string(),
        ruling,
        confidence,
        changed_lines: entry.map_or(0, |entry| entry.added + entry.removed),
        cost_usd: (!costs.is_empty()).then(|| costs.iter().sum()),
    }
}

/// Starts as many at a time as may be, and collects their verdicts.
fn run_all(
    engine: &Engine<'_>,
    race: &Race<'_>,
    observer: &mut dyn WorkObserver,
) -> Result<BTreeMap<usize, Value>> {
    let began = Instant::now();
    let earlier: BTreeSet<String> =
        engine.store.all()?.iter().map(|session| session.id.to_string()).collect();
    let mut verdicts: BTreeMap<usize, Value> = BTreeMap::new();
    let mut waiting: Vec<usize> = (0..race.personas.len()).rev().collect();
    let mut running: Vec<Runner> = Vec::new();
    loop {
        let stopped = interruption::signal();
        while running.len() < race.jobs.max(1) && stopped.is_none() && !waiting.is_empty() {
            let spent: f64 = verdicts.values().filter_map(cost_of).sum();
            let Some(place) = waiting.pop() else { break };
            let at_once = (running.len() + waiting.len() + 1).min(race.jobs.max(1));
            match start(engine, race, place, began.elapsed().as_secs_f64(), spent, at_once)? {
                Some(runner) => {
                    observer.work(&WorkEvent::Asking { role: "racer", persona: &race.personas[place].name });
                    running.push(runner);
                }
                None => observer.work(&WorkEvent::Note("the budget is used up: the others do not start")),
            }
        }
        if running.is_empty() {
            return Ok(verdicts);
        }
        let mut still = Vec::new();
        for mut runner in running {
            if stopped.is_some()
                && let Some(pid) = i32::try_from(runner.child.id()).ok().and_then(Pid::from_raw)
            {
                // It keeps its own work safe.
                let _ = kill_process(pid, Signal::TERM);
            }
            match runner.child.try_wait()? {
                None => still.push(runner),
                Some(_) => {
                    let said = runner.said();
                    match verdict_of(engine, race, &runner, &said, &earlier) {
                        Some(verdict) => {
                            verdicts.insert(runner.place, verdict);
                        }
                        None => {
                            let name = &race.personas[runner.place];
                            let why =
                                said["error"]["message"].as_str().unwrap_or("it ended without a verdict");
                            observer.work(&WorkEvent::Note(&format!("{name}: {why}")));
                        }
                    }
                }
            }
        }
        running = still;
        std::thread::sleep(POLL);
    }
}

impl Runner {
    /// What it has printed, now that it has ended.
    fn said(&mut self) -> Value {
        let mut text = String::new();
        let read = self.output.rewind().and_then(|()| {
            let mut limited = (&self.output).take(LARGEST_ANSWER);
            limited.read_to_string(&mut text)
        });
        read.ok().and_then(|_| serde_json::from_str(&text).ok()).unwrap_or_default()
    }
}

/// What a racer came to. It only names its session; what is believed about that is in the store, where no agent can write, and only
/// of a session that this very process made in this race, for this work.
fn verdict_of(
    engine: &Engine<'_>,
    race: &Race<'_>,
    runner: &Runner,
    said: &Value,
    earlier: &BTreeSet<String>,
) -> Option<Value> {
    let ruling = said.get("verdict")?;
    let Some(name) = session_of(said) else {
        // It ended before there was a session. There is nothing to apply.
        return (*ruling != json!(Ruling::Approve)).then(|| said.clone());
    };
    let session = engine.store.find(&name).ok().filter(|session| session.id.as_str() == name)?;
    let status = session.status().ok()??;
    let here = engine.workforce.host.cwd.canonicalize().ok()?;
    let root = status.root.canonicalize().ok()?;
    let kept = KeptWork::read(&session).ok()??;
    let is_its_own = !earlier.contains(&name)
        && status.pid == runner.child.id()
        && here.starts_with(root)
        && kept.sha256 == race.work.sha256
        && kept.persona == race.personas[runner.place].to_string();
    let task = &race.work.contract.task_id;
    let work = status.work.filter(|work| is_its_own && work.task_id == *task)?;
    let verdict: Value = session.read_json(VERDICT_FILE).ok()??;
    // Both are written by the racer; one without the other is half an end.
    let is_whole = work.verdict.is_some_and(|ruling| verdict["verdict"] == json!(ruling));
    (is_whole && verdict["session"] == json!(name)).then_some(verdict)
}

fn cost_of(verdict: &Value) -> Option<f64> {
    let attempts = verdict["attempts"].as_array()?;
    Some(
        attempts
            .iter()
            .filter_map(|attempt| {
                attempt["usage"]["cost_usd"].as_f64().or(attempt["usage"]["costUsd"].as_f64())
            })
            .sum(),
    )
}

/// Starts one, with what is left of the budgets; `None` if nothing is.
fn start(
    engine: &Engine<'_>,
    race: &Race<'_>,
    place: usize,
    elapsed: f64,
    spent: f64,
    at_once: usize,
) -> Result<Option<Runner>> {
    let mut contract = race.work.contract.clone();
    if let Some(wall) = &mut contract.budgets.wall_seconds {
        *wall -= elapsed;
        if *wall <= 0.0 {
            return Ok(None);
        }
    }
    if let Some(usd) = &mut contract.budgets.usd {
        #[allow(clippy::cast_precision_loss)]
        let shares = at_once.max(1) as f64;
        *usd = (*usd - spent) / shares;
        if *usd <= 0.0 {
            return Ok(None);
        }
    }
    // Neither has a name that an agent of another racer could write to.
    let text = json!({"contract": contract, "sha256": race.work.sha256}).to_string();
    let mut decided = tempfile::tempfile()?;
    decided.write_all(text.as_bytes()).context("the contract cannot be handed on")?;
    let output = tempfile::tempfile()?;
    let mut command = Command::new(&engine.helper);
    command.args(["work", "--decided", "/proc/self/fd/0"]);
    command.args(["--as", &race.personas[place].to_string(), "--apply", "never", "--json", "--quiet"]);
    command.args(&race.args).current_dir(&engine.workforce.host.cwd);
    command.stdin(decided).stdout(output.try_clone()?).stderr(Stdio::null());
    let child = command.spawn().context("a racer cannot be started")?;
    Ok(Some(Runner { place, child, output }))
}

/// Applies the best as the policy says.
fn apply(
    engine: &Engine<'_>,
    race: &Race<'_>,
    sessions: &Sessions<'_>,
    session: &str,
    decider: &mut dyn Decider,
    signals: &mut SignalInbox,
    warnings: &mut Vec<Warning>,
) -> Result<(Exit, ApplyStatus)> {
    let default = if race.work.attended { ApplyPolicy::Ask } else { ApplyPolicy::Auto };
    let mut request = ApplyRequest { session: session.to_owned(), ..ApplyRequest::default() };
    match race.work.apply.unwrap_or(default) {
        ApplyPolicy::Never => return Ok((Exit::Done, ApplyStatus::Held)),
        ApplyPolicy::Auto => {}
        ApplyPolicy::Ask => {
            let decision = sessions.look(&request, |kept, sides, review| {
                let scratch = kept.dir.as_path();
                let offer = Offer { session: kept.id.as_str(), scratch, review, sides };
                decider.decide(&offer, signals)
            })?;
            match decision {
                Decision::Apply(selection) => request.selection = selection,
                Decision::Keep | Decision::NobodyToAsk => return Ok((Exit::Done, ApplyStatus::Held)),
                Decision::Discard => {
                    sessions.discard(session)?;
                    return Ok((Exit::Done, ApplyStatus::Discarded));
                }
                Decision::Interrupted(signal) => {
                    let exit = Exit::Signal(u8::try_from(signal).unwrap_or(0));
                    return Ok((exit, ApplyStatus::Held));
                }
            }
        }
    }
    if request.selection == Selection::all() {
        // What would change what agents may do needs a person.
        let needs_person = sessions.look(&request, |_, _, review| {
            Ok(review.affecting_agents().next().is_some() || review.touched().next().is_some())
        })?;
        if needs_person {
            return Ok((Exit::Conflict, ApplyStatus::Held));
        }
    }
    let applied = sessions.apply(&request)?;
    let exit = applied.exit();
    if exit != Exit::Done {
        return Ok((exit, ApplyStatus::Conflict));
    }
    let kept = engine.store.find(session)?;
    let work = KeptWork::read(&kept)?;
    let root = kept.record()?.map(|record| record.root.0.clone());
    if let (Some(work), Some(root)) = (work, root) {
        let changed = applied.outcome.applied.iter().filter(|change| change.node != Kind::Dir);
        let paths = changed.map(|change| change.path.0.clone()).collect();
        let plan_file = engine.workforce.config.settings.plans_file();
        let summary: Option<Value> = kept.read_json(VERDICT_FILE)?;
        let summary = summary.and_then(|verdict| verdict["report"]["summary"].as_str().map(str::to_owned));
        let settled =
            settle::settle(&work.contract, &root, plan_file, paths, race.work.commit, summary.as_deref());
        warnings.extend(settled.warnings);
    }
    Ok((exit, ApplyStatus::Applied))
}
