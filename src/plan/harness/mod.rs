//! One adapter a harness: how it is told what the persona says. A new harness is one more file and one more arm here.

use super::job::{HarnessPlan, Job};
use crate::model::plan::{FileBody, PlannedFile};
use crate::model::template::Template;
use crate::model::tier::Harness;

mod claude;
mod codex;
mod opencode;

pub fn plan(harness: Harness, job: &Job) -> HarnessPlan {
    match harness {
        Harness::Claude => claude::plan(job),
        Harness::Opencode => opencode::plan(job),
        Harness::Codex => codex::plan(job),
    }
}

const SYSTEM_PROMPT: &str = "system-prompt.md";

/// The system prompt as a file of the session: large prompts do not fit on a command line.
fn system_prompt_file(job: &Job) -> PlannedFile {
    PlannedFile {
        path: Template::session(SYSTEM_PROMPT),
        purpose: "system prompt".into(),
        body: FileBody::Content(Template::text(job.system_prompt)),
    }
}

fn session_file(path: &str, purpose: &str, content: Template) -> PlannedFile {
    PlannedFile { path: Template::session(path), purpose: purpose.into(), body: FileBody::Content(content) }
}

/// What a persona says to codex alone, on a harness that is not codex.
fn settings_of_codex(plan: &mut HarnessPlan, job: &Job) {
    let settings = job.settings;
    let said = [
        ("sandboxMode", settings.sandbox_mode.is_some()),
        ("approvalPolicy", settings.approval_policy.is_some()),
        ("workspaceWriteNetworkAccess", settings.workspace_write_network_access.is_some()),
        ("webSearch", settings.web_search.is_some()),
        ("dangerouslyBypassApprovalsAndSandbox", settings.dangerously_bypass_approvals_and_sandbox.is_some()),
    ];
    for (key, _) in said.into_iter().filter(|(_, said)| *said) {
        plan.unsupported(&format!("harnessSettings.{key}"), "a setting of codex");
    }
}
