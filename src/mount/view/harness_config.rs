//! Private layers over the harness's configuration: made before the run, and looked into afterwards for what was changed.
//! Which directories these are, and what in them is state, is decided by the harness's adapter.

use super::config_layer::ConfigLayer;
use super::request::{OpenRequest, at, make_dir};
use crate::files::regular;
use crate::model::mount::{Backend, HarnessConfig, Sandbox};
use crate::model::mount_record::MountRecord;
use crate::model::raw_path::RawPath;
use crate::mount::fs::cleanup::remove_tree;
use crate::mount::process::inside::protocol::OverlaySpec;
use anyhow::Result;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// In the session directory.
pub(super) const CONFIG_DIR: &str = "harness-config";
/// The largest file that is copied.
const MOST_COPIED: u64 = 64 << 20;
/// How many changed files are looked for.
const MOST_CHANGES: usize = 200;

/// Makes new, empty layers. A session that goes on does not get those of its earlier runs.
pub(super) fn make_layers(request: &OpenRequest, record: &MountRecord) -> Result<Vec<ConfigLayer>> {
    let all = request.session_dir.join(CONFIG_DIR);
    remove_tree(&all).map_err(|error| at(&all, error))?;
    let mut layers = Vec::new();
    if record.backend != Backend::Overlay || record.sandbox != Sandbox::Strict {
        return Ok(layers);
    }
    for config in &request.spec.harness_config {
        let target = match config.dir.canonicalize() {
            // Where there is nothing, nothing can be made: all around is read-only.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            found => found.map_err(|error| at(&config.dir, error))?,
        };
        // Private already, as a part of the project.
        if target.starts_with(&record.root) {
            continue;
        }
        let dir = all.join(layers.len().to_string());
        let (upper, work) = (dir.join("upper"), dir.join("work"));
        make_dir(&upper).map_err(|error| at(&upper, error))?;
        make_dir(&work).map_err(|error| at(&work, error))?;
        let mode = fs::metadata(&target).and_then(|target| fs::set_permissions(&upper, target.permissions()));
        mode.map_err(|error| at(&upper, error))?;
        let copied = match &config.copy {
            Some(from) => copy_into(&upper, from).map_err(|error| at(from, error))?,
            None => None,
        };
        let overlay = OverlaySpec {
            lowers: vec![target.clone().into()],
            target: target.clone().into(),
            upper: upper.into(),
            work: work.into(),
        };
        let through = state_in(config, &target)?;
        layers.push(ConfigLayer { overlay, through, copied, config: config.clone() });
    }
    Ok(layers)
}

/// Copies a file that may not exist; returns which one it really is. Whatever else has its name is left alone: an agent may
/// have put it there in an earlier run at a lower level.
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

/// The state that there is, by its real paths: an entry may be a link.
fn state_in(config: &HarnessConfig, dir: &Path) -> Result<Vec<RawPath>> {
    let mut through = Vec::new();
    for name in &config.state {
        let path = dir.join(name.trim_end_matches('/'));
        let is_missing = path.symlink_metadata().is_err();
        if name.ends_with('/') && is_missing {
            make_dir(&path).map_err(|error| at(&path, error))?;
        }
        if path.extension().is_some_and(|ending| ending == "jsonl") && is_missing {
            // A list without lines is as good as none, and can be bound.
            let made = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
            made.map_err(|error| at(&path, error))?;
        }
        match path.canonicalize() {
            Ok(real) => through.push(real.into()),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(at(&path, error)),
        }
    }
    Ok(through)
}

/// Files of the harness's configuration that were changed in the mount, by their real paths.
pub(super) fn changed_files(layers: &[ConfigLayer]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for layer in layers {
        let upper = Path::new(&*layer.overlay.upper);
        for entry in fs::read_dir(upper).into_iter().flatten().flatten() {
            if !is_listed(&layer.config, &entry.file_name().to_string_lossy()) {
                changed_below(upper, &layer.config.dir, Path::new(&entry.file_name()), &mut found);
            }
        }
    }
    found.sort();
    found
}

/// Whether an entry is scratch, or the place of state.
fn is_listed(config: &HarnessConfig, name: &str) -> bool {
    let is = |pattern: &String| match pattern.strip_prefix('*') {
        Some(ending) => name.ends_with(ending),
        None => name == pattern,
    };
    // State that is a file and was not there at the start is in the layer, and not kept.
    config.scratch.iter().any(is) || config.state.iter().any(|state| state.strip_suffix('/') == Some(name))
}

fn changed_below(upper: &Path, real: &Path, path: &Path, found: &mut Vec<PathBuf>) {
    let Ok(metadata) = upper.join(path).symlink_metadata() else { return };
    if found.len() >= MOST_CHANGES {
        return;
    }
    if metadata.is_dir() {
        for entry in fs::read_dir(upper.join(path)).into_iter().flatten().flatten() {
            changed_below(upper, real, &path.join(entry.file_name()), found);
        }
        return;
    }
    let is_same = if metadata.file_type().is_char_device() && metadata.rdev() == 0 {
        // A whiteout, perhaps over something that was made here.
        real.join(path).symlink_metadata().is_err()
    } else {
        metadata.is_file() && same_content(&upper.join(path), &real.join(path), metadata.len())
    };
    if !is_same {
        found.push(real.join(path));
    }
}

/// Copied up without a change: a file that was only opened for writing, or whose times were set.
fn same_content(a: &Path, b: &Path, length: u64) -> bool {
    const MOST: u64 = 1 << 20;
    let is_as_long = b.symlink_metadata().is_ok_and(|b| b.is_file() && b.len() == length);
    is_as_long && length <= MOST && fs::read(a).ok() == fs::read(b).ok()
}
