//! Every persona file of every layer, read but not yet decided on: ids first, contents only when they are needed.
//! A file that cannot be used is a problem beside the others, never in their way.

use super::file::{self, FileProblem};
use super::layers::{Layer, Layers};
use super::{library, normalise};
use crate::model::formats::PERSONA;
use crate::model::persona::{Header, PersonaDoc};
use crate::model::shape::{KeyPath, Object, Problem, Severity};
use crate::model::source::Source;
use crate::model::text_rules;
use serde::Deserialize;
use std::borrow::Cow;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is known of a file after one quick pass over it.
#[derive(Debug, Clone)]
pub struct Entry {
    pub header: Header,
    pub source: Arc<Source>,
    text: Cow<'static, str>,
    /// The content, where everything was read at once; whoever reads the entry first takes it along.
    content: RefCell<Option<Content>>,
}

/// A file's content, unless it cannot be used, and everything that is worth saying about it.
pub type Content = (Option<PersonaDoc>, Vec<FileProblem>);

/// The bulk of a persona file, which a list of personas does not show.
const LONG_TEXTS: [&str; 3] = ["systemPrompt", "claudeMdContent", "agentsMdContent"];

/// How much of each file a scan understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// Ids, intents and bases: enough to find one persona.
    Headers,
    /// Whole files but for their long texts: for commands that list all of them.
    Outlines,
    /// Whole files.
    Everything,
}

/// All entries, layer by layer, in the order of their file names.
#[derive(Debug, Clone)]
pub struct Catalogue {
    pub layers: Vec<Layer>,
    pub entries: Vec<Entry>,
    /// Files and directories that cannot be used at all.
    pub problems: Vec<FileProblem>,
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
            entries: Vec::new(),
            problems: Vec::new(),
            collisions: Vec::new(),
        };
        for (index, layer) in layers.all.iter().enumerate() {
            match &layer.personas {
                Some(dir) => catalogue.scan_directory(index, &layer.label, dir, reading),
                None if layer.label == crate::model::source::LIBRARY => catalogue.add_library(index, reading),
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
            content: RefCell::new(match reading {
                Reading::Outlines => outline(embedded.json, &source),
                Reading::Headers | Reading::Everything => None,
            }),
            source: source.clone(),
            text: Cow::Borrowed(embedded.json),
        }));
    }

    fn scan_directory(&mut self, layer: usize, label: &str, dir: &Path, reading: Reading) {
        let files = match json_files(dir) {
            Ok(files) => files,
            Err(error) => {
                let problem = FileProblem::whole_file(dir, format!("cannot be read: {error}"));
                return self.problems.push(problem.with_fix("check the directory's permissions"));
            }
        };
        let first = self.entries.len();
        for file in files {
            match read_entry(&file, layer, label, reading) {
                Ok(Some(entry)) => self.add(entry, first),
                Ok(None) => {}
                Err(problem) => self.problems.push(problem),
            }
        }
    }

    fn add(&mut self, entry: Entry, first_of_layer: usize) {
        let twin = self.entries[first_of_layer..]
            .iter()
            .find(|other| other.header.id.eq_ignore_ascii_case(&entry.header.id));
        let Some(twin) = twin else { return self.entries.push(entry) };
        let (file, twin_file) = (path_of(&entry), path_of(twin));
        if twin.header.id == entry.header.id {
            let text = format!(
                "duplicate id `{}`: {} comes first and is used",
                entry.header.id,
                twin_file.display()
            );
            self.problems.push(FileProblem::whole_file(&file, text).with_fix("give one of them another id"));
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

    /// The whole content of an entry, checked and in its normal form; all its problems come along.
    pub fn read(&self, entry: &Entry) -> Content {
        entry.content.take().unwrap_or_else(|| {
            let path = path_of(entry);
            let text = if entry.source.is_library() {
                Cow::Borrowed(&*entry.text)
            } else {
                self.text_of(&entry.source)
            };
            match file::parse_object(&path, &text) {
                Ok(object) => understand(&path, &text, object, &entry.source),
                Err(problem) => (None, vec![problem]),
            }
        })
    }

    /// The text of an entry's file, to find places in it.
    pub fn text_of(&self, source: &Source) -> Cow<'_, str> {
        let Some(file) = &source.file else { return Cow::Borrowed("") };
        match self.entries.iter().find(|entry| *entry.source == *source) {
            // A list does not keep the texts of files that nothing is wrong with.
            Some(entry) if entry.text.is_empty() => {
                Cow::Owned(file::read_text(file).ok().flatten().unwrap_or_default())
            }
            Some(entry) => Cow::Borrowed(&entry.text),
            None => Cow::Borrowed(""),
        }
    }
}

fn path_of(entry: &Entry) -> PathBuf {
    match &entry.source.file {
        Some(file) => file.clone(),
        None => PathBuf::from(format!("<library>/{}.json", entry.header.id)),
    }
}

/// The JSON files directly in a directory, by name. A missing directory has none.
pub fn json_files(dir: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let is_json = Path::new(&name).extension().is_some_and(|extension| extension == "json");
        let is_hidden = name.as_encoded_bytes().starts_with(b".");
        // `x__assets` and other directories are not personas.
        if is_json && !is_hidden && !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

/// A built-in without its long texts; it was checked when it was built in.
fn outline(json: &str, source: &Arc<Source>) -> Option<Content> {
    let object = file::parse_outline(Path::new("<library>"), json, &LONG_TEXTS).ok()?;
    let (object, _) = normalise::persona(object);
    Some((Some(PersonaDoc { object, source: source.clone() }), Vec::new()))
}

fn understand(path: &Path, text: &str, object: Object, source: &Arc<Source>) -> Content {
    // Places in an embedded file help nobody.
    let text = if source.is_library() { "" } else { text };
    let mut problems = file::check_object(path, text, &object, PERSONA);
    if problems.iter().any(|problem| problem.severity == Severity::Error) {
        return (None, problems);
    }
    let (object, notes) = normalise::persona(object);
    problems.extend(notes.into_iter().map(|note| FileProblem::located(path, text, note)));
    (Some(PersonaDoc { object, source: source.clone() }), problems)
}

/// A file's id, intent and base. `Ok(None)`: it went away meanwhile.
fn read_entry(
    path: &Path,
    layer: usize,
    label: &str,
    reading: Reading,
) -> Result<Option<Entry>, FileProblem> {
    let Some(text) = file::read_text(path)? else { return Ok(None) };
    let object = match reading {
        Reading::Headers => None,
        Reading::Outlines => Some(file::parse_outline(path, &text, &LONG_TEXTS)?),
        Reading::Everything => Some(file::parse_object(path, &text)?),
    };
    let raw = match &object {
        None => serde_json::from_str::<RawHeader>(&text),
        Some(object) => RawHeader::deserialize(object),
    };
    let header = match raw {
        // A list would do for the quick pass, field by field.
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
    let said = |text: &Option<Cow<str>>| {
        text.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let Some(id) = said(&header.id) else {
        return Err(FileProblem::whole_file(path, "has no `id`").with_fix("add `\"id\": \"<name>\"`"));
    };
    if let Err(reason) = text_rules::slug(&id) {
        let problem = Problem::new(Severity::Error, KeyPath::default().key("id"), reason);
        return Err(FileProblem::located(path, &text, problem));
    }
    let (intent, extends) = (said(&header.intent), said(&header.extends));
    let header = Header { id, intent, extends, layer };
    let source = Arc::new(Source { layer: label.to_owned(), file: Some(path.to_owned()) });
    let content = object.map(|object| understand(path, &text, object, &source));
    let text = if reading == Reading::Outlines { String::new() } else { text };
    Ok(Some(Entry { header, source, text: Cow::Owned(text), content: RefCell::new(content) }))
}
