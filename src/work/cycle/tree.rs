//! The verifier alone: a working tree against a git ref, for a continuous integration. No session, no mount; commands run in copies.

use super::base;
use super::command_runner::CommandRunner;
use super::drive::empty_verdict;
use super::executions::{self, BaseRuns, Needs};
use super::holdout::Holdout;
use super::project;
use super::request::{FinishedWork, WorkEvent, WorkObserver, WorkRequest, exit_of};
use super::tree_copies::TreeCopies;
use crate::exit::Exit;
use crate::files::regular;
use crate::git;
use crate::host::Host;
use crate::model::change_kind::ChangeKind;
use crate::model::raw_path::RawPath;
use crate::model::settings::Settings;
use crate::model::verdict::Verdict;
use crate::mount::fs::stat::Kind;
use crate::mount::fs::tree::Tree;
use crate::run::base_files::texts;
use crate::work::contract::Scope;
use crate::work::evidence::{
    ChangeSet, ChangedFile, Evidence, FileState, GitFacts, HarnessEnd, LARGEST_TEXT, NamedCommit, Node,
    Testimony,
};
use crate::work::history::History;
use crate::work::signal::{is_noop, ruling, signal};
use crate::work::{testimony, verify, verify_code};
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const MOST_IGNORED: usize = 2000;

/// A working tree and the state to compare it with.
pub struct TreeRequest<'a> {
    pub host: &'a Host,
    pub settings: &'a Settings,
    pub work: &'a WorkRequest,
    /// The top of the working tree.
    pub root: &'a Path,
    pub reference: &'a str,
    pub report: Option<&'a Path>,
    /// Files that belong to the verification itself.
    pub own_files: &'a [PathBuf],
}

/// The top of the working tree around a directory.
pub fn top_of(directory: &Path) -> Result<PathBuf> {
    let said = git_text(directory, &["rev-parse", "--show-toplevel"])?;
    Ok(PathBuf::from(said))
}

/// The commit that a ref names.
pub fn commit_of(root: &Path, reference: &str) -> Result<String> {
    if reference.starts_with('-') {
        bail!("`{reference}` is not a git ref");
    }
    git_text(
        root,
        &["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{reference}^{{commit}}")],
    )
    .with_context(|| format!("there is no commit `{reference}`"))
}

/// Whether git knows a file of the working tree.
pub fn is_tracked(root: &Path, path: &Path) -> bool {
    let mut command = git::command(root);
    command.args(["ls-files", "--error-unmatch", "--"]).arg(path);
    git::run(command).is_ok()
}

/// Whether a commit has a link at a path.
pub fn is_link_at(root: &Path, commit: &str, path: &Path) -> bool {
    let mut command = git::command(root);
    command.env("GIT_LITERAL_PATHSPECS", "1").args(["ls-tree", "-z", "--full-tree", commit, "--"]).arg(path);
    git::run(command).is_ok_and(|done| done.stdout.starts_with(b"120000 "))
}

fn git_text(root: &Path, args: &[&str]) -> Result<String> {
    let mut command = git::command(root);
    command.args(args);
    Ok(String::from_utf8_lossy(&git::run(command)?.stdout).trim().to_owned())
}

fn git_paths(root: &Path, args: &[&str]) -> Result<Vec<PathBuf>> {
    let mut command = git::command(root);
    command.args(args);
    let done = git::run(command)?;
    let names = done.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(|name| PathBuf::from(OsStr::from_bytes(name).to_owned())).collect())
}

/// Verifies a working tree.
pub fn verify_tree(request: &TreeRequest<'_>, observer: &mut dyn WorkObserver) -> Result<FinishedWork> {
    let TreeRequest { host, settings, work, root, .. } = *request;
    let contract = &work.contract;
    let base_commit = commit_of(root, request.reference)?;
    let base_dir = export(root, &base_commit)?;
    let changes = change_set(request, &base_commit, base_dir.path())?;
    let testimony = testimony_of(request, &changes)?;
    let git = git_facts(root, &changes, &testimony);
    let names = git_paths(root, &["ls-tree", "-r", "-z", "--name-only", "--full-tree", &base_commit])?;
    let files: BTreeSet<String> =
        names.into_iter().filter_map(|name| name.into_os_string().into_string().ok()).collect();
    let plan_file = settings.plans_file().to_owned();
    let named: Vec<&str> =
        [Some(plan_file.as_str()), contract.spec_path.as_deref()].into_iter().flatten().collect();
    let read = |paths: &[&str], largest: u64| texts(base_dir.path(), paths.iter().copied(), largest);
    let base_value = base::base(files.clone(), &named, &changes, &read);
    let mut evidence = Evidence {
        contract: contract.clone(),
        harness: HarnessEnd::None,
        changes,
        base: base_value,
        testimony,
        events: Vec::new(),
        denied: Vec::new(),
        used_although_denied: Vec::new(),
        executions: Vec::new(),
        not_executed: None,
        git,
        outside: Vec::new(),
        sandbox: "off".to_owned(),
        uses_base: work.uses_base,
        plan_file: plan_file.clone(),
        tdd_enforced: settings.tdd.is_enforced(),
    };
    let scope = Scope::of(contract).with_plan_file(&plan_file);
    let allows = |path: &str| scope.allows(path);
    let cheap = verify::before_commands(&evidence, &allows);
    evidence.not_executed = verify::commands_are_useless(&cheap);
    if evidence.not_executed.is_none() {
        let old = verify_code::existing_tests_changed(&evidence.changes);
        let tests = verify_code::changed_tests(&evidence.changes);
        let wanted = verify_code::wanted_views(contract, &evidence.changes);
        let holdout = contract.holdout_path.as_ref().map(|path| Holdout::unread(root.join(path)));
        let setup = project::setup(contract, root, &evidence.changes);
        let base_setup = project::setup(contract, root, &ChangeSet::default());
        let is_of_project = |_: &Path| false;
        let mut tell = |execution: &_, command: &_| {
            observer.work(&WorkEvent::CommandEnded { command, execution });
        };
        let needs = Needs {
            contract,
            holdout: holdout.as_ref(),
            setup: &setup,
            base_setup: &base_setup,
            uses_base: work.uses_base,
            old: &old,
            tests: &tests,
            is_of_project: &is_of_project,
            tell: &mut tell,
        };
        let mut tree = TreeCopies {
            root: root.to_path_buf(),
            base: base_dir,
            changes: evidence.changes.clone(),
            host: host.clone(),
            logs: tempfile::Builder::new().prefix("aw-logs-").tempdir()?,
        };
        let mut known = BaseRuns::default();
        evidence.executions =
            executions::run(&mut CommandRunner::Tree(&mut tree), needs, &wanted, false, &mut known)?;
    }
    let code = verify_code::checks(&evidence);
    let checks = verify::verify(&evidence, &allows, code);
    let history = History::default();
    let signal = signal(&evidence, &checks, &history);
    let ruling = ruling(&evidence, &checks);
    let noop = is_noop(&evidence, &checks);
    let verdict = Verdict {
        persona: None,
        checks,
        signal,
        report: evidence.testimony.raw.clone(),
        ..empty_verdict(work, &history, ruling)
    };
    let value = serde_json::to_value(&verdict)?;
    Ok(FinishedWork {
        exit: exit_of(ruling, noop, Exit::Done),
        value,
        verdict,
        reason: None,
        executions: evidence.executions,
        contract: contract.clone(),
        commit: None,
    })
}

/// The files of a commit in a new directory.
fn export(root: &Path, commit: &str) -> Result<tempfile::TempDir> {
    let dir = tempfile::Builder::new().prefix("aw-base-").tempdir()?;
    let scratch = tempfile::Builder::new().prefix("aw-index-").tempdir()?;
    let index = scratch.path().join("index");
    let run = |args: &[&OsStr]| -> Result<()> {
        let mut command = git::command(root);
        command.args(args).env("GIT_INDEX_FILE", &index);
        git::run(command)?;
        Ok(())
    };
    run(&["read-tree".as_ref(), commit.as_ref()])?;
    let mut prefix = dir.path().as_os_str().to_owned().into_vec();
    prefix.splice(0..0, b"--prefix=".iter().copied());
    prefix.push(b'/');
    let prefix = std::ffi::OsString::from_vec(prefix);
    run(&["checkout-index".as_ref(), "--all".as_ref(), "--force".as_ref(), &prefix])?;
    Ok(dir)
}

/// What the working tree has that the base has not, and the other way round.
fn change_set(request: &TreeRequest<'_>, base: &str, base_dir: &Path) -> Result<ChangeSet> {
    let root = request.root;
    let (before_tree, after_tree) = (Tree::open(base_dir)?, Tree::open(root)?);
    let mut paths: BTreeSet<PathBuf> = BTreeSet::new();
    let diff = ["diff", "--no-ext-diff", "--no-renames", "--name-only", "-z", base];
    paths.extend(git_paths(root, &diff)?);
    paths.extend(git_paths(root, &["ls-files", "--others", "--exclude-standard", "-z"])?);
    let mut set = ChangeSet::default();
    for path in paths {
        if request.own_files.contains(&path) {
            continue;
        }
        let (before, after) = (state(&before_tree, &path)?, state(&after_tree, &path)?);
        if before == after {
            continue;
        }
        let kind = match (&before, &after) {
            (None, _) => ChangeKind::Added,
            (_, None) => ChangeKind::Deleted,
            (Some(before), Some(after)) if before.hash == after.hash => ChangeKind::Mode,
            _ => ChangeKind::Modified,
        };
        set.files.push(ChangedFile { path: RawPath(path), kind, renamed_from: None, before, after });
    }
    let ignored = ["ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"];
    let ignored = git_paths(root, &ignored)?;
    set.ignored = ignored.iter().take(MOST_IGNORED).map(|path| path.display().to_string()).collect();
    Ok(set)
}

/// What there is at a path, with the modes that git knows. As for git, nothing is below a link.
fn state(tree: &Tree, path: &Path) -> Result<Option<FileState>> {
    let unreadable = || format!("{} cannot be read", tree.path().join(path).display());
    let Some(stat) = tree.stat(path).with_context(unreadable)? else { return Ok(None) };
    match stat.kind {
        Kind::Symlink => {
            let target = PathBuf::from(tree.read_link(path).with_context(unreadable)?);
            let hash = blake3::hash(target.as_os_str().as_bytes()).to_hex().to_string();
            let size = target.as_os_str().len() as u64;
            return Ok(Some(FileState { node: Node::Link(RawPath(target)), mode: 0o777, hash, size }));
        }
        // A repository of its own.
        Kind::Dir => {
            let hash = String::new();
            return Ok(Some(FileState { node: Node::Directory, mode: 0o755, hash, size: 0 }));
        }
        Kind::Special => return Ok(None),
        Kind::File => {}
    }
    let (mut file, stat) = tree.open_file(path).with_context(unreadable)?;
    let mode = if stat.mode & 0o100 == 0 { 0o644 } else { 0o755 };
    let mut hasher = blake3::Hasher::new();
    let mut kept = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let length = file.read(&mut buffer)?;
        if length == 0 {
            break;
        }
        hasher.update(&buffer[..length]);
        if stat.size <= LARGEST_TEXT {
            kept.extend_from_slice(&buffer[..length]);
        }
    }
    let text = (stat.size <= LARGEST_TEXT).then(|| String::from_utf8(kept).ok()).flatten().map(Arc::from);
    let hash = hasher.finalize().to_hex().to_string();
    Ok(Some(FileState { node: Node::File(text), mode, hash, size: stat.size }))
}

fn testimony_of(request: &TreeRequest<'_>, changes: &ChangeSet) -> Result<Testimony> {
    let Some(path) = request.report else {
        return Ok(testimony::runner_report(&request.work.contract.task, "", changes));
    };
    let file = regular::open(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let bytes = regular::content(file, testimony::LARGEST_REPORT as u64 + 1)
        .unwrap_or_else(|_| vec![b' '; testimony::LARGEST_REPORT + 1]);
    // Whoever calls knows which report belongs to the work.
    Ok(testimony::collect(Some(&bytes), None, None))
}

fn git_facts(root: &Path, changes: &ChangeSet, testimony: &Testimony) -> GitFacts {
    let named = testimony.report.as_ref().and_then(|report| report.commit.clone());
    let named = named.filter(|name| !name.trim().is_empty() && !name.starts_with('-')).map(|name| {
        let id = commit_of(root, name.trim());
        let contains = |id: &String| {
            changes.files.iter().all(|file| {
                let object = format!("{id}:{}", file.name());
                let is_there = git_text(root, &["cat-file", "-e", &object]).is_ok();
                match file.after {
                    None => !is_there,
                    Some(_) => {
                        is_there && git_text(root, &["diff", "--quiet", id, "--", &file.name()]).is_ok()
                    }
                }
            })
        };
        let branch = id.as_ref().ok().and_then(|id| {
            let format = "--format=%(refname:short)";
            git_text(root, &["for-each-ref", "--contains", id, format, "refs/heads"]).ok()
        });
        NamedCommit {
            exists: id.is_ok(),
            contains_changes: id.as_ref().is_ok_and(contains),
            branch: branch.and_then(|all| all.lines().next().map(str::to_owned)),
            name,
        }
    });
    let mut nested = BTreeSet::new();
    for file in &changes.files {
        for above in file.path.0.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
            if root.join(above).join(".git").symlink_metadata().is_ok() {
                nested.insert(above.display().to_string());
            }
        }
    }
    GitFacts {
        is_repository: true,
        named,
        nested: nested.into_iter().collect(),
        has_superproject: git_text(root, &["rev-parse", "--show-superproject-working-tree"])
            .is_ok_and(|said| !said.is_empty()),
        ..GitFacts::default()
    }
}
