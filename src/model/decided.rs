//! A setting or an input with who decided it, as plans and `show` name it.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// Who decided a setting, highest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Flag,
    Persona,
    Role,
    Config,
    Default,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Level::Flag => "flag",
            Level::Persona => "persona",
            Level::Role => "role",
            Level::Config => "config",
            Level::Default => "default",
        })
    }
}

/// A value with the level that decided it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Decided<T> {
    pub value: T,
    pub from: Level,
}

/// What supplied the value of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputOrigin {
    Flag,
    /// This variable: `env:<VAR>`.
    Variable(String),
    Default,
    /// Nothing: the input is optional, and empty.
    Optional,
}

impl fmt::Display for InputOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InputOrigin::Flag => f.write_str("flag"),
            InputOrigin::Variable(name) => write!(f, "env:{name}"),
            InputOrigin::Default => f.write_str("default"),
            InputOrigin::Optional => f.write_str("optional"),
        }
    }
}

impl Serialize for InputOrigin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for InputOrigin {
    fn schema_name() -> Cow<'static, str> {
        "InputOrigin".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string"})
    }
}

/// A declared input with its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct InputValue {
    pub name: String,
    pub value: String,
    /// `flag`, `env:<VAR>`, `default` or `optional`.
    pub from: InputOrigin,
}
