//! `sessions show`: a session with its changes, what it has applied, and the commands that make sense next. Changes nothing.

use super::answer;
use crate::commands::review::list;
use crate::error::Result;
use crate::exit::Exit;
use crate::model::raw_path::RawPath;
use crate::mount::changes::ProtectedWhy;
use crate::mount::changes::diff::printable_name;
use crate::run::conversation::ConversationNote;
use crate::session::{JournalEntry, SessionState, Sessions, Shown};
use crate::ui::{Ui, printable};
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// A command that makes sense now.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Next {
    command: String,
    /// What it does, after the command in a sentence.
    #[serde(rename = "does")]
    what: &'static str,
}

pub(super) fn run(sessions: &Sessions, id: &str, ui: &mut Ui) -> Result<Exit> {
    let shown = sessions.show(id)?;
    let note =
        sessions.store.find(id).ok().and_then(|session| ConversationNote::read(&session).ok().flatten());
    let paths = Paths::of(&shown.journals);
    let next = next_steps(&shown, &paths, note.as_ref());
    let kept = kept_versions(&shown);
    if ui.is_json() {
        let mut whole = serde_json::to_value(&shown).unwrap_or_default();
        whole["applied"] = json!(paths.applied);
        whole["undone"] = json!(paths.undone);
        whole["keptVersions"] = json!(kept.iter().map(|path| RawPath(path.clone())).collect::<Vec<_>>());
        whole["next"] = json!(next);
        answer(&whole, ui);
        return Ok(Exit::Done);
    }
    ui.line(format!("{}  {}", shown.entry.id, shown.entry.state.name()));
    if let Some(status) = &shown.entry.status {
        ui.line(printable(&format!("persona   {}", status.persona)));
        ui.line(format!("project   {}", printable_name(status.root.as_ref())));
    }
    ui.line(format!("directory {}", printable_name(shown.directory.as_ref())));
    if let Some(problem) = &shown.problem {
        ui.warning(printable(problem));
    }
    if let Some(review) = &shown.review {
        for row in list::rows(&review.changes, &[]) {
            ui.line(format!("  {}", row.text));
        }
        list::say_kept_out(review, ui);
    }
    for version in &kept {
        ui.line(format!("the agent's version of a path that is not applied: {}", printable_name(version)));
    }
    for (word, paths) in [("applied", &paths.applied), ("undone", &paths.undone)] {
        for path in paths {
            ui.line(format!("  {word:<9} {}", printable_name(path.as_ref())));
        }
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
    format!("journal {}: {what}, {state}, {} path(s){undone}", journal.number, journal.paths.len())
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
    if shown.entry.live {
        return Vec::new();
    }
    let step = |action: &str, what| Next { command: format!("agentworkforce sessions {action} {id}"), what };
    let mut next = match shown.entry.state {
        SessionState::Held => {
            let mut next = vec![
                step("diff", "shows the changes"),
                step("apply", "applies them"),
                step("discard", "discards them"),
            ];
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
