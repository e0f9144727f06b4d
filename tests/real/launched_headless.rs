//! The product on the real harnesses, headless: what the model is told, what the agent may do, and what comes back.

use crate::support::persona::{
    ABOVE, CHARTER, HIDDEN, IDENTITY, PROMPT, REPO_AGENTS, REPO_CLAUDE, SECRET, SHOUTED, SIDECAR, SKILL,
    TOOL, named_model,
};
use crate::support::wishes::{offered, shell, shout, write};
use crate::support::{Scratch, Turn};
use agentworkforce::model::tier::Harness;
use serde_json::json;
use std::path::Path;

/// Every way to read a file that the tools offer.
fn read(harness: Harness, file: &str) -> Turn {
    let absolute = |name: &str| json!({name: file});
    match harness {
        Harness::Claude => Turn::call("Read", absolute("file_path"))
            .and_call("Bash", json!({"command": format!("cat {file}"), "description": "look"})),
        Harness::Opencode => Turn::call("read", absolute("filePath"))
            .and_call("bash", json!({"command": format!("cat {file}"), "description": "look"})),
        Harness::Codex => Turn::call("exec_command", json!({"cmd": format!("cat {file}; cat .env; true")})),
    }
}

#[test]
fn the_whole_persona_reaches_the_model_and_its_work_is_applied() {
    for harness in Harness::ALL {
        let world = Scratch::new([]);
        let hidden = world.project().join(".env").display().to_string();
        world.model.script([
            shout(harness),
            write(harness, &world.project().join("made.txt").display().to_string()),
            read(harness, &hidden),
            Turn::text("all done"),
        ]);
        world.tester(harness, &json!({}));
        let report = world.succeeds(&[]);
        assert_eq!(report["result"], "all done", "{harness}: {report:#}");
        for mark in [IDENTITY, CHARTER, PROMPT, SIDECAR, SKILL, "TASK-MARKER", TOOL, SHOUTED] {
            assert!(
                world.model.contains(mark),
                "{harness}: {mark} is in no request: {report:#}\n{}",
                world.model.requests_text()
            );
        }
        for mark in [REPO_CLAUDE, REPO_AGENTS, ABOVE, HIDDEN, SECRET.1] {
            assert!(!world.model.contains(mark), "{harness}: {mark} is in a request");
        }
        // Denied by the persona; codex has no such tool.
        let request = &world.model.turns()[0].body;
        assert!(!offered(request).iter().any(|tool| tool.eq_ignore_ascii_case("WebFetch")), "{harness}");
        assert_eq!(request["model"], named_model(harness).1, "{harness}");
        // The server had the secret, and no file of ours has.
        assert!(!holds(&world.home().join(".agentworkforce"), SECRET.1), "{harness}");
        assert_eq!(world.read("project/made.txt"), "written\n", "{harness}");
        assert_eq!(report["apply"]["status"], "applied", "{harness}: {report:#}");
        assert_eq!(report["changes"][0]["path"], "made.txt", "{harness}: {report:#}");
        assert_eq!(report["changes"].as_array().map(Vec::len), Some(1), "{harness}: {report:#}");
        assert_eq!(report["mount"]["backend"], "overlay", "{harness}");
        assert!(
            report["harness"]["version"].as_str().is_some_and(|version| version.contains('.')),
            "{report:#}"
        );
        let status = world.command("git").args(["status", "--porcelain"]).output().expect("git runs");
        assert_eq!(String::from_utf8_lossy(&status.stdout), "?? made.txt\n", "{harness}");
    }
}

/// Whether any file below has this in it.
fn holds(dir: &Path, text: &str) -> bool {
    let entries = std::fs::read_dir(dir).expect("readable");
    entries.flatten().any(|entry| match entry.file_type().expect("a type") {
        kind if kind.is_dir() => holds(&entry.path(), text),
        kind if kind.is_file() => {
            let content = std::fs::read(entry.path()).unwrap_or_default();
            content.windows(text.len()).any(|window| window == text.as_bytes())
        }
        _ => false,
    })
}

#[test]
fn piped_text_reaches_the_model() {
    for harness in Harness::ALL {
        let world = Scratch::new([Turn::text("I see")]);
        world.plain(harness, &json!({}));
        let args = ["agent", "tester", "what is this?", "--json"];
        let ran = world.run(&mut world.agentworkforce(args), "PIPED-MARKER line\n");
        assert_eq!(ran.code, Some(0), "{harness}: {ran:#?}");
        assert!(world.model.contains("what is this?"), "{harness}");
        assert!(
            world.model.contains("<stdin>\\nPIPED-MARKER line\\n</stdin>"),
            "{harness}: {}",
            world.model.requests_text()
        );
    }
}

#[test]
fn a_copy_works_as_well() {
    for harness in Harness::ALL {
        let world = Scratch::new([]);
        world.model.script([write(harness, "made.txt"), Turn::text("all done")]);
        world.tester(harness, &json!({}));
        let report = world.succeeds(&["--mount", "copy"]);
        assert_eq!(world.read("project/made.txt"), "written\n", "{harness}: {report:#}");
        assert!(world.model.contains(SIDECAR) && world.model.contains(PROMPT), "{harness}");
        assert!(!world.model.contains(REPO_CLAUDE) && !world.model.contains(REPO_AGENTS), "{harness}");
    }
}

#[test]
fn extend_shows_the_model_both_files() {
    for harness in Harness::ALL {
        let world = Scratch::new([Turn::text("fine")]);
        world.tester(harness, &json!({"claudeMdMode": "extend", "agentsMdMode": "extend"}));
        world.succeeds(&[]);
        let real = if harness == Harness::Claude { REPO_CLAUDE } else { REPO_AGENTS };
        assert!(world.model.contains(SIDECAR) && world.model.contains(real), "{harness}");
        assert_eq!(world.read("project/CLAUDE.md"), REPO_CLAUDE);
        assert_eq!(world.read("project/AGENTS.md"), REPO_AGENTS);
    }
}

#[test]
fn a_denied_tool_is_denied() {
    let cases = [
        // Taken away: the model is not even offered it, and a call all the same does nothing.
        (Harness::Claude, json!({"allow": ["Read"], "deny": ["Write", "Edit", "Bash"]}), "\"Write\""),
        (Harness::Opencode, json!({"allow": ["Read"], "deny": ["Write", "Edit", "Bash"]}), "\"bash\""),
        // codex keeps its tools; its sandbox holds.
        (Harness::Codex, json!({"deny": ["Write", "Edit"]}), "NEVER-OFFERED"),
    ];
    for (harness, permissions, tool) in cases {
        let world = Scratch::new([]);
        world.model.script([write(harness, "made.txt"), Turn::text("I may not")]);
        world.tester(harness, &json!({ "permissions": permissions }));
        let report = world.succeeds(&[]);
        assert_eq!(report["changes"], json!([]), "{harness}: {report:#}");
        let offered = world.model.turns()[0].body["tools"].to_string();
        assert!(!offered.contains(tool), "{harness}: {offered}");
        world.promises("permissions.deny");
    }
}

#[test]
fn an_empty_allow_list_allows_nothing() {
    for harness in [Harness::Claude, Harness::Opencode] {
        let world = Scratch::new([]);
        world.model.script([write(harness, "made.txt"), Turn::text("I may not")]);
        world.tester(harness, &json!({"permissions": {"allow": []}}));
        let (report, _) = world.report(&[]);
        assert_eq!(report["changes"], json!([]), "{harness}: {report:#}");
    }
}

#[test]
fn a_megabyte_of_charter_launches() {
    let charter = format!("BIG-CHARTER-BEGIN {} BIG-CHARTER-END", "word ".repeat(200_000));
    for harness in Harness::ALL {
        let world = Scratch::new([Turn::text("read it")]);
        world.tester(harness, &json!({}));
        let role = json!({"label": "Knitter", "charter": charter});
        world.write("project/.agentworkforce/workforce/roles/knitter.json", role.to_string());
        let report = world.succeeds(&[]);
        assert_eq!(report["result"], "read it", "{harness}");
        assert!(
            world.model.contains("BIG-CHARTER-BEGIN") && world.model.contains("BIG-CHARTER-END"),
            "{harness}"
        );
    }
}

#[test]
fn errors_of_the_model_are_failures_with_the_reason() {
    for (status, mark) in [(401, "KEY-REFUSED"), (429, "TOO-MANY"), (500, "SERVER-BROKEN")] {
        for harness in Harness::ALL {
            let mut world = Scratch::new([]);
            world.model.always(Turn::error(status, mark));
            world.set_var("CLAUDE_CODE_MAX_RETRIES", "1");
            world.tester(harness, &json!({}));
            // opencode tries for more than a minute where trying again makes sense: it is ended, and that is told.
            if harness == Harness::Opencode && status != 401 {
                let (report, ran) = world.report(&["--timeout", "25"]);
                assert_eq!(ran.code, Some(124), "{status}: {report:#}");
                assert_eq!(report["outcome"]["status"], "timed-out", "{report:#}");
                assert!(!world.model.requests().is_empty(), "{status}");
                continue;
            }
            let (report, ran) = world.report(&[]);
            assert_eq!(ran.code, Some(1), "{harness} {status}: {report:#}");
            assert_eq!(report["outcome"]["status"], "failed", "{report:#}");
            let reason = report["outcome"]["reason"].as_str().unwrap_or_default();
            // codex has words of its own for some of them.
            let told = reason.contains(mark) || reason.contains(&status.to_string());
            assert!(
                told || (harness == Harness::Codex && reason.len() > 10),
                "{harness} {status}: {report:#}"
            );
        }
    }
}

#[test]
fn a_model_that_hangs_is_ended_at_the_limit() {
    for harness in Harness::ALL {
        let world = Scratch::new([Turn::text("begin").then_hang()]);
        world.tester(harness, &json!({}));
        let (report, ran) = world.report(&["--timeout", "8"]);
        assert_eq!(ran.code, Some(124), "{harness}: {report:#}");
        assert_eq!(report["outcome"]["status"], "timed-out");
    }
}

/// opencode says nothing while a tool is at work, so its silence has to be read in its log.
#[test]
fn an_opencode_that_hears_nothing_more_is_idle() {
    let world = Scratch::new([Turn::text("begin").then_hang()]);
    world.plain(Harness::Opencode, &json!({"limits": {"idleSeconds": 4}}));
    let (report, ran) = world.report(&["--timeout", "60"]);
    assert_eq!(ran.code, Some(124), "{report:#}");
    assert!(report["outcome"]["reason"].to_string().contains("was silent"), "{report:#}");
}

#[test]
fn a_tool_that_sleeps_is_gone_with_the_run() {
    for harness in Harness::ALL {
        let world = Scratch::new([]);
        world.model.script([shell(harness, "sleep 300"), Turn::text("never said")]);
        world.tester(harness, &json!({"permissions": {"allow": ["Bash(sleep:*)"], "mode": "acceptEdits"}}));
        let (report, ran) = world.report(&["--timeout", "10"]);
        assert_eq!(ran.code, Some(124), "{harness}: {report:#}");
    }
}

#[test]
fn a_conversation_goes_on() {
    for (harness, sandbox) in Harness::ALL.into_iter().flat_map(|name| [(name, "project"), (name, "strict")])
    {
        let world = Scratch::new([]);
        world.model.script([Turn::text("FIRST-ANSWER"), Turn::text("SECOND-ANSWER")]);
        world.tester(harness, &json!({}));
        let first = world.succeeds(&["--apply", "never", "--sandbox", sandbox]);
        let id = first["session"].as_str().expect("a session");
        let second = world.succeeds(&["--resume", id, "--sandbox", sandbox]);
        assert_eq!(second["result"], "SECOND-ANSWER", "{harness}: {second:#}");
        let turns = world.model.turns();
        let last = turns.last().expect("a turn").body.to_string();
        assert!(last.contains("FIRST-ANSWER"), "{harness}: it does not know what was said: {last}");
        assert!(last.contains(PROMPT) && last.contains(IDENTITY), "{harness}: the prompt is gone");
        assert_eq!(second["harness"]["sessionId"], first["harness"]["sessionId"], "{harness}");
    }
}

#[test]
fn limits_of_turns_and_money_hold_on_claude() {
    let world = Scratch::new([]);
    world.model.always(Turn::call("Read", json!({"file_path": "README.md"})));
    world.tester(Harness::Claude, &json!({}));
    let (report, ran) = world.report(&["--max-turns", "2"]);
    assert_eq!(ran.code, Some(1), "{report:#}");
    assert!(report["outcome"]["reason"].to_string().contains("turns"), "{report:#}");
    assert!(world.model.turns().len() <= 3, "{}", world.model.turns().len());
    let (report, ran) = world.report(&["--max-usd", "0.000001"]);
    assert_eq!(ran.code, Some(1), "{report:#}");
}
