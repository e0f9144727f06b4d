//! Detects what kind of file this is by its name, directory and keys. Converts nothing.

use super::format::{Format, Source};
use super::{codex, frontmatter, goose, jsonc, toml_keys};
use crate::model::shape::Object;
use serde_json::Value;

/// The kind of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileKind {
    Agent(Format),
    /// Not an agent, and why: a directory may contain other files.
    Other(String),
    /// An agent that cannot be read.
    Broken(String),
    /// It cannot be read, so its kind is unknown.
    Unreadable(String),
}

/// File extensions of agents.
pub const EXTENSIONS: [&str; 8] = ["md", "mdc", "markdown", "toml", "yaml", "yml", "json", "jsonc"];

/// Documents that are often beside agents.
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

/// Words that mark a document even at the end of a name.
const DOCUMENT_ENDINGS: [&str; 4] = ["readme", "license", "changelog", "contributing"];

/// `named`: the user named this file itself, so it is an agent whatever it looks like.
pub fn kind(source: &Source, named: bool) -> FileKind {
    match by_extension(source, named) {
        // In a directory of agents it is one.
        FileKind::Unreadable(why) if is_in_agents_directory(source) => FileKind::Broken(why),
        kind => kind,
    }
}

fn by_extension(source: &Source, named: bool) -> FileKind {
    let name = source.file_name().to_ascii_lowercase();
    let (stem, ending) = name.rsplit_once('.').unwrap_or((&name, ""));
    match ending {
        "md" | "mdc" | "markdown" => markdown(source, stem, named),
        "toml" => toml(source),
        "yaml" | "yml" => match goose::parse(source.text) {
            Ok((recipe, _)) => is_recipe(&recipe.values),
            Err(why) if source.text.contains("instructions:") || source.text.contains("prompt:") => {
                FileKind::Broken(why)
            }
            Err(why) => FileKind::Unreadable(why),
        },
        "json" | "jsonc" => json(source, stem),
        _ => FileKind::Other("not an agent file by its name".into()),
    }
}

fn markdown(source: &Source, stem: &str, named: bool) -> FileKind {
    let lower = source.path.to_ascii_lowercase();
    let below = |dir: &str| lower.starts_with(&format!("{dir}/")) || lower.contains(&format!("/{dir}/"));
    let inside = format!("/{}", source.below.to_ascii_lowercase());
    if stem == "skill" || inside.contains("/skills/") {
        return FileKind::Other("a skill, not an agent: name its directory in `skills` of a persona".into());
    }
    let second = stem.rsplit_once('.').map_or("", |(_, second)| second);
    if matches!(second, "prompt" | "instructions") && !named {
        return FileKind::Other("a prompt or instruction file of copilot, not an agent".into());
    }
    let parts = frontmatter::read(source.text);
    let has = |key: &str| parts.keys.contains_key(key);
    if !named && !has("name") && !has("mode") && inside.contains("/commands/") {
        return FileKind::Other("a command, not an agent".into());
    }
    let last = stem.rsplit(['_', '-', ' ']).next().unwrap_or(stem);
    let document =
        DOCUMENTS.contains(&stem) || DOCUMENT_ENDINGS.contains(&last) || stem.starts_with("readme");
    // `ARCHITECTURE.md` describes the collection: agents do not have names in capitals.
    let is_upper_case = !parts.has_block && !source.stem().chars().any(char::is_lowercase) && stem.len() > 3;
    let document = document || is_upper_case;
    if !named && document && !has("name") && !has("description") {
        return FileKind::Other("a document by its name".into());
    }
    if !named && !parts.has_block && inside.contains("/docs/") {
        return FileKind::Other("a document by its directory".into());
    }
    if !named && let Some(why) = reason_against_agent(source, stem, &parts) {
        return FileKind::Other(why.into());
    }
    if matches!(second, "agent" | "chatmode" | "prompt" | "instructions")
        || below(".github/agents")
        || below(".github/chatmodes")
    {
        return FileKind::Agent(Format::Copilot);
    }
    if below(".opencode") || below("opencode/agent") || below("opencode/agents") || is_opencode(&parts.keys) {
        return FileKind::Agent(Format::Opencode);
    }
    let of_copilot = ["mcp-servers", "handoffs", "argument-hint", "user-invokable"];
    if !below(".claude")
        && of_copilot.iter().any(|key| parts.keys.contains_key(*key))
        && !parts.keys.contains_key("allowed-tools")
    {
        return FileKind::Agent(Format::Copilot);
    }
    FileKind::Agent(Format::Claude)
}

/// Keys that only agents have.
const AGENT_KEYS: [&str; 16] = [
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
/// Keys of pages and posts.
const PAGE_KEYS: [&str; 14] = [
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

/// Why a markdown file is not an agent. In a directory of agents every one is.
fn reason_against_agent(source: &Source, stem: &str, parts: &frontmatter::Parts) -> Option<&'static str> {
    let has = |keys: &[&str]| keys.iter().any(|key| parts.keys.contains_key(*key));
    let marked = matches!(stem.rsplit_once('.'), Some((_, "agent" | "chatmode")));
    if stem == "charter" && !has(&["name", "description"]) {
        return Some("a charter that no imported config names; name the file itself to import it");
    }
    if marked || has(&AGENT_KEYS) || is_in_agents_directory(source) {
        return None;
    }
    if has(&["globs", "alwaysApply", "applyTo"]) {
        return Some("a rule for an editor, not an agent");
    }
    if has(&PAGE_KEYS) {
        return Some("a page or a post, not an agent");
    }
    (!has(&["name", "description"])).then_some(
        "it has no keys of an agent and is not in a directory `agents`; name the file itself to import it",
    )
}

/// Whether a directory of the path has a name like `agents`: below the named directory, that one, or its parent.
fn is_in_agents_directory(source: &Source) -> bool {
    let is_place = |part: &str| {
        let part = part.to_ascii_lowercase();
        let last = part.rsplit(['-', '_', '.']).next().unwrap_or_default();
        matches!(last, "agent" | "agents" | "subagent" | "subagents" | "chatmodes" | "personas")
    };
    let parts: Vec<&str> = source.path.split('/').collect();
    let below = source.below.split('/').count();
    // The file's own name does not count.
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

fn toml(source: &Source) -> FileKind {
    let object = match toml_keys::parse(source.text) {
        Ok(object) => object,
        Err(why) if source.text.contains("developer_instructions") => return FileKind::Broken(why),
        Err(why) => return FileKind::Unreadable(why),
    };
    let text = |key: &str| object.get(key).is_some_and(Value::is_string);
    let has_prompt = codex::PROMPTS.into_iter().any(text) || !codex::tables(&object).is_empty();
    if has_prompt || (text("name") && text("description")) {
        FileKind::Agent(Format::Codex)
    } else {
        FileKind::Other("not an agent of codex: it has no instructions".into())
    }
}

fn is_recipe(object: &Object) -> FileKind {
    let has = |key: &str| object.get(key).is_some_and(|value| !value.is_null());
    if (has("instructions") || has("prompt")) && (has("title") || has("description") || has("name")) {
        FileKind::Agent(Format::Goose)
    } else {
        FileKind::Other("not a recipe: it has no instructions with a title".into())
    }
}

const OPENCODE_SCHEMA: &str = "https://opencode.ai/config.json";

fn json(source: &Source, stem: &str) -> FileKind {
    let object = match jsonc::parse(source.text) {
        Ok(Value::Object(object)) => object,
        Ok(_) => return FileKind::Other("not agents: it is not an object".into()),
        Err(why) if stem == "opencode" => return FileKind::Broken(why),
        Err(why) => return FileKind::Unreadable(why),
    };
    let of = |key: &str| {
        object
            .get(key)
            .is_some_and(|value| value.as_object().is_some_and(|inner| inner.values().any(Value::is_object)))
    };
    let is_opencode =
        stem == "opencode" || object.get("$schema").is_some_and(|schema| schema == OPENCODE_SCHEMA);
    if of("agent") || (is_opencode && of("mode")) {
        FileKind::Agent(Format::Opencode)
    } else if of("agents") || (object.contains_key("agents") && object.contains_key("roles")) {
        FileKind::Agent(Format::Minions)
    } else if is_opencode {
        FileKind::Other("a config of opencode without agents".into())
    } else if object.contains_key("id")
        && (object.contains_key("tiers") || object.contains_key("systemPrompt"))
    {
        FileKind::Other("already a persona: copy it into a layer, or install its directory as a pack".into())
    } else {
        is_recipe(&object)
    }
}
