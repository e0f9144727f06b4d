//! `show --files PATH`: what a run makes of one path.

use super::super::say;
use super::word;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::model::persona::SidecarMode;
use crate::model::plan::RunPlan;
use crate::model::warning::Warning;
use crate::rules::{PathRules, unreadable_rule};
use crate::ui::{Ui, printable};
use crate::workforce::Workforce;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Whether a run sees this path and may change it, and why.
pub fn decision(
    workforce: &Workforce,
    plan: &RunPlan,
    rules: &PathRules,
    path: &Path,
    warnings: &[Warning],
    ui: &mut Ui,
) -> Result<Exit> {
    let spec = &plan.mount;
    let absolute = workforce.host.absolute(path);
    let Ok(relative) = absolute.strip_prefix(&spec.root) else {
        return Err(CommandError::usage(format!(
            "{} is outside {}",
            absolute.display(),
            spec.root.display()
        ))
        .hint("name a path inside the project"));
    };
    let metadata = absolute.symlink_metadata().ok();
    let is_dir = metadata.as_ref().is_some_and(std::fs::Metadata::is_dir);
    let decision = rules.decide(relative, is_dir);
    let closed = (!decision.is_hidden()).then(|| unreadable_part(&spec.root, relative)).flatten();
    let closed = closed.map(|path| unreadable_rule(&path));
    let rule = closed.as_ref().or_else(|| decision.rule.map(|index| &spec.rules[index]));
    let word = if closed.is_some() { "hidden" } else { word(&decision) };
    // Whatever the rules say about the project's file, the run has the persona's.
    let sidecar = plan.sidecar.as_ref().filter(|sidecar| Path::new(&sidecar.target) == relative);
    if ui.is_json() {
        say::json(
            json!({
            "suppliedBy": sidecar.map(|sidecar| &sidecar.origin),
            "path": relative.display().to_string(),
            "exists": metadata.is_some(),
            "decision": word,
            "affectsAgents": decision.is_layer(),
            "rule": rule,
            }),
            warnings,
            ui,
        );
        return Ok(Exit::Done);
    }
    if let Some(sidecar) = sidecar {
        let how = match sidecar.mode {
            SidecarMode::Overwrite => "in place of the project's file",
            SidecarMode::Extend => "after the text of the project's file",
        };
        let (path, origin) = (relative.display(), &sidecar.origin);
        ui.line(printable(&format!("{path}: supplied by the persona ({origin}), {how}")));
        return Ok(Exit::Done);
    }
    let why = rule.map_or("no rule".to_owned(), |rule| format!("`{}` ({})", rule.pattern, rule.origin));
    let agents = if decision.is_layer() { "; it decides what agents may do" } else { "" };
    ui.line(printable(&format!("{}: {} by {why}{agents}", relative.display(), word)));
    Ok(Exit::Done)
}

/// The first directory on the way to a path that cannot be read: a run hides it.
fn unreadable_part(root: &Path, relative: &Path) -> Option<PathBuf> {
    let mut dirs: Vec<&Path> = relative.ancestors().filter(|dir| !dir.as_os_str().is_empty()).collect();
    dirs.reverse();
    let is_closed = |dir: &&Path| {
        let dir = root.join(dir);
        match dir.symlink_metadata() {
            Ok(found) => found.is_dir() && std::fs::read_dir(dir).is_err(),
            Err(error) => error.kind() == std::io::ErrorKind::PermissionDenied,
        }
    };
    dirs.into_iter().find(is_closed).map(Path::to_owned)
}
