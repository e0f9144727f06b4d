//! `sessions show`: a session with its changes, what it has applied, and the commands that make sense next. Changes nothing.

use super::answer;
use crate::commands::review::list;
use crate::commands::say::end_of;
use crate::error::Result;
use crate::exit::Exit;
use crate::model::amounts::{self, counted};
use crate::model::raw_path::RawPath;
use crate::model::report::{ReportedCheck, Usage};
use crate::model::verdict::Ruling;
use crate::mount::changes::compare::ConflictReason;
use crate::mount::changes::diff::printable_name;
use crate::mount::changes::{ProtectedWhy, Review};
use crate::run::attempt::last_log;
use crate::run::conversation::ConversationNote;
use crate::session::kept_report::{KeptReport, REPORT_FILE};
use crate::session::status::SessionWork;
use crate::session::{JournalEntry, SessionEntry, SessionOutcome, SessionState, Sessions, Shown};
use crate::ui::{BOLD, DIM, Ui, patch, printable};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// Lines that are shown of a task or a result.
const MOST_LINES: usize = 20;

/// Of the id of a commit.
const SHOWN_DIGITS: usize = 10;

/// A command that makes sense now.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Next {
    command: String,
    /// What it does, after the command in a sentence.
    #[serde(rename = "does")]
    what: &'static str,
}

pub(super) fn run(sessions: &Sessions, id: &str, ui: &mut Ui) -> Result<Exit> {
    let session = sessions.store.find(id)?;
    let shown = sessions.show(id)?;
    let note = ConversationNote::read(&session).ok().flatten();
    let paths = Paths::of(&shown.journals);
    let next = next_steps(&shown, &paths, note.as_ref());
    let kept = kept_versions(&shown);
    if ui.is_json() {
        let mut whole = serde_json::to_value(&shown).unwrap_or_default();
        whole["applied"] = json!(paths.applied);
        whole["undone"] = json!(paths.undone);
        whole["keptVersions"] = json!(kept.iter().map(|path| RawPath(path.clone())).collect::<Vec<_>>());
        whole["next"] = json!(next);
        // A damaged report is as good as none.
        whole["report"] = session.read_json::<Value>(REPORT_FILE).ok().flatten().unwrap_or_default();
        answer(&whole, ui);
        return Ok(Exit::Done);
    }
    let report = session.report().unwrap_or_default();
    facts(&shown, report.as_ref(), sessions, ui);
    if let Some(problem) = &shown.problem {
        ui.flush();
        ui.warning(printable(problem));
    }
    let mut changed: HashMap<&RawPath, String> = HashMap::new();
    for change in report.iter().flat_map(|report| &report.changes) {
        if let (Some(added), Some(removed)) = (change.added, change.removed) {
            changed.insert(&change.path, patch::counts(added, removed));
        }
    }
    let lines = |path: &RawPath| changed.get(path).map_or("", String::as_str);
    if let Some(review) = &shown.review {
        for row in list::rows(&review.changes, &[]) {
            ui.line(format!("  {}{}", row.text, lines(&review.changes[row.number].path)));
        }
        list::say_kept_out(review, ui);
    }
    for version in &kept {
        ui.line(format!("the agent's version of a path that is not applied: {}", printable_name(version)));
    }
    for (word, paths) in [("applied", &paths.applied), ("undone", &paths.undone)] {
        for path in paths {
            ui.line(format!("  {word:<9} {}{}", printable_name(path.as_ref()), lines(path)));
        }
    }
    for commit in report.iter().flat_map(|report| &report.commits) {
        let id: String = commit.id.chars().take(SHOWN_DIGITS).collect();
        let text = format!("commit    {id}  {}  (kept as {})", commit.subject, commit.reference);
        ui.line(printable(&text));
    }
    for check in report.iter().flat_map(|report| &report.checks) {
        say_check(check, &shown, ui);
    }
    for journal in &shown.journals {
        ui.line(journal_line(journal));
    }
    ui.flush();
    for step in &next {
        ui.hint(format!("`{}` {}", step.command, step.what));
    }
    Ok(Exit::Done)
}

/// What the session is about, how it ended, and where it is.
fn facts(shown: &Shown, report: Option<&KeptReport>, sessions: &Sessions, ui: &mut Ui) {
    let entry = &shown.entry;
    ui.line(format!("{BOLD}{}{BOLD:#}  {}", entry.id, super::list::outcome(entry)));
    let mut row = |key: &str, value: String| {
        if !value.is_empty() {
            ui.line(format!("{DIM}{key:<9}{DIM:#} {}", printable(&value)));
        }
    };
    let status = entry.status.as_ref();
    let last = status.and_then(|status| status.runs.last());
    for task in tasks(entry, report) {
        row("task", indented(&task));
    }
    let work = status.and_then(|status| status.work.as_ref());
    let verdict = |work: &SessionWork| work.verdict.map_or("not verified", Ruling::text);
    row("verdict", work.map(|work| format!("{} ({})", verdict(work), work.task_id)).unwrap_or_default());
    let harness = report.map(|report| &report.harness);
    let words = [
        status.map(|status| status.persona.clone()),
        report.and_then(|report| report.persona.tier.clone()),
        harness.and_then(|harness| harness.kind.clone()),
        harness.and_then(|harness| harness.model.clone()),
    ];
    row("persona", words.into_iter().flatten().collect::<Vec<_>>().join(", "));
    row("project", status.map(|status| printable_name(status.root.as_ref())).unwrap_or_default());
    let local = |time: &String| super::list::local(time, sessions.host);
    row("started", status.and_then(|status| local(&status.started_at)).unwrap_or_default());
    row("ended", status.and_then(|status| status.ended_at.as_ref()).and_then(local).unwrap_or_default());
    let ran = entry.seconds_until(sessions.host.now()).map(amounts::seconds).unwrap_or_default();
    row("ran", ran);
    let usage =
        if entry.usage == Usage::default() { report.map(|report| &report.usage) } else { Some(&entry.usage) };
    row("cost", usage.map(usage_text).unwrap_or_default());
    let reason = last.and_then(|run| run.reason.clone());
    let reported = || report.and_then(|report| report.outcome.as_ref()?.reason.clone());
    row("reason", reason.or_else(reported).unwrap_or_default());
    row("log", last_log(&shown.directory).map(|log| printable_name(&log)).unwrap_or_default());
    row("directory", printable_name(shown.directory.as_ref()));
    if let Some(result) = report.and_then(|report| report.result.as_deref()) {
        row("result", indented(result));
    }
}

/// Of every run that had one.
fn tasks(entry: &SessionEntry, report: Option<&KeptReport>) -> Vec<String> {
    let runs = entry.status.iter().flat_map(|status| &status.runs);
    let tasks: Vec<String> = runs.filter_map(|run| run.task.clone()).collect();
    if tasks.is_empty() { report.and_then(|report| report.task.clone()).into_iter().collect() } else { tasks }
}

/// The first lines of a text, indented below its label.
fn indented(text: &str) -> String {
    let all: Vec<&str> = text.trim().lines().collect();
    let mut lines = all[..all.len().min(MOST_LINES)].join("\n          ");
    if all.len() > MOST_LINES {
        lines.push_str(&format!("\n          ... {} more", counted(all.len() - MOST_LINES, "line")));
    }
    lines
}

/// `$0.42, 12345 tokens in, 678 out, 5 turns`.
fn usage_text(usage: &Usage) -> String {
    let part = |number: Option<u64>, what: &str| number.map(|number| format!("{number} {what}"));
    let parts = [
        usage.cost_usd.map(amounts::dollars),
        part(usage.input_tokens, "tokens in"),
        part(usage.output_tokens, "tokens out"),
        usage.turns.map(|turns| counted(turns, "turn")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// A check and, if it failed, the end of what it wrote.
fn say_check(check: &ReportedCheck, shown: &Shown, ui: &mut Ui) {
    let verdict =
        if check.exit_code == 0 { "passed".to_owned() } else { format!("failed ({})", check.exit_code) };
    let took = amounts::seconds(check.seconds);
    ui.line(format!("check {verdict}, {took}: {}", printable(&check.command)));
    if check.exit_code == 0 {
        return;
    }
    // Of a path in a report only the name counts: it could name any file.
    let Some(name) = Path::new(&check.log_file).file_name() else { return };
    let log = shown.directory.join(name);
    for line in end_of(&log) {
        ui.line(format!("  {DIM}|{DIM:#} {}", printable(&line)));
    }
    ui.line(format!("  all its output: {}", printable_name(&log)));
}

/// Where what the agent wrote to protected paths lies: it is applied by nobody, and is there until the session goes.
fn kept_versions(shown: &Shown) -> Vec<PathBuf> {
    let (Some(review), Some(record)) = (&shown.review, &shown.mount) else { return Vec::new() };
    let data = shown.directory.join(&record.data);
    let protected = review.protected.iter().filter(|protected| protected.why != ProtectedWhy::Moved);
    let is_file = |path: &PathBuf| path.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
    protected.map(|protected| data.join(&protected.path)).filter(is_file).collect()
}

fn journal_line(journal: &JournalEntry) -> String {
    let what = if journal.is_undo { "undo" } else { "apply" };
    let state = match (journal.applied, journal.unfinished) {
        (_, true) => "unfinished",
        (true, _) => "done",
        _ => "rolled back",
    };
    let undone = match journal.undone.len() {
        0 => String::new(),
        count => format!(", {count} of them undone"),
    };
    let paths = counted(journal.paths.len(), "path");
    format!("journal {}: {what}, {state}, {paths}{undone}", journal.number)
}

/// What the project has of a session, and what it has no longer.
struct Paths<'a> {
    applied: BTreeSet<&'a RawPath>,
    undone: BTreeSet<&'a RawPath>,
}

impl<'a> Paths<'a> {
    fn of(journals: &'a [JournalEntry]) -> Paths<'a> {
        let applying = || journals.iter().filter(|journal| !journal.is_undo);
        let standing = |journal: &'a JournalEntry| {
            journal.paths.iter().filter(|path| journal.applied && !journal.undone.contains(path))
        };
        let applied: BTreeSet<&RawPath> = applying().flat_map(standing).collect();
        let undo = journals.iter().filter(|journal| journal.is_undo && journal.applied);
        let undone = undo.flat_map(|journal| &journal.paths).filter(|path| !applied.contains(path)).collect();
        Paths { applied, undone }
    }
}

/// The command that goes on with the conversation of a session.
pub fn resume_command(persona: &str, session: &str) -> String {
    format!("agentworkforce agent {persona} --resume {session}")
}

fn next_steps(shown: &Shown, paths: &Paths, note: Option<&ConversationNote>) -> Vec<Next> {
    let id = &shown.entry.id;
    let step = |action: &str, what| Next { command: format!("agentworkforce sessions {action} {id}"), what };
    let apply = |flag: &str, what| {
        let command = format!("agentworkforce sessions apply {id} {flag} PATH");
        Next { command, what }
    };
    if shown.entry.live {
        let is_agent = note.is_some();
        return match shown.entry.outcome {
            SessionOutcome::Running if is_agent => {
                vec![step("log --follow", "shows what it does"), step("stop", "ends it")]
            }
            SessionOutcome::Running => vec![step("stop", "ends it")],
            _ => Vec::new(),
        };
    }
    let reasons = || shown.review.iter().flat_map(Review::conflicts).filter_map(|one| one.conflict);
    let mut next = match shown.entry.state {
        SessionState::Held => {
            let mut next = vec![
                step("diff", "shows the changes"),
                step("apply", "applies them"),
                step("discard", "discards them"),
            ];
            if reasons().next().is_some() {
                next[1].what = "asks about the conflicts at a terminal";
                next.insert(2, apply("--theirs", "takes the agent's version of a path in conflict"));
                next.insert(3, apply("--ours", "keeps yours"));
            }
            if reasons().any(|reason| reason == ConflictReason::BothChanged) {
                next.insert(4, apply("--markers", "writes both, with conflict markers (text files)"));
            }
            next.extend(
                note.map(|note| Next { command: resume_command(&note.persona, id), what: "goes on with it" }),
            );
            next
        }
        SessionState::Interrupted => vec![step("recover", "recovers its work")],
        _ => Vec::new(),
    };
    if !paths.applied.is_empty() {
        next.push(step("undo", "undoes what was applied"));
    }
    if !paths.undone.is_empty() {
        next.push(step("redo", "applies again what was undone"));
    }
    next
}
