//! Private layers over the harness's configuration: created before the run, and searched for changes afterwards. The harness's
//! adapter decides which directories these are and what in them is state.

use super::config_layer::{ConfigLayer, Kept};
use super::conversations;
use super::logins;
use super::request::{OpenRequest, at, make_dir};
use crate::files::regular;
use crate::model::mount::{Backend, CONFIG_DIR, HarnessConfig, Sandbox};
use crate::model::mount_record::MountRecord;
use crate::model::raw_path::RawPath;
use crate::mount::fs::cleanup::remove_tree;
use crate::mount::process::inside::protocol::OverlaySpec;
use anyhow::Result;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The largest file that is copied.
const MOST_COPIED: u64 = 64 << 20;
/// How many changed files are reported at most.
const MOST_CHANGES: usize = 200;

/// Creates new layers that contain only the session's conversations. A continued session gets nothing else from the layers of its
/// earlier runs.
pub(super) fn make_layers(request: &OpenRequest, record: &MountRecord) -> Result<Vec<ConfigLayer>> {
    let all = request.session_dir.join(CONFIG_DIR);
    let mut layers = Vec::new();
    if record.backend == Backend::Overlay && record.sandbox == Sandbox::Strict {
        for (number, config) in request.spec.harness_config.iter().enumerate() {
            layers.extend(layers_of(config, number, &all, &record.root)?);
        }
        // A killed runner has left them where the harness wrote them.
        conversations::keep(&layers, request.session_dir)?;
    }
    remove_tree(&all).map_err(|error| at(&all, error))?;
    for layer in &mut layers {
        let (upper, work) = (Path::new(&*layer.overlay.upper), &layer.overlay.work);
        make_dir(upper).map_err(|error| at(upper, error))?;
        make_dir(work).map_err(|error| at(work, error))?;
        let mode = fs::metadata(&layer.overlay.target)
            .and_then(|target| fs::set_permissions(upper, target.permissions()));
        mode.map_err(|error| at(upper, error))?;
        layer.copied = match &layer.config.copy {
            Some(from) => copy_into(upper, from).map_err(|error| at(from, error))?,
            None => None,
        };
    }
    conversations::put_back(&layers, request.session_dir)?;
    Ok(layers)
}

/// The layer over one directory, and those over directories elsewhere that links to its conversations lead to. Creates nothing.
fn layers_of(config: &HarnessConfig, number: usize, all: &Path, root: &Path) -> Result<Vec<ConfigLayer>> {
    let target = match config.dir.canonicalize() {
        // If it does not exist, nothing inside can create it: everything around it is read-only.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        found => found.map_err(|error| at(&config.dir, error))?,
    };
    // Private already, as a part of the project.
    if target.starts_with(root) {
        return Ok(Vec::new());
    }
    let number = number.to_string();
    let (mut kept, mut linked) = (Vec::new(), Vec::new());
    for name in &config.conversations {
        let stored = Path::new(&number).join(name);
        let real = target.join(name).canonicalize().unwrap_or_else(|_| target.join(name));
        if let Ok(inside) = real.strip_prefix(&target) {
            kept.push(Kept { inside: inside.to_path_buf(), stored });
        } else if real.is_dir() && !real.starts_with(root) {
            let prefix = format!("{name}/");
            let instructions = config.instructions.iter().filter_map(|path| path.strip_prefix(&prefix));
            let config = HarnessConfig {
                dir: real.clone(),
                instructions: instructions.map(str::to_owned).collect(),
                ..HarnessConfig::default()
            };
            let kept = vec![Kept { inside: PathBuf::new(), stored }];
            linked.push(layer(config, real, &all.join(format!("{number}-{name}")), kept));
        }
    }
    let mut layers = vec![layer(config.clone(), target, &all.join(number), kept)];
    layers.append(&mut linked);
    Ok(layers)
}

fn layer(config: HarnessConfig, target: PathBuf, dir: &Path, kept: Vec<Kept>) -> ConfigLayer {
    let overlay = OverlaySpec {
        lowers: vec![target.clone().into()],
        target: target.into(),
        upper: dir.join("upper").into(),
        work: dir.join("work").into(),
    };
    ConfigLayer { overlay, kept, copied: None, config }
}

/// Copies a file that may not exist; returns its real path. Anything but a file is ignored: an agent may have put it there in an
/// earlier run at a lower level.
fn copy_into(upper: &Path, from: &Path) -> io::Result<Option<RawPath>> {
    let Some(name) = from.file_name() else { return Ok(None) };
    let mut file = match regular::open(from) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidInput) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    if file.metadata()?.len() > MOST_COPIED {
        return Ok(None);
    }
    let mut copy = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(upper.join(name))?;
    io::copy(&mut io::Read::take(&mut file, MOST_COPIED), &mut copy)?;
    Ok(Some(from.canonicalize()?.into()))
}

/// The harness's configuration files that were changed in the mount, by their real paths.
pub(super) fn changed_files(layers: &[ConfigLayer]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for layer in layers {
        let upper = Path::new(&*layer.overlay.upper);
        for entry in fs::read_dir(upper).into_iter().flatten().flatten() {
            if !is_scratch(&layer.config, &entry.file_name().to_string_lossy()) {
                changed_below(layer, Path::new(&entry.file_name()), &mut found);
            }
        }
    }
    found.sort();
    found
}

fn is_scratch(config: &HarnessConfig, name: &str) -> bool {
    let is = |pattern: &String| match pattern.strip_prefix('*') {
        Some(ending) => name.ends_with(ending),
        None => name == pattern,
    };
    config.scratch.iter().any(is)
}

fn changed_below(layer: &ConfigLayer, path: &Path, found: &mut Vec<PathBuf>) {
    let (inside, outside) = (layer.overlay.upper.join(path), layer.config.dir.join(path));
    let Ok(metadata) = inside.symlink_metadata() else { return };
    if found.len() >= MOST_CHANGES {
        return;
    }
    if metadata.is_dir() {
        for entry in fs::read_dir(&inside).into_iter().flatten().flatten() {
            changed_below(layer, &path.join(entry.file_name()), found);
        }
        return;
    }
    if layer.is_conversation(path) {
        return;
    }
    let is_same = if metadata.file_type().is_char_device() && metadata.rdev() == 0 {
        // A whiteout, perhaps over something that was made here.
        outside.symlink_metadata().is_err()
    } else {
        metadata.is_file()
            && (same_content(&inside, &outside, metadata.len()) || logins::are_kept(layer, path))
    };
    if !is_same {
        found.push(outside);
    }
}

/// Copied up but unchanged: a file that was only opened for writing, or whose times were set.
fn same_content(a: &Path, b: &Path, length: u64) -> bool {
    const MOST: u64 = 1 << 20;
    let is_as_long = b.symlink_metadata().is_ok_and(|b| b.is_file() && b.len() == length);
    is_as_long && length <= MOST && fs::read(a).ok() == fs::read(b).ok()
}
