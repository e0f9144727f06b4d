//! The agent's work in a session, loaded from disk: enough to say what changed, long after the runner is gone.
//! It opens and reads; it changes nothing but the removal of a mount that is done with.

use crate::host::own_project;
use crate::model::inherit::Inherit;
use crate::model::mount::{Backend, PathRule};
use crate::model::mount_record::{INHERIT_FILE, MOUNT_RECORD_FILE, MountRecord, RULES_FILE};
use crate::mount::apply::Context;
use crate::mount::apply::journal::{Journal, State};
use crate::mount::changes::base_content::BaseContents;
use crate::mount::changes::content_store::BASE_DIR;
use crate::mount::changes::manifest::{MANIFEST_FILE, MOUNT_MANIFEST_FILE, Manifest};
use crate::mount::changes::{Ignored, Merging, Review, ThreeWay, review};
use crate::mount::fs::tree::{self, Tree};
use crate::mount::git::candidate;
use crate::mount::{CrashPoints, MountError};
use crate::session::error::SessionError;
use crate::session::status::SessionState;
use crate::session::store::{Session, SessionStore};
use anyhow::Result;
use std::path::PathBuf;

/// Everything that a mount leaves in a session and that goes once its work is applied or discarded.
const MOUNT_DIRS: [&str; 7] = ["mount", "upper", "work", "git", "harness-config", "temp", BASE_DIR];

/// What there is of a run, opened.
pub struct Work {
    pub record: MountRecord,
    pub rules: Vec<PathRule>,
    project: Tree,
    mount: Tree,
    base: Option<Manifest>,
    made: Option<Manifest>,
    pub contents: BaseContents,
    session: PathBuf,
}

impl Session {
    /// Kept with the session, so that what is hidden and readonly outlives the plan's format.
    pub fn write_rules(&self, rules: &[PathRule]) -> Result<()> {
        self.write_json(RULES_FILE, &rules)
    }

    /// What the run inherits is kept with the session, so that one that goes on inherits the same.
    pub fn write_inherit(&self, kinds: &[Inherit]) -> Result<()> {
        self.write_json(INHERIT_FILE, &kinds)
    }

    /// `None` for a session that was made before there was anything to inherit.
    pub fn inherit(&self) -> Result<Option<Vec<Inherit>>> {
        self.read_json(INHERIT_FILE)
    }

    pub fn record(&self) -> Result<Option<MountRecord>> {
        let record: Option<MountRecord> = self.read_json(MOUNT_RECORD_FILE)?;
        if let Some(record) = &record {
            own_project::add(&record.root);
        }
        if record.as_ref().is_some_and(|record| !record.stays_in_session()) {
            let path = self.dir.join(MOUNT_RECORD_FILE);
            let reason = "it names a directory outside of its session".to_owned();
            return Err(MountError::UntrustedRecord { path, reason }.into());
        }
        Ok(record)
    }

    /// Whether it is known what the project was at launch.
    pub fn has_base(&self) -> bool {
        self.dir.join(MANIFEST_FILE).is_file()
    }

    /// `None` if the session never had a mount, or its mount is gone.
    pub fn work(&self) -> Result<Option<Work>> {
        let record = self.record()?.filter(|record| record.backend != Backend::None);
        let Some(record) = record else { return Ok(None) };
        let path = self.dir.join(&record.data);
        if !path.is_dir() {
            return Ok(None);
        }
        let rules = self.read_json(RULES_FILE)?.ok_or_else(|| SessionError::RulesMissing {
            path: self.dir.join(RULES_FILE),
            data: path.clone(),
        })?;
        let project = crate::mount::apply::open_project(&record.root)?;
        let mount = Tree::open(&path)?.opening_closed_files();
        let base = Manifest::read(&self.dir, MANIFEST_FILE)?;
        let made = Manifest::read(&self.dir, MOUNT_MANIFEST_FILE)?;
        let contents = BaseContents::read(&self.dir);
        Ok(Some(Work { record, rules, project, mount, base, made, contents, session: self.dir.clone() }))
    }

    /// The mount goes; records, journal and undo copies stay. It is out of sight before any of it is removed: half of a
    /// mount would look like an agent that deleted the other half.
    pub fn remove_mount(&self, crash_points: &CrashPoints) -> Result<()> {
        let session = Tree::open(&self.dir)?;
        let aside = |name: &str| format!(".gone-{name}");
        for name in MOUNT_DIRS {
            tree::remove_all(session.fd(), aside(name).as_ref())?;
            match std::fs::rename(self.dir.join(name), self.dir.join(aside(name))) {
                Ok(()) => crash_points.at_each("mount: set aside"),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(error.into()),
            }
        }
        for name in MOUNT_DIRS {
            tree::remove_large(session.fd(), aside(name).as_ref())?;
            crash_points.at_each("mount: one removed");
        }
        Ok(())
    }

    /// Whether a journal waits to be ended.
    pub fn has_unfinished_journal(&self) -> Result<bool> {
        Ok(Journal::all(&self.dir)?.iter().any(|journal| !journal.state.is_finished()))
    }

    /// What the agent changed; `None` if there is no mount.
    pub fn review(&self, merging: Merging) -> Result<Option<Review>> {
        match self.work()? {
            None => Ok(None),
            Some(work) => Ok(Some(review(&work.three_way(merging)?, Ignored::KeepOut)?)),
        }
    }

    /// Whether the project has work of this session.
    pub fn was_applied(&self) -> Result<bool> {
        let journals = Journal::all(&self.dir)?;
        Ok(journals.iter().any(|journal| journal.purpose.applies() && journal.state == State::Done))
    }

    /// Whether something that was applied is only in the session since an undo.
    pub fn has_undone_work(&self) -> Result<bool> {
        let journals = Journal::all(&self.dir)?;
        Ok(journals.iter().any(|journal| !journal.purpose.applies() && journal.stands()))
    }

    /// Whether the agent put something aside with git; a stash of the user's own is not in an upper directory.
    pub fn has_stash(&self, record: &MountRecord) -> bool {
        record.git.iter().any(|git| {
            let trees = (Tree::open(&self.dir.join(&git.data)), Tree::open(&git.common_dir));
            matches!(&trees, (Ok(agents), Ok(real)) if candidate::has_new_stash(agents, real))
        })
    }

    pub(super) fn no_mount(&self) -> SessionError {
        let state = self.entry().map_or(SessionState::Interrupted, |entry| entry.state);
        SessionError::NoMount { id: self.id.clone(), state }
    }
}

impl Work {
    pub fn three_way(&self, merging: Merging) -> Result<ThreeWay<'_>> {
        Ok(ThreeWay {
            record: &self.record,
            rules: &self.rules,
            project: &self.project,
            mount: &self.mount,
            base: self.base.as_ref(),
            made: self.made.as_ref(),
            contents: Some(&self.contents),
            earlier: Journal::earlier(&self.session)?,
            merging,
        })
    }
}

impl SessionStore {
    /// The records and locks that an apply of this session uses.
    pub fn with_context<T>(
        &self,
        session: &Session,
        crash_points: &CrashPoints,
        then: impl FnOnce(&Context<'_>) -> T,
    ) -> T {
        let locks = self.locks_dir();
        then(&Context { session: &session.dir, locks: &locks, crash_points, durable: true })
    }
}
