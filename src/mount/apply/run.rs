//! One journal from the first staged byte to the last: stage, exchange, commit, put away; or back, if anything is not as
//! expected. It carries out steps; others choose them.

use super::agents_versions::AgentsVersions;
use super::exchange::{Done, Exchange, Refusal};
use super::journal::{Action, Journal, Operation, Part, Purpose, Rename, Stage, State, stage_name};
use super::lock::{ProjectLock, Underway};
use super::stage::{Staging, copy_entry, sync_filesystem};
use super::steps::Step;
use super::{Context, Problem, kept_patch, progress};
use crate::model::raw_path::RawPath;
use crate::mount::changes::compare::ConflictReason;
use crate::mount::changes::restored::Restored;
use crate::mount::fs::near::Near;
use crate::mount::fs::stat::{Kind, Stat};
use crate::mount::fs::tree::{self, Tree};
use anyhow::Context as _;
use rustix::io::Errno;
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs::DirBuilder;
use std::os::fd::AsFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// From here on one sync of the filesystem costs less than one for each directory.
const MANY_DIRECTORIES: usize = 64;

/// How a journal ended.
#[derive(Debug)]
pub(super) enum Ran {
    Done {
        number: u32,
        kept_directories: Vec<RawPath>,
    },
    /// Nothing was changed.
    Refused {
        conflicts: Vec<(PathBuf, ConflictReason)>,
        preserved: Vec<PathBuf>,
    },
}

/// What the steps are taken from and done to.
pub(super) struct Job<'a> {
    pub(super) project: &'a Tree,
    pub(super) mount: Option<&'a Tree>,
    pub(super) purpose: Purpose,
    pub(super) steps: &'a [Step],
    /// Of an undo that does not take back a whole journal.
    pub(super) parts: &'a [Part],
    /// Of an apply: what belongs together.
    pub(super) renames: &'a [Rename],
    /// Of an apply: the same for people and for git.
    pub(super) patch: Option<&'a [u8]>,
}

pub(super) fn run(context: &Context<'_>, lock: &mut ProjectLock, job: &Job<'_>) -> anyhow::Result<Ran> {
    let in_session = is_on_one_filesystem(context.session, job.project)?;
    if in_session {
        match run_staged(context, lock, job, true) {
            // Two subvolumes or quotas can be told apart only by trying.
            Err(Problem::CrossDevice) => {}
            other => return other.map_err(Problem::into_error),
        }
    }
    run_staged(context, lock, job, false).map_err(Problem::into_error)
}

fn run_staged(
    context: &Context<'_>,
    lock: &mut ProjectLock,
    job: &Job<'_>,
    in_session: bool,
) -> Result<Ran, Problem> {
    let root = job.project.root_stat()?;
    let number = Journal::next_number(context.session)?;
    let mut journal = Journal {
        schema_version: 1,
        number,
        purpose: job.purpose,
        state: State::Staging,
        root: job.project.path().into(),
        root_dev: root.dev,
        root_ino: root.ino,
        stage: if in_session {
            Stage::Session
        } else {
            Stage::Project { name: stage_name(context.session, number) }
        },
        operations: Vec::new(),
        kept_directories: Vec::new(),
        parts: job.parts.to_vec(),
        restored: Vec::new(),
        renames: job.renames.to_vec(),
    };
    context.crash_points.at("run: locked");
    let underway = Underway { session: context.session.into(), number };
    lock.note(Some(&underway), context.durable)?;
    context.crash_points.at("run: noted");
    journal.write(context.session, context.durable)?;
    context.crash_points.at("run: journal says staging");
    if let Some(patch) = job.patch
        && let Err(error) = kept_patch::write(context.session, number, patch)
    {
        tracing::warn!("the patch of what is applied is not kept: {error}");
    }
    match stage_all(context, job, &mut journal) {
        Ok(stage) => exchange_all(context, lock, job, &mut journal, &stage),
        Err(error) => {
            // Nothing of the project was touched, so whatever is in the stage is a copy of ours.
            let _ = journal.remove_stage(context.session, job.project);
            finish(context, lock, &mut journal, State::RolledBack);
            Err(error)
        }
    }
}

fn stage_all(context: &Context<'_>, job: &Job<'_>, journal: &mut Journal) -> Result<Tree, Problem> {
    let path = journal.stage_path(context.session);
    DirBuilder::new()
        .recursive(matches!(journal.stage, Stage::Session))
        .mode(0o700)
        .create(&path)
        .with_context(|| format!("cannot make {}", path.display()))?;
    context.crash_points.at("run: stage made");
    let stage = Tree::open(&path).with_context(|| format!("cannot open {}", path.display()))?;
    let staging = Staging {
        stage: &stage,
        project: job.project,
        mount: job.mount,
        crash_points: context.crash_points,
        durable: context.durable,
        agents: job.mount.map(|_| AgentsVersions::new(context.session)),
    };
    // Each is staged, and then exchanged.
    progress::expect(2 * job.steps.len());
    journal.operations = staging.all(job.steps)?;
    journal.state = State::Exchanging;
    context.crash_points.at("run: staged");
    journal.write(context.session, context.durable)?;
    context.crash_points.at("run: journal says exchanging");
    Ok(stage)
}

fn exchange_all(
    context: &Context<'_>,
    lock: &mut ProjectLock,
    job: &Job<'_>,
    journal: &mut Journal,
    stage: &Tree,
) -> Result<Ran, Problem> {
    let exchange = Exchange { project: job.project, stage, crash_points: context.crash_points };
    let mut carried_out = 0;
    let mut refusal = None;
    for operation in &journal.operations {
        match exchange.forward(operation) {
            Ok(Done::Yes) => {}
            Ok(Done::Kept) => journal.kept_directories.push(operation.path.clone()),
            Err(error) => {
                refusal = Some((operation.path.0.clone(), error));
                break;
            }
        }
        carried_out += 1;
        progress::advance();
    }
    if refusal.is_none() {
        refusal = commit(context, job.project, stage, journal).err();
    }
    let Some((path, refusal)) = refusal else {
        put_away(context, job.project, stage, journal).context(
            "the changes are applied, but what they replaced is not put away yet; `sessions recover` does it",
        )?;
        finish(context, lock, journal, State::Done);
        return Ok(Ran::Done {
            number: journal.number,
            kept_directories: std::mem::take(&mut journal.kept_directories),
        });
    };
    let operations = &journal.operations[..carried_out];
    let left = take_back(&exchange, operations)?;
    journal.restored = put_back_untouched(job.project, &journal.operations)?;
    let preserved = clear_stage(context, journal, stage)?;
    finish(context, lock, journal, State::RolledBack);
    let preserved = [left, preserved].concat();
    match refusal {
        Refusal::Conflict(reason) => Ok(Ran::Refused { conflicts: vec![(path, reason)], preserved }),
        Refusal::Io(error) if Errno::from_io_error(&error) == Some(Errno::XDEV) => Err(Problem::CrossDevice),
        Refusal::Io(error) if is_without_exchange(&error) => Err(Problem::Other(anyhow::anyhow!(
            "the filesystem of {} cannot swap files in one step, so nothing was changed; the work is in the session",
            job.project.path().display()
        ))),
        Refusal::Io(error) => {
            let path = job.project.path().join(path);
            Err(Problem::Other(anyhow::Error::new(error).context(format!("cannot write {}", path.display()))))
        }
    }
}

/// Some network and foreign filesystems know neither an exchange nor a rename that replaces nothing.
fn is_without_exchange(error: &std::io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP))
}

/// Everything is exchanged: make it durable and say so. From the moment that is written the apply has happened.
pub(super) fn commit(
    context: &Context<'_>,
    project: &Tree,
    stage: &Tree,
    journal: &mut Journal,
) -> Result<(), (PathBuf, Refusal)> {
    let at_root =
        |error: anyhow::Error| (PathBuf::new(), Refusal::Io(std::io::Error::other(format!("{error:#}"))));
    // An editor that held the old file open may have written into it after it was taken out.
    for operation in &journal.operations {
        if !matches!(operation.action, Action::Replace | Action::Delete) {
            continue;
        }
        let slot = tree::stat_at(stage.fd(), OsStr::new(&operation.slot))
            .map_err(|error| (operation.path.0.clone(), error.into()))?;
        if let (Some(slot), Some(old)) = (slot, operation.old)
            && !slot.is_same_content(&old)
        {
            let reason = ConflictReason::ChangedDuringApply;
            return Err((operation.path.0.clone(), Refusal::Conflict(reason)));
        }
    }
    context.crash_points.at("commit: checked");
    let near = Near::new(project);
    // A file that came with its directory is what was staged: not even its ctime has changed.
    let post = |operation: &Operation| match (operation.within, operation.new) {
        (Some(_), Some(new)) if new.kind != Kind::Dir => Ok(Some(new)),
        _ => near.stat(&operation.path),
    };
    let posts: std::io::Result<Vec<Option<Stat>>> = journal.operations.iter().map(post).collect();
    let posts = posts.map_err(|error| at_root(error.into()))?;
    for (operation, post) in journal.operations.iter_mut().zip(posts) {
        operation.post = post;
    }
    if context.durable {
        sync_directories(project, &journal.operations).map_err(|error| at_root(error.into()))?;
    }
    context.crash_points.at("commit: durable");
    // What an apply takes out is where an undo finds it already, unless the stage is in the project.
    let is_done = journal.stage == Stage::Session && journal.purpose == Purpose::Apply;
    let committed = if is_done { State::Done } else { State::Committed };
    let before = std::mem::replace(&mut journal.state, committed);
    if let Err(error) = journal.write(context.session, context.durable) {
        journal.state = before;
        return Err(at_root(error));
    }
    context.crash_points.at("commit: journal says committed");
    Ok(())
}

fn sync_directories(project: &Tree, operations: &[Operation]) -> std::io::Result<()> {
    // What came with its directory was durable before.
    let moved = operations.iter().filter(|operation| operation.within.is_none());
    let parents: BTreeSet<&Path> = moved.filter_map(|operation| operation.path.0.parent()).collect();
    if parents.len() > MANY_DIRECTORIES {
        return sync_filesystem(project.fd());
    }
    for parent in parents {
        // A directory that went with what it held needs no sync of its own.
        if let Ok(dir) = project.open_dir(parent) {
            rustix::fs::fsync(dir.as_fd())?;
        }
    }
    Ok(())
}

/// Brings what was taken out of the project into the session, where an undo finds it. Can be repeated.
pub(super) fn put_away(
    context: &Context<'_>,
    project: &Tree,
    stage: &Tree,
    journal: &mut Journal,
) -> anyhow::Result<()> {
    if let Stage::Project { name } = &journal.stage {
        let undo = journal.undo_path(context.session);
        DirBuilder::new().recursive(true).mode(0o700).create(&undo)?;
        let undo = Tree::open(&undo)?;
        for operation in &journal.operations {
            let slot = OsStr::new(&operation.slot);
            if tree::stat_at(stage.fd(), slot)?.is_none() {
                continue;
            }
            // A copy that a crash cut short is made again.
            tree::remove_all(undo.fd(), slot)?;
            // The apply has happened: a signal comes too late, and a copy that is missing could not be undone.
            copy_entry(stage, Path::new(slot), undo.fd(), slot, context.durable, || Ok(()))
                .with_context(|| format!("cannot keep the old {}", operation.path.display()))?;
            context.crash_points.at_each("put away: one copied");
        }
        if context.durable {
            rustix::fs::fsync(undo.fd())?;
        }
        tree::remove_all(project.fd(), OsStr::new(name))?;
    }
    if let Purpose::Undo { of } | Purpose::Redo { of } = journal.purpose {
        let mut undone = if journal.parts.is_empty() {
            vec![(Journal::read(context.session, of)?, None)]
        } else {
            let read = |part: &Part| Ok((Journal::read(context.session, part.of)?, Some(part.paths.clone())));
            journal.parts.iter().map(read).collect::<anyhow::Result<Vec<_>>>()?
        };
        if matches!(journal.purpose, Purpose::Undo { .. }) {
            let operations = undone.iter().flat_map(|(undone, _)| undone.standing_operations());
            journal.restored = given_back(operations, journal);
        }
        for (undone, paths) in &mut undone {
            undone.take_back(paths.as_deref());
            undone.write(context.session, context.durable)?;
            context.crash_points.at_each("put away: one taken back");
        }
    }
    context.crash_points.at("put away: all");
    Ok(())
}

/// Takes operations back, last first. Gives those paths at which the user has been since and which were left alone.
pub(super) fn take_back(exchange: &Exchange<'_>, operations: &[Operation]) -> anyhow::Result<Vec<PathBuf>> {
    let mut left = Vec::new();
    for operation in operations.iter().rev() {
        let is_back = exchange.back(operation).with_context(|| {
            format!("cannot restore {}", exchange.project.path().join(&operation.path).display())
        })?;
        if !is_back {
            left.push(operation.path.0.clone());
        }
    }
    Ok(left)
}

/// The files that are what they were before the operations, but for the ctime.
pub(super) fn put_back_untouched(project: &Tree, operations: &[Operation]) -> anyhow::Result<Vec<Restored>> {
    let mut restored = Vec::new();
    for operation in operations {
        if let (Some(was), Some(is)) = (operation.old, project.stat(&operation.path)?)
            && is.is_same_content(&was)
            && is.mode == was.mode
        {
            restored.push(Restored { path: operation.path.clone(), was, is });
        }
    }
    Ok(restored)
}

/// The files that an undo gave back as the apply had found them.
fn given_back<'a>(applied: impl Iterator<Item = &'a Operation>, undo: &Journal) -> Vec<Restored> {
    let before: HashMap<&Path, Stat> =
        applied.filter_map(|operation| Some((operation.path.0.as_path(), operation.old?))).collect();
    let given = undo.operations.iter().filter_map(|operation| {
        let (was, is) = (*before.get(operation.path.0.as_path())?, operation.post?);
        let is_ours = match (operation.action, operation.new) {
            (Action::Replace | Action::Create, Some(new)) => is.is_same_content(&new),
            (Action::Chmod { .. }, _) => is.is_same_content(&was),
            _ => false,
        };
        (is_ours && is.mode == was.mode).then(|| Restored { path: operation.path.clone(), was, is })
    });
    given.collect()
}

/// Removes what we staged. What turns out to be the user's stays, and is named.
pub(super) fn clear_stage(
    context: &Context<'_>,
    journal: &Journal,
    stage: &Tree,
) -> anyhow::Result<Vec<PathBuf>> {
    let mut preserved = Vec::new();
    for operation in &journal.operations {
        let slot = OsStr::new(&operation.slot);
        let Some(stat) = tree::stat_at(stage.fd(), slot)? else { continue };
        if operation.new.is_some_and(|new| new.ino == stat.ino && new.kind == stat.kind) {
            tree::remove_all(stage.fd(), slot)?;
        } else {
            preserved.push(stage.path().join(slot));
        }
        context.crash_points.at_each("clear: one");
    }
    let _ = std::fs::remove_dir(stage.path());
    Ok(preserved)
}

/// Writes the end of a journal. If that cannot be written, the note stays in the lock and the next start does it.
pub(super) fn finish(context: &Context<'_>, lock: &mut ProjectLock, journal: &mut Journal, state: State) {
    // A commit may have said it already.
    let is_written = std::mem::replace(&mut journal.state, state) == state;
    context.crash_points.at("finish: before");
    if is_written || journal.write(context.session, context.durable).is_ok() {
        context.crash_points.at("finish: written");
        let _ = lock.note(None, context.durable);
    }
    context.crash_points.at("finish: after");
}

fn is_on_one_filesystem(session: &Path, project: &Tree) -> anyhow::Result<bool> {
    let session = Tree::open(session).with_context(|| format!("cannot open {}", session.display()))?;
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{AtFlags, StatxFlags};
        let mount = |tree: &Tree| {
            rustix::fs::statx(tree.fd(), "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID)
                .map(|stat| stat.stx_mnt_id)
        };
        if let (Ok(a), Ok(b)) = (mount(&session), mount(project))
            && a != b
        {
            return Ok(false);
        }
    }
    Ok(session.root_stat()?.dev == project.root_stat()?.dev)
}

/// For reports: paths as the report has them.
pub(super) fn raw(paths: Vec<PathBuf>) -> Vec<RawPath> {
    paths.into_iter().map(RawPath::from).collect()
}
