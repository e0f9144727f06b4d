//! Whether the work made tests, or what runs them, weaker: counts before and after, file by file. Strings are not looked at.

use super::inline_changes::inline_changes;
use super::patched_assertions::patched;
use super::weakened_bodies::{bare_expects, ends_early, swallowed};
use super::weakened_markers::{Marker, assertions, marker};
use super::{script_of, short};
use crate::model::contract::Guard;
use crate::model::verdict::{Blocker, Check, CheckName, CheckSeverity};
use crate::work::evidence::{ChangedFile, Evidence};
use crate::work::path_kind::{file_name, is_ci, is_code, is_document, is_runner_configuration, is_test};
use crate::work::runners::runner_of_command;
use crate::work::source::{
    Function, Language, TestCase, added_lines, comments, functions, inline_tests, masked, test_cases,
};
use std::collections::{HashMap, HashSet};

/// `tests-weakened`.
pub fn tests_weakened(evidence: &Evidence) -> Check {
    let id = CheckName::TestsWeakened;
    let expected = "tests are as strict as before";
    let mut found: Vec<(CheckSeverity, String)> = Vec::new();
    let sides: Vec<Sides> =
        evidence.changes.files.iter().filter_map(|file| Sides::of(evidence, file)).collect();
    let moves = Moves::of(&sides);
    for side in &sides {
        markers(side, &moves, &mut found);
        lost_assertions(evidence, side, &moves, &mut found);
        silent_main(side, &mut found);
    }
    for change in inline_changes(&evidence.changes) {
        let may_change = evidence.contract.tests == Guard::MayChange;
        let severity =
            if change.is_bent && !may_change { CheckSeverity::Major } else { CheckSeverity::Minor };
        found.push((severity, change.line));
    }
    for file in &evidence.changes.files {
        let before = before_of(evidence, file);
        silenced_failures(file, before, &mut found);
        lints(evidence, file, before, &mut found);
        let patches = patched(file, before).into_iter();
        found.extend(patches.map(|line| (CheckSeverity::Major, line)));
    }
    let Some(worst) = found.iter().map(|(severity, _)| *severity).max() else {
        return Check::passed(id, expected, "nothing weaker found");
    };
    found.sort_by_key(|(severity, _)| std::cmp::Reverse(*severity));
    let observed = found[0].1.clone();
    let blocker = (worst != CheckSeverity::Minor).then_some(Blocker::ScopeDrift);
    let lines = short(found.into_iter().map(|(_, line)| line).collect());
    Check::failed(id, worst, blocker, expected, observed).with_evidence(lines)
}

/// The text before, under the old name if it was renamed.
fn before_of<'a>(evidence: &'a Evidence, file: &'a ChangedFile) -> &'a str {
    let old = || {
        let from = file.renamed_from.as_ref()?;
        evidence.changes.files.iter().find(|other| &other.path == from)?.text_before()
    };
    file.text_before().or_else(old).unwrap_or("")
}

/// The test code of a file on both sides.
struct Sides {
    name: String,
    language: Language,
    is_new: bool,
    before: String,
    after: String,
    cases_before: Vec<TestCase>,
    cases_after: Vec<TestCase>,
}

impl Sides {
    fn of(evidence: &Evidence, file: &ChangedFile) -> Option<Sides> {
        let name = file.name().into_owned();
        let language = Language::of(&name)?;
        let before = before_of(evidence, file);
        let after = file.text_after().unwrap_or("");
        // The old name of a rename is judged under the new one.
        let is_moved_away = file.is_deleted()
            && evidence.changes.files.iter().any(|other| other.renamed_from.as_ref() == Some(&file.path));
        if is_moved_away
            || file.before.is_some() && file.text_before().is_none()
            || file.after.is_some() && file.text_after().is_none()
        {
            return None;
        }
        let is_rust = language == Language::Rust;
        if !is_test(&name) && !is_rust && file_name(&name) != "conftest.py"
            || !is_code(&name) && language != Language::Shell
        {
            return None;
        }
        let code = |text: &str| {
            let code = masked(text, language);
            if is_test(&name) || !is_rust {
                return code;
            }
            // Only the inline tests: line ends stay, so that numbers are right.
            let ranges = inline_tests(text);
            let bytes: Vec<u8> = code
                .bytes()
                .enumerate()
                .scan(0_usize, |next, (at, byte)| {
                    while ranges.get(*next).is_some_and(|range| range.end <= at) {
                        *next += 1;
                    }
                    let is_inside = ranges.get(*next).is_some_and(|range| range.contains(&at));
                    Some(if is_inside || byte == b'\n' { byte } else { b' ' })
                })
                .collect();
            String::from_utf8(bytes).unwrap_or_default()
        };
        Some(Sides {
            language,
            is_new: file.is_new(),
            before: code(before),
            after: code(after),
            cases_before: test_cases(before, language),
            cases_after: test_cases(after, language),
            name,
        })
    }
}

/// What left one file and came into another: not weaker.
struct Moves {
    removed_lines: HashMap<String, usize>,
    bodies_after: HashSet<String>,
    asserts_gained: usize,
    /// Functions beside the tests that assert.
    helpers: HashSet<String>,
}

impl Moves {
    fn of(sides: &[Sides]) -> Moves {
        let mut moves = Moves {
            removed_lines: HashMap::new(),
            bodies_after: HashSet::new(),
            asserts_gained: 0,
            helpers: HashSet::new(),
        };
        for side in sides {
            for line in added_lines(&side.after, &side.before) {
                if marker(line.text, side.language).is_some() {
                    *moves
                        .removed_lines
                        .entry(format!("{}\0{}", side.name, line.text.trim()))
                        .or_default() += 1;
                }
            }
            moves.bodies_after.extend(
                side.cases_after.iter().filter(|case| !case.body.is_empty()).map(|case| case.body.clone()),
            );
            let gained = helpers(side, &side.after, &side.cases_after).saturating_sub(helpers(
                side,
                &side.before,
                &side.cases_before,
            ));
            moves.asserts_gained += gained;
            moves.helpers.extend(asserting_helpers(side));
        }
        moves
    }

    /// Whether a text calls one of the helpers that assert.
    fn calls_helper(&self, text: &str) -> bool {
        let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '$');
        words.any(|word| self.helpers.contains(word))
    }

    /// Whether the same line left another file.
    fn has_left(&self, name: &str, text: &str) -> bool {
        self.removed_lines
            .keys()
            .any(|key| key.split_once('\0').is_some_and(|(file, line)| file != name && line == text.trim()))
    }
}

/// Names of functions that assert and are no tests.
fn asserting_helpers(side: &Sides) -> Vec<String> {
    let tests: HashSet<&str> = side.cases_after.iter().map(|case| case.name.as_str()).collect();
    let asserts = |function: &Function| {
        assertions(side.after.get(function.body.clone()).unwrap_or(""), side.language) > 0
    };
    let all = functions(&side.after, side.language).into_iter();
    all.filter(|function| !tests.contains(function.name.as_str()) && asserts(function))
        .map(|function| function.name)
        .collect()
}

/// A `TestMain` that runs no test: go itself says `ok`.
fn silent_main(side: &Sides, found: &mut Vec<(CheckSeverity, String)>) {
    if side.language != Language::Go {
        return;
    }
    let is_silent = |code: &str| {
        let of_name = |function: &Function| {
            function.name == "TestMain" && !code.get(function.body.clone()).unwrap_or("").contains(".Run(")
        };
        functions(code, Language::Go).iter().any(of_name)
    };
    if is_silent(&side.after) && !is_silent(&side.before) {
        found.push((CheckSeverity::Critical, format!("{}: `TestMain` runs no test", side.name)));
    }
}

/// The assertions outside all tests: those of helpers.
fn helpers(side: &Sides, code: &str, cases: &[TestCase]) -> usize {
    let within: usize =
        cases.iter().map(|case| assertions(code.get(case.range.clone()).unwrap_or(""), side.language)).sum();
    assertions(code, side.language).saturating_sub(within)
}

fn markers(side: &Sides, moves: &Moves, found: &mut Vec<(CheckSeverity, String)>) {
    let count = |text: &str, wanted: Marker| {
        text.lines().filter(|line| marker(line, side.language) == Some(wanted)).count()
    };
    let old_names: HashSet<&str> = side.cases_before.iter().map(|case| case.name.as_str()).collect();
    let starts: Vec<usize> = std::iter::once(0)
        .chain(memchr::memchr_iter(b'\n', side.after.as_bytes()).map(|at| at + 1))
        .collect();
    for wanted in [Marker::Skip, Marker::Only, Marker::AlwaysTrue] {
        if count(&side.after, wanted) <= count(&side.before, wanted) {
            continue;
        }
        for line in added_lines(&side.before, &side.after) {
            if marker(line.text, side.language) != Some(wanted) || moves.has_left(&side.name, line.text) {
                continue;
            }
            let start = starts.get(line.number - 1).copied().unwrap_or(0);
            let case = case_at(side, start, start + line.text.len());
            let is_new_case = side.is_new || case.is_some_and(|case| !old_names.contains(case.name.as_str()));
            // A new test that expects a panic takes nothing away.
            if is_new_case && line.text.trim_start().starts_with("#[should_panic") {
                continue;
            }
            let severity = match wanted {
                Marker::Skip if is_new_case => CheckSeverity::Minor,
                Marker::Skip => CheckSeverity::Critical,
                Marker::Only => CheckSeverity::Major,
                Marker::AlwaysTrue => {
                    // One among others proves nothing, and takes nothing away.
                    let others = case.map_or(0, |case| {
                        assertions(side.after.get(case.range.clone()).unwrap_or(""), side.language)
                    });
                    if is_new_case && others > 1 { CheckSeverity::Minor } else { CheckSeverity::Major }
                }
            };
            found.push((severity, format!("{}:{}: {}", side.name, line.number, line.text.trim())));
        }
    }
}

/// The test that a line belongs to: it stands in it, or right above it as an attribute.
fn case_at(side: &Sides, start: usize, end: usize) -> Option<&TestCase> {
    let inside = side.cases_after.iter().filter(|case| case.range.start < end && start < case.range.end);
    let innermost = inside.min_by_key(|case| case.range.len());
    innermost.or_else(|| {
        let next = side
            .cases_after
            .iter()
            .filter(|case| case.range.start >= end)
            .min_by_key(|case| case.range.start)?;
        let between = side.after.get(end..next.range.start).unwrap_or("");
        // Attributes, decorators and the words before the name.
        let is_near = between.lines().count() <= 12
            && !between.contains('}')
            && !between.contains("def ")
            && !between.contains("class ")
            && !between.contains("mod ");
        is_near.then_some(next)
    })
}

fn lost_assertions(
    evidence: &Evidence,
    side: &Sides,
    moves: &Moves,
    found: &mut Vec<(CheckSeverity, String)>,
) {
    if side.is_new || side.cases_before.is_empty() {
        return;
    }
    let weight =
        |severity| if evidence.contract.tests == Guard::MayChange { CheckSeverity::Minor } else { severity };
    let after: HashMap<&str, &TestCase> =
        side.cases_after.iter().map(|case| (case.name.as_str(), case)).collect();
    for case in &side.cases_before {
        let old = assertions(side.before.get(case.range.clone()).unwrap_or(""), side.language);
        if old == 0 || moves.bodies_after.contains(&case.body) {
            continue;
        }
        match after.get(case.name.as_str()) {
            Some(now) => {
                let new = assertions(side.after.get(now.range.clone()).unwrap_or(""), side.language);
                let text = side.after.get(now.range.clone()).unwrap_or("");
                let old_text = side.before.get(case.range.clone()).unwrap_or("");
                if ends_early(text, side.language) && !ends_early(old_text, side.language) {
                    let line = format!("{}: `{}` ends before its assertions", side.name, case.name);
                    found.push((CheckSeverity::Critical, line));
                }
                if side.language == Language::Script && bare_expects(text) > bare_expects(old_text) {
                    let line = format!("{}: `{}` expects without a matcher", side.name, case.name);
                    found.push((weight(CheckSeverity::Major), line));
                }
                if swallowed(text, side.language) > swallowed(old_text, side.language) {
                    let line = format!("{}: `{}` swallows what its assertions raise", side.name, case.name);
                    found.push((weight(CheckSeverity::Major), line));
                }
                if new < old && !(moves.asserts_gained > 0 && moves.calls_helper(text)) {
                    let severity = if new == 0 { CheckSeverity::Critical } else { CheckSeverity::Major };
                    found.push((
                        weight(severity),
                        format!("{}: `{}` had {old} assertions, now {new}", side.name, case.name),
                    ));
                }
            }
            // Whether the test is missed is measured by running it; here it is only named.
            None => found.push((
                CheckSeverity::Minor,
                format!("{}: `{}` with {old} assertions is gone", side.name, case.name),
            )),
        }
    }
}

/// `|| true` and `continue-on-error: true` in what runs tests.
fn silenced_failures(file: &ChangedFile, before: &str, found: &mut Vec<(CheckSeverity, String)>) {
    let name = file.name();
    let is_manifest = file_name(&name) == "package.json";
    let is_script = matches!(Language::of(&name), Some(Language::Shell))
        && (is_test(&name) || is_ci(&name) || name.contains("test") || name.contains("check"));
    if !is_manifest && !is_script && !is_ci(&name) && !is_runner_configuration(&name) {
        return;
    }
    let Some(after) = file.text_after() else { return };
    let language = Language::of(&name).unwrap_or(Language::Config);
    let silences = |line: &str| {
        let compact: String = line.split_whitespace().collect::<Vec<_>>().join(" ");
        compact.contains("continue-on-error: true")
            || compact.contains("allow_failure: true")
            || compact.contains("|| true")
            || compact.contains("||true")
            || compact.contains("|| exit 0")
            || compact.contains("|| :")
    };
    // In a manifest the scripts are strings; elsewhere comments are left out.
    let code = |text: &str| {
        if is_manifest { text.to_owned() } else { crate::work::source::without_comments(text, language) }
    };
    let (before, after) = (code(before), code(after));
    let count = |text: &str| text.lines().filter(|line| silences(line)).count();
    if count(&after) <= count(&before) {
        return;
    }
    for line in added_lines(&before, &after).into_iter().filter(|line| silences(line.text)) {
        let is_setting = !line.text.contains("||");
        let runs_tests = is_setting
            || runner_of_command(line.text, None).is_some()
            || ["test", "lint", "check"].iter().any(|word| line.text.contains(word));
        let severity = if runs_tests { CheckSeverity::Critical } else { CheckSeverity::Minor };
        found.push((severity, format!("{name}:{}: {}", line.number, line.text.trim())));
    }
}

/// Lints switched off, time limits raised.
fn lints(evidence: &Evidence, file: &ChangedFile, before: &str, found: &mut Vec<(CheckSeverity, String)>) {
    const IN_COMMENTS: [(&str, &[&str]); 10] = [
        ("eslint-disable", &["eslint"]),
        ("@ts-ignore", &["tsc", "vue-tsc"]),
        ("@ts-nocheck", &["tsc", "vue-tsc"]),
        ("noqa", &["flake8", "ruff"]),
        ("type: ignore", &["mypy", "pyright"]),
        ("pylint: disable", &["pylint"]),
        ("nolint", &["golangci-lint", "staticcheck"]),
        ("rubocop:disable", &["rubocop"]),
        ("shellcheck disable", &["shellcheck"]),
        ("biome-ignore", &["biome"]),
    ];
    const IN_CODE: [(&str, &[&str]); 3] = [
        ("#[allow(", &["clippy"]),
        ("#![allow(", &["clippy"]),
        ("@SuppressWarnings(", &["checkstyle", "pmd"]),
    ];
    let name = file.name();
    let (Some(language), Some(after)) = (Language::of(&name), file.text_after()) else { return };
    let is_generated = ["@generated", "DO NOT EDIT", "auto-generated", "autogenerated", "Code generated"];
    let head: String = after.chars().take(1000).collect();
    if !is_code(&name) || is_document(&name) || is_generated.iter().any(|sign| head.contains(sign)) {
        return;
    }
    let commands: Vec<String> = evidence
        .contract
        .validation_commands
        .iter()
        .map(|command| {
            let script = script_of(evidence, &command.command).unwrap_or_default();
            format!("{} {script}", command.command)
        })
        .collect();
    let mut look = |before: &str, after: &str, signs: &[(&str, &[&str])]| {
        for (sign, tools) in signs {
            if after.matches(sign).count() <= before.matches(sign).count() {
                continue;
            }
            let is_command = commands.iter().any(|command| {
                command.split(|c: char| c.is_whitespace() || c == '/').any(|word| tools.contains(&word))
            });
            let severity = if is_command { CheckSeverity::Major } else { CheckSeverity::Minor };
            let line = added_lines(before, after).into_iter().find(|line| line.text.contains(sign));
            let at = line.map_or(0, |line| line.number);
            found.push((severity, format!("{name}:{at}: `{sign}` added")));
        }
    };
    look(&comments(before, language), &comments(after, language), &IN_COMMENTS);
    let (before, after) = (masked(before, language), masked(after, language));
    look(&before, &after, &IN_CODE);
    if is_test(&name) {
        for sign in ["jest.setTimeout(", "this.timeout(", "mark.timeout(", "testTimeout"] {
            if after.matches(sign).count() > before.matches(sign).count() {
                found.push((CheckSeverity::Minor, format!("{name}: `{sign}` added")));
            }
        }
    }
}

#[cfg(test)]
#[path = "weakened_tests.rs"]
mod weakened_tests;
