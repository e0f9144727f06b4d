//! The record of one apply or undo: written before the project is touched, and sufficient to finish or roll back from any point.
//! This module only reads and writes it; `run` and `recover` carry it out.

use super::record_file::{self, untrusted};
use crate::model::raw_path::RawPath;
use crate::mount::changes::content_store::ContentHash;
use crate::mount::changes::earlier::{AgentsVersion, AppliedPath, Earlier};
use crate::mount::changes::is_git_name;
use crate::mount::changes::restored::Restored;
use crate::mount::fs::stat::{PERMISSIONS, Stat};
use crate::mount::fs::tree::{self, Tree};
use anyhow::Context;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::BufWriter;
use std::os::fd::AsFd;
use std::path::{Component, Path, PathBuf};

/// In the session directory.
pub const JOURNAL_DIR: &str = "journal";
/// In the session directory: what an apply took out of the project, one directory per journal.
pub const UNDO_DIR: &str = "undo";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Journal {
    pub schema_version: u32,
    pub number: u32,
    pub purpose: Purpose,
    pub state: State,
    /// The real project and its inode: undoing in a different directory of the same name would be wrong.
    pub root: RawPath,
    pub root_dev: u64,
    pub root_ino: u64,
    pub stage: Stage,
    pub operations: Vec<Operation>,
    /// Directories that were to be removed but contain something that is not the agent's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept_directories: Vec<RawPath>,
    /// What an undo reverts, if it is not the whole journal that its purpose names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// Files that were taken out and restored untouched: a rename gives them a new ctime, and a later comparison with the base must
    /// not blame the user.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restored: Vec<Restored>,
    /// For an apply: the pairs of operations that the review showed as renames. Journals of earlier versions have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub renames: Vec<Rename>,
}

/// A file that was removed, and the one that it became.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rename {
    pub from: RawPath,
    pub to: RawPath,
}

/// Some paths of an earlier journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Part {
    pub of: u32,
    pub paths: Vec<RawPath>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    Apply,
    /// Reverts the journal with this number.
    Undo {
        of: u32,
    },
    /// Reverts the undo with this number, and so applies again.
    Redo {
        of: u32,
    },
}

impl Purpose {
    /// Whether the project has the agent's work after it.
    pub fn applies(self) -> bool {
        matches!(self, Purpose::Apply | Purpose::Redo { .. })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// New content is being staged; the project has not been touched.
    Staging,
    /// Everything is staged and durable; the project is being changed.
    Exchanging,
    /// The project is changed; what was taken out is being moved to the undo copies.
    Committed,
    Done,
    RolledBack,
    /// Applied, and then reverted by a later journal.
    Undone,
}

impl State {
    pub fn is_finished(self) -> bool {
        matches!(self, State::Done | State::RolledBack | State::Undone)
    }
}

/// Where new content is staged and old content goes: always on the project's filesystem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// `undo/<number>` of the session, where the old content can stay.
    Session,
    /// A directory with this name in the project's root, because the session is on another filesystem.
    Project { name: String },
}

/// One step, with enough information to tell by inode alone whether it is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Operation {
    pub path: RawPath,
    pub action: Action,
    /// The name in the stage: of the new content before the step, and of the old content after it.
    pub slot: String,
    /// An entry of a new directory is staged inside that directory and moves with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Within>,
    /// What was in the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<Stat>,
    /// What was staged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<Stat>,
    /// The state of the path at the end, which an undo must still find.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub post: Option<Stat>,
    /// The hash of its content at the end, by which an undo recognises it whatever its times are. `None` for directories, for files
    /// with holes, and in journals of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<ContentHash>,
    /// A later undo of some paths reverted this one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub taken_back: bool,
    /// The agent's version of the file: the base of its later changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<AgentsVersion>,
    /// The result also contains edits of the user that the agent's version lacks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub merged: bool,
}

/// A place in the stage: in this slot, and there by the last names of the path, so many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Within {
    pub slot: u32,
    pub names: usize,
}

impl Operation {
    /// An operation of which nothing is known yet.
    pub(super) fn new(path: PathBuf, action: Action, number: usize) -> Operation {
        Operation {
            path: path.into(),
            action,
            slot: number.to_string(),
            within: None,
            old: None,
            new: None,
            post: None,
            written: None,
            taken_back: false,
            agents: None,
            merged: false,
        }
    }

    /// Its place in the stage until it is carried out.
    pub(super) fn staged_at(&self) -> PathBuf {
        let Some(within) = self.within else { return PathBuf::from(&self.slot) };
        let names = self.path.components().count();
        let last = self.path.components().skip(names.saturating_sub(within.names));
        PathBuf::from(within.slot.to_string()).join(last.collect::<PathBuf>())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Swap the staged entry with the project's.
    Replace,
    /// Move the staged entry to a path that does not exist.
    Create,
    /// Move the project's file or symlink to the stage.
    Delete,
    /// Remove a directory, if it is empty.
    RemoveDir,
    /// Set the permission bits in place.
    Chmod { from: u32, to: u32 },
}

impl Journal {
    /// Rewrites the whole journal; a crash leaves the old or the new one.
    pub fn write(&self, session: &Path, durable: bool) -> anyhow::Result<()> {
        let directory = session.join(JOURNAL_DIR);
        let path = path_of(session, self.number);
        let write = || -> std::io::Result<()> {
            std::fs::create_dir_all(&directory)?;
            let temporary = path.with_extension("new");
            let mut out = BufWriter::with_capacity(256 << 10, File::create(&temporary)?);
            serde_json::to_writer(&mut out, self)?;
            let file = out.into_inner()?;
            if durable {
                file.sync_all()?;
            }
            std::fs::rename(&temporary, &path)?;
            if durable {
                File::open(&directory)?.sync_all()?;
            }
            Ok(())
        };
        write().with_context(|| format!("cannot write {}", path.display()))
    }

    /// Reads a journal, and checks that every name in it stays where an apply of this session could write.
    pub fn read(session: &Path, number: u32) -> anyhow::Result<Journal> {
        let path = path_of(session, number);
        let text = record_file::read(&path)?.with_context(|| format!("cannot read {}", path.display()))?;
        let journal: Journal =
            serde_json::from_slice(&text).with_context(|| format!("{} is damaged", path.display()))?;
        check_names(session, number, &journal)?;
        Ok(journal)
    }

    /// All journals of a session, oldest first.
    pub fn all(session: &Path) -> anyhow::Result<Vec<Journal>> {
        let mut numbers = numbers(session)?;
        numbers.sort_unstable();
        numbers.into_iter().map(|number| Journal::read(session, number)).collect()
    }

    /// What the journals of a session did to the project, for comparisons with its base.
    pub fn earlier(session: &Path) -> anyhow::Result<Earlier> {
        let mut earlier = Earlier::default();
        let journals = Journal::all(session)?;
        for restored in journals.iter().flat_map(|journal| &journal.restored) {
            earlier.restored.entry(restored.path.0.clone()).or_default().push(restored.clone());
        }
        for journal in journals.iter().filter(|journal| journal.purpose.applies() && journal.stands()) {
            // A redo restores what was applied once; the journal of that apply knows the agent's version.
            let known: HashMap<&RawPath, &Operation> = first_apply(&journals, journal)
                .operations
                .iter()
                .filter(|known| known.agents.is_some() || known.merged)
                .map(|known| (&known.path, known))
                .collect();
            for operation in journal.standing_operations() {
                let known = known.get(&operation.path);
                let applied = AppliedPath {
                    post: operation.post,
                    agents: known.and_then(|known| known.agents.clone()),
                    merged: known.is_some_and(|known| known.merged),
                };
                earlier.applied.insert(operation.path.0.clone(), applied);
            }
        }
        Ok(earlier)
    }

    /// Whether its effect is in the project.
    pub fn stands(&self) -> bool {
        matches!(self.state, State::Done | State::Committed)
    }

    /// The operations of a journal in effect that no later undo reverted.
    pub fn standing_operations(&self) -> impl Iterator<Item = &Operation> {
        self.operations.iter().filter(|operation| !operation.taken_back)
    }

    /// Records that a later journal reverted these paths; `None` means all.
    pub(super) fn take_back(&mut self, paths: Option<&[RawPath]>) {
        let Some(paths) = paths else {
            self.state = State::Undone;
            return;
        };
        let paths: HashSet<&RawPath> = paths.iter().collect();
        for operation in &mut self.operations {
            operation.taken_back |= paths.contains(&operation.path);
        }
        if self.operations.iter().all(|operation| operation.taken_back) {
            self.state = State::Undone;
        }
    }

    pub fn next_number(session: &Path) -> anyhow::Result<u32> {
        let last = numbers(session)?.into_iter().max().unwrap_or(0);
        last.checked_add(1).with_context(|| format!("{} has no free number", session.display()))
    }

    /// The stage, reached without following a link.
    pub(super) fn open_stage(&self, session: &Path, project: &Tree) -> std::io::Result<Tree> {
        match &self.stage {
            Stage::Session => Tree::open(session)?.below(&Path::new(UNDO_DIR).join(self.number.to_string())),
            Stage::Project { name } => project.below(name.as_ref()),
        }
    }

    /// Removes the stage and everything in it, if it exists.
    pub(super) fn remove_stage(&self, session: &Path, project: &Tree) -> std::io::Result<()> {
        match &self.stage {
            Stage::Project { name } => tree::remove_all(project.fd(), name.as_ref()),
            Stage::Session => match Tree::open(session)?.open_dir(UNDO_DIR.as_ref()) {
                Ok(undo) => tree::remove_all(undo.as_fd(), self.number.to_string().as_ref()),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
                Err(error) => Err(error),
            },
        }
    }

    /// Where the stage is.
    pub fn stage_path(&self, session: &Path) -> PathBuf {
        match &self.stage {
            Stage::Session => session.join(UNDO_DIR).join(self.number.to_string()),
            Stage::Project { name } => self.root.join(name),
        }
    }

    /// Where the old content ends up.
    pub fn undo_path(&self, session: &Path) -> PathBuf {
        session.join(UNDO_DIR).join(self.number.to_string())
    }
}

/// The apply that a journal undoes or redoes.
pub(super) fn first_apply<'a>(journals: &'a [Journal], journal: &'a Journal) -> &'a Journal {
    let mut first = journal;
    // The numbers only go down.
    while let Purpose::Undo { of } | Purpose::Redo { of } = first.purpose
        && let Some(earlier) = journals.iter().find(|earlier| earlier.number == of)
    {
        first = earlier;
    }
    first
}

/// The file of a journal.
pub(super) fn path_of(session: &Path, number: u32) -> PathBuf {
    session.join(JOURNAL_DIR).join(format!("{number}.json"))
}

/// The name of a journal's stage in the project's root.
pub(super) fn stage_name(session: &Path, number: u32) -> String {
    let session_name = session.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    format!(".agentworkforce-apply-{session_name}-{number}")
}

fn numbers(session: &Path) -> anyhow::Result<Vec<u32>> {
    let directory = session.join(JOURNAL_DIR);
    let entries = match std::fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", directory.display())),
    };
    let mut numbers = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        numbers.extend(
            name.to_str()
                .and_then(|name| name.strip_suffix(".json"))
                .and_then(|text| text.parse::<u32>().ok().filter(|number| number.to_string() == text)),
        );
    }
    Ok(numbers)
}

/// The names in a journal: each stays in the project, out of git's own directories, or in the stage of this very journal.
fn check_names(session: &Path, number: u32, journal: &Journal) -> anyhow::Result<()> {
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
        if operation.within.is_some() && operation.action != Action::Create {
            return refuse(format!("`{}` cannot come with its directory", operation.path.display()));
        }
        if let Action::Chmod { from, to } = operation.action
            && (from | to) & !PERMISSIONS != 0
        {
            return refuse(format!("{to:o} is not a mode that an apply sets"));
        }
    }
    if let Some(part) = journal.parts.iter().find(|part| part.of >= number) {
        return refuse(format!("it takes back journal {}, which is no earlier one", part.of));
    }
    let operations = journal.operations.iter().map(|operation| &operation.path);
    let parts = journal.parts.iter().flat_map(|part| &part.paths);
    let restored = journal.restored.iter().map(|restored| &restored.path);
    let renames = journal.renames.iter().flat_map(|rename| [&rename.from, &rename.to]);
    for name in operations.chain(&journal.kept_directories).chain(restored).chain(parts).chain(renames) {
        if !is_applicable(name) {
            return refuse(format!("`{}` is not a path that an apply changes", name.display()));
        }
    }
    Ok(())
}

/// Whether an apply could ever change a path, whatever the rules: it is below the root and not inside git's directories.
fn is_applicable(path: &Path) -> bool {
    let is_plain = |part: Component<'_>| match part {
        Component::Normal(name) => !is_git_name(name),
        _ => false,
    };
    path.components().next().is_some() && path.components().all(is_plain)
}
