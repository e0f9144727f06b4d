//! Rewrites legacy and short spellings into the one form that merging understands, and notes each of them.
//! Works on a copy in memory; files are never changed by reading them.

use crate::model::deprecations::deprecation;
use crate::model::formats::{PERSONA, ROLE};
use crate::model::shape::{Field, KeyPath, Object, Problem, Severity, Shape, TextRule, field};
use serde_json::{Map, Value};

/// The persona object in its normal form, with a note for each legacy spelling.
pub fn persona(mut object: Object) -> (Object, Vec<Problem>) {
    let mut notes = Vec::new();
    notes.extend(empty_prompts(&object, &KeyPath::default()));
    drop_unset(&mut object, PERSONA, Nulls::Remove);
    drop_inner_nulls(&mut object);
    remove_modes_of_removed_sidecars(&mut object);
    rename(&mut object, "hermeticHarness", "hermetic", "hermetic-harness", &mut notes);
    move_budget(&mut object, &mut notes);
    notes.extend(sources_among_words(&object));
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
    drop_unset(&mut object, ROLE, Nulls::Remove);
    object
}

/// A prompt that is there and says nothing is more likely a mistake than a wish.
fn empty_prompts(object: &Object, at: &KeyPath) -> Vec<Problem> {
    let has_content =
        |key: &str| object.get(key).and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty());
    let mut notes = Vec::new();
    if object.get("systemPrompt").is_some_and(is_blank)
        && !has_content("claudeMdContent")
        && !has_content("agentsMdContent")
    {
        let text = "the prompt is empty and is treated as not set";
        notes.push(
            Problem::new(Severity::Warning, at.key("systemPrompt"), text).fix("write one, or remove the key"),
        );
    }
    for (tier, own) in object.get("tiers").and_then(Value::as_object).into_iter().flatten() {
        if let Value::Object(own) = own {
            notes.extend(empty_prompts(own, &at.key("tiers").key(tier)));
        }
    }
    notes
}

/// Texts among the skills are words of expertise; some look as if a skill was meant.
fn sources_among_words(object: &Object) -> Vec<Problem> {
    let Some(Value::Array(skills)) = object.get("skills") else { return Vec::new() };
    let is_source = |text: &str| {
        text.starts_with(['@', '.', '/', '~'])
            || text.contains("://")
            || text.to_ascii_lowercase().ends_with(".md")
    };
    let source = |(index, skill): (usize, &Value)| {
        let text = skill.as_str().filter(|text| is_source(text))?;
        let message = format!("`{text}` is read as a word of expertise, and no skill is provided");
        let at = KeyPath::default().key("skills").index(index);
        let fix = format!("write {{\"source\": {}}}", Value::from(text));
        Some(Problem::new(Severity::Warning, at, message).fix(fix))
    };
    skills.iter().enumerate().filter_map(source).collect()
}

/// What null means where it is not an entry of a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nulls {
    /// Nothing is said.
    Unset,
    /// What lower layers said is removed, where the field allows it: the null stays for the merge.
    Remove,
}

/// Removes what counts as unset: nulls that remove nothing, and blank text settings.
pub fn drop_unset(object: &mut Object, fields: &[Field], nulls: Nulls) {
    let unset = |field: &Field, value: &Value| {
        (value.is_null() && !(nulls == Nulls::Remove && field.is_removed_by_null()))
            || (blank_is_unset(field.shape) && is_blank(value))
    };
    let mut has_unset = false;
    for (key, value) in object.iter_mut() {
        let Some(field) = field(fields, key) else { continue };
        match (field.shape, &mut *value) {
            (Shape::Object(inner), Value::Object(nested)) => {
                drop_unset(nested, inner, if field.keeps_inherited { Nulls::Unset } else { nulls });
            }
            _ => has_unset |= unset(field, value),
        }
    }
    if has_unset {
        object.retain(|key, value| field(fields, key).is_none_or(|field| !unset(field, value)));
    }
}

/// Who removes an inherited sidecar removes its mode, too: a mode without a file is an error.
fn remove_modes_of_removed_sidecars(object: &mut Object) {
    for (path, content, mode) in
        [("claudeMd", "claudeMdContent", "claudeMdMode"), ("agentsMd", "agentsMdContent", "agentsMdMode")]
    {
        let says = |key: &str| object.get(key).map(|value| !value.is_null());
        if matches!((says(path), says(content)), (Some(false), None | Some(false)) | (None, Some(false))) {
            object.entry(mode).or_insert(Value::Null);
        }
    }
    if let Some(Value::Object(tiers)) = object.get_mut("tiers") {
        tiers.values_mut().filter_map(Value::as_object_mut).for_each(remove_modes_of_removed_sidecars);
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
    matches!(
        shape,
        Shape::Text
            | Shape::Checked(TextRule::Line | TextRule::DisplayName | TextRule::Harness | TextRule::Value)
    )
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
    fn blank_settings_are_not_said_but_an_empty_emoji_is() {
        let file = json!({"id": "a", "model": "", "role": " ", "emoji": "", "tiers": {"best": {"model": " "}},
            "env": {"K": null}, "harness": ""});
        assert_eq!(normal(file), json!({"id": "a", "emoji": "", "tiers": {"best": {}}, "env": {"K": null}}));
    }

    #[test]
    fn what_says_nothing_or_looks_like_a_skill_is_mentioned() {
        let warnings = |value: Value| -> Vec<String> {
            let Value::Object(object) = value else { panic!("an object") };
            let (_, notes) = persona(object);
            notes
                .iter()
                .filter(|note| note.severity == Severity::Warning)
                .map(|note| note.at.to_string())
                .collect()
        };
        let file = json!({"skills": ["rust", "@scope/name", {"source": "@scope/name"}, "./a.md", "a/b testing"],
            "systemPrompt": "", "tiers": {"best": {"systemPrompt": " "}, "minimum": {"systemPrompt": "x"}}});
        assert_eq!(warnings(file), ["systemPrompt", "tiers.best.systemPrompt", "skills[1]", "skills[3]"]);
        assert_eq!(warnings(json!({"systemPrompt": "", "agentsMdContent": "x"})), [""; 0]);
    }

    #[test]
    fn a_null_stays_where_it_removes_an_inherited_value() {
        let file = json!({"id": "a", "model": null, "limits": {"usd": null}, "claudeMd": null,
            "tiers": {"best": {"agentsMdContent": null}}});
        assert_eq!(
            normal(file),
            json!({"id": "a", "model": null, "limits": {"usd": null}, "claudeMd": null,
                "tiers": {"best": {"agentsMdContent": null, "agentsMdMode": null}}, "claudeMdMode": null})
        );
        // What protects is only taken back with a word of its own.
        let file = json!({"intent": null, "permissions": {"deny": null, "mode": null}, "mount": null, "tiers": null,
            "env": null});
        assert_eq!(normal(file), json!({"permissions": {}}));
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
