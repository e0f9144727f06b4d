//! Opens a mount: scans the project for hidden paths, fills the upper directory or the copy, and writes the record.
//! Nothing is mounted and nothing runs before [`OpenMount::spawn`]; the project itself is never written to.

use super::conversations;
use super::copy::open_copy;
use super::harness_config;
use super::layout::{TEMP_DIR, WRITTEN_BY_NESTED_RUNS, helper_spec, home_of};
use super::logins;
use super::overlay::open_overlay;
use super::record::write_record;
use super::request::{OpenRequest, ViewInputs, at, make_dir};
use crate::model::limits::{Limits, bytes_of_mb};
use crate::model::mount::{Backend, CONFIG_DIR, Sandbox};
use crate::model::mount_facts::MountFacts;
use crate::model::mount_record::{Containment, Instant, MountRecord};
use crate::mount::error::MountError;
use crate::mount::fs::cleanup::remove_tree;
use crate::mount::process::attend::{ChildOutcome, Listener, TimeLimits};
use crate::mount::process::cgroup::{ControlGroup, OwnGroup};
use crate::mount::process::child::{ChildCommand, Helper, RunningChild};
use crate::mount::process::inside::caps;
use crate::mount::process::inside::protocol::Group;
use crate::mount::process::signals::SignalInbox;
use crate::mount::process::stdio::ChildStdio;
use anyhow::Result;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A mount that any number of commands can run in.
#[derive(Debug)]
pub struct OpenMount {
    pub record: MountRecord,
    pub session_dir: PathBuf,
    pub(super) helper: Helper,
    pub(super) inputs: Arc<ViewInputs>,
}

/// Creates the mount that the spec describes and writes its record.
pub fn open(request: &OpenRequest) -> Result<OpenMount> {
    let (backend, fallback) = request.facts.choose(request.spec.backend);
    let sandbox = reachable(request, backend)?;
    let root_meta = fs::metadata(&request.spec.root)
        .map_err(|error| MountError::UnreadableRoot { root: request.spec.root.clone(), error })?;
    let root = request.spec.root.clone().into();
    let mut record = MountRecord {
        fallback,
        containment: containment(request.facts, backend),
        root_dev: root_meta.dev(),
        root_ino: root_meta.ino(),
        ..MountRecord::bare(backend, sandbox, root, file_clock())
    };
    let made = match backend {
        Backend::Overlay => open_overlay(request, &mut record),
        Backend::Copy => open_copy(request, &mut record),
        Backend::Auto | Backend::None => {
            record.data = request.spec.root.clone().into();
            Ok(())
        }
    };
    if let Some(signal) = request.signals.and_then(SignalInbox::asked_to_end) {
        return Err(MountError::Interrupted { signal }.into());
    }
    made?;
    request.crash_points.at("open: made");
    write_record(request.session_dir, &record)?;
    request.crash_points.at("open: recorded");
    reopen(request, record)
}

/// Reopens a mount from its record, to continue a session. Nothing on disk is changed.
pub fn reopen(request: &OpenRequest, record: MountRecord) -> Result<OpenMount> {
    // Inside they cannot be made any more: our home is read-only there.
    for name in WRITTEN_BY_NESTED_RUNS.iter().filter(|_| record.backend == Backend::Overlay) {
        let dir = home_of(request.sessions_dir).join(name);
        make_dir(&dir).map_err(|error| at(&dir, error))?;
    }
    let config = harness_config::make_layers(request, &record)?;
    let helper = Helper {
        program: request.helper.to_path_buf(),
        spec: helper_spec(request, &record, &config),
        lock: request.lock.map(fs::File::try_clone).transpose()?,
        control_group: None,
        disk_limit: None,
    };
    let inputs = Arc::new(ViewInputs::of(request, config));
    Ok(OpenMount { record, session_dir: request.session_dir.to_path_buf(), helper, inputs })
}

impl OpenMount {
    /// The directory that commands start in, as they see it.
    pub fn workdir(&self) -> &Path {
        &self.helper.spec.workdir
    }

    /// Sets the limits for every command from now on: those that the kernel enforces and those that the runner measures.
    pub fn limit(&mut self, limits: Limits) -> Result<()> {
        if limits.need_control_group() {
            let name = self.session_dir.file_name().unwrap_or_default().to_string_lossy();
            let own = OwnGroup::of_this_process().map_err(|reason| MountError::NoLimits { reason })?;
            let group = own.limited(&format!("agentworkforce-{name}"), limits);
            let group = group.map_err(|error| MountError::NoLimits { reason: error.to_string() })?;
            self.confine(group);
        }
        self.helper.disk_limit = limits.disk_mb.map(bytes_of_mb);
        Ok(())
    }

    /// Every command from now on is in this group, and cannot leave it if there is an overlay.
    pub fn confine(&mut self, group: ControlGroup) {
        self.helper.control_group = Some(Arc::new(group));
    }

    /// Starts a command. The report [`Report::Started`](crate::mount::process::inside::protocol::Report) or `Failed` follows.
    pub fn spawn(&self, command: &ChildCommand, stdio: ChildStdio, group: Group) -> Result<RunningChild> {
        self.helper.spawn(command, stdio, group)
    }

    /// Runs a command to completion, for a person at the terminal or for a script.
    pub fn run(
        &self,
        command: &ChildCommand,
        stdio: ChildStdio,
        signals: &mut SignalInbox,
        limit: Option<Duration>,
    ) -> Result<ChildOutcome> {
        self.helper.run(command, stdio, signals, limit)
    }

    /// Runs a command without a terminal and passes all of its piped output to the listener.
    pub fn run_with_listener(
        &self,
        command: &ChildCommand,
        stdio: ChildStdio,
        limits: TimeLimits,
        signals: &mut SignalInbox,
        listener: &mut dyn Listener,
    ) -> Result<ChildOutcome> {
        self.helper.run_with_listener(command, stdio, limits, signals, listener)
    }

    /// The same mount, for another command.
    pub fn same_view(&self) -> Result<OpenMount> {
        Ok(OpenMount {
            record: self.record.clone(),
            session_dir: self.session_dir.clone(),
            helper: self.helper.try_clone()?,
            inputs: Arc::clone(&self.inputs),
        })
    }

    /// The harness's configuration files that were changed inside, by their real paths. The changes are not kept.
    pub fn changed_harness_config(&self) -> Vec<PathBuf> {
        harness_config::changed_files(&self.inputs.config)
    }

    /// Keeps what the harness needs again from its private layers: its conversations, and logins that it renewed.
    pub fn keep_state(&self) {
        logins::keep_renewed(&self.inputs.config);
        if let Err(error) = conversations::keep(&self.inputs.config, &self.session_dir) {
            // They stay in the layer as long as the work is held.
            tracing::warn!("the conversation cannot be kept: {error:#}");
        }
    }

    /// Removes the mount's directories from the session; the record stays.
    pub fn remove(self) -> Result<()> {
        for name in ["upper", "work", "mount", "git", CONFIG_DIR, TEMP_DIR] {
            let dir = self.session_dir.join(name);
            remove_tree(&dir).map_err(|error| at(&dir, error))?;
        }
        Ok(())
    }
}

/// The level that this run will have, or a refusal if a higher one was asked for.
fn reachable(request: &OpenRequest, backend: Backend) -> Result<Sandbox, MountError> {
    if let (Backend::Overlay, Some(reason)) = (backend, request.facts.why_not_overlay()) {
        return Err(MountError::NoOverlay { reason });
    }
    let best = request.facts.best_sandbox(backend);
    match request.spec.sandbox {
        Some(Sandbox::Strict) if best == Sandbox::Project => Ok(Sandbox::Strict),
        Some(asked) if asked > best => {
            let reason = match backend {
                Backend::Overlay => "root needs a PID namespace for it".into(),
                _ => request.facts.why_not_overlay().unwrap_or_else(|| "the mount is not an overlay".into()),
            };
            Err(MountError::NoSandbox { reason })
        }
        _ => Ok(best),
    }
}

fn containment(facts: &MountFacts, backend: Backend) -> Containment {
    // Without a mount no work is held back, and a user namespace would do more harm (ssh) than good.
    if facts.host.pid_namespace && (backend != Backend::None || caps::can_mount()) {
        Containment::PidNamespace
    } else {
        Containment::Subreaper
    }
}

/// The clock that file times are taken from. The precise clock runs ahead of it, so a change right afterwards would look older.
fn file_clock() -> Instant {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    Instant { seconds: now.tv_sec, nanos: u32::try_from(now.tv_nsec).unwrap_or(0) }
}
