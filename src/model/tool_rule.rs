//! Permission entries in the spelling that persona files use: `Edit`, `Bash(git log:*)`, `mcp__server__tool`.
//! Reads them; what a harness makes of them is in its adapter.

/// One entry of `permissions.allow` or `permissions.deny`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRule<'a> {
    pub tool: &'a str,
    /// What stands in the parentheses, if anything.
    pub argument: Option<&'a str>,
}

impl<'a> ToolRule<'a> {
    pub fn parse(entry: &'a str) -> ToolRule<'a> {
        let entry = entry.trim();
        match entry.strip_suffix(')').and_then(|inner| inner.split_once('(')) {
            Some((tool, "*" | "")) => ToolRule { tool, argument: None },
            Some((tool, argument)) => ToolRule { tool, argument: Some(argument) },
            None => ToolRule { tool: entry, argument: None },
        }
    }

    /// The command pattern of a `Bash` rule with `*` as the only wildcard: `git log:*` means "starts with `git log`".
    pub fn command_pattern(&self) -> Option<String> {
        let argument = self.argument?;
        Some(match argument.strip_suffix(":*") {
            Some(prefix) => format!("{prefix}*"),
            None => argument.to_owned(),
        })
    }

    /// Whether it names an MCP server, or tools of it.
    pub fn is_of_server(&self, server: &str) -> bool {
        self.mcp_tool(server).is_some()
    }

    /// The tools of an MCP server that it names: all of them are `*`.
    pub fn mcp_tool(&self, server: &str) -> Option<&'a str> {
        let rest = self.tool.strip_prefix("mcp__")?.strip_prefix(&*mcp_name(server))?;
        if rest.is_empty() { Some("*") } else { rest.strip_prefix("__") }
    }

    /// Tools that change files in the project.
    pub fn edits_files(&self) -> bool {
        matches!(self.tool, "Edit" | "Write" | "MultiEdit" | "NotebookEdit")
    }
}

/// What an MCP server is called in the names of its tools.
pub fn mcp_name(server: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' };
    server.chars().map(plain).collect()
}

/// Whether these entries forbid changing files altogether, without any exception by path.
pub fn denies_all_edits(deny: &[String]) -> bool {
    let whole = |tool: &str| {
        deny.iter()
            .map(|entry| ToolRule::parse(entry))
            .any(|rule| rule.tool == tool && rule.argument.is_none())
    };
    whole("Edit") && whole("Write")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_a_tool_with_an_optional_argument() {
        assert_eq!(ToolRule::parse("Edit"), ToolRule { tool: "Edit", argument: None });
        assert_eq!(ToolRule::parse("Bash(*)"), ToolRule { tool: "Bash", argument: None });
        assert_eq!(ToolRule::parse("Bash(git log:*)").command_pattern(), Some("git log*".into()));
        assert_eq!(ToolRule::parse("Bash(npm (test))").command_pattern(), Some("npm (test)".into()));
        assert_eq!(ToolRule::parse("Bash(make").tool, "Bash(make");
    }

    #[test]
    fn entries_name_servers_and_their_tools() {
        let tool = |entry: &'static str, server| ToolRule::parse(entry).mcp_tool(server);
        assert_eq!(tool("mcp__docs", "docs"), Some("*"));
        assert_eq!(tool("mcp__my_docs__search", "my docs"), Some("search"));
        assert_eq!(tool("mcp__docs2", "docs"), None);
        assert_eq!(tool("Bash(mcp__docs)", "docs"), None);
    }

    #[test]
    fn a_denied_path_is_not_a_denied_tool() {
        let deny =
            |entries: &[&str]| denies_all_edits(&entries.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert!(deny(&["Edit", "Write"]));
        assert!(!deny(&["Edit", "Write(docs/**)"]));
        assert!(!deny(&[]));
    }
}
