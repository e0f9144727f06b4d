//! Asks another persona about a piece of work: a reviewer, an advisor, a planner. It is a run of its own whose changes are thrown away;
//! where it looks at the result, its mount shows that.

use crate::model::limits::Limits;
use crate::model::plan::ApplyPolicy;
use crate::model::report::Usage;
use crate::model::run_extras::RunExtras;
use crate::model::selector::Selector;
use crate::model::warning::Warning;
use crate::run::attempt::Ask;
use crate::run::observer::Observer;
use crate::run::open::OpenRun;
use crate::run::prepare::Probing;
use crate::run::request::{ChangesRequest, ViewRequest};
use crate::run::{Engine, RunEvent, RunRequest};
use crate::session::SessionState;
use anyhow::{Result, bail};
use serde_json::Value;

/// A question to a persona.
pub struct Question<'a> {
    pub persona: &'a Selector,
    pub prompt: String,
    /// A section of its system prompt: what it is to be here.
    pub section: Option<String>,
    /// The form of the answer.
    pub schema: Value,
    pub wall_seconds: Option<f64>,
    pub view: &'a ViewRequest,
    pub offline: bool,
}

/// What it said, and what that cost.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    /// The id of the persona.
    pub persona: String,
    /// None if it came to no end.
    pub text: Option<String>,
    /// Why there is none.
    pub problem: Option<String>,
    pub usage: Usage,
}

/// Passes warnings on and nothing else: whoever watches the work does not want to read another run's steps.
struct Warnings<'o>(&'o mut dyn Observer);

impl Observer for Warnings<'_> {
    fn event(&mut self, event: &RunEvent<'_>) {
        if let RunEvent::Warning(warning) = event {
            let message = format!("{}: {}", "judge", warning.message);
            self.0.event(&RunEvent::Warning(&Warning { message, ..(*warning).clone() }));
        }
    }
}

/// Asks, and waits for the answer. With `of`, the persona sees the result of that run.
pub fn ask<'e>(
    engine: &'e Engine<'e>,
    question: Question<'_>,
    of: Option<&mut OpenRun<'_>>,
    observer: &mut dyn Observer,
) -> Result<Answer> {
    let request = RunRequest {
        task: Some(question.prompt),
        view: question.view.clone(),
        limits: Limits { wall_seconds: question.wall_seconds, ..Limits::default() },
        changes: ChangesRequest { apply: Some(ApplyPolicy::Never), ..ChangesRequest::default() },
        offline: question.offline,
        extras: RunExtras {
            prompt_section: question.section,
            no_subagents: true,
            output_schema: Some(question.schema),
            ..RunExtras::default()
        },
        ..RunRequest::of(question.persona.clone())
    };
    let prepared = engine.prepare(&request, Probing::Keep)?;
    let Some(agent) = prepared.plan.agent() else { bail!("a judge is an agent") };
    let persona = agent.persona.id.clone();
    let mut observer = Warnings(observer);
    let mut open = engine.start(prepared, &mut observer)?;
    if let Some(of) = of {
        let review = of.review()?.cloned().unwrap_or_default();
        open.show_changes_of(of, &review)?;
    }
    let ask = Ask::planned(open.plan());
    let outcome = open.attempt(&ask, &mut observer);
    // Whatever it wrote goes; what it said is in the record of its session.
    open.session().set_state(&engine.workforce.host, SessionState::Discarded)?;
    open.session().remove_mount(&engine.crash_points)?;
    let outcome = outcome?;
    let has_answer = outcome.succeeded();
    Ok(Answer {
        persona,
        problem: (!has_answer)
            .then(|| outcome.reason.clone().unwrap_or_else(|| "it did not end well".into())),
        text: outcome.result.filter(|_| has_answer),
        usage: outcome.usage,
    })
}
