//! Sessions that go on, each with its own chat: in a terminal and headless, one after the other and at once.

use crate::support::pty::Terminal;
use crate::support::scratch::PATIENCE;
use crate::support::wishes::shell;
use crate::support::{Scratch, Turn};
use agentworkforce::model::tier::Harness;
use serde_json::{Value, json};
use std::time::Duration;

/// What is on the screen when the program listens.
fn ready(harness: Harness) -> &'static str {
    match harness {
        Harness::Claude => "for shortcuts",
        Harness::Opencode => "Ask anything",
        Harness::Codex => "Ask Codex to do anything",
    }
}

/// What is listed of the sessions there are, the newest first.
fn listed(world: &Scratch) -> Vec<Value> {
    let ran = world.run(&mut world.agentworkforce(["sessions", "list", "--json"]), "");
    let listed: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    listed["sessions"].as_array().expect("a list").clone()
}

/// Their names.
fn sessions(world: &Scratch) -> Vec<String> {
    listed(world).iter().map(|session| session["id"].as_str().expect("an id").to_owned()).collect()
}

fn open(world: &Scratch, flags: &[&str]) -> Terminal {
    world.terminal(&world.agentworkforce(["agent", "tester"].iter().chain(flags)))
}

/// Leaves the programs. Without changes there is no question.
fn leave<const COUNT: usize>(mut terminals: [Terminal; COUNT]) {
    // claude writes down what was said some time after it shows it, and not in order: what is cut off then is forgotten.
    std::thread::sleep(Duration::from_secs(2));
    // All of them before the first is dropped, which ends whatever runs in the world.
    for terminal in &mut terminals {
        terminal.quit(PATIENCE);
    }
}

/// The last request of the model's.
fn last_request(world: &Scratch) -> String {
    world.model.turns().last().expect("a turn").body.to_string()
}

#[track_caller]
fn knows(world: &Scratch, known: &[&str], unknown: &[&str]) {
    let request = last_request(world);
    for said in known {
        assert!(request.contains(said), "{said} is forgotten in {request}");
    }
    for said in unknown {
        assert!(!request.contains(said), "{said} is in {request}");
    }
}

/// Two sessions in terminals, open at the same time. Then each goes on: in a terminal, and headless after that.
fn each_has_its_own_chat_in_a_terminal(harness: Harness, level: &str) {
    let world = Scratch::new([]);
    world.plain(harness, &json!({}));
    let answers = ["ALPHA-SAYS", "BETA-SAYS", "ALPHA-AGAIN", "BETA-AGAIN", "ALPHA-LAST", "BETA-LAST"];
    world.model.script(answers.map(Turn::text));
    let mut alpha = open(&world, &["--sandbox", level]);
    alpha.wait_for(ready(harness), PATIENCE);
    let alphas = sessions(&world).remove(0);
    let mut beta = open(&world, &["--sandbox", level]);
    beta.wait_for(ready(harness), PATIENCE);
    let betas = sessions(&world).into_iter().find(|id| *id != alphas).expect("another one");
    alpha.ask("ALPHA-ASKS", "ALPHA-SAYS", PATIENCE);
    beta.ask("BETA-ASKS", "BETA-SAYS", PATIENCE);
    leave([beta, alpha]);
    for (id, asked) in [(&alphas, "ALPHA-ASKS"), (&betas, "BETA-ASKS")] {
        let entry = listed(&world).into_iter().find(|entry| entry["id"] == **id).expect("a session");
        assert_eq!(entry["task"], asked, "{entry:#}");
        assert!(entry["usage"]["outputTokens"].as_u64().is_some_and(|tokens| tokens > 0), "{entry:#}");
    }
    for (id, own, other) in [(&alphas, "ALPHA", "BETA"), (&betas, "BETA", "ALPHA")] {
        let mut terminal = open(&world, &["--resume", id]);
        // What was said is on the screen again.
        terminal.wait_for(&format!("{own}-SAYS"), PATIENCE);
        assert!(!terminal.screen().contains(other), "{}", terminal.screen());
        terminal.ask(&format!("{own}-ASKS-AGAIN"), &format!("{own}-AGAIN"), PATIENCE);
        leave([terminal]);
        knows(&world, &[&format!("{own}-ASKS"), &format!("{own}-SAYS")], &[other]);
    }
    // A session that had no changes goes on in a new one, which is the last then.
    for (own, other) in [("ALPHA", "BETA"), ("BETA", "ALPHA")] {
        let goes_on = if own == "ALPHA" { &alphas } else { &betas };
        let report = world.succeeds(&["--resume", goes_on]);
        assert_eq!(report["result"], format!("{own}-LAST"), "{report:#}");
        knows(&world, &[&format!("{own}-ASKS"), &format!("{own}-SAYS")], &[other]);
    }
}

#[test]
fn claudes_chats_stay_apart_in_terminals() {
    each_has_its_own_chat_in_a_terminal(Harness::Claude, "project");
}

#[test]
fn claudes_chats_stay_apart_in_terminals_and_a_strict_sandbox() {
    each_has_its_own_chat_in_a_terminal(Harness::Claude, "strict");
}

#[test]
fn codexs_chats_stay_apart_in_terminals() {
    each_has_its_own_chat_in_a_terminal(Harness::Codex, "project");
}

#[test]
fn codexs_chats_stay_apart_in_terminals_and_a_strict_sandbox() {
    each_has_its_own_chat_in_a_terminal(Harness::Codex, "strict");
}

#[test]
fn opencodes_chats_stay_apart_in_terminals() {
    each_has_its_own_chat_in_a_terminal(Harness::Opencode, "project");
}

#[test]
fn opencodes_chats_stay_apart_in_terminals_and_a_strict_sandbox() {
    each_has_its_own_chat_in_a_terminal(Harness::Opencode, "strict");
}

/// Two kept sessions, one after the other; the first goes on, then the second, then the last by its persona.
#[test]
fn chats_stay_apart_headless() {
    for harness in Harness::ALL {
        let world = Scratch::new([]);
        world.plain(harness, &json!({}));
        let answers = ["ALPHA-SAYS", "BETA-SAYS", "ALPHA-AGAIN", "BETA-AGAIN", "BETA-LAST", "BETA-END"];
        world.model.script(answers.map(Turn::text));
        let alpha = world.succeeds(&["--apply", "never"]);
        let beta = world.succeeds(&["--apply", "never"]);
        let id = |report: &Value| report["session"].as_str().expect("an id").to_owned();
        world.succeeds(&["--resume", &id(&alpha)]);
        knows(&world, &["ALPHA-SAYS"], &["BETA"]);
        world.succeeds(&["--resume", &id(&beta)]);
        knows(&world, &["BETA-SAYS"], &["ALPHA"]);
        world.succeeds(&["-c"]);
        knows(&world, &["BETA-SAYS", "BETA-AGAIN"], &["ALPHA"]);
        world.succeeds(&["--resume", "last"]);
        knows(&world, &["BETA-SAYS", "BETA-AGAIN", "BETA-LAST"], &["ALPHA"]);
    }
}

/// There is no conversation to go on with, and nobody else's is taken for it.
#[test]
fn where_nothing_was_said_a_conversation_begins() {
    for harness in Harness::ALL {
        let world = Scratch::new([]);
        world.plain(harness, &json!({}));
        world.model.script([Turn::text("OTHER-SAYS"), Turn::text("FIRST-ANSWER")]);
        let silent = open(&world, &[]);
        silent.wait_for(ready(harness), PATIENCE);
        let id = sessions(&world).remove(0);
        leave([silent]);
        world.succeeds(&[]);
        let report = world.succeeds(&["--resume", &id]);
        assert_eq!(report["result"], "FIRST-ANSWER", "{harness}: {report:#}");
        knows(&world, &[], &["OTHER-SAYS"]);
    }
}

/// A conversation that is begun inside is the one that goes on.
#[test]
fn what_is_begun_inside_goes_on() {
    for harness in [Harness::Codex, Harness::Opencode] {
        let world = Scratch::new([]);
        world.plain(harness, &json!({}));
        world.model.script(["OLD-SAYS", "NEW-SAYS", "LAST-SAYS"].map(Turn::text));
        let mut terminal = open(&world, &[]);
        terminal.wait_for(ready(harness), PATIENCE);
        terminal.ask("OLD-ASKS", "OLD-SAYS", PATIENCE);
        terminal.enter("/new");
        if harness == Harness::Codex {
            terminal.wait_for("Use current Git worktree", PATIENCE);
            terminal.type_text("\r");
        }
        terminal.wait_until("the old chat to go", PATIENCE, |screen| !screen.contains("OLD-SAYS"));
        terminal.ask("NEW-ASKS", "NEW-SAYS", PATIENCE);
        leave([terminal]);
        world.succeeds(&["-c"]);
        knows(&world, &["NEW-ASKS", "NEW-SAYS"], &["OLD"]);
    }
}

/// Its sandbox makes empty directories where its configuration could be.
#[test]
fn what_codex_leaves_in_the_project_is_not_called_the_agents() {
    let world =
        Scratch::new([shell(Harness::Codex, "echo 1 > one.txt"), Turn::text("fine"), Turn::text("fine")]);
    world.plain(Harness::Codex, &json!({}));
    let first = world.succeeds(&["--apply", "never"]);
    let second = world.succeeds(&["--resume", first["session"].as_str().expect("an id"), "--apply", "never"]);
    assert!(!second["warnings"].to_string().contains("had written"), "{second:#}");
}
