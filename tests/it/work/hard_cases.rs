//! What a worker, a command or a user can do to a piece of work: reports that are none, commands without an end, parts, advice, kills.

use super::{harness, status, world};
use crate::support::mount::{World, soon};
use serde_json::{Value, json};
use std::fs;
use std::time::{Duration, Instant};

/// A report as a contract file wants it: `full FILES`.
const FULL: &str = r#"full() { printf '{"schema_version":"worker-report.v1","status":"completed","task":"x","files_changed":[%s],"commit":null,"branch":null,"summary":"mended it","memory_updates":[],"nonce":"%s","self_review":[{"rule":"dry-violation-none","verified":true,"evidence":"calc.sh:1"},{"rule":"plans-cc-markers-untouched","verified":true,"evidence":"none"},{"rule":"all-declared-symbols-called","verified":true,"evidence":"check.sh:2"},{"rule":"dod-items-verified-with-evidence","verified":true,"evidence":"check.sh:2"},{"rule":"no-existing-test-regression","verified":true,"evidence":"check.sh:2"}]}' "$1" "$AGENTWORKFORCE_NONCE" > "$AGENTWORKFORCE_REPORT"; }
"#;

fn full_world(script: &str) -> World {
    world(&format!("{FULL}{script}"))
}

fn second(world: &World, id: &str) {
    world.persona(&json!({
        "id": id, "intent": id, "description": "works", "harness": "claude", "systemPrompt": format!("You are {id}.")
    }));
}

/// Works under a contract file; `terms` over the usual ones.
fn under(world: &World, terms: &Value, flags: &[&str]) -> (Value, i32) {
    let mut contract = json!({
        "task": "mend add", "task_id": "t1", "files": ["calc.sh"], "validation_commands": ["sh check.sh"],
        "spec_skip_reason": "mechanical-change", "budgets": {"attempts": 1},
    });
    for (key, value) in terms.as_object().unwrap() {
        contract[key] = value.clone();
    }
    let file = world.path("contract.json");
    fs::write(&file, contract.to_string()).unwrap();
    let mut all = vec!["work", file.to_str().unwrap(), "--as", "hand", "--apply", "auto", "--json"];
    all.extend(flags);
    let did = world.worked(&all);
    (did.json(), did.code)
}

fn strategies(verdict: &Value) -> Vec<&str> {
    let attempts = verdict["attempts"].as_array().unwrap();
    attempts.iter().map(|attempt| attempt["strategy"].as_str().unwrap()).collect()
}

#[test]
fn what_is_no_report_is_one_clear_check() {
    let cases = [
        ("head -c 50000000 /dev/zero > \"$AGENTWORKFORCE_REPORT\"", "too large"),
        (
            "{ printf '{\"a\":'; head -c 900000 /dev/zero | tr '\\0' '['; } > \"$AGENTWORKFORCE_REPORT\"",
            "not valid JSON",
        ),
        ("ln -s /etc/passwd \"$AGENTWORKFORCE_REPORT\"", "cannot be read"),
        ("mkdir \"$AGENTWORKFORCE_REPORT\"", "not a regular file"),
        ("printf '\\377\\376{\\0}\\0' > \"$AGENTWORKFORCE_REPORT\"", "UTF-16"),
        ("printf '\\200\\201\\202' > \"$AGENTWORKFORCE_REPORT\"", "not UTF-8"),
        (
            "printf '{\"schema_version\":3,\"status\":[],\"nonce\":\"%s\"}' $AGENTWORKFORCE_NONCE > \"$AGENTWORKFORCE_REPORT\"",
            "`status` must be a text",
        ),
    ];
    for (script, problem) in cases {
        let world = world(&format!("mend; {script}"));
        let before = world.text("calc.sh");
        let (verdict, code) = world.verdict(&["--attempts", "1"]);
        assert_eq!((code, &verdict["verdict"]), (1, &json!("REQUEST_CHANGES")), "{script}: {verdict:#}");
        assert_eq!(status(&verdict, "report"), "failed", "{script}");
        let failed: Vec<&Value> = verdict["checks"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|check| check["status"] == "failed")
            .collect();
        assert_eq!(failed.len(), 1, "{script}: {failed:#?}");
        assert!(failed[0].to_string().contains(problem), "{script}: {:#}", failed[0]);
        assert_eq!(world.text("calc.sh"), before, "{script}");
    }
}

#[test]
fn a_command_without_an_end_or_with_much_to_say_is_bounded() {
    let world = full_world("mend; full '\"calc.sh\"'");
    let began = Instant::now();
    let slow = json!({"validation_commands": [{"command": "sleep 900; sh check.sh", "timeout_seconds": 1}]});
    let (verdict, code) = under(&world, &slow, &[]);
    assert_eq!((code, status(&verdict, "validation/1")), (1, "inconclusive"), "{verdict:#}");
    let forks = json!({"validation_commands": ["for i in 1 2 3; do setsid sleep 900 & done; sh check.sh"]});
    let (verdict, code) = under(&world, &forks, &[]);
    assert_eq!(code, 0, "{verdict:#}");
    world.outside("git checkout -q .");
    let says = json!({"validation_commands": ["head -c 60000000 /dev/zero; sh check.sh"]});
    let (verdict, code) = under(&world, &says, &[]);
    assert_eq!(code, 0, "{verdict:#}");
    assert!(began.elapsed() < Duration::from_mins(5), "nothing waits for 900 seconds");
    let session = verdict["session"].as_str().unwrap();
    let log =
        world.home().join(".agentworkforce/workforce/sessions").join(session).join("validation-1-result.log");
    assert!(fs::metadata(&log).unwrap().len() < 20 << 20, "the log is capped");
}

#[test]
fn the_verifier_alone_does_not_wait_for_what_a_command_leaves() {
    let world = world("mend");
    fs::write(world.project().join("calc.sh"), "add() { echo $(($1 + $2)); }\n").unwrap();
    let file = world.path("contract.json");
    let began = Instant::now();
    for (command, seconds, code) in [
        ("setsid sleep 901 & sh check.sh", 100, 0),
        ("setsid sh -c 'while :; do echo y; done' & sh check.sh", 100, 0),
        ("setsid sleep 901 & sleep 901; sh check.sh", 3, 1),
    ] {
        let contract = json!({
            "task": "mend add", "task_id": "t1", "files": ["calc.sh"], "spec_skip_reason": "mechanical-change",
            "validation_commands": [{"command": command, "timeout_seconds": seconds}],
        });
        fs::write(&file, contract.to_string()).unwrap();
        let did = world.worked(&["verify", "--base", "HEAD", "--contract", file.to_str().unwrap(), "--json"]);
        assert_eq!(did.code, code, "{command}: {}", did.stdout);
    }
    assert!(began.elapsed() < Duration::from_mins(5));
    assert!(!is_running("901"), "nothing is left");
}

/// Whether a process sleeps for so many seconds.
fn is_running(seconds: &str) -> bool {
    let wanted = format!("sleep\0{seconds}\0");
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .into_iter()
        .any(|entry| fs::read(entry.path().join("cmdline")).is_ok_and(|line| line == wanted.as_bytes()))
}

#[test]
fn a_process_that_the_worker_leaves_changes_nothing() {
    for flags in [&[][..], &["--mount", "copy"]] {
        let world = world(
            "mend; setsid sh -c 'sleep 1; echo evil > notes.md; sleep 902' </dev/null >/dev/null 2>&1 & report '\"calc.sh\"'",
        );
        let (verdict, code) = world.verdict(flags);
        assert_eq!(code, 0, "{flags:?}: {verdict:#}");
        assert_eq!(world.text("notes.md"), "notes\n");
        assert!(world.text("calc.sh").contains('+'));
        assert!(!is_running("902"), "{flags:?}");
    }
}

#[test]
fn a_project_that_changes_meanwhile_is_a_conflict_and_nothing_is_lost() {
    let world = world("mend; report '\"calc.sh\"'");
    let file = world.project().join("calc.sh");
    harness(&world, &format!("mend; report '\"calc.sh\"'; echo '# mine' >> '{}'", file.display()));
    let (verdict, code) = world.verdict(&["--mount", "copy"]);
    assert_eq!((code, &verdict["apply"]["status"]), (3, &json!("conflict")), "{verdict:#}");
    assert_eq!(world.text("calc.sh"), "add() { echo $(($1 - $2)); }\n# mine\n");
    let session = verdict["session"].as_str().unwrap();
    let diff = world.worked(&["sessions", "diff", session]);
    assert!(diff.stdout.contains("$1 + $2"), "the work is held: {}", diff.stdout);
}

#[test]
fn links_to_the_outside_are_refused() {
    for link in ["/etc/passwd", "../../outside", "build/x"] {
        let world = world(&format!(
            "mend; mkdir -p build; echo x > build/x; ln -s {link} new; report '\"calc.sh\",\"new\"'"
        ));
        let (verdict, code) = world.verdict(&["--attempts", "1"]);
        assert_eq!((code, status(&verdict, "links-names")), (1, "failed"), "{link}: {verdict:#}");
        assert!(fs::symlink_metadata(world.project().join("new")).is_err());
    }
}

#[test]
fn a_commit_takes_the_work_and_nothing_else() {
    let world = world("mend; report '\"calc.sh\"'");
    world.outside("echo mine > other; git add other; echo more >> notes.md");
    let (verdict, code) = world.verdict(&["--commit"]);
    assert_eq!(code, 0, "{verdict:#}");
    assert_eq!(verdict["warnings"], json!([]));
    assert_eq!(world.outside("git show --name-only --format=%s HEAD | xargs").trim(), "done calc.sh");
    assert_eq!(world.outside("git status --short | xargs").trim(), "M notes.md A other");
}

#[test]
fn a_commit_of_several_goes_to_a_branch_of_its_own() {
    let world = full_world("mend; full '\"calc.sh\"'");
    let (verdict, code) = under(&world, &json!({"mode": "breezing"}), &["--commit"]);
    assert_eq!(code, 0, "{verdict:#}");
    assert_eq!(
        world.outside("git show --name-only --format=%s harness-work/t1 | xargs").trim(),
        "mended it calc.sh"
    );
    assert_ne!(world.outside("git log --format=%s -1 HEAD").trim(), "mended it");
    assert_eq!(world.outside("git status --short").trim(), "M calc.sh");
}

#[test]
fn a_commit_that_fails_leaves_the_index_as_it_was() {
    let world = world("mend; report '\"calc.sh\"'");
    world.outside("git config user.useConfigOnly true; git config user.name '' ; git config user.email ''");
    let mut command = world.work_command(&[
        "work",
        "mend add",
        "--as",
        "hand",
        "--check",
        "sh check.sh",
        "--apply",
        "auto",
        "--json",
        "--commit",
    ]);
    for name in ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"] {
        command.env_remove(name);
    }
    let output = command.output().unwrap();
    let verdict: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (output.status.code(), &verdict["apply"]["status"]),
        (Some(0), &json!("applied")),
        "{verdict:#}"
    );
    assert!(verdict["warnings"].to_string().contains("not committed"), "{verdict:#}");
    assert_eq!(world.outside("git diff --cached --name-only").trim(), "");
    assert!(world.text("calc.sh").contains('+'));
}

#[test]
fn hidden_tests_are_run_and_never_seen() {
    for (hidden, expected) in [("4", 0), ("5", 1)] {
        let world = full_world("ls > \"$record/seen\"; mend; full '\"calc.sh\"'");
        fs::create_dir_all(world.path("hidden")).unwrap();
        fs::write(world.path("hidden/deep.sh"), format!(". ./calc.sh\n[ \"$(add 2 2)\" = {hidden} ]\n"))
            .unwrap();
        let holdout = world.path("hidden");
        let terms = json!({"holdout_path": holdout, "validation_commands": ["sh check.sh", "sh deep.sh"]});
        let (verdict, code) = under(&world, &terms, &[]);
        assert_eq!(code, expected, "{hidden}: {verdict:#}");
        assert!(!fs::read_to_string(world.record("seen")).unwrap().contains("deep"));
        assert!(!world.project().join("deep.sh").exists(), "hidden tests are not applied");
    }
}

#[test]
fn a_worker_that_knows_where_the_hidden_tests_are_gains_nothing() {
    let script = "hidden=\"$record/../hidden\"; cat \"$hidden/deep.sh\" > \"$record/stolen\" 2>/dev/null; \
         echo 'exit 0' > \"$hidden/deep.sh\"; mend; full '\"calc.sh\"'";
    for backend in ["overlay", "copy"] {
        let world = full_world(script);
        let hidden = ". ./calc.sh\n[ \"$(add 2 2)\" = 5 ]\n";
        fs::create_dir_all(world.path("hidden")).unwrap();
        fs::write(world.path("hidden/deep.sh"), hidden).unwrap();
        let terms = json!({
            "holdout_path": world.path("hidden"), "validation_commands": ["sh check.sh", "sh deep.sh"],
        });
        let flags = ["--mount", backend, "--sandbox", "project"];
        let (verdict, code) = under(&world, &terms, if backend == "copy" { &flags[..2] } else { &flags });
        assert_eq!((code, status(&verdict, "validation/2")), (1, "failed"), "{backend}: {verdict:#}");
        if backend == "overlay" {
            assert_eq!(fs::read_to_string(world.record("stolen")).unwrap(), "");
            assert_eq!(fs::read_to_string(world.path("hidden/deep.sh")).unwrap(), hidden);
        }
    }
}

#[test]
fn a_setup_prepares_the_view_and_a_failed_one_decides_nothing() {
    let world = full_world("mend; full '\"calc.sh\"'");
    let terms = json!({"setup": ["mkdir -p dep; echo 1 > dep/x"], "validation_commands": ["test -e dep/x && sh check.sh"]});
    let (verdict, code) = under(&world, &terms, &[]);
    assert_eq!(code, 0, "{verdict:#}");
    assert!(!world.project().join("dep").exists(), "what it made is not applied");
    let broken = full_world("mend; full '\"calc.sh\"'");
    let (verdict, code) = under(&broken, &json!({"setup": ["echo no network; exit 7"]}), &[]);
    assert_eq!((code, status(&verdict, "validation/1")), (1, "inconclusive"), "{verdict:#}");
    assert!(verdict.to_string().contains("no network"));
}

#[test]
fn a_copy_is_measured_as_a_mount_is() {
    let world = world("mend; report '\"calc.sh\"'");
    let (verdict, code) = world.verdict(&["--mount", "copy"]);
    assert_eq!((code, &verdict["verdict"]), (0, &json!("APPROVE")), "{verdict:#}");
    let lies = super::world("echo '# done' >> calc.sh; report '\"calc.sh\"'");
    let (verdict, code) = lies.verdict(&["--mount", "copy", "--attempts", "1"]);
    assert_eq!((code, status(&verdict, "validation/1")), (1, "failed"), "{verdict:#}");
}

const PLAN: &str = r#"answers '{\"schema_version\":\"task-plan.v1\",\"summary\":\"two steps\",\"constraints\":[\"keep it small\"],\"subtasks\":[{\"id\":\"a\",\"task\":\"do part a\",\"files\":[\"a.txt\"]},{\"id\":\"b\",\"task\":\"do part b\",\"files\":[\"b.txt\"]}]}'; exit 0"#;

/// The parts come after work of the whole, and each other: none of that is theirs, and none of it is put back.
#[test]
fn the_parts_of_a_task_keep_what_was_done_before_them() {
    let world = full_world(&format!(
        "case \"$AGENTWORKFORCE_PERSONA\" in planner) {PLAN} ;; esac\n\
         if grep -q 'do part a' \"$record/stdin.$n\"; then echo a > a.txt; full '\"a.txt\"'\n\
         elif grep -q 'do part b' \"$record/stdin.$n\"; then echo b > b.txt; full '\"b.txt\"'\n\
         elif [ $n = 1 ]; then echo '# 1' >> calc.sh; full '\"calc.sh\"'; else mend; full '\"calc.sh\"'; fi"
    ));
    second(&world, "planner");
    let terms = json!({
        "planner": "planner", "files": ["calc.sh", "a.txt", "b.txt"], "budgets": {"attempts": 3},
        "validation_commands": ["sh check.sh", "test -e a.txt", "test -e b.txt"],
    });
    let (verdict, code) = under(&world, &terms, &[]);
    assert_eq!((code, &verdict["verdict"]), (0, &json!("APPROVE")), "{verdict:#}");
    assert_eq!(strategies(&verdict), ["first", "retry", "subtask", "subtask", "subtask"]);
    assert!(world.text("calc.sh").contains('+'));
    assert_eq!((world.text("a.txt").as_str(), world.text("b.txt").as_str()), ("a\n", "b\n"));
}

#[test]
fn a_part_that_leaves_its_files_is_caught_and_loses_nothing() {
    let world = full_world(&format!(
        "case \"$AGENTWORKFORCE_PERSONA\" in planner) {PLAN} ;; esac\n\
         if grep -q 'do part a' \"$record/stdin.$n\"; then echo a > a.txt; echo x > b.txt; full '\"a.txt\"'\n\
         elif grep -q 'do part b' \"$record/stdin.$n\"; then echo b > b.txt; full '\"b.txt\"'\n\
         elif [ $n = 1 ]; then echo '# 1' >> calc.sh; full '\"calc.sh\"'; else mend; full '\"calc.sh\"'; fi"
    ));
    second(&world, "planner");
    let terms = json!({
        "planner": "planner", "files": ["calc.sh", "a.txt", "b.txt"], "budgets": {"attempts": 3},
        "validation_commands": ["sh check.sh", "test -e a.txt", "test -e b.txt"],
    });
    let (verdict, code) = under(&world, &terms, &[]);
    assert_eq!(verdict["attempts"][2]["signal"]["blockerType"], "scope_drift", "{verdict:#}");
    assert_eq!(code, 0, "the next part writes its own: {verdict:#}");
    assert_eq!(world.text("b.txt"), "b\n");
    assert!(world.text("calc.sh").contains('+'));
}

fn advisor(decision: &str, stop_reason: &str) -> String {
    format!(
        "case \"$AGENTWORKFORCE_PERSONA\" in sage) answers '{{\\\"schema_version\\\":\\\"advisor-response.v1\\\",\
         \\\"decision\\\":\\\"{decision}\\\",\\\"summary\\\":\\\"it is a sum\\\",\\\"executor_instructions\\\":[\\\"write a plus\\\"],\
         \\\"confidence\\\":0.9,\\\"stop_reason\\\":{stop_reason}}}'; exit 0 ;; esac\n\
         if grep -q 'write a plus' \"$record/stdin.$n\"; then mend; else echo 'add() {{ echo 4; }}' > calc.sh; fi; report '\"calc.sh\"'"
    )
}

#[test]
fn advice_comes_before_the_same_failure_is_tried_a_third_time() {
    let world = world(&advisor("CORRECTION", "null"));
    second(&world, "sage");
    let (verdict, code) = world.verdict(&["--advisor", "sage", "--attempts", "5"]);
    assert_eq!((code, &verdict["verdict"]), (0, &json!("APPROVE")), "{verdict:#}");
    assert_eq!(strategies(&verdict), ["first", "retry", "rephrase"]);
    assert_eq!(verdict["advice"][0]["summary"], "it is a sum");
}

#[test]
fn an_advisor_can_stop_the_work() {
    let world = world(&advisor("STOP", "\\\"the spec is wrong\\\""));
    second(&world, "sage");
    let (verdict, code) = world.verdict(&["--advisor", "sage", "--attempts", "5"]);
    assert_eq!((code, &verdict["verdict"]), (1, &json!("ESCALATED")), "{verdict:#}");
    assert_eq!(verdict["apply"]["status"], "held");
}

#[test]
fn an_advisor_that_says_nothing_useful_stops_nothing() {
    let world = world(
        "case \"$AGENTWORKFORCE_PERSONA\" in sage) head -c 3000000 /dev/zero | tr '\\0' '['; answers '{{{{'; exit 0 ;; esac\n\
         echo 'add() { echo 4; }' > calc.sh; report '\"calc.sh\"'",
    );
    second(&world, "sage");
    let (verdict, code) = world.verdict(&["--advisor", "sage", "--attempts", "5"]);
    assert_eq!((code, &verdict["verdict"]), (1, &json!("SKIPPED")), "{verdict:#}");
}

/// A sample of the points; `AGENTWORKFORCE_CRASH_STEP=1` tries all of them.
#[test]
fn a_kill_at_any_point_keeps_the_count_and_the_work_goes_on() {
    let step = std::env::var("AGENTWORKFORCE_CRASH_STEP").map_or(11, |step| step.parse().expect("a number"));
    let mut killed = 0;
    for point in (3..200).step_by(step) {
        let world = world("if [ $n -ge 2 ]; then mend; else echo '# 1' >> calc.sh; fi; report '\"calc.sh\"'");
        let before = world.text("calc.sh");
        let mut command = world.work_command(&[
            "work",
            "mend add",
            "--as",
            "hand",
            "--check",
            "sh check.sh",
            "--apply",
            "auto",
            "--attempts",
            "3",
            "--json",
        ]);
        let output = command.env("AGENTWORKFORCE_TEST_KILL_AT", point.to_string()).output().unwrap();
        if output.status.code().is_some() {
            break;
        }
        killed += 1;
        assert!(soon(|| world.worked(&["sessions", "recover"]).code == 0), "point {point}");
        let now = world.text("calc.sh");
        assert!(now == before || now.contains('+'), "point {point}: only what is approved is applied: {now}");
        let sessions = world.listed();
        let Some(session) = sessions.iter().find(|session| session["state"] == "held") else { continue };
        let id = session["id"].as_str().unwrap().to_owned();
        if now != before {
            continue;
        }
        let history = world.home().join(".agentworkforce/workforce/sessions").join(&id).join("history.json");
        let kept: Value = serde_json::from_slice(&fs::read(&history).unwrap_or_default()).unwrap_or_default();
        let had = kept["attempts"].as_array().map_or(0, Vec::len);
        let did = world.worked(&["work", "--resume", &id, "--apply", "auto", "--json"]);
        let verdict = did.json();
        assert_eq!((did.code, &verdict["verdict"]), (0, &json!("APPROVE")), "point {point}: {verdict:#}");
        let attempts = verdict["attempts"].as_array().unwrap();
        assert_eq!(
            attempts[..had],
            kept["attempts"].as_array().map_or(&[][..], Vec::as_slice)[..],
            "point {point}"
        );
        assert!(attempts.len() > had && attempts.len() <= 3, "point {point}");
        assert!(world.text("calc.sh").contains('+'), "point {point}");
    }
    assert!(killed > 3, "the points are passed");
}
