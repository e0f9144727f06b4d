//! Copies of a working tree that commands are run in, for a verification without a run: nothing that they write reaches the working tree.
//! There is no mount here, and nothing is hidden: the caller's own machine is trusted, as a continuous integration does.

use super::part::Part;
use crate::host::Host;
use crate::launch::check::CheckOutcome;
use crate::launch::check::{Output, OutputEnd};
use crate::model::secrets::Secrets;
use crate::mount::Ending;
use crate::mount::fs::copy_entry::{CopyOptions, copy_entry, make_parents, remove_entry};
use crate::mount::fs::stat::Kind;
use crate::mount::fs::tree::{self, Tree};
use crate::mount::process::attend::{ChildOutcome, ReachedLimit};
use crate::mount::process::cgroup::Exhausted;
use crate::mount::process::descendants::none_left;
use crate::run::command_views::{ViewCommand, project_environment};
use crate::tool::guard::Guard;
use crate::work::evidence::{ChangeSet, ChangedFile, Node};
use anyhow::{Context, Result, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{AtFlags, Timestamps, UTIME_NOW, utimensat};
use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::io::{PipeReader, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::symlink;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Directories of dependencies that git ignores and commands need; they are the working tree's own.
const DEPENDENCIES: [&str; 6] = ["node_modules", ".venv", "venv", "vendor", ".yarn", ".pnp.cjs"];

/// How often a command is looked at that says nothing.
const TICK: Duration = Duration::from_millis(20);
/// What is read of a command that has ended: more than a pipe holds.
const MOST_AFTER_ITS_END: usize = 4 << 20;

/// A state to compare with, and the changes since.
pub struct TreeCopies {
    /// The working tree.
    pub root: PathBuf,
    /// The state before, as plain files.
    pub base: tempfile::TempDir,
    pub changes: ChangeSet,
    pub host: Host,
    pub logs: tempfile::TempDir,
}

/// A copy that commands run in.
pub struct TreeView {
    dir: tempfile::TempDir,
    temp: tempfile::TempDir,
}

impl TreeView {
    pub fn lay_over(&self, from: &Path) -> Result<()> {
        let tree = Tree::open(from).with_context(|| format!("{} cannot be read", from.display()))?;
        lay_tree(&tree, &Tree::open(self.dir.path())?, Path::new(""))
    }
}

impl TreeCopies {
    /// A change may have put a link anywhere, also where the base has a directory: nothing is read or written through one.
    pub fn view(&self, part: Part<'_>) -> Result<TreeView> {
        let dir = tempfile::Builder::new().prefix("aw-verify-").tempdir()?;
        let (from, to) = (Tree::open(&self.root)?, Tree::open(dir.path())?);
        lay_tree(&Tree::open(self.base.path())?, &to, Path::new(""))?;
        for file in &self.changes.files {
            let is_taken = match part {
                Part::Nothing => false,
                Part::All | Part::WithIgnored => true,
                Part::Without(paths) => !paths.contains(&file.path),
                Part::Only(paths) => paths.contains(&file.path),
            };
            if is_taken {
                take(&from, &to, file).with_context(|| {
                    format!("{} cannot be copied", self.root.join(&file.path.0).display())
                })?;
            }
        }
        for name in DEPENDENCIES {
            let (own, target) = (self.root.join(name), dir.path().join(name));
            if own.exists() && target.symlink_metadata().is_err() {
                symlink(&own, &target)?;
            }
        }
        Ok(TreeView { dir, temp: tempfile::Builder::new().prefix("aw-").tempdir()? })
    }

    /// Nothing that the command has started is left.
    pub fn run(&self, view: &TreeView, command: ViewCommand<'_>) -> Result<CheckOutcome> {
        let line = command.line.to_owned();
        none_left(|| self.run_alone(view, command))?
            .with_context(|| format!("processes of `{line}` cannot be ended"))?
    }

    fn run_alone(&self, view: &TreeView, command: ViewCommand<'_>) -> Result<CheckOutcome> {
        let ViewCommand { line, timeout_seconds, log, tap } = command;
        let (mut reader, writer) = std::io::pipe()?;
        let mut child = Command::new("sh");
        child.args(["-c", line]).current_dir(view.dir.path()).process_group(0).stdin(Stdio::null());
        for (name, value) in project_environment(self.host.env.keys().cloned()) {
            match value {
                Some(value) => child.env(name, value),
                None => child.env_remove(name),
            };
        }
        child.env("TMPDIR", view.temp.path());
        child.stdout(writer.try_clone()?).stderr(writer);
        let began = Instant::now();
        let mut running = child.spawn().with_context(|| format!("`{line}` cannot be started"))?;
        // It holds the other end of the pipe.
        drop(child);
        let limit = Duration::try_from_secs_f64(timeout_seconds).unwrap_or(Duration::from_hours(24));
        let guard = Guard::over(&running, limit);
        let secrets = Secrets::at_least(usize::MAX, std::iter::empty::<(&String, &String)>());
        let log = self.logs.path().join(log);
        let mut output = Output::to(&log, &secrets, tap)?;
        let mut buffer = vec![0; 64 << 10];
        // What it has started may hold its output open for as long as it likes: the command's own end counts.
        let mut left = MOST_AFTER_ITS_END;
        let mut has_ended = false;
        loop {
            if !is_readable(&reader, if has_ended { Duration::ZERO } else { TICK })? {
                if has_ended {
                    break;
                }
                has_ended = is_over(&running)?;
                if has_ended {
                    guard.end();
                }
                continue;
            }
            let length = match reader.read(&mut buffer) {
                Ok(0) => break,
                Ok(length) => length,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            output.take(&buffer[..length]);
            has_ended = has_ended || is_over(&running)?;
            if has_ended {
                guard.end();
                match left.checked_sub(length) {
                    Some(less) => left = less,
                    None => break,
                }
            }
        }
        let status = running.wait()?;
        let is_timed_out = began.elapsed() >= limit;
        guard.end();
        drop(guard);
        crate::host::interruption::check()?;
        let OutputEnd { sha256, tail } = output.finish();
        let ending = match (status.code(), status.signal()) {
            (Some(code), _) => Ending::Code(code),
            (None, Some(signal)) => Ending::Signal(signal),
            (None, None) => Ending::Killed,
        };
        let attended = ChildOutcome {
            ending,
            stops: 0,
            reached: is_timed_out.then_some(ReachedLimit::Wall),
            exhausted: Exhausted::default(),
            interrupted_by: None,
        };
        Ok(CheckOutcome { attended, seconds: began.elapsed().as_secs_f64(), sha256, tail })
    }
}

fn is_readable(reader: &PipeReader, patience: Duration) -> Result<bool> {
    let mut polled = [PollFd::new(reader, PollFlags::IN)];
    let patience = Timespec::try_from(patience)?;
    match poll(&mut polled, Some(&patience)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Whether a child has ended. It is not reaped: its number still belongs to it.
fn is_over(child: &Child) -> Result<bool> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).context("a process has a number")?;
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match waitid(WaitId::Pid(pid), options) {
        Ok(status) => Ok(status.is_some()),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Makes one path of a copy what the change says.
fn take(from: &Tree, to: &Tree, file: &ChangedFile) -> Result<()> {
    let path = file.path.0.as_path();
    let Some(after) = &file.after else { return Ok(remove_entry(to, path)?) };
    match &after.node {
        Node::Directory => {
            remove_entry(to, path)?;
            make_parents(from, to, &path.join("x"))?;
        }
        Node::Link(_) => lay_entry(from, to, path, Kind::Symlink)?,
        Node::File(_) => lay_entry(from, to, path, Kind::File)?,
    }
    Ok(())
}

/// Lays what is below a directory of one tree over another: directories are merged, and anything else that is in the way is replaced.
fn lay_tree(from: &Tree, to: &Tree, directory: &Path) -> Result<()> {
    let opened = from.open_dir(directory)?;
    for name in tree::list(opened.as_fd())? {
        let path = directory.join(name);
        let lay = || -> Result<()> {
            match from.stat(&path)?.map(|stat| stat.kind) {
                Some(Kind::Dir) => Ok(make_parents(from, to, &path.join("x"))?),
                Some(kind @ (Kind::File | Kind::Symlink)) => lay_entry(from, to, &path, kind),
                Some(Kind::Special) | None => Ok(()),
            }
        };
        lay().with_context(|| format!("{} cannot be copied", from.path().join(&path).display()))?;
        if from.stat(&path)?.is_some_and(|stat| stat.kind == Kind::Dir) {
            lay_tree(from, to, &path)?;
        }
    }
    Ok(())
}

/// Copies one file or link, with a new time: build tools compare them.
fn lay_entry(from: &Tree, to: &Tree, path: &Path, expected: Kind) -> Result<()> {
    if from.stat(path)?.map(|stat| stat.kind) != Some(expected) {
        bail!("it has changed meanwhile");
    }
    remove_entry(to, path)?;
    make_parents(from, to, path)?;
    copy_entry(from, to, path, &CopyOptions { opaque: None, skip: &|_| false })?;
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let place = to.place(path)?;
    let times = Timestamps { last_access: now, last_modification: now };
    Ok(utimensat(&place.dir, &place.name, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}
