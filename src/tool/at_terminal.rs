//! Runs a program that the user looks at or types into: an editor, a pager, a merge tool. It has the terminal until it ends. The
//! program is one of the machine and never one of the project.

use super::{find, hide_project_programs};
use crate::host::terminal::UserTerminal;
use crate::host::{Host, own_project};
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpid, getppid, getsid};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// The command that a variable of the user names, with its arguments (`code --wait`); `None` if it is no program that may be run
/// outside of a mount.
pub fn command_of(host: &Host, words: &str) -> Option<Command> {
    command_of_words(host, &shlex::split(words)?)
}

/// The same for words that are separate already.
pub fn command_of_words(host: &Host, words: &[String]) -> Option<Command> {
    let (name, arguments) = words.split_first()?;
    let program = if name.contains('/') {
        let path = host.expand_tilde(name);
        (path.is_absolute() && !own_project::contains(&path)).then_some(path)?
    } else {
        find(host, name)?
    };
    let mut command = Command::new(program);
    command.args(arguments);
    Some(command)
}

/// Runs a command with the terminal as its input and output, unless it has another input. Gives whether it ended well.
pub fn run(
    terminal: &UserTerminal,
    command: &mut Command,
    directory: &Path,
    input: Option<Stdio>,
) -> io::Result<bool> {
    hide_project_programs(command);
    let settings = terminal.settings();
    let (stdout, stderr) = (terminal.output()?, terminal.output()?);
    let stdin = match input {
        Some(input) => input,
        None => Stdio::from(terminal.input().try_clone_to_owned()?),
    };
    command.stdin(stdin).stdout(stdout).stderr(stderr).current_dir(directory);
    if terminal.is_controlling() {
        // What is typed, Ctrl-C included, is for the program alone.
        command.process_group(0);
    }
    let child = command.spawn()?;
    let child = Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?);
    let ended = wait(terminal, child);
    terminal.take_back(settings.as_ref());
    ended
}

/// Stops with the child, so that the user gets back to the shell, and continues it with us.
fn wait(terminal: &UserTerminal, child: Pid) -> io::Result<bool> {
    let settings = terminal.settings();
    loop {
        terminal.lend(child);
        if terminal.is_controlling() {
            // It may have asked for the terminal before it had it.
            let _ = killpg(child, Signal::SIGCONT);
        }
        match waitpid(child, Some(WaitPidFlag::WUNTRACED)) {
            Ok(WaitStatus::Exited(_, code)) => return Ok(code == 0),
            Ok(WaitStatus::Signaled(..)) => return Ok(false),
            Ok(WaitStatus::Stopped(_, Signal::SIGTTIN | Signal::SIGTTOU)) | Err(nix::errno::Errno::EINTR) => {
            }
            Ok(WaitStatus::Stopped(..)) => {
                terminal.take_back(settings.as_ref());
                let session = getsid(None);
                if session.is_ok() && getsid(Some(getppid())) == session {
                    let _ = kill(getpid(), Signal::SIGSTOP);
                }
            }
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
