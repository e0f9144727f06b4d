//! `uninstall`: takes away what a pack brought, as far as it is still what the pack brought.

use super::tell::{self, counted, named, rows};
use super::{installed, note, settled, target_of, write};
use crate::cli::UninstallArgs;
use crate::error::Result;
use crate::exit::Exit;
use crate::host::Host;
use crate::load::file;
use crate::model::path_text::path_text;
use crate::model::text_rules::slugged;
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
    let look = |path: &str| target.look(path);
    let mut decisions = decide::uninstall(name, &lock, &look);
    decide::keep_followed(&mut decisions, |id| role_of(&target, id));
    if !args.dry_run {
        let after = settled(&lock, name, LockedPack::default(), &decisions);
        write(host, &target, (&lock, &after), &decisions, ui)?;
        note(&workforce, &format!("uninstall {name}"));
    }
    let kept = decisions.iter().any(|decision| decision.action == Action::Kept);
    let exit = if kept { Exit::Failed } else { Exit::Done };
    if ui.is_json() {
        ui.json(&json!({
            "schemaVersion": 1, "ok": !kept, "dryRun": args.dry_run, "target": path_text(&target.personas),
            "packs": [{"name": name, "units": rows(&target, &decisions)}],
        }));
        return Ok(exit);
    }
    let would = if args.dry_run { "would be " } else { "" };
    for decision in &decisions {
        let unit = named(decision);
        let reason = tell::reason(&target, decision).unwrap_or_default();
        match decision.action {
            Action::Kept => {
                ui.flush();
                ui.warning(printable(&format!("kept {unit}: {reason}")));
            }
            Action::Shared => ui.line(printable(&format!("{would}kept {unit}: {reason}"))),
            _ => ui.line(printable(&format!("{would}removed {unit}"))),
        }
    }
    let is_gone = |decision: &decide::Decision| decision.action == Action::Removed;
    let removed = tell::amount(&decisions, is_gone).unwrap_or_else(|| "nothing".into());
    let dir = target.shown();
    let verb = if args.dry_run { "Would remove" } else { "Removed" };
    let is_yours = |decision: &decide::Decision| decision.action == Action::Kept;
    let left =
        match decisions.iter().filter(|decision| is_yours(decision) && decision.follower.is_none()).count() {
            0 => String::new(),
            number => format!(", kept {number} that you changed"),
        };
    let roles = decisions.iter().filter(|decision| decision.follower.is_some()).count();
    let left =
        if roles == 0 { left } else { format!("{left} and {} that they follow", counted(roles, "role")) };
    ui.line(printable(&format!("{verb} {removed} of {name} from {dir}{left}")));
    Ok(exit)
}

/// The key of the role that a persona on disk follows.
fn role_of(target: &Target, id: &str) -> Option<String> {
    let path = format!("{id}.json");
    let object = file::parse_object(Path::new(&path), &target.text(&path)).ok()?;
    object.get("role").and_then(Value::as_str).map(slugged)
}
