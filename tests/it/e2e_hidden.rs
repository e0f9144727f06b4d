//! Hidden files cannot be reached, and it is said what is hidden and why; the review at a terminal; names that would
//! command the terminal.

use crate::support::mount::{World, identities, read};
use crate::support::sessions::{BACKENDS, paths, snapshot};
use crate::support::terminal::Terminal;
use serde_json::json;
use std::fs;

const SECRET: &str = "TOP-SECRET-VALUE";

fn secrets(world: &World) {
    let secret = format!("{SECRET}\n");
    world.files(&[
        (".env", &secret),
        ("deep/down/.env.local", &secret),
        ("keys/id_rsa", &secret),
        (".ssh/config", &secret),
        ("private/plan.txt", &secret),
        (".agentignore", "private/\n!.env\n"),
        ("open.txt", "open\n"),
    ]);
    world.outside("ln -s .env link; ln -s ../.env deep/up; ln -s private linkdir");
}

#[test]
fn hidden_files_cannot_be_found_or_read_in_any_way_from_inside_an_overlay() {
    for who in identities() {
        let world = World::new(who);
        secrets(&world);
        world.outside("git init -q . && git add -A -f && git commit -qm base");
        let project = world.project();
        let sessions = world.sessions();
        let (root, state) = (project.display(), sessions.display());
        let script = format!(
            "set +e; exec 2>/dev/null
             find . -not -path './.git/*' | sort
             echo '--- reads'
             for f in .env deep/down/.env.local keys/id_rsa .ssh/config private/plan.txt link deep/up linkdir/plan.txt; do
               cat $f {root}/$f /proc/self/cwd/$f /proc/self/root{root}/$f /proc/1/root{root}/$f /proc/1/cwd/$f
             done
             for p in /proc/[0-9]*; do cat $p/cwd/.env $p/root{root}/.env $p/fd/*/.env; strings $p/environ | grep {SECRET}; done
             find {state} -type f | xargs cat; cat {state}/*/upper/.env {state}/*/mount/.env; ls {state}/*/upper {state}/*/mount
             rm -f {state}/*/upper/.env; cat .env
             grep -rs {SECRET} . --exclude-dir=.git
             mkdir -p /tmp/m.$$; mount --bind {root} /tmp/m.$$ && cat /tmp/m.$$/.env; umount {root} && cat {root}/.env; rmdir /tmp/m.$$
             ln {root}/.env hard && cat hard; mv .env elsewhere && cat elsewhere; cp -a {root} /tmp/c.$$ && cat /tmp/c.$$/.env; rm -rf /tmp/c.$$
             git status --porcelain | grep -v elsewhere
             echo '--- end'"
        );
        let ran =
            world.mounted(&["--mount", "overlay", "--apply", "never", "--json"], &format!("({script}) >&2"));
        // All of it was tried, and what is not hidden was seen.
        assert!(ran.stderr.contains("./open.txt") && ran.stderr.contains("--- end"), "{ran:#?}");
        assert!(!ran.stderr.contains(SECRET), "{}", ran.stderr);
        for name in ["/.env", ".env.local", "id_rsa", "./.ssh", "./private"] {
            let list = ran.stderr.split("--- reads").next().unwrap();
            assert!(!list.contains(name), "{name} is listed: {list}");
        }
    }
}

#[test]
fn hidden_files_are_not_in_a_copy() {
    for who in identities() {
        let world = World::new(who);
        secrets(&world);
        let script = format!(
            "! cat .env link private/plan.txt linkdir/plan.txt; ! grep -rs {SECRET} .; find . | sort"
        );
        let ran = world.mounted(&["--mount", "copy"], &script).ends(0);
        assert!(!ran.stdout.contains(SECRET) && !ran.stdout.contains("plan.txt"), "{}", ran.stdout);
        ran.says("absolute path");
    }
}

#[test]
fn the_report_says_what_is_hidden_and_why_and_that_git_still_has_it() {
    for who in identities() {
        for backend in BACKENDS {
            let world = World::new(who);
            secrets(&world);
            world.outside("git init -q . && git add -A -f && git commit -qm base");
            let report = world.mounted(&["--mount", backend, "--json"], "git show HEAD:.env >&2").ends(0);
            report.says(SECRET);
            let report = report.json();
            let hidden = &report["mount"]["hidden"];
            let mut found = paths(hidden);
            found.sort();
            assert_eq!(found, [".env", ".ssh", "deep/down/.env.local", "keys/id_rsa", "private"]);
            for one in hidden.as_array().unwrap() {
                let origin = one["rule"]["origin"].as_str().unwrap();
                let expected = if one["path"] == "private" { ".agentignore" } else { "built-in" };
                assert!(origin.contains(expected), "{one:#}");
                assert!(one["rule"]["pattern"].is_string(), "{one:#}");
            }
            world.persona(&json!({"id": "p", "intent": "p", "description": "p", "harness": "claude", "systemPrompt": "x"}));
            let shown = world.aw(["show", "p", "--files"]).ends(0);
            shown.says("git show HEAD:path").says("private/");
            world.aw(["show", "p", "--files", ".env"]).ends(0).says("hidden").says("built-in");
        }
    }
}

#[test]
fn writes_to_hidden_paths_are_reported_and_the_real_ones_stay() {
    for who in identities() {
        for backend in BACKENDS {
            let world = World::new(who);
            secrets(&world);
            let before = snapshot(&world.project());
            let script = "echo agent > .env; mkdir -p private; echo agent > private/new; rm -rf deep keys; mkdir keys; echo agent > keys/id_rsa";
            let ran = world.mounted(&["--mount", backend], script).ends(0);
            ran.says("not applied: .env (protected by `.env`")
                .says("not applied: private")
                .says("not applied: keys/id_rsa");
            let now = snapshot(&world.project());
            for path in [".env", "private/plan.txt", "keys/id_rsa", "deep/down/.env.local", ".ssh/config"] {
                let path = std::path::Path::new(path);
                assert_eq!(now.get(path), before.get(path), "{}", path.display());
            }
            assert!(!world.project().join("private/new").exists());
            assert!(
                fs::symlink_metadata(world.project().join("deep/up")).is_err(),
                "what was seen is deleted"
            );
        }
    }
}

/// Every control character that reached an output, but line ends and tabs.
fn controls(text: &str) -> Vec<char> {
    text.chars().filter(|c| c.is_control() && !matches!(c, '\n' | '\t')).collect()
}

#[test]
fn names_that_would_command_the_terminal_are_made_harmless_everywhere() {
    for who in identities() {
        for backend in BACKENDS {
            let world = World::new(who);
            world.files(&[("f", "base\n"), (".agentignore", "sec*\n"), (".gitignore", "ign*\n")]);
            world.outside("git init -q . && git add -A && git commit -qm base");
            let script = "e=$(printf '\\033]0;pwned\\007\\033[2J'); r=$(printf 'a\\rb'); b=$(printf '\\302\\233x');
                echo x > \"n$e\"; echo x > \"$r\"; echo x > \"$b\"; mkdir \"d$e\"; echo x > \"d$e/in\"; ln -s \"$e\" \"l$e\"
                echo x > \"sec$e\"; echo x > \"ign$e\"; mkfifo \"fifo$e\"; printf '\\033[31mred\\007\\n' > f; git checkout -q -b side; git commit -qam \"m$e\"";
            let run = world.mounted(&["--mount", backend, "--apply", "never"], script).ends(0);
            let id = world.only_session();
            let mut outputs = vec![run];
            for args in [
                vec!["sessions", "list"],
                vec!["sessions", "show", &id],
                vec!["sessions", "show", &id, "--json"],
                vec!["sessions", "diff", &id, "--json"],
                vec!["sessions", "apply", &id],
                vec!["sessions", "show", &id],
                vec!["sessions", "undo", &id],
                vec!["sessions", "recover", &id],
                vec!["sessions", "apply", &id, "--json"],
                vec!["sessions", "discard", &id],
                vec!["sessions", "list", "--json"],
                vec!["sessions", "prune", "--older-than", "0s"],
            ] {
                outputs.push(world.aw(args));
            }
            for output in &outputs {
                assert_eq!(output.code, 0, "{output:#?}");
                assert_eq!(controls(&output.stdout), [], "{output:#?}");
                assert_eq!(controls(&output.stderr), [], "{output:#?}");
            }
            let text: String = outputs.iter().map(|output| output.stderr.clone() + &output.stdout).collect();
            assert!(text.contains("pwned"), "the name is still told: {text}");
        }
    }
}

#[test]
fn the_review_at_a_terminal_applies_shows_picks_keeps_and_discards() {
    let world = World::new(*identities().last().unwrap());
    world.files(&[("a", "base\n"), ("b", "base\n")]);
    world.outside("git init -q . && git add -A && git commit -qm base");
    let terminal = Terminal::open(&world);
    let now = |name: &str| fs::read_to_string(world.project().join(name)).unwrap_or_default();
    let start = |edits: &str| {
        terminal.clear();
        terminal.line(&format!("$AW mount -- sh -c '{edits}'; echo ended $?"));
        terminal.shows("[a]pply");
    };
    // Keep, then a diff and an apply.
    start("echo kept > a");
    terminal.shows("modified  a");
    terminal.line("k");
    terminal.shows("held in session");
    terminal.shows("ended 0");
    assert_eq!(now("a"), "base\n");
    start("echo applied > a; rm b");
    terminal.line("nonsense");
    terminal.shows("is not one of the choices");
    terminal.line("d");
    terminal.shows("+applied");
    terminal.line("a");
    terminal.shows("applied 2 changes");
    terminal.shows("ended 0");
    assert_eq!((now("a"), now("b")), ("applied\n".into(), String::new()));
    // Pick one of two.
    start("echo one > one; echo two > two");
    terminal.line("p");
    terminal.shows("Numbers such as");
    terminal.line("2");
    terminal.shows("1 change left in the session");
    terminal.shows("ended 0");
    assert_eq!((now("one"), now("two")), (String::new(), "two\n".into()));
    // Discard asks once more.
    start("echo gone > gone");
    terminal.line("x");
    terminal.asks("for good? [y/N]");
    terminal.line("n");
    // What is typed before the question is no answer to it.
    terminal.asks("[x] discard?");
    terminal.line("x");
    terminal.asks("for good? [y/N]");
    terminal.line("y");
    terminal.shows("discarded");
    terminal.shows("ended 0");
    assert_eq!(now("gone"), "");
    // A command that failed is reviewed as well, and its code is passed on.
    start("echo failed > failed; exit 7");
    terminal.line("a");
    terminal.shows("ended 7");
    assert_eq!(now("failed"), "failed\n");
    // End of input keeps.
    start("echo eof > eof");
    terminal.keys(&["C-d"]);
    terminal.shows("held in session");
    assert_eq!(now("eof"), "");
    let states: Vec<String> =
        world.listed().iter().map(|session| session["state"].as_str().unwrap().to_owned()).collect();
    assert_eq!(states.iter().filter(|state| *state == "held").count(), 3, "{states:?}");
    assert_eq!(read(world.project().join("two")), "two\n");
}

#[test]
fn asking_without_a_terminal_is_refused_before_anything_starts() {
    let world = World::new(*identities().last().unwrap());
    world.files(&[("a", "base\n")]);
    world.mounted(&["--apply", "ask"], "echo x > a").ends(2).says("terminal");
    assert!(world.listed().is_empty());
}
