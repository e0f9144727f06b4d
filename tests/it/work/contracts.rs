//! Contracts: what is refused before anything is spent, drafts, dry runs, and the verifier alone.

use super::{status, world};
use serde_json::{Value, json};
use std::fs;

#[test]
fn a_contract_that_proves_nothing_is_refused_before_anything_starts() {
    let world = world("mend");
    for check in ["true", "sh check.sh || true", "echo ok"] {
        let did = world.worked(&["work", "mend add", "--as", "hand", "--check", check]);
        assert_eq!(did.code, 2, "{check}: {}", did.stderr);
    }
    let none = world.worked(&["work", "mend add", "--as", "hand"]);
    assert_eq!(none.code, 2, "no command and none in the project: {}", none.stderr);
    let in_place =
        world.worked(&["work", "mend add", "--as", "hand", "--check", "sh check.sh", "--mount", "none"]);
    assert_eq!(in_place.code, 2, "{}", in_place.stderr);
    assert_eq!(world.session_count(), 0);
}

#[test]
fn a_missing_report_counts_under_a_contract_file_and_not_under_flags() {
    let world = world("mend");
    let (verdict, code) = world.verdict(&[]);
    assert_eq!(code, 0, "{verdict:#}");
    assert_eq!(verdict["signal"]["confidence"], "medium");
    world.outside("git checkout -q .");
    let contract = json!({
        "task": "mend add", "task_id": "t1", "files": ["calc.sh"], "validation_commands": ["sh check.sh"],
        "spec_skip_reason": "mechanical-change", "budgets": {"attempts": 1, "report_returns": 1},
    });
    let file = world.path("contract.json");
    fs::write(&file, contract.to_string()).unwrap();
    let did = world.worked(&["work", file.to_str().unwrap(), "--as", "hand", "--apply", "auto", "--json"]);
    assert_eq!(did.code, 1, "{}", did.stdout);
    assert_eq!(status(&did.json(), "report"), "failed");
}

#[test]
fn all_problems_of_a_contract_are_listed_at_once_with_their_lines() {
    let world = world("mend");
    let file = world.path("contract.json");
    fs::write(&file, "{\n  \"task\": \"\",\n  \"files\": [\"../x\"],\n  \"validation_commands\": []\n}\n")
        .unwrap();
    let did = world.worked(&["work", file.to_str().unwrap(), "--as", "hand"]);
    assert_eq!(did.code, 2);
    did.says("contract.json:3").says("task_id");
    let checked = world.worked(&["contract", "check", file.to_str().unwrap()]);
    assert_eq!(checked.code, 2);
    checked.says("contract.json:3");
}

#[test]
fn a_contract_without_a_spec_ends_as_a_question() {
    let world = world("mend");
    let contract = json!({
        "task": "mend add", "task_id": "t1", "files": ["calc.sh"], "validation_commands": ["sh check.sh"],
    });
    let file = world.path("contract.json");
    fs::write(&file, contract.to_string()).unwrap();
    let did = world.worked(&["work", file.to_str().unwrap(), "--as", "hand", "--json"]);
    let verdict = did.json();
    assert_eq!((did.code, &verdict["verdict"]), (4, &json!("ADVISOR")), "{verdict:#}");
    assert_eq!(verdict["advice"][0]["reason_code"], "needs-spike");
    assert_eq!(world.session_count(), 0);
}

#[test]
fn a_draft_is_written_checked_and_approved() {
    let world = world("mend");
    let new = world.worked(&[
        "contract",
        "new",
        "T1",
        "--task",
        "mend add",
        "--check",
        "sh check.sh",
        "--out",
        "t1.json",
    ]);
    assert_eq!(new.code, 0, "{}", new.stderr);
    let contract = json!({
        "files": ["calc.sh"], "contract_path": "t1.json", "spec_skip_reason": "mechanical-change",
    });
    let file = world.path("contract.json");
    fs::write(&file, contract.to_string()).unwrap();
    let draft = world.worked(&["work", file.to_str().unwrap(), "--as", "hand"]);
    assert_eq!(draft.code, 4, "{}", draft.stderr);
    let approved = world.worked(&["contract", "approve", "t1.json"]);
    assert_eq!(approved.code, 0, "{}", approved.stderr);
    assert!(world.text("t1.json").contains("\"approved\""));
}

#[test]
fn a_dry_run_prints_contract_checks_and_prompts_and_starts_nothing() {
    let world = world("mend");
    let did =
        world.worked(&["work", "mend add", "--as", "hand", "--check", "sh check.sh", "--dry-run", "--json"]);
    let plan = did.json();
    assert_eq!(did.code, 0, "{}", did.stderr);
    assert_eq!(plan["contract"]["task_id"], "mend-add");
    assert!(plan["prompts"]["section"].as_str().unwrap().contains("# Worker contract"));
    assert!(plan["checks"].as_array().unwrap().contains(&json!("scope")));
    assert_eq!(world.session_count(), 0);
    assert!(!world.record("count").exists());
}

#[test]
fn the_built_in_worker_does_it_unless_a_layer_has_its_own_or_another_is_named() {
    let world = world("mend; report '\"calc.sh\"'");
    let flags = ["work", "mend add", "--check", "sh check.sh", "--apply", "auto", "--json"];
    let plan = world.worked(&[&flags[..], &["--dry-run"]].concat()).json();
    let agent = &plan["plan"];
    assert_eq!(agent["persona"]["id"], "worker", "{plan:#}");
    let prompt = agent["systemPrompt"].as_str().unwrap();
    assert!(prompt.contains("under a contract") && prompt.contains("# Worker contract"), "{prompt}");
    let verdict = world.worked(&flags).json();
    assert_eq!(
        (&verdict["persona"], &verdict["verdict"]),
        (&json!("worker"), &json!("APPROVE")),
        "{verdict:#}"
    );
    world.persona(&json!({
        "id": "worker", "intent": "work", "description": "works", "harness": "claude", "systemPrompt": "OWN"
    }));
    let plan = world.worked(&[&flags[..], &["--dry-run"]].concat()).json();
    assert!(plan["plan"]["systemPrompt"].as_str().unwrap().contains("OWN"), "{plan:#}");
}

#[test]
fn no_built_in_for_work_may_start_other_agents_and_judges_change_nothing() {
    let world = world("mend");
    for (id, writes) in [("worker", true), ("advisor", false), ("planner", false)] {
        let shown = world.worked(&["show", id, "--json"]).json();
        let denied: Vec<&str> = shown["spec"]["permissions"]["deny"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect();
        assert!(denied.contains(&"Task") && denied.contains(&"Agent"), "{id}: {denied:?}");
        assert_eq!(!denied.contains(&"Write"), writes, "{id}: {denied:?}");
        let files = world.worked(&["show", id, "--files", "calc.sh", "--json"]).json();
        assert_eq!(files["decision"] != "readonly", writes, "{id}: {files:#}");
    }
}

#[test]
fn the_verifier_alone_measures_a_working_tree() {
    let world = world("mend");
    let contract = json!({
        "task": "mend add", "task_id": "t1", "files": ["calc.sh"], "validation_commands": ["sh check.sh"],
        "spec_skip_reason": "mechanical-change",
    });
    let file = world.path("contract.json");
    fs::write(&file, contract.to_string()).unwrap();
    let report = world.path("report.json");
    let claims = json!({
        "schema_version": "worker-report.v1", "status": "completed", "task": "x", "files_changed": ["calc.sh"],
        "commit": null, "summary": "done", "memory_updates": [], "nonce": "",
        "self_review": [
            {"rule": "dry-violation-none", "verified": true, "evidence": "calc.sh:1"},
            {"rule": "plans-cc-markers-untouched", "verified": true, "evidence": "none is there"},
            {"rule": "all-declared-symbols-called", "verified": true, "evidence": "check.sh:2"},
            {"rule": "dod-items-verified-with-evidence", "verified": true, "evidence": "check.sh:2"},
            {"rule": "no-existing-test-regression", "verified": true, "evidence": "check.sh:2"},
        ],
    });
    fs::write(&report, claims.to_string()).unwrap();
    let flags = [
        "verify",
        "--report",
        report.to_str().unwrap(),
        "--base",
        "HEAD",
        "--contract",
        file.to_str().unwrap(),
        "--json",
    ];
    fs::write(world.project().join("calc.sh"), "add() { echo 4; }\n").unwrap();
    let wrong = world.worked(&flags);
    assert_eq!((wrong.code, &wrong.json()["verdict"]), (1, &json!("REQUEST_CHANGES")), "{}", wrong.stdout);
    fs::write(world.project().join("calc.sh"), "add() { echo $(($1 + $2)); }\n").unwrap();
    let right = world.worked(&flags);
    assert_eq!((right.code, &right.json()["verdict"]), (0, &json!("APPROVE")), "{}", right.stdout);
    assert_eq!(world.session_count(), 0);
}
