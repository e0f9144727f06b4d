//! Checks about commands, tests and code. Pure: they look at evidence alone and run nothing.

mod claims;
mod commands;
mod inline_changes;
mod nothing_ran;
mod old_tests;
mod patched_assertions;
mod placeholders;
mod references;
mod tdd;
mod test_aware;
mod test_files;
mod tests_kept;
mod weakened;
mod weakened_bodies;
mod weakened_markers;

#[cfg(test)]
mod laws_tests;
#[cfg(test)]
pub(crate) mod sample;

use super::evidence::{CommandEnd, Evidence, Execution, View};
use crate::model::verdict::Check;
pub use claims::{claims_command, claims_success};
pub use commands::{depends_on_ignored, discriminates, discriminates_check, regressions, validations};
pub use nothing_ran::{nothing_ran, ran_no_tests};
pub use old_tests::old_tests;
pub use placeholders::placeholders;
pub use references::{duplicates, symbols};
pub use tdd::{tdd_counts, tdd_red};
pub use test_aware::test_aware;
pub use test_files::{changed_tests, existing_tests_changed, has_inline_tests, wanted_views};
pub use tests_kept::tests_kept;
pub use weakened::tests_weakened;

/// All checks of this module, in the order of the table.
pub fn checks(evidence: &Evidence) -> Vec<Check> {
    let mut checks = validations(evidence);
    checks.extend(regressions(evidence));
    checks.push(nothing_ran(evidence));
    checks.push(tests_kept(evidence));
    checks.push(old_tests(evidence));
    checks.push(tests_weakened(evidence));
    checks.push(depends_on_ignored(evidence));
    checks.push(test_aware(evidence));
    checks.push(discriminates_check(evidence));
    checks.push(tdd_red(evidence));
    checks.push(placeholders(evidence));
    checks.push(symbols(evidence));
    checks.push(duplicates(evidence));
    checks
}

/// The run of a command in a view. If there are several, one that did not pass: a further pass hides nothing.
fn execution(evidence: &Evidence, command: usize, view: View) -> Option<&Execution> {
    let mut runs = evidence.executions.iter().filter(|run| run.command == command && run.on == view);
    let first = runs.next()?;
    if !first.passed() {
        return Some(first);
    }
    runs.find(|run| !run.passed()).or(Some(first))
}

/// Why the end of a command says nothing about the work.
fn undecided(run: &Execution) -> Option<String> {
    match &run.end {
        CommandEnd::Exited(127) => Some("exit 127: command not found".to_owned()),
        CommandEnd::Exited(126) => Some("exit 126: command cannot be executed".to_owned()),
        CommandEnd::TimedOut => Some("time limit reached".to_owned()),
        CommandEnd::Unknown(why) => Some(why.clone()),
        CommandEnd::Exited(_) | CommandEnd::Signalled(_) => None,
    }
}

/// Whether it ran to its end and failed.
fn failed(run: &Execution) -> bool {
    !run.passed() && undecided(run).is_none()
}

/// `exit 1, 2 of 48 failed`.
fn outcome(run: &Execution) -> String {
    let end = match &run.end {
        CommandEnd::Exited(code) => format!("exit {code}"),
        CommandEnd::Signalled(signal) => format!("signal {signal}"),
        CommandEnd::TimedOut => "time limit reached".to_owned(),
        CommandEnd::Unknown(why) => why.clone(),
    };
    match &run.summary {
        Some(summary) if summary.failed > 0 => {
            format!("{end}, {} of {} failed", summary.failed, summary.ran())
        }
        Some(summary) if summary.is_complete => format!("{end}, {} passed", summary.passed),
        _ => end,
    }
}

/// The script of `package.json` that a command runs by name, as it was at launch.
fn script_of(evidence: &Evidence, command: &str) -> Option<String> {
    let words: Vec<&str> = command.split_whitespace().take(100).collect();
    let at = words.iter().position(|word| matches!(*word, "npm" | "pnpm" | "yarn" | "bun"))?;
    let mut rest = words[at + 1..].iter().copied().filter(|word| !word.starts_with('-'));
    let name = match rest.next()? {
        "run" | "run-script" => rest.next()?,
        "t" => "test",
        name => name,
    };
    let manifest: serde_json::Value = serde_json::from_str(evidence.base.text("package.json")?).ok()?;
    manifest.get("scripts")?.get(name)?.as_str().map(str::to_owned)
}

const MOST_EVIDENCE: usize = 20;

/// A few lines of evidence, each short.
fn short(lines: Vec<String>) -> Vec<String> {
    let more = lines.len().saturating_sub(MOST_EVIDENCE);
    let mut kept: Vec<String> =
        lines.into_iter().take(MOST_EVIDENCE).map(|line| line.chars().take(300).collect()).collect();
    if more > 0 {
        kept.push(format!("and {more} more"));
    }
    kept
}
