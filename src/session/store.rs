//! The directory of all sessions: create, open, list, find by prefix, lock, remove.
//! Liveness is the lock, never age; what a session's work is worth is decided by the caller.

use super::error::{SessionError, at};
use crate::files::atomic::{self, FileMode};
use crate::files::owned;
use crate::host::Host;
use crate::model::verdict::Ruling;
use crate::mount::fs::cleanup;
use crate::mount::fs::tree::{self, Tree};
use crate::mount::process::disk_meter::disk_use;
use crate::session::entry::SessionEntry;
use crate::session::id::SessionId;
use crate::session::status::{STATUS_FILE, SessionState, SessionStatus};
use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const LOCK_FILE: &str = "lock";
const TRASH_PREFIX: &str = ".trash-";
/// Stands for a name.
pub const LAST: &str = "last";
/// What a session is called until it can say what it is.
const NEW_PREFIX: &str = ".new-";

/// Where sessions live: `<home>/sessions`, and `<home>/locks` for the locks of projects.
#[derive(Debug, Clone)]
pub struct SessionStore {
    home: PathBuf,
    /// The working directory of whoever names a session.
    here: Option<PathBuf>,
}

/// One session directory; locked if this process runs or changes it.
#[derive(Debug)]
pub struct Session {
    pub id: SessionId,
    pub dir: PathBuf,
    lock: Option<File>,
}

impl SessionStore {
    pub fn new(workforce_home: &Path) -> SessionStore {
        SessionStore { home: workforce_home.to_owned(), here: None }
    }

    /// For commands: `last` is the last session of the project that this directory is in, and its sessions come before others.
    pub fn seen_from(self, here: &Path) -> SessionStore {
        SessionStore { here: Some(here.to_owned()), ..self }
    }

    pub fn sessions_dir(&self) -> PathBuf {
        self.home.join("sessions")
    }

    pub fn locks_dir(&self) -> PathBuf {
        self.home.join("locks")
    }

    /// Makes a new session, locked, in the state `opening`. It becomes visible only when it is complete: a process that recovers
    /// sessions at this moment must not take it for one whose runner died.
    pub fn create(&self, host: &Host, persona: &str, root: &Path) -> Result<Session> {
        let sessions = self.sessions_dir();
        private_dirs(&sessions)?;
        // Held while it is made: without it nobody could tell it from one that was left by a kill.
        let making = File::open(&sessions).and_then(|dir| dir.lock_shared().map(|()| dir));
        let _making = making.map_err(at(&sessions))?;
        let now = host.now();
        for _ in 0..16 {
            let id = SessionId::new(persona, now, &host.random_hex(6)?);
            let dir = sessions.join(id.as_str());
            let new = sessions.join(format!("{NEW_PREFIX}{id}"));
            if dir.symlink_metadata().is_ok() {
                continue;
            }
            match DirBuilder::new().mode(0o700).create(&new) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(at(&new)(error).into()),
            }
            let mut session = Session { id, dir: new, lock: None };
            let status = SessionStatus {
                schema_version: 1,
                id: session.id.to_string(),
                persona: persona.to_owned(),
                root: root.into(),
                state: SessionState::Opening,
                started_at: now.to_string(),
                ended_at: None,
                pid: std::process::id(),
                runs: Vec::new(),
                work: None,
            };
            let made = session
                .lock()
                .and_then(|()| session.write_status(&status))
                .and_then(|()| Ok(std::fs::rename(&session.dir, &dir).map_err(at(&dir))?));
            if let Err(error) = made {
                // The disk is full, say.
                let _ = cleanup::remove_tree(&session.dir);
                return Err(error);
            }
            session.dir = dir;
            return Ok(session);
        }
        bail!("no free session name in {}", sessions.display())
    }

    /// All sessions, newest first.
    pub fn list(&self) -> Result<Vec<SessionEntry>> {
        let mut entries = Vec::new();
        for session in self.all()? {
            let entry = session.entry()?;
            // Removed since its name was read.
            if entry.status.is_some() || session.exists() {
                entries.push(entry);
            }
        }
        entries.sort_by(|a, b| b.started_at().cmp(&a.started_at()).then_with(|| b.id.cmp(&a.id)));
        Ok(entries)
    }

    /// All sessions as they are named now; one may be gone when it is looked at.
    pub fn all(&self) -> Result<Vec<Session>> {
        Ok(self.ids()?.into_iter().map(|id| self.session(id)).collect())
    }

    fn ids(&self) -> Result<Vec<SessionId>> {
        let sessions = self.sessions_dir();
        let entries = match std::fs::read_dir(&sessions) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(at(&sessions)(error).into()),
        };
        let mut ids: Vec<SessionId> = Vec::new();
        for entry in entries {
            let entry = entry.map_err(at(&sessions))?;
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            ids.extend(entry.file_name().to_str().filter(|_| is_dir).and_then(SessionId::parse));
        }
        ids.sort();
        Ok(ids)
    }

    /// The session of this name, the only one whose name or whose last part starts with it, or the `last` one. Where there are several,
    /// those of the project around the working directory come first.
    pub fn find(&self, wanted: &str) -> Result<Session> {
        if wanted == LAST {
            return self.last();
        }
        let ids = self.ids()?;
        if let Some(id) = ids.iter().find(|id| id.as_str() == wanted) {
            return Ok(self.session(id.clone()));
        }
        let matching = |is_meant: &dyn Fn(&SessionId) -> bool| -> Vec<&SessionId> {
            ids.iter().filter(|id| !wanted.is_empty() && is_meant(id)).collect()
        };
        let mut meant = matching(&|id| id.as_str().starts_with(wanted));
        if meant.is_empty() {
            meant = matching(&|id| id.short().starts_with(wanted));
        }
        match meant.as_slice() {
            [id] => Ok(self.session((*id).clone())),
            [] => Err(SessionError::NotFound { wanted: wanted.to_owned() }.into()),
            several => self.of_this_project(wanted, several),
        }
    }

    /// Of several sessions that could be meant, the only one of this project.
    fn of_this_project(&self, wanted: &str, several: &[&SessionId]) -> Result<Session> {
        let entries = self.list_by_use()?;
        let root = self.project_root(&entries).filter(|_| self.here.is_some());
        let meant: Vec<&SessionEntry> =
            entries.iter().filter(|entry| several.iter().any(|id| id.as_str() == entry.id)).collect();
        let of_project: Vec<&SessionEntry> = meant
            .iter()
            .filter(|entry| root.is_some_and(|root| entry.is_of_project(root)))
            .copied()
            .collect();
        let closest = if of_project.is_empty() { meant } else { of_project };
        let mut found: Vec<Session> = closest.iter().filter_map(|entry| self.listed(entry)).collect();
        if found.len() == 1 {
            return Ok(found.remove(0));
        }
        let ids = found.into_iter().map(|session| session.id).collect();
        Err(SessionError::Ambiguous { wanted: wanted.to_owned(), ids }.into())
    }

    /// The project that the working directory is in, as the sessions name it; without one, the one that was used last.
    fn project_root<'a>(&self, entries: &'a [SessionEntry]) -> Option<&'a Path> {
        let mut roots = entries.iter().filter_map(|entry| entry.status.as_ref().map(|status| &*status.root));
        match &self.here {
            Some(here) => {
                roots.filter(|root| here.starts_with(root)).max_by_key(|root| root.as_os_str().len())
            }
            None => roots.next(),
        }
    }

    /// The session that was used last in the project around the working directory. What was used elsewhere is never meant: it would
    /// be discarded by somebody who thinks of another one.
    fn last(&self) -> Result<Session> {
        let entries = self.list_by_use()?;
        let root = self.project_root(&entries);
        let last = root.and_then(|root| entries.iter().find(|entry| entry.is_of_project(root)));
        let elsewhere = || entries.first().map(|entry| entry.id.clone());
        let session = last.and_then(|entry| self.listed(entry));
        Ok(session.ok_or_else(|| SessionError::NoLast { elsewhere: elsewhere() })?)
    }

    /// All sessions, the one that was used last first: one that was resumed was used later than it was started.
    pub fn list_by_use(&self) -> Result<Vec<SessionEntry>> {
        let mut entries = self.list()?;
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.used_at()));
        Ok(entries)
    }

    /// A session that was listed; it may be gone by now.
    pub fn listed(&self, entry: &SessionEntry) -> Option<Session> {
        SessionId::parse(&entry.id).map(|id| self.session(id))
    }

    fn session(&self, id: SessionId) -> Session {
        Session { dir: self.sessions_dir().join(id.as_str()), id, lock: None }
    }

    /// Removes a session for good. It is out of sight in one step, so that a crash leaves no half of it.
    pub fn remove(&self, session: &Session) -> Result<()> {
        let sessions = self.sessions_dir();
        let trash = sessions.join(format!("{TRASH_PREFIX}{}", session.id));
        std::fs::rename(&session.dir, &trash).map_err(at(&session.dir))?;
        self.sweep()
    }

    /// Removes what a removal or a making that was cut off has left.
    pub fn sweep(&self) -> Result<()> {
        let sessions = self.sessions_dir();
        let Ok(tree) = Tree::open(&sessions) else { return Ok(()) };
        // Alone in here, so nobody is making a session.
        let alone = File::open(&sessions).ok().filter(|dir| dir.try_lock().is_ok());
        for name in tree::list(tree.fd()).map_err(at(&sessions))? {
            let starts = |prefix: &str| name.as_encoded_bytes().starts_with(prefix.as_bytes());
            if starts(TRASH_PREFIX) || (starts(NEW_PREFIX) && alone.is_some()) {
                match tree::remove_all(tree.fd(), &name) {
                    // Whoever made it trash removes it too, at the same time.
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    removed => removed.map_err(at(&sessions.join(&name)))?,
                }
            }
        }
        Ok(())
    }
}

impl Session {
    /// Takes the session for this process; held until the value is dropped or the process dies.
    pub fn lock(&mut self) -> Result<()> {
        if self.lock.is_some() {
            return Ok(());
        }
        // Somebody who lists sessions holds each lock for a moment.
        for _ in 0..10 {
            if let Some(file) = self.try_lock()? {
                self.lock = Some(file);
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err(SessionError::InUse { id: self.id.clone() }.into())
    }

    /// How many bytes it takes on the disk; `None` if that is not known by then.
    pub fn disk_use(&self, deadline: Option<Instant>) -> Option<u64> {
        disk_use(&self.dir, deadline)
    }

    /// Whether it is there still.
    pub fn exists(&self) -> bool {
        self.dir.symlink_metadata().is_ok()
    }

    /// For processes that must keep the session alive when the runner dies: they inherit it.
    pub fn lock_file(&self) -> Option<&File> {
        self.lock.as_ref()
    }

    pub(super) fn lock_path(&self) -> PathBuf {
        self.dir.join(LOCK_FILE)
    }

    fn try_lock(&self) -> Result<Option<File>> {
        let path = self.lock_path();
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = owned::open_with(&path, &mut options).map_err(at(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(at(&path)(error).into()),
        }
    }

    /// Whether a process holds the session.
    pub fn is_live(&self) -> Result<bool> {
        if self.lock.is_some() {
            return Ok(true);
        }
        let path = self.lock_path();
        // Only looked at, so a lock file that is not there is not made.
        match owned::open(&path) {
            Ok(Some(file)) => match file.try_lock_shared() {
                Ok(()) => Ok(false),
                Err(TryLockError::WouldBlock) => Ok(true),
                Err(TryLockError::Error(error)) => Err(at(&path)(error).into()),
            },
            Ok(None) => Ok(false),
            Err(error) => Err(at(&path)(error).into()),
        }
    }

    /// Like `is_live`, but a runner that is gone gets a moment: what it started holds the lock until the kernel has
    /// ended it, which a loaded machine does not do at once.
    pub fn is_live_after_a_moment(&self) -> Result<bool> {
        for _ in 0..100 {
            if !self.is_live()? {
                return Ok(false);
            }
            let runner = self.status().ok().flatten().and_then(|status| i32::try_from(status.pid).ok());
            let is_gone = |pid| {
                nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), None) == Err(nix::errno::Errno::ESRCH)
            };
            if !runner.is_some_and(is_gone) {
                return Ok(true);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(true)
    }

    pub fn status(&self) -> Result<Option<SessionStatus>> {
        self.read_json(STATUS_FILE)
    }

    /// Fails if this is work with a contract and nobody has approved it.
    pub fn expect_approved(&self) -> Result<()> {
        let work = self.status()?.and_then(|status| status.work);
        match work.filter(|work| !work.is_approved()) {
            Some(work) => {
                let verdict = work.verdict.map_or("it was not verified", Ruling::text);
                Err(SessionError::NotApproved { id: self.id.clone(), verdict }.into())
            }
            None => Ok(()),
        }
    }

    pub fn write_status(&self, status: &SessionStatus) -> Result<()> {
        self.write_json(STATUS_FILE, status)
    }

    /// Moves the session on; an end that is already noted stays.
    pub fn set_state(&self, host: &Host, state: SessionState) -> Result<()> {
        self.update_status(|status| status.enter(state, host.now()))
    }

    /// Changes what it says about itself, if it says anything. What says the same is not written again: that takes two flushes.
    pub fn update_status(&self, change: impl FnOnce(&mut SessionStatus)) -> Result<()> {
        let Some(before) = self.status()? else { return Ok(()) };
        let mut status = before.clone();
        change(&mut status);
        if status == before { Ok(()) } else { self.write_status(&status) }
    }

    /// Notes that this process runs it now.
    pub fn set_runner(&self) -> Result<()> {
        self.update_status(|status| status.pid = std::process::id())
    }

    pub fn entry(&self) -> Result<SessionEntry> {
        // A damaged status is as good as none: the session must still be listed.
        let status = self.status().unwrap_or_default();
        match self.is_live() {
            Ok(is_live) => Ok(SessionEntry::new(&self.id, is_live, status)),
            // So is a lock that is not ours; whatever changes the session fails at it.
            Err(error) => {
                let entry = SessionEntry::new(&self.id, false, status);
                Ok(SessionEntry { problem: Some(format!("{error:#}")), ..entry })
            }
        }
    }

    pub fn read_json<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        let path = self.dir.join(name);
        let Some(bytes) = owned::read_in_private(&path).map_err(at(&path))? else { return Ok(None) };
        serde_json::from_slice(&bytes).map(Some).with_context(|| format!("{} is damaged", path.display()))
    }

    /// Complete or not there.
    pub fn write_json(&self, name: &str, value: &impl Serialize) -> Result<()> {
        let path = self.dir.join(name);
        let bytes = serde_json::to_vec_pretty(value)?;
        Ok(atomic::write(&path, &bytes, FileMode::Private).map_err(at(&path))?)
    }
}

fn private_dirs(path: &Path) -> Result<(), SessionError> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(at(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::os::unix::fs::PermissionsExt;

    fn host() -> Host {
        Host { env: BTreeMap::new(), cwd: "/".into(), stdin_is_terminal: false, stderr_is_terminal: false }
    }

    fn store() -> (tempfile::TempDir, SessionStore) {
        let dir = tempfile::tempdir().unwrap();
        let store = SessionStore::new(&dir.path().join("home"));
        (dir, store)
    }

    #[test]
    fn a_session_is_private_locked_and_listed() {
        let (_dir, store) = store();
        assert!(store.list().unwrap().is_empty());
        let session = store.create(&host(), "a/b", Path::new("/p")).unwrap();
        assert_eq!(std::fs::metadata(&session.dir).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(session.dir.parent().unwrap(), store.sessions_dir());
        let entry = &store.list().unwrap()[0];
        assert!(entry.live && entry.state == SessionState::Opening);
        assert!(store.find(session.id.as_str()).unwrap().lock().is_err());
        drop(session);
        // A process that another test starts at this moment has the lock until it has executed its program.
        let mut entry = store.list().unwrap().remove(0);
        for _ in 0..200 {
            if !entry.live {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
            entry = store.list().unwrap().remove(0);
        }
        assert!(!entry.live && entry.state == SessionState::Interrupted);
    }

    #[test]
    fn a_unique_prefix_is_enough_and_an_ambiguous_one_is_refused() {
        let (_dir, store) = store();
        let first = store.create(&host(), "alpha", Path::new("/p")).unwrap();
        store.create(&host(), "beta-one", Path::new("/p")).unwrap();
        store.create(&host(), "beta-two", Path::new("/p")).unwrap();
        assert_eq!(store.find("al").unwrap().id, first.id);
        assert!(store.find("beta").unwrap_err().to_string().contains("2 sessions"));
        // Those of this project come first, the last one before the others.
        let here = store.clone().seen_from(Path::new("/q/src"));
        let mine = store.create(&host(), "beta-three", Path::new("/q")).unwrap();
        assert_eq!(here.find("beta-").unwrap().id, mine.id);
        assert_eq!(here.find("beta-o").unwrap().id.as_str(), here.find("beta-one").unwrap().id.as_str());
        assert!(here.find("al").is_ok(), "another project's, if there is no other");
        let newest = store.create(&host(), "beta-four", Path::new("/q")).unwrap();
        let error = here.find("beta-").unwrap_err();
        let Some(SessionError::Ambiguous { ids, .. }) = error.downcast_ref() else { panic!("{error:#}") };
        assert_eq!(ids, &[newest.id.clone(), mine.id.clone()]);
        assert!(store.find("beta-").unwrap_err().to_string().contains("4 sessions"));
        assert!(store.find("").is_err() && store.find("../x").is_err());
    }

    #[test]
    fn a_removed_session_is_gone_with_closed_directories_in_it() {
        let (_dir, store) = store();
        let session = store.create(&host(), "x", Path::new("/p")).unwrap();
        let closed = session.dir.join("work/work");
        std::fs::create_dir_all(&closed).unwrap();
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).unwrap();
        store.remove(&session).unwrap();
        assert!(store.list().unwrap().is_empty());
        assert_eq!(std::fs::read_dir(store.sessions_dir()).unwrap().count(), 0);
    }

    #[test]
    fn what_a_kill_left_of_a_session_in_the_making_is_swept_and_what_is_being_made_is_not() {
        let (_dir, store) = store();
        drop(store.create(&host(), "x", Path::new("/p")).unwrap());
        let half = store.sessions_dir().join(format!("{NEW_PREFIX}y-1"));
        std::fs::create_dir(&half).unwrap();
        assert_eq!(store.list().unwrap().len(), 1, "it is not visible");
        let maker = File::open(store.sessions_dir()).unwrap();
        maker.lock_shared().unwrap();
        store.sweep().unwrap();
        assert!(half.exists());
        drop(maker);
        store.sweep().unwrap();
        assert!(!half.exists() && store.list().unwrap().len() == 1);
    }

    #[test]
    fn a_session_with_half_a_status_is_still_listed() {
        let (_dir, store) = store();
        let session = store.create(&host(), "x", Path::new("/p")).unwrap();
        std::fs::write(session.dir.join(STATUS_FILE), "{").unwrap();
        drop(session);
        assert_eq!(store.list().unwrap()[0].state, SessionState::Interrupted);
    }
}
