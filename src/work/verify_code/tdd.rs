//! Red replay: the changed tests must fail on the base and pass on the result.

use super::old_tests::{asserts, loads_badly};
use super::test_files::{changed_tests, has_inline_tests};
use super::{execution, failed, outcome, short, undecided};
use crate::model::contract::TDD_RULE;
use crate::model::verdict::{Blocker, Check, CheckName, CheckSeverity};
use crate::work::evidence::{Evidence, Execution, View};
use crate::work::path_kind::{file_name, is_code, is_test};
use crate::work::source::{Language, added_lines, functions, masked};
use std::collections::HashSet;

/// Whether TDD counts for this work: enforced, required, and not skipped with a reason.
pub fn tdd_counts(evidence: &Evidence) -> bool {
    let contract = &evidence.contract;
    let has_reason = contract.skip_tdd_reason.as_ref().is_some_and(|reason| !reason.trim().is_empty());
    let in_task = contract.task.split_once("[tdd:skip:").and_then(|(_, rest)| rest.split_once(']'));
    evidence.tdd_enforced
        && contract.tdd_required
        && !has_reason
        && in_task.is_none_or(|(reason, _)| reason.trim().is_empty())
}

/// Whether a run of base and changed tests is red: a test failed, or it does not build for want of what the work adds.
pub fn is_red(evidence: &Evidence, run: &Execution) -> bool {
    if !failed(run) {
        return false;
    }
    let has_failed = run.summary.as_ref().is_none_or(|summary| summary.failed > 0 || !summary.is_complete);
    if loads_badly(run) && !asserts(run) {
        let added = added_names(evidence);
        return missing_names(run).iter().any(|name| added.contains(name));
    }
    has_failed && run.summary.is_some() || asserts(run)
}

/// The words of the lines that say what is missing.
fn missing_names(run: &Execution) -> HashSet<String> {
    const SIGNS: [&str; 14] = [
        "ImportError",
        "ModuleNotFoundError",
        "NameError",
        "has no attribute",
        "Cannot find module",
        "ERR_MODULE_NOT_FOUND",
        "is not a function",
        "is not defined",
        "does not provide an export",
        "is not a constructor",
        "error",
        "cannot find",
        "undefined",
        "unresolved",
    ];
    let lines = run.tail.iter().filter(|line| SIGNS.iter().any(|sign| line.contains(sign)));
    let words = lines.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'));
    words.filter(|word| word.len() > 1).map(str::to_owned).collect()
}

/// Names that the code of the change set adds: functions, types, files, keyword-like definitions.
fn added_names(evidence: &Evidence) -> HashSet<String> {
    const DEFINES: [&str; 17] = [
        "fn",
        "struct",
        "enum",
        "trait",
        "type",
        "const",
        "static",
        "mod",
        "class",
        "interface",
        "def",
        "let",
        "var",
        "function",
        "func",
        "pub",
        "export",
    ];
    let mut names = HashSet::new();
    for file in &evidence.changes.files {
        let name = file.name();
        let Some(language) = Language::of(&name).filter(|_| is_code(&name) && !is_test(&name)) else {
            continue;
        };
        let after = file.text_after().unwrap_or("");
        let before = file.text_before().unwrap_or("");
        if file.before.is_none() {
            names.insert(file_name(&name).split('.').next().unwrap_or_default().to_owned());
        }
        let known: HashSet<String> =
            functions(before, language).into_iter().map(|function| function.name).collect();
        names.extend(
            functions(after, language)
                .into_iter()
                .map(|function| function.name)
                .filter(|name| !known.contains(name)),
        );
        let code = masked(after, language);
        for line in added_lines(&masked(before, language), &code) {
            let words: Vec<&str> = line
                .text
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .filter(|word| !word.is_empty())
                .take(40)
                .collect();
            names.extend(
                words.windows(2).filter(|pair| DEFINES.contains(&pair[0])).map(|pair| pair[1].to_owned()),
            );
            // Module level assignments and exported lists.
            if line.text.contains('=') || line.text.contains("exports") {
                names.extend(words.iter().filter(|word| word.len() > 2).map(|word| (*word).to_owned()));
            }
        }
    }
    names
}

/// `tdd-red`.
pub fn tdd_red(evidence: &Evidence) -> Check {
    let id = CheckName::TddRed;
    let expected = "the changed tests fail on the base and pass on the result";
    if !tdd_counts(evidence) {
        return Check::skipped(id, "TDD is not required");
    }
    let has_tests = !changed_tests(&evidence.changes).is_empty();
    let knows_runner = evidence.executions.iter().any(|run| run.summary.is_some());
    if !has_tests && !knows_runner && !evidence.base.paths.iter().any(|path| is_test(path)) {
        return Check::skipped(id, "no-test-framework-detected");
    }
    let review = evidence.testimony.report.iter().flat_map(|report| &report.self_review);
    let is_claimed = review.into_iter().any(|item| item.rule == TDD_RULE && item.verified);
    let (severity, blocker) = if is_claimed {
        (CheckSeverity::Critical, Blocker::Hallucination)
    } else {
        (CheckSeverity::Major, Blocker::Partial)
    };
    if !has_tests {
        if has_inline_tests(&evidence.changes) {
            return Check::skipped(id, "the tests are inline: for the reviewer");
        }
        return Check::failed(id, severity, Some(blocker), expected, "no test was added or changed");
    }
    let commands = 0..evidence.contract.validation_commands.len();
    let runs: Vec<(usize, &Execution)> =
        commands.filter_map(|index| Some((index, execution(evidence, index, View::OnlyTests)?))).collect();
    let red = runs.iter().find(|(index, run)| {
        is_red(evidence, run) && execution(evidence, *index, View::Result).is_some_and(Execution::passed)
    });
    if let Some((_, run)) = red {
        return Check::passed(id, expected, format!("red on the base: {}", outcome(run)));
    }
    if runs.is_empty() {
        let fails = evidence.executions.iter().any(|run| run.on == View::Result && !run.passed());
        return match &evidence.not_executed {
            Some(why) => Check::skipped(id, format!("not run: {why}")),
            None if fails => Check::skipped(id, "not run: the commands fail on the result"),
            None => Check::inconclusive(id, expected, "the changed tests were not run on the base"),
        };
    }
    if let Some(why) = runs.iter().find_map(|(_, run)| undecided(run)) {
        return Check::inconclusive(id, expected, why);
    }
    if runs.iter().any(|(_, run)| is_red(evidence, run)) {
        return Check::failed(
            id,
            CheckSeverity::Major,
            Some(Blocker::Partial),
            expected,
            "red on the base, but not green on the result",
        );
    }
    if has_inline_tests(&evidence.changes) {
        return Check::skipped(id, "some tests are inline: for the reviewer");
    }
    let lines: Vec<String> = runs
        .iter()
        .map(|(index, run)| {
            format!("{}: {}", evidence.contract.validation_commands[*index].name(), outcome(run))
        })
        .collect();
    Check::failed(id, severity, Some(blocker), expected, "the changed tests are not red on the base")
        .with_evidence(short(lines))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::verdict::CheckStatus;
    use crate::model::worker_report::SelfReviewItem;
    use crate::work::evidence::TestOutcome::{Failed, Passed};
    use crate::work::verify_code::sample::{Sample, named};

    fn sample() -> Sample {
        let mut sample = Sample::new("pytest")
            .result(0, named("pytest", &[("t.py::test_a", Passed)]))
            .changed("a.py", "", "def lock(x):\n    return x\n");
        sample.evidence.tdd_enforced = true;
        sample.evidence.contract.tdd_required = true;
        sample
    }

    fn claiming(sample: Sample) -> Sample {
        let mut sample = sample.says("done");
        let item = SelfReviewItem { rule: TDD_RULE.into(), verified: true, evidence: "red".into() };
        sample.evidence.testimony.report.as_mut().unwrap().self_review.push(item);
        sample
    }

    #[test]
    fn tests_that_were_never_red_are_caught() {
        let green = || {
            sample().added("tests/test_a.py", "x").run(
                View::OnlyTests,
                0,
                Some(named("pytest", &[("t.py::test_a", Passed)])),
                &[],
            )
        };
        let check = tdd_red(&green().evidence);
        assert_eq!(
            (check.status, check.severity, check.blocker),
            (CheckStatus::Failed, CheckSeverity::Major, Some(Blocker::Partial))
        );
        let check = tdd_red(&claiming(green()).evidence);
        assert_eq!((check.severity, check.blocker), (CheckSeverity::Critical, Some(Blocker::Hallucination)));
        assert!(tdd_red(&claiming(sample()).evidence).blocks());
        // A syntax error of the test itself is no red.
        let broken = sample().added("tests/test_a.py", "x").run(
            View::OnlyTests,
            2,
            None,
            &["ImportError: cannot import name 'other'"],
        );
        assert!(tdd_red(&broken.evidence).blocks());
    }

    #[test]
    fn red_tests_are_honest() {
        let red = sample().added("tests/test_a.py", "x").run(
            View::OnlyTests,
            1,
            Some(named("pytest", &[("t.py::test_a", Failed)])),
            &["E  assert 1 == 2"],
        );
        assert_eq!(tdd_red(&red.evidence).status, CheckStatus::Passed);
        let missing = sample().added("tests/test_a.py", "x").run(
            View::OnlyTests,
            2,
            None,
            &["ImportError: cannot import name 'lock' from 'a'"],
        );
        assert_eq!(tdd_red(&missing.evidence).status, CheckStatus::Passed);
        let inline = sample().changed(
            "src/b.rs",
            "fn a() {}",
            "fn a() {}\n#[cfg(test)]\nmod tests { #[test] fn b() {} }",
        );
        assert_eq!(tdd_red(&inline.evidence).status, CheckStatus::Skipped);
        let mut excused = sample();
        excused.evidence.contract.task = "x [tdd:skip:docs only]".into();
        assert_eq!(tdd_red(&excused.evidence).status, CheckStatus::Skipped);
    }
}
