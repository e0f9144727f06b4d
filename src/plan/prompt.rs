//! The system prompt of a persona: identity, charter and job. Reads nothing; the texts are handed in.

use super::parts::RunParts;
use crate::resolve::prompt::{Identity, compose};
use crate::resolve::references::fill_inputs;
use crate::resolve::sidecar::{Sidecar, SidecarText};
use std::collections::BTreeMap;

/// The system prompt by itself, as `show --prompt` prints it.
pub fn system_prompt(parts: &RunParts, values: &BTreeMap<String, String>) -> String {
    // Inputs come last: what a value contains is never replaced again.
    let harness = parts.selection.harness.value.name();
    let job = fill_inputs(&authored_prompt(parts).replace("<harness>", harness), values);
    around_job(parts, &job)
}

/// What stands in front of the job in a prompt that has one.
pub fn before_job(parts: &RunParts) -> String {
    let mut prompt = around_job(parts, "x");
    prompt.pop();
    prompt
}

fn around_job(parts: &RunParts, job: &str) -> String {
    let persona = &parts.resolved.persona;
    let role = parts.role.as_ref();
    let identity = Identity {
        id: parts.resolved.id(),
        name: persona.name.as_deref(),
        emoji: persona.emoji.as_deref().filter(|emoji| !emoji.is_empty()),
        label: role.and_then(|role| role.label.as_deref()),
        expertise: &persona.expertise,
    };
    let charter = role.and_then(|role| role.charter.as_deref());
    compose(&identity, charter, job)
}

/// The prompt as somebody wrote it: the tier's, else the top level's, else what a pack inlined for this harness.
fn authored_prompt(parts: &RunParts) -> String {
    let top = &parts.resolved.persona.runtime;
    let said = parts.selection.own.system_prompt.as_ref().or(top.system_prompt.as_ref());
    match (said, &parts.sidecar) {
        (Some(prompt), _) => prompt.clone(),
        (None, Some((Sidecar { text: SidecarText::Pack(text), .. }, _))) => text.clone(),
        (None, _) => String::new(),
    }
}
