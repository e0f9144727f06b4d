//! Merges a chain of persona files into one decided persona and checks what only the whole can show.

use super::merge::{Layered, Origins, finished};
use crate::model::formats::{BYPASS, PERSONA};
use crate::model::persona::{Persona, PersonaDoc, Runtime};
use crate::model::shape::{KeyPath, Object, Problem, Severity};
use crate::model::source::Source;
use crate::model::tier::Tier;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// A persona with every layer merged, and where each field came from.
#[derive(Debug, Clone)]
pub struct ResolvedPersona {
    /// Boxed: lists move hundreds of these around.
    pub persona: Box<Persona>,
    /// The merged JSON, unknown keys included.
    pub object: Object,
    /// The files, lowest first; the last one gave the id.
    pub sources: Vec<Arc<Source>>,
    /// Warnings and notes about the merged whole; no errors.
    pub problems: Vec<Problem>,
    /// The single files, kept only where there are several.
    docs: Vec<PersonaDoc>,
    merged_origins: Option<Origins>,
}

/// Which of the accepted forms a persona has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `tiers`, each with its own runtime.
    Tiered,
    /// One runtime at the top level serves every tier.
    Flat,
    /// A role and no runtime: the charter is the job.
    Thin,
    /// Neither: a handler that reacts to events elsewhere, or an unfinished file.
    NotRunnable,
}

/// `docs` is the chain, lowest first. The problems are errors that make the whole unusable.
pub fn resolve(mut docs: Vec<PersonaDoc>) -> Result<ResolvedPersona, Vec<Problem>> {
    let sources: Vec<Arc<Source>> = docs.iter().map(|doc| doc.source.clone()).collect();
    let highest_says = |key: &str| docs.last().is_some_and(|doc| doc.object.contains_key(key));
    let sets_inherited_intent = highest_says("extends") && highest_says("intent");
    // Most personas are one file: nothing to merge, and every field is from there.
    let (mut object, merged_origins) = if docs.len() == 1 {
        (finished(docs.remove(0).object, PERSONA), None)
    } else {
        let mut merged = merge(&docs);
        merged.origins.remove("extends");
        (merged.object, Some(merged.origins))
    };
    object.shift_remove("extends");
    let mut problems = check_whole(&object);
    if sets_inherited_intent {
        let text =
            "`intent` together with `extends`: the npm tool rejects such a file, this runner sets the intent";
        problems.push(Problem::new(Severity::Note, KeyPath::default().key("intent"), text));
    }
    if problems.iter().any(|problem| problem.severity == Severity::Error) {
        return Err(problems);
    }
    let persona = Persona::from_object(&object).map(Box::new).map_err(|error| {
        vec![Problem::new(Severity::Error, KeyPath::default(), format!("cannot be understood: {error}"))]
    })?;
    Ok(ResolvedPersona { persona, object, sources, problems, docs, merged_origins })
}

fn merge(docs: &[PersonaDoc]) -> Layered {
    let layer = |doc: &PersonaDoc| Layered::from_file(&doc.object, &doc.source, PERSONA);
    let merged = docs.iter().map(layer).reduce(|low, high| low.under(&high, PERSONA));
    merged.unwrap_or_default().finished(PERSONA)
}

impl ResolvedPersona {
    /// A valid persona of one file, reduced to what a list shows. `None` where that is not enough: the reason why it
    /// cannot be run is in the rest of the file.
    pub fn outlined(persona: Box<Persona>, source: Arc<Source>) -> Option<ResolvedPersona> {
        let resolved = ResolvedPersona {
            persona,
            object: Object::new(),
            sources: vec![source],
            problems: Vec::new(),
            docs: Vec::new(),
            merged_origins: None,
        };
        (resolved.form() != Form::NotRunnable).then_some(resolved)
    }

    pub fn id(&self) -> &str {
        &self.persona.id
    }

    /// The file that makes this persona what it is here: the highest one.
    pub fn source(&self) -> &Arc<Source> {
        self.sources.last().expect("a chain has a file")
    }

    pub fn display_name(&self) -> &str {
        self.persona.name.as_deref().unwrap_or(&self.persona.id)
    }

    pub fn form(&self) -> Form {
        let p = &self.persona;
        let runtime = p.runtime.harness.is_some() || p.runtime.system_prompt.is_some();
        if !p.tiers.is_empty() {
            Form::Tiered
        } else if runtime || has_sidecar(&p.runtime) {
            Form::Flat
        } else if p.role.is_some() {
            Form::Thin
        } else {
            Form::NotRunnable
        }
    }

    /// Why this persona cannot be launched here, if it cannot.
    pub fn not_runnable(&self) -> Option<String> {
        if self.form() != Form::NotRunnable {
            return None;
        }
        let handler =
            ["onEvent", "schedules", "watch"].into_iter().find(|key| self.object.contains_key(*key));
        Some(match handler {
            Some(key) => format!(
                "a handler persona: it runs where its events are (`{key}`) and names no harness, prompt or role"
            ),
            None => "it names no harness, prompt, sidecar or role".into(),
        })
    }

    /// The tiers that can be asked for; one runtime serves all three.
    pub fn tiers(&self) -> Vec<Tier> {
        match self.form() {
            Form::Tiered => self.persona.tiers.keys().copied().collect(),
            Form::Flat | Form::Thin => Tier::ALL.to_vec(),
            Form::NotRunnable => Vec::new(),
        }
    }

    /// The harness that this file's text alone would have, had nothing above it been written: for a model of the
    /// tier the tier's own before the top level's, for a model of the top level the other way round.
    pub fn harness_as_of(&self, source: &Source, tier: Tier, model_is_the_tiers: bool) -> Option<String> {
        let at = |persona: &Persona| {
            let of_tier = persona.tiers.get(&tier).and_then(|runtime| runtime.harness.clone());
            let of_top = persona.runtime.harness.clone();
            if model_is_the_tiers { of_tier.or(of_top) } else { of_top.or(of_tier) }
        };
        let count = self.sources.iter().position(|other| **other == *source)? + 1;
        if count == self.sources.len() {
            return at(&self.persona);
        }
        Persona::from_object(&merge(&self.docs[..count]).object).ok().as_ref().and_then(at)
    }

    /// What the files below this one say together; all of them where it is none of this persona's.
    pub fn below(&self, file: &Path) -> Object {
        match self.sources.iter().position(|source| source.file.as_deref() == Some(file)) {
            None => self.object.clone(),
            Some(0) => Object::new(),
            Some(count) => merge(&self.docs[..count]).object,
        }
    }

    /// The files that set this field, lowest layer first.
    pub fn sources_of(&self, path: &str) -> Vec<Arc<Source>> {
        match &self.merged_origins {
            Some(origins) => origins.get(path).cloned().unwrap_or_default(),
            None => self.sources.clone(),
        }
    }

    /// For every field that is set: the files that set it.
    pub fn origins(&self) -> Origins {
        match (&self.merged_origins, self.sources.first()) {
            (Some(origins), _) => origins.clone(),
            (None, Some(only)) => Layered::from_file(&self.object, only, PERSONA).origins,
            (None, None) => Origins::new(),
        }
    }

    /// Hash of the merged persona before inputs are filled in; key order does not count.
    pub fn version(&self) -> String {
        let text = serde_json::to_string(&sorted(&Value::Object(self.object.clone()))).expect("it was JSON");
        blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
    }
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut entries: Vec<_> = object.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            entries.into_iter().map(|(key, value)| (key.clone(), sorted(value))).collect()
        }
        Value::Array(list) => list.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

fn has_sidecar(runtime: &Runtime) -> bool {
    [&runtime.claude_md, &runtime.claude_md_content, &runtime.agents_md, &runtime.agents_md_content]
        .into_iter()
        .any(Option::is_some)
}

/// What can only be judged on the merged whole, before missing files are cleared.
fn check_whole(object: &Object) -> Vec<Problem> {
    let mut problems = Vec::new();
    for channel in ["claudeMd", "agentsMd"] {
        check_sidecar_modes(object, channel, &mut problems);
    }
    check_sandboxes(object, &mut problems);
    if let Some(Value::Object(servers)) = object.get("mcpServers") {
        for (name, server) in servers {
            check_server(name, server, &mut problems);
        }
    }
    if let Some(Value::Array(skills)) = object.get("skills") {
        let at = |index: usize| KeyPath::default().key("skills").index(index);
        let nameless = skills.iter().enumerate().filter(|(_, skill)| skill.get("source").is_none());
        problems.extend(nameless.map(|(index, _)| {
            Problem::new(Severity::Error, at(index), "the skill has no `source`")
                .fix("name a directory, a `.md`, a git URL or a package")
        }));
    }
    problems
}

/// A sandbox mode beside the key that switches the sandbox off: which of them the user means is unclear.
fn check_sandboxes(object: &Object, problems: &mut Vec<Problem>) {
    let settings =
        |runtime: &Object, key: &str| runtime.get("harnessSettings").and_then(|all| all.get(key)).cloned();
    let mut check = |own: &Object, at: KeyPath| {
        let value = |key: &str| settings(own, key).or_else(|| settings(object, key));
        let said_here = |key: &str| settings(own, key).is_some();
        let mode = value("sandboxMode");
        let mode = mode.as_ref().and_then(Value::as_str).filter(|mode| *mode != "danger-full-access");
        let bypasses = value(BYPASS) == Some(Value::Bool(true));
        if let Some(mode) = mode.filter(|_| bypasses && (said_here("sandboxMode") || said_here(BYPASS))) {
            let text = format!("`{BYPASS}` switches off the sandbox that `sandboxMode` asks for (`{mode}`)");
            problems.push(
                Problem::new(Severity::Error, at.key("harnessSettings").key(BYPASS), text)
                    .fix("keep one of them; in an overlay, `null` removes an inherited one"),
            );
        }
    };
    let top = KeyPath::default();
    check(object, top.clone());
    for (name, tier) in object.get("tiers").and_then(Value::as_object).into_iter().flatten() {
        if let Value::Object(tier) = tier {
            check(tier, top.key("tiers").key(name));
        }
    }
}

/// A mode needs something to apply to: in a tier, a path or content there or at the top level; at the top level,
/// one there or in any tier.
fn check_sidecar_modes(object: &Object, channel: &str, problems: &mut Vec<Problem>) {
    let (content, mode) = (format!("{channel}Content"), format!("{channel}Mode"));
    let declares = |object: &Object| object.contains_key(channel) || object.contains_key(&content);
    let tiers: Vec<(&String, &Object)> = match object.get("tiers") {
        Some(Value::Object(tiers)) => {
            tiers.iter().filter_map(|(tier, value)| Some((tier, value.as_object()?))).collect()
        }
        _ => Vec::new(),
    };
    let error = |at: KeyPath| {
        Problem::new(Severity::Error, at, format!("a mode without a file: nothing sets `{channel}`"))
            .fix(format!("set `{channel}`, or remove `{mode}`"))
    };
    let top = KeyPath::default();
    if object.contains_key(&mode) && !declares(object) && !tiers.iter().any(|(_, tier)| declares(tier)) {
        problems.push(error(top.key(&mode)));
    }
    for (name, tier) in &tiers {
        if tier.contains_key(&mode) && !declares(tier) && !declares(object) {
            problems.push(error(top.key("tiers").key(name).key(&mode)));
        }
    }
}

fn check_server(name: &str, server: &Value, problems: &mut Vec<Problem>) {
    let has = |key: &str| server.get(key).is_some_and(|value| !value.is_null());
    let kind = server.get("type").and_then(Value::as_str);
    let missing = match kind {
        Some("stdio") if !has("command") => "command",
        Some("http" | "sse") if !has("url") => "url",
        None if !has("command") && !has("url") => "command` or `url",
        _ => return,
    };
    let at = KeyPath::default().key("mcpServers").key(name);
    problems.push(Problem::new(Severity::Error, at, format!("the server has no `{missing}`")));
}
