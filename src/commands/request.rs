//! From the command line to typed requests: the words that users type for tiers, harnesses, files and runs.

use crate::cli::{
    AgentArgs, ApplyArg, BackendArg, ChangesArgs, InheritArg, MountArgs, SandboxArg, ShownArgs,
};
use crate::error::{CommandError, Result};
use crate::host::Host;
use crate::model::inherit::Inherit;
use crate::model::limits::Limits;
use crate::model::mount::{Backend, Sandbox};
use crate::model::plan::{ApplyPolicy, PlannedCheck};
use crate::model::raw_path::RawPath;
use crate::model::selector::{Selector, SelectorError};
use crate::model::tier::{Harness, Tier};
use crate::model::words::nearest;
use crate::rules::inherit::refused_reveal;
use crate::run::request::{ChangesRequest, Overrides, Resume, RunRequest, Subject, ViewRequest};
use crate::workforce::Workforce;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The run that `agent` asks for.
pub fn of_agent(
    args: &AgentArgs,
    persona: Selector,
    task: Option<String>,
    attended: bool,
) -> Result<RunRequest> {
    if args.check.iter().any(|command| command.trim().is_empty()) {
        return Err(CommandError::usage("a check is empty").hint("name a command after `--check`"));
    }
    let backend = if args.install_in_repo { Some(Backend::None) } else { args.mount.map(backend) };
    let check =
        |command: &String| PlannedCheck { command: command.clone(), timeout_seconds: args.check_timeout };
    Ok(RunRequest {
        task,
        resume: resume(args),
        root: args.root.as_deref().map(existing_directory).transpose()?,
        overrides: Overrides {
            harness: args.harness.as_deref().map(parse_harness).transpose()?,
            inherit: inherit(&args.shown)?,
            model: args.model.clone().filter(|model| !model.trim().is_empty()),
            inputs: args.input.iter().cloned().collect(),
            harness_args: args.harness_args.clone(),
            ..Overrides::default()
        },
        view: ViewRequest {
            backend,
            sandbox: args.sandbox.map(sandbox),
            reveal: reveal(&args.shown)?,
            allow_layer_changes: args.changes.allow_layer_changes,
        },
        limits: Limits {
            wall_seconds: args.timeout,
            idle_seconds: args.idle_timeout,
            turns: args.max_turns,
            usd: args.max_usd,
            ..Limits::default()
        },
        checks: args.check.iter().map(check).collect(),
        no_checks: args.no_checks,
        changes: changes(&args.changes),
        strict: args.strict,
        ignore_unsupported: args.ignore_unsupported,
        offline: args.offline,
        refresh_skills: args.refresh_skills || args.npm.no_skill_cache || args.npm.check_upstream,
        attended,
        ..RunRequest::of(persona)
    })
}

/// The task in the words of the user, without what was piped to it.
pub fn task_of(args: &AgentArgs) -> Result<Option<String>> {
    let task = match (&args.prompt, &args.prompt_file) {
        (Some(text), _) => Some(text.clone()),
        (None, Some(file)) => Some(read_named(file, "the prompt file")?),
        (None, None) => (!args.task.is_empty()).then(|| args.task.join(" ")),
    };
    if task.as_deref().is_some_and(|text| text.trim().is_empty()) {
        return Err(CommandError::usage("the task is empty")
            .hint("say what to do, as in `agentworkforce agent engineer \"fix the tests\"`"));
    }
    Ok(task)
}

/// A persona and perhaps a tier. If both are mistyped, the error is about the persona.
pub fn parse_selector(text: &str, host: &Host, persona_ref: Option<&str>) -> Result<Selector> {
    let selector = Selector::parse(text);
    if let (Err(SelectorError::UnknownTier { .. }), Some((name, _))) = (&selector, text.split_once('@')) {
        Workforce::open_at(host, persona_ref)?.find(name.trim())?;
    }
    Ok(selector?)
}

/// The run that `mount` asks for.
pub fn of_mount(args: &MountArgs, attended: bool) -> Result<RunRequest> {
    let persona = args.persona.as_deref().map(Selector::parse).transpose()?;
    if persona.is_none() && !args.shown.inherit.is_empty() {
        return Err(CommandError::usage(
            "`--inherit` needs `--persona`: without one nothing of the setup is hidden",
        ));
    }
    let argv = args.command.iter().map(|word| RawPath(PathBuf::from(word))).collect();
    Ok(RunRequest {
        root: args.root.clone(),
        overrides: Overrides { inherit: inherit(&args.shown)?, ..Overrides::default() },
        view: ViewRequest {
            backend: args.mount.map(backend),
            sandbox: args.sandbox.map(sandbox),
            reveal: reveal(&args.shown)?,
            allow_layer_changes: args.changes.allow_layer_changes,
        },
        changes: changes(&args.changes),
        ignore_unsupported: args.ignore_unsupported,
        attended,
        ..RunRequest::new(Subject::Command { argv, persona })
    })
}

/// What `--inherit` says; `None` where it is not given.
pub fn inherit(args: &ShownArgs) -> Result<Option<Vec<Inherit>>> {
    let kinds = |arg: &InheritArg| match arg {
        InheritArg::Instructions => vec![Inherit::Instructions],
        InheritArg::Commands => vec![Inherit::Commands],
        InheritArg::Skills => vec![Inherit::Skills],
        InheritArg::Mcp => vec![Inherit::Mcp],
        InheritArg::Hooks => vec![Inherit::Hooks],
        InheritArg::All => Inherit::ALL.to_vec(),
        InheritArg::None => Vec::new(),
    };
    if args.inherit.contains(&InheritArg::None) && args.inherit.len() > 1 {
        return Err(CommandError::usage("`--inherit none` goes with no other kind"));
    }
    Ok((!args.inherit.is_empty()).then(|| args.inherit.iter().flat_map(kinds).collect()))
}

/// What `--reveal` says, unless it names what is never shown.
pub fn reveal(args: &ShownArgs) -> Result<Vec<String>> {
    match args.reveal.iter().find_map(|pattern| refused_reveal(pattern)) {
        Some(why) => Err(CommandError::usage(format!("`--reveal`: {why}"))
            .hint("`--inherit mcp` and `--inherit hooks` take over what such files configure")),
        None => Ok(args.reveal.clone()),
    }
}

fn changes(args: &ChangesArgs) -> ChangesRequest {
    ChangesRequest {
        apply: args.apply.map(apply_policy),
        include_ignored: args.include_ignored,
        no_merge: args.no_merge,
        keep: args.keep,
    }
}

pub fn apply_policy(apply: ApplyArg) -> ApplyPolicy {
    match apply {
        ApplyArg::Auto => ApplyPolicy::Auto,
        ApplyArg::Ask => ApplyPolicy::Ask,
        ApplyArg::Never => ApplyPolicy::Never,
    }
}

fn resume(args: &AgentArgs) -> Option<Resume> {
    match args.resume.as_deref() {
        Some("last") => Some(Resume::Last),
        Some(session) => Some(Resume::Session(session.to_owned())),
        None => args.continue_last.then_some(Resume::LastOfPersona),
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

/// A directory that the user names must exist before anything is decided about it.
fn existing_directory(dir: &Path) -> Result<PathBuf> {
    match std::fs::metadata(dir) {
        Ok(found) if found.is_dir() => Ok(dir.to_owned()),
        Ok(_) => Err(CommandError::usage(format!("`--root {}` is not a directory", dir.display()))),
        Err(error) => Err(CommandError::usage(format!("`--root {}` cannot be used: {error}", dir.display()))),
    }
}

/// Kinds of setup in a text, separated by commas.
pub fn parse_inherit(text: &str) -> Result<Vec<Inherit>> {
    let kinds = text.split(',').map(str::trim).filter(|kind| !kind.is_empty() && *kind != "none");
    let kind = |text: &str| {
        text.parse::<Inherit>().map_err(|message| {
            let near = nearest(text, Inherit::NAMES.into_iter());
            CommandError::usage(message).maybe_hint(near.map(|near| format!("did you mean `{near}`?")))
        })
    };
    kinds.map(kind).collect()
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
