//! A verdict and a contract as lines for people. Colours are left to the caller: every line has its meaning. It prints nothing.

use super::signal::attempt_strategy_text;
use crate::model::amounts::{counted, dollars, seconds};
use crate::model::contract::{CommandOrigin, Contract, ContractForm};
use crate::model::printable::{printable, printable_name};
use crate::model::report::ApplyStatus;
use crate::model::verdict::{
    AttemptRecord, Check, CheckName, CheckStatus, Confidence, Ruling, Strategy, Verdict,
};
use serde_json::Value;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// What a line means, for its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineRole {
    Good,
    Bad,
    Doubtful,
    /// Titles of columns, side notes.
    Faint,
    Plain,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisplayLine {
    pub role: LineRole,
    pub text: String,
}

/// What the verdict itself does not say.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DisplayFacts<'a> {
    /// `claude`
    pub harness: Option<&'a str>,
    /// The whole time; else the sum of the attempts.
    pub seconds: Option<f64>,
    /// The whole cost; else the sum of the attempts.
    pub cost_usd: Option<f64>,
}

const WIDTH: usize = 80;
/// Where the right column begins.
const COLUMN: usize = 29;
/// Rows below a check that fit on the screen.
const MOST_ROWS: usize = 5;

fn line(role: LineRole, text: impl AsRef<str>) -> DisplayLine {
    DisplayLine {
        role,
        text: shortened(printable(text.as_ref()).replace(['\n', '\t'], " ").trim_end(), WIDTH),
    }
}

fn empty() -> DisplayLine {
    DisplayLine { role: LineRole::Plain, text: String::new() }
}

/// Cut to a width, with an ellipsis.
fn shortened(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut result = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        result.push(c);
    }
    result.push('…');
    result
}

/// Words on lines of at most this width.
fn wrapped(text: &str, width: usize, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    // Longer texts would not be shown anyway.
    let text = &text[..text.floor_char_boundary(width * most * 4)];
    for word in text.split_whitespace() {
        let has_room = lines.last().is_some_and(|last| last.width() + 1 + word.width() <= width);
        let is_full = lines.len() == most;
        match lines.last_mut() {
            Some(last) if has_room => {
                last.push(' ');
                last.push_str(word);
            }
            Some(last) if is_full => {
                *last = format!("{}…", shortened(last, width - 1).trim_end_matches('…'));
                break;
            }
            _ => lines.push(shortened(word, width)),
        }
    }
    lines
}

fn row(role: LineRole, mark: &str, left: &str, right: &str) -> Vec<DisplayLine> {
    let left = shortened(&printable(left).replace(['\n', '\t'], " "), COLUMN - 3);
    let right = printable(right).replace(['\n', '\t'], " ");
    let mut lines = wrapped(&right, WIDTH - COLUMN, 3);
    if lines.is_empty() {
        lines.push(String::new());
    }
    let padding = " ".repeat((COLUMN - 2).saturating_sub(left.width()));
    let mut result = vec![line(role, format!("{mark} {left}{padding}{}", lines[0]))];
    result.extend(lines.iter().skip(1).map(|rest| line(role, format!("{}{rest}", " ".repeat(COLUMN)))));
    result
}

/// What came of the work.
pub fn verdict_lines(verdict: &Verdict, contract: &Contract, facts: &DisplayFacts) -> Vec<DisplayLine> {
    let mut lines = heading(verdict, contract, facts);
    lines.extend(why_sure(verdict, contract));
    lines.push(empty());
    lines.push(line(LineRole::Faint, format!("  {:<27}measured", "claimed")));
    for check in &verdict.checks {
        lines.extend(check_rows(check, verdict, contract));
    }
    if verdict.verdict == Ruling::Approve {
        lines.extend(refused_before(verdict));
        if verdict.review.is_none() {
            lines.push(line(LineRole::Faint, "  Not judged: quality (add --review code-reviewer)."));
        }
    } else if verdict.attempts.len() > 1 {
        lines.push(empty());
        lines.extend(verdict.attempts.iter().map(attempt_line));
    }
    lines.push(empty());
    lines.extend(what_became(verdict));
    lines.extend(
        verdict.warnings.iter().take(10).map(|warning| line(LineRole::Doubtful, format!("! {warning}"))),
    );
    lines
}

fn heading(verdict: &Verdict, contract: &Contract, facts: &DisplayFacts) -> Vec<DisplayLine> {
    let (role, word) = match verdict.verdict {
        Ruling::Approve => (LineRole::Good, "✓ Approved"),
        Ruling::RequestChanges => (LineRole::Bad, "✗ Not approved"),
        Ruling::Escalated => (LineRole::Bad, "✗ Escalated"),
        Ruling::Advisor => (LineRole::Doubtful, "! Advice needed"),
        Ruling::Skipped if is_noop(verdict) => (LineRole::Good, "· Nothing to change"),
        Ruling::Skipped => (LineRole::Doubtful, "! Skipped"),
    };
    let mut parts = vec![word.to_owned(), printable_name(&contract.task_id)];
    if let Some(persona) = &verdict.persona {
        let harness = facts.harness.map(|harness| format!(" ({harness})")).unwrap_or_default();
        parts.push(format!("{persona}{harness}"));
    }
    let made = verdict.attempts.len();
    let most = usize::try_from(contract.budgets.attempts).unwrap_or(made).max(made);
    if made > 0 {
        let all = if verdict.verdict == Ruling::Approve { "attempt " } else { "" };
        let noun = if all.is_empty() { " attempts" } else { "" };
        parts.push(format!("{all}{made} of {most}{noun}"));
        parts.push(seconds(
            facts.seconds.unwrap_or_else(|| verdict.attempts.iter().map(|attempt| attempt.seconds).sum()),
        ));
    }
    let costs: Vec<f64> = verdict.attempts.iter().filter_map(|attempt| attempt.usage.cost_usd).collect();
    let cost =
        facts.cost_usd.or(verdict.cost_usd).or_else(|| (!costs.is_empty()).then(|| costs.iter().sum()));
    parts.extend(cost.map(dollars));
    joined(&parts).into_iter().map(|text| line(role, text)).collect()
}

/// Parts of a line, which goes on below where they do not fit: none of them is cut for the sake of the others.
fn joined(parts: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(last) if last.width() + 3 + part.width() <= WIDTH => *last = format!("{last} · {part}"),
            Some(_) => lines.push(format!("  {part}")),
            None => lines.push(part.clone()),
        }
    }
    lines
}

fn is_noop(verdict: &Verdict) -> bool {
    let says = verdict.report.as_ref().and_then(|report| report.get("noop")).and_then(Value::as_str);
    says.is_some() && !verdict.checks.iter().any(Check::blocks)
}

fn why_sure(verdict: &Verdict, contract: &Contract) -> Vec<DisplayLine> {
    if verdict.verdict != Ruling::Approve {
        return Vec::new();
    }
    let of = |name: CheckName| {
        verdict.checks.iter().find(move |check| check.id.name == name && check.status == CheckStatus::Passed)
    };
    let why = match verdict.signal.confidence {
        Confidence::High => [CheckName::Discriminates, CheckName::TddRed, CheckName::Review]
            .into_iter()
            .find_map(of)
            .map_or_else(
                || "a command was red before and is green now".to_owned(),
                |check| check.observed.clone(),
            ),
        _ if contract.form == ContractForm::Short => {
            "nothing shows that a command was red before (add --prove)".into()
        }
        _ => "nothing shows that a command was red before, and no reviewer approved".into(),
    };
    let confidence = verdict.signal.confidence.text();
    wrapped(&format!("Confidence {confidence}: {}.", why.trim_end_matches('.')), WIDTH - 2, 2)
        .into_iter()
        .map(|text| line(LineRole::Plain, format!("  {text}")))
        .collect()
}

/// Checks whose pass is worth a row.
const SHOWN_PASSES: [CheckName; 8] = [
    CheckName::Validation,
    CheckName::FilesChanged,
    CheckName::Scope,
    CheckName::TestsKept,
    CheckName::OldTests,
    CheckName::Discriminates,
    CheckName::TddRed,
    CheckName::Review,
];

fn check_rows(check: &Check, verdict: &Verdict, contract: &Contract) -> Vec<DisplayLine> {
    let (role, mark) = match check.status {
        CheckStatus::Skipped => return Vec::new(),
        CheckStatus::Passed if check.id.name == CheckName::Validators => (LineRole::Faint, "·"),
        CheckStatus::Passed if !SHOWN_PASSES.contains(&check.id.name) => return Vec::new(),
        CheckStatus::Passed => (LineRole::Good, "✓"),
        CheckStatus::Failed if check.blocks() => (LineRole::Bad, "✗"),
        CheckStatus::Failed => (LineRole::Doubtful, "!"),
        CheckStatus::Inconclusive => (LineRole::Doubtful, "?"),
    };
    let mut right = check.observed.clone();
    if right.is_empty() {
        right = check.expected.clone();
    }
    let mut rows = row(role, mark, &label(check, verdict, contract), &right);
    if check.blocks() {
        let shown = check.evidence.iter().filter(|line| !line.trim().is_empty());
        rows.extend(shown.clone().take(MOST_ROWS).map(|text| line(role, format!("    {text}"))));
        let more = shown.count().saturating_sub(MOST_ROWS);
        if more > 0 {
            rows.push(line(LineRole::Faint, format!("    and {more} more")));
        }
    }
    rows
}

/// What was claimed, or what the check is about.
fn label(check: &Check, verdict: &Verdict, contract: &Contract) -> String {
    let command = check.id.number.and_then(|number| contract.validation_commands.get(number.checked_sub(1)?));
    let text = match check.id.name {
        CheckName::FilesChanged => return claimed_files(verdict.report.as_ref()),
        CheckName::Scope => "allowed files only",
        CheckName::NotEmpty => "something changed",
        CheckName::TestsKept => "tests kept",
        CheckName::OldTests => "old tests, new code",
        CheckName::TestsWeakened => "tests as strict as before",
        CheckName::Validators => "validators, lockfiles",
        CheckName::Discriminates => "red before, green now",
        CheckName::TddRed => "the test was red first",
        CheckName::Review => "review",
        CheckName::Report => "the report",
        CheckName::Regression => "nothing broke",
        CheckName::Commit => "the commit",
        CheckName::Placeholders => "no placeholders",
        _ => "",
    };
    match (command, text) {
        (Some(command), "") => command.name().to_owned(),
        (Some(command), text) => format!("{text}: {}", command.name()),
        (None, "") => check.id.to_string(),
        (None, text) => text.to_owned(),
    }
}

fn claimed_files(report: Option<&Value>) -> String {
    let files = report.and_then(|report| report.get("files_changed")).and_then(Value::as_array);
    match files.map(Vec::as_slice) {
        Some([Value::String(only)]) => format!("changed {}", printable_name(only)),
        Some(files) => format!("changed {}", counted(files.len(), "file")),
        None => "changed files".into(),
    }
}

/// What an attempt was refused for, and what was done about it.
fn attempt_line(attempt: &AttemptRecord) -> DisplayLine {
    let strategy = match attempt.signal.suggested_strategy {
        Some(Strategy::Retry) => "retry",
        Some(Strategy::Rephrase) => "rephrase",
        Some(Strategy::Decompose) => "decompose",
        Some(Strategy::Skip) => "skip",
        Some(Strategy::Escalate) => "escalate",
        None => attempt_strategy_text(attempt.strategy),
    };
    line(LineRole::Plain, format!("  {:>3} {strategy:<11}{}", attempt.number, failure(attempt)))
}

fn failure(attempt: &AttemptRecord) -> String {
    let mut blocking = attempt.checks.iter().filter(|check| check.blocks());
    let Some(first) = blocking.next() else { return "nothing failed".into() };
    let more = blocking.count();
    let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
    let text = format!(
        "{}: {}",
        first.id,
        if first.observed.is_empty() { &first.expected } else { &first.observed }
    );
    format!("{}{more}", shortened(&text, WIDTH - 18 - more.width()))
}

fn refused_before(verdict: &Verdict) -> Vec<DisplayLine> {
    let refused = verdict.attempts.iter().filter(|attempt| attempt.checks.iter().any(Check::blocks));
    refused
        .take(MOST_ROWS)
        .map(|attempt| {
            line(LineRole::Faint, format!("  Attempt {} refused: {}.", attempt.number, failure(attempt)))
        })
        .collect()
}

/// What became of the project, and how to go on.
fn what_became(verdict: &Verdict) -> Vec<DisplayLine> {
    if verdict.session.is_none() && verdict.attempts.is_empty() {
        // Nothing was to become of it: it was only verified.
        return Vec::new();
    }
    let text = match verdict.apply.status {
        ApplyStatus::Applied => "The changes are in your project.",
        ApplyStatus::Held => "Your project is unchanged; the work is held.",
        ApplyStatus::Discarded => "Your project is unchanged; the work was discarded.",
        ApplyStatus::Nothing => "Your project is unchanged; there is nothing to apply.",
        ApplyStatus::Conflict => "You changed the same files: nothing was applied, the work is held.",
    };
    let mut lines = vec![line(LineRole::Plain, format!("  {text}"))];
    if let Some(session) = &verdict.session {
        let mut commands: Vec<(&str, String)> = Vec::new();
        match verdict.apply.status {
            ApplyStatus::Held | ApplyStatus::Conflict => {
                commands.push(("diff", format!("agentworkforce sessions diff {session}")));
                if verdict.verdict == Ruling::Approve {
                    commands.push(("apply", format!("agentworkforce sessions apply {session}")));
                } else {
                    commands.push(("go on", format!("agentworkforce work --resume {session} --attempts 2")));
                }
            }
            ApplyStatus::Applied => {
                commands.push(("undo", format!("agentworkforce sessions undo {session}")));
            }
            ApplyStatus::Discarded | ApplyStatus::Nothing => {}
        }
        lines.extend(
            commands
                .into_iter()
                .map(|(word, command)| line(LineRole::Plain, format!("  {word:<6} {command}"))),
        );
    }
    lines.extend(
        verdict.followups.iter().take(MOST_ROWS).map(|text| line(LineRole::Plain, format!("  {text}"))),
    );
    lines
}

/// What a contract would do, without doing it. `checks` are the names of those that would be made.
pub fn contract_lines(contract: &Contract, checks: &[CheckName]) -> Vec<DisplayLine> {
    let mut lines =
        vec![line(LineRole::Plain, format!("Contract {} · {}", contract.task_id, contract.task)), empty()];
    lines.push(line(LineRole::Faint, "  commands"));
    for command in &contract.validation_commands {
        let why = match &command.from {
            CommandOrigin::Contract => "from the contract".to_owned(),
            CommandOrigin::DefinitionOfDone(id) => format!("checks `{id}`"),
            CommandOrigin::Found(why) => why.clone(),
        };
        lines.extend(row(LineRole::Plain, " ", &command.command, &why));
        if command.command.width() > COLUMN - 3 {
            lines.push(line(LineRole::Plain, format!("    {}", command.command)));
        }
    }
    let files = match &contract.files {
        Some(files) => files.join(", "),
        None => "everything but validators, lock files and CI files".into(),
    };
    lines.extend(row(LineRole::Plain, " ", "files", &files));
    let budgets = &contract.budgets;
    let mut limits = vec![
        counted(budgets.attempts, "attempt"),
        counted(budgets.report_returns, "return") + " of the report",
    ];
    limits.extend(budgets.usd.map(dollars));
    limits.extend(budgets.wall_seconds.map(seconds));
    limits.push(format!("stalled after {}", seconds(budgets.stall_seconds)));
    lines.extend(row(LineRole::Plain, " ", "budgets", &limits.join(", ")));
    let judges = [
        ("review", contract.review.as_ref().map(|terms| terms.persona.clone())),
        (
            "advisor",
            contract.advisor.as_ref().filter(|terms| terms.enabled).map(|terms| terms.persona.clone()),
        ),
        ("planner", contract.planner.clone()),
        ("spec", contract.spec_path.clone()),
    ];
    for (word, value) in judges {
        if let Some(value) = value {
            lines.extend(row(LineRole::Plain, " ", word, &value));
        }
    }
    let names: Vec<&str> = checks.iter().map(|check| check.text()).collect();
    let mut rows = wrapped(&names.join(", "), WIDTH - COLUMN, 12).into_iter();
    lines.extend(row(LineRole::Plain, " ", "checks", &rows.next().unwrap_or_else(|| "none".into())));
    lines.extend(rows.map(|text| line(LineRole::Plain, format!("{}{text}", " ".repeat(COLUMN)))));
    lines
}

#[cfg(test)]
#[path = "display_tests.rs"]
mod tests;
