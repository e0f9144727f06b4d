//! What is in a directory, by its name: the one table of the places where tools keep agents, and of those where they keep other
//! Markdown that looks the same. The directory that an import is started in has no say: it is called whatever the clone is called.

use super::format::{Format, Origin, Source};

/// What the files of a directory are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// Agents; with a format where only one tool has this place.
    Agents(Option<Format>),
    /// Something else, and what.
    Other(&'static str),
}

const COMMANDS: Holds = Holds::Other("a command, not an agent");
const PROMPTS: Holds = Holds::Other("a prompt, not an agent");
const RULES: Holds = Holds::Other("a rule for an editor, not an agent");
const WORKFLOWS: Holds = Holds::Other("a workflow, not an agent");
pub const SKILL: &str = "a skill, not an agent: name its directory in `skills` of a persona";

/// Places of one tool that hold for everything below them: `.claude/commands/agents/x.md` is the command `agents:x`.
const WHOLE_TREES: &[(&str, Holds)] = &[
    (".claude/commands", COMMANDS),
    (".opencode/command", COMMANDS),
    (".opencode/commands", COMMANDS),
    (".github/prompts", PROMPTS),
];

/// Paths of one or two directories, in lower case. For a file the nearest one counts, and of equally near ones the first.
const PLACES: &[(&str, Holds)] = &[
    (".claude/agents", Holds::Agents(Some(Format::Claude))),
    (".opencode/agent", Holds::Agents(Some(Format::Opencode))),
    (".opencode/agents", Holds::Agents(Some(Format::Opencode))),
    ("opencode/agent", Holds::Agents(Some(Format::Opencode))),
    ("opencode/agents", Holds::Agents(Some(Format::Opencode))),
    (".codex/agents", Holds::Agents(Some(Format::Codex))),
    (".github/agents", Holds::Agents(Some(Format::Copilot))),
    (".github/chatmodes", Holds::Agents(Some(Format::Copilot))),
    (".kiro/agents", Holds::Agents(Some(Format::Kiro))),
    (".amazonq/cli-agents", Holds::Agents(Some(Format::Kiro))),
    (".github/workflows", WORKFLOWS),
    ("agent", Holds::Agents(None)),
    ("agents", Holds::Agents(None)),
    ("subagents", Holds::Agents(None)),
    ("chatmodes", Holds::Agents(None)),
    ("personas", Holds::Agents(None)),
    ("command", COMMANDS),
    ("commands", COMMANDS),
    ("prompts", PROMPTS),
    ("rules", RULES),
    ("steering", RULES),
    ("hooks", Holds::Other("a hook, not an agent")),
    ("output-styles", Holds::Other("an output style, not an agent")),
    ("issue_template", Holds::Other("a template for issues, not an agent")),
    ("skill", Holds::Other(SKILL)),
    ("skills", Holds::Other(SKILL)),
];

/// The place of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub holds: Holds,
    /// The file is in the directory itself, not in one below it.
    pub is_direct: bool,
}

/// The nearest place above the file. For a file that the user named, its whole path counts.
pub fn of(source: &Source, origin: Origin) -> Option<Place> {
    let lower = source.path.to_ascii_lowercase();
    let parts: Vec<&str> = lower.split('/').collect();
    let dirs = &parts[..parts.len() - 1];
    // Directories below the one that was named. A name of two parts may begin above: `import .claude/agents`.
    let below = match origin {
        Origin::Named => dirs.len(),
        Origin::Found => source.below.split('/').count() - 1,
    };
    let first = dirs.len().saturating_sub(below);
    let known_at = |places: &[(&str, Holds)], at: usize| {
        let pair = (at > 0).then(|| format!("{}/{}", dirs[at - 1], dirs[at]));
        let is_here = |name: &str| Some(name) == pair.as_deref() || (at >= first && name == dirs[at]);
        let (_, holds) = places.iter().find(|(name, _)| is_here(name))?;
        Some(Place { holds: *holds, is_direct: at + 1 == dirs.len() })
    };
    let depths = first.saturating_sub(1)..dirs.len();
    depths
        .clone()
        .find_map(|at| known_at(WHOLE_TREES, at))
        .or_else(|| depths.rev().find_map(|at| known_at(PLACES, at)))
}

/// Whether a directory below the named one has this name.
pub fn is_below(source: &Source, dir: &str) -> bool {
    let mut parts = source.below.split('/').rev().skip(1);
    parts.any(|part| part.eq_ignore_ascii_case(dir))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::format::Missing;

    fn place(root: &str, below: &str) -> Option<Place> {
        let path = format!("{root}/{below}");
        of(&Source { path: &path, below, text: "", nearby: &|_| Err(Missing::Absent) }, Origin::Found)
    }

    fn holds(root: &str, below: &str) -> Option<Holds> {
        place(root, below).map(|place| place.holds)
    }

    #[test]
    fn the_nearest_directory_counts_and_never_the_name_of_the_clone() {
        let agents = Some(Holds::Agents(None));
        for clone in ["/x/agents", "/x/wsh", "/x/my-agents", "/x/commands", "/agents/skills"] {
            assert_eq!(holds(clone, "a.md"), None, "{clone}");
            assert_eq!(holds(clone, "notes/a.md"), None, "{clone}");
            assert_eq!(holds(clone, "my-agents/a.md"), None, "{clone}");
            assert_eq!(holds(clone, "Agents/team/a.md"), agents, "{clone}");
            assert_eq!(holds(clone, "skills/s/agents/a.md"), agents, "{clone}");
            assert_eq!(holds(clone, "agents/commands/a.md"), Some(COMMANDS), "{clone}");
            assert_eq!(holds(clone, ".kiro/steering/a.md"), Some(RULES), "{clone}");
        }
        assert_eq!(place("/x", "agents/a.md").map(|place| place.is_direct), Some(true));
        assert_eq!(place("/x", "agents/team/a.md").map(|place| place.is_direct), Some(false));
    }

    #[test]
    fn a_place_of_one_tool_is_known_when_it_is_named_itself() {
        for (root, below, format) in [
            ("/x", ".claude/agents/a.md", Format::Claude),
            ("/x/.claude", "agents/a.md", Format::Claude),
            ("/x/.claude/agents", "a.md", Format::Claude),
            ("/x/.github/agents", "a.md", Format::Copilot),
            ("/home/u/.config/opencode/agent", "team/a.md", Format::Opencode),
            ("/x/.kiro", "agents/a.json", Format::Kiro),
        ] {
            assert_eq!(holds(root, below), Some(Holds::Agents(Some(format))), "{root}/{below}");
        }
        assert_eq!(holds("/x/.github", "workflows/a.md"), Some(WORKFLOWS));
    }
}
