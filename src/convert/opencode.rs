//! opencode's agents: markdown with frontmatter, or entries of `agent` in `opencode.json`.

use super::account::{Account, Fate, FieldFate};
use super::claude::{describe, none_listed};
use super::tools::{self, Rules};
use super::{Converted, Draft, Format, Source, frontmatter, jsonc, permission, servers, values};
use crate::model::shape::Object;
use serde_json::Value;

pub fn convert(source: &Source) -> Result<Converted, String> {
    if jsonc::is_object(source.text) {
        return config(source);
    }
    let parts = frontmatter::read(source.text);
    let mut warnings = parts.warnings;
    if parts.body.contains("{file:") {
        warnings
            .push("`{file:...}` in the text stays as it is: opencode fills it in only in its config".into());
    }
    let mut account = Account::new(Format::Opencode, parts.keys).written(parts.written);
    account.carry(parts.carried);
    account.repeated(&parts.repeated);
    for warning in warnings {
        account.warn(warning);
    }
    let body = Prompt { text: parts.body, in_config: false, missing: None };
    Ok(Converted::one(agent(account, source.stem(), &body)))
}

/// Agents of opencode itself, which a config only adjusts.
const OWN: [&str; 7] = ["build", "plan", "general", "explore", "title", "summary", "compaction"];

/// Every agent of a config file; its servers and its permissions are there for all of them.
fn config(source: &Source) -> Result<Converted, String> {
    let Value::Object(config) = jsonc::parse(source.text)? else { return Err("is not an object".into()) };
    let mut converted = Converted::default();
    let mut fields = Vec::new();
    for (key, value) in &config {
        let fate = match (key.as_str(), value) {
            ("agent" | "mode", Value::Object(agents)) => {
                for (name, said) in agents {
                    if OWN.contains(&name.as_str()) && said.get("prompt").is_none() {
                        let why = "settings of an agent that opencode brings along".into();
                        fields
                            .push(FieldFate { field: format!("{key}.{name}"), fate: Fate::Dropped { why } });
                        continue;
                    }
                    match named(source, name, said, &config) {
                        Ok(mut draft) => {
                            let place =
                                |field: &mut FieldFate| field.field = format!("{key}.{name}.{}", field.field);
                            draft.fields.iter_mut().for_each(place);
                            converted.drafts.push(draft);
                        }
                        Err(why) => converted.refused.push(format!("agent `{name}` {why}")),
                    }
                }
                Fate::Mapped { to: "personas".into() }
            }
            ("permission", Value::Object(_) | Value::String(_)) | ("tools", Value::Object(_)) => {
                Fate::Mapped { to: "permissions of each persona".into() }
            }
            // What became of it is known when all agents are.
            ("mcp", _) => continue,
            _ => Fate::Dropped { why: "a setting of opencode, not of an agent".into() },
        };
        fields.push(FieldFate { field: key.clone(), fate });
    }
    if converted.drafts.is_empty() && converted.refused.is_empty() {
        return Err("names no agents".into());
    }
    if config.contains_key("mcp") {
        let has_servers = converted.drafts.iter().any(|draft| draft.persona.contains_key("mcpServers"));
        let fate = if has_servers {
            Fate::Mapped { to: "mcpServers of each persona".into() }
        } else {
            Fate::Kept { to: "x-opencode of each persona".into() }
        };
        fields.push(FieldFate { field: "mcp".into(), fate });
    }
    converted.fields = fields;
    Ok(converted)
}

fn named(source: &Source, name: &str, said: &Value, config: &Object) -> Result<Draft, String> {
    let Value::Object(said) = said else { return Err("is not an object".into()) };
    let mut said = said.clone();
    let prompt = said.get("prompt").and_then(values::text);
    if let Some(mcp) = config.get("mcp") {
        said.entry("mcp").or_insert_with(|| mcp.clone());
    }
    // What the config says of all agents comes first, and what one says of itself has the last word.
    if let Some(all @ (Value::Object(_) | Value::String(_))) = config.get("permission") {
        let own = permission::layered(all, said.get("permission"));
        said.insert("permission".into(), own);
    }
    if let (Some(Value::Object(all)), None | Some(Value::Object(_))) =
        (config.get("tools"), said.get("tools"))
    {
        let mut switches = all.clone();
        switches.extend(said.get("tools").and_then(Value::as_object).cloned().unwrap_or_default());
        said.insert("tools".into(), Value::Object(switches));
    }
    let mut account = Account::new(Format::Opencode, said);
    let prompt = filled(source, &mut account, prompt.as_deref().unwrap_or_default());
    agent(account, name, &prompt)
}

/// What an agent is told, with the files that it names in it.
struct Prompt {
    text: String,
    /// It is one of the keys, and no text below them.
    in_config: bool,
    /// Why there is none, where it is in a file.
    missing: Option<String>,
}

/// Puts the files in that stand as `{file:...}` anywhere in a prompt of the config.
fn filled(source: &Source, account: &mut Account, text: &str) -> Prompt {
    let mut prompt = Prompt { text: String::new(), in_config: true, missing: None };
    let is_one_file =
        text.trim().starts_with("{file:") && text.trim().find('}') == Some(text.trim().len() - 1);
    let mut rest = text;
    while let Some(at) = rest.find("{file:") {
        let Some(length) = rest[at..].find('}') else { break };
        let path = rest[at + "{file:".len()..at + length].trim();
        prompt.text.push_str(&rest[..at]);
        match (source.nearby)(path) {
            Ok(found) => prompt.text.push_str(frontmatter::plain(&found).trim_end_matches('\n')),
            Err(why) if is_one_file => {
                prompt.missing = Some(format!("has its prompt in `{path}`, which {why}"));
            }
            Err(why) => {
                account
                    .warn(format!("its prompt names the file `{path}`, which {why}; the name stays in it"));
                prompt.text.push_str(&rest[at..=at + length]);
            }
        }
        rest = &rest[at + length + 1..];
    }
    prompt.text.push_str(rest);
    for name in variables(&prompt.text) {
        account.warn(format!(
            "`{{env:{name}}}` in the prompt stays as it is: for a value of a run declare an input and write `${name}`"
        ));
    }
    prompt
}

/// The variables that a prompt names as `{env:...}`, each once.
fn variables(text: &str) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for piece in text.split("{env:").skip(1) {
        if let Some((name, _)) = piece.split_once('}')
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    names
}

fn agent(mut account: Account, name: &str, prompt: &Prompt) -> Result<Draft, String> {
    account.name("name", name);
    describe(&mut account, &prompt.text);
    if account.text("mode").as_deref() == Some("all") {
        account.mapped("mode", "opencode's default");
    }
    account.move_text("model", "model");
    account.move_text("reasoningEffort", "harnessSettings.reasoning");
    account.turns("steps");
    account.turns("maxSteps");
    let mut rules = Rules::default();
    tool_switches(&mut account, &mut rules);
    let said = account.get("permission");
    let mode = said.and_then(|said| permission::read(&mut account, &mut rules, &said));
    rules.write(&mut account);
    if let Some(mode) = mode {
        account.set("permissions.mode", mode);
    }
    servers::all(&mut account, "mcp");
    if account.get("disable").and_then(|value| values::flag(&value)) == Some(true) {
        account.warn("opencode has it switched off; the persona is not");
    }
    // A prompt among the keys of a markdown file comes with the body.
    let own = account.text("prompt").filter(|text| !prompt.in_config && !prompt.text.contains(text.as_str()));
    let whole: Vec<String> =
        own.into_iter().chain((!prompt.text.trim().is_empty()).then(|| prompt.text.clone())).collect();
    if let Some(missing) = &prompt.missing {
        if account.text("description").is_none() {
            return Err(missing.clone());
        }
        account.warn(format!("it {missing}"));
    }
    account.prompt(&whole.join("\n\n"))?;
    if !prompt.in_config && !prompt.text.trim().is_empty() {
        account.mapped("(body)", "systemPrompt");
    }
    if account.has("prompt") {
        account.mapped("prompt", "systemPrompt");
    }
    Ok(account.finish())
}

/// A tool by its name, also in the capitals of claude.
fn switch(tool: &str) -> Option<&'static [&'static str]> {
    tools::of_opencode(&tool.to_ascii_lowercase())
}

/// `tools: {write: false}`: what is on runs without asking in opencode, what is off is not there.
fn tool_switches(account: &mut Account, rules: &mut Rules) {
    match account.get("tools") {
        // Nothing that we have a word for: it is kept whole.
        Some(Value::Object(switches))
            if !switches.iter().any(|(tool, value)| {
                values::flag(value).is_some_and(|on| (tool == "*" && !on) || switch(tool).is_some())
            }) => {}
        Some(Value::Object(switches)) => {
            account.mapped("tools", "permissions");
            let is_on = |tool: &str| switches.get(tool).and_then(values::flag) == Some(true);
            if switches.get("*").and_then(values::flag) == Some(false) {
                // All off but those that are on.
                let on: Vec<String> = switches
                    .keys()
                    .filter(|tool| is_on(tool))
                    .flat_map(|tool| switch(tool).unwrap_or_default())
                    .map(ToString::to_string)
                    .collect();
                for tool in tools::left_out(&on) {
                    rules.deny(tool);
                }
            }
            for (tool, value) in switches.clone() {
                let field = format!("tools.{tool}");
                match (switch(&tool), values::flag(&value)) {
                    (None, Some(false)) if tool == "*" => account.mapped(&field, "permissions.deny"),
                    (Some(ours), Some(true)) => ours.iter().for_each(|tool| rules.allow(*tool)),
                    (Some(ours), Some(false)) => ours.iter().for_each(|tool| rules.deny(*tool)),
                    _ => account.keep(&field, value),
                }
            }
        }
        Some(Value::Array(none)) if none.is_empty() => none_listed(account, rules, "tools"),
        Some(list @ (Value::Array(_) | Value::String(_))) => {
            // Not opencode's own form, but what people write who come from claude.
            let said = values::list(&list);
            let mut allowed = Rules::default();
            for tool in said.iter().filter(|tool| *tool != "*") {
                match switch(tool) {
                    Some(ours) => ours.iter().for_each(|tool| allowed.allow(*tool)),
                    None => allowed.allow(tool.as_str()),
                }
            }
            let others = if allowed.allow.is_empty() { Vec::new() } else { tools::left_out(&allowed.allow) };
            if !others.is_empty() && !said.iter().any(|tool| tool == "*") {
                for tool in others {
                    rules.deny(tool);
                }
                account.mapped("tools (those not listed)", "permissions.deny");
            }
            rules.allow.append(&mut allowed.allow);
            let to = if rules.allow.is_empty() { "no limit, as without it" } else { "permissions.allow" };
            account.mapped("tools", to);
        }
        _ => {}
    }
}
