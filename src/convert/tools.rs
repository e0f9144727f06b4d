//! What other tools call the things an agent may do, in the words of persona files.

use super::account::Account;
use crate::model::tool_rule::ToolRule;
use serde_json::Value;
use std::collections::HashSet;

/// Tools that change something or reach out. A source that lists its tools means that it has no others; these are the
/// ones that matter when it says nothing about them.
const WEIGHTY: [&str; 6] = ["Bash", "Edit", "Write", "NotebookEdit", "WebFetch", "WebSearch"];

/// What a list of tools leaves out.
pub fn left_out(allowed: &[String]) -> Vec<&'static str> {
    let base = |entry: &str| entry.split('(').next().unwrap_or_default().trim().to_owned();
    let has = |tool: &str| allowed.iter().any(|entry| base(entry) == tool || base(entry) == "*");
    let covers = |tool: &str| match tool {
        "Edit" => has("Edit") || has("MultiEdit"),
        "NotebookEdit" => has("NotebookEdit") || has("Edit") || has("MultiEdit"),
        tool => has(tool),
    };
    WEIGHTY.into_iter().filter(|tool| !covers(tool)).collect()
}

/// Why a mode that lets things run unasked cannot stand beside these denials.
pub fn contradicted(mode: &str, deny: &[String]) -> Option<&'static str> {
    let denied = |tool: &str| {
        deny.iter()
            .map(|entry| ToolRule::parse(entry))
            .any(|rule| rule.tool == tool && rule.argument.is_none())
    };
    match mode {
        "acceptEdits" | "bypassPermissions" if denied("Edit") || denied("Write") => {
            Some("it may not edit files")
        }
        "bypassPermissions" if denied("Bash") => Some("it may not run commands"),
        _ => None,
    }
}

/// The tools of opencode in ours, `None` where we have no word for it.
pub fn of_opencode(name: &str) -> Option<&'static [&'static str]> {
    Some(match name {
        "read" => &["Read"],
        "edit" => &["Edit", "Write"],
        "write" => &["Write"],
        "patch" | "multiedit" => &["Edit"],
        "grep" => &["Grep"],
        "glob" => &["Glob"],
        "list" => &["LS"],
        "bash" => &["Bash"],
        "webfetch" => &["WebFetch"],
        "websearch" => &["WebSearch"],
        "task" => &["Task"],
        "skill" => &["Skill"],
        "todowrite" => &["TodoWrite"],
        _ => return None,
    })
}

/// Our tool as opencode's permission key.
pub fn to_opencode(tool: &str) -> Option<String> {
    Some(match tool {
        "Read" => "read".into(),
        "Grep" => "grep".into(),
        "Glob" => "glob".into(),
        "LS" => "list".into(),
        "Bash" => "bash".into(),
        "WebFetch" => "webfetch".into(),
        "WebSearch" => "websearch".into(),
        "Task" | "Agent" => "task".into(),
        "Skill" => "skill".into(),
        "TodoWrite" => "todowrite".into(),
        "Edit" | "Write" | "MultiEdit" | "NotebookEdit" => "edit".into(),
        tool => {
            let name = tool.strip_prefix("mcp__")?;
            name.split_once("__")
                .map_or_else(|| format!("{name}_*"), |(server, tool)| format!("{server}_{tool}"))
        }
    })
}

/// The tools of copilot in ours, by name or by the set that they belong to.
pub fn of_copilot(name: &str) -> Option<Vec<String>> {
    let ours: &[&str] = match name.to_ascii_lowercase().as_str() {
        "read" | "readfile" | "view" | "notebookread" | "problems" | "read/readfile" | "read/problems" => {
            &["Read"]
        }
        "edit" | "editfiles" | "multiedit" | "write" | "edit/editfiles" | "new" | "edit/createfile" => {
            &["Edit", "Write"]
        }
        "notebookedit" | "editnotebook" | "runnotebooks" => &["NotebookEdit"],
        "search" | "codebase" | "usages" | "findtestfiles" | "grep" | "glob" | "textsearch"
        | "filesearch" | "search/codebase" | "search/usages" | "searchresults" => &["Grep", "Glob"],
        "execute"
        | "shell"
        | "bash"
        | "powershell"
        | "runcommands"
        | "runtasks"
        | "runinterminal"
        | "runtests"
        | "terminallastcommand"
        | "execute/runinterminal"
        | "terminalselection" => &["Bash"],
        "web" | "fetch" | "webfetch" | "web/fetch" => &["WebFetch"],
        "websearch" => &["WebSearch"],
        "agent" | "task" | "custom-agent" | "runsubagent" => &["Task"],
        "todo" | "todos" | "todowrite" => &["TodoWrite"],
        "*" => {
            &["Read", "Grep", "Glob", "Edit", "Write", "Bash", "WebFetch", "WebSearch", "Task", "TodoWrite"]
        }
        _ => {
            // `server/tool` and `server/*` are tools of an MCP server.
            let (server, tool) = name.split_once('/')?;
            match server.to_ascii_lowercase().as_str() {
                // Copilot's own sets, of which one tool was named.
                set @ ("read" | "edit" | "search" | "execute" | "web" | "agent" | "todo") => {
                    return of_copilot(set);
                }
                "vscode" => return None,
                _ => {}
            }
            let plain = |text: &str| {
                !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
            };
            return match tool {
                "*" if plain(server) => Some(vec![format!("mcp__{server}")]),
                tool if plain(server) && plain(tool) => Some(vec![format!("mcp__{server}__{tool}")]),
                _ => None,
            };
        }
    };
    Some(ours.iter().map(ToString::to_string).collect())
}

/// Permissions while they are put together.
#[derive(Default)]
pub struct Rules {
    pub allow: Vec<String>,
    pub deny: Vec<String>,
}

impl Rules {
    pub fn allow(&mut self, entry: impl Into<String>) {
        self.allow.push(entry.into());
    }

    pub fn deny(&mut self, entry: impl Into<String>) {
        self.deny.push(entry.into());
    }

    pub fn write(self, account: &mut Account) {
        let texts = |entries: Vec<String>| {
            let mut seen = HashSet::new();
            entries
                .into_iter()
                .filter(|entry| seen.insert(entry.clone()))
                .map(Value::String)
                .collect::<Value>()
        };
        if !self.allow.is_empty() {
            account.set("permissions.allow", texts(self.allow));
        }
        if !self.deny.is_empty() {
            account.set("permissions.deny", texts(self.deny));
        }
    }
}
