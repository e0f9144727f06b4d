//! Puts the plan of a run together from everything that was decided and found out before. Pure.

use super::enforcement::{agent_rows, inherit_rows, mount_rows, resource_rows, socket_rows, supply_rows};
use super::mount::{self, MountPersona};
use super::parts::{RunFacts, RunFlags, RunParts};
use super::prompt::system_prompt;
use super::refusals::refusals;
use super::servers;
use super::weakened::weakened;
use crate::harness::adapter;
use crate::harness::job::{HarnessPlan, Job};
use crate::model::decided::{InputOrigin, InputValue, Level};
use crate::model::harness_variables::overrides_plan;
use crate::model::inherit::{Inherit, PlannedInherit};
use crate::model::limits::Limits;
use crate::model::mount::{Backend, Effect, HarnessConfig, MountSpec, PathRule, Sandbox};
use crate::model::persona::{McpServer, MountPolicy, SidecarMode};
use crate::model::plan::{
    AgentPlan, CommandPlan, Mode, PlannedCommand, PlannedHarness, PlannedPersona, PlannedRole,
    PlannedSidecar, PlannedSkill, PlannedSubject, RunPlan, SkillKind, Stdin,
};
use crate::model::raw_path::RawPath;
use crate::model::secrets::sounds_secret;
use crate::model::settings::{MountSettings, Settings};
use crate::model::skill_source as skill;
use crate::model::source::Source;
use crate::model::template::{Hole, Template, json_literal};
use crate::model::tool_rule::ToolRule;
use crate::model::warning::{Warning, WarningCode};
use crate::resolve::inputs::by_name;
use crate::resolve::persona::ResolvedPersona;
use crate::resolve::references::{Piece, env_names, env_pieces, fill_inputs, names_a_harness_reads};
use crate::resolve::sidecar::SidecarText;
use crate::rules::{PathRules, inherit, unmatchable_patterns};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const SCHEMA_VERSION: u32 = 2;

/// The plan of a harness that runs as a persona.
pub fn agent(parts: &RunParts, flags: &RunFlags, facts: &RunFacts) -> RunPlan {
    let persona = &parts.resolved.persona;
    let selection = parts.selection;
    let kind = selection.harness.value;
    let mut warnings = facts.warnings.clone();
    warnings.extend(selection.warnings.iter().cloned());

    let values = by_name(parts.inputs);
    let system_prompt = with_section(system_prompt(parts, &values), flags.extras.prompt_section.as_deref());
    let mut inherit = facts.inherit.clone();
    let inherit_origin = match inherit.from {
        Some(Level::Flag) => "--inherit".to_owned(),
        Some(Level::Config) => "config".to_owned(),
        _ => format!("persona {}", parts.resolved.id()),
    };
    let mut mount = mount::spec(
        Some(&MountPersona {
            id: parts.resolved.id(),
            harness: kind,
            inherit: &inherit.kinds,
            inherit_origin,
        }),
        &persona.mount,
        &parts.settings.mount,
        &flags.mount,
        &facts.place,
    );
    if flags.strict && flags.mount.sandbox.is_none() {
        // What the plan calls hidden is hidden from this level on.
        mount.sandbox = mount.sandbox.max(Some(Sandbox::Project));
    }
    warnings.extend(weakened(persona, parts.settings, flags));
    warnings.extend(unmatchable_patterns(&mount.rules));
    warnings.extend(half_revealed(&mount.rules, facts.place.setup.is_none()));
    let sidecar = planned_sidecar(parts, &values, &mount, &mut warnings);
    // A file that is extended is there, with the persona's text after it.
    if let Some(extended) = sidecar.as_ref().filter(|sidecar| sidecar.mode == SidecarMode::Extend) {
        inherit.no_longer_hidden(|_, path| path == extended.target);
    }
    // Patterns show more of it, and some harnesses hide less.
    if let Ok(rules) = PathRules::compile(&mount.rules) {
        inherit.no_longer_hidden(|kind, path| inherit::is_shown(&rules, kind, Path::new(path)));
    }
    let limits = limits(parts, flags);

    let available =
        |name: &str| facts.env.get(name).or_else(|| values.get(name)).is_some_and(|value| !value.is_empty());
    let mut env = servers::supplied(&persona.env, "env", &available, &mut warnings);
    let mut wanted = facts.setup.servers.clone();
    wanted.retain(|_, _| inherit.has(Inherit::Mcp));
    // The persona's own replace those of the repository.
    wanted.extend(persona.mcp_servers.clone());
    let trusted = servers::trusted(&wanted, &facts.untrusted_servers, &mut warnings);
    let mcp_servers = servers::startable(&trusted, &available, &mut warnings);
    let hermetic = persona.hermetic.or(parts.settings.hermetic).unwrap_or(false);
    let users = facts.setup.users_servers.iter().filter(|_| inherit.has(Inherit::Mcp) && !hermetic);
    let inherited: BTreeSet<&String> = mcp_servers.keys().chain(users).collect();
    let is_open = |name: &str| {
        !persona.mcp_servers.contains_key(name)
            && !persona
                .permissions
                .allow
                .iter()
                .flatten()
                .any(|entry| ToolRule::parse(entry).is_of_server(name))
    };
    let inherited_servers: Vec<String> =
        inherited.into_iter().filter(|name| is_open(name)).cloned().collect();
    let skills = planned_skills(parts, &facts.missing_skills, &mut warnings);

    let job = Job {
        persona_id: parts.resolved.id(),
        mode: if flags.prompt.is_some() { Mode::Headless } else { Mode::Interactive },
        system_prompt: &system_prompt,
        model: selection.model.as_ref().map(|model| model.value.as_str()),
        settings: &selection.settings,
        permissions: &persona.permissions,
        limits,
        mcp_servers: &mcp_servers,
        own_servers: mcp_servers.keys().any(|name| persona.mcp_servers.contains_key(name)),
        inherited_servers: &inherited_servers,
        inherit: &inherit,
        hooks: &facts.setup.hooks,
        foreign_servers: &facts.setup.foreign_servers,
        has_unclear_servers: facts.setup.has_unclear_servers,
        has_skills: !skills.is_empty(),
        resume: flags.resume.as_ref(),
        own_args: &flags.extra_args,
        shows_setup: !inherit.kinds.is_empty()
            || mount.rules.iter().any(|rule| rule.effect == Effect::Inherit),
        sidecar_bytes: sidecar.as_ref().map(|sidecar| sidecar.content.len()),
        bare: persona.bare_mode.or(parts.settings.bare_mode).unwrap_or(false),
        hermetic,
        cwd: &mount.cwd,
        root: &mount.root,
        mounted: mount.backend != Backend::None,
        root_is_repository: facts.place.is_repository,
        protects_config: mount.sandbox == Some(Sandbox::Strict),
        home: facts.home.as_ref(),
        env: &facts.env,
        extras: &flags.extras,
    };
    let mode = job.mode;
    let mut adapted = (adapter(kind).plan)(&job);
    warnings.append(&mut adapted.warnings);
    if let Some(name) = &flags.extras.lent_directory {
        adapted.session_directory(name, "lent to the harness");
    }
    let state_dir = adapted.config.first().map(|config| config.dir.clone());
    adapted.env.values_mut().for_each(|value| fill_in_inputs(value, &values));
    adapted.args.extend(flags.extra_args.iter().map(Template::text));
    for (name, value) in environment(parts, &env) {
        if overrides_plan(&name) && !adapted.env.contains_key(&name) {
            let place = if env.remove(&name).is_some() { "env" } else { "inputs" };
            let text = format!(
                "{place}.{name} is left out: it configures a harness, and personas have fields for that"
            );
            warnings.push(Warning::new(WarningCode::NotUsed, text));
            continue;
        }
        match adapted.env.entry(name) {
            Entry::Vacant(free) => {
                free.insert(value);
            }
            Entry::Occupied(ours) => {
                let text = format!("env.{} is left out: the run needs it for itself on {kind}", ours.key());
                warnings.push(Warning::new(WarningCode::NotUsed, text));
                env.remove(ours.key());
            }
        }
    }
    let supplied = supply_rows(parts, &env, &mcp_servers, &facts.missing_skills);
    let mut enforcement =
        agent_rows(parts, &mut adapted, &mount, sidecar.as_ref(), limits, flags, &mut warnings);
    enforcement.extend(inherit_rows(facts, &mount, adapted.sidecar_unread));
    enforcement.extend(resource_rows(&mount, limits, &facts.obstacles.limits));
    enforcement.extend(socket_rows(&mount, facts.obstacles.mount.as_ref()));
    enforcement.extend(supplied);
    mount.nested_sandbox = adapted.has_sandbox;
    if mount.sandbox == Some(Sandbox::Strict) {
        mount.writable = std::mem::take(&mut adapted.state);
        mount.writable.sort();
        mount.writable.dedup();
        mount.harness_config = std::mem::take(&mut adapted.config);
        mount.harness_config.extend(caches_when_strict(facts));
        mount.sockets = sockets_when_strict(facts, &parts.settings.mount, &mut warnings);
    }
    let references = references(&env, &mcp_servers, parts.inputs);

    let agent = AgentPlan {
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
        state_dir,
        skills,
        skills_path: adapted.skills_path,
        inputs: parts.inputs.to_vec(),
        mcp_servers: mcp_servers.into_keys().collect(),
        references,
        origins: origins(parts.resolved),
    };
    let plan = RunPlan {
        sidecar,
        inherit,
        limits,
        enforcement,
        ..bare(PlannedSubject::Agent(Box::new(agent)), mount, parts.settings, flags, facts)
    };
    with_refusals(RunPlan { warnings, ..plan }, flags, facts)
}

/// The prompt with a section of the caller's after it.
fn with_section(mut prompt: String, section: Option<&str>) -> String {
    let Some(section) = section else { return prompt };
    if !prompt.is_empty() {
        prompt.truncate(prompt.trim_end().len());
        prompt.push_str("\n\n");
    }
    prompt.push_str(section);
    prompt
}

/// The plan of a command in a view without a persona.
pub fn command(argv: Vec<RawPath>, settings: &Settings, flags: &RunFlags, facts: &RunFacts) -> RunPlan {
    let policy = MountPolicy::default();
    let mut mount = mount::spec(None, &policy, &settings.mount, &flags.mount, &facts.place);
    let mut warnings = facts.warnings.clone();
    if mount.sandbox == Some(Sandbox::Strict) {
        mount.sockets = sockets_when_strict(facts, &settings.mount, &mut warnings);
    }
    let subject = PlannedSubject::Command(Box::new(CommandPlan { argv, persona: None }));
    let mut rows = HarnessPlan::default();
    mount_rows(&mut rows, &mount);
    rows.enforcement.extend(socket_rows(&mount, facts.obstacles.mount.as_ref()));
    with_refusals(
        RunPlan { enforcement: rows.enforcement, warnings, ..bare(subject, mount, settings, flags, facts) },
        flags,
        facts,
    )
}

/// The plan of a command in the view that a persona would have.
pub fn command_as(argv: Vec<RawPath>, parts: &RunParts, flags: &RunFlags, facts: &RunFacts) -> RunPlan {
    let plan = agent(parts, flags, facts);
    let persona = Some(planned_persona(parts));
    RunPlan { subject: PlannedSubject::Command(Box::new(CommandPlan { argv, persona })), ..plan }
}

fn bare(
    subject: PlannedSubject,
    mount: MountSpec,
    settings: &Settings,
    flags: &RunFlags,
    facts: &RunFacts,
) -> RunPlan {
    RunPlan {
        schema_version: SCHEMA_VERSION,
        persona_ref: facts.persona_ref.clone(),
        subject,
        continues: None,
        carried_over: Vec::new(),
        sidecar: None,
        inherit: PlannedInherit::default(),
        mount,
        limits: flags.limits,
        enforcement: Vec::new(),
        checks: flags.checks.clone(),
        changes: flags.changes(settings),
        strict: flags.strict,
        ignore_unsupported: flags.ignore_unsupported,
        offline: flags.offline,
        refresh_skills: flags.refresh_skills,
        refusals: Vec::new(),
        warnings: facts.warnings.clone(),
    }
}

fn with_refusals(mut plan: RunPlan, flags: &RunFlags, facts: &RunFacts) -> RunPlan {
    plan.refusals = refusals(&plan, flags.attended, &facts.obstacles);
    plan
}

/// Patterns that show less than they name.
fn half_revealed(rules: &[PathRule], is_commit: bool) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for rule in rules.iter().filter(|rule| rule.effect == Effect::Reveal) {
        let why = inherit::refused_reveal(&rule.pattern).or_else(|| inherit::partly_revealed(&rule.pattern));
        let names_setup = is_commit && inherit::kind_of(Path::new(rule.pattern.trim_matches('/'))).is_some();
        let why = why.or_else(|| {
            names_setup.then(|| {
                format!(
                    "`{}` is not shown: `--persona-ref` takes nothing from the working tree",
                    rule.pattern
                )
            })
        });
        let warning = why.map(|why| Warning::new(WarningCode::NotUsed, format!("{}: {why}", rule.origin)));
        warnings.extend(warning);
    }
    warnings
}

/// The user's caches, at the sandbox level `strict`. Programs outside run what they find there, so what an agent leaves in them
/// is thrown away.
fn caches_when_strict(facts: &RunFacts) -> Option<HarnessConfig> {
    let usual = || facts.home.as_ref().map(|home| home.join(".cache"));
    let dir = path_in_env(facts, "XDG_CACHE_HOME").or_else(usual)?;
    Some(HarnessConfig { dir, scratch: vec!["*".to_owned()], ..HarnessConfig::default() })
}

fn path_in_env(facts: &RunFacts, name: &str) -> Option<PathBuf> {
    facts.env.get(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The sockets that the config lets in. An agent for ssh signs whatever it is asked to, so it is one of them only by name.
fn sockets_when_strict(
    facts: &RunFacts,
    settings: &MountSettings,
    warnings: &mut Vec<Warning>,
) -> Vec<PathBuf> {
    let mut sockets = Vec::new();
    for text in &settings.sockets {
        let path = match text.as_str() {
            "ssh-agent" => facts.env.get("SSH_AUTH_SOCK").map(PathBuf::from),
            text => Some(PathBuf::from(text)),
        };
        match path.filter(|path| path.is_absolute()) {
            Some(path) => sockets.push(path),
            // Nobody has an agent for ssh everywhere.
            None if text == "ssh-agent" => {}
            None => {
                let text =
                    format!("config: mount.sockets: `{text}` is neither an absolute path nor `ssh-agent`");
                warnings.push(Warning::new(WarningCode::NotUsed, text));
            }
        }
    }
    sockets
}

/// The variables whose values a run hands on: what must not turn up in files, logs and reports.
fn references(
    env: &BTreeMap<String, String>,
    servers: &BTreeMap<String, McpServer>,
    inputs: &[InputValue],
) -> Vec<String> {
    let of_server = |server: &'_ McpServer| -> Vec<String> {
        server.texts().flat_map(names_a_harness_reads).map(str::to_owned).collect()
    };
    let own = env.values().flat_map(|text| env_names(text)).map(str::to_owned);
    let mut names: Vec<String> = own.chain(servers.values().flat_map(of_server)).collect();
    names.retain(|name| !inputs.iter().any(|input| input.name == *name));
    // An input may be any text; what comes from a variable for secrets is one.
    names.extend(inputs.iter().filter_map(|input| match &input.from {
        InputOrigin::Variable(variable) if sounds_secret(variable) => Some(variable.clone()),
        _ => None,
    }));
    names.sort();
    names.dedup();
    names
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
    warnings: &mut Vec<Warning>,
) -> Option<PlannedSidecar> {
    let (sidecar, text) = parts.sidecar.as_ref()?;
    let name = sidecar.channel.file_name();
    if mount.backend == Backend::None {
        let text = format!(
            "{name} of the persona is not written: there is no mount, and your repository stays as it is"
        );
        warnings.push(Warning::new(WarningCode::NotUsed, text));
        return None;
    }
    let harness = parts.selection.harness.value;
    if parts.settings.sidecar.skips(harness) {
        let text = format!("{harness} gets no {name}: `sidecar.{harness}` is `skip` in the config");
        warnings.push(Warning::new(WarningCode::NotUsed, text));
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

fn planned_skills(parts: &RunParts, missing: &[String], warnings: &mut Vec<Warning>) -> Vec<PlannedSkill> {
    let skill = |skill: &crate::model::persona::Skill| PlannedSkill {
        id: skill.id.clone().unwrap_or_else(|| skill::name_of(&skill.source)),
        source: skill.source.clone(),
        kind: skill::kind_of(&skill.source),
        description: skill.description.clone(),
    };
    let skills: Vec<PlannedSkill> = parts.resolved.persona.skills.iter().map(skill).collect();
    for skill in skills.iter().filter(|skill| skill.kind == SkillKind::Unknown) {
        let text = format!("skill `{}` has a source of an unknown form: {}", skill.id, skill.source);
        warnings.push(Warning::new(WarningCode::Skill, text));
    }
    for skill in skills.iter().filter(|skill| missing.contains(&skill.id)) {
        let text = format!("skill `{}` was not found: {}", skill.id, skill.source);
        warnings.push(Warning::new(WarningCode::Skill, text));
    }
    skills
}

/// Flags over the persona over the config. A tier's timeout is the wall-clock limit if nothing else sets one.
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

/// Inputs are no variables of the runner's own environment.
fn fill_in_inputs(template: &mut Template, inputs: &BTreeMap<String, String>) {
    for hole in &mut template.0 {
        let filled = match hole {
            Hole::Variable(name) => inputs.get(name).cloned(),
            Hole::JsonVariable(name) => inputs.get(name).map(|value| json_literal(value)),
            _ => None,
        };
        if let Some(text) = filled {
            *hole = Hole::Text(text);
        }
    }
}

fn origins(resolved: &ResolvedPersona) -> BTreeMap<String, Vec<Source>> {
    let plain = |sources: &Vec<Arc<Source>>| sources.iter().map(|source| (**source).clone()).collect();
    resolved.origins().iter().map(|(path, sources)| (path.clone(), plain(sources))).collect()
}
