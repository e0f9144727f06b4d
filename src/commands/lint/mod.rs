//! `lint`: every problem of persona, role and config files, with its place and what to do about it.

mod models;
mod persona;
mod role;
mod targets;
mod texts;

use super::say;
use crate::cli::LintArgs;
use crate::error::Result;
use crate::exit::Exit;
use crate::host::Host;
use crate::load::file::FileProblem;
use crate::model::amounts::counted;
use crate::model::shape::Severity;
use crate::ui::{Ui, printable};
use crate::workforce::{Found, Workforce};
use serde_json::json;
use targets::Targets;

pub fn run(args: &LintArgs, host: &Host, ui: &mut Ui) -> Result<Exit> {
    let mut workforce = Workforce::open_whole(host, args.from.persona_ref())?;
    say::persona_ref(&workforce, ui);
    let targets = Targets::of(&args.targets, &mut workforce)?;
    let mut problems = all_problems(&workforce, &targets);
    problems.retain(|problem| targets.includes(problem));
    problems
        .sort_by(|a, b| (&a.file, a.place, &a.key, &a.message).cmp(&(&b.file, b.place, &b.key, &b.message)));
    problems.dedup();

    let count = |severity: Severity| problems.iter().filter(|problem| problem.severity == severity).count();
    let (errors, warnings, notes) = (count(Severity::Error), count(Severity::Warning), count(Severity::Note));
    let failed = errors > 0 || (args.strict && warnings > 0);
    if ui.is_json() {
        let counts = json!({"errors": errors, "warnings": warnings, "notes": notes});
        let answer = json!({"ok": !failed, "counts": counts, "problems": problems});
        say::json(answer, &workforce.layers.warnings, ui);
    } else {
        for problem in &problems {
            let word = match problem.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Note => "note",
            };
            ui.line(printable(&format!("{problem} [{word}]")));
            if let Some(fix) = &problem.fix {
                ui.line(printable(&format!("    fix: {fix}")));
            }
        }
        if !problems.is_empty() {
            ui.line("");
        }
        ui.line(format!(
            "{}, {}, {}",
            counted(errors, "error"),
            counted(warnings, "warning"),
            counted(notes, "note")
        ));
    }
    Ok(if failed { Exit::Failed } else { Exit::Done })
}

/// Every problem of every layer, for those who only count them.
pub fn problems_everywhere(workforce: &Workforce) -> Vec<FileProblem> {
    all_problems(workforce, &Targets::everything())
}

fn all_problems(workforce: &Workforce, targets: &Targets) -> Vec<FileProblem> {
    let mut problems = workforce.config.problems.clone();
    problems.extend(workforce.catalogue.problems.iter().cloned());
    let mut resolved_all: Vec<Found> = Vec::new();
    for index in 0..workforce.catalogue.entries.len() {
        match workforce.resolve(index) {
            Ok(found) => resolved_all.push(found),
            Err(met) => problems.extend(met),
        }
    }
    for found in &resolved_all {
        if found.resolved.source().is_library() && targets.files.is_none() {
            continue;
        }
        problems.extend(found.problems.iter().cloned());
        if targets.wants(found) || targets.files.is_none() {
            problems.extend(persona::problems(workforce, found));
        }
    }
    problems.extend(role::problems(workforce, &resolved_all));
    problems
}
