//! `import`: converts agent files of other tools to personas and reports every field.

mod candidates;
mod comment;
mod report;
mod row;

use self::candidates::Candidate;
use self::row::{ImportStatus, Row};
use super::target::{self, Existing, Placed, Target};
use crate::cli::{FromArg, ImportArgs};
use crate::convert::detect::{self, FileKind};
use crate::convert::names::FreeNames;
use crate::convert::{self, Converted, Draft, Format, Missing, Origin, RoleDraft, Source};
use crate::error::Result;
use crate::exit::Exit;
use crate::files::error::cannot_write;
use crate::files::lock::{self, DirectoryLocks};
use crate::host::{Host, normalised};
use crate::load::file::{self, FileProblem};
use crate::load::layers::Layer;
use crate::load::{check, library};
use crate::model::amounts::counted;
use crate::model::formats::{PERSONA, ROLE};
use crate::model::shape::{Field, Object, Severity};
use crate::model::source::Source as PersonaSource;
use crate::model::warning::{Warning, WarningCode};
use crate::resolve::chain::same_id;
use crate::ui::Ui;
use crate::workforce::Workforce;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Agent files are texts; a larger file is something else.
const MAX_BYTES: usize = 2 * 1024 * 1024;

pub fn run(args: &ImportArgs, host: &Host, ui: &mut Ui) -> Result<Exit> {
    let workforce = Workforce::open(host)?;
    let candidates = candidates::candidates(host, &args.paths)?;
    let target = target::target(&workforce, args.to.as_deref());
    let existing = if args.overwrite { Existing::Replace } else { Existing::Keep };
    let mut import = Import {
        workforce: &workforce,
        target,
        existing,
        dry_run: args.dry_run,
        from: args.from,
        rows: Vec::new(),
        personas: Documents::default(),
        roles: Documents::default(),
        read: Vec::new(),
        beside: BTreeMap::new(),
        parts: RefCell::default(),
        locks: None,
    };
    let shows_progress = host.shows_progress() && !ui.is_json() && candidates.len() > 50;
    // Configs first: a file that one of them names is a part of its agents, not an agent itself.
    let (configs, others): (Vec<_>, Vec<_>) = candidates.iter().partition(|candidate| candidate.is_config());
    for (index, candidate) in configs.into_iter().chain(others).enumerate() {
        if shows_progress && index % 25 == 0 {
            ui.progress(&format!("{index} of {} files", candidates.len()));
        }
        import.read_file(candidate);
    }
    import.read_files_beside_agents(&candidates);
    let place: BTreeMap<&Path, usize> =
        candidates.iter().enumerate().map(|(at, candidate)| (candidate.path.as_path(), at)).collect();
    import.write_all(&place)?;
    if shows_progress {
        ui.end_progress();
    }
    // Reported in the order of the files.
    import.rows.sort_by_key(|row| place.get(row.source.as_path()).copied());
    let written = import.count(ImportStatus::Imported) + import.count(ImportStatus::Replaced);
    if written > 0 && !args.dry_run {
        super::edit::audit(&workforce, &format!("import {}", counted(written, "file")))?;
    }
    let failed = import.count(ImportStatus::Failed) + import.count(ImportStatus::Differs);
    let nothing = written == 0 && import.count(ImportStatus::Unchanged) == 0;
    let outcome =
        report::Outcome { rows: &import.rows, target: &import.target.personas, dry_run: args.dry_run };
    report::print(&outcome, nothing && failed == 0, ui);
    Ok(if failed > 0 || nothing { Exit::Failed } else { Exit::Done })
}

/// Why a file is not imported.
struct NotImported {
    status: ImportStatus,
    why: String,
    unreadable: bool,
}

/// The agents of one file, before they have their ids.
struct ReadFile {
    path: PathBuf,
    format: Format,
    converted: Converted,
}

/// The personas or the roles of this import.
#[derive(Default)]
struct Documents {
    names: FreeNames,
    /// The names of what was imported, by its name and text as they were read.
    written: HashMap<String, String>,
}

struct Import<'w> {
    workforce: &'w Workforce,
    target: Target,
    existing: Existing,
    dry_run: bool,
    from: FromArg,
    rows: Vec<Row>,
    personas: Documents,
    roles: Documents,
    read: Vec<ReadFile>,
    /// Prompts that are agents only beside others, with their formats and why else they are not.
    beside: BTreeMap<PathBuf, (Format, String)>,
    /// Files that were read as parts of a config, with the config.
    parts: RefCell<BTreeMap<PathBuf, String>>,
    /// Taken at the first write, so that an import without changes creates no directory.
    locks: Option<DirectoryLocks>,
}

impl Import<'_> {
    fn count(&self, status: ImportStatus) -> usize {
        self.rows.iter().filter(|row| row.status == status).count()
    }

    fn read_file(&mut self, candidate: &Candidate) {
        let path = &candidate.path;
        if let Some(why) = candidate.skipped {
            self.rows.push(Row::without(path, ImportStatus::Skipped, why.into()));
            return;
        }
        let part_of = self.parts.get_mut().get(path).filter(|_| candidate.origin == Origin::Found);
        if let Some(config) = part_of {
            let why = format!("imported as a part of {config}");
            self.rows.push(Row::without(path, ImportStatus::Skipped, why));
            return;
        }
        let (text, problem) = match read(path) {
            Ok(text) if text.trim_start_matches('\u{feff}').trim().is_empty() => {
                (text, Some("is empty".into()))
            }
            Ok(text) => (text, None),
            Err(why) => (beginning(path), Some(why)),
        };
        let place = path.to_string_lossy();
        let below = path.strip_prefix(&candidate.root).unwrap_or(path).to_string_lossy();
        let parts = &self.parts;
        let nearby = |relative: &str| {
            let (real, text) = nearby(candidate, relative)?;
            let config = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            parts.borrow_mut().insert(real, config);
            Ok(text)
        };
        let source = Source { path: &place, below: &below, text: &text, nearby: &nearby };
        let is_readable = problem.is_none();
        let kind = match (problem, self.beside.remove(path)) {
            (Some(why), _) => detect::unreadable(&source, candidate.origin, why),
            (None, Some((format, _))) => FileKind::Agent(format),
            (None, None) => detect::kind(&source, candidate.origin),
        };
        if let FileKind::AmongAgents(format, why) = kind {
            self.beside.insert(path.clone(), (format, why));
            return;
        }
        let result = match self.format(kind, candidate.origin, is_readable) {
            Ok(format) => match convert::convert(format, &source) {
                Ok(converted) => return self.read.push(ReadFile { path: path.clone(), format, converted }),
                Err(why) => {
                    Row { format: Some(format.name()), ..Row::without(path, ImportStatus::Failed, why) }
                }
            },
            Err(unfit) => Row { unreadable: unfit.unreadable, ..Row::without(path, unfit.status, unfit.why) },
        };
        self.rows.push(result);
    }

    /// Reads the prompts beside agents in Markdown, and skips the others.
    fn read_files_beside_agents(&mut self, candidates: &[Candidate]) {
        let is_markdown = |file: &&ReadFile| file.path.extension().is_some_and(|ending| ending == "md");
        let agents = self.read.iter().filter(is_markdown);
        let dirs: BTreeSet<PathBuf> =
            agents.filter_map(|file| Some(file.path.parent()?.to_owned())).collect();
        for candidate in candidates {
            let path = &candidate.path;
            if path.parent().is_some_and(|dir| dirs.contains(dir)) {
                if self.beside.contains_key(path) {
                    self.read_file(candidate);
                }
            } else if let Some((_, why)) = self.beside.remove(path) {
                self.rows.push(Row::without(path, ImportStatus::Skipped, why));
            }
        }
    }

    /// The format of a file, or why the file is not imported.
    fn format(
        &self,
        kind: FileKind,
        origin: Origin,
        is_readable: bool,
    ) -> std::result::Result<Format, NotImported> {
        let said = match self.from {
            FromArg::Auto => None,
            FromArg::Claude => Some(Format::Claude),
            FromArg::Opencode => Some(Format::Opencode),
            FromArg::Codex => Some(Format::Codex),
            FromArg::Goose => Some(Format::Goose),
            FromArg::Copilot => Some(Format::Copilot),
            FromArg::Kiro => Some(Format::Kiro),
            FromArg::Minions => Some(Format::Minions),
        };
        let unfit = |status: ImportStatus, why: String| NotImported { status, why, unreadable: false };
        match (said.filter(|_| is_readable), kind) {
            // A document beside agents is not one, whatever the format.
            (_, FileKind::Other(why)) if origin == Origin::Found => Err(unfit(ImportStatus::Skipped, why)),
            (_, FileKind::Unreadable(why)) if origin == Origin::Found => {
                Err(NotImported { unreadable: true, ..unfit(ImportStatus::Skipped, why) })
            }
            (Some(format), _) | (None, FileKind::Agent(format)) => Ok(format),
            (
                None,
                FileKind::Broken(why)
                | FileKind::Other(why)
                | FileKind::Unreadable(why)
                | FileKind::AmongAgents(_, why),
            ) => Err(unfit(ImportStatus::Failed, why)),
        }
    }

    /// Gives ids to all agents and writes them. Those of harnesses have the first choice of names, then the order of files decides.
    fn write_all(&mut self, place: &BTreeMap<&Path, usize>) -> Result<()> {
        let mut read = std::mem::take(&mut self.read);
        read.sort_by_key(|file| (!file.format.is_of_a_harness(), place.get(file.path.as_path()).copied()));
        for file in read {
            self.add(&file.path, file.format, file.converted)?;
        }
        Ok(())
    }

    fn add(&mut self, path: &Path, format: Format, mut converted: Converted) -> Result<()> {
        let same_roles = self.name_roles(path, &mut converted);
        let drafts = std::mem::take(&mut converted.drafts).into_iter();
        let mut rows = drafts.map(|draft| self.persona(path, draft)).collect::<Result<Vec<_>>>()?;
        rows.extend(same_roles);
        for draft in converted.roles {
            rows.push(self.role(path, draft)?);
        }
        rows.extend(converted.refused.into_iter().map(|why| Row::without(path, ImportStatus::Failed, why)));
        if let Some(first) = rows.first_mut() {
            first.fields.splice(0..0, converted.fields);
        }
        for row in &mut rows {
            row.format = Some(format.name());
        }
        self.rows.extend(rows);
        Ok(())
    }

    /// Gives another key to each role whose key is that of another role of this import, also in the personas of its file. Takes
    /// out those that are imported already, and returns their rows.
    fn name_roles(&mut self, path: &Path, converted: &mut Converted) -> Vec<Row> {
        let mut same = Vec::new();
        let mut renamed: HashMap<String, String> = HashMap::new();
        for mut draft in std::mem::take(&mut converted.roles) {
            let Documents { names, written } = &mut self.roles;
            let as_read = format!("{} {}", draft.key, target::bytes_of(&draft.role));
            let known = written.get(&as_read).cloned();
            let is_known = known.is_some();
            let key = known.unwrap_or_else(|| names.take(&draft.key));
            written.insert(as_read, key.clone());
            if key != draft.key {
                let text = format!(
                    "another imported role is also named `{}`; this one was named `{key}`",
                    draft.key
                );
                draft.warnings.push(Warning::new(WarningCode::Conversion, text));
                renamed.insert(std::mem::replace(&mut draft.key, key.clone()), key);
            }
            if is_known {
                let why = "another imported file has the same role".to_owned();
                let row = Row::without(path, ImportStatus::Unchanged, why);
                same.push(Row {
                    role: Some(draft.key),
                    fields: draft.fields,
                    warnings: draft.warnings,
                    ..row
                });
            } else {
                converted.roles.push(draft);
            }
        }
        for draft in &mut converted.drafts {
            let role = draft.persona.get("role").and_then(Value::as_str);
            if let Some(key) = role.and_then(|role| renamed.get(role)) {
                draft.persona.insert("role".into(), Value::from(key.as_str()));
            }
        }
        same
    }

    fn persona(&mut self, path: &Path, draft: Draft) -> Result<Row> {
        let Draft { mut persona, fields, mut warnings, only_in_comment, .. } = draft;
        let first = persona.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut row = Row { fields, ..Row::without(path, ImportStatus::Imported, String::new()) };
        row.reason = None;
        let as_read = target::bytes_of(&persona);
        if let Some(id) = self.personas.written.get(&as_read) {
            row.status = ImportStatus::Unchanged;
            row.reason = Some("another imported file is the same persona".into());
            row.persona = Some(id.clone());
            return Ok(row);
        }
        let id = self.personas.names.free(&first);
        if id != first {
            // Unless the intent is not the id.
            if persona.get("intent").and_then(Value::as_str) == Some(first.as_str()) {
                persona.insert("intent".into(), Value::from(id.as_str()));
            }
            persona.insert("id".into(), Value::from(id.as_str()));
            let text = format!("another imported agent is also named `{first}`; this one was named `{id}`");
            warnings.push(Warning::new(WarningCode::Conversion, text));
        }
        let problems = errors(&persona, PERSONA);
        row.persona = Some(id.clone());
        if problems.is_empty() {
            // The rest of the search is for names, and slow.
            let is_known =
                self.workforce.catalogue.entries.iter().any(|entry| same_id(&entry.header.id, &id));
            let known = is_known.then(|| self.workforce.find(&id).ok()).flatten();
            let object = known.as_ref().map(|found| &found.resolved.object);
            warnings.extend(comment::warning(&persona, &only_in_comment, object));
            let replaced = known.as_ref().filter(|found| found.resolved.object != persona);
            warnings.extend(replaced.and_then(|found| self.replaced(&id, found.resolved.source())));
            self.personas.names.take(&id);
            self.personas.written.insert(as_read, id.clone());
            self.place_persona(&mut row, &id, &persona)?;
        } else {
            row.status = ImportStatus::Failed;
            row.reason = Some(problems.join("; "));
        }
        row.warnings = warnings;
        Ok(row)
    }

    /// A warning about a persona of another layer that is not used any more.
    fn replaced(&self, id: &str, known: &PersonaSource) -> Option<Warning> {
        let is_here = known.file.as_deref().and_then(Path::parent) == Some(&self.target.personas);
        let layers = &self.workforce.layers.all;
        let place = |is_it: &dyn Fn(&Layer) -> bool| layers.iter().position(is_it);
        let own = place(&|layer| layer.personas.as_ref() == Some(&self.target.personas));
        let its = place(&|layer| layer.id == known.layer);
        // The project comes first, whether it has personas already or not.
        if is_here || its < own {
            return None;
        }
        let text = if known.is_library() {
            format!("it replaces the built-in persona `{id}`")
        } else {
            format!("it replaces the persona `{id}` of layer `{}`", known.layer)
        };
        Some(Warning::new(WarningCode::Overrides, text))
    }

    fn place_persona(&mut self, row: &mut Row, id: &str, persona: &Object) -> Result<()> {
        let dir = &self.target.personas;
        let file = dir.join(format!("{id}.json"));
        let why = match target::file_with_id(self.workforce, dir, id) {
            Some(there) if there == file => None,
            Some(there) => Some(format!("{} has the id `{id}` and was not changed", there.display())),
            // Overwriting is about this persona, not about another one that its file happens to hold.
            None => target::id_in_file(self.workforce, &file)
                .map(|other| format!("{} has the persona `{other}` and was not changed", file.display())),
        };
        let Some(why) = why else { return self.place(row, file, persona) };
        (row.status, row.reason) = (ImportStatus::Differs, Some(why));
        Ok(())
    }

    fn role(&mut self, path: &Path, draft: RoleDraft) -> Result<Row> {
        let mut row = Row::without(path, ImportStatus::Imported, String::new());
        row.reason = None;
        (row.fields, row.warnings) = (draft.fields, draft.warnings);
        row.role = Some(draft.key.clone());
        let problems = errors(&draft.role, ROLE);
        if problems.is_empty() {
            if library::has_role(&draft.key) {
                let text = format!("it replaces the built-in role `{}`", draft.key);
                row.warnings.push(Warning::new(WarningCode::Overrides, text));
            }
            let file = self.target.roles.join(format!("{}.json", draft.key));
            self.place(&mut row, file, &draft.role)?;
        } else {
            row.status = ImportStatus::Failed;
            row.reason = Some(problems.join("; "));
        }
        Ok(row)
    }

    fn place(&mut self, row: &mut Row, file: PathBuf, document: &Object) -> Result<()> {
        let text = target::bytes_of(document);
        let mut placed = target::placement(&file, &text, self.existing);
        if matches!(placed, Placed::Written | Placed::Replaced) && !self.dry_run {
            if self.locks.is_none() {
                self.locks = Some(lock::directories(&[&self.target.personas])?);
            }
            let dir = file.parent().unwrap_or(Path::new("/"));
            std::fs::create_dir_all(dir).map_err(|error| cannot_write(dir, error))?;
            placed = target::write(&file, &text, self.existing)?;
        }
        row.status = match placed {
            Placed::Written => ImportStatus::Imported,
            Placed::Unchanged => ImportStatus::Unchanged,
            Placed::Differs => ImportStatus::Differs,
            Placed::Replaced => ImportStatus::Replaced,
        };
        if placed == Placed::Differs {
            row.reason =
                Some("a different file exists and was not changed; `--overwrite` replaces it".into());
        }
        row.file = Some(file);
        Ok(())
    }
}

fn errors(document: &Object, fields: &'static [Field]) -> Vec<String> {
    let problems = check::check(document, fields).into_iter();
    problems
        .filter(|problem| problem.severity == Severity::Error)
        .map(|problem| format!("{}: {}", problem.at, problem.message))
        .collect()
}

/// The beginning of a file that cannot be read as a whole, as far as it is text: it shows whether the file is an agent.
fn beginning(path: &Path) -> String {
    let mut bytes = Vec::new();
    let file =
        path.metadata().ok().filter(std::fs::Metadata::is_file).and_then(|_| std::fs::File::open(path).ok());
    if let Some(file) = file {
        // What could be read before an error counts.
        let _ = file.take(64 * 1024).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The text of a file; an error where it is not UTF-8.
fn read(path: &Path) -> std::result::Result<String, String> {
    if path.metadata().is_ok_and(|found| found.is_file() && found.len() > MAX_BYTES as u64) {
        return Err(format!("is larger than {} MB", MAX_BYTES / 1024 / 1024));
    }
    let said = |problem: FileProblem| match problem.place {
        Some(place) => format!("{}, line {}", problem.message, place.line),
        None => problem.message,
    };
    file::read_text(path).map_err(said)?.ok_or_else(|| "does not exist any more".to_owned())
}

/// A file that an agent names, if it is below the imported directory.
fn nearby(candidate: &Candidate, relative: &str) -> std::result::Result<(PathBuf, String), Missing> {
    let dir = candidate.path.parent().ok_or(Missing::Absent)?;
    let named = dir.join(relative);
    // Checked by name first, so that the import does not reveal which files exist outside.
    if relative.starts_with('~') || !normalised(&named).starts_with(&candidate.root) {
        return Err(Missing::Outside);
    }
    let real = named.canonicalize().map_err(|_| Missing::Absent)?;
    if !real.starts_with(&candidate.root) {
        return Err(Missing::Outside);
    }
    let text = read(&real).map_err(Missing::Unreadable)?;
    Ok((real, text))
}
