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
use crate::convert::{self, Converted, Draft, Format, Missing, RoleDraft, Source, names};
use crate::error::Result;
use crate::exit::Exit;
use crate::files::error::cannot_write;
use crate::files::lock::{self, DirectoryLocks};
use crate::host::{Host, normalised};
use crate::load::file::{self, FileProblem};
use crate::load::{check, library};
use crate::model::amounts::counted;
use crate::model::formats::{PERSONA, ROLE};
use crate::model::shape::{Field, Object, Severity};
use crate::model::warning::{Warning, WarningCode};
use crate::ui::Ui;
use crate::workforce::Workforce;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
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
        taken: BTreeMap::new(),
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

struct Import<'w> {
    workforce: &'w Workforce,
    target: Target,
    existing: Existing,
    dry_run: bool,
    from: FromArg,
    rows: Vec<Row>,
    /// The ids of this import with the files that have them.
    taken: BTreeMap<String, String>,
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
        let part_of = self.parts.get_mut().get(path).filter(|_| !candidate.named);
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
            Err(why) => (String::new(), Some(why)),
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
            (Some(why), _) => detect::unreadable(&source, candidate.named, why),
            (None, Some((format, _))) => FileKind::Agent(format),
            (None, None) => detect::kind(&source, candidate.named),
        };
        if let FileKind::AmongAgents(format, why) = kind {
            self.beside.insert(path.clone(), (format, why));
            return;
        }
        let result = match self.format(kind, candidate.named, is_readable) {
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

    /// The format of a file, or why it is none to import.
    fn format(
        &self,
        kind: FileKind,
        named: bool,
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
            (_, FileKind::Other(why)) if !named => Err(unfit(ImportStatus::Skipped, why)),
            (_, FileKind::Unreadable(why)) if !named => {
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

    fn add(&mut self, path: &Path, format: Format, converted: Converted) -> Result<()> {
        let mut file_fields = converted.fields;
        for draft in converted.drafts {
            let mut row = self.persona(path, draft)?;
            row.format = Some(format.name());
            row.fields.splice(0..0, std::mem::take(&mut file_fields));
            self.rows.push(row);
        }
        for draft in converted.roles {
            let mut row = self.role(path, draft)?;
            row.format = Some(format.name());
            row.fields.splice(0..0, std::mem::take(&mut file_fields));
            self.rows.push(row);
        }
        for why in converted.refused {
            let mut row = Row::without(path, ImportStatus::Failed, why);
            row.format = Some(format.name());
            row.fields.splice(0..0, std::mem::take(&mut file_fields));
            self.rows.push(row);
        }
        Ok(())
    }

    fn persona(&mut self, path: &Path, draft: Draft) -> Result<Row> {
        let Draft { mut persona, fields, mut warnings, only_in_comment, .. } = draft;
        let first = persona.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut id = first.clone();
        let mut row = Row { fields, ..Row::without(path, ImportStatus::Imported, String::new()) };
        row.reason = None;
        let mut number = 2;
        while let Some(taken) = self.taken.get(&id) {
            if *taken == target::bytes_of(&persona) {
                row.status = ImportStatus::Unchanged;
                row.reason = Some("another imported file is the same persona".into());
                row.persona = Some(id);
                return Ok(row);
            }
            let last = std::mem::replace(&mut id, names::with_suffix(&first, number));
            persona.insert("id".into(), Value::from(id.as_str()));
            // Unless the intent is not the id.
            if persona.get("intent").and_then(Value::as_str) == Some(last.as_str()) {
                persona.insert("intent".into(), Value::from(id.as_str()));
            }
            number += 1;
        }
        if id != first {
            let text = format!("another imported file is called `{first}`: this one became `{id}`");
            warnings.push(Warning::new(WarningCode::Conversion, text));
        }
        let problems = errors(&persona, PERSONA);
        let file = self.target.personas.join(format!("{id}.json"));
        row.persona = Some(id.clone());
        if problems.is_empty() {
            let replaces = library::has_persona(&id);
            let known =
                (replaces || !only_in_comment.is_empty()).then(|| self.workforce.find(&id).ok()).flatten();
            let known = known.as_ref().map(|found| &found.resolved.object);
            warnings.extend(comment::warning(&persona, &only_in_comment, known));
            if replaces && known != Some(&persona) {
                let text = format!("it replaces the built-in persona `{id}`");
                warnings.push(Warning::new(WarningCode::Overrides, text));
            }
            self.taken.insert(id, target::bytes_of(&persona));
            self.place(&mut row, file, &persona)?;
        } else {
            row.status = ImportStatus::Failed;
            row.reason = Some(problems.join("; "));
        }
        row.warnings = warnings;
        Ok(row)
    }

    fn role(&mut self, path: &Path, draft: RoleDraft) -> Result<Row> {
        let mut row = Row::without(path, ImportStatus::Imported, String::new());
        row.reason = None;
        (row.fields, row.warnings) = (draft.fields, draft.warnings);
        if library::has_role(&draft.key) {
            let text = format!("it replaces the built-in role `{}`", draft.key);
            row.warnings.push(Warning::new(WarningCode::Overrides, text));
        }
        row.role = Some(draft.key.clone());
        let problems = errors(&draft.role, ROLE);
        if problems.is_empty() {
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
        let mut placed = target::look(&file, &text, self.existing);
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
