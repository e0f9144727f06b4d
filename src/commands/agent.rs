//! `agent`: asks the engine for a run, and prints the plan of it or carries it out.

use super::notify::Notifier;
use super::observe::{RunObserver, Shown};
use super::request::parse_selector;
use super::review::ReviewPrompt;
use super::{banner, explain, observe, piped, request, sessions};
use crate::cli::AgentArgs;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::host::Host;
use crate::model::mount::Backend;
use crate::model::plan::{AgentPlan, Mode, RunPlan};
use crate::model::warning::Warning;
use crate::run::debug_log::DebugLog;
use crate::run::prepare::Probing;
use crate::run::{Engine, FailedRun, RunRequest};
use crate::ui::text::shortened;
use crate::ui::{BOLD, DIM, Ui, printable};
use crate::workforce::Workforce;
use serde_json::{Value, json};
use std::path::Path;

pub fn run(args: &AgentArgs, host: &Host, log: DebugLog, ui: &mut Ui) -> Result<Exit> {
    let persona = parse_selector(&args.selector, host, args.from.persona_ref())?;
    let workforce = Workforce::open_at(host, args.from.persona_ref())?;
    // A mistyped persona is named first, whatever else is missing.
    workforce.find(&persona.name)?;
    for meaning in args.npm.explained() {
        ui.say(&format!("note: {meaning}"));
    }
    let Task { text: task, warnings } = task(args, ui)?;
    if ui.is_json() && !args.dry_run && task.is_none() {
        return Err(CommandError::usage(
            "`--json` needs a task or `--dry-run`: an interactive run has no report",
        )
        .hint("add `-p \"...\"` for a headless run, or `--dry-run` for the plan"));
    }
    // Arguments for the harness may contain the task: older scripts do it that way.
    if !args.dry_run && task.is_none() && !host.stdin_is_terminal && args.harness_args.is_empty() {
        return Err(CommandError::usage("no task given and stdin is not a terminal")
            .hint("add `-p \"...\"` or `--prompt-file FILE`, or run it in a terminal"));
    }
    let request = request::of_agent(args, persona, task, super::is_attended())?;
    let request = RunRequest { warnings, ..request };
    super::say::persona_ref(&workforce, ui);
    let how = if args.dry_run {
        How::DryRun
    } else if args.stream_json {
        How::Stream
    } else {
        How::Run
    };
    let shown = Shown::of(host, args.quiet, args.stream_json, ui);
    carry_out(&request, how, shown, &workforce, log, ui)
}

/// What the agent is asked to do.
struct Task {
    /// `None` for an interactive run.
    text: Option<String>,
    warnings: Vec<Warning>,
}

/// The user's words, with what was piped to them.
fn task(args: &AgentArgs, ui: &mut Ui) -> Result<Task> {
    let own = request::task_of(args)?;
    let is_taken = args.prompt_file.as_deref().is_some_and(|file| file == Path::new("-"));
    // Arguments for the harness may contain the task, and then the harness reads its input itself.
    let is_of_harness = own.is_none() && !args.harness_args.is_empty();
    let piped = if args.no_stdin || is_taken || is_of_harness { None } else { piped::read(ui)? };
    let Some(piped) = piped else { return Ok(Task { text: own, warnings: Vec::new() }) };
    let text = match own {
        Some(own) => {
            if !ui.is_json() {
                ui.say(&format!("{} bytes of standard input go with the task", piped.text.len()));
            }
            piped::with_context(&own, &piped.text)
        }
        None => piped.text,
    };
    Ok(Task { text: Some(text), warnings: piped.warnings })
}

/// What is done with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    DryRun,
    Run,
    /// A run whose events are printed as they happen.
    Stream,
}

/// Prepares a run of a persona and prints its plan, or runs it and reports.
pub fn carry_out(
    request: &RunRequest,
    how: How,
    shown: Shown,
    workforce: &Workforce,
    log: DebugLog,
    ui: &mut Ui,
) -> Result<Exit> {
    let engine = Engine::new(workforce, log)?;
    if how == How::DryRun {
        let prepared = engine.prepare(request, Probing::LeaveNothing)?;
        let missing = prepared.missing_supplies(&workforce.host);
        let mut plan = prepared.plan;
        plan.warnings.extend(missing);
        return Ok(print_plan(&plan, ui));
    }
    let prepared = engine.prepare(request, Probing::Keep)?;
    if !ui.is_json()
        && prepared.plan.sidecar.is_none()
        && let Some(agent) = prepared.plan.agent().filter(|agent| agent.system_prompt.is_empty())
    {
        let id = printable(&agent.persona.id).into_owned();
        ui.say(&format!("persona `{id}` has no prompt: the harness runs as it does without a persona"));
        ui.hint("`systemPrompt`, a role or a sidecar says what it is to do");
    }
    let stream = how == How::Stream;
    let mut prompt = ReviewPrompt { host: &workforce.host };
    let plan = prepared.plan.clone();
    let finished = {
        let notifier = Notifier::of(&workforce.config.settings);
        let mut observer = RunObserver::new(ui, &workforce.host, shown).streaming(stream).notifying(notifier);
        let finished = engine.run(prepared, &mut observer, &mut prompt);
        observer.notify_of(finished.as_ref().map_err(|_| ()));
        finished
    };
    let exit = match finished {
        Ok(finished) => {
            answer(finished.report.as_ref(), stream, ui);
            if !ui.is_json() {
                observe::say_changes_end(&finished, ui);
            }
            if shown != Shown::Nothing {
                observe::say_end(&finished, &plan, &workforce.host, ui);
            }
            Ok(finished.exit)
        }
        Err(failed) => return failure(*failed, stream, ui),
    };
    sessions::tidy(workforce, &workforce.host, ui);
    exit
}

/// In JSON every end of a run, good or bad, is a report.
fn answer(report: Option<&Value>, stream: bool, ui: &mut Ui) {
    let Some(report) = report.filter(|_| ui.is_json()) else { return };
    if stream {
        let mut last = json!({"type": "report"});
        last.as_object_mut().expect("an object").extend(report.as_object().cloned().unwrap_or_default());
        ui.json_line(&last.to_string());
    } else {
        ui.json(report);
    }
}

fn failure(failed: FailedRun, stream: bool, ui: &mut Ui) -> Result<Exit> {
    let is_refusal = failed.is_refusal();
    let (error, failed) = explain::failed_run(failed);
    if is_refusal {
        return Err(error);
    }
    let reason = std::iter::once(&error.message).chain(&error.causes).cloned().collect::<Vec<_>>().join(": ");
    let report = failed.report(error.exit, reason);
    if !ui.is_json() {
        return Err(error);
    }
    ui.explain(&error);
    answer(report.as_ref(), stream, ui);
    Ok(error.exit)
}

/// The plan, with the exit code that a run of it would start with.
fn print_plan(plan: &RunPlan, ui: &mut Ui) -> Exit {
    for warning in &plan.warnings {
        ui.warning(printable(&warning.message));
    }
    if ui.is_json() {
        ui.json(plan);
    } else if let Some(agent) = plan.agent() {
        summary(plan, agent, ui);
    }
    if plan.refusals.is_empty() {
        return Exit::Done;
    }
    let refused = explain::refused(&plan.refusals);
    ui.flush();
    ui.explain(&refused);
    refused.exit
}

/// The command line as a person would type it.
fn command_line(plan: &AgentPlan) -> String {
    let quote = |text: String| match shlex::try_quote(&text) {
        Ok(quoted) => quoted.into_owned(),
        Err(_) => format!("{text:?}"),
    };
    let words = std::iter::once(plan.command.program.clone())
        .chain(plan.command.args.iter().map(ToString::to_string));
    words.map(quote).collect::<Vec<_>>().join(" ")
}

fn summary(plan: &RunPlan, agent: &AgentPlan, ui: &mut Ui) {
    let persona = &agent.persona;
    ui.line(format!("{BOLD}{}{BOLD:#}", banner::heading(agent)));
    let mut row = |key: &str, value: String| {
        if !value.is_empty() {
            ui.line(format!("  {DIM}{key:<10}{DIM:#} {}", printable(&value)));
        }
    };
    row("from", persona.origin.describe());
    row("continues", plan.continues.as_ref().map(|id| format!("session {id}")).unwrap_or_default());
    for carried in &plan.carried_over {
        row("", banner::carried_over(*carried, plan));
    }
    if let Some(role) = &persona.role {
        let charter = role
            .charter_origin
            .as_deref()
            .map_or("no charter".to_owned(), |origin| format!("charter from {origin}"));
        row("role", format!("{} ({charter})", role.label));
    }
    let prompt = match agent.system_prompt.len() {
        0 => "none: the harness runs as it does without a persona".to_owned(),
        bytes => {
            format!("{bytes} bytes; `agentworkforce show {}@{} --prompt` prints it", persona.id, persona.tier)
        }
    };
    row("prompt", prompt);
    if let Some(sidecar) = &plan.sidecar {
        row("sidecar", format!("{} ({}), {}", sidecar.target, sidecar.mode.name(), sidecar.origin));
    }
    row("skills", agent.skills.iter().map(|skill| skill.id.as_str()).collect::<Vec<_>>().join(", "));
    row("mcp", agent.mcp_servers.join(", "));
    row("inherit", plan.inherit.summary());
    row("hidden", plan.inherit.hidden_line().unwrap_or_default());
    let inputs: Vec<String> = agent
        .inputs
        .iter()
        .map(|input| format!("{}={:?} ({})", input.name, shortened(&input.value, 40), input.from))
        .collect();
    row("inputs", inputs.join(", "));
    let probed = match plan.mount.backend {
        Backend::Auto => "auto (unprobed)",
        other => other.name(),
    };
    row("mount", format!("{probed} at {}, {} path rules", plan.mount.root.display(), plan.mount.rules.len()));
    if let Some(task) = &agent.prompt {
        row("task", shortened(task, 100));
    }
    row(
        "mode",
        match agent.mode {
            Mode::Interactive => "interactive".into(),
            Mode::Headless => "headless".into(),
        },
    );
    let weak: Vec<String> = plan.not_enforced().map(|row| row.field.to_string()).collect();
    row("unenforced", weak.join(", "));
    ui.line("");
    ui.line(printable(&command_line(agent)));
}
