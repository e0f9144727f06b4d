//! Which settings of a persona hold in a run, and by what means. The adapters add the rows of their harness.

use super::parts::{RunFacts, RunFlags, RunParts};
use crate::harness::adapter;
use crate::harness::job::HarnessPlan;
use crate::model::demand::Demand;
use crate::model::inherit::Inherit;
use crate::model::limits::{LimitObstacles, Limits};
use crate::model::mount::{Backend, Effect, LayerChanges, MountSpec, Sandbox};
use crate::model::mount_facts::MountFacts;
use crate::model::persona::{McpServer, SidecarMode};
use crate::model::plan::{Enforcement, PlannedSidecar};
use crate::model::warning::{Warning, WarningCode};
use crate::resolve::sidecar::{Channel, only_for_others};
use crate::rules::PathRules;
use std::collections::BTreeMap;

/// The rows that do not depend on the harness, then the adapter's own.
pub fn agent_rows(
    parts: &RunParts,
    adapted: &mut HarnessPlan,
    mount: &MountSpec,
    sidecar: Option<&PlannedSidecar>,
    limits: Limits,
    flags: &RunFlags,
    warnings: &mut Vec<Warning>,
) -> Vec<Enforcement> {
    let mut rows = HarnessPlan::default();
    match (sidecar, adapted.sidecar_unread) {
        (Some(planned), Some(why)) => {
            rows.unsupported(Demand::Sidecar, format!("{} is written, and {why}", planned.target));
        }
        (Some(planned), None) => {
            let how = match planned.mode {
                SidecarMode::Overwrite => "is exactly the persona's text in the mount",
                SidecarMode::Extend => "is the repository's text and then the persona's in the mount",
            };
            rows.enforced(Demand::Sidecar, format!("{} {how}", planned.target));
        }
        (None, _) if parts.sidecar.is_some() => {
            rows.unsupported(Demand::Sidecar, "not delivered: see the warnings");
        }
        (None, _) => {}
    }
    mount_rows(&mut rows, mount);
    if limits.wall_seconds.is_some() {
        rows.enforced(Demand::WallSeconds, "the runner ends the run");
    }
    match (limits.idle_seconds, flags.prompt.is_some()) {
        (Some(_), true) => rows.enforced(Demand::IdleSeconds, "the runner ends a silent run"),
        (Some(_), false) => {
            rows.unsupported(
                Demand::IdleSeconds,
                "a person at a terminal may be silent as long as they like",
            );
        }
        (None, _) => {}
    }
    let object = &parts.resolved.object;
    let demands = [
        (Demand::MonthlyBudget, object.contains_key("monthlyBudgetUsd")),
        (Demand::WorkspaceManifest, object.contains_key("workspace_manifest")),
    ];
    rows.unsupported_if_set(demands, "not enforced by this runner yet");
    if flags.ignore_unsupported {
        let ignored = rows.enforcement.iter().filter(|row| row.field.is_planned_restriction());
        warnings.extend(ignored.map(|row| {
            let text = format!("`{}` of the persona is ignored (`--ignore-unsupported`)", row.field);
            Warning::new(WarningCode::NotEnforced, text)
        }));
    }
    let says = |key: &str| object.get("mount").is_some_and(|policy| policy.get(key).is_some());
    let demands = [(Demand::MountEnabled, says("enabled")), (Demand::MountRoots, says("roots"))];
    rows.unsupported_if_set(demands, "not supported by this runner");
    let channel = adapter(parts.selection.harness.value).sidecar;
    if let Some(text) = only_for_others(parts.resolved, parts.selection, channel) {
        let unread = match channel.other() {
            Channel::ClaudeMd => Demand::ClaudeMd,
            Channel::AgentsMd => Demand::AgentsMd,
        };
        rows.unsupported(unread, text.clone());
        warnings.push(Warning::new(WarningCode::NotUsed, text));
    }
    if let Err(error) = PathRules::compile(&mount.rules) {
        let rule = &mount.rules[error.index];
        let text = format!("{}: pattern `{}` is left out: {}", rule.origin, rule.pattern, error.message);
        warnings.push(Warning::new(WarningCode::InvalidFile, text));
        rows.unsupported(Demand::Mount, format!("pattern `{}` cannot be used", rule.pattern));
    }
    let mut all = rows.enforcement;
    all.append(&mut adapted.enforcement);
    all
}

/// The persona's variables, and what of them, of its servers and of its skills this run goes without; the warnings say why.
pub fn supply_rows(
    parts: &RunParts,
    env: &BTreeMap<String, String>,
    mcp_servers: &BTreeMap<String, McpServer>,
    missing_skills: &[String],
) -> Vec<Enforcement> {
    let persona = &parts.resolved.persona;
    let mut rows = HarnessPlan::default();
    if !env.is_empty() {
        rows.enforced(Demand::Env, "set in the harness's environment");
    }
    for id in missing_skills {
        rows.unsupported(Demand::Skill(id.clone()), "not found: see the warnings");
    }
    for name in persona.env.keys().filter(|name| !env.contains_key(*name)) {
        rows.unsupported(Demand::Variable(name.clone()), "left out: see the warnings");
    }
    for name in persona.mcp_servers.keys().filter(|name| !mcp_servers.contains_key(*name)) {
        rows.unsupported(Demand::McpServer(name.clone()), "left out: see the warnings");
    }
    rows.enforcement
}

/// What a run may use up. The kernel holds processes and memory where there is a control group for the run; the disk is
/// measured.
pub fn resource_rows(mount: &MountSpec, limits: Limits, found: &LimitObstacles) -> Vec<Enforcement> {
    let mut rows = HarnessPlan::default();
    if limits.processes.is_some() {
        match in_control_group(mount, found.processes.as_ref()) {
            Ok(how) => rows.enforced(Demand::Processes, how),
            Err(why) => rows.advisory(Demand::Processes, why),
        }
    }
    if limits.memory_mb.is_some() {
        match in_control_group(mount, found.memory.as_ref()) {
            Ok(how) => rows.enforced(Demand::MemoryMb, how),
            Err(why) => rows.advisory(Demand::MemoryMb, why),
        }
    }
    if limits.disk_mb.is_some() {
        match mount.backend {
            Backend::Auto | Backend::Overlay => {
                let how = "the overlay is measured every 2 seconds, and the run ended";
                rows.enforced(Demand::DiskMb, format!("{how}{}", or_a_copy(mount)));
            }
            Backend::Copy => rows.advisory(Demand::DiskMb, "only an overlay is measured"),
            Backend::None => rows.advisory(Demand::DiskMb, "there is no mount that could be measured"),
        }
    }
    rows.enforcement
}

/// How a control group holds a limit, or why none does.
fn in_control_group(mount: &MountSpec, obstacle: Option<&String>) -> Result<String, String> {
    match (obstacle, mount.backend) {
        (Some(why), _) => Err(why.clone()),
        (None, Backend::Copy | Backend::None) => {
            Err("the run has a control group, and without an overlay it can leave it".to_owned())
        }
        (None, Backend::Auto | Backend::Overlay) => {
            Ok(format!("the run has a control group and cannot leave it{}", or_a_copy(mount)))
        }
    }
}

/// A level that must be reached is refused otherwise; without one a run makes do with a copy.
fn or_a_copy(mount: &MountSpec) -> &'static str {
    match mount.sandbox {
        Some(Sandbox::Project | Sandbox::Strict) => "",
        _ => "; a run that gets less warns, and with `--strict` is refused",
    }
}

/// A socket leads to a service outside that runs the commands it receives. The sandbox level `strict` covers them.
pub fn socket_rows(mount: &MountSpec, facts: Option<&MountFacts>) -> Vec<Enforcement> {
    let mut rows = HarnessPlan::default();
    let has_overlay = matches!(mount.backend, Backend::Auto | Backend::Overlay);
    if mount.sandbox != Some(Sandbox::Strict) || !has_overlay {
        return Vec::new();
    }
    let what = "sockets of services that run at the start are covered, later ones in new places are not";
    if facts.is_none_or(|facts| facts.host.scoped_sockets) {
        rows.enforced(Demand::MountSockets, format!("{what}; the network is not"));
    } else {
        let missing =
            "those without a path can be reached: this kernel cannot keep them out (Linux 6.12 can)";
        rows.advisory(Demand::MountSockets, format!("{what}; {missing}"));
    }
    rows.enforcement
}

/// The repository's own files that the run sees. What goes into the harness's configuration is in the adapter's rows.
pub fn inherit_rows(facts: &RunFacts, mount: &MountSpec, unread: Option<&str>) -> Vec<Enforcement> {
    let mut rows = HarnessPlan::default();
    let how = match (mount.backend, &facts.persona_ref) {
        (Backend::None, _) => "the harness works in the real directory, with all that is in it",
        (_, Some(_)) => "the files of the commit, in the mount; changes are never applied",
        (_, None) => "the repository's own files, in the mount; changes are never applied",
    };
    let demands = [
        (Demand::InheritInstructions, facts.inherit.has(Inherit::Instructions)),
        (Demand::InheritCommands, facts.inherit.has(Inherit::Commands)),
        (Demand::InheritSkills, facts.inherit.has(Inherit::Skills)),
    ];
    if let Some(why) = unread {
        rows.unsupported_if_set(demands, &format!("in the mount, and {why}"));
        return rows.enforcement;
    }
    if facts.inherit.has(Inherit::Instructions) {
        rows.enforced(Demand::InheritInstructions, how);
    }
    if facts.inherit.has(Inherit::Commands) {
        rows.enforced(Demand::InheritCommands, how);
    }
    if facts.inherit.has(Inherit::Skills) {
        rows.enforced(Demand::InheritSkills, how);
    }
    rows.enforcement
}

pub fn mount_rows(rows: &mut HarnessPlan, mount: &MountSpec) {
    if let Some(level) = mount.sandbox.filter(|level| *level > Sandbox::Off) {
        match mount.backend {
            Backend::Auto | Backend::Overlay => {
                rows.enforced(Demand::MountSandbox, "the run is refused unless it is reached");
            }
            Backend::Copy | Backend::None => {
                rows.unsupported(Demand::MountSandbox, format!("`{}` needs the overlay", level.name()));
            }
        }
    }
    layer_row(rows, mount);
    let demanded = |effect: Effect| mount.rules.iter().any(|rule| rule.effect == effect);
    match mount.backend {
        Backend::None => {
            rows.unsupported(
                Demand::MountHidden,
                "there is no mount: the harness works in the real directory",
            );
            if demanded(Effect::Readonly) {
                rows.unsupported(
                    Demand::MountReadonly,
                    "there is no mount: the harness works in the real directory",
                );
            }
        }
        Backend::Copy => {
            rows.advisory(
                Demand::MountHidden,
                "not in the copy; the real project can be reached by its absolute path",
            );
            if demanded(Effect::Readonly) {
                rows.enforced(Demand::MountReadonly, "changes are reported and never applied");
            }
        }
        Backend::Auto | Backend::Overlay => {
            let how = "hidden files cannot be opened from inside (overlay); git objects can";
            rows.enforced(Demand::MountHidden, format!("{how}{}", or_a_copy(mount)));
            if demanded(Effect::Readonly) {
                rows.enforced(Demand::MountReadonly, "changes are reported and never applied");
            }
        }
    }
}

/// Whether the run may change what decides about later runs.
fn layer_row(rows: &mut HarnessPlan, mount: &MountSpec) {
    let what = "personas, roles and rule files of the project";
    match (mount.backend, mount.layer_changes) {
        (Backend::None, LayerChanges::Protected) => {
            rows.unsupported(
                Demand::MountLayers,
                format!("{what} can be changed: the harness works in the real directory"),
            );
        }
        (Backend::None, LayerChanges::Reviewed | LayerChanges::Allowed) => {}
        (_, LayerChanges::Protected) => {
            rows.enforced(
                Demand::MountLayers,
                format!("changes to {what} are reported and never applied, at every level"),
            );
        }
        (_, LayerChanges::Reviewed) => {
            rows.enforced(
                Demand::MountLayers,
                format!(
                    "changes to {what} are marked, and applied only by a person (`mount.allowLayerChanges`)"
                ),
            );
        }
        (_, LayerChanges::Allowed) => {
            rows.enforced(
                Demand::MountLayers,
                format!("changes to {what} are marked and applied (`--allow-layer-changes`)"),
            );
        }
    }
}
