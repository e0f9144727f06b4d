//! Runs commands in views of the work that are thrown away: on the project at launch, on the result as an apply would leave it, and on
//! mixtures of the two. The checks of a plan and the measurements of `work` share this.

use super::error::RunError;
use super::open::OpenRun;
use crate::launch::check::{self, CheckCommand, CheckOutcome};
use crate::model::mount::{Backend, Sandbox};
use crate::mount::changes::frozen::{AtLaunch, at_launch};
use crate::mount::changes::{Change, Merging, Review};
use crate::mount::fs::cleanup;
use crate::mount::process::attend::{TimeLimits, limit_of};
use crate::mount::{InjectedFile, NotApplied, ScratchView, ViewOf};
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Variables of harnesses and of this program begin with one of these: a command of the project has no business with them.
const NOT_THE_PROJECTS: [&str; 9] = [
    "AGENTWORKFORCE_",
    "AGENT_WORKFORCE_",
    "ANTHROPIC_",
    "OPENAI_",
    "CLAUDE_",
    "CLAUDECODE",
    "CODEX_",
    "OPENCODE_",
    "OPENCODE",
];

/// Settings that keep known tools from answering out of a cache, or from accepting what they find.
const FRESH_ANSWERS: [(&str, &str); 4] =
    [("GOFLAGS", "-count=1"), ("TURBO_FORCE", "true"), ("NX_SKIP_NX_CACHE", "true"), ("INSTA_UPDATE", "no")];

/// Files that are looked at to tell what a command writes.
const MOST_OWN_FILES: usize = 20_000;
/// Changes of the user that are taken back in a view at most.
const MOST_TAKEN_BACK: usize = 5_000;

/// What a view of the work shows.
#[derive(Debug, Clone, Copy)]
pub enum Measured<'a> {
    /// The project at launch.
    Base,
    /// That with these changes.
    With(&'a [Change]),
    /// The mount with everything in it that a check sees today: what git ignores, too.
    WithIgnored,
}

/// A view that commands run in; its files go with it.
pub struct CommandView {
    view: ScratchView,
    scratch: PathBuf,
    /// A new temporary directory, unless the mount has its own.
    temp: Option<tempfile::TempDir>,
    before: BTreeSet<PathBuf>,
}

/// A command in such a view.
pub struct ViewCommand<'a> {
    pub line: &'a str,
    pub timeout_seconds: f64,
    /// The name of its log in the session.
    pub log: &'a str,
    pub tap: &'a mut dyn FnMut(&[u8]),
}

impl CommandView {
    /// The files that commands have written in it, or whose change they have undone.
    pub fn written(&self) -> BTreeSet<PathBuf> {
        self.view.own_files(MOST_OWN_FILES).difference(&self.before).cloned().collect()
    }

    /// Paths that the user changed since launch and that the view shows as they are now.
    pub fn changed_by_user(&self) -> impl Iterator<Item = &Path> {
        self.view.changed_by_user.iter().map(|path| path.0.as_path())
    }

    /// Lays files over the view.
    pub fn lay_over(&mut self, files: &[InjectedFile]) -> Result<()> {
        self.view.lay_over(files)?;
        self.before = self.view.own_files(MOST_OWN_FILES);
        Ok(())
    }

    /// The variables that a command gets: the user's without those of harnesses and of ours.
    fn env(&self, users: impl Iterator<Item = String>) -> Vec<(OsString, Option<OsString>)> {
        let mut env = project_environment(users);
        // A mount at the level `strict` has temporary directories of its own, new for every command.
        let temp = self.temp.as_ref().map_or_else(|| OsString::from("/tmp"), |dir| dir.path().into());
        env.push(("TMPDIR".into(), Some(temp)));
        env
    }
}

/// Changes to the user's environment for a command of the project, by the names of the user's variables.
pub fn project_environment(users: impl Iterator<Item = String>) -> Vec<(OsString, Option<OsString>)> {
    let is_foreign = |name: &String| NOT_THE_PROJECTS.iter().any(|prefix| name.starts_with(prefix));
    let mut env: Vec<(OsString, Option<OsString>)> =
        users.filter(is_foreign).map(|name| (OsString::from(name), None)).collect();
    env.extend(FRESH_ANSWERS.map(|(name, value)| (name.into(), Some(value.into()))));
    env
}

impl Drop for CommandView {
    fn drop(&mut self) {
        if let Err(error) = cleanup::remove_tree(&self.scratch) {
            tracing::warn!("{} is left: {error}", self.scratch.display());
        }
    }
}

impl OpenRun<'_> {
    /// Makes a view for commands.
    pub fn command_view(&mut self, what: Measured<'_>) -> Result<CommandView> {
        let scratch = self.scratch("view");
        let refused;
        let of = match what {
            Measured::Base => ViewOf::Measured(&[]),
            Measured::With(changes) => ViewOf::Measured(changes),
            Measured::WithIgnored => {
                refused = self.review()?.map(NotApplied::from).unwrap_or_default();
                ViewOf::Applied(&refused)
            }
        };
        if self.mount.record.backend == Backend::None {
            bail!("there is no mount whose result could be measured");
        }
        let mut view = self.mount.view_of(of, &scratch)?;
        self.lay_back(&mut view)?;
        let has_own_temp = view.sandbox() == Sandbox::Strict;
        let temp = (!has_own_temp)
            .then(|| tempfile::Builder::new().prefix("aw-").tempdir())
            .transpose()
            .context("no temporary directory can be made")?;
        let before = view.own_files(MOST_OWN_FILES);
        Ok(CommandView { view, scratch, temp, before })
    }

    /// Makes the view show what was there at launch where the user has changed it since, as far as that is known.
    fn lay_back(&self, view: &mut ScratchView) -> Result<()> {
        if view.changed_by_user.is_empty() || view.changed_by_user.len() > MOST_TAKEN_BACK {
            return Ok(());
        }
        let Some(work) = self.session.work()? else { return Ok(()) };
        let sides = work.three_way(Merging::Off)?;
        let mut unknown = Vec::new();
        for path in std::mem::take(&mut view.changed_by_user) {
            match at_launch(&sides, &path)? {
                AtLaunch::Absent => view.hide(&path)?,
                AtLaunch::File { bytes, mode } => {
                    view.lay_over(&[InjectedFile { path: path.0.clone(), bytes, mode }])?;
                }
                AtLaunch::Directory => {}
                AtLaunch::Unknown => unknown.push(path),
            }
        }
        view.changed_by_user = unknown;
        Ok(())
    }

    /// Runs a command in a view, as the user would run it in their project.
    pub fn run_in(&mut self, view: &CommandView, command: ViewCommand<'_>) -> Result<CheckOutcome> {
        let env = view.env(self.engine.workforce.host.env.keys().cloned());
        let ViewCommand { line, timeout_seconds, log, tap } = command;
        let log = self.session.dir.join(log);
        let check = CheckCommand {
            line,
            env: &env,
            limits: TimeLimits { wall: limit_of(timeout_seconds), idle: None },
            log: &log,
            tap,
        };
        self.attend(&view.view, check)
    }

    /// Runs a command in a view and stays with it.
    pub(super) fn attend(&mut self, view: &ScratchView, check: CheckCommand<'_>) -> Result<CheckOutcome> {
        let line = check.line.to_owned();
        let outcome = check::run(&view.mount, check, &self.secrets, &mut self.signals)?;
        match outcome.attended.interrupted_by {
            Some(signal) => Err(RunError::CheckInterrupted { command: line, signal }.into()),
            None => Ok(outcome),
        }
    }

    /// A directory of the session that is not there yet.
    fn scratch(&self, name: &str) -> PathBuf {
        let free =
            |number: &u32| self.session.dir.join(format!("{name}-{number}")).symlink_metadata().is_err();
        let number = (1..u32::MAX).find(free).unwrap_or_default();
        self.session.dir.join(format!("{name}-{number}"))
    }

    /// Makes the mount of a run that has not started show the changes of another run of the same project.
    pub fn show_changes_of(&mut self, other: &OpenRun<'_>, review: &Review) -> Result<()> {
        self.reviewed = None;
        self.mount.take_changes(&other.mount, &review.changes)
    }
}
