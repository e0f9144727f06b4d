//! Why a run is not started. One list for a dry run and a run; the exit codes and hints are chosen in `commands`.

use super::parts::Obstacles;
use crate::model::mount::{Backend, Sandbox};
use crate::model::mount_facts::MountFacts;
use crate::model::plan::{ApplyPolicy, EnforcementLevel, Refusal, RefusalCode, RunPlan};

/// Every reason that speaks against this plan, the most fundamental first.
pub fn refusals(plan: &RunPlan, attended: bool, found: &Obstacles) -> Vec<Refusal> {
    let mut all = Vec::new();
    let mut refuse = |code, message: String, causes| all.push(Refusal { code, message, causes });
    let none = Vec::new;
    if !found.unreadable.is_empty() {
        let message = "not started: configuration files are invalid".to_owned();
        refuse(RefusalCode::InvalidFiles, message, found.unreadable.clone());
    }
    let backend = plan.mount.backend;
    if let Some(why) = found.root.as_ref().filter(|_| backend != Backend::None) {
        refuse(RefusalCode::Root, why.clone(), none());
    }
    if backend == Backend::None && plan.changes.apply == ApplyPolicy::Never {
        let message = "without a mount no changes can be held back".to_owned();
        refuse(RefusalCode::NothingToHold, message, none());
    }
    if plan.changes.apply == ApplyPolicy::Ask && !attended {
        refuse(RefusalCode::NoTerminal, "no terminal to ask about the changes".to_owned(), none());
    }
    if plan.limits.usd == Some(0.0) {
        let message = "the budget is zero: `limits.usd` is 0".to_owned();
        refuse(RefusalCode::ZeroBudget, message, none());
    }
    let ignored = plan.enforcement.iter().filter(|row| row.field.is_planned_restriction());
    let ignored: Vec<String> = ignored.map(|row| format!("{}: {}", row.field, row.how)).collect();
    if !ignored.is_empty() && !plan.ignore_unsupported {
        let message = format!("persona `{}` has restrictions that would be ignored", plan.name());
        refuse(RefusalCode::Unsupported, message, ignored);
    }
    if let Some(reason) = overlay_obstacle(backend, found.mount.as_ref()) {
        let message = format!("the project cannot be overlaid: {reason}");
        refuse(RefusalCode::OverlayUnavailable, message, none());
    }
    let sandbox = sandbox_obstacle(plan, found.mount.as_ref());
    if let Some(reason) = sandbox.as_ref().filter(|_| !plan.strict) {
        let message = "the requested sandbox level is unavailable".to_owned();
        refuse(RefusalCode::SandboxUnavailable, message, vec![reason.clone()]);
    }
    if plan.strict {
        let level = |level: EnforcementLevel| match level {
            EnforcementLevel::Enforced => "enforced",
            EnforcementLevel::Advisory => "advisory",
            EnforcementLevel::Unsupported => "unsupported",
        };
        let rows = plan.not_enforced();
        let rows = rows.map(|row| format!("{}: {} ({})", row.field, level(row.level), row.how));
        let warnings = plan.warnings.iter().map(|warning| warning.message.clone());
        // `--strict` may have raised the level itself, so it answers for it.
        let sandbox = sandbox.map(|reason| format!("mount.sandbox: unavailable ({reason})"));
        let causes: Vec<String> = rows.chain(sandbox).chain(warnings).collect();
        if !causes.is_empty() {
            let message = format!("persona `{}` is refused by `--strict`", plan.name());
            refuse(RefusalCode::NotEnforced, message, causes);
        }
    }
    all
}

/// Whether the machine has to be asked before this can be decided.
pub fn needs_probe(backend: Backend, sandbox: Option<Sandbox>) -> bool {
    match backend {
        Backend::Overlay => true,
        Backend::Auto => sandbox.is_some_and(|level| level > Sandbox::Off),
        Backend::Copy | Backend::None => false,
    }
}

fn overlay_obstacle(backend: Backend, facts: Option<&MountFacts>) -> Option<String> {
    facts.filter(|_| backend == Backend::Overlay)?.why_not_overlay()
}

/// Why the level that is demanded cannot be reached; a lower level is never a silent substitute.
fn sandbox_obstacle(plan: &RunPlan, facts: Option<&MountFacts>) -> Option<String> {
    let level = plan.mount.sandbox.filter(|level| *level > Sandbox::Off)?;
    if matches!(plan.mount.backend, Backend::Copy | Backend::None) {
        let level = if level == Sandbox::Strict { "strict" } else { "project" };
        // The matrix has this row already.
        return (!plan.strict).then(|| format!("`{level}` needs the overlay"));
    }
    let facts = facts?;
    let (backend, _) = facts.choose(plan.mount.backend);
    match (facts.best_sandbox(backend), backend) {
        (Sandbox::Project | Sandbox::Strict, _) => None,
        (Sandbox::Off, Backend::Overlay) => Some("root needs a PID namespace for it".to_owned()),
        (Sandbox::Off, _) => {
            Some(facts.why_not_overlay().unwrap_or_else(|| "the mount is not an overlay".to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::mount_facts::{HostMounts, OverlayWay};

    fn facts(overlay: OverlayWay, pid_namespace: bool) -> MountFacts {
        MountFacts {
            host: HostMounts {
                overlay,
                overlay_reason: Some("no overlay here".into()),
                state_unfit: false,
                pid_namespace,
                pid_namespace_reason: None,
                scoped_sockets: true,
                reflink: false,
            },
            obstacles: Vec::new(),
        }
    }

    #[test]
    fn the_machine_is_asked_only_where_something_is_demanded() {
        assert!(!needs_probe(Backend::Auto, None));
        assert!(!needs_probe(Backend::Auto, Some(Sandbox::Off)));
        assert!(needs_probe(Backend::Auto, Some(Sandbox::Project)));
        assert!(needs_probe(Backend::Overlay, None));
        assert!(!needs_probe(Backend::Copy, Some(Sandbox::Strict)));
    }

    #[test]
    fn an_overlay_is_refused_only_where_it_is_demanded_and_does_not_work() {
        let unavailable = facts(OverlayWay::Unavailable, false);
        assert_eq!(
            overlay_obstacle(Backend::Overlay, Some(&unavailable)).as_deref(),
            Some("no overlay here")
        );
        assert_eq!(overlay_obstacle(Backend::Auto, Some(&unavailable)), None);
        assert_eq!(overlay_obstacle(Backend::Overlay, Some(&facts(OverlayWay::Capable, true))), None);
    }
}
