//! The words for what became of personas and roles of packs, and the commands that settle what was left alone.

use crate::cli::LayerArg;
use crate::model::path_text::path_text;
use crate::pack::contents::{ROLES_PREFIX, UnitKind};
use crate::pack::decide::{Action, Because, Decision, OnDisk, label_of};
use crate::pack::target::Target;
use crate::ui::{Ui, printable};
use serde_json::{Value, json};
use std::path::Path;

/// One pack's decisions as JSON.
pub fn rows(target: &Target, decisions: &[Decision]) -> Vec<Value> {
    let row = |decision: &Decision| {
        let paths = |paths: &mut dyn Iterator<Item = &String>| -> Vec<Value> {
            paths.map(|path| json!(path_text(&target.path(path)))).collect()
        };
        json!({
            "kind": decision.kind.word(),
            "id": decision.id,
            "action": decision.action.word(),
            "reason": reason(target, decision),
            "written": paths(&mut decision.writes.keys()),
            "removed": paths(&mut decision.removes.iter()),
            "differing": paths(&mut decision.differing.iter()),
            "keptBy": decision.keepers,
            "takenFrom": decision.ousted,
        })
    };
    decisions.iter().map(row).collect()
}

pub fn count(decisions: &[Decision], is_meant: impl Fn(Action) -> bool) -> usize {
    decisions.iter().filter(|decision| is_meant(decision.action)).count()
}

/// `3 personas` or `1 persona`.
pub fn counted(number: usize, word: &str) -> String {
    if number == 1 { format!("1 {word}") } else { format!("{number} {word}s") }
}

/// How what is counted like this is spoken of.
pub fn pronoun(amount: &str) -> &'static str {
    if amount.starts_with("1 ") && !amount.contains(" and ") { "it" } else { "them" }
}

/// How many of these are meant: `2 personas and 1 role`. `None`: not one.
pub fn amount(decisions: &[Decision], is_meant: impl Fn(&Decision) -> bool) -> Option<String> {
    let of = |kind: UnitKind| {
        let number = decisions.iter().filter(|decision| decision.kind == kind && is_meant(decision)).count();
        (number > 0).then(|| counted(number, kind.word()))
    };
    match (of(UnitKind::Persona), of(UnitKind::Role)) {
        (Some(personas), Some(roles)) => Some(format!("{personas} and {roles}")),
        (personas, roles) => personas.or(roles),
    }
}

/// The main file of a persona or role.
pub fn main_file(target: &Target, decision: &Decision) -> String {
    let prefix = match decision.kind {
        UnitKind::Persona => "",
        UnitKind::Role => ROLES_PREFIX,
    };
    target.path(&format!("{prefix}{}.json", decision.id)).display().to_string()
}

/// What a role or persona is called in a line: personas are the rule.
pub fn named(decision: &Decision) -> String {
    match decision.kind {
        UnitKind::Persona => decision.id.clone(),
        UnitKind::Role => format!("role {}", decision.id),
    }
}

/// The paths that stand in the way, for a message.
pub fn differing(target: &Target, decision: &Decision) -> String {
    let paths: Vec<String> =
        decision.differing.iter().map(|path| target.path(path).display().to_string()).collect();
    paths.join(", ")
}

/// What the user did to the paths that differ.
fn edits(target: &Target, decision: &Decision) -> String {
    let paths = |is_gone: bool| {
        let is_meant = |path: &&String| (target.look(path) == OnDisk::Nothing) == is_gone;
        let paths = decision.differing.iter().filter(is_meant);
        paths.map(|path| target.path(path).display().to_string()).collect::<Vec<_>>().join(", ")
    };
    match (paths(false), paths(true)) {
        (changed, gone) if gone.is_empty() => format!("you changed {changed}"),
        (changed, gone) if changed.is_empty() => format!("you deleted {gone}"),
        (changed, gone) => format!("you changed {changed} and deleted {gone}"),
    }
}

/// Why something is as it is, where that does not go without saying.
pub fn reason(target: &Target, decision: &Decision) -> Option<String> {
    let paths = differing(target, decision);
    let blocked = || decision.blocked.iter().find_map(|path| target.obstacle(path));
    Some(match (decision.action, decision.because) {
        (Action::Shared, _) => {
            let packs = if decision.keepers.len() == 1 { "pack" } else { "packs" };
            let have = if decision.keepers.len() == 1 { "has" } else { "have" };
            format!("{packs} {} {have} it, too", decision.keepers.join(", "))
        }
        (_, Some(Because::Followed)) => {
            let persona = decision.follower.as_deref().unwrap_or_default();
            format!("{persona}, which you keep, follows it; it is yours now")
        }
        (Action::Kept, _) if decision.locked.is_none() => {
            format!("{}; it is yours now", edits(target, decision))
        }
        (Action::Kept, _) if decision.kept.is_empty() => {
            format!("{}, the pack did not", edits(target, decision))
        }
        (Action::Kept, _) => format!("yours, and noted in the lock: {paths}"),
        (Action::Skipped | Action::Conflict, Some(because)) => match (because, blocked()) {
            (Because::IdIsTaken, _) => format!("{paths} already exists and has the same id"),
            (_, Some((place, what))) => {
                format!(
                    "{} is {what}, which no pack writes to: move it away and run this again",
                    place.display()
                )
            }
            (Because::NotThePacks, _) if !decision.keepers.is_empty() => {
                format!("{paths} is of pack {}, and another version", decision.keepers.join(", "))
            }
            (Because::NotThePacks, _) => format!("{paths} already exists and is not the pack's"),
            (Because::Edited, _) => edits(target, decision),
            (Because::BothChanged, _) if edits(target, decision).starts_with("you deleted ") => {
                format!("you deleted what the pack changed: {paths}")
            }
            (Because::BothChanged, _) => format!("you and the pack changed it: {paths}"),
            (Because::Gone | Because::Followed, _) => {
                format!("the pack has it no more, and {}", edits(target, decision))
            }
        },
        _ => return None,
    })
}

/// Where that is which was replaced.
pub fn kept(backup: Option<&Path>, ui: &mut Ui) {
    if let Some(dir) = backup {
        ui.line(printable(&format!("what you had is in {}", dir.display())));
    }
}

/// What was left alone, on stderr; and what is no longer another pack's.
pub fn warn(target: &Target, decisions: &[Decision], emptied: &[String], ui: &mut Ui) {
    for decision in decisions {
        let name = named(decision);
        if decision.action.is_left_alone() {
            let reason = reason(target, decision).unwrap_or_default();
            ui.flush();
            ui.warning(printable(&format!("conflict {name}: {reason}")));
        }
        for other in &decision.ousted {
            ui.flush();
            ui.warning(printable(&format!(
                "{name} is no longer of pack {other}, which has another version of it"
            )));
        }
    }
    for pack in emptied {
        ui.flush();
        ui.warning(printable(&format!("pack {pack} has nothing left here and is gone from the lock")));
    }
}

/// A command with the layer that it is about.
pub fn command(words: &str, layer: LayerArg) -> String {
    let to = if layer == LayerArg::User { " --to user" } else { "" };
    format!("`agentworkforce {words}{to}`")
}

/// What settles this. Links are not among it: they are settled by hand.
pub fn settling<'d>(decisions: impl Iterator<Item = &'d Decision>, layer: LayerArg) -> Vec<String> {
    let open = decisions.filter(|decision| decision.action.is_left_alone() && decision.blocked.is_empty());
    let open: Vec<&Decision> = open.collect();
    let labels: Vec<String> = open.iter().map(|decision| label_of(decision)).collect();
    if labels.is_empty() {
        return Vec::new();
    }
    settling_of(&labels, layer)
}

pub fn settling_of(labels: &[String], layer: LayerArg) -> Vec<String> {
    let labels = labels.join(" ");
    let mine = command(&format!("update --keep-mine {labels}"), layer);
    let theirs = command(&format!("update --take-theirs {labels}"), layer);
    vec![format!("{mine} keeps what you have"), format!("{theirs} takes what the pack has")]
}
