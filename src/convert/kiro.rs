//! Kiro's agents, which are those of the Amazon Q command line: JSON with a prompt, or Markdown with frontmatter. `tools` are all that
//! an agent has; `allowedTools` are those that it uses without asking; `toolsSettings` and `permissions` narrow single tools.

use super::draft::Draft;
use super::format::{Format, Source};
use super::permission_rules::PermissionRules;
use super::persona_builder::PersonaBuilder;
use super::places::Holds;
use super::tools::{KIRO, Meaning, server_tool, unlisted_tools};
use super::{braces, frontmatter, jsonc, models, servers, text as texts, values};
use crate::model::printable::printable;
use crate::model::shape::Object;
use serde_json::Value;

/// Keys of an agent that no other JSON with a prompt has.
const KEYS: [&str; 6] =
    ["allowedTools", "toolsSettings", "toolAliases", "includeMcpJson", "useLegacyMcpJson", "resources"];

pub fn convert(source: &Source) -> Result<Draft, String> {
    let (mut builder, body) = if jsonc::is_object(source.text) {
        let Value::Object(object) = jsonc::parse(source.text)? else { return Err("is not an object".into()) };
        (PersonaBuilder::new(Format::Kiro, object), None)
    } else {
        let (builder, body) = PersonaBuilder::of_markdown(Format::Kiro, frontmatter::read(source.text));
        (builder, Some(body))
    };
    builder.name("name", source.stem());
    let (prompt, missing) = match body {
        Some(body) => (body, None),
        None => prompt_of(source, &builder),
    };
    builder.description_or_first_sentence("description", &prompt);
    models::take(&mut builder);
    permissions(&mut builder);
    servers::convert_all(&mut builder, "mcpServers");
    if let Some(missing) = missing {
        builder.missing_prompt(&missing)?;
    }
    builder.prompt(&prompt)?;
    if builder.has("prompt") {
        builder.mapped("prompt", "systemPrompt");
    } else if !prompt.trim().is_empty() {
        builder.mapped("(body)", "systemPrompt");
    }
    Ok(builder.finish())
}

/// The prompt, which may be a file beside the agent; else why it is not available.
fn prompt_of(source: &Source, builder: &PersonaBuilder) -> (String, Option<String>) {
    let prompt = builder.text("prompt").unwrap_or_default();
    let Some(path) = prompt.trim().strip_prefix("file://") else { return (prompt, None) };
    match (source.nearby)(path) {
        Ok(text) => (texts::normalised(&text).trim_matches('\n').to_owned(), None),
        Err(why) => (String::new(), Some(format!("has its prompt in `{path}`, which {why}"))),
    }
}

fn permissions(builder: &mut PersonaBuilder) {
    let mut rules = PermissionRules::default();
    let list = |builder: &PersonaBuilder, key: &str| builder.as_written(key).map(|value| entries(&value));
    let tools = list(builder, "tools");
    let allowed = list(builder, "allowedTools");
    match (tools, allowed) {
        (Some(tools), allowed) => {
            let available = if tools.is_empty() {
                rules.deny_unlisted(builder, "tools");
                Vec::new()
            } else {
                builder.mapped("tools", "permissions");
                rules.deny_others(builder, "tools", &tools, &KIRO).available()
            };
            // What it has, it may use after asking, and unasked what is allowed besides.
            let denied = unlisted_tools(&available);
            let is_available = |tool: &str| !denied.contains(&tool);
            if let Some(allowed) = allowed {
                rules.allow_listed(builder, "allowedTools", &allowed, &KIRO, is_available);
            }
            builder.set("permissions.mode", "default");
        }
        (None, Some(allowed)) if allowed.is_empty() => rules.deny_unlisted(builder, "allowedTools"),
        // The only tools that are known to be meant.
        (None, Some(allowed)) => {
            rules.limit_to(builder, "allowedTools", &allowed, &KIRO);
            builder.set("permissions.mode", "default");
        }
        (None, None) => {}
    }
    tools_settings(builder, &mut rules);
    permission_rules(builder, &mut rules);
    rules.write(builder);
}

/// The entries of a list of tools. `@server` and `@server/tool` are those of MCP servers, and `fs_*` stands for several.
fn entries(value: &Value) -> Vec<String> {
    let mut entries = Vec::new();
    for entry in values::list(value) {
        let server = entry.strip_prefix('@').filter(|name| KIRO.tools(name).is_none());
        match (server, entry.strip_suffix('*')) {
            (Some(server), _) => {
                let (server, tool) = server.split_once('/').unwrap_or((server, "*"));
                entries.push(server_tool(server, tool).unwrap_or(entry));
            }
            (None, Some(start)) if !start.is_empty() && !start.contains('*') => {
                entries.extend(KIRO.tools_beginning(start).into_iter().map(str::to_owned));
            }
            _ => entries.push(entry.trim_start_matches('@').to_owned()),
        }
    }
    entries
}

/// `toolsSettings.<tool>`: denied paths and commands hold, what else narrows a tool denies it.
fn tools_settings(builder: &mut PersonaBuilder, rules: &mut PermissionRules) {
    let Some(Value::Object(settings)) = builder.get("toolsSettings") else { return };
    for (tool, said) in settings {
        let Value::Object(said) = said else { continue };
        for (key, value) in said {
            let field = format!("toolsSettings.{tool}.{key}");
            let denies = match key.as_str() {
                "deniedPaths" | "deniedCommands" => values::list(&value),
                "denyByDefault" if values::flag(&value) == Some(true) => vec!["*".to_owned()],
                key if key.starts_with("denied") || key.starts_with("blocked") => vec!["*".to_owned()],
                _ => {
                    builder.keep(&field, value);
                    continue;
                }
            };
            deny(builder, rules, &field, &tool, &denies);
        }
    }
    builder.mapped("toolsSettings", "permissions and mount");
}

/// `permissions` of Markdown agents: rules with a capability, an effect and patterns. Denials hold; the rest asks as ever.
fn permission_rules(builder: &mut PersonaBuilder, rules: &mut PermissionRules) {
    let Some(Value::Array(said)) = builder.get("permissions") else { return };
    for (at, rule) in said.iter().enumerate() {
        let field = format!("permissions[{at}]");
        let text = |key: &str| rule.get(key).and_then(values::text).unwrap_or_default();
        if text("effect") == "deny" {
            let patterns = rule.get("match").map(values::list).filter(|patterns| !patterns.is_empty());
            deny(builder, rules, &field, &text("capability"), &patterns.unwrap_or(vec!["*".to_owned()]));
        } else {
            builder.keep(&field, rule.clone());
        }
    }
    builder.mapped("permissions", "permissions");
}

/// Denies patterns of a tool. Paths become rules of the mount, which hold for every tool; what cannot be expressed denies the tool,
/// and is told.
fn deny(
    builder: &mut PersonaBuilder,
    rules: &mut PermissionRules,
    field: &str,
    tool: &str,
    patterns: &[String],
) {
    let Meaning::Tools(tools) = KIRO.meaning(tool) else {
        builder.warn(format!("`{field}` has no effect: `{tool}` is not a tool of persona files"));
        builder.dropped(field, "not a tool of persona files");
        return;
    };
    let place = match tools[0].as_str() {
        "Read" => Some("ignoredPatterns"),
        "Edit" => Some("readonlyPatterns"),
        _ => None,
    };
    let (mut paths, mut outside, mut inexpressible) = (Vec::new(), Vec::new(), Vec::new());
    for pattern in patterns {
        let plain = pattern.strip_prefix("./").unwrap_or(pattern).trim();
        let is_whole = matches!(plain, "*" | "**" | "**/*" | ".*" | "");
        let is_path = !plain.starts_with(['/', '~', '!', '#', '@']) && !plain.contains("..");
        let expanded = place.filter(|_| is_path && !is_whole).and_then(|_| braces::expand(plain));
        if let Some(expanded) = expanded {
            paths.extend(expanded);
        } else if let Some(command) = command(plain).filter(|_| tools == ["Bash"] && !is_whole) {
            rules.deny(format!("Bash({command}:*)"));
        } else if tools == ["Read"] && plain.starts_with(['/', '~']) {
            // Without reading, an agent can do nothing.
            outside.push(pattern.as_str());
        } else {
            for tool in &tools {
                rules.deny(tool.as_str());
            }
            if !is_whole {
                inexpressible.push(pattern.as_str());
            }
        }
    }
    // Of settings other than lists of patterns, all are denied for want of anything narrower.
    let is_pattern = ["deniedPaths", "deniedCommands"].iter().any(|key| field.ends_with(key));
    if inexpressible.is_empty() && !is_pattern && field.starts_with("toolsSettings") {
        builder
            .warn(format!("`{field}` cannot be expressed here: {} is denied altogether", tools.join(", ")));
    } else if !inexpressible.is_empty() {
        builder.warn(format!(
            "`{}` of `{field}` cannot be expressed here: {} is denied altogether",
            printable(&inexpressible.join("`, `")),
            tools.join(", ")
        ));
    }
    if !outside.is_empty() {
        builder.warn(format!(
            "`{}` of `{field}` is outside of the project and is not denied here",
            printable(&outside.join("`, `"))
        ));
        builder.dropped(
            &format!("{field} (outside of the project)"),
            "rules of the mount are about the project",
        );
    }
    if let Some(place) = place.filter(|_| !paths.is_empty()) {
        builder.add(["mount", place], paths);
        builder.mapped(field, &format!("mount.{place}"));
    } else if outside.len() < patterns.len() {
        builder.mapped(field, "permissions.deny");
    }
}

/// The words that a pattern of commands begins with, if it is nothing else.
fn command(pattern: &str) -> Option<&str> {
    let words = pattern
        .trim_start_matches("\\A")
        .trim_start_matches('^')
        .trim_end_matches("\\z")
        .trim_end_matches('$');
    let words = words.trim_end_matches(".*").trim_end_matches('*').trim();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '-' | '_' | '/' | '=');
    (!words.is_empty() && words.chars().all(is_plain)).then_some(words)
}

/// Whether an object is an agent. In Kiro's own directory it needs a prompt, or a name and a description. In another directory of
/// agents it needs a prompt, and a key that only Kiro has or a name with tools. Elsewhere it needs a prompt and such a key.
pub fn is_agent(object: &Object, place: Option<Holds>) -> bool {
    let has_text = |key: &str| object.get(key).is_some_and(Value::is_string);
    let has_own = KEYS.iter().any(|key| object.contains_key(*key));
    match place {
        Some(Holds::Agents(Some(Format::Kiro))) => {
            has_text("prompt") || (has_text("name") && has_text("description"))
        }
        Some(Holds::Agents(_)) => {
            has_text("prompt") && (has_own || (has_text("name") && object.contains_key("tools")))
        }
        _ => has_text("prompt") && has_own,
    }
}
