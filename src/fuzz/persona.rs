//! Persona files: the quick reading says what the careful one says, merging keeps its laws, and whatever resolves can be
//! planned and exported.

use crate::convert::export::{Outgoing, export};
use crate::convert::{Missing, Source as Agent, convert};
use crate::harness::adapter;
use crate::load::outline::{SOME_TEXT, outline};
use crate::load::{check as load_check, file, normalise};
use crate::model::formats::PERSONA;
use crate::model::persona::{Persona, PersonaDoc, Runtime};
use crate::model::settings::Settings;
use crate::model::shape::Severity;
use crate::model::source::{LayerId, Source};
use crate::model::tier::Harness;
use crate::plan::mount::MountPlace;
use crate::plan::parts::{RunFacts, RunFlags, RunParts};
use crate::plan::prompt::before_job;
use crate::plan::run::agent;
use crate::resolve::merge::Layered;
use crate::resolve::persona::{ResolvedPersona, resolve};
use crate::resolve::select::{Levels, select};
use crate::resolve::{inputs, sidecar};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Up to three layers of one persona, the lowest first.
pub fn check(data: &[u8]) {
    let Ok(text) = file::text_of(Path::new("p.json"), data.to_vec()) else { return };
    let mut docs = Vec::new();
    for (index, text) in super::parts(&text).take(3).enumerate() {
        holds(text);
        docs.extend(document(text, LayerId::Directory(index + 1)));
    }
    merging(&docs);
    if docs.is_empty() {
        return;
    }
    if let Ok(resolved) = resolve(docs) {
        // One harness at a time, because a plan takes longer than all the rest.
        used(&resolved, Harness::ALL[text.len() % Harness::ALL.len()]);
    }
}

/// The law of the quick pass: where it accepts a file, the careful way has nothing to say and comes to the same. Says
/// whether it did.
#[track_caller]
pub(crate) fn holds(text: &str) -> bool {
    let quick = outline(text);
    if let Some(quick) = &quick {
        assert_eq!(Ok(quick.clone()), careful(text), "{text}");
    }
    quick.is_some()
}

/// What the careful way makes of a file, where it has nothing to say that a list would show.
pub(crate) fn careful(text: &str) -> Result<Persona, String> {
    let path = Path::new("p.json");
    let object = file::parse_object(path, text).map_err(|problem| problem.to_string())?;
    let problems = file::check_object(path, text, &object, PERSONA);
    if let Some(worst) = problems.iter().find(|problem| problem.severity > Severity::Note) {
        return Err(worst.to_string());
    }
    let (object, _) = normalise::persona(object);
    if object.contains_key("extends") {
        return Err("builds on another file".into());
    }
    let source = Arc::new(Source { layer: LayerId::User, file: Some(path.to_owned()) });
    let resolved =
        resolve(vec![PersonaDoc { object, source }]).map_err(|problems| format!("{problems:?}"))?;
    let worst = resolved.problems.iter().find(|problem| problem.severity > Severity::Note);
    if let Some(worst) = worst {
        return Err(worst.message.clone());
    }
    let persona = *resolved.persona;
    if persona.id.is_empty() {
        return Err("has no id".into());
    }
    Ok(as_listed(persona))
}

/// The persona without what a list does not show.
fn as_listed(persona: Persona) -> Persona {
    let mark = |text: Option<String>| text.map(|_| SOME_TEXT.to_owned());
    let runtime = |runtime: Runtime| Runtime {
        harness: runtime.harness,
        model: runtime.model,
        system_prompt: mark(runtime.system_prompt),
        claude_md: runtime.claude_md,
        claude_md_content: mark(runtime.claude_md_content),
        agents_md: runtime.agents_md,
        agents_md_content: mark(runtime.agents_md_content),
        ..Runtime::default()
    };
    Persona {
        id: persona.id,
        intent: persona.intent,
        description: persona.description,
        tags: persona.tags,
        name: persona.name,
        emoji: persona.emoji,
        role: persona.role,
        expertise: persona.expertise,
        default_tier: persona.default_tier,
        runtime: runtime(persona.runtime),
        tiers: persona.tiers.into_iter().map(|(tier, own)| (tier, Box::new(runtime(*own)))).collect(),
        ..Persona::default()
    }
}

/// What the careful way makes of one file of a chain.
fn document(text: &str, layer: LayerId) -> Option<PersonaDoc> {
    let path = Path::new("p.json");
    let object = file::parse_object(path, text).ok()?;
    let written = Value::Object(object.clone()).to_string();
    assert_eq!(file::parse_object(path, &written).as_ref(), Ok(&object), "what is written is read again");
    let problems = file::check_object(path, text, &object, PERSONA);
    let lines = text.matches('\n').count() + 1;
    assert!(problems.iter().all(|problem| problem.place.is_none_or(|place| place.line <= lines)));
    if problems.iter().any(|problem| problem.severity == Severity::Error) {
        return None;
    }
    let (object, _) = normalise::persona(object);
    let again = normalise::persona(object.clone());
    assert_eq!(again.0, object, "the normal form is its own");
    let errors = load_check::check(&object, PERSONA);
    assert!(errors.iter().all(|problem| problem.severity != Severity::Error), "{errors:?} in {object:?}");
    let source = Arc::new(Source { layer, file: Some(path.to_owned()) });
    Some(PersonaDoc { object, source })
}

fn layer(doc: &PersonaDoc) -> Layered {
    Layered::from_file(&doc.object, &doc.source, PERSONA)
}

/// An empty layer changes nothing, and merging is associative.
fn merging(docs: &[PersonaDoc]) {
    for doc in docs {
        let empty = Layered::default();
        assert_eq!(layer(doc).under(&empty, PERSONA), layer(doc), "an empty overlay changes nothing");
    }
    if let [low, middle, high] = docs {
        let left = layer(low).under(&layer(middle), PERSONA).under(&layer(high), PERSONA);
        let right = layer(low).under(&layer(middle).under(&layer(high), PERSONA), PERSONA);
        assert_eq!(sorted(left), sorted(right), "merging is associative");
    }
}

/// The order of keys does not count.
fn sorted(layered: Layered) -> String {
    let layered = layered.finished(PERSONA);
    let objects: BTreeMap<&String, &Value> = layered.object.iter().collect();
    format!("{:?} {:?}", sorted_value(&serde_json::json!(objects)), layered.origins)
}

fn sorted_value(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let entries: BTreeMap<&String, Value> =
                object.iter().map(|(key, value)| (key, sorted_value(value))).collect();
            entries.into_iter().map(|(key, value)| (key.clone(), value)).collect()
        }
        Value::Array(list) => list.iter().map(sorted_value).collect(),
        other => other.clone(),
    }
}

/// A resolved persona has a serialisable plan, and an exported agent file that can be imported again.
fn used(resolved: &ResolvedPersona, harness: Harness) {
    let _ = (resolved.version(), resolved.origins(), sidecar::all(resolved).len());
    let levels = Levels { flag_harness: Some(harness), ..Levels::default() };
    let Ok(selection) = select(resolved, None, &levels) else { return };
    let declared = &resolved.persona.inputs;
    let given = BTreeMap::new();
    let values = match inputs::resolve(declared, &given, &BTreeMap::new()) {
        Ok(values) => values,
        Err(errors) => {
            let given = errors.missing.into_iter().map(|input| (input.name, "value".to_owned())).collect();
            inputs::resolve(declared, &given, &BTreeMap::new()).expect("all are given")
        }
    };
    let chosen = sidecar::choose(resolved, &selection, adapter(harness).sidecar);
    let settings = Settings::default();
    let parts = RunParts {
        resolved,
        selection: &selection,
        role: None,
        inputs: &values,
        sidecar: chosen.as_ref().map(|chosen| (chosen, "text".to_owned())),
        settings: &settings,
    };
    let flags = RunFlags { prompt: Some("task".into()), ..RunFlags::default() };
    let place = MountPlace { root: "/project".into(), ..MountPlace::default() };
    let facts = RunFacts { place, ..RunFacts::default() };
    let plan = agent(&parts, &flags, &facts);
    serde_json::to_string(&plan).expect("a plan can be printed");
    let planned = plan.agent().expect("an agent");
    exported(harness, &parts, &planned.system_prompt);
}

/// `import` reads the file that `export` writes as the same persona.
fn exported(harness: Harness, parts: &RunParts, prompt: &str) {
    let (resolved, selection) = (parts.resolved, parts.selection);
    let persona = &resolved.persona;
    let outgoing = Outgoing {
        id: resolved.id(),
        tier: selection.tier,
        description: persona.description.as_deref(),
        prompt,
        model: selection.model.as_ref().map(|model| model.value.as_str()),
        settings: &selection.settings,
        permissions: &persona.permissions,
        mcp_servers: &persona.mcp_servers,
        limits: persona.limits,
        persona: &resolved.object,
        before_job: &before_job(parts),
        role: None,
    };
    let Some(format) = adapter(harness).agent_file else { return };
    let exported = export(format, &outgoing);
    let nearby = |_: &str| Err(Missing::Absent);
    let (path, text) = (exported.file_name.as_str(), exported.text.as_str());
    let imported = convert(format.into(), &Agent { path, below: path, text, nearby: &nearby });
    let imported = imported.unwrap_or_else(|why| panic!("{why}: {text}"));
    // No command exports a persona without an id or a prompt.
    if resolved.id().is_empty() || prompt.trim().is_empty() {
        return;
    }
    let [draft] = &imported.drafts[..] else { panic!("{:?}: {text}", imported.refused) };
    let broken = draft.warnings.iter().find(|warning| warning.message.contains("is not valid"));
    assert_eq!(broken, None, "{text}");
    for key in
        ["intent", "description", "tags", "systemPrompt", "permissions", "mcpServers", "inputs", "limits"]
    {
        assert_eq!(draft.persona.get(key), resolved.object.get(key), "{key} in {text}");
    }
    let errors = load_check::check(&draft.persona, PERSONA);
    let errors: Vec<_> = errors.iter().filter(|problem| problem.severity == Severity::Error).collect();
    assert!(errors.is_empty(), "{errors:?} in {text}");
}
