use super::*;
use crate::model::change_kind::ChangeKind;
use crate::model::worker_report::{AdvisorReason, WorkerStatus};
use crate::work::evidence::{ChangeSet, ChangedFile, FileState, Node};
use proptest::prelude::*;
use serde_json::json;

const NONCE: &str = "n-4711";

fn file(text: &str) -> Testimony {
    collect(Some(text.as_bytes()), None, Some(NONCE))
}

fn answer(text: &str) -> Testimony {
    collect(None, Some(text), Some(NONCE))
}

fn good() -> String {
    json!({"schema_version": "worker-report.v1", "status": "completed", "task": "t", "files_changed": ["a.js"], "commit": null,
        "summary": "{braces} \"and\" quotes", "nonce": NONCE, "mood": "fine",
        "self_review": [{"rule": "r", "verified": true, "evidence": "e {"}]})
    .to_string()
}

#[test]
fn a_report_is_read_and_unknown_fields_are_kept() {
    let found = file(&good());
    assert_eq!(found.problems, Vec::<String>::new());
    assert_eq!(found.source, ReportSource::File);
    let report = found.report.unwrap();
    assert_eq!((report.files_changed, report.commit), (vec!["a.js".to_owned()], None));
    assert_eq!(report.unknown, json!({"mood": "fine"}).as_object().unwrap().clone());
    assert!(report.self_review[0].verified);
    assert!(file(&format!("\u{feff}{}", good())).problems.is_empty());
}

#[test]
fn what_is_no_report_is_one_problem() {
    let twice = r#"{"status":"completed","files_changed":[],"nonce":"n-4711","status":"failed"}"#;
    let deep = format!("{{\"status\":\"completed\",\"x\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let cases = [
        ("", "the report is empty"),
        ("  \n", "the report is empty"),
        ("done!", "the report is not valid JSON: expected value at line 1 column 1"),
        ("[]", "the report must be an object, not a list"),
        ("{}", "it is neither a worker report nor an advisor request: there is no `status`"),
        (twice, "the report is not valid JSON: duplicate key `status` at line 1 column 66"),
        (&deep, "the report is not valid JSON: recursion limit exceeded at line 1 column 153"),
    ];
    for (text, problem) in cases {
        let found = file(text);
        assert_eq!(
            (found.problems, found.report),
            (vec![problem.to_owned()], None),
            "{}",
            &text[..text.len().min(80)]
        );
    }
    for (bytes, problem) in [
        (&b"\xff\xfe{\0"[..], "the report is UTF-16, not UTF-8"),
        (b"{\"status\":\"\xe9\"}", "the report is not UTF-8"),
    ] {
        assert_eq!(collect(Some(bytes), None, Some(NONCE)).problems, [problem]);
    }
    let large = vec![b' '; LARGEST_REPORT + 1];
    assert_eq!(
        collect(Some(&large), None, None).problems,
        ["the report has 1048577 bytes, more than 1048576"]
    );
}

#[test]
fn all_wrong_types_are_listed() {
    let text = json!({"status": "completed", "files_changed": ["a", 1, {}], "commit": 5, "summary": [], "nonce": NONCE,
        "self_review": [{"rule": 1, "verified": "yes", "evidence": null}, 3], "noop": true})
    .to_string();
    assert_eq!(
        file(&text).problems,
        [
            "`files_changed[1]` must be a text, not a number",
            "`files_changed[2]` must be a text, not an object",
            "`commit` must be a text, not a number",
            "`summary` must be a text, not a list",
            "`noop` must be a text with the reason, not true or false",
            "`self_review[0].rule` must be a text, not a number",
            "`self_review[0].verified` must be true or false, not a text",
            "`self_review[0].evidence` must be a text, not null",
            "`self_review[1]` must be an object, not a number",
        ]
    );
    let many = json!({"status": "completed", "files_changed": vec![1; 100], "nonce": NONCE}).to_string();
    let problems = file(&many).problems;
    assert_eq!((problems.len(), problems[40].as_str()), (41, "and 60 more"));
}

#[test]
fn the_small_failure_and_the_nonce() {
    let small = file(r#"{"status":"failed","escalation_reason":"the spec is wrong"}"#);
    assert_eq!(small.problems, Vec::<String>::new());
    assert_eq!(small.report.unwrap().status, WorkerStatus::Failed);
    let blank = file(r#"{"status":"escalated","escalation_reason":" "}"#);
    assert_eq!(blank.problems, ["`escalation_reason` is missing"]);
    let old = file(&good().replace(NONCE, "n-1"));
    assert_eq!((old.problems, old.report), (vec!["`nonce` is not the one of this attempt".to_owned()], None));
    let none = file(r#"{"status":"completed","files_changed":[]}"#);
    assert_eq!((none.problems, none.report.is_some()), (vec!["`nonce` is missing".to_owned()], true));
    let unchecked = collect(Some(br#"{"status":"completed","files_changed":[]}"#), None, None);
    assert_eq!(unchecked.problems, Vec::<String>::new());
    let odd = file(r#"{"status":"done","nonce":"n-4711"}"#);
    assert_eq!((odd.problems.len(), odd.report), (1, None));
}

#[test]
fn an_advisor_request_is_recognised() {
    let found = file(
        r#"{"schema_version":"advisor-request.v1","reason_code":"needs-spike","question":"which?","attempt":2}"#,
    );
    let request = found.request.unwrap();
    assert_eq!((request.reason_code, request.attempt, found.report), (AdvisorReason::NeedsSpike, 2, None));
    let bad = file(r#"{"reason_code":"bored","question":""}"#);
    assert_eq!((bad.problems.len(), bad.request), (2, None));
}

#[test]
fn the_last_object_of_the_answer_that_has_the_nonce_counts() {
    let first = good().replace("a.js", "old.js");
    let texts = [
        good(),
        format!("Done.\n```json\n{}\n```\nBye {{", good()),
        format!("{first}\nand then\n{} (nonce {NONCE})", good()),
        format!("{{\"a\": {{\"b\": {}}}}} {{\"nonce\": \"other\"}}", good()),
        format!("{} {{\"status\": \"completed\", \"nonce\": \"n-1\"}}", good()),
    ];
    for text in texts {
        let found = answer(&text);
        assert_eq!(found.source, ReportSource::FinalAnswer, "{text}");
        assert_eq!(found.report.map(|report| report.files_changed), Some(vec!["a.js".to_owned()]), "{text}");
    }
    assert_eq!(answer("all tests pass"), Testimony::default());
    assert_eq!(answer(&good().replace(NONCE, "n-1")), Testimony::default());
    assert_eq!(
        answer("my nonce is n-4711").problems,
        ["the final answer names the nonce, but not in a complete JSON object"]
    );
    let twice = answer(&good().replacen('{', "{\"status\":\"failed\",", 1));
    assert_eq!((twice.source, twice.report), (ReportSource::FinalAnswer, None));
    assert!(twice.problems[0].contains("duplicate key"), "{:?}", twice.problems);
    // A file is there, so the answer does not count.
    assert!(collect(Some(b"{"), Some(&good()), Some(NONCE)).report.is_none());
}

#[test]
fn hostile_answers_take_bounded_time() {
    let braces = "{".repeat(50_000_000);
    assert_eq!(answer(&braces), Testimony::default());
    let named = format!("{braces} {NONCE} {}", "{".repeat(1000));
    assert_eq!(answer(&named).report, None);
    let nested = format!("{} \"{NONCE}\"", "{\"a\":".repeat(400_000));
    assert_eq!(answer(&nested).report, None);
    let strings = format!("{} {NONCE}", "{\"a\":\"".repeat(100_000));
    assert_eq!(answer(&strings).report, None);
    let places = NONCE.repeat(1_000_000);
    assert_eq!(answer(&places).report, None);
    assert!(answer(&format!("{braces}{}", good())).report.is_some());
}

#[test]
fn the_schemas_hold_what_they_say() {
    let strict = worker_report_schema(true);
    let keys: Vec<&String> = strict["properties"].as_object().unwrap().keys().collect();
    let required: Vec<&str> =
        strict["required"].as_array().unwrap().iter().map(|key| key.as_str().unwrap()).collect();
    assert_eq!(keys, required);
    assert_eq!(strict["additionalProperties"], json!(false));
    assert_eq!(strict["properties"]["self_review"]["items"]["additionalProperties"], json!(false));
    assert_eq!(worker_report_schema(false)["properties"]["nonce"], json!({"type": ["string", "null"]}));
    let whole = json!({"schema_version": "worker-report.v1", "status": "completed", "task": "t", "files_changed": [], "commit": null,
        "branch": null, "worktreePath": null, "summary": "", "memory_updates": [], "effort_applied": null, "effort_sufficient": null,
        "turns_used": null, "task_complexity_note": null, "nonce": NONCE, "noop": null, "self_review": [], "escalation_reason": null});
    let is_valid = |schema: &Value, value: &Value| jsonschema::validator_for(schema).unwrap().is_valid(value);
    assert!(is_valid(&strict, &whole));
    assert!(!is_valid(&strict, &serde_json::from_str(&good()).unwrap()));
    assert_eq!(file(&whole.to_string()).problems, Vec::<String>::new());
    let format = worker_report_format();
    for (value, expected) in [
        (whole, true),
        (serde_json::from_str(&good()).unwrap(), true),
        (json!({"status": "failed", "escalation_reason": "no"}), true),
        (json!({"status": "failed"}), false),
        (json!({"status": "completed", "files_changed": [1], "nonce": "x"}), false),
        (json!({}), false),
    ] {
        assert_eq!(is_valid(&format, &value), expected, "{value}");
        assert_eq!(
            collect(Some(value.to_string().as_bytes()), None, None).problems.is_empty(),
            expected,
            "{value}"
        );
    }
    let request = json!({"reason_code": "needs-spike", "question": "?"});
    assert!(is_valid(&advisor_request_schema(), &request));
}

#[test]
fn the_runner_lists_what_it_measured() {
    let state = |node| Some(FileState { node, mode: 0o644, hash: "h".into(), size: 1 });
    let added = |path: &str, node| ChangedFile {
        path: path.into(),
        kind: ChangeKind::Added,
        renamed_from: None,
        before: None,
        after: state(node),
    };
    let changes = ChangeSet {
        files: vec![added("a", Node::Directory), added("a/b", Node::File(None))],
        ..ChangeSet::default()
    };
    let found = runner_report("\n fix it \nsoon", NONCE, &changes);
    let report = found.report.unwrap();
    assert_eq!((found.source, report.summary.as_str()), (ReportSource::Runner, "fix it"));
    assert_eq!(report.files_changed, ["a/b"]);
    assert_eq!(found.raw.unwrap()["files_changed"], json!(["a/b"]));
}

proptest! {
    #[test]
    fn nothing_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200), text in "[{}\"a:\\\\,n\\-4711 é]{0,60}") {
        let _ = collect(Some(&bytes), None, Some(NONCE));
        let found = answer(&text);
        prop_assert!(found.report.is_none());
    }
}
