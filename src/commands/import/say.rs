//! The outcome of an import, for people and for scripts.

use super::{Import, Row, Status};
use crate::convert::Fate;
use crate::model::path_text::path_text;
use crate::ui::{BOLD, DIM, Ui, printable};
use serde_json::json;
use std::collections::BTreeMap;

pub fn say(import: &Import, ui: &mut Ui) {
    let count = |status: Status| import.count(status);
    if ui.is_json() {
        ui.json(&json!({
            "schemaVersion": 1,
            "dryRun": import.dry_run,
            "target": path_text(&import.target.personas),
            "imported": count(Status::Imported),
            "replaced": count(Status::Replaced),
            "unchanged": count(Status::Unchanged),
            "differs": count(Status::Differs),
            "skipped": count(Status::Skipped),
            "failed": count(Status::Failed),
            "files": import.rows,
        }));
        return;
    }
    for row in import.rows.iter().filter(|row| row.status != Status::Skipped) {
        line(row, ui);
    }
    kept(&import.rows, ui);
    let passed_over = count(Status::Skipped);
    if passed_over > 0 {
        ui.line(format!(
            "{DIM}passed over {passed_over} file(s) that are no agents; `--json` names them{DIM:#}"
        ));
    }
    let would = if import.dry_run { "would import" } else { "imported" };
    ui.line(printable(&format!(
        "{would} {}, replaced {}, unchanged {}, left alone {}, failed {} ({})",
        count(Status::Imported),
        count(Status::Replaced),
        count(Status::Unchanged),
        count(Status::Differs),
        count(Status::Failed),
        import.target.personas.display()
    )));
}

fn line(row: &Row, ui: &mut Ui) {
    let word = match row.status {
        Status::Imported => "imported",
        Status::Unchanged => "unchanged",
        Status::Differs => "differs",
        Status::Replaced => "replaced",
        Status::Skipped => "skipped",
        Status::Failed => "failed",
    };
    let name = match (&row.persona, &row.role) {
        (Some(id), _) => id.clone(),
        (None, Some(key)) => format!("role {key}"),
        (None, None) => "-".into(),
    };
    let source = row.source.file_name().unwrap_or_default().to_string_lossy();
    let format = row.format.unwrap_or("no agent");
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

/// Collections keep the same few fields in every file: they are said once, with how often.
fn kept(rows: &[Row], ui: &mut Ui) {
    let mut kept: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for row in rows {
        for field in &row.fields {
            if let (Fate::Kept { .. }, Some(format)) = (&field.fate, row.format) {
                let name = field.field.split(['.', '[']).next().unwrap_or_default();
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
