//! Builds a persona and records what happens to every field of the source. A field that no converter handles is kept, so
//! nothing is lost silently.

use super::draft::{Draft, Fate, FieldFate};
use super::format::Format;
use super::{embedded_persona, frontmatter, names, tools, values};
use crate::model::printable::printable;
use crate::model::shape::Object;
use crate::model::text_rules;
use crate::model::warning::{Warning, WarningCode};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// A persona that is being built, with the source object.
pub struct PersonaBuilder {
    format: Format,
    source: Object,
    /// The source with numbers and flags as they are written, where the format has both.
    written: Object,
    persona: Object,
    kept: Object,
    fields: Vec<FieldFate>,
    warnings: Vec<Warning>,
    embedded: Option<embedded_persona::Comment>,
    /// Keys with another spelling in the file, such as `Name`.
    spelled: BTreeMap<String, String>,
    /// The harness is that of its role.
    harness_of_role: bool,
    /// Tools that the source lists, allowed or not, in the spelling of persona files.
    listed_tools: Vec<String>,
}

/// Keys that limit an agent, in every format. One without effect is never kept silently.
const LIMITS: [&str; 20] = [
    "tools",
    "allowed-tools",
    "allowedTools",
    "allowed_tools",
    "disallowedTools",
    "disallowed-tools",
    "disallowed_tools",
    "excludedTools",
    "permission",
    "permissions",
    "permissionMode",
    "toolsSettings",
    "maxTurns",
    "max_turns",
    "maxSteps",
    "steps",
    "maxBudgetUsd",
    "sandbox_mode",
    "approval_policy",
    "sandbox_workspace_write",
];

/// Keys that are often written with a capital.
const CAPITALISED: [&str; 6] = ["name", "description", "tools", "model", "color", "mode"];

impl PersonaBuilder {
    pub fn new(format: Format, source: Object) -> PersonaBuilder {
        let mut source = source;
        let spelled = respelled(&mut source);
        PersonaBuilder {
            format,
            source,
            written: Map::new(),
            persona: Map::new(),
            kept: Map::new(),
            fields: Vec::new(),
            warnings: Vec::new(),
            embedded: None,
            spelled,
            harness_of_role: false,
            listed_tools: Vec::new(),
        }
    }

    /// Of a Markdown file with frontmatter.
    pub fn of_markdown(format: Format, parts: frontmatter::Parts) -> (PersonaBuilder, String) {
        let mut builder = PersonaBuilder::new(format, parts.keys).written(parts.written);
        builder.embedded(parts.embedded);
        builder.repeated(&parts.repeated);
        builder.add_warnings(parts.warnings);
        (builder, parts.body)
    }

    /// The harness of a persona of this format.
    pub fn harness(&self) -> &'static str {
        self.format.harness()
    }

    /// The value of a key in the source; null counts as missing.
    pub fn get(&self, key: &str) -> Option<Value> {
        self.source.get(key).filter(|value| !value.is_null()).cloned()
    }

    /// Adds the values as they are written in the file.
    pub fn written(mut self, written: Object) -> PersonaBuilder {
        self.written = written;
        respelled(&mut self.written);
        self
    }

    /// The value of a key with numbers and flags as written.
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
        self.warnings.push(Warning::new(WarningCode::Conversion, text));
    }

    pub fn add_warnings(&mut self, warnings: Vec<Warning>) {
        self.warnings.extend(warnings);
    }

    /// Records keys that occur more than once.
    pub fn repeated(&mut self, keys: &[String]) {
        for key in keys {
            let text = format!("`{key}` occurs more than once; the last value was used");
            self.warnings.push(Warning::new(WarningCode::InvalidFile, text));
            self.dropped(&format!("{key} (before the last)"), "repeated later in the file");
        }
    }

    pub fn first_warning(&self) -> Option<String> {
        self.warnings.first().map(|warning| warning.message.clone())
    }

    /// Restores the persona in the comment of one of our own exports.
    pub fn embedded(&mut self, comment: Option<embedded_persona::Comment>) {
        self.embedded = comment;
    }

    /// Sets a field of the persona; a dotted path creates the objects in between. A model or an effort that no persona may have
    /// is left out, and told.
    pub fn set(&mut self, path: &str, value: impl Into<Value>) {
        let value = value.into();
        if ["model", "harnessSettings.reasoning"].contains(&path)
            && let Err(why) = value.as_str().map_or(Ok(()), text_rules::value)
        {
            self.warn(format!("`{path}` is left out: it {why}"));
            return;
        }
        values::set_path(&mut self.persona, path, value);
    }

    /// The value at this path of the persona.
    pub fn at(&self, path: &[&str]) -> Option<&Value> {
        let (first, rest) = path.split_first()?;
        rest.iter().try_fold(self.persona.get(*first)?, |value, key| value.get(key))
    }

    pub fn has_set(&self, key: &str) -> bool {
        self.persona.contains_key(key)
    }

    pub fn mapped(&mut self, field: &str, to: &str) {
        self.note(field, Fate::Mapped { to: to.to_owned() });
    }

    pub fn dropped(&mut self, field: &str, why: impl Into<String>) {
        self.note(field, Fate::Dropped { why: why.into() });
    }

    /// Keeps a limit that cannot be expressed, with a warning.
    pub fn keep_limit(&mut self, field: &str, value: Value) {
        self.warn(format!(
            "`{}` limits the agent and has no effect here: set `permissions` or `limits` yourself",
            printable(field)
        ));
        self.keep(field, value);
    }

    /// Keeps a value unchanged under `x-<format>`.
    pub fn keep(&mut self, field: &str, value: Value) {
        let to = format!("x-{}.{field}", self.format.name());
        self.kept.insert(field.to_owned(), value);
        self.note(field, Fate::Kept { to });
    }

    /// Records that each part of the field was kept separately.
    pub fn kept_in_parts(&mut self, field: &str) {
        self.note(field, Fate::Kept { to: format!("x-{}", self.format.name()) });
    }

    fn note(&mut self, field: &str, fate: Fate) {
        // A key of YAML may be empty, but the report needs a name.
        let field = if field.is_empty() { "\"\"" } else { field };
        let field = self.spelled.get(field).map_or(field, String::as_str).to_owned();
        self.fields.push(FieldFate { field, fate });
    }

    /// Copies a text of the source to a field of the persona.
    pub fn move_text(&mut self, key: &str, to: &str) {
        if let Some(text) = self.text(key) {
            self.set(to, text.trim());
            self.mapped(key, to);
        }
    }

    /// Sets the id from the name in the source, else from the file, and takes the name and the emoji.
    pub fn name(&mut self, key: &str, fallback: &str) {
        let said = self.text(key);
        let id = names::id(said.as_deref(), fallback);
        self.set("id", id.as_str());
        self.set("intent", id.as_str());
        if let Some(said) = said {
            self.mapped(key, "id");
            if said.trim() != id {
                if key == "name" && self.display_name() {
                    // An export writes it back.
                    self.kept.insert(key.to_owned(), Value::String(said));
                } else {
                    self.keep(key, Value::String(said));
                }
            }
        }
        self.emoji();
    }

    /// Takes the name that people see. Returns whether it is one.
    pub fn display_name(&mut self) -> bool {
        let name = self.text("name").filter(|name| text_rules::display_name(name).is_ok());
        if let Some(name) = &name {
            self.set("name", name.trim());
            self.mapped("name", "name");
        }
        name.is_some()
    }

    fn emoji(&mut self) {
        if let Some(emoji) = self.text("emoji").filter(|emoji| text_rules::emoji(emoji).is_ok()) {
            self.set("emoji", emoji);
            self.mapped("emoji", "emoji");
        }
    }

    /// Adds entries to a list of the persona, each once.
    pub fn add(&mut self, path: [&str; 2], entries: impl IntoIterator<Item = String>) {
        let there = self.at(&path).and_then(Value::as_array).into_iter().flatten();
        let mut all: Vec<String> = there.filter_map(Value::as_str).map(str::to_owned).collect();
        let mut seen: HashSet<String> = all.iter().cloned().collect();
        all.extend(entries.into_iter().filter(|entry| seen.insert(entry.clone())));
        if !all.is_empty() {
            self.set(&path.join("."), all);
        }
    }

    /// Remembers tools that the source lists.
    pub fn lists_tools(&mut self, tools: &[String]) {
        self.listed_tools.extend_from_slice(tools);
    }

    /// Declares an input for a value that the source asks for. One that is declared already stays.
    pub fn input(&mut self, name: &str, description: String) {
        if self.at(&["inputs", name]).is_none() {
            self.set(&format!("inputs.{name}.description"), description);
        }
    }

    /// Sets no harness, because the persona's role has one.
    pub fn leave_harness_to_role(&mut self) {
        self.harness_of_role = true;
    }

    /// Sets the description to its first paragraph. The whole text is kept where it is longer.
    pub fn description(&mut self, key: &str) {
        let Some(said) = self.text(key) else { return };
        let short = values::first_paragraph(&said);
        self.mapped(key, "description");
        if short != said.trim() {
            self.keep(key, Value::String(said));
        }
        self.set("description", short);
    }

    /// Sets the description, from the first sentence of the body where there is none.
    pub fn description_or_first_sentence(&mut self, key: &str, body: &str) {
        self.description(key);
        if self.has_set("description") {
            return;
        }
        let is_prose = |line: &&str| line.starts_with(|c: char| c.is_alphabetic() || c == '*' || c == '"');
        if let Some(line) = body.lines().map(str::trim).find(is_prose) {
            self.set("description", values::first_paragraph(line.trim_matches('*')));
        }
    }

    /// Sets the limit of turns, if it is a positive number.
    pub fn turns(&mut self, key: &str) {
        let turns = self.get(key).and_then(|value| values::whole(&value)).filter(|turns| *turns > 0);
        if let Some(turns) = turns {
            self.set("limits.turns", turns);
            self.mapped(key, "limits.turns");
        }
    }

    /// A prompt whose file is missing: the description is used instead, if there is one.
    pub fn missing_prompt(&mut self, missing: &str) -> Result<(), String> {
        if self.text("description").is_none() {
            return Err(missing.to_owned());
        }
        self.warn(format!("it {missing}"));
        Ok(())
    }

    /// Sets the prompt, or uses the description for it; without either there is no persona.
    pub fn prompt(&mut self, prompt: &str) -> Result<(), String> {
        if !prompt.trim().is_empty() {
            self.set("systemPrompt", prompt);
            return Ok(());
        }
        let said = self.text("description").ok_or("has neither a prompt nor a description")?;
        self.warn("it has no prompt: its description is used instead");
        self.set("systemPrompt", said.trim());
        Ok(())
    }

    /// The finished persona with its keys in the usual order. Fields that were not handled are kept.
    pub fn finish(mut self) -> Draft {
        self.report_missing_servers();
        let known: BTreeSet<&str> = self.fields.iter().map(|field| field.field.as_str()).collect();
        let spelled = &self.spelled;
        let is_handled = |key: &str| known.contains(spelled.get(key).map_or(key, String::as_str));
        let rest: Vec<(String, Value)> = self
            .source
            .iter()
            .filter(|(key, _)| !is_handled(key))
            .map(|(key, value)| {
                let written = self.written.get(key).unwrap_or(value);
                (key.clone(), values::faithful(key, value, written))
            })
            .collect();
        for (key, value) in rest {
            if LIMITS.contains(&key.as_str()) && !value.is_null() {
                self.keep_limit(&key, value);
            } else {
                self.keep(&key, value);
            }
        }
        if !self.has_set("harness") && !self.harness_of_role {
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
        // The prompt is long, so it comes last.
        persona.extend(prompt.map(|prompt| ("systemPrompt".to_owned(), prompt)));
        let draft = Draft {
            persona,
            fields: self.fields,
            warnings: self.warnings,
            role: None,
            only_in_comment: Vec::new(),
        };
        match self.embedded {
            Some(comment) => restore_embedded(draft, comment),
            None => draft,
        }
    }
}

impl PersonaBuilder {
    /// Tools of MCP servers that the file does not define are there only if the servers are.
    fn report_missing_servers(&mut self) {
        let defined: Vec<String> = self
            .at(&["mcpServers"])
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(Map::keys)
            .map(|server| tools::server_prefix(server))
            .collect();
        let is_missing = |tool: &&String| {
            tool.starts_with("mcp__")
                && !defined.iter().any(|server| *tool == server || tool.starts_with(&format!("{server}__")))
        };
        let allowed = self.at(&["permissions", "allow"]).map(values::list).unwrap_or_default();
        let known: HashSet<&String> = allowed.iter().collect();
        let unlisted = self.listed_tools.iter().filter(|tool| !known.contains(tool));
        let missing: Vec<&str> =
            allowed.iter().chain(unlisted).filter(is_missing).map(String::as_str).collect();
        if !missing.is_empty() {
            self.warn(format!(
                "it uses tools of MCP servers that the file does not define: {}; add the servers to `mcpServers`",
                printable(&missing.join(", "))
            ));
        }
    }
}

/// Changes capitalised keys to their usual spelling. Returns the spellings in the file.
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

/// Replaces the draft by the persona of the comment.
fn restore_embedded(mut draft: Draft, comment: embedded_persona::Comment) -> Draft {
    let warning = |text: String| Warning::new(WarningCode::Conversion, text);
    match comment.restore(&draft.persona) {
        Ok(restored) => {
            if !restored.is_edited {
                // They are about what the file alone would give.
                draft.warnings.clear();
            }
            draft.warnings.extend(restored.warnings);
            draft.fields.push(FieldFate {
                field: "(comment)".into(),
                fate: Fate::Mapped { to: "the whole persona".into() },
            });
            draft.only_in_comment = restored.added;
            (draft.persona, draft.role) = (restored.persona, restored.role);
        }
        Err(why) => {
            draft.fields.push(FieldFate {
                field: "(comment)".into(),
                fate: Fate::Dropped { why: "it is invalid".into() },
            });
            draft.warnings.push(warning(why));
        }
    }
    draft
}
