//! A persona as another tool's agent file: whole in itself, with an account of what the format cannot say.

mod claude;
mod codex;
mod opencode;

use super::account::{Fate, FieldFate};
use super::{carried, values};
use crate::model::persona::{HarnessSettings, Limits, McpServer, Permissions};
use crate::model::shape::Object;
use crate::model::tier::{Harness, Tier};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashSet};

/// A persona as decided for one tier on the harness that the file is for.
pub struct Outgoing<'a> {
    pub id: &'a str,
    pub tier: Tier,
    pub description: Option<&'a str>,
    /// The prompt as a harness is given it: identity, charter and job, inputs filled in.
    pub prompt: &'a str,
    pub model: Option<&'a str>,
    pub settings: &'a HarnessSettings,
    pub permissions: &'a Permissions,
    pub mcp_servers: &'a BTreeMap<String, McpServer>,
    pub limits: Limits,
    /// Everything that the persona says, for the account.
    pub persona: &'a Object,
}

/// The file, and what became of every field of the persona.
#[derive(Debug, Clone, PartialEq)]
pub struct Exported {
    pub file_name: String,
    pub text: String,
    pub fields: Vec<FieldFate>,
}

pub fn export(harness: Harness, persona: &Outgoing) -> Exported {
    let ledger = Ledger { fields: Vec::new(), carried: Map::new(), harness };
    match harness {
        Harness::Claude => claude::export(persona, ledger),
        Harness::Opencode => opencode::export(persona, ledger),
        Harness::Codex => codex::export(persona, ledger),
    }
}

/// What has been said about the persona's fields so far.
struct Ledger {
    fields: Vec<FieldFate>,
    /// What travels in a comment.
    carried: Object,
    harness: Harness,
}

impl Ledger {
    fn mapped(&mut self, field: &str, said: bool, to: &str) {
        if said {
            self.fields.push(FieldFate { field: field.into(), fate: Fate::Mapped { to: to.into() } });
        }
    }

    fn dropped(&mut self, field: &str, said: bool, why: &str) {
        if said {
            self.fields.push(FieldFate { field: field.into(), fate: Fate::Dropped { why: why.into() } });
        }
    }

    /// Puts a field that the format has no word for into the comment.
    fn carry(&mut self, field: &str, value: Option<Value>) {
        if let Some(value) = value {
            values::set_path(&mut self.carried, field, value);
            let to = "a comment, for `import`".to_owned();
            self.fields.push(FieldFate { field: field.into(), fate: Fate::Kept { to } });
        }
    }

    /// The fields of the persona that no harness's file has a word for.
    fn carry_the_rest(&mut self, persona: &Outgoing) {
        for key in ["intent", "tags", "mount", "env", "bareMode", "hermetic"] {
            let said = persona.persona.get(key).filter(|value| !value.is_null());
            // An import takes the id for the intent.
            if !(key == "intent" && said.and_then(Value::as_str) == Some(persona.id)) {
                self.carry(key, said.cloned());
            }
        }
        let limits = persona.limits;
        self.carry("limits.wallSeconds", limits.wall_seconds.map(number));
        self.carry("limits.idleSeconds", limits.idle_seconds.map(number));
        self.carry("limits.usd", limits.usd.map(number));
        let settings = persona.settings;
        self.carry("harnessSettings.timeoutSeconds", settings.timeout_seconds.map(number));
        if self.harness != Harness::Codex {
            let text = |text: &Option<String>| text.as_deref().map(Value::from);
            self.carry("harnessSettings.sandboxMode", text(&settings.sandbox_mode));
            self.carry("harnessSettings.approvalPolicy", text(&settings.approval_policy));
            let access = settings.workspace_write_network_access;
            self.carry("harnessSettings.workspaceWriteNetworkAccess", access.map(Value::from));
        }
        self.carry("harnessSettings.webSearch", settings.web_search.map(Value::from));
        self.dropped(
            "harnessSettings.dangerouslyBypassApprovalsAndSandbox",
            settings.dangerously_bypass_approvals_and_sandbox.is_some(),
            "never written into a file that others may take over",
        );
    }

    /// The rest of the persona, so that nothing goes without a word.
    fn finish(mut self, persona: &Outgoing) -> Vec<FieldFate> {
        // Whoever speaks for a part of a field has spoken for the field.
        let mut spoken_for = HashSet::new();
        for FieldFate { field, .. } in &self.fields {
            spoken_for.extend(field.match_indices('.').map(|(at, _)| field[..at].to_owned()));
            spoken_for.insert(field.clone());
        }
        for (key, value) in persona.persona {
            if spoken_for.contains(key) {
                continue;
            }
            let own = format!("x-{}", self.harness);
            match key.as_str() {
                "id" | "intent" => self.mapped(key, true, "name"),
                "systemPrompt" => self.mapped(key, true, "prompt"),
                "name" | "emoji" | "role" | "expertise" => self.mapped(key, true, "prompt (written out)"),
                "inputs" => self.mapped(key, true, "prompt (with their defaults)"),
                "harness" => self.dropped(key, true, "the file itself says which"),
                "tiers" | "defaultTier" => {
                    self.dropped(key, true, &format!("one tier is exported: {}", persona.tier));
                }
                "model" => {
                    self.dropped(key, persona.model.is_none(), &format!("no model of {}", self.harness));
                }
                "claudeMd" | "claudeMdMode" | "claudeMdContent" | "agentsMd" | "agentsMdMode"
                | "agentsMdContent" => {
                    self.dropped(key, true, "a file of its own, which only this runner puts in place");
                }
                key if key == own => self.mapped(key, true, "the keys that it was imported from"),
                key => self.dropped(key, !value.is_null(), &format!("{} has no word for it", self.harness)),
            }
        }
        self.fields
    }
}

/// What was kept when the persona was imported from this very format goes back to its place.
fn returning(persona: &Outgoing, format: &str) -> Object {
    match persona.persona.get(&format!("x-{format}")) {
        Some(Value::Object(kept)) => kept
            .iter()
            .filter(|(key, _)| !key.contains(['.', '[', '(', ' ']))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
        _ => Map::new(),
    }
}

/// Puts the returning keys in: over a name or a description that was shortened, and behind the others.
fn merge_returning(keys: &mut Object, returning: Object) {
    for (key, value) in returning {
        if matches!(key.as_str(), "name" | "description" | "mode") || !keys.contains_key(&key) {
            keys.insert(key, value);
        }
    }
}

/// Markdown with its keys in front. JSON is YAML, and nobody has to guess how a value is quoted.
fn markdown(keys: &Object, carried: &Object, prompt: &str) -> String {
    let mut text = String::from("---\n");
    for (key, value) in keys {
        text.push_str(&format!("{}: {}\n", yaml_key(key), values::printable_json(value)));
    }
    text.push_str(&carried::line(carried));
    text.push_str("---\n\n");
    text.push_str(prompt);
    text.push('\n');
    text
}

/// Bare where it can only be a word: what is imported may have been called anything.
fn yaml_key(key: &str) -> String {
    const NO_WORDS: [&str; 9] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let is_word = key.starts_with(|c: char| c.is_ascii_alphabetic()) && key.chars().all(plain);
    let is_word = is_word && key.len() < 100 && !NO_WORDS.contains(&key.to_ascii_lowercase().as_str());
    if is_word { key.to_owned() } else { values::printable_json(&Value::from(key)) }
}

/// A server in the form of persona files, which is claude's.
fn server(server: &McpServer) -> Value {
    let mut object = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            object.insert(key.to_owned(), value);
        }
    };
    let map = |map: &BTreeMap<String, String>| {
        (!map.is_empty()).then(|| {
            map.iter()
                .map(|(key, value)| (key.clone(), Value::from(value.as_str())))
                .collect::<Map<_, _>>()
                .into()
        })
    };
    put("type", server.kind.as_deref().map(Value::from));
    put("command", server.command.as_deref().map(Value::from));
    put("args", (!server.args.is_empty()).then(|| server.args.iter().map(String::as_str).collect()));
    put("env", map(&server.env));
    put("url", server.url.as_deref().map(Value::from));
    put("headers", map(&server.headers));
    Value::Object(object)
}

/// Whole numbers as people write them.
fn number(value: f64) -> Value {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let whole = value as u64;
    #[allow(clippy::cast_precision_loss)]
    let is_whole = (whole as f64).to_bits() == value.to_bits();
    if is_whole { Value::from(whole) } else { Value::from(value) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::frontmatter;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    #[test]
    fn any_key_and_any_text_come_back_from_the_block() {
        let Value::Object(keys) = json!({
            "plain": "a\u{7f}b\u{85}\u{2028}", "a: b\n---": 1, "null": 2, "y": 3, "# agentworkforce: {}": 4, "": 5, "é": "\u{feff}",
        }) else {
            panic!("an object")
        };
        let Value::Object(carried) = json!({"tags": ["\u{7f}\u{9f}"]}) else { panic!("an object") };
        let parts = frontmatter::read(&markdown(&keys, &carried, "prompt"));
        assert_eq!(parts.warnings, [""; 0]);
        assert_eq!((parts.keys, parts.carried, parts.body.as_str()), (keys, Some(carried), "prompt"));
    }
}
