//! Exports a persona as another tool's agent file, with a record of what the format cannot express.

mod claude;
mod codex;
mod opencode;

use super::draft::{Fate, FieldFate};
use super::embedded_persona::{self, EmbeddedPersona, EmbeddedRole};
use super::format::{Format, Missing, Source};
use super::{convert, values};
use crate::harness::AgentFile;
use crate::model::limits::Limits;
use crate::model::persona::{HarnessSettings, McpServer, Permissions};
use crate::model::plan::SkillKind;
use crate::model::shape::Object;
use crate::model::skill_source::kind_of;
use crate::model::tier::Tier;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashSet};

/// A persona resolved for one tier on the target harness.
pub struct Outgoing<'a> {
    pub id: &'a str,
    pub tier: Tier,
    pub description: Option<&'a str>,
    /// The complete prompt: identity, charter and job, with the values of inputs.
    pub prompt: &'a str,
    pub model: Option<&'a str>,
    pub settings: &'a HarnessSettings,
    pub permissions: &'a Permissions,
    pub mcp_servers: &'a BTreeMap<String, McpServer>,
    pub limits: Limits,
    /// The whole persona, for the record and for a later import.
    pub persona: &'a Object,
    /// The part of the prompt before the job: identity and charter.
    pub before_job: &'a str,
    /// The role, where it is not built in.
    pub role: Option<EmbeddedRole>,
}

/// The file, and what happened to every field of the persona.
#[derive(Debug, Clone, PartialEq)]
pub struct Exported {
    pub file_name: String,
    pub text: String,
    pub fields: Vec<FieldFate>,
}

/// The file without the comment, split where the comment goes.
struct Native {
    file_name: String,
    head: String,
    tail: String,
}

pub fn export(format: AgentFile, persona: &Outgoing) -> Exported {
    let mut ledger = Ledger { fields: Vec::new(), format };
    let embeddable = ledger.embeddable(persona);
    let native = match format {
        AgentFile::ClaudeMarkdown => claude::export(persona, &mut ledger),
        AgentFile::OpencodeMarkdown => opencode::export(persona, &mut ledger),
        AgentFile::CodexToml => codex::export(persona, &mut ledger),
    };
    let alone = format!("{}{}", native.head, native.tail);
    let embedded = EmbeddedPersona {
        fields: embedded_persona::field_fingerprints(&imported(format, &native.file_name, &alone)),
        file: embedded_persona::file_fingerprint(&alone),
        tier: persona.tier.name().to_owned(),
        before_job: (persona.before_job.len(), embedded_persona::fingerprint(persona.before_job)),
        role: persona.role.clone(),
        persona: embeddable,
    };
    let text = format!("{}{}{}", native.head, embedded_persona::comment_line(&embedded), native.tail);
    Exported { file_name: native.file_name, text, fields: ledger.finish(persona) }
}

/// What an import makes of the file without the comment. A later import compares with it to find edits.
fn imported(format: AgentFile, file_name: &str, text: &str) -> Object {
    let nearby = |_: &str| Err(Missing::Absent);
    let source = Source { path: file_name, below: file_name, text, nearby: &nearby };
    let drafts = convert(format.into(), &source).map(|converted| converted.drafts).unwrap_or_default();
    drafts.into_iter().next().map(|draft| draft.persona).unwrap_or_default()
}

/// What happened to the persona's fields.
struct Ledger {
    fields: Vec<FieldFate>,
    format: AgentFile,
}

impl Ledger {
    /// The persona without what cannot be embedded: files beside it, and what an import would refuse.
    fn embeddable(&mut self, persona: &Outgoing) -> Object {
        let mut embeddable = persona.persona.clone();
        self.without_files(&mut embeddable, "");
        if let Some(Value::Object(tiers)) = embeddable.get_mut("tiers") {
            for (name, tier) in tiers.iter_mut() {
                if let Value::Object(tier) = tier {
                    self.without_files(tier, &format!("tiers.{name}."));
                }
            }
        }
        if let Some(Value::Array(skills)) = embeddable.get_mut("skills") {
            skills.retain(|skill| {
                let source = skill.as_str().or_else(|| skill.get("source")?.as_str()).unwrap_or_default();
                let is_local = kind_of(source) == SkillKind::Local;
                let name = skill.get("id").and_then(Value::as_str).unwrap_or(source);
                self.dropped(&format!("skills.{name}"), is_local, "a local directory, which is not exported");
                !is_local
            });
            if skills.is_empty() {
                embeddable.shift_remove("skills");
            } else {
                self.kept("skills", true);
            }
        }
        embeddable
    }

    fn without_files(&mut self, level: &mut Object, at: &str) {
        for key in ["claudeMd", "agentsMd"] {
            if level.shift_remove(key).is_some() {
                self.dropped(&format!("{at}{key}"), true, "a file beside the persona, which is not exported");
                level.shift_remove(&format!("{key}Mode"));
                self.dropped(&format!("{at}{key}Mode"), true, "belongs to the file");
            }
        }
        if let Some(Value::Object(settings)) = level.get_mut("harnessSettings") {
            let field = format!("{at}harnessSettings.{}", embedded_persona::BYPASS);
            let said = settings.shift_remove(embedded_persona::BYPASS).is_some();
            self.dropped(&field, said, "never written into a file that others may take over");
            if settings.is_empty() {
                level.shift_remove("harnessSettings");
            }
        }
    }

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

    /// A field that the format has no word for: the comment has it.
    fn kept(&mut self, field: &str, said: bool) {
        if said {
            let to = "a comment, for `import`".to_owned();
            self.fields.push(FieldFate { field: field.into(), fate: Fate::Kept { to } });
        }
    }

    /// Limits and settings that no format has, or only codex.
    fn keep_settings(&mut self, persona: &Outgoing) {
        let limits = persona.limits;
        self.kept("limits.wallSeconds", limits.wall_seconds.is_some());
        self.kept("limits.idleSeconds", limits.idle_seconds.is_some());
        self.kept("limits.usd", limits.usd.is_some());
        self.kept("limits.processes", limits.processes.is_some());
        self.kept("limits.memoryMb", limits.memory_mb.is_some());
        self.kept("limits.diskMb", limits.disk_mb.is_some());
        let settings = persona.settings;
        self.kept("harnessSettings.timeoutSeconds", settings.timeout_seconds.is_some());
        if self.format != AgentFile::CodexToml {
            self.kept("harnessSettings.sandboxMode", settings.sandbox_mode.is_some());
            self.kept("harnessSettings.approvalPolicy", settings.approval_policy.is_some());
            let access = settings.workspace_write_network_access;
            self.kept("harnessSettings.workspaceWriteNetworkAccess", access.is_some());
        }
        self.kept("harnessSettings.webSearch", settings.web_search.is_some());
    }

    /// Records the remaining fields, so that none is lost silently.
    fn finish(mut self, persona: &Outgoing) -> Vec<FieldFate> {
        self.keep_settings(persona);
        // A record of a part counts for the whole field.
        let mut recorded = HashSet::new();
        for FieldFate { field, .. } in &self.fields {
            recorded.extend(field.match_indices('.').map(|(at, _)| field[..at].to_owned()));
            recorded.insert(field.clone());
        }
        for (key, value) in persona.persona {
            if recorded.contains(key) && key != "tiers" {
                continue;
            }
            let own = format!("x-{}", Format::from(self.format).name());
            match key.as_str() {
                "id" => self.mapped(key, true, "name"),
                "systemPrompt" => self.mapped(key, true, "prompt"),
                "name" | "emoji" | "role" | "expertise" => self.mapped(key, true, "prompt (written out)"),
                "inputs" => self.mapped(key, true, "prompt (with their defaults)"),
                key if key == own => self.mapped(key, true, "the keys that it was imported from"),
                key => self.kept(key, !value.is_null()),
            }
        }
        if let Some(role) = &persona.role {
            self.kept(&format!("role {}", role.key), true);
        }
        self.fields
    }
}

/// The keys that were kept when the persona was imported from this format.
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

/// Adds these keys: over a shortened name or description, and after the others.
fn merge_returning(keys: &mut Object, returning: Object) {
    for (key, value) in returning {
        if matches!(key.as_str(), "name" | "description" | "mode") || !keys.contains_key(&key) {
            keys.insert(key, value);
        }
    }
}

/// Markdown with frontmatter. The values are JSON, which is valid YAML without any quoting rules.
fn markdown(file_name: String, keys: &Object, prompt: &str) -> Native {
    let mut head = String::from("---\n");
    for (key, value) in keys {
        head.push_str(&format!("{}: {}\n", yaml_key(key), values::printable_json(value)));
    }
    Native { file_name, head, tail: format!("---\n\n{prompt}\n") }
}

/// Without quotes where the key is a plain word: imported keys may be anything.
fn yaml_key(key: &str) -> String {
    const RESERVED: [&str; 9] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let is_word = key.starts_with(|c: char| c.is_ascii_alphabetic()) && key.chars().all(plain);
    let is_word = is_word && key.len() < 100 && !RESERVED.contains(&key.to_ascii_lowercase().as_str());
    if is_word { key.to_owned() } else { values::printable_json(&Value::from(key)) }
}

/// A server as in persona files, which have claude's syntax.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::frontmatter;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    #[test]
    fn any_key_and_any_text_survive_the_frontmatter() {
        let Value::Object(keys) = json!({
            "plain": "a\u{7f}b\u{85}\u{2028}", "a: b\n---": 1, "null": 2, "y": 3, "# agentworkforce: {}": 4, "": 5, "é": "\u{feff}",
        }) else {
            panic!("an object")
        };
        let Native { head, tail, .. } = markdown("a.md".into(), &keys, "prompt");
        let parts = frontmatter::read(&(head + &tail));
        assert_eq!(parts.warnings, []);
        assert_eq!((parts.keys, parts.embedded, parts.body.as_str()), (keys, None, "prompt"));
    }
}
