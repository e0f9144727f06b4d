//! The engine of one workforce: what every run needs besides its plan. Preparing a run starts nothing.

use super::debug_log::DebugLog;
use super::prepare::{Prepared, Probing, prepare};
use super::request::RunRequest;
use crate::mount::CrashPoints;
use crate::session::SessionStore;
use crate::workforce::Workforce;
use anyhow::Result;
use std::path::PathBuf;

/// Runs things for one workforce.
pub struct Engine<'a> {
    pub workforce: &'a Workforce,
    pub store: SessionStore,
    /// Our own binary, for the processes inside a mount.
    pub helper: PathBuf,
    pub crash_points: CrashPoints,
    pub log: DebugLog,
}

impl<'a> Engine<'a> {
    pub fn new(workforce: &'a Workforce, log: DebugLog) -> Result<Engine<'a>> {
        Ok(Engine {
            workforce,
            store: SessionStore::new(&workforce.layers.home).seen_from(&workforce.host.cwd),
            helper: PathBuf::from("/proc/self/exe"),
            crash_points: CrashPoints::of(&workforce.host),
            log,
        })
    }

    /// Decides everything about a run and starts nothing.
    pub fn prepare(&self, request: &RunRequest, probing: Probing) -> Result<Prepared> {
        prepare(self.workforce, &self.store, &self.helper, request, probing)
    }
}
