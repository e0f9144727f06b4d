//! From a request to a plan: finds the persona, the place and what is in the way, each once, and hands them to the pure part.
//! It starts nothing; a dry run ends here.

use super::conversation::{self, Resumed};
use super::error::RunError;
use super::inject;
use super::request::{Overrides, RunRequest, Subject};
use super::setup::{self, Setup};
use super::terms;
use super::tree_files;
use super::watch;
use crate::harness::adapter;
use crate::host::Host;
use crate::load::layer_places::{self, Outside};
use crate::load::rule_files::RuleFiles;
use crate::model::decided::{InputValue, Level};
use crate::model::features::Feature;
use crate::model::inherit::{Inherit, PlannedInherit};
use crate::model::limits::LimitObstacles;
use crate::model::mount::{Backend, Sandbox};
use crate::model::plan::{AgentPlan, Conversation, RunPlan, SkillKind};
use crate::model::selector::Selector;
use crate::model::skill_source::kind_of;
use crate::model::warning::{Warning, WarningCode};
use crate::mount::git::settings::{self, GitSurroundings};
use crate::mount::{self, InjectedFile, probe, root};
use crate::plan::mount::{MountFlags, MountPlace};
use crate::plan::parts::{Obstacles, RunFacts, RunFlags, RunParts};
use crate::plan::{refusals::needs_probe, run as plan_run};
use crate::resolve::inputs;
use crate::resolve::role::RolePart;
use crate::resolve::select::{Levels, Selection, select};
use crate::resolve::sidecar::{self as resolve_sidecar, Sidecar};
use crate::session::{Session, SessionError, SessionStore};
use crate::tool::{self, Lookup};
use crate::workforce::{Found, Workforce, not_used, warnings_of};
use anyhow::Result;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A persona at a tier with everything read that a plan or a prompt needs.
pub struct PersonaParts {
    pub found: Found,
    pub selection: Selection,
    pub role: Option<RolePart>,
    pub inputs: Vec<InputValue>,
    pub sidecar: Option<(Sidecar, String)>,
    pub warnings: Vec<Warning>,
}

impl PersonaParts {
    pub fn read(workforce: &Workforce, persona: &Selector, overrides: &Overrides) -> Result<PersonaParts> {
        let found = workforce.find(&persona.name)?;
        PersonaParts::of(workforce, found, persona, overrides)
    }

    /// For those who only look: inputs that a run would ask for stay visible as placeholders.
    pub fn preview(workforce: &Workforce, persona: &Selector, overrides: &Overrides) -> Result<PersonaParts> {
        let found = workforce.find(&persona.name)?;
        let mut overrides = overrides.clone();
        let declared = &found.resolved.persona.inputs;
        if let Err(errors) = inputs::resolve(declared, &overrides.inputs, &workforce.host.env) {
            for input in errors.missing {
                overrides.inputs.insert(input.name.clone(), format!("${}", input.name));
            }
        }
        PersonaParts::of(workforce, found, persona, &overrides)
    }

    fn of(
        workforce: &Workforce,
        found: Found,
        persona: &Selector,
        overrides: &Overrides,
    ) -> Result<PersonaParts> {
        let mut warnings = warnings_of(&found.problems);
        warnings.extend(not_used(&found.resolved));

        let role = workforce.role_of(&found.resolved);
        warnings.extend(warnings_of(&role.problems));
        warnings.extend(role.warnings);

        let settings = &workforce.config.settings;
        let levels = Levels {
            flag_harness: overrides.harness,
            flag_model: overrides.model.as_deref(),
            role: role.role.as_ref().filter(|_| workforce.feature(Feature::AgentLibrary)),
            config_harness: settings.default_harness.as_deref(),
            config_model: settings.default_model.as_deref(),
        };
        let selection = select(&found.resolved, persona.tier, &levels)
            .map_err(|error| RunError::Selection { message: error.message, hint: error.hint })?;

        let declared = &found.resolved.persona.inputs;
        let inputs = inputs::resolve(declared, &overrides.inputs, &workforce.host.env)
            .map_err(|errors| RunError::Inputs { persona: persona.name.clone(), errors })?;

        let channel = adapter(selection.harness.value).sidecar;
        let sidecar = match resolve_sidecar::choose(&found.resolved, &selection, channel) {
            Some(sidecar) => match workforce.sidecar_text(&sidecar) {
                Ok(text) => Some((sidecar, text)),
                Err(problem) => {
                    warnings.extend(warnings_of(&[problem]));
                    None
                }
            },
            None => None,
        };
        Ok(PersonaParts { found, selection, role: role.part, inputs, sidecar, warnings })
    }

    pub fn parts<'a>(&'a self, workforce: &'a Workforce) -> RunParts<'a> {
        RunParts {
            resolved: &self.found.resolved,
            selection: &self.selection,
            role: self.role.clone(),
            inputs: &self.inputs,
            sidecar: self.sidecar.as_ref().map(|(sidecar, text)| (sidecar, text.clone())),
            settings: &workforce.config.settings,
        }
    }
}

/// A run that is decided and not started.
pub struct Prepared {
    pub plan: RunPlan,
    /// What the plan was made from, so that another attempt can be planned.
    pub(super) parts: Option<PersonaParts>,
    pub(super) flags: RunFlags,
    pub(super) facts: RunFacts,
    pub(super) resumed: Option<Resumed>,
    pub(super) reserve_stdout: bool,
    /// The persona's instruction file as the mount will have it.
    pub(super) sidecar: Option<InjectedFile>,
    /// What the mount has of the repository's own setup in place of the files of the working tree.
    pub(super) setup_files: Vec<InjectedFile>,
}

/// How a plan may find out what the machine allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probing {
    /// As a run does: the answer is kept for the next one.
    Keep,
    /// As a dry run does: nothing is left behind.
    LeaveNothing,
}

/// Decides everything about a run. Refusals are in the plan; an error means that there is no plan at all.
pub fn prepare(
    workforce: &Workforce,
    store: &SessionStore,
    helper: &Path,
    request: &RunRequest,
    probing: Probing,
) -> Result<Prepared> {
    let _step = tracing::info_span!("prepare").entered();
    watch::check_earlier(&workforce.layers.home, &workforce.host.cwd)?;
    let mut overrides = request.overrides.clone();
    let mut flags = flags(request);
    let resumed = match (&request.resume, request.persona()) {
        (Some(session), Some(persona)) => {
            let found = workforce.find(&persona.name)?;
            let root = place(workforce, request.root.as_deref())?.root;
            Some(conversation::find(store, session, found.resolved.id(), overrides.harness, &root)?)
        }
        _ => None,
    };
    if let Some(resumed) = &resumed {
        overrides.harness = Some(resumed.note.harness);
        flags.resume = resumed.note.conversation();
        // Only there is its conversation.
        let was = resumed.session.record()?.map(|record| record.sandbox);
        flags.mount.sandbox = flags.mount.sandbox.or(was.filter(|level| *level == Sandbox::Strict));
    }
    let parts = match &request.subject {
        Subject::Persona(persona) => Some(PersonaParts::read(workforce, persona, &overrides)?),
        Subject::Command { persona: Some(persona), .. } => {
            Some(PersonaParts::preview(workforce, persona, &overrides)?)
        }
        Subject::Command { persona: None, .. } => None,
    };
    let earlier = resumed.as_ref().and_then(|resumed| data_of(&resumed.session));
    let wanted = Wanted {
        root: request.root.as_deref(),
        flags: &flags,
        inherit: overrides.inherit.as_deref(),
        earlier,
    };
    let (mut facts, setup_files) = facts(workforce, wanted, parts.as_ref())?;
    facts.warnings.splice(0..0, workforce.general_warnings());
    facts.warnings.extend(request.warnings.iter().cloned());
    if let (Some(resumed), Some(Conversation::Latest)) = (&resumed, &flags.resume) {
        let text = format!(
            "which conversation session `{}` had is not known: the latest one in this directory goes on",
            resumed.session.id
        );
        facts.warnings.push(Warning::new(WarningCode::Harness, text));
    }
    let mut plan = plan(workforce, &request.subject, parts.as_ref(), &flags, &facts);
    if needs_probe(plan.mount.backend, plan.mount.sandbox) && facts.obstacles.root.is_none() {
        let home = &workforce.layers.home;
        facts.obstacles.mount = Some(match probing {
            Probing::Keep => probe::facts(helper, home, &plan.mount.root)?,
            Probing::LeaveNothing => probe::facts_without_writing(helper, home, &plan.mount.root)?,
        });
        plan = self::plan(workforce, &request.subject, parts.as_ref(), &flags, &facts);
    }
    if let Some(resumed) = &resumed {
        can_continue(&resumed.session, &plan)?;
    }
    let setup_files =
        inject::shown_setup(&plan.mount, plan.sidecar.as_ref(), setup_files, workforce.snapshot());
    let sidecar = plan.sidecar.as_ref();
    let sidecar =
        sidecar.map(|sidecar| inject::sidecar(&plan.mount, sidecar, workforce.snapshot())).transpose()?;
    tracing::info!(
        subject = plan.name(),
        root = %plan.mount.root.display(),
        refusals = plan.refusals.len(),
        warnings = plan.warnings.len(),
        "planned"
    );
    let reserve_stdout = request.reserve_stdout;
    Ok(Prepared { plan, parts, flags, facts, resumed, reserve_stdout, sidecar, setup_files })
}

/// Where the agent's files of a session are.
fn data_of(session: &Session) -> Option<PathBuf> {
    let record = session.record().ok().flatten()?;
    (record.backend != Backend::None).then(|| session.dir.join(&record.data))
}

/// Fails if the session cannot be continued now: a dry run says so too.
fn can_continue(session: &Session, plan: &RunPlan) -> Result<()> {
    if session.is_live()? {
        return Err(SessionError::InUse { id: session.id.clone() }.into());
    }
    let Some(record) = session.record()? else { return Ok(()) };
    if *record.root != *plan.mount.root {
        let root = record.root.to_path_buf();
        return Err(RunError::OtherProject { session: session.id.to_string(), root }.into());
    }
    terms::are_the_same(session, &record, plan)?;
    if session.has_unfinished_journal()? {
        return Err(RunError::UnfinishedApply { session: session.id.to_string() }.into());
    }
    Ok(())
}

/// A persona and its plan, for those who only look at them.
pub struct Preview {
    pub parts: PersonaParts,
    pub plan: RunPlan,
}

impl Preview {
    pub fn of(workforce: &Workforce, persona: &Selector, overrides: &Overrides) -> Result<Preview> {
        let parts = PersonaParts::preview(workforce, persona, overrides)?;
        let flags = RunFlags {
            mount: MountFlags { reveal: overrides.reveal.clone(), ..MountFlags::default() },
            ..RunFlags::default()
        };
        let wanted =
            Wanted { root: None, flags: &flags, inherit: overrides.inherit.as_deref(), earlier: None };
        let (facts, _) = facts(workforce, wanted, Some(&parts))?;
        let plan = plan_run::agent(&parts.parts(workforce), &flags, &facts);
        Ok(Preview { parts, plan })
    }

    pub fn agent(&self) -> &AgentPlan {
        self.plan.agent().expect("a persona is planned as an agent")
    }
}

fn flags(request: &RunRequest) -> RunFlags {
    RunFlags {
        prompt: request.task.clone(),
        limits: request.limits,
        mount: MountFlags {
            backend: request.view.backend,
            sandbox: request.view.sandbox,
            reveal: request.view.reveal.clone(),
            allow_layer_changes: request.view.allow_layer_changes,
        },
        resume: None,
        extra_args: request.overrides.harness_args.clone(),
        checks: request.checks.clone(),
        apply: request.changes.apply,
        include_ignored: request.changes.include_ignored,
        no_merge: request.changes.no_merge,
        keep: request.changes.keep,
        strict: request.strict,
        offline: request.offline,
        refresh_skills: request.refresh_skills,
        attended: request.attended,
    }
}

fn plan(
    workforce: &Workforce,
    subject: &Subject,
    parts: Option<&PersonaParts>,
    flags: &RunFlags,
    facts: &RunFacts,
) -> RunPlan {
    match (subject, parts) {
        (Subject::Persona(_), Some(parts)) => plan_run::agent(&parts.parts(workforce), flags, facts),
        (Subject::Command { argv, .. }, Some(parts)) => {
            plan_run::command_as(argv.clone(), &parts.parts(workforce), flags, facts)
        }
        (Subject::Command { argv, .. }, None) => {
            plan_run::command(argv.clone(), &workforce.config.settings, flags, facts)
        }
        (Subject::Persona(_), None) => unreachable!("a persona has its parts"),
    }
}

/// What decides about agents in the root: the layers, and the skills of this persona.
fn layers_in(workforce: &Workforce, parts: Option<&PersonaParts>, root: &Path) -> Vec<PathBuf> {
    let mut places = layer_places::inside(&workforce.layers, root);
    for skill in skills_of(workforce, parts, root) {
        let on_the_way = layer_places::on_the_way(&skill, root);
        // The project as a whole is none.
        places.extend(on_the_way.into_iter().filter(|place| !place.as_os_str().is_empty()));
    }
    places
}

/// The same outside of the root.
pub(super) fn layers_outside(workforce: &Workforce, parts: Option<&PersonaParts>, root: &Path) -> Outside {
    layer_places::outside(&workforce.layers, skills_of(workforce, parts, root), root)
}

/// Where the local skills of this persona are, or would be.
fn skills_of(workforce: &Workforce, parts: Option<&PersonaParts>, root: &Path) -> Vec<PathBuf> {
    let mut places = Vec::new();
    let Some(parts) = parts else { return places };
    let resolved = &parts.found.resolved;
    let origins = resolved.origins();
    let declared_in =
        origins.get("skills").and_then(|sources| sources.last()).and_then(|source| source.dir());
    for skill in resolved.persona.skills.iter().filter(|skill| kind_of(&skill.source) == SkillKind::Local) {
        let source = workforce.host.expand_tilde(&skill.source);
        for anchor in [declared_in, Some(root)].into_iter().flatten() {
            let path = anchor.join(&source);
            // A skill that is a file of that name has the directory with it.
            let is_named = path.file_name().is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"));
            places.push(path.parent().filter(|_| is_named).unwrap_or(&path).to_owned());
        }
    }
    places
}

/// The directory that is mounted.
fn place(workforce: &Workforce, root: Option<&Path>) -> Result<root::MountRoot> {
    let host = &workforce.host;
    let asked = root.map(|dir| host.expand_tilde(&dir.to_string_lossy()));
    let home = host.home_dir();
    let around = around(workforce, home.as_deref());
    Ok(root::find(around, asked.as_deref(), workforce.layers.project_root.as_deref())?)
}

fn around<'a>(workforce: &'a Workforce, home: Option<&'a Path>) -> root::Surroundings<'a> {
    root::Surroundings { cwd: &workforce.host.cwd, home, state: &workforce.layers.home }
}

/// What the caller asks for, as far as it decides where to look.
struct Wanted<'a> {
    root: Option<&'a Path>,
    flags: &'a RunFlags,
    inherit: Option<&'a [Inherit]>,
    /// The agent's files of a session that goes on.
    earlier: Option<PathBuf>,
}

/// Where the run is, and what was found there; and the files for its mount that were made of the repository's own setup.
fn facts(
    workforce: &Workforce,
    wanted: Wanted<'_>,
    parts: Option<&PersonaParts>,
) -> Result<(RunFacts, Vec<InjectedFile>)> {
    let Wanted { root, flags, inherit, earlier } = wanted;
    let host = &workforce.host;
    let home = host.home_dir();
    let around = around(workforce, home.as_deref());
    let place = place(workforce, root)?;
    let refused = root::refuse(&place.root, around).err().map(|error| error.to_string());
    let id = parts.map_or("mount", |parts| parts.found.resolved.id());
    let rules = workforce.rule_files(&place.root, id)?;
    let blocking = workforce.blocking_problems(parts.map(|parts| &parts.found), &rules);
    let unreadable = blocking.iter().map(ToString::to_string).collect();
    let mut warnings = parts.map(|parts| parts.warnings.clone()).unwrap_or_default();
    let RuleFiles { files: rule_files, prefix: rule_prefix, .. } = rules;
    let mut inherit = match parts {
        Some(parts) => inherited(workforce, parts, inherit),
        None => PlannedInherit::default(),
    };
    let snapshot = workforce.layers.files.snapshot.as_deref();
    let setup = match parts {
        Some(parts) => {
            let policy = &parts.found.resolved.persona.mount;
            let config = &workforce.config.settings.mount;
            let lifts = |patterns: &[String]| patterns.iter().any(|pattern| pattern.starts_with('!'));
            let reveals = [&policy.reveal_patterns, &config.reveal_patterns, &flags.mount.reveal]
                .into_iter()
                .any(|patterns| !patterns.is_empty())
                || lifts(&policy.ignored_patterns)
                || lifts(&config.ignored_patterns)
                || rule_files.iter().any(|(_, text)| text.lines().any(|line| line.starts_with('!')));
            let around = setup::Surroundings {
                root: &place.root,
                cwd: &place.cwd,
                harness: parts.selection.harness.value,
                env: &host.env,
                home: home.as_deref(),
                snapshot,
                earlier,
                reveals,
            };
            setup::read(&around, &inherit)
        }
        None => Setup::default(),
    };
    inherit.hidden = setup.hidden;
    warnings.extend(setup.warnings);
    let untrusted_servers = match (snapshot, parts) {
        (Some(snapshot), Some(parts)) => {
            let mut servers = setup.found.servers.clone();
            servers.extend(parts.found.resolved.persona.mcp_servers.clone());
            tree_files::started_by(&servers, &snapshot.top, &place.root.join(&place.cwd))
        }
        _ => BTreeMap::new(),
    };
    let facts = RunFacts {
        inherit,
        setup: setup.found,
        env: host.env.clone(),
        home,
        place: MountPlace {
            layers: layers_in(workforce, parts, &place.root),
            protected: layers_outside(workforce, parts, &place.root).there,
            git_settings: git_settings(host, &place.root),
            is_repository: place.root.join(".git").symlink_metadata().is_ok(),
            root: place.root,
            cwd: place.cwd,
            rule_files,
            rule_prefix,
            setup: setup.places,
        },
        persona_ref: workforce.persona_ref().cloned(),
        untrusted_servers,
        warnings,
        obstacles: Obstacles {
            unreadable,
            root: refused,
            mount: None,
            limits: limit_obstacles(workforce, parts),
        },
    };
    Ok((facts, setup.files))
}

/// What is taken over from the repository's own setup: the flag over the persona over the config.
fn inherited(workforce: &Workforce, parts: &PersonaParts, flag: Option<&[Inherit]>) -> PlannedInherit {
    let persona = parts.found.resolved.persona.inherit.as_deref();
    let config = workforce.config.settings.inherit.as_deref();
    PlannedInherit::decide([(Level::Flag, flag), (Level::Persona, persona), (Level::Config, config)])
}

/// Asked of the machine only where some limit needs a control group.
fn limit_obstacles(workforce: &Workforce, parts: Option<&PersonaParts>) -> LimitObstacles {
    let of_persona = parts.map(|parts| parts.found.resolved.persona.limits).unwrap_or_default();
    if of_persona.over(workforce.config.settings.limits).need_control_group() {
        mount::limit_obstacles()
    } else {
        LimitObstacles::default()
    }
}

/// Files in the root that the repository around it takes settings from or runs.
fn git_settings(host: &Host, root: &Path) -> Vec<(PathBuf, String)> {
    let Ok(root) = root.canonicalize() else { return Vec::new() };
    let Some(work_tree) = root.ancestors().find(|dir| dir.join(".git").symlink_metadata().is_ok()) else {
        return Vec::new();
    };
    settings::places(work_tree, &root, &GitSurroundings::of(&host.env, host.home_dir()))
}

impl Prepared {
    /// For a dry run: what a run would need and this machine does not have. It is no reason to refuse the plan.
    pub fn missing_supplies(&self, host: &Host) -> Vec<Warning> {
        let Some(agent) = self.plan.agent() else { return Vec::new() };
        let mut warnings = Vec::new();
        let program = &agent.command.program;
        match tool::look_up(host, program) {
            Lookup::Found(_) => {}
            Lookup::NotExecutable(path) => {
                let text = format!("`{}` is not executable", path.display());
                warnings.push(Warning::new(WarningCode::Harness, text));
            }
            Lookup::Missing => {
                let text = format!("`{program}` was not found in `PATH`");
                warnings.push(Warning::new(WarningCode::Harness, text));
            }
        }
        if self.plan.persona_ref.is_some() {
            // Its skills are in a commit, which only a run unpacks.
            return warnings;
        }
        let anchors: Vec<&Path> = agent.skills_dir().into_iter().chain([&*self.plan.mount.root]).collect();
        for skill in agent.skills.iter().filter(|skill| skill.kind == SkillKind::Local) {
            let source = host.expand_tilde(&skill.source);
            if !anchors.iter().any(|anchor| anchor.join(&source).exists()) {
                let text = format!("skill `{}` was not found: {}", skill.id, skill.source);
                warnings.push(Warning::new(WarningCode::Skill, text));
            }
        }
        warnings
    }

    /// Whether the command works in the real directory.
    pub(super) fn is_unmounted(&self) -> bool {
        self.plan.mount.backend == Backend::None
    }
}
