//! The overlay backend: fills an upper directory with whiteouts for hidden paths, injected files and private git state.
//! Nothing is mounted here.

use super::git_marks::{GitMarks, repositories};
use super::inject::Upper;
use super::layout::private_dirs;
use super::request::{OpenRequest, at, compile, injected_records, make_dir};
use super::scan_hidden::{HiddenScan, scan_hidden};
use crate::model::mount_facts::OverlayWay;
use crate::model::mount_record::{GitRecord, MountRecord, PrivateDir, XattrNamespace};
use crate::model::raw_path::RawPath;
use crate::mount::git::repository::{Repository, TrackedList};
use anyhow::Result;
use std::io;
use std::path::PathBuf;

/// Fills `upper` in the session directory and completes the record.
pub(super) fn open_overlay(request: &OpenRequest, record: &mut MountRecord) -> Result<()> {
    let root = &request.spec.root;
    let rules = compile(request.spec)?;
    let repository = Repository::at(root);
    let tracked = repository.as_ref().and_then(Repository::list_tracked);
    let mut found = scan_hidden(root, &rules, &request.spec.rules, request.spec.git_credentials)
        .map_err(|error| at(root, error))?;
    let private = repositories(root, repository.clone(), &found);
    let git_dirs = private.iter().flat_map(|one| [one.common_dir.as_path(), one.git_dir.as_path()]);
    found.show_in(root, &git_dirs.collect::<Vec<_>>());
    request.crash_points.at("open: scanned");
    let (upper_dir, work) = (request.session_dir.join("upper"), request.session_dir.join("work"));
    make_dir(&upper_dir).map_err(|error| at(&upper_dir, error))?;
    request.crash_points.at("open: upper made");
    make_dir(&work).map_err(|error| at(&work, error))?;
    let xattrs = match request.facts.host.overlay {
        OverlayWay::Capable => XattrNamespace::Trusted,
        OverlayWay::UserNamespace | OverlayWay::Unavailable => XattrNamespace::User,
    };
    let fill = || -> io::Result<Vec<GitRecord>> {
        let mut upper = Upper::new(root, &upper_dir, xattrs)?;
        for hidden in &found.hidden {
            upper.hide(&hidden.path)?;
            request.crash_points.at_each("open: one hidden");
        }
        for file in request.injected {
            upper.inject(file)?;
            request.crash_points.at_each("open: one injected");
        }
        let git = private_git(request, &found, repository, tracked, &mut upper, xattrs)?;
        request.crash_points.at("open: git made private");
        upper.finish()?;
        Ok(git)
    };
    record.git = fill().map_err(|error| at(&upper_dir, error))?;
    record.data = "upper".into();
    record.xattrs = Some(xattrs);
    record.hidden = found.hidden;
    record.layer_links = found.layer_links;
    record.setup = found.setup;
    record.injected = injected_records(request);
    Ok(())
}

/// The private index and exclude file of every repository that needs one, and private views of git directories outside the root.
fn private_git(
    request: &OpenRequest,
    found: &HiddenScan,
    top: Option<Repository>,
    mut tracked: Option<TrackedList>,
    upper: &mut Upper,
    xattrs: XattrNamespace,
) -> io::Result<Vec<GitRecord>> {
    let root = &request.spec.root;
    let mut records = Vec::new();
    // The real directory and its upper directory, relative to the session; `upper` is the project's own.
    let mut mounted: Vec<(PathBuf, PathBuf)> = vec![(root.clone(), "upper".into())];
    for repository in repositories(root, top, found) {
        let mut outside = Vec::new();
        for target in repository.outside(root) {
            if !mounted.iter().any(|(known, _)| target.starts_with(known)) {
                let upper = PathBuf::from(format!("git/{}/upper", mounted.len() - 1));
                mounted.push((target.clone(), upper.clone()));
                outside.push(PrivateDir { target: target.into(), upper: upper.into() });
            }
        }
        let is_top = repository.work_tree == *root;
        let credentials = request.spec.git_credentials;
        let marks = GitMarks::of(&repository, root, found, request.injected, credentials, || {
            let list = if is_top { tracked.take() } else { repository.list_tracked() };
            list.and_then(TrackedList::finish)
        });
        marks.write(&repository, root, upper)?;
        for dir in &outside {
            let (upper_dir, work) = private_dirs(request.session_dir, dir);
            make_dir(&upper_dir)?;
            make_dir(&work)?;
            let mut private = Upper::new(&dir.target, &upper_dir, xattrs)?;
            marks.write(&repository, &dir.target, &mut private)?;
            private.finish()?;
        }
        let inside = |(target, upper): &(PathBuf, PathBuf)| {
            repository.common_dir.strip_prefix(target).ok().map(|rest| upper.join(rest))
        };
        let data = mounted.iter().find_map(inside).unwrap_or_default();
        records.push(GitRecord {
            work_tree: repository.work_tree.strip_prefix(root).ok().map(RawPath::from),
            git_dir: repository.git_dir.into(),
            common_dir: repository.common_dir.into(),
            // Joining an empty path would add a slash.
            data: data.components().collect::<PathBuf>().into(),
            outside,
            skip_worktree: marks.skip.into_iter().map(RawPath).collect(),
            excluded: marks.exclude.into_iter().map(RawPath).collect(),
        });
    }
    Ok(records)
}
