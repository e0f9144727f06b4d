//! What only the comment of an earlier export has: in a file from somebody else it is easily overlooked, in one's own it is known.

use crate::model::shape::Object;
use crate::model::warning::{Warning, WarningCode};
use crate::pack::powers;
use serde_json::{Map, Value};

/// A warning that names the fields that are worth reading before a run: new powers, and instructions that the file does not show.
/// `known`: the persona of this id that the user has already.
pub fn warning(persona: &Object, only_in_comment: &[String], known: Option<&Object>) -> Option<Warning> {
    let is_known = |field: &str| known.is_some_and(|known| known.get(field) == persona.get(field));
    let notable: Vec<&str> = only_in_comment
        .iter()
        .map(String::as_str)
        .filter(|field| !is_known(field))
        .filter(|field| persona.get(*field).is_some_and(|value| matters(field, value)))
        .collect();
    let names = notable.join(", ");
    let text = format!("the comment of an earlier export adds {names}: read them before you run it");
    (!notable.is_empty()).then(|| Warning::new(WarningCode::Conversion, text))
}

fn matters(field: &str, value: &Value) -> bool {
    let alone: Object = Map::from_iter([(field.to_owned(), value.clone())]);
    !powers::of_persona(&alone).is_empty() || has_instructions(field, value)
}

fn has_instructions(field: &str, value: &Value) -> bool {
    match value {
        Value::Object(inner) => inner.iter().any(|(key, value)| has_instructions(key, value)),
        Value::String(text) => {
            matches!(field, "systemPrompt" | "claudeMdContent" | "agentsMdContent") && !text.is_empty()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_known_describes_or_limits_is_no_reason_to_warn() {
        let Value::Object(persona) = json!({
            "emoji": "x", "tags": ["t"], "mount": {"ignoredPatterns": ["a"]}, "inherit": ["mcp"],
            "tiers": {"best": {"model": "opus"}}, "claudeMdContent": "Do.",
        }) else {
            panic!("an object")
        };
        let all: Vec<String> = persona.keys().cloned().collect();
        let names = |known: Option<&Object>| warning(&persona, &all, known).map(|warning| warning.message);
        let message = names(None).expect("a warning");
        assert!(message.contains("adds inherit, claudeMdContent:"), "{message}");
        assert_eq!(names(Some(&persona)), None);
    }
}
