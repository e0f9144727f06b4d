//! goose's recipes: YAML or JSON with instructions, a first prompt, parameters and extensions.

use super::draft::Draft;
use super::format::{Format, Source};
use super::persona_builder::PersonaBuilder;
use super::servers::ConvertedServer;
use super::yaml::{self, Keys, Yaml};
use super::{frontmatter, jsonc, names, servers, text as texts, values};
use crate::model::shape::Object;
use crate::model::warning::{Warning, WarningCode};
use serde_json::{Map, Value};
use std::collections::HashMap;

pub fn convert(source: &Source) -> Result<Draft, String> {
    let (recipe, mut warnings) = parse(source.text)?;
    let repeated = recipe.repeated_in(&texts::normalised(source.text), &mut warnings);
    let mut builder = PersonaBuilder::new(Format::Goose, recipe.values).written(recipe.written);
    builder.add_warnings(warnings);
    builder.repeated(&repeated);
    let key = if builder.has("title") { "title" } else { "name" };
    builder.name(key, source.stem());
    builder.description("description");
    let inputs = parameters(&mut builder);
    extensions(&mut builder);
    prompt(&mut builder, &inputs)?;
    Ok(builder.finish())
}

/// The recipe in a YAML or JSON text, with warnings. Some recipes are nested in a key `recipe`.
pub fn parse(text: &str) -> Result<(Keys, Vec<Warning>), String> {
    let text = texts::normalised(text);
    let mut warnings = Vec::new();
    let invalid = |text: &str| Warning::new(WarningCode::InvalidFile, text);
    let text = match first_document(&text) {
        Some(first) => {
            warnings.push(invalid("it has several YAML documents; only the first was read"));
            first
        }
        None => text,
    };
    let mut keys = if jsonc::is_object(&text) {
        let value = jsonc::parse(&text)?;
        Yaml { written: value.clone(), value, repeats: false }
            .keys()
            .ok_or("is not a recipe: it has no keys")?
    } else {
        match yaml::parse(&text) {
            Ok(parsed) => parsed.keys().ok_or("is not a recipe: it has no keys")?,
            Err(why) => {
                // `prompt: {{ task }}` is common, but not valid YAML.
                let keys = frontmatter::key_by_key(&text);
                if !keys.values.contains_key("instructions") && !keys.values.contains_key("prompt") {
                    return Err(format!("is not valid YAML: {why}"));
                }
                warnings.push(invalid(&format!("it is not valid YAML ({why}); it was read key by key")));
                keys
            }
        }
    };
    unwrap(&mut keys.values);
    unwrap(&mut keys.written);
    Ok((keys, warnings))
}

/// The first of several YAML documents.
fn first_document(text: &str) -> Option<String> {
    let mut documents = vec![String::new()];
    for line in text.lines() {
        match documents.last_mut() {
            Some(last) if line.trim_end() != "---" => last.push_str(&format!("{line}\n")),
            _ => documents.push(String::new()),
        }
    }
    documents.retain(|document| !document.trim().is_empty());
    (documents.len() > 1).then(|| documents.swap_remove(0))
}

/// Moves a nested recipe to the top level, beside the other keys.
fn unwrap(object: &mut Object) {
    if object.contains_key("instructions") || object.contains_key("prompt") {
        return;
    }
    if object.get("recipe").is_some_and(Value::is_object)
        && let Some(Value::Object(inner)) = object.shift_remove("recipe")
    {
        object.extend(inner);
    }
}

/// Converts parameters to inputs. Returns the names of both.
fn parameters(builder: &mut PersonaBuilder) -> Vec<(String, String)> {
    let Some(Value::Array(entries)) = builder.get("parameters") else { return Vec::new() };
    let written = builder.as_written("parameters").unwrap_or_default();
    let mut inputs = Map::new();
    let mut names = Vec::new();
    let mut taken = HashMap::new();
    for (index, entry) in entries.iter().enumerate() {
        let field = format!("parameters[{index}]");
        let text = |key: &str| written.get(index).and_then(|entry| values::text(entry.get(key)?));
        let Some(key) = text("key").filter(|key| !key.trim().is_empty()) else {
            builder.keep(&field, entry.clone());
            continue;
        };
        let name = free_name(&names::input(&key, "RECIPE"), &inputs, &mut taken);
        let mut input = Map::new();
        if let Some(description) = text("description") {
            input.insert("description".into(), Value::String(description.trim().to_owned()));
        }
        match text("default") {
            Some(default) if !default.is_empty() => {
                input.insert("default".into(), Value::String(default));
            }
            Some(_) => {
                input.insert("optional".into(), Value::Bool(true));
            }
            None if text("requirement").as_deref() == Some("optional") => {
                input.insert("optional".into(), Value::Bool(true));
            }
            None => {}
        }
        builder.mapped(&field, &format!("inputs.{name}"));
        let known = ["key", "description", "default", "requirement"];
        if let Value::Object(entry) = entry {
            let left: Object = entry
                .iter()
                .filter(|(key, _)| !known.contains(&key.as_str()))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            if left.iter().any(|(key, value)| key != "input_type" || value != "string") {
                builder.keep(&field, Value::Object(left));
            } else if !left.is_empty() {
                builder.mapped(&format!("{field}.input_type"), "inputs are text");
            }
        }
        inputs.insert(name.clone(), Value::Object(input));
        names.push((key, name));
    }
    if !inputs.is_empty() {
        builder.set("inputs", Value::Object(inputs));
        builder.mapped("parameters", "inputs");
    }
    names
}

/// The name, with a number where another parameter has it. `taken` has the last number of each name.
fn free_name(name: &str, inputs: &Object, taken: &mut HashMap<String, usize>) -> String {
    let mut free = name.to_owned();
    while inputs.contains_key(&free) {
        let number = taken.entry(name.to_owned()).or_insert(1);
        *number += 1;
        free = format!("{name}_{number}");
    }
    free
}

fn extensions(builder: &mut PersonaBuilder) {
    let Some(Value::Array(entries)) = builder.get("extensions") else { return };
    let written = builder.as_written("extensions").unwrap_or_default();
    let mut found = Map::new();
    let mut denied = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let field = format!("extensions[{index}]");
        let as_written = written.get(index).unwrap_or(entry);
        let name = as_written.get("name").and_then(values::text).unwrap_or_default();
        let kind = entry.get("type").and_then(Value::as_str).unwrap_or_default();
        match servers::convert_one(entry, as_written) {
            Ok(ConvertedServer { server, left, lost, inputs, limits }) if !name.trim().is_empty() => {
                servers::declare(builder, &name, &inputs);
                denied.extend(servers::limit(builder, &name, &limits));
                builder.mapped(&field, &format!("mcpServers.{name}"));
                if !left.is_empty() {
                    builder.keep(&field, Value::Object(left));
                }
                for (part, why) in lost {
                    builder.dropped(&format!("{field}.{part}"), why);
                }
                found.insert(name, Value::Object(server));
            }
            _ if matches!(kind, "builtin" | "platform") => {
                builder.dropped(&field, format!("`{name}` is a part of goose; a harness has its own tools"));
            }
            _ => builder.keep(&field, entry.clone()),
        }
    }
    builder.add(["permissions", "deny"], denied);
    if found.is_empty() {
        builder.dropped("extensions", "no MCP server among them");
    } else {
        builder.set("mcpServers", Value::Object(found));
        builder.mapped("extensions", "mcpServers");
    }
}

fn prompt(builder: &mut PersonaBuilder, inputs: &[(String, String)]) -> Result<(), String> {
    let mut texts = Vec::new();
    for key in ["instructions", "prompt"] {
        if let Some(text) = builder.text(key) {
            let (text, filters) = replace_parameters(&text, inputs);
            texts.push(text.trim_matches('\n').to_owned());
            for (name, filter) in filters {
                convert_filter(builder, &name, &filter);
            }
            builder.mapped(key, "systemPrompt");
        }
    }
    let prompt = texts.join("\n\n");
    if prompt.contains("{%") {
        builder.warn("the prompt has conditions in `{% ... %}`, which are not evaluated: rewrite them");
    }
    if prompt.contains("{{") {
        builder.warn("the prompt has a value in `{{ ... }}` that is not a parameter; it was left in");
    }
    builder.prompt(&prompt)
}

/// Converts a filter: a default becomes the input's default; others are dropped.
fn convert_filter(builder: &mut PersonaBuilder, name: &str, filter: &str) {
    let default = filter.strip_prefix("default").map(str::trim).and_then(|rest| {
        let inner = rest.strip_prefix('(')?.strip_suffix(')')?.trim();
        Some(values::unquoted(inner)).filter(|text| text.len() + 2 == inner.len())
    });
    let there = builder.at(&["inputs", name, "default"]).and_then(Value::as_str).map(str::to_owned);
    match (default, there) {
        (Some(default), None) if !default.is_empty() => {
            builder.set(&format!("inputs.{name}.default"), default);
            builder.mapped(&format!("prompt.{name}.default"), &format!("inputs.{name}.default"));
        }
        (Some(default), Some(there)) if default == there => {}
        _ => {
            builder.warn(format!(
                "`{filter}` in the prompt was left out: the input `{name}` is used without it"
            ));
            builder.dropped(&format!("prompt.{name}.{filter}"), "an input has no filters");
        }
    }
}

/// Replaces `{{ key }}` by `${KEY}`. Returns the filters after the keys, with the names of the inputs.
fn replace_parameters(text: &str, inputs: &[(String, String)]) -> (String, Vec<(String, String)>) {
    let mut names = HashMap::new();
    for (key, name) in inputs {
        names.entry(key.trim()).or_insert(name);
    }
    let mut filters = Vec::new();
    let mut pieces = text.split("{{");
    let mut result = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let known = piece.split_once("}}").and_then(|(inner, tail)| {
            let (key, filter) = inner.split_once('|').unwrap_or((inner, ""));
            Some((names.get(key.trim())?, filter.trim(), tail))
        });
        match known {
            Some((name, filter, tail)) => {
                result.push_str(&format!("${{{name}}}{tail}"));
                let filter = ((*name).clone(), filter.to_owned());
                if !filter.1.is_empty() && !filters.contains(&filter) {
                    filters.push(filter);
                }
            }
            None => {
                result.push_str("{{");
                result.push_str(piece);
            }
        }
    }
    (result, filters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_replaced_everywhere() {
        let inputs = [("a".to_owned(), "A".to_owned()), ("b".to_owned(), "B".to_owned())];
        assert_eq!(
            replace_parameters("{{a}} {{ b | x }}{{c}} {{{{ a }} }} {{", &inputs),
            ("${A} ${B}{{c}} {{${A} }} {{".to_owned(), vec![("B".to_owned(), "x".to_owned())])
        );
    }

    /// A recipe of 2 MB may repeat a parameter a hundred thousand times.
    #[test]
    fn many_parameters_of_one_name_take_no_longer_than_as_many_of_others() {
        let recipe = format!(
            "title: t\nprompt: '{}'\nparameters:\n{}",
            "{{a".repeat(50_000),
            "- {key: a}\n".repeat(20_000)
        );
        let source = Source {
            path: "r.yaml",
            below: "r.yaml",
            text: &recipe,
            nearby: &|_| Err(super::super::format::Missing::Absent),
        };
        let began = std::time::Instant::now();
        let draft = convert(&source).expect("a recipe");
        assert!(began.elapsed().as_secs() < 30, "{:?}", began.elapsed());
        let inputs = draft.persona["inputs"].as_object().expect("inputs");
        assert_eq!((inputs.len(), inputs.contains_key("A_20000")), (20_000, true));
    }
}
