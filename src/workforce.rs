//! The stages put together for every command that deals with personas: config, layers, catalogue, resolution.
//! Knows the order of things; what each thing means is decided in the stages.

use crate::error::{CommandError, Result};
use crate::host::Host;
use crate::load::catalogue::{Catalogue, Collision, Entry, Reading};
use crate::load::config::{self, Config};
use crate::load::file::FileProblem;
use crate::load::layers::{self, Layer, Layers};
use crate::load::rule_files::{self, RuleFiles};
use crate::load::snapshot::Snapshot;
use crate::load::{library, roles, sidecar};
use crate::model::features::{self, FeatureState};
use crate::model::formats::PERSONA;
use crate::model::persona::Header;
use crate::model::plan::PersonaRef;
use crate::model::role::{Charter, Role};
use crate::model::selector::Selector;
use crate::model::shape::{KeyPath, Problem, Severity, Status, field};
use crate::model::source::LIBRARY;
use crate::model::text_rules::slugged;
use crate::model::words::{nearest, nearest_few};
use crate::plan::run::RolePart;
use crate::resolve::chain::{chain, same_id};
use crate::resolve::persona::{self as resolve_persona, ResolvedPersona};
use crate::resolve::role as resolve_role;
use crate::resolve::sidecar::{Sidecar, SidecarText};
use crate::ui::{Ui, printable};
use std::collections::BTreeSet;
use std::path::Path;

/// Everything that is known before a persona is picked.
pub struct Workforce {
    pub host: Host,
    pub config: Config,
    pub layers: Layers,
    pub catalogue: Catalogue,
    pub features: Vec<FeatureState>,
}

/// A persona that was found, with what is worth saying about its files.
pub struct Found {
    pub resolved: ResolvedPersona,
    pub problems: Vec<FileProblem>,
}

impl Workforce {
    /// For commands that deal with one persona.
    pub fn open(host: &Host) -> Result<Workforce> {
        Workforce::read(host, Reading::Headers, None)
    }

    /// The same with the project layer of a git ref instead of the working tree's, where one is named.
    pub fn open_at(host: &Host, persona_ref: Option<&str>) -> Result<Workforce> {
        Workforce::read(host, Reading::Headers, persona_ref)
    }

    /// For commands that list them: long texts are not read.
    pub fn open_outlines(host: &Host, persona_ref: Option<&str>) -> Result<Workforce> {
        Workforce::read(host, Reading::Outlines, persona_ref)
    }

    /// For commands that deal with all of them.
    pub fn open_whole(host: &Host, persona_ref: Option<&str>) -> Result<Workforce> {
        Workforce::read(host, Reading::Everything, persona_ref)
    }

    fn read(host: &Host, reading: Reading, persona_ref: Option<&str>) -> Result<Workforce> {
        let home = host.workforce_home()?;
        let config = config::read(&layers::config_path(&home));
        let features = features::states(&host.env, &config.settings.features).map_err(|text| {
            CommandError::usage(text)
                .caused_by(config.path.display())
                .hint("`agentworkforce config unset features.<id>` takes it out of the config")
        })?;
        let snapshot = persona_ref.map(|reference| Snapshot::open(host, reference)).transpose()?;
        let layers = layers::find(host, &config, snapshot)?;
        let catalogue = Catalogue::scan(&layers, reading);
        Ok(Workforce { host: host.clone(), config, layers, catalogue, features })
    }

    /// What the project layer is read from, if it is not the working tree.
    pub fn snapshot(&self) -> Option<&Snapshot> {
        self.layers.files.snapshot.as_deref()
    }

    /// The commit that the project layer comes from, if it is not the working tree.
    pub fn persona_ref(&self) -> Option<&PersonaRef> {
        self.layers.files.snapshot.as_ref().map(|snapshot| &snapshot.reference)
    }

    /// Says where the project layer comes from: whoever reads a plan must not take it for the working tree's.
    pub fn say_persona_ref(&self, ui: &mut Ui) {
        if let Some(reference) = self.persona_ref().filter(|_| !ui.is_json()) {
            ui.say(&printable(&format!("project layer from {reference}, not from the working tree")));
        }
    }

    /// The rule files of the project that count for this persona, and those that cannot be read.
    pub fn rule_files(&self, root: &Path, persona_id: &str) -> Result<(RuleFiles, Vec<String>)> {
        match &self.layers.files.snapshot {
            None => Ok(rule_files::in_directory(root, persona_id)),
            Some(snapshot) => rule_files::in_commit(snapshot, root, persona_id),
        }
    }

    pub fn feature(&self, id: &str) -> bool {
        self.features.iter().any(|state| state.feature.id == id && state.on)
    }

    /// Warnings that concern every command: the config and the layers themselves.
    pub fn general_warnings(&self) -> Vec<String> {
        let line = |problem: &FileProblem| match &problem.fix {
            Some(fix) => format!("{problem} ({fix})"),
            None => problem.to_string(),
        };
        let config = self.config.problems.iter().map(line);
        let files = self.catalogue.problems.iter().map(line);
        config.chain(self.layers.warnings.iter().cloned()).chain(files).collect()
    }

    /// What was meant to have a say in a run and cannot be read: settings, rule files, files of this persona. A run without
    /// them would be without what they forbid.
    pub fn unheard(&self, persona: Option<&str>, root: &Path) -> Result<Vec<String>> {
        let mut problems: Vec<FileProblem> = self.config.problems.clone();
        let mut id = persona.unwrap_or("mount").to_owned();
        if let Some(persona) = persona {
            let found = self.find(persona)?;
            found.resolved.id().clone_into(&mut id);
            problems.extend(found.problems.iter().cloned());
            problems.extend(self.catalogue.problems.iter().filter(|problem| is_of(problem, &id)).cloned());
        }
        problems.retain(|problem| problem.severity == Severity::Error);
        let (_, unreadable) = self.rule_files(root, &id)?;
        Ok(problems.iter().map(ToString::to_string).chain(unreadable).collect())
    }

    fn layer_names(&self) -> Vec<String> {
        // A layer that has no personas is in no chain, and need not be named.
        let name = |layer: &Layer| {
            let has_personas = layer.personas.is_some() || layer.label == LIBRARY;
            if has_personas { layer.label.clone() } else { String::new() }
        };
        self.catalogue.layers.iter().map(name).collect()
    }

    fn entries_named<'w>(&'w self, name: &'w str) -> impl Iterator<Item = usize> + 'w {
        let entries = &self.catalogue.entries;
        (0..entries.len()).filter(move |index| same_id(&entries[*index].header.id, name))
    }

    /// The persona of this name: by id in the highest layer that has it, else by intent in the library.
    pub fn find(&self, name: &str) -> Result<Found> {
        // A collision below does not matter to a persona that a higher layer has for itself.
        let highest = self.entries_named(name).map(|index| self.catalogue.entries[index].header.layer).min();
        let counts = |layer: usize| highest.is_none_or(|highest| layer <= highest);
        let collisions = self.catalogue.collisions.iter().filter(|collision| counts(collision.layer));
        let collision = collisions.clone().find(|collision| collision.ids.iter().any(|id| same_id(id, name)));
        if let Some(collision) = collision {
            let mut error = CommandError::usage(format!("persona `{name}` is ambiguous"));
            error.causes =
                vec![format!("the ids `{}` differ only in case in one layer", collision.ids.join("` and `"))];
            let files: Vec<String> = collision.files.iter().map(|file| file.display().to_string()).collect();
            return Err(error.hint(format!("change the id in one of {}", files.join(", "))));
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
        Err(self.no_persona(name, rejected))
    }

    fn no_persona(&self, name: &str, mut rejected: Vec<FileProblem>) -> CommandError {
        if rejected.is_empty() {
            // A file that could not be read may well be the one that is meant.
            rejected.extend(self.catalogue.problems.iter().filter(|problem| is_of(problem, name)).cloned());
        }
        rejected.retain(|problem| problem.severity == Severity::Error);
        if rejected.is_empty() {
            let ids = self.catalogue.entries.iter().map(|entry| entry.header.id.as_str());
            let near = nearest_few(name, ids);
            let near = (!near.is_empty()).then(|| format!("did you mean `{}`?", near.join("`, `")));
            return CommandError::usage(format!("there is no persona `{name}`"))
                .maybe_hint(near)
                .hint("`agentworkforce list` shows them all");
        }
        let mut error = CommandError::usage(format!("persona `{name}` is not valid"));
        error.hints = rejected.iter().filter_map(|problem| problem.fix.clone()).take(3).collect();
        error.causes = rejected.iter().map(ToString::to_string).collect();
        error
    }

    /// Merges an entry with everything it builds on. The problems of an `Err` include at least one error.
    pub fn resolve(&self, index: usize) -> std::result::Result<Found, Vec<FileProblem>> {
        let entries = &self.catalogue.entries;
        let outline = self.catalogue.outline(&entries[index]);
        let source = || entries[index].source.clone();
        if let Some(resolved) = outline.and_then(|persona| ResolvedPersona::outlined(persona, source())) {
            return Ok(Found { resolved, problems: Vec::new() });
        }
        let found = self.chain_of(index)?;
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
                Ok(Found { resolved, problems })
            }
            Err(whole) => {
                problems.extend(whole.into_iter().map(|problem| self.locate(&entries[index], problem)));
                Err(problems)
            }
        }
    }

    fn chain_of(&self, index: usize) -> std::result::Result<Vec<usize>, Vec<FileProblem>> {
        let entries = &self.catalogue.entries;
        let start = &entries[index].header;
        if start.stands_alone() {
            return Ok(vec![index]);
        }
        let headers: Vec<&Header> = entries.iter().map(|entry| &entry.header).collect();
        chain(&headers, index, &self.layer_names()).map_err(|error| {
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

    /// The role of this key in all layers, with its charter's text. Problems are warnings: a run goes on without.
    pub fn role(&self, key: &str) -> (Option<Role>, Vec<FileProblem>) {
        let (docs, mut problems) = roles::docs(&self.layers, key);
        let mut role = match resolve_role::resolve(key, &docs, library::has_role(key)) {
            Some(Ok(role)) => role,
            Some(Err(text)) => {
                let file = docs.last().and_then(|doc| doc.source.file.clone()).unwrap_or_default();
                problems.push(FileProblem::whole_file(&file, text).with_fix("add `\"label\": \"<name>\"`"));
                return (None, problems);
            }
            None => return (None, problems),
        };
        if let Some(Charter::File { path, source }) = &role.charter {
            match roles::charter_file(&self.layers.files, source, path) {
                Ok(text) => role.charter = Some(Charter::Text { text, source: source.clone() }),
                Err(problem) => {
                    problems.push(problem);
                    role.charter = None;
                }
            }
        }
        (Some(role), problems)
    }

    /// What the persona's `role` means: a role's charter, a legacy charter file, or just a label.
    pub fn role_of(&self, resolved: &ResolvedPersona) -> RoleOf {
        let said = resolved.persona.role.as_deref().map(str::trim);
        let mut result = RoleOf::default();
        if said.is_none() && !self.catalogue.layers.iter().any(|layer| layer.has_agents) {
            return result;
        }
        if let Some(key) = said.filter(|said| slugged(said) == **said) {
            let (role, problems) = self.role(key);
            result.problems.extend(problems);
            if let Some(role) = role {
                let has_charter = role.charter.is_some();
                result = result.with_role(role);
                if has_charter {
                    return result;
                }
            }
        }
        let legacy = resolved.sources.iter().rev().find_map(|source| {
            let layer = self.catalogue.layers.iter().find(|layer| layer.label == source.layer)?;
            roles::legacy_charter(&self.layers.files, layer, resolved.id())
        });
        if let Some((path, text)) = legacy {
            match text {
                Ok(text) => {
                    let label_only = RolePart { label: said.map(str::to_owned), ..RolePart::default() };
                    let part = result.part.get_or_insert(label_only);
                    part.charter = Some(text);
                    part.charter_origin = Some(path.display().to_string());
                    result.legacy_charter = true;
                    return result;
                }
                Err(problem) => result.problems.push(problem),
            }
        }
        if result.role.is_some() {
            return result;
        }
        let Some(said) = said else { return result };
        if self.feature(features::AGENT_LIBRARY) && slugged(said) != said {
            let (role, problems) = self.role(&slugged(said));
            result.problems.extend(problems);
            if let Some(role) = role {
                result.legacy_label = true;
                return result.with_role(role);
            }
        }
        if slugged(said) == said {
            let (keys, _) = roles::keys(&self.layers);
            let near = nearest(said, keys.iter().map(String::as_str));
            let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            result.warnings.push(format!(
                "there is no role `{said}`: persona `{}` gets the label and no charter{hint}",
                resolved.id()
            ));
        }
        result.part = Some(RolePart { label: Some(said.to_owned()), ..RolePart::default() });
        result
    }

    /// The text of a chosen sidecar; a missing file is a warning, and the run goes on without it.
    pub fn sidecar_text(&self, sidecar: &Sidecar) -> std::result::Result<String, FileProblem> {
        match &sidecar.text {
            SidecarText::Pack(text) | SidecarText::Builtin(text) => Ok(text.clone()),
            SidecarText::File(path) => {
                let anchor = sidecar.source.dir().unwrap_or(std::path::Path::new("/"));
                sidecar::read(&self.layers.files, anchor, path).map_err(|mut problem| {
                    problem.key.clone_from(&sidecar.key);
                    problem.severity = Severity::Warning;
                    problem
                })
            }
        }
    }
}

/// The meaning of a persona's `role`.
#[derive(Default)]
pub struct RoleOf {
    pub part: Option<RolePart>,
    pub role: Option<Role>,
    /// The persona names the role by its label, not by its key.
    pub legacy_label: bool,
    /// The charter is a file of the legacy place.
    pub legacy_charter: bool,
    pub problems: Vec<FileProblem>,
    pub warnings: Vec<String>,
}

impl RoleOf {
    fn with_role(mut self, role: Role) -> RoleOf {
        let (charter, charter_origin) = match &role.charter {
            Some(Charter::Text { text, source }) => (Some(text.clone()), Some(source.describe())),
            _ => (None, None),
        };
        self.part = Some(RolePart {
            key: Some(role.key.clone()),
            label: Some(role.label.clone()),
            charter,
            charter_origin,
        });
        self.role = Some(role);
        self
    }
}

pub fn parse_selector(text: &str) -> Result<Selector> {
    Selector::parse(text).map_err(|error| CommandError::usage(error.message).hint(error.hint))
}

/// Warnings and errors among the problems of a persona's files, as lines; notes are for `lint`.
pub fn warning_lines(problems: &[FileProblem]) -> Vec<String> {
    let line = |problem: &FileProblem| match &problem.fix {
        Some(fix) => format!("{problem} ({fix})"),
        None => problem.to_string(),
    };
    problems.iter().filter(|problem| problem.severity > Severity::Note).map(line).collect()
}

/// The keys of other tools that a persona carries, said once.
pub fn not_used(resolved: &ResolvedPersona) -> Option<String> {
    let unused = |key: &&String| {
        field(PERSONA, key).is_some_and(|field| field.status == Status::NotUsed) && key.as_str() != "builtin"
    };
    let keys: Vec<&str> = resolved.object.keys().filter(unused).map(String::as_str).collect();
    let from_file = resolved.source().layer != LIBRARY;
    (!keys.is_empty() && from_file)
        .then(|| format!("persona `{}`: not used by this runner: {}", resolved.id(), keys.join(", ")))
}

/// Whether a problem is in a file that is called as this persona.
fn is_of(problem: &FileProblem, id: &str) -> bool {
    problem.file.file_stem().and_then(|stem| stem.to_str()).is_some_and(|stem| same_id(stem, id))
}
