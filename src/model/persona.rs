//! The persona as decided: every layer merged, every field typed. What one file says is a `Doc`.

use super::inherit::Inherit;
use super::limits::Limits;
use super::shape::Object;
use super::source::Source;
use super::tier::Tier;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What finding a persona and its base needs to know of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    pub id: String,
    pub intent: Option<String>,
    pub extends: Option<String>,
    /// Position in the list of layers; a smaller one is higher.
    pub layer: usize,
}

impl Header {
    /// A file with an intent and without `extends` inherits nothing, even if the same id exists below.
    pub fn stands_alone(&self) -> bool {
        self.intent.is_some() && self.extends.is_none()
    }
}

/// What one file says: checked and normalised, all keys optional but the id.
#[derive(Debug, Clone)]
pub struct PersonaDoc {
    pub object: Object,
    pub source: Arc<Source>,
}

/// The merged persona. Unknown keys stay in the object it was read from.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Persona {
    pub id: String,
    pub intent: Option<String>,
    pub description: Option<String>,
    pub tags: Vec<String>,
    pub name: Option<String>,
    pub emoji: Option<String>,
    pub role: Option<String>,
    pub expertise: Vec<String>,
    pub default_tier: Option<Tier>,
    /// Read from the same keys in a second pass: serde's own way to flatten copies everything.
    #[serde(skip)]
    pub runtime: Runtime,
    #[serde(deserialize_with = "known_tiers")]
    /// Boxed: a B-tree node reserves space for eleven values.
    pub tiers: BTreeMap<Tier, Box<Runtime>>,
    pub skills: Vec<Skill>,
    pub inputs: serde_json::Map<String, Value>,
    pub env: BTreeMap<String, String>,
    pub mcp_servers: BTreeMap<String, McpServer>,
    pub permissions: Permissions,
    pub mount: MountPolicy,
    pub limits: Limits,
    pub bare_mode: Option<bool>,
    pub hermetic: Option<bool>,
    /// What it takes over from the repository's own setup; `None` says nothing.
    pub inherit: Option<Vec<Inherit>>,
}

impl Persona {
    pub fn from_object(object: &Object) -> Result<Persona, serde_json::Error> {
        let mut persona = Persona::deserialize(object)?;
        persona.runtime = Runtime::deserialize(object)?;
        Ok(persona)
    }
}

/// Unknown tiers are reported where the file is checked, and skipped here.
fn known_tiers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<Tier, Box<Runtime>>, D::Error> {
    struct Tiers;

    impl<'de> Visitor<'de> for Tiers {
        type Value = BTreeMap<Tier, Box<Runtime>>;

        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str("an object of tiers")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut tiers = BTreeMap::new();
            while let Some(name) = map.next_key::<String>()? {
                match name.parse::<Tier>() {
                    Ok(tier) => {
                        tiers.insert(tier, map.next_value()?);
                    }
                    Err(_) => {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
            }
            Ok(tiers)
        }
    }

    deserializer.deserialize_map(Tiers)
}

/// What serves a tier; at the top level, what serves every tier that does not say otherwise.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Runtime {
    pub harness: Option<String>,
    pub model: Option<String>,
    pub system_prompt: Option<String>,
    pub harness_settings: HarnessSettings,
    pub claude_md: Option<String>,
    pub claude_md_content: Option<String>,
    pub claude_md_mode: Option<SidecarMode>,
    pub agents_md: Option<String>,
    pub agents_md_content: Option<String>,
    pub agents_md_mode: Option<SidecarMode>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HarnessSettings {
    pub reasoning: Option<String>,
    pub timeout_seconds: Option<f64>,
    pub sandbox_mode: Option<String>,
    pub approval_policy: Option<String>,
    pub workspace_write_network_access: Option<bool>,
    pub web_search: Option<bool>,
    pub dangerously_bypass_approvals_and_sandbox: Option<bool>,
}

impl HarnessSettings {
    /// Field by field, these settings where they say something, else the others.
    #[must_use]
    pub fn over(&self, below: &HarnessSettings) -> HarnessSettings {
        let text = |a: &Option<String>, b: &Option<String>| a.clone().or_else(|| b.clone());
        HarnessSettings {
            reasoning: text(&self.reasoning, &below.reasoning),
            timeout_seconds: self.timeout_seconds.or(below.timeout_seconds),
            sandbox_mode: text(&self.sandbox_mode, &below.sandbox_mode),
            approval_policy: text(&self.approval_policy, &below.approval_policy),
            workspace_write_network_access: self
                .workspace_write_network_access
                .or(below.workspace_write_network_access),
            web_search: self.web_search.or(below.web_search),
            dangerously_bypass_approvals_and_sandbox: self
                .dangerously_bypass_approvals_and_sandbox
                .or(below.dangerously_bypass_approvals_and_sandbox),
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SidecarMode {
    /// The mount's file is exactly the persona's bytes.
    #[default]
    Overwrite,
    /// The repository's own file, a separator, then the persona's.
    Extend,
}

impl SidecarMode {
    pub fn name(self) -> &'static str {
        match self {
            SidecarMode::Overwrite => "overwrite",
            SidecarMode::Extend => "extend",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Skill {
    pub id: Option<String>,
    pub source: String,
    pub description: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Input {
    pub description: Option<String>,
    pub env: Option<String>,
    pub default: Option<String>,
    pub optional: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct McpServer {
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub command: Option<String>,
    pub args: Vec<String>,
    pub env: BTreeMap<String, String>,
    pub url: Option<String>,
    pub headers: BTreeMap<String, String>,
}

impl McpServer {
    /// Everything in which a reference to a variable may stand.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let fixed = self.url.iter().chain(&self.command).chain(&self.args);
        fixed.chain(self.env.values()).chain(self.headers.values()).map(String::as_str)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Permissions {
    /// `None` says nothing; an empty list says "nothing at all".
    pub allow: Option<Vec<String>>,
    pub deny: Vec<String>,
    pub mode: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MountPolicy {
    pub ignored_patterns: Vec<String>,
    pub readonly_patterns: Vec<String>,
    pub include_patterns: Vec<String>,
    pub reveal_patterns: Vec<String>,
    pub allow_layer_changes: Option<bool>,
    pub backend: Option<super::mount::Backend>,
    pub sandbox: Option<super::mount::Sandbox>,
}
