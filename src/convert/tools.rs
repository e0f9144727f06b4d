//! The names of tools in other formats, translated to those of persona files.

use crate::model::tool_rule::ToolRule;

/// Tools that change something or use the network. A source that lists its tools has no others, so these are denied
/// where it does not list them.
const SENSITIVE: [&str; 6] = ["Bash", "Edit", "Write", "NotebookEdit", "WebFetch", "WebSearch"];

/// Sensitive tools that a list does not contain.
pub fn unlisted_tools(allowed: &[String]) -> Vec<&'static str> {
    let base = |entry: &str| entry.split('(').next().unwrap_or_default().trim().to_owned();
    let has = |tool: &str| allowed.iter().any(|entry| base(entry) == tool || base(entry) == "*");
    let covers = |tool: &str| match tool {
        "Edit" => has("Edit") || has("MultiEdit"),
        "NotebookEdit" => has("NotebookEdit") || has("Edit") || has("MultiEdit"),
        tool => has(tool),
    };
    SENSITIVE.into_iter().filter(|tool| !covers(tool)).collect()
}

/// Why a mode that runs tools without approval contradicts these denials.
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

/// The tools for a name of opencode; `None` where it is unknown.
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

/// The permission key of opencode for a tool.
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

/// The tools for a name or a tool set of copilot.
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
                // One tool of copilot's own sets.
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
