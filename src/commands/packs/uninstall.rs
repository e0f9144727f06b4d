//! `uninstall`: removes what a pack installed. What the user changed stays.

use super::summary::{self, display_name, rows};
use super::{installed, log_change, recorded, target_of, write};
use crate::cli::UninstallArgs;
use crate::error::Result;
use crate::exit::Exit;
use crate::host::Host;
use crate::load::file;
use crate::model::amounts::counted;
use crate::model::path_text::path_text;
use crate::model::text_rules::slugged;
use crate::model::warning::{Warning, WarningCode};
use crate::pack::apply;
use crate::pack::decide::{self, Action};
use crate::pack::lockfile::{Lock, LockedPack};
use crate::pack::target::Target;
use crate::ui::{Ui, printable};
use crate::workforce::Workforce;
use serde_json::{Value, json};
use std::path::Path;

pub fn run(args: &UninstallArgs, host: &Host, ui: &mut Ui) -> Result<Exit> {
    let workforce = Workforce::open(host)?;
    let target = target_of(&workforce, args.to)?;
    let name = &args.pack;
    if !args.dry_run {
        apply::recover(&target)?;
    }
    installed(&Lock::read(&target.personas)?, name, &target)?;
    let _locks = if args.dry_run { None } else { Some(apply::lock(&target)?) };
    let lock = Lock::read(&target.personas)?;
    installed(&lock, name, &target)?;
    let on_disk = |path: &str| target.on_disk(path);
    let mut decisions = decide::uninstall(name, &lock, &on_disk);
    decide::keep_roles_in_use(&mut decisions, |id| role_of(&target, id));
    if !args.dry_run {
        let after = recorded(&lock, name, LockedPack::default(), &decisions);
        write(host, &target, (&lock, &after), &decisions, ui)?;
        log_change(&workforce, &format!("uninstall {name}"));
    }
    let kept = decisions.iter().any(|decision| decision.action == Action::Kept);
    let exit = if kept { Exit::Failed } else { Exit::Done };
    let warnings = warnings(&target, &decisions);
    if ui.is_json() {
        ui.json(&json!({
            "schemaVersion": 2, "ok": !kept, "dryRun": args.dry_run, "target": path_text(&target.personas),
            "packs": [{"name": name, "units": rows(&target, &decisions)}], "warnings": warnings,
        }));
        return Ok(exit);
    }
    let would = if args.dry_run { "would be " } else { "" };
    for decision in &decisions {
        let unit = display_name(decision);
        let reason = summary::reason(&target, decision).unwrap_or_default();
        match decision.action {
            Action::Kept => {}
            Action::Shared => ui.line(printable(&format!("{would}kept {unit}: {reason}"))),
            _ => ui.line(printable(&format!("{would}removed {unit}"))),
        }
    }
    let is_removed = |decision: &decide::Decision| decision.action == Action::Removed;
    let removed = summary::amount(&decisions, is_removed).unwrap_or_else(|| "nothing".into());
    let dir = target.display();
    let verb = if args.dry_run { "Would remove" } else { "Removed" };
    let is_kept = |decision: &decide::Decision| decision.action == Action::Kept;
    let left =
        match decisions.iter().filter(|decision| is_kept(decision) && decision.follower.is_none()).count() {
            0 => String::new(),
            number => format!(", kept {number} that you changed"),
        };
    let roles = decisions.iter().filter(|decision| decision.follower.is_some()).count();
    let left = if roles == 0 { left } else { format!("{left} and {} of theirs", counted(roles, "role")) };
    ui.line(printable(&format!("{verb} {removed} of {name} from {dir}{left}")));
    summary::print_warnings(&warnings, ui);
    Ok(exit)
}

/// What stays because the user changed it.
fn warnings(target: &Target, decisions: &[decide::Decision]) -> Vec<Warning> {
    let kept = decisions.iter().filter(|decision| decision.action == Action::Kept);
    let warning = |decision: &decide::Decision| {
        let reason = summary::reason(target, decision).unwrap_or_default();
        let text = format!("kept {}: {reason}", display_name(decision));
        Warning::new(WarningCode::Conflict, text)
    };
    kept.map(warning).collect()
}

/// The key of the role of an installed persona.
fn role_of(target: &Target, id: &str) -> Option<String> {
    let path = format!("{id}.json");
    let object = file::parse_object(Path::new(&path), &target.text(&path)).ok()?;
    object.get("role").and_then(Value::as_str).map(slugged)
}
