//! `sessions apply`: applies the work of a session, and asks about conflicts where somebody is at the terminal.

use super::answer;
use super::paths::Typed;
use crate::cli::SessionsCommand;
use crate::commands::review::{self, list};
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::model::amounts::counted;
use crate::model::mount::RuleSource;
use crate::model::printable::printable;
use crate::model::raw_path::RawPath;
use crate::mount::apply::{ApplyResult, Selection, progress};
use crate::mount::changes::compare::ConflictReason;
use crate::mount::changes::diff::{printable_name, some_names};
use crate::mount::changes::{Change, Protected, ProtectedWhy};
use crate::run::Offer;
use crate::session::{Applied, ApplyRequest, Sessions};
use crate::ui::Ui;
use crate::ui::bar::Bar;
use crate::ui::text::shell_word;
use std::path::{Path, PathBuf};

pub(super) fn run(command: &SessionsCommand, sessions: &Sessions, ui: &mut Ui) -> Result<Exit> {
    let SessionsCommand::Apply { id, only, theirs, ours, markers, include_ignored, keep, unverified, .. } =
        command
    else {
        unreachable!("it is called for this command alone");
    };
    let lists = [only, theirs, ours, markers];
    let include_ignored = *include_ignored;
    let typed = Typed::of(sessions, id, || {
        if lists.iter().all(|list| list.is_empty()) {
            return Ok(Vec::new());
        }
        let request = ApplyRequest { session: id.clone(), include_ignored, ..ApplyRequest::default() };
        sessions.look(&request, |_, _, found| {
            Ok(found.changes.iter().map(|change| change.path.0.clone()).collect())
        })
    })?;
    let [only, theirs, ours, markers] = lists.map(|list| typed.paths(list));
    if let Some(path) = decided_twice([&theirs, &ours, &markers]) {
        let name = printable_name(path);
        return Err(CommandError::usage(format!(
            "`{name}` is named by two of --theirs, --ours and --markers"
        )));
    }
    let mut request = ApplyRequest {
        session: id.clone(),
        selection: Selection {
            only: (!only.is_empty()).then_some(only),
            theirs,
            ours,
            markers,
            ..Selection::all()
        },
        include_ignored,
        keep: *keep,
        unverified: *unverified,
    };
    let apply = |request: &ApplyRequest, is_json: bool| {
        let _bar = if is_json { None } else { Bar::start(sessions.host, "applying", progress::now) };
        sessions.apply(request)
    };
    let mut applied = apply(&request, ui.is_json())?;
    let is_conflict = applied.outcome.status == ApplyResult::Conflict;
    // A script gets its answer, and no question.
    if is_conflict && !ui.is_json() && settle(sessions, &mut request)? {
        applied = apply(&request, ui.is_json())?;
    }
    if ui.is_json() {
        answer(&applied, ui);
    } else {
        for warning in &applied.warnings {
            ui.warning(printable(&warning.message));
        }
        say_applied(&applied, ui);
    }
    Ok(applied.exit())
}

/// A path that more than one of the lists has.
fn decided_twice(lists: [&Vec<PathBuf>; 3]) -> Option<&Path> {
    let is_in = |list: &Vec<PathBuf>, path: &PathBuf| list.contains(path);
    let mut paths = lists.into_iter().flatten();
    paths.find(|path| lists.iter().filter(|list| is_in(list, path)).count() > 1).map(PathBuf::as_path)
}

/// Puts what is decided at the terminal into the request. Gives whether all conflicts are settled.
fn settle(sessions: &Sessions, request: &mut ApplyRequest) -> Result<bool> {
    let decided = sessions.look(request, |session, sides, found| {
        let conflicts = request.selection.undecided(found);
        if conflicts.is_empty() {
            return Ok(None);
        }
        let mut seen = Vec::new();
        for &number in &conflicts {
            let path = &found.changes[number].path;
            seen.push((path.0.clone(), sides.mount.stat(path)?));
        }
        let (id, scratch) = (session.id.as_str(), session.dir.as_path());
        let offer = Offer { session: id, scratch, review: found, sides };
        let decided = review::settle(sessions.host, &offer, &conflicts)?;
        Ok(decided.map(|decided| (decided, seen)))
    })?;
    let Some((decided, seen)) = decided else { return Ok(false) };
    request.selection.decided = decided;
    request.selection.seen = seen.into_iter().collect();
    Ok(true)
}

/// What an apply did, for people.
pub fn say_applied(applied: &Applied, ui: &mut Ui) {
    let outcome = &applied.outcome;
    match outcome.status {
        ApplyResult::Conflict => {
            let (conflicts, settled): (Vec<&Change>, Vec<&Change>) = outcome
                .remaining
                .iter()
                .filter(|change| change.conflict.is_some())
                .partition(|change| outcome.undecided.contains(&change.path));
            ui.say(&format!(
                "{}: nothing was applied, the work is held in session {}",
                counted(conflicts.len(), "conflict"),
                applied.session
            ));
            for change in &conflicts {
                ui.say(&format!("  {}", list::line(change)));
            }
            if !settled.is_empty() {
                let paths: Vec<RawPath> = settled.iter().map(|change| change.path.clone()).collect();
                ui.say(&format!("  settled, if you name them again with the others: {}", some_names(&paths)));
            }
            hint_at_settling(&applied.session, &conflicts, ui);
        }
        ApplyResult::Nothing if outcome.kept_yours.is_empty() && !outcome.review.already.is_empty() => {
            let names = some_names(&outcome.review.already);
            ui.say(&format!("nothing to apply: the project has the agent's changes already: {names}"));
        }
        ApplyResult::Nothing if outcome.kept_yours.is_empty() => ui.say("nothing to apply"),
        ApplyResult::Nothing => {
            ui.say(&format!("nothing applied of session {}", applied.session));
            say_kept_yours(applied, ui);
        }
        ApplyResult::Applied => {
            let rows = list::rows(&outcome.applied, &[]);
            ui.say(&format!("applied {} of session {}", counted(rows.len(), "change"), applied.session));
            ui.say_lines(rows.iter().map(|row| format!("  {}", row.text)));
            say_kept_yours(applied, ui);
            if outcome.applied.iter().any(|change| change.marked) {
                ui.hint(
                    "both versions are in the files with conflict markers: edit them and remove the markers",
                );
            }
            ui.hint(format!("`agentworkforce sessions undo {}` undoes it", applied.session));
        }
    }
    list::say_kept_out(&outcome.review, ui);
    // Rules that the user wrote are no surprise.
    let is_setup = |protected: &Protected| {
        protected.why == ProtectedWhy::Injected
            || protected.rule.as_ref().is_some_and(|rule| rule.source == RuleSource::BuiltinHarness)
    };
    if outcome.review.protected.iter().any(is_setup) {
        ui.hint(format!("`agentworkforce sessions show {}` says where the agent's text is", applied.session));
    }
    for branch in &applied.git.exported {
        let reference = printable_name(branch.reference.as_ref());
        ui.say(&format!("kept {} of the agent as {reference}", counted(branch.commits.len(), "commit")));
        if !branch.differing.is_empty() {
            let names = some_names(&branch.differing);
            ui.say(&format!("  they differ from your files: {names}"));
        }
        let why = if branch.command.contains(" log ") {
            "to look at them before you take them over"
        } else if branch.command.contains(" reset ") {
            "to move your branch to the agent's commit (the files are already applied)"
        } else {
            "to take over the agent's commits"
        };
        ui.hint(printable(&format!("{why}: {}", branch.command)));
    }
    for branch in &applied.git.held {
        let name = printable_name(branch.branch.as_ref());
        ui.say(&format!("commits on {name} are held: {}", printable(&branch.reason)));
    }
}

/// What was decided for the user's version, and what still waits.
fn say_kept_yours(applied: &Applied, ui: &mut Ui) {
    let outcome = &applied.outcome;
    if let Some(first) = outcome.kept_yours.first() {
        ui.say(&format!("your version stays: {}", some_names(&outcome.kept_yours)));
        let path = typed_path(first);
        ui.hint(format!(
            "`agentworkforce sessions apply {} --theirs {path}` takes the agent's version after all",
            applied.session
        ));
    }
    let is_left = |change: &&Change| !outcome.kept_yours.contains(&change.path);
    match outcome.remaining.iter().filter(is_left).count() {
        0 => {}
        left => ui.say(&format!("{} left in the session", counted(left, "change"))),
    }
}

/// A path as it can be pasted: a name that begins with a dash is no flag behind `./`.
fn typed_path(path: &RawPath) -> String {
    let dot = if path.0.as_os_str().as_encoded_bytes().starts_with(b"-") { "./" } else { "" };
    shell_word(&Path::new(dot).join(path))
}

/// How a conflict is settled, with commands that can be pasted.
fn hint_at_settling(session: &str, conflicts: &[&Change], ui: &mut Ui) {
    let Some(first) = conflicts.first() else { return };
    let path = typed_path(&first.path);
    ui.hint(format!("`agentworkforce sessions diff {session} {path}` shows what you and the agent changed"));
    let apply = format!("agentworkforce sessions apply {session}");
    if first.conflict == Some(ConflictReason::NotEmpty) {
        ui.hint(format!("move what you want to keep out of {path} and apply again, or"));
    } else {
        ui.hint(format!("`{apply} --theirs {path}` takes the agent's version"));
    }
    ui.hint(format!("`{apply} --ours {path}` keeps yours"));
    if first.conflict == Some(ConflictReason::BothChanged) {
        ui.hint(format!("`{apply} --markers {path}` writes both, with conflict markers (text files)"));
    }
    if conflicts.len() > 1 {
        ui.hint("each conflict needs such a flag; a directory stands for all below it");
    }
}
