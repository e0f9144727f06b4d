//! Removes old sessions automatically, as the config allows: at most once a day, for at most two seconds, and only finished sessions.
//! Sessions with work that is not applied, or was undone, are never touched here.

use super::sessions::Sessions;
use super::status::{STATUS_FILE, SessionState};
use super::store::Session;
use crate::files::atomic::{self, FileMode};
use crate::model::settings::SessionSettings;
use anyhow::Result;
use jiff::Timestamp;
use std::path::Path;
use std::time::{Duration, Instant};

/// Below the home. When sessions were looked at last.
const STAMP_FILE: &str = "cache/sessions-tidied";
const DAY: Duration = Duration::from_hours(24);
/// In a session: how many bytes it takes.
const SIZE_FILE: &str = "size.json";
/// What is left after this waits for the next day.
const TIME: Duration = Duration::from_secs(2);

/// What was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tidied {
    pub removed: usize,
    pub bytes: u64,
}

impl Sessions<'_> {
    /// Removes what is older, or more, than the settings keep. A failure is no reason for a run to fail: it waits for the next day.
    pub fn tidy(&self, home: &Path, settings: &SessionSettings) -> Tidied {
        let mut tidied = Tidied::default();
        if (settings.keep_days() == Duration::MAX && settings.keep_gb.is_none())
            || !is_due(home, self.host.now())
        {
            return tidied;
        }
        let limit = settings.keep_gb.map(|gb| gb.saturating_mul(1_000_000_000));
        if let Err(error) = self.remove_old(settings.keep_days(), limit, &mut tidied) {
            tracing::warn!("old sessions are left: {error:#}");
        }
        tidied
    }

    /// What ended longer ago than `keep`, and the oldest of what takes more than `limit` bytes. A session that cannot be read stays,
    /// and keeps no other.
    pub(super) fn remove_old(&self, keep: Duration, limit: Option<u64>, tidied: &mut Tidied) -> Result<()> {
        let deadline = Instant::now() + TIME;
        let mut rest = Vec::new();
        // The oldest first.
        for entry in self.list()?.into_iter().rev().filter(|entry| entry.state.is_settled()) {
            if Instant::now() > deadline {
                return Ok(());
            }
            let Some(session) = self.store.listed(&entry) else { continue };
            if self.is_older_or_unreadable(&session, keep) {
                self.remove_if_done(session, deadline, tidied);
            } else {
                rest.push(session);
            }
        }
        let Some(limit) = limit else { return Ok(()) };
        let mut sizes = Vec::new();
        for session in rest {
            // What is measured in time is noted, so that the next day gets further.
            let Some(bytes) = settled_size(&session, deadline) else { return Ok(()) };
            sizes.push((session, bytes));
        }
        let mut total: u64 = sizes.iter().map(|(_, bytes)| bytes).sum();
        for (session, bytes) in sizes {
            // What was done today may still be undone today.
            if total <= limit || Instant::now() > deadline || !self.is_older_or_unreadable(&session, DAY) {
                return Ok(());
            }
            if self.remove_if_done(session, deadline, tidied) {
                total = total.saturating_sub(bytes);
            }
        }
        Ok(())
    }

    fn is_older_or_unreadable(&self, session: &Session, age: Duration) -> bool {
        self.is_older(session, age).unwrap_or(true)
    }

    /// Returns whether it was removed.
    fn remove_if_done(&self, session: Session, deadline: Instant, tidied: &mut Tidied) -> bool {
        let id = session.id.clone();
        match self.try_to_remove(session, deadline) {
            Ok(Some(bytes)) => {
                tidied.removed += 1;
                tidied.bytes += bytes;
                true
            }
            Ok(None) => false,
            Err(error) => {
                tracing::warn!("session `{id}` stays: {error:#}");
                false
            }
        }
    }

    /// Removes a session that is done with; how much room it took.
    fn try_to_remove(&self, mut session: Session, deadline: Instant) -> Result<Option<u64>> {
        if session.lock().is_err() || !is_done(&session)? {
            return Ok(None);
        }
        let Some(bytes) = settled_size(&session, deadline) else { return Ok(None) };
        self.store.remove(&session)?;
        Ok(Some(bytes))
    }
}

/// How much room a settled session takes. It stays what it is as long as the status does, so it is measured once.
pub(super) fn settled_size(session: &Session, deadline: Instant) -> Option<u64> {
    let modified =
        |name: &str| session.dir.join(name).symlink_metadata().and_then(|found| found.modified()).ok();
    if modified(SIZE_FILE).is_some_and(|noted| modified(STATUS_FILE).is_some_and(|said| said < noted))
        && let Ok(Some(bytes)) = session.read_json(SIZE_FILE)
    {
        return Some(bytes);
    }
    let bytes = session.disk_use(Some(deadline))?;
    let _ = session.write_json(SIZE_FILE, &bytes);
    Some(bytes)
}

/// Whether nothing is in it but records. A mount is still there because it holds something: that is looked at only by `prune`.
fn is_done(session: &Session) -> Result<bool> {
    let state = session.entry()?.state;
    let has_mount = session.record()?.is_some_and(|record| session.dir.join(record.data).is_dir());
    Ok(state.is_settled()
        && (state == SessionState::Discarded || !has_mount)
        && !session.has_unfinished_journal()?
        && (state == SessionState::Discarded || !session.has_undone_work()?))
}

/// Notes that it was done now, unless it was within the last day.
fn is_due(home: &Path, now: Timestamp) -> bool {
    let stamp = home.join(STAMP_FILE);
    let said = std::fs::read_to_string(&stamp).ok().and_then(|text| text.trim().parse::<Timestamp>().ok());
    // A time in the future comes from a wrong clock.
    if said
        .is_some_and(|said| said <= now && now.duration_since(said).as_secs() < DAY.as_secs().cast_signed())
    {
        return false;
    }
    let made = stamp.parent().map_or(Ok(()), std::fs::create_dir_all);
    made.and_then(|()| atomic::write_cache(&stamp, now.to_string().as_bytes(), FileMode::Private)).is_ok()
}
