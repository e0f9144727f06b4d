//! The first lines of a run: who works, on which harness and model, in which view of the project, and what is hidden there.

use crate::model::amounts::counted;
use crate::model::mount::{Backend, RuleSource};
use crate::model::mount_record::{HiddenPath, MountRecord};
use crate::model::plan::{AgentPlan, ApplyPolicy, CarriedOver, RunPlan};
use crate::mount::changes::diff::printable_name;
use crate::ui::text::{display_width, fitted, wrapped};
use crate::ui::{BOLD, Ui, printable};
use std::path::Path;

/// Columns of a line where no terminal says how many there are.
const USUAL_COLUMNS: usize = 160;

/// Says it on stderr, in lines of this many columns. `says_where` tells a person who runs a command what becomes of what is done.
pub fn say(
    plan: &RunPlan,
    record: &MountRecord,
    columns: Option<usize>,
    home: Option<&Path>,
    says_where: bool,
    ui: &mut Ui,
) {
    if let Some(agent) = plan.agent() {
        let heading = heading(agent);
        let heading = columns.map_or(heading.clone(), |columns| fitted(&heading, columns));
        ui.say(&format!("{BOLD}{heading}{BOLD:#}"));
        let place = place(record, home);
        ui.say_lines(lines(&place, columns).into_iter());
        if let Some(session) = &plan.continues {
            ui.say_lines(lines(&format!("continues session {session}"), columns).into_iter());
        }
        for carried in &plan.carried_over {
            ui.say_lines(lines(&printable(&carried_over(*carried, plan)), columns).into_iter());
        }
    } else if says_where {
        say_where(record, plan, ui);
    }
    let hidden = plan.inherit.hidden_line().filter(|_| record.backend != Backend::None);
    // The answer of a command in JSON has no place for what is said about personas.
    let hidden = hidden.filter(|_| plan.agent().is_some() || !ui.is_json());
    if let Some(hidden) = hidden {
        let text = printable(&format!("hidden from {}: {hidden}", plan.name())).into_owned();
        ui.say_lines(lines(&text, columns).into_iter());
    }
    if let Some(secrets) = hidden_secrets(record, columns.unwrap_or(USUAL_COLUMNS))
        && plan.agent().is_some()
    {
        ui.say(&secrets);
    }
}

/// What the session decided earlier about its result, and how to decide otherwise.
pub fn carried_over(carried: CarriedOver, plan: &RunPlan) -> String {
    match carried {
        CarriedOver::Checks => {
            let commands: Vec<&str> = plan.checks.iter().map(|check| check.command.as_str()).collect();
            format!("with the checks of the session (`--no-checks` leaves them out): {}", commands.join("; "))
        }
        CarriedOver::ApplyNever => {
            "its changes stay in the session, as before (`--apply auto` or `ask` says otherwise)".to_owned()
        }
    }
}

/// The files with secrets that are hidden, on one line: as many names as fit.
fn hidden_secrets(record: &MountRecord, columns: usize) -> Option<String> {
    let is_secret = |hidden: &&HiddenPath| {
        matches!(hidden.rule.source, RuleSource::BuiltinSecret | RuleSource::Credentials)
    };
    let names: Vec<String> =
        record.hidden.iter().filter(is_secret).map(|hidden| printable_name(hidden.path.as_ref())).collect();
    let line = |shown: usize| {
        let more = match names.len() - shown {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("hidden secrets: {}{more}", names[..shown].join(", "))
    };
    let fits = (1..=names.len()).rev().map(line).find(|line| display_width(line) <= columns);
    fits.or_else(|| (!names.is_empty()).then(|| format!("hidden secrets: {}", counted(names.len(), "file"))))
}

/// Who works, and on what.
pub fn heading(agent: &AgentPlan) -> String {
    let persona = &agent.persona;
    let emoji = persona.emoji.as_deref().map(|emoji| format!("{emoji} ")).unwrap_or_default();
    let name = if persona.name == persona.id {
        persona.id.clone()
    } else {
        format!("{} ({})", persona.name, persona.id)
    };
    let model = agent
        .model
        .as_ref()
        .map_or_else(|| "the harness's own model".to_owned(), |model| model.value.clone());
    let text = format!("{emoji}{name} [{}] via {} ({model})", persona.tier, agent.harness.kind);
    printable(&text).into_owned()
}

fn place(record: &MountRecord, home: Option<&Path>) -> String {
    let below = home.and_then(|home| record.root.strip_prefix(home).ok());
    let root = match below {
        Some(below) => printable_name(Path::new("~").join(below).as_ref()),
        None => printable_name(record.root.as_ref()),
    };
    let level = record.sandbox.name();
    match record.backend {
        Backend::Overlay => format!("in a private view of {root} (overlay, sandbox {level})"),
        Backend::Copy => format!("in a private copy of {root} (copy, sandbox {level})"),
        Backend::Auto | Backend::None => format!("in {root} itself (no mount): every change is final"),
    }
}

/// A text that may need more than one line, the others indented.
fn lines(text: &str, columns: Option<usize>) -> Vec<String> {
    let Some(columns) = columns else { return vec![text.to_owned()] };
    let mut lines = wrapped(text, columns.saturating_sub(2));
    for line in lines.iter_mut().skip(1) {
        line.insert_str(0, "  ");
    }
    lines
}

/// Where somebody at a terminal is now, and what becomes of what is done here: it looks like the project itself.
fn say_where(record: &MountRecord, plan: &RunPlan, ui: &mut Ui) {
    let root = printable_name(record.root.as_ref());
    let what = match record.backend {
        Backend::Overlay => format!("a private view of {root} (overlay)"),
        Backend::Copy => format!("a private copy of {root}"),
        Backend::Auto | Backend::None => {
            ui.say(&format!("this is {root} itself, not a private view; every change is final"));
            return;
        }
    };
    let then = match plan.changes.apply {
        ApplyPolicy::Ask => "you are asked about the changes when it ends",
        ApplyPolicy::Auto => "the changes are applied when it ends with success",
        ApplyPolicy::Never => "the changes are held in the session when it ends",
    };
    ui.say(&format!("this is {what}: nothing you do here reaches the project yet; {then}"));
    ui.hint("leave a shell with `exit` or Ctrl-D");
}
