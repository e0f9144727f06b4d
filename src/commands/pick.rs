//! `pick`: the personas that fit a task best, with the words that say so, and the best one started if asked.

use super::request::{self, PlanRequest};
use super::{agent, list};
use crate::cli::{Cli, Command, PickArgs};
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::host::Host;
use crate::model::plan::RunPlan;
use crate::resolve::rank::{Choice, Ranked, Reason, rank};
use crate::ui::text::shortened;
use crate::ui::{BOLD, DIM, Ui, printable};
use crate::workforce::{Workforce, warnings_of};
use clap::FromArgMatches;
use serde_json::{Value, json};
use std::ffi::OsString;

pub fn run(args: &PickArgs, host: &Host, ui: &mut Ui) -> Result<Exit> {
    let task = args.task.join(" ");
    if task.trim().is_empty() {
        return Err(CommandError::usage("the task is empty").hint("say in a few words what is to be done"));
    }
    let workforce = Workforce::open_outlines(host, None)?;
    let (found, problems) = workforce.all();
    let mut warnings = workforce.general_warnings();
    warnings.extend(warnings_of(&problems));
    super::say::warnings(&warnings, ui);
    let rows = list::rows(&workforce, &found, None, false);
    let runnable: Vec<&list::Row> = rows.iter().filter(|row| row.runnable).collect();
    let choices: Vec<Choice> = runnable.iter().map(|row| choice(row)).collect();
    let ranked = rank(&task, &choices);
    let shown = &ranked[..ranked.len().min(args.limit.into())];
    let command = shown.first().map(|best| command(best.id, &task));
    let on_a_terminal = host.stdin_is_terminal && host.stderr_is_terminal && !ui.is_json();
    let starts = args.launch && on_a_terminal && !args.dry_run;
    let plans = args.launch && args.dry_run;
    if ui.is_json() {
        let plan = match shown.first().filter(|_| plans) {
            Some(best) => Some(plan(best.id, &task, host)?),
            None => None,
        };
        let candidates: Vec<Value> = shown.iter().map(|ranked| candidate(ranked, &runnable)).collect();
        ui.json(&json!({
            "schemaVersion": 2, "task": task, "candidates": candidates, "command": command, "launched": false,
            "plan": plan, "warnings": warnings,
        }));
    } else if shown.is_empty() {
        ui.line("no persona speaks of this task");
        ui.hint("try other words, or look at `agentworkforce list`");
    } else if !args.launch || starts || plans {
        for ranked in shown {
            say(ranked, &runnable, ui);
        }
    }
    match command {
        None => Ok(Exit::Failed),
        Some(words) if starts => launch(&words, host, ui),
        Some(mut words) if plans && !ui.is_json() => {
            words.insert(2, "--dry-run".into());
            launch(&words, host, ui)
        }
        Some(words) if args.launch && !ui.is_json() => {
            ui.line(printable(&quoted(&words)));
            Ok(Exit::Done)
        }
        Some(_) => Ok(Exit::Done),
    }
}

/// What a word is worth depends on where it stands: an id is chosen with care, a description is prose.
fn choice<'a>(row: &list::Row<'a>) -> Choice<'a> {
    let texts = [
        ("id", 4.0, row.persona.to_owned()),
        ("intent", 3.0, row.intent.unwrap_or_default().to_owned()),
        ("tags", 3.0, row.tags.join(" ")),
        ("expertise", 2.0, row.expertise.join(" ")),
        ("role", 0.5, row.role.clone().unwrap_or_default()),
        ("description", 1.0, row.description.unwrap_or_default().to_owned()),
    ];
    Choice { id: row.persona, fields: texts.into_iter().filter(|(_, _, text)| !text.is_empty()).collect() }
}

/// What the best one would run, for scripts: the same plan as that of `agent --dry-run`.
fn plan(id: &str, task: &str, host: &Host) -> Result<RunPlan> {
    let workforce = Workforce::open(host)?;
    let mut request = PlanRequest { persona: id.to_owned(), ..PlanRequest::default() };
    request.flags.prompt = Some(task.to_owned());
    request::plan(&workforce, &request)
}

fn command(id: &str, task: &str) -> Vec<String> {
    ["agentworkforce", "agent", id, "-p", task].map(str::to_owned).into()
}

fn quoted(words: &[String]) -> String {
    let quote = |word: &String| match shlex::try_quote(word) {
        Ok(quoted) => quoted.into_owned(),
        Err(_) => format!("{word:?}"),
    };
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

fn rounded(score: f64) -> f64 {
    (score * 100.0).round() / 100.0
}

fn candidate(ranked: &Ranked, rows: &[&list::Row]) -> Value {
    let row = rows.iter().find(|row| row.persona == ranked.id);
    let reason = |Reason { word, related, fields }: &Reason| match related {
        Some(related) => json!({"word": word, "related": related, "fields": fields}),
        None => json!({"word": word, "fields": fields}),
    };
    let reasons: Vec<Value> = ranked.reasons.iter().map(reason).collect();
    json!({
        "persona": ranked.id,
        "name": row.map(|row| row.name),
        "description": row.and_then(|row| row.description),
        "source": row.map(|row| row.source),
        "harness": row.and_then(|row| row.harness),
        "score": rounded(ranked.score),
        "reasons": reasons,
    })
}

fn say(ranked: &Ranked, rows: &[&list::Row], ui: &mut Ui) {
    let row = rows.iter().find(|row| row.persona == ranked.id);
    let description = row.and_then(|row| row.description).unwrap_or_default();
    ui.line(format!(
        "{BOLD}{}{BOLD:#} {DIM}{:.2}{DIM:#}  {}",
        printable(ranked.id),
        ranked.score,
        printable(&shortened(description, 100))
    ));
    let reason = |Reason { word, related, fields }: &Reason| {
        let related = related.map(|other| format!(", related to {other}")).unwrap_or_default();
        format!("{word}{related} ({})", fields.join(", "))
    };
    let reasons: Vec<String> = ranked.reasons.iter().map(reason).collect();
    ui.line(printable(&format!("    because of {}", reasons.join(", "))));
}

fn launch(words: &[String], host: &Host, ui: &mut Ui) -> Result<Exit> {
    let words = words.iter().map(OsString::from);
    let matches = crate::cli::command(&[]).try_get_matches_from(words);
    match matches.and_then(|matches| Cli::from_arg_matches(&matches)).map(|cli| cli.command) {
        Ok(Some(Command::Agent(args))) => agent::run(&args, host, ui),
        _ => Err(CommandError::internal("the command that was put together is none")),
    }
}
