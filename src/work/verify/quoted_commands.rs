//! Compares what a report quotes as evidence with what the worker ran and what the runner measured, and when it last ran it. Prose is
//! never held against a worker: what cannot be decided is skipped.

use super::excerpt;
use super::shell_words::{canonical, simple_commands};
use crate::model::event::Event;
use crate::model::verdict::{Blocker, Check, CheckName, CheckSeverity};
use crate::model::worker_report::{WorkerReport, WorkerStatus};
use crate::work::evidence::{CommandEnd, Evidence, ReportSource, View};
use crate::work::path_kind::is_document;
use serde_json::Value;
use std::collections::BTreeSet;

const EXPECTED: &str = "quoted commands were run, and came out as claimed";

/// Longer evidence is not read to its end, and no more quotes are looked up than this.
const LONGEST_EVIDENCE: usize = 64 * 1024;
const MOST_QUOTES: usize = 200;

/// A command that the report names as evidence.
struct Quote {
    command: String,
    /// Whether it says that the command passed.
    says_passed: bool,
}

pub fn quoted_commands(evidence: &Evidence) -> Check {
    let report = match &evidence.testimony.report {
        Some(report) if evidence.testimony.source != ReportSource::Runner => report,
        _ => return Check::skipped(CheckName::Evidence, "there is no report of the worker"),
    };
    if report.status != WorkerStatus::Completed {
        return Check::skipped(CheckName::Evidence, "the worker gave up");
    }
    let quotes = quotes(report);
    if quotes.is_empty() {
        return Check::skipped(CheckName::Evidence, "no command is quoted");
    }
    let called = Called::of(evidence);
    let mut lines: BTreeSet<String> = BTreeSet::new();
    let mut decided = 0;
    for quote in &quotes {
        let shown = excerpt::quote(&quote.command);
        if quote.says_passed && disagrees(evidence, &quote.command) {
            lines.insert(format!("said to pass, and fails: {shown}"));
        }
        match called.was_called(&quote.command) {
            Some(true) => decided += 1,
            Some(false) => {
                decided += 1;
                lines.insert(format!("never run: {shown}"));
            }
            None => {}
        }
    }
    if !lines.is_empty() {
        let observed = format!("{} not borne out", excerpt::count(lines.len(), "quoted command"));
        let blocker = Some(Blocker::Hallucination);
        return Check::failed(CheckName::Evidence, CheckSeverity::Major, blocker, EXPECTED, observed)
            .with_evidence(lines);
    }
    if decided == 0 {
        return Check::skipped(CheckName::Evidence, "what is quoted cannot be decided");
    }
    Check::passed(
        CheckName::Evidence,
        EXPECTED,
        format!("{} found", excerpt::count(decided, "quoted command")),
    )
}

fn quotes(report: &WorkerReport) -> Vec<Quote> {
    let mut quotes = Vec::new();
    for item in report.self_review.iter().filter(|item| item.verified) {
        let text = &item.evidence[..item.evidence.floor_char_boundary(LONGEST_EVIDENCE)];
        quotes_of_prose(text, &mut quotes);
    }
    for value in report.unknown.values() {
        quotes_of_fields(value, &mut quotes);
    }
    quotes.truncate(MOST_QUOTES);
    quotes
}

/// Commands between backticks and after a prompt, in sentences that say plainly that they were run.
fn quotes_of_prose(text: &str, quotes: &mut Vec<Quote>) {
    for line in text.lines() {
        if let Some(command) = line.trim_start().strip_prefix("$ ") {
            quotes.extend(known_command(command).map(|command| Quote { command, says_passed: false }));
            continue;
        }
        // What is denied, planned, conditional or about another time accuses nobody.
        let parts: Vec<&str> = line.split('`').collect();
        let words: Vec<&str> = parts.iter().step_by(2).copied().collect();
        let words = words.join(" ");
        let is_plain = !has_doubt(&words);
        let says_passed = is_plain && says_pass(&words) && parts.len() == 3;
        for quoted in parts.iter().skip(1).step_by(2) {
            if is_plain && parts.len() % 2 == 1 {
                quotes.extend(known_command(quoted).map(|command| Quote { command, says_passed }));
            }
        }
    }
}

fn lower_words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’')
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

fn has_doubt(line: &str) -> bool {
    const DOUBT: [&str; 38] = [
        "not",
        "never",
        "without",
        "cannot",
        "unable",
        "skip",
        "skipped",
        "should",
        "would",
        "could",
        "will",
        "can",
        "may",
        "might",
        "must",
        "if",
        "before",
        "unless",
        "todo",
        "next",
        "instead",
        "equivalent",
        "like",
        "similar",
        "e",
        "example",
        "reviewer",
        "runner",
        "ci",
        "you",
        "please",
        "no",
        "fails",
        "failed",
        "failing",
        "red",
        "blocked",
        "denied",
    ];
    lower_words(line)
        .any(|word| DOUBT.contains(&word.as_str()) || word.ends_with("n't") || word.ends_with("n’t"))
}

fn says_pass(line: &str) -> bool {
    const PASS: [&str; 9] =
        ["pass", "passes", "passed", "passing", "green", "succeeded", "succeeds", "success", "ok"];
    let has_zero = line.to_lowercase().contains("exit 0") || line.to_lowercase().contains("exit code 0");
    has_zero || lower_words(line).any(|word| PASS.contains(&word.as_str()))
}

/// Structured claims in fields that the format does not have: `{"command": "npm test", "exit_code": 0}`.
fn quotes_of_fields(value: &Value, quotes: &mut Vec<Quote>) {
    let mut pending = vec![value];
    let mut looked_at = 0;
    while let Some(value) = pending.pop() {
        looked_at += 1;
        if looked_at > 10_000 {
            return;
        }
        match value {
            Value::Array(values) => pending.extend(values),
            Value::Object(object) => {
                let command = ["command", "cmd"].iter().find_map(|key| object.get(*key)?.as_str());
                if let Some(command) = command.and_then(known_command) {
                    let code =
                        ["exit_code", "exitCode", "exit"].iter().find_map(|key| object.get(*key)?.as_i64());
                    let word =
                        ["status", "result", "outcome"].iter().find_map(|key| object.get(*key)?.as_str());
                    let flag = ["passed", "ok", "success"].iter().find_map(|key| object.get(*key)?.as_bool());
                    let says_passed = code == Some(0)
                        || flag == Some(true)
                        || word.is_some_and(|word| says_pass(word) && !has_doubt(word));
                    let was_run = code.is_some()
                        || flag.is_some()
                        || word.is_some_and(|word| !has_doubt(word) && says_pass(word));
                    if was_run {
                        quotes.push(Quote { command, says_passed });
                    }
                }
                pending.extend(object.values());
            }
            _ => {}
        }
    }
}

/// The text, if it is a call of a program that tests, checks or builds; anything else between backticks may be a name.
fn known_command(text: &str) -> Option<String> {
    const PROGRAMS: [&str; 46] = [
        "npm",
        "pnpm",
        "yarn",
        "bun",
        "cargo",
        "pytest",
        "python",
        "go",
        "make",
        "just",
        "jest",
        "vitest",
        "mocha",
        "ava",
        "node",
        "deno",
        "tsc",
        "eslint",
        "ruff",
        "mypy",
        "flake8",
        "tox",
        "nox",
        "unittest",
        "rspec",
        "rake",
        "gradle",
        "gradlew",
        "mvn",
        "mvnw",
        "dotnet",
        "mix",
        "phpunit",
        "composer",
        "golangci-lint",
        "clippy",
        "prettier",
        "biome",
        "pyright",
        "ctest",
        "cmake",
        "bats",
        "swift",
        "sbt",
        "stack",
        "cabal",
    ];
    if text.len() > 2000 || text.contains('…') || text.contains("...") && !text.contains("./...") {
        return None;
    }
    let commands = simple_commands(text);
    let words =
        canonical(commands.iter().find(|words| !matches!(words[0].as_str(), "cd" | "export" | "set"))?);
    let first = words.first()?;
    // One word, `cargo` or `jest`, is as often the name of the tool.
    let is_call = words.len() > 1 || matches!(first.as_str(), "pytest" | "tsc" | "tox" | "mypy");
    let has_place_holder = text.contains(['<', '>']) && !text.contains(">&") || text.contains('*');
    (PROGRAMS.contains(&first.as_str()) && is_call && !has_place_holder).then(|| text.trim().to_owned())
}

/// What the worker called, in all attempts.
struct Called {
    /// The words of each call, one spelling, with spaces around.
    calls: Vec<String>,
    /// What the calls printed: a task runner shows what it runs.
    outputs: Vec<String>,
    /// A call of a shell is not or not wholly known.
    is_partial: bool,
}

/// What is read of the calls altogether.
const MOST_CALL_BYTES: usize = 16 * 1024 * 1024;

impl Called {
    fn of(evidence: &Evidence) -> Called {
        let mut called = Called { calls: Vec::new(), outputs: Vec::new(), is_partial: false };
        let mut bytes = 0;
        for recorded in &evidence.events {
            match &recorded.event {
                Event::ToolStarted { name, subject, .. } => match subject {
                    Some(subject) if bytes < MOST_CALL_BYTES => {
                        bytes += subject.len();
                        called.is_partial |= is_shell(name) && subject.ends_with('…');
                        called.calls.push(spelled(subject));
                    }
                    _ => called.is_partial |= is_shell(name),
                },
                Event::ToolFinished { output: Some(output), .. } if bytes < MOST_CALL_BYTES => {
                    bytes += output.len();
                    called.outputs.push(one_line(output));
                }
                _ => {}
            }
        }
        called.is_partial |= bytes >= MOST_CALL_BYTES;
        called
    }

    /// None where it cannot be decided.
    fn was_called(&self, quoted: &str) -> Option<bool> {
        if self.calls.is_empty() {
            return None;
        }
        let commands = simple_commands(quoted);
        let main =
            canonical(commands.iter().find(|words| !matches!(words[0].as_str(), "cd" | "export" | "set"))?);
        let wanted = format!(" {} ", main.join(" "));
        let plain = wanted.trim();
        let is_in_calls = self.calls.iter().any(|call| call.contains(&wanted));
        let is_in_outputs = || {
            self.outputs
                .iter()
                .any(|output| output.contains(plain) || output.contains(one_line(quoted).trim()))
        };
        // The call may have been made with fewer words: then the quote is inexact, no lie.
        let program_called = || {
            let start = main.iter().take(2).map(String::as_str).collect::<Vec<_>>().join(" ");
            self.calls.iter().any(|call| call.contains(&format!(" {start} ")))
        };
        if is_in_calls || is_in_outputs() || program_called() {
            Some(true)
        } else if self.is_partial {
            None
        } else {
            Some(false)
        }
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A call as words in one spelling, and as it was written.
fn spelled(subject: &str) -> String {
    let mut text = format!(" {} ", one_line(subject).replace("\\ ", ""));
    for words in simple_commands(subject) {
        text.push_str(&canonical(&words).join(" "));
        text.push_str(" \n ");
    }
    text
}

fn is_shell(tool: &str) -> bool {
    let tool = tool.to_lowercase();
    ["bash", "shell", "exec", "command", "terminal", "run"].iter().any(|part| tool.contains(part))
}

fn is_editor(tool: &str) -> bool {
    let tool = tool.to_lowercase();
    ["edit", "write", "patch", "file_change", "str_replace", "create_file"]
        .iter()
        .any(|part| tool.contains(part))
        && !tool.starts_with("todo")
}

/// Whether a command of the contract fails in the result although the quote of it says that it passed, and nothing else explains it:
/// it failed before too, it is flaky, or it passes with the worker's ignored files.
fn disagrees(evidence: &Evidence, quoted: &str) -> bool {
    let wanted: Vec<Vec<String>> = simple_commands(quoted).iter().map(|words| canonical(words)).collect();
    evidence.contract.validation_commands.iter().enumerate().any(|(index, command)| {
        let own: Vec<Vec<String>> =
            simple_commands(&command.command).iter().map(|words| canonical(words)).collect();
        let is_same = !own.is_empty() && own.iter().all(|words| wanted.contains(words));
        let of = |view: View| {
            let mut runs = evidence.executions.iter().filter(|run| run.command == index && run.on == view);
            runs.next_back()
        };
        let fails =
            of(View::Result).is_some_and(|run| matches!(run.end, CommandEnd::Exited(code) if code != 0));
        let passes = |view: View| of(view).is_some_and(crate::work::evidence::Execution::passed);
        is_same && fails && passes(View::Base) && !passes(View::ResultAgain) && !passes(View::WithIgnored)
    })
}

pub fn stale(evidence: &Evidence) -> Check {
    let expected = "a command is run after the last edit";
    let commands: Vec<Vec<String>> = evidence
        .contract
        .validation_commands
        .iter()
        .flat_map(|command| simple_commands(&command.command))
        .map(|words| canonical(&words))
        .filter(|words| words.first().is_some_and(|first| first != "cd"))
        .collect();
    let changed: BTreeSet<String> =
        evidence.changes.files.iter().map(|file| file.name().into_owned()).collect();
    let (mut last_run, mut last_edit): (Option<usize>, Option<(usize, &str)>) = (None, None);
    for (index, recorded) in evidence.events.iter().enumerate() {
        let Event::ToolStarted { name, subject: Some(subject), .. } = &recorded.event else { continue };
        if is_editor(name) {
            let mut paths = subject.split(", ").filter(|path| path.len() < 4096 && !is_document(path));
            let edited = paths.find(|path| ends_in_change(path, &changed));
            last_edit = edited.map(|path| (index, path)).or(last_edit);
        } else if is_shell(name) {
            let call = spelled(subject);
            let is_run = commands.iter().any(|words| call.contains(&format!(" {} ", words.join(" "))));
            last_run = is_run.then_some(index).or(last_run);
        }
    }
    match (last_run, last_edit) {
        (None, _) => Check::skipped(CheckName::Stale, "the worker is not known to have run a command"),
        (Some(run), Some((edit, path))) if edit > run => Check::failed(
            CheckName::Stale,
            CheckSeverity::Minor,
            None,
            expected,
            "edited after the last run of a command",
        )
        .with_evidence([excerpt::name(path)]),
        _ => Check::passed(CheckName::Stale, expected, "run after the last edit"),
    }
}

/// Whether a path, absolute or not, is one that changed.
fn ends_in_change(path: &str, changed: &BTreeSet<String>) -> bool {
    let path = path.trim_start_matches("./");
    changed.contains(path) || path.match_indices('/').any(|(slash, _)| changed.contains(&path[slash + 1..]))
}
