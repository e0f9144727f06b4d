//! What a persona takes over from the repository's own setup of harnesses: the kinds, and what was decided. Reads no files.

use super::decided::Level;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A part of a repository's own setup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Inherit {
    /// `CLAUDE.md`, `AGENTS.md` and the like.
    Instructions,
    Commands,
    Skills,
    /// MCP servers, those of the user included.
    Mcp,
    /// Commands that a harness runs by itself.
    Hooks,
}

impl Inherit {
    pub const ALL: [Inherit; 5] =
        [Inherit::Instructions, Inherit::Commands, Inherit::Skills, Inherit::Mcp, Inherit::Hooks];
    pub const NAMES: [&'static str; 5] = ["instructions", "commands", "skills", "mcp", "hooks"];

    pub fn name(self) -> &'static str {
        Inherit::NAMES[self as usize]
    }
}

impl fmt::Display for Inherit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Inherit {
    type Err = String;

    fn from_str(text: &str) -> Result<Inherit, String> {
        let found = Inherit::ALL.into_iter().find(|kind| kind.name() == text);
        found.ok_or_else(|| format!("`{text}` cannot be inherited: use {}", Inherit::NAMES.join(", ")))
    }
}

/// What a run takes over, and what of the repository's setup it does not get to see.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlannedInherit {
    /// In a fixed order, each once.
    pub kinds: Vec<Inherit>,
    /// What decided so; left out where nothing did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Level>,
    /// What the repository and the user have, and this run does not inherit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<HiddenSetup>,
}

/// Something that exists and would be there with this kind inherited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HiddenSetup {
    pub kind: Inherit,
    /// Paths of the project, or `your own MCP servers`.
    pub what: Vec<String>,
}

impl HiddenSetup {
    /// The first of them: there may be instructions in every directory.
    fn short(&self) -> String {
        const NAMED: usize = 6;
        match self.what.len().saturating_sub(NAMED) {
            0 => self.what.join(", "),
            more => format!("{} and {more} more", self.what[..NAMED].join(", ")),
        }
    }
}

impl PlannedInherit {
    /// Decides: the first level that says something decides alone.
    pub fn decide(levels: [(Level, Option<&[Inherit]>); 3]) -> PlannedInherit {
        let said = levels.into_iter().find_map(|(level, kinds)| Some((level, kinds?)));
        let Some((from, kinds)) = said else { return PlannedInherit::default() };
        let kinds = Inherit::ALL.into_iter().filter(|kind| kinds.contains(kind)).collect();
        PlannedInherit { kinds, from: Some(from), hidden: Vec::new() }
    }

    pub fn says_nothing(&self) -> bool {
        *self == PlannedInherit::default()
    }

    pub fn has(&self, kind: Inherit) -> bool {
        self.kinds.contains(&kind)
    }

    /// What is inherited and what says so, in a few words; empty where nothing is.
    pub fn summary(&self) -> String {
        let kinds: Vec<&str> = self.kinds.iter().map(|kind| kind.name()).collect();
        match self.from {
            Some(from) if !kinds.is_empty() => format!("{} ({from})", kinds.join(", ")),
            _ => String::new(),
        }
    }

    /// Takes what the agent gets in another way out of the list.
    pub fn no_longer_hidden(&mut self, is_there: impl Fn(Inherit, &str) -> bool) {
        for hidden in &mut self.hidden {
            hidden.what.retain(|what| !is_there(hidden.kind, what));
        }
        self.hidden.retain(|hidden| !hidden.what.is_empty());
    }

    /// In one line: what is hidden, and how to get it. `None` where nothing is.
    pub fn hidden_line(&self) -> Option<String> {
        if self.hidden.is_empty() {
            return None;
        }
        let what: Vec<String> = self.hidden.iter().map(HiddenSetup::short).collect();
        let kinds = Inherit::ALL
            .into_iter()
            .filter(|kind| self.has(*kind) || self.hidden.iter().any(|hidden| hidden.kind == *kind));
        let kinds: Vec<&str> = kinds.map(Inherit::name).collect();
        Some(format!("{} (to get them: --inherit {})", what.join(", "), kinds.join(",")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_level_that_says_something_decides_alone() {
        let of = |flag: Option<&[Inherit]>, persona: Option<&[Inherit]>, config: Option<&[Inherit]>| {
            let levels = [(Level::Flag, flag), (Level::Persona, persona), (Level::Config, config)];
            let decided = PlannedInherit::decide(levels);
            (decided.kinds, decided.from)
        };
        let (mcp, both) = ([Inherit::Mcp], [Inherit::Skills, Inherit::Instructions, Inherit::Skills]);
        assert_eq!(of(None, None, None), (vec![], None));
        assert_eq!(of(None, None, Some(&mcp)), (mcp.to_vec(), Some(Level::Config)));
        let sorted = vec![Inherit::Instructions, Inherit::Skills];
        assert_eq!(of(None, Some(&both), Some(&mcp)), (sorted, Some(Level::Persona)));
        assert_eq!(of(Some(&[]), Some(&both), Some(&mcp)), (vec![], Some(Level::Flag)));
    }

    #[test]
    fn what_is_hidden_comes_with_the_flag_that_shows_it_too() {
        let hidden = |kind, what: &str| HiddenSetup { kind, what: vec![what.to_owned()] };
        let plan = PlannedInherit {
            kinds: vec![Inherit::Instructions],
            from: Some(Level::Persona),
            hidden: vec![hidden(Inherit::Skills, ".claude/skills"), hidden(Inherit::Mcp, ".mcp.json")],
        };
        assert_eq!(
            plan.hidden_line().unwrap(),
            ".claude/skills, .mcp.json (to get them: --inherit instructions,skills,mcp)"
        );
        assert_eq!(PlannedInherit::default().hidden_line(), None);
        let what = (1..=8).map(|number| format!("{number}/CLAUDE.md")).collect();
        let hidden = vec![HiddenSetup { kind: Inherit::Instructions, what }];
        let line = PlannedInherit { hidden, ..PlannedInherit::default() }.hidden_line().unwrap();
        assert!(line.contains("6/CLAUDE.md and 2 more (to get them: --inherit instructions)"), "{line}");
    }
}
