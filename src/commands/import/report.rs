//! Prints the result of an import, as text or JSON.

use super::row::{ImportStatus, Row};
use crate::convert::Fate;
use crate::model::amounts::counted;
use crate::model::path_text::path_text;
use crate::model::warning::Warning;
use crate::ui::{BOLD, DIM, Ui, printable};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;

/// What an import did, or would do.
pub struct Outcome<'a> {
    pub rows: &'a [Row],
    /// The directory of personas.
    pub target: &'a Path,
    pub dry_run: bool,
}

impl Outcome<'_> {
    fn personas(&self, status: ImportStatus) -> usize {
        self.rows.iter().filter(|row| row.status == status && row.role.is_none()).count()
    }

    fn roles(&self, status: ImportStatus) -> usize {
        self.rows.iter().filter(|row| row.status == status && row.role.is_some()).count()
    }

    /// The warnings of all files, each with the name of its file.
    fn warnings(&self) -> Vec<Warning> {
        let of_row = |row: &Row| {
            let file = row.source.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let named =
                |warning: &Warning| Warning::new(warning.code, format!("{file}: {}", warning.message));
            row.warnings.iter().map(named).collect::<Vec<_>>()
        };
        self.rows.iter().flat_map(of_row).collect()
    }
}

/// `nothing`: no file was an agent, so the reason is the result.
pub fn print(import: &Outcome, nothing: bool, ui: &mut Ui) {
    let count = |status: ImportStatus| import.personas(status);
    let roles = |status: ImportStatus| import.roles(status);
    let reason = nothing.then(|| match import.rows.len() {
        0 => "no file has the extension of an agent file (.md, .toml, .yaml, .json)".to_owned(),
        files => format!("no agent in {}", counted(files, "file")),
    });
    if ui.is_json() {
        ui.json(&json!({
            "schemaVersion": 2,
            "dryRun": import.dry_run,
            "target": path_text(import.target),
            "imported": count(ImportStatus::Imported),
            "replaced": count(ImportStatus::Replaced),
            "unchanged": count(ImportStatus::Unchanged),
            "differs": count(ImportStatus::Differs),
            "skipped": count(ImportStatus::Skipped),
            "failed": count(ImportStatus::Failed),
            "roles": {
                "imported": roles(ImportStatus::Imported),
                "replaced": roles(ImportStatus::Replaced),
                "unchanged": roles(ImportStatus::Unchanged),
                "differs": roles(ImportStatus::Differs),
                "failed": roles(ImportStatus::Failed),
            },
            "reason": reason,
            "files": import.rows,
            "warnings": import.warnings(),
        }));
        return;
    }
    for row in import.rows.iter().filter(|row| row.status != ImportStatus::Skipped || row.unreadable) {
        print_row(row, import.dry_run, ui);
    }
    print_kept(import.rows, ui);
    print_skipped(import.rows, ui);
    if let Some(reason) = reason {
        ui.line(format!("nothing to import: {reason}"));
        ui.hint("name the agent files themselves, or their directory");
        return;
    }
    let (would, replace) =
        if import.dry_run { ("would import", "would replace") } else { ("imported", "replaced") };
    let mut text = format!(
        "{would} {}, {replace} {}, unchanged {}, left alone {}, failed {}",
        counted(count(ImportStatus::Imported), "persona"),
        count(ImportStatus::Replaced),
        count(ImportStatus::Unchanged),
        count(ImportStatus::Differs),
        count(ImportStatus::Failed),
    );
    let with_roles = import.rows.iter().any(|row| row.role.is_some());
    if with_roles {
        text.push_str(&format!(
            "; {would} {}, {replace} {}, unchanged {}, left alone {}, failed {}",
            counted(roles(ImportStatus::Imported), "role"),
            roles(ImportStatus::Replaced),
            roles(ImportStatus::Unchanged),
            roles(ImportStatus::Differs),
            roles(ImportStatus::Failed)
        ));
    }
    ui.line(printable(&format!("{text} ({})", import.target.display())));
}

/// The skipped files, grouped by the reason.
fn print_skipped(rows: &[Row], ui: &mut Ui) {
    let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.status == ImportStatus::Skipped && !row.unreadable) {
        let name = row.source.file_name().unwrap_or_default().to_string_lossy().into_owned();
        reasons.entry(row.reason.as_deref().unwrap_or_default()).or_default().push(name);
    }
    for (reason, names) in reasons {
        let shown = names.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
        let more = if names.len() > 3 { ", ..." } else { "" };
        ui.line(format!(
            "{DIM}{}{DIM:#}",
            printable(&format!("skipped {}: {reason} ({shown}{more})", counted(names.len(), "file")))
        ));
    }
}

fn print_row(row: &Row, dry_run: bool, ui: &mut Ui) {
    let word = match row.status {
        ImportStatus::Imported if dry_run => "would import",
        ImportStatus::Imported => "imported",
        ImportStatus::Unchanged => "unchanged",
        ImportStatus::Differs => "differs",
        ImportStatus::Replaced if dry_run => "would replace",
        ImportStatus::Replaced => "replaced",
        ImportStatus::Skipped => "skipped",
        ImportStatus::Failed => "failed",
    };
    let name = match (&row.persona, &row.role) {
        (Some(id), _) => id.clone(),
        (None, Some(key)) => format!("role {key}"),
        (None, None) => "-".into(),
    };
    let source = row.source.file_name().unwrap_or_default().to_string_lossy();
    let format = row.format.unwrap_or("not an agent");
    ui.line(format!(
        "{word:<9}  {BOLD}{}{BOLD:#}  {DIM}{} ({format}){DIM:#}",
        printable(&name),
        printable(&source)
    ));
    if let Some(reason) = &row.reason {
        ui.line(printable(&format!("    {reason}")));
    }
    for warning in &row.warnings {
        ui.line(printable(&format!("    warning: {warning}")));
    }
    for field in &row.fields {
        if let Fate::Dropped { why } = &field.fate {
            ui.line(printable(&format!("    dropped {}: {why}", field.field)));
        }
    }
}

/// The kept fields once, with their number: collections have the same few in every file.
fn print_kept(rows: &[Row], ui: &mut Ui) {
    let mut kept: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for row in rows {
        for field in &row.fields {
            if let (Fate::Kept { .. }, Some(format)) = (&field.fate, row.format) {
                let name = own_name(&field.field);
                *kept.entry((format, name)).or_default() += 1;
            }
        }
    }
    let mut by_format: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for ((format, name), times) in kept {
        by_format.entry(format).or_default().push(format!("{name} ({times})"));
    }
    for (format, names) in by_format {
        ui.line(printable(&format!("kept under `x-{format}`, without effect: {}", names.join(", "))));
    }
}

/// The name of a field without its path in a config of several agents.
fn own_name(field: &str) -> &str {
    let in_config =
        ["agents.", "roles.", "agent.", "mode.", "profiles."].iter().any(|place| field.starts_with(place));
    let own = if in_config { field.splitn(3, '.').nth(2).unwrap_or(field) } else { field };
    own.split(['.', '[']).next().unwrap_or_default()
}
