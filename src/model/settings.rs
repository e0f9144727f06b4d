//! The user's settings, typed. Reading and writing `config.json` happens in `load` and `commands`.

use super::mount::{Backend, Sandbox};
use super::persona::Limits;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The settings, typed; `None` and empty where the file says nothing.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    pub persona_dirs: Option<Vec<String>>,
    pub default_create_target: Option<String>,
    pub default_harness: Option<String>,
    pub default_model: Option<String>,
    pub bare_mode: Option<bool>,
    pub hermetic: Option<bool>,
    pub limits: Limits,
    pub mount: MountSettings,
    pub sidecar: SidecarSettings,
    pub features: BTreeMap<String, bool>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MountSettings {
    pub backend: Option<Backend>,
    pub sandbox: Option<Sandbox>,
    pub ignored_patterns: Vec<String>,
    pub readonly_patterns: Vec<String>,
    pub reveal_patterns: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SidecarSettings {
    pub codex: Option<String>,
}
