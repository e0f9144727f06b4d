//! What follows an apply on the user's side: the marker in the plan file, and a commit where one is asked for.

use super::request::WorkRequest;
use crate::files::atomic::{self, FileMode};
use crate::files::regular;
use crate::git;
use crate::model::contract::{CommitTarget, Contract, WorkMode};
use crate::model::warning::{Warning, WarningCode};
use crate::mount::fs::stat::Kind;
use crate::mount::fs::tree::Tree;
use crate::run::Engine;
use crate::run::finish::Changes;
use crate::run::open::OpenRun;
use crate::work::contract::mark_done;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

const LARGEST_PLAN: u64 = 8 << 20;

/// What was done after the apply.
#[derive(Debug, Default)]
pub struct Settled {
    pub commit: Option<String>,
    pub warnings: Vec<Warning>,
}

/// Marks the task as done in the plan file, and commits. Neither takes back what was applied if it fails.
pub fn after_apply(
    engine: &Engine<'_>,
    request: &WorkRequest,
    open: &OpenRun<'_>,
    changes: &Changes,
    summary: Option<&str>,
) -> Settled {
    let root = &open.plan().mount.root;
    let applied = changes.applied.iter().flat_map(|applied| &applied.outcome.applied);
    let paths: Vec<PathBuf> =
        applied.filter(|change| change.node != Kind::Dir).map(|change| change.path.0.clone()).collect();
    let plan_file = engine.workforce.config.settings.plans_file();
    settle(&request.contract, root, plan_file, paths, request.commit, summary)
}

/// The same for work that was applied from its session.
pub fn settle(
    contract: &Contract,
    root: &Path,
    plan_file: &str,
    mut paths: Vec<PathBuf>,
    commits: bool,
    summary: Option<&str>,
) -> Settled {
    let mut settled = Settled::default();
    if contract.mode != WorkMode::Breezing {
        match mark_plan(root, plan_file, &contract.task_id) {
            Ok(true) => paths.push(PathBuf::from(plan_file)),
            Ok(false) => {}
            Err(error) => {
                let text = format!("the task is not marked as done in {plan_file}: {error:#}");
                settled.warnings.push(Warning::new(WarningCode::NotApplied, text));
            }
        }
    }
    if commits && !paths.is_empty() {
        let message = message(contract, summary);
        match commit(contract, root, &paths, &message) {
            Ok(id) => settled.commit = Some(id),
            Err(error) => {
                let text = format!("applied, but not committed: {error:#}");
                settled.warnings.push(Warning::new(WarningCode::Commits, text));
            }
        }
    }
    settled
}

/// Sets the marker of the task's row. False where there is no such row, or nothing to change.
fn mark_plan(root: &Path, plan_file: &str, task_id: &str) -> Result<bool> {
    let path = root.join(plan_file);
    if path.symlink_metadata().is_err() {
        return Ok(false);
    }
    // A link is the user's own, and would be replaced by a file.
    let (file, _) = Tree::open(root)?.open_file(Path::new(plan_file)).context("it is no plain file")?;
    let bytes = regular::content(file, LARGEST_PLAN)?;
    let text = String::from_utf8(bytes).context("it is not UTF-8")?;
    let Ok(marked) = mark_done(&text, task_id) else { return Ok(false) };
    if marked == text {
        return Ok(false);
    }
    atomic::write(&path, marked.as_bytes(), FileMode::Keep)?;
    Ok(true)
}

/// A subject and, if there is more to say, a body.
fn message(contract: &Contract, summary: Option<&str>) -> String {
    let summary = summary.map(str::trim).filter(|summary| !summary.is_empty()).unwrap_or(&contract.task);
    let clean: String = summary.chars().filter(|c| !c.is_control() || *c == '\n').take(4000).collect();
    let first = clean.lines().next().unwrap_or_default().trim();
    let subject: String = first.chars().take(72).collect();
    let body = if clean.trim() == subject { String::new() } else { format!("\n\n{}", clean.trim()) };
    format!("{subject}{body}\n\nTask: {}\n", contract.task_id)
}

/// Commits these paths of the user's working tree: in `breezing` on the branch of the task, which is not checked out, else on the
/// branch that the user is on.
fn commit(contract: &Contract, root: &Path, paths: &[PathBuf], message: &str) -> Result<String> {
    let target: Option<&CommitTarget> = contract.commit_target.as_ref();
    let repository = target.map_or_else(|| root.to_path_buf(), |target| root.join(&target.repo_root));
    let branch = match (contract.mode, target) {
        (WorkMode::Breezing, _) => Some(format!("harness-work/{}", contract.task_id)),
        (_, Some(target)) => Some(target.branch.clone()),
        (_, None) => None,
    };
    let below = |path: &PathBuf| {
        let whole = root.join(path);
        whole.strip_prefix(&repository).map(Path::to_path_buf).ok()
    };
    let paths: Vec<PathBuf> = paths.iter().filter_map(below).collect();
    if paths.is_empty() {
        bail!("nothing of it belongs to {}", repository.display());
    }
    let git = |args: &[&str], paths: &[PathBuf], index: Option<&Path>| -> Result<String> {
        let mut command = git::committing(&repository);
        command.args(args);
        if !paths.is_empty() {
            command.arg("--").args(paths);
        }
        if let Some(index) = index {
            command.env("GIT_INDEX_FILE", index);
        }
        let done = git::run(command)?;
        Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned())
    };
    let commit_here = || {
        if git(&["diff", "--cached", "--quiet"], &paths, None).is_err() {
            bail!("you have staged changes of the same files: commit them by hand");
        }
        // New files first: a commit of single paths takes only what git knows.
        git(&["add", "--all"], &paths, None)?;
        if let Err(error) = git(&["commit", "--quiet", "--no-verify", "--only", "-m", message], &paths, None)
        {
            // What could not be committed is not left in the index of the user.
            let _ = git(&["reset", "--quiet"], &paths, None);
            return Err(error);
        }
        git(&["rev-parse", "HEAD"], &[], None)
    };
    let Some(branch) = branch else { return commit_here() };
    let reference = format!("refs/heads/{branch}");
    if git(&["symbolic-ref", "--quiet", "HEAD"], &[], None).is_ok_and(|head| head == reference) {
        return commit_here();
    }
    let tip = git(&["rev-parse", "--verify", "--quiet", &reference], &[], None);
    let parent = match &tip {
        Ok(tip) => tip.clone(),
        Err(_) => git(&["rev-parse", "HEAD"], &[], None)?,
    };
    let scratch = tempfile::Builder::new().prefix("aw-index-").tempdir()?;
    let index = scratch.path().join("index");
    git(&["read-tree", &parent], &[], Some(&index))?;
    git(&["add", "--all"], &paths, Some(&index))?;
    let tree = git(&["write-tree"], &[], Some(&index))?;
    let id = git(&["commit-tree", &tree, "-p", &parent, "-m", message], &[], None)?;
    let old = tip.unwrap_or_default();
    let expected = if old.is_empty() { "0".repeat(id.len()) } else { old };
    git(&["update-ref", "-m", "work", &reference, &id, &expected], &[], None)?;
    Ok(id)
}
