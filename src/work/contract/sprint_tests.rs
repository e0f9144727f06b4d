use super::*;

fn new() -> NewSprint {
    NewSprint {
        id: "T1".into(),
        title: Some("lock the login".into()),
        definition_of_done: vec!["it locks".into(), "documented".into()],
        checks: vec!["npm test".into()],
        review: Some("code-reviewer".into()),
        generated_at: "2026-01-01T00:00:00Z".into(),
        ..NewSprint::default()
    }
}

#[test]
fn what_is_made_is_a_draft_that_can_be_read_and_approved() {
    let text = serde_json::to_string_pretty(&new_sprint(&new()).unwrap()).unwrap();
    let file = Path::new("s.json");
    let (sprint, warnings) = read_sprint(file, &text).unwrap();
    assert_eq!((sprint.is_approved, warnings, sprint.id.as_deref()), (false, Vec::new(), Some("T1")));
    assert_eq!(sprint.definition_of_done.len(), 2);
    assert_eq!(sprint.review.as_ref().map(|terms| terms.persona.as_str()), Some("code-reviewer"));
    assert_eq!(lint_sprint(file, &text), Vec::new());
    let approved = approve_sprint(file, &text, "2026-01-02T00:00:00Z").unwrap();
    let expected = text
        .replace("\"draft\"", "\"approved\"")
        .replace("\"approved_at\": null", "\"approved_at\": \"2026-01-02T00:00:00Z\"");
    assert_eq!(approved, format!("{expected}\n"));
    assert!(read_sprint(file, &approved).unwrap().0.is_approved);
}

#[test]
fn a_row_of_the_plan_supplies_what_the_flags_do_not() {
    let row = PlanRow {
        id: "T1".into(),
        title: "from the plan".into(),
        definition_of_done: Some("tests pass".into()),
        depends_on: vec!["T0".into()],
        status: "cc:TODO".into(),
        line: 4,
    };
    let given = NewSprint { id: "T1".into(), plan: Some(("Plans.md".into(), row)), ..NewSprint::default() };
    let made = new_sprint(&given).unwrap();
    assert_eq!(made["task"]["title"], "from the plan");
    assert_eq!(made["task"]["depends_on"], json!(["T0"]));
    assert_eq!(made["source"], json!({"plans_file": "Plans.md", "task_id": "T1"}));
    assert_eq!(
        made["contract"]["checks"],
        json!([{"id": "dod-1", "source": "plan", "description": "tests pass"}])
    );
    assert!(
        new_sprint(&NewSprint { id: "T1".into(), ..NewSprint::default() })
            .unwrap_err()
            .contains("missing-input")
    );
    assert!(new_sprint(&NewSprint { id: "../x".into(), ..new() }).is_err());
}

#[test]
fn a_lint_finds_what_proves_nothing() {
    let given = NewSprint { checks: vec!["npm test || true".into()], review: None, ..new() };
    let text = new_sprint(&given).unwrap().to_string();
    let problems = lint_sprint(Path::new("s.json"), &text);
    let keys: Vec<&str> = problems.iter().map(|problem| problem.key.as_str()).collect();
    assert_eq!(keys, ["contract.runtime_validation[0]", "review.reviewer_profile"]);
    assert_eq!(lint_sprint(Path::new("s.json"), "[").len(), 1);
}

#[test]
fn approving_keeps_what_it_does_not_know() {
    let text = r#"{"zeta": [1, 2.50], "schema_version": "sprint-contract.v1", "review": {"gaps": [], "status": "draft"}, "task": {"title": "x", "id": "a", "own": true}}"#;
    let approved = approve_sprint(Path::new("s.json"), text, "now").unwrap();
    let value: Value = serde_json::from_str(&approved).unwrap();
    assert_eq!(value["review"], json!({"gaps": [], "status": "approved", "approved_at": "now"}));
    assert_eq!(
        value.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["zeta", "schema_version", "review", "task"]
    );
    assert!(approve_sprint(Path::new("s.json"), "{}", "now").is_err());
}
