//! `show`: one persona, seen from the side that was asked for.

mod path;

use super::request::{self, parse_harness, parse_selector};
use super::say;
use crate::cli::ShowArgs;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::host::Host;
use crate::model::mount::{Effect, MountSpec};
use crate::model::path_text::path_text;
use crate::model::plan::AgentPlan;
use crate::model::selector::Selector;
use crate::model::shape::Object;
use crate::model::source::Source;
use crate::model::tier::Tier;
use crate::model::warning::{Warning, WarningCode};
use crate::resolve::inputs;
use crate::resolve::persona::ResolvedPersona;
use crate::resolve::sidecar;
use crate::rules::{Decision, PathRules, Visibility};
use crate::run::persona_parts::PersonaParts;
use crate::run::prepare::Preview;
use crate::run::request::Overrides;
use crate::ui::{BOLD, DIM, Table, Ui, printable};
use crate::workforce::{Workforce, warnings_of};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub fn run(args: &ShowArgs, host: &Host, ui: &mut Ui) -> Result<Exit> {
    let selector = parse_selector(&args.selector, host, args.from.persona_ref())?;
    if args.all && selector.tier.is_some() {
        return Err(CommandError::usage("`--all` shows every tier; a tier in the selector shows one")
            .hint("leave one of them out"));
    }
    let overrides = Overrides {
        harness: args.harness.as_deref().map(parse_harness).transpose()?,
        inputs: args.input.iter().cloned().collect(),
        inherit: request::inherit(&args.shown)?,
        reveal: request::reveal(&args.shown)?,
        ..Overrides::default()
    };
    let request = Wanted { persona: selector.clone(), overrides };
    let workforce = Workforce::open_at(host, args.from.persona_ref())?;
    say::persona_ref(&workforce, ui);
    if let Some(contract) = &args.contract {
        let section = super::work::section_of(contract, &selector, &workforce)?;
        if ui.is_json() {
            ui.json(&json!({"schemaVersion": 1, "section": section}));
        } else {
            ui.text(&section);
        }
        return Ok(Exit::Done);
    }
    if args.origins {
        origins(&workforce, &request, ui)
    } else if args.prompt {
        prompt(&workforce, &request, ui)
    } else if let Some(path) = &args.files {
        files(&workforce, &request, path.as_deref(), ui)
    } else if args.enforcement {
        enforcement(&workforce, &request, ui)
    } else {
        overview(&workforce, &request, args.all, ui)
    }
}

/// The persona that is shown, and what is set instead of its own settings.
struct Wanted {
    persona: Selector,
    overrides: Overrides,
}

impl Wanted {
    fn preview(&self, workforce: &Workforce) -> Result<Preview> {
        Ok(Preview::of(workforce, &self.persona, &self.overrides)?)
    }
}

fn origins(workforce: &Workforce, request: &Wanted, ui: &mut Ui) -> Result<Exit> {
    let found = workforce.find(&request.persona.name)?;
    let warnings = said(workforce, &warnings_of(&found.problems), ui);
    let resolved = &found.resolved;
    if ui.is_json() {
        let origins = resolved.origins();
        let fields: serde_json::Map<String, Value> =
            origins.iter().map(|(path, sources)| (path.clone(), json!(plain(sources)))).collect();
        let chain: Vec<&Source> = plain(&resolved.sources);
        let answer = json!({"persona": resolved.id(), "chain": chain, "origins": fields});
        say::json(answer, &warnings, ui);
    } else {
        let mut table = Table::new(&["FIELD", "LAYER", "FILE"]);
        for (path, sources) in &resolved.origins() {
            for source in sources {
                table.row([path.clone(), source.layer.to_string(), source.describe()]);
            }
        }
        ui.table(&table);
    }
    Ok(Exit::Done)
}

/// Says the general warnings and these, and returns all of them for the JSON answer.
fn said(workforce: &Workforce, own: &[Warning], ui: &mut Ui) -> Vec<Warning> {
    let mut warnings = workforce.general_warnings();
    warnings.extend_from_slice(own);
    say::warnings(&warnings, ui);
    warnings
}

fn plain(sources: &[Arc<Source>]) -> Vec<&Source> {
    sources.iter().map(|source| &**source).collect()
}

fn prompt(workforce: &Workforce, request: &Wanted, ui: &mut Ui) -> Result<Exit> {
    let prepared = PersonaParts::read(workforce, &request.persona, &request.overrides)?;
    let warnings = said(workforce, &prepared.warnings, ui);
    let values = inputs::by_name(&prepared.inputs);
    let text = crate::plan::prompt::system_prompt(&prepared.parts(workforce), &values);
    if ui.is_json() {
        say::json(
            json!({
            "persona": prepared.found.resolved.id(),
            "tier": prepared.selection.tier,
            "harness": prepared.selection.harness.value,
            "systemPrompt": text,
            }),
            &warnings,
            ui,
        );
    } else {
        ui.foreign(&text);
    }
    Ok(Exit::Done)
}

fn enforcement(workforce: &Workforce, request: &Wanted, ui: &mut Ui) -> Result<Exit> {
    let preview = request.preview(workforce)?;
    let (agent, plan) = (preview.agent(), &preview.plan);
    let warnings = said(workforce, &plan.warnings, ui);
    if ui.is_json() {
        say::json(
            json!({
            "persona": agent.persona.id,
            "tier": agent.persona.tier,
            "harness": agent.harness.kind,
            "enforcement": plan.enforcement,
            }),
            &warnings,
            ui,
        );
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["FIELD", "LEVEL", "HOW"]).wrapping();
    for row in &plan.enforcement {
        let level = serde_json::to_value(row.level).unwrap_or_default();
        table.row([row.field.to_string(), level.as_str().unwrap_or_default().to_owned(), row.how.clone()]);
    }
    ui.line(format!("{} [{}] on {}", agent.persona.id, agent.persona.tier, agent.harness.kind));
    ui.line("");
    ui.table(&table);
    Ok(Exit::Done)
}

fn files(workforce: &Workforce, request: &Wanted, path: Option<&Path>, ui: &mut Ui) -> Result<Exit> {
    let plan = request.preview(workforce)?.plan;
    let warnings = said(workforce, &plan.warnings, ui);
    let spec = &plan.mount;
    let rules = PathRules::compile(&spec.rules).map_err(|error| {
        CommandError::usage(format!("{}: {}", spec.rules[error.index].origin, error.message))
    })?;
    match path {
        Some(path) => path::decision(workforce, &plan, &rules, path, &warnings, ui),
        None => {
            let counts = count(&spec.root, &rules, spec.rules.len());
            rule_table(spec, &counts, &warnings, ui);
            Ok(Exit::Done)
        }
    }
}

fn word(decision: &Decision) -> &'static str {
    match decision.visibility {
        Visibility::Hidden => "hidden",
        Visibility::Readonly => "readonly",
        Visibility::Writable => "writable",
    }
}

struct Counts {
    by_rule: Vec<usize>,
    hidden: usize,
    readonly: usize,
    writable: usize,
}

/// What each rule decides in the project. A hidden directory counts once; nobody looks below it.
fn count(root: &Path, rules: &PathRules, number: usize) -> Counts {
    let mut counts = Counts { by_rule: vec![0; number], hidden: 0, readonly: 0, writable: 0 };
    let mut pending = vec![(PathBuf::new(), rules.decide(Path::new(""), true))];
    while let Some((dir, decision)) = pending.pop() {
        let Ok(entries) = std::fs::read_dir(root.join(&dir)) else {
            counts.hidden += 1;
            continue;
        };
        for entry in entries.flatten() {
            let path = dir.join(entry.file_name());
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if path == Path::new(".git") {
                continue;
            }
            let child = rules.decide_child(&decision, &path, is_dir);
            match child.visibility {
                Visibility::Hidden => counts.hidden += 1,
                _ if is_dir => {
                    pending.push((path, child));
                    continue;
                }
                Visibility::Readonly => counts.readonly += 1,
                Visibility::Writable => counts.writable += 1,
            }
            if let Some(index) = child.rule {
                counts.by_rule[index] += 1;
            }
        }
    }
    counts
}

fn rule_table(spec: &MountSpec, counts: &Counts, warnings: &[Warning], ui: &mut Ui) {
    let note = "hidden files that git tracks stay readable through git objects (`git show HEAD:path`)";
    if ui.is_json() {
        let rules: Vec<Value> = spec
            .rules
            .iter()
            .zip(&counts.by_rule)
            .map(|(rule, count)| {
                let mut value = json!(rule);
                value["matches"] = json!(count);
                value
            })
            .collect();
        say::json(
            json!({
            "root": path_text(&spec.root), "rules": rules, "note": note,
            "hidden": counts.hidden, "readonly": counts.readonly, "writable": counts.writable,
            }),
            warnings,
            ui,
        );
        return;
    }
    let mut table = Table::new(&["EFFECT", "PATTERN", "MATCHES", "ORIGIN"]);
    for (rule, count) in spec.rules.iter().zip(&counts.by_rule) {
        let effect = match rule.effect {
            Effect::Hidden => "hidden",
            Effect::Readonly => "readonly",
            Effect::Reveal => "reveal",
            Effect::Layer => "marked",
            Effect::Inherit => "inherited",
        };
        table.row([effect.to_owned(), rule.pattern.clone(), count.to_string(), rule.origin.clone()]);
    }
    ui.table(&table);
    ui.line("");
    ui.line(format!(
        "{} hidden, {} read-only, {} writable below {}",
        counts.hidden,
        counts.readonly,
        counts.writable,
        spec.root.display()
    ));
    ui.line(format!("note: {note}"));
}

fn overview(workforce: &Workforce, request: &Wanted, every_tier: bool, ui: &mut Ui) -> Result<Exit> {
    let found = workforce.find(&request.persona.name)?;
    let resolved = &found.resolved;
    if let Some(reason) = resolved.not_runnable() {
        let text = format!("persona `{}` cannot be run: {reason}", resolved.id());
        let warnings = said(workforce, &[Warning::new(WarningCode::NotUsed, text)], ui);
        if ui.is_json() {
            let spec = Value::Object(resolved.object.clone());
            let source = resolved.source().layer;
            let answer = json!({"source": source, "spec": spec, "runnable": false, "reason": reason});
            say::json(answer, &warnings, ui);
        } else {
            heading(resolved, &[], ui);
        }
        return Ok(Exit::Done);
    }
    let preview = request.preview(workforce)?;
    let (prepared, agent) = (&preview.parts, preview.agent());
    let warnings = said(workforce, &preview.plan.warnings, ui);
    let shown: Vec<Tier> = if every_tier { resolved.tiers() } else { vec![prepared.selection.tier] };
    if ui.is_json() {
        let role = prepared
            .role
            .as_ref()
            .map(|role| json!({"key": role.key, "label": role.label, "charterOrigin": role.charter_origin}));
        say::json(
            json!({
            "personaRef": workforce.persona_ref(),
            "source": resolved.source().layer,
            "spec": spec_for(resolved, &shown),
            "file": resolved.source().file.as_deref().map(path_text),
            "name": resolved.display_name(),
            "emoji": agent.persona.emoji,
            "role": role,
            "expertise": resolved.persona.expertise,
            "tier": prepared.selection.tier,
            "tiers": resolved.tiers(),
            "harness": agent.harness,
            "model": agent.model,
            "version": agent.persona.version,
            "inherit": preview.plan.inherit,
            "runnable": true,
            }),
            &warnings,
            ui,
        );
        return Ok(Exit::Done);
    }
    heading(resolved, &shown, ui);
    row("INHERIT", &preview.plan.inherit.summary(), ui);
    row("HIDDEN", &preview.plan.inherit.hidden_line().unwrap_or_default(), ui);
    details(prepared, agent, ui);
    for tier in shown {
        let persona = Selector { tier: Some(tier), ..request.persona.clone() };
        let preview = Preview::of(workforce, &persona, &request.overrides)?;
        tier_section(&preview, ui);
    }
    Ok(Exit::Done)
}

/// The merged JSON with the tiers that are shown, and sidecar paths that are absolute.
fn spec_for(resolved: &ResolvedPersona, shown: &[Tier]) -> Value {
    let mut object: Object = resolved.object.clone();
    if let Some(Value::Object(tiers)) = object.get_mut("tiers") {
        tiers.retain(|name, _| shown.iter().any(|tier| tier.name() == name));
    }
    let mut value = Value::Object(object);
    for sidecar in sidecar::all(resolved) {
        if let sidecar::SidecarText::File(path) = &sidecar.text {
            let pointer = format!("/{}", sidecar.key.replace('.', "/"));
            if let Some(slot) = value.pointer_mut(&pointer) {
                *slot = json!(path_text(path));
            }
        }
    }
    value
}

fn row(key: &str, value: &str, ui: &mut Ui) {
    if !value.is_empty() {
        ui.line(format!("{DIM}{key:<12}{DIM:#} {}", printable(value)));
    }
}

fn heading(resolved: &ResolvedPersona, shown: &[Tier], ui: &mut Ui) {
    let p = &resolved.persona;
    let emoji = p.emoji.as_deref().unwrap_or_default();
    row("PERSONA", format!("{} {emoji}", resolved.id()).trim(), ui);
    if let Some(name) = &p.name {
        row("NAME", name, ui);
    }
    row("SOURCE", &format!("{} ({})", resolved.source().layer, resolved.source().describe()), ui);
    row("INTENT", p.intent.as_deref().unwrap_or_default(), ui);
    row("TAGS", &p.tags.join(", "), ui);
    row("DESCRIPTION", p.description.as_deref().unwrap_or_default(), ui);
    let tiers = |tiers: &[Tier]| tiers.iter().map(|tier| tier.name()).collect::<Vec<_>>().join(", ");
    row("TIERS", &tiers(&resolved.tiers()), ui);
    row("TIERS SHOWN", &tiers(shown), ui);
    row("EXPERTISE", &p.expertise.join(", "), ui);
}

fn details(prepared: &PersonaParts, agent: &AgentPlan, ui: &mut Ui) {
    let p = &prepared.found.resolved.persona;
    if let Some(role) = &agent.persona.role {
        row(
            "ROLE",
            &format!("{} ({})", role.label, role.charter_origin.as_deref().unwrap_or("no charter")),
            ui,
        );
    }
    section("SKILLS", agent.skills.iter().map(|skill| format!("{}  {}", skill.id, skill.source)), ui);
    section(
        "INPUTS",
        agent.inputs.iter().map(|input| format!("{} = {:?} ({})", input.name, input.value, input.from)),
        ui,
    );
    let servers = p.mcp_servers.iter().map(|(name, server)| {
        let keys: Vec<&str> = server.headers.keys().chain(server.env.keys()).map(String::as_str).collect();
        let target = server.url.as_deref().or(server.command.as_deref()).unwrap_or_default();
        format!("{name}  {target}  {}", keys.join(", "))
    });
    section("MCP SERVERS", servers, ui);
    let permissions = &p.permissions;
    let list = |what: &str, entries: &[String]| {
        (!entries.is_empty()).then(|| format!("{what}: {}", entries.join(", ")))
    };
    let rows = [
        permissions.allow.as_ref().and_then(|allow| list("allow", allow)),
        list("deny", &permissions.deny),
        permissions.mode.as_ref().map(|mode| format!("mode: {mode}")),
    ];
    section("PERMISSIONS", rows.into_iter().flatten(), ui);
    let rows = [
        list("ignored", &p.mount.ignored_patterns),
        list("read-only", &p.mount.readonly_patterns),
        list("revealed", &p.mount.reveal_patterns),
        (p.mount.allow_layer_changes == Some(true))
            .then(|| "may change personas, roles and rule files, once a person approves".to_owned()),
    ];
    section("MOUNT", rows.into_iter().flatten(), ui);
    // As written: references, never values.
    section("ENV", p.env.iter().map(|(key, value)| format!("{key} = {value}")), ui);
}

fn section(title: &str, rows: impl Iterator<Item = String>, ui: &mut Ui) {
    let rows: Vec<String> = rows.collect();
    if rows.is_empty() {
        return;
    }
    ui.line("");
    ui.line(format!("{BOLD}{title}{BOLD:#}"));
    for row in rows {
        ui.line(format!("  {}", printable(&row)));
    }
}

fn tier_section(preview: &Preview, ui: &mut Ui) {
    let (agent, plan) = (preview.agent(), &preview.plan);
    let model = agent.model.as_ref().map_or("the harness's own", |model| model.value.as_str());
    let mut rows =
        vec![format!("harness: {} ({})", agent.harness.kind, agent.harness.from), format!("model: {model}")];
    rows.extend(agent.reasoning.as_ref().map(|reasoning| format!("reasoning: {reasoning}")));
    rows.extend(
        plan.sidecar.as_ref().map(|sidecar| format!("sidecar: {} from {}", sidecar.target, sidecar.origin)),
    );
    rows.push(match agent.system_prompt.len() {
        0 => "system prompt: none".to_owned(),
        bytes => format!("system prompt: {bytes} bytes (`--prompt` prints it)"),
    });
    section(&format!("TIER: {}", agent.persona.tier), rows.into_iter(), ui);
}
