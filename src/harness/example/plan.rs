//! A run in the example's terms: a few flags, and a row for everything that it cannot do.

use crate::harness::job::{HarnessPlan, Job, SYSTEM_PROMPT};
use crate::model::demand::Demand;
use crate::model::inherit::Inherit;
use crate::model::plan::{Conversation, Mode};
use crate::model::template::Template;

pub fn plan(job: &Job) -> HarnessPlan {
    let mut plan = HarnessPlan::default();
    if job.mode == Mode::Headless {
        plan.arg("--json");
    }
    if let Some(model) = job.model {
        plan.value("--model", model);
        plan.enforced(Demand::Model, "--model");
    }
    if !job.system_prompt.is_empty() {
        plan.system_prompt_file(job);
        plan.option_at("--prompt-file", Template::session(SYSTEM_PROMPT));
    }
    match job.resume {
        Some(Conversation::Id(id)) => plan.value("--resume", id),
        Some(Conversation::Latest) => plan.arg("--resume-last"),
        None => {}
    }
    plan.state = job.home.iter().map(|home| home.join(".example")).collect();
    let (permissions, limits) = (job.permissions, job.limits);
    let demands = [
        (Demand::Reasoning, job.settings.reasoning.is_some()),
        (Demand::McpServers, !job.mcp_servers.is_empty()),
        (Demand::InheritMcp, job.inherit.has(Inherit::Mcp)),
        (Demand::InheritHooks, job.inherit.has(Inherit::Hooks)),
        (Demand::Skills, job.has_skills),
        (Demand::Allow, permissions.allow.is_some()),
        (Demand::Deny, !permissions.deny.is_empty()),
        (Demand::PermissionMode, permissions.mode.is_some()),
        (Demand::Turns, limits.turns.is_some()),
        (Demand::Usd, limits.usd.is_some()),
        (Demand::Hermetic, job.hermetic),
        (Demand::BareMode, job.bare),
    ];
    plan.unsupported_if_set(demands, "the example cannot do this");
    plan.codex_settings(job);
    plan
}
