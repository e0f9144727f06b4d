//! The persona's permissions as opencode's permission map.

use super::ADAPTER;
use crate::harness::job::{HarnessPlan, Job};
use crate::model::demand::Demand;
use crate::model::plan::Mode;
use crate::model::tool_rule::{ToolRule, mcp_name};
use crate::model::warning::WarningCode;
use serde_json::{Map, Value};

/// The first words of tools and permissions of opencode's own (`external_directory`): a pattern for a server of that name allows them.
const NAMES_WITH_UNDERSCORE: [&str; 5] = ["apply", "doom", "external", "plan", "todo"];

/// The ordered map of opencode, in which the last match wins: mode first, then allow, then deny.
/// Without any permissions in the persona, opencode uses its own rules.
pub fn permission_map(plan: &mut HarnessPlan, job: &Job) -> Option<Map<String, Value>> {
    let permissions = job.permissions;
    if permissions.allow.is_none() && permissions.deny.is_empty() && permissions.mode.is_none() {
        let mut table = Table { entries: Vec::new() };
        add_extras(plan, job, &mut table);
        return (!table.entries.is_empty()).then(|| table.into_map());
    }
    // Nobody can answer in a headless run: opencode would end it at the first question.
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
    for server in job.allowed_servers() {
        let name = mcp_name(server);
        if NAMES_WITH_UNDERSCORE.contains(&name.as_str()) {
            let text = format!(
                "tools of the server `{server}` stay as the mode says: opencode has tools of such names"
            );
            plan.warn(WarningCode::NotEnforced, text);
        } else {
            table.set(&format!("{name}_*"), "*", "allow");
        }
    }
    let mut inexact = Vec::new();
    for entry in permissions.allow.iter().flatten() {
        if !table.add(&ToolRule::parse(entry), "allow") {
            inexact.push(entry.as_str());
        }
    }
    if !inexact.is_empty() {
        plan.warn(
            WarningCode::NotEnforced,
            format!("opencode has no such pattern, so these stay as the mode says: {}", inexact.join(", ")),
        );
    }
    let mut widened = Vec::new();
    for entry in &permissions.deny {
        let rule = ToolRule::parse(entry);
        if !table.add(&rule, "deny") {
            // A deny must deny: without an exact pattern the whole tool is denied, under any name.
            if !table.add(&ToolRule { tool: rule.tool, argument: None }, "deny") {
                table.set(rule.tool, "*", "deny");
                table.set(&rule.tool.to_lowercase(), "*", "deny");
            }
            widened.push(entry.as_str());
        }
    }
    if !widened.is_empty() {
        plan.warn(
            WarningCode::NotEnforced,
            format!("opencode has no such pattern, so the whole tool is denied: {}", widened.join(", ")),
        );
    }
    if permissions.allow.is_some() && inexact.is_empty() {
        let how = "permission map of the agent; an allowed command may be redirected into a file";
        plan.enforced(Demand::Allow, how);
    } else if permissions.allow.is_some() {
        plan.advisory(Demand::Allow, format!("not allowed beforehand: {}", inexact.join(", ")));
    }
    if !permissions.deny.is_empty() {
        plan.enforced(
            Demand::Deny,
            "permission map of the agent, deny last; patterns match a command as it is written",
        );
    }
    if permissions.mode.is_some() {
        plan.enforced(Demand::PermissionMode, "permission map of the agent");
    }
    table.restrict_subagents(&subagent(&ADAPTER.agent_name(job.persona_id)));
    add_extras(plan, job, &mut table);
    Some(table.into_map())
}

/// What the caller adds, last: the last match wins.
fn add_extras(plan: &mut HarnessPlan, job: &Job, table: &mut Table) {
    if job.extras.no_subagents {
        table.set("task", "*", "deny");
        plan.enforced(Demand::NoSubagents, "`task` is denied in the permission map of the agent");
    }
}

/// The only agent that the agent of a persona may start. Any other has permissions of its own.
pub fn subagent(agent: &str) -> String {
    format!("{agent}/helper")
}

/// `git log:*` allows `git log` and `git log ...`, not `git logs`; a deny may cover that too.
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
            // The last matching key decides, so the latest rule goes to the end.
            Some(index) => self.entries.remove(index).1,
            None => {
                // A new key repeats the rule for all tools, or its patterns alone would decide.
                let for_all =
                    self.entries.iter().find(|(name, _)| name == "*").and_then(|(_, rules)| rules.last());
                for_all.map(|(pattern, action)| (pattern.clone(), *action)).into_iter().collect()
            }
        };
        if pattern == "*" {
            patterns.clear();
        }
        patterns.retain(|(existing, _)| existing != pattern);
        patterns.push((pattern.to_owned(), action));
        self.entries.push((key.to_owned(), patterns));
    }

    /// False if opencode has no such pattern.
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
        // As opencode names its tools.
        let plain = |c: char| if c.is_ascii_alphanumeric() || "_-*".contains(c) { c } else { '_' };
        let name: String = name.chars().map(plain).collect();
        let key = match name.split_once("__") {
            Some((server, tool)) => format!("{server}_{tool}"),
            None => format!("{name}_*"),
        };
        self.set(&key, "*", action);
        true
    }

    /// Lets only this agent be started, and only if tasks may be started at all.
    fn restrict_subagents(&mut self, subagent: &str) {
        let is_unrestricted =
            self.entries.iter().all(|(_, rules)| rules.iter().all(|(_, action)| *action == "allow"));
        let decides = ["task", "*"].iter().find_map(|key| self.entries.iter().find(|(name, _)| name == key));
        let action = decides.and_then(|(_, rules)| rules.last()).map(|(_, action)| *action);
        if let Some(action) = action.filter(|action| *action != "deny" && !is_unrestricted) {
            self.set("task", "*", "deny");
            self.set("task", subagent, action);
        }
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
