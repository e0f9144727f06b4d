//! The names of tools in other formats, translated to those of persona files: one table for each source.

use crate::model::tool_rule::ToolRule;

/// The tools of one source. The names are in lower case, and their case does not count.
pub struct ToolNames {
    pub source: &'static str,
    /// Names with the tools of persona files. Names without any stand for what no harness has.
    rows: &'static [(&'static [&'static str], &'static [&'static str])],
    /// Names of what is only a part of a tool here: running tests is not running any command.
    parts: &'static [(&'static [&'static str], &'static [&'static str])],
}

pub const OPENCODE: ToolNames = ToolNames {
    source: "opencode",
    rows: &[
        (&["read"], &["Read"]),
        (&["edit"], &["Edit", "Write"]),
        (&["write"], &["Write"]),
        (&["patch", "multiedit"], &["Edit"]),
        (&["grep"], &["Grep"]),
        (&["glob"], &["Glob"]),
        (&["list"], &["LS"]),
        (&["bash"], &["Bash"]),
        (&["webfetch"], &["WebFetch"]),
        (&["websearch"], &["WebSearch"]),
        (&["task"], &["Task"]),
        (&["skill"], &["Skill"]),
        (&["todowrite"], &["TodoWrite"]),
    ],
    parts: &[],
};

pub const ALL: &[&str] =
    &["Read", "Grep", "Glob", "LS", "Edit", "Write", "Bash", "WebFetch", "WebSearch", "Task", "TodoWrite"];

/// Tools and tool sets of VS Code, of its older chat modes, and the aliases of GitHub's custom agents.
pub const COPILOT: ToolNames = ToolNames {
    source: "copilot",
    rows: &[
        (
            &[
                "read",
                "readfile",
                "view",
                "notebookread",
                "problems",
                "getnotebooksummary",
                "readnotebookcelloutput",
                "readcelloutput",
            ],
            &["Read"],
        ),
        (&["edit", "editfiles", "multiedit", "write"], &["Edit", "Write"]),
        (&["notebookedit", "editnotebook"], &["NotebookEdit"]),
        (
            &[
                "search",
                "codebase",
                "usages",
                "findtestfiles",
                "grep",
                "glob",
                "textsearch",
                "filesearch",
                "searchresults",
                "changes",
            ],
            &["Grep", "Glob"],
        ),
        (&["listdirectory"], &["LS"]),
        (&["execute", "shell", "bash", "powershell", "runcommands", "runinterminal"], &["Bash"]),
        (&["fetch", "webfetch"], &["WebFetch"]),
        (&["web"], &["WebFetch", "WebSearch"]),
        (&["websearch"], &["WebSearch"]),
        (&["agent", "task", "custom-agent", "runsubagent"], &["Task"]),
        (&["todo", "todos", "todowrite"], &["TodoWrite"]),
        (
            &[
                "askquestions",
                "browser",
                "extensions",
                "getprojectsetupinfo",
                "gettaskoutput",
                "getterminaloutput",
                "githubrepo",
                "githubtextsearch",
                "installextension",
                "memory",
                "opensimplebrowser",
                "runcommand",
                "runvscodecommand",
                "selection",
                "terminallastcommand",
                "terminalselection",
                "testfailure",
                "think",
                "updateuserpreferences",
                "vscode",
                "vscodeapi",
            ],
            &[],
        ),
    ],
    parts: &[
        (&["new", "newworkspace", "createfile", "createdirectory"], &["Edit", "Write"]),
        (&["newjupyternotebook", "runnotebooks", "runcell", "runnotebookcell"], &["NotebookEdit"]),
        (&["runtasks", "runtask", "createandruntask", "runtests"], &["Bash"]),
    ],
};

/// Tools of Kiro and of the Amazon Q command line, old names and new ones, and the tags of its Markdown agents.
pub const KIRO: ToolNames = ToolNames {
    source: "kiro",
    rows: &[
        (&["*", "builtin"], ALL),
        (&["read", "fs_read"], &["Read"]),
        (&["write", "fs_write"], &["Edit", "Write"]),
        (&["shell", "execute_bash", "execute_cmd"], &["Bash"]),
        (&["grep"], &["Grep"]),
        (&["glob"], &["Glob"]),
        (&["web"], &["WebFetch", "WebSearch"]),
        (&["web_fetch"], &["WebFetch"]),
        (&["web_search"], &["WebSearch"]),
        (&["subagent", "use_subagent", "delegate"], &["Task"]),
        (&["todo", "todo_list"], &["TodoWrite"]),
        (
            &[
                "aws",
                "use_aws",
                "code",
                "introspect",
                "knowledge",
                "thinking",
                "report",
                "report_issue",
                "session",
            ],
            &[],
        ),
    ],
    parts: &[],
};

/// The tools of claude, which are those of persona files.
const CLAUDE: [&str; 37] = [
    "Agent",
    "AskUserQuestion",
    "Bash",
    "BashOutput",
    "Edit",
    "EnterPlanMode",
    "EnterWorktree",
    "ExitPlanMode",
    "Glob",
    "Grep",
    "KillBash",
    "KillShell",
    "ListMcpResourcesTool",
    "LS",
    "LSP",
    "Monitor",
    "MultiEdit",
    "NotebookEdit",
    "NotebookRead",
    "PowerShell",
    "Read",
    "ReadMcpResourceTool",
    "SendMessage",
    "Skill",
    "SlashCommand",
    "Task",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskStop",
    "TaskUpdate",
    "TodoRead",
    "TodoWrite",
    "WebFetch",
    "WebSearch",
    "Write",
];

/// Whether it is the name of a tool of persona files.
pub fn is_of_persona_files(name: &str) -> bool {
    CLAUDE.contains(&name) || name.starts_with("mcp__")
}

/// What an entry of a list of tools means here.
#[derive(Debug, PartialEq, Eq)]
pub enum Meaning {
    /// These tools, each with the argument of the entry.
    Tools(Vec<String>),
    /// Less than these tools.
    PartOf(&'static [&'static str]),
    /// A tool of the source that no harness has.
    NoCounterpart,
    Unknown,
}

impl ToolNames {
    /// The tools for a name; `None` where it is unknown.
    pub fn tools(&self, name: &str) -> Option<&'static [&'static str]> {
        let name = name.to_ascii_lowercase();
        self.rows.iter().find(|(names, _)| names.contains(&name.as_str())).map(|(_, tools)| *tools)
    }

    /// The tools that this name is a part of.
    fn part_of(&self, name: &str) -> Option<&'static [&'static str]> {
        let name = name.to_ascii_lowercase();
        self.parts.iter().find(|(names, _)| names.contains(&name.as_str())).map(|(_, tools)| *tools)
    }

    /// The tools of every name that begins so.
    pub fn tools_beginning(&self, start: &str) -> Vec<&'static str> {
        let start = start.to_ascii_lowercase();
        let rows = self.rows.iter().filter(|(names, _)| names.iter().any(|name| name.starts_with(&start)));
        rows.flat_map(|(_, tools)| *tools).copied().collect()
    }

    /// An entry in the words of the source or in those of persona files: `editFiles`, `search/usages`, `Bash(git log:*)`,
    /// `server/tool`.
    pub fn meaning(&self, entry: &str) -> Meaning {
        let name_ends = entry.find('(').unwrap_or(entry.len());
        let (name, argument) = (entry[..name_ends].trim(), &entry[name_ends..]);
        if is_of_persona_files(name) {
            return Meaning::Tools(vec![entry.to_owned()]);
        }
        let named = |tools: &[&str]| match tools {
            [] => Meaning::NoCounterpart,
            tools => Meaning::Tools(tools.iter().map(|tool| format!("{tool}{argument}")).collect()),
        };
        if let Some(tools) = self.tools(name) {
            return named(tools);
        }
        if let Some(tools) = self.part_of(name) {
            return Meaning::PartOf(tools);
        }
        let is_set = |set: &str| self.tools(set).is_some() || self.part_of(set).is_some();
        match name.rsplit_once('/').filter(|_| argument.is_empty()) {
            // One tool of a set; of one that is not known, the set.
            Some((set, tool)) if is_set(set) => match self.tools(tool) {
                Some(tools) => named(tools),
                None => match self.part_of(tool).or_else(|| self.part_of(set)) {
                    Some(tools) => Meaning::PartOf(tools),
                    None => named(self.tools(set).unwrap_or_default()),
                },
            },
            // `publisher.extension/tool` is a tool of an extension of VS Code.
            Some((extension, _)) if extension.contains('.') && !extension.contains('/') => {
                Meaning::NoCounterpart
            }
            Some((server, tool)) => {
                server_tool(server, tool).map_or(Meaning::Unknown, |tool| Meaning::Tools(vec![tool]))
            }
            None => Meaning::Unknown,
        }
    }
}

/// The entry for a tool of an MCP server; `*` stands for all of them.
pub fn server_tool(server: &str, tool: &str) -> Option<String> {
    let is_name = |text: &str, others: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c))
    };
    let server_part = server_prefix(server);
    match tool {
        "*" if is_name(server, "-_./") => Some(server_part),
        tool if is_name(server, "-_./") && is_name(tool, "-_.") => Some(format!("{server_part}__{tool}")),
        _ => None,
    }
}

/// How claude begins the names of a server's tools.
pub fn server_prefix(server: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' };
    format!("mcp__{}", server.chars().map(plain).collect::<String>())
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn the_tools_of_copilot_are_ours_those_of_servers_or_nobodys() {
        let tools = |entry: &str| match COPILOT.meaning(entry) {
            Meaning::Tools(tools) => tools.join(" "),
            Meaning::PartOf(tools) => format!("< {}", tools.join(" ")),
            Meaning::NoCounterpart => "-".into(),
            Meaning::Unknown => "?".into(),
        };
        for (entry, expected) in [
            ("codebase", "Grep Glob"),
            ("editFiles", "Edit Write"),
            ("edit/editFiles", "Edit Write"),
            ("runCommands", "Bash"),
            ("runCommands/x", "Bash"),
            ("runCommands/terminalLastCommand", "-"),
            ("execute/runInTerminal", "Bash"),
            ("execute/runTests", "< Bash"),
            ("createDirectory", "< Edit Write"),
            ("new/newWorkspace", "< Edit Write"),
            ("read/*", "Read"),
            ("*", "?"),
            ("search/changes", "Grep Glob"),
            ("vscode/vscodeAPI", "-"),
            ("githubRepo", "-"),
            ("ms-python.python/installPythonPackage", "-"),
            ("github/*", "mcp__github"),
            ("github/search_code", "mcp__github__search_code"),
            ("microsoft/playwright-mcp/*", "mcp__microsoft_playwright-mcp"),
            ("mcp__a__b", "mcp__a__b"),
            ("Bash(git log:*)", "Bash(git log:*)"),
            ("bash(git log:*)", "Bash(git log:*)"),
            ("edit(docs/**)", "Edit(docs/**) Write(docs/**)"),
            ("context-manager", "?"),
            ("/", "?"),
            ("", "?"),
        ] {
            assert_eq!(tools(entry), expected, "{entry}");
        }
    }

    #[test]
    fn every_name_is_in_one_row_and_in_lower_case() {
        for names in [&OPENCODE, &COPILOT, &KIRO] {
            let rows = names.rows.iter().chain(names.parts);
            let all: Vec<&str> = rows.flat_map(|(names, _)| *names).copied().collect();
            for name in &all {
                assert_eq!(all.iter().filter(|other| other == &name).count(), 1, "{name}");
                assert_eq!(name.to_ascii_lowercase(), **name);
            }
        }
    }
}
