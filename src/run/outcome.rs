//! How a harness or command ended, in the terms of a report, and the exit code that follows. Pure.

use crate::exit::Exit;
use crate::launch::headless::HeadlessOutcome;
use crate::model::limits::Limits;
use crate::model::plan::Mode;
use crate::model::report::{Status, Usage};
use crate::model::tool_rule::ToolRule;
use crate::model::warning::{Warning, WarningCode};
use crate::mount::process::attend::ReachedLimit;
use crate::mount::{ChildOutcome, Ending};
use serde::Serialize;
use std::path::PathBuf;

/// What a harness or command came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HarnessOutcome {
    pub status: Status,
    pub harness_exit_code: Option<i32>,
    pub signal: Option<i32>,
    pub reason: Option<String>,
    pub result: Option<String>,
    pub usage: Usage,
    pub session_id: Option<String>,
    pub model: Option<String>,
    /// What the user said first in a terminal, as far as the harness's records tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    pub warnings: Vec<Warning>,
    /// Calls that were not allowed, each once: `Bash(rm x)`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<String>,
    /// Files that the agent wanted to change and was not allowed to, as it named them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub denied_edits: Vec<PathBuf>,
    /// Variables whose values the harness wrote.
    pub leaked: Vec<String>,
    /// It was ended because nothing happened for too long.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_stalled: bool,
}

impl HarnessOutcome {
    /// `permission_mode` is the persona's.
    pub fn of_headless(
        outcome: HeadlessOutcome,
        limits: Limits,
        permission_mode: Option<&str>,
    ) -> HarnessOutcome {
        let attended = outcome.attended;
        let mut warnings = warnings(&outcome, permission_mode);
        warnings.extend(limits_reached(&attended, limits));
        let (harness_exit_code, killed_by) = codes(attended.ending);
        let conclusion = outcome.conclusion;
        let (status, signal, reason) = match (attended.reached, attended.interrupted_by) {
            (Some(limit), _) => (Status::TimedOut, killed_by, Some(reached(limit, limits))),
            (None, Some(signal)) => {
                (Status::Interrupted, Some(signal), Some(format!("ended by signal {signal}")))
            }
            (None, None) if conclusion.ok && attended.ending == Ending::Code(0) => {
                (Status::Completed, None, None)
            }
            (None, None) => {
                let own = out_of_memory(&attended, limits).or(conclusion.reason);
                let reason = own.or_else(|| Some(described(attended.ending)));
                (Status::Failed, killed_by, reason)
            }
        };
        HarnessOutcome {
            status,
            harness_exit_code,
            signal,
            reason,
            result: conclusion.result,
            usage: conclusion.usage,
            session_id: conclusion.session_id,
            model: conclusion.model,
            said: None,
            warnings,
            denied: conclusion.denials,
            denied_edits: conclusion.denied_edits,
            leaked: Vec::new(),
            is_stalled: attended.reached == Some(ReachedLimit::Idle),
        }
    }

    pub fn of_interactive(outcome: ChildOutcome, limits: Limits) -> HarnessOutcome {
        let (harness_exit_code, killed_by) = codes(outcome.ending);
        let (status, signal, reason) = match (outcome.reached, outcome.interrupted_by, outcome.ending) {
            (Some(limit), _, _) => (Status::TimedOut, killed_by, Some(reached(limit, limits))),
            (None, Some(signal), _) => {
                (Status::Interrupted, Some(signal), Some(format!("ended by signal {signal}")))
            }
            (None, None, Ending::Code(0)) => (Status::Completed, None, None),
            (None, None, ending) => {
                let reason = out_of_memory(&outcome, limits).unwrap_or_else(|| described(ending));
                (Status::Failed, killed_by, Some(reason))
            }
        };
        HarnessOutcome {
            status,
            harness_exit_code,
            signal,
            reason,
            result: None,
            usage: Usage::default(),
            session_id: None,
            model: None,
            said: None,
            warnings: limits_reached(&outcome, limits),
            denied: Vec::new(),
            denied_edits: Vec::new(),
            leaked: Vec::new(),
            is_stalled: false,
        }
    }

    pub fn succeeded(&self) -> bool {
        self.status == Status::Completed
    }

    /// A check that fails makes a completed run a failed one.
    pub fn fail(&mut self, reason: String) {
        if self.status == Status::Completed {
            self.status = Status::Failed;
            self.reason = Some(reason);
        }
    }

    /// The exit code of the run. `own` is what became of the changes: a conflict must not hide behind the harness's own code.
    pub fn exit(&self, mode: Mode, own: Exit) -> Exit {
        let signal =
            |number: Option<i32>| Exit::Signal(number.and_then(|n| u8::try_from(n).ok()).unwrap_or(0));
        match (self.status, mode) {
            (Status::TimedOut, _) => Exit::TimedOut,
            (Status::Interrupted, _) => signal(self.signal),
            (Status::Failed, Mode::Headless) => Exit::Failed,
            (Status::Failed, Mode::Interactive) if own != Exit::Done => own,
            (Status::Failed, Mode::Interactive) => match (self.harness_exit_code, self.signal) {
                (Some(0), _) => Exit::Failed,
                (Some(code), _) => Exit::Harness(u8::try_from(code).unwrap_or(1)),
                (None, number) => signal(number),
            },
            (Status::Completed | Status::NotStarted, _) => own,
        }
    }
}

fn warnings(outcome: &HeadlessOutcome, permission_mode: Option<&str>) -> Vec<Warning> {
    let warning = |text: String| Warning::new(WarningCode::Harness, text);
    let conclusion = &outcome.conclusion;
    let mut warnings = conclusion.warnings.clone();
    warnings.extend(denials(&conclusion.denials, permission_mode).into_iter().map(warning));
    if outcome.flooded > 0 {
        let count = outcome.flooded;
        warnings.push(warning(format!(
            "{count} more lines of the harness's output are not events and are left out"
        )));
    }
    warnings
}

/// What was not allowed, with the setting that decides about it.
fn denials(calls: &[String], permission_mode: Option<&str>) -> Vec<String> {
    let is_planned_edit =
        |call: &&String| permission_mode == Some("plan") && ToolRule::parse(call).edits_files();
    let (edits, others): (Vec<&String>, Vec<&String>) = calls.iter().partition(is_planned_edit);
    let list = |calls: &[&String]| calls.iter().map(|call| call.as_str()).collect::<Vec<_>>().join(", ");
    let mut texts = Vec::new();
    if !edits.is_empty() {
        texts.push(format!("not allowed: {} (`permissions.mode` of the persona is `plan`)", list(&edits)));
    }
    if !others.is_empty() {
        texts.push(format!(
            "not allowed: {} (a headless run has nobody to ask; `permissions.allow` of the persona lists what it may do unasked)",
            list(&others)
        ));
    }
    texts
}

fn codes(ending: Ending) -> (Option<i32>, Option<i32>) {
    match ending {
        Ending::Code(code) => (Some(code), None),
        Ending::Signal(signal) => (None, Some(signal)),
        Ending::Killed => (None, Some(9)),
    }
}

fn described(ending: Ending) -> String {
    match ending {
        Ending::Code(0) => "the harness ended without a result".into(),
        Ending::Code(code) => format!("the harness exited with code {code}"),
        Ending::Signal(signal) => format!("the harness was killed by signal {signal}"),
        Ending::Killed => "the harness was killed".into(),
    }
}

fn reached(limit: ReachedLimit, limits: Limits) -> String {
    match limit {
        ReachedLimit::Wall => {
            format!("the time limit of {} seconds was reached", limits.wall_seconds.unwrap_or_default())
        }
        ReachedLimit::Idle => {
            format!("the harness was silent for {} seconds", limits.idle_seconds.unwrap_or_default())
        }
        ReachedLimit::Disk => {
            format!("the disk limit of {} MB was reached", limits.disk_mb.unwrap_or_default())
        }
    }
}

/// Why everything was killed at once, if that is the reason.
fn out_of_memory(outcome: &ChildOutcome, limits: Limits) -> Option<String> {
    let limit = limits.memory_mb.filter(|_| outcome.exhausted.memory > 0)?;
    Some(format!("the memory limit of {limit} MB was reached"))
}

/// What the run used up, with the setting that says how much it may.
pub(super) fn limits_reached(outcome: &ChildOutcome, limits: Limits) -> Vec<Warning> {
    let disk = outcome.reached.filter(|limit| *limit == ReachedLimit::Disk);
    let processes = limits.processes.filter(|_| outcome.exhausted.processes > 0);
    let texts = [
        out_of_memory(outcome, limits).map(|text| format!("{text} (`limits.memoryMb`)")),
        processes.map(|limit| format!("the limit of {limit} processes was reached (`limits.processes`)")),
        disk.map(|limit| format!("{} (`limits.diskMb`)", reached(limit, limits))),
    ];
    texts.into_iter().flatten().map(|text| Warning::new(WarningCode::Limit, text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mount::process::cgroup::Exhausted;

    fn interactive(ending: Ending, interrupted_by: Option<i32>) -> HarnessOutcome {
        let outcome =
            ChildOutcome { ending, stops: 0, interrupted_by, reached: None, exhausted: Exhausted::default() };
        HarnessOutcome::of_interactive(outcome, Limits::default())
    }

    #[test]
    fn an_interactive_harness_passes_its_code_on_unless_something_of_ours_failed() {
        let exit = |end: HarnessOutcome, own: Exit| end.exit(Mode::Interactive, own).code();
        assert_eq!(exit(interactive(Ending::Code(0), None), Exit::Done), 0);
        assert_eq!(exit(interactive(Ending::Code(7), None), Exit::Done), 7);
        assert_eq!(exit(interactive(Ending::Code(7), None), Exit::Conflict), 3);
        assert_eq!(exit(interactive(Ending::Signal(15), None), Exit::Done), 143);
        assert_eq!(exit(interactive(Ending::Code(0), Some(15)), Exit::Done), 143);
        let mut checked = interactive(Ending::Code(0), None);
        checked.fail("a check failed".into());
        assert_eq!(exit(checked, Exit::Done), 1);
    }

    #[test]
    fn what_was_not_allowed_comes_with_the_setting_that_decides() {
        let calls = ["Write(a.txt)".to_owned(), "Bash(make)".to_owned()];
        let asks = "(a headless run has nobody to ask; `permissions.allow` of the persona lists what it may do unasked)";
        let plans = "(`permissions.mode` of the persona is `plan`)";
        assert_eq!(denials(&calls, None), [format!("not allowed: Write(a.txt), Bash(make) {asks}")]);
        assert_eq!(
            denials(&calls, Some("plan")),
            [format!("not allowed: Write(a.txt) {plans}"), format!("not allowed: Bash(make) {asks}")]
        );
        assert_eq!(denials(&[], Some("plan")), <[String; 0]>::default());
    }

    #[test]
    fn what_was_used_up_is_told_with_its_setting() {
        let limits =
            Limits { processes: Some(9), memory_mb: Some(512), disk_mb: Some(7), ..Limits::default() };
        let outcome = ChildOutcome {
            ending: Ending::Killed,
            stops: 0,
            interrupted_by: None,
            reached: None,
            exhausted: Exhausted { processes: 3, memory: 1 },
        };
        let ended = HarnessOutcome::of_interactive(outcome, limits);
        assert_eq!(ended.reason.as_deref(), Some("the memory limit of 512 MB was reached"));
        let said: Vec<&str> = ended.warnings.iter().map(|warning| warning.message.as_str()).collect();
        let memory = "the memory limit of 512 MB was reached (`limits.memoryMb`)";
        let processes = "the limit of 9 processes was reached (`limits.processes`)";
        assert_eq!(said, [memory, processes]);

        let full = ChildOutcome {
            ending: Ending::Signal(15),
            reached: Some(ReachedLimit::Disk),
            exhausted: Exhausted::default(),
            ..outcome
        };
        let ended = HarnessOutcome::of_interactive(full, limits);
        assert_eq!(ended.reason.as_deref(), Some("the disk limit of 7 MB was reached"));
        assert_eq!(ended.warnings.len(), 1);
        assert_eq!(ended.exit(Mode::Interactive, Exit::Done), Exit::TimedOut);
        let quiet = ChildOutcome { reached: None, ..full };
        assert_eq!(HarnessOutcome::of_interactive(quiet, limits).warnings, []);
    }

    #[test]
    fn a_headless_harness_that_exits_with_anything_is_one() {
        let end = |ending| HarnessOutcome { ..interactive(ending, None) };
        assert_eq!(end(Ending::Code(7)).exit(Mode::Headless, Exit::Done).code(), 1);
        assert_eq!(end(Ending::Signal(9)).exit(Mode::Headless, Exit::Done).code(), 1);
        assert_eq!(end(Ending::Code(0)).exit(Mode::Headless, Exit::Conflict).code(), 3);
    }
}
