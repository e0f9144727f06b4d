//! Where new personas and roles go, and how a file gets there: whole, and never over another one unasked.

use super::edit::layer_dir;
use crate::cli::LayerArg;
use crate::error::Result;
use crate::files::json_file;
use crate::load::{file, layers};
use crate::model::shape::Object;
use crate::resolve::chain::same_id;
use crate::workforce::Workforce;
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The directories of one layer, or of a directory of the user's choice.
pub struct Target {
    pub personas: PathBuf,
    pub roles: PathBuf,
}

/// `project`, `user` or a directory; without any, what the config says, else the project.
pub fn target(workforce: &Workforce, to: Option<&str>) -> Target {
    let host = &workforce.host;
    let configured = workforce.config.settings.default_create_target.as_deref();
    match to.or(configured).unwrap_or("project") {
        "project" => {
            let layer = layer_dir(workforce, LayerArg::Project);
            Target { personas: layer.join("personas"), roles: layer.join("roles") }
        }
        "user" => Target {
            personas: layers::user_personas(host, &workforce.layers.home),
            roles: layer_dir(workforce, LayerArg::User).join("roles"),
        },
        dir => {
            let dir = host.absolute(&host.expand_tilde(dir));
            of_directory(workforce, dir)
        }
    }
}

/// A directory of a layer takes what the layer looks for: roles are not found below its personas.
fn of_directory(workforce: &Workforce, dir: PathBuf) -> Target {
    let same = |other: &Option<PathBuf>| {
        let other = other.as_deref().unwrap_or(Path::new(""));
        other == dir
            || dir.canonicalize().is_ok_and(|dir| other.canonicalize().is_ok_and(|other| other == dir))
    };
    let layers = &workforce.layers.all;
    let layer = layers.iter().find(|layer| same(&layer.personas) || same(&layer.root));
    if let Some((personas, roles)) =
        layer.and_then(|layer| Some((layer.personas.clone()?, layer.roles.clone()?)))
    {
        return Target { personas, roles };
    }
    // Not a layer yet, and arranged like one.
    let beside = dir.parent().filter(|_| dir.file_name().is_some_and(|name| name == "personas"));
    Target { roles: beside.unwrap_or(&dir).join("roles"), personas: dir }
}

/// A persona with this id in another file of the directory. It stays: beside it, one of the two would be ambiguous or unused.
pub fn file_with_id<'w>(workforce: &'w Workforce, dir: &Path, id: &str) -> Option<&'w Path> {
    let entries = workforce.catalogue.entries.iter().filter(|entry| same_id(&entry.header.id, id));
    entries.filter_map(|entry| entry.source.file.as_deref()).find(|file| file.parent() == Some(dir))
}

/// The id of the persona in this file, if the file is in a layer.
pub fn id_in_file<'w>(workforce: &'w Workforce, file: &Path) -> Option<&'w str> {
    let entry =
        workforce.catalogue.entries.iter().find(|entry| entry.source.file.as_deref() == Some(file))?;
    Some(&entry.header.id)
}

/// What writing a document to its place comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Placed {
    Written,
    /// The same bytes are there.
    Unchanged,
    /// Something else is there, and stays.
    Differs,
    /// Something else was there.
    Replaced,
}

/// What may be done to a file that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    Keep,
    Replace,
}

/// The bytes of a document as this program writes it.
pub fn bytes_of(object: &Object) -> String {
    serde_json::to_string_pretty(&Value::Object(object.clone())).expect("plain JSON") + "\n"
}

/// What `write` would do.
pub fn placement(path: &Path, text: &str, existing: Existing) -> Placed {
    let Ok(found) = path.symlink_metadata() else { return Placed::Written };
    match file::read_text(path) {
        Ok(Some(there)) if there == text => Placed::Unchanged,
        // A link is somebody's arrangement: writing through it would change a file elsewhere.
        _ if existing == Existing::Keep || !found.is_file() => Placed::Differs,
        _ => Placed::Replaced,
    }
}

/// Puts the text into its place where that is allowed. The caller holds the lock of the directory.
pub fn write(path: &Path, text: &str, existing: Existing) -> Result<Placed> {
    let placed = placement(path, text, existing);
    if matches!(placed, Placed::Written | Placed::Replaced) {
        json_file::stage_text(path, text)?.commit()?;
    }
    Ok(placed)
}
