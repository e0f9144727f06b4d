//! opencode: one agent in a config file of the session, named by `OPENCODE_CONFIG`.

use super::{SYSTEM_PROMPT, session_file, settings_of_codex, system_prompt_file};
use crate::model::persona::McpServer;
use crate::model::plan::{Conversation, FileBody, Mode, PlannedFile};
use crate::model::template::Template;
use crate::model::tool_rule::ToolRule;
use crate::plan::job::{HarnessPlan, Job};
use crate::resolve::references::{Piece, env_pieces};
use serde_json::{Map, Value, json};

/// The directory of skills in the session.
const SKILLS: &str = "skills";

pub fn plan(job: &Job) -> HarnessPlan {
    let mut plan = HarnessPlan::new("opencode");
    if job.mode == Mode::Headless {
        // Its log alone says which agent and model ran, when a tool starts, and what went wrong on its server.
        for arg in ["run", "--format", "json", "--print-logs", "--log-level", "INFO"] {
            plan.arg(arg);
        }
    }
    plan.option("--agent", job.persona_id);
    match job.resume {
        Some(Conversation::Id(id)) => plan.option("--session", id),
        Some(Conversation::Latest) => plan.arg("--continue"),
        None => {}
    }
    let state = ["share/opencode", "state/opencode"].map(|dir| format!(".local/{dir}"));
    let state = state.into_iter().chain([".config/opencode".to_owned()]);
    plan.state = job.home.into_iter().flat_map(|home| state.clone().map(|dir| home.join(dir))).collect();

    if !job.system_prompt.is_empty() {
        plan.files.push(system_prompt_file(job));
    }
    let permission = permission_map(&mut plan, job);
    let content = Template::document(|session| config(job, permission.as_ref(), session));
    plan.files.push(session_file("opencode.json", "opencode config", content));
    plan.env.insert("OPENCODE_CONFIG".into(), Template::session("opencode.json"));
    // opencode leaves a library of several megabytes in the temp directory of every run.
    plan.files.push(PlannedFile {
        path: Template::session("tmp"),
        purpose: "temp directory".into(),
        body: FileBody::Directory(true),
    });
    plan.env.insert("TMPDIR".into(), Template::session("tmp"));
    if job.hermetic {
        plan.env.insert("OPENCODE_DISABLE_CLAUDE_CODE_PROMPT".into(), Template::text("1"));
        plan.files.push(PlannedFile {
            path: Template::session("opencode-home"),
            purpose: "empty user configuration".into(),
            body: FileBody::Directory(true),
        });
        plan.env.insert("OPENCODE_CONFIG_DIR".into(), Template::session("opencode-home"));
        plan.env.insert("OPENCODE_DISABLE_EXTERNAL_SKILLS".into(), Template::text("1"));
        plan.advisory(
            "hermetic",
            "no CLAUDE.md and no skills of the user; opencode still reads its global config",
        );
    }
    enforcement(&mut plan, job);
    plan
}

fn enforcement(plan: &mut HarnessPlan, job: &Job) {
    if job.mounted && !job.root_is_repository {
        plan.warn("opencode reads AGENTS.md of the directories above a project that is no git repository");
    }
    if job.model.is_some() {
        plan.enforced("model", "model of the agent in the config file");
    }
    if job.settings.reasoning.is_some() {
        plan.advisory("harnessSettings.reasoning", "reasoningEffort is sent; the provider may ignore it");
    }
    if !job.mcp_servers.is_empty() {
        plan.advisory("mcpServers", "these servers are added; servers of the user's own config stay");
    }
    if job.has_skills {
        plan.skills_path = Some(Template::session(SKILLS));
        plan.enforced("skills", "skills.paths in the config file");
    }
    if job.limits.turns.is_some() {
        plan.advisory("limits.turns", "steps: opencode tells the agent to stop and goes on");
    }
    match job.limits.usd {
        Some(0.0) => plan.enforced("limits.usd", "a cap of zero: the launch is refused"),
        Some(_) => plan.unsupported("limits.usd", "opencode has no money cap"),
        None => {}
    }
    if job.bare {
        plan.unsupported("bareMode", "a mode of claude");
    }
    settings_of_codex(plan, job);
}

fn config(job: &Job, permission: Option<&Map<String, Value>>, session: &str) -> String {
    let mut agent = Map::new();
    agent.insert("mode".into(), "primary".into());
    if let Some(model) = job.model {
        // A model without a provider is one of opencode's own.
        let name = if model.contains('/') { model.to_owned() } else { format!("opencode/{model}") };
        agent.insert("model".into(), name.into());
    }
    if !job.system_prompt.is_empty() {
        agent.insert("prompt".into(), format!("{{file:{session}/{SYSTEM_PROMPT}}}").into());
    }
    if let Some(reasoning) = &job.settings.reasoning {
        agent.insert("reasoningEffort".into(), reasoning.clone().into());
    }
    if let Some(turns) = job.limits.turns {
        agent.insert("steps".into(), turns.into());
    }
    if let Some(permission) = permission {
        agent.insert("permission".into(), Value::Object(permission.clone()));
    }
    let mut config = Map::new();
    // It adds the key itself where it is missing, and the file is not to be changed.
    config.insert("$schema".into(), "https://opencode.ai/config.json".into());
    config.insert("agent".into(), json!({ job.persona_id: agent }));
    if !job.mcp_servers.is_empty() {
        let servers: Map<String, Value> =
            job.mcp_servers.iter().map(|(name, server)| (name.clone(), server_json(server))).collect();
        config.insert("mcp".into(), Value::Object(servers));
    }
    if job.has_skills {
        config.insert("skills".into(), json!({"paths": [format!("{session}/{SKILLS}")]}));
    }
    serde_json::to_string_pretty(&config).expect("plain JSON") + "\n"
}

fn server_json(server: &McpServer) -> Value {
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
fn referring(text: &str) -> String {
    let piece = |piece: Piece| match piece {
        Piece::Text(text) => text.to_owned(),
        Piece::Variable(name) => format!("{{env:{name}}}"),
    };
    env_pieces(text).into_iter().map(piece).collect()
}

/// The ordered map of opencode, in which the last match wins: mode first, then allow, then deny.
/// A persona that says nothing leaves opencode to its own rules.
fn permission_map(plan: &mut HarnessPlan, job: &Job) -> Option<Map<String, Value>> {
    let permissions = job.permissions;
    if permissions.allow.is_none() && permissions.deny.is_empty() && permissions.mode.is_none() {
        return None;
    }
    // Headless nobody can answer: opencode would end the run at the first question.
    let ask = if job.mode == Mode::Headless { "deny" } else { "ask" };
    let mut table = Table { entries: Vec::new() };
    match permissions.mode.as_deref() {
        Some("bypassPermissions") => table.set("*", "*", "allow"),
        mode => {
            table.set("*", "*", ask);
            for tool in ["read", "grep", "glob", "list", "todowrite", "todoread", "skill"] {
                table.set(tool, "*", "allow");
            }
            if mode == Some("acceptEdits") {
                table.set("edit", "*", "allow");
            } else if mode == Some("plan") {
                table.set("edit", "*", "deny");
            }
        }
    }
    let mut inexact = Vec::new();
    for entry in permissions.allow.iter().flatten() {
        if !table.add(&ToolRule::parse(entry), "allow") {
            inexact.push(entry.as_str());
        }
    }
    if !inexact.is_empty() {
        plan.warn(format!(
            "opencode has no such pattern, so these stay as the mode says: {}",
            inexact.join(", ")
        ));
    }
    let mut widened = Vec::new();
    for entry in &permissions.deny {
        let rule = ToolRule::parse(entry);
        if !table.add(&rule, "deny") {
            // A deny must deny: what cannot be said exactly is denied whole, and under any name.
            if !table.add(&ToolRule { tool: rule.tool, argument: None }, "deny") {
                table.set(rule.tool, "*", "deny");
                table.set(&rule.tool.to_lowercase(), "*", "deny");
            }
            widened.push(entry.as_str());
        }
    }
    if !widened.is_empty() {
        plan.warn(format!(
            "opencode has no such pattern, so the whole tool is denied: {}",
            widened.join(", ")
        ));
    }
    if permissions.allow.is_some() && inexact.is_empty() {
        let how = "permission map of the agent; an allowed command may be redirected into a file";
        plan.enforced("permissions.allow", how);
    } else if permissions.allow.is_some() {
        plan.advisory("permissions.allow", format!("not allowed beforehand: {}", inexact.join(", ")));
    }
    if !permissions.deny.is_empty() {
        plan.enforced(
            "permissions.deny",
            "permission map of the agent, deny last; patterns match a command as it is written",
        );
    }
    if permissions.mode.is_some() {
        plan.enforced("permissions.mode", "permission map of the agent");
    }
    Some(table.into_map())
}

/// `git log:*` allows `git log` and what begins with it and a space, not `git logs`; a deny may take that along.
fn command_patterns(rule: &ToolRule, action: &str) -> Vec<String> {
    match rule.argument.and_then(|argument| argument.strip_suffix(":*")) {
        Some(prefix) if action == "allow" => vec![prefix.to_owned(), format!("{prefix} *")],
        _ => rule.command_pattern().into_iter().collect(),
    }
}

/// Permission keys in order, each with its patterns in order.
struct Table {
    entries: Vec<(String, Vec<(String, &'static str)>)>,
}

impl Table {
    fn set(&mut self, key: &str, pattern: &str, action: &'static str) {
        let mut patterns = match self.entries.iter().position(|(name, _)| name == key) {
            // The last key that fits decides, so what is said last goes to the end.
            Some(index) => self.entries.remove(index).1,
            None => {
                // A key of its own must repeat what the blanket says, or its patterns alone would decide.
                let blanket =
                    self.entries.iter().find(|(name, _)| name == "*").and_then(|(_, rules)| rules.last());
                blanket.map(|(pattern, action)| (pattern.clone(), *action)).into_iter().collect()
            }
        };
        if pattern == "*" {
            patterns.clear();
        }
        patterns.retain(|(existing, _)| existing != pattern);
        patterns.push((pattern.to_owned(), action));
        self.entries.push((key.to_owned(), patterns));
    }

    /// False where opencode has no way to say this.
    fn add(&mut self, rule: &ToolRule, action: &'static str) -> bool {
        let key = match rule.tool {
            "Read" => "read",
            "Grep" => "grep",
            "Glob" => "glob",
            "LS" => "list",
            "Bash" => "bash",
            "WebFetch" => "webfetch",
            "WebSearch" => "websearch",
            "Task" | "Agent" => "task",
            "Skill" => "skill",
            "TodoWrite" => "todowrite",
            _ if rule.edits_files() => "edit",
            tool => return self.add_mcp(tool, rule, action),
        };
        match (rule.argument, key) {
            (None, "edit") if rule.tool == "NotebookEdit" => true,
            (None, _) => {
                self.set(key, "*", action);
                true
            }
            (Some(_), "bash") => {
                for pattern in command_patterns(rule, action) {
                    self.set(key, &pattern, action);
                }
                true
            }
            (Some(_), _) => false,
        }
    }

    fn add_mcp(&mut self, tool: &str, rule: &ToolRule, action: &'static str) -> bool {
        let Some(name) = tool.strip_prefix("mcp__") else { return false };
        if rule.argument.is_some() {
            return false;
        }
        let key = match name.split_once("__") {
            Some((server, tool)) => format!("{server}_{tool}"),
            None => format!("{name}_*"),
        };
        self.set(&key, "*", action);
        true
    }

    fn into_map(self) -> Map<String, Value> {
        let value = |rules: Vec<(String, &'static str)>| match rules.as_slice() {
            [(pattern, action)] if pattern == "*" => Value::from(*action),
            _ => rules
                .into_iter()
                .map(|(pattern, action)| (pattern, Value::from(action)))
                .collect::<Map<_, _>>()
                .into(),
        };
        self.entries.into_iter().map(|(key, rules)| (key, value(rules))).collect()
    }
}
