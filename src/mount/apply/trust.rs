//! Limits what a record on disk may make us do: never more than an apply of its session could have done. The records are in our home,
//! but a run without a sandbox, or another program of the same user, can write there. It changes nothing.

use super::journal::{Action, Journal, Operation, path_of};
use super::record_file::{cannot_open, read, untrusted};
use crate::files::owned;
use crate::model::mount::PathRule;
use crate::model::mount_record::{MOUNT_RECORD_FILE, MountRecord, RULES_FILE};
use crate::mount::fs::stat::Kind;
use crate::rules::{PathRules, Visibility};
use anyhow::Context;
use serde::de::DeserializeOwned;
use std::collections::HashSet;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The session that a lock file names, if it still exists. `beside` is one of our sessions: only its siblings are trusted.
pub(super) fn noted_session(beside: &Path, noted: &Path, lock: &Path) -> anyhow::Result<Option<PathBuf>> {
    let sessions = beside.parent().context("a session is in a directory")?;
    let foreign = || untrusted(lock, format!("`{}` is not a session of ours", noted.display()));
    let name = noted.file_name().ok_or_else(foreign)?;
    let session = sessions.join(name);
    match owned::check_directory(&session) {
        Ok(()) => Ok(Some(session)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let identity = |found: Metadata| (found.dev(), found.ino());
            let is_here = |dir: &Path| dir.metadata().ok().map(identity);
            let is_ours = noted.parent().and_then(is_here) == is_here(sessions);
            if is_ours { Ok(None) } else { Err(foreign()) }
        }
        Err(error) => Err(cannot_open(&session, error)),
    }
}

/// Whether a journal concerns the project of its session, and nothing that the session's rules exclude from an apply.
pub(super) fn check(session: &Path, journal: &Journal) -> anyhow::Result<()> {
    owned::check_directory(session).map_err(|error| cannot_open(session, error))?;
    let path = path_of(session, journal.number);
    let (record, rules) = records(session)?;
    let is_of_this_project = record.root == journal.root
        && record.root_ino == journal.root_ino
        && record.root_dev == journal.root_dev;
    if !is_of_this_project {
        let (project, root) = (record.root.display(), journal.root.display());
        return Err(untrusted(&path, format!("it changes `{root}`, and its session is of `{project}`")));
    }
    let rules = PathRules::compile(&rules).map_err(|error| untrusted(&session.join(RULES_FILE), error))?;
    let above: HashSet<&Path> =
        journal.operations.iter().flat_map(|operation| operation.path.ancestors().skip(1)).collect();
    for operation in &journal.operations {
        if !is_allowed(&rules, operation) && !is_passed_through(operation, &above) {
            let name = operation.path.display();
            return Err(untrusted(&path, format!("the rules of the session protect `{name}`")));
        }
    }
    Ok(())
}

/// The mount of a session and the rules that its run had.
pub(super) fn records(session: &Path) -> anyhow::Result<(MountRecord, Vec<PathRule>)> {
    Ok((read_record(session, MOUNT_RECORD_FILE)?, read_record(session, RULES_FILE)?))
}

fn read_record<T: DeserializeOwned>(session: &Path, name: &str) -> anyhow::Result<T> {
    let path = session.join(name);
    let text = read(&path)?.ok_or_else(|| untrusted(session, format!("there is no {name} in it")))?;
    serde_json::from_slice(&text).with_context(|| format!("{} is damaged", path.display()))
}

/// Decided like in the review, by what the path is or becomes.
fn is_allowed(rules: &PathRules, operation: &Operation) -> bool {
    let kinds = [operation.new, operation.old, operation.post];
    let mut kinds = kinds.iter().flatten().map(|stat| stat.kind).peekable();
    let is_writable = |is_dir: bool| rules.decide(&operation.path, is_dir).visibility == Visibility::Writable;
    // A directory that is closed after it was filled has no stat of its own.
    if kinds.peek().is_none() {
        return is_writable(true);
    }
    kinds.any(|kind| is_writable(kind == Kind::Dir))
}

/// A directory that is created on the way to something writable, gets its final mode after that, and is removed by an undo.
fn is_passed_through(operation: &Operation, above: &HashSet<&Path>) -> bool {
    let kinds = [operation.new, operation.old];
    let is_dir = kinds.iter().flatten().all(|stat| stat.kind == Kind::Dir);
    is_dir && above.contains(&*operation.path.0) && operation.action != Action::Replace
}
