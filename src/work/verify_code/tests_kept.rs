//! Whether the tests that passed on the base still run: by name where the runner gives names, else by file and count.

use super::{execution, short, undecided};
use crate::model::contract::Guard;
use crate::model::verdict::{Blocker, Check, CheckName, CheckSeverity};
use crate::work::evidence::{ChangedFile, Evidence, Execution, TestOutcome, TestSummary, View};
use crate::work::path_kind::{file_name, is_code, is_test};
use crate::work::runners::normalised;
use crate::work::source::{Language, TestCase, functions, test_cases};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// The tests in the sources of the change set, before and after.
#[derive(Default)]
pub struct SourceTests {
    /// With the file they stand in.
    pub before: Vec<(String, TestCase)>,
    pub after: Vec<(String, TestCase)>,
    /// Functions and files that are gone, by name.
    pub deleted: HashSet<String>,
    before_by_name: HashMap<String, usize>,
    after_by_name: HashMap<String, Vec<usize>>,
    after_by_body: HashMap<String, usize>,
}

impl SourceTests {
    pub fn of(evidence: &Evidence) -> SourceTests {
        let mut tests = SourceTests::default();
        let mut defined_before: Vec<(String, bool)> = Vec::new();
        let mut defined_after: HashSet<String> = HashSet::new();
        for file in &evidence.changes.files {
            let name = file.name().into_owned();
            let Some(language) = Language::of(&name) else { continue };
            let cases = |text: Option<&str>| {
                let cases = test_cases(text.unwrap_or(""), language);
                cases.into_iter().map(|case| (name.clone(), case)).collect::<Vec<_>>()
            };
            tests.before.extend(cases(file.text_before()));
            tests.after.extend(cases(file.text_after()));
            if is_test(&name) || !is_code(&name) {
                continue;
            }
            let is_moved =
                evidence.changes.files.iter().any(|other| other.renamed_from.as_ref() == Some(&file.path));
            if file.is_deleted() && !is_moved {
                let stem = file_name(&name).split('.').next().unwrap_or_default();
                tests.deleted.insert(stem.to_owned());
            }
            let names = |text: Option<&str>| {
                functions(text.unwrap_or(""), language).into_iter().map(|function| function.name)
            };
            defined_before.extend(names(file.text_before()).map(|name| (name, true)));
            defined_after.extend(names(file.text_after()));
        }
        let gone =
            defined_before.into_iter().map(|(name, _)| name).filter(|name| !defined_after.contains(name));
        tests.deleted.extend(gone);
        tests.deleted.retain(|name| name.len() > 2 && name != "main" && name != "index" && name != "mod");
        tests.index();
        tests
    }

    /// The test of this name that stood in a changed file and stands there no more as it was.
    fn changed(&self, name: &str) -> Option<&TestCase> {
        self.before_by_name.get(name).map(|index| &self.before[*index].1)
    }

    /// Whether another test has the same body.
    fn has_same_body(&self, case: &TestCase) -> Option<&TestCase> {
        self.after_by_body.get(&case.body).map(|index| &self.after[*index].1)
    }

    /// The tests of this name that stand in a changed file now.
    fn named(&self, name: &str) -> impl Iterator<Item = &TestCase> {
        self.after_by_name.get(name).into_iter().flatten().map(|index| &self.after[*index].1)
    }

    fn has(&self, name: &str) -> bool {
        self.after_by_name.contains_key(name)
    }

    /// What is looked up for every test is looked up by key.
    fn index(&mut self) {
        for (index, (_, case)) in self.before.iter().enumerate() {
            self.before_by_name.entry(case.name.clone()).or_insert(index);
        }
        for (index, (_, case)) in self.after.iter().enumerate() {
            let of_name = self.after_by_name.entry(case.name.clone()).or_default();
            if of_name.len() < 20 {
                of_name.push(index);
            }
            if !case.body.is_empty() {
                self.after_by_body.entry(case.body.clone()).or_insert(index);
            }
        }
    }

    /// Whether it uses something that the work deleted.
    fn tests_deleted(&self, case: &TestCase) -> bool {
        words(&case.body).any(|word| self.deleted.contains(word))
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// The name that the source gives a test: without file, module, class and parameters.
fn source_name<'a>(runner: &str, name: &'a str) -> &'a str {
    let last = name.rsplit(" > ").next().unwrap_or(name);
    let last = if runner.starts_with("cargo") || runner == "pytest" {
        last.rsplit("::").next().unwrap_or(last)
    } else {
        last
    };
    let last = match runner {
        "go test" => last.rsplit_once('.').map_or(last, |(_, name)| name).split('/').next().unwrap_or(last),
        "unittest" => last.rsplit('.').next().unwrap_or(last),
        _ => last,
    };
    if runner == "pytest" { last.split('[').next().unwrap_or(last) } else { last }
}

/// How many assertions the body of a test holds, and how much else.
fn strength(case: &TestCase) -> usize {
    const SIGNS: [&str; 9] =
        ["assert", "expect(", "t.Error", "t.Fatal", "require.", "should", "panic!", "raises(", "t.is("];
    SIGNS.iter().map(|sign| case.body.matches(sign).count()).sum()
}

/// What the variants of a test with parameters have in common: `a.py::test_x` of `a.py::test_x[1]`, `pkg.TestX` of `pkg.TestX/one`.
/// Of a test without parameters it is the whole name.
fn variants<'a>(runner: &str, name: &'a str) -> Option<&'a str> {
    match runner {
        "pytest" => Some(name.split('[').next().unwrap_or(name)),
        "go test" => {
            // The package has slashes too.
            let package = name.rfind(".Test")?;
            Some(name[package..].find('/').map_or(name, |slash| &name[..package + slash]))
        }
        _ => None,
    }
}

/// The variants of a test that ran; of the base those that passed.
fn count_variants(tests: &BTreeMap<String, TestOutcome>, common: &str, is_after: bool) -> usize {
    let of_test = tests.range(common.to_owned()..).take_while(|(name, _)| name.starts_with(common));
    let is_variant = |name: &str| matches!(name.as_bytes().get(common.len()), None | Some(b'[' | b'/'));
    let counts = |outcome: TestOutcome| match outcome {
        TestOutcome::Passed => true,
        TestOutcome::Failed => is_after,
        TestOutcome::Skipped => false,
    };
    of_test.filter(|(name, outcome)| is_variant(name) && counts(**outcome)).count()
}

#[derive(Default)]
struct Findings {
    critical: Vec<String>,
    minor: Vec<String>,
    counts: Vec<String>,
}

/// `tests-kept`.
pub fn tests_kept(evidence: &Evidence) -> Check {
    let id = CheckName::TestsKept;
    let expected = "every test that passed on the base runs";
    let sources = SourceTests::of(evidence);
    let mut findings = Findings::default();
    for (index, _) in evidence.contract.validation_commands.iter().enumerate() {
        let runs = (execution(evidence, index, View::Base), execution(evidence, index, View::Result));
        let (Some(base), Some(run)) = runs else { continue };
        if undecided(base).is_some() || undecided(run).is_some() {
            continue;
        }
        let (Some(before), Some(after)) = (&base.summary, &run.summary) else { continue };
        if !before.is_complete || !after.is_complete {
            continue;
        }
        findings.counts.push(format!(
            "{} before, {} now, {} skipped",
            before.ran(),
            after.ran(),
            after.skipped
        ));
        compare(evidence, &sources, before, after, run, &mut findings);
    }
    let observed = findings.counts.join("; ");
    if !findings.critical.is_empty() {
        let observed = format!("{observed}: {} missing or skipped", findings.critical.len());
        let lines = short(findings.critical);
        return Check::failed(id, CheckSeverity::Critical, Some(Blocker::ScopeDrift), expected, observed)
            .with_evidence(lines);
    }
    if !findings.minor.is_empty() {
        return Check::failed(id, CheckSeverity::Minor, None, expected, observed)
            .with_evidence(short(findings.minor));
    }
    if findings.counts.is_empty() {
        return Check::skipped(id, "no full summary of a test runner on both sides");
    }
    Check::passed(id, expected, observed)
}

fn compare(
    evidence: &Evidence,
    sources: &SourceTests,
    before: &TestSummary,
    after: &TestSummary,
    run: &Execution,
    findings: &mut Findings,
) {
    let passed: Vec<&String> = before
        .tests
        .iter()
        .filter(|(_, outcome)| **outcome == TestOutcome::Passed)
        .map(|(name, _)| name)
        .collect();
    let named_ran = after.tests.values().filter(|outcome| **outcome != TestOutcome::Skipped).count() as u64;
    let has_names = named_ran >= after.ran() && (named_ran > 0 || after.ran() == 0) && !passed.is_empty();
    // New names that pass, without numbers: a parameter that differs from run to run is no other test.
    let new: BTreeSet<&String> =
        after.tests.keys().filter(|name| !before.tests.contains_key(*name)).collect();
    let mut new_source: HashMap<&str, usize> = HashMap::new();
    for name in new.iter().filter(|name| after.tests.get(**name) != Some(&TestOutcome::Skipped)) {
        *new_source.entry(source_name(&after.runner, name)).or_default() += 1;
    }
    let mut lost_source: HashMap<&str, usize> = HashMap::new();
    for name in passed.iter().filter(|name| !after.tests.contains_key(**name)) {
        *lost_source.entry(source_name(&before.runner, name)).or_default() += 1;
    }
    let ran = after.tests.iter().filter(|(_, outcome)| **outcome != TestOutcome::Skipped);
    let ran_source: HashSet<&str> = ran.map(|(name, _)| source_name(&after.runner, name)).collect();
    let mut variant_counts: HashMap<&str, (usize, usize)> = HashMap::new();
    let new_normalised: HashSet<String> = new.iter().map(|name| normalised(name)).collect();
    for name in passed {
        let state = match after.tests.get(name) {
            Some(TestOutcome::Skipped) => "is skipped now",
            None if has_names => "is missing",
            Some(_) | None => continue,
        };
        let source = source_name(&before.runner, name);
        let case = sources.changed(source);
        if state == "is missing" {
            // A runner that stops at the first failure does not come to the others.
            let is_removed = case.is_some_and(|case| !sources.has(&case.name));
            if !run.passed() && !is_removed {
                continue;
            }
            if case.is_none() && new_normalised.contains(&normalised(name)) {
                continue;
            }
            // A variant of a test with parameters: others may stand in its place, fewer may not.
            if let Some(common) = variants(&before.runner, name) {
                let (was, is) = *variant_counts.entry(common).or_insert_with(|| {
                    (count_variants(&before.tests, common, false), count_variants(&after.tests, common, true))
                });
                if was <= is {
                    continue;
                }
                if is > 0 {
                    findings.critical.push(format!("{name}: passed on the base, {state}"));
                    continue;
                }
            }
            // The same test in another class, module or file; its text may differ as its place does.
            let has_new_place = case
                .is_some_and(|case| sources.named(&case.name).any(|other| strength(other) >= strength(case)));
            let count = |places: &HashMap<&str, usize>| places.get(source).copied().unwrap_or(0);
            if has_new_place && count(&new_source) >= count(&lost_source) {
                continue;
            }
            let moved = case.and_then(|case| sources.has_same_body(case));
            if moved.is_some_and(|other| {
                new_source.contains_key(other.name.as_str()) || ran_source.contains(other.name.as_str())
            }) {
                continue;
            }
        }
        let line = format!("{name}: passed on the base, {state}");
        let is_about_deleted = case.is_some_and(|case| sources.tests_deleted(case));
        let is_rewritten = state == "is missing"
            && case.is_some()
            && evidence.contract.tests == Guard::MayChange
            && after.ran() >= before.ran();
        if is_about_deleted || is_rewritten {
            findings.minor.push(line);
        } else {
            findings.critical.push(line);
        }
    }
    if !has_names && run.passed() {
        by_count(evidence, sources, before, after, findings);
        gone_unseen(sources, before, after, findings);
    }
    let new_skipped = after
        .tests
        .iter()
        .filter(|(name, outcome)| **outcome == TestOutcome::Skipped && !before.tests.contains_key(*name));
    let before_len = findings.minor.len();
    findings.minor.extend(new_skipped.map(|(name, _)| format!("{name}: new, and skipped")));
    let is_named = findings.minor.len() > before_len || !findings.critical.is_empty();
    if !is_named && after.tests.is_empty() && after.skipped > before.skipped {
        findings.minor.push(format!("{} skipped, {} before", after.skipped, before.skipped));
    }
}

/// `go test` without `-v` counts packages: which tests are gone only the sources tell.
fn gone_unseen(sources: &SourceTests, before: &TestSummary, after: &TestSummary, findings: &mut Findings) {
    if before.runner != "go test" || !before.tests.is_empty() || !after.tests.is_empty() {
        return;
    }
    for (file, case) in &sources.before {
        let is_there = sources.has(&case.name);
        let is_test = case.name.starts_with("Test") && is_test(file);
        if !is_test || is_there || sources.has_same_body(case).is_some() || case.body.contains("t.Skip") {
            continue;
        }
        let line = format!("{file}: `{}` stood here on the base, and is gone", case.name);
        if sources.tests_deleted(case) { findings.minor.push(line) } else { findings.critical.push(line) }
    }
}

fn by_count(
    evidence: &Evidence,
    sources: &SourceTests,
    before: &TestSummary,
    after: &TestSummary,
    findings: &mut Findings,
) {
    if after.ran() >= before.ran() && after.files.len() >= before.files.len() {
        return;
    }
    let mut lost: Vec<String> = Vec::new();
    for (file, count) in &before.files {
        let now = after.files.get(file).copied().unwrap_or(0);
        if now < *count && !is_renamed(evidence, file, after) {
            lost.push(format!("{file}: {count} ran on the base, {now} now"));
        }
    }
    if after.ran() < before.ran() && lost.is_empty() {
        lost.push(format!("{} tests ran on the base, {} now", before.ran(), after.ran()));
    }
    if lost.is_empty() {
        return;
    }
    // What the sources of the change set explain.
    let gone: Vec<&TestCase> = sources
        .before
        .iter()
        .map(|(_, case)| case)
        .filter(|case| sources.has_same_body(case).is_none() && !sources.has(&case.name))
        .collect();
    let about_deleted = gone.iter().filter(|case| sources.tests_deleted(case)).count() as u64;
    let dropped = before.ran().saturating_sub(after.ran());
    let is_only_moved = dropped == 0 && gone.is_empty();
    if is_only_moved {
        return;
    }
    let is_explained = about_deleted > 0 && about_deleted == gone.len() as u64 && dropped <= about_deleted
        || dropped == 0 && evidence.contract.tests == Guard::MayChange;
    if is_explained { findings.minor.extend(lost) } else { findings.critical.extend(lost) }
}

/// Whether the file of the base runs under another name.
fn is_renamed(evidence: &Evidence, file: &str, after: &TestSummary) -> bool {
    let renamed = |change: &&ChangedFile| {
        change.renamed_from.as_ref().is_some_and(|old| {
            ends_with_path(file, &old.0.to_string_lossy()) || ends_with_path(&old.0.to_string_lossy(), file)
        })
    };
    evidence.changes.files.iter().filter(renamed).any(|change| {
        after
            .files
            .keys()
            .any(|key| ends_with_path(key, &change.name()) || ends_with_path(&change.name(), key))
    })
}

fn ends_with_path(path: &str, end: &str) -> bool {
    path == end || path.strip_suffix(end).is_some_and(|start| start.ends_with('/'))
}

#[cfg(test)]
#[path = "tests_kept_tests.rs"]
mod tests;
