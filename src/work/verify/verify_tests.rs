use super::*;
use crate::model::change_kind::ChangeKind;
use crate::model::contract::{
    CommandOrigin, Contract, ContractForm, Guard, SpecSkip, ValidationCommand, WorkMode,
};
use crate::model::event::Event;
use crate::model::verdict::{Blocker, CheckSeverity};
use crate::model::worker_report::{SelfReviewItem, WorkerReport, WorkerStatus};
use crate::work::evidence::*;
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;

fn contract() -> Contract {
    serde_json::from_value(json!({
        "task": "fix it", "task_id": "t1", "files": ["src/"], "validation_commands": [{"command": "npm test"}],
    }))
    .unwrap()
}

fn evidence(files: Vec<ChangedFile>) -> Evidence {
    let report = WorkerReport {
        files_changed: files.iter().map(|file| file.name().into_owned()).collect(),
        ..WorkerReport::default()
    };
    Evidence {
        contract: contract(),
        harness: HarnessEnd::Completed,
        changes: ChangeSet { files, ..ChangeSet::default() },
        base: base(&["src/login.js", "src/api.js", "package.json", "README.md"]),
        testimony: Testimony { source: ReportSource::File, report: Some(report), ..Testimony::default() },
        events: Vec::new(),
        denied: Vec::new(),
        used_although_denied: Vec::new(),
        executions: Vec::new(),
        not_executed: None,
        git: GitFacts { is_repository: true, ..GitFacts::default() },
        outside: Vec::new(),
        sandbox: "project".into(),
        uses_base: true,
        plan_file: "Plans.md".into(),
        tdd_enforced: false,
    }
}

fn base(paths: &[&str]) -> Base {
    Base { paths: Arc::new(paths.iter().map(|path| (*path).to_owned()).collect()), ..Base::default() }
}

fn state(node: Node, hash: &str) -> FileState {
    FileState { node, mode: 0o644, hash: hash.into(), size: 1 }
}

fn edit(path: &str, before: Option<&str>, after: Option<&str>) -> ChangedFile {
    let side = |text: Option<&str>| text.map(|text| state(Node::File(Some(text.into())), text));
    let kind = match (before, after) {
        (None, _) => ChangeKind::Added,
        (_, None) => ChangeKind::Deleted,
        _ => ChangeKind::Modified,
    };
    ChangedFile { path: path.into(), kind, renamed_from: None, before: side(before), after: side(after) }
}

fn link(path: &str, target: &str) -> ChangedFile {
    let after = Some(state(Node::Link(target.into()), target));
    ChangedFile { path: path.into(), kind: ChangeKind::Added, renamed_from: None, before: None, after }
}

fn allows(path: &str) -> bool {
    path.starts_with("src/")
}

/// Status, severity and blocker of a check.
type Outcome = (CheckStatus, Option<(CheckSeverity, Option<Blocker>)>);

const PASSED: Outcome = (CheckStatus::Passed, None);
const SKIPPED: Outcome = (CheckStatus::Skipped, None);
const MINOR: Outcome = (CheckStatus::Failed, Some((CheckSeverity::Minor, None)));

fn failed(severity: CheckSeverity, blocker: Blocker) -> Outcome {
    (CheckStatus::Failed, Some((severity, Some(blocker))))
}

fn outcome(evidence: &Evidence, name: CheckName) -> Outcome {
    let checks = before_commands(evidence, &allows);
    let check = checks.iter().find(|check| check.id.name == name).unwrap();
    let worst = (check.status == CheckStatus::Failed).then_some((check.severity, check.blocker));
    (check.status, worst)
}

fn listing(paths: &[&str]) -> Evidence {
    let mut found =
        evidence(vec![edit("src/login.js", Some("a"), Some("b")), edit("src/new/x.js", None, Some("x"))]);
    found.testimony.report.as_mut().unwrap().files_changed =
        paths.iter().map(|path| (*path).to_owned()).collect();
    found
}

#[test]
fn the_harness_and_the_report() {
    let good = evidence(vec![edit("src/login.js", Some("a"), Some("b"))]);
    assert_eq!(outcome(&good, CheckName::Harness), PASSED);
    assert_eq!(outcome(&good, CheckName::Report), PASSED);
    let with = |harness| Evidence { harness, ..good.clone() };
    let incapable = with(HarnessEnd::Incapable("no login".into()));
    assert_eq!(
        outcome(&incapable, CheckName::Harness),
        failed(CheckSeverity::Critical, Blocker::CapabilityGap)
    );
    let mut broken = with(HarnessEnd::Failed("exit 1".into()));
    assert_eq!(outcome(&broken, CheckName::Harness), failed(CheckSeverity::Critical, Blocker::ToolFailure));
    assert!(commands_are_useless(&before_commands(&broken, &allows)).is_some());
    assert!(commands_are_useless(&before_commands(&good, &allows)).is_none());
    broken.testimony = Testimony::default();
    assert_eq!(outcome(&broken, CheckName::Report), failed(CheckSeverity::Major, Blocker::ToolFailure));
    let mut without = good.clone();
    without.testimony = Testimony::default();
    assert_eq!(outcome(&without, CheckName::Report), failed(CheckSeverity::Major, Blocker::Partial));
    without.contract.form = ContractForm::Short;
    assert_eq!(outcome(&without, CheckName::Report), SKIPPED);
    let mut claims = good.clone();
    claims.changes = ChangeSet::default();
    assert_eq!(outcome(&claims, CheckName::Report), failed(CheckSeverity::Critical, Blocker::Hallucination));
    let raw = json!({"status": "completed", "files_changed": ["src/a.js"]});
    claims.testimony = Testimony { problems: vec!["x".into()], raw: Some(raw), ..Testimony::default() };
    assert_eq!(outcome(&claims, CheckName::Report), failed(CheckSeverity::Critical, Blocker::Hallucination));
}

#[test]
fn listed_files_are_compared_however_they_are_written() {
    let honest: [&[&str]; 9] = [
        &["src/login.js", "src/new/x.js"],
        &["./src//login.js", "src/new/"],
        &["/home/u/project/src/login.js", "/home/u/project/src/new/x.js"],
        &["src\\login.js", "src/api/../new/x.js"],
        &["src/login.js (fixed)", "`src/new/x.js`", ""],
        &["src/login.js:12", "A src/new/x.js", "src/login.js"],
        &["SRC/login.js", "src/new"],
        &["src/login.js", "src/new/x.js", "src/*.js"],
        &["src/login.js", "src/new/x.js", "."],
    ];
    for paths in honest {
        assert_eq!(outcome(&listing(paths), CheckName::FilesChanged), PASSED, "{paths:?}");
    }
    let invented: [&[&str]; 4] = [
        &["src/login.js", "src/new/x.js", "src/api.js"],
        &["src/login.js", "src/new/x.js", "src/gone.js"],
        &["/p/src/login.js", "/p/src/new/x.js", "/p/src/api.js"],
        &["src/login.js", "src/new/x.js", "/p/other/src/none.js"],
    ];
    for paths in invented {
        let expected = failed(CheckSeverity::Critical, Blocker::Hallucination);
        assert_eq!(outcome(&listing(paths), CheckName::FilesChanged), expected, "{paths:?}");
    }
    for paths in [&["src/login.js"][..], &["src/new/x.js"], &[], &["src/"], &["src/*.js", "src/new/x.js"]] {
        let expected = failed(CheckSeverity::Major, Blocker::Partial);
        assert_eq!(outcome(&listing(paths), CheckName::FilesChanged), expected, "{paths:?}");
    }
    let mut apart = listing(&["src/login.js", "src/new/x.js", "dist/a.js", "src/api.js", "/tmp/notes.txt"]);
    apart.changes.ignored = vec!["dist".into()];
    apart.changes.restored = vec!["src/api.js".into()];
    assert_eq!(outcome(&apart, CheckName::FilesChanged), MINOR);
    let octal = {
        let mut found = evidence(vec![edit("src/ä.js", None, Some("x"))]);
        found.testimony.report.as_mut().unwrap().files_changed = vec!["\"src/\\303\\244.js\"".into()];
        found
    };
    assert_eq!(outcome(&octal, CheckName::FilesChanged), PASSED);
}

#[test]
fn either_name_of_a_rename_is_enough() {
    let mut new = edit("src/b.js", None, Some("x"));
    new.renamed_from = Some("src/login.js".into());
    for listed in ["src/b.js", "src/login.js", "src/login.js -> src/b.js"] {
        let mut found = evidence(vec![new.clone(), edit("src/login.js", Some("x"), None)]);
        found.testimony.report.as_mut().unwrap().files_changed = vec![listed.into()];
        assert_eq!(outcome(&found, CheckName::FilesChanged), PASSED, "{listed}");
    }
    new.path = "other/b.js".into();
    let moved = evidence(vec![new]);
    assert_eq!(outcome(&moved, CheckName::Scope), failed(CheckSeverity::Critical, Blocker::ScopeDrift));
}

#[test]
fn scope_and_emptiness() {
    let drift = failed(CheckSeverity::Critical, Blocker::ScopeDrift);
    let directory =
        |path: &str| ChangedFile { after: Some(state(Node::Directory, "")), ..edit(path, None, Some("")) };
    for (file, expected) in [
        (edit("src/login.js", Some("a"), None), PASSED),
        (edit("README.md", Some("a"), None), drift),
        (edit("README.md", Some("a"), Some("b")), drift),
        (link("doc", "src"), drift),
        (directory("empty"), MINOR),
    ] {
        assert_eq!(outcome(&evidence(vec![file.clone()]), CheckName::Scope), expected, "{file:?}");
    }
    let empty_handed = failed(CheckSeverity::Critical, Blocker::Hallucination);
    let mut nothing = evidence(Vec::new());
    assert_eq!(outcome(&nothing, CheckName::NotEmpty), empty_handed);
    nothing.changes.restored = vec!["src/login.js".into()];
    assert_eq!(outcome(&nothing, CheckName::NotEmpty), empty_handed);
    nothing.testimony.report.as_mut().unwrap().noop = Some("it is there already".into());
    assert_eq!(outcome(&nothing, CheckName::NotEmpty), SKIPPED);
    nothing.executions.push(run(View::Base, 1));
    assert_eq!(outcome(&nothing, CheckName::NotEmpty), empty_handed);
    nothing.testimony.report.as_mut().unwrap().status = WorkerStatus::Failed;
    assert_eq!(outcome(&nothing, CheckName::NotEmpty), SKIPPED);
}

fn run(on: View, code: i32) -> Execution {
    Execution { command: 0, on, end: CommandEnd::Exited(code), seconds: 1.0, summary: None, tail: Vec::new() }
}

#[test]
fn links_and_names() {
    let bad = failed(CheckSeverity::Major, Blocker::ScopeDrift);
    for (files, expected) in [
        (vec![link("src/l", "login.js")], PASSED),
        (vec![link("src/l", "../README.md")], PASSED),
        (vec![link("src/l", "../../etc/passwd")], bad),
        (vec![link("src/l", "/etc/passwd")], bad),
        (vec![link("src/d", ".."), link("src/l", "d/../etc/passwd")], bad),
        (vec![link("src/l", "../node_modules/x")], bad),
        (vec![link("src/l", "../.env")], bad),
        (vec![link("src/a", "b"), link("src/b", "a")], PASSED),
        (vec![edit("src/Login.js", None, Some("x"))], bad),
        (vec![edit("src/lоgin.js", None, Some("x"))], bad),
        (vec![edit("SRC/x.js", None, Some("x"))], bad),
        (vec![edit("src/a\u{202e}.js", None, Some("x"))], bad),
        (vec![edit("src/a.js", None, Some("x")), edit("src/A.js", None, Some("x"))], bad),
        (vec![edit("src/Login.js", None, Some("x")), edit("src/login.js", Some("x"), None)], PASSED),
        (vec![edit("src/größe.js", None, Some("x"))], PASSED),
        (vec![edit("src/x.js", None, Some("if (a\u{202e}) {}"))], bad),
        (vec![edit("src/x.js", None, Some("is\u{200b}admin()"))], bad),
        (vec![edit("src/x.js", None, Some("\u{feff}x = 'é 👨\u{200d}👩'"))], PASSED),
        (vec![edit("src/x.js", None, Some("x = ' \u{200b} '"))], MINOR),
        (vec![edit("src/x.js", Some("a\u{202e}"), Some("b\na\u{202e}"))], PASSED),
        (vec![edit("src/x.md", None, Some("a\u{202e}"))], PASSED),
    ] {
        assert_eq!(outcome(&evidence(files.clone()), CheckName::LinksNames), expected, "{files:?}");
    }
}

#[test]
fn commits_and_repositories() {
    let bad = failed(CheckSeverity::Major, Blocker::Hallucination);
    let good =
        NamedCommit { name: "abc".into(), exists: true, contains_changes: true, branch: Some("main".into()) };
    let with = |named: NamedCommit, mode| {
        let mut found = evidence(vec![edit("src/login.js", Some("a"), Some("b"))]);
        found.testimony.report.as_mut().unwrap().commit = Some("abc".into());
        found.git.named = Some(named);
        found.contract.mode = mode;
        found
    };
    let on = |branch: &str| NamedCommit { branch: Some(branch.into()), ..good.clone() };
    for (named, mode, expected) in [
        (good.clone(), WorkMode::Solo, PASSED),
        (on("refs/heads/harness-work/t1"), WorkMode::Breezing, PASSED),
        (good.clone(), WorkMode::Breezing, bad),
        (on("harness-work/t2"), WorkMode::Breezing, bad),
        (NamedCommit { exists: false, ..good.clone() }, WorkMode::Solo, bad),
        (NamedCommit { contains_changes: false, ..good.clone() }, WorkMode::Solo, bad),
    ] {
        assert_eq!(outcome(&with(named.clone(), mode), CheckName::Commit), expected, "{named:?}");
    }
    let mut none = with(good, WorkMode::Solo);
    none.git = GitFacts::default();
    assert_eq!(outcome(&none, CheckName::Commit), bad);
    none.testimony.report.as_mut().unwrap().commit = Some("none".into());
    assert_eq!(outcome(&none, CheckName::Commit), SKIPPED);
    let mut plumbing = evidence(vec![edit("src/login.js", Some("a"), Some("b"))]);
    assert_eq!(outcome(&plumbing, CheckName::GitPlumbing), PASSED);
    plumbing.git.settings_written = vec![".git/hooks/pre-commit".into()];
    assert_eq!(outcome(&plumbing, CheckName::GitPlumbing), MINOR);
    plumbing.git.would_be_exported = true;
    assert_eq!(
        outcome(&plumbing, CheckName::GitPlumbing),
        failed(CheckSeverity::Critical, Blocker::ScopeDrift)
    );
    let mut nested = evidence(vec![edit("src/lib/.git/config", None, Some("x"))]);
    let request = nested_repo_request(&nested).unwrap();
    assert_eq!(request.trigger_hash, "t1:needs-spike:embedded-git-repo");
    assert_eq!(request.context_summary, ["src/lib"]);
    assert_eq!(outcome(&nested, CheckName::NestedRepo), failed(CheckSeverity::Major, Blocker::Partial));
    let target = json!({"repo_root": "./src/lib/", "branch": "x"});
    nested.contract.commit_target = Some(serde_json::from_value(target).unwrap());
    assert_eq!((nested_repo_request(&nested), outcome(&nested, CheckName::NestedRepo)), (None, PASSED));
    let mut above = evidence(vec![edit("src/login.js", Some("a"), Some("b"))]);
    above.git.has_superproject = true;
    assert_eq!(nested_repo_request(&above), None);
}

#[test]
fn terms_of_the_contract() {
    let marker = "# Plan\n| 1 | login | cc:TODO |\n| 2 | x | cc:done [abc] |\n";
    for (after, expected) in [
        (marker.replace("cc:TODO", "cc:done"), failed(CheckSeverity::Major, Blocker::Partial)),
        (String::new(), failed(CheckSeverity::Major, Blocker::Partial)),
        (format!("{marker}| 3 | y | cc:WIP |\r\n"), failed(CheckSeverity::Major, Blocker::Partial)),
        (format!("{marker}note\n"), PASSED),
        (format!("{marker}| 3 | y | cc:maybe |\n| cc:TODO | y |\n"), PASSED),
    ] {
        let mut found = evidence(vec![edit("Plans.md", Some(marker), Some(&after))]);
        assert_eq!(outcome(&found, CheckName::PlanMarkers), SKIPPED);
        found.contract.mode = WorkMode::Breezing;
        assert_eq!(outcome(&found, CheckName::PlanMarkers), expected, "{after}");
        if expected != PASSED {
            let checks = before_commands(&found, &allows);
            let check = checks.iter().find(|check| check.id.name == CheckName::PlanMarkers).unwrap();
            assert_eq!(check.observed, "cc:* marker transitions are Lead-owned in Phase C (breezing mode)");
        }
    }
    let mut review = evidence(vec![edit("src/login.js", Some("a"), Some("b"))]);
    assert_eq!(outcome(&review, CheckName::SelfReview), SKIPPED);
    review.contract.self_review_rules = vec!["r1".into(), "r2".into()];
    let item = |rule: &str, verified, text: &str| SelfReviewItem {
        rule: rule.into(),
        verified,
        evidence: text.into(),
    };
    for (items, expected) in [
        (vec![item("r2", true, "x"), item("r1", true, "y"), item("r9", false, "")], PASSED),
        (vec![item("r1", true, "y")], failed(CheckSeverity::Major, Blocker::Partial)),
        (vec![item("r1", true, "y"), item("r2", false, "x")], failed(CheckSeverity::Major, Blocker::Partial)),
        (vec![item("r1", true, "y"), item("r2", true, " …")], failed(CheckSeverity::Major, Blocker::Partial)),
        (
            vec![item("r1", true, "y"), item("r2", true, "x"), item("r2", true, "x")],
            failed(CheckSeverity::Major, Blocker::Partial),
        ),
    ] {
        review.testimony.report.as_mut().unwrap().self_review = items.clone();
        assert_eq!(outcome(&review, CheckName::SelfReview), expected, "{items:?}");
    }
    let mut spec = evidence(vec![edit("docs/spec.md", Some("a"), Some("b"))]);
    spec.contract.spec_path = Some("./docs/spec.md#login".into());
    assert_eq!(outcome(&spec, CheckName::Spec), failed(CheckSeverity::Major, Blocker::Partial));
    spec.contract.spec_path = Some("src/spec.md".into());
    assert_eq!(outcome(&spec, CheckName::Spec), PASSED);
    spec.contract.spec_path = None;
    spec.contract.spec_skip_reason = Some(SpecSkip::DocsOnly);
    assert_eq!(outcome(&spec, CheckName::Spec), PASSED);
    spec.changes.files.push(edit("src/login.js", Some("a"), Some("b")));
    assert_eq!(outcome(&spec, CheckName::Spec), failed(CheckSeverity::Major, Blocker::Partial));
    spec.used_although_denied = vec!["Task(x)".into()];
    assert_eq!(outcome(&spec, CheckName::Tools), failed(CheckSeverity::Critical, Blocker::ScopeDrift));
    spec.outside = vec!["~/.npmrc".into()];
    assert_eq!(outcome(&spec, CheckName::Outside), failed(CheckSeverity::Critical, Blocker::ScopeDrift));
}

fn call(name: &str, subject: &str) -> crate::model::event::RecordedEvent {
    Event::ToolStarted { id: "1".into(), name: name.into(), subject: Some(subject.into()) }.into()
}

#[test]
fn quoted_commands_were_run() {
    let bad = failed(CheckSeverity::Major, Blocker::Hallucination);
    for (text, calls, expected) in [
        ("`npm test` passed", vec![call("Bash", "cd x && npm run test 2>&1 | tail")], PASSED),
        ("ran `npm test -- --ci`: ok", vec![call("Bash", "npm test")], PASSED),
        ("`npm test` passed", vec![call("Bash", "ls")], bad),
        ("$ cargo test --all\nok", vec![call("Bash", "ls"), call("Edit", "src/a.rs")], bad),
        ("`npm test` passed", vec![], SKIPPED),
        ("could not run `npm test`", vec![call("Bash", "ls")], SKIPPED),
        ("all tests pass", vec![call("Bash", "ls")], SKIPPED),
        ("uses `cargo` and `src/a.rs`", vec![call("Bash", "ls")], SKIPPED),
        ("`npm test` passed", vec![call("Bash", "cat x …")], SKIPPED),
    ] {
        let mut found = evidence(vec![edit("src/login.js", Some("a"), Some("b"))]);
        let item = SelfReviewItem { rule: "r".into(), verified: true, evidence: text.into() };
        found.testimony.report.as_mut().unwrap().self_review = vec![item];
        found.events = calls;
        assert_eq!(outcome(&found, CheckName::Evidence), expected, "{text}");
    }
    let mut red = evidence(vec![edit("src/login.js", Some("a"), Some("b"))]);
    let claim = json!([{"command": "npm test", "exit_code": 0}]);
    red.testimony.report.as_mut().unwrap().unknown.insert("validation".into(), claim);
    red.events = vec![call("Bash", "npm test"), call("Edit", "/p/src/login.js")];
    assert_eq!(outcome(&red, CheckName::Stale), MINOR);
    red.executions = vec![run(View::Base, 0), run(View::Result, 1)];
    assert_eq!(outcome(&red, CheckName::Evidence), bad);
    red.executions.push(run(View::ResultAgain, 0));
    assert_eq!(outcome(&red, CheckName::Evidence), PASSED);
    red.events.push(call("Bash", "npm test"));
    assert_eq!(outcome(&red, CheckName::Stale), PASSED);
}

proptest! {
    #[test]
    fn the_order_of_files_does_not_matter(order in Just(vec![0usize, 1, 2, 3, 4, 5]).prop_shuffle(), list in Just(vec![0usize, 1, 2]).prop_shuffle()) {
        let files = [
            edit("src/Login.js", None, Some("x\u{202e}")), edit("package.json", Some("{}"), Some("{\"jest\":{}}")), link("src/l", "/x"),
            edit("README.md", Some("a"), None), edit("Makefile", None, Some("a:\n")), link("src/m", "l"),
        ];
        let listed = ["src/no.js", "README.md", "src/nothing.js"];
        let of = |order: &[usize], list: &[usize]| {
            let mut found = evidence(order.iter().map(|index| files[*index].clone()).collect());
            found.testimony.report.as_mut().unwrap().files_changed = list.iter().map(|index| listed[*index].to_owned()).collect();
            verify(&found, &allows, Vec::new())
        };
        prop_assert_eq!(of(&order, &list), of(&[0, 1, 2, 3, 4, 5], &[0, 1, 2]));
    }

    #[test]
    fn what_is_shown_is_short_and_printable(name in "[^/\u{0}]{1,300}", text in any::<String>()) {
        let mut found = evidence(vec![edit(&name, None, Some(&text)), edit("package.json", Some("{}"), Some(&text))]);
        found.testimony.report.as_mut().unwrap().files_changed = vec![text.clone(), text.repeat(100)];
        found.testimony.report.as_mut().unwrap().commit = Some(text.clone());
        found.harness = HarnessEnd::Failed(text.repeat(50));
        let code = Check::failed(CheckName::Validation.of(1), CheckSeverity::Major, None, text.repeat(100), "\u{1b}[2J").with_evidence(vec![text; 90]);
        let checks = verify(&found, &allows, vec![code]);
        for check in checks {
            for line in check.evidence.iter().chain([&check.expected, &check.observed]) {
                prop_assert!(line.len() < 10_000 && crate::model::printable::printable(line) == line.as_str(), "{line:?}");
            }
            prop_assert!(check.evidence.len() < 50);
        }
    }
}

#[test]
fn all_checks_are_in_order() {
    let code = vec![
        Check::skipped(CheckName::Duplicates, ""),
        Check::skipped(CheckName::Validation.of(2), ""),
        Check::skipped(CheckName::Validation.of(1), ""),
    ];
    let checks = verify(&evidence(Vec::new()), &allows, code);
    let ids: Vec<String> = checks.iter().map(|check| check.id.to_string()).collect();
    let order: Vec<&str> = CheckName::ALL.iter().map(|(_, text)| *text).collect();
    let ranks: Vec<Option<usize>> =
        ids.iter().map(|id| order.iter().position(|known| id.split('/').next() == Some(*known))).collect();
    assert!(ranks.is_sorted() && ranks.iter().all(Option::is_some), "{ids:?}");
    assert!(ids.iter().position(|id| id == "validation/1") < ids.iter().position(|id| id == "validation/2"));
}

#[path = "validators_tests.rs"]
mod validators_tests;
