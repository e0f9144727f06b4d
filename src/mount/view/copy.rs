//! The copy backend: a tree in the session, reflinked if the filesystem supports it, otherwise copied, on all cores. What the rules hide
//! is not copied; but a copy is no sandbox, because the project stays reachable by its absolute path.

use super::bare_repositories::BareRepositories;
use super::git_marks::{GitMarks, repositories};
use super::inject::write_into;
use super::request::{OpenRequest, at, compile, injected_records, make_dir};
use super::setup_links::SetupLinks;
use crate::files::regular;
use crate::model::mount::{GitCredentials, PathRule};
use crate::model::mount_record::{GitRecord, LeftOut, LeftOutReason, MountRecord};
use crate::model::raw_path::RawPath;
use crate::mount::CrashPoints;
use crate::mount::fs::copy_file::{Copied, Copier};
use crate::mount::fs::walk::{Kind, Step, Visitor, threads, walk_below};
use crate::mount::git::clean_copy;
use crate::mount::git::copy::copy_repository;
use crate::mount::git::repository::{
    LARGEST_SETTINGS, Repository, Tracked, TrackedList, exclude_with, keep_marks_when_sparse,
};
use crate::mount::process::signals::SignalInbox;
use crate::mount::view::heavy::Heavy;
use crate::mount::view::scan_hidden::HiddenScan;
use crate::rules::Decision;
use crate::rules::quick::QuickRules;
use anyhow::Result;
use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Copies the project to `mount` in the session directory and completes the record.
pub(super) fn open_copy(request: &OpenRequest, record: &mut MountRecord) -> Result<()> {
    let root = &request.spec.root;
    let mount = request.session_dir.join("mount");
    make_dir(&mount).map_err(|error| at(&mount, error))?;
    let top = Repository::at(root);
    let tracked = top.as_ref().and_then(Repository::list_tracked);
    let compiled = compile(request.spec)?;
    let rules = QuickRules::new(&compiled, &request.spec.rules);
    let links = SetupLinks::new(root, &compiled);
    let bare = BareRepositories::new(root, request.spec.git_credentials);
    let heavy = Heavy::new(root, &request.spec.include)?;
    let found = gather(root, (&rules, &links, &bare), &request.spec.rules, &heavy, || {
        tracked.and_then(TrackedList::finish)
    })
    .map_err(|error| at(root, error))?;
    request.crash_points.at("copy: gathered");
    let results = copy_tree(request, &mount, &found).map_err(|error| at(&mount, error))?;
    request.crash_points.at("copy: files copied");
    let git = copy_repositories(request, &found, top, &mount).map_err(|error| at(&mount, error))?;
    request.crash_points.at("copy: git made private");
    for file in request.injected {
        write_into(&mount, file).map_err(|error| at(&mount.join(&file.path), error))?;
    }
    finish_dirs(root, &mount, &found.dirs).map_err(|error| at(&mount, error))?;
    request.crash_points.at("copy: directories finished");
    record.data = "mount".into();
    record.git = git;
    record.injected = injected_records(request);
    record.hidden = found.scan.hidden;
    record.layer_links = found.scan.layer_links;
    record.setup = found.scan.setup;
    record.skipped_special = found.special + results.special;
    record.outward_links = results.outward_links;
    record.left_out = found.left_out;
    record.left_out.extend(results.unreadable);
    record.left_out.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(())
}

/// What to copy. Paths are relative to the root.
#[derive(Default)]
struct Found {
    scan: HiddenScan,
    /// Parents before their content.
    dirs: Vec<PathBuf>,
    files: Vec<PathBuf>,
    symlinks: Vec<PathBuf>,
    special: u64,
    candidates: Vec<(PathBuf, Decision)>,
    left_out: Vec<LeftOut>,
    /// Why the root itself cannot be read.
    failed: Option<io::Error>,
    tracked: Option<Tracked>,
}

fn gather(
    root: &Path,
    (rules, links, bare): (&QuickRules, &SetupLinks, &BareRepositories),
    list: &[PathRule],
    heavy: &Heavy,
    tracked: impl FnOnce() -> Option<Tracked>,
) -> io::Result<Found> {
    let mut all = Found { dirs: vec![PathBuf::new()], ..Found::default() };
    let mut starts = vec![(PathBuf::new(), Decision::ROOT)];
    let mut tracked = Some(tracked);
    // Heavy directories that turn out to be wanted may hold others.
    while !starts.is_empty() {
        let visitors = (0..threads())
            .map(|_| Gather { rules, links, bare, list, heavy, found: Found::default() })
            .collect();
        for Gather { found, .. } in walk_below(root, std::mem::take(&mut starts), visitors)? {
            all.absorb(found);
        }
        if let Some(error) = all.failed.take() {
            return Err(error);
        }
        if all.candidates.is_empty() {
            break;
        }
        if let Some(tracked) = tracked.take() {
            all.tracked = tracked();
        }
        let candidates = std::mem::take(&mut all.candidates);
        let paths: Vec<PathBuf> = candidates.iter().map(|(path, _)| path.clone()).collect();
        let left_out = Heavy::left_out(root, &paths, all.tracked.as_ref());
        for (path, decision) in candidates {
            if left_out.binary_search(&path).is_ok() {
                all.left_out.push(LeftOut { path: path.into(), reason: LeftOutReason::HeavyIgnored });
            } else {
                all.dirs.push(path.clone());
                starts.push((path, decision));
            }
        }
    }
    if let Some(tracked) = tracked.take() {
        all.tracked = tracked();
    }
    all.dirs.sort();
    let closed: HashSet<&Path> = all.scan.unreadable().collect();
    all.dirs.retain(|dir| !closed.contains(dir.as_path()));
    all.scan.hidden.sort_by(|a, b| a.path.cmp(&b.path));
    all.scan.nested_repositories.sort();
    all.scan.layer_links.sort();
    all.scan.setup.sort();
    Ok(all)
}

impl Found {
    fn absorb(&mut self, other: Found) {
        self.scan.hidden.extend(other.scan.hidden);
        self.scan.nested_repositories.extend(other.scan.nested_repositories);
        self.scan.layer_links.extend(other.scan.layer_links);
        self.scan.setup.extend(other.scan.setup);
        self.dirs.extend(other.dirs);
        self.files.extend(other.files);
        self.symlinks.extend(other.symlinks);
        self.special += other.special;
        self.candidates.extend(other.candidates);
        self.left_out.extend(other.left_out);
        self.failed = self.failed.take().or(other.failed);
    }
}

struct Gather<'a> {
    rules: &'a QuickRules<'a>,
    links: &'a SetupLinks<'a>,
    bare: &'a BareRepositories<'a>,
    list: &'a [PathRule],
    heavy: &'a Heavy,
    found: Found,
}

impl Visitor for Gather<'_> {
    type State = Decision;

    fn entry(&mut self, parent: &Decision, path: &Path, kind: Kind) -> Step<Decision> {
        let is_dir = kind == Kind::Dir;
        self.found.scan.see(path, kind);
        let decision = self.rules.decide_child(parent, path, is_dir);
        if decision.is_hidden() {
            self.found.scan.hide(path, is_dir, &decision, self.list);
            return Step::Skip;
        }
        if self.links.must_be_hidden(path, kind, &decision) {
            self.found.scan.hide_stray(path, is_dir);
            return Step::Skip;
        }
        if self.found.scan.is_git_of_work_tree(path) {
            return Step::Skip;
        }
        if kind == Kind::File
            && let Some(rule) = self.bare.rule_for(path)
        {
            self.found.scan.hide_credentials(path, rule);
            return Step::Skip;
        }
        match kind {
            Kind::Dir if self.heavy.is_candidate(path) => {
                self.found.candidates.push((path.to_path_buf(), decision));
                return Step::Skip;
            }
            Kind::Dir => self.found.dirs.push(path.to_path_buf()),
            Kind::File => self.found.files.push(path.to_path_buf()),
            Kind::Symlink => self.found.symlinks.push(path.to_path_buf()),
            Kind::Special => self.found.special += 1,
        }
        Step::Descend(decision)
    }

    fn unreadable(&mut self, path: &Path, error: io::Error) {
        if path.as_os_str().is_empty() {
            self.found.failed = Some(error);
        } else if error.kind() != io::ErrorKind::NotFound {
            self.found.scan.hide_unreadable(path);
            self.found.left_out.push(LeftOut { path: path.into(), reason: LeftOutReason::Unreadable });
        }
    }
}

/// What only turned out during copying.
#[derive(Default)]
struct Results {
    special: u64,
    outward_links: Vec<RawPath>,
    unreadable: Vec<LeftOut>,
}

fn copy_tree(request: &OpenRequest, mount: &Path, found: &Found) -> io::Result<Results> {
    let (signals, crash_points) = (request.signals, request.crash_points);
    let (from, to) = (open_dir(&request.spec.root)?, open_dir(mount)?);
    for dir in found.dirs.iter().filter(|dir| !dir.as_os_str().is_empty()) {
        mkdirat(&to, dir, Mode::from_raw_mode(0o700))?;
        crash_points.at_each("copy: one directory");
    }
    let reflink = AtomicBool::new(true);
    let mut results = Results::default();
    let mut copier = Copier::new(&from, &to, &reflink);
    for path in &found.symlinks {
        match copier.symlink(path, path) {
            Ok(target) if leads_outside(path, &target) => results.outward_links.push(path.clone().into()),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(named(path, &error)),
            _ => {}
        }
    }
    let next = AtomicUsize::new(0);
    let shared = Mutex::new(&mut results);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads())
            .map(|_| {
                scope.spawn(|| {
                    let copier = Copier::new(&from, &to, &reflink);
                    copy_share(copier, &found.files, &next, &shared, signals, crash_points)
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a copy does not panic"))
    })?;
    results.outward_links.sort();
    Ok(results)
}

/// Takes files off the list until it is empty or the target fails.
fn copy_share(
    mut copier: Copier,
    files: &[PathBuf],
    next: &AtomicUsize,
    results: &Mutex<&mut Results>,
    signals: Option<&SignalInbox>,
    crash_points: &CrashPoints,
) -> io::Result<()> {
    const SHARE: usize = 32;
    loop {
        if signals.is_some_and(|signals| signals.asked_to_end().is_some()) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let start = next.fetch_add(SHARE, Ordering::Relaxed);
        if start >= files.len() {
            return Ok(());
        }
        for path in &files[start..(start + SHARE).min(files.len())] {
            let note = |add: &dyn Fn(&mut Results)| {
                add(&mut results.lock().expect("no thread panics with the lock"));
            };
            crash_points.at_each("copy: one file");
            match copier.file(path, path) {
                Ok(Copied::File) => {}
                Ok(Copied::Special) => note(&|results| results.special += 1),
                // Deleted or replaced by a link since it was listed: the user keeps working meanwhile.
                Err(error) if matches!(error.raw_os_error(), Some(2 | 20 | 40)) => {}
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    let left_out = LeftOut { path: path.clone().into(), reason: LeftOutReason::Unreadable };
                    note(&|results| results.unreadable.push(left_out.clone()));
                }
                Err(error) => {
                    next.store(files.len(), Ordering::Relaxed);
                    if signals.is_some_and(|signals| signals.asked_to_end().is_some()) {
                        return Err(io::ErrorKind::Interrupted.into());
                    }
                    return Err(named(path, &error));
                }
            }
        }
    }
}

fn finish_dirs(root: &Path, mount: &Path, dirs: &[PathBuf]) -> io::Result<()> {
    let (from, to) = (open_dir(root)?, open_dir(mount)?);
    let reflink = AtomicBool::new(false);
    let mut copier = Copier::new(&from, &to, &reflink);
    for dir in dirs.iter().rev() {
        let path = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
        match copier.finish_dir(path, path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(named(dir, &error)),
            _ => {}
        }
    }
    Ok(())
}

/// Whether a link leaves the copy: by an absolute path, or by more steps up than it has above it.
fn leads_outside(link: &Path, target: &Path) -> bool {
    let mut depth = link.components().count().saturating_sub(1);
    for part in target.components() {
        match part {
            Component::RootDir | Component::Prefix(_) => return true,
            Component::ParentDir if depth == 0 => return true,
            Component::ParentDir => depth -= 1,
            Component::CurDir => {}
            Component::Normal(_) => depth += 1,
        }
    }
    false
}

fn copy_repositories(
    request: &OpenRequest,
    found: &Found,
    top: Option<Repository>,
    mount: &Path,
) -> io::Result<Vec<GitRecord>> {
    let root = &request.spec.root;
    let mut records = Vec::new();
    for repository in repositories(root, top, &found.scan) {
        let relative = repository.work_tree.strip_prefix(root).unwrap_or(Path::new("")).to_path_buf();
        let work_tree = mount.join(&relative);
        let private = copy_repository(&repository, root, mount, &work_tree)?;
        let credentials = request.spec.git_credentials;
        if credentials == GitCredentials::Hide {
            clean_copy::clean(&private.git_dir, &[&repository.common_dir, &repository.git_dir])?;
        }
        let known = if relative.as_os_str().is_empty() { found.tracked.clone() } else { None };
        let marks = GitMarks::of(&repository, root, &found.scan, request.injected, credentials, || {
            known.or_else(|| repository.list_tracked().and_then(TrackedList::finish))
        });
        if !marks.skip.is_empty() {
            let index = private.git_dir.join("index");
            private.skip_worktree(&private.git_dir, &index, &marks.skip)?;
            for config in [private.git_dir.join("config"), private.git_dir.join("config.worktree")] {
                let text = regular::read(&config, LARGEST_SETTINGS).ok();
                if let Some(text) = text.and_then(|text| keep_marks_when_sparse(&text)) {
                    fs::write(&config, text)?;
                }
            }
        }
        if !marks.exclude.is_empty() {
            let exclude = private.common_dir.join("info/exclude");
            make_dir(&private.common_dir.join("info"))?;
            let text =
                exclude_with(&regular::read(&exclude, LARGEST_SETTINGS).unwrap_or_default(), &marks.exclude);
            fs::write(&exclude, text)?;
        }
        let data =
            private.common_dir.strip_prefix(request.session_dir).unwrap_or(&private.common_dir).to_path_buf();
        records.push(GitRecord {
            work_tree: repository.work_tree.strip_prefix(root).ok().map(RawPath::from),
            git_dir: repository.git_dir.into(),
            common_dir: repository.common_dir.into(),
            data: data.into(),
            outside: Vec::new(),
            skip_worktree: marks.skip.into_iter().map(RawPath).collect(),
            excluded: marks.exclude.into_iter().map(RawPath).collect(),
        });
    }
    Ok(records)
}

fn open_dir(path: &Path) -> io::Result<OwnedFd> {
    Ok(openat(CWD, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_judged_by_where_they_lead() {
        for (link, target, outside) in [
            ("a", "b", false),
            ("a", "../b", true),
            ("d/a", "../b", false),
            ("d/a", "../../b", true),
            ("a", "/etc", true),
            ("d/e/a", "../x/../../y", false),
        ] {
            assert_eq!(leads_outside(Path::new(link), Path::new(target)), outside, "{link} -> {target}");
        }
    }
}
