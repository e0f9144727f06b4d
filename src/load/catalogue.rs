//! Every persona file of every layer, read but not yet decided on: ids first, contents only when they are needed.
//! A file that cannot be used is a problem of its own and does not affect the others.

use super::file::{self, FileProblem};
use super::files::Files;
use super::layers::{Layer, Layers};
use super::outline::outline;
use super::{library, normalise};
use crate::model::formats::PERSONA;
use crate::model::persona::{Header, Persona, PersonaDoc};
use crate::model::shape::{KeyPath, Object, Problem, Severity};
use crate::model::source::{LayerId, Source};
use crate::model::text_rules;
use rustix::io::Errno;
use serde::Deserialize;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is known about a file after the scan.
#[derive(Debug, Clone)]
pub struct Entry {
    pub header: Header,
    pub source: Arc<Source>,
    /// Empty where the scan did not keep it.
    text: Cow<'static, str>,
    /// Whether the file may name skills, instruction files or MCP servers.
    names_files: bool,
    understood: RefCell<Understood>,
}

/// What the scan already parsed; the first reader takes it.
#[derive(Debug, Clone, Default)]
enum Understood {
    #[default]
    Nothing,
    Outline(Box<Persona>),
    Whole(Content),
}

/// A file's content, unless it cannot be used, and its problems.
pub type Content = (Option<PersonaDoc>, Vec<FileProblem>);

/// How much of each file a scan understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// Ids, intents and bases: enough to find one persona.
    Headers,
    /// For `list`: only what it shows of valid files without a base, and all of the others.
    Outlines,
    /// Whole files.
    Everything,
}

/// All entries, layer by layer, in the order of their file names.
#[derive(Debug, Clone)]
pub struct Catalogue {
    pub layers: Vec<Layer>,
    pub(super) files: Files,
    pub entries: Vec<Entry>,
    /// Files and directories that cannot be used at all.
    pub problems: Vec<FileProblem>,
    /// Those of them that have an id which another file of their layer has, too.
    pub(super) duplicates: Vec<PathBuf>,
    /// Those of them that nothing but their name keeps from being read.
    pub(super) overlooked: Vec<PathBuf>,
    /// Ids that differ only in case inside one layer: nothing can be picked between them.
    pub collisions: Vec<Collision>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collision {
    pub layer: usize,
    pub ids: Vec<String>,
    pub files: Vec<PathBuf>,
}

#[derive(Deserialize)]
struct RawHeader<'a> {
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    intent: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    extends: Option<Cow<'a, str>>,
}

impl Catalogue {
    pub fn scan(layers: &Layers, reading: Reading) -> Catalogue {
        let mut catalogue = Catalogue {
            layers: layers.all.clone(),
            files: layers.files.clone(),
            entries: Vec::new(),
            problems: Vec::new(),
            duplicates: Vec::new(),
            overlooked: Vec::new(),
            collisions: Vec::new(),
        };
        for (index, layer) in layers.all.iter().enumerate() {
            match &layer.personas {
                Some(dir) => catalogue.scan_directory(index, layer.id, dir, reading),
                None if layer.id == LayerId::Library => catalogue.add_library(index, reading),
                None => {}
            }
        }
        catalogue
    }

    fn add_library(&mut self, layer: usize, reading: Reading) {
        let source = Arc::new(Source::library());
        self.entries.extend(library::personas().map(|embedded| Entry {
            header: Header {
                id: embedded.key.to_owned(),
                intent: embedded.intent.map(str::to_owned),
                extends: None,
                layer,
            },
            understood: RefCell::new(match reading {
                Reading::Outlines => Understood::of_outline(embedded.outline),
                Reading::Headers | Reading::Everything => Understood::Nothing,
            }),
            source: source.clone(),
            text: Cow::Borrowed(embedded.json),
            names_files: false,
        }));
    }

    fn scan_directory(&mut self, layer: usize, layer_id: LayerId, dir: &Path, reading: Reading) {
        let mut folder = match self.files.folder(dir) {
            Ok(Some(folder)) => folder,
            Ok(None) => return,
            Err(error) => {
                let problem = FileProblem::whole_file(dir, format!("cannot be read: {error}"));
                let fix = match Errno::from_io_error(&error) {
                    Some(Errno::ACCESS | Errno::PERM) => "check the directory's permissions",
                    Some(Errno::LOOP) => "the link leads to itself: remove it",
                    _ => "replace it with a directory, or remove it",
                };
                return self.problems.push(problem.with_fix(fix));
            }
        };
        let overlooked: Vec<FileProblem> = folder.overlooked.iter().map(|one| one.problem(dir)).collect();
        self.overlooked.extend(overlooked.iter().map(|problem| problem.file.clone()));
        self.problems.extend(overlooked);
        let mut ids = HashMap::new();
        for index in 0..folder.files.len() {
            let file = dir.join(&folder.files[index].name);
            let quick =
                folder.quick_text(index).and_then(|text| quick_entry(&file, text, layer, layer_id, reading));
            match quick.map_or_else(
                || read_entry(&self.files, &file, layer, layer_id, reading),
                |entry| Ok(Some(entry)),
            ) {
                Ok(Some(entry)) => self.add(entry, &mut ids),
                Ok(None) => {}
                Err(problem) => self.problems.push(problem),
            }
        }
    }

    /// `ids` are those of the layer so far, in lower case, and where their entries are.
    fn add(&mut self, entry: Entry, ids: &mut HashMap<String, usize>) {
        let lower = entry.header.id.to_ascii_lowercase();
        let Some(twin) = ids.get(&lower).map(|index| &self.entries[*index]) else {
            ids.insert(lower, self.entries.len());
            return self.entries.push(entry);
        };
        let (file, twin_file) = (path_of(&entry), path_of(twin));
        if twin.header.id == entry.header.id {
            let text = format!(
                "duplicate id `{}`: {} comes first and is used",
                entry.header.id,
                twin_file.display()
            );
            self.problems.push(FileProblem::whole_file(&file, text).with_fix("give one of them another id"));
            self.duplicates.push(file);
            return;
        }
        let text = format!("the ids `{}` and `{}` differ only in case", twin.header.id, entry.header.id);
        for (file, other) in [(&file, &twin_file), (&twin_file, &file)] {
            let fix = format!("rename one of them; the other is {}", other.display());
            self.problems.push(FileProblem::whole_file(file, text.clone()).with_fix(fix));
        }
        let ids = vec![twin.header.id.clone(), entry.header.id.clone()];
        self.collisions.push(Collision { layer: entry.header.layer, ids, files: vec![twin_file, file] });
    }

    /// The outline of a persona, if the scan made one.
    pub fn outline(&self, entry: &Entry) -> Option<Box<Persona>> {
        match entry.understood.take() {
            Understood::Outline(persona) => Some(persona),
            other => {
                entry.understood.replace(other);
                None
            }
        }
    }

    /// The whole content of an entry, checked and in its normal form; all its problems come along.
    pub fn read(&self, entry: &Entry) -> Content {
        match entry.understood.take() {
            Understood::Whole(content) => return content,
            other => drop(entry.understood.replace(other)),
        }
        let path = path_of(entry);
        let text = entry.text(&self.files);
        match file::parse_object(&path, &text) {
            Ok(object) => understand(&path, &text, object, &entry.source),
            Err(problem) => (None, vec![problem]),
        }
    }

    /// The personas of all layers that name skills, instruction files or MCP servers, without their bases.
    pub fn docs_that_name_files(&self) -> impl Iterator<Item = PersonaDoc> {
        let named = self.entries.iter().filter(|entry| entry.names_files);
        named.filter_map(|entry| {
            let text = entry.text(&self.files);
            let object = file::parse_object(&path_of(entry), &text).ok()?;
            let (object, _) = normalise::persona(object);
            Some(PersonaDoc { object, source: entry.source.clone() })
        })
    }

    /// The text of an entry's file, to find places in it. Places in an embedded file are of no use.
    pub fn text_of(&self, source: &Source) -> Cow<'_, str> {
        let entry = self.entries.iter().find(|entry| !source.is_library() && *entry.source == *source);
        entry.map_or(Cow::Borrowed(""), |entry| entry.text(&self.files))
    }
}

impl Entry {
    fn text(&self, files: &Files) -> Cow<'_, str> {
        match &self.source.file {
            Some(file) if self.text.is_empty() => {
                Cow::Owned(files.read_text(file).ok().flatten().unwrap_or_default())
            }
            _ => Cow::Borrowed(&self.text),
        }
    }
}

fn path_of(entry: &Entry) -> PathBuf {
    match &entry.source.file {
        Some(file) => file.clone(),
        None => PathBuf::from(format!("<library>/{}.json", entry.header.id)),
    }
}

impl Understood {
    fn of_outline(text: &str) -> Understood {
        outline(text).map_or(Understood::Nothing, |persona| Understood::Outline(Box::new(persona)))
    }
}

fn understand(path: &Path, text: &str, object: Object, source: &Arc<Source>) -> Content {
    // Places in an embedded file are of no use.
    let text = if source.is_library() { "" } else { text };
    let mut problems = file::check_object(path, text, &object, PERSONA);
    if problems.iter().any(|problem| problem.severity == Severity::Error) {
        return (None, problems);
    }
    let (object, notes) = normalise::persona(object);
    problems.extend(notes.into_iter().map(|note| FileProblem::located(path, text, note)));
    (Some(PersonaDoc { object, source: source.clone() }), problems)
}

fn said(text: Option<&str>) -> Option<String> {
    text.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// The entry of a file for which the fast pass is enough.
fn quick_entry(path: &Path, text: &str, layer: usize, layer_id: LayerId, reading: Reading) -> Option<Entry> {
    let (header, understood) = match reading {
        Reading::Headers => {
            let raw: RawHeader =
                serde_json::from_str(text).ok().filter(|_| text.trim_start().starts_with('{'))?;
            let id = said(raw.id.as_deref()).filter(|id| text_rules::slug(id).is_ok())?;
            let (intent, extends) = (said(raw.intent.as_deref()), said(raw.extends.as_deref()));
            (Header { id, intent, extends, layer }, Understood::Nothing)
        }
        Reading::Outlines => {
            let persona = Box::new(outline(text)?);
            // Without an intent it may build on a file of the same id.
            let intent = said(persona.intent.as_deref())?;
            let header = Header { id: persona.id.clone(), intent: Some(intent), extends: None, layer };
            (header, Understood::Outline(persona))
        }
        Reading::Everything => return None,
    };
    let source = Arc::new(Source { layer: layer_id, file: Some(path.to_owned()) });
    let understood = RefCell::new(understood);
    Some(Entry { header, source, text: Cow::Borrowed(""), names_files: names_files(text), understood })
}

fn names_files(text: &str) -> bool {
    ["skills\"", "laudeMd\"", "gentsMd\"", "mcpServers\""].iter().any(|key| text.contains(key))
}

/// A file's id, intent and base. `Ok(None)`: it was removed meanwhile.
fn read_entry(
    files: &Files,
    path: &Path,
    layer: usize,
    layer_id: LayerId,
    reading: Reading,
) -> Result<Option<Entry>, FileProblem> {
    let Some(text) = files.read_text(path)? else { return Ok(None) };
    let object = match reading {
        Reading::Headers => None,
        Reading::Outlines | Reading::Everything => Some(file::parse_object(path, &text)?),
    };
    let raw = match &object {
        None => serde_json::from_str::<RawHeader>(&text),
        Some(object) => RawHeader::deserialize(object),
    };
    let header = match raw {
        // serde would accept a JSON list, field by field.
        Ok(header) if text.trim_start().starts_with('{') => header,
        Ok(_) => return Err(file::not_an_object(path)),
        Err(quick) => {
            // Wrong types get the checker's message, which names the key.
            let object = file::parse_object(path, &text)?;
            let mut problems = file::check_object(path, &text, &object, PERSONA);
            problems.retain(|problem| problem.severity == Severity::Error);
            let first = problems.into_iter().next();
            return Err(first.unwrap_or_else(|| file::syntax_problem(path, &quick)));
        }
    };
    let Some(id) = said(header.id.as_deref()) else {
        return Err(FileProblem::whole_file(path, "has no `id`").with_fix("add `\"id\": \"<name>\"`"));
    };
    if let Err(reason) = text_rules::slug(&id) {
        let problem = Problem::new(Severity::Error, KeyPath::default().key("id"), reason);
        return Err(FileProblem::located(path, &text, problem));
    }
    let (intent, extends) = (said(header.intent.as_deref()), said(header.extends.as_deref()));
    let header = Header { id, intent, extends, layer };
    let source = Arc::new(Source { layer: layer_id, file: Some(path.to_owned()) });
    let whole = object.map(|object| Understood::Whole(understand(path, &text, object, &source)));
    // A list has hundreds of files and does not need their texts again.
    let names_files = names_files(&text);
    let text = if reading == Reading::Outlines { String::new() } else { text };
    let understood = RefCell::new(whole.unwrap_or_default());
    Ok(Some(Entry { header, source, text: Cow::Owned(text), names_files, understood }))
}
