//! `create`: a persona file that is valid as it stands and explains itself.

mod starter;

use self::starter::Wishes;
use super::edit::{audit, layer_dir, optional, unknown_role, words};
use super::request::{parse_harness, parse_inherit};
use super::say;
use super::target::{self, Existing, Target};
use crate::cli::{CreateArgs, LayerArg};
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::files::lock;
use crate::host::Host;
use crate::load::check;
use crate::model::formats::PERSONA;
use crate::model::path_text::path_text;
use crate::model::shape::Severity;
use crate::model::source::LayerId;
use crate::model::text_rules::slugged;
use crate::model::warning::{Warning, WarningCode};
use crate::resolve::chain::same_id;
use crate::ui::{Ui, printable};
use crate::workforce::{Workforce, role_not_shared};
use serde_json::{Value, json};

pub fn run(args: &CreateArgs, host: &Host, ui: &mut Ui) -> Result<Exit> {
    let workforce = Workforce::open(host)?;
    check_id(&args.id)?;
    let target = target::target(&workforce, args.to.as_deref());
    let base = args.extends.as_deref().map(|base| base_id(&workforce, &target, base)).transpose()?;
    refuse_taken(&workforce, &args.id, base.as_deref(), &target)?;
    let role = args.role.as_deref().and_then(optional);
    if let Some(key) = &role
        && workforce.role(key).0.is_none()
    {
        return Err(unknown_role(&workforce, key));
    }
    let document = starter::starter(&Wishes {
        id: &args.id,
        base: base.as_deref(),
        role: role.as_deref(),
        name: args.name.as_deref(),
        emoji: args.emoji.as_deref(),
        description: args.description.as_deref(),
        expertise: args.expertise.as_deref().map(words),
        inherit: args.inherit.as_deref().map(parse_inherit).transpose()?,
        harness: args.harness.as_deref().map(parse_harness).transpose()?,
        model: args.model.as_deref(),
    });
    let problems = check::check(&document, PERSONA);
    if let Some(problem) = problems.into_iter().find(|problem| problem.severity == Severity::Error) {
        return Err(
            CommandError::usage(format!("`{}` {}", problem.at, problem.message)).maybe_hint(problem.fix)
        );
    }
    let mut warnings: Vec<Warning> = Vec::new();
    if let Some(role) = role.as_deref().and_then(|key| workforce.role(key).0) {
        let layers = &workforce.layers.all;
        let own = layers.iter().find(|layer| layer.personas.as_ref() == Some(&target.personas));
        let is_project = target.personas == layer_dir(&workforce, LayerArg::Project).join("personas");
        let layer = if is_project { Some(LayerId::Project) } else { own.map(|layer| layer.id) };
        let missed = layer.and_then(|layer| role_not_shared(&args.id, layer, &role));
        warnings.extend(missed.map(|text| Warning::new(WarningCode::Layer, text)));
    }
    warnings.extend(reused(&workforce, &args.id, &target));
    let file = target.personas.join(format!("{}.json", args.id));
    let text = target::bytes_of(&document);
    if !args.dry_run {
        let _lock = lock::directories(&[&target.personas])?;
        // Checked again under the lock.
        if file.symlink_metadata().is_ok() {
            return Err(already_there(&file));
        }
        target::write(&file, &text, Existing::Keep)?;
        audit(&workforce, &format!("create {}", args.id))?;
    }
    if ui.is_json() {
        say::json(
            json!({"persona": args.id, "action": "created", "dryRun": args.dry_run,
                "file": path_text(&file), "document": Value::Object(document),
            }),
            &warnings,
            ui,
        );
        return Ok(Exit::Done);
    }
    say::warnings(&warnings, ui);
    if args.dry_run {
        ui.text(&text);
    } else {
        ui.line(printable(&format!("created {} ({})", args.id, file.display())));
        ui.hint(format!(
            "edit it, then `agentworkforce lint {0}` and `agentworkforce agent {0} --dry-run`",
            args.id
        ));
    }
    Ok(Exit::Done)
}

/// An id that was another persona's until it was deleted.
fn reused(workforce: &Workforce, id: &str, target: &Target) -> Option<Warning> {
    let deleted = workforce.deleted(id, Some(&target.personas))?;
    let text = format!(
        "the id `{id}` was used before, by a persona that was deleted on {} ({}): its old sessions will be listed under the new persona",
        deleted.when, deleted.name
    );
    Some(Warning::new(WarningCode::ReusedId, text))
}

fn check_id(id: &str) -> Result<()> {
    let slug = slugged(id);
    if slug != id || id.len() > 128 {
        let near = (!slug.is_empty() && slug.len() <= 128).then(|| format!("try `{slug}`"));
        return Err(CommandError::usage(format!(
            "`{id}` is not a valid id: it must be a lower-case slug such as `api-reviewer`"
        ))
        .maybe_hint(near));
    }
    if id.starts_with("temp-") {
        return Err(CommandError::usage("ids that start with `temp-` are reserved for temporary personas")
            .hint("choose another name"));
    }
    Ok(())
}

fn already_there(file: &std::path::Path) -> CommandError {
    CommandError::usage(format!("{} is already there and stays as it is", file.display()))
        .hint("edit it, or choose another id")
}

/// The id of the base, which must be in a layer below the one that is written to.
fn base_id(workforce: &Workforce, target: &Target, base: &str) -> Result<String> {
    let id = workforce.find(base)?.resolved.id().to_owned();
    let layers = &workforce.layers.all;
    let own = layers.iter().position(|layer| layer.personas.as_deref() == Some(target.personas.as_path()));
    let below = |layer: usize| own.is_none_or(|own| layer > own);
    let entries = &workforce.catalogue.entries;
    if entries.iter().any(|entry| same_id(&entry.header.id, &id) && below(entry.header.layer)) {
        return Ok(id);
    }
    Err(CommandError::usage(format!("`{id}` is in no layer below {}", target.personas.display()))
        .hint("an overlay builds on a persona further down: project over user over built-in"))
}

fn refuse_taken(workforce: &Workforce, id: &str, base: Option<&str>, target: &Target) -> Result<()> {
    let file = target.personas.join(format!("{id}.json"));
    if file.symlink_metadata().is_ok() {
        return Err(already_there(&file));
    }
    if let Some(there) = target::file_with_id(workforce, &target.personas, id) {
        return Err(already_there(there));
    }
    let entries = workforce.catalogue.entries.iter();
    for entry in entries.filter(|entry| same_id(&entry.header.id, id)) {
        if !base.is_some_and(|base| same_id(base, id)) {
            let layer = entry.source.layer.title();
            return Err(CommandError::usage(format!("there is a persona `{id}` already ({layer})"))
                .hint(format!("`--extends {id}` writes an overlay of it; or choose another id")));
        }
    }
    Ok(())
}
