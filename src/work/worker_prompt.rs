//! What a worker is told of its contract, in its system prompt, and what is put around the prompt of each attempt. What the other roles
//! are told is in `role_prompts`.

use super::tokens;
use crate::model::contract::{Contract, DoneItem, Guard, SELF_REVIEW_RULES, SpecSkip, TDD_RULE, WorkMode};
use crate::model::worker_report::WORKER_REPORT;
use serde_json::{Value, json};

/// How a worker can hand in its report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportChannel {
    /// It can write the file that `AGENTWORKFORCE_REPORT` names.
    pub can_write_file: bool,
    /// The harness holds its final answer to the schema of the report.
    pub is_held_to_schema: bool,
}

/// The section *Worker contract*.
pub fn worker_section(contract: &Contract, tools: &ReportChannel) -> String {
    let mut text = String::from(
        "# Worker contract\n\nYou work under a contract. A runner measures the result itself: it runs the commands, compares the files and \
         checks every claim of your report. Only measured work is accepted. An honest \"failed\" is better than a claim that does not hold.\n",
    );
    text.push_str(&cycle(contract));
    text.push_str(&files(contract));
    text.push_str(&commands(contract));
    text.push_str(&done(&contract.definition_of_done));
    text.push_str(&spec(contract));
    text.push_str(&rules(contract));
    text.push_str(&report(contract, *tools));
    text
}

fn wants_tdd(contract: &Contract) -> bool {
    contract.tdd_required && contract.skip_tdd_reason.is_none()
}

fn section(title: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    format!("\n## {title}\n\n{}\n", lines.join("\n"))
}

fn cycle(contract: &Contract) -> String {
    let mut steps = Vec::new();
    if wants_tdd(contract) {
        steps.push("write the test first and see it fail (red) for the right reason");
    }
    steps.extend([
        "implement what the task asks for, and no more",
        "preflight: read your own diff; only allowed files, no leftovers",
        "verify: run the commands below after your last edit, and read their output",
        "report what is true",
    ]);
    let lines: Vec<String> =
        steps.iter().enumerate().map(|(number, step)| format!("{}. {step}", number + 1)).collect();
    section("The order of a cycle", &lines)
}

fn files(contract: &Contract) -> String {
    let mut lines: Vec<String> = match &contract.files {
        Some(files) => files.iter().map(|file| format!("- `{file}`")).collect(),
        None => vec!["Everything but what runs or configures tests, lock files and CI files.".into()],
    };
    lines.push(match contract.tests {
        Guard::Frozen => {
            "Existing tests stay as they are: they must still run and pass. You may add tests.".into()
        }
        Guard::MayChange => "Existing tests may change where the task demands it.".into(),
    });
    if contract.validators == Guard::Frozen {
        lines.push(
            "What runs the tests stays as it is: scripts, runner, linter and compiler configuration, CI."
                .into(),
        );
    }
    section("Files that you may change", &lines)
}

fn commands(contract: &Contract) -> String {
    let lines: Vec<String> =
        contract.validation_commands.iter().map(|command| format!("- `{}`", command.command)).collect();
    section("Commands that the runner will run on your result", &lines)
}

fn done(items: &[DoneItem]) -> String {
    let lines: Vec<String> = items.iter().map(|item| format!("- {}: {}", item.id, item.text)).collect();
    section("Definition of done", &lines)
}

fn spec(contract: &Contract) -> String {
    let mut lines = Vec::new();
    match (&contract.spec_path, contract.spec_skip_reason) {
        (Some(path), _) => lines.push(format!(
            "The source of truth is `{path}`. Where it and the task disagree, stop and say so."
        )),
        (None, Some(SpecSkip::DocsOnly)) => lines.push("Only documents change; there is no spec.".into()),
        (None, Some(SpecSkip::MechanicalChange)) => {
            lines.push("The change is mechanical; behaviour stays as it is.".into());
        }
        (None, Some(SpecSkip::ExistingSpecSufficient) | None) => {}
    }
    lines.extend(contract.non_goals.iter().map(|goal| format!("Not a goal: {goal}")));
    if let Some(effort) = &contract.effort {
        lines.push(format!("Effort: {effort}"));
    }
    section("Spec", &lines)
}

fn rules(contract: &Contract) -> String {
    let mut rules = vec![
        "Touch only the files above. Anything else is put back.",
        "Do not weaken tests: no skipping, no removed or always-true assertions, no special-casing of the test run.",
        "No placeholder as an escape: no `todo!()`, no empty body, no invented constant instead of the logic.",
        "No unrelated refactoring or reformatting.",
        "Do not start other agents; that tool is denied.",
        "If the spec must change first, end with status `failed` and the reason.",
        "At a nested git repository, a risk that the contract does not cover, or the same failure twice: hand in an `advisor-request.v1` \
         instead of a report, and stop.",
    ];
    if contract.mode == WorkMode::Breezing {
        rules.push("Leave the `cc:` markers of the plan file alone: they belong to the lead.");
    }
    let lines: Vec<String> = rules.into_iter().map(|rule| format!("- {rule}")).collect();
    section("Rules, each of them measured", &lines)
}

/// What each rule of a self-review asks.
pub fn rule_meaning(rule: &str) -> &'static str {
    match rule {
        "dry-violation-none" => "nothing that exists was written a second time",
        "plans-cc-markers-untouched" => "no `cc:` marker of the plan file was changed",
        "all-declared-symbols-called" => "every new public definition is used",
        "dod-items-verified-with-evidence" => "every item of the definition of done was checked; say how",
        "no-existing-test-regression" => "what passed before passes now; name the command",
        TDD_RULE => "the new test failed before the change; quote the output",
        _ => "as the project defines it",
    }
}

fn report(contract: &Contract, tools: ReportChannel) -> String {
    let mut lines = Vec::new();
    lines.push(if tools.can_write_file {
        "Write one JSON object to the file whose path is in the environment variable `AGENTWORKFORCE_REPORT`. `nonce` is the value of \
         `AGENTWORKFORCE_NONCE`; it is new for every attempt, and so is the report."
            .to_owned()
    } else {
        "End your final answer with one JSON object. `nonce` is the value of `AGENTWORKFORCE_NONCE`; it is new for every attempt.".to_owned()
    });
    if tools.can_write_file {
        lines.push("If you cannot write that file, end your final answer with the same object.".into());
    }
    if tools.is_held_to_schema {
        lines.push("Your final answer is the same object.".into());
    }
    lines.push(format!("\n```json\n{}\n```\n", pretty(&example(contract))));
    lines.push("`files_changed` lists every changed path, relative to the root, and nothing else. `commit` is null unless you committed.".into());
    lines.push("If nothing had to change: `\"files_changed\": []` and `\"noop\": \"the reason\"`.".into());
    if !contract.self_review_rules.is_empty() {
        lines.push("`self_review` answers each rule exactly once, in this order, with evidence (a command and its result, or `path:line`):".into());
        lines.extend(
            contract.self_review_rules.iter().map(|rule| format!("- `{rule}`: {}", rule_meaning(rule))),
        );
    }
    lines.push(
        "If you could not do it: `{\"status\": \"failed\", \"escalation_reason\": \"...\"}` with the nonce; `escalated` if a person has to decide."
            .into(),
    );
    lines.push(
        "A question: `{\"schema_version\": \"advisor-request.v1\", \"task_id\": ..., \"reason_code\": \"needs-spike\" | \"security-sensitive\" | \
         \"state-migration\" | \"retry-threshold\" | \"pivot-required\" | \"advisor-required\", \"question\": ..., \"last_error\": ..., \
         \"context_summary\": [...], \"nonce\": ...}`"
            .into(),
    );
    section("How to report", &lines)
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

fn example(contract: &Contract) -> Value {
    let mut value = json!({
        "schema_version": WORKER_REPORT,
        "status": "completed",
        "task": contract.task_id,
        "files_changed": ["path/of/a/file"],
        "commit": null,
        "summary": "what was done, in one or two sentences",
        "memory_updates": [],
        "nonce": "the value of AGENTWORKFORCE_NONCE",
    });
    if let Some(first) = contract.self_review_rules.first() {
        value["self_review"] = json!([{"rule": first, "verified": true, "evidence": "..."}]);
    }
    value
}

/// The user prompt of an attempt: the context, then what is asked, then the nonce, which is new each time.
pub fn attempt_prompt(context: &str, prompt: &str, nonce: Option<&str>) -> String {
    let mut parts = Vec::new();
    if !context.is_empty() {
        parts.push(context.to_owned());
    }
    parts.push(prompt.to_owned());
    if let Some(nonce) = nonce {
        parts.push(format!("Nonce of this attempt: {nonce}"));
    }
    parts.join("\n\n")
}

/// The active rules of a self-review: the configured ones, in their order, and that of TDD where it counts.
pub fn self_review_rules(default_rules: Option<&[String]>, extra_rules: &[String], tdd: bool) -> Vec<String> {
    let defaults = || SELF_REVIEW_RULES.iter().map(|rule| (*rule).to_owned()).collect();
    let mut rules: Vec<String> = default_rules.map_or_else(defaults, <[String]>::to_vec);
    let tdd_rule = tdd.then(|| TDD_RULE.to_owned());
    for rule in tdd_rule.iter().chain(extra_rules) {
        if !rules.contains(rule) {
            rules.push(rule.clone());
        }
    }
    rules
}

/// About how long the section is, in tokens.
pub fn section_tokens(contract: &Contract, tools: &ReportChannel) -> usize {
    tokens::count(&worker_section(contract, tools))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::tests_support::contract;

    const CHANNEL: ReportChannel = ReportChannel { can_write_file: true, is_held_to_schema: false };

    #[test]
    fn a_worker_is_told_files_commands_rules_and_how_to_report() {
        let text = worker_section(&contract(), &CHANNEL);
        for part in [
            "# Worker contract",
            "1. implement",
            "- `src/`",
            "- `npm test`",
            "AGENTWORKFORCE_REPORT",
            "AGENTWORKFORCE_NONCE",
            "worker-report.v1",
            "advisor-request.v1",
            "Do not start other agents",
        ] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
        for part in ["self_review", "(red)", "`cc:`"] {
            assert!(!text.contains(part), "{part} is in {text}");
        }
        assert!(section_tokens(&contract(), &CHANNEL) < 1000);
    }

    #[test]
    fn what_is_active_is_told() {
        let mut contract = contract();
        contract.tdd_required = true;
        contract.mode = WorkMode::Breezing;
        contract.self_review_rules = self_review_rules(None, &["own-rule".into()], true);
        contract.spec_path = Some("docs/spec.md".into());
        let text = worker_section(&contract, &CHANNEL);
        for part in [
            "1. write the test first",
            "`cc:` markers",
            "tdd-red-evidence-attached",
            "own-rule",
            "docs/spec.md",
            "self_review",
        ] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
        let order: Vec<usize> =
            contract.self_review_rules.iter().filter_map(|rule| text.find(&format!("- `{rule}`:"))).collect();
        assert!(order.len() == 7 && order.is_sorted(), "{order:?}");
        contract.skip_tdd_reason = Some("no framework".into());
        assert!(!worker_section(&contract, &CHANNEL).contains("write the test first"));
    }

    #[test]
    fn the_prompt_of_an_attempt_carries_context_and_nonce() {
        assert_eq!(attempt_prompt("", "do it", None), "do it");
        assert_eq!(
            attempt_prompt("=== DIRECTIVE ===\nx", "do it", Some("n1")),
            "=== DIRECTIVE ===\nx\n\ndo it\n\nNonce of this attempt: n1"
        );
    }
}
