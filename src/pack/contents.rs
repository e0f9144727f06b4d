//! The checked contents of a pack: its personas and their roles, each with all of its files under the names that they are
//! installed by. A pure function of the files; every problem is found before anything is written.

use super::assets::Assets;
use super::error::{InvalidPack, PackError};
use super::powers::{self, Power};
use super::references::{self, Reference, rewrite};
use super::tree::{File, Tree, basename, clean_path, join};
use crate::load::file::{self, FileProblem};
use crate::load::library;
use crate::model::formats::{PERSONA, ROLE};
use crate::model::shape::{KeyPath, Object, Problem, Severity};
use crate::model::text_rules;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

pub(super) const MANIFEST: &str = "package.json";
const ROLES: &str = "roles";
/// Roles go into the directory `roles` beside `personas`, as in every layer.
pub const ROLES_PREFIX: &str = "../roles/";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnitKind {
    Persona,
    Role,
}

impl UnitKind {
    pub fn name(self) -> &'static str {
        match self {
            UnitKind::Persona => "persona",
            UnitKind::Role => "role",
        }
    }
}

/// A persona or a role with its files, by paths relative to the directory of personas.
#[derive(Debug)]
pub struct Unit {
    pub kind: UnitKind,
    pub id: String,
    pub files: BTreeMap<String, File>,
    /// The paths of the files in the pack, the JSON first.
    pub origins: Vec<String>,
    pub base: Base,
    /// Dangerous settings of a persona, which the user is warned about.
    pub powers: Vec<Power>,
}

/// What a persona extends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Base {
    None,
    /// The same id in a lower layer, if there is one.
    SameId,
    Named(String),
}

impl Base {
    fn of(object: &Object) -> Base {
        match (object.get("extends"), object.get("intent")) {
            (Some(Value::String(base)), _) => Base::Named(base.clone()),
            (_, Some(Value::String(_))) => Base::None,
            _ => Base::SameId,
        }
    }
}

impl Unit {
    /// The files that a harness could read as a skill, with their texts.
    pub fn skill_texts(&self) -> impl Iterator<Item = (&str, Cow<'_, str>)> {
        // A directory with its SKILL.md, or a single text beside the others.
        let is_skill = |path: &str| match path.split('/').collect::<Vec<_>>().as_slice() {
            [_, name] => name.to_ascii_lowercase().ends_with(".md"),
            parts => parts.last().is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md")),
        };
        let files = self.files.iter().filter(move |(path, _)| is_skill(path));
        files.map(|(path, file)| (path.as_str(), String::from_utf8_lossy(&file.bytes)))
    }

    /// The path of its JSON.
    pub fn main_file(&self) -> String {
        let prefix = if self.kind == UnitKind::Role { ROLES_PREFIX } else { "" };
        format!("{prefix}{}.json", self.id)
    }
}

#[derive(Debug)]
pub struct Contents {
    pub name: Option<String>,
    pub version: Option<String>,
    /// The directory of personas.
    pub personas: String,
    pub units: Vec<Unit>,
}

/// One JSON file of the pack.
struct Candidate {
    path: String,
    text: String,
    object: Object,
    id: String,
}

/// Reads these personas of the pack, or all where none is named.
pub fn read(tree: &Tree, wanted: &[String]) -> Result<Contents, PackError> {
    let manifest = Manifest::read(tree)?;
    let candidates = candidates(tree, &manifest.personas)?;
    let ids: Vec<String> = candidates.iter().map(|candidate| candidate.id.clone()).collect();
    check_wanted(wanted, &ids)?;
    let is_wanted = |candidate: &&Candidate| wanted.is_empty() || wanted.contains(&candidate.id);
    let mut problems = Vec::new();
    let mut units = Vec::new();
    let mut roles: BTreeSet<String> = BTreeSet::new();
    for candidate in candidates.iter().filter(is_wanted) {
        let Candidate { path, text, object, id } = candidate;
        let found = file::check_object(Path::new(path), text, object, PERSONA);
        problems.extend(found.into_iter().filter(|problem| problem.severity == Severity::Error));
        let chosen = candidates.iter().filter(is_wanted);
        problems.extend(base_beside(candidate, &chosen.collect::<Vec<_>>()));
        if let Some(Value::String(role)) = object.get("role") {
            roles.insert(text_rules::slugged(role));
        }
        let named = references::of_persona(object);
        let unit = unit(tree, (UnitKind::Persona, id), (path, text), &named, &mut problems);
        let mut powers = powers::of_persona(object);
        powers.extend(unit.skill_texts().flat_map(|(path, text)| powers::of_skill(path, &text)));
        units.push(Unit { base: Base::of(object), powers, ..unit });
    }
    for key in roles {
        let path = format!("{ROLES}/{key}.json");
        let Some(role) = tree.file(&path) else { continue };
        match text_and_object(&path, role) {
            Ok((text, object)) => {
                let found = file::check_object(Path::new(&path), &text, &object, ROLE);
                problems.extend(found.into_iter().filter(|problem| problem.severity == Severity::Error));
                let named = references::of_role(&object);
                units.push(unit(tree, (UnitKind::Role, &key), (&path, &text), &named, &mut problems));
            }
            Err(problem) => problems.push(problem),
        }
    }
    reject(problems)?;
    Ok(Contents { name: manifest.name, version: manifest.version, personas: manifest.personas, units })
}

/// A base must be in a lower layer, but all personas of a pack go to the same one.
fn base_beside(candidate: &Candidate, chosen: &[&Candidate]) -> Option<FileProblem> {
    let Base::Named(key) = Base::of(&candidate.object) else { return None };
    let is_base = |other: &&&Candidate| {
        other.id.eq_ignore_ascii_case(&key)
            || other.object.get("intent").and_then(Value::as_str) == Some(&key)
    };
    let is_own = candidate.id.eq_ignore_ascii_case(&key);
    let is_built_in =
        library::has_persona(&key) || library::personas().any(|persona| persona.intent == Some(key.as_str()));
    if is_own || is_built_in {
        return None;
    }
    let base = chosen.iter().filter(|other| other.id != candidate.id).find(is_base)?;
    let text = format!("`{}` is a persona of the same pack, and a base must be in a lower layer", base.id);
    let fix = format!("remove `extends` from `{}`, or share `{}` as a separate pack", candidate.id, base.id);
    let problem = Problem::new(Severity::Error, KeyPath::default().key("extends"), text).fix(fix);
    Some(FileProblem::located(Path::new(&candidate.path), &candidate.text, problem))
}

/// The ids of all personas in the pack, valid or not.
pub fn ids(tree: &Tree) -> Result<Vec<String>, PackError> {
    let candidates = candidates(tree, &Manifest::read(tree)?.personas)?;
    Ok(candidates.into_iter().map(|candidate| candidate.id).collect())
}

fn unit(
    tree: &Tree,
    (kind, id): (UnitKind, &str),
    (path, text): (&str, &str),
    named: &[Reference],
    problems: &mut Vec<FileProblem>,
) -> Unit {
    let prefix = if kind == UnitKind::Role { ROLES_PREFIX } else { "" };
    let mut assets = Assets::new(tree, id);
    let mut changes: Vec<(KeyPath, String)> = Vec::new();
    for reference in named {
        match assets.take(reference, path) {
            Ok(new) => changes.push((reference.at.clone(), new)),
            Err(reason) => {
                let problem = Problem::new(Severity::Error, reference.at.clone(), reason);
                // The shape check may have reported this path already.
                let is_same = |other: &FileProblem| {
                    other.file == Path::new(path) && other.key == problem.at.to_string()
                };
                if !problems.iter().any(is_same) {
                    problems.push(FileProblem::located(Path::new(path), text, problem));
                }
            }
        }
    }
    let json = match (changes.is_empty(), tree.file(path)) {
        (true, Some(file)) => file.bytes.clone(),
        _ => rewrite(text, &changes).into_bytes().into(),
    };
    let mut origins = vec![path.to_owned()];
    origins.append(&mut assets.origins);
    let mut files: BTreeMap<String, File> =
        assets.files().map(|(place, file)| (format!("{prefix}{place}"), file)).collect();
    files.insert(format!("{prefix}{id}.json"), File { bytes: json, executable: false });
    Unit { kind, id: id.to_owned(), files, origins, base: Base::None, powers: Vec::new() }
}

/// The relevant keys of `package.json`, if there is one.
struct Manifest {
    name: Option<String>,
    version: Option<String>,
    /// The directory of personas.
    personas: String,
}

impl Manifest {
    fn read(tree: &Tree) -> Result<Manifest, PackError> {
        let Some(manifest) = tree.file(MANIFEST) else {
            let personas = if tree.is_dir("personas") { "personas" } else { "" };
            return Ok(Manifest { name: None, version: None, personas: personas.into() });
        };
        let invalid = |problem| PackError::Invalid { problems: vec![problem], reason: None };
        let (_, object) = text_and_object(MANIFEST, manifest).map_err(invalid)?;
        let at = |key: &str, message: &str| {
            let mut problem = FileProblem::whole_file(Path::new(MANIFEST), message);
            problem.key = key.into();
            problem
        };
        let text = |key: &str, is_good: &dyn Fn(&str) -> bool| match object.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if is_good(text) => Ok(Some(text.clone())),
            Some(other) => Err(invalid(at(key, &format!("{other} is not a valid package {key}")))),
        };
        let name = text("name", &is_package_name)?;
        let version = text("version", &is_version)?;
        let problem = |message: &str| at("agentworkforce.personas", message);
        let personas = match object.get("agentworkforce").and_then(|ours| ours.get("personas")) {
            None | Some(Value::Null) => "personas".to_owned(),
            Some(Value::String(dir)) => {
                clean_path(dir).map_err(|error| invalid(problem(&error.to_string())))?
            }
            Some(_) => return Err(invalid(problem("must be text: the directory of the personas"))),
        };
        if !tree.is_dir(&personas) {
            let problems = vec![problem(&format!("there is no directory `{personas}` in the pack"))];
            return Err(PackError::Invalid { problems, reason: Some(InvalidPack::PersonaDirectory) });
        }
        Ok(Manifest { name, version, personas })
    }
}

/// `name` or `@scope/name`, as in npm: it becomes part of file names, and users type it.
fn is_package_name(text: &str) -> bool {
    let is_good = |part: &str| is_word(part, "._-~") && !part.starts_with(['.', '_', '-']);
    let (scope, name) = match text.strip_prefix('@').map(|text| text.split_once('/')) {
        Some(Some((scope, name))) => (scope, name),
        Some(None) => return false,
        None => ("scope", text),
    };
    text.len() <= 214 && is_good(scope) && is_good(name)
}

fn is_version(text: &str) -> bool {
    is_word(text, "._-+") && !text.starts_with(['.', '-']) && text.len() <= 214
}

fn is_word(text: &str, more: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
}

fn candidates(tree: &Tree, dir: &str) -> Result<Vec<Candidate>, PackError> {
    let files = tree.files_below(dir);
    let skills: BTreeSet<&str> = files
        .iter()
        .filter(|(path, _)| basename(path).eq_ignore_ascii_case("SKILL.md"))
        .filter_map(|(path, _)| path.rsplit_once('/').map(|(dir, _)| dir))
        .collect();
    // Files of skills, roles and the manifest are not personas.
    let in_skill = |path: &str| path.match_indices('/').any(|(at, _)| skills.contains(&path[..at]));
    let is_own = |path: &str| dir.is_empty() && (path == MANIFEST || path.starts_with("roles/"));
    let hidden = |path: &str| path.split('/').any(|part| part.starts_with('.'));
    let mut problems = Vec::new();
    let mut found: Vec<Candidate> = Vec::new();
    for (path, file) in &files {
        if !is_json(path) || in_skill(path) || is_own(path) || hidden(path) {
            continue;
        }
        let path = join(dir, path);
        match candidate(&path, file) {
            Ok(candidate) => {
                let same = found.iter().find(|other| other.id.eq_ignore_ascii_case(&candidate.id));
                if let Some(other) = same {
                    let (id, its) = (&candidate.id, &other.id);
                    let text = if id == its {
                        format!("has the same id as {}: `{id}`", other.path)
                    } else {
                        format!("`{id}` and `{its}` of {} differ only in case", other.path)
                    };
                    problems.push(FileProblem::whole_file(Path::new(&path), text));
                }
                found.push(candidate);
            }
            Err(problem) => problems.push(problem),
        }
    }
    reject(problems)?;
    if found.is_empty() {
        return Err(PackError::NoPersonas { dir: (!dir.is_empty()).then(|| dir.to_owned()) });
    }
    Ok(found)
}

fn is_json(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|ending| ending == "json")
}

fn candidate(path: &str, file: &File) -> Result<Candidate, FileProblem> {
    let (text, object) = text_and_object(path, file)?;
    let at_id = |message: String| {
        let problem = Problem::new(Severity::Error, KeyPath::default().key("id"), message);
        FileProblem::located(Path::new(path), &text, problem)
    };
    let id = match object.get("id") {
        Some(Value::String(id)) => id.clone(),
        Some(_) => return Err(at_id("must be text".into())),
        None => {
            return Err(at_id(
                "is missing: every JSON file in a pack's persona directory is a persona".into(),
            ));
        }
    };
    text_rules::slug(&id).map_err(at_id)?;
    if id.to_ascii_lowercase().ends_with("__assets") {
        return Err(at_id("must not end in `__assets`, which is reserved for the files of personas".into()));
    }
    Ok(Candidate { path: path.to_owned(), text: text.clone(), object, id })
}

fn text_and_object(path: &str, file: &File) -> Result<(String, Object), FileProblem> {
    let text = file::text_of(Path::new(path), file.bytes.to_vec())?;
    let object = file::parse_object(Path::new(path), &text)?;
    Ok((text, object))
}

fn check_wanted(wanted: &[String], ids: &[String]) -> Result<(), PackError> {
    let missing: Vec<String> = wanted.iter().filter(|id| !ids.contains(id)).cloned().collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(PackError::UnknownPersonas { missing, available: ids.to_vec() })
}

fn reject(problems: Vec<FileProblem>) -> Result<(), PackError> {
    if problems.is_empty() { Ok(()) } else { Err(PackError::Invalid { problems, reason: None }) }
}
