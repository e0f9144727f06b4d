//! Removes old sessions by itself, as the config allows: once a day, for a moment, and only what is done with. Sessions with work that
//! is not applied, or was undone, are never touched here.

use super::sessions::Sessions;
use super::status::SessionState;
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

    /// What ended longer ago than `keep`, and the oldest of what takes more than `limit` bytes.
    pub(super) fn remove_old(&self, keep: Duration, limit: Option<u64>, tidied: &mut Tidied) -> Result<()> {
        let deadline = Instant::now() + TIME;
        let mut rest = Vec::new();
        // The oldest first.
        for entry in self.list()?.into_iter().rev().filter(|entry| entry.state.is_settled()) {
            if Instant::now() > deadline {
                return Ok(());
            }
            let Some(session) = self.store.listed(&entry) else { continue };
            if self.is_older(&session, keep)? {
                self.remove_if_done(session, deadline, tidied)?;
            } else {
                rest.push(session);
            }
        }
        let Some(limit) = limit else { return Ok(()) };
        let mut sizes = Vec::new();
        for session in rest {
            let Some(bytes) = session.disk_use(Some(deadline)) else { return Ok(()) };
            sizes.push((session, bytes));
        }
        let mut total: u64 = sizes.iter().map(|(_, bytes)| bytes).sum();
        for (session, bytes) in sizes {
            // What was done today may still be undone today.
            if total <= limit || Instant::now() > deadline || !self.is_older(&session, DAY)? {
                return Ok(());
            }
            if self.remove_if_done(session, deadline, tidied)? {
                total -= bytes;
            }
        }
        Ok(())
    }

    /// Gives whether it went.
    fn remove_if_done(&self, mut session: Session, deadline: Instant, tidied: &mut Tidied) -> Result<bool> {
        if session.lock().is_err() || !is_done(&session)? {
            return Ok(false);
        }
        let Some(bytes) = session.disk_use(Some(deadline)) else { return Ok(false) };
        self.store.remove(&session)?;
        tidied.removed += 1;
        tidied.bytes += bytes;
        Ok(true)
    }
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
    // A time to come is one of a clock that was wrong.
    if said
        .is_some_and(|said| said <= now && now.duration_since(said).as_secs() < DAY.as_secs().cast_signed())
    {
        return false;
    }
    let made = stamp.parent().map_or(Ok(()), std::fs::create_dir_all);
    made.and_then(|()| atomic::write_cache(&stamp, now.to_string().as_bytes(), FileMode::Private)).is_ok()
}
