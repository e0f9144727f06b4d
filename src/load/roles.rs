//! Reads role files and charters of the layers, one role at a time. Merging is done in `resolve`.

use super::file::{self, FileProblem};
use super::files::Files;
use super::layers::{Layer, Layers};
use super::{library, normalise};
use crate::model::formats::ROLE;
use crate::model::role::RoleDoc;
use crate::model::shape::Severity;
use crate::model::source::{LayerId, Source};
use crate::model::text_rules;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the layers say about one role, lowest first. Files that cannot be used are problems.
pub fn docs(layers: &Layers, key: &str) -> (Vec<RoleDoc>, Vec<FileProblem>) {
    let (mut docs, mut problems) = (Vec::new(), Vec::new());
    for layer in layers.all.iter().rev() {
        if layer.id == LayerId::Library {
            let embedded = library::roles().find(|role| role.key == key);
            docs.extend(embedded.map(|role| {
                let object = serde_json::from_str(role.json).expect("build.rs wrote it");
                RoleDoc { object, source: Arc::new(Source::library()) }
            }));
            continue;
        }
        let Some(dir) = &layer.roles else { continue };
        match read(&layers.files, &dir.join(format!("{key}.json")), layer.id, &mut problems) {
            Ok(doc) => docs.extend(doc),
            Err(problem) => problems.push(problem),
        }
    }
    (docs, problems)
}

fn read(
    files: &Files,
    path: &Path,
    layer: LayerId,
    problems: &mut Vec<FileProblem>,
) -> Result<Option<RoleDoc>, FileProblem> {
    let Some(text) = files.read_text(path)? else { return Ok(None) };
    let object = file::parse_object(path, &text)?;
    let found = file::check_object(path, &text, &object, ROLE);
    let broken = found.iter().any(|problem| problem.severity == Severity::Error);
    problems.extend(found);
    let source = Arc::new(Source { layer, file: Some(path.to_owned()) });
    Ok((!broken).then(|| RoleDoc { object: normalise::role(object), source }))
}

/// Every role key in any layer, and the files whose names are not keys.
pub fn keys(layers: &Layers) -> (BTreeSet<String>, Vec<FileProblem>) {
    let mut keys: BTreeSet<String> = library::roles().map(|role| role.key.to_owned()).collect();
    let mut problems = Vec::new();
    for dir in layers.all.iter().filter_map(|layer| layer.roles.as_ref()) {
        let files = match layers.files.json_files(dir) {
            Ok(files) => files,
            Err(error) => {
                problems.push(FileProblem::whole_file(dir, format!("cannot be read: {error}")));
                continue;
            }
        };
        for file in files {
            let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            if text_rules::slugged(stem) == stem && !stem.is_empty() {
                keys.insert(stem.to_owned());
            } else {
                let text = "is not named after a role key: a lower-case slug such as `lead-explorer`";
                problems.push(FileProblem::whole_file(&file, text).with_fix("rename the file"));
            }
        }
    }
    (keys, problems)
}

/// The text of a charter file; a missing or unsafe one is a problem and no charter.
pub fn charter_file(files: &Files, source: &Source, relative: &str) -> Result<String, FileProblem> {
    let dir = source.dir().unwrap_or(Path::new("."));
    let path = dir.join(relative);
    contained(dir, &path)?;
    match files.read_text(&path)? {
        Some(text) => Ok(text),
        None => Err(FileProblem::whole_file(&path, "does not exist")
            .with_fix("create the file, or remove `charterFile`")),
    }
}

/// After following links, a file that a JSON file names must still be in its directory or below.
pub fn contained(dir: &Path, path: &Path) -> Result<(), FileProblem> {
    if let (Ok(dir), Ok(real)) = (dir.canonicalize(), path.canonicalize())
        && !real.starts_with(&dir)
    {
        let text = format!("leaves its directory through a link to {}", real.display());
        return Err(
            FileProblem::whole_file(path, text).with_fix("keep the file next to the JSON that names it")
        );
    }
    Ok(())
}

/// The legacy charter of a persona: `agents/<id>/charter.md` in its layer's directory.
pub fn legacy_charter(
    files: &Files,
    layer: &Layer,
    id: &str,
) -> Option<(PathBuf, Result<String, FileProblem>)> {
    let root = layer.root.as_ref().filter(|_| layer.has_agents)?;
    let path = root.join("agents").join(id).join("charter.md");
    match files.read_text(&path) {
        Ok(Some(text)) => Some((path, Ok(text))),
        Ok(None) => None,
        Err(problem) => Some((path, Err(problem))),
    }
}
