//! Turns a mount's record into what the helper has to mount, cover and protect. It touches no files.

use super::config_layer::ConfigLayer;
use super::request::OpenRequest;
use crate::model::mount::{Backend, Sandbox};
use crate::model::mount_facts::OverlayWay;
use crate::model::mount_record::{Containment, MountRecord, PrivateDir, WATCH_DIR};
use crate::model::raw_path::RawPath;
use crate::mount::process::inside::caps;
use crate::mount::process::inside::protocol::{Cover, Group, HelperSpec, OverlaySpec, Protect};
use std::path::{Path, PathBuf};

/// Below the session: the temporary files of its runs.
pub(super) const TEMP_DIR: &str = "temp";

pub(super) fn helper_spec(request: &OpenRequest, record: &MountRecord, config: &[ConfigLayer]) -> HelperSpec {
    let session = request.session_dir;
    let overlay = record.backend == Backend::Overlay;
    let mut overlays = Vec::new();
    if overlay {
        // First: the project may lie in one of these directories.
        overlays.extend(config.iter().map(|layer| layer.overlay.clone()));
        overlays.push(OverlaySpec {
            target: record.root.clone(),
            lowers: vec![record.root.clone()],
            upper: session.join(&record.data).into(),
            work: session.join("work").into(),
        });
        for dir in record.git.iter().flat_map(|git| &git.outside) {
            let (upper, work) = private_dirs(session, dir);
            overlays.push(OverlaySpec {
                target: dir.target.clone(),
                lowers: vec![dir.target.clone()],
                upper: upper.into(),
                work: work.into(),
            });
        }
    }
    let pid_namespace = record.containment == Containment::PidNamespace;
    let way = match (overlay, pid_namespace) {
        (true, _) => request.facts.host.overlay,
        (false, true) if caps::can_mount() => OverlayWay::Capable,
        (false, true) => OverlayWay::UserNamespace,
        (false, false) => OverlayWay::Unavailable,
    };
    let cover = Cover {
        dir: request.sessions_dir.into(),
        expose: request.expose.iter().cloned().map(RawPath).collect(),
        lend: request.lend.iter().cloned().map(RawPath).collect(),
    };
    let mut protect = Vec::new();
    if overlay {
        protect.push(protected_home(request.sessions_dir));
        let copied = config.iter().filter_map(|layer| layer.copied.clone());
        let layers = request.spec.protected.iter().filter(|path| path.exists()).cloned().map(RawPath);
        protect.extend(copied.chain(layers).map(|path| Protect { path, throwaway: Vec::new() }));
    }
    let base =
        if record.backend == Backend::Copy { session.join(&record.data) } else { record.root.to_path_buf() };
    HelperSpec {
        way,
        pid_namespace,
        overlays,
        covers: if overlay { vec![cover] } else { Vec::new() },
        protect,
        above: request.spec.above.iter().filter(|_| overlay).cloned().map(RawPath).collect(),
        writable: (record.sandbox == Sandbox::Strict)
            .then(|| request.writable.iter().cloned().map(RawPath).collect()),
        temp: (record.sandbox == Sandbox::Strict).then(|| session.join(TEMP_DIR).into()),
        devices: request.spec.devices.clone(),
        sockets: request.spec.sockets.iter().cloned().map(RawPath).collect(),
        scope_sockets: record.sandbox == Sandbox::Strict && request.facts.host.scoped_sockets,
        nested_sandbox: request.spec.nested_sandbox,
        limited: false,
        // Joining an empty path would add a slash.
        workdir: base.join(&request.spec.cwd).components().collect::<PathBuf>().into(),
        group: Group::Own,
    }
}

/// What nested runs write in our home. They get their own layer over it.
pub(super) const WRITTEN_BY_NESTED_RUNS: [&str; 3] = ["cache", "locks", WATCH_DIR];

/// Our own home: an agent that could write to it would decide what the next run hides, or could forge unfinished work of the
/// runner.
fn protected_home(sessions_dir: &Path) -> Protect {
    let home = home_of(sessions_dir);
    let throwaway = WRITTEN_BY_NESTED_RUNS.map(|name| home.join(name).into());
    Protect { path: home.into(), throwaway: throwaway.to_vec() }
}

pub(super) fn home_of(sessions_dir: &Path) -> &Path {
    sessions_dir.parent().unwrap_or(sessions_dir)
}

/// The upper and work directories of a private view, absolute.
pub(super) fn private_dirs(session: &Path, dir: &PrivateDir) -> (PathBuf, PathBuf) {
    let upper = session.join(&dir.upper);
    let work = upper.with_file_name("work");
    (upper, work)
}
