//! Merges what the layers say about a role. Reading a charter file is left to the caller.

use super::merge::Layered;
use crate::model::formats::ROLE;
use crate::model::role::{Charter, Role, RoleDoc};
use serde_json::Value;

/// The role of a persona: from a role file, or just a label.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RolePart {
    /// The key, if there is a role file.
    pub key: Option<String>,
    pub label: Option<String>,
    pub charter: Option<String>,
    pub charter_origin: Option<String>,
}

/// The role of these files, lowest first; `None` without any. A label is required on the whole.
pub fn resolve(key: &str, docs: &[RoleDoc], builtin: bool) -> Option<Result<Role, String>> {
    let highest = docs.last()?;
    let merged = docs
        .iter()
        .fold(Layered::default(), |low, doc| {
            low.under(&Layered::from_file(&doc.object, &doc.source, ROLE), ROLE)
        })
        .finished(ROLE);
    let text = |key: &str| merged.object.get(key).and_then(Value::as_str).map(str::to_owned);
    let source = |key: &str| merged.origins.get(key).and_then(|sources| sources.last()).cloned();
    let Some(label) = text("label") else {
        return Some(Err(format!("role `{key}` has no `label`: {}", highest.source.describe())));
    };
    let charter =
        match (text("charter").zip(source("charter")), text("charterFile").zip(source("charterFile"))) {
            (Some((text, source)), _) => Some(Charter::Text { text, source }),
            (None, Some((path, source))) => Some(Charter::File { path, source }),
            (None, None) => None,
        };
    Some(Ok(Role {
        key: key.to_owned(),
        label: label.trim().to_owned(),
        charter,
        default_harness: text("defaultHarness"),
        default_model: text("defaultModel"),
        builtin,
        source: highest.source.clone(),
    }))
}
