//! Tests of `review`.

use super::*;
use crate::model::contract::ReviewTerms;
use crate::model::verdict::CheckStatus;
use crate::work::tests_support::contract;

fn lines(path: &str, number: usize) -> Option<String> {
    let text = ["const a = 1;", "    if (tries >= 5) lock();", "}"];
    (path == "src/login.js").then(|| text.get(number - 1).map(|line| (*line).to_owned())).flatten()
}

fn with_items(ids: &[&str]) -> Contract {
    let item = |id: &&str| DoneItem { id: (*id).into(), text: "x".into(), check: None };
    Contract { definition_of_done: ids.iter().map(item).collect(), ..contract() }
}

fn cited(id: &str, location: &str, quote: &str) -> Value {
    json!({"id": id, "status": "passed", "location": location, "quote": quote})
}

fn gap(severity: &str) -> Value {
    json!({"severity": severity, "location": "src/login.js:2", "issue": "off by one", "suggestion": "use >"})
}

fn answer(verdict: &str, checks: &[Value], gaps: &[Value]) -> String {
    let value = json!({"schema_version": REVIEW_RESULT, "verdict": verdict, "type": "code", "reviewer_profile": "critic",
        "checks": checks, "gaps": gaps, "followups": [], "memory_updates": []});
    format!("I looked at it.\n```json\n{value}\n```")
}

fn status(contract: &Contract, answer: &str) -> CheckStatus {
    review_check(contract, Some(answer), &lines).0.status
}

const GOOD: (&str, &str) = ("src/login.js:2", "if (tries >= 5) lock();");

#[test]
fn an_approval_that_cites_every_item_passes() {
    let contract = with_items(&["d1", "d2"]);
    let checks = [cited("d1", GOOD.0, GOOD.1), cited("d2", "./src/login.js:1", "const a = 1;")];
    assert_eq!(status(&contract, &answer("APPROVE", &checks, &[])), CheckStatus::Passed);
    assert_eq!(status(&contract, &answer("APPROVE", &checks, &[gap("minor")])), CheckStatus::Passed);
    assert_eq!(status(&contract, &answer("REQUEST_CHANGES", &checks, &[gap("minor")])), CheckStatus::Passed);
    // Without items, one line shows that the task was done.
    assert_eq!(
        status(&with_items(&[]), &answer("APPROVE", &[cited("task", GOOD.0, GOOD.1)], &[])),
        CheckStatus::Passed
    );
}

#[test]
fn a_serious_gap_refuses_whatever_the_verdict_says() {
    let contract = with_items(&["d1"]);
    let checks = [cited("d1", GOOD.0, GOOD.1)];
    for severity in ["critical", "major", "MAJOR ", "blocker", ""] {
        for verdict in ["APPROVE", "REQUEST_CHANGES"] {
            let (check, result) = review_check(
                &contract,
                Some(&answer(verdict, &checks, &[gap("minor"), gap(severity)])),
                &lines,
            );
            assert!(
                check.status == CheckStatus::Failed && check.blocks() && result.is_some(),
                "{severity} {verdict}"
            );
            assert!(check.evidence[0].contains("off by one (use >)"), "{:?}", check.evidence);
        }
    }
}

#[test]
fn an_approval_that_cites_wrongly_is_none() {
    let contract = with_items(&["d1"]);
    let cases = [
        vec![],
        vec![cited("d2", GOOD.0, GOOD.1)],
        vec![cited("d1", "src/login.js:1", GOOD.1)],
        vec![cited("d1", "src/login.js:99", GOOD.1)],
        vec![cited("d1", "src/other.js:2", GOOD.1)],
        vec![cited("d1", "src/login.js", GOOD.1)],
        vec![cited("d1", "src/login.js:0", GOOD.1)],
        vec![cited("d1", "src/login.js:-1", GOOD.1)],
        vec![cited("d1", GOOD.0, "")],
        vec![cited("d1", "src/login.js:3", "}")],
        vec![cited("d1", GOOD.0, "tries")],
        vec![json!({"id": "d1", "status": "failed", "location": GOOD.0, "quote": GOOD.1})],
    ];
    for checks in cases {
        assert_eq!(
            status(&contract, &answer("APPROVE", &checks, &[])),
            CheckStatus::Inconclusive,
            "{checks:?}"
        );
    }
}

#[test]
fn no_answer_and_an_invalid_one_are_inconclusive() {
    let contract = with_items(&["d1"]);
    assert_eq!(review_check(&contract, None, &lines).0.status, CheckStatus::Inconclusive);
    let other = answer("APPROVE", &[cited("d1", GOOD.0, GOOD.1)], &[]);
    for text in [
        "",
        "looks good to me",
        "{}",
        "{\"verdict\": \"MAYBE\"}",
        &other.replace("review-result.v1", "review-result.v9"),
    ] {
        assert_eq!(status(&contract, text), CheckStatus::Inconclusive, "{text}");
    }
    assert_eq!(status(&contract, &answer("REQUEST_CHANGES", &[], &[])), CheckStatus::Inconclusive);
}

#[test]
fn a_review_that_is_not_required_holds_nothing_up_but_may_refuse() {
    let review = Some(ReviewTerms { persona: "critic".into(), required: false, max_iterations: 3 });
    let contract = Contract { review, ..with_items(&["d1"]) };
    assert_eq!(review_check(&contract, None, &lines).0.status, CheckStatus::Skipped);
    assert_eq!(status(&contract, &answer("APPROVE", &[], &[gap("major")])), CheckStatus::Failed);
}

#[test]
fn the_schemas_hold_what_is_read() {
    let all = [schema(), crate::work::advice::schema(), crate::work::task_plan::schema()];
    for schema in &all {
        assert!(jsonschema::validator_for(schema).is_ok());
        strict(schema);
    }
    let valid = answer("APPROVE", &[cited("d1", GOOD.0, GOOD.1)], &[gap("minor")]);
    assert!(jsonschema::is_valid(&schema(), &last_object(&valid).unwrap()));
    assert!(!jsonschema::is_valid(&schema(), &json!({"verdict": "APPROVE"})));
}

/// Every object says all its keys and allows no others: a harness takes no other schema.
fn strict(schema: &Value) {
    if schema["type"] == "object" {
        assert_eq!(schema["additionalProperties"], false);
        let keys: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(json!(keys), schema["required"]);
        schema["properties"].as_object().unwrap().values().for_each(strict);
    }
    if schema["type"] == "array" {
        strict(&schema["items"]);
    }
}
