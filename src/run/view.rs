//! Makes the view of the project that a run works in, and takes the base that its changes are compared with.

use crate::host::Host;
use crate::model::mount::{Backend, MountSpec, RuleSource, Sandbox};
use crate::model::mount_facts::MountFacts;
use crate::model::mount_record::MountRecord;
use crate::model::raw_path::RawPath;
use crate::model::warning::{Warning, WarningCode};
use crate::mount::CrashPoints;
use crate::mount::changes::base;
use crate::mount::changes::contents_take::{CopyLimits, take_contents};
use crate::mount::changes::diff::printable_name;
use crate::mount::{self, InjectedFile, OpenMount, OpenRequest, SignalInbox, UpperListing, probe};
use crate::rules::inherit::why_stray;
use crate::session::{Session, SessionState, SessionStore};
use anyhow::{Result, anyhow};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long contents are still kept after a run has ended: its work may wait for long, but nobody should wait for us.
const GRACE: Duration = Duration::from_millis(50);

/// What a mount is made of.
pub struct Opening<'a> {
    pub session: &'a Session,
    pub store: &'a SessionStore,
    /// Our own binary, for the processes inside.
    pub helper: &'a Path,
    /// Where our own state is.
    pub home: &'a Path,
    pub spec: &'a MountSpec,
    /// What the machine allows, where the plan has found it out already.
    pub facts: Option<&'a MountFacts>,
    pub injected: &'a [InjectedFile],
    /// Below the session directory: what the command has to read, and where it may write.
    pub shown: &'a [PathBuf],
    pub lent: &'a [PathBuf],
    pub signals: &'a SignalInbox,
    pub crash_points: &'a CrashPoints,
}

impl Opening<'_> {
    /// Makes the mount, and says what is worth a warning about it.
    pub fn open(&self) -> Result<(OpenMount, Vec<Warning>)> {
        self.session.write_rules(&self.spec.rules)?;
        self.crash_points.at("rules written");
        let open = self.with_request(mount::open)?;
        self.crash_points.at("opened");
        if open.record.backend == Backend::Copy {
            base::take_copy(&self.session.dir, &self.session.dir.join(&open.record.data))?;
        }
        let warnings = warnings(&open.record);
        self.crash_points.at("copy noted");
        Ok((open, warnings))
    }

    /// The mount that an earlier run of the session left.
    pub fn reopen(&self, record: MountRecord) -> Result<(OpenMount, Vec<Warning>)> {
        let mut warnings = warnings(&record);
        let (open, renewed) = self.with_request(|request| {
            let mut open = mount::reopen(request, record)?;
            // First: what the agent has at a path is not hidden.
            let renewed = open.renew_setup()?;
            mount::hide_newly_hidden(request, &mut open.record)?;
            Ok((open, renewed))
        })?;
        let warning = |path: &RawPath| {
            let name = printable_name(path.as_ref());
            let text = format!("the agent had written {name}, which configures a harness: it was restored");
            Warning::new(WarningCode::HarnessConfig, text)
        };
        warnings.extend(renewed.iter().map(warning));
        Ok((open, warnings))
    }

    fn with_request<T>(&self, then: impl FnOnce(&OpenRequest<'_>) -> Result<T>) -> Result<T> {
        let helper = self.helper;
        let facts = match self.facts {
            Some(facts) => facts.clone(),
            None => probe::facts(helper, self.home, &self.spec.root)?,
        };
        self.crash_points.at("probed");
        then(&OpenRequest {
            spec: self.spec,
            facts: &facts,
            helper,
            sessions_dir: &self.store.sessions_dir(),
            session_dir: &self.session.dir,
            injected: self.injected,
            expose: self.shown,
            lend: self.lent,
            writable: &self.spec.writable,
            signals: Some(self.signals),
            lock: self.session.lock_file(),
            crash_points: self.crash_points,
        })
    }
}

fn warnings(record: &MountRecord) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |text: String| warnings.push(Warning::new(WarningCode::Mount, text));
    if let Some(reason) = &record.fallback {
        warn(format!("the mount is a copy: {reason}"));
    }
    if record.backend == Backend::Copy {
        warn("in a copy the real project can still be reached by its absolute path".into());
    }
    if record.backend == Backend::Overlay && record.sandbox == Sandbox::Off {
        warn("without a PID namespace hidden files can be reached through root's other processes".into());
    }
    for hidden in record.hidden.iter().filter(|hidden| hidden.rule.source == RuleSource::Unreadable) {
        let name = printable_name(hidden.path.as_ref());
        let text =
            format!("{name} cannot be read and is hidden: what is in it cannot be judged by the rules");
        warnings.push(Warning::new(WarningCode::Unreadable, text));
    }
    warnings.extend(strays(record));
    let mut warn = |text: String| warnings.push(Warning::new(WarningCode::Mount, text));
    if record.backend == Backend::None {
        warn("there is no mount: the command works in the real directory, and nothing can be undone".into());
    }
    for name in hidden_with_other_names(record) {
        let text = format!("`{name}` is hidden, and has another hard link that may be readable");
        warnings.push(Warning::new(WarningCode::Exposed, text));
    }
    warnings
}

/// What is in an inherited place and not shown, each reason once.
fn strays(record: &MountRecord) -> Vec<Warning> {
    const NAMED: usize = 3;
    let mut found: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for hidden in &record.hidden {
        if let Some(why) = why_stray(&hidden.rule) {
            found.entry(why).or_default().push(printable_name(&hidden.path));
        }
    }
    let warning = |(why, names): (&str, Vec<String>)| {
        let more = match names.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let names = names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        Warning::new(WarningCode::Skill, format!("{names}{more} hidden: {why}"))
    };
    found.into_iter().map(warning).collect()
}

/// Hidden files that another name leads to. Where that is only a search of the whole filesystem would tell; what a hidden
/// directory holds is not looked at.
fn hidden_with_other_names(record: &MountRecord) -> impl Iterator<Item = String> {
    record.hidden.iter().filter(|hidden| !hidden.is_dir).filter_map(|hidden| {
        let metadata = record.root.join(&hidden.path).symlink_metadata().ok()?;
        (metadata.is_file() && metadata.nlink() > 1).then(|| printable_name(&hidden.path))
    })
}

/// What became of the base while something ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    Taken,
    /// Nothing was written: there is nothing to compare with it.
    Skipped,
}

/// Runs something in the mount while the base is taken: what changes meanwhile counts as the user's. If nothing was written into the
/// mount, and the session `ends` with this outcome, nobody waits for the base.
pub fn with_base<T>(
    open: &OpenMount,
    session: &Session,
    host: &Host,
    spec: &MountSpec,
    crash_points: &CrashPoints,
    run: impl FnOnce() -> Result<T>,
    ends: impl FnOnce(&T) -> bool,
) -> Result<(T, Base)> {
    session.set_state(host, SessionState::Running)?;
    crash_points.at("running");
    let over_since = OnceLock::new();
    let unneeded = AtomicBool::new(false);
    let is_unneeded = || unneeded.load(Ordering::Relaxed);
    let before = UpperListing::of(&session.dir, &open.record);
    std::thread::scope(|scope| {
        let manifest = scope.spawn(|| match open.record.backend {
            Backend::None => Ok(()),
            _ => {
                crash_points.at("base begun");
                let taken = base::take_project(&session.dir, &spec.root, &spec.rules, &is_unneeded);
                crash_points.at("base taken");
                let launched = open.record.launched_at;
                let is_over =
                    || is_unneeded() || over_since.get().is_some_and(|over: &Instant| over.elapsed() > GRACE);
                // Without them more is a conflict, and nothing is wrong.
                let kept = take_contents(&session.dir, &spec.root, launched, CopyLimits::default(), &is_over);
                if let Err(error) = kept {
                    tracing::warn!("the contents of the base are not kept: {error:#}");
                }
                crash_points.at("base contents kept");
                taken
            }
        });
        let outcome = run();
        over_since.get_or_init(Instant::now);
        if outcome.as_ref().is_ok_and(ends)
            && before.is_some_and(|before| before.is_current(&session.dir, &open.record))
        {
            unneeded.store(true, Ordering::Relaxed);
        }
        let taken = manifest.join().map_err(|_| anyhow!("the base could not be taken"))?;
        let outcome = outcome?;
        // Without a base every change is a conflict: held, never lost.
        taken?;
        let is_skipped = is_unneeded() && !session.has_base();
        Ok((outcome, if is_skipped { Base::Skipped } else { Base::Taken }))
    })
}
