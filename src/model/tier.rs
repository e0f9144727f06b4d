//! The closed sets that a run is chosen from: tiers and harnesses, with their names. What a harness can do is in `harness`.

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

/// Declares the enum, the list of its variants and their names in one place, so that a harness is one line.
macro_rules! harnesses {
    ($($(#[$only:meta])? $variant:ident = $name:literal,)+) => {
        /// A coding agent that this runner launches. What is known about each one is in its folder in `src/harness/`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum Harness {
            $($(#[$only])? #[serde(rename = $name)] $variant,)+
        }

        impl Harness {
            const LISTED: &[Harness] = &[$($(#[$only])? Harness::$variant),+];

            pub fn name(self) -> &'static str {
                match self {
                    $($(#[$only])? Harness::$variant => $name,)+
                }
            }
        }
    };
}

harnesses! {
    Claude = "claude",
    Opencode = "opencode",
    Codex = "codex",
    #[cfg(test)]
    Example = "example",
}

impl Harness {
    pub const ALL: [Harness; Harness::LISTED.len()] =
        *Harness::LISTED.first_chunk().expect("the same length");
    /// The harness of a persona where neither flags, persona, role nor config name one.
    pub const DEFAULT: Harness = Harness::Claude;

    pub fn names() -> [&'static str; Harness::ALL.len()] {
        Harness::ALL.map(Harness::name)
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
