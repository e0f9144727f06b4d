//! `export`: writes a persona at a tier as another tool's agent file, and reports what the format cannot express.

use super::request::{parse_harness, parse_selector};
use super::target::{self, Existing, Placed};
use crate::cli::ExportArgs;
use crate::convert::EmbeddedRole;
use crate::convert::Fate;
use crate::convert::export::{Exported, Outgoing, export};
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::files::lock;
use crate::harness::adapter;
use crate::host::Host;
use crate::model::path_text::path_text;
use crate::model::persona::Input;
use crate::model::role::{Charter, Role};
use crate::model::shape::Object;
use crate::plan::prompt::before_job;
use crate::run::prepare::Preview;
use crate::run::request::Overrides;
use crate::ui::{Ui, printable};
use crate::workforce::Workforce;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

pub fn run(args: &ExportArgs, host: &Host, ui: &mut Ui) -> Result<Exit> {
    let harness = parse_harness(&args.to)?;
    let format = adapter(harness).agent_file.ok_or_else(|| {
        CommandError::usage(format!("{harness} has no agent files, so nothing can be exported to it"))
    })?;
    let selector = parse_selector(&args.selector, host, None)?;
    let workforce = Workforce::open(host)?;
    let found = workforce.find(&selector.name)?;
    let mut overrides = Overrides { harness: Some(harness), ..Overrides::default() };
    // Never from the environment: it may contain secrets, and the file is made to be shared.
    for (name, declared) in &found.resolved.persona.inputs {
        let declared = Input::deserialize(declared).unwrap_or_default();
        let value = match declared.default {
            Some(default) => default,
            None if declared.optional => String::new(),
            None => format!("${name}"),
        };
        overrides.inputs.insert(name.clone(), value);
    }
    let preview = Preview::of(&workforce, &selector, &overrides)?;
    let prepared = &preview.parts;
    let resolved = &prepared.found.resolved;
    let persona = &resolved.persona;
    let before_job = before_job(&prepared.parts(&workforce));
    let role = workforce.role_of(resolved);
    let mut object = resolved.object.clone();
    if let Some(charter) = role.part.as_ref().filter(|_| role.legacy_charter) {
        with_charter(&mut object, charter.charter.as_deref().unwrap_or_default());
    }
    let exported = export(
        format,
        &Outgoing {
            id: resolved.id(),
            tier: prepared.selection.tier,
            description: persona.description.as_deref(),
            prompt: &preview.agent().system_prompt,
            model: prepared.selection.model.as_ref().map(|model| model.value.as_str()),
            settings: &prepared.selection.settings,
            permissions: &persona.permissions,
            mcp_servers: &persona.mcp_servers,
            limits: persona.limits,
            persona: &object,
            before_job: &before_job,
            role: role.role.as_ref().and_then(embedded_role),
        },
    );
    let written = match &args.out {
        Some(out) => Some(write(args, out, host, &exported)?),
        None => None,
    };
    report(args, resolved.id(), prepared.selection.tier.name(), &exported, written.as_ref(), ui);
    Ok(match written {
        Some((_, Placed::Differs)) => Exit::Failed,
        _ => Exit::Done,
    })
}

/// Puts a charter beside the persona before the job, because it cannot be exported separately.
fn with_charter(object: &mut Object, charter: &str) {
    let add = |level: &mut Object| {
        if let Some(Value::String(prompt)) = level.get_mut("systemPrompt") {
            *prompt = format!("{}\n\n{prompt}", charter.trim_end());
        }
    };
    if object.contains_key("systemPrompt") {
        add(object);
    } else {
        object.insert("systemPrompt".into(), charter.into());
    }
    if let Some(Value::Object(tiers)) = object.get_mut("tiers") {
        tiers.values_mut().filter_map(Value::as_object_mut).for_each(add);
    }
}

/// The role as one document, unless it is built in.
fn embedded_role(role: &Role) -> Option<EmbeddedRole> {
    if role.source.is_library() {
        return None;
    }
    let mut document = Object::new();
    document.insert("label".into(), role.label.as_str().into());
    if let Some(Charter::Text { text, .. }) = &role.charter {
        document.insert("charter".into(), text.as_str().into());
    }
    let defaults = [("defaultHarness", &role.default_harness), ("defaultModel", &role.default_model)];
    for (key, value) in defaults {
        if let Some(value) = value {
            document.insert(key.into(), value.as_str().into());
        }
    }
    Some(EmbeddedRole { key: role.key.clone(), document })
}

fn write(args: &ExportArgs, out: &Path, host: &Host, exported: &Exported) -> Result<(PathBuf, Placed)> {
    let out = host.absolute(&host.expand_tilde(&out.to_string_lossy()));
    let file = if out.is_dir() { out.join(&exported.file_name) } else { out };
    let existing = if args.overwrite { Existing::Replace } else { Existing::Keep };
    if args.dry_run {
        let placed = target::placement(&file, &exported.text, existing);
        return Ok((file, placed));
    }
    let dir = file.parent().ok_or_else(|| CommandError::usage("`--out` does not name a file"))?;
    let _lock = lock::directories(&[dir])?;
    let placed = target::write(&file, &exported.text, existing)?;
    Ok((file, placed))
}

fn report(
    args: &ExportArgs,
    id: &str,
    tier: &str,
    exported: &Exported,
    written: Option<&(PathBuf, Placed)>,
    ui: &mut Ui,
) {
    if ui.is_json() {
        ui.json(&json!({
            "schemaVersion": 2,
            "persona": id,
            "tier": tier,
            "format": args.to,
            "dryRun": args.dry_run,
            "fileName": exported.file_name,
            "file": written.map(|(file, _)| path_text(file)),
            "status": written.map(|(_, placed)| placed),
            "content": exported.text,
            "fields": exported.fields,
            "warnings": [],
        }));
        return;
    }
    match written {
        None => ui.foreign(&exported.text),
        Some((file, placed)) => {
            let word = match placed {
                Placed::Written if args.dry_run => "would write",
                Placed::Written => "wrote",
                Placed::Unchanged => "unchanged",
                Placed::Replaced => "replaced",
                Placed::Differs => "not changed (a different file exists; `--overwrite` replaces it)",
            };
            ui.line(printable(&format!("{word} {}", file.display())));
        }
    }
    let kept: Vec<&str> = exported
        .fields
        .iter()
        .filter(|field| matches!(field.fate, Fate::Kept { .. }))
        .map(|field| field.field.as_str())
        .collect();
    if !kept.is_empty() {
        let text =
            format!("only in the comment for `import`, without effect in {}: {}", args.to, kept.join(", "));
        ui.say(&printable(&text));
    }
    for field in &exported.fields {
        if let Fate::Dropped { why } = &field.fate {
            ui.say(&printable(&format!("not in the file: {}: {why}", field.field)));
        }
    }
}
