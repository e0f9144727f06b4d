//! The directories that a run relies on, held open: our home, the session and the project. An agent that put others in their
//! place would decide what is applied, and where. What it may write is decided by the mount.

use super::error::{Place, RunError};
use super::watch::Watch;
use crate::mount::fs::held_dir::HeldDir;
use std::path::Path;

#[derive(Debug)]
pub(super) struct HeldPlaces {
    held: Vec<(Place, HeldDir)>,
    /// Of a run with a mount: what must not appear outside of it.
    watch: Option<Watch>,
}

impl HeldPlaces {
    /// Holds them as they are before anything of the run is started.
    pub(super) fn hold(
        home: &Path,
        session: &Path,
        project: Option<&Path>,
        watch: Option<Watch>,
    ) -> std::io::Result<HeldPlaces> {
        let all = [(Place::Home, Some(home)), (Place::Session, Some(session)), (Place::Project, project)];
        let all = all.into_iter().filter_map(|(place, path)| Some((place, path?)));
        let held =
            all.map(|(place, path)| Ok((place, HeldDir::open(path)?))).collect::<std::io::Result<_>>()?;
        Ok(HeldPlaces { held, watch })
    }

    /// Fails if another directory, or none, is at one of the paths.
    pub(super) fn check(&self) -> Result<(), RunError> {
        match self.held.iter().find(|(_, held)| !held.is_in_place()) {
            None => self.watch.as_ref().map_or(Ok(()), Watch::check),
            Some((place, held)) => Err(RunError::Replaced {
                place: *place,
                path: held.path().to_path_buf(),
                now: held.place_now(),
            }),
        }
    }
}
