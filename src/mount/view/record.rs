//! The record of a mount in its session, written once it is complete.

use super::request::at;
use crate::files::atomic::{self, FileMode};
use crate::model::mount_record::{MOUNT_RECORD_FILE, MountRecord};
use anyhow::Result;
use std::path::Path;

/// Written atomically: a session with half a record could not be recovered.
pub(super) fn write_record(session: &Path, record: &MountRecord) -> Result<()> {
    let path = session.join(MOUNT_RECORD_FILE);
    let bytes = serde_json::to_vec(record)?;
    atomic::write(&path, &bytes, FileMode::Private).map_err(|error| at(&path, error))
}
