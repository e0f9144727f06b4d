//! opencode's agents: markdown with frontmatter, or entries of `agent` in `opencode.json`.

use super::draft::{Converted, Draft, Fate, FieldFate};
use super::format::{Format, Source};
use super::opencode_permission as permission;
use super::permission_rules::PermissionRules;
use super::persona_builder::PersonaBuilder;
use super::{frontmatter, jsonc, limits, servers, text, tool_switches, tools, values};
use crate::model::shape::Object;
use serde_json::Value;

pub fn convert(source: &Source) -> Result<Converted, String> {
    if jsonc::is_object(source.text) {
        return config(source);
    }
    let (mut builder, body) = PersonaBuilder::of_markdown(Format::Opencode, frontmatter::read(source.text));
    if body.contains("{file:") {
        builder.warn("`{file:...}` in the text is not replaced: opencode replaces it only in its config");
    }
    let body = Prompt { text: body, in_config: false, missing: None };
    Ok(Converted::single(agent(builder, source.stem(), &body)))
}

/// Built-in agents of opencode, which a config only adjusts.
const OWN: [&str; 7] = ["build", "plan", "general", "explore", "title", "summary", "compaction"];

fn is_adjusted(name: &str, said: &Value) -> bool {
    OWN.contains(&name) && said.get("prompt").is_none()
}

/// Whether a config defines agents, and does not only adjust those that opencode brings along.
pub fn has_agents(config: &Object) -> bool {
    let defined = |key: &str| {
        let agents = config.get(key).and_then(Value::as_object).into_iter().flatten();
        agents.filter(|(_, said)| said.is_object()).any(|(name, said)| !is_adjusted(name, said))
    };
    defined("agent") || defined("mode")
}

/// Every agent of a config file; its servers and permissions apply to all of them.
fn config(source: &Source) -> Result<Converted, String> {
    let Value::Object(config) = jsonc::parse(source.text)? else { return Err("is not an object".into()) };
    let mut converted = Converted::default();
    let mut fields = Vec::new();
    for (key, value) in &config {
        let fate = match (key.as_str(), value) {
            ("agent" | "mode", Value::Object(agents)) => {
                for (name, said) in agents {
                    if is_adjusted(name, said) {
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
            // Reported when all agents are converted.
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
    // An agent's own permissions come after those for all agents, because the last one wins.
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
    let mut builder = PersonaBuilder::new(Format::Opencode, said);
    let prompt = include_files(source, &mut builder, prompt.as_deref().unwrap_or_default());
    agent(builder, name, &prompt)
}

/// The prompt of an agent with the files that it includes.
struct Prompt {
    text: String,
    /// It is a key, not the text below the frontmatter.
    in_config: bool,
    /// Why the file with the prompt is not available.
    missing: Option<String>,
}

/// Replaces every `{file:...}` in a prompt of the config by the text of the file.
fn include_files(source: &Source, builder: &mut PersonaBuilder, text: &str) -> Prompt {
    let mut prompt = Prompt { text: String::new(), in_config: true, missing: None };
    let is_one_file =
        text.trim().starts_with("{file:") && text.trim().find('}') == Some(text.trim().len() - 1);
    let mut rest = text;
    while let Some(at) = rest.find("{file:") {
        let Some(length) = rest[at..].find('}') else { break };
        let path = rest[at + "{file:".len()..at + length].trim();
        prompt.text.push_str(&rest[..at]);
        match (source.nearby)(path) {
            Ok(found) => prompt.text.push_str(text::normalised(&found).trim_end_matches('\n')),
            Err(why) if is_one_file => {
                prompt.missing = Some(format!("has its prompt in `{path}`, which {why}"));
            }
            Err(why) => {
                builder.warn(format!(
                    "its prompt includes the file `{path}`, which {why}; the reference was left in"
                ));
                prompt.text.push_str(&rest[at..=at + length]);
            }
        }
        rest = &rest[at + length + 1..];
    }
    prompt.text.push_str(rest);
    for name in variables(&prompt.text) {
        builder.warn(format!(
            "`{{env:{name}}}` in the prompt is not replaced: for a value per run declare an input and write `${name}`"
        ));
    }
    prompt
}

/// The variables in `{env:...}` of a prompt, each once.
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

fn agent(mut builder: PersonaBuilder, name: &str, prompt: &Prompt) -> Result<Draft, String> {
    builder.name("name", name);
    builder.description_or_first_sentence("description", &prompt.text);
    if builder.text("mode").as_deref() == Some("all") {
        builder.mapped("mode", "opencode's default");
    }
    builder.move_text("model", "model");
    builder.move_text("reasoningEffort", "harnessSettings.reasoning");
    builder.turns("steps");
    builder.turns("maxSteps");
    let mut rules = PermissionRules::default();
    tools_of(&mut builder, &mut rules);
    let said = builder.get("permission");
    let mode = said.and_then(|said| permission::read(&mut builder, &mut rules, &said));
    limits::take_besides_tools(&mut builder, &mut rules, mode);
    rules.write(&mut builder);
    servers::convert_all(&mut builder, "mcp");
    if builder.get("disable").and_then(|value| values::flag(&value)) == Some(true) {
        builder.warn("it is disabled in opencode; the persona is not");
    }
    // A prompt in the frontmatter of a markdown file comes before the body.
    let own = builder.text("prompt").filter(|text| !prompt.in_config && !prompt.text.contains(text.as_str()));
    let whole: Vec<String> =
        own.into_iter().chain((!prompt.text.trim().is_empty()).then(|| prompt.text.clone())).collect();
    if let Some(missing) = &prompt.missing {
        builder.missing_prompt(missing)?;
    }
    builder.prompt(&whole.join("\n\n"))?;
    if !prompt.in_config && !prompt.text.trim().is_empty() {
        builder.mapped("(body)", "systemPrompt");
    }
    if builder.has("prompt") {
        builder.mapped("prompt", "systemPrompt");
    }
    Ok(builder.finish())
}

/// `tools` of an agent: an object of switches, or a list, which is not opencode's syntax, but users of claude write it.
fn tools_of(builder: &mut PersonaBuilder, rules: &mut PermissionRules) {
    match builder.get("tools") {
        Some(switches @ Value::Object(_)) => tool_switches::take(builder, rules, switches),
        Some(Value::Array(none)) if none.is_empty() => rules.deny_unlisted(builder, "tools"),
        Some(list @ (Value::Array(_) | Value::String(_))) => {
            let said = values::list(&list);
            let mut allowed = PermissionRules::default();
            for tool in said.iter().filter(|tool| *tool != "*") {
                match tools::OPENCODE.tools(tool) {
                    Some(ours) => ours.iter().for_each(|tool| allowed.allow(*tool)),
                    None => allowed.allow(tool.as_str()),
                }
            }
            let others =
                if allowed.allow.is_empty() { Vec::new() } else { tools::unlisted_tools(&allowed.allow) };
            if !others.is_empty() && !said.iter().any(|tool| tool == "*") {
                for tool in others {
                    rules.deny(tool);
                }
                builder.mapped("tools (those not listed)", "permissions.deny");
            }
            rules.allow.append(&mut allowed.allow);
            let to = if rules.allow.is_empty() { "no limit, as without it" } else { "permissions.allow" };
            builder.mapped("tools", to);
        }
        _ => {}
    }
}
