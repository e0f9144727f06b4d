//! Describes what happened to the personas and roles of packs, and suggests commands for what was left alone.

use crate::cli::LayerArg;
use crate::model::amounts::counted;
use crate::model::path_text::path_text;
use crate::model::warning::{Warning, WarningCode};
use crate::pack::contents::{ROLES_PREFIX, UnitKind};
use crate::pack::decide::{Action, Decision, OnDisk, Reason, label_of};
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
            "kind": decision.kind.name(),
            "id": decision.id,
            "action": decision.action.name(),
            "reason": reason(target, decision),
            "written": paths(&mut decision.writes.keys()),
            "removed": paths(&mut decision.removes.iter()),
            "differing": paths(&mut decision.differing.iter()),
            "keptBy": decision.shared_with,
            "takenFrom": decision.taken_from,
        })
    };
    decisions.iter().map(row).collect()
}

pub fn count(decisions: &[Decision], is_counted: impl Fn(Action) -> bool) -> usize {
    decisions.iter().filter(|decision| is_counted(decision.action)).count()
}

/// Returns `it` or `them`.
pub fn pronoun(amount: &str) -> &'static str {
    if amount.starts_with("1 ") && !amount.contains(" and ") { "it" } else { "them" }
}

/// The number of matching decisions, such as `2 personas and 1 role`. `None`: there are none.
pub fn amount(decisions: &[Decision], is_counted: impl Fn(&Decision) -> bool) -> Option<String> {
    let of = |kind: UnitKind| {
        let number =
            decisions.iter().filter(|decision| decision.kind == kind && is_counted(decision)).count();
        (number > 0).then(|| counted(number, kind.name()))
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

/// The name of a persona or role in a line of output.
pub fn display_name(decision: &Decision) -> String {
    match decision.kind {
        UnitKind::Persona => decision.id.clone(),
        UnitKind::Role => format!("role {}", decision.id),
    }
}

/// The paths that are in the way, for a message.
pub fn differing(target: &Target, decision: &Decision) -> String {
    let paths: Vec<String> =
        decision.differing.iter().map(|path| target.path(path).display().to_string()).collect();
    paths.join(", ")
}

/// Describes what the user did to the differing paths.
fn edits(target: &Target, decision: &Decision) -> String {
    let paths = |is_deleted: bool| {
        let is_counted = |path: &&String| (target.on_disk(path) == OnDisk::Missing) == is_deleted;
        let paths = decision.differing.iter().filter(is_counted);
        paths.map(|path| target.path(path).display().to_string()).collect::<Vec<_>>().join(", ")
    };
    match (paths(false), paths(true)) {
        (changed, deleted) if deleted.is_empty() => format!("you changed {changed}"),
        (changed, deleted) if changed.is_empty() => format!("you deleted {deleted}"),
        (changed, deleted) => format!("you changed {changed} and deleted {deleted}"),
    }
}

/// The reason for a decision, where it is not obvious.
pub fn reason(target: &Target, decision: &Decision) -> Option<String> {
    let paths = differing(target, decision);
    let blocked = || decision.blocked.iter().find_map(|path| target.obstacle(path));
    Some(match (decision.action, decision.reason) {
        (Action::Shared, _) => {
            let packs = if decision.shared_with.len() == 1 { "pack" } else { "packs" };
            let have = if decision.shared_with.len() == 1 { "has" } else { "have" };
            format!("{packs} {} also {have} it", decision.shared_with.join(", "))
        }
        (_, Some(Reason::RoleInUse)) => {
            let persona = decision.follower.as_deref().unwrap_or_default();
            format!("{persona}, which you keep, has this role; it is yours now")
        }
        (Action::Kept, _) if decision.locked.is_none() => {
            format!("{}; it is yours now", edits(target, decision))
        }
        (Action::Kept, _) if decision.kept.is_empty() => {
            format!("{}, the pack did not", edits(target, decision))
        }
        (Action::Kept, _) => format!("your version, recorded in the lock: {paths}"),
        (Action::Skipped | Action::Conflict, Some(reason)) => match (reason, blocked()) {
            (Reason::IdTaken, _) => format!("{paths} already exists and has the same id"),
            (_, Some((place, what))) => {
                format!(
                    "{} is {what}, which packs do not replace: move it away and run this again",
                    place.display()
                )
            }
            (Reason::NotFromPack, _) if !decision.shared_with.is_empty() => {
                format!("{paths} belongs to pack {}, in another version", decision.shared_with.join(", "))
            }
            (Reason::NotFromPack, _) => format!("{paths} already exists and was not installed by the pack"),
            (Reason::Edited, _) => edits(target, decision),
            (Reason::BothChanged, _) if edits(target, decision).starts_with("you deleted ") => {
                format!("you deleted what the pack changed: {paths}")
            }
            (Reason::BothChanged, _) => format!("you and the pack changed it: {paths}"),
            (Reason::RemovedFromPack | Reason::RoleInUse, _) => {
                format!("the pack no longer has it, and {}", edits(target, decision))
            }
        },
        _ => return None,
    })
}

/// Prints where the replaced files of the user are.
pub fn print_backup(backup: Option<&Path>, ui: &mut Ui) {
    if let Some(dir) = backup {
        ui.line(printable(&format!("your previous files are in {}", dir.display())));
    }
}

/// Warnings about what was left alone, and about what no longer belongs to another pack.
pub fn warnings(target: &Target, decisions: &[Decision], emptied: &[String]) -> Vec<Warning> {
    let mut found = Vec::new();
    for decision in decisions {
        let name = display_name(decision);
        if decision.action.is_left_alone() {
            let reason = reason(target, decision).unwrap_or_default();
            found.push(Warning::new(WarningCode::Conflict, format!("conflict {name}: {reason}")));
        }
        for other in &decision.taken_from {
            let text = format!("{name} no longer belongs to pack {other}, which has another version of it");
            found.push(Warning::new(WarningCode::PackOwnership, text));
        }
    }
    for pack in emptied {
        let text = format!("pack {pack} has nothing left here and was removed from the lock");
        found.push(Warning::new(WarningCode::PackOwnership, text));
    }
    found
}

pub fn print_warnings(warnings: &[Warning], ui: &mut Ui) {
    for warning in warnings {
        ui.flush();
        ui.warning(printable(&warning.message));
    }
}

/// A command with the option for its layer.
pub fn command(words: &str, layer: LayerArg) -> String {
    let to = if layer == LayerArg::User { " --in user" } else { "" };
    format!("`agentworkforce {words}{to}`")
}

/// Hints on how to resolve what was left alone. Links must be removed by hand.
pub fn resolving<'d>(decisions: impl Iterator<Item = &'d Decision>, layer: LayerArg) -> Vec<String> {
    let open = decisions.filter(|decision| decision.action.is_left_alone() && decision.blocked.is_empty());
    let open: Vec<&Decision> = open.collect();
    let labels: Vec<String> = open.iter().map(|decision| label_of(decision)).collect();
    if labels.is_empty() {
        return Vec::new();
    }
    resolving_labels(&labels, layer)
}

pub fn resolving_labels(labels: &[String], layer: LayerArg) -> Vec<String> {
    let labels = labels.join(" ");
    let mine = command(&format!("update --keep-mine {labels}"), layer);
    let theirs = command(&format!("update --take-theirs {labels}"), layer);
    vec![format!("{mine} keeps your version"), format!("{theirs} takes the pack's version")]
}
