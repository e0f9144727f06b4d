//! What a record that lies on disk may make us do: never more than an apply of its session could have done. The records are in our
//! home, but a run without a sandbox, or another program of the same user, can write there. It reads and changes nothing.

use super::journal::{Action, Journal, Operation, Purpose, Stage, path_of, stage_name};
use crate::files::owned::{self, NotOurs};
use crate::model::mount::PathRule;
use crate::model::mount_record::{MOUNT_RECORD_FILE, MountRecord, RULES_FILE};
use crate::mount::MountError;
use crate::mount::changes::is_git_name;
use crate::mount::fs::stat::{Kind, PERMISSIONS};
use crate::rules::{PathRules, Visibility};
use anyhow::Context;
use serde::de::DeserializeOwned;
use std::collections::HashSet;
use std::fmt::Display;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// Reads a record of a session; `None` where there is none.
pub(super) fn read(path: &Path) -> anyhow::Result<Option<Vec<u8>>> {
    owned::read_in_private(path).map_err(|error| cannot_open(path, error))
}

/// A record that cannot be opened, or is not ours.
pub(super) fn cannot_open(path: &Path, error: io::Error) -> anyhow::Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<NotOurs>()) {
        Some(reason) => untrusted(path, reason),
        None => anyhow::Error::new(error).context(format!("cannot open {}", path.display())),
    }
}

fn untrusted(path: &Path, reason: impl Display) -> anyhow::Error {
    MountError::UntrustedRecord { path: path.to_owned(), reason: reason.to_string() }.into()
}

/// The session that a lock file names, if it is there still. `beside` is a session of ours: only its neighbours are believed.
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

/// The names in a journal: each stays in the project, out of git's own directories, or in the stage of this very journal.
pub(super) fn check_names(session: &Path, number: u32, journal: &Journal) -> anyhow::Result<()> {
    let path = path_of(session, number);
    let refuse = |reason: String| Err(untrusted(&path, reason));
    if journal.number != number {
        return refuse(format!("it says that it is journal {}", journal.number));
    }
    if let Stage::Project { name } = &journal.stage
        && *name != stage_name(session, number)
    {
        return refuse(format!("`{name}` is not the name of its stage"));
    }
    if let Purpose::Undo { of } | Purpose::Redo { of } = journal.purpose
        && of >= number
    {
        return refuse(format!("it takes back journal {of}, which is no earlier one"));
    }
    for operation in &journal.operations {
        let slot = &operation.slot;
        if slot.is_empty() || slot.len() > 10 || !slot.bytes().all(|byte| byte.is_ascii_digit()) {
            return refuse(format!("`{slot}` is not a name in a stage"));
        }
        if let Action::Chmod { from, to } = operation.action
            && (from | to) & !PERMISSIONS != 0
        {
            return refuse(format!("{to:o} is not a mode that an apply sets"));
        }
    }
    let operations = journal.operations.iter().map(|operation| &operation.path);
    let restored = journal.restored.iter().map(|restored| &restored.path);
    for name in operations.chain(&journal.kept_directories).chain(restored) {
        if !is_applicable(name) {
            return refuse(format!("`{}` is not a path that an apply changes", name.display()));
        }
    }
    Ok(())
}

/// Whether an apply may ever change a path, whatever the rules: below the root, and nothing of git's.
fn is_applicable(path: &Path) -> bool {
    let is_plain = |part: Component<'_>| match part {
        Component::Normal(name) => !is_git_name(name),
        _ => false,
    };
    path.components().next().is_some() && path.components().all(is_plain)
}

/// Whether a journal is for the project of its session, and for nothing that the session's rules keep from an apply.
pub(super) fn check(session: &Path, journal: &Journal) -> anyhow::Result<()> {
    owned::check_directory(session).map_err(|error| cannot_open(session, error))?;
    let path = path_of(session, journal.number);
    let record: MountRecord = read_record(session, MOUNT_RECORD_FILE)?;
    let rules: Vec<PathRule> = read_record(session, RULES_FILE)?;
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

fn read_record<T: DeserializeOwned>(session: &Path, name: &str) -> anyhow::Result<T> {
    let path = session.join(name);
    let text = read(&path)?.ok_or_else(|| untrusted(session, format!("there is no {name} in it")))?;
    serde_json::from_slice(&text).with_context(|| format!("{} is damaged", path.display()))
}

/// Decided as the review does, by what the path is or becomes.
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

/// A directory that is made on the way to something writable, closed after that, and removed by an undo.
fn is_passed_through(operation: &Operation, above: &HashSet<&Path>) -> bool {
    let kinds = [operation.new, operation.old];
    let is_dir = kinds.iter().flatten().all(|stat| stat.kind == Kind::Dir);
    is_dir && above.contains(&*operation.path.0) && operation.action != Action::Replace
}
