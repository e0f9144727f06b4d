//! What kind of file this is, by its name, its place and its keys.

use super::{Format, Source, codex, frontmatter, goose, jsonc};
use crate::model::shape::Object;
use serde_json::Value;

/// What a file turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    Agent(Format),
    /// No agent, and why: whoever names a whole tree does not mean every file in it.
    Other(String),
    /// It is one, and cannot be read.
    Broken(String),
    /// It cannot be read, so nobody knows.
    Unreadable(String),
}

/// Endings that agent files have.
pub const ENDINGS: [&str; 8] = ["md", "mdc", "markdown", "toml", "yaml", "yml", "json", "jsonc"];

/// Documents that stand beside agents.
const DOCUMENTS: [&str; 16] = [
    "readme",
    "license",
    "licence",
    "contributing",
    "changelog",
    "code_of_conduct",
    "security",
    "claude",
    "agents",
    "gemini",
    "copilot-instructions",
    "notice",
    "authors",
    "todo",
    "index",
    "support",
];

/// Those that are documents even at the end of a name.
const UNMISTAKABLE: [&str; 4] = ["readme", "license", "changelog", "contributing"];

/// `named`: the user named this very file, so it is meant, whatever it looks like and wherever it lies.
pub fn kind(source: &Source, named: bool) -> Kind {
    match by_ending(source, named) {
        // Where agents are kept it was meant to be one.
        Kind::Unreadable(why) if lies_with_agents(source) => Kind::Broken(why),
        kind => kind,
    }
}

fn by_ending(source: &Source, named: bool) -> Kind {
    let name = source.file_name().to_ascii_lowercase();
    let (stem, ending) = name.rsplit_once('.').unwrap_or((&name, ""));
    match ending {
        "md" | "mdc" | "markdown" => markdown(source, stem, named),
        "toml" => toml(source),
        "yaml" | "yml" => match goose::parse(source.text) {
            Ok((recipe, _)) => is_recipe(&recipe.values),
            Err(why) if source.text.contains("instructions:") || source.text.contains("prompt:") => {
                Kind::Broken(why)
            }
            Err(why) => Kind::Unreadable(why),
        },
        "json" | "jsonc" => json(source, stem),
        _ => Kind::Other("no agent file by its name".into()),
    }
}

fn markdown(source: &Source, stem: &str, named: bool) -> Kind {
    let lower = source.path.to_ascii_lowercase();
    let below = |dir: &str| lower.starts_with(&format!("{dir}/")) || lower.contains(&format!("/{dir}/"));
    let inside = format!("/{}", source.below.to_ascii_lowercase());
    if stem == "skill" || inside.contains("/skills/") {
        return Kind::Other("a skill, not an agent: name its directory in `skills` of a persona".into());
    }
    // The name is in lower case already.
    let second = stem.rsplit_once('.').map_or("", |(_, second)| second);
    if matches!(second, "prompt" | "instructions") && !named {
        return Kind::Other("a prompt or instruction file of copilot, not an agent".into());
    }
    let parts = frontmatter::read(source.text);
    let has = |key: &str| parts.keys.contains_key(key);
    if !named && !has("name") && !has("mode") && inside.contains("/commands/") {
        return Kind::Other("a command, not an agent".into());
    }
    let last = stem.rsplit(['_', '-', ' ']).next().unwrap_or(stem);
    let document = DOCUMENTS.contains(&stem) || UNMISTAKABLE.contains(&last) || stem.starts_with("readme");
    // Agents are not shouted: `ARCHITECTURE.md` is about the collection.
    let shouted = !parts.has_block && !source.stem().chars().any(char::is_lowercase) && stem.len() > 3;
    let document = document || shouted;
    if !named && document && !has("name") && !has("description") {
        return Kind::Other("a document by its name".into());
    }
    if !named && !parts.has_block && inside.contains("/docs/") {
        return Kind::Other("a document by its place".into());
    }
    if !named && let Some(why) = is_no_agent(source, stem, &parts) {
        return Kind::Other(why.into());
    }
    if matches!(second, "agent" | "chatmode" | "prompt" | "instructions")
        || below(".github/agents")
        || below(".github/chatmodes")
    {
        return Kind::Agent(Format::Copilot);
    }
    if below(".opencode") || below("opencode/agent") || below("opencode/agents") || is_opencode(&parts.keys) {
        return Kind::Agent(Format::Opencode);
    }
    let of_copilot = ["mcp-servers", "handoffs", "argument-hint", "user-invokable"];
    if !below(".claude")
        && of_copilot.iter().any(|key| parts.keys.contains_key(*key))
        && !parts.keys.contains_key("allowed-tools")
    {
        return Kind::Agent(Format::Copilot);
    }
    Kind::Agent(Format::Claude)
}

/// Keys that only agents have, and those of pages and posts.
const OF_AGENTS: [&str; 16] = [
    "tools",
    "disallowedTools",
    "model",
    "permissionMode",
    "mcpServers",
    "mcp-servers",
    "handoffs",
    "maxTurns",
    "agent",
    "permission",
    "temperature",
    "reasoningEffort",
    "steps",
    "argument-hint",
    "color",
    "mode",
];
const OF_PAGES: [&str; 14] = [
    "title",
    "date",
    "layout",
    "permalink",
    "slug",
    "categories",
    "published",
    "draft",
    "sidebar_position",
    "sidebar_label",
    "globs",
    "alwaysApply",
    "applyTo",
    "pubDate",
];

/// Why a text in a tree is no agent. Where agents are kept, every text is one.
fn is_no_agent(source: &Source, stem: &str, parts: &frontmatter::Parts) -> Option<&'static str> {
    let has = |keys: &[&str]| keys.iter().any(|key| parts.keys.contains_key(*key));
    let marked = matches!(stem.rsplit_once('.'), Some((_, "agent" | "chatmode")));
    if stem == "charter" && !has(&["name", "description"]) {
        return Some("a charter, and no config of this import reads it; name the file itself to import it");
    }
    if marked || has(&OF_AGENTS) || lies_with_agents(source) {
        return None;
    }
    if has(&["globs", "alwaysApply", "applyTo"]) {
        return Some("a rule for an editor, not an agent");
    }
    if has(&OF_PAGES) {
        return Some("a page or a post, not an agent");
    }
    (!has(&["name", "description"])).then_some(
        "a text without the keys of an agent, and not in a directory `agents`; name the file itself to import it",
    )
}

/// A directory of agents is called so: below what was named, or the named one itself and the one around it.
fn lies_with_agents(source: &Source) -> bool {
    let is_place = |part: &str| {
        let part = part.to_ascii_lowercase();
        let last = part.rsplit(['-', '_', '.']).next().unwrap_or_default();
        matches!(last, "agent" | "agents" | "subagent" | "subagents" | "chatmodes" | "personas")
    };
    let parts: Vec<&str> = source.path.split('/').collect();
    let below = source.below.split('/').count();
    // The file's own name says nothing.
    let places = &parts[parts.len().saturating_sub(below + 2)..parts.len() - 1];
    places.iter().any(|part| is_place(part))
}

fn is_opencode(keys: &Object) -> bool {
    let mode = keys.get("mode").and_then(Value::as_str);
    matches!(mode, Some("primary" | "subagent" | "all"))
        || ["permission", "temperature", "top_p", "steps", "maxSteps", "reasoningEffort"]
            .iter()
            .any(|key| keys.contains_key(*key))
        || keys.get("tools").is_some_and(Value::is_object)
}

fn toml(source: &Source) -> Kind {
    let object = match codex::parse(source.text) {
        Ok(object) => object,
        Err(why) if source.text.contains("developer_instructions") => return Kind::Broken(why),
        Err(why) => return Kind::Unreadable(why),
    };
    let text = |key: &str| object.get(key).is_some_and(Value::is_string);
    let speaks = codex::PROMPTS.into_iter().any(text) || !codex::tables(&object).is_empty();
    if speaks || (text("name") && text("description")) {
        Kind::Agent(Format::Codex)
    } else {
        Kind::Other("no agent of codex: it has no instructions".into())
    }
}

fn is_recipe(object: &Object) -> Kind {
    let has = |key: &str| object.get(key).is_some_and(|value| !value.is_null());
    if (has("instructions") || has("prompt")) && (has("title") || has("description") || has("name")) {
        Kind::Agent(Format::Goose)
    } else {
        Kind::Other("no recipe: it has no instructions with a title".into())
    }
}

const OPENCODE_SCHEMA: &str = "https://opencode.ai/config.json";

fn json(source: &Source, stem: &str) -> Kind {
    let object = match jsonc::parse(source.text) {
        Ok(Value::Object(object)) => object,
        Ok(_) => return Kind::Other("no agents: it is no object".into()),
        Err(why) if stem == "opencode" => return Kind::Broken(why),
        Err(why) => return Kind::Unreadable(why),
    };
    let of = |key: &str| {
        object
            .get(key)
            .is_some_and(|value| value.as_object().is_some_and(|inner| inner.values().any(Value::is_object)))
    };
    let is_opencode =
        stem == "opencode" || object.get("$schema").is_some_and(|schema| schema == OPENCODE_SCHEMA);
    if of("agent") || (is_opencode && of("mode")) {
        Kind::Agent(Format::Opencode)
    } else if of("agents") || (object.contains_key("agents") && object.contains_key("roles")) {
        Kind::Agent(Format::Minions)
    } else if is_opencode {
        Kind::Other("a config of opencode that names no agents".into())
    } else if object.contains_key("id")
        && (object.contains_key("tiers") || object.contains_key("systemPrompt"))
    {
        Kind::Other("a persona already: copy it into a layer, or `install` its directory".into())
    } else {
        is_recipe(&object)
    }
}
