//! The personas that were deleted. Sessions and history are kept by id, so an id does not come back unnoticed.

use super::Workforce;
use crate::files::error::FilesError;
use crate::files::{json_file, lock};
use crate::model::path_text::path_text;
use crate::resolve::chain::same_id;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const FILE: &str = "deleted-personas.json";

/// A persona that is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Deleted {
    pub id: String,
    pub name: String,
    /// Where it was.
    pub file: PathBuf,
    /// Where it is now.
    pub backup: PathBuf,
    #[serde(rename = "deletedAt")]
    pub when: String,
}

impl Workforce {
    /// Notes that this persona was deleted. A later deletion of the same file replaces the note.
    pub fn note_deleted(&self, id: &str, name: &str, file: &Path, backup: &Path) -> Result<(), FilesError> {
        let home = &self.layers.home;
        let _lock = lock::directories(&[home])?;
        json_file::edit(&home.join(FILE), |object| {
            let list = object.entry("deleted").or_insert_with(|| json!([]));
            if !list.is_array() {
                *list = json!([]);
            }
            let Value::Array(list) = list else { return Ok(()) };
            let file = path_text(file);
            list.retain(|entry| !(entry["id"] == id && entry["file"] == file));
            list.push(json!({"id": id, "name": name, "file": file, "backup": path_text(backup),
                "deletedAt": self.host.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()}));
            Ok(())
        })
    }

    /// The last deletion of a persona of this id, in this directory of personas or anywhere.
    pub fn deleted(&self, id: &str, dir: Option<&Path>) -> Option<Deleted> {
        let object = json_file::read(&self.layers.home.join(FILE)).ok().flatten()?;
        let list: Vec<Deleted> = serde_json::from_value(object.get("deleted")?.clone()).ok()?;
        let is_meant = |entry: &Deleted| {
            same_id(&entry.id, id) && dir.is_none_or(|dir| entry.file.parent() == Some(dir))
        };
        list.into_iter().rev().find(is_meant)
    }
}
