//! Copies of a working tree that commands are run in, for a verification without a run: nothing that they write reaches the working tree.
//! There is no mount here, and nothing is hidden: the caller's own machine is trusted, as a continuous integration does.

use super::part::Part;
use crate::host::Host;
use crate::launch::check::CheckOutcome;
use crate::launch::check::{Output, OutputEnd};
use crate::model::secrets::Secrets;
use crate::mount::Ending;
use crate::mount::process::attend::{ChildOutcome, ReachedLimit};
use crate::mount::process::cgroup::Exhausted;
use crate::mount::process::descendants::none_left;
use crate::run::command_views::{ViewCommand, project_environment};
use crate::tool::guard::Guard;
use crate::work::evidence::{ChangeSet, Node};
use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::io::{PipeReader, Read};
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
        copy_tree(from, self.dir.path())
    }
}

impl TreeCopies {
    pub fn view(&self, part: Part<'_>) -> Result<TreeView> {
        let dir = tempfile::Builder::new().prefix("aw-verify-").tempdir()?;
        copy_tree(self.base.path(), dir.path())?;
        for file in &self.changes.files {
            let is_taken = match part {
                Part::Nothing => false,
                Part::All | Part::WithIgnored => true,
                Part::Without(paths) => !paths.contains(&file.path),
                Part::Only(paths) => paths.contains(&file.path),
            };
            if !is_taken {
                continue;
            }
            let target = dir.path().join(&file.path.0);
            remove(&target);
            let Some(after) = &file.after else { continue };
            if let Some(parent) = target.parent() {
                std::fs::create_dir_all(parent)?;
            }
            match &after.node {
                Node::Directory => std::fs::create_dir_all(&target)?,
                Node::Link(to) => symlink(&to.0, &target)?,
                Node::File(_) => {
                    let source = self.root.join(&file.path.0);
                    std::fs::copy(&source, &target)
                        .with_context(|| format!("{} cannot be copied", source.display()))?;
                    // A new time: build tools compare them.
                    std::fs::File::options()
                        .append(true)
                        .open(&target)?
                        .set_modified(self.host.now().into())?;
                }
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

fn remove(path: &Path) {
    // What is in the way may be either; an error shows when something is put there.
    let _ = std::fs::remove_file(path);
    let _ = std::fs::remove_dir_all(path);
}

/// Copies files, links and modes; nothing is followed.
pub fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    for entry in ignore::WalkBuilder::new(from).standard_filters(false).follow_links(false).build() {
        let entry = entry?;
        let below = entry.path().strip_prefix(from)?;
        if below.as_os_str().is_empty() {
            continue;
        }
        let target = to.join(below);
        let Some(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            std::fs::create_dir_all(&target)?;
        } else if kind.is_symlink() {
            remove(&target);
            symlink(std::fs::read_link(entry.path())?, &target)?;
        } else if kind.is_file() {
            remove(&target);
            std::fs::copy(entry.path(), &target)
                .with_context(|| format!("{} cannot be copied", entry.path().display()))?;
        }
    }
    Ok(())
}
