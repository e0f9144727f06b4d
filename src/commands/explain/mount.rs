//! What the errors of `host`, `mount` and `session` mean to the user.

use super::Advice;
use crate::exit::Exit;
use crate::host::HostError;
use crate::mount::MountError;
use crate::session::id::SessionId;
use crate::session::{SessionError, SessionState};

pub(super) fn host(error: &HostError) -> Advice {
    match error {
        HostError::NoWorkingDirectory(_) => Advice::usage().hint("change to a directory that exists"),
        HostError::NoHome => {
            Advice::usage().hint("set `HOME`, or `AGENT_WORKFORCE_HOME` to a directory of your choice")
        }
    }
}

pub(super) fn mount(error: &MountError) -> Advice {
    match error {
        MountError::UnreadableRoot { .. }
        | MountError::NotADirectory { .. }
        | MountError::InvalidRule { .. }
        | MountError::InvalidInclude { .. } => Advice::usage(),
        MountError::NoBase
        | MountError::NoView
        | MountError::NotAProjectPath { .. }
        | MountError::ChangedSinceLaunch { .. }
        | MountError::BlockedPath { .. }
        | MountError::InjectedFileLost { .. } => Advice::exit(Exit::Internal),
        MountError::RefusedNow { .. } => Advice::exit(Exit::Conflict)
            .hint("look at what has been made around it since; `sessions undo --only PATH` takes back single paths"),
        MountError::ReplacedWorkdir { .. } => {
            Advice::exit(Exit::Refused).hint("apply or discard the session, and start a new one")
        }
        MountError::RefusedRoot { .. } => {
            Advice::usage().hint("change to a project directory, or name one with `--root DIR`")
        }
        MountError::NoOverlay { .. } => {
            Advice::usage().hint("use `--mount copy`, or `--mount auto` to take whatever works")
        }
        MountError::NoSandbox { .. } => {
            Advice::exit(Exit::Refused).hint("use `--sandbox off` to run without it")
        }
        MountError::NoLimits { .. } => Advice::exit(Exit::Refused).hint(
            "take `limits.processes` and `limits.memoryMb` out to run without them; `agentworkforce doctor` says what they need",
        ),
        MountError::UntrustedRecord { path, .. } => Advice::exit(Exit::Refused).hint(format!(
            "agentworkforce did not write it like this; if you did not either, look at what did, then remove `{}`",
            path.display()
        )),
        MountError::StillOpen { .. } => Advice::exit(Exit::Conflict)
            .hint("nothing was applied; end the other run that was handed a file of this one, and look at the diff again"),
        MountError::Interrupted { signal } | MountError::Stopped { signal } => {
            Advice::exit(Exit::Signal(u8::try_from(*signal).unwrap_or(0)))
        }
        MountError::NotEnded { timed_out } => {
            let exit = if *timed_out { Exit::TimedOut } else { Exit::Internal };
            Advice::exit(exit).hint("it was killed and does not end; look for it with `ps`, then apply or discard the session")
        }
        MountError::ProgramNotFound { .. } => {
            Advice::exit(Exit::NotFound).hint("is it installed and in `PATH`?")
        }
        MountError::ProgramNotExecutable { reason, .. } => Advice::exit(Exit::NotExecutable).cause(reason),
        MountError::CannotMount { reason } => {
            Advice::exit(Exit::Internal).cause(reason).hint("`--mount copy` works without mounting")
        }
    }
}

pub(super) fn session(error: &SessionError) -> Advice {
    match error {
        SessionError::NotFound { .. } => {
            Advice::usage().hint("`agentworkforce sessions list` shows all sessions")
        }
        SessionError::NoLast { elsewhere: Some(id) } => {
            Advice::usage().hint(format!("the last session of all projects is {id}"))
        }
        SessionError::NoLast { elsewhere: None } => Advice::usage().hint("there are no sessions at all"),
        SessionError::Ambiguous { ids, .. } => {
            const MOST: usize = 5;
            let names: Vec<&str> = ids.iter().take(MOST).map(SessionId::as_str).collect();
            let more = if ids.len() > MOST { ", ..." } else { "" };
            Advice::usage().hint(format!("give more of the name, or `last`: {}{more}", names.join(", ")))
        }
        SessionError::InUse { .. } => {
            Advice::usage().hint("its runner is still at work; wait for it, or stop it")
        }
        SessionError::NotRunning { id, state: SessionState::Interrupted } => {
            Advice::usage().hint(format!("its runner died: `agentworkforce sessions recover {id}` recovers its work"))
        }
        SessionError::NotRunning { id, .. } => {
            Advice::usage().hint(format!("`agentworkforce sessions show {id}` shows what became of it"))
        }
        SessionError::NoRunner { .. } => Advice::usage().hint(
            "another command is at work on it, which ends soon, or it runs in another container: stop it there",
        ),
        SessionError::NoMount { id, state: SessionState::Undone } => {
            Advice::usage().hint(format!("`agentworkforce sessions redo {id}` applies again what was undone"))
        }
        SessionError::NoMount { id, state: SessionState::Applied } => {
            Advice::usage().hint(format!("`agentworkforce sessions diff {id}` shows what was applied"))
        }
        SessionError::NoMount { id, .. } => {
            Advice::usage().hint(format!("`agentworkforce sessions show {id}` shows what is known of it"))
        }
        SessionError::NotApproved { id, .. } => Advice::exit(Exit::Refused)
            .hint(format!("`agentworkforce work --resume {id}` goes on with it"))
            .hint("`--unverified` applies it all the same"),
        SessionError::RulesMissing { data, .. } => {
            Advice::exit(Exit::Internal).hint(format!("the work itself is in {}", data.display()))
        }
        SessionError::Unusable { .. } => Advice::exit(Exit::Internal)
            .hint("check that the directory can be written and that the disk is not full"),
    }
}
