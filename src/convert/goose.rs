//! goose's recipes: YAML or JSON with instructions, a first prompt, parameters and extensions.

use super::account::Account;
use super::servers::Found;
use super::yaml::{self, Keys, Yaml};
use super::{Draft, Format, Source, frontmatter, jsonc, servers, values};
use crate::model::shape::Object;
use crate::model::text_rules::slugged;
use serde_json::{Map, Value};
use std::collections::HashMap;

pub fn convert(source: &Source) -> Result<Draft, String> {
    let (recipe, mut warnings) = parse(source.text)?;
    let repeated = recipe.repeated_in(&frontmatter::plain(source.text), &mut warnings);
    let mut account = Account::new(Format::Goose, recipe.values).written(recipe.written);
    for warning in warnings {
        account.warn(warning);
    }
    account.repeated(&repeated);
    let key = if account.has("title") { "title" } else { "name" };
    account.name(key, source.stem());
    account.description("description");
    let inputs = parameters(&mut account);
    extensions(&mut account);
    prompt(&mut account, &inputs)?;
    Ok(account.finish())
}

/// The recipe in a YAML or JSON text, and what had to be overlooked; some stand one level further in.
pub fn parse(text: &str) -> Result<(Keys, Vec<String>), String> {
    let text = frontmatter::plain(text);
    let mut warnings = Vec::new();
    let text = match first_document(&text) {
        Some(first) => {
            warnings.push("it has several YAML documents; the first one was taken".to_owned());
            first
        }
        None => text,
    };
    let mut keys = if jsonc::is_object(&text) {
        let value = jsonc::parse(&text)?;
        Yaml { written: value.clone(), value, repeats: false }.keys().ok_or("is no recipe: it has no keys")?
    } else {
        match yaml::parse(&text) {
            Ok(parsed) => parsed.keys().ok_or("is no recipe: it has no keys")?,
            Err(why) => {
                // `prompt: {{ task }}` is a usual slip, and no YAML.
                let keys = frontmatter::key_by_key(&text);
                if !keys.values.contains_key("instructions") && !keys.values.contains_key("prompt") {
                    return Err(format!("is not valid YAML: {why}"));
                }
                warnings.push(format!("it is not valid YAML ({why}); it was read key by key"));
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

/// What stands beside a recipe that is one level further in is kept with it.
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

/// Parameters as inputs. Returns the name in the recipe and ours.
fn parameters(account: &mut Account) -> Vec<(String, String)> {
    let Some(Value::Array(entries)) = account.get("parameters") else { return Vec::new() };
    let written = account.as_written("parameters").unwrap_or_default();
    let mut inputs = Map::new();
    let mut names = Vec::new();
    let mut taken = HashMap::new();
    for (index, entry) in entries.iter().enumerate() {
        let field = format!("parameters[{index}]");
        let text = |key: &str| written.get(index).and_then(|entry| values::text(entry.get(key)?));
        let Some(key) = text("key").filter(|key| !key.trim().is_empty()) else {
            account.keep(&field, entry.clone());
            continue;
        };
        let name = free_name(&input_name(&key), &inputs, &mut taken);
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
        account.mapped(&field, &format!("inputs.{name}"));
        let known = ["key", "description", "default", "requirement"];
        if let Value::Object(entry) = entry {
            let left: Object = entry
                .iter()
                .filter(|(key, _)| !known.contains(&key.as_str()))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            if left.iter().any(|(key, value)| key != "input_type" || value != "string") {
                account.keep(&field, Value::Object(left));
            } else if !left.is_empty() {
                account.mapped(&format!("{field}.input_type"), "inputs are text");
            }
        }
        inputs.insert(name.clone(), Value::Object(input));
        names.push((key, name));
    }
    if !inputs.is_empty() {
        account.set("inputs", Value::Object(inputs));
        account.mapped("parameters", "inputs");
    }
    names
}

/// The name, or with a number where another parameter has it. `taken` knows how far the numbers of each have got.
fn free_name(name: &str, inputs: &Object, taken: &mut HashMap<String, usize>) -> String {
    let mut free = name.to_owned();
    while inputs.contains_key(&free) {
        let number = taken.entry(name.to_owned()).or_insert(1);
        *number += 1;
        free = format!("{name}_{number}");
    }
    free
}

/// Variables that programs live by: an input of that name would take them away from the harness.
const VITAL: [&str; 16] = [
    "PATH", "HOME", "USER", "SHELL", "LANG", "PWD", "TERM", "EDITOR", "TMPDIR", "LOGNAME", "HOSTNAME",
    "DISPLAY", "MAIL", "IFS", "BROWSER", "PAGER",
];

/// `pr-number` as `PR_NUMBER`, `path` as `RECIPE_PATH`.
fn input_name(key: &str) -> String {
    let name = slugged(key).replace('-', "_").to_ascii_uppercase();
    match name.chars().next() {
        Some(first) if first.is_ascii_digit() => format!("_{name}"),
        Some(_) if !VITAL.contains(&name.as_str()) && !name.starts_with("LD_") => name,
        _ => format!("RECIPE_{name}"),
    }
}

fn extensions(account: &mut Account) {
    let Some(Value::Array(entries)) = account.get("extensions") else { return };
    let written = account.as_written("extensions").unwrap_or_default();
    let mut found = Map::new();
    for (index, entry) in entries.iter().enumerate() {
        let field = format!("extensions[{index}]");
        let as_written = written.get(index).unwrap_or(entry);
        let name = as_written.get("name").and_then(values::text).unwrap_or_default();
        let kind = entry.get("type").and_then(Value::as_str).unwrap_or_default();
        match servers::one(entry, as_written) {
            Ok(Found { server, left, lost }) if !name.trim().is_empty() => {
                account.mapped(&field, &format!("mcpServers.{name}"));
                if !left.is_empty() {
                    account.keep(&field, Value::Object(left));
                }
                for (part, why) in lost {
                    account.dropped(&format!("{field}.{part}"), why);
                }
                found.insert(name, Value::Object(server));
            }
            _ if matches!(kind, "builtin" | "platform") => {
                account
                    .dropped(&field, format!("`{name}` is a part of goose; a harness brings its own tools"));
            }
            _ => account.keep(&field, entry.clone()),
        }
    }
    if found.is_empty() {
        account.dropped("extensions", "none of them is an MCP server");
    } else {
        account.set("mcpServers", Value::Object(found));
        account.mapped("extensions", "mcpServers");
    }
}

fn prompt(account: &mut Account, inputs: &[(String, String)]) -> Result<(), String> {
    let mut texts = Vec::new();
    for key in ["instructions", "prompt"] {
        if let Some(text) = account.text(key) {
            let (text, filters) = filled(&text, inputs);
            texts.push(text.trim_matches('\n').to_owned());
            for (name, filter) in filters {
                filtered(account, &name, &filter);
            }
            account.mapped(key, "systemPrompt");
        }
    }
    let prompt = texts.join("\n\n");
    if prompt.contains("{%") {
        account.warn("the prompt has conditions in `{% ... %}`, which stay as they are: read them as text, or rewrite them");
    }
    if prompt.contains("{{") {
        account.warn("the prompt names a value in `{{ ... }}` that is no parameter; it stays as it is");
    }
    account.prompt(&prompt)
}

/// What a filter says: a default is the input's, where that has none of its own; nothing else can be said.
fn filtered(account: &mut Account, name: &str, filter: &str) {
    let default = filter.strip_prefix("default").map(str::trim).and_then(|rest| {
        let inner = rest.strip_prefix('(')?.strip_suffix(')')?.trim();
        Some(values::unquoted(inner)).filter(|text| text.len() + 2 == inner.len())
    });
    let there = account.at(&["inputs", name, "default"]).and_then(Value::as_str).map(str::to_owned);
    match (default, there) {
        (Some(default), None) if !default.is_empty() => {
            account.set(&format!("inputs.{name}.default"), default);
            account.mapped(&format!("prompt.{name}.default"), &format!("inputs.{name}.default"));
        }
        (Some(default), Some(there)) if default == there => {}
        _ => {
            account.warn(format!(
                "`{filter}` in the prompt was left out: the input `{name}` stands there as it is"
            ));
            account.dropped(&format!("prompt.{name}.{filter}"), "an input has no filters");
        }
    }
}

/// `{{ key }}` as `${KEY}`, and the filters that stood behind it, with our name of the key.
fn filled(text: &str, inputs: &[(String, String)]) -> (String, Vec<(String, String)>) {
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
    fn names_of_parameters_are_filled_in_wherever_they_stand() {
        let inputs = [("a".to_owned(), "A".to_owned()), ("b".to_owned(), "B".to_owned())];
        assert_eq!(
            filled("{{a}} {{ b | x }}{{c}} {{{{ a }} }} {{", &inputs),
            ("${A} ${B}{{c}} {{${A} }} {{".to_owned(), vec![("B".to_owned(), "x".to_owned())])
        );
    }

    /// A recipe of 2 MB may say the same thing a hundred thousand times.
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
            nearby: &|_| Err(super::super::Missing::Absent),
        };
        let began = std::time::Instant::now();
        let draft = convert(&source).expect("a recipe");
        assert!(began.elapsed().as_secs() < 30, "{:?}", began.elapsed());
        let inputs = draft.persona["inputs"].as_object().expect("inputs");
        assert_eq!((inputs.len(), inputs.contains_key("A_20000")), (20_000, true));
    }
}
