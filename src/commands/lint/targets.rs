//! What a call of `lint` is about: everything, or the files of these personas and directories.

use crate::error::{CommandError, Result};
use crate::load::catalogue::{Catalogue, Reading};
use crate::load::file::FileProblem;
use crate::load::folder::json_files;
use crate::load::layers::Layer;
use crate::load::{library, roles};
use crate::model::role::RoleDoc;
use crate::model::source::LayerId;
use crate::resolve::chain::same_id;
use crate::resolve::sidecar::{self, SidecarText};
use crate::workforce::{Found, Workforce, WorkforceError};
use std::path::{Path, PathBuf};

/// What to lint: everything, or the files of these personas and directories.
pub struct Targets {
    /// `None` is everything.
    pub files: Option<Vec<PathBuf>>,
    ids: Vec<String>,
}

impl Targets {
    pub fn everything() -> Targets {
        Targets { files: None, ids: Vec::new() }
    }

    pub fn of(words: &[String], workforce: &mut Workforce) -> Result<Targets> {
        let mut targets = Targets::everything();
        if words.is_empty() {
            return Ok(targets);
        }
        let mut files = Vec::new();
        for word in words {
            let path = workforce.host.absolute(&workforce.host.expand_tilde(word));
            if path.exists() && !is_id(workforce, word) {
                if workforce.persona_ref().is_some() {
                    return Err(CommandError::usage(format!("`{word}` is a path of the working tree"))
                        .hint("with `--persona-ref`, name personas by their ids"));
                }
                add_path(workforce, &path);
                if !has_something(workforce, &path) {
                    return Err(CommandError::usage(format!(
                        "{} has no persona or role file",
                        path.display()
                    ))
                    .hint("name a `.json` file, or a directory of them"));
                }
                files.push(path);
                continue;
            }
            let role_files = files_of_role(workforce, word);
            let is_role = library::has_role(word) || !role_files.is_empty();
            files.extend(role_files);
            let found = workforce.find(word).map(|found| found.resolved.id().to_owned());
            match found {
                Ok(id) => targets.ids.push(id),
                // A broken one is what lint is for.
                Err(WorkforceError::InvalidPersona { .. } | WorkforceError::Ambiguous { .. }) => {
                    targets.ids.push(word.clone());
                }
                Err(_) if is_role => {}
                Err(_) => {
                    return Err(CommandError::usage(format!(
                        "`{word}` is neither a path nor a persona or role"
                    ))
                    .hint("`agentworkforce list` shows the personas, `agentworkforce role list` the roles"));
                }
            }
        }
        // A file need not be named after its id.
        let of_ids = workforce
            .catalogue
            .entries
            .iter()
            .filter(|entry| targets.ids.iter().any(|id| same_id(id, &entry.header.id)));
        files.extend(of_ids.filter_map(|entry| entry.source.file.clone()));
        files.extend(targets.ids.iter().flat_map(|id| texts_of(workforce, id)));
        targets.files = Some(files);
        Ok(targets)
    }

    /// Whether a problem belongs to what was named.
    pub fn includes(&self, problem: &FileProblem) -> bool {
        let Some(files) = &self.files else { return true };
        let under = files.iter().any(|file| problem.file.starts_with(file));
        let stem = problem.file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        under || self.ids.iter().any(|id| same_id(id, stem))
    }

    /// Whether this persona is a target.
    pub fn wants(&self, found: &Found) -> bool {
        let Some(files) = &self.files else { return true };
        let by_file = found.resolved.sources.iter().filter_map(|source| source.file.as_ref());
        self.ids.iter().any(|id| same_id(id, found.resolved.id()))
            || by_file.into_iter().any(|file| files.iter().any(|target| file.starts_with(target)))
    }
}

/// Whether a named path has anything to lint: a promise of "no problems" must rest on something.
fn has_something(workforce: &Workforce, path: &Path) -> bool {
    let under = |file: &Path| file.starts_with(path);
    let entries = workforce.catalogue.entries.iter().filter_map(|entry| entry.source.file.as_deref());
    let problems = workforce.catalogue.problems.iter().map(|problem| problem.file.as_path());
    let role_dirs = workforce.layers.all.iter().filter_map(|layer| layer.roles.as_deref());
    let roles: Vec<PathBuf> = role_dirs.flat_map(|dir| json_files(dir).unwrap_or_default()).collect();
    entries.chain(problems).chain(roles.iter().map(PathBuf::as_path)).any(under)
}

/// The sidecars of a persona, and where its legacy charters are.
fn texts_of(workforce: &Workforce, id: &str) -> Vec<PathBuf> {
    let sidecars = workforce.find(id).map(|found| sidecar::all(&found.resolved)).unwrap_or_default();
    let sidecars = sidecars.into_iter().filter_map(|sidecar| match sidecar.text {
        SidecarText::File(path) => Some(path),
        SidecarText::Pack(_) | SidecarText::Builtin(_) => None,
    });
    let roots = workforce.layers.all.iter().filter_map(|layer| layer.root.as_ref());
    sidecars.chain(roots.map(|root| root.join("agents").join(id))).collect()
}

/// The files of a role in every layer, and the charters beside them.
fn files_of_role(workforce: &Workforce, key: &str) -> Vec<PathBuf> {
    let (docs, problems) = roles::docs(&workforce.layers, key);
    let charter = |doc: &RoleDoc| {
        let name = doc.object.get("charterFile")?.as_str()?;
        Some(doc.source.dir()?.join(name))
    };
    let charters = docs.iter().filter_map(charter);
    let files = docs.iter().filter_map(|doc| doc.source.file.clone());
    files.chain(charters).chain(problems.into_iter().map(|problem| problem.file)).collect()
}

fn is_id(workforce: &Workforce, word: &str) -> bool {
    workforce.catalogue.entries.iter().any(|entry| same_id(&entry.header.id, word))
}

/// Files that are in no layer are looked at as if they were the highest one.
fn add_path(workforce: &mut Workforce, path: &Path) {
    let dir =
        if path.is_dir() { path.to_owned() } else { path.parent().unwrap_or(Path::new("/")).to_owned() };
    let known = workforce.layers.all.iter().any(|layer| {
        [&layer.personas, &layer.roles, &layer.root].into_iter().flatten().any(|known| *known == dir)
    });
    if known {
        return;
    }
    let nested = dir.join("personas");
    let layer = Layer {
        id: LayerId::Linted,
        personas: Some(if nested.is_dir() { nested } else { dir.clone() }),
        roles: Some(dir.join("roles")),
        has_agents: dir.join("agents").is_dir(),
        root: Some(dir),
    };
    workforce.layers.all.insert(0, layer);
    workforce.catalogue = Catalogue::scan(&workforce.layers, Reading::Everything);
}
