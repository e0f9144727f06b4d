//! The record of a mount in its session, written once it is complete.

use super::request::at;
use crate::error::Result;
use crate::model::mount_record::{MOUNT_RECORD_FILE, MountRecord};
use std::io::{self, Write};
use std::path::Path;

/// Complete or not there: a session with half a record could not be recovered.
pub(super) fn write_record(session: &Path, record: &MountRecord) -> Result<()> {
    let write = || -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(session)?;
        file.write_all(&serde_json::to_vec(record)?)?;
        file.as_file().sync_data()?;
        file.persist(session.join(MOUNT_RECORD_FILE))?;
        Ok(())
    };
    write().map_err(|error| at(&session.join(MOUNT_RECORD_FILE), error))
}
