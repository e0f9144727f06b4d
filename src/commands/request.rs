//! From a typed request to a plan: reads what the plan needs and hands it to the pure part.

use super::mounted;
use crate::cli::{AgentArgs, BackendArg, SandboxArg};
use crate::error::{CommandError, Result};
use crate::harness::adapter;
use crate::load::file::FileProblem;
use crate::model::decided::InputValue;
use crate::model::features::Feature;
use crate::model::mount::{Backend, Sandbox};
use crate::model::persona::Limits;
use crate::model::plan::RunPlan;
use crate::model::selector::Selector;
use crate::model::tier::{Harness, Tier};
use crate::model::warning::Warning;
use crate::model::words::nearest;
use crate::plan::mount::{MountFlags, MountPlace};
use crate::plan::run::{self as plan_run, RunFacts, RunFlags, RunParts};
use crate::resolve::inputs::{self, InputErrors};
use crate::resolve::role::RolePart;
use crate::resolve::select::{Levels, Selection, select};
use crate::resolve::sidecar as resolve_sidecar;
use crate::workforce::{Found, Workforce, not_used, warnings_of};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A run as it was asked for.
#[derive(Debug, Clone, Default)]
pub struct PlanRequest {
    pub persona: String,
    pub tier: Option<Tier>,
    pub harness: Option<Harness>,
    pub model: Option<String>,
    pub inputs: BTreeMap<String, String>,
    pub root: Option<PathBuf>,
    pub flags: RunFlags,
}

impl PlanRequest {
    pub fn from_args(args: &AgentArgs) -> Result<PlanRequest> {
        let selector = Selector::parse(&args.selector)?;
        let prompt = match (&args.prompt, &args.prompt_file) {
            (Some(text), _) => Some(text.clone()),
            (None, Some(file)) => Some(read_prompt(file)?),
            (None, None) => None,
        };
        if prompt.as_deref().is_some_and(|text| text.trim().is_empty()) {
            return Err(CommandError::usage("the task is empty").hint("say what to do after `-p`"));
        }
        let backend = if args.install_in_repo { Some(Backend::None) } else { args.mount.map(backend) };
        Ok(PlanRequest {
            persona: selector.name,
            tier: selector.tier,
            harness: args.harness.as_deref().map(parse_harness).transpose()?,
            model: args.model.clone().filter(|model| !model.trim().is_empty()),
            inputs: args.input.iter().cloned().collect(),
            root: args.root.as_deref().map(existing_directory).transpose()?,
            flags: RunFlags {
                prompt,
                limits: Limits {
                    wall_seconds: args.timeout,
                    idle_seconds: args.idle_timeout,
                    turns: args.max_turns,
                    usd: args.max_usd,
                },
                mount: MountFlags { backend, sandbox: args.sandbox.map(sandbox) },
                resume: None,
                extra_args: args.harness_args.clone(),
            },
        })
    }
}

pub fn backend(arg: BackendArg) -> Backend {
    match arg {
        BackendArg::Auto => Backend::Auto,
        BackendArg::Overlay => Backend::Overlay,
        BackendArg::Copy => Backend::Copy,
        BackendArg::None => Backend::None,
    }
}

pub fn sandbox(arg: SandboxArg) -> Sandbox {
    match arg {
        SandboxArg::Off => Sandbox::Off,
        SandboxArg::Project => Sandbox::Project,
        SandboxArg::Strict => Sandbox::Strict,
    }
}

/// A directory that the user names must be one, before anything is decided about it.
fn existing_directory(dir: &Path) -> Result<PathBuf> {
    match std::fs::metadata(dir) {
        Ok(found) if found.is_dir() => Ok(dir.to_owned()),
        Ok(_) => Err(CommandError::usage(format!("`--root {}` is not a directory", dir.display()))),
        Err(error) => Err(CommandError::usage(format!("`--root {}` cannot be used: {error}", dir.display()))),
    }
}

pub fn parse_harness(text: &str) -> Result<Harness> {
    text.parse().map_err(|message: String| {
        let near = nearest(text, Harness::ALL.iter().map(|harness| harness.name()));
        CommandError::usage(message).maybe_hint(near.map(|near| format!("did you mean `{near}`?")))
    })
}

pub fn parse_tier(text: &str) -> Result<Tier> {
    text.parse().map_err(|message: String| {
        let near = nearest(text, Tier::ALL.iter().map(|tier| tier.name()));
        CommandError::usage(message).maybe_hint(near.map(|near| format!("did you mean `{near}`?")))
    })
}

/// A text file that the user names; `-` is standard input.
pub fn read_named(path: &Path, what: &str) -> Result<String> {
    let result = if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().lock().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(path)
    };
    result.map_err(|error| CommandError::usage(format!("{what} {} cannot be read: {error}", path.display())))
}

fn read_prompt(path: &Path) -> Result<String> {
    read_named(path, "the prompt file")
}

/// A persona at a tier with everything read that a plan or a prompt needs.
pub struct Prepared {
    pub found: Found,
    pub selection: Selection,
    pub role: Option<RolePart>,
    pub inputs: Vec<InputValue>,
    pub sidecar: Option<(resolve_sidecar::Sidecar, String)>,
    pub warnings: Vec<Warning>,
}

impl Prepared {
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

pub fn prepare(workforce: &Workforce, request: &PlanRequest) -> Result<Prepared> {
    let found = workforce.find(&request.persona)?;
    let mut warnings = warnings_of(&found.problems);
    warnings.extend(not_used(&found.resolved));

    let role = workforce.role_of(&found.resolved);
    warnings.extend(warnings_of(&role.problems));
    warnings.extend(role.warnings);

    let settings = &workforce.config.settings;
    let levels = Levels {
        flag_harness: request.harness,
        flag_model: request.model.as_deref(),
        role: role.role.as_ref().filter(|_| workforce.feature(Feature::AgentLibrary)),
        config_harness: settings.default_harness.as_deref(),
        config_model: settings.default_model.as_deref(),
    };
    let selection = select(&found.resolved, request.tier, &levels)
        .map_err(|error| CommandError::usage(error.message).maybe_hint(error.hint))?;

    let inputs = inputs::resolve(&found.resolved.persona.inputs, &request.inputs, &workforce.host.env)
        .map_err(|errors| input_error(&request.persona, &errors))?;

    let sidecar = match resolve_sidecar::choose(
        &found.resolved,
        &selection,
        adapter(selection.harness.value).sidecar,
    ) {
        Some(sidecar) => match workforce.sidecar_text(&sidecar) {
            Ok(text) => Some((sidecar, text)),
            Err(problem) => {
                warnings.extend(warnings_of(&[problem]));
                None
            }
        },
        None => None,
    };
    Ok(Prepared { found, selection, role: role.part, inputs, sidecar, warnings })
}

fn input_error(persona: &str, errors: &InputErrors) -> CommandError {
    let mut error = if errors.missing.is_empty() {
        CommandError::usage(format!("persona `{persona}` has no such input"))
    } else {
        CommandError::usage(format!("persona `{persona}` needs {} more input value(s)", errors.missing.len()))
    };
    for (name, near) in &errors.unknown {
        let near = near.as_ref().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        error = error.caused_by(format!("`{name}` is not declared{near}"));
    }
    for input in &errors.missing {
        let what = input.description.as_deref().map(|text| format!(": {text}")).unwrap_or_default();
        error = error.caused_by(format!("`{}` has no value{what}", input.name));
    }
    for input in &errors.missing {
        error = error.hint(format!(
            "give `{0}` with `--input {0}=...`, or set the variable `{1}`",
            input.name, input.variable
        ));
    }
    error
}

/// Where the run is, and the rule files in it.
fn facts(workforce: &Workforce, request: &PlanRequest, id: &str) -> Result<(RunFacts, Vec<FileProblem>)> {
    let host = &workforce.host;
    let project = mounted::find_root(workforce, request.root.as_deref())?;
    let rules = workforce.rule_files(&project.root, id)?;
    let place = MountPlace {
        is_repository: project.root.join(".git").symlink_metadata().is_ok(),
        root: project.root,
        cwd: project.cwd,
        rule_files: rules.files,
        rule_prefix: rules.prefix,
    };
    let persona_ref = workforce.persona_ref().cloned();
    Ok((RunFacts { env: host.env.clone(), home: host.home_dir(), place, persona_ref }, rules.problems))
}

pub fn plan(workforce: &Workforce, request: &PlanRequest) -> Result<RunPlan> {
    plan_of(workforce, request, &prepare(workforce, request)?)
}

/// A plan for people who only look: inputs that a run would ask for stay visible as placeholders.
pub fn look(workforce: &Workforce, request: &PlanRequest) -> Result<(Prepared, RunPlan)> {
    let found = workforce.find(&request.persona)?;
    let mut request = request.clone();
    let declared = &found.resolved.persona.inputs;
    if let Err(errors) = inputs::resolve(declared, &request.inputs, &workforce.host.env) {
        for input in errors.missing {
            request.inputs.insert(input.name.clone(), format!("${}", input.name));
        }
    }
    let prepared = prepare(workforce, &request)?;
    let plan = plan_of(workforce, &request, &prepared)?;
    Ok((prepared, plan))
}

fn plan_of(workforce: &Workforce, request: &PlanRequest, prepared: &Prepared) -> Result<RunPlan> {
    let (facts, problems) = facts(workforce, request, prepared.found.resolved.id())?;
    let mut warnings: Vec<String> = prepared.warnings.iter().map(ToString::to_string).collect();
    warnings.extend(problems.iter().map(ToString::to_string));
    Ok(plan_run::plan(&prepared.parts(workforce), &request.flags, &facts, warnings))
}
