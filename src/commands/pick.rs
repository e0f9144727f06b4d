//! `pick`: the personas that fit a task best, with the words that say so, and the best one started if asked.

use super::agent::{self, How};
use super::observe::Shown;
use super::{explain, list};
use crate::cli::PickArgs;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::host::Host;
use crate::model::plan::RunPlan;
use crate::model::selector::Selector;
use crate::resolve::rank::{Choice, Ranked, Reason, rank};
use crate::run::debug_log::DebugLog;
use crate::run::prepare::Probing;
use crate::run::{Engine, RunRequest};
use crate::ui::table::screen_width;
use crate::ui::text::shortened;
use crate::ui::{BOLD, DIM, Ui, printable};
use crate::workforce::{Workforce, warnings_of};
use serde_json::{Value, json};

pub fn run(args: &PickArgs, host: &Host, log: DebugLog, ui: &mut Ui) -> Result<Exit> {
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
    let words = shown.first().map(|best| command(best.id, &task));
    let starts = args.launch && super::is_interactive(host, ui) && !args.dry_run;
    let plans = args.launch && args.dry_run;
    if ui.is_json() {
        let plan = match shown.first().filter(|_| plans) {
            Some(best) => Some(plan(best.id, &task, host, log)?),
            None => None,
        };
        let refusals = plan.as_ref().map(|plan| plan.refusals.as_slice()).unwrap_or_default();
        let refused = (!refusals.is_empty()).then(|| explain::refused(refusals));
        let candidates: Vec<Value> = shown.iter().map(|ranked| candidate(ranked, &runnable)).collect();
        ui.json(&json!({
            "schemaVersion": 2, "task": task, "candidates": candidates, "command": words, "launched": false,
            "plan": plan, "warnings": warnings,
        }));
        if let Some(refused) = refused {
            ui.explain(&refused);
            return Ok(refused.exit);
        }
        return Ok(if shown.is_empty() { Exit::Failed } else { Exit::Done });
    } else if shown.is_empty() {
        ui.line("no persona matches this task");
        ui.hint("try other words, or look at `agentworkforce list`");
    } else if !args.launch || starts || plans {
        for ranked in shown {
            say(ranked, &runnable, ui);
        }
    }
    let Some(best) = shown.first() else { return Ok(Exit::Failed) };
    if starts {
        say_start(best, &runnable, ui);
    }
    if starts || plans {
        let how = if plans { How::DryRun } else { How::Run };
        let workforce = Workforce::open(host)?;
        let request = request(best.id, &task, super::is_attended());
        let shown = Shown::of(host, false, false, ui);
        return agent::carry_out(&request, how, shown, &workforce, log, ui);
    }
    if args.launch {
        ui.line(printable(&quoted(&command(best.id, &task))));
    }
    Ok(Exit::Done)
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

/// The run of the best one: the same request as that of `agent`.
fn request(id: &str, task: &str, attended: bool) -> RunRequest {
    let persona = Selector { name: id.to_owned(), tier: None };
    RunRequest { task: Some(task.to_owned()), attended, ..RunRequest::of(persona) }
}

/// What the best one would run, for scripts: the same plan as that of `agent --dry-run`.
fn plan(id: &str, task: &str, host: &Host, log: DebugLog) -> Result<RunPlan> {
    let workforce = Workforce::open(host)?;
    let engine = Engine::new(&workforce, log)?;
    Ok(engine.prepare(&request(id, task, false), Probing::LeaveNothing)?.plan)
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
    let (id, score) = (printable(ranked.id), format!("{:.2}", ranked.score));
    let width = screen_width().saturating_sub(id.len() + score.len() + 3);
    let description = printable(&shortened(description, width)).into_owned();
    ui.line(format!("{BOLD}{id}{BOLD:#} {DIM}{score}{DIM:#}  {description}"));
    ui.line(printable(&format!("    matches: {}", matches(ranked))));
}

/// The words of the task that it was found by, each with the word that stands for it there.
fn matches(ranked: &Ranked) -> String {
    let word = |Reason { word, related, .. }: &Reason| {
        format!("{word}{}", related.map(|other| format!(" (≈ {other})")).unwrap_or_default())
    };
    ranked.reasons.iter().map(word).collect::<Vec<_>>().join(", ")
}

/// Whom it starts, before anything else is seen of the run.
fn say_start(ranked: &Ranked, rows: &[&list::Row], ui: &mut Ui) {
    let row = rows.iter().find(|row| row.persona == ranked.id);
    let emoji = row.and_then(|row| row.emoji).map(|emoji| format!("{emoji} ")).unwrap_or_default();
    let name = match row.map(|row| row.name).filter(|name| *name != ranked.id) {
        Some(name) => format!("{emoji}{name} ({})", ranked.id),
        None => format!("{emoji}{}", ranked.id),
    };
    let runs_on = [row.and_then(|row| row.harness), row.and_then(|row| row.model.as_deref())];
    let runs_on: Vec<&str> = runs_on.into_iter().flatten().collect();
    ui.flush();
    ui.say(&printable(&format!("starting {name} on {}", runs_on.join(", "))));
}
