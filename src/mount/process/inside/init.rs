//! The first process of a run: starts the child, reaps, forwards signals to it, reports when it stops, and ends everything when it
//! ends. The harness itself cannot be PID 1, which ignores signals without a handler. Init mounts nothing but its own `/proc`.

use super::namespaces::{self, failure};
use super::protocol::{
    CONTROL_FD, DroppedCapabilities, Failure, GROUP_FD, Group, InitSpec, Order, Report, STATUS_FD, Stage,
    drain_lines, line,
};
use super::{caps, kernel_interfaces, scope, seccomp, temp};
use crate::host::terminal::without_being_stopped;
use crate::mount::process::descendants;
use crate::mount::process::signals::SignalInbox;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, getpgid, getpid, tcsetpgrp};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{WaitOptions, WaitStatus};
use signal_hook::consts::{
    SIGALRM, SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU, SIGUSR1, SIGUSR2,
};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Signals that may reach our whole group and are for the child alone; they must neither end nor stop us.
pub(super) const PASSED_BY: [i32; 11] =
    [SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP, SIGTTIN, SIGTTOU, SIGUSR1, SIGUSR2, SIGALRM];

/// Runs the child to completion. Returning ends the PID namespace and with it every process inside.
pub(super) fn run(spec: InitSpec, argv: &[OsString]) -> u8 {
    let Some((control, mut status)) = pipes() else { return 125 };
    // The child inherits nothing of ours: neither the pipes nor the lock.
    close_fds::set_fds_cloexec(3, &[]);
    let code = match enter_group(spec).and_then(|()| start(spec, argv)) {
        Ok((child, mut signals)) => {
            let mut init = Init { child, group: spec.group, stopped: false, ended: None, status };
            init.report(&Report::Started);
            init.attend(&mut signals, control)
        }
        Err(failed) => {
            let _ = status.write_all(&line(&Report::Failed(failed)));
            125
        }
    };
    if !spec.pid_namespace {
        descendants::kill_all_but(&[], std::time::Duration::from_secs(3));
    }
    code
}

fn pipes() -> Option<(File, File)> {
    let control = File::open(format!("/proc/self/fd/{CONTROL_FD}")).ok()?;
    let status = File::options().write(true).open(format!("/proc/self/fd/{STATUS_FD}")).ok()?;
    Some((control, status))
}

/// From here on everything counts: not the helper, which has to tell how the run ended.
fn enter_group(spec: InitSpec) -> Result<(), Failure> {
    if !spec.limited {
        return Ok(());
    }
    let entrance = File::options().write(true).open(format!("/proc/self/fd/{GROUP_FD}"));
    entrance
        .and_then(|mut group| group.write_all(b"0"))
        .map_err(|error| failure(Stage::Namespace, "the control group cannot be entered", &error))
}

fn start(spec: InitSpec, argv: &[OsString]) -> Result<(Pid, SignalInbox), Failure> {
    if spec.pid_namespace {
        namespaces::mount_proc()
            .map_err(|error| failure(Stage::Mount, "the own `/proc` cannot be mounted", &error))?;
        if spec.protect_kernel {
            kernel_interfaces::make_read_only()
                .map_err(|error| failure(Stage::Mount, "`/proc` cannot be made read-only", &error))?;
        }
    } else {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
            .map_err(|errno| failure(Stage::Namespace, "cannot become a subreaper", &errno.into()))?;
    }
    match spec.drop {
        DroppedCapabilities::None => Ok(()),
        DroppedCapabilities::Dangerous => caps::drop_from_root(),
        DroppedCapabilities::AllButFew => caps::drop_at_strict(),
        DroppedCapabilities::All => caps::drop_all(),
    }
    .map_err(|errno| failure(Stage::Capabilities, "capabilities cannot be dropped", &errno.into()))?;
    // The child shares our uid, but it must not look into our descriptors or memory.
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    // Before the child exists, so that its end cannot be missed.
    let signals = SignalInbox::catch(&PASSED_BY)
        .map_err(|error| failure(Stage::Namespace, "signals cannot be caught", &error))?;
    let (program, rest) = argv.split_first().ok_or_else(|| Failure {
        stage: Stage::Exec,
        message: "there is no command to run".into(),
        errno: None,
    })?;
    if spec.scope_sockets {
        scope::restrict().map_err(|error| {
            failure(Stage::Capabilities, "the sockets of services cannot be kept out", &error)
        })?;
    }
    filter_calls(spec)
        .map_err(|error| failure(Stage::Capabilities, "the filter of system calls is refused", &error))?;
    let mut command = Command::new(program);
    command.args(rest).process_group(0);
    if spec.is_strict {
        command.envs(temp::unusable_variables().map(|name| (name, temp::ALWAYS_USABLE)));
    }
    if spec.group == Group::Foreground {
        take_terminal_before_exec(&mut command);
    }
    let child = command.spawn().map_err(|error| {
        // A directory in `PATH` that may not be entered would turn "not found" into "permission denied".
        let error = if is_nowhere(program) { rustix::io::Errno::NOENT.into() } else { error };
        failure(Stage::Exec, &format!("cannot run `{}`", program.display()), &error)
    })?;
    Ok((Pid::from_raw(child.id().cast_signed()), signals))
}

fn filter_calls(spec: InitSpec) -> io::Result<()> {
    if spec.protect_kernel || spec.limited || spec.is_strict {
        seccomp::deny_control_groups()?;
    }
    if spec.keep_mounts {
        seccomp::deny_mount_namespaces()?;
    }
    if spec.is_strict {
        seccomp::deny_keyrings_and_leases()?;
    }
    seccomp::deny_typing()
}

/// The child takes the terminal itself: if we gave it away after the start, the child could already have been stopped for
/// reading, or have decided that it runs in the background.
#[allow(unsafe_code, reason = "only a hook between fork and exec comes neither too early nor too late")]
fn take_terminal_before_exec(command: &mut Command) {
    let take = || {
        give_terminal_to(getpid());
        Ok(())
    };
    // SAFETY: the hook makes four system calls (mask, getpid, ioctl, mask), all of them safe after a fork, and allocates nothing.
    unsafe { command.pre_exec(take) };
}

fn give_terminal_to(group: Pid) {
    without_being_stopped(|| {
        let _ = tcsetpgrp(std::io::stdin(), group);
    });
}

/// Whether a plain name is in no readable directory of `PATH`.
fn is_nowhere(program: &OsStr) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    !program.as_bytes().contains(&b'/') && !std::env::split_paths(&path).any(|dir| dir.join(program).exists())
}

struct Init {
    child: Pid,
    group: Group,
    stopped: bool,
    /// The exit code, once the child has ended.
    ended: Option<u8>,
    status: File,
}

impl Init {
    /// Waits for the child's end, the runner's orders and the runner's death.
    fn attend(&mut self, signals: &mut SignalInbox, mut control: File) -> u8 {
        let mut orders = Vec::new();
        loop {
            let mut ready = [
                PollFd::from_borrowed_fd(signals.wake_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(std::os::fd::AsFd::as_fd(&control), PollFlags::IN),
            ];
            if poll(&mut ready, None).is_err() {
                continue;
            }
            let (signalled, spoken) = (!ready[0].revents().is_empty(), !ready[1].revents().is_empty());
            if signalled {
                signals.take();
                self.reap();
            }
            if spoken {
                let mut bytes = [0_u8; 512];
                match control.read(&mut bytes) {
                    Ok(0) => return 137,
                    Ok(count) => orders.extend_from_slice(&bytes[..count]),
                    Err(_) => {}
                }
                for order in drain_lines(&mut orders) {
                    self.obey(order);
                }
            }
            if let Some(code) = self.ended {
                return code;
            }
        }
    }

    /// Collects processes that changed state.
    fn reap(&mut self) {
        let options = WaitOptions::NOHANG | WaitOptions::UNTRACED | WaitOptions::CONTINUED;
        while let Ok(Some((pid, status))) = rustix::process::wait(options) {
            if pid.as_raw_nonzero().get() == self.child.as_raw() {
                self.child_changed(status);
            }
        }
    }

    fn child_changed(&mut self, status: WaitStatus) {
        if let Some(code) = status.exit_status() {
            self.report(&Report::Exited(code));
            self.ended = Some(u8::try_from(code).unwrap_or(1));
        } else if let Some(signal) = status.terminating_signal() {
            self.report(&Report::Signaled(signal));
            self.ended = Some(u8::try_from(128 + signal).unwrap_or(1));
        } else if let Some(signal) = status.stopping_signal() {
            self.stopped = true;
            self.report(&Report::Stopped(signal));
        } else if status.continued() {
            self.stopped = false;
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Signal(number) => {
                if let Ok(signal) = Signal::try_from(number) {
                    let _ = match self.group {
                        Group::Own => killpg(self.child, signal),
                        Group::Foreground | Group::Background => kill(self.child, signal),
                    };
                }
            }
            Order::Continue => self.resume(),
            Order::LendTerminal => {
                if let (true, Ok(group)) = (self.group.shares_terminal(), getpgid(Some(self.child))) {
                    give_terminal_to(group);
                }
            }
        }
    }

    /// The runner was continued. The child is in another group, so we have to send it its signal.
    fn resume(&mut self) {
        // Update our state first: the shell's signal may already have reached the child.
        self.reap();
        if !self.stopped || self.ended.is_some() {
            return;
        }
        let leads_group = getpgid(Some(self.child)).is_ok_and(|group| group == self.child);
        let _ =
            if leads_group { killpg(self.child, Signal::SIGCONT) } else { kill(self.child, Signal::SIGCONT) };
        self.stopped = false;
    }

    fn report(&mut self, report: &Report) {
        // If the runner is gone, the other pipe tells us.
        let _ = self.status.write_all(&line(report));
    }
}
