//! From a request to a plan: finds the persona, the place and what is in the way, each once, and hands them to the pure part.
//! It starts nothing; a dry run ends here.

use super::conversation::{self, Resumed};
use super::error::RunError;
use super::facts::{Wanted, facts, place};
use super::inject;
use super::persona_parts::PersonaParts;
use super::request::{Overrides, RunRequest, Subject};
use super::terms;
use super::watch;
use crate::git;
use crate::host::Host;
use crate::model::mount::{Backend, Sandbox};
use crate::model::plan::{AgentPlan, Conversation, RunPlan};
use crate::model::selector::Selector;
use crate::model::warning::{Warning, WarningCode};
use crate::mount::{InjectedFile, probe};
use crate::plan::mount::MountFlags;
use crate::plan::parts::{RunFacts, RunFlags};
use crate::plan::{refusals::needs_probe, run as plan_run};
use crate::session::{Session, SessionError, SessionStore};
use crate::tool::{self, Lookup};
use crate::workforce::Workforce;
use anyhow::Result;
use std::path::{Path, PathBuf};

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
    // What is wrong with it is said later. Now because the git of a project is never run, and from here on the project is known.
    let place = place(workforce, request.root.as_deref());
    let resumed = match (&request.resume, request.persona()) {
        (Some(session), Some(persona)) => {
            let found = workforce.find(&persona.name)?;
            let root = match &place {
                Ok(place) => &place.root,
                Err(_) => return Err(place.expect_err("just looked at")),
            };
            Some(conversation::find(store, session, found.resolved.id(), overrides.harness, root)?)
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
    let carried_over = match &resumed {
        Some(resumed) => terms::carry_over(&resumed.session, request.no_checks, &mut flags)?,
        None => Vec::new(),
    };
    if workforce.host.var("GIT_CONFIG_SYSTEM").is_none() && place.is_ok() {
        git::ask_for_system_config();
    }
    let parts = match &request.subject {
        Subject::Persona(persona) => Some(PersonaParts::read(workforce, persona, &overrides)?),
        Subject::Command { persona: Some(persona), .. } => {
            Some(PersonaParts::preview(workforce, persona, &overrides)?)
        }
        Subject::Command { persona: None, .. } => None,
    };
    let earlier = resumed.as_ref().and_then(|resumed| data_of(&resumed.session));
    let wanted = Wanted { place: place?, flags: &flags, inherit: overrides.inherit.as_deref(), earlier };
    let (mut facts, setup_files) = facts(workforce, wanted, parts.as_ref())?;
    facts.warnings.splice(0..0, workforce.general_warnings());
    facts.warnings.extend(request.warnings.iter().cloned());
    if let Some(resumed) = &resumed {
        let session = &resumed.session.id;
        let text = match &flags.resume {
            Some(Conversation::Id(_)) => None,
            Some(Conversation::Latest) => Some(format!(
                "which conversation session `{session}` had is not known: the latest one in this directory goes on"
            )),
            None => Some(format!("nothing was said in session `{session}`: a new conversation begins")),
        };
        facts.warnings.extend(text.map(|text| Warning::new(WarningCode::Harness, text)));
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
        let is_work = resumed.session.status()?.is_some_and(|status| status.work.is_some());
        if is_work != flags.extras.work.is_some() {
            let session = resumed.session.id.to_string();
            return Err(RunError::OtherKind { session, is_work }.into());
        }
        can_continue(&resumed.session, &plan)?;
        plan.continues = Some(resumed.session.id.to_string());
        plan.carried_over = carried_over;
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
        let wanted = Wanted {
            place: place(workforce, None)?,
            flags: &flags,
            inherit: overrides.inherit.as_deref(),
            earlier: None,
        };
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
        ignore_unsupported: request.ignore_unsupported,
        offline: request.offline,
        refresh_skills: request.refresh_skills,
        attended: request.attended,
        extras: request.extras.clone(),
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
        warnings
    }

    /// Whether the command works in the real directory.
    pub(super) fn is_unmounted(&self) -> bool {
        self.plan.mount.backend == Backend::None
    }
}
