//! Tiers and harnesses: the two closed sets that a selector and an adapter turn on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How much a run may cost and how good it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    Best,
    BestValue,
    Minimum,
}

impl Tier {
    pub const ALL: [Tier; 3] = [Tier::Best, Tier::BestValue, Tier::Minimum];

    pub fn name(self) -> &'static str {
        match self {
            Tier::Best => "best",
            Tier::BestValue => "best-value",
            Tier::Minimum => "minimum",
        }
    }
}

/// A coding agent that this runner launches. A fourth one is one more variant and one more adapter file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Harness {
    Claude,
    Opencode,
    Codex,
}

impl Harness {
    pub const ALL: [Harness; 3] = [Harness::Claude, Harness::Opencode, Harness::Codex];

    pub fn name(self) -> &'static str {
        match self {
            Harness::Claude => "claude",
            Harness::Opencode => "opencode",
            Harness::Codex => "codex",
        }
    }

    /// The npm package that provides it.
    pub fn package(self) -> &'static str {
        match self {
            Harness::Claude => "@anthropic-ai/claude-code",
            Harness::Opencode => "opencode-ai",
            Harness::Codex => "@openai/codex",
        }
    }
}

macro_rules! named {
    ($type:ty, $what:literal) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl FromStr for $type {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let found = <$type>::ALL.into_iter().find(|item| item.name() == text);
                found.ok_or_else(|| {
                    let names = <$type>::ALL.map(|item| item.name()).join(", ");
                    format!(concat!("`{}` is not a ", $what, ": {}"), text, names)
                })
            }
        }
    };
}

named!(Tier, "tier");
named!(Harness, "harness");
