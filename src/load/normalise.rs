//! Rewrites legacy and short spellings into the one form that merging understands, and notes each of them.
//! Works on a copy in memory; files are never changed by reading them.

use crate::model::deprecations::deprecation;
use crate::model::formats::{PERSONA, ROLE};
use crate::model::shape::{Field, KeyPath, Object, Problem, Severity, Shape, TextRule, field};
use serde_json::{Map, Value};

/// The persona object in its normal form, with a note for each legacy spelling.
pub fn persona(mut object: Object) -> (Object, Vec<Problem>) {
    let mut notes = Vec::new();
    drop_unset(&mut object, PERSONA);
    drop_inner_nulls(&mut object);
    rename(&mut object, "hermeticHarness", "hermetic", "hermetic-harness", &mut notes);
    move_budget(&mut object, &mut notes);
    if words_to_expertise(&mut object) {
        notes.push(note("string-skills", "skills"));
    }
    if let Some(Value::String(text)) = object.get("expertise") {
        let words = words(text);
        object.insert("expertise".into(), words);
    }
    if let Some(Value::String(name)) = object.get_mut("name") {
        *name = name.trim().to_owned();
    }
    if let Some(Value::Object(inputs)) = object.get_mut("inputs") {
        for value in inputs.values_mut() {
            if let Value::String(default) = value {
                *value = Value::Object(Map::from_iter([(
                    "default".into(),
                    Value::String(std::mem::take(default)),
                )]));
            }
        }
    }
    (object, notes)
}

/// The role object in its normal form.
pub fn role(mut object: Object) -> Object {
    drop_unset(&mut object, ROLE);
    object
}

/// Removes what counts as unset: null outside maps, and blank text settings.
pub fn drop_unset(object: &mut Object, fields: &[Field]) {
    let unset =
        |field: &Field, value: &Value| value.is_null() || (blank_is_unset(field.shape) && is_blank(value));
    let mut has_unset = false;
    for (key, value) in object.iter_mut() {
        let Some(field) = field(fields, key) else { continue };
        match (field.shape, &mut *value) {
            (Shape::Object(inner), Value::Object(nested)) => drop_unset(nested, inner),
            _ => has_unset |= unset(field, value),
        }
    }
    if has_unset {
        object.retain(|key, value| field(fields, key).is_none_or(|field| !unset(field, value)));
    }
}

/// Inside the entries of maps and lists null means unset too; as an entry it removes an inherited one.
fn drop_inner_nulls(object: &mut Object) {
    fn drop_nulls(value: &mut Value) {
        if let Value::Object(inner) = value {
            inner.retain(|_, value| !value.is_null());
            inner.values_mut().for_each(drop_nulls);
        }
    }
    for key in ["inputs", "mcpServers", "skills"] {
        match object.get_mut(key) {
            Some(Value::Object(entries)) => entries.values_mut().for_each(drop_nulls),
            Some(Value::Array(entries)) => entries.iter_mut().for_each(drop_nulls),
            _ => {}
        }
    }
}

fn blank_is_unset(shape: Shape) -> bool {
    // An empty emoji is a statement: it clears an inherited one.
    matches!(shape, Shape::Text | Shape::Checked(TextRule::DisplayName | TextRule::Harness | TextRule::Value))
}

fn is_blank(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.trim().is_empty())
}

fn words(text: &str) -> Value {
    text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(Value::from).collect()
}

fn note(id: &str, key: &str) -> Problem {
    let entry = deprecation(id);
    let text = format!("{} is a legacy spelling [{id}], read until {} at least", entry.what, entry.target);
    Problem::new(Severity::Note, KeyPath::default().key(key), text).fix(format!("use {}", entry.instead))
}

fn rename(object: &mut Object, old: &str, new: &str, id: &str, notes: &mut Vec<Problem>) {
    if let Some(value) = object.shift_remove(old) {
        object.entry(new).or_insert(value);
        notes.push(note(id, old));
    }
}

fn move_budget(object: &mut Object, notes: &mut Vec<Problem>) {
    if let Some(budget) = object.shift_remove("maxBudgetUsd") {
        notes.push(note("max-budget-usd", "maxBudgetUsd"));
        let limits = object.entry("limits").or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(limits) = limits {
            limits.entry("usd").or_insert(budget);
        }
    }
}

/// Plain words among the skills are expertise; an explicit `expertise`, even an empty one, beats them.
/// Returns whether there were any.
pub fn words_to_expertise(object: &mut Object) -> bool {
    let Some(Value::Array(skills)) = object.get_mut("skills") else { return false };
    let before = skills.len();
    let is_word = |skill: &Value| skill.is_string();
    let words: Vec<Value> = skills.iter().filter(|skill| is_word(skill)).cloned().collect();
    skills.retain(|skill| !is_word(skill));
    if skills.is_empty() && before > 0 {
        object.shift_remove("skills");
    }
    if words.is_empty() {
        return false;
    }
    object.entry("expertise").or_insert(Value::Array(words));
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    fn normal(value: Value) -> Value {
        let Value::Object(object) = value else { panic!("an object") };
        Value::Object(persona(object).0)
    }

    #[test]
    fn word_skills_become_expertise_and_an_empty_expertise_beats_them() {
        assert_eq!(
            normal(json!({"id": "a", "skills": ["x", "y"]})),
            json!({"id": "a", "expertise": ["x", "y"]})
        );
        assert_eq!(normal(json!({"skills": ["x"], "expertise": []})), json!({"expertise": []}));
        assert_eq!(
            normal(json!({"skills": ["x", {"source": "s"}]})),
            json!({"skills": [{"source": "s"}], "expertise": ["x"]})
        );
    }

    #[test]
    fn blank_and_null_settings_are_not_said_but_an_empty_emoji_is() {
        let file = json!({"id": "a", "model": "", "role": null, "emoji": "", "tiers": {"best": {"model": " "}},
            "env": {"K": null}, "harness": ""});
        assert_eq!(normal(file), json!({"id": "a", "emoji": "", "tiers": {"best": {}}, "env": {"K": null}}));
    }

    #[test]
    fn short_forms_become_long_ones() {
        assert_eq!(
            normal(
                json!({"expertise": "a, b,,c ", "inputs": {"X": "v"}, "maxBudgetUsd": 2, "hermeticHarness": true})
            ),
            json!({"expertise": ["a", "b", "c"], "inputs": {"X": {"default": "v"}}, "limits": {"usd": 2}, "hermetic": true})
        );
    }
}
