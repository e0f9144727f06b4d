//! What the failures of a run mean: refusals, missing harnesses, sessions that cannot be continued.

use super::Advice;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::harness::adapter;
use crate::model::plan::{Refusal, RefusalCode};
use crate::resolve::inputs::InputErrors;
use crate::run::LaunchError;
use crate::run::{FailedRun, RunError};
use crate::session::SessionState;

/// A run that a failure ended, with the session that keeps its work and the log that says more.
pub fn failed_run(mut failed: FailedRun) -> (CommandError, FailedRun) {
    let error = std::mem::replace(&mut failed.error, anyhow::anyhow!("explained"));
    let mut explained = CommandError::from(error);
    if let Some((session, state)) = failed.session() {
        explained = explained.hint(match state {
            SessionState::Applied => {
                format!("its changes were applied; `agentworkforce sessions undo {session}` undoes them")
            }
            SessionState::Held => format!(
                "its work is kept in session {session}: `agentworkforce sessions diff {session}`, then `sessions apply {session}`"
            ),
            _ => format!(
                "its work is kept in session {session}: `agentworkforce sessions recover {session}`, then `sessions apply {session}`"
            ),
        });
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

pub(super) fn run(error: &RunError) -> Advice {
    let advice = Advice::usage();
    match error {
        RunError::Refused(refusals) => refusal(refusals),
        RunError::Selection { hint, .. } => match hint {
            Some(hint) => advice.hint(hint),
            None => advice,
        },
        RunError::Inputs { errors, .. } => inputs(errors),
        RunError::NoConversation { .. } => advice.hint("only runs of `agentworkforce agent` have one"),
        RunError::NoTranscript { session } => {
            advice.hint(format!("`agentworkforce sessions diff {session}` shows what the command changed"))
        }
        RunError::NoSessionYet { persona, .. } => {
            let persona = persona.as_deref().unwrap_or("PERSONA");
            advice.hint(format!("`agentworkforce agent {persona}` begins one; `agentworkforce sessions list` shows those of all projects"))
        }
        RunError::Discarded { .. } => {
            advice.hint("begin a new one without `-c` or `--resume`; `agentworkforce sessions list` shows the others")
        }
        RunError::OtherPersona { session, owner, .. } => {
            advice.hint(format!("`agentworkforce agent {owner} --resume {session}`"))
        }
        RunError::OtherHarness { .. } => advice,
        RunError::OtherProject { .. } => advice.hint("continue it there"),
        RunError::OtherLevel { was, asked, .. } => Advice::exit(Exit::Refused).hint(format!(
            "go on with `--sandbox {}`, or start a new session at `{}`",
            was.name(),
            asked.name()
        )),
        RunError::CopyGone { .. } => {
            advice.hint("begin a new one without `--resume`; `--keep` keeps the copy of a run")
        }
        RunError::OtherRules { session, .. } => Advice::exit(Exit::Refused).hint(format!(
            "take the change back, or `agentworkforce sessions apply {session}` first: the conversation then goes on in a new mount"
        )),
        RunError::OtherInherit { was, .. } => {
            Advice::exit(Exit::Refused).hint(format!("go on with `--inherit {was}`, or start a new session"))
        }
        RunError::OtherKind { session, is_work: true } => {
            advice.hint(format!("`agentworkforce work --resume {session}` goes on with it"))
        }
        RunError::OtherKind { session, is_work: false } => {
            advice.hint(format!("`agentworkforce agent PERSONA --resume {session}` goes on with it"))
        }
        RunError::UnfinishedApply { session } => {
            advice.hint(format!("`agentworkforce sessions recover {session}` first"))
        }
        RunError::MissingSkills { reasons } => {
            Advice { exit: Exit::Refused, causes: reasons.clone(), hints: Vec::new() }
        }
        RunError::Sidecar { .. } => {
            advice.hint("the persona extends this file; make it readable, or use `overwrite`")
        }
        RunError::Replaced { path, now, .. } => {
            let hint = match now {
                Some(now) => format!(
                    "look at what is at {0} now and remove it, move {1} back there, and only then use it again",
                    path.display(),
                    now.display()
                ),
                None => format!("look at what is at {} before you use it again", path.display()),
            };
            Advice::exit(Exit::Conflict).hint(hint)
        }
        RunError::Appeared { path, note } => Advice::exit(Exit::Conflict).hint(format!(
            "look at what is there; remove {} if you did not make it, else the note {}",
            path.display(),
            note.display()
        )),
        RunError::AppearedEarlier { path, note } => Advice::exit(Exit::Refused).hint(format!(
            "look at what is there; remove {} if you did not make it, else the note {}",
            path.display(),
            note.display()
        )),
        RunError::LinkReplaced { path } => Advice::exit(Exit::Conflict)
            .hint(format!("look at the links on the way to {} before you use it again", path.display())),
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
        RefusalCode::ZeroBudget => {
            (Exit::Refused, "give more with `--max-usd`, or in `limits.usd` of the persona")
        }
        RefusalCode::OverlayUnavailable => {
            (Exit::Usage, "use `--mount copy`, or `--mount auto` to take whatever works")
        }
        RefusalCode::SandboxUnavailable => {
            let hint = "`agentworkforce doctor` says how to allow it here, and so does docs/containers.md; `--sandbox off` runs it without, \
                and `--mount copy` never has one";
            (Exit::Refused, hint)
        }
        RefusalCode::Unsupported => {
            (Exit::Refused, "remove them from the persona, or run it without them: `--ignore-unsupported`")
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

pub(super) fn launch(error: &LaunchError) -> Advice {
    match error {
        LaunchError::NotFound { harness, .. } => Advice::exit(Exit::NotFound)
            .hint(format!("install it with `{}`", adapter(*harness).install_command()))
            .hint("`agentworkforce doctor` shows what is installed; `--harness` picks another one"),
        LaunchError::NotExecutable { path, harness } => Advice::exit(Exit::NotExecutable).hint(format!(
            "`chmod +x {}`, or install it with `{}`",
            path.display(),
            adapter(*harness).install_command()
        )),
        LaunchError::VariableUnset { .. } => Advice::usage(),
    }
}
