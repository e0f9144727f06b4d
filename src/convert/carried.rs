//! The whole persona travels in a comment of the exported file: the other tool passes over it, and an import takes it
//! back. What was edited in the file since then is right, and is told.

use super::{RoleDraft, frontmatter, tools, values};
use crate::model::shape::Object;
use crate::model::text_rules;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// How the line starts, in YAML and in TOML. Keys of our own would not do: opencode hands those that it does not know
/// to the model's provider, and codex may refuse the file.
const MARK: &str = "# agentworkforce: ";

/// Never taken from a file that somebody else may have written.
pub const BYPASS: &str = "dangerouslyBypassApprovalsAndSandbox";

/// What the comment says.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Carried {
    pub persona: Object,
    /// The tier that the file is for.
    pub tier: String,
    /// The role that the persona points at, where it is not one of the library.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<CarriedRole>,
    /// Who it is and its charter, in front of the job in the file's prompt: how long, and its mark.
    #[serde(default)]
    pub before_job: (usize, String),
    /// The mark of the file without the comment.
    pub file: String,
    /// The marks of what an import of the file alone would make of it.
    pub fields: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CarriedRole {
    pub key: String,
    pub document: Object,
}

/// A comment that was found, with what the file around it is now.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// `Err` where the comment cannot be read any more.
    carried: Result<Carried, String>,
    file: String,
}

/// The persona as it was, with what has been edited since.
pub struct Restored {
    pub persona: Object,
    pub role: Option<RoleDraft>,
    pub warnings: Vec<String>,
    /// The fields of which the file itself says nothing.
    pub added: Vec<String>,
}

/// A text by which it is known again.
pub fn mark(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}

/// The mark of a file: line ends and what is at its end say nothing.
pub fn mark_of_file(text: &str) -> String {
    mark(frontmatter::plain(text).trim_end())
}

/// The marks of a persona's fields, one level deep.
pub fn marks(persona: &Object) -> BTreeMap<String, String> {
    flattened(persona).into_iter().map(|(path, value)| (path, mark(&value.to_string()))).collect()
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

/// The line of the comment. Whatever YAML or TOML could take amiss in a comment is written as an escape.
pub fn line(carried: &Carried) -> String {
    let json = serde_json::to_string(carried).expect("plain JSON");
    let mut text = String::from(MARK);
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

/// The comment among these lines of a file.
pub fn read(text: &str, lines: &str) -> Option<Found> {
    let line = lines.lines().find(|line| line.starts_with(MARK))?;
    let json = line.trim_end().strip_prefix(MARK)?;
    let carried = serde_json::from_str(json).map_err(|error| error.to_string());
    let file = mark_of_file(&text.replacen(&format!("{line}\n"), "", 1));
    Some(Found { carried, file })
}

impl Found {
    /// The persona of the comment, and over it what the file says otherwise than when it was written.
    pub fn restore(self, found: &Object) -> Result<Restored, String> {
        let mut carried = self.carried.map_err(|why| {
            format!("a comment of an earlier export cannot be read ({why}); it was left out")
        })?;
        strip_bypass(&mut carried.persona);
        let now = marks(found);
        let edited: Vec<&String> = if self.file == carried.file {
            // A name may be the file's own, and that may have been changed.
            now.keys().filter(|path| *path == "id" && now.get(*path) != carried.fields.get(*path)).collect()
        } else {
            let paths: BTreeSet<&String> = now.keys().chain(carried.fields.keys()).collect();
            // No format has a word for these two: they follow from the name and from the format.
            let says_so = |path: &&String| !matches!(path.as_str(), "intent" | "harness");
            let changed = |path: &&String| now.get(*path) != carried.fields.get(*path);
            paths.into_iter().filter(says_so).filter(changed).collect()
        };
        let mut restored =
            Restored { persona: carried.persona, role: None, warnings: Vec::new(), added: Vec::new() };
        // A key is the name of a file; and a role that the persona does not hold has no business here.
        let holds = restored.persona.get("role").and_then(Value::as_str);
        restored.role = carried
            .role
            .filter(|role| text_rules::slug(&role.key).is_ok() && holds == Some(role.key.as_str()))
            .map(RoleDraft::from);
        let fields = flattened(found);
        for path in &edited {
            let value = fields.get(*path).copied();
            match (path.as_str(), value.and_then(Value::as_str)) {
                ("systemPrompt", Some(text)) => restored.prompt(text, &carried.tier, &carried.before_job),
                ("model", Some(_)) => {
                    restored.put(path, &carried.tier, value);
                    restored.follow(&carried.tier, found.get("harness").and_then(Value::as_str));
                }
                _ => restored.put(path, &carried.tier, value),
            }
        }
        restored.hold_limits(&edited);
        if !edited.is_empty() {
            let names: Vec<&str> = edited.iter().map(|path| path.as_str()).collect();
            restored.warnings.push(format!(
                "edited since its export, and taken from the file as it is now: {}",
                names.join(", ")
            ));
        }
        restored.added =
            restored.persona.keys().filter(|key| !found.contains_key(*key)).cloned().collect::<Vec<_>>();
        Ok(restored)
    }
}

impl From<CarriedRole> for RoleDraft {
    fn from(role: CarriedRole) -> RoleDraft {
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
    fn tier(&mut self, tier: &str) -> Option<&mut Object> {
        self.persona.get_mut("tiers")?.get_mut(tier)?.as_object_mut()
    }

    /// Sets or takes out a field where the persona has it: what a tier says of itself beats the top level.
    fn put(&mut self, path: &str, tier: &str, value: Option<&Value>) {
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

    /// What was edited to less is less on every tier and harness, whatever the comment says beside it.
    fn hold_limits(&mut self, edited: &[&String]) {
        let is_edited = |path: &str| edited.iter().any(|edited| *edited == path);
        let read_only = |level: &Object| {
            level.get("harnessSettings").and_then(|settings| settings.get("sandboxMode"))
                == Some(&Value::from("read-only"))
        };
        let tiers = self.persona.get("tiers").and_then(Value::as_object);
        let tiers = tiers.into_iter().flat_map(Map::values).filter_map(Value::as_object);
        if is_edited("harnessSettings.sandboxMode") && tiers.chain([&self.persona]).any(read_only) {
            // A sandbox is codex's alone, and this one was written into one tier.
            let mut deny = self.permission("deny");
            for tool in ["Edit", "Write", "NotebookEdit"] {
                if !deny.iter().any(|entry| entry == tool) {
                    deny.push(tool.to_owned());
                }
            }
            values::set_path(&mut self.persona, "permissions.deny", deny.into());
            self.warnings.push("the sandbox is read-only now: edits are denied on every harness".into());
        } else if !is_edited("permissions.allow") && !is_edited("permissions.deny") {
            return;
        }
        let mode = self.persona.get("permissions").and_then(|permissions| permissions.get("mode"));
        let Some(mode) = mode.and_then(Value::as_str).map(str::to_owned) else { return };
        let allow = self.permission("allow");
        let asks_for_edits = mode == "acceptEdits" && !allow.iter().any(|entry| entry == "Edit");
        let why = tools::contradicted(&mode, &self.permission("deny"))
            .or_else(|| asks_for_edits.then_some("edits are not allowed unasked any more"));
        if let Some(why) = why {
            remove(&mut self.persona, "permissions.mode");
            self.warnings.push(format!("the mode `{mode}` of the export was left out: {why}"));
        }
    }

    fn permission(&self, list: &str) -> Vec<String> {
        let entries = self.persona.get("permissions").and_then(|permissions| permissions.get(list));
        entries.map(values::list).unwrap_or_default()
    }

    /// A prompt that was edited. Where it still starts with who it is, the rest is the job; else all of it is, and who
    /// it is would stand there twice.
    fn prompt(&mut self, text: &str, tier: &str, (length, before): &(usize, String)) {
        let job =
            text.get(*length..).filter(|_| text.get(..*length).is_some_and(|head| mark(head) == *before));
        if job.is_none() {
            let gone: Vec<String> = ["name", "emoji", "role", "expertise"]
                .into_iter()
                .filter(|key| self.persona.shift_remove(*key).is_some())
                .map(str::to_owned)
                .collect();
            self.role = None;
            if !gone.is_empty() {
                self.warnings.push(format!(
                    "the edited prompt says itself who it is: {} of the export left out",
                    gone.join(", ")
                ));
            }
        }
        self.put_prompt(job.unwrap_or(text), tier);
        self.forget_filled_inputs();
    }

    /// A model in the file of a harness is one of that harness, whatever the tier ran on.
    fn follow(&mut self, tier: &str, harness: Option<&str>) {
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
        self.warnings
            .push(format!("{who} runs on {harness} now, because the edited model is one of {harness}"));
    }

    /// A prompt that tiers share stays shared; a tier's own stays its own. Who keeps the old text is told.
    fn put_prompt(&mut self, prompt: &str, tier: &str) {
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
            self.warnings.push(format!(
                "the edited prompt is that of {}; {} {keep}",
                new.join(", "),
                kept.join(", ")
            ));
        }
    }

    /// An edited prompt has the values of inputs written out. An input that no prompt names any more would be asked
    /// for in vain.
    fn forget_filled_inputs(&mut self) {
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
        let gone: Vec<String> = inputs.keys().filter(|name| !named(name)).cloned().collect();
        inputs.retain(|name, _| !gone.contains(name));
        if inputs.is_empty() {
            self.persona.shift_remove("inputs");
        }
        if !gone.is_empty() {
            self.warnings.push(format!(
                "the edited prompt has their values written out: the inputs {} were left out",
                gone.join(", ")
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
        let carried = Carried {
            persona: object(persona),
            tier: "best".into(),
            role: None,
            before_job: (6, mark("I am.\n")),
            file: mark_of_file(&text),
            fields: marks(&object(alone)),
        };
        (text, line(&carried))
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
    fn what_was_edited_is_taken_and_told() {
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
            back.warnings.last().unwrap().contains("description, limits.turns, model, systemPrompt"),
            "{:?}",
            back.warnings
        );
    }

    #[test]
    fn a_prompt_that_says_anew_who_it_is_stands_alone() {
        let persona =
            json!({"id": "x", "name": "X", "role": "r", "inputs": {"A": {}}, "systemPrompt": "Do $A."});
        let (text, comment) = exported(persona, json!({"id": "x", "systemPrompt": "I am.\nDo a."}));
        let back =
            restored(&format!("{text}edited\n"), &comment, json!({"id": "x", "systemPrompt": "You are Y."}));
        assert_eq!(Value::Object(back.persona), json!({"id": "x", "systemPrompt": "You are Y."}));
        assert_eq!(back.warnings.len(), 3, "{:?}", back.warnings);
    }

    #[test]
    fn a_comment_that_cannot_be_read_is_told() {
        let found = read("# agentworkforce: [1]\n", "# agentworkforce: [1]\n").expect("a comment");
        assert!(found.restore(&Map::new()).is_err());
        assert_eq!(read("name: x", "name: x"), None);
    }
}
