//! The account of a conversion: what became of every field of the source. What nobody speaks for is kept, so nothing
//! can be lost without a word.

use super::{Draft, Format, carried, names, values};
use crate::model::shape::Object;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// What became of one field of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FieldFate {
    pub field: String,
    #[serde(flatten)]
    pub fate: Fate,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "fate", rename_all = "lowercase")]
pub enum Fate {
    /// It says the same thing in the other format, here.
    Mapped {
        to: String,
    },
    /// It has no meaning there and stays as it was, here.
    Kept {
        to: String,
    },
    Dropped {
        why: String,
    },
}

/// A persona in the making, with the source object that it is made of.
pub struct Account {
    format: Format,
    source: Object,
    /// The source with its plain values as they are written, where a format tells the two apart.
    written: Object,
    persona: Object,
    kept: Object,
    fields: Vec<FieldFate>,
    warnings: Vec<String>,
    carried: Option<carried::Found>,
    /// Keys that the file writes otherwise, such as `Name`.
    spelled: BTreeMap<String, String>,
}

/// Keys that people write with a capital.
const CAPITALISED: [&str; 6] = ["name", "description", "tools", "model", "color", "mode"];

impl Account {
    pub fn new(format: Format, source: Object) -> Account {
        let mut source = source;
        let spelled = respelled(&mut source);
        Account {
            format,
            source,
            written: Map::new(),
            persona: Map::new(),
            kept: Map::new(),
            fields: Vec::new(),
            warnings: Vec::new(),
            carried: None,
            spelled,
        }
    }

    /// What the source says under this key; null and a key alone say nothing.
    pub fn get(&self, key: &str) -> Option<Value> {
        self.source.get(key).filter(|value| !value.is_null()).cloned()
    }

    /// Adds what the plain values look like in the file.
    pub fn written(mut self, written: Object) -> Account {
        self.written = written;
        respelled(&mut self.written);
        self
    }

    /// What the source says under this key, to be read as text: numbers and flags stand there as written.
    pub fn as_written(&self, key: &str) -> Option<Value> {
        self.written.get(key).filter(|value| !value.is_null()).cloned().or_else(|| self.get(key))
    }

    pub fn text(&self, key: &str) -> Option<String> {
        self.as_written(key).and_then(|value| values::text(&value)).filter(|text| !text.trim().is_empty())
    }

    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    pub fn warn(&mut self, text: impl Into<String>) {
        self.warnings.push(text.into());
    }

    /// Tells of keys that stand in the file more than once.
    pub fn repeated(&mut self, keys: &[String]) {
        for key in keys {
            self.warn(format!("`{key}` stands there more than once; the last one was taken"));
            self.dropped(&format!("{key} (before the last)"), "said again further down, which holds");
        }
    }

    pub fn first_warning(&self) -> Option<String> {
        self.warnings.first().cloned()
    }

    /// Takes back the persona in the comment of one of our own exports.
    pub fn carry(&mut self, carried: Option<carried::Found>) {
        self.carried = carried;
    }

    /// Sets a field of the persona; a dotted path makes the objects on its way.
    pub fn set(&mut self, path: &str, value: impl Into<Value>) {
        values::set_path(&mut self.persona, path, value.into());
    }

    /// What the persona has at this path so far.
    pub fn at(&self, path: &[&str]) -> Option<&Value> {
        let (first, rest) = path.split_first()?;
        rest.iter().try_fold(self.persona.get(*first)?, |value, key| value.get(key))
    }

    pub fn says(&self, key: &str) -> bool {
        self.persona.contains_key(key)
    }

    pub fn mapped(&mut self, field: &str, to: &str) {
        self.note(field, Fate::Mapped { to: to.to_owned() });
    }

    pub fn dropped(&mut self, field: &str, why: impl Into<String>) {
        self.note(field, Fate::Dropped { why: why.into() });
    }

    /// Keeps a value under `x-<format>` as it was.
    pub fn keep(&mut self, field: &str, value: Value) {
        let to = format!("x-{}.{field}", self.format.name());
        self.kept.insert(field.to_owned(), value);
        self.note(field, Fate::Kept { to });
    }

    /// Each part of it was kept for itself.
    pub fn kept_in_parts(&mut self, field: &str) {
        self.note(field, Fate::Kept { to: format!("x-{}", self.format.name()) });
    }

    fn note(&mut self, field: &str, fate: Fate) {
        // A key of YAML may be nothing at all, and has to be called something.
        let field = if field.is_empty() { "\"\"" } else { field };
        let field = self.spelled.get(field).map_or(field, String::as_str).to_owned();
        self.fields.push(FieldFate { field, fate });
    }

    /// Sets a field of the persona to what this one says, word for word.
    pub fn move_text(&mut self, key: &str, to: &str) {
        if let Some(text) = self.text(key) {
            self.set(to, text.trim());
            self.mapped(key, to);
        }
    }

    /// The id from what the source calls itself, else from the file. A name that the id cannot carry is kept.
    pub fn name(&mut self, key: &str, fallback: &str) {
        let said = self.text(key);
        let id = names::id(said.as_deref(), fallback);
        self.set("id", id.as_str());
        self.set("intent", id.as_str());
        if let Some(said) = said {
            self.mapped(key, "id");
            if said.trim() != id {
                self.keep(key, Value::String(said));
            }
        }
    }

    /// One paragraph that says when to use it. Where the source goes on with examples, the whole of it is kept.
    pub fn description(&mut self, key: &str) {
        let Some(said) = self.text(key) else { return };
        let short = values::first_paragraph(&said);
        self.mapped(key, "description");
        if short != said.trim() {
            self.keep(key, Value::String(said));
        }
        self.set("description", short);
    }

    /// A whole number from 1 on, as the limit of turns.
    pub fn turns(&mut self, key: &str) {
        let turns = self.get(key).and_then(|value| values::whole(&value)).filter(|turns| *turns > 0);
        if let Some(turns) = turns {
            self.set("limits.turns", turns);
            self.mapped(key, "limits.turns");
        }
    }

    /// The prompt from these texts, or the description where there is none; without either there is no persona.
    pub fn prompt(&mut self, prompt: &str) -> Result<(), String> {
        if !prompt.trim().is_empty() {
            self.set("systemPrompt", prompt);
            return Ok(());
        }
        let said = self.text("description").ok_or("has neither a prompt nor a description")?;
        self.warn("it has no prompt: its description stands in for one");
        self.set("systemPrompt", said.trim());
        Ok(())
    }

    /// The persona in the order in which people write one, with whatever nobody spoke for kept.
    pub fn finish(mut self) -> Draft {
        let known: BTreeSet<&str> = self.fields.iter().map(|field| field.field.as_str()).collect();
        let spelled = &self.spelled;
        let spoken_for = |key: &str| known.contains(spelled.get(key).map_or(key, String::as_str));
        let rest: Vec<(String, Value)> = self
            .source
            .iter()
            .filter(|(key, _)| !spoken_for(key))
            .map(|(key, value)| {
                let written = self.written.get(key).unwrap_or(value);
                (key.clone(), values::faithful(key, value, written))
            })
            .collect();
        for (key, value) in rest {
            self.keep(&key, value);
        }
        if !self.says("harness") {
            self.set("harness", self.format.harness());
        }
        let mut persona = Map::new();
        for key in ["id", "intent", "description", "name", "emoji", "role", "expertise", "harness", "model"] {
            if let Some(value) = self.persona.shift_remove(key) {
                persona.insert(key.to_owned(), value);
            }
        }
        let prompt = self.persona.shift_remove("systemPrompt");
        persona.extend(self.persona);
        if !self.kept.is_empty() {
            persona.insert(format!("x-{}", self.format.name()), Value::Object(self.kept));
        }
        // Long, so it comes last.
        persona.extend(prompt.map(|prompt| ("systemPrompt".to_owned(), prompt)));
        let draft = Draft { persona, fields: self.fields, warnings: self.warnings, role: None };
        match self.carried {
            Some(found) => with_carried(draft, found),
            None => draft,
        }
    }
}

/// Gives capitalised keys their usual spelling. Returns what the file calls them.
fn respelled(source: &mut Object) -> BTreeMap<String, String> {
    let mut spelled = BTreeMap::new();
    for usual in CAPITALISED {
        let found = source.keys().find(|key| key.eq_ignore_ascii_case(usual) && *key != usual).cloned();
        if let Some(found) = found.filter(|_| !source.contains_key(usual))
            && let Some(value) = source.shift_remove(&found)
        {
            source.insert(usual.to_owned(), value);
            spelled.insert(usual.to_owned(), found);
        }
    }
    spelled
}

/// The persona of the comment where there is one.
fn with_carried(mut draft: Draft, found: carried::Found) -> Draft {
    match found.restore(&draft.persona) {
        Ok(restored) => {
            draft.warnings.extend(restored.warnings);
            draft.fields.push(FieldFate {
                field: "(comment)".into(),
                fate: Fate::Mapped { to: "the whole persona".into() },
            });
            if !restored.added.is_empty() {
                // It is easily overlooked in somebody else's file.
                let names = restored.added.join(", ");
                draft.warnings.push(format!(
                    "a comment of an earlier export adds {names}: read them before you run it"
                ));
            }
            (draft.persona, draft.role) = (restored.persona, restored.role);
        }
        Err(why) => {
            draft.fields.push(FieldFate {
                field: "(comment)".into(),
                fate: Fate::Dropped { why: "cannot be read".into() },
            });
            draft.warnings.push(why);
        }
    }
    draft
}
