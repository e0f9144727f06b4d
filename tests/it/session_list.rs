//! Finding old sessions: the list with its filters, what `last` means, what a session shows, and what becomes of old ones.

use crate::support::harness::weaver;
use crate::support::mount::{Identity, World, for_each_identity};
use crate::support::sessions::Did;
use crate::support::terminal::Terminal;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// Does what the task says.
const SCRIPT: &str = r#"
begins
case "$(cat "$record/stdin" 2>/dev/null)" in
*change*) date +%N >> main.txt; echo new > new.txt; answers "polished the frobnicator" ;;
*broken*) echo "out of cheese" >&2; exit 7 ;;
*) answers "all is well" ;;
esac
"#;

fn world(who: Identity) -> World {
    World::with_harness(who, SCRIPT)
}

fn listed(world: &World, args: &[&str]) -> Vec<Value> {
    let did = world.aw([&["sessions", "list", "--json"], args].concat()).ends(0);
    did.json()["sessions"].as_array().unwrap().clone()
}

/// The tasks of a list, the newest first.
fn tasks(world: &World, args: &[&str]) -> Vec<String> {
    listed(world, args).iter().map(|entry| entry["task"].as_str().unwrap_or("-").to_owned()).collect()
}

fn in_dir(world: &World, dir: &Path, args: &[&str]) -> Did {
    Did::of(&world.aw_command([&["sessions"], args].concat()).current_dir(dir).output().unwrap())
}

#[test]
fn a_list_says_what_sessions_were_about_and_how_they_ended() {
    for_each_identity(|base| {
        let world = world(base.who);
        world.agent(&["weaver", "-p", "change it\nin two lines"]).ends(0);
        world.agent(&["weaver", "-p", "look at it"]).ends(0);
        world.agent(&["weaver", "-p", "a broken one"]).ends(1);
        world.agent(&["weaver", "-p", "change, checked", "--check", "false"]).ends(1);
        world.agent(&["weaver", "-p", "change, later", "--apply", "never"]).ends(0);
        world.mounted(&[], "true").ends(0);
        world.mounted(&["--apply", "never"], "mkdir made; echo x > made/n").ends(0);
        let listed = listed(&world, &[]);
        let shown: Vec<Value> = listed
            .iter()
            .map(|entry| {
                json!([
                    entry["task"],
                    entry["outcome"],
                    entry["heldBecause"],
                    entry["usage"]["costUsd"],
                    entry["changed"],
                    entry["added"],
                    entry["removed"],
                    entry["state"]
                ])
            })
            .collect();
        let expected = [
            json!(["sh -ec 'mkdir made; echo x > made/n'", "held", "requested", null, 1, 0, 0, "held"]),
            json!(["sh -ec true", "no-changes", null, null, 0, 0, 0, "nothing"]),
            json!(["change, later", "held", "requested", 0.5, 1, 1, 0, "held"]),
            json!(["change, checked", "held", "check-failed", 0.5, 1, 1, 0, "held"]),
            json!(["a broken one", "failed", null, null, 0, 0, 0, "nothing"]),
            json!(["look at it", "no-changes", null, 0.5, 0, 0, 0, "nothing"]),
            json!(["change it\nin two lines", "applied", null, 0.5, 2, 2, 0, "applied"]),
        ];
        assert_eq!(shown, expected);
        assert!(listed.iter().all(|entry| entry["seconds"].is_number()), "{listed:#?}");

        let mut command = world.aw_command(["sessions", "list"]);
        let text = Did::of(&command.env("TZ", "Asia/Tokyo").output().unwrap()).ends(0).stdout;
        let rows: Vec<&str> = text.lines().collect();
        assert_eq!(rows.len(), 8, "{text}");
        assert!(rows[1].contains("held: apply never") && rows[1].contains("  1 file  "), "{text}");
        assert!(rows[4].contains("held: check failed") && rows[4].ends_with("change, checked"), "{text}");
        assert!(rows[7].contains("+09:00  weaver") && rows[7].contains("$0.50  +2 -0"), "{text}");
        assert!(rows[7].ends_with("  change it"), "{text}");
    });
}

#[test]
fn a_session_is_found_by_a_word_of_its_task_or_result() {
    let world = world(Identity::Own);
    let mut other = weaver();
    other["id"] = json!("other");
    world.persona(&other);
    world.agent(&["weaver", "-p", "change the Parser"]).ends(0);
    world.agent(&["other", "-p", "look at the lexer"]).ends(0);
    world.agent(&["weaver", "-p", "the broken lexer"]).ends(1);
    let (parser, lexer, broken) = ("change the Parser", "look at the lexer", "the broken lexer");
    for (args, found) in [
        (&["parser"][..], vec![parser]),
        (&["FROBNICATOR"], vec![parser]),
        (&["lexer"], vec![broken, lexer]),
        (&["lexer", "look"], vec![lexer]),
        (&["--search", "lexer", "--persona", "weaver"], vec![broken]),
        (&["nobody-said-this"], vec![]),
        (&["--state", "failed"], vec![broken]),
        (&["--state", "completed"], vec![lexer, parser]),
        (&["--state", "applied,no-changes"], vec![lexer, parser]),
        (&["--persona", "other"], vec![lexer]),
        (&["--since", "1h"], vec![broken, lexer, parser]),
        (&["--since", "2999-01-01"], vec![]),
        (&["--project"], vec![broken, lexer, parser]),
        (&["--project", "/"], vec![broken, lexer, parser]),
        (&["--project", "/usr"], vec![]),
    ] {
        assert_eq!(tasks(&world, args), found, "{args:?}");
    }
    world.aw(["sessions", "list", "nobody-said-this"]).ends(0).says("no session matches");
    world.aw(["sessions", "list", "--since", "soon"]).ends(2).says("neither an age nor a day");
    world.aw(["sessions", "list", "--state", "gone"]).ends(2).says("no-changes");
}

#[test]
fn last_is_the_last_session_of_this_project_and_of_no_other() {
    for_each_identity(|base| {
        let world = world(base.who);
        world.agent(&["weaver", "-p", "change one", "--apply", "never"]).ends(0);
        world.agent(&["weaver", "-p", "change two", "--apply", "never"]).ends(0);
        let id = |task: &str| {
            let all = listed(&world, &[task]);
            all[0]["id"].as_str().unwrap().to_owned()
        };
        let below = world.project().join("below");
        fs::create_dir(&below).unwrap();
        let shown = |dir: &Path, wanted: &str| {
            let did = in_dir(&world, dir, &["show", wanted, "--json"]).ends(0);
            did.json()["id"].as_str().unwrap().to_owned()
        };
        assert_eq!(shown(&world.project(), "last"), id("two"));
        assert_eq!(shown(&below, "last"), id("two"));
        // As the list names it.
        let one = id("one");
        assert_eq!(shown(&below, one.rsplit('-').next().unwrap()), one);

        let elsewhere = world.path("elsewhere");
        fs::create_dir_all(&elsewhere).unwrap();
        for action in ["show", "discard", "apply"] {
            let did = in_dir(&world, &elsewhere, &[action, "last"]).ends(2);
            did.says("no session was started in this project").says(&id("two"));
        }
        assert_eq!(listed(&world, &["--state", "held"]).len(), 2);
        in_dir(&world, &below, &["discard", "last", "--yes"]).ends(0);
        assert_eq!(tasks(&world, &["--state", "held"]), ["change one"]);
    });
}

#[test]
fn the_list_fits_a_terminal_of_80_columns() {
    let world = world(Identity::Own);
    let task = "change what people from far away see first when they come here, and more words";
    world.agent(&["weaver", "-p", task, "--check", "false"]).ends(1);
    world.agent(&["weaver", "-p", "\u{1b}[2Jlook"]).ends(0);
    let short = listed(&world, &["change"])[0]["id"].as_str().unwrap().rsplit('-').next().unwrap().to_owned();
    let terminal = Terminal::open_with(&world, 80, 24);
    terminal.line("clear; $AW sessions list; echo end''ed");
    terminal.shows("ended");
    let screen = terminal.screen();
    let lines: Vec<&str> = screen.lines().filter(|line| !line.trim().is_empty()).collect();
    let at = lines.iter().position(|line| line.starts_with("ID  ")).expect("a header");
    assert!(lines[at + 1].contains("no changes") && lines[at + 2].contains("weaver: "), "{screen}");
    assert!(lines[at + 3].starts_with(&short) && lines[at + 3].contains("held: check failed"), "{screen}");
    assert!(
        lines[at + 4].starts_with("        weaver: change what people") && lines[at + 4].ends_with('…'),
        "{screen}"
    );
    assert_eq!(lines[at + 5], "2 sessions, $1.00, 1 held", "{screen}");
    terminal.resize(40, 24);
    terminal
        .line("until stty size | grep -q ' 40'; do sleep 0.1; done; clear; $AW sessions list; echo nar''row");
    terminal.shows("narrow");
    let screen = terminal.screen();
    assert!(
        screen.lines().any(|line| line.starts_with(&short) && line.contains("held: check failed")),
        "{screen}"
    );
    assert!(
        screen.lines().all(|line| !line.starts_with(' ') || line.starts_with("        weaver: ")),
        "{screen}"
    );
    assert!(!screen.contains("PROJECT") && !screen.contains(" in project"), "{screen}");
    terminal.resize(180, 24);
    terminal
        .line("until stty size | grep -q ' 180'; do sleep 0.1; done; clear; $AW sessions list; echo wi''de");
    terminal.shows("wide");
    let screen = terminal.screen();
    assert!(screen.lines().any(|line| line.starts_with(&short) && line.ends_with(task)), "{screen}");
}

#[test]
fn the_list_on_a_terminal_tells_the_projects_apart() {
    let world = world(Identity::Own);
    world.agent(&["weaver", "-p", "look"]).ends(0);
    let other = world.path("other/shop");
    fs::create_dir_all(&other).unwrap();
    let mut command = world.aw_command(["mount", "--root", ".", "--", "true"]);
    Did::of(&command.current_dir(&other).output().unwrap()).ends(0);
    let terminal = Terminal::open_with(&world, 80, 24);
    terminal.line("clear; $AW sessions list; echo end''ed");
    terminal.shows("ended");
    let screen = terminal.screen();
    assert!(
        screen.contains("        mount in shop: true") && screen.contains("        weaver in project: look"),
        "{screen}"
    );
    terminal.resize(180, 24);
    terminal
        .line("until stty size | grep -q ' 180'; do sleep 0.1; done; clear; $AW sessions list; echo wi''de");
    terminal.shows("wide");
    let screen = terminal.screen();
    assert!(
        screen.contains("PERSONA") && screen.contains("PROJECT") && screen.contains("  shop "),
        "{screen}"
    );
    terminal.line("clear; $AW sessions list --project; echo on''ly");
    terminal.shows("only");
    assert!(!terminal.screen().contains("PROJECT"), "{}", terminal.screen());
}

#[test]
fn a_failed_run_is_an_error_that_names_its_session_and_log() {
    for_each_identity(|base| {
        let world = world(base.who);
        let did = world.agent(&["weaver", "-p", "a broken one"]).ends(1);
        let id = world.only_session();
        let log = world.sessions().join(&id).join("attempts/1/harness.log");
        let error = did.stderr.lines().find(|line| line.starts_with("error: ")).expect("an error").to_owned();
        assert!(error.starts_with("error: the run failed: "), "{did:#?}");
        assert!(error.ends_with(&format!("(session {id}, log: {})", log.display())), "{did:#?}");
        assert!(fs::read_to_string(log).unwrap().contains("out of cheese"));
        let did = world.agent(&["weaver", "-p", "look", "--timeout", "0.3", "--check", "sleep 5"]);
        assert_eq!(did.code, 0, "a check has a limit of its own: {did:#?}");
    });
}

#[test]
fn every_check_runs_and_a_failed_one_shows_the_end_of_its_output() {
    for_each_identity(|base| {
        let world = world(base.who);
        let noisy = "i=0; while [ $i -lt 50 ]; do i=$((i+1)); echo line $i; done; false";
        let checks = ["--check", noisy, "--check", "true", "--check", "exit 3"];
        let did = world.agent(&[&["weaver", "-p", "change"], &checks[..]].concat()).ends(1);
        did.says("  | line 50\n")
            .says("check passed: true")
            .says("check failed: exit 3")
            .says("2 of 3 checks failed");
        assert!(!did.stderr.contains("| line 20\n"), "{did:#?}");
        let shown = world.aw(["sessions", "show", "last"]).ends(0);
        for text in [
            "  | line 50\n",
            "check passed, ",
            "check failed (3)",
            "task      change\n",
            "$0.50, 10 tokens in",
        ] {
            assert!(shown.stdout.contains(text), "{text} is not in {shown:#?}");
        }
        shown.says("result    polished the frobnicator").says("  added     new.txt  +1 -0");
        world.aw(["sessions", "apply", "last"]).ends(0);
        let shown = world.aw(["sessions", "show", "last", "--json"]).ends(0).json();
        assert_eq!(
            (&shown["outcome"], &shown["applied"]),
            (&json!("applied"), &json!(["main.txt", "new.txt"]))
        );
        assert_eq!(shown["report"]["task"], "change");
        assert!(shown["report"]["startedAt"].as_str().unwrap().ends_with('Z'), "{shown:#}");
        world.aw(["sessions", "show", "last"]).ends(0).says("  applied   new.txt  +1 -0");
    });
}

#[test]
fn a_run_in_a_terminal_has_the_usage_and_the_first_words_of_its_records() {
    let script = r#"
    for word; do case "$word" in --session-id=*) id="${word#*=}" ;; esac; done
    mkdir -p "$HOME/.claude/projects/p"
    now=$(date -u +%Y-%m-%dT%H:%M:%S.%3NZ)
    {
      printf '{"type":"user","timestamp":"%s","message":{"role":"user","content":"say TOKEN-VALUE-123456 to them"}}\n' "$now"
      printf '{"type":"assistant","timestamp":"%s","message":{"id":"m","model":"m","usage":{"input_tokens":40,"output_tokens":2},"content":[]}}\n' "$now"
    } > "$HOME/.claude/projects/p/$id.jsonl"
    "#;
    let world = World::with_harness(Identity::Own, script);
    let mut persona = weaver();
    persona["env"] = json!({"TOKEN": "$MY_TOKEN"});
    world.persona(&persona);
    // Words for the harness make it one that needs no terminal.
    let mut command = world.agent_command(&["weaver", "--", "--verbose"]);
    Did::of(&command.env("MY_TOKEN", "TOKEN-VALUE-123456").output().unwrap()).ends(0);
    let entry = listed(&world, &[]).remove(0);
    assert_eq!(entry["usage"], json!({"inputTokens": 40, "outputTokens": 2, "turns": 1}), "{entry:#}");
    let task = entry["task"].as_str().unwrap();
    assert!(task.starts_with("say ") && task.ends_with(" to them") && !task.contains("VALUE"), "{task}");
    world.aw(["sessions", "list"]).ends(0).says("42 tok");
}

#[test]
fn a_dry_prune_removes_nothing_and_du_knows_what_it_would_free() {
    for_each_identity(|base| {
        let world = world(base.who);
        world.agent(&["weaver", "-p", "change"]).ends(0);
        world.agent(&["weaver", "-p", "change", "--apply", "never"]).ends(0);
        let du = world.aw(["sessions", "du", "--json"]).ends(0).json();
        let sizes: Vec<u64> = du["sessions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|session| session["bytes"].as_u64().unwrap())
            .collect();
        assert_eq!(sizes.iter().sum::<u64>(), du["bytes"].as_u64().unwrap());
        assert!(sizes.len() == 2 && sizes[0] >= sizes[1] && sizes[1] > 0, "{du:#}");
        world.aw(["sessions", "du"]).ends(0).says(" in 2 sessions");

        let prune =
            |more: &[&str]| world.aw([&["sessions", "prune", "--older-than", "0s"], more].concat()).ends(0);
        let dry = prune(&["--dry-run", "--json"]).json();
        assert_eq!((&dry["dryRun"], dry["removed"].as_array().unwrap().len()), (&json!(true), 1));
        assert_eq!(dry["kept"][0]["because"], "work");
        let said = prune(&["--dry-run"]);
        said.says("would remove weaver-")
            .says("would remove 1 session, ")
            .says("; kept 1 with unapplied work");
        assert_eq!(world.session_count(), 2);
        let said = prune(&[]).stdout;
        let last = said.lines().last().unwrap();
        assert!(
            last.starts_with("removed 1 session, ") && last.ends_with("B; kept 1 with unapplied work"),
            "{said}"
        );
        assert_eq!(world.session_count(), 1);
        world.aw(["sessions", "prune"]).ends(0).says("nothing removed; kept 1 newer than 7d");
    });
}

/// Makes a session look as if it had ended so long ago.
fn age(world: &World, id: &str, days: i64) {
    let path = world.sessions().join(id).join("status.json");
    let mut status: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let then = world.outside(&format!("date -u -d '{days} days ago' +%Y-%m-%dT%H:%M:%SZ"));
    for key in ["startedAt", "endedAt"] {
        status[key] = json!(then.trim());
    }
    fs::write(&path, status.to_string()).unwrap();
    world.give();
}

#[test]
fn finished_sessions_go_by_themselves_when_they_are_old_and_no_others_do() {
    for_each_identity(|base| {
        let world = world(base.who);
        let run = |flags: &[&str]| world.agent(&[&["weaver", "-p", "change"], flags].concat()).ends(0);
        // The first run of a day looks, when there is nothing old yet.
        run(&[]);
        run(&["--apply", "never"]);
        run(&[]);
        let ids: Vec<String> =
            listed(&world, &[]).iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect();
        world.aw(["sessions", "undo", &ids[0]]).ends(0);
        for id in &ids {
            age(&world, id, 91);
        }
        assert!(!run(&[]).stderr.contains("old session"), "once a day is enough");
        assert_eq!(world.session_count(), 4);

        let stamp = world.home().join(".agentworkforce/workforce/cache/sessions-tidied");
        fs::write(&stamp, "2020-01-01T00:00:00Z").unwrap();
        world.give();
        let set = |key: &str, value: &str| world.aw(["config", "set", key, value]).ends(0);
        set("sessions.keepDays", "0");
        assert!(!run(&[]).stderr.contains("old session"));
        set("sessions.keepDays", "90");
        let did = run(&[]);
        did.says("removed 1 old session, ");
        // The one with work, and the one whose work was undone, are there.
        let left = listed(&world, &[]);
        for (id, is_left) in [(&ids[0], true), (&ids[1], true), (&ids[2], false)] {
            assert_eq!(left.iter().any(|entry| entry["id"] == **id), is_left, "{id}: {left:#?}");
        }
    });
}
