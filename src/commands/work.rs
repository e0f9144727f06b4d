//! `work`: makes a contract from flags or a file, has the work done under it, and shows the verdict.

use super::notify::Notifier;
use super::observe::{RunObserver, Shown};
use super::review::ReviewPrompt;
use super::work_observer::WorkObserverOf;
use super::{explain, request, sessions};
use crate::cli::{ModeArg, SpecSkipArg, WorkArgs};
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::host::Host;
use crate::model::contract::{AdvisorTerms, ReviewTerms, SpecSkip, WorkMode};
use crate::model::plan::RunPlan;
use crate::model::selector::Selector;
use crate::model::verdict::CheckName;
use crate::model::warning::Warning;
use crate::rules::PathRules;
use crate::run::debug_log::DebugLog;
use crate::run::prepare::{Preview, Probing};
use crate::run::request::{Overrides, ViewRequest};
use crate::run::{Engine, RunError};
use crate::ui::{BOLD, DIM, Ui, printable};
use crate::work::contract::{ShortForm, Standing};
use crate::work::correction;
use crate::work::cycle::drive;
use crate::work::cycle::plan::{NeedsMount, expect_mount};
use crate::work::cycle::prepare::{
    ContractPlace, ReadyContract, names_contract, of_decided, of_file, of_flags,
};
use crate::work::cycle::race::{self, Race};
use crate::work::cycle::record::read_history;
use crate::work::cycle::request::{FinishedWork, KeptWork, Resumption, WorkRequest};
use crate::work::cycle::roles::worker_section;
use crate::work::display::{DisplayFacts, DisplayLine, LineRole, contract_lines, verdict_lines};
use crate::workforce::Workforce;
use anyhow::Context;
use serde_json::{Value, json};
use std::path::Path;

/// Who does the work if nobody is named: the built-in persona, or a layer's own of that name.
const WORKER: &str = "worker";

fn default_worker() -> Selector {
    Selector { name: WORKER.to_owned(), tier: None }
}

pub fn run(args: &WorkArgs, host: &Host, log: DebugLog, ui: &mut Ui) -> Result<Exit> {
    if args.mount.is_some_and(|backend| matches!(backend, crate::cli::BackendArg::None)) {
        return Err(anyhow::Error::from(NeedsMount).into());
    }
    let workforce = Workforce::open_at(host, args.from.persona_ref())?;
    let engine = Engine::new(&workforce, log)?;
    let mut personas: Vec<Selector> = args
        .personas
        .iter()
        .map(|text| request::parse_selector(text, host, args.from.persona_ref()))
        .collect::<Result<_>>()?;
    let prepared = match &args.resume {
        Some(session) => resumed(args, session, &engine, &mut personas)?,
        None => {
            if personas.is_empty() {
                personas.push(default_worker());
            }
            for persona in &personas {
                workforce.find(&persona.name)?;
            }
            new(args, &workforce, &personas)?
        }
    };
    let ReadyWork { request: work, assumed, warnings } = prepared;
    for warning in &warnings {
        ui.warning(printable(&warning.message));
    }
    if !ui.is_json() && !args.quiet {
        for line in &assumed {
            ui.say(&format!("assumed: {}", printable(line)));
        }
    }
    match work.standing {
        Standing::Ready => {}
        Standing::Draft => {
            return Err(CommandError::new(Exit::Refused, "the contract is a draft")
                .hint("`agentworkforce contract approve FILE` approves it"));
        }
        Standing::NeedsSpec => {
            let finished = drive::needs_spec(&work)?;
            return Ok(say(&finished, None, args.stream_json, ui));
        }
    }
    if args.dry_run {
        return dry_run(&engine, &work, &assumed, ui);
    }
    super::say::persona_ref(&workforce, ui);
    let shown = if ui.is_json() && !args.stream_json {
        Shown::Nothing
    } else {
        Shown::of(host, args.quiet, args.stream_json, ui)
    };
    let mut prompt = ReviewPrompt { host };
    let speaks = !args.quiet && !ui.is_json();
    if personas.len() > 1 {
        let race = Race {
            work: &work,
            personas: &personas,
            jobs: usize::from(args.jobs),
            discards_others: args.discard_others,
            args: passed_on(args),
        };
        let finished = {
            let runs = RunObserver::new(ui, host, shown).streaming(args.stream_json);
            let mut observer = WorkObserverOf::new(runs, args.stream_json, speaks);
            race::run(&engine, &race, &mut observer, &mut prompt)?
        };
        if ui.is_json() {
            answer(&finished.value, args.stream_json, ui);
        } else {
            for line in &finished.lines {
                ui.line(printable(line));
            }
        }
        sessions::tidy(&workforce, host, ui);
        return Ok(finished.exit);
    }
    let finished = {
        let notifier = Notifier::of(&workforce.config.settings);
        let runs = RunObserver::new(ui, host, shown).streaming(args.stream_json).notifying(notifier);
        let mut observer = WorkObserverOf::new(runs, args.stream_json, speaks);
        drive::carry_out(&engine, &work, &mut observer, &mut prompt)
    };
    let finished = match finished {
        Ok(finished) => finished,
        Err(error) => return Err(refused(error)),
    };
    let harness = harness_of(&workforce, &work);
    let exit = say(&finished, harness.as_deref(), args.stream_json, ui);
    sessions::tidy(&workforce, host, ui);
    Ok(exit)
}

/// A refusal of the plan has all its reasons.
fn refused(error: anyhow::Error) -> CommandError {
    match error.downcast::<RunError>() {
        Ok(RunError::Refused(refusals)) => explain::refused(&refusals),
        Ok(other) => other.into(),
        Err(error) => error.into(),
    }
}

fn harness_of(workforce: &Workforce, work: &WorkRequest) -> Option<String> {
    let overrides = work.run_request(String::new()).overrides;
    let preview = Preview::of(workforce, &work.persona, &overrides).ok()?;
    Some(preview.agent().harness.kind.name().to_owned())
}

/// What is carried out, and what was assumed to get there.
struct ReadyWork {
    request: WorkRequest,
    assumed: Vec<String>,
    warnings: Vec<Warning>,
}

/// Work from flags, or from a contract file.
fn new(args: &WorkArgs, workforce: &Workforce, personas: &[Selector]) -> Result<ReadyWork> {
    let host = &workforce.host;
    let view = view(args)?;
    let first = personas.first().cloned().unwrap_or_else(default_worker);
    let overrides = Overrides { reveal: view.reveal.clone(), ..Overrides::default() };
    let preview = Preview::of(workforce, &first, &overrides)?;
    let rules = PathRules::compile(&preview.plan.mount.rules).ok();
    let is_hidden = |path: &str| {
        let path = path.trim_start_matches("./").trim_end_matches('/');
        rules.as_ref().is_some_and(|rules| rules.decide(Path::new(path), false).is_hidden())
    };
    let root = preview.plan.mount.root.clone();
    let place = ContractPlace { root: &root, is_hidden: &is_hidden, reference: None };
    let ready = if let Some(decided) = &args.decided {
        let (contract, sha256) = of_decided(decided)?;
        ReadyContract {
            contract,
            sha256,
            standing: Standing::Ready,
            assumed: Vec::new(),
            warnings: Vec::new(),
        }
    } else if let Some(file) = names_contract(host, &args.task) {
        only_for_tasks(args)?;
        of_file(&file, place, &workforce.config.settings)?
    } else {
        of_flags(&short_form(args), place)?
    };
    let ReadyContract { mut contract, sha256, standing, assumed, warnings } = ready;
    // Flags of the run hold for a contract file, too.
    let budgets = &mut contract.budgets;
    budgets.attempts = args.attempts.unwrap_or(budgets.attempts);
    budgets.wall_seconds = args.timeout.or(budgets.wall_seconds);
    budgets.usd = args.max_usd.or(budgets.usd);
    let given = &args.contract;
    contract.effort = given.effort.clone().or(contract.effort);
    contract.planner = given.planner.clone().or(contract.planner);
    if let Some(persona) = &given.review {
        contract.review = Some(ReviewTerms { persona: persona.clone(), required: true, max_iterations: 3 });
    }
    if let Some(persona) = &given.advisor {
        contract.advisor = Some(AdvisorTerms { persona: persona.clone(), enabled: true, max_consults: 3 });
    }
    contract.prove |= given.prove;
    let others = [
        contract.review.as_ref().map(|terms| &terms.persona),
        contract.advisor.as_ref().filter(|terms| terms.enabled).map(|terms| &terms.persona),
        contract.planner.as_ref(),
    ];
    for name in others.into_iter().flatten() {
        workforce.find(&Selector::parse(name)?.name)?;
    }
    if let Some(terms) = &contract.review {
        let reviewer = workforce.find(&Selector::parse(&terms.persona)?.name)?;
        for persona in personas {
            if workforce.find(&persona.name)?.resolved.id() == reviewer.resolved.id() {
                return Err(CommandError::usage(format!("`{}` cannot review its own work", persona.name))
                    .hint("name another persona with `--review`"));
            }
        }
    }
    let request = WorkRequest {
        contract,
        sha256,
        standing,
        persona: first,
        view,
        apply: args.apply.map(policy),
        commit: args.commit,
        uses_base: !args.no_base,
        offline: args.offline,
        attended: super::is_attended(),
        resume: None,
    };
    Ok(ReadyWork { request, assumed, warnings })
}

/// Work that a session holds.
fn resumed(
    args: &WorkArgs,
    session: &str,
    engine: &Engine<'_>,
    personas: &mut Vec<Selector>,
) -> Result<ReadyWork> {
    let kept = engine.store.find(session)?;
    let Some(work) = KeptWork::read(&kept)? else {
        return Err(CommandError::usage(format!(
            "session `{}` is no work with a contract",
            kept.id.as_str()
        ))
        .hint(format!("`agentworkforce agent PERSONA --resume {}` goes on with it", kept.id.as_str())));
    };
    let history = read_history(&kept)?;
    let mut contract = work.contract;
    if args.attempts.is_none() && history.attempts_used() >= contract.budgets.attempts {
        return Err(CommandError::usage(format!(
            "no attempt is left: {} of {} were made",
            history.attempts_used(),
            contract.budgets.attempts
        ))
        .hint(format!(
            "`--attempts 2` gives it two more: `agentworkforce work --resume {session} --attempts 2`"
        )));
    }
    contract.budgets.wall_seconds =
        args.timeout.map(|more| history.elapsed_seconds + more).or(contract.budgets.wall_seconds);
    contract.budgets.usd = args.max_usd.map(|more| history.spent_usd + more).or(contract.budgets.usd);
    if let Some(holdout) = work.holdout {
        contract.holdout_path = Some(holdout.display().to_string());
    }
    let persona = Selector::parse(&work.persona)?;
    if let Some(asked) = personas.first().filter(|asked| asked.name != persona.name) {
        return Err(CommandError::usage(format!(
            "session `{}` is the work of `{}`, not of `{}`",
            kept.id.as_str(),
            persona.name,
            asked.name
        )));
    }
    *personas = vec![persona.clone()];
    let request = WorkRequest {
        contract,
        sha256: work.sha256,
        standing: Standing::Ready,
        persona,
        view: work.view,
        apply: args.apply.map(policy),
        commit: args.commit || work.commit,
        uses_base: work.uses_base && !args.no_base,
        offline: args.offline,
        attended: super::is_attended(),
        resume: Some(Resumption { session: kept.id.to_string(), attempts: args.attempts }),
    };
    Ok(ReadyWork { request, assumed: Vec::new(), warnings: Vec::new() })
}

/// A contract file says these itself.
fn only_for_tasks(args: &WorkArgs) -> Result<()> {
    let given = &args.contract;
    let flags = [
        ("--task-id", given.task_id.is_some()),
        ("--context", given.context.is_some()),
        ("--files", !given.files.is_empty()),
        ("--check", !given.check.is_empty()),
        ("--setup", !given.setup.is_empty()),
        ("--spec", given.spec.is_some()),
        ("--spec-skip", given.spec_skip.is_some()),
        ("--mode", given.mode.is_some()),
        ("--tdd", given.tdd),
    ];
    match flags.into_iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => {
            Err(CommandError::usage(format!("`{flag}` goes with a task, not with a contract file"))
                .hint("write it into the contract"))
        }
        None => Ok(()),
    }
}

fn short_form(args: &WorkArgs) -> ShortForm {
    let given = &args.contract;
    let mode = |mode: ModeArg| match mode {
        ModeArg::Solo => WorkMode::Solo,
        ModeArg::Codex => WorkMode::Codex,
        ModeArg::Breezing => WorkMode::Breezing,
    };
    let skip = |skip: SpecSkipArg| match skip {
        SpecSkipArg::DocsOnly => SpecSkip::DocsOnly,
        SpecSkipArg::MechanicalChange => SpecSkip::MechanicalChange,
        SpecSkipArg::ExistingSpecSufficient => SpecSkip::ExistingSpecSufficient,
    };
    let word = |value: Value| value.as_str().map(str::to_owned);
    ShortForm {
        task: args.task.join(" "),
        task_id: given.task_id.clone(),
        context: given.context.clone(),
        files: given.files.clone(),
        checks: given.check.clone(),
        setup: given.setup.clone(),
        spec: given.spec.clone(),
        spec_skip: given.spec_skip.and_then(|reason| word(json!(skip(reason)))),
        mode: given.mode.and_then(|given| word(json!(mode(given)))),
        tdd: given.tdd,
        prove: given.prove,
        review: given.review.clone(),
        advisor: given.advisor.clone(),
        attempts: args.attempts,
        effort: given.effort.clone(),
    }
}

fn view(args: &WorkArgs) -> Result<ViewRequest> {
    if let Some(why) = args.reveal.iter().find_map(|pattern| crate::rules::inherit::refused_reveal(pattern)) {
        return Err(CommandError::usage(format!("`--reveal`: {why}")));
    }
    Ok(ViewRequest {
        backend: args.mount.map(request::backend),
        sandbox: args.sandbox.map(request::sandbox),
        reveal: args.reveal.clone(),
        allow_layer_changes: false,
    })
}

fn policy(apply: crate::cli::ApplyArg) -> crate::model::plan::ApplyPolicy {
    request::apply_policy(apply)
}

/// What each of those who race is told besides the contract.
fn passed_on(args: &WorkArgs) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(backend) = args.mount.map(request::backend) {
        words.extend(["--mount".to_owned(), backend.name().to_owned()]);
    }
    if let Some(sandbox) = args.sandbox.map(request::sandbox) {
        words.extend(["--sandbox".to_owned(), sandbox.name().to_owned()]);
    }
    for pattern in &args.reveal {
        words.extend(["--reveal".to_owned(), pattern.clone()]);
    }
    if let Some(reference) = args.from.persona_ref() {
        words.extend(["--persona-ref".to_owned(), reference.to_owned()]);
    }
    let switches = [("--offline", args.offline), ("--no-base", args.no_base)];
    words.extend(switches.into_iter().filter(|(_, is_given)| *is_given).map(|(flag, _)| flag.to_owned()));
    words
}

/// Prints the contract, its commands, every check and the prompts; starts nothing.
fn dry_run(engine: &Engine<'_>, work: &WorkRequest, assumed: &[String], ui: &mut Ui) -> Result<Exit> {
    let contract = &work.contract;
    let section = worker_section(engine, contract);
    let task = correction::first(contract);
    let mut run = work.run_request(task.clone());
    run.extras.prompt_section = Some(section.clone());
    run.extras.no_subagents = true;
    let prepared = engine.prepare(&run, Probing::LeaveNothing)?;
    expect_mount(&prepared.plan)?;
    let missing = prepared.missing_supplies(&engine.workforce.host);
    let mut plan: RunPlan = prepared.plan;
    plan.warnings.extend(missing);
    let checks: Vec<CheckName> = CheckName::ALL
        .into_iter()
        .map(|(name, _)| name)
        .filter(|name| *name != CheckName::Review || contract.review.is_some())
        .collect();
    for warning in &plan.warnings {
        ui.warning(printable(&warning.message));
    }
    if ui.is_json() {
        let names: Vec<&str> = checks.iter().map(|check| check.text()).collect();
        ui.json(&json!({
            "schemaVersion": 1,
            "contract": contract,
            "sha256": work.sha256,
            "assumed": assumed,
            "persona": work.persona.to_string(),
            "checks": names,
            "prompts": {"section": section, "first": task},
            "plan": plan,
        }));
    } else {
        lines(&contract_lines(contract, &checks), ui);
        ui.line("");
        ui.line(format!("{BOLD}{}{BOLD:#}", "Told to the worker"));
        for line in section.lines().chain(["", "First prompt:"]).chain(task.lines()) {
            ui.line(format!("  {}", printable(line)));
        }
    }
    if plan.refusals.is_empty() {
        return Ok(Exit::Done);
    }
    let refused = explain::refused(&plan.refusals);
    ui.flush();
    ui.explain(&refused);
    Ok(refused.exit)
}

/// Prints the verdict.
pub fn say(finished: &FinishedWork, harness: Option<&str>, stream: bool, ui: &mut Ui) -> Exit {
    if ui.is_json() {
        answer(&finished.value, stream, ui);
        return finished.exit;
    }
    let facts = DisplayFacts { harness, ..DisplayFacts::default() };
    lines(&verdict_lines(&finished.verdict, &finished.contract, &facts), ui);
    if let Some(reason) = &finished.reason {
        ui.line("");
        for line in reason.lines() {
            ui.line(format!("  {}", printable(line)));
        }
    }
    if let Some(commit) = &finished.commit {
        ui.line(format!("  committed: {}", printable(commit)));
    }
    finished.exit
}

fn answer(value: &Value, stream: bool, ui: &mut Ui) {
    if stream {
        let mut last = json!({"type": "verdict"});
        if let (Some(last), Value::Object(value)) = (last.as_object_mut(), value) {
            last.extend(value.clone());
        }
        ui.json_line(&last.to_string());
    } else {
        ui.json(value);
    }
}

/// Lines with their colours.
pub fn lines(all: &[DisplayLine], ui: &mut Ui) {
    use anstyle::{AnsiColor, Style};
    for line in all {
        let style = match line.role {
            LineRole::Good => AnsiColor::Green.on_default(),
            LineRole::Bad => AnsiColor::Red.on_default(),
            LineRole::Doubtful => AnsiColor::Yellow.on_default(),
            LineRole::Faint => DIM,
            LineRole::Plain => Style::new(),
        };
        ui.line(format!("{style}{}{style:#}", printable(&line.text)));
    }
}

/// The section that a persona gets under a contract, for `show`.
pub fn section_of(file: &Path, persona: &Selector, workforce: &Workforce) -> Result<String> {
    let preview = Preview::of(workforce, persona, &Overrides::default())?;
    let root = preview.plan.mount.root.clone();
    let place = ContractPlace { root: &root, is_hidden: &|_| false, reference: None };
    let file = workforce.host.absolute(file);
    let ready =
        of_file(&file, place, &workforce.config.settings).with_context(|| format!("{}", file.display()))?;
    let engine = Engine::new(workforce, DebugLog::default())?;
    Ok(worker_section(&engine, &ready.contract))
}
