//! A run in opencode's terms: one agent in a config file of the session, named by `OPENCODE_CONFIG`. The agent's permission
//! map is in `permission`.

use super::permission::{permission_map, subagent};
use super::{ADAPTER, user_config};
use crate::harness::job::{HarnessPlan, Job, SYSTEM_PROMPT};
use crate::model::demand::Demand;
use crate::model::inherit::Inherit;
use crate::model::persona::McpServer;
use crate::model::plan::{Conversation, Mode};
use crate::model::template::{Hole, Template, unused_character};
use crate::model::warning::WarningCode;
use crate::resolve::references::{Piece, env_names, env_pieces};
use serde_json::{Map, Value, json};

/// Where the plugin below notes the conversation, in the session.
pub const CONVERSATION_NOTE: &str = "tmp/conversation";
/// In a terminal opencode tells nobody but plugins which conversation it has.
const PLUGIN: &str = "conversation-note.js";
const PLUGIN_TEXT: &str = include_str!("conversation_note.js");
/// The directory of skills in the session.
const SKILLS: &str = "skills";

pub fn plan(job: &Job) -> HarnessPlan {
    let mut plan = HarnessPlan::default();
    if job.mode == Mode::Headless {
        // Only its log says which agent and model ran, when a tool starts, and what went wrong on its server.
        for arg in ["run", "--format", "json", "--print-logs", "--log-level", "INFO"] {
            plan.arg(arg);
        }
    }
    plan.value("--agent", &ADAPTER.agent_name(job.persona_id));
    match job.resume {
        Some(Conversation::Id(id)) => plan.value("--session", id),
        Some(Conversation::Latest) => plan.arg("--continue"),
        None => {}
    }
    user_config::protect(&mut plan, job);
    if !job.system_prompt.is_empty() {
        plan.system_prompt_file(job);
    }
    let permission = permission_map(&mut plan, job);
    let content = Template::document(|session| config_text(job, permission.as_ref(), session));
    for name in job.mcp_servers.values().flat_map(McpServer::texts).flat_map(env_names) {
        plan.env.insert(json_variable(name), Template(vec![Hole::JsonVariable(name.to_owned())]));
    }
    if job.mode == Mode::Interactive {
        plan.session_file(PLUGIN, "opencode plugin", Template::text(PLUGIN_TEXT));
    }
    plan.session_file("opencode.json", "opencode config", content);
    plan.env.insert("OPENCODE_CONFIG".into(), Template::session("opencode.json"));
    // opencode leaves a library of several megabytes in the temp directory of every run.
    plan.session_directory("tmp", "temp directory");
    plan.env.insert("TMPDIR".into(), Template::session("tmp"));
    if !reads_project(job) {
        // What the user's own configuration names as instructions is looked for in the project, too.
        plan.env.insert("OPENCODE_DISABLE_PROJECT_CONFIG".into(), Template::text("1"));
    }
    if job.hermetic {
        plan.env.insert("OPENCODE_DISABLE_CLAUDE_CODE_PROMPT".into(), Template::text("1"));
        plan.session_directory("opencode-home", "empty user configuration");
        plan.env.insert("OPENCODE_CONFIG_DIR".into(), Template::session("opencode-home"));
        plan.env.insert("OPENCODE_DISABLE_EXTERNAL_SKILLS".into(), Template::text("1"));
        plan.advisory(
            Demand::Hermetic,
            "no CLAUDE.md and no skills of the user; opencode still reads its global config",
        );
    }
    if job.extras.output_schema.is_some() && job.mode == Mode::Headless {
        plan.unsupported(Demand::OutputSchema, "opencode has no schema for answers");
    }
    enforcement(&mut plan, job);
    plan
}

/// Whether there is anything for opencode in the project, or above it.
fn reads_project(job: &Job) -> bool {
    !job.mounted || job.shows_setup || job.sidecar_bytes.is_some()
}

fn enforcement(plan: &mut HarnessPlan, job: &Job) {
    if job.mounted && reads_project(job) && !job.root_is_repository {
        let text = "opencode reads AGENTS.md of the directories above a project that is not a git repository";
        plan.warn(WarningCode::Exposed, text);
    }
    if job.model.is_some() {
        plan.enforced(Demand::Model, "model of the agent in the config file");
    }
    if job.settings.reasoning.is_some() {
        plan.advisory(Demand::Reasoning, "reasoningEffort is sent; the provider may ignore it");
    }
    let inherits = job.inherit.has(Inherit::Mcp);
    if job.own_servers && inherits && !job.hermetic {
        plan.enforced(Demand::McpServers, "these servers, the repository's and the user's own");
    } else if job.own_servers {
        plan.advisory(Demand::McpServers, "these servers are added; servers of the user's own config stay");
    }
    if inherits {
        let servers = "the repository's servers in the config file, and those of the user's own config";
        plan.enforced(Demand::InheritMcp, format!("{servers}; {}", job.inherited_tools()));
    }
    if job.inherit.has(Inherit::Hooks) {
        let how = "opencode has no hooks; its plugins are programs, and stay hidden";
        plan.unsupported(Demand::InheritHooks, how);
    }
    if job.has_skills {
        plan.skills_path = Some(Template::session(SKILLS));
        plan.enforced(Demand::Skills, "skills.paths in the config file");
    }
    if job.limits.turns.is_some() {
        plan.advisory(Demand::Turns, "steps: opencode tells the agent to stop and goes on");
    }
    match job.limits.usd {
        Some(0.0) => plan.enforced(Demand::Usd, "a cap of zero: the launch is refused"),
        Some(_) => plan.unsupported(Demand::Usd, "opencode has no money cap"),
        None => {}
    }
    if job.bare {
        plan.unsupported(Demand::BareMode, "a mode of claude");
    }
    plan.codex_settings(job);
}

/// The configuration in which every text is literal, except for references of ours.
///
/// opencode replaces `{env:X}` and `{file:PATH}` in the text of its configuration before it reads the JSON, and has no escape for
/// them. JSON has: a `{` that is written as a number is none to opencode.
fn config_text(job: &Job, permission: Option<&Map<String, Value>>, session: &str) -> String {
    // Without a character to mark them, not even our own references are replaced.
    let mark =
        unused_character(&config(job, permission, session, "{")).map_or_else(String::new, String::from);
    let text = config(job, permission, session, &mark);
    let mut literal = String::with_capacity(text.len());
    let (mut is_text, mut is_escaped) = (false, false);
    for c in text.chars() {
        match c {
            '"' if !is_escaped => is_text = !is_text,
            '{' if is_text => {
                literal.push_str("\\u007b");
                continue;
            }
            _ => {}
        }
        is_escaped = c == '\\' && !is_escaped;
        literal.push(c);
    }
    if mark.is_empty() { literal } else { literal.replace(&mark, "{") }
}

/// `open` begins a reference of ours.
fn config(job: &Job, permission: Option<&Map<String, Value>>, session: &str, open: &str) -> String {
    let mut agent = Map::new();
    agent.insert("mode".into(), "primary".into());
    if let Some(model) = job.model {
        // A model without a provider is one of opencode's own.
        let name = if model.contains('/') { model.to_owned() } else { format!("opencode/{model}") };
        agent.insert("model".into(), name.into());
    }
    if !job.system_prompt.is_empty() {
        agent.insert("prompt".into(), format!("{open}file:{session}/{SYSTEM_PROMPT}}}").into());
    }
    if let Some(reasoning) = &job.settings.reasoning {
        agent.insert("reasoningEffort".into(), reasoning.clone().into());
    }
    if let Some(turns) = job.limits.turns {
        agent.insert("steps".into(), turns.into());
    }
    let permission = with_lent_directory(job, permission, session);
    if let Some(permission) = &permission {
        agent.insert("permission".into(), Value::Object(permission.clone()));
    }
    let name = ADAPTER.agent_name(job.persona_id);
    let helper = subagent(&name);
    let mut agents = Map::from_iter([(name, agent.into())]);
    if let Some(permission) =
        permission.as_ref().filter(|map| map.get("task").is_some_and(|task| task.get(&helper).is_some()))
    {
        let about =
            "General-purpose agent for research and tasks of several steps, with your own permissions.";
        agents.insert(helper, json!({"mode": "subagent", "description": about, "permission": permission}));
    }
    let mut config = Map::new();
    // opencode would add the key itself, and the file must not change.
    config.insert("$schema".into(), "https://opencode.ai/config.json".into());
    config.insert("agent".into(), agents.into());
    if !job.mcp_servers.is_empty() {
        let servers: Map<String, Value> =
            job.mcp_servers.iter().map(|(name, server)| (name.clone(), server_json(server, open))).collect();
        config.insert("mcp".into(), Value::Object(servers));
    }
    if job.mode == Mode::Interactive {
        config.insert("plugin".into(), json!([format!("{session}/{PLUGIN}")]));
    }
    if job.has_skills {
        config.insert("skills".into(), json!({"paths": [format!("{session}/{SKILLS}")]}));
    }
    serde_json::to_string_pretty(&config).expect("plain JSON") + "\n"
}

/// A directory outside the project is asked about, and in a headless run nobody answers.
fn with_lent_directory(
    job: &Job,
    permission: Option<&Map<String, Value>>,
    session: &str,
) -> Option<Map<String, Value>> {
    let Some(name) = &job.extras.lent_directory else { return permission.cloned() };
    let mut permission = permission.cloned().unwrap_or_default();
    let others = match job.mode {
        Mode::Headless => "deny",
        Mode::Interactive => "ask",
    };
    let others = permission.get("external_directory").cloned().unwrap_or_else(|| others.into());
    let mut rules = match others {
        Value::Object(rules) => rules,
        action => Map::from_iter([("*".to_owned(), action)]),
    };
    rules.insert(format!("{session}/{name}/*"), "allow".into());
    permission.insert("external_directory".into(), Value::Object(rules));
    Some(permission)
}

fn server_json(server: &McpServer, open: &str) -> Value {
    let referring = |text: &str| referring(text, open);
    let map = |map: &std::collections::BTreeMap<String, String>| -> Map<String, Value> {
        map.iter().map(|(key, value)| (key.clone(), Value::String(referring(value)))).collect()
    };
    match &server.url {
        Some(url) => {
            json!({"type": "remote", "url": referring(url), "headers": map(&server.headers), "enabled": true})
        }
        None => {
            let words =
                server.command.iter().chain(&server.args).map(|word| referring(word)).collect::<Vec<_>>();
            json!({"type": "local", "command": words, "environment": map(&server.env), "enabled": true})
        }
    }
}

/// opencode's own spelling of a reference to a variable.
fn referring(text: &str, open: &str) -> String {
    let piece = |piece: Piece| match piece {
        Piece::Text(text) => text.to_owned(),
        Piece::Variable(name) => format!("{open}env:{}}}", json_variable(name)),
    };
    env_pieces(text).into_iter().map(piece).collect()
}

/// The variable with the value as a part of a JSON text. The value itself could end the text that it is pasted into.
fn json_variable(name: &str) -> String {
    format!("AGENTWORKFORCE_JSON_{name}")
}
