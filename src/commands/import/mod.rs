//! `import`: agent files of other tools as personas, with an account of every field.

mod candidates;
mod report;

use self::candidates::Candidate;
use super::target::{self, Existing, Placed, Target};
use crate::cli::{FromArg, ImportArgs};
use crate::convert::detect::{self, Kind};
use crate::convert::{self, Converted, Draft, FieldFate, Format, Missing, RoleDraft, Source, names};
use crate::error::Result;
use crate::exit::Exit;
use crate::files::error::cannot_write;
use crate::files::lock::{self, DirectoryLocks};
use crate::host::{Host, normalised};
use crate::load::file::{self, FileProblem};
use crate::load::{check, library};
use crate::model::formats::{PERSONA, ROLE};
use crate::model::path_text;
use crate::model::shape::{Field, Object, Severity};
use crate::ui::Ui;
use crate::workforce::Workforce;
use serde::Serialize;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Agent files are prose; anything larger is something else.
const MAX_BYTES: usize = 2 * 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Imported,
    /// The same bytes are there already.
    Unchanged,
    /// Something else is there, and was not touched.
    Differs,
    Replaced,
    /// No agent, or a part of one.
    Skipped,
    /// An agent that cannot be used, or a file that cannot be read.
    Failed,
}

/// What became of one agent, or of a file without any.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    #[serde(serialize_with = "path_text::serialize")]
    source: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<&'static str>,
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    persona: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "path_text::serialize_optional")]
    file: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// It was passed over because it cannot be read: worth a word of its own.
    #[serde(skip)]
    unreadable: bool,
    warnings: Vec<String>,
    fields: Vec<FieldFate>,
}

impl Row {
    fn without(source: &Path, status: Status, reason: String) -> Row {
        Row {
            source: source.to_owned(),
            format: None,
            status,
            persona: None,
            role: None,
            file: None,
            reason: Some(reason),
            unreadable: false,
            warnings: Vec::new(),
            fields: Vec::new(),
        }
    }
}

pub fn run(args: &ImportArgs, host: &Host, ui: &mut Ui) -> Result<Exit> {
    let workforce = Workforce::open(host)?;
    let candidates = candidates::candidates(host, &args.paths)?;
    let target = target::target(&workforce, args.to.as_deref());
    let existing = if args.overwrite { Existing::Replace } else { Existing::Keep };
    let mut import = Import {
        target,
        existing,
        dry_run: args.dry_run,
        from: args.from,
        rows: Vec::new(),
        taken: BTreeMap::new(),
        parts: RefCell::default(),
        locks: None,
    };
    let shows_progress = host.stderr_is_terminal && !ui.is_json() && candidates.len() > 50;
    // Configs first: a file that one of them names is a part of its agents, and none of its own.
    let (configs, others): (Vec<_>, Vec<_>) = candidates.iter().partition(|candidate| candidate.is_config());
    for (index, candidate) in configs.into_iter().chain(others).enumerate() {
        if shows_progress && index % 25 == 0 {
            ui.progress(&format!("{index} of {} files", candidates.len()));
        }
        import.file(candidate)?;
    }
    if shows_progress {
        ui.end_progress();
    }
    // Told in the order of the files, whatever the order of the work.
    let place: BTreeMap<&Path, usize> =
        candidates.iter().enumerate().map(|(at, candidate)| (candidate.path.as_path(), at)).collect();
    import.rows.sort_by_key(|row| place.get(row.source.as_path()).copied());
    let written = import.count(Status::Imported) + import.count(Status::Replaced);
    if written > 0 && !args.dry_run {
        super::edit::audit(&workforce, &format!("import {written} file(s)"))?;
    }
    let bad = import.count(Status::Failed) + import.count(Status::Differs);
    let nothing = written == 0 && import.count(Status::Unchanged) == 0;
    report::report(&import, nothing && bad == 0, ui);
    Ok(if bad > 0 || nothing { Exit::Failed } else { Exit::Done })
}

/// Why a file is not imported.
struct Unfit {
    status: Status,
    why: String,
    unreadable: bool,
}

struct Import {
    target: Target,
    existing: Existing,
    dry_run: bool,
    from: FromArg,
    rows: Vec<Row>,
    /// Ids of this import with the bytes that have them.
    taken: BTreeMap<String, String>,
    /// Files that a config named and that were read for it, with the config.
    parts: RefCell<BTreeMap<PathBuf, String>>,
    /// Held from the first write on: an import that writes nothing makes no directory either.
    locks: Option<DirectoryLocks>,
}

impl Import {
    fn count(&self, status: Status) -> usize {
        self.rows.iter().filter(|row| row.status == status).count()
    }

    /// How many personas, or files without any, came to this.
    fn personas(&self, status: Status) -> usize {
        self.rows.iter().filter(|row| row.status == status && row.role.is_none()).count()
    }

    fn file(&mut self, candidate: &Candidate) -> Result<()> {
        let path = &candidate.path;
        if let Some(why) = candidate.passed_over {
            self.rows.push(Row::without(path, Status::Skipped, why.into()));
            return Ok(());
        }
        let part_of = self.parts.get_mut().get(path).filter(|_| !candidate.named);
        if let Some(config) = part_of {
            let why = format!("a part of {config}, and imported with it");
            self.rows.push(Row::without(path, Status::Skipped, why));
            return Ok(());
        }
        let text = match read(path) {
            Ok(text) => text,
            Err(why) => {
                self.rows.push(Row::without(path, Status::Failed, why));
                return Ok(());
            }
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
        let format = match self.format(&source, candidate.named) {
            Ok(format) => format,
            Err(unfit) => {
                let row = Row::without(path, unfit.status, unfit.why);
                self.rows.push(Row { unreadable: unfit.unreadable, ..row });
                return Ok(());
            }
        };
        match convert::convert(format, &source) {
            Ok(converted) => self.take(path, format, converted),
            Err(why) => {
                self.rows
                    .push(Row { format: Some(format.name()), ..Row::without(path, Status::Failed, why) });
                Ok(())
            }
        }
    }

    fn format(&self, source: &Source, named: bool) -> std::result::Result<Format, Unfit> {
        let said = match self.from {
            FromArg::Auto => None,
            FromArg::Claude => Some(Format::Claude),
            FromArg::Opencode => Some(Format::Opencode),
            FromArg::Codex => Some(Format::Codex),
            FromArg::Goose => Some(Format::Goose),
            FromArg::Copilot => Some(Format::Copilot),
            FromArg::Minions => Some(Format::Minions),
        };
        let unfit = |status: Status, why: String| Unfit { status, why, unreadable: false };
        if source.text.trim_start_matches('\u{feff}').trim().is_empty() {
            return Err(unfit(Status::Failed, "is empty".into()));
        }
        match (said, detect::kind(source, named)) {
            // A document beside the agents is none of them, whatever the others are.
            (Some(_), Kind::Other(why)) if !named => Err(unfit(Status::Skipped, why)),
            (Some(_), Kind::Unreadable(why)) if !named => {
                Err(Unfit { unreadable: true, ..unfit(Status::Skipped, why) })
            }
            (Some(format), _) | (None, Kind::Agent(format)) => Ok(format),
            (None, Kind::Broken(why)) => Err(unfit(Status::Failed, why)),
            (None, Kind::Other(why) | Kind::Unreadable(why)) if named => Err(unfit(Status::Failed, why)),
            (None, Kind::Other(why)) => Err(unfit(Status::Skipped, why)),
            (None, Kind::Unreadable(why)) => Err(Unfit { unreadable: true, ..unfit(Status::Skipped, why) }),
        }
    }

    fn take(&mut self, path: &Path, format: Format, converted: Converted) -> Result<()> {
        let mut of_file = converted.fields;
        for draft in converted.drafts {
            let mut row = self.persona(path, draft)?;
            row.format = Some(format.name());
            row.fields.splice(0..0, std::mem::take(&mut of_file));
            self.rows.push(row);
        }
        for draft in converted.roles {
            let mut row = self.role(path, draft)?;
            row.format = Some(format.name());
            row.fields.splice(0..0, std::mem::take(&mut of_file));
            self.rows.push(row);
        }
        for why in converted.refused {
            let mut row = Row::without(path, Status::Failed, why);
            row.format = Some(format.name());
            row.fields.splice(0..0, std::mem::take(&mut of_file));
            self.rows.push(row);
        }
        Ok(())
    }

    fn persona(&mut self, path: &Path, draft: Draft) -> Result<Row> {
        let Draft { mut persona, fields, mut warnings, .. } = draft;
        let first = persona.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut id = first.clone();
        let mut row = Row { fields, ..Row::without(path, Status::Imported, String::new()) };
        row.reason = None;
        let mut number = 2;
        while let Some(taken) = self.taken.get(&id) {
            if *taken == target::bytes_of(&persona) {
                row.status = Status::Unchanged;
                row.reason = Some("another file of this import says the same".into());
                row.persona = Some(id);
                return Ok(row);
            }
            let last = std::mem::replace(&mut id, names::with_suffix(&first, number));
            persona.insert("id".into(), Value::from(id.as_str()));
            // Unless it has an intent of its own.
            if persona.get("intent").and_then(Value::as_str) == Some(last.as_str()) {
                persona.insert("intent".into(), Value::from(id.as_str()));
            }
            number += 1;
        }
        if id != first {
            warnings.push(format!(
                "`{first}` is the name of another file of this import: this one became `{id}`"
            ));
        }
        let problems = errors(&persona, PERSONA);
        let file = self.target.personas.join(format!("{id}.json"));
        row.persona = Some(id.clone());
        if problems.is_empty() {
            if library::has_persona(&id) {
                warnings.push(format!("it hides the built-in persona `{id}`"));
            }
            self.taken.insert(id, target::bytes_of(&persona));
            self.place(&mut row, file, &persona)?;
        } else {
            row.status = Status::Failed;
            row.reason = Some(problems.join("; "));
        }
        row.warnings = warnings;
        Ok(row)
    }

    fn role(&mut self, path: &Path, draft: RoleDraft) -> Result<Row> {
        let mut row = Row::without(path, Status::Imported, String::new());
        row.reason = None;
        (row.fields, row.warnings) = (draft.fields, draft.warnings);
        if library::has_role(&draft.key) {
            row.warnings.push(format!("it hides the built-in role `{}`", draft.key));
        }
        row.role = Some(draft.key.clone());
        let problems = errors(&draft.role, ROLE);
        if problems.is_empty() {
            let file = self.target.roles.join(format!("{}.json", draft.key));
            self.place(&mut row, file, &draft.role)?;
        } else {
            row.status = Status::Failed;
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
            Placed::Written => Status::Imported,
            Placed::Unchanged => Status::Unchanged,
            Placed::Differs => Status::Differs,
            Placed::Replaced => Status::Replaced,
        };
        if placed == Placed::Differs {
            row.reason = Some("another text is there and was left alone; `--overwrite` replaces it".into());
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

/// The text of a file. Bytes that are no UTF-8 are a reason, not a guess.
fn read(path: &Path) -> std::result::Result<String, String> {
    if path.metadata().is_ok_and(|found| found.is_file() && found.len() > MAX_BYTES as u64) {
        return Err(format!("is larger than {} MB", MAX_BYTES / 1024 / 1024));
    }
    let said = |problem: FileProblem| match problem.place {
        Some(place) => format!("{}, line {}", problem.message, place.line),
        None => problem.message,
    };
    file::read_text(path).map_err(said)?.ok_or_else(|| "is not there any more".to_owned())
}

/// A file that an agent names, if it lies below what was imported.
fn nearby(candidate: &Candidate, relative: &str) -> std::result::Result<(PathBuf, String), Missing> {
    let dir = candidate.path.parent().ok_or(Missing::Absent)?;
    let named = dir.join(relative);
    // By its name first: whether a file outside is there is nobody's business.
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
