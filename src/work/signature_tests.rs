//! Tests of `signature`.

use super::*;
use crate::model::change_kind::ChangeKind;
use crate::model::verdict::{Blocker, CheckName, CheckSeverity};
use crate::work::evidence::ChangedFile;

fn failed(line: &str) -> Check {
    Check::failed(
        CheckName::Validation.of(1),
        CheckSeverity::Major,
        Some(Blocker::Partial),
        "exit 0",
        "exit 1",
    )
    .with_evidence(["running 3 tests", line])
}

#[test]
fn what_differs_from_run_to_run_is_left_out() {
    let cases = [
        ("error: expected 3, got 4", "error: expected 12, got 7"),
        ("Error at /tmp/a1/src/x.js:12:3 timeout", "Error at /tmp/b2/src/x.js:99:1 timeout"),
        ("\u{1b}[31merror\u{1b}[0m: boom", "error: boom"),
        ("error: boom (8.1s)", "error: boom (12ms)"),
        ("error: object 0xdeadbeef is gone", "error: object 0xfeed1234 is gone"),
        ("error: commit 4f3a9c1 is gone", "error: commit 99ab01c is gone"),
        ("Error: timeout after 2 seconds", "Error: timeout after 31 seconds"),
        ("error in login.js:3", "error in api.py:77"),
    ];
    for (one, other) in cases {
        assert_eq!(signature(&[failed(one)]), signature(&[failed(other)]), "{one} / {other}");
    }
}

#[test]
fn another_error_is_another_signature() {
    let cases = [
        ("error: expected a number", "error: expected a string"),
        ("error: face is missing", "error: decade is missing"),
        ("FAILED rejects expired token", "FAILED locks after tries"),
    ];
    for (one, other) in cases {
        assert_ne!(signature(&[failed(one)]), signature(&[failed(other)]), "{one} / {other}");
    }
    let mut elsewhere = failed("error: boom");
    elsewhere.id = CheckName::Regression.of(1);
    assert_ne!(signature(&[failed("error: boom")]), signature(&[elsewhere]));
}

#[test]
fn a_signature_is_twelve_digits_in_any_order_of_checks_and_none_without_failure() {
    let scope = Check::failed(
        CheckName::Scope,
        CheckSeverity::Critical,
        Some(Blocker::ScopeDrift),
        "in files",
        "1 outside",
    );
    let (one, other) =
        (signature(&[failed("error: x"), scope.clone()]), signature(&[scope, failed("error: x")]));
    assert_eq!(one, other);
    let text = one.unwrap();
    assert!(text.len() == 12 && text.chars().all(|c| c.is_ascii_hexdigit()), "{text}");
    let minor =
        Check::failed(CheckName::Stale, CheckSeverity::Minor, None, "run after the last edit", "run before");
    assert_eq!(signature(&[minor, Check::passed(CheckName::Scope, "", "")]), None);
}

#[test]
fn hostile_lines_are_bounded_and_do_not_panic() {
    for line in ["\u{1b}[", "\u{1b}", "\u{1b}]0;x", "é".repeat(100_000).as_str(), "0x", "\0\0", "////", ""] {
        assert!(signature(&[failed(line)]).is_some());
        assert!(normalized(line).len() <= 4 * LONGEST_LINE);
    }
}

#[test]
fn a_trigger_is_task_reason_and_signature() {
    let text = trigger_hash("fix-login", AdvisorReason::NeedsSpike, "embedded-git-repo");
    assert_eq!(text, "fix-login:needs-spike:embedded-git-repo");
}

fn file(path: &str, mode: u32, hash: &str, node: Node) -> ChangedFile {
    let after = Some(FileState { node, mode, hash: hash.into(), size: 1 });
    ChangedFile { path: path.into(), kind: ChangeKind::Modified, renamed_from: None, before: None, after }
}

#[test]
fn a_change_set_is_known_by_paths_modes_and_contents_in_any_order() {
    let set = |files: Vec<ChangedFile>| change_set_hash(&ChangeSet { files, ..ChangeSet::default() });
    let (a, b) = (file("a", 0o644, "1", Node::File(None)), file("b", 0o644, "2", Node::File(None)));
    let both = set(vec![a.clone(), b.clone()]);
    assert_eq!(both, set(vec![b.clone(), a.clone()]));
    let others = [
        vec![a.clone()],
        vec![a.clone(), file("b", 0o755, "2", Node::File(None))],
        vec![a.clone(), file("b", 0o644, "3", Node::File(None))],
        vec![a.clone(), file("c", 0o644, "2", Node::File(None))],
        vec![a.clone(), file("b", 0o644, "2", Node::Link("x".into()))],
        vec![a.clone(), ChangedFile { after: None, ..b.clone() }],
        vec![],
    ];
    for other in others {
        assert_ne!(both, set(other.clone()), "{other:?}");
    }
}
