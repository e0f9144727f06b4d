//! The whole persona in a comment of an exported file: the other tool ignores it, and an import restores it. What was
//! edited in the file since the export wins, with a warning.

use super::draft::RoleDraft;
use super::text::normalised;
use super::{tools, values};
use crate::model::shape::Object;
use crate::model::text_rules;
use crate::model::warning::{Warning, WarningCode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The start of the line, in YAML and in TOML. A key of our own is not possible: opencode sends unknown keys to the
/// model's provider, and codex may refuse the file.
const PREFIX: &str = "# agentworkforce: ";

/// Never imported, because somebody else may have written the file.
pub use crate::model::formats::BYPASS;

/// The content of the comment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EmbeddedPersona {
    pub persona: Object,
    /// The exported tier.
    pub tier: String,
    /// The persona's role, where it is not built in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<EmbeddedRole>,
    /// The part of the file's prompt before the job (identity and charter): its length and fingerprint.
    #[serde(default)]
    pub before_job: (usize, String),
    /// The fingerprint of the file without the comment.
    pub file: String,
    /// The fingerprints of the fields that an import of the file without the comment gives.
    pub fields: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EmbeddedRole {
    pub key: String,
    pub document: Object,
}

/// The comment of a file, with the fingerprint of the file as it is now.
#[derive(Debug, Clone, PartialEq)]
pub struct Comment {
    /// `Err` where the comment is invalid.
    embedded: Result<EmbeddedPersona, String>,
    file: String,
}

/// The persona as it was exported, with later edits.
pub struct Restored {
    pub persona: Object,
    pub role: Option<RoleDraft>,
    pub warnings: Vec<Warning>,
    /// Fields that are only in the comment.
    pub added: Vec<String>,
    /// The file was edited since the export.
    pub is_edited: bool,
}

/// A short hash of a text.
pub fn fingerprint(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}

/// The fingerprint of a file; line ends and whitespace at its end do not count.
pub fn file_fingerprint(text: &str) -> String {
    fingerprint(normalised(text).trim_end())
}

/// The fingerprints of a persona's fields, one level deep.
pub fn field_fingerprints(persona: &Object) -> BTreeMap<String, String> {
    flattened(persona).into_iter().map(|(path, value)| (path, fingerprint(&value.to_string()))).collect()
}

fn flattened(persona: &Object) -> BTreeMap<String, &Value> {
    let mut fields = BTreeMap::new();
    for (key, value) in persona {
        match value {
            Value::Object(inner) => {
                fields.extend(inner.iter().map(|(name, value)| (format!("{key}.{name}"), value)));
            }
            value => {
                fields.insert(key.clone(), value);
            }
        }
    }
    fields
}

/// The line of the comment. Characters that YAML or TOML may refuse in a comment are escaped.
pub fn comment_line(embedded: &EmbeddedPersona) -> String {
    let json = serde_json::to_string(embedded).expect("plain JSON");
    let mut text = String::from(PREFIX);
    for c in json.chars() {
        let is_plain = c == '\t' || matches!(c, ' '..='~') || (c > '\u{a0}' && c.is_alphanumeric());
        if is_plain {
            text.push(c);
        } else {
            let mut units = [0; 2];
            c.encode_utf16(&mut units).iter().for_each(|unit| text.push_str(&format!("\\u{unit:04x}")));
        }
    }
    text + "\n"
}

/// Finds the comment in these lines of a file.
pub fn read(text: &str, lines: &str) -> Option<Comment> {
    let line = lines.lines().find(|line| line.starts_with(PREFIX))?;
    let json = line.trim_end().strip_prefix(PREFIX)?;
    let embedded = serde_json::from_str(json).map_err(|error| error.to_string());
    let file = file_fingerprint(&text.replacen(&format!("{line}\n"), "", 1));
    Some(Comment { embedded, file })
}

impl Comment {
    /// The persona of the comment, with everything that was edited in the file since.
    pub fn restore(self, found: &Object) -> Result<Restored, String> {
        let mut embedded = self
            .embedded
            .map_err(|why| format!("the comment of an earlier export is invalid ({why}); it was ignored"))?;
        strip_bypass(&mut embedded.persona);
        let now = field_fingerprints(found);
        let edited: Vec<&String> = if self.file == embedded.file {
            // The name may come from the file name, which may have changed.
            now.keys().filter(|path| *path == "id" && now.get(*path) != embedded.fields.get(*path)).collect()
        } else {
            let paths: BTreeSet<&String> = now.keys().chain(embedded.fields.keys()).collect();
            // No format has these two: they follow from the name and the format.
            let is_in_file = |path: &&String| !matches!(path.as_str(), "intent" | "harness");
            let changed = |path: &&String| now.get(*path) != embedded.fields.get(*path);
            paths.into_iter().filter(is_in_file).filter(changed).collect()
        };
        let mut restored = Restored {
            persona: embedded.persona,
            role: None,
            warnings: Vec::new(),
            added: Vec::new(),
            is_edited: !edited.is_empty(),
        };
        // The key becomes a file name, and only the persona's own role is accepted.
        let role = restored.persona.get("role").and_then(Value::as_str);
        restored.role = embedded
            .role
            .filter(|embedded| text_rules::slug(&embedded.key).is_ok() && role == Some(embedded.key.as_str()))
            .map(RoleDraft::from);
        let fields = flattened(found);
        for path in &edited {
            let value = fields.get(*path).copied();
            match (path.as_str(), value.and_then(Value::as_str)) {
                ("systemPrompt", Some(text)) => restored.prompt(text, &embedded.tier, &embedded.before_job),
                ("model", Some(_)) => {
                    restored.set(path, &embedded.tier, value);
                    restored.set_harness(&embedded.tier, found.get("harness").and_then(Value::as_str));
                }
                _ => restored.set(path, &embedded.tier, value),
            }
        }
        restored.apply_limits(&edited);
        if !edited.is_empty() {
            let names: Vec<&str> = edited.iter().map(|path| path.as_str()).collect();
            restored.warn(format!("edited since the export and imported as edited: {}", names.join(", ")));
        }
        restored.added =
            restored.persona.keys().filter(|key| !found.contains_key(*key)).cloned().collect::<Vec<_>>();
        Ok(restored)
    }
}

impl From<EmbeddedRole> for RoleDraft {
    fn from(role: EmbeddedRole) -> RoleDraft {
        RoleDraft { key: role.key, role: role.document, fields: Vec::new(), warnings: Vec::new() }
    }
}

fn strip_bypass(persona: &mut Object) {
    for (key, value) in persona.iter_mut() {
        match (key.as_str(), value) {
            ("harnessSettings", Value::Object(settings)) => {
                settings.shift_remove(BYPASS);
            }
            ("tiers", Value::Object(tiers)) => {
                tiers.values_mut().filter_map(Value::as_object_mut).for_each(strip_bypass);
            }
            _ => {}
        }
    }
}

impl Restored {
    fn warn(&mut self, text: String) {
        self.warnings.push(Warning::new(WarningCode::Conversion, text));
    }

    fn tier(&mut self, tier: &str) -> Option<&mut Object> {
        self.persona.get_mut("tiers")?.get_mut(tier)?.as_object_mut()
    }

    /// Sets or removes a field in the tier where it has its own, else at the top level.
    fn set(&mut self, path: &str, tier: &str, value: Option<&Value>) {
        let of_tiers = matches!(path.split('.').next(), Some("model" | "harnessSettings" | "systemPrompt"));
        if of_tiers && let Some(own) = self.tier(tier) {
            match value {
                Some(value) => return values::set_path(own, path, value.clone()),
                None => remove(own, path),
            }
        }
        match value {
            Some(value) => values::set_path(&mut self.persona, path, value.clone()),
            None => remove(&mut self.persona, path),
        }
    }

    /// An edit that restricts the persona applies to every tier and harness.
    fn apply_limits(&mut self, edited: &[&String]) {
        let is_edited = |path: &str| edited.iter().any(|edited| *edited == path);
        let read_only = |level: &Object| {
            level.get("harnessSettings").and_then(|settings| settings.get("sandboxMode"))
                == Some(&Value::from("read-only"))
        };
        let tiers = self.persona.get("tiers").and_then(Value::as_object);
        let tiers = tiers.into_iter().flat_map(Map::values).filter_map(Value::as_object);
        if is_edited("harnessSettings.sandboxMode") && tiers.chain([&self.persona]).any(read_only) {
            // Only codex has a sandbox, and this one is set in one tier.
            let mut deny = self.permission("deny");
            for tool in ["Edit", "Write", "NotebookEdit"] {
                if !deny.iter().any(|entry| entry == tool) {
                    deny.push(tool.to_owned());
                }
            }
            values::set_path(&mut self.persona, "permissions.deny", deny.into());
            self.warn("the sandbox is read-only now: edits are denied on every harness".into());
        } else if !is_edited("permissions.allow") && !is_edited("permissions.deny") {
            return;
        }
        let mode = self.persona.get("permissions").and_then(|permissions| permissions.get("mode"));
        let Some(mode) = mode.and_then(Value::as_str).map(str::to_owned) else { return };
        let allow = self.permission("allow");
        let asks_for_edits = mode == "acceptEdits" && !allow.iter().any(|entry| entry == "Edit");
        let why = tools::contradicted(&mode, &self.permission("deny"))
            .or_else(|| asks_for_edits.then_some("edits now need approval"));
        if let Some(why) = why {
            remove(&mut self.persona, "permissions.mode");
            self.warn(format!("the mode `{mode}` of the export was left out: {why}"));
        }
    }

    fn permission(&self, list: &str) -> Vec<String> {
        let entries = self.persona.get("permissions").and_then(|permissions| permissions.get(list));
        entries.map(values::list).unwrap_or_default()
    }

    /// Sets an edited prompt. Where it still starts with the identity, the rest is the job; else all of it is, and the
    /// identity is removed from the persona so that it is not in the prompt twice.
    fn prompt(&mut self, text: &str, tier: &str, (length, before): &(usize, String)) {
        let job = text
            .get(*length..)
            .filter(|_| text.get(..*length).is_some_and(|head| fingerprint(head) == *before));
        if job.is_none() {
            let removed: Vec<String> = ["name", "emoji", "role", "expertise"]
                .into_iter()
                .filter(|key| self.persona.shift_remove(*key).is_some())
                .map(str::to_owned)
                .collect();
            self.role = None;
            if !removed.is_empty() {
                self.warn(format!("the edited prompt has its own identity: {} left out", removed.join(", ")));
            }
        }
        self.set_prompt(job.unwrap_or(text), tier);
        self.remove_unused_inputs();
    }

    /// The model in a harness's file belongs to that harness, whatever the tier used before.
    fn set_harness(&mut self, tier: &str, harness: Option<&str>) {
        let Some(harness) = harness else { return };
        let common = self.persona.get("harness").cloned();
        let has_tier = self.tier(tier).is_some();
        let level = if has_tier { self.tier(tier) } else { Some(&mut self.persona) };
        let Some(level) = level else { return };
        if level.get("harness").or(common.as_ref()).and_then(Value::as_str) == Some(harness) {
            return;
        }
        level.insert("harness".into(), harness.into());
        let who = if has_tier { format!("the tier `{tier}`") } else { "the persona".to_owned() };
        self.warn(format!("{who} runs on {harness} now, because the edited model is one of {harness}"));
    }

    /// A shared prompt stays shared, and a tier's own stays its own. Reports which tiers keep the old text.
    fn set_prompt(&mut self, prompt: &str, tier: &str) {
        let tiers = self.persona.get("tiers").and_then(Value::as_object);
        let has_own = |said: &Value| said.get("systemPrompt").is_some_and(Value::is_string);
        let (own, sharing): (Vec<_>, Vec<_>) =
            tiers.into_iter().flatten().partition(|(_, said)| has_own(said));
        let names = |tiers: Vec<(&String, &Value)>| -> Vec<String> {
            tiers.into_iter().map(|(name, _)| name.clone()).collect()
        };
        let (own, sharing) = (names(own), names(sharing));
        let (new, kept) = if own.iter().any(|name| name == tier) {
            if let Some(level) = self.tier(tier) {
                level.insert("systemPrompt".into(), prompt.into());
            }
            let others = own.iter().chain(&sharing).filter(|name| *name != tier).cloned().collect();
            (vec![tier.to_owned()], others)
        } else {
            self.persona.insert("systemPrompt".into(), prompt.into());
            (sharing, own)
        };
        if !kept.is_empty() {
            let keep = if kept.len() == 1 { "keeps its own" } else { "keep their own" };
            self.warn(format!("the edited prompt is that of {}; {} {keep}", new.join(", "), kept.join(", ")));
        }
    }

    /// An edited prompt contains the values of inputs. An input that no prompt uses any more is removed.
    fn remove_unused_inputs(&mut self) {
        let all = Value::Object(
            self.persona
                .iter()
                .filter(|(key, _)| *key != "inputs")
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect::<Map<_, _>>(),
        )
        .to_string();
        let Some(Value::Object(inputs)) = self.persona.get_mut("inputs") else { return };
        let named = |name: &str| all.contains(&format!("${name}")) || all.contains(&format!("${{{name}}}"));
        let unused: Vec<String> = inputs.keys().filter(|name| !named(name)).cloned().collect();
        inputs.retain(|name, _| !unused.contains(name));
        if inputs.is_empty() {
            self.persona.shift_remove("inputs");
        }
        if !unused.is_empty() {
            self.warn(format!(
                "the edited prompt does not use the inputs {}: they were left out",
                unused.join(", ")
            ));
        }
    }
}

fn remove(object: &mut Object, path: &str) {
    match path.split_once('.') {
        None => {
            object.shift_remove(path);
        }
        Some((key, rest)) => {
            if let Some(Value::Object(inner)) = object.get_mut(key) {
                inner.shift_remove(rest);
                if inner.is_empty() {
                    object.shift_remove(key);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    fn object(value: Value) -> Object {
        serde_json::from_value(value).expect("an object")
    }

    /// A file of three lines, the comment among them.
    fn exported(persona: Value, alone: Value) -> (String, String) {
        let text = "name: x\nmodel: opus\n".to_owned();
        let embedded = EmbeddedPersona {
            persona: object(persona),
            tier: "best".into(),
            role: None,
            before_job: (6, fingerprint("I am.\n")),
            file: file_fingerprint(&text),
            fields: field_fingerprints(&object(alone)),
        };
        (text, comment_line(&embedded))
    }

    fn restored(text: &str, comment: &str, found: Value) -> Restored {
        let whole = format!("{text}{comment}");
        read(&whole, &whole).expect("a comment").restore(&object(found)).expect("readable")
    }

    #[test]
    fn an_untouched_file_gives_the_persona_back_whatever_the_file_alone_would_be() {
        let persona =
            json!({"id": "x", "emoji": "🐛", "x-odd": "\u{7f}\u{2028}\u{feff} é", "limits": {"usd": 1}});
        let (text, comment) = exported(persona.clone(), json!({"id": "x"}));
        assert_eq!(comment.lines().count(), 1);
        assert!(!comment.contains(['\u{7f}', '\u{2028}', '\u{feff}', '🐛']), "{comment}");
        let back =
            restored(&text.replace('\n', "\r\n"), &comment, json!({"id": "x", "limits": {"turns": 9}}));
        assert_eq!(Value::Object(back.persona), persona);
        assert_eq!(back.added, ["emoji", "x-odd"]);
    }

    #[test]
    fn edits_are_imported_with_a_warning() {
        let persona = json!({
            "id": "x", "name": "X", "description": "old", "limits": {"usd": 1, "turns": 3},
            "inputs": {"A": {"default": "a"}, "B": {}}, "systemPrompt": "Do $A and $B.",
            "tiers": {"best": {"model": "opus", "harnessSettings": {"dangerouslyBypassApprovalsAndSandbox": true}}},
        });
        let alone = json!({"id": "x", "intent": "x", "description": "old", "model": "opus", "limits": {"turns": 3}, "systemPrompt": "I am.\nDo a and $B."});
        let (text, comment) = exported(persona, alone);
        let now = json!({"id": "x", "intent": "x", "description": "new", "model": "haiku", "systemPrompt": "I am.\nDo a with $B."});
        let back = restored(&format!("{text}edited\n"), &comment, now);
        assert_eq!(
            Value::Object(back.persona),
            json!({
                "id": "x", "name": "X", "description": "new", "limits": {"usd": 1},
                "inputs": {"B": {}}, "systemPrompt": "Do a with $B.",
                "tiers": {"best": {"model": "haiku", "harnessSettings": {}}},
            })
        );
        assert!(
            back.warnings.last().unwrap().message.contains("description, limits.turns, model, systemPrompt"),
            "{:?}",
            back.warnings
        );
    }

    #[test]
    fn a_prompt_with_a_new_identity_replaces_the_old_one() {
        let persona =
            json!({"id": "x", "name": "X", "role": "r", "inputs": {"A": {}}, "systemPrompt": "Do $A."});
        let (text, comment) = exported(persona, json!({"id": "x", "systemPrompt": "I am.\nDo a."}));
        let back =
            restored(&format!("{text}edited\n"), &comment, json!({"id": "x", "systemPrompt": "You are Y."}));
        assert_eq!(Value::Object(back.persona), json!({"id": "x", "systemPrompt": "You are Y."}));
        assert_eq!(back.warnings.len(), 3, "{:?}", back.warnings);
    }

    #[test]
    fn an_invalid_comment_is_an_error() {
        let found = read("# agentworkforce: [1]\n", "# agentworkforce: [1]\n").expect("a comment");
        assert!(found.restore(&Map::new()).is_err());
        assert_eq!(read("name: x", "name: x"), None);
    }
}
