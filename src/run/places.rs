//! The directories that a run relies on, held open: our home, the session and the project. An agent that put others in their
//! place would decide what is applied, and where. What it may write is decided by the mount.

use super::error::{Place, RunError};
use crate::mount::fs::held_dir::HeldDir;
use std::path::Path;

#[derive(Debug)]
pub(super) struct HeldPlaces(Vec<(Place, HeldDir)>);

impl HeldPlaces {
    /// Holds them as they are before anything of the run is started.
    pub(super) fn hold(home: &Path, session: &Path, project: Option<&Path>) -> std::io::Result<HeldPlaces> {
        let all = [(Place::Home, Some(home)), (Place::Session, Some(session)), (Place::Project, project)];
        let all = all.into_iter().filter_map(|(place, path)| Some((place, path?)));
        Ok(HeldPlaces(
            all.map(|(place, path)| Ok((place, HeldDir::open(path)?))).collect::<std::io::Result<_>>()?,
        ))
    }

    /// Fails if another directory, or none, is at one of the paths.
    pub(super) fn check(&self) -> Result<(), RunError> {
        match self.0.iter().find(|(_, held)| !held.is_in_place()) {
            None => Ok(()),
            Some((place, held)) => Err(RunError::Replaced {
                place: *place,
                path: held.path().to_path_buf(),
                now: held.place_now(),
            }),
        }
    }
}
