//! Work with a contract on the real harnesses: a model that lies is caught and corrected, an honest one is believed, and a reviewer and
//! an advisor are heard.

use crate::support::turn::NONCE;
use crate::support::wishes::{offered, shell};
use crate::support::{Scratch, Turn};
use agentworkforce::model::tier::Harness;
use serde_json::{Value, json};

const RIGHT: &str = "module.exports = () => 42;";
/// It breaks the test that passed, and does not mend the other.
const WRONG: &str = "module.exports = () => 'forty-two';";

/// A project with one red test and one green one, and the workers of a harness: `tester`, and `judge`, who may change nothing.
fn world(harness: Harness) -> Scratch {
    let world = Scratch::new([]);
    world.write("project/answer.js", "module.exports = () => 41;\n");
    world.write(
        "project/answer.test.js",
        "const test = require('node:test');\nconst assert = require('node:assert');\nconst answer = require('./answer.js');\n\
         test('is a number', () => assert.equal(typeof answer(), 'number'));\n\
         test('is the answer', () => assert.equal(answer(), 42));\n",
    );
    world.git(&["add", "."]);
    world.git(&["commit", "--quiet", "--message", "a question"]);
    let permissions = json!({"allow": ["Read", "Edit", "Write", "Bash"], "mode": "acceptEdits"});
    world.plain(harness, &json!({ "permissions": permissions }));
    world.persona(&json!({
        "id": "judge", "intent": "review", "description": "Judges", "harness": harness.name(),
        "systemPrompt": "You judge.", "permissions": {"allow": ["Read"], "deny": ["Edit", "Write"]},
    }));
    world
}

fn report(summary: &str) -> Value {
    json!({
        "schema_version": "worker-report.v1", "status": "completed", "task": "the-answer", "files_changed": ["answer.js"],
        "commit": null, "branch": null, "worktreePath": null, "summary": summary, "memory_updates": [],
        "effort_applied": null, "effort_sufficient": null, "turns_used": null, "task_complexity_note": null, "nonce": NONCE,
        "noop": null, "self_review": [], "escalation_reason": null,
    })
}

/// The end of a run: words and an answer in the form that is asked for. claude has a tool for that and does not let it be.
fn ends(harness: Harness, words: &str, answer: &Value) -> Turn {
    match harness {
        Harness::Claude => Turn::text(words).and_call("StructuredOutput", answer.clone()),
        Harness::Opencode | Harness::Codex => Turn::text(format!("{words} {answer}")),
    }
}

/// Writes the code and the report with a command.
fn work(harness: Harness, code: &str, summary: &str) -> Turn {
    let report = report(summary);
    shell(
        harness,
        &format!("echo \"{code}\" > answer.js && printf '%s' '{report}' > \"$AGENTWORKFORCE_REPORT\""),
    )
}

/// Writes the code and runs the tests.
fn code(harness: Harness, code: &str) -> Turn {
    shell(harness, &format!("echo \"{code}\" > answer.js && node --test"))
}

/// `work TASK` by the tester, to its end: the verdict and the exit code.
#[track_caller]
fn worked(world: &Scratch, task: &str, flags: &[&str]) -> (Value, Option<i32>) {
    worked_by(world, &["--as", "tester"], task, flags)
}

#[track_caller]
fn worked_by(world: &Scratch, who: &[&str], task: &str, flags: &[&str]) -> (Value, Option<i32>) {
    let args = ["work", task, "--task-id", "the-answer", "--files", "answer.js"];
    let more = ["--check", "node --test", "--apply", "auto", "--json"];
    let ran = world.run(&mut world.agentworkforce(args.iter().chain(who).chain(&more).chain(flags)), "");
    let verdict = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:#?}"));
    assert_eq!(world.leftovers(), [], "{verdict:#}");
    (verdict, ran.code)
}

/// It was approved after so many attempts, and what was approved is in the project.
#[track_caller]
fn approved(world: &Scratch, (verdict, code): &(Value, Option<i32>), attempts: usize) {
    let told = || format!("{verdict:#}\n{}", world.model.requests_text());
    assert_eq!((*code, &verdict["verdict"]), (Some(0), &json!("APPROVE")), "{}", told());
    assert_eq!(verdict["apply"]["status"], "applied", "{verdict:#}");
    assert_eq!(verdict["attempts"].as_array().map(Vec::len), Some(attempts), "{verdict:#}");
    assert_eq!(world.read("project/answer.js").trim(), RIGHT, "{verdict:#}");
    assert_eq!(world.model.turns_left(), 0, "{verdict:#}");
}

/// The check of an attempt, counted from 1.
#[track_caller]
fn check<'v>(verdict: &'v Value, attempt: usize, id: &str) -> &'v Value {
    let checks = verdict["attempts"][attempt - 1]["checks"].as_array().expect("checks");
    let found = checks.iter().find(|check| check["id"] == id);
    found.unwrap_or_else(|| panic!("no `{id}` in attempt {attempt}: {verdict:#}"))
}

/// The turn (counted from 0) that has this in its request.
#[track_caller]
fn first_turn_with(world: &Scratch, text: &str) -> usize {
    let found = world.model.turns().iter().position(|turn| turn.text.contains(text));
    found.unwrap_or_else(|| panic!("{text} is in no request: {}", world.model.requests_text()))
}

/// The form of the answer is demanded with every request, by those who can.
#[track_caller]
fn is_held_to_a_schema(harness: Harness, request: &Value) {
    match harness {
        Harness::Claude => {
            let tools = offered(request);
            assert!(tools.iter().any(|tool| tool == "StructuredOutput"), "{tools:?}");
        }
        Harness::Codex => {
            let format = &request["text"]["format"];
            assert_eq!(
                (&format["type"], &format["strict"]),
                (&json!("json_schema"), &json!(true)),
                "{format:#}"
            );
            assert!(format["schema"]["properties"]["nonce"].is_object(), "{format:#}");
        }
        Harness::Opencode => {}
    }
}

fn a_lie_is_caught_and_corrected(harness: Harness) {
    let world = world(harness);
    world.model.script([work(harness, WRONG, "The answer is mended. All tests pass.")]);
    world.model.script([ends(harness, "FIRST-ANSWER", &report("The answer is mended. All tests pass."))]);
    world.model.script([work(harness, RIGHT, "The answer is a number again. All tests pass.")]);
    world.model.script([ends(
        harness,
        "SECOND-ANSWER",
        &report("The answer is a number again. All tests pass."),
    )]);
    let done = worked(&world, "make the answer 42", &[]);
    approved(&world, &done, 2);
    let verdict = &done.0;
    let refused = check(verdict, 1, "validation/1");
    assert_eq!(
        [&refused["status"], &refused["severity"], &refused["blocker"]],
        ["failed", "critical", "hallucination"],
        "{verdict:#}"
    );
    assert_eq!(verdict["attempts"][0]["signal"]["blockerType"], "hallucination", "{verdict:#}");
    assert_eq!(verdict["attempts"][1]["strategy"], "retry", "{verdict:#}");
    for attempt in [1, 2] {
        assert_eq!(check(verdict, attempt, "report")["status"], "passed", "{verdict:#}");
    }
    assert_eq!(verdict["report"]["summary"], "The answer is a number again. All tests pass.");
    for turn in world.model.turns() {
        is_held_to_a_schema(harness, &turn.body);
    }
    // What the model is told, and that it still knows what it did: its own call comes back to it.
    let corrected = first_turn_with(&world, "Your report does not agree with what the runner measured");
    let request = world.model.turns().swap_remove(corrected);
    for known in ["is a number: passed before", "exit 1", "FIRST-ANSWER"] {
        assert!(request.text.contains(known), "{known} is not in {}", request.text);
    }
    // claude looks whether anybody is there before it asks.
    let is_its_own = |number: usize| request.text.contains(&format!("call_{number}_0\""));
    assert!(is_its_own(1) || is_its_own(2), "{}", request.text);
}

#[test]
fn claudes_lie_is_caught_and_corrected() {
    a_lie_is_caught_and_corrected(Harness::Claude);
}

#[test]
fn opencodes_lie_is_caught_and_corrected() {
    a_lie_is_caught_and_corrected(Harness::Opencode);
}

#[test]
fn codexs_lie_is_caught_and_corrected() {
    a_lie_is_caught_and_corrected(Harness::Codex);
}

/// The report as the final answer; and what the model is told and offered.
fn honest_work_is_approved_at_once(harness: Harness) {
    let world = world(harness);
    world.model.script([code(harness, RIGHT)]);
    world.model.script([ends(harness, "Done.", &report("The answer is 42. All tests pass."))]);
    let done = worked(&world, "make the answer 42", &[]);
    approved(&world, &done, 1);
    let verdict = &done.0;
    assert_eq!(verdict["signal"]["confidence"], "high", "{verdict:#}");
    assert_eq!(verdict["report"]["summary"], "The answer is 42. All tests pass.", "{verdict:#}");
    assert_eq!(check(verdict, 1, "report")["status"], "passed", "{verdict:#}");
    let first = world.model.turns().swap_remove(0);
    for told in
        ["# Worker contract", "node --test", "- `answer.js`", "make the answer 42", "AGENTWORKFORCE_REPORT"]
    {
        assert!(first.text.contains(told), "{harness}: {told} is not in {}", first.text);
    }
    // Other agents cannot be started.
    let tools = offered(&first.body);
    for tool in ["Task", "Agent", "Workflow", "task", "spawn_agent"] {
        assert!(!tools.iter().any(|offered| offered == tool), "{harness} offers {tool}: {tools:?}");
    }
}

#[test]
fn claudes_honest_work_is_approved() {
    honest_work_is_approved_at_once(Harness::Claude);
}

#[test]
fn opencodes_honest_work_is_approved() {
    honest_work_is_approved_at_once(Harness::Opencode);
}

#[test]
fn codexs_honest_work_is_approved() {
    honest_work_is_approved_at_once(Harness::Codex);
}

/// Some models of codex have their tools elsewhere in a request, and more of them.
#[test]
fn no_model_of_codex_can_start_agents() {
    for model in ["gpt-5.5", "gpt-6.1-sol"] {
        let world = world(Harness::Codex);
        world.plain(Harness::Codex, &json!({ "model": model }));
        world.model.script([Turn::text("I can do nothing alone.")]);
        let (verdict, _) = worked(&world, "make the answer 42", &["--attempts", "1"]);
        let request = world.model.turns().swap_remove(0);
        assert_eq!(request.body["model"], model, "{verdict:#}");
        for tool in ["spawn_agent", "multi_agent"] {
            assert!(!request.text.contains(tool), "{model} may use {tool}: {}", request.text);
        }
    }
}

/// The worker and the reviewer that come with the program, as they are.
#[test]
fn the_built_in_personas_work_together() {
    let world = world(Harness::Claude);
    let cites = json!([{"id": "task", "status": "passed", "location": "answer.js:1", "quote": RIGHT}]);
    world.model.script([
        work(Harness::Claude, RIGHT, "The answer is 42."),
        ends(Harness::Claude, "Done.", &report("The answer is 42.")),
        ends(Harness::Claude, "Fine.", &review("APPROVE", &cites, &json!([]))),
    ]);
    let done = worked_by(&world, &[], "make the answer 42", &["--review", "code-reviewer"]);
    approved(&world, &done, 1);
    assert_eq!(done.0["persona"], "worker", "{:#}", done.0);
    assert_eq!(check(&done.0, 1, "review")["status"], "passed", "{:#}", done.0);
}

/// claude insists for a while and gives up: the report is in the file all the same.
#[test]
fn a_claude_that_never_answers_in_form_is_believed_by_its_file() {
    let world = world(Harness::Claude);
    world.model.script([work(Harness::Claude, RIGHT, "The answer is 42.")]);
    world.model.always(Turn::text("I would rather not."));
    let done = worked(&world, "make the answer 42", &[]);
    approved(&world, &done, 1);
    assert_eq!(done.0["report"]["summary"], "The answer is 42.", "{:#}", done.0);
}

fn review(verdict: &str, cites: &Value, gaps: &Value) -> Value {
    json!({
        "schema_version": "review-result.v1", "verdict": verdict, "type": "code", "reviewer_profile": "judge",
        "checks": cites, "gaps": gaps, "followups": ["name the question"], "memory_updates": [],
    })
}

fn a_reviewer_refuses_then_approves(harness: Harness) {
    let world = world(harness);
    let gap = json!([{
        "severity": "major", "location": "answer.js:1", "issue": "NOBODY-KNOWS-WHY", "suggestion": "write it plainly",
    }]);
    let cites = json!([{"id": "task", "status": "passed", "location": "answer.js:1", "quote": RIGHT}]);
    world.model.script([work(harness, "module.exports = () => 6 * 7;", "All tests pass.")]);
    world.model.script([ends(harness, "FIRST-ANSWER", &report("All tests pass."))]);
    world.model.script([ends(harness, "I say no.", &review("REQUEST_CHANGES", &json!([]), &gap))]);
    world.model.script([work(harness, RIGHT, "Written plainly. All tests pass.")]);
    world.model.script([ends(harness, "SECOND-ANSWER", &report("Written plainly. All tests pass."))]);
    world.model.script([ends(harness, "I say yes.", &review("APPROVE", &cites, &json!([])))]);
    let done = worked(&world, "make the answer 42", &["--review", "judge"]);
    approved(&world, &done, 2);
    let verdict = &done.0;
    assert_eq!(check(verdict, 1, "review")["status"], "failed", "{verdict:#}");
    assert_eq!(check(verdict, 2, "review")["status"], "passed", "{verdict:#}");
    assert_eq!(verdict["review"]["verdict"], "APPROVE", "{verdict:#}");
    assert_eq!(verdict["followups"], json!(["name the question"]), "{verdict:#}");
    let told = world
        .model
        .turns()
        .iter()
        .filter(|turn| turn.text.contains("Review the result of a piece of work"))
        .count();
    assert!(told >= 2, "{}", world.model.requests_text());
    // What the reviewer missed is what the worker is told.
    first_turn_with(&world, "NOBODY-KNOWS-WHY (write it plainly)");
}

#[test]
fn a_reviewer_on_claude_refuses_then_approves() {
    a_reviewer_refuses_then_approves(Harness::Claude);
}

#[test]
fn a_reviewer_on_opencode_refuses_then_approves() {
    a_reviewer_refuses_then_approves(Harness::Opencode);
}

#[test]
fn a_reviewer_on_codex_refuses_then_approves() {
    a_reviewer_refuses_then_approves(Harness::Codex);
}

fn an_advisors_advice_comes_first(harness: Harness) {
    let world = world(harness);
    let advice = json!({
        "schema_version": "advisor-response.v1", "decision": "PLAN", "summary": "keep it plain",
        "executor_instructions": ["ADVICE-MARKER: change the one number"], "confidence": 0.8, "stop_reason": null,
    });
    world.model.script([ends(harness, "Thus:", &advice)]);
    world.model.script([work(harness, RIGHT, "All tests pass.")]);
    world.model.script([ends(harness, "Done as advised.", &report("All tests pass."))]);
    let done = worked(&world, "make the answer 42 <!-- advisor:required -->", &["--advisor", "judge"]);
    approved(&world, &done, 1);
    assert_eq!(done.0["advice"], json!([advice]), "{:#}", done.0);
    let turns = world.model.turns();
    assert!(turns[0].text.contains("A worker needs advice"), "{}", turns[0].text);
    let worker = first_turn_with(&world, "# Worker contract");
    assert!(turns[worker].text.contains("ADVICE-MARKER: change the one number"), "{}", turns[worker].text);
}

#[test]
fn advice_on_claude_comes_first() {
    an_advisors_advice_comes_first(Harness::Claude);
}

#[test]
fn advice_on_opencode_comes_first() {
    an_advisors_advice_comes_first(Harness::Opencode);
}

#[test]
fn advice_on_codex_comes_first() {
    an_advisors_advice_comes_first(Harness::Codex);
}
