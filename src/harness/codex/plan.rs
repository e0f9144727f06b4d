//! A run in codex's terms: flags, its own sandbox, and what codex cannot do. The profile file is in `profile`.

use super::profile::{self, PROFILE};
use crate::harness::job::{HarnessPlan, Job};
use crate::model::demand::Demand;
use crate::model::inherit::Inherit;
use crate::model::plan::{Conversation, Mode};
use crate::model::template::{Hole, Template};
use crate::model::tool_rule::{ToolRule, denies_all_edits};
use crate::model::warning::WarningCode;
use std::path::{Path, PathBuf};

pub fn plan(job: &Job) -> HarnessPlan {
    let mut plan = HarnessPlan::default();
    if job.mode == Mode::Interactive {
        // The daemon is shared with other sessions: it knows nothing of this run and would outlive it.
        plan.arg("--no-daemon");
    }
    profile::private_home(&mut plan, job);
    plan.option("-p", PROFILE);
    if let Some(model) = job.model {
        let name = model.split_once('/').map_or(model, |(_, name)| name);
        plan.value("--model", name);
        plan.enforced(Demand::Model, "--model");
    }
    if let Some(reasoning) = &job.settings.reasoning {
        plan.option("-c", setting("model_reasoning_effort", reasoning.as_str()));
        plan.enforced(Demand::Reasoning, "model_reasoning_effort");
    }
    sandbox(&mut plan, job);
    trust(&mut plan);
    if job.mounted && !job.hooks.is_empty() {
        // Nobody can review them in codex: they are in a file that is made for this run. `inherit` is the user's word.
        plan.arg("--dangerously-bypass-hook-trust");
    }
    if let Some(search) = job.settings.web_search {
        // `--search` has no effect on `exec`, and by default codex searches cached pages.
        let mode = if search { "live" } else { "disabled" };
        plan.option("-c", setting("web_search", mode));
        plan.enforced(Demand::WebSearch, format!("web_search = {mode}"));
    }
    if job.extras.no_subagents {
        // Some models bring agents along, whatever the features say.
        plan.option("-c", setting("features.multi_agent", false));
        plan.option("-c", setting("agents.enabled", false));
        plan.advisory(Demand::NoSubagents, "features.multi_agent = false, agents.enabled = false");
    }
    if job.mode == Mode::Headless {
        // The approval flag is only accepted before `exec`.
        for arg in ["exec", "--json", "--skip-git-repo-check"] {
            plan.arg(arg);
        }
    }
    match job.resume {
        Some(Conversation::Id(id)) => plan.option("resume", id),
        Some(Conversation::Latest) => plan.option("resume", "--last"),
        None => {}
    }
    if let Some(schema) = plan.schema_file(job) {
        plan.option_at("--output-schema", schema);
        plan.advisory(Demand::OutputSchema, "--output-schema; codex does not check the answer itself");
    }
    if job.mode == Mode::Headless {
        plan.arg("-");
    }
    enforcement(&mut plan, job);
    plan
}

/// codex's own sandbox: the persona's setting, else what its permissions amount to.
fn sandbox(plan: &mut HarnessPlan, job: &Job) {
    let (settings, permissions) = (job.settings, job.permissions);
    if settings.dangerously_bypass_approvals_and_sandbox == Some(true) {
        plan.arg("--dangerously-bypass-approvals-and-sandbox");
        plan.enforced(Demand::BypassApprovalsAndSandbox, "passed on; the mount is the only barrier");
        let demands = [
            (Demand::SandboxMode, settings.sandbox_mode.is_some()),
            (Demand::ApprovalPolicy, settings.approval_policy.is_some()),
            (Demand::NetworkAccess, settings.workspace_write_network_access.is_some()),
            (Demand::Allow, permissions.allow.is_some()),
            (Demand::Deny, !permissions.deny.is_empty()),
            (Demand::PermissionMode, permissions.mode.is_some()),
        ];
        plan.unsupported_if_set(demands, "the persona switches codex's sandbox and approvals off");
        return;
    }
    let mode = permissions.mode.as_deref();
    let no_edits = denies_all_edits(&permissions.deny);
    let sandbox = match settings.sandbox_mode.as_deref() {
        // Deny beats what a setting allows.
        Some(_) | None if no_edits || mode == Some("plan") => "read-only",
        Some(said) => said,
        None if mode == Some("bypassPermissions") => "danger-full-access",
        // A trusted project gets it anyway, but this must not depend on another flag.
        None => "workspace-write",
    };
    plan.option("--sandbox", sandbox);
    plan.has_sandbox = sandbox != "danger-full-access";
    if sandbox == "workspace-write" && job.mounted {
        keep_what_is_above(plan, job);
    }
    if let Some(name) = job.extras.lent_directory.as_deref().filter(|_| sandbox == "workspace-write") {
        let roots = Template::text("sandbox_workspace_write.writable_roots=[\"").then(Hole::Session);
        plan.option_at("-c", roots.then_text(format!("/{name}\"]")));
    }
    if let Some(said) = &settings.sandbox_mode {
        let note = if sandbox == said {
            String::new()
        } else {
            format!(": denied tools and plan mode override `{said}`")
        };
        plan.enforced(Demand::SandboxMode, format!("--sandbox {sandbox}{note}"));
    }
    approval(plan, job, no_edits);
    network(plan, job, sandbox);
    permission_rows(plan, job, sandbox, no_edits);
}

/// Its sandbox makes temporary directories writable. If the project is in one of them, what is above it must not be: a directory that
/// can be renamed in a mount namespace of its own can be moved away from under the mount.
fn keep_what_is_above(plan: &mut HarnessPlan, job: &Job) {
    let is_above = |dir: &str| {
        let kept = [Some(job.root), job.home.map(PathBuf::as_path)];
        kept.into_iter().flatten().any(|path| path.starts_with(dir))
    };
    if is_above("/tmp") {
        plan.option("-c", setting("sandbox_workspace_write.exclude_slash_tmp", true));
    }
    if job.env.get("TMPDIR").is_some_and(|dir| !dir.is_empty() && is_above(dir)) {
        plan.option("-c", setting("sandbox_workspace_write.exclude_tmpdir_env_var", true));
    }
}

/// When codex asks a person to let a command leave the sandbox.
fn approval(plan: &mut HarnessPlan, job: &Job, no_edits: bool) {
    let said = job.settings.approval_policy.as_deref();
    let policy = match said {
        // Nobody can answer in a headless run, and a denied tool must not be one key press away.
        _ if job.mode == Mode::Headless || no_edits => "never",
        Some("never") => "never",
        Some(_) => "on-request",
        None if job.permissions.mode.as_deref() == Some("bypassPermissions") => "never",
        None => return,
    };
    plan.option("-a", policy);
    match said {
        None => {}
        Some("never" | "on-request") => {
            let how = match policy {
                "never" => "-a never: nothing leaves the sandbox",
                _ => "-a on-request: what leaves the sandbox is asked for",
            };
            plan.enforced(Demand::ApprovalPolicy, how);
        }
        Some(said) => {
            let how = format!("codex no longer knows `{said}`; it gets `{policy}`");
            plan.unsupported(Demand::ApprovalPolicy, how);
        }
    }
}

fn network(plan: &mut HarnessPlan, job: &Job, sandbox: &str) {
    let Some(wanted) = job.settings.workspace_write_network_access else { return };
    plan.option("-c", setting("sandbox_workspace_write.network_access", wanted));
    let (has, how) = match sandbox {
        "read-only" => (false, "--sandbox read-only has no network"),
        "danger-full-access" => (true, "--sandbox danger-full-access has the network"),
        _ => (wanted, "sandbox_workspace_write.network_access"),
    };
    if has == wanted {
        plan.enforced(Demand::NetworkAccess, how);
    } else {
        plan.unsupported(Demand::NetworkAccess, how);
    }
}

fn permission_rows(plan: &mut HarnessPlan, job: &Job, sandbox: &str, no_edits: bool) {
    let permissions = job.permissions;
    match (permissions.mode.as_deref(), sandbox) {
        (None, _) => {}
        (Some("plan" | "default"), "read-only") => {
            plan.enforced(Demand::PermissionMode, "--sandbox read-only: nothing is changed unasked");
        }
        (Some("bypassPermissions"), "danger-full-access") => {
            plan.enforced(Demand::PermissionMode, "--sandbox danger-full-access");
        }
        (Some(_), _) => plan.advisory(
            Demand::PermissionMode,
            format!(
                "--sandbox {sandbox}: codex asks by sandbox, not by tool, and runs commands in it unasked"
            ),
        ),
    }
    if !permissions.deny.is_empty() {
        let whole = permissions.deny.iter().all(|entry| {
            let rule = ToolRule::parse(entry);
            rule.edits_files() && rule.argument.is_none()
        });
        if whole && sandbox == "read-only" && (no_edits || job.mode == Mode::Headless) {
            plan.enforced(Demand::Deny, "--sandbox read-only with -a never");
        } else {
            plan.advisory(
                Demand::Deny,
                "codex has no deny patterns; its sandbox and the mount hold the rest",
            );
        }
    }
    if permissions.allow.is_some() {
        plan.advisory(Demand::Allow, "codex allows by sandbox, not by tool");
    }
}

/// Without this codex asks whether to trust the directory; the user's own config is not touched.
fn trust(plan: &mut HarnessPlan) {
    plan.option_at(
        "-c",
        Template::text("projects={\"").then(Hole::Mount).then_text("\"={trust_level=\"trusted\"}}"),
    );
}

fn enforcement(plan: &mut HarnessPlan, job: &Job) {
    let inherits = job.inherit.has(Inherit::Mcp);
    if job.own_servers && job.hermetic {
        plan.enforced(Demand::McpServers, "these servers, in a CODEX_HOME without the user's own");
    } else if job.own_servers && inherits {
        plan.enforced(Demand::McpServers, "these servers, the repository's and the user's own");
    } else if job.own_servers {
        plan.advisory(Demand::McpServers, "these servers are added; servers of the user's own config stay");
    }
    if inherits {
        let users =
            if job.hermetic { "; `hermetic` keeps the user's own out" } else { ", and the user's own" };
        let how = format!("the repository's servers in the profile{users}; {}", job.inherited_tools());
        plan.enforced(Demand::InheritMcp, how);
    }
    if job.inherit.has(Inherit::Hooks) && job.mounted {
        plan.enforced(
            Demand::InheritHooks,
            "hooks of the repository in the profile; codex runs them, and the user's, without a review",
        );
    } else if job.inherit.has(Inherit::Hooks) {
        plan.advisory(Demand::InheritHooks, "codex asks for a review of the hooks in the real directory");
    }
    if job.has_skills && job.mounted {
        let below = Path::new("/").join(job.cwd).join(".agents/skills");
        plan.skills_path = Some(Template(vec![Hole::Mount, Hole::Text(below.display().to_string())]));
        plan.enforced(Demand::Skills, ".agents/skills in the mount, never applied");
    } else if job.has_skills {
        plan.unsupported(
            Demand::Skills,
            "codex finds skills in the project, and without a mount nothing is written there",
        );
        plan.warn(
            WarningCode::Skill,
            "codex gets no skills: there is no mount, and your repository is not touched",
        );
    }
    if job.limits.turns.is_some() {
        plan.unsupported(Demand::Turns, "codex has no turn limit");
    }
    match job.limits.usd {
        Some(0.0) => plan.enforced(Demand::Usd, "a cap of zero: the launch is refused"),
        Some(_) => plan.unsupported(Demand::Usd, "codex has no money cap"),
        None => {}
    }
    if job.bare {
        plan.unsupported(Demand::BareMode, "a mode of claude");
    }
}

/// A `-c` option: codex reads the value as TOML.
fn setting(key: &str, value: impl Into<toml::Value>) -> String {
    format!("{key}={}", value.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_toml_whatever_the_text() {
        assert_eq!(setting("a", true), "a=true");
        for text in ["high", "a\"b\\c\n\u{1}é", "'''", ""] {
            let table: toml::Table = setting("key", text).parse().expect("TOML");
            assert_eq!(table["key"].as_str(), Some(text));
        }
    }
}
