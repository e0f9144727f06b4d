//! What a worker is told when it has to go on: what failed, shown as it was measured. It says nothing about what comes next.

use super::evidence::{Evidence, Execution, View};
use super::history::History;
use super::signature::plain;
use super::tokens;
use crate::model::contract::Contract;
use crate::model::raw_path::RawPath;
use crate::model::verdict::{Blocker, Check, CheckName, CheckStatus, Strategy};
use crate::model::worker_report::{AdvisorDecision, AdvisorResponse};

/// A correction is at most this long, in tokens.
pub const CORRECTION_TOKENS: usize = 800;
/// Of what a command printed, this many lines are shown.
const TAIL_LINES: usize = 40;
/// What advice may take of a prompt, in tokens.
const ADVICE_TOKENS: usize = 400;
/// What other checks may take, in characters, before output is shown.
const MOST_FINDINGS: usize = 1400;

/// What failed, for a conversation that goes on.
pub fn correction(
    contract: &Contract,
    evidence: &Evidence,
    checks: &[Check],
    put_back: &[RawPath],
) -> String {
    let intro = intro(checks);
    let mut head = vec![intro.to_owned()];
    head.extend(findings(checks));
    head.extend(put_back_line(put_back));
    head.push(allowed_line(contract));
    head.push(
        "Fix the cause. Do not change the tests or the commands. Then write a new report with the new nonce."
            .into(),
    );
    let tail = output(evidence, checks);
    tokens::newest_kept(&head.join("\n"), &tail.join("\n"), CORRECTION_TOKENS)
}

fn intro(checks: &[Check]) -> &'static str {
    let has = |blocker: Blocker| blocking(checks).any(|check| check.blocker == Some(blocker));
    if has(Blocker::Hallucination) {
        "Your report does not agree with what the runner measured. Nothing is accepted on your word: look again with your tools (read the \
         files, run the commands) before you claim anything."
    } else if has(Blocker::ScopeDrift) {
        "Your work goes beyond what the contract allows."
    } else if has(Blocker::ToolFailure) {
        "The last attempt did not come to an end that can be judged. Go on from the files as they are now."
    } else {
        "The runner checked your work and it is not done yet."
    }
}

fn blocking(checks: &[Check]) -> impl Iterator<Item = &Check> {
    checks.iter().filter(|check| check.blocks())
}

/// A line or two for each check that is in the way. For a claim that does not hold: what was claimed, and what was found.
fn findings(checks: &[Check]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut used = 0;
    let mut left_out = 0;
    for check in blocking(checks) {
        let (expected, observed) = (plain(&check.expected), plain(&check.observed));
        let line = if check.blocker == Some(Blocker::Hallucination) {
            format!("- {}: claimed or required: {expected}; found: {observed}{}", check.id, tools(check))
        } else {
            format!("- {}: expected {expected}; found {observed}", check.id)
        };
        let mut block = vec![line];
        // What a command printed comes last; which tests were lost may be cut off there.
        if !is_command(check) || check.id.name == CheckName::Regression {
            block.extend(check.evidence.iter().take(5).map(|line| format!("    {}", plain(line))));
        }
        let size: usize = block.iter().map(String::len).sum();
        if used > 0 && used + size > MOST_FINDINGS {
            left_out += 1;
            continue;
        }
        used += size;
        lines.extend(block);
    }
    if left_out > 0 {
        lines.push(format!("- and {left_out} more"));
    }
    let known: Vec<String> =
        checks.iter().filter(|check| is_tolerated(check)).map(|check| plain(&check.observed)).collect();
    if !known.is_empty() {
        lines.push(format!(
            "Not yours, it failed before you began: {}",
            known[..known.len().min(3)].join("; ")
        ));
    }
    lines
}

/// A failure that is on the base too and is not held against the work.
fn is_tolerated(check: &Check) -> bool {
    let is_about_command = matches!(check.id.name, CheckName::Regression | CheckName::Validation);
    is_about_command && !check.blocks() && check.status == CheckStatus::Failed
}

fn is_command(check: &Check) -> bool {
    matches!(check.id.name, CheckName::Validation | CheckName::Regression | CheckName::NothingRan)
}

/// Which tools show whether a claim holds.
fn tools(check: &Check) -> &'static str {
    match check.id.name {
        CheckName::FilesChanged | CheckName::NotEmpty => {
            ". Use your edit and write tools, then read the files back"
        }
        CheckName::Commit => ". Use `git log` and `git show --stat`",
        CheckName::Validation | CheckName::Regression | CheckName::Evidence => {
            ". Run the command with your shell tool and read its output"
        }
        CheckName::TddRed => ". Run the new test against the old code with your shell tool first",
        _ => ". Use your tools to see it before you say it",
    }
}

fn put_back_line(put_back: &[RawPath]) -> Option<String> {
    if put_back.is_empty() {
        return None;
    }
    let names: Vec<String> = put_back
        .iter()
        .take(10)
        .map(|path| crate::model::printable::printable_name(&path.to_string_lossy()))
        .collect();
    let more = if put_back.len() > 10 { format!(" and {} more", put_back.len() - 10) } else { String::new() };
    Some(format!("Put back as they were, leave them alone: {}{more}", names.join(", ")))
}

/// Which files may change, as a line.
pub fn allowed_line(contract: &Contract) -> String {
    match &contract.files {
        Some(files) => {
            let mut text = files.iter().take(30).map(String::as_str).collect::<Vec<_>>().join(", ");
            if files.len() > 30 {
                text.push_str(&format!(" and {} more", files.len() - 30));
            }
            format!("Files you may change: {}", tokens::middle_cut(&text, 150))
        }
        None => "Files you may change: all but validators, lock files and CI files".into(),
    }
}

/// What the commands printed that failed: command, exit code, last lines. The last command is last.
fn output(evidence: &Evidence, checks: &[Check]) -> Vec<String> {
    let failed = |run: &&Execution| {
        let number = run.command + 1;
        let held_against = blocking(checks).any(|check| is_command(check) && check.id.number == Some(number));
        run.on == View::Result && !run.passed() && held_against
    };
    let mut lines = Vec::new();
    for run in evidence.executions.iter().filter(failed) {
        let command = evidence.contract.validation_commands.get(run.command);
        let command = command.map_or("the command", |command| command.command.as_str());
        lines.push(format!("$ {} ({})", plain(command), end_text(run)));
        let skipped = run.tail.len().saturating_sub(TAIL_LINES);
        lines.extend(run.tail.iter().skip(skipped).map(|line| plain(line)));
    }
    lines
}

/// How a command ended, in words.
pub fn end_text(run: &Execution) -> String {
    use super::evidence::CommandEnd;
    match &run.end {
        CommandEnd::Exited(code) => format!("exit {code}"),
        CommandEnd::Signalled(signal) => format!("signal {signal}"),
        CommandEnd::TimedOut => "timed out".into(),
        CommandEnd::Unknown(why) => plain(why),
    }
}

/// Only the report is wrong.
pub fn report_only(checks: &[Check]) -> String {
    let mut lines = vec![
        "Your work is kept as it is; only the report is wrong. Do not change any file of the project: a change now is refused. Write the \
         report again, with the new nonce, and correct this:"
            .to_owned(),
    ];
    lines.extend(findings(checks));
    tokens::newest_kept(&lines.join("\n"), "", CORRECTION_TOKENS)
}

/// The task anew, for a conversation that knows nothing, with what failed before.
pub fn rephrase(
    contract: &Contract,
    evidence: &Evidence,
    checks: &[Check],
    history: &History,
    put_back: &[RawPath],
) -> String {
    let mut text = first(contract);
    text.push_str("\n\nEarlier attempts at this did not succeed");
    let tried = tried(history);
    if tried.is_empty() {
        text.push('.');
    } else {
        text.push_str(&format!(":\n{}", tried.join("\n")));
    }
    let loops = history.current().last().is_some_and(|last| last.signal.blocker_type == Some(Blocker::Loop));
    if loops {
        text.push_str(
            "\nThe last two ended the same way. Take another approach: question the cause that was assumed.",
        );
    }
    text.push_str("\nTheir changes are in the working directory. Read them before you build on them.\n\n");
    text.push_str(&correction(contract, evidence, checks, put_back));
    text
}

/// The prompt of the first attempt.
pub fn first(contract: &Contract) -> String {
    let mut text = format!("Task: {}", contract.task);
    if let Some(context) = contract.context.as_deref().filter(|context| !context.trim().is_empty()) {
        text.push_str(&format!("\n\nContext:\n{context}"));
    }
    text
}

/// What was tried, in at most three lines: the newest.
pub fn tried(history: &History) -> Vec<String> {
    let attempts = history.current();
    let newest = attempts.iter().skip(attempts.len().saturating_sub(3));
    newest
        .map(|attempt| {
            let failed: Vec<String> =
                blocking(&attempt.checks).take(3).map(|check| check.id.to_string()).collect();
            let failed = if failed.is_empty() {
                "no check failed".to_owned()
            } else {
                format!("failed: {}", failed.join(", "))
            };
            format!(
                "{}. {}: {failed}",
                attempt.number,
                super::signal::attempt_strategy_text(attempt.strategy)
            )
        })
        .collect()
}

/// A prompt with the newest advice in front of it. Advice changes no contract, files, commands or budgets, and says so.
pub fn with_advice(history: &History, prompt: &str) -> String {
    let advice: Vec<&AdvisorResponse> =
        history.new_advice().filter(|advice| advice.decision != AdvisorDecision::Stop).collect();
    if advice.is_empty() {
        return prompt.to_owned();
    }
    let mut lines = vec!["Advice (it changes neither the contract nor the files you may change):".to_owned()];
    for response in advice {
        lines.extend(response.executor_instructions.iter().take(4).map(|line| format!("- {}", plain(line))));
    }
    format!("{}\n\n{prompt}", tokens::end_cut(&lines.join("\n"), ADVICE_TOKENS))
}

/// Why it ends here, for a person: the last command, the last error, and what was tried.
pub fn escalation(contract: &Contract, evidence: &Evidence, checks: &[Check], history: &History) -> String {
    let mut lines =
        vec![format!("Did not converge after maximum {} automatic fix attempts", contract.budgets.attempts)];
    let run = evidence.executions.iter().rfind(|run| run.on == View::Result && !run.passed());
    if let Some(run) = run {
        let command = contract.validation_commands.get(run.command);
        let command = command.map_or("the command", |command| command.command.as_str());
        lines.push(format!("last command: {} ({})", plain(command), end_text(run)));
    }
    if let Some(check) = blocking(checks).last() {
        lines.push(format!("last error: {}: {}", check.id, super::signature::error_line(check)));
    }
    lines.extend(tried(history).into_iter().map(|line| format!("tried {line}")));
    lines.join("\n")
}

/// Whether a strategy goes on in the same conversation.
pub fn resumes(strategy: Strategy) -> bool {
    matches!(strategy, Strategy::Retry)
}

#[cfg(test)]
#[path = "correction_tests.rs"]
mod tests;
