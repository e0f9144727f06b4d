//! The outcome of an import, for people and for scripts.

use super::{Import, Row, Status};
use crate::convert::Fate;
use crate::model::path_text::path_text;
use crate::ui::{BOLD, DIM, Ui, printable};
use serde_json::json;
use std::collections::BTreeMap;

/// `nothing`: there was nothing to import, which has to be said where nothing else is.
pub fn report(import: &Import, nothing: bool, ui: &mut Ui) {
    let count = |status: Status| import.personas(status);
    let roles = |status: Status| import.count(status) - import.personas(status);
    let reason = nothing.then(|| match import.rows.len() {
        0 => "there is no file with the ending of an agent file (.md, .toml, .yaml, .json)".to_owned(),
        files => format!("none of {files} file(s) is an agent"),
    });
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
            "roles": {
                "imported": roles(Status::Imported),
                "replaced": roles(Status::Replaced),
                "unchanged": roles(Status::Unchanged),
                "differs": roles(Status::Differs),
                "failed": roles(Status::Failed),
            },
            "reason": reason,
            "files": import.rows,
        }));
        return;
    }
    for row in import.rows.iter().filter(|row| row.status != Status::Skipped || row.unreadable) {
        line(row, import.dry_run, ui);
    }
    kept(&import.rows, ui);
    passed_over(&import.rows, ui);
    if let Some(reason) = reason {
        ui.line(format!("nothing to import: {reason}"));
        ui.hint("name the agent files themselves, or the directory that holds them");
        return;
    }
    let (would, replace) =
        if import.dry_run { ("would import", "would replace") } else { ("imported", "replaced") };
    let mut text = format!(
        "{would} {} persona(s), {replace} {}, unchanged {}, left alone {}, failed {}",
        count(Status::Imported),
        count(Status::Replaced),
        count(Status::Unchanged),
        count(Status::Differs),
        count(Status::Failed),
    );
    let with_roles = import.rows.iter().any(|row| row.role.is_some());
    if with_roles {
        text.push_str(&format!(
            "; {would} {} role(s), {replace} {}, unchanged {}, left alone {}, failed {}",
            roles(Status::Imported),
            roles(Status::Replaced),
            roles(Status::Unchanged),
            roles(Status::Differs),
            roles(Status::Failed)
        ));
    }
    ui.line(printable(&format!("{text} ({})", import.target.personas.display())));
}

/// What is no agent, by the reason: whoever misses a file finds out why.
fn passed_over(rows: &[Row], ui: &mut Ui) {
    let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.status == Status::Skipped && !row.unreadable) {
        let name = row.source.file_name().unwrap_or_default().to_string_lossy().into_owned();
        reasons.entry(row.reason.as_deref().unwrap_or_default()).or_default().push(name);
    }
    for (reason, names) in reasons {
        let shown = names.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
        let more = if names.len() > 3 { ", ..." } else { "" };
        ui.line(format!(
            "{DIM}{}{DIM:#}",
            printable(&format!("passed over {} file(s): {reason} ({shown}{more})", names.len()))
        ));
    }
}

fn line(row: &Row, dry_run: bool, ui: &mut Ui) {
    let word = match row.status {
        Status::Imported if dry_run => "would import",
        Status::Imported => "imported",
        Status::Unchanged => "unchanged",
        Status::Differs => "differs",
        Status::Replaced if dry_run => "would replace",
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

/// The name of a field without its place in a config of several agents.
fn own_name(field: &str) -> &str {
    let in_config =
        ["agents.", "roles.", "agent.", "mode.", "profiles."].iter().any(|place| field.starts_with(place));
    let own = if in_config { field.splitn(3, '.').nth(2).unwrap_or(field) } else { field };
    own.split(['.', '[']).next().unwrap_or_default()
}
