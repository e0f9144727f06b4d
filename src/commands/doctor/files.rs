//! Layers, personas and sessions: what is there, what is broken, what the user has to decide.

use super::row::{Area, Row};
use crate::commands::{lint, list};
use crate::error::CommandError;
use crate::host::Host;
use crate::model::amounts::counted;
use crate::model::shape::Severity;
use crate::model::tier::Harness;
use crate::session::{SessionState, SessionStore};
use crate::workforce::Workforce;
use std::collections::BTreeMap;
use std::str::FromStr;

pub struct Files {
    pub rows: Vec<Row>,
    /// How many personas run on each harness.
    pub by_harness: BTreeMap<Harness, usize>,
}

pub fn check(host: &Host) -> Files {
    let mut files = Files { rows: Vec::new(), by_harness: BTreeMap::new() };
    match Workforce::open_whole(host, None) {
        Ok(workforce) => personas(&workforce, &mut files),
        Err(error) => {
            let error = CommandError::from(error);
            let detail = error.causes.iter().fold(error.message, |all, cause| format!("{all}: {cause}"));
            let fix = error.hints.into_iter().next().unwrap_or_else(|| "fix the file that is named".into());
            files.rows.push(Row::problem(Area::Workforce, "config", detail, fix));
        }
    }
    files.rows.extend(sessions(host));
    files
}

fn personas(workforce: &Workforce, files: &mut Files) {
    const AREA: Area = Area::Workforce;
    let labels: Vec<String> = workforce.layers.all.iter().map(|layer| layer.id.title()).collect();
    files.rows.push(match workforce.layers.warnings.first() {
        None => Row::ok(AREA, "layers", labels.join(", ")),
        Some(warning) => Row::warning(
            AREA,
            "layers",
            format!("{}; {warning}", labels.join(", ")),
            "`agentworkforce sources list` shows them, `sources remove` takes one out",
        ),
    });
    let (found, _) = workforce.all();
    let rows = list::rows(workforce, &found, None, false);
    let runnable = rows.iter().filter(|row| row.runnable).count();
    for harness in rows.iter().filter_map(|row| Harness::from_str(row.harness?).ok()) {
        *files.by_harness.entry(harness).or_default() += 1;
    }
    files.rows.push(Row::ok(
        AREA,
        "personas",
        format!("{}, {runnable} can run", counted(rows.len(), "persona")),
    ));
    let mut problems = lint::problems_everywhere(workforce);
    problems.sort_by(|a, b| (&a.file, a.place, &a.message).cmp(&(&b.file, b.place, &b.message)));
    problems.dedup();
    let count = |severity: Severity| problems.iter().filter(|problem| problem.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let worst = problems.iter().min_by_key(|problem| std::cmp::Reverse(problem.severity));
    let worst = worst.map(ToString::to_string);
    let detail = format!(
        "{}, {}, first {}",
        counted(errors, "error"),
        counted(warnings, "warning"),
        worst.unwrap_or_default()
    );
    files.rows.push(match (errors, warnings) {
        (0, 0) => Row::ok(AREA, "files", "no errors and no warnings"),
        (0, _) => Row::warning(AREA, "files", detail, "agentworkforce lint"),
        _ => Row::problem(AREA, "files", detail, "agentworkforce lint"),
    });
}

fn sessions(host: &Host) -> Vec<Row> {
    const AREA: Area = Area::Sessions;
    let Ok(home) = host.workforce_home() else { return Vec::new() };
    let entries = match SessionStore::new(&home).list() {
        Ok(entries) => entries,
        Err(error) => {
            let error = CommandError::from(error);
            return vec![Row::problem(AREA, "all", error.message, "check the permissions of that directory")];
        }
    };
    let count =
        |state: SessionState| entries.iter().filter(|entry| entry.state == state && !entry.live).count();
    let (held, interrupted) = (count(SessionState::Held), count(SessionState::Interrupted));
    let mut rows = Vec::new();
    if interrupted > 0 {
        let detail = format!("{interrupted} whose runner died; their work is intact");
        rows.push(Row::warning(AREA, "interrupted", detail, "agentworkforce sessions recover"));
    }
    if held > 0 {
        let detail = format!("{held} with work that is neither applied nor discarded");
        let fix = "agentworkforce sessions list, then `sessions apply` or `sessions discard`";
        rows.push(Row::warning(AREA, "held", detail, fix));
    }
    if rows.is_empty() {
        rows.push(Row::ok(AREA, "all", format!("{}, nothing to decide", counted(entries.len(), "session"))));
    }
    rows
}
