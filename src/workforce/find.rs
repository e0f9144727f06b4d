//! Finds personas by name and merges them with everything they build on. Reading files is left to `load`, merging to
//! `resolve`.

use super::Workforce;
use super::error::WorkforceError;
use crate::load::broken::Lineage;
use crate::load::catalogue::{Collision, Entry};
use crate::load::file::FileProblem;
use crate::load::layers::Layer;
use crate::model::persona::Header;
use crate::model::shape::{KeyPath, Problem, Severity};
use crate::model::source::LayerId;
use crate::model::words::nearest_few;
use crate::resolve::chain::{chain, same_id};
use crate::resolve::persona::{self as resolve_persona, ResolvedPersona};
use std::collections::BTreeSet;

/// A persona that was found, with the problems of its files.
pub struct Found {
    pub resolved: ResolvedPersona,
    pub problems: Vec<FileProblem>,
    /// What it is built from.
    pub lineage: Lineage,
}

impl Workforce {
    /// The layers that can be in a chain; `None` for one without personas.
    fn layers_of_personas(&self) -> Vec<Option<LayerId>> {
        let has_personas = |layer: &&Layer| layer.personas.is_some() || layer.id == LayerId::Library;
        let id = |layer| Some(layer).filter(has_personas).map(|layer: &Layer| layer.id);
        self.catalogue.layers.iter().map(id).collect()
    }

    fn entries_named<'w>(&'w self, name: &'w str) -> impl Iterator<Item = usize> + 'w {
        let entries = &self.catalogue.entries;
        (0..entries.len()).filter(move |index| same_id(&entries[*index].header.id, name))
    }

    /// The persona of this name: by id in the highest layer that has it, else by intent in the library, else by a display name
    /// that only one persona has.
    pub fn find(&self, name: &str) -> Result<Found, WorkforceError> {
        // A collision below does not matter to a persona that a higher layer has for itself.
        let highest = self.entries_named(name).map(|index| self.catalogue.entries[index].header.layer).min();
        let counts = |layer: usize| highest.is_none_or(|highest| layer <= highest);
        let collisions = self.catalogue.collisions.iter().filter(|collision| counts(collision.layer));
        let collision = collisions.clone().find(|collision| collision.ids.iter().any(|id| same_id(id, name)));
        if let Some(Collision { ids, files, .. }) = collision {
            return Err(WorkforceError::Ambiguous {
                name: name.to_owned(),
                ids: ids.clone(),
                files: files.clone(),
            });
        }
        let mut candidates: Vec<usize> = self.entries_named(name).collect();
        if candidates.is_empty() {
            // The intent of a built-in names that persona, with whatever higher layers make of it.
            let library = self.catalogue.entries.iter().filter(|entry| entry.source.is_library());
            let meant = library.into_iter().find(|entry| entry.header.intent.as_deref() == Some(name));
            candidates.extend(meant.iter().flat_map(|entry| self.entries_named(&entry.header.id)));
        }
        let mut rejected: Vec<FileProblem> = Vec::new();
        for candidate in candidates {
            match self.resolve(candidate) {
                Ok(mut found) => {
                    found.problems.splice(0..0, rejected);
                    return Ok(found);
                }
                Err(problems) => rejected.extend(problems),
            }
        }
        rejected.retain(|problem| problem.severity == Severity::Error);
        if rejected.is_empty() {
            // A file that could not be read may be the one that the user means.
            rejected.extend(self.catalogue.problems_of(name).into_iter().cloned());
        }
        if !rejected.is_empty() {
            return Err(WorkforceError::InvalidPersona { name: name.to_owned(), problems: rejected });
        }
        self.find_by_display_name(name)
    }

    /// Reads every persona: only overlays say what their names are in the end.
    fn find_by_display_name(&self, name: &str) -> Result<Found, WorkforceError> {
        let (all, _) = self.all();
        let is_named = |found: &Found| same_name(found.resolved.display_name(), name);
        let (mut named, others): (Vec<Found>, Vec<Found>) = all.into_iter().partition(is_named);
        match (named.pop(), named.is_empty()) {
            // By its id: files of a higher layer that are broken count as they do there.
            (Some(found), true) => self.find(found.resolved.id()),
            (Some(last), false) => {
                let ids = named.iter().chain([&last]).map(|found| found.resolved.id().to_owned()).collect();
                Err(WorkforceError::SharedName { name: name.to_owned(), ids })
            }
            (None, _) => {
                let ids = self.catalogue.entries.iter().map(|entry| entry.header.id.as_str());
                let names = others.iter().map(|found| found.resolved.display_name());
                let id_of = |near: &str| {
                    let named = others.iter().find(|found| found.resolved.display_name() == near);
                    named.map_or(near, |found| found.resolved.id()).to_owned()
                };
                let mut nearest: Vec<String> = Vec::new();
                for id in nearest_few(name, ids.chain(names)).into_iter().map(id_of) {
                    if !nearest.contains(&id) {
                        nearest.push(id);
                    }
                }
                let deleted = self.deleted(name, None).map(Box::new);
                let broken = self.catalogue.problems_without_subject().cloned().collect();
                Err(WorkforceError::NoSuchPersona { name: name.to_owned(), nearest, deleted, broken })
            }
        }
    }

    /// Merges an entry with everything it builds on. The problems of an `Err` include at least one error.
    pub fn resolve(&self, index: usize) -> Result<Found, Vec<FileProblem>> {
        let entries = &self.catalogue.entries;
        let outline = self.catalogue.outline(&entries[index]);
        let source = || entries[index].source.clone();
        if let Some(resolved) = outline.and_then(|persona| ResolvedPersona::outlined(persona, source())) {
            let lineage = Lineage::of(&[&entries[index].header], self.catalogue.layers.len());
            return Ok(Found { resolved, problems: Vec::new(), lineage });
        }
        let found = self.chain_of(index)?;
        let chain: Vec<&Header> = found.iter().map(|index| &entries[*index].header).collect();
        let lineage = Lineage::of(&chain, self.catalogue.layers.len());
        let (mut docs, mut problems) = (Vec::new(), Vec::new());
        for index in found.into_iter().rev() {
            let (doc, found) = self.catalogue.read(&entries[index]);
            problems.extend(found);
            match doc {
                Some(doc) => docs.push(doc),
                None => return Err(problems),
            }
        }
        match resolve_persona::resolve(docs) {
            Ok(resolved) => {
                problems.extend(
                    resolved.problems.iter().map(|problem| self.locate(&entries[index], problem.clone())),
                );
                Ok(Found { resolved, problems, lineage })
            }
            Err(whole) => {
                problems.extend(whole.into_iter().map(|problem| self.locate(&entries[index], problem)));
                Err(problems)
            }
        }
    }

    fn chain_of(&self, index: usize) -> Result<Vec<usize>, Vec<FileProblem>> {
        let entries = &self.catalogue.entries;
        let start = &entries[index].header;
        if start.stands_alone() {
            return Ok(vec![index]);
        }
        let headers: Vec<&Header> = entries.iter().map(|entry| &entry.header).collect();
        chain(&headers, index, &self.layers_of_personas()).map_err(|error| {
            let mut problem = Problem::new(Severity::Error, KeyPath::default().key("extends"), error.message);
            problem.fix = error.hint;
            vec![self.locate(&entries[error.at], problem)]
        })
    }

    fn locate(&self, entry: &Entry, problem: Problem) -> FileProblem {
        let path =
            entry.source.file.clone().unwrap_or_else(|| format!("<library>/{}.json", entry.header.id).into());
        FileProblem::located(&path, &self.catalogue.text_of(&entry.source), problem)
    }

    /// Every persona that can be resolved, once each, by id; and every problem that was met.
    pub fn all(&self) -> (Vec<Found>, Vec<FileProblem>) {
        let mut found: Vec<Found> = Vec::with_capacity(self.catalogue.entries.len());
        let mut problems = Vec::new();
        let lower = |id: &String| id.to_ascii_lowercase();
        // An id that a higher layer has, or has twice, is passed over below.
        let mut taken: BTreeSet<String> = BTreeSet::new();
        for (index, entry) in self.catalogue.entries.iter().enumerate() {
            let id = lower(&entry.header.id);
            let collides = |collision: &Collision| {
                collision.layer <= entry.header.layer && collision.ids.iter().any(|other| same_id(other, &id))
            };
            if taken.contains(&id) || self.catalogue.collisions.iter().any(collides) {
                continue;
            }
            match self.resolve(index) {
                Ok(persona) => {
                    found.push(persona);
                    taken.insert(id);
                }
                Err(met) => problems.extend(met),
            }
        }
        found.sort_by(|a, b| a.resolved.id().cmp(b.resolved.id()));
        (found, problems)
    }
}

/// Display names are for people, who do not care about case.
fn same_name(a: &str, b: &str) -> bool {
    a.trim().to_lowercase() == b.trim().to_lowercase()
}
