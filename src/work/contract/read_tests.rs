use super::*;
use crate::model::contract::{AdvisorTerms, Baseline, ReviewTerms};
use serde_json::json;

fn read_text(text: &str) -> Result<ReadContract, Vec<FileProblem>> {
    read_both(text, None)
}

fn read_both(text: &str, sprint: Option<&str>) -> Result<ReadContract, Vec<FileProblem>> {
    let source = ContractFile {
        file: Path::new("contract.json"),
        text,
        sprint: sprint.map(|text| (Path::new("sprint.json"), text)),
    };
    read(&source, &Settings::default(), &|path| path == ".env" || path.starts_with("secrets"))
}

fn lines(problems: &[FileProblem]) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}

const SMALL: &str =
    r#"{"task": "fix it", "task_id": "fix", "files": ["src/"], "spec_skip_reason": "docs-only"}"#;

#[test]
fn a_small_contract_has_every_default() {
    let found = read_text(SMALL).unwrap();
    let contract = found.contract;
    assert_eq!((found.standing, found.warnings), (Standing::Ready, Vec::new()));
    assert_eq!(
        (contract.mode, contract.tests, contract.validators),
        (WorkMode::Solo, Guard::Frozen, Guard::Frozen)
    );
    assert_eq!(contract.budgets, crate::model::contract::Budgets::default());
    assert_eq!((contract.form, contract.self_review_rules.len()), (ContractForm::File, 5));
}

#[test]
fn every_field_is_read() {
    let text = json!({
        "task": "fix", "task_id": "fix", "context": "c", "files": ["a.js", "src/"], "mode": "codex", "spec_path": "spec.md",
        "validation_commands": ["npm test", {"command": "lint", "label": "l", "timeout_seconds": 5.5, "baseline": "may-fail"}],
        "setup": ["npm ci"], "definition_of_done": [{"id": "d", "text": "t", "check": "check me"}, "plain"],
        "tests": "may-change", "validators": "may-change", "holdout_path": "/hidden", "tdd_required": true, "prove": true,
        "risk_flags": ["auth"], "non_goals": ["n"], "effort": "high", "commit_target": {"repo_root": "v", "branch": "b"},
        "review": "code-reviewer", "advisor": {"persona": "architect", "max_consults": 1}, "planner": "lead",
        "budgets": {"attempts": 1, "usd": 0.5}, "team": "x", "$schema": "s"
    })
    .to_string();
    let found = read_text(&text).unwrap();
    let contract = found.contract;
    let lint = ValidationCommand {
        label: Some("l".into()),
        timeout_seconds: 5.5,
        baseline: Baseline::MayFail,
        ..ValidationCommand::new("lint", CommandOrigin::Contract)
    };
    let check = ValidationCommand::new("check me", CommandOrigin::DefinitionOfDone("d".into()));
    assert_eq!(
        contract.validation_commands,
        [ValidationCommand::new("npm test", CommandOrigin::Contract), lint, check]
    );
    assert_eq!(
        contract.definition_of_done[1],
        DoneItem { id: "dod-2".into(), text: "plain".into(), check: None }
    );
    assert_eq!(
        contract.review,
        Some(ReviewTerms { persona: "code-reviewer".into(), required: true, max_iterations: 3 })
    );
    assert_eq!(
        contract.advisor,
        Some(AdvisorTerms { persona: "architect".into(), enabled: true, max_consults: 1 })
    );
    assert_eq!(
        (contract.budgets.attempts, contract.budgets.report_returns, contract.budgets.usd),
        (1, 2, Some(0.5))
    );
    assert_eq!(contract.unknown.keys().collect::<Vec<_>>(), ["team", "$schema"]);
    assert_eq!(contract.self_review_rules.last().map(String::as_str), Some(TDD_RULE));
    assert_eq!(lines(&found.warnings).len(), 1);
    assert_eq!(
        serde_json::from_value::<Contract>(serde_json::to_value(&contract).unwrap()).unwrap(),
        contract
    );
}

#[test]
fn all_problems_are_listed_at_once_with_their_places() {
    let text = r#"{
  "task_id": "a b",
  "files": ["../x", ".git/config", ".env", "/etc", "", 3, "src/ok.js"],
  "mode": "breezng",
  "tdd_required": "yes",
  "validation_commands": ["npm test", 7, {"comand": "x"}, {"command": "x", "timeout_seconds": -1}],
  "definition_of_done": [{"id": "a", "text": "x"}, {"id": "a", "text": "y"}, {"text": "z"}],
  "budgets": {"attempts": 0, "usd": -1, "stall_seconds": 1e300},
  "vaildators": "frozen"
}"#;
    let problems = read_text(text).unwrap_err();
    let all = lines(&problems);
    let expected = [
        "contract.json:1:1: task: missing-input: `task` is not given",
        "contract.json:2:3: task_id: must consist of letters, digits, `.`, `_` and `-`; it has ' '",
        "contract.json:3:13: files[0]: `../x` leaves the project: it contains `..`",
        "contract.json:3:21: files[1]: `.git/config` is in `.git`, which is never part of the work",
        "contract.json:3:36: files[2]: `.env` is hidden by the mount: the worker cannot see or change it",
        "contract.json:3:44: files[3]: `/etc` leaves the project: it is absolute",
        "contract.json:3:52: files[4]: is blank",
        "contract.json:3:56: files[5]: must be a text, not a number",
        "contract.json:4:3: mode: must be one of `solo`, `codex`, `breezing`, not `breezng`",
        "contract.json:5:3: tdd_required: must be true or false, not a text",
        "contract.json:6:39: validation_commands[1]: must be a text or an object, not a number",
        "contract.json:6:42: validation_commands[2].command: missing-input: `validation_commands[2].command` is not given",
        "contract.json:6:76: validation_commands[3].timeout_seconds: must be above 0 and at most 86400, not -1",
        "contract.json:7:53: definition_of_done[1].id: the id `a` is there twice",
        "contract.json:8:15: budgets.attempts: must be a whole number from 1 to 50, not 0",
        "contract.json:8:30: budgets.usd: must be above 0 and at most 1000000, not -1",
    ];
    for line in expected {
        assert!(all.iter().any(|found| found == line), "{line}\n{all:#?}");
    }
    assert!(all.iter().any(|line| line.contains("definition_of_done[2].id: missing-input")), "{all:#?}");
    assert!(problems.iter().all(|problem| problem.fix.is_some()), "{problems:#?}");
    assert_eq!(problems[8].key, "mode");
}

#[test]
fn unknown_keys_are_kept_and_reported() {
    let text = SMALL.replace("{\"task\"", "{\"vaildators\": 1, \"form\": \"short\", \"task\"");
    let found = read_text(&text).unwrap();
    assert_eq!(found.contract.unknown.keys().collect::<Vec<_>>(), ["vaildators"]);
    assert_eq!(found.warnings[0].fix.as_deref(), Some("did you mean `validators`?"));
    assert_eq!(found.contract.form, ContractForm::File);
    assert!(serde_json::from_value::<Contract>(serde_json::to_value(&found.contract).unwrap()).is_ok());
}

#[test]
fn texts_that_are_no_contract_are_said_to_be_none() {
    let cases = [
        ("", "contract.json: missing-input: the file is empty"),
        ("[]", "contract.json:1:1: must be an object, not a list"),
        ("{\"task\": }", "contract.json:1:10: is not valid JSON: expected value"),
        ("{\n\"task\": 1,\n\"task\": 2}", "contract.json:3:6: is not valid JSON: duplicate key `task`"),
        ("{\"task\": 1e999}", "contract.json:1:14: is not valid JSON: number out of range"),
    ];
    for (text, expected) in cases {
        assert_eq!(lines(&read_text(text).unwrap_err()), [expected]);
    }
    let deep = format!("{{\"x\": {}", "[".repeat(100_000));
    assert!(lines(&read_text(&deep).unwrap_err())[0].contains("recursion limit"));
    let huge = "x".repeat(50 * 1024 * 1024);
    assert_eq!(
        lines(&read_text(&huge).unwrap_err()),
        ["contract.json: is too large: 51200 KB, at most 1024 KB are read"]
    );
    assert!(read_text(&format!("\u{feff}{SMALL}")).is_ok());
    assert!(read_text("{\"task\": NaN}").is_err());
}

#[test]
fn thousands_of_problems_are_cut() {
    let files = "3,".repeat(100_000);
    let text = format!("{{\"files\": [{files}3]}}");
    let problems = read_text(&text).unwrap_err();
    assert_eq!(problems.len(), 101);
    let keys: String = (0..50_000).map(|n| format!("\"k{n}\": 1,")).collect();
    let text = format!("{{{keys} \"task\": \"x\"}}");
    assert!(read_text(&text).unwrap_err().len() <= 101);
}

#[test]
fn without_a_spec_it_is_not_run() {
    let text = r#"{"task": "x", "task_id": "x", "files": ["a"]}"#;
    assert_eq!(read_text(text).unwrap().standing, Standing::NeedsSpec);
    assert_eq!(read_text(SMALL).unwrap().standing, Standing::Ready);
}

#[test]
fn tdd_is_skipped_only_with_a_reason() {
    let with = |task: &str, more: &str| {
        read_text(&format!(
            r#"{{"task": "{task}", "task_id": "x", "files": ["a"], "tdd_required": true{more}}}"#
        ))
    };
    assert_eq!(with("a [tdd:skip:docs]", "").unwrap().contract.skip_tdd_reason.as_deref(), Some("docs"));
    assert_eq!(
        with("[skip:tdd] a", r#", "skip_tdd_reason": "why""#).unwrap().contract.self_review_rules.len(),
        5
    );
    assert_eq!(
        lines(&with("[skip:tdd] a", "").unwrap_err()),
        ["contract.json:1:2: task: missing-input: `[skip:tdd]` needs a reason"]
    );
}

#[test]
fn the_config_changes_the_rules_of_the_self_review() {
    let settings: Settings = serde_json::from_value(json!({
        "worker": {"self_review": {"default_rules": ["a", "b"], "extra_rules": ["c", "a"]}}
    }))
    .unwrap();
    let contract = read_text(SMALL).unwrap().contract;
    assert_eq!(self_review_rules(&contract, &settings), ["a", "b", "c"]);
    let short = Contract { form: ContractForm::Short, ..contract };
    assert_eq!(self_review_rules(&short, &settings), Vec::<String>::new());
}

fn sprint(status: &str) -> String {
    json!({
        "schema_version": "sprint-contract.v1",
        "task": {"id": "T1", "title": "lock the login", "definition_of_done": "it locks"},
        "contract": {
            "checks": [{"id": "dod-primary", "source": "Plans.md", "description": "it locks"}],
            "runtime_validation": [{"label": "unit", "command": "npm test"}],
            "non_goals": ["api"], "risk_flags": [], "tdd_required": true, "skip_tdd_reason": null, "browser_validation": []
        },
        "review": {"status": status, "reviewer_profile": "code-reviewer", "max_iterations": 2}
    })
    .to_string()
}

#[test]
fn a_sprint_contract_is_merged_under_the_contract() {
    let text = r#"{"contract_path": "s.json", "files": ["a"], "spec_skip_reason": "docs-only", "task_id": "own", "tdd_required": false}"#;
    let found = read_both(text, Some(&sprint("approved"))).unwrap();
    let contract = found.contract;
    assert_eq!(
        (found.standing, contract.task_id.as_str(), contract.task.as_str()),
        (Standing::Ready, "own", "lock the login")
    );
    assert_eq!(
        contract.definition_of_done,
        [DoneItem { id: "dod-primary".into(), text: "it locks".into(), check: None }]
    );
    assert_eq!((contract.validation_commands[0].name(), contract.tdd_required), ("unit", false));
    assert_eq!(
        contract.review,
        Some(ReviewTerms { persona: "code-reviewer".into(), required: true, max_iterations: 2 })
    );
    assert_eq!(contract.non_goals, ["api"]);
    assert_eq!(contract_path(text).as_deref(), Some("s.json"));
    assert_eq!(contract_path(r#"{"contract_path": "../s.json"}"#), None);
}

#[test]
fn a_draft_is_told_apart_and_a_missing_one_is_a_problem() {
    let text = r#"{"contract_path": "s.json", "files": ["a"]}"#;
    assert_eq!(read_both(text, Some(&sprint("draft"))).unwrap().standing, Standing::Draft);
    assert!(lines(&read_both(text, None).unwrap_err())[0].contains("missing-input: `s.json` cannot be read"));
    let broken = lines(&read_both(text, Some("{")).unwrap_err());
    assert!(broken[0].starts_with("sprint.json:1:"), "{broken:?}");
    let status = lines(&read_both(text, Some(&sprint("aproved"))).unwrap_err());
    assert!(status[0].contains("review.status: must be one of `draft`, `approved`"), "{status:?}");
}

#[test]
fn a_sprint_contract_alone_is_not_a_contract() {
    assert!(lines(&read_text(&sprint("approved")).unwrap_err())[0].contains("is a sprint contract"));
}
