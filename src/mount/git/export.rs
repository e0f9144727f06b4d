//! Commits that the agent made in the mount become `refs/agentworkforce/<session>/heads/<branch>` of the real repository, or `tags/<tag>`
//! and the like if no branch reaches them.
//! The user's branches, index and `HEAD` are not touched, and no setting, hook or filter of the agent's is ever read.

use crate::git::{self, Limits};
use crate::host::interruption;
use crate::model::mount::PathRule;
use crate::model::mount_record::{GitRecord, MountRecord};
use crate::model::raw_path::RawPath;
use crate::mount::fs::tree::Tree;
use crate::mount::git::candidate::{Candidate, Candidates, candidates};
use crate::mount::git::protection::{Brought, Protection};
use crate::mount::git::quarantine::{Allowance, Quarantine};
use crate::mount::git::refs::object_name;
use crate::mount::git::work_trees;
use crate::tool::guard::Guard;
use crate::tool::{self, Finished};
use anyhow::{Context, anyhow, bail};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// More new commits on one branch than this are not listed one by one, and not exported without being looked at.
const MOST_COMMITS: usize = 5000;

/// Branches with new commits that are exported; more are held.
const MOST_BRANCHES: usize = 64;
/// Commits that a command names one by one.
const MOST_PICKED: usize = 50;
/// How long the agent's branches may take in sum, and one git command.
const TIME: Duration = Duration::from_mins(1);
const TIME_OF_ONE: Duration = Duration::from_secs(20);

/// What became of the agent's branches.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitExport {
    pub exported: Vec<ExportedBranch>,
    pub held: Vec<HeldBranch>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExportedBranch {
    /// The real repository.
    pub repository: RawPath,
    pub branch: RawPath,
    pub reference: RawPath,
    pub tip: String,
    /// Newest first.
    pub commits: Vec<Commit>,
    /// Paths that the commits change, and at which the project has something else: what the agent took back in its files, what was
    /// not applied, what was merged with the user's edits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differing: Vec<RawPath>,
    /// What takes the commits over after the files are applied, or shows them where they have something else.
    pub command: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Commit {
    pub id: String,
    pub author: String,
    pub subject: String,
}

/// Not exported; its objects stay in the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeldBranch {
    pub repository: RawPath,
    pub branch: RawPath,
    pub tip: String,
    pub reason: String,
    /// The commit and path that a rule protects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<RawPath>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<PathRule>,
}

/// The refs of the agent's that are not where the real ones are, by name; no git is run.
pub fn moved_refs(session: &Path, record: &MountRecord) -> Vec<String> {
    let mut moved = Vec::new();
    for repository in &record.git {
        let Ok(agents) = Tree::open(&session.join(&repository.data)) else { continue };
        let found = candidates(repository, &agents).found;
        moved.extend(found.iter().map(|candidate| candidate.name.to_string_lossy().into_owned()));
    }
    moved
}

/// Exports every branch on which the agent made commits. Can be repeated.
pub fn export(
    session: &Path,
    session_id: &str,
    record: &MountRecord,
    rules: &[PathRule],
) -> anyhow::Result<GitExport> {
    let mut protection = Protection::new(record, rules);
    let mut export = GitExport::default();
    let mut began = Instant::now();
    let mut allowance = Allowance::default();
    let mut taken: HashSet<(PathBuf, OsString)> = HashSet::new();
    for repository in &record.git {
        let Ok(agents) = Tree::open(&session.join(&repository.data)) else { continue };
        let scratch = tempfile::Builder::new().prefix("export-").tempdir_in(session)?;
        let Candidates { found, fetched } = candidates(repository, &agents);
        if found.is_empty() {
            continue;
        }
        let copying = Instant::now();
        let quarantine = Quarantine::new(repository, &agents, scratch.path(), &mut allowance)?;
        began += copying.elapsed();
        let job = Job { session_id, repository, record, quarantine };
        let mut nothing_new: HashSet<String> = HashSet::new();
        // Commits that more than one ref reaches are brought once: a tag of a branch, or of what was fetched, has none of its own.
        let mut reached = fetched;
        for mut candidate in found {
            if nothing_new.contains(&candidate.tip) {
                continue;
            }
            interruption::check()?;
            let reason = if candidate.unread.is_some() {
                candidate.unread.clone()
            } else if began.elapsed() > TIME {
                Some(format!("there was no time to look at it ({} s)", TIME.as_secs()))
            } else if export.exported.len() + export.held.len() >= MOST_BRANCHES {
                Some(format!("there are more than {MOST_BRANCHES} branches"))
            } else {
                None
            };
            if let Some(reason) = reason {
                export.held.push(job.held(&candidate, reason));
                continue;
            }
            // Two worktrees can be detached, and a branch can be called that.
            while taken.contains(&(repository.common_dir.0.clone(), candidate.reference.clone())) {
                candidate.reference.push("-2");
            }
            let reached_before = if candidate.is_branch { &[][..] } else { &reached[..] };
            match job.branch(&candidate, reached_before, &agents, &mut protection) {
                Ok(Some(outcome)) => {
                    match outcome {
                        Outcome::Exported(branch) => export.exported.push(branch),
                        Outcome::Held(branch) => export.held.push(*branch),
                    }
                    reached.push(candidate.tip);
                    taken.insert((repository.common_dir.0.clone(), candidate.reference));
                }
                Ok(None) => drop(nothing_new.insert(candidate.tip)),
                Err(error) => export.held.push(job.held(&candidate, job.quarantine.explain(&error))),
            }
        }
    }
    Ok(export)
}

enum Outcome {
    Exported(ExportedBranch),
    Held(Box<HeldBranch>),
}

pub(super) struct Job<'a> {
    pub(super) session_id: &'a str,
    pub(super) repository: &'a GitRecord,
    pub(super) record: &'a MountRecord,
    pub(super) quarantine: Quarantine,
}

impl Job<'_> {
    fn branch(
        &self,
        candidate: &Candidate,
        reached: &[String],
        agents: &Tree,
        protection: &mut Protection<'_>,
    ) -> anyhow::Result<Option<Outcome>> {
        let (branch, tip) = (candidate.name.as_os_str(), candidate.tip.as_str());
        let mut reference = OsString::from(format!("refs/agentworkforce/{}/", self.session_id));
        reference.push(&candidate.reference);
        let mut check = git::command(&self.repository.common_dir);
        check.arg("check-ref-format").arg(&reference);
        git::run(check).map_err(|_| anyhow!("its name is not valid"))?;
        // New is what no ref of the user's reaches; refs that we made ourselves do not count.
        let ours = format!("--exclude=refs/agentworkforce/{}/*", self.session_id);
        let mut list = self.git(true);
        list.args([
            "rev-list",
            "--topo-order",
            "--boundary",
            &format!("--max-count={}", MOST_COMMITS + 1),
            tip,
            "--not",
            &ours,
            "--all",
        ]);
        list.args(reached);
        // The boundary, marked with a dash, is where the user's history begins.
        let (known, commits): (Vec<String>, Vec<String>) =
            lines(&bounded(list)?.stdout).into_iter().partition(|line| line.starts_with('-'));
        if commits.is_empty() {
            return Ok(None);
        }
        if commits.len() > MOST_COMMITS {
            bail!("more than {MOST_COMMITS} new commits");
        }
        let git = || self.git(true);
        let brought = Brought {
            repository: self.repository,
            agents,
            branch,
            tip,
            commits: &commits,
            git: &git,
            until: Instant::now() + TIME,
        };
        if let Some(found) = protection.first_refused(&brought)? {
            let mut held = self.held(candidate, found.reason);
            (held.commit, held.path, held.rule) = (Some(found.commit), Some(found.path.into()), found.rule);
            return Ok(Some(Outcome::Held(Box::new(held))));
        }
        self.copy_objects(tip, &known)?;
        self.set_reference(&reference, tip)?;
        let start = self.start(tip);
        // What they bring themselves: they may begin at a branch that the user has and has not merged.
        let from = match known.as_slice() {
            [one] => Some(one.trim_start_matches('-')),
            _ => start.base.as_deref(),
        };
        let differing = self.differing(from, tip);
        let command = match &differing {
            Ok(differing) if differing.is_empty() => self.command(&start, &reference, tip, &commits),
            // Nobody is to take over what no review has shown.
            _ => self.log(&start, &reference, tip),
        };
        Ok(Some(Outcome::Exported(ExportedBranch {
            repository: self.repository.common_dir.clone(),
            branch: PathBuf::from(branch).into(),
            tip: tip.to_owned(),
            commits: self.describe(&commits)?,
            differing: differing.unwrap_or_default().into_iter().map(Into::into).collect(),
            command,
            reference: PathBuf::from(reference).into(),
        })))
    }

    /// Runs in the real repository; our copy of the agent's objects is visible if asked for. Nothing else of the agent's is.
    pub(super) fn git(&self, with_agents_objects: bool) -> Command {
        let mut command = git::command(&self.repository.common_dir);
        command.arg("--git-dir").arg(&self.repository.common_dir.0);
        Quarantine::limit(&mut command);
        if with_agents_objects {
            self.quarantine.add_to(&mut command);
        }
        command
    }

    /// As one pack that git itself checks object by object on the way in.
    fn copy_objects(&self, tip: &str, known: &[String]) -> anyhow::Result<()> {
        let mut pack = self.git(true);
        // Large files are not held in memory.
        pack.args(["-c", "core.bigFileThreshold=32m", "-c", "pack.windowMemory=64m"]);
        pack.args(["pack-objects", "--revs", "--stdout", "-q", "--delta-base-offset"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0);
        let mut pack = pack.spawn().context("cannot run git")?;
        tool::limit_memory(&pack, git::MEMORY);
        let guard = Guard::over(&pack, TIME);
        let mut input = pack.stdin.take().context("git takes no input")?;
        let known: Vec<&str> = known.iter().map(|commit| commit.trim_start_matches('-')).collect();
        let known = known.join("\n");
        let written = input.write_all(format!("{tip}\n--not\n{known}\n").as_bytes());
        drop(input);
        let mut index = self.git(false);
        index.args(["index-pack", "--stdin", "--strict", "--fix-thin"]);
        let objects = pack.stdout.take().context("git gives no output")?;
        let indexed = git::run_with(index, Some(objects.into()), Limits::default());
        let packed = pack.wait()?;
        guard.verdict(TIME)?;
        if !packed.success() || written.is_err() {
            bail!("its objects are not complete");
        }
        indexed.map(|_| ())
    }

    fn set_reference(&self, reference: &OsStr, tip: &str) -> anyhow::Result<()> {
        let mut update = self.git(false);
        update.arg("update-ref").arg("--no-deref").arg(reference).arg(tip);
        git::run(update).map(|_| ())
    }

    fn describe(&self, commits: &[String]) -> anyhow::Result<Vec<Commit>> {
        let mut show = self.git(false);
        show.args([
            "log",
            "--no-walk=unsorted",
            "--no-show-signature",
            "-z",
            "--format=%H%x1f%an%x1f%s",
            "--stdin",
        ]);
        let input = tool::input(commits.join("\n").as_bytes())?;
        let output = git::output_of(show, Some(input), Limits { time: TIME_OF_ONE, ..Limits::default() })?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let commit = |entry: &str| {
            let mut parts = entry.splitn(3, '\u{1f}').map(str::to_owned);
            Some(Commit { id: parts.next()?, author: parts.next()?, subject: parts.next()? })
        };
        let described: Vec<Commit> = text.split('\0').filter_map(commit).collect();
        if output.status.success() {
            return Ok(described);
        }
        // They are exported all the same, and so they are named.
        let bare = |id: &String| Commit { id: id.clone(), author: String::new(), subject: String::new() };
        Ok(commits.iter().map(bare).collect())
    }

    /// A reset when `HEAD` has not moved, a cherry-pick otherwise; a merge would refuse after an apply. It brings the commits that
    /// were judged and no others: the agent may have begun at a branch that the user has not merged.
    fn command(&self, start: &Start, reference: &OsStr, tip: &str, judged: &[String]) -> String {
        let name = quoted(reference, tip);
        let git = self.git_words();
        // Files that are applied are in the way of a cherry-pick, which brings them itself.
        let pick = |what: String| {
            format!("agentworkforce sessions undo {} && {git} cherry-pick {what}", self.session_id)
        };
        let one_by_one = || match judged {
            [_, .., _] if judged.len() > MOST_PICKED => format!("{git} log {name}"),
            _ => pick(judged.iter().rev().map(|id| &id[..12]).collect::<Vec<_>>().join(" ")),
        };
        let brings_more = |range: &str| {
            let mut count = self.git(false);
            count.args(["rev-list", "--count", range]);
            let count = bounded(count).ok().and_then(|done| lines(&done.stdout).first()?.parse().ok());
            count != Some(judged.len())
        };
        match (&start.head, &start.base) {
            (None, _) if brings_more(tip) => one_by_one(),
            (None, _) => format!("{git} reset {name}"),
            (_, Some(base)) if brings_more(&format!("{base}..{tip}")) => one_by_one(),
            (Some(head), Some(base)) if base == head => format!("{git} reset {name}"),
            (_, Some(base)) => pick(format!("{}..{name}", &base[..12])),
            (_, None) => pick(name),
        }
    }

    /// Shows the commits, and takes nothing over.
    fn log(&self, start: &Start, reference: &OsStr, tip: &str) -> String {
        let known = start.head.as_ref().map_or("", |_| "HEAD..");
        format!("{} log -p {known}{}", self.git_words(), quoted(reference, tip))
    }

    /// Where the user is now, and where the commits leave the user's history.
    fn start(&self, tip: &str) -> Start {
        let asked = |command| {
            let output = git::run(command).ok()?;
            object_name(&String::from_utf8_lossy(&output.stdout))
        };
        let mut head = git::command(&self.repository.git_dir);
        head.arg("--git-dir").arg(&self.repository.git_dir.0).args(["rev-parse", "--verify", "-q", "HEAD"]);
        let head = asked(head);
        let base = head.as_ref().and_then(|head| {
            let mut base = self.git(false);
            base.args(["merge-base", head, tip]);
            asked(base)
        });
        Start { head, base }
    }

    /// `git`, or `git -C DIR` for a repository that is not the project's own.
    fn git_words(&self) -> String {
        let below = work_trees::own(self.record, self.repository);
        match below.filter(|below| !below.as_os_str().is_empty() && self.record.root.join(below).is_dir()) {
            Some(below) => {
                let text = below.display().to_string();
                format!("git -C {}", shlex::try_quote(&text).unwrap_or_default())
            }
            None => "git".into(),
        }
    }

    fn held(&self, candidate: &Candidate, reason: String) -> HeldBranch {
        HeldBranch {
            repository: self.repository.common_dir.clone(),
            branch: PathBuf::from(&candidate.name).into(),
            tip: candidate.tip.clone(),
            reason,
            commit: None,
            path: None,
            rule: None,
        }
    }
}

struct Start {
    head: Option<String>,
    base: Option<String>,
}

/// A ref as a shell takes it; one that cannot be said to a shell by its commit.
fn quoted(reference: &OsStr, tip: &str) -> String {
    shlex::try_quote(&reference.to_string_lossy()).map_or_else(|_| tip.to_owned(), Into::into)
}

fn bounded(command: Command) -> anyhow::Result<Finished> {
    git::run_with(command, None, Limits { time: TIME_OF_ONE, ..Limits::default() })
}

pub(super) fn lines(bytes: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect()
}

#[cfg(test)]
#[path = "export_tests.rs"]
mod tests;
