//! The files that an import looks at: what was named, and what lies below it. Links are not followed.

use crate::convert::detect::ENDINGS;
use crate::error::{CommandError, Result};
use crate::host::Host;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// More is no collection of agents but somebody's whole disk.
pub const MOST_FILES: usize = 10_000;
const DEEPEST: usize = 32;
/// Directories that hold other people's files by the thousand, or what we wrote ourselves.
const PASSED_OVER: [&str; 6] = [".git", "node_modules", "target", ".agentworkforce", ".venv", "__pycache__"];

/// A file to look at.
pub struct Candidate {
    pub path: PathBuf,
    /// Nothing outside of this directory is read for it.
    pub root: PathBuf,
    /// Named by the user, so it is meant, whatever it looks like.
    pub named: bool,
    /// Why it is not read.
    pub passed_over: Option<&'static str>,
}

impl Candidate {
    /// A file that may name others as parts of its agents.
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
                .hint("name agent files, or directories of them; nothing was imported")
        })?;
        if real.is_dir() {
            walk(&real, &real, 0, &mut found)?;
        } else {
            let root = real.parent().unwrap_or(Path::new("/")).to_owned();
            found.push(Candidate { path: real, root, named: true, passed_over: None });
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|candidate| seen.insert(candidate.path.clone()));
    Ok(found)
}

fn walk(root: &Path, dir: &Path, depth: usize, found: &mut Vec<Candidate>) -> Result<()> {
    let unreadable = |error: std::io::Error| {
        CommandError::usage(format!("{} cannot be read", dir.display())).caused_by(error)
    };
    let mut entries =
        std::fs::read_dir(dir).and_then(Iterator::collect::<std::io::Result<Vec<_>>>).map_err(unreadable)?;
    // The same order on every machine: it decides which of two equal names gets a number.
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type().map_err(unreadable)?);
        if kind.is_dir() {
            let is_other = PASSED_OVER.iter().any(|name| entry.file_name() == OsStr::new(name));
            if !is_other && depth < DEEPEST {
                walk(root, &path, depth + 1, found)?;
            }
            continue;
        }
        let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default().to_ascii_lowercase();
        if !ENDINGS.contains(&ending.as_str()) {
            continue;
        }
        if found.len() >= MOST_FILES {
            return Err(CommandError::usage(format!("{} has more than {MOST_FILES} files", root.display()))
                .hint("name the directory of the agents themselves; nothing was imported"));
        }
        let passed_over = (!kind.is_file()).then_some("a link or no plain file: it is not followed");
        found.push(Candidate { path, root: root.to_owned(), named: false, passed_over });
    }
    Ok(())
}
