//! Opens a mount: surveys the project, fills the upper directory or the copy, and writes the record.
//! Nothing is mounted and nothing runs before [`OpenMount::spawn`](super::child); the project itself is never written.

use super::apply::Instants;
use super::inside::caps;
use super::inside::protocol::{Cover, Group, HelperSpec, OverlaySpec, Protect};
use super::plant::{PlantedFile, Upper};
use super::repository::{Repository, Tracked, TrackedList, exclude_with};
use super::signals::SignalInbox;
use super::survey::{Survey, survey};
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::model::mount::{Backend, MountSpec, Sandbox};
use crate::model::mount_facts::{MountFacts, OverlayWay};
use crate::model::mount_record::{
    Containment, GitRecord, Instant, MOUNT_RECORD_FILE, MountRecord, PlantedRecord, PrivateDir,
    XattrNamespace,
};
use crate::model::raw_path::RawPath;
use crate::rules::PathRules;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Everything that opening a mount depends on.
#[derive(Debug, Clone, Copy)]
pub struct OpenRequest<'a> {
    pub spec: &'a MountSpec,
    pub facts: &'a MountFacts,
    /// Our own binary, for the processes inside: `/proc/self/exe` unless a test says otherwise.
    pub helper: &'a Path,
    /// The directory of all sessions, which nothing inside may reach.
    pub sessions_dir: &'a Path,
    /// The directory of this session; it exists and is locked.
    pub session_dir: &'a Path,
    pub planted: &'a [PlantedFile],
    /// Below the session directory: what the harness has to read, shown read-only.
    pub expose: &'a [PathBuf],
    /// Below the session directory: directories that the harness may write as well.
    pub lend: &'a [PathBuf],
    /// What stays writable at the sandbox level `strict`, besides the mount.
    pub writable: &'a [PathBuf],
    /// Asked while opening takes its time: a Ctrl-C gives up before anything is started.
    pub signals: Option<&'a SignalInbox>,
    /// The session's lock; our processes inside hold it too.
    pub lock: Option<&'a fs::File>,
    /// Moments at which a crash test ends us.
    pub instants: &'a Instants,
}

/// A mount that commands can be run in, as often as one likes.
#[derive(Debug)]
pub struct OpenMount {
    pub record: MountRecord,
    pub session_dir: PathBuf,
    pub(super) helper: PathBuf,
    pub(super) helper_spec: HelperSpec,
    pub(super) lock: Option<fs::File>,
}

/// Makes the mount that the spec asks for and writes its record.
pub fn open(request: &OpenRequest) -> Result<OpenMount> {
    let (backend, fallback) = request.facts.choose(request.spec.backend);
    let sandbox = reachable(request, backend)?;
    let root_meta = fs::metadata(&request.spec.root).map_err(|error| {
        CommandError::usage(format!("`{}` cannot be mounted", request.spec.root.display())).caused_by(error)
    })?;
    let root = request.spec.root.clone().into();
    let mut record = MountRecord {
        fallback,
        containment: containment(request.facts, backend),
        root_dev: root_meta.dev(),
        root_ino: root_meta.ino(),
        ..MountRecord::bare(backend, sandbox, root, file_clock())
    };
    let made = match backend {
        Backend::Overlay => open_overlay(request, &mut record),
        Backend::Copy => super::copy::open_copy(request, &mut record),
        Backend::Auto | Backend::None => {
            record.data = request.spec.root.clone().into();
            Ok(())
        }
    };
    if let Some(signal) = request.signals.and_then(SignalInbox::asked_to_end) {
        let exit = Exit::Signal(u8::try_from(signal).unwrap_or(0));
        return Err(CommandError::new(exit, "interrupted before anything was started"));
    }
    made?;
    request.instants.at("open: made");
    write_record(request.session_dir, &record)?;
    request.instants.at("open: recorded");
    reopen(request, record)
}

/// A mount that was opened before, as its record says: for going on with a session. Nothing on disk is changed.
pub fn reopen(request: &OpenRequest, record: MountRecord) -> Result<OpenMount> {
    let helper_spec = helper_spec(request, &record);
    let lock = request.lock.map(fs::File::try_clone).transpose()?;
    Ok(OpenMount {
        record,
        session_dir: request.session_dir.to_path_buf(),
        helper: request.helper.to_path_buf(),
        helper_spec,
        lock,
    })
}

impl OpenMount {
    /// The directory that commands start in, as they see it.
    pub fn workdir(&self) -> &Path {
        &self.helper_spec.workdir
    }

    /// The same project seen with everything that was changed in it so far; what is written in this view goes to `scratch` and
    /// nowhere else. Overlay only.
    pub fn scratch_view(&self, scratch: &Path) -> Result<OpenMount> {
        let mut helper_spec = self.helper_spec.clone();
        for (number, overlay) in helper_spec.overlays.iter_mut().enumerate() {
            let dir = scratch.join(number.to_string());
            let below = std::mem::replace(&mut overlay.upper, dir.join("upper").into());
            overlay.work = dir.join("work").into();
            make_dir(&overlay.upper).map_err(|error| at(&overlay.upper, error))?;
            make_dir(&overlay.work).map_err(|error| at(&overlay.work, error))?;
            overlay.lowers.insert(0, below);
        }
        Ok(OpenMount { helper_spec, ..self.same_view()? })
    }

    /// The copy once more, in `scratch`, for something that must leave no trace. Copy only.
    pub fn scratch_copy(&self, scratch: &Path) -> Result<OpenMount> {
        let copied = self.session_dir.join(&self.record.data);
        super::duplicate::duplicate(&copied, scratch)?;
        let mut view = self.same_view()?;
        let below = self.helper_spec.workdir.strip_prefix(&copied).unwrap_or(Path::new(""));
        view.helper_spec.workdir = scratch.join(below).components().collect::<PathBuf>().into();
        Ok(view)
    }

    /// The same mount, for another command.
    pub fn same_view(&self) -> Result<OpenMount> {
        Ok(OpenMount {
            record: self.record.clone(),
            session_dir: self.session_dir.clone(),
            helper: self.helper.clone(),
            helper_spec: self.helper_spec.clone(),
            lock: self.lock.as_ref().map(fs::File::try_clone).transpose()?,
        })
    }

    /// Removes the mount's directories from the session; the record stays.
    pub fn remove(self) -> Result<()> {
        for name in ["upper", "work", "mount", "git"] {
            let dir = self.session_dir.join(name);
            super::cleanup::remove_tree(&dir).map_err(|error| at(&dir, error))?;
        }
        Ok(())
    }
}

/// The level that this run will have, or a refusal if a higher one was asked for.
fn reachable(request: &OpenRequest, backend: Backend) -> Result<Sandbox> {
    if let (Backend::Overlay, Some(reason)) = (backend, request.facts.why_not_overlay()) {
        return Err(CommandError::usage(format!("the project cannot be overlaid: {reason}"))
            .hint("use `--mount copy`, or `--mount auto` to take whatever works"));
    }
    let best = request.facts.best_sandbox(backend);
    match request.spec.sandbox {
        Some(Sandbox::Strict) if best == Sandbox::Project => Ok(Sandbox::Strict),
        Some(asked) if asked > best => {
            let why = match backend {
                Backend::Overlay => "root needs a PID namespace for it".into(),
                _ => request.facts.why_not_overlay().unwrap_or_else(|| "the mount is not an overlay".into()),
            };
            Err(CommandError::new(
                Exit::Refused,
                format!("the sandbox level that was asked for cannot be had: {why}"),
            )
            .hint("use `--sandbox off` to run without it"))
        }
        _ => Ok(best),
    }
}

fn containment(facts: &MountFacts, backend: Backend) -> Containment {
    // For a copy alone a user namespace would cost more (sudo, ssh) than it gives.
    if facts.host.pid_namespace && (backend == Backend::Overlay || caps::can_mount()) {
        Containment::PidNamespace
    } else {
        Containment::Subreaper
    }
}

fn open_overlay(request: &OpenRequest, record: &mut MountRecord) -> Result<()> {
    let root = &request.spec.root;
    let rules = compile(request.spec)?;
    let repository = Repository::at(root);
    let tracked = repository.as_ref().and_then(Repository::list_tracked);
    let found = survey(root, &rules, &request.spec.rules).map_err(|error| at(root, error))?;
    request.instants.at("open: surveyed");
    let (upper_dir, work) = (request.session_dir.join("upper"), request.session_dir.join("work"));
    make_dir(&upper_dir).map_err(|error| at(&upper_dir, error))?;
    request.instants.at("open: upper made");
    make_dir(&work).map_err(|error| at(&work, error))?;
    let xattrs = match request.facts.host.overlay {
        OverlayWay::Capable => XattrNamespace::Trusted,
        OverlayWay::UserNamespace | OverlayWay::Unavailable => XattrNamespace::User,
    };
    let fill = || -> io::Result<Vec<GitRecord>> {
        let mut upper = Upper::new(root, &upper_dir, xattrs)?;
        for hidden in &found.hidden {
            upper.hide(&hidden.path)?;
            request.instants.at("open: one hidden");
        }
        for file in request.planted {
            upper.plant(file)?;
            request.instants.at("open: one planted");
        }
        let git = private_git(
            request,
            &found,
            repository,
            tracked.and_then(TrackedList::finish),
            &mut upper,
            xattrs,
        )?;
        request.instants.at("open: git made private");
        upper.finish()?;
        Ok(git)
    };
    record.git = fill().map_err(|error| at(&upper_dir, error))?;
    record.data = "upper".into();
    record.xattrs = Some(xattrs);
    record.hidden = found.hidden;
    record.planted = planted_records(request);
    Ok(())
}

/// The private index and exclude file of every repository that needs one, and private views of git directories outside the root.
fn private_git(
    request: &OpenRequest,
    found: &Survey,
    top: Option<Repository>,
    tracked: Option<Tracked>,
    upper: &mut Upper,
    xattrs: XattrNamespace,
) -> io::Result<Vec<GitRecord>> {
    let root = &request.spec.root;
    let mut records = Vec::new();
    // The real directory and its upper directory, relative to the session; `upper` is the project's own.
    let mut mounted: Vec<(PathBuf, PathBuf)> = vec![(root.clone(), "upper".into())];
    let mut tracked = tracked;
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
        let concern = Concern::of(&repository, root, found, request.planted, || {
            if is_top { tracked.take() } else { repository.list_tracked().and_then(TrackedList::finish) }
        });
        concern.write(&repository, root, upper)?;
        for dir in &outside {
            let (upper_dir, work) = private_dirs(request.session_dir, dir);
            make_dir(&upper_dir)?;
            make_dir(&work)?;
            let mut private = Upper::new(&dir.target, &upper_dir, xattrs)?;
            concern.write(&repository, &dir.target, &mut private)?;
            private.finish()?;
        }
        let inside = |(target, upper): &(PathBuf, PathBuf)| {
            repository.common_dir.strip_prefix(target).ok().map(|rest| upper.join(rest))
        };
        let data = mounted.iter().find_map(inside).unwrap_or_default();
        records.push(GitRecord {
            git_dir: repository.git_dir.into(),
            common_dir: repository.common_dir.into(),
            // Joining an empty path would add a slash.
            data: data.components().collect::<PathBuf>().into(),
            outside,
            skip_worktree: concern.skip.into_iter().map(RawPath).collect(),
            excluded: concern.exclude.into_iter().map(RawPath).collect(),
        });
    }
    Ok(records)
}

/// The root's repository and those below it.
pub(super) fn repositories(root: &Path, top: Option<Repository>, found: &Survey) -> Vec<Repository> {
    let nested = found.nested_repositories.iter().filter_map(|dir| Repository::at(&root.join(dir)));
    top.into_iter().chain(nested).collect()
}

/// What one repository has to do with hidden and planted paths; all relative to its work tree.
pub(super) struct Concern {
    pub(super) skip: Vec<PathBuf>,
    pub(super) exclude: Vec<PathBuf>,
    tracked: Tracked,
}

impl Concern {
    /// `tracked` is asked only if something lies in this work tree.
    pub(super) fn of(
        repository: &Repository,
        root: &Path,
        found: &Survey,
        planted: &[PlantedFile],
        tracked: impl FnOnce() -> Option<Tracked>,
    ) -> Concern {
        let mine = |path: &Path| {
            let nested = found.nested_repositories.iter().map(|dir| root.join(dir));
            let owner =
                nested.filter(|dir| root.join(path).starts_with(dir)).max_by_key(|dir| dir.as_os_str().len());
            let owner = owner.unwrap_or_else(|| root.to_path_buf());
            (owner == repository.work_tree)
                .then(|| root.join(path).strip_prefix(&owner).map(Path::to_path_buf).ok())
                .flatten()
        };
        let hidden: Vec<PathBuf> = found.hidden.iter().filter_map(|hidden| mine(&hidden.path)).collect();
        let planted: Vec<PathBuf> = planted.iter().filter_map(|file| mine(&file.path)).collect();
        if hidden.is_empty() && planted.is_empty() {
            return Concern { skip: Vec::new(), exclude: Vec::new(), tracked: Tracked::default() };
        }
        let tracked = tracked().unwrap_or_default();
        let touched = hidden.iter().chain(&planted);
        let skip: BTreeSet<PathBuf> = touched.flat_map(|path| tracked.at_or_below(path)).collect();
        let exclude = planted.into_iter().filter(|path| !tracked.contains(path)).collect();
        Concern { skip: skip.into_iter().collect(), exclude, tracked }
    }

    /// Writes the private index and exclude file into an upper directory over `lower`, as far as they are there.
    fn write(&self, repository: &Repository, lower: &Path, upper: &mut Upper) -> io::Result<()> {
        let index = repository.git_dir.join("index");
        if !self.skip.is_empty()
            && let Ok(inside) = index.strip_prefix(lower)
        {
            let private = upper.place(inside)?;
            if let Some(marked) = self.tracked.index_with_skip_worktree(&self.skip) {
                fs::write(&private, marked)?;
                fs::set_permissions(&private, fs::metadata(&index)?.permissions())?;
            } else {
                fs::copy(&index, &private)?;
                repository.skip_worktree(&repository.git_dir, &private, &self.skip)?;
            }
        }
        // Where only a part is checked out, git takes the mark away from files that are there all the same: ours.
        for config in [repository.common_dir.join("config"), repository.git_dir.join("config.worktree")] {
            if !self.skip.is_empty()
                && let Ok(inside) = config.strip_prefix(lower)
                && let Ok(text) = fs::read(&config)
                && let Some(text) = super::repository::keep_marks_when_sparse(&text)
            {
                upper.plant(&PlantedFile { path: inside.to_path_buf(), bytes: text, mode: 0o644 })?;
            }
        }
        let exclude = repository.common_dir.join("info/exclude");
        if !self.exclude.is_empty()
            && let Ok(inside) = exclude.strip_prefix(lower)
        {
            let text = exclude_with(&fs::read(&exclude).unwrap_or_default(), &self.exclude);
            upper.plant(&PlantedFile { path: inside.to_path_buf(), bytes: text, mode: 0o644 })?;
        }
        Ok(())
    }
}

fn helper_spec(request: &OpenRequest, record: &MountRecord) -> HelperSpec {
    let session = request.session_dir;
    let overlay = record.backend == Backend::Overlay;
    let mut overlays = Vec::new();
    if overlay {
        overlays.push(OverlaySpec {
            target: record.root.clone(),
            lowers: vec![record.root.clone()],
            upper: session.join(&record.data).into(),
            work: session.join("work").into(),
        });
        for dir in record.git.iter().flat_map(|git| &git.outside) {
            let (upper, work) = private_dirs(session, dir);
            overlays.push(OverlaySpec {
                target: dir.target.clone(),
                lowers: vec![dir.target.clone()],
                upper: upper.into(),
                work: work.into(),
            });
        }
    }
    let pid_namespace = record.containment == Containment::PidNamespace;
    let way = match (overlay, pid_namespace) {
        (true, _) => request.facts.host.overlay,
        (false, true) => OverlayWay::Capable,
        (false, false) => OverlayWay::Unavailable,
    };
    let cover = Cover {
        dir: request.sessions_dir.into(),
        expose: request.expose.iter().cloned().map(RawPath).collect(),
        lend: request.lend.iter().cloned().map(RawPath).collect(),
    };
    let base =
        if record.backend == Backend::Copy { session.join(&record.data) } else { record.root.to_path_buf() };
    HelperSpec {
        way,
        pid_namespace,
        overlays,
        covers: if overlay { vec![cover] } else { Vec::new() },
        protect: if overlay { vec![protected_home(request.sessions_dir)] } else { Vec::new() },
        writable: (record.sandbox == Sandbox::Strict)
            .then(|| request.writable.iter().cloned().map(RawPath).collect()),
        // Joining an empty path would add a slash.
        workdir: base.join(&request.spec.cwd).components().collect::<PathBuf>().into(),
        group: Group::Ours,
    }
}

/// Our own home: an agent that could write its config and personas would decide what the next run hides. What runs inside of
/// runs need stays writable; the cache is checked whenever it is used.
fn protected_home(sessions_dir: &Path) -> Protect {
    let home = sessions_dir.parent().unwrap_or(sessions_dir);
    Protect { dir: home.into(), except: ["cache", "locks"].map(|name| home.join(name).into()).to_vec() }
}

/// The upper and work directories of a private view, absolute.
fn private_dirs(session: &Path, dir: &PrivateDir) -> (PathBuf, PathBuf) {
    let upper = session.join(&dir.upper);
    let work = upper.with_file_name("work");
    (upper, work)
}

pub(super) fn compile(spec: &MountSpec) -> Result<PathRules> {
    PathRules::compile(&spec.rules).map_err(|error| {
        let origin = spec.rules.get(error.index).map_or("a rule", |rule| rule.origin.as_str());
        CommandError::usage(format!("{origin}: {}", error.message))
    })
}

pub(super) fn planted_records(request: &OpenRequest) -> Vec<PlantedRecord> {
    let record = |file: &PlantedFile| PlantedRecord {
        path: file.path.clone().into(),
        blake3: blake3::hash(&file.bytes).to_hex().to_string(),
        mode: file.mode & 0o7777,
        replaces: fs::symlink_metadata(request.spec.root.join(&file.path)).is_ok(),
    };
    request.planted.iter().map(record).collect()
}

/// The clock that file times are taken from; the precise one runs ahead of it, and a change right after it would look older.
fn file_clock() -> Instant {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    Instant { seconds: now.tv_sec, nanos: u32::try_from(now.tv_nsec).unwrap_or(0) }
}

/// Complete or not there: a session with half a record could not be recovered.
pub(super) fn write_record(session: &Path, record: &MountRecord) -> Result<()> {
    let write = || -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(session)?;
        file.write_all(&serde_json::to_vec(record)?)?;
        file.as_file().sync_data()?;
        file.persist(session.join(MOUNT_RECORD_FILE))?;
        Ok(())
    };
    write().map_err(|error| at(&session.join(MOUNT_RECORD_FILE), error))
}

pub(super) fn make_dir(dir: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

pub(super) fn at(path: &Path, error: impl std::fmt::Display) -> CommandError {
    CommandError::internal(format!("`{}`: {error}", path.display()))
}
