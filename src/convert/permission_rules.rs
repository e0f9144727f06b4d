//! The permissions of a persona while they are collected.

use super::persona_builder::PersonaBuilder;
use super::tools::unlisted_tools;
use serde_json::Value;
use std::collections::HashSet;

#[derive(Default)]
pub struct PermissionRules {
    pub allow: Vec<String>,
    pub deny: Vec<String>,
}

impl PermissionRules {
    pub fn allow(&mut self, entry: impl Into<String>) {
        self.allow.push(entry.into());
    }

    pub fn deny(&mut self, entry: impl Into<String>) {
        self.deny.push(entry.into());
    }

    /// An empty list means no tools at all, not all of them.
    pub fn deny_unlisted(&mut self, builder: &mut PersonaBuilder, key: &str) {
        for tool in unlisted_tools(&[]) {
            self.deny(tool);
        }
        builder.mapped(key, "permissions.deny");
        builder.warn("it lists no tools: those that change something or use the network are denied");
    }

    pub fn write(self, builder: &mut PersonaBuilder) {
        let texts = |entries: Vec<String>| {
            let mut seen = HashSet::new();
            entries
                .into_iter()
                .filter(|entry| seen.insert(entry.clone()))
                .map(Value::String)
                .collect::<Value>()
        };
        if !self.allow.is_empty() {
            builder.set("permissions.allow", texts(self.allow));
        }
        if !self.deny.is_empty() {
            builder.set("permissions.deny", texts(self.deny));
        }
    }
}
