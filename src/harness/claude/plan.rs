//! A run in claude's terms: flags for nearly everything, MCP servers and settings in files of the session.

use super::user_config;
use crate::harness::job::{HarnessPlan, Job, SYSTEM_PROMPT};
use crate::model::demand::Demand;
use crate::model::inherit::Inherit;
use crate::model::persona::McpServer;
use crate::model::plan::{Conversation, Mode};
use crate::model::template::{Hole, Template};
use crate::model::tool_rule::{ToolRule, mcp_name};
use crate::model::warning::WarningCode;
use serde_json::{Map, Value, json};

const EFFORTS: [&str; 5] = ["low", "medium", "high", "xhigh", "max"];

/// The tools that start other agents, by their old and new name.
const SUBAGENT_TOOLS: [&str; 3] = ["Task", "Agent", "Workflow"];

pub fn plan(job: &Job) -> HarnessPlan {
    let mut plan = HarnessPlan::default();
    if job.mode == Mode::Headless {
        for arg in ["-p", "--output-format", "stream-json", "--verbose"] {
            plan.arg(arg);
        }
    }
    if let Some(model) = job.model {
        plan.value("--model", model);
        plan.enforced(Demand::Model, "--model");
    }
    effort(&mut plan, job);
    if !job.system_prompt.is_empty() {
        plan.system_prompt_file(job);
        plan.option_at("--append-system-prompt-file", Template::session(SYSTEM_PROMPT));
    }
    mcp(&mut plan, job);
    if job.has_skills {
        plan.option_at("--plugin-dir", Template::session("plugin"));
        plan.skills_path = Some(Template::session("plugin/skills"));
        if job.bare {
            plan.unsupported(Demand::Skills, "bare mode keeps claude from offering them");
        } else {
            plan.enforced(Demand::Skills, "--plugin-dir");
        }
    }
    permissions(&mut plan, job);
    extras(&mut plan, job);
    settings(&mut plan, job);
    limits(&mut plan, job);
    match job.resume {
        Some(Conversation::Id(id)) => plan.value("--resume", id),
        Some(Conversation::Latest) => plan.arg("--continue"),
        // With an id of ours it is known which conversation the session has.
        None if !chooses_conversation(job.own_args) => {
            plan.args.push(Template::text("--session-id=").then(Hole::ConversationId));
        }
        None => {}
    }
    user_config::protect(&mut plan, job);
    if job.bare {
        plan.arg("--bare");
        plan.enforced(Demand::BareMode, "--bare");
        plan.sidecar_unread = Some("bare mode keeps claude from reading it");
        if job.sidecar_bytes.is_some() {
            plan.warn(
                WarningCode::NotUsed,
                "`bareMode` makes claude ignore CLAUDE.md: the sidecar is written but not read",
            );
        }
    }
    plan.codex_settings(job);
    plan
}

/// Whether the user's own arguments say which conversation it is. claude takes no second word about it.
fn chooses_conversation(args: &[String]) -> bool {
    const OPTIONS: [&str; 7] =
        ["--session-id", "--resume", "-r", "--continue", "-c", "--from-pr", "--fork-session"];
    args.iter().any(|arg| OPTIONS.contains(&arg.split('=').next().unwrap_or(arg)))
}

fn effort(plan: &mut HarnessPlan, job: &Job) {
    let Some(reasoning) = job.settings.reasoning.as_deref() else { return };
    if !EFFORTS.contains(&reasoning) {
        plan.unsupported(Demand::Reasoning, format!("claude knows {}", EFFORTS.join(", ")));
        return;
    }
    plan.value("--effort", reasoning);
    if job.model.is_some_and(takes_effort) {
        plan.enforced(Demand::Reasoning, "--effort");
    } else {
        plan.advisory(Demand::Reasoning, "--effort; claude leaves it out for models without it");
    }
}

/// Observed with claude 2.1.197: it sends older models and haiku a thinking budget of its own instead.
fn takes_effort(model: &str) -> bool {
    const WITHOUT: [&str; 5] = ["haiku", "claude-3", "sonnet-4-0", "sonnet-4-2", "sonnet-4-5"];
    !WITHOUT.iter().any(|name| model.contains(name))
}

/// The file form keeps secrets off the command line; claude fills in `${VAR}` itself.
fn mcp(plan: &mut HarnessPlan, job: &Job) {
    let servers: Map<String, Value> =
        job.mcp_servers.iter().map(|(name, server)| (name.clone(), server_json(server))).collect();
    let text = serde_json::to_string_pretty(&json!({ "mcpServers": servers })).expect("plain JSON") + "\n";
    plan.session_file("mcp.json", "MCP servers", Template::text(text));
    plan.option_at("--mcp-config", Template::session("mcp.json"));
    // Without the strict flag claude also starts the user's servers, and those of the repository's own .mcp.json.
    let inherits = job.inherit.has(Inherit::Mcp);
    let is_strict = !inherits || job.hermetic || job.has_unclear_servers;
    if is_strict {
        plan.arg("--strict-mcp-config");
        if job.own_servers {
            let others = if inherits { ", the repository's" } else { "" };
            let how = format!("--mcp-config with --strict-mcp-config: these servers{others} and no others");
            plan.enforced(Demand::McpServers, how);
        }
    } else if job.own_servers {
        plan.enforced(Demand::McpServers, "--mcp-config: these servers, the repository's and the user's own");
    }
    if inherits && is_strict {
        let why = if job.hermetic { "`hermetic` keeps" } else { "--strict-mcp-config keeps" };
        plan.enforced(
            Demand::InheritMcp,
            format!(
                "the repository's servers in --mcp-config; {why} the user's own out; {}",
                job.inherited_tools()
            ),
        );
    } else if inherits {
        plan.enforced(
            Demand::InheritMcp,
            format!(
                "the repository's servers in --mcp-config, and the user's own: no --strict-mcp-config; {}",
                job.inherited_tools()
            ),
        );
    }
}

/// Hooks of the repository are settings of this run. Without a mount claude reads the repository's own.
fn hooks(plan: &mut HarnessPlan, job: &Job, settings: &mut Map<String, Value>) {
    if !job.inherit.has(Inherit::Hooks) {
        return;
    }
    if !job.mounted {
        plan.enforced(Demand::InheritHooks, "claude reads the settings of the real directory");
        return;
    }
    if !job.hooks.is_empty() {
        settings.insert("hooks".into(), Value::Object(job.hooks.clone()));
    }
    plan.enforced(Demand::InheritHooks, "hooks of the repository's settings, in --settings");
}

fn server_json(server: &McpServer) -> Value {
    match &server.url {
        Some(url) => {
            let kind = server.kind.as_deref().unwrap_or("http");
            let mut value = json!({"type": kind, "url": braced(url)});
            if !server.headers.is_empty() {
                value["headers"] = braced_map(&server.headers);
            }
            value
        }
        None => {
            let args: Vec<String> = server.args.iter().map(|arg| braced(arg)).collect();
            let mut value = json!({"type": "stdio", "command": braced(server.command.as_deref().unwrap_or_default()), "args": args});
            if !server.env.is_empty() {
                value["env"] = braced_map(&server.env);
            }
            value
        }
    }
}

/// claude expands only the braced form; a whole-value `$VAR` is the same reference.
fn braced(text: &str) -> String {
    use crate::resolve::references::{Piece, env_pieces};
    let piece = |piece: Piece| match piece {
        Piece::Text(text) => text.to_owned(),
        Piece::Variable(name) => format!("${{{name}}}"),
    };
    env_pieces(text).into_iter().map(piece).collect()
}

fn braced_map(map: &std::collections::BTreeMap<String, String>) -> Value {
    map.iter().map(|(key, value)| (key.clone(), Value::String(braced(value)))).collect::<Map<_, _>>().into()
}

fn permissions(plan: &mut HarnessPlan, job: &Job) {
    let permissions = job.permissions;
    for server in job.allowed_servers() {
        let name = mcp_name(server);
        // That would be a tool of another server.
        if !name.contains("__") {
            plan.value("--allowedTools", &format!("mcp__{name}"));
        }
    }
    if let Some(allow) = &permissions.allow {
        if allow.is_empty() {
            // An empty list allows nothing beforehand; without the flag, claude would use its defaults.
            plan.value("--allowedTools", "");
        }
        // One flag for each: claude adds them up.
        for entry in allow {
            plan.value("--allowedTools", entry);
        }
        let edits = allow.iter().any(|entry| ToolRule::parse(entry).edits_files());
        if edits && permissions.mode.as_deref() == Some("plan") {
            plan.advisory(Demand::Allow, "--allowedTools; claude edits nothing while it plans");
        } else {
            plan.enforced(Demand::Allow, "--allowedTools: these run without asking");
        }
    }
    if !permissions.deny.is_empty() {
        for entry in &permissions.deny {
            plan.value("--disallowedTools", entry);
        }
        plan.enforced(
            Demand::Deny,
            "--disallowedTools: removed, or denied when called; patterns match a command as it is written",
        );
    }
    if let Some(mode) = &permissions.mode {
        plan.value("--permission-mode", mode);
        let how = if job.hermetic {
            "--permission-mode"
        } else {
            "--permission-mode; what the user's own settings and agents allow stays allowed"
        };
        plan.enforced(Demand::PermissionMode, how);
    } else if permissions.allow.is_some() {
        // A list of what is allowed means little if the user's own default mode allows the rest.
        plan.value("--permission-mode", "default");
    }
}

/// What the caller adds. A denied tool is removed, whatever the permission mode.
fn extras(plan: &mut HarnessPlan, job: &Job) {
    if job.extras.no_subagents {
        for tool in SUBAGENT_TOOLS {
            plan.value("--disallowedTools", tool);
        }
        plan.enforced(Demand::NoSubagents, "--disallowedTools Task, Agent, Workflow: removed");
    }
    if let Some(name) = &job.extras.lent_directory {
        plan.option_at("--add-dir", Template::session(name));
        // Outside the project it would ask, and nobody could answer.
        plan.args.push(
            Template::text("--allowedTools=Edit(/").then(Hole::Session).then_text(format!("/{name}/**)")),
        );
    }
    if let Some(schema) = job.extras.output_schema.as_ref().filter(|_| job.mode == Mode::Headless) {
        plan.value("--json-schema", &schema.to_string());
        plan.advisory(
            Demand::OutputSchema,
            "--json-schema; a model that never complies ends without such an answer",
        );
    }
}

/// Settings of this run, on top of the user's.
fn settings(plan: &mut HarnessPlan, job: &Job) {
    if job.hermetic {
        plan.option("--setting-sources", "project,local");
        // Notes of earlier sessions are the user's too, and not covered by the setting sources.
        plan.env.insert("CLAUDE_CODE_DISABLE_AUTO_MEMORY".into(), Template::text("1"));
        plan.enforced(Demand::Hermetic, "--setting-sources project,local, and no memory of earlier sessions");
    }
    let mut settings = Map::new();
    hooks(plan, job, &mut settings);
    if !job.foreign_servers.is_empty() {
        settings.insert("disabledMcpjsonServers".into(), json!(job.foreign_servers));
    }
    if job.mounted {
        settings.insert("claudeMdExcludes".into(), json!(instructions_above(job)));
    }
    if settings.is_empty() {
        return;
    }
    let text = serde_json::to_string_pretty(&settings).expect("plain JSON") + "\n";
    plan.session_file("claude-settings.json", "claude settings", Template::text(text));
    plan.option_at("--settings", Template::session("claude-settings.json"));
}

/// Instruction files above the mounted directory belong to other projects, but claude would read them.
fn instructions_above(job: &Job) -> Vec<String> {
    let names = ["CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md"];
    let user_level = job.home.map(|home| home.join(".claude"));
    job.root
        .ancestors()
        .skip(1)
        .flat_map(|dir| names.iter().map(move |name| dir.join(name)))
        .filter(|file| !user_level.as_ref().is_some_and(|level| file.starts_with(level)))
        .map(|file| file.display().to_string())
        .collect()
}

fn limits(plan: &mut HarnessPlan, job: &Job) {
    let headless = job.mode == Mode::Headless;
    if let Some(turns) = job.limits.turns {
        if headless {
            plan.option("--max-turns", turns.to_string());
            plan.enforced(Demand::Turns, "--max-turns");
        } else {
            plan.unsupported(Demand::Turns, "claude counts turns in headless runs only");
        }
    }
    if let Some(usd) = job.limits.usd {
        if usd == 0.0 {
            plan.enforced(Demand::Usd, "a cap of zero: the launch is refused");
        } else if headless {
            plan.option("--max-budget-usd", usd.to_string());
            plan.enforced(Demand::Usd, "--max-budget-usd, checked after each model call");
        } else {
            plan.unsupported(Demand::Usd, "claude caps money in headless runs only");
        }
    }
}
