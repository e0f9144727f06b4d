//! Everything that opening a mount depends on, and helpers that all backends share.

use super::config_layer::ConfigLayer;
use super::inject::InjectedFile;
use crate::model::mount::{MountSpec, PathRule};
use crate::model::mount_facts::MountFacts;
use crate::model::mount_record::InjectedRecord;
use crate::mount::CrashPoints;
use crate::mount::error::MountError;
use crate::mount::process::child::Helper;
use crate::mount::process::signals::SignalInbox;
use crate::rules::PathRules;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Everything that opening a mount depends on.
#[derive(Debug, Clone, Copy)]
pub struct OpenRequest<'a> {
    pub spec: &'a MountSpec,
    pub facts: &'a MountFacts,
    /// Our own binary, for the processes inside: `/proc/self/exe` unless a test says otherwise.
    pub helper: &'a Path,
    /// The directory of all sessions, which nothing inside may reach.
    pub sessions_dir: &'a Path,
    /// The directory of this session; it exists and is locked.
    pub session_dir: &'a Path,
    pub injected: &'a [InjectedFile],
    /// Below the session directory: what the harness has to read; visible, but read-only.
    pub expose: &'a [PathBuf],
    /// Below the session directory: directories that the harness may write as well.
    pub lend: &'a [PathBuf],
    /// What stays writable at the sandbox level `strict`, besides the mount.
    pub writable: &'a [PathBuf],
    /// Checked during a long open: Ctrl-C gives up before anything is started.
    pub signals: Option<&'a SignalInbox>,
    /// The session's lock; our processes inside hold it too.
    pub lock: Option<&'a fs::File>,
    /// Points at which a crash test kills us.
    pub crash_points: &'a CrashPoints,
}

/// A request without its session directory, kept with the mount so that other views of the same project can be made.
#[derive(Debug)]
pub(super) struct ViewInputs {
    pub(super) spec: MountSpec,
    facts: MountFacts,
    sessions_dir: PathBuf,
    pub(super) injected: Vec<InjectedFile>,
    expose: Vec<PathBuf>,
    lend: Vec<PathBuf>,
    writable: Vec<PathBuf>,
    pub(super) config: Vec<ConfigLayer>,
}

impl ViewInputs {
    pub(super) fn of(request: &OpenRequest, config: Vec<ConfigLayer>) -> ViewInputs {
        ViewInputs {
            spec: request.spec.clone(),
            facts: request.facts.clone(),
            sessions_dir: request.sessions_dir.to_path_buf(),
            injected: request.injected.to_vec(),
            expose: request.expose.to_vec(),
            lend: request.lend.to_vec(),
            writable: request.writable.to_vec(),
            config,
        }
    }

    /// The same request for a view whose files are in `scratch`.
    pub(super) fn request<'a>(
        &'a self,
        helper: &'a Helper,
        injected: &'a [InjectedFile],
        scratch: &'a Path,
    ) -> OpenRequest<'a> {
        static NO_CRASH_POINTS: CrashPoints = CrashPoints::none();
        OpenRequest {
            spec: &self.spec,
            facts: &self.facts,
            helper: &helper.program,
            sessions_dir: &self.sessions_dir,
            session_dir: scratch,
            injected,
            expose: &self.expose,
            lend: &self.lend,
            writable: &self.writable,
            signals: None,
            lock: helper.lock.as_ref(),
            crash_points: &NO_CRASH_POINTS,
        }
    }
}

pub(super) fn compile(spec: &MountSpec) -> Result<PathRules, MountError> {
    compile_all(&spec.rules)
}

pub(super) fn compile_all(rules: &[PathRule]) -> Result<PathRules, MountError> {
    PathRules::compile(rules).map_err(|error| {
        let origin = rules.get(error.index).map_or("a rule", |rule| rule.origin.as_str()).to_owned();
        MountError::InvalidRule { origin, message: error.message }
    })
}

pub(super) fn injected_records(request: &OpenRequest) -> Vec<InjectedRecord> {
    let record = |file: &InjectedFile| InjectedRecord {
        path: file.path.clone().into(),
        blake3: blake3::hash(&file.bytes).to_hex().to_string(),
        mode: file.mode & 0o7777,
        replaces: fs::symlink_metadata(request.spec.root.join(&file.path)).is_ok(),
    };
    request.injected.iter().map(record).collect()
}

pub(super) fn make_dir(dir: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// An I/O error that names the path.
pub(super) fn at(path: &Path, error: impl std::fmt::Display) -> anyhow::Error {
    anyhow::anyhow!("`{}`: {error}", path.display())
}
