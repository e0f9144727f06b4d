//! Puts the plan of a run together from everything that was decided and found out before.

use super::mount::{self, MountFlags, MountPlace};
use super::servers;
use crate::harness::adapter;
use crate::harness::job::{HarnessPlan, Job};
use crate::model::decided::InputValue;
use crate::model::mount::{Backend, Effect, MountSpec, Sandbox};
use crate::model::persona::{Limits, McpServer, SidecarMode};
use crate::model::plan::{
    Conversation, Enforcement, EnforcementLevel, Mode, PersonaRef, PlannedCommand, PlannedHarness,
    PlannedPersona, PlannedRole, PlannedSidecar, PlannedSkill, RunPlan, Stdin,
};
use crate::model::settings::Settings;
use crate::model::skill_source as skill;
use crate::model::source::Source;
use crate::model::template::{Hole, Template};
use crate::resolve::inputs::by_name;
use crate::resolve::persona::ResolvedPersona;
use crate::resolve::prompt::{Identity, compose};
use crate::resolve::references::{Piece, env_names, env_pieces, fill_inputs};
use crate::resolve::role::RolePart;
use crate::resolve::select::Selection;
use crate::resolve::sidecar::{Sidecar, SidecarText};
use crate::rules::PathRules;
use crate::rules::unmatchable_patterns;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::PathBuf;
use std::sync::Arc;

/// What the command line asks of this run.
#[derive(Debug, Clone, Default)]
pub struct RunFlags {
    /// A task makes the run headless.
    pub prompt: Option<String>,
    pub limits: Limits,
    pub mount: MountFlags,
    pub resume: Option<Conversation>,
    /// Passed to the harness as they are.
    pub extra_args: Vec<String>,
}

/// What was found out about the world for this run.
#[derive(Debug, Clone, Default)]
pub struct RunFacts {
    pub env: BTreeMap<String, String>,
    pub home: Option<PathBuf>,
    pub place: MountPlace,
    /// Where the project layer comes from, if not from the working tree.
    pub persona_ref: Option<PersonaRef>,
}

/// The persona of this run, decided, with the texts that were read for it.
pub struct RunParts<'a> {
    pub resolved: &'a ResolvedPersona,
    pub selection: &'a Selection,
    pub role: Option<RolePart>,
    pub inputs: &'a [InputValue],
    /// The chosen sidecar with its text; `None` where there is none or its file is missing.
    pub sidecar: Option<(&'a Sidecar, String)>,
    pub settings: &'a Settings,
}

pub fn plan(parts: &RunParts, flags: &RunFlags, facts: &RunFacts, found: Vec<String>) -> RunPlan {
    let persona = &parts.resolved.persona;
    let selection = parts.selection;
    let kind = selection.harness.value;
    let mut warnings = found;
    warnings.extend(selection.warnings.iter().map(ToString::to_string));

    let values = by_name(parts.inputs);
    let system_prompt = system_prompt(parts, &values);
    let mut mount = mount::spec(
        parts.resolved.id(),
        Some(kind),
        &persona.mount,
        &parts.settings.mount,
        &flags.mount,
        &facts.place,
    );
    warnings.extend(unmatchable_patterns(&mount.rules).iter().map(ToString::to_string));
    let sidecar = planned_sidecar(parts, &values, &mount, &mut warnings);
    let limits = limits(parts, flags);

    let available =
        |name: &str| facts.env.get(name).or_else(|| values.get(name)).is_some_and(|value| !value.is_empty());
    let mut left_out = Vec::new();
    let mut env = servers::supplied(&persona.env, "env", &available, &mut left_out);
    let mcp_servers = servers::startable(&persona.mcp_servers, &available, &mut left_out);
    warnings.extend(left_out.into_iter().map(|warning| warning.message));
    let skills = planned_skills(parts, &mut warnings);

    let job = Job {
        persona_id: parts.resolved.id(),
        mode: if flags.prompt.is_some() { Mode::Headless } else { Mode::Interactive },
        system_prompt: &system_prompt,
        model: selection.model.as_ref().map(|model| model.value.as_str()),
        settings: &selection.settings,
        permissions: &persona.permissions,
        limits,
        mcp_servers: &mcp_servers,
        has_skills: !skills.is_empty(),
        resume: flags.resume.as_ref(),
        sidecar_bytes: sidecar.as_ref().map(|sidecar| sidecar.content.len()),
        bare: persona.bare_mode.or(parts.settings.bare_mode).unwrap_or(false),
        hermetic: persona.hermetic.or(parts.settings.hermetic).unwrap_or(false),
        cwd: &mount.cwd,
        root: &mount.root,
        mounted: mount.backend != Backend::None,
        root_is_repository: facts.place.is_repository,
        home: facts.home.as_ref(),
        env: &facts.env,
    };
    let mode = job.mode;
    let mut adapted = (adapter(kind).plan)(&job);
    warnings.extend(adapted.warnings.drain(..).map(|warning| warning.message));
    adapted.args.extend(flags.extra_args.iter().map(Template::text));
    for (name, value) in environment(parts, &env) {
        match adapted.env.entry(name) {
            Entry::Vacant(free) => {
                free.insert(value);
            }
            Entry::Occupied(ours) => {
                let text = format!("env.{} is left out: the run needs it for itself on {kind}", ours.key());
                warnings.push(text);
                env.remove(ours.key());
            }
        }
    }
    let supplied = rows_of_supplies(parts, &env, &mcp_servers);
    let mut enforcement =
        enforcement(parts, &mut adapted, &mount, sidecar.as_ref(), limits, flags, &mut warnings);
    enforcement.extend(supplied);
    if mount.sandbox == Some(Sandbox::Strict) {
        mount.writable = writable_when_strict(facts, std::mem::take(&mut adapted.state));
    }
    let references = references(&env, &mcp_servers, &values);

    RunPlan {
        schema_version: 1,
        persona_ref: facts.persona_ref.clone(),
        persona: planned_persona(parts),
        harness: PlannedHarness { kind, from: selection.harness.from },
        model: selection.model.clone(),
        reasoning: selection.settings.reasoning.clone(),
        mode,
        command: PlannedCommand {
            program: adapter(kind).program.to_owned(),
            args: adapted.args,
            env: adapted.env,
            stdin: if mode == Mode::Headless { Stdin::Prompt } else { Stdin::Inherit },
        },
        system_prompt,
        prompt: flags.prompt.clone(),
        files: adapted.files,
        sidecar,
        skills,
        skills_path: adapted.skills_path,
        inputs: parts.inputs.to_vec(),
        mcp_servers: mcp_servers.into_keys().collect(),
        references,
        mount,
        limits,
        enforcement,
        warnings,
        origins: origins(parts.resolved),
    }
}

/// The harness's own state, caches and temp: what stays writable outside the mount at the sandbox level `strict`.
fn writable_when_strict(facts: &RunFacts, state: Vec<PathBuf>) -> Vec<PathBuf> {
    let said = |name: &str| facts.env.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let caches = said("XDG_CACHE_HOME").or_else(|| facts.home.as_ref().map(|home| home.join(".cache")));
    let temp = ["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from);
    let mut all: Vec<PathBuf> = temp.into_iter().chain(said("TMPDIR")).chain(caches).chain(state).collect();
    all.sort();
    all.dedup();
    all
}

/// The variables whose values a run hands on: what must not turn up in files, logs and reports.
fn references(
    env: &BTreeMap<String, String>,
    servers: &BTreeMap<String, McpServer>,
    inputs: &BTreeMap<String, String>,
) -> Vec<String> {
    let of_server = |server: &'_ McpServer| -> Vec<String> {
        let texts = server.url.iter().chain(&server.command).chain(&server.args);
        let texts = texts.chain(server.env.values()).chain(server.headers.values());
        texts.flat_map(|text| env_names(text)).map(str::to_owned).collect()
    };
    let own = env.values().flat_map(|text| env_names(text)).map(str::to_owned);
    let mut names: Vec<String> = own.chain(servers.values().flat_map(of_server)).collect();
    names.retain(|name| !inputs.contains_key(name));
    names.sort();
    names.dedup();
    names
}

/// What the harness is told it is, without planning the rest: `show --prompt`.
pub fn system_prompt(parts: &RunParts, values: &BTreeMap<String, String>) -> String {
    // Inputs come last: what a value contains is never replaced again.
    let harness = parts.selection.harness.value.name();
    let job = fill_inputs(&authored_prompt(parts).replace("<harness>", harness), values);
    around_job(parts, &job)
}

/// What stands in front of the job in a prompt that has one.
pub fn before_job(parts: &RunParts) -> String {
    let mut prompt = around_job(parts, "x");
    prompt.pop();
    prompt
}

fn around_job(parts: &RunParts, job: &str) -> String {
    let persona = &parts.resolved.persona;
    let role = parts.role.as_ref();
    let identity = Identity {
        id: parts.resolved.id(),
        name: persona.name.as_deref(),
        emoji: persona.emoji.as_deref().filter(|emoji| !emoji.is_empty()),
        label: role.and_then(|role| role.label.as_deref()),
        expertise: &persona.expertise,
    };
    let charter = role.and_then(|role| role.charter.as_deref());
    compose(&identity, charter, job)
}

/// The prompt as somebody wrote it: the tier's, else the top level's, else what a pack inlined for this harness.
fn authored_prompt(parts: &RunParts) -> String {
    let top = &parts.resolved.persona.runtime;
    let said = parts.selection.own.system_prompt.as_ref().or(top.system_prompt.as_ref());
    match (said, &parts.sidecar) {
        (Some(prompt), _) => prompt.clone(),
        (None, Some((Sidecar { text: SidecarText::Pack(text), .. }, _))) => text.clone(),
        (None, _) => String::new(),
    }
}

fn planned_persona(parts: &RunParts) -> PlannedPersona {
    let resolved = parts.resolved;
    let persona = &resolved.persona;
    let role = parts.role.as_ref().and_then(|role| {
        Some(PlannedRole {
            key: role.key.clone(),
            label: role.label.clone()?,
            charter_origin: role.charter_origin.clone(),
        })
    });
    PlannedPersona {
        id: resolved.id().to_owned(),
        name: resolved.display_name().to_owned(),
        emoji: persona.emoji.clone().filter(|emoji| !emoji.is_empty()),
        role,
        expertise: persona.expertise.clone(),
        tier: parts.selection.tier,
        origin: (**resolved.source()).clone(),
        version: resolved.version(),
    }
}

fn planned_sidecar(
    parts: &RunParts,
    values: &BTreeMap<String, String>,
    mount: &MountSpec,
    warnings: &mut Vec<String>,
) -> Option<PlannedSidecar> {
    let (sidecar, text) = parts.sidecar.as_ref()?;
    let name = sidecar.channel.file_name();
    if mount.backend == Backend::None {
        warnings.push(format!(
            "{name} of the persona is not written: there is no mount, and your repository is not touched"
        ));
        return None;
    }
    let harness = parts.selection.harness.value;
    if parts.settings.sidecar.skips(harness) {
        warnings.push(format!("{harness} gets no {name}: `sidecar.{harness}` is `skip` in the config"));
        return None;
    }
    let content = match sidecar.text {
        SidecarText::Pack(_) => fill_inputs(text, values),
        SidecarText::File(_) | SidecarText::Builtin(_) => text.clone(),
    };
    Some(PlannedSidecar {
        target: mount.cwd.join(name).display().to_string(),
        mode: sidecar.mode,
        origin: format!("{} in {}", sidecar.key, sidecar.source.describe()),
        content,
    })
}

fn planned_skills(parts: &RunParts, warnings: &mut Vec<String>) -> Vec<PlannedSkill> {
    let skill = |skill: &crate::model::persona::Skill| PlannedSkill {
        id: skill.id.clone().unwrap_or_else(|| skill::name_of(&skill.source)),
        source: skill.source.clone(),
        kind: skill::kind_of(&skill.source),
        description: skill.description.clone(),
    };
    let skills: Vec<PlannedSkill> = parts.resolved.persona.skills.iter().map(skill).collect();
    for skill in skills.iter().filter(|skill| skill.kind == crate::model::plan::SkillKind::Unknown) {
        warnings.push(format!("skill `{}` has a source of no known form: {}", skill.id, skill.source));
    }
    skills
}

/// Flags over the persona over the config; a tier's timeout is a wall-clock limit where no other is said.
fn limits(parts: &RunParts, flags: &RunFlags) -> Limits {
    let tier = Limits { wall_seconds: parts.selection.settings.timeout_seconds, ..Limits::default() };
    // People sit in interactive sessions as long as they like; the tier's timeout is meant for tasks.
    let tier = if flags.prompt.is_some() { tier } else { Limits::default() };
    flags.limits.over(parts.resolved.persona.limits).over(tier).over(parts.settings.limits)
}

/// Persona variables, inputs over them, and our own three.
fn environment(parts: &RunParts, env: &BTreeMap<String, String>) -> BTreeMap<String, Template> {
    let hole = |piece: Piece| match piece {
        Piece::Text(text) => Hole::Text(text.to_owned()),
        Piece::Variable(name) => match parts.inputs.iter().find(|input| input.name == name) {
            Some(input) => Hole::Text(input.value.clone()),
            None => Hole::Variable(name.to_owned()),
        },
    };
    let mut all: BTreeMap<String, Template> = env
        .iter()
        .map(|(key, value)| (key.clone(), Template(env_pieces(value).into_iter().map(hole).collect())))
        .collect();
    for input in parts.inputs {
        all.insert(input.name.clone(), Template::text(&input.value));
    }
    let ours = [
        ("AGENTWORKFORCE_PERSONA", Template::text(parts.resolved.id())),
        ("AGENTWORKFORCE_SESSION", Template(vec![Hole::SessionId])),
        ("AGENTWORKFORCE_TIER", Template::text(parts.selection.tier.name())),
    ];
    all.extend(ours.map(|(name, value)| (name.to_owned(), value)));
    all
}

/// The rows that do not depend on the harness, then the adapter's own.
fn enforcement(
    parts: &RunParts,
    adapted: &mut HarnessPlan,
    mount: &MountSpec,
    sidecar: Option<&PlannedSidecar>,
    limits: Limits,
    flags: &RunFlags,
    warnings: &mut Vec<String>,
) -> Vec<Enforcement> {
    let mut rows = HarnessPlan::default();
    match (sidecar, adapted.sidecar_unread) {
        (Some(planned), Some(why)) => {
            rows.unsupported("sidecar", format!("{} is written, and {why}", planned.target));
        }
        (Some(planned), None) => {
            let how = match planned.mode {
                SidecarMode::Overwrite => "is exactly the persona's text in the mount",
                SidecarMode::Extend => "is the repository's text and then the persona's in the mount",
            };
            rows.enforced("sidecar", format!("{} {how}", planned.target));
        }
        (None, _) if parts.sidecar.is_some() => {
            rows.unsupported("sidecar", "not delivered: see the warnings")
        }
        (None, _) => {}
    }
    mount_rows(&mut rows, mount);
    if limits.wall_seconds.is_some() {
        rows.enforced("limits.wallSeconds", "the runner ends the run");
    }
    match (limits.idle_seconds, flags.prompt.is_some()) {
        (Some(_), true) => rows.enforced("limits.idleSeconds", "the runner ends a silent run"),
        (Some(_), false) => {
            rows.unsupported(
                "limits.idleSeconds",
                "a person at a terminal may be silent as long as they like",
            );
        }
        (None, _) => {}
    }
    for key in ["monthlyBudgetUsd", "workspace_manifest"] {
        if parts.resolved.object.contains_key(key) {
            rows.unsupported(key, "not supported by this runner yet");
        }
    }
    if let Some(policy) = parts.resolved.object.get("mount").and_then(|mount| mount.as_object()) {
        for key in ["enabled", "roots"].into_iter().filter(|key| policy.contains_key(*key)) {
            rows.unsupported(&format!("mount.{key}"), "not supported by this runner");
        }
    }
    let channel = adapter(parts.selection.harness.value).sidecar;
    if let Some(text) = crate::resolve::sidecar::only_for_others(parts.resolved, parts.selection, channel) {
        rows.unsupported(channel.other().key(), text.clone());
        warnings.push(text);
    }
    if let Err(error) = PathRules::compile(&mount.rules) {
        let rule = &mount.rules[error.index];
        warnings.push(format!("{}: pattern `{}` is left out: {}", rule.origin, rule.pattern, error.message));
        rows.unsupported("mount", format!("pattern `{}` cannot be used", rule.pattern));
    }
    let mut all = rows.enforcement;
    all.append(&mut adapted.enforcement);
    all
}

/// The persona's variables, and what of them and of its servers this run goes without; the warnings say why.
fn rows_of_supplies(
    parts: &RunParts,
    env: &BTreeMap<String, String>,
    mcp_servers: &BTreeMap<String, McpServer>,
) -> Vec<Enforcement> {
    let persona = &parts.resolved.persona;
    let mut rows = HarnessPlan::default();
    if !env.is_empty() {
        rows.enforced("env", "set in the harness's environment");
    }
    for name in persona.env.keys().filter(|name| !env.contains_key(*name)) {
        rows.unsupported(&format!("env.{name}"), "left out: see the warnings");
    }
    for name in persona.mcp_servers.keys().filter(|name| !mcp_servers.contains_key(*name)) {
        rows.unsupported(&format!("mcpServers.{name}"), "left out: see the warnings");
    }
    rows.enforcement
}

fn mount_rows(rows: &mut HarnessPlan, mount: &MountSpec) {
    if let Some(level) = mount.sandbox.filter(|level| *level > Sandbox::Off) {
        match mount.backend {
            Backend::Auto | Backend::Overlay => {
                rows.enforced("mount.sandbox", "the run is refused unless it is reached");
            }
            Backend::Copy | Backend::None => {
                let level = if level == Sandbox::Strict { "strict" } else { "project" };
                rows.unsupported("mount.sandbox", format!("`{level}` needs the overlay"));
            }
        }
    }
    let demanded = |effect: Effect| mount.rules.iter().any(|rule| rule.effect == effect);
    match mount.backend {
        Backend::None => {
            rows.unsupported("mount.hidden", "there is no mount: the harness works in the real directory");
            if demanded(Effect::Readonly) {
                rows.unsupported(
                    "mount.readonly",
                    "there is no mount: the harness works in the real directory",
                );
            }
        }
        Backend::Copy => {
            rows.advisory(
                "mount.hidden",
                "not in the copy; the real project can be reached by its absolute path",
            );
            if demanded(Effect::Readonly) {
                rows.enforced("mount.readonly", "changes are reported and never applied");
            }
        }
        Backend::Auto | Backend::Overlay => {
            // A level that must be reached is refused otherwise; without one a run makes do with a copy.
            let otherwise = match mount.sandbox {
                Some(Sandbox::Project | Sandbox::Strict) => "",
                _ => "; a run that gets less warns, and with `--strict` is refused",
            };
            let how = "hidden files cannot be opened from inside (overlay); git objects can";
            rows.enforced("mount.hidden", format!("{how}{otherwise}"));
            if demanded(Effect::Readonly) {
                rows.enforced("mount.readonly", "changes are reported and never applied");
            }
        }
    }
}

/// The rows that `--strict` refuses.
pub fn not_enforced(plan: &RunPlan) -> impl Iterator<Item = &Enforcement> {
    plan.enforcement.iter().filter(|row| row.level != EnforcementLevel::Enforced)
}

fn origins(resolved: &ResolvedPersona) -> BTreeMap<String, Vec<Source>> {
    let plain = |sources: &Vec<Arc<Source>>| sources.iter().map(|source| (**source).clone()).collect();
    resolved.origins().iter().map(|(path, sources)| (path.clone(), plain(sources))).collect()
}
