//! opencode's agents: markdown with frontmatter, or entries of `agent` in `opencode.json`.

use super::account::{Account, Fate, FieldFate};
use super::claude::describe;
use super::tools::{self, Rules};
use super::{Converted, Draft, Format, Source, frontmatter, jsonc, servers, values};
use crate::model::shape::Object;
use serde_json::Value;

pub fn convert(source: &Source) -> Result<Converted, String> {
    if source.text.trim_start_matches('\u{feff}').trim_start().starts_with('{') {
        return config(source);
    }
    let parts = frontmatter::read(source.text);
    Ok(Converted::one(agent(parts.keys, source.stem(), &parts.body, parts.warnings, parts.carried)))
}

/// Every agent of a config file; its servers are there for all of them.
fn config(source: &Source) -> Result<Converted, String> {
    let Value::Object(config) = jsonc::parse(source.text)? else { return Err("is not an object".into()) };
    let mut converted = Converted::default();
    let mut fields = Vec::new();
    for (key, value) in &config {
        let fate = match (key.as_str(), value) {
            ("agent" | "mode", Value::Object(agents)) => {
                for (name, said) in agents {
                    match named(source, name, said, config.get("mcp")) {
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
            ("mcp", _) => Fate::Mapped { to: "mcpServers of each persona".into() },
            _ => Fate::Dropped { why: "a setting of opencode, not of an agent".into() },
        };
        fields.push(FieldFate { field: key.clone(), fate });
    }
    if converted.drafts.is_empty() && converted.refused.is_empty() {
        return Err("names no agents".into());
    }
    converted.fields = fields;
    Ok(converted)
}

fn named(source: &Source, name: &str, said: &Value, mcp: Option<&Value>) -> Result<Draft, String> {
    let Value::Object(said) = said else { return Err("is not an object".into()) };
    let mut said = said.clone();
    let mut warnings = Vec::new();
    let prompt = match said.get("prompt").and_then(values::text) {
        Some(text) => match text.trim().strip_prefix("{file:").and_then(|rest| rest.strip_suffix('}')) {
            Some(path) => match (source.nearby)(path) {
                Some(text) => frontmatter::plain(&text),
                None => {
                    warnings.push(format!("its prompt is in {path}, which cannot be read"));
                    String::new()
                }
            },
            None => text,
        },
        None => String::new(),
    };
    if let Some(mcp) = mcp {
        said.entry("mcp").or_insert_with(|| mcp.clone());
    }
    agent(said, name, &prompt, warnings, None)
}

fn agent(
    keys: Object,
    name: &str,
    prompt: &str,
    warnings: Vec<String>,
    carried: Option<Object>,
) -> Result<Draft, String> {
    let mut account = Account::new(Format::Opencode, keys);
    account.carry(carried);
    for warning in warnings {
        account.warn(warning);
    }
    account.name("name", name);
    describe(&mut account, prompt);
    if account.text("mode").as_deref() == Some("all") {
        account.mapped("mode", "opencode's default");
    }
    account.move_text("model", "model");
    account.move_text("reasoningEffort", "harnessSettings.reasoning");
    account.turns("steps");
    account.turns("maxSteps");
    let mut rules = Rules::default();
    tool_switches(&mut account, &mut rules);
    let permission = account.get("permission");
    let mode = permission.and_then(|said| tools::of_permission(&mut account, &mut rules, &said));
    rules.write(&mut account);
    if let Some(mode) = mode {
        account.set("permissions.mode", mode);
    }
    servers::all(&mut account, "mcp");
    if account.get("disable").and_then(|value| values::flag(&value)) == Some(true) {
        account.warn("opencode has it switched off; the persona is not");
    }
    let in_keys = account.has("prompt");
    // A prompt among the keys of a markdown file comes with the body.
    let own = account
        .text("prompt")
        .filter(|text| in_keys && !prompt.contains(text.as_str()) && !text.starts_with("{file:"));
    let whole: Vec<String> =
        own.into_iter().chain((!prompt.trim().is_empty()).then(|| prompt.to_owned())).collect();
    account.prompt(&whole.join("\n\n"))?;
    account.mapped(if in_keys { "prompt" } else { "(body)" }, "systemPrompt");
    Ok(account.finish())
}

/// `tools: {write: false}`: what is on runs without asking in opencode, what is off is not there.
fn tool_switches(account: &mut Account, rules: &mut Rules) {
    match account.get("tools") {
        Some(Value::Object(switches)) => {
            account.mapped("tools", "permissions");
            for (tool, value) in switches {
                let field = format!("tools.{tool}");
                match (tools::of_opencode(&tool), values::flag(&value)) {
                    (Some(ours), Some(true)) => ours.iter().for_each(|tool| rules.allow(*tool)),
                    (Some(ours), Some(false)) => ours.iter().for_each(|tool| rules.deny(*tool)),
                    _ => account.keep(&field, value),
                }
            }
        }
        Some(list @ (Value::Array(_) | Value::String(_))) => {
            // Not opencode's own form, but what people write who come from claude.
            for tool in values::list(&list) {
                match tools::of_opencode(&tool.to_ascii_lowercase()) {
                    Some(ours) => ours.iter().for_each(|tool| rules.allow(*tool)),
                    None => rules.allow(tool),
                }
            }
            account.mapped("tools", "permissions.allow");
        }
        _ => {}
    }
}
