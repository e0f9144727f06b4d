//! `doctor`: what is there, what is missing, and a line that fixes each gap. It changes nothing and sends nothing.

mod files;
mod harness;
mod levels;
mod limits;
mod machine;
mod row;
mod user_files;

use crate::exit::Exit;
use crate::host::Host;
use crate::model::amounts::counted;
use crate::model::secrets::{Secrets, sounds_secret};
use crate::model::warning::Warning;
use crate::ui::{Ui, printable};
use levels::ReachedLevel;
use limits::CheckedLimit;
use row::{Row, Status};
use serde::Serialize;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    schema_version: u32,
    rows: &'a [Row],
    /// The sandbox levels that a run in this directory can have.
    sandbox: &'a [ReachedLevel],
    /// The limits of resources that are enforced for it.
    limits: &'a [CheckedLimit],
    warnings: Vec<Warning>,
}

pub fn run(host: &Host, ui: &mut Ui) -> Exit {
    let mut rows = Vec::new();
    let files = files::check(host);
    rows.extend(harness::rows(host, &files.by_harness));
    let machine = machine::check(host);
    rows.extend(machine.rows);
    rows.extend(files.rows);
    let rows = redacted(rows, host);
    if ui.is_json() {
        ui.json(&Report {
            schema_version: 2,
            rows: &rows,
            sandbox: &machine.sandbox,
            limits: &machine.limits,
            warnings: Vec::new(),
        });
    } else {
        print(&rows, ui);
    }
    if rows.iter().any(|row| row.status == Status::Problem) { Exit::Failed } else { Exit::Done }
}

/// No row should contain a secret, but other programs and files may print anything.
fn redacted(rows: Vec<Row>, host: &Host) -> Vec<Row> {
    let secrets = Secrets::new(host.env.iter().filter(|(name, _)| sounds_secret(name)));
    let clean = |text: String| if secrets.is_empty() { text } else { secrets.redact(&text) };
    let row = |row: Row| Row { detail: clean(row.detail), fix: row.fix.map(clean), ..row };
    rows.into_iter().map(row).collect()
}

fn print(rows: &[Row], ui: &mut Ui) {
    let width = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    for row in rows {
        let word = match row.status {
            Status::Ok => "ok",
            Status::Warning => "warning",
            Status::Problem => "PROBLEM",
        };
        let line = format!("{:<9}  {:<width$}  {word:<7}  {}", row.area.name(), row.name, row.detail);
        ui.line(printable(&line));
        if let Some(fix) = &row.fix {
            ui.line(printable(&format!("{:<width$}    fix: {fix}", "", width = width + 20)));
        }
    }
    let count = |status: Status| rows.iter().filter(|row| row.status == status).count();
    ui.line("");
    ui.line(format!(
        "{}, {}",
        counted(count(Status::Problem), "problem"),
        counted(count(Status::Warning), "warning")
    ));
}
