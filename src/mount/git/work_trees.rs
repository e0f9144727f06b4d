//! Where the files of a mount's repositories are: beside the `.git`, and elsewhere if git says so. The place of the metadata tells
//! nothing: that of a submodule or a linked worktree is in another repository. It runs no git.

use super::config_file::settings;
use super::repository::{LARGEST_POINTER, LARGEST_SETTINGS, Repository};
use crate::files::regular;
use crate::model::mount_record::{GitRecord, MountRecord};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// More linked worktrees of one repository are not looked at.
const MOST_WORKTREES: usize = 256;

/// The work tree that a repository was found at, relative to the root; `None` if that cannot be said.
pub(super) fn own(record: &MountRecord, git: &GitRecord) -> Option<PathBuf> {
    let is_inside = |path: &Path| path.components().all(|part| matches!(part, Component::Normal(_)));
    match &git.work_tree {
        Some(path) => is_inside(path).then(|| path.0.clone()),
        // A record of an older version.
        None => said_by_git(record, git),
    }
}

/// A directory with the files of a repository.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WorkTree {
    /// Relative to the root.
    pub(super) path: PathBuf,
    /// The `HEAD` of these files is there.
    pub(super) git_dir: PathBuf,
}

/// Every work tree in the root that the commits of a repository may get to; none if that cannot be said.
pub(super) fn of(record: &MountRecord, git: &GitRecord) -> Vec<WorkTree> {
    let mut found = Vec::new();
    let mut add = |path: PathBuf, git_dir: &Path| found.push(WorkTree { path, git_dir: git_dir.to_owned() });
    for one in record.git.iter().filter(|other| other.common_dir == git.common_dir) {
        let Some(path) = own(record, one) else { return Vec::new() };
        add(path, &one.git_dir);
        for path in named_in(&one.git_dir).into_iter().filter_map(|dir| inside(record, &dir)) {
            add(path, &one.git_dir);
        }
    }
    let linked = std::fs::read_dir(git.common_dir.join("worktrees")).into_iter().flatten().flatten();
    for git_dir in linked.take(MOST_WORKTREES).map(|entry| entry.path()) {
        if let Some(path) = linked_to(&git_dir).and_then(|dir| inside(record, &dir)) {
            add(path, &git_dir);
        }
    }
    found.sort();
    found.dedup();
    found
}

/// What `core.worktree` names, as absolute directories.
pub(super) fn named_in(git_dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for name in ["config", "config.worktree"] {
        let text = regular::read(&git_dir.join(name), LARGEST_SETTINGS).unwrap_or_default();
        for (key, value) in settings(&String::from_utf8_lossy(&text)) {
            if key == "core.worktree"
                && let Ok(dir) = git_dir.join(value).canonicalize()
            {
                found.push(dir);
            }
        }
    }
    found
}

fn said_by_git(record: &MountRecord, git: &GitRecord) -> Option<PathBuf> {
    let is_of_root = Repository::at(&record.root).is_some_and(|found| found.git_dir == git.git_dir.0);
    if is_of_root {
        return Some(PathBuf::new());
    }
    let beside = git.git_dir.parent().filter(|_| git.git_dir.ends_with(".git"));
    let dirs = beside.map(Path::to_owned).into_iter();
    let dirs = dirs.chain(linked_to(&git.git_dir)).chain(named_in(&git.git_dir));
    dirs.into_iter().find_map(|dir| inside(record, &dir))
}

/// The work tree of a linked worktree's git directory.
fn linked_to(git_dir: &Path) -> Option<PathBuf> {
    let text = regular::read(&git_dir.join("gitdir"), LARGEST_POINTER).ok()?;
    let pointer = git_dir.join(OsStr::from_bytes(text.trim_ascii_end()));
    pointer.parent()?.canonicalize().ok()
}

fn inside(record: &MountRecord, dir: &Path) -> Option<PathBuf> {
    let root = record.root.canonicalize().ok()?;
    let found = dir.strip_prefix(&record.root).or_else(|_| dir.strip_prefix(&root)).ok()?;
    Some(found.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::mount::{Backend, Sandbox};
    use crate::model::mount_record::Instant;
    use std::fs;

    #[test]
    fn an_old_record_is_read_with_what_git_says() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let never = Instant { seconds: 0, nanos: 0 };
        let mut record = MountRecord::bare(Backend::Overlay, Sandbox::Off, root.clone().into(), never);
        let git = |git_dir: &str, common_dir: &str, work_tree: Option<&str>| GitRecord {
            git_dir: root.join(git_dir).into(),
            common_dir: root.join(common_dir).into(),
            data: "upper/.git".into(),
            work_tree: work_tree.map(Into::into),
            outside: Vec::new(),
            skip_worktree: Vec::new(),
            excluded: Vec::new(),
        };
        for path in [".git/modules/name", ".git/worktrees/w", "lib", "wt/feature", "elsewhere"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        fs::write(root.join(".git/modules/name/config"), "[core]\n\tworktree = ../../../lib\n").unwrap();
        let pointer = root.join("wt/feature/.git");
        fs::write(root.join(".git/worktrees/w/gitdir"), format!("{}\n", pointer.display())).unwrap();
        let (module, linked) = (".git/modules/name", ".git/worktrees/w");
        for (git_dir, common_dir, said, expected) in [
            (".git", ".git", None, Some("")),
            ("vendor/.git", "vendor/.git", None, Some("vendor")),
            (module, module, None, Some("lib")),
            (linked, ".git", None, Some("wt/feature")),
            ("elsewhere", "elsewhere", None, None),
            ("elsewhere", "elsewhere", Some("apart"), Some("apart")),
            ("elsewhere", "elsewhere", Some("../apart"), None),
        ] {
            let found = own(&record, &git(git_dir, common_dir, said));
            assert_eq!(found.as_deref(), expected.map(Path::new), "{git_dir}");
        }
        record.git = vec![git(".git", ".git", Some("")), git(module, module, Some("lib"))];
        let trees = |at: usize| -> Vec<PathBuf> {
            of(&record, &record.git[at]).into_iter().map(|tree| tree.path).collect()
        };
        assert_eq!(trees(0), [PathBuf::new(), "wt/feature".into()]);
        assert_eq!(trees(1), [PathBuf::from("lib")]);
        // One that is not known leaves the others in doubt.
        record.git.push(git("elsewhere", ".git", None));
        assert_eq!(of(&record, &record.git[0]), []);
    }
}
