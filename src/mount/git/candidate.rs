//! Refs of the agent's that may reach commits which the real repository does not have: branches, tags, any other ref, and the `HEAD`
//! of each of its worktrees. It reads files and runs no git.

use super::refs::{self, Found};
use super::reftable::{self, Tables};
use crate::model::mount_record::GitRecord;
use crate::mount::fs::tree::{self, Tree};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const BRANCHES: &[u8] = b"refs/heads/";
/// What a fetch brings; it can be fetched again.
const FETCHED: &[u8] = b"refs/remotes/";
/// It is not a commit for anybody else, and stays in the session.
const STASH: &[u8] = b"refs/stash";
const REPLACED: &[u8] = b"refs/replace/";
/// Linked worktrees that are looked at.
const MOST_WORKTREES: usize = 4096;
/// Tips of fetched branches that are told to git.
const MOST_FETCHED: usize = 1000;

/// A ref, or a `HEAD`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    /// A branch by its name, anything else with its kind: `tags/v1`, `worktrees/x`.
    pub(super) name: OsString,
    /// What a ref of ours for it is called in the session's own directory of refs.
    pub(super) reference: OsString,
    /// Empty for one that stands for refs that cannot be read.
    pub(super) tip: String,
    /// Why there may be refs that are not known.
    pub(super) unread: Option<String>,
    /// Commits that a branch reaches, or that were fetched, are none of its own.
    pub(super) is_branch: bool,
}

impl Candidate {
    fn branch(name: &OsStr, tip: String) -> Candidate {
        let mut reference = OsString::from("heads/");
        reference.push(name);
        Candidate { name: name.to_owned(), reference, tip, unread: None, is_branch: true }
    }

    fn other(name: OsString, tip: String) -> Candidate {
        Candidate { reference: name.clone(), name, tip, unread: None, is_branch: false }
    }

    fn unread(reason: &str) -> Candidate {
        let reason = format!("not all of the agent's refs can be read: {reason}");
        Candidate { unread: Some(reason), ..Candidate::other("refs".into(), String::new()) }
    }
}

#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// Branches first.
    pub(super) found: Vec<Candidate>,
    /// Where remote branches are that the agent fetched.
    pub(super) fetched: Vec<String>,
}

/// Refs of the agent's that are not where the real ones are.
pub(super) fn candidates(repository: &GitRecord, agents: &Tree) -> Candidates {
    let real = Tree::open(&repository.common_dir).ok();
    let top = Path::new("");
    let known = real.as_ref().map(known).unwrap_or_default();
    let Found { refs: mut all, mut unread } = refs::all(agents);
    // What the user has like that says nothing about the agent.
    unread.retain(|reason| !known.unread.contains(reason));
    let own = repository.git_dir.strip_prefix(&repository.common_dir).unwrap_or(top);
    let detached = |unread: &mut BTreeSet<String>, heads: &[PathBuf]| {
        refs::detached_head(agents, heads).unwrap_or_else(|reason| {
            unread.insert(reason);
            None
        })
    };
    let mut head = detached(&mut unread, &[own.join("HEAD"), PathBuf::from("HEAD")]);
    let mut others = Vec::new();
    for dir in worktrees(agents, own, &mut unread) {
        let tables = reftable::tables(agents, real.as_ref(), &dir).transpose().unwrap_or_else(|reason| {
            unread.insert(reason);
            None
        });
        let Tables { refs: in_tables, head } = tables.unwrap_or_default();
        let head = detached(&mut unread, &[dir.join("HEAD")]).or(head);
        others.extend(head.map(|tip| Candidate::other(dir.clone().into_os_string(), tip)));
        let found = refs::of_worktree(agents, &dir);
        unread.extend(found.unread);
        for (name, tip) in found.refs.into_iter().chain(in_tables) {
            others.push(Candidate::other(dir.join(below_refs(&name)).into_os_string(), tip));
        }
    }
    match reftable::tables(agents, real.as_ref(), top) {
        Some(Ok(tables)) => {
            all.extend(tables.refs);
            head = head.or(tables.head);
        }
        Some(Err(reason)) => {
            unread.insert(format!("they are in a reftable that cannot be read: {reason}"));
        }
        None => {}
    }
    if own != top
        && let Some(Ok(Tables { head: tip, .. })) = reftable::tables(agents, real.as_ref(), own)
    {
        head = head.or(tip);
    }
    let mut candidates = Candidates::default();
    for (name, tip) in all.into_iter().filter(|(name, tip)| known.refs.get(name) != Some(tip)) {
        let bytes = name.as_bytes();
        if let Some(branch) = bytes.strip_prefix(BRANCHES) {
            candidates.found.push(Candidate::branch(OsStr::from_bytes(branch), tip));
        } else if bytes.starts_with(FETCHED) {
            candidates.fetched.push(tip);
        } else if bytes != STASH {
            others.push(Candidate::other(below_refs(&name).to_owned(), tip));
        }
    }
    candidates.fetched.truncate(MOST_FETCHED);
    if let Some(tip) = head
        && !candidates.found.iter().any(|known| known.tip == tip)
    {
        candidates.found.push(Candidate::branch(OsStr::new("detached"), tip));
    }
    candidates.found.extend(others);
    candidates.found.extend(unread.first().map(|reason| Candidate::unread(reason)));
    candidates
}

/// Whether the agent's side has a stash that the real one does not have, or may have one.
pub(crate) fn has_new_stash(agents: &Tree, real: &Tree) -> bool {
    let stash = |found: &Found| found.refs.get(OsStr::from_bytes(STASH)).cloned();
    let ours = stash(&refs::all(agents));
    ours.is_some() && ours != stash(&refs::all(real)) || reftable::has_new_stash(agents, real)
}

/// Whether the agent has objects shown in place of others (`refs/replace`) that the real side does not, or may have.
pub(crate) fn replaces_objects(agents: &Tree, real: &Tree) -> bool {
    let known = known(real);
    let Found { refs: mut all, unread } = refs::all(agents);
    match reftable::tables(agents, Some(real), Path::new("")) {
        Some(Ok(tables)) => all.extend(tables.refs),
        Some(Err(_)) => return true,
        None => {}
    }
    let is_new =
        |name: &OsStr, tip| name.as_bytes().starts_with(REPLACED) && known.refs.get(name) != Some(tip);
    all.iter().any(|(name, tip)| is_new(name, tip))
        || unread.iter().any(|reason| !known.unread.contains(reason))
}

fn known(real: &Tree) -> Found {
    let mut known = refs::all(real);
    if let Some(Ok(tables)) = reftable::tables(real, None, Path::new("")) {
        known.refs.extend(tables.refs);
    }
    known
}

/// `tags/v1` of `refs/tags/v1`.
fn below_refs(name: &OsStr) -> &OsStr {
    OsStr::from_bytes(name.as_bytes().strip_prefix(b"refs/").unwrap_or(name.as_bytes()))
}

/// The git directories of linked worktrees that the agent's side has something of, without the mount's own.
fn worktrees(agents: &Tree, own: &Path, unread: &mut BTreeSet<String>) -> Vec<PathBuf> {
    let top = Path::new("worktrees");
    let Ok(dir) = agents.open_dir(top) else {
        if refs::is_odd(agents, top) {
            unread.insert("worktrees is not a directory that can be read".to_owned());
        }
        return Vec::new();
    };
    let names = tree::list(dir.as_fd()).unwrap_or_default();
    if names.len() > MOST_WORKTREES {
        unread.insert(format!("there are more than {MOST_WORKTREES} worktrees"));
    }
    names.into_iter().take(MOST_WORKTREES).map(|name| top.join(name)).filter(|dir| dir != own).collect()
}
