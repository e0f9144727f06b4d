//! What happens after an attempt was measured: go on, ask, split, or stop. Pure; whoever calls it does it.

use super::correction;
use super::evidence::{Evidence, HarnessEnd};
use super::history::History;
use super::out_of_scope;
use super::signal::{gave_up, has_work_in_scope, is_noop, only_report_is_wrong, review_is_due};
use super::signature::{plain, signature_of_text, trigger_hash};
use crate::model::contract::Contract;
use crate::model::raw_path::RawPath;
use crate::model::verdict::{
    AttemptStrategy, Blocker, Check, CheckName, CheckStatus, Ruling, Signal, Strategy,
};
use crate::model::worker_report::{ADVISOR_REQUEST, AdvisorDecision, AdvisorReason, AdvisorRequest};

#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Everything holds, and the reviewer, if there is one, agrees.
    Approve,
    /// Nothing had to be changed.
    NoopSkipped,
    Attempt(NextAttempt),
    /// Ask the advisor, record the answer in the history, and ask again what is next.
    Consult(AdvisorRequest),
    /// Ask the planner.
    Decompose,
    /// Ask the reviewer, add its check to the attempt, and ask again what is next.
    Review,
    Stop(Stop),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextAttempt {
    /// Retry and report-only resume the conversation; all others begin a new one. All keep the mount.
    pub strategy: AttemptStrategy,
    /// Paths that are put back from the base before the worker goes on.
    pub put_back: Vec<RawPath>,
    /// With new advice in front.
    pub prompt: String,
}

impl NextAttempt {
    pub fn resumes_conversation(&self) -> bool {
        matches!(self.strategy, AttemptStrategy::Retry | AttemptStrategy::ReportOnly)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    pub ruling: Ruling,
    /// For a person; may have several lines.
    pub reason: String,
    /// Whether the work is kept for a person to look at.
    pub held: bool,
    /// What nobody here can answer.
    pub request: Option<AdvisorRequest>,
    /// Whether to warn: the work was given up.
    pub warn: bool,
}

impl Stop {
    fn because(ruling: Ruling, reason: impl Into<String>, held: bool) -> Next {
        let warn = ruling == Ruling::Skipped;
        Next::Stop(Stop { ruling, reason: reason.into(), held, request: None, warn })
    }

    fn asking(request: AdvisorRequest, reason: &str, held: bool) -> Next {
        let stop = Stop {
            ruling: Ruling::Advisor,
            reason: reason.into(),
            held,
            request: Some(request),
            warn: false,
        };
        Next::Stop(stop)
    }
}

/// Whether there is an advisor that may still be asked.
pub fn can_consult(contract: &Contract, history: &History) -> bool {
    let terms = contract.advisor.as_ref().filter(|terms| terms.enabled);
    terms.is_some_and(|terms| {
        u32::try_from(history.consults.len()).is_ok_and(|made| made < terms.max_consults)
    })
}

/// The question that has to be answered before the work begins: risk flags, or `<!-- advisor:required -->`. None once it was answered.
/// Where [`can_consult`] says no, the request is the answer.
pub fn before_launch(contract: &Contract, history: &History) -> Option<AdvisorRequest> {
    let (reason, question) = if contract.risk_flags.is_empty() {
        if !asks_for_advisor(contract) {
            return None;
        }
        (
            AdvisorReason::AdvisorRequired,
            "The contract asks for advice before the work begins: how should it be done?".to_owned(),
        )
    } else {
        let flags =
            contract.risk_flags.iter().take(20).map(|flag| plain(flag)).collect::<Vec<_>>().join(", ");
        (
            risk_reason(&contract.risk_flags),
            format!("The contract has these risk flags: {flags}. How should the work be done safely?"),
        )
    };
    let mut sorted = contract.risk_flags.clone();
    sorted.sort();
    let signature = signature_of_text(&format!("before launch {}", sorted.join(" ")));
    let mut request = request(contract, history, reason, &signature, question, String::new());
    request.context_summary = vec![plain(&contract.task)];
    let answered = history
        .consults
        .iter()
        .any(|consult| consult.trigger_hash == request.trigger_hash && consult.response.is_some());
    (!answered).then_some(request)
}

/// What stands before the first attempt: a question, or an end. None: it may begin, with [`first_prompt`].
pub fn launch_step(contract: &Contract, history: &History) -> Option<Next> {
    if let Some(stop) = stopped_by_advice(history) {
        return Some(Next::Stop(stop));
    }
    let request = before_launch(contract, history)?;
    if can_consult(contract, history) && !history.was_asked(&request.trigger_hash) {
        return Some(Next::Consult(request));
    }
    Some(Stop::asking(
        request,
        "the contract asks for advice before the work begins, and no advisor can give it",
        false,
    ))
}

/// The prompt of the first attempt, with the advice that was given.
pub fn first_prompt(contract: &Contract, history: &History) -> String {
    correction::with_advice(history, &correction::first(contract))
}

/// Whether the advice that was given before the work began forbids it.
pub fn stopped_by_advice(history: &History) -> Option<Stop> {
    let stopped = history.new_advice().find(|advice| advice.decision == AdvisorDecision::Stop)?;
    let why = stopped.stop_reason.as_deref().filter(|why| !why.trim().is_empty()).unwrap_or(&stopped.summary);
    let reason = format!("the advisor says stop: {}", plain(why));
    Some(Stop { ruling: Ruling::Escalated, reason, held: true, request: None, warn: false })
}

fn asks_for_advisor(contract: &Contract) -> bool {
    const MARK: &str = "<!-- advisor:required -->";
    let texts = [Some(contract.task.as_str()), contract.context.as_deref()].into_iter().flatten();
    let done = contract.definition_of_done.iter().map(|item| item.text.as_str());
    let notes = contract.non_goals.iter().map(String::as_str);
    let mut unknown = contract.unknown.values();
    texts.chain(done).chain(notes).any(|text| text.contains(MARK))
        || unknown.any(|value| value.to_string().contains(MARK))
}

fn risk_reason(flags: &[String]) -> AdvisorReason {
    let known = [
        AdvisorReason::SecuritySensitive,
        AdvisorReason::StateMigration,
        AdvisorReason::NeedsSpike,
        AdvisorReason::PivotRequired,
    ];
    let names = |reason: &AdvisorReason| flags.iter().any(|flag| flag.replace('_', "-") == reason.text());
    known.into_iter().find(names).unwrap_or(AdvisorReason::AdvisorRequired)
}

fn request(
    contract: &Contract,
    history: &History,
    reason: AdvisorReason,
    signature: &str,
    question: String,
    last_error: String,
) -> AdvisorRequest {
    AdvisorRequest {
        schema_version: ADVISOR_REQUEST.into(),
        task_id: contract.task_id.clone(),
        reason_code: reason,
        trigger_hash: trigger_hash(&contract.task_id, reason, signature),
        question,
        attempt: history.attempts_used(),
        last_error,
        context_summary: correction::tried(history),
    }
}

/// What is next. The last attempt of `history` is the one that `evidence`, `checks` and `signal` are about.
pub fn next(
    contract: &Contract,
    evidence: &Evidence,
    checks: &[Check],
    signal: &Signal,
    history: &History,
) -> Next {
    let has_work = has_work_in_scope(evidence, checks);
    if gave_up(evidence) {
        return Stop::because(Ruling::Escalated, worker_reason(evidence), true);
    }
    if let Some(stop) = stopped_by_advice(history) {
        return Next::Stop(stop);
    }
    if signal.blocker_type == Some(Blocker::CapabilityGap) {
        return Stop::because(Ruling::Escalated, capability_reason(evidence, checks), has_work);
    }
    if let Some(step) = asked(contract, evidence, checks, history, has_work) {
        return step;
    }
    let blocked = checks.iter().any(Check::blocks) || matches!(evidence.harness, HarnessEnd::Failed(_));
    if !blocked {
        return approve(contract, evidence, checks, history);
    }
    if history.stalls >= 2 && matches!(evidence.harness, HarnessEnd::Failed(_)) {
        let seconds = contract.budgets.stall_seconds;
        let reason = format!("no output, no change and no processor time for {seconds} seconds, twice");
        return Stop::because(Ruling::Escalated, reason, true);
    }
    if let Some(over) = over_budget(contract, history) {
        return exhausted(contract, evidence, checks, history, Some(over));
    }
    if let Some(step) = review_again(contract, checks, history) {
        return step;
    }
    if only_report_is_wrong(checks) && !matches!(evidence.harness, HarnessEnd::Failed(_)) {
        if history.report_returns >= contract.budgets.report_returns {
            return exhausted(contract, evidence, checks, history, Some("the report is still wrong".into()));
        }
        let prompt = correction::with_advice(history, &correction::report_only(checks));
        return Next::Attempt(NextAttempt {
            strategy: AttemptStrategy::ReportOnly,
            put_back: Vec::new(),
            prompt,
        });
    }
    if signal.suggested_strategy == Some(Strategy::Skip) {
        let reason = format!(
            "the same failure with the same changes again: skipped\n{}",
            escalation_tail(evidence, checks, history)
        );
        return Stop::because(Ruling::Skipped, reason, has_work);
    }
    if history.attempts_used() >= contract.budgets.attempts {
        return exhausted(contract, evidence, checks, history, None);
    }
    if let Some(request) = repeated_failure(contract, checks, history) {
        return Next::Consult(request);
    }
    if signal.suggested_strategy == Some(Strategy::Decompose)
        && history.decompositions == 0
        && history.subtask.is_none()
    {
        return Next::Decompose;
    }
    Next::Attempt(attempt(contract, evidence, checks, *signal, history))
}

fn attempt(
    contract: &Contract,
    evidence: &Evidence,
    checks: &[Check],
    signal: Signal,
    history: &History,
) -> NextAttempt {
    let put_back = out_of_scope::paths(evidence, checks);
    let (strategy, prompt) = if signal.suggested_strategy == Some(Strategy::Rephrase) {
        (AttemptStrategy::Rephrase, correction::rephrase(contract, evidence, checks, history, &put_back))
    } else {
        (AttemptStrategy::Retry, correction::correction(contract, evidence, checks, &put_back))
    };
    NextAttempt { strategy, put_back, prompt: correction::with_advice(history, &prompt) }
}

fn approve(contract: &Contract, evidence: &Evidence, checks: &[Check], history: &History) -> Next {
    if is_noop(evidence, checks) {
        return Next::NoopSkipped;
    }
    if review_is_due(contract, checks) {
        if let Some(over) = over_budget(contract, history) {
            return exhausted(
                contract,
                evidence,
                checks,
                history,
                Some(format!("{over}, before the review")),
            );
        }
        return Next::Review;
    }
    Next::Approve
}

/// A question of the worker, or of the runner about a nested repository. It is asked once.
fn asked(
    contract: &Contract,
    evidence: &Evidence,
    checks: &[Check],
    history: &History,
    has_work: bool,
) -> Option<Next> {
    let nested = checks.iter().find(|check| check.id.name == CheckName::NestedRepo && check.blocks());
    if let Some(check) = nested {
        let question = format!(
            "The work touches another git repository: {}. Where does it belong?",
            plain(&check.observed)
        );
        let mut request = request(
            contract,
            history,
            AdvisorReason::NeedsSpike,
            "embedded-git-repo",
            question,
            plain(&check.observed),
        );
        request.context_summary = check.evidence.iter().take(10).map(|line| plain(line)).collect();
        if can_consult(contract, history) && !history.was_asked(&request.trigger_hash) {
            return Some(Next::Consult(request));
        }
        return Some(Stop::asking(
            request,
            "the work touches another git repository and `commit_target` does not name it",
            has_work,
        ));
    }
    let said = evidence.testimony.request.as_ref()?;
    // The worker's own hash and task are testimony.
    let signature =
        signature_of_text(if said.last_error.trim().is_empty() { &said.question } else { &said.last_error });
    let mut request = request(
        contract,
        history,
        said.reason_code,
        &signature,
        plain(&said.question),
        plain(&said.last_error),
    );
    request.context_summary = said.context_summary.iter().take(10).map(|line| plain(line)).collect();
    if !history.was_asked(&request.trigger_hash) && can_consult(contract, history) {
        return Some(Next::Consult(request));
    }
    let answered = history
        .consults
        .iter()
        .any(|consult| consult.trigger_hash == request.trigger_hash && consult.response.is_some());
    let is_new = history.consults.last().is_some_and(|consult| consult.attempt == history.attempts.len());
    if answered && is_new {
        // It was answered just now: on with the advice, as far as the budget goes.
        if over_budget(contract, history).is_some() || history.attempts_used() >= contract.budgets.attempts {
            return Some(exhausted(contract, evidence, checks, history, over_budget(contract, history)));
        }
        let prompt = "Your question was answered. Go on with the task and report when it is done.";
        let prompt = correction::with_advice(history, prompt);
        return Some(Next::Attempt(NextAttempt {
            strategy: AttemptStrategy::Retry,
            put_back: Vec::new(),
            prompt,
        }));
    }
    Some(Stop::asking(request, "the worker asks, and no advisor can answer", has_work))
}

/// The same signature twice: advice before the next attempt.
fn repeated_failure(contract: &Contract, checks: &[Check], history: &History) -> Option<AdvisorRequest> {
    let [.., before, last] = history.current() else { return None };
    let signature = last.signature.as_ref().filter(|_| last.signature == before.signature)?;
    if !can_consult(contract, history) {
        return None;
    }
    let failed = checks.iter().filter(|check| check.blocks());
    let last_error = failed.clone().next_back().map(super::signature::error_line).unwrap_or_default();
    let names: Vec<String> = failed.take(10).map(|check| check.id.to_string()).collect();
    let question = format!("The same failure twice ({}). What should be done differently?", names.join(", "));
    let request = request(contract, history, AdvisorReason::RetryThreshold, signature, question, last_error);
    (!history.was_asked(&request.trigger_hash)).then_some(request)
}

/// Only the reviewer gave no answer: it is asked again, not the worker.
fn review_again(contract: &Contract, checks: &[Check], history: &History) -> Option<Next> {
    let terms = contract.review.as_ref()?;
    let review = checks.iter().find(|check| check.id.name == CheckName::Review && check.blocks())?;
    let is_alone = checks.iter().filter(|check| check.blocks()).count() == 1;
    let is_used_up = history.reviews >= terms.max_iterations;
    match (review.status, is_alone) {
        (_, true) if is_used_up => {
            let reason = format!(
                "the reviewer did not approve in {} rounds: {}",
                history.reviews,
                plain(&review.observed)
            );
            Some(Stop::because(Ruling::RequestChanges, reason, true))
        }
        (CheckStatus::Inconclusive, true) => Some(Next::Review),
        _ => None,
    }
}

/// Which budget of the whole is used up, in words.
pub fn over_budget(contract: &Contract, history: &History) -> Option<String> {
    let budgets = &contract.budgets;
    if let Some(most) = budgets.usd.filter(|most| history.spent_usd >= *most) {
        return Some(format!("the budget of ${most:.2} is used up"));
    }
    let most = budgets.wall_seconds.filter(|most| history.elapsed_seconds >= *most)?;
    Some(format!("the time of {} is used up", crate::model::amounts::seconds(most)))
}

fn exhausted(
    contract: &Contract,
    evidence: &Evidence,
    checks: &[Check],
    history: &History,
    why: Option<String>,
) -> Next {
    let progress = has_work_in_scope(evidence, checks)
        && history.current().iter().any(|attempt| attempt.signal.progress_made);
    let reason = match why {
        Some(why) => format!("{why}\n{}", escalation_tail(evidence, checks, history)),
        None => correction::escalation(contract, evidence, checks, history),
    };
    Stop::because(
        if progress { Ruling::RequestChanges } else { Ruling::Skipped },
        reason.trim_end(),
        progress,
    )
}

/// The same as an escalation without its first line.
fn escalation_tail(evidence: &Evidence, checks: &[Check], history: &History) -> String {
    let text = correction::escalation(&evidence.contract, evidence, checks, history);
    text.split_once('\n').map_or_else(String::new, |(_, rest)| rest.to_owned())
}

fn worker_reason(evidence: &Evidence) -> String {
    let report = evidence.testimony.report.as_ref();
    let said = report.and_then(|report| report.escalation_reason.as_deref()).map(plain).unwrap_or_default();
    if said.trim().is_empty() {
        "the worker gave up without a reason".into()
    } else {
        format!("the worker gave up: {said}")
    }
}

fn capability_reason(evidence: &Evidence, checks: &[Check]) -> String {
    if let HarnessEnd::Incapable(why) = &evidence.harness {
        return plain(why);
    }
    let gap = checks.iter().find(|check| check.blocks() && check.blocker == Some(Blocker::CapabilityGap));
    let gap = gap.or_else(|| checks.iter().find(|check| check.status == CheckStatus::Inconclusive));
    gap.map_or_else(
        || "something that is needed is missing here".into(),
        |check| format!("{}: {}", check.id, plain(&check.observed)),
    )
}

#[cfg(test)]
#[path = "next_tests.rs"]
mod tests;
