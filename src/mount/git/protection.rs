//! Whether a branch of the agent's would bring what a review refuses: protected paths, injected files, what git ignores, takes
//! settings from or runs, directories that git takes for repositories. It reads names alone and exports nothing.

use super::git_directory::{GitDirectories, MARKS};
use super::refs::read;
use super::repository::{LARGEST_POINTER, Repository};
use super::work_trees::WorkTree;
use super::{settings_now, work_trees};
use crate::files::regular;
use crate::git::{self, Limits};
use crate::model::mount::{Effect, PathRule};
use crate::model::mount_record::{GitRecord, MountRecord};
use crate::mount::fs::tree::Tree;
use crate::rules::layer::folded;
use crate::rules::{PathRules, Visibility};
use crate::tool;
use anyhow::{Context, anyhow, bail};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const TIME_OF_ONE: Duration = Duration::from_secs(20);
/// Changes of a branch that are looked at, in bytes of output: of all commits, and of names that are not the same.
const MOST_PATHS: u64 = 64 << 20;
const MOST_OF_BRANCH: usize = 64 << 20;
/// Arguments of one git command, in bytes.
const BATCH_BYTES: usize = 64 * 1024;
/// Branches of earlier sessions that a half of a repository is compared with.
const MOST_KEPT: usize = 256;

/// The new commits of a branch.
pub(super) struct Brought<'a> {
    pub(super) repository: &'a GitRecord,
    /// The agent's side of it.
    pub(super) agents: &'a Tree,
    pub(super) branch: &'a OsStr,
    pub(super) tip: &'a str,
    /// Newest first.
    pub(super) commits: &'a [String],
    /// A git command that sees them.
    pub(super) git: &'a dyn Fn() -> Command,
    /// When looking at them ends, whatever is left.
    pub(super) until: Instant,
}

impl Brought<'_> {
    /// For the next command.
    fn limits(&self) -> anyhow::Result<Limits> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            bail!("there was no time to look at all of its commits");
        }
        Ok(Limits { time: left.min(TIME_OF_ONE), output: MOST_PATHS })
    }

    /// Whether the branch is checked out in a linked worktree, by the user or the agent.
    fn is_checked_out(&self, git_dir: &Path) -> bool {
        let real = regular::read(&git_dir.join("HEAD"), LARGEST_POINTER).ok();
        let own = git_dir.strip_prefix(&self.repository.common_dir).ok();
        let agents = own.and_then(|own| read(self.agents, &own.join("HEAD"))).map(String::into_bytes);
        let names = |head: Vec<u8>| {
            let name = head.trim_ascii_end().strip_prefix(b"ref: refs/heads/");
            // With reftable the file says nothing.
            name == Some(self.branch.as_bytes()) || name == Some(b".invalid")
        };
        real.is_some_and(names) || agents.is_some_and(names)
    }
}

/// A path that must not come into the project, and the first commit that changes it.
pub(super) struct Refused {
    pub(super) commit: String,
    pub(super) path: PathBuf,
    pub(super) rule: Option<PathRule>,
    pub(super) reason: String,
}

pub(super) struct Protection<'a> {
    record: &'a MountRecord,
    rules: &'a [PathRule],
    /// Names of the branches so far that are parts of a repository: each branch may have a half of it.
    marks: HashSet<Vec<u8>>,
}

/// Something that the commits of a branch change.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Changed {
    /// As the repository names it; later its place below the root.
    path: PathBuf,
    /// A file or link; not something deleted, and not the commit of a submodule.
    is_entry: bool,
}

/// With the number of the first commit that changes it.
type List = Vec<(Changed, usize)>;

impl<'a> Protection<'a> {
    pub(super) fn new(record: &'a MountRecord, rules: &'a [PathRule]) -> Protection<'a> {
        Protection { record, rules, marks: HashSet::new() }
    }

    pub(super) fn first_refused(&mut self, brought: &Brought<'_>) -> anyhow::Result<Option<Refused>> {
        let trees = work_trees::of(self.record, brought.repository);
        if trees.is_empty() {
            bail!("it is not known where its files are");
        }
        let changed = changed(brought)?;
        let paths: Vec<PathBuf> =
            trees.iter().flat_map(|tree| changed.iter().map(|(one, _)| tree.path.join(&one.path))).collect();
        let list = settings_now::with_rules(self.record, self.rules, paths.iter().map(PathBuf::as_path));
        let rules = PathRules::compile(&list).map_err(|error| anyhow!("{error}"))?;
        // Another worktree that is protected as a whole says nothing about a branch that is not in it.
        let trees: Vec<WorkTree> = trees
            .into_iter()
            .filter(|tree| {
                [&*brought.repository.git_dir, &*brought.repository.common_dir]
                    .contains(&tree.git_dir.as_path())
                    || rules.decide(&tree.path, true).visibility == Visibility::Writable
                    || brought.is_checked_out(&tree.git_dir)
            })
            .collect();
        let ignored = self.first_ignored(brought, &trees, &changed)?;
        let trees: Vec<PathBuf> = trees.into_iter().map(|tree| tree.path).collect();
        let place = |tree: &PathBuf, one: &Changed| Changed { path: tree.join(&one.path), ..one.clone() };
        let places: List = changed
            .iter()
            .flat_map(|(one, commit)| trees.iter().map(move |tree| (place(tree, one), *commit)))
            .collect();
        self.marks.extend(places.iter().flat_map(|(one, _)| marks_on(&one.path)));
        let refused = |(path, commit): (PathBuf, usize), reason: &str, rule| Refused {
            commit: brought.commits[commit].clone(),
            path,
            rule,
            reason: reason.to_owned(),
        };
        if let Some((found, rule)) = self.first_protected(&places, &list, &rules) {
            return Ok(Some(refused(found, "it changes a path that is protected", rule)));
        }
        if let Some(found) = ignored {
            return Ok(Some(refused(found, "it changes a path that git ignores", None)));
        }
        let found = self.first_in_git_directory(brought, &trees, &changed, &places)?;
        let reason = "it changes a directory that git takes for a repository";
        Ok(found.map(|found| refused(found, reason, None)))
    }

    /// The first path that a rule protects, or that we injected.
    fn first_protected(
        &self,
        places: &List,
        list: &[PathRule],
        rules: &PathRules,
    ) -> Option<((PathBuf, usize), Option<PathRule>)> {
        let injected: HashSet<&Path> =
            self.record.injected.iter().map(|injected| injected.path.0.as_path()).collect();
        let closed = self.record.hidden.iter().filter(|hidden| hidden.rule.source.is_of_one_path());
        let closed: HashMap<&Path, &PathRule> =
            closed.map(|hidden| (hidden.path.0.as_path(), &hidden.rule)).collect();
        for (one, commit) in places {
            let path = one.path.as_path();
            let decision = rules.decide(path, false);
            let leads_to = rules.layer_below(path).filter(|&rule| {
                one.is_entry && list.get(rule).is_some_and(|rule| rule.effect == Effect::Readonly)
            });
            let is_protected = decision.visibility != Visibility::Writable || leads_to.is_some();
            let rule = leads_to.or(decision.rule.filter(|_| is_protected));
            let mut rule = rule.and_then(|index| list.get(index));
            if !closed.is_empty() {
                rule = rule.or_else(|| path.ancestors().find_map(|above| closed.get(above).copied()));
            }
            if is_protected || rule.is_some() || injected.contains(path) {
                return Some(((path.to_owned(), *commit), rule.cloned()));
            }
        }
        None
    }

    /// The first path that git ignores in a work tree, and that is not tracked there. A review leaves such changes out; git
    /// would overwrite what the user has there, because it takes ignored files for expendable.
    fn first_ignored(
        &self,
        brought: &Brought<'_>,
        trees: &[WorkTree],
        changed: &List,
    ) -> anyhow::Result<Option<(PathBuf, usize)>> {
        for tree in trees {
            let repository = Repository {
                work_tree: self.record.root.join(&tree.path),
                git_dir: tree.git_dir.clone(),
                common_dir: brought.repository.common_dir.0.clone(),
            };
            if !repository.work_tree.is_dir() {
                continue;
            }
            let paths = changed.iter().map(|(one, _)| one.path.as_path());
            let ignored: HashSet<PathBuf> = repository.expendable(paths)?.into_iter().collect();
            if let Some((one, commit)) = changed.iter().find(|(one, _)| ignored.contains(&one.path)) {
                return Ok(Some((tree.path.join(&one.path), *commit)));
            }
        }
        Ok(None)
    }

    /// The first path in a directory that git would take for a repository, by what the branches, the project and earlier sessions
    /// have of it. Whatever a commit has is in the tip, or changed by a later one.
    fn first_in_git_directory(
        &self,
        brought: &Brought<'_>,
        trees: &[PathBuf],
        changed: &List,
        places: &List,
    ) -> anyhow::Result<Option<(PathBuf, usize)>> {
        let directories: BTreeSet<&Path> =
            changed.iter().flat_map(|(one, _)| one.path.ancestors().skip(1)).collect();
        let in_tree = |found: Vec<PathBuf>| -> Vec<Vec<u8>> {
            let in_trees = found.iter().flat_map(|name| trees.iter().map(move |tree| tree.join(name)));
            in_trees.map(|path| folded(path.as_os_str()).into_owned()).collect()
        };
        let mut marks: HashSet<Vec<u8>> =
            in_tree(marks_of(brought, brought.tip, &directories)?).into_iter().collect();
        let has = |marks: &HashSet<Vec<u8>>, path: &Path| {
            let name = folded(path.as_os_str());
            self.marks.contains(&*name)
                || marks.contains(&*name)
                || self.record.root.join(path).symlink_metadata().is_ok()
        };
        // Only where something is there already can an earlier session have the rest.
        let halves: BTreeSet<&Path> = directories
            .into_iter()
            .filter(|dir| {
                trees.iter().any(|tree| MARKS.iter().any(|mark| has(&marks, &tree.join(dir).join(mark))))
            })
            .collect();
        if !halves.is_empty() {
            for tip in kept_tips(brought)? {
                marks.extend(in_tree(marks_of(brought, &tip, &halves)?));
            }
        }
        let mut directories = GitDirectories::new(|path| has(&marks, path));
        let found = places.iter().find(|(one, _)| directories.around(&one.path).is_some());
        Ok(found.map(|(one, commit)| (one.path.clone(), *commit)))
    }
}

/// The parts of a path that may make a directory a repository.
fn marks_on(path: &Path) -> impl Iterator<Item = Vec<u8>> {
    let is_mark = |name: &OsStr| MARKS.iter().any(|mark| folded(name).eq_ignore_ascii_case(mark.as_bytes()));
    let parts = path.ancestors().filter(move |part| part.file_name().is_some_and(is_mark));
    parts.map(|part| folded(part.as_os_str()).into_owned())
}

fn changed(brought: &Brought<'_>) -> anyhow::Result<List> {
    let other_way = "git lists changes in another way";
    let numbers: HashMap<&[u8], usize> =
        brought.commits.iter().enumerate().map(|(number, commit)| (commit.as_bytes(), number)).collect();
    let mut list = (brought.git)();
    list.args(["diff-tree", "--stdin", "-r", "-m", "--root", "--raw", "--no-abbrev", "--no-renames"]);
    list.args(["--no-ext-diff", "--no-textconv", "-z"]);
    // One command for all of them, the oldest first.
    let asked: String = brought.commits.iter().rev().flat_map(|commit| [commit.as_str(), "\n"]).collect();
    let input = tool::input(asked.as_bytes())?;
    let output = git::run_with(list, Some(input), brought.limits()?);
    let output = output.context("what its commits change cannot be listed")?.stdout;
    let (mut changed, mut seen, mut bytes) = (Vec::new(), HashSet::new(), 0);
    let mut pieces = output.split(|&byte| byte == 0).filter(|piece| !piece.is_empty());
    let mut at = None;
    while let Some(piece) = pieces.next() {
        // A commit, or `:100644 100755 OLD NEW M` and then the name.
        let Some(modes) = piece.strip_prefix(b":") else {
            at = Some(*numbers.get(piece).context(other_way)?);
            continue;
        };
        let mode = modes.split(|&byte| byte == b' ').nth(1).context(other_way)?;
        let name = pieces.next().context(other_way)?;
        let is_entry = ![b"000000", b"160000"].iter().any(|other| mode == *other);
        let one = Changed { path: OsString::from_vec(name.to_vec()).into(), is_entry };
        if seen.contains(&one) {
            continue;
        }
        bytes += name.len();
        if bytes > MOST_OF_BRANCH {
            bail!("its commits change more paths than are looked at");
        }
        seen.insert(one.clone());
        changed.push((one, at.context(other_way)?));
    }
    Ok(changed)
}

/// What a commit has in some directories of that which makes a directory a repository.
fn marks_of(
    brought: &Brought<'_>,
    commit: &str,
    directories: &BTreeSet<&Path>,
) -> anyhow::Result<Vec<PathBuf>> {
    let mut asked = directories.iter().flat_map(|dir| MARKS.map(|mark| dir.join(mark))).peekable();
    let mut found = Vec::new();
    while asked.peek().is_some() {
        let mut list = (brought.git)();
        list.args(["ls-tree", "-z", "--name-only", "--full-tree", commit, "--"]);
        let mut bytes = 0;
        while bytes < BATCH_BYTES
            && let Some(path) = asked.next()
        {
            bytes += path.as_os_str().len() + 1;
            list.arg(path);
        }
        found.extend(names(&git::run_with(list, None, brought.limits()?)?.stdout));
    }
    Ok(found)
}

/// Commits of the agents of all sessions.
fn kept_tips(brought: &Brought<'_>) -> anyhow::Result<BTreeSet<String>> {
    let mut list = (brought.git)();
    list.args(["for-each-ref", "--format=%(objectname)", "refs/agentworkforce/"]);
    let output = git::run_with(list, None, brought.limits()?)?.stdout;
    let tips: BTreeSet<String> = String::from_utf8_lossy(&output).lines().map(str::to_owned).collect();
    if tips.len() > MOST_KEPT {
        bail!(
            "it has a part of a repository, and there are too many refs/agentworkforce to look for the rest"
        );
    }
    Ok(tips)
}

fn names(output: &[u8]) -> impl Iterator<Item = PathBuf> {
    let names = output.split(|&byte| byte == 0).filter(|name| !name.is_empty());
    names.map(|name| PathBuf::from(OsString::from_vec(name.to_vec())))
}
