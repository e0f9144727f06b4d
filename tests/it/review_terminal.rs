//! The review at a terminal of 80 columns and 24 lines: who is asked, what is shown, and what becomes of the answers.

use crate::support::mount::{World, for_each_identity, identities, read};
use crate::support::terminal::Terminal;
use pretty_assertions::assert_eq;
use std::fs;
use std::time::Duration;

const QUESTION: &str = "[x] discard?";

fn small(world: &World) -> Terminal {
    Terminal::open_with(world, 80, 24)
}

fn states(world: &World) -> Vec<String> {
    world.listed().iter().map(|session| session["state"].as_str().unwrap().to_owned()).collect()
}

/// Whatever is redirected, whoever sits at the terminal is asked there.
#[test]
fn redirections_do_not_take_the_question_away() {
    for_each_identity(|world| {
        world.repository(&[("a", "base\n")]);
        let out = world.path("out");
        let terminal = small(&world);
        for (number, redirected) in [
            "$AW mount --json -- sh -c 'echo WORD > a' > OUT",
            "echo a | $AW mount -- sh -c 'echo WORD > a'",
            "$AW mount -- sh -c 'echo WORD > a' < /dev/null",
            "$AW mount -- sh -c 'echo WORD > a' 2> OUT",
            "yes a | $AW mount --json -- sh -c 'echo WORD > a' > OUT 2>&1",
        ]
        .into_iter()
        .enumerate()
        {
            let (word, before) = (format!("word{number}"), read(world.project().join("a")));
            let line = redirected.replace("WORD", &word).replace("OUT", out.to_str().unwrap());
            terminal.clear();
            terminal.line(&format!("{line}; echo ended $?"));
            terminal.asks(QUESTION);
            terminal.shows("modified  a");
            // Nothing that was piped is an answer.
            std::thread::sleep(Duration::from_millis(300));
            assert_eq!(read(world.project().join("a")), before, "{line}");
            terminal.line("a");
            terminal.shows("ended 0");
            assert_eq!(read(world.project().join("a")), format!("{word}\n"), "{line}");
            if line.contains("--json") {
                let json: serde_json::Value = serde_json::from_str(&read(&out)).unwrap();
                assert_eq!(json["state"], "applied");
            }
        }
    });
}

#[test]
fn a_headless_agent_with_json_is_reviewed_at_the_terminal() {
    let world = World::with_harness(*identities().last().unwrap(), "echo new > new.txt; answers done");
    let out = world.path("out");
    let terminal = small(&world);
    let path = world.path("bin");
    let (path, out_name) = (path.display(), out.display());
    for flag in ["--json", "--stream-json"] {
        terminal.clear();
        let command =
            format!("$AW agent worker -p x {flag} --harness claude < /dev/null > {out_name} 2> /dev/null");
        terminal.line(&format!("PATH={path}:$PATH {command}; echo ended $?"));
        terminal.asks(QUESTION);
        assert!(!world.project().join("new.txt").exists());
        terminal.line("k");
        terminal.shows("ended 0");
        assert!(!world.project().join("new.txt").exists());
        let text = read(&out);
        for line in text.lines().filter(|_| flag == "--stream-json") {
            serde_json::from_str::<serde_json::Value>(line).unwrap_or_else(|error| panic!("{error}: {text}"));
        }
    }
    assert_eq!(states(&world), ["held", "held"]);
}

#[test]
fn a_run_in_the_background_of_a_terminal_is_held() {
    for_each_identity(|world| {
        world.repository(&[("a", "base\n")]);
        let terminal = small(&world);
        for redirected in ["", "< /dev/null > OUT 2>&1", "--json < /dev/null > OUT 2> OUT.err"] {
            let redirected = redirected.replace("OUT", world.path("out").to_str().unwrap());
            let (flag, redirected) = match redirected.strip_prefix("--json") {
                Some(rest) => ("--json", rest.to_owned()),
                None => ("", redirected),
            };
            terminal.clear();
            terminal.line(&format!(
                "$AW mount {flag} -- sh -c 'sleep 0.3; echo agent > a' {redirected} & wait $!; echo ended $?"
            ));
            terminal.shows("ended 3");
            terminal.shell_is_back();
            assert_eq!(read(world.project().join("a")), "base\n");
        }
        assert!(states(&world).iter().all(|state| state == "held"), "{:?}", states(&world));
        let report: serde_json::Value = serde_json::from_str(&read(world.path("out"))).unwrap();
        let warnings = report["warnings"].to_string();
        assert!(warnings.contains("in the background of its terminal"), "{report:#}");
        // Who wants it unasked says so.
        terminal.clear();
        terminal.line("$AW mount --apply auto -- sh -c 'echo agent > a' & wait $!; echo ended $?");
        terminal.shows("ended 0");
        assert_eq!(read(world.project().join("a")), "agent\n");
    });
}

/// It was started in the foreground, and the question comes when something else has the terminal.
#[test]
fn a_run_that_was_sent_to_the_background_is_held() {
    let world = World::new(*identities().last().unwrap());
    world.repository(&[("a", "base\n")]);
    let go = world.path("go");
    let terminal = small(&world);
    terminal.line(&format!(
        "$AW mount -- sh -c 'echo agent > a; echo is-$((1+1)); until [ -e {} ]; do sleep 0.05; done'",
        go.display()
    ));
    terminal.shows("is-2");
    terminal.keys(&["C-z"]);
    terminal.shows("Stopped");
    terminal.line("bg; clear");
    terminal.shell_is_back();
    fs::write(&go, "").unwrap();
    terminal.line("wait %1; echo ended $?");
    terminal.shows("ended 3");
    assert_eq!(read(world.project().join("a")), "base\n");
    assert_eq!(states(&world), ["held"]);
}

#[test]
fn discard_asks_on_a_terminal_and_only_there() {
    for_each_identity(|world| {
        world.repository(&[("a", "base\n")]);
        for _ in 0..4 {
            world.mounted(&["--apply", "never"], "echo agent > a").ends(0);
        }
        let ids: Vec<String> =
            world.listed().iter().map(|session| session["id"].as_str().unwrap().to_owned()).collect();
        let left = || states(&world).iter().filter(|state| *state == "held").count();
        let terminal = small(&world);
        for redirected in ["", "--json > /dev/null 2>&1 < /dev/null"] {
            terminal.clear();
            terminal.line(&format!("$AW sessions discard {} {redirected}; echo ended $?", ids[0]));
            terminal.asks("for good? [y/N]");
            terminal.shows("modified  a");
            terminal.line("");
            terminal.shows("ended 1");
            assert_eq!(left(), 4);
        }
        // What was typed before the question is no answer to it.
        terminal.clear();
        terminal.line(&format!("sleep 1; $AW sessions discard {}; echo ended $?", ids[0]));
        terminal.line("y");
        terminal.asks("for good? [y/N]");
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(left(), 4);
        terminal.line("y");
        terminal.shows("ended 0");
        assert_eq!(left(), 3);
        terminal.clear();
        terminal.line(&format!("$AW sessions discard {} & wait $!; echo ended $?", ids[1]));
        terminal.shows("ended 2");
        terminal.shows("add `--yes`");
        terminal.line(&format!("clear; $AW sessions discard {} --yes; echo ended $?", ids[1]));
        terminal.shows("ended 0");
        assert_eq!(left(), 2);
        world.aw(["sessions", "discard", &ids[2]]).ends(0);
        assert_eq!(left(), 1);
    });
}
