//! Finds the files of an import: the named ones, and those below named directories. Links are not followed.

use crate::convert::Origin;
use crate::convert::detect::EXTENSIONS;
use crate::error::{CommandError, Result};
use crate::host::Host;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A larger directory is not a collection of agents.
pub const MAX_FILES: usize = 10_000;
const MAX_DEPTH: usize = 32;
/// Directories with thousands of unrelated files, or with our own.
const SKIPPED: [&str; 6] = [".git", "node_modules", "target", ".agentworkforce", ".venv", "__pycache__"];

/// A file that may be an agent.
pub struct Candidate {
    pub path: PathBuf,
    /// No file outside of this directory is read for it.
    pub root: PathBuf,
    pub origin: Origin,
    /// Why it is not read.
    pub skipped: Option<&'static str>,
}

impl Candidate {
    /// Whether it may name other files as parts of its agents.
    pub fn is_config(&self) -> bool {
        matches!(self.path.extension().and_then(OsStr::to_str), Some("json" | "jsonc"))
    }
}

pub fn candidates(host: &Host, paths: &[PathBuf]) -> Result<Vec<Candidate>> {
    let mut found = Vec::new();
    for path in paths {
        let path = host.absolute(&host.expand_tilde(&path.to_string_lossy()));
        let real = path.canonicalize().map_err(|error| {
            CommandError::usage(format!("{} cannot be read", path.display()))
                .caused_by(error)
                .hint("name agent files, or directories with agent files; nothing was imported")
        })?;
        if real.is_dir() {
            walk(&real, &real, 0, &mut found)?;
        } else {
            let root = real.parent().unwrap_or(Path::new("/")).to_owned();
            found.push(Candidate { path: real, root, origin: Origin::Named, skipped: None });
        }
    }
    Ok(without_duplicates(found))
}

/// Each file once. It is a named one if the user named it at all, and parts of it are looked for in the largest directory.
fn without_duplicates(found: Vec<Candidate>) -> Vec<Candidate> {
    let mut places: BTreeMap<PathBuf, usize> = BTreeMap::new();
    let mut once: Vec<Candidate> = Vec::new();
    for candidate in found {
        let Some(first) = places.get(&candidate.path).map(|at| &mut once[*at]) else {
            places.insert(candidate.path.clone(), once.len());
            once.push(candidate);
            continue;
        };
        if candidate.origin == Origin::Named {
            first.origin = Origin::Named;
            first.skipped = None;
        }
        if first.root.starts_with(&candidate.root) {
            first.root = candidate.root;
        }
    }
    once
}

fn walk(root: &Path, dir: &Path, depth: usize, found: &mut Vec<Candidate>) -> Result<()> {
    let unreadable = |error: std::io::Error| {
        CommandError::usage(format!("{} cannot be read", dir.display())).caused_by(error)
    };
    let mut entries =
        std::fs::read_dir(dir).and_then(Iterator::collect::<std::io::Result<Vec<_>>>).map_err(unreadable)?;
    // A fixed order, because it decides which of two equal names gets a number.
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type().map_err(unreadable)?);
        if kind.is_dir() {
            let is_skipped = SKIPPED.iter().any(|name| entry.file_name() == OsStr::new(name));
            if !is_skipped && depth < MAX_DEPTH {
                walk(root, &path, depth + 1, found)?;
            }
            continue;
        }
        let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default().to_ascii_lowercase();
        if !EXTENSIONS.contains(&ending.as_str()) {
            continue;
        }
        if found.len() >= MAX_FILES {
            return Err(CommandError::usage(format!("{} has more than {MAX_FILES} files", root.display()))
                .hint("name the directory that contains the agents; nothing was imported"));
        }
        let skipped = (!kind.is_file()).then_some("not a regular file; links are not followed");
        found.push(Candidate { path, root: root.to_owned(), origin: Origin::Found, skipped });
    }
    Ok(())
}
