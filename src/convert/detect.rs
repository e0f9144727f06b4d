//! Detects what kind of file this is by its name, place and keys. Converts nothing.

use super::format::{Format, Origin, Source};
use super::places::{self, Holds, Place};
use super::{codex, frontmatter, goose, jsonc, kiro, minions, opencode, toml_keys};
use crate::model::shape::Object;
use serde_json::Value;

/// The kind of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileKind {
    Agent(Format),
    /// A prompt without keys of an agent: an agent beside others in the same directory, else not, for this reason.
    AmongAgents(Format, String),
    /// Not an agent, and why: a directory may contain other files.
    Other(String),
    /// An agent that cannot be read.
    Broken(String),
    /// It cannot be read, so its kind is unknown.
    Unreadable(String),
}

/// File extensions of agents.
pub const EXTENSIONS: [&str; 8] = ["md", "mdc", "markdown", "toml", "yaml", "yml", "json", "jsonc"];

/// Documents that are never agents, whatever they begin with.
const NEVER_AGENTS: [&str; 10] = [
    "readme",
    "license",
    "licence",
    "contributing",
    "changelog",
    "code_of_conduct",
    "claude",
    "agents",
    "gemini",
    "copilot-instructions",
];

/// Documents that are often beside agents; an agent may have such a name.
const DOCUMENTS: [&str; 6] = ["security", "notice", "authors", "todo", "index", "support"];

/// Words that mark a document even at the end of a name.
const DOCUMENT_ENDINGS: [&str; 4] = ["readme", "license", "changelog", "contributing"];

pub fn kind(source: &Source, origin: Origin) -> FileKind {
    let place = places::of(source, origin);
    if origin == Origin::Found
        && !is_marked(source)
        && let Some(Holds::Other(what)) = place.map(|place| place.holds)
    {
        return FileKind::Other(what.into());
    }
    match by_extension(source, origin, place) {
        // In a directory of agents it is one.
        FileKind::Unreadable(why) if is_among_agents(place) => FileKind::Broken(why),
        kind => kind,
    }
}

/// The kind of a file that cannot be read as a whole, for this reason. The source has as much of its text as there is: what
/// shows an agent is a broken one, and documents stay documents.
pub fn unreadable(source: &Source, origin: Origin, why: String) -> FileKind {
    match kind(source, origin) {
        FileKind::Agent(_) | FileKind::Broken(_) => FileKind::Broken(why),
        _ if origin == Origin::Named => FileKind::Broken(why),
        FileKind::Other(what) if what != NO_KEYS => FileKind::Other(what),
        FileKind::Other(_) | FileKind::AmongAgents(..) | FileKind::Unreadable(_) => FileKind::Unreadable(why),
    }
}

fn is_among_agents(place: Option<Place>) -> bool {
    matches!(place, Some(Place { holds: Holds::Agents(_), .. }))
}

/// Whether the name itself says that it is an agent.
fn is_marked(source: &Source) -> bool {
    let name = source.file_name().to_ascii_lowercase();
    [".agent.md", ".chatmode.md"].iter().any(|ending| name.ends_with(ending))
}

fn by_extension(source: &Source, origin: Origin, place: Option<Place>) -> FileKind {
    let name = source.file_name().to_ascii_lowercase();
    let (stem, ending) = name.rsplit_once('.').unwrap_or((&name, ""));
    match ending {
        "md" | "mdc" | "markdown" => markdown(source, stem, origin, place),
        "toml" => toml(source, place),
        "yaml" | "yml" => match goose::parse(source.text) {
            Ok((recipe, _)) => is_recipe(&recipe.values),
            // At the top: the values of charts and workflows have prompts, too.
            Err(why) if ["instructions:", "prompt:"].iter().any(|key| begins_line(source.text, key)) => {
                FileKind::Broken(why)
            }
            Err(why) => FileKind::Unreadable(why),
        },
        "json" | "jsonc" => json(source, stem, place),
        _ => FileKind::Other("not an agent file by its name".into()),
    }
}

fn markdown(source: &Source, stem: &str, origin: Origin, place: Option<Place>) -> FileKind {
    if matches!(stem, "skill" | "hook") {
        let what = if stem == "skill" { places::SKILL } else { "a hook, not an agent" };
        return FileKind::Other(what.into());
    }
    let parts = frontmatter::read(source.text);
    if origin == Origin::Found
        && !is_marked(source)
        && let Some(why) = reason_against_agent(source, stem, &parts, place)
    {
        // Several public collections have agents without frontmatter among the others.
        let is_likely = why == NO_AGENTS_BESIDE || (why == NO_KEYS && is_prompt(&parts.body));
        return if is_likely {
            FileKind::AmongAgents(Format::Claude, why.into())
        } else {
            FileKind::Other(why.into())
        };
    }
    let second = stem.rsplit_once('.').map_or("", |(_, second)| second);
    FileKind::Agent(match place.map(|place| place.holds) {
        _ if matches!(second, "agent" | "chatmode" | "prompt" | "instructions") => Format::Copilot,
        Some(Holds::Agents(Some(format))) if format != Format::Codex => format,
        _ if is_opencode(&parts.keys) => Format::Opencode,
        _ if is_copilot(&parts.keys) => Format::Copilot,
        _ => Format::Claude,
    })
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
const PAGE_KEYS: [&str; 11] = [
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
    "pubDate",
];
/// Keys of rules for editors.
const RULE_KEYS: [&str; 4] = ["globs", "alwaysApply", "applyTo", "inclusion"];
/// Keys of GitHub's agentic workflows, besides `on`.
const WORKFLOW_KEYS: [&str; 5] = ["safe-outputs", "engine", "permissions", "jobs", "timeout-minutes"];

const NO_KEYS: &str =
    "it lacks the keys of an agent and is not in a directory `agents`; name the file itself to import it";

const NO_AGENTS_BESIDE: &str = "plain text with no agent beside it; name the file itself to import it";

/// Whether a text tells its reader who they are.
fn is_prompt(body: &str) -> bool {
    let opens = |line: &str| {
        ["You are a ", "You are an ", "You are the "].iter().any(|start| line.starts_with(start))
    };
    body.lines().any(|line| opens(line.trim_start()))
}

/// Whether the words behind a command are put into a text. One that only tells about it quotes it.
fn takes_arguments(body: &str) -> bool {
    let mut is_quoted = false;
    body.lines().any(|line| {
        is_quoted ^= line.trim_start().starts_with("```");
        !is_quoted && line.split('`').step_by(2).any(|text| text.contains("$ARGUMENTS"))
    })
}

/// Why a Markdown file in a tree is not an agent.
fn reason_against_agent(
    source: &Source,
    stem: &str,
    parts: &frontmatter::Parts,
    place: Option<Place>,
) -> Option<&'static str> {
    let has = |keys: &[&str]| keys.iter().any(|key| parts.keys.contains_key(*key));
    let (name, description, own) = (has(&["name"]), has(&["description"]), has(&AGENT_KEYS));
    let last = stem.rsplit(['_', '-', ' ']).next().unwrap_or(stem);
    // `ARCHITECTURE.md` describes the collection: agents do not have names in capitals.
    let is_upper_case = !parts.has_block && !source.stem().chars().any(char::is_lowercase) && stem.len() > 3;
    let begins_as_readme = stem.starts_with("readme");
    let is_document =
        begins_as_readme || DOCUMENTS.contains(&stem) || DOCUMENT_ENDINGS.contains(&last) || is_upper_case;
    // `README.zh.md`, too.
    let first = stem.split('.').next().unwrap_or(stem);
    if NEVER_AGENTS.contains(&first) || (is_document && !name && !description) {
        return Some("a document by its name");
    }
    if [".prompt", ".instructions"].iter().any(|ending| stem.ends_with(ending)) {
        return Some("a prompt or instruction file of copilot, not an agent");
    }
    if has(&["on"]) && has(&WORKFLOW_KEYS) {
        return Some("a workflow, not an agent");
    }
    if has(&RULE_KEYS) && !own {
        return Some("a rule for an editor, not an agent");
    }
    if takes_arguments(&parts.body) && !has(&["tools"]) && !is_among_agents(place) {
        return Some("a command, not an agent");
    }
    if stem == "charter" && !name && !description {
        return Some("a charter that no imported config names; name the file itself to import it");
    }
    if !parts.has_block && places::is_below(source, "docs") {
        return Some("a document by its directory");
    }
    let is_page =
        has(&PAGE_KEYS) && (!name || (has(&["title", "layout", "permalink"]) && !is_among_agents(place)));
    if is_page && !own {
        return Some("a page or a post, not an agent");
    }
    // In a directory of agents one sign of an agent is enough, and what is directly in it needs none.
    let signs = [name, description, own, is_prompt(&parts.body)].into_iter().filter(|sign| *sign).count();
    let needed = match place {
        // opencode reads everything below its own directory.
        Some(
            Place { holds: Holds::Agents(_), is_direct: true }
            | Place { holds: Holds::Agents(Some(Format::Opencode)), .. },
        ) => 0,
        Some(Place { holds: Holds::Agents(_), .. }) => 1,
        _ => 2,
    };
    if signs < needed {
        return Some(NO_KEYS);
    }
    // `src/agents/notes.md` may be notes about the agents of a program. A place of one tool has only agents.
    let is_bare = signs == 0 && !parts.has_block;
    let is_any_agents = matches!(place, Some(Place { holds: Holds::Agents(None), .. }));
    (is_bare && is_any_agents && !parts.body.is_empty()).then_some(NO_AGENTS_BESIDE)
}

fn is_copilot(keys: &Object) -> bool {
    let own = ["mcp-servers", "handoffs", "argument-hint", "user-invokable", "user-invocable"];
    own.iter().any(|key| keys.contains_key(*key)) && !keys.contains_key("allowed-tools")
}

fn is_opencode(keys: &Object) -> bool {
    let mode = keys.get("mode").and_then(Value::as_str);
    matches!(mode, Some("primary" | "subagent" | "all"))
        || ["permission", "temperature", "top_p", "steps", "maxSteps", "reasoningEffort"]
            .iter()
            .any(|key| keys.contains_key(*key))
        || keys.get("tools").is_some_and(Value::is_object)
}

fn begins_line(text: &str, start: &str) -> bool {
    text.lines().any(|line| line.starts_with(start))
}

fn toml(source: &Source, place: Option<Place>) -> FileKind {
    let object = match toml_keys::parse(source.text) {
        Ok(object) => object,
        Err(why) if source.text.contains("developer_instructions") => return FileKind::Broken(why),
        Err(why) => return FileKind::Unreadable(why),
    };
    let text = |key: &str| object.get(key).is_some_and(Value::is_string);
    let has_prompt = codex::PROMPTS.into_iter().any(text) || !codex::tables(&object).is_empty();
    if has_prompt || (is_among_agents(place) && text("name") && text("description")) {
        FileKind::Agent(Format::Codex)
    } else {
        FileKind::Other("not an agent of codex: it has no instructions".into())
    }
}

fn is_recipe(object: &Object) -> FileKind {
    let has = |key: &str| object.get(key).is_some_and(|value| !value.is_null());
    let has_title = has("title") || (has("name") && (has("parameters") || has("extensions")));
    if (has("instructions") || has("prompt")) && has_title {
        FileKind::Agent(Format::Goose)
    } else {
        FileKind::Other("not a recipe: it has no instructions with a title".into())
    }
}

const OPENCODE_SCHEMA: &str = "https://opencode.ai/config.json";

fn json(source: &Source, stem: &str, place: Option<Place>) -> FileKind {
    let object = match jsonc::parse(source.text) {
        Ok(Value::Object(object)) => object,
        Ok(_) => return FileKind::Other("not agents: it is not an object".into()),
        Err(why) if stem == "opencode" => return FileKind::Broken(why),
        Err(why) => return FileKind::Unreadable(why),
    };
    // Whether there is an object under this key with one of these keys.
    let of = |key: &str, keys: &[&str]| {
        let entries = object.get(key).and_then(Value::as_object).into_iter().flat_map(Object::values);
        entries.filter_map(Value::as_object).any(|entry| keys.iter().any(|key| entry.contains_key(*key)))
    };
    let is_opencode =
        stem == "opencode" || object.get("$schema").is_some_and(|schema| schema == OPENCODE_SCHEMA);
    if opencode::has_agents(&object) && (is_opencode || of("agent", &["prompt", "description"])) {
        FileKind::Agent(Format::Opencode)
    } else if is_opencode {
        FileKind::Other("a config of opencode without agents".into())
    } else if minions::has_agents(source, &object, stem == "config") {
        FileKind::Agent(Format::Minions)
    } else if kiro::is_agent(&object, place.map(|place| place.holds)) {
        FileKind::Agent(Format::Kiro)
    } else if object.contains_key("id")
        && (object.contains_key("tiers") || object.contains_key("systemPrompt"))
    {
        FileKind::Other("already a persona: copy it into a layer, or install its directory as a pack".into())
    } else {
        is_recipe(&object)
    }
}
