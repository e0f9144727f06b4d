//! The messages between the runner and our processes inside a mount: the helper's orders and the lines on the two pipes.
//! Only data and its encoding; nothing is started or mounted here.

use crate::model::mount::Device;
use crate::model::mount_facts::OverlayWay;
use crate::model::raw_path::RawPath;
use serde::{Deserialize, Serialize};

/// The hidden subcommand that makes the namespaces and mounts.
pub const HELPER: &str = "__mount-helper";
/// The hidden subcommand that is PID 1 of a run.
pub const INIT: &str = "__init";
/// The hidden subcommand that tries a real mount in a throwaway namespace.
pub const PROBE: &str = "__mount-probe";
/// The hidden subcommand that tries a fresh `/proc`; the probe starts it as PID 1.
pub const PROBE_PROC: &str = "__mount-probe-proc";

/// Orders from the runner; its end-of-file means that the runner is gone.
pub const CONTROL_FD: i32 = 3;
/// Reports to the runner.
pub const STATUS_FD: i32 = 4;
/// The session's lock, held as long as any of our own processes is alive.
pub const LOCK_FD: i32 = 5;
/// The file through which a process joins the run's control group.
pub const GROUP_FD: i32 = 6;

/// All that the helper needs to know. It is passed on the command line, so it contains paths but no secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HelperSpec {
    /// With which privilege mounts are made; `Unavailable` makes none.
    pub way: OverlayWay,
    pub pid_namespace: bool,
    /// Mounted in this order, each on its own path.
    pub overlays: Vec<OverlaySpec>,
    /// Directories that nothing inside may reach, each with the exceptions that stay visible.
    pub covers: Vec<Cover>,
    /// Configuration of harnesses above the project, by its real paths: it is empty inside.
    #[serde(default)]
    pub above: Vec<RawPath>,
    /// What nothing inside may change; writes are refused or thrown away.
    pub protect: Vec<Protect>,
    /// `Some` for the sandbox level `strict`: what stays writable besides the overlays and covers.
    pub writable: Option<Vec<RawPath>>,
    /// The directory for this run's temporary files, at the sandbox level `strict`.
    pub temp: Option<RawPath>,
    /// What `/dev` has at the sandbox level `strict` besides the harmless devices.
    pub devices: Vec<Device>,
    /// Sockets of services outside that stay reachable at the sandbox level `strict`.
    pub sockets: Vec<RawPath>,
    /// Whether abstract sockets (those without a path) of services outside are denied.
    pub scope_sockets: bool,
    /// Whether the harness runs its commands in its own sandbox, which needs namespaces.
    pub nested_sandbox: bool,
    /// Whether the run is in a control group, which it must not leave.
    pub limited: bool,
    /// Entered after mounting.
    pub workdir: RawPath,
    pub group: Group,
}

/// One overlay, mounted on `target`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OverlaySpec {
    pub target: RawPath,
    /// From the topmost down; usually the target itself.
    pub lowers: Vec<RawPath>,
    pub upper: RawPath,
    pub work: RawPath,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cover {
    pub dir: RawPath,
    /// Files and directories below `dir` that stay visible, read-only.
    pub expose: Vec<RawPath>,
    /// Directories below `dir` that stay visible and can be written.
    pub lend: Vec<RawPath>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Protect {
    /// A directory or a file.
    pub path: RawPath,
    /// Directories below it with a throwaway layer: what is written there is seen inside and is gone afterwards. One that
    /// does not exist is passed over.
    pub throwaway: Vec<RawPath>,
}

/// Which process group the child is in: always its own, so that a signal to that group from inside never reaches the runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// In the runner's session and owning the terminal from the start: Ctrl-C and Ctrl-Z go to the child.
    Foreground,
    /// In the runner's session; it gets the terminal when the runner is brought to the foreground.
    Background,
    /// In its own session, which has no terminal and cannot open one as `/dev/tty`.
    Own,
}

impl Group {
    /// Whether the child shares the runner's terminal.
    pub fn shares_terminal(self) -> bool {
        matches!(self, Group::Foreground | Group::Background)
    }
}

/// What init needs to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitSpec {
    pub drop: DroppedCapabilities,
    pub group: Group,
    /// Whether it is PID 1 and mounts its own `/proc`.
    pub pid_namespace: bool,
    /// Whether the kernel's own files in that `/proc` are read-only.
    pub protect_kernel: bool,
    /// Whether the child is kept from sockets without a path that services outside have.
    pub scope_sockets: bool,
    /// Whether the sandbox level is `strict`.
    pub is_strict: bool,
    /// Whether it joins a control group, which nothing inside may leave.
    pub limited: bool,
    /// Whether the protection relies on nothing inside creating a mount namespace.
    pub keep_mounts: bool,
}

/// What the child must not be able to do, although we could.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DroppedCapabilities {
    /// Nothing: a copy is not a sandbox.
    None,
    /// What would let root bypass the mount or change the machine.
    Dangerous,
    /// All but the few that root needs at the sandbox level `strict`.
    AllButFew,
    /// Everything: the capabilities came with our own user namespace, and bubblewrap refuses to start with them.
    All,
}

/// From the runner to init, one per line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Order {
    /// Send this signal to the child.
    Signal(i32),
    /// The runner was continued, so the child must be continued too.
    Continue,
    /// The runner is in the foreground: give the terminal to the child.
    LendTerminal,
}

/// From helper and init to the runner, one per line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Report {
    /// The child runs.
    Started,
    /// The child was stopped by this signal.
    Stopped(i32),
    Exited(i32),
    Signaled(i32),
    /// Nothing was started.
    Failed(Failure),
    /// Every process inside is gone. Closing the view follows.
    Ended,
    /// Everything inside has ended, but the view can still be changed by somebody.
    StillOpen(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    pub stage: Stage,
    pub message: String,
    /// The operating system's number for it, if it has one.
    pub errno: Option<i32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Stage {
    Namespace,
    Mount,
    Capabilities,
    Exec,
}

/// The encoding of a message: JSON without line breaks, followed by a line break.
pub fn line(message: &impl Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(message).expect("our own messages always serialise");
    bytes.push(b'\n');
    bytes
}

/// Takes the complete lines out of a buffer. A line that is not a message is skipped: the other side is our own binary.
pub fn drain_lines<T: for<'de> Deserialize<'de>>(buffer: &mut Vec<u8>) -> Vec<T> {
    let mut messages = Vec::new();
    while let Some(end) = buffer.iter().position(|&byte| byte == b'\n') {
        let line: Vec<u8> = buffer.drain(..=end).collect();
        messages.extend(serde_json::from_slice(&line[..end]).ok());
    }
    messages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_being_cut_anywhere() {
        let sent = vec![Report::Started, Report::Stopped(20), Report::Exited(3)];
        let bytes: Vec<u8> = sent.iter().flat_map(line).collect();
        for cut in 0..=bytes.len() {
            let mut buffer = bytes[..cut].to_vec();
            let mut got: Vec<Report> = drain_lines(&mut buffer);
            buffer.extend_from_slice(&bytes[cut..]);
            got.extend(drain_lines(&mut buffer));
            assert_eq!(got, sent, "cut at {cut}");
            assert!(buffer.is_empty());
        }
    }
}
