//! `agent`: decides a run, and prints the plan of it or carries it out.

use super::launch::{self, Launch};
use super::mounted;
use super::request::{self, PlanRequest};
use super::say;
use crate::cli::AgentArgs;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::host::Host;
use crate::model::mount::{Backend, Sandbox};
use crate::model::plan::{EnforcementLevel, Mode, RunPlan};
use crate::model::warning::Warning;
use crate::plan::run::not_enforced;
use crate::session::SessionStore;
use crate::ui::text::shortened;
use crate::ui::{BOLD, DIM, Ui, printable};
use crate::workforce::Workforce;

pub fn run(args: &AgentArgs, host: &Host, ui: &mut Ui) -> Result<Exit> {
    if ui.is_json() && !args.dry_run && args.prompt.is_none() && args.prompt_file.is_none() {
        return Err(CommandError::usage(
            "`--json` needs a task or `--dry-run`: an interactive run has no report",
        )
        .hint("add `-p \"...\"` for a headless run, or `--dry-run` for the plan"));
    }
    let has_task = args.prompt.is_some() || args.prompt_file.is_some();
    // Arguments for the harness may bring the task: scripts of old do it that way.
    if !args.dry_run && !has_task && !host.stdin_is_terminal && args.harness_args.is_empty() {
        return Err(CommandError::usage("there is no task, and no terminal to talk in")
            .hint("add `-p \"...\"` or `--prompt-file FILE`, or start it in a terminal"));
    }
    let mut request = PlanRequest::from_args(args)?;
    let workforce = Workforce::open_at(host, args.from.persona_ref())?;
    say::persona_ref(&workforce, ui);
    let store = SessionStore::new(&workforce.layers.home);
    let resumed = args
        .resume
        .as_deref()
        .map(|wanted| launch::conversation::find(&store, wanted, &request.persona, request.harness));
    let resumed = resumed.transpose()?;
    if let Some(resumed) = &resumed {
        request.harness = Some(resumed.noted.harness);
        request.flags.resume = Some(resumed.noted.conversation());
    }
    let mut plan = request::plan(&workforce, &request)?;
    let refused = match plan.mount.backend {
        Backend::None => Ok(()),
        _ => mounted::refuse_root(&workforce, &plan.mount.root),
    };
    if let (true, Err(error)) = (args.dry_run, &refused) {
        plan.warnings.push(format!("a run here would be refused: {}", error.message));
    }
    if args.dry_run || args.strict {
        say::warnings(&workforce.general_warnings(), ui);
        for warning in &plan.warnings {
            ui.warning(printable(warning));
        }
    }
    refuse_unreachable_sandbox(&plan)?;
    if args.strict {
        refuse_what_is_not_enforced(&plan, &workforce.general_warnings())?;
        // What the plan calls hidden is hidden at this level only, and whether it is reached is known when the mount is
        // made.
        if args.sandbox.is_none() {
            plan.mount.sandbox = plan.mount.sandbox.max(Some(Sandbox::Project));
        }
    }
    if !args.dry_run {
        refused?;
        mounted::refuse_unheard(&workforce, Some(&request.persona), &plan.mount.root)?;
        return launch::run(Launch { plan: &plan, args, workforce: &workforce, store: &store, resumed }, ui);
    }
    if ui.is_json() {
        ui.json(&plan);
    } else {
        summary(&plan, ui);
    }
    Ok(Exit::Done)
}

/// A level that was asked for and cannot be had is never a silent downgrade.
fn refuse_unreachable_sandbox(plan: &RunPlan) -> Result<()> {
    match not_enforced(plan).find(|row| row.field == "mount.sandbox") {
        None => Ok(()),
        Some(row) => Err(CommandError::new(Exit::Refused, "the sandbox that is asked for cannot be had")
            .caused_by(&row.how)
            .hint("leave `--mount` out, or ask for less with `--sandbox off`")),
    }
}

fn refuse_what_is_not_enforced(plan: &RunPlan, general: &[Warning]) -> Result<()> {
    let level = |level: EnforcementLevel| match level {
        EnforcementLevel::Enforced => "enforced",
        EnforcementLevel::Advisory => "advisory",
        EnforcementLevel::Unsupported => "unsupported",
    };
    let mut causes: Vec<String> =
        not_enforced(plan).map(|row| format!("{}: {} ({})", row.field, level(row.level), row.how)).collect();
    causes.extend(plan.warnings.iter().cloned());
    causes.extend(general.iter().map(ToString::to_string));
    if causes.is_empty() {
        return Ok(());
    }
    let mut error =
        CommandError::new(Exit::Refused, format!("persona `{}` is refused by `--strict`", plan.persona.id));
    error.causes = causes;
    Err(error.hint("run it without `--strict`, on another harness, or take the demand out of the persona"))
}

/// The command line as a person would type it.
pub fn command_line(plan: &RunPlan) -> String {
    let quote = |text: String| match shlex::try_quote(&text) {
        Ok(quoted) => quoted.into_owned(),
        Err(_) => format!("{text:?}"),
    };
    let words = std::iter::once(plan.command.program.clone())
        .chain(plan.command.args.iter().map(ToString::to_string));
    words.map(quote).collect::<Vec<_>>().join(" ")
}

fn summary(plan: &RunPlan, ui: &mut Ui) {
    let persona = &plan.persona;
    let emoji = persona.emoji.as_deref().map(|emoji| format!("{emoji} ")).unwrap_or_default();
    let name = if persona.name == persona.id {
        persona.id.clone()
    } else {
        format!("{} ({})", persona.name, persona.id)
    };
    let model =
        plan.model.as_ref().map_or_else(|| "the harness's own model".to_owned(), |model| model.value.clone());
    let (emoji, name, model) = (printable(&emoji), printable(&name), printable(&model));
    ui.line(format!("{emoji}{BOLD}{name}{BOLD:#} [{}] via {} ({model})", persona.tier, plan.harness.kind));
    let mut row = |key: &str, value: String| {
        if !value.is_empty() {
            ui.line(format!("  {DIM}{key:<10}{DIM:#} {}", printable(&value)));
        }
    };
    row("from", persona.origin.describe());
    if let Some(role) = &persona.role {
        let charter = role
            .charter_origin
            .as_deref()
            .map_or("no charter".to_owned(), |origin| format!("charter from {origin}"));
        row("role", format!("{} ({charter})", role.label));
    }
    row(
        "prompt",
        format!(
            "{} bytes; `agentworkforce show {}@{} --prompt` prints it",
            plan.system_prompt.len(),
            persona.id,
            persona.tier
        ),
    );
    if let Some(sidecar) = &plan.sidecar {
        let mode = serde_json::to_value(sidecar.mode).ok().and_then(|mode| mode.as_str().map(str::to_owned));
        row("sidecar", format!("{} ({}), {}", sidecar.target, mode.unwrap_or_default(), sidecar.origin));
    }
    row("skills", plan.skills.iter().map(|skill| skill.id.as_str()).collect::<Vec<_>>().join(", "));
    row("mcp", plan.mcp_servers.join(", "));
    let inputs: Vec<String> = plan
        .inputs
        .iter()
        .map(|input| format!("{}={:?} ({})", input.name, shortened(&input.value, 40), input.from))
        .collect();
    row("inputs", inputs.join(", "));
    let backend = serde_json::to_value(plan.mount.backend)
        .ok()
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_default();
    let probed = if backend == "auto" { "auto (unprobed)".to_owned() } else { backend };
    row("mount", format!("{probed} at {}, {} path rules", plan.mount.root.display(), plan.mount.rules.len()));
    if let Some(task) = &plan.prompt {
        row("task", shortened(task, 100));
    }
    row(
        "mode",
        match plan.mode {
            Mode::Interactive => "interactive".into(),
            Mode::Headless => "headless".into(),
        },
    );
    let weak: Vec<String> = not_enforced(plan).map(|row| row.field.clone()).collect();
    row("unenforced", weak.join(", "));
    ui.line("");
    ui.line(printable(&command_line(plan)));
}
