//! The one place where a room's typed error becomes an exit code and hints. The rooms say what happened; what that means for
//! a script and what the user can do next is decided here.

mod mount;
mod pack;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::files::error::FilesError;
use crate::host::HostError;
use crate::load::error::LoadError;
use crate::model::plan::{Refusal, RefusalCode};
use crate::model::selector::SelectorError;
use crate::model::tier::Tier;
use crate::mount::MountError;
use crate::pack::error::PackError;
use crate::resolve::inputs::InputErrors;
use crate::run::{FailedRun, RunError};
use crate::session::SessionError;
use crate::skills::error::SkillError;
use crate::workforce::WorkforceError;
use std::error::Error;

/// What a typed error means to the user.
struct Advice {
    exit: Exit,
    /// More causes than the chain of sources holds.
    causes: Vec<String>,
    hints: Vec<String>,
}

impl From<anyhow::Error> for CommandError {
    fn from(error: anyhow::Error) -> Self {
        let error = match error.downcast::<CommandError>() {
            Ok(explained) => return explained,
            Err(error) => error,
        };
        let mut chain = error.chain().map(ToString::to_string);
        let message = chain.next().unwrap_or_default();
        let causes: Vec<String> = chain.collect();
        let mut explained = CommandError::internal(message);
        explained.causes = causes;
        if let Some(advice) = error.chain().find_map(advice) {
            explained.exit = advice.exit;
            explained.causes.extend(advice.causes);
            explained.hints = advice.hints;
        }
        explained
    }
}

impl From<std::io::Error> for CommandError {
    fn from(error: std::io::Error) -> Self {
        CommandError::internal(error)
    }
}

/// A typed error in a command: explained as if it had come through `anyhow`.
macro_rules! explained {
    ($($error:ty),*) => {
        $(impl From<$error> for CommandError {
            fn from(error: $error) -> Self {
                anyhow::Error::from(error).into()
            }
        })*
    };
}

explained!(
    FilesError,
    HostError,
    LoadError,
    MountError,
    PackError,
    RunError,
    SelectorError,
    SessionError,
    WorkforceError
);

/// One line for every room that has typed errors.
fn advice(error: &(dyn Error + 'static)) -> Option<Advice> {
    if let Some(error) = error.downcast_ref() {
        return Some(selector(error));
    }
    if let Some(error) = error.downcast_ref() {
        return Some(files(error));
    }
    if let Some(error) = error.downcast_ref() {
        return Some(load(error));
    }
    if let Some(error) = error.downcast_ref() {
        return Some(workforce(error));
    }
    if let Some(error) = error.downcast_ref() {
        return Some(run(error));
    }
    if let Some(error) = error.downcast_ref() {
        return Some(mount::host(error));
    }
    if let Some(error) = error.downcast_ref() {
        return Some(mount::mount(error));
    }
    if let Some(error) = error.downcast_ref() {
        return Some(mount::session(error));
    }
    if let Some(error) = error.downcast_ref() {
        return Some(pack::advice(error));
    }
    if let Some(error) = error.downcast_ref() {
        return Some(skill(error));
    }
    None
}

impl Advice {
    fn usage() -> Advice {
        Advice { exit: Exit::Usage, causes: Vec::new(), hints: Vec::new() }
    }

    fn exit(exit: Exit) -> Advice {
        Advice { exit, ..Advice::usage() }
    }

    fn cause(mut self, cause: impl ToString) -> Advice {
        self.causes.push(cause.to_string());
        self
    }

    fn hint(mut self, hint: impl ToString) -> Advice {
        self.hints.push(hint.to_string());
        self
    }
}

fn selector(error: &SelectorError) -> Advice {
    match error {
        SelectorError::NoPersona { .. } => Advice::usage()
            .hint("write it as `persona` or `persona@tier`; `agentworkforce list` shows the personas"),
        SelectorError::UnknownTier { nearest, .. } => {
            let names = Tier::ALL.map(Tier::name).join(", ");
            Advice::usage().hint(match nearest {
                Some(near) => format!("did you mean `{near}`? The tiers are {names}"),
                None => format!("the tiers are {names}"),
            })
        }
    }
}

fn skill(error: &SkillError) -> Advice {
    let SkillError::NotInCache { reason, .. } = error;
    let hints = vec!["run it again: what is missing in the cache is fetched again".to_owned()];
    Advice { exit: Exit::Internal, causes: vec![reason.clone()], hints }
}

fn files(error: &FilesError) -> Advice {
    match error {
        FilesError::CannotWrite { .. } => {
            Advice::usage().hint("check its permissions, or choose another home with `AGENT_WORKFORCE_HOME`")
        }
        FilesError::CannotEdit { problem, .. } => {
            let mut advice = Advice::usage().cause(problem);
            advice.hints.extend(problem.fix.clone());
            advice.hint("fix the file first; it was not changed")
        }
    }
}

fn load(error: &LoadError) -> Advice {
    let advice = Advice::usage();
    match error {
        LoadError::NotARepository { dir } => advice
            .cause(format!("{} is not in one", dir.display()))
            .hint("`--persona-ref` works inside a clone of the project"),
        LoadError::BrokenRepository { complaint }
        | LoadError::UntrustedRepository { complaint }
        | LoadError::UnreadableCommit { complaint, .. } => advice.cause(complaint),
        LoadError::NoSuchCommit { complaint, .. } => advice.cause(complaint).hint(
            "fetch it first: a shallow clone of a pull request has only the pull request's own commits",
        ),
        LoadError::NoGit => advice.hint("install git"),
        LoadError::OutsideRepository { top, .. } => {
            advice.hint(format!("name a directory below {}", top.display()))
        }
        LoadError::MissingObject { .. } => advice.hint("fetch the commit with its files, without `--filter`"),
        LoadError::HomeIsTheRepository
        | LoadError::NotACommit { .. }
        | LoadError::Git(_)
        | LoadError::LayerTooLarge { .. } => advice,
    }
}

fn workforce(error: &WorkforceError) -> Advice {
    let mut advice = Advice::usage();
    match error {
        WorkforceError::Ambiguous { ids, files, .. } => {
            let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
            advice
                .cause(format!("the ids `{}` differ only in case in one layer", ids.join("` and `")))
                .hint(format!("change the id in one of {}", files.join(", ")))
        }
        WorkforceError::NoSuchPersona { nearest, .. } => {
            if !nearest.is_empty() {
                advice = advice.hint(format!("did you mean `{}`?", nearest.join("`, `")));
            }
            advice.hint("`agentworkforce list` shows all personas")
        }
        WorkforceError::InvalidPersona { problems, .. } => {
            advice.causes = problems.iter().map(ToString::to_string).collect();
            advice.hints = problems.iter().filter_map(|problem| problem.fix.clone()).take(3).collect();
            advice
        }
        WorkforceError::Feature { config, .. } => advice
            .cause(config.display())
            .hint("`agentworkforce config unset features.<id>` removes it from the config"),
    }
}

/// A run that a failure ended, with the session that keeps its work and the log that says more.
pub fn failed_run(mut failed: FailedRun) -> (CommandError, FailedRun) {
    let error = std::mem::replace(&mut failed.error, anyhow::anyhow!("explained"));
    let mut explained = CommandError::from(error);
    if let Some(session) = &failed.session {
        explained = explained.hint(format!(
            "its work is kept in session {session}: `agentworkforce sessions recover {session}`, then `sessions apply {session}`"
        ));
    }
    if let Some(log) = &failed.log {
        explained = explained.hint(format!("the log is {}", log.display()));
    }
    (explained, failed)
}

/// The refusals of a plan as one error: the first decides about the exit code.
pub fn refused(refusals: &[Refusal]) -> CommandError {
    RunError::Refused(refusals.to_vec()).into()
}

fn run(error: &RunError) -> Advice {
    let advice = Advice::usage();
    match error {
        RunError::Refused(refusals) => refusal(refusals),
        RunError::Selection { hint, .. } => match hint {
            Some(hint) => advice.hint(hint),
            None => advice,
        },
        RunError::Inputs { errors, .. } => inputs(errors),
        RunError::NoConversation { .. } => advice.hint("only runs of `agentworkforce agent` have one"),
        RunError::OtherPersona { session, owner, .. } => {
            advice.hint(format!("`agentworkforce agent {owner} --resume {session}`"))
        }
        RunError::OtherHarness { .. } => advice,
        RunError::OtherProject { .. } => advice.hint("continue it there"),
        RunError::UnfinishedApply { session } => {
            advice.hint(format!("`agentworkforce sessions recover {session}` first"))
        }
        RunError::MissingSkills { reasons } => {
            Advice { exit: Exit::Refused, causes: reasons.clone(), hints: Vec::new() }
        }
        RunError::Sidecar { .. } => {
            advice.hint("the persona extends this file; make it readable, or use `overwrite`")
        }
        RunError::CheckInterrupted { signal, .. } => {
            Advice { exit: Exit::Signal(u8::try_from(*signal).unwrap_or(0)), ..advice }
        }
    }
}

fn inputs(errors: &InputErrors) -> Advice {
    let mut advice = Advice::usage();
    for (name, near) in &errors.unknown {
        let near = near.as_ref().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        advice = advice.cause(format!("`{name}` is not declared{near}"));
    }
    for input in &errors.missing {
        let what = input.description.as_deref().map(|text| format!(": {text}")).unwrap_or_default();
        advice = advice.cause(format!("`{}` has no value{what}", input.name)).hint(format!(
            "give `{0}` with `--input {0}=...`, or set the variable `{1}`",
            input.name, input.variable
        ));
    }
    advice
}

fn refusal(refusals: &[Refusal]) -> Advice {
    let Some((first, others)) = refusals.split_first() else { return Advice::usage() };
    let (exit, hint) = match first.code {
        RefusalCode::InvalidFiles => (
            Exit::Usage,
            "`agentworkforce lint` shows every problem; without these files the run could do more than you allow",
        ),
        RefusalCode::Root => (Exit::Usage, "change to a project directory, or name one with `--root DIR`"),
        RefusalCode::NothingToHold => (Exit::Usage, "leave out `--apply never` or `--install-in-repo`"),
        RefusalCode::NoTerminal => {
            (Exit::Usage, "`--apply ask` needs a terminal: use `--apply auto` or `--apply never` in scripts")
        }
        RefusalCode::ZeroBudget => (Exit::Refused, "raise `limits.usd` of the persona, or use `--max-usd`"),
        RefusalCode::OverlayUnavailable => {
            (Exit::Usage, "use `--mount copy`, or `--mount auto` to take whatever works")
        }
        RefusalCode::SandboxUnavailable => {
            (Exit::Refused, "leave out `--mount`, or ask for less with `--sandbox off`")
        }
        RefusalCode::NotEnforced => (
            Exit::Refused,
            "run it without `--strict`, on another harness, or remove the setting from the persona",
        ),
    };
    let also = others.iter().map(|refusal| format!("also: {}", refusal.message));
    let causes = first.causes.iter().cloned().chain(also).collect();
    Advice { exit, causes, hints: vec![hint.to_owned()] }
}
