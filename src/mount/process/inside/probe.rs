//! The inner process of the probe: mounts a real overlay in a throwaway namespace, with a real copy-up and a real whiteout, and answers
//! on stdout. `mount::process::probe` decides what the answer means for a project.

use super::protocol::{Failure, OverlaySpec, PROBE_PROC, Stage};
use super::{caps, layers, namespaces};
use crate::model::mount_facts::OverlayWay;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProbeAnswer {
    pub way: OverlayWay,
    pub overlay_error: Option<String>,
    /// Whether the namespace failed, not the mount.
    pub namespace_refused: bool,
    pub pid_namespace_error: Option<String>,
}

/// `dir` is an empty directory on the filesystem that uppers will be on. It is filled, and removed by the caller.
pub(super) fn run(dir: &OsStr) -> u8 {
    let answer = answer(Path::new(dir));
    let text = serde_json::to_string(&answer).expect("our own answers always serialise");
    u8::from(io::stdout().write_all(text.as_bytes()).is_err())
}

fn answer(dir: &Path) -> ProbeAnswer {
    let way = if caps::can_mount() { OverlayWay::Capable } else { OverlayWay::UserNamespace };
    let mut answer =
        ProbeAnswer { way, overlay_error: None, namespace_refused: false, pid_namespace_error: None };
    match namespaces::enter(way, true) {
        Ok(()) => {}
        Err(Failure { message, stage, .. }) => {
            answer.way = OverlayWay::Unavailable;
            answer.overlay_error = Some(message.clone());
            answer.namespace_refused = stage == Stage::Namespace;
            answer.pid_namespace_error = Some(message);
            return answer;
        }
    }
    answer.overlay_error = try_overlay(dir, way).err().map(|error| error.to_string());
    if answer.overlay_error.is_some() {
        answer.way = OverlayWay::Unavailable;
    }
    answer.pid_namespace_error = try_proc(way).err().map(|error| error.to_string());
    answer
}

fn try_overlay(dir: &Path, way: OverlayWay) -> io::Result<()> {
    let path = |name: &str| dir.join(name);
    for name in ["target", "upper", "work"] {
        fs::create_dir(path(name))?;
    }
    fs::write(path("target/changed"), "lower")?;
    fs::write(path("target/hidden"), "lower")?;
    crate::mount::fs::whiteout::whiteout(&path("upper/hidden"))?;
    let spec = OverlaySpec {
        target: path("target").into(),
        lowers: vec![path("target").into()],
        upper: path("upper").into(),
        work: path("work").into(),
    };
    layers::mount_overlay(&spec, way, layers::Durability::Synced)?;
    fs::write(path("target/changed"), "upper")?;
    if fs::read(path("upper/changed"))? != b"upper" {
        return Err(io::Error::other("a change does not reach the upper directory"));
    }
    if path("target/hidden").exists() {
        return Err(io::Error::other("a whiteout does not hide its file"));
    }
    Ok(())
}

fn try_proc(way: OverlayWay) -> io::Result<()> {
    if way == OverlayWay::UserNamespace {
        caps::keep_over_exec()?;
    }
    let status = Command::new("/proc/self/exe").arg(PROBE_PROC).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other("a fresh `/proc` cannot be mounted")) }
}
