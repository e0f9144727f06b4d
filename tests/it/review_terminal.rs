//! The review at a terminal of 80 columns and 24 lines: who is asked, what is shown, and what becomes of the answers.

use crate::support::mount::{World, for_each_identity, identities, read, soon};
use crate::support::terminal::Terminal;
use pretty_assertions::assert_eq;
use std::fs;
use std::os::unix::fs::PermissionsExt;
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
            format!("$AW agent weaver -p x {flag} --harness claude < /dev/null > {out_name} 2> /dev/null");
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

/// Whether the newest session has its base, and its agent has edited.
fn is_underway(world: &World) -> bool {
    let Some(id) = world.listed().first().and_then(|session| Some(session["id"].as_str()?.to_owned())) else {
        return false;
    };
    let session = world.sessions().join(id);
    let has_edited = ["upper", "mount"].iter().any(|data| session.join(data).join("ready").exists());
    has_edited && session.join("base/contents.json").exists()
}

/// A run whose agent edits `a.txt` while the user does: the question is open.
fn in_conflict(world: &World, terminal: &Terminal, environment: &str) {
    world.outside("printf 'top\\nmiddle\\nend\\n' > a.txt; git add -A; git commit -qm base || true");
    let go = world.path("go");
    let _ = fs::remove_file(&go);
    terminal.clear();
    let script = format!(
        "sed -i s/middle/agents/ a.txt; echo new > b.txt; touch ready; until [ -e {} ]; do sleep 0.02; done; rm ready",
        go.display()
    );
    terminal.line(&format!("{environment} $AW mount -- sh -c '{script}'; echo ended $?"));
    assert!(soon(|| is_underway(world)), "{}", terminal.screen());
    world.outside("sed -i s/middle/mine/ a.txt");
    fs::write(&go, "").unwrap();
    terminal.asks(QUESTION);
    terminal.shows("conflict: changed in the project and by the agent");
}

#[test]
fn conflicts_are_settled_in_the_review() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "x\n")]);
        let terminal = small(&world);
        let a = || read(world.project().join("a.txt"));
        let conflict = "conflict 1 of 1: a.txt";
        // The user's version stays, the rest is applied, the agent's stays in the session.
        in_conflict(&world, &terminal, "EDITOR=false");
        terminal.line("a");
        terminal.shows(conflict);
        terminal.asks("Enter to decide later?");
        terminal.line("d");
        terminal.shows("what you changed");
        terminal.shows("what the agent changed");
        terminal.asks("Enter to decide later?");
        terminal.line("o");
        terminal.shows("your version stays: a.txt");
        terminal.shows("ended 0");
        assert_eq!(a(), "top\nmine\nend\n");
        assert_eq!(read(world.project().join("b.txt")), "new\n");
        world.outside("rm b.txt");
        // The agent's.
        in_conflict(&world, &terminal, "EDITOR=false");
        terminal.line("a");
        terminal.asks("Enter to decide later?");
        terminal.line("t");
        terminal.shows("ended 0");
        assert_eq!(a(), "top\nagents\nend\n");
        world.outside("rm b.txt");
        // An editor that fails settles nothing, and Enter leads back.
        in_conflict(&world, &terminal, "EDITOR=false");
        terminal.line("a");
        terminal.asks("Enter to decide later?");
        terminal.line("e");
        terminal.shows("failed");
        terminal.asks("Enter to decide later?");
        terminal.line("");
        terminal.asks(QUESTION);
        terminal.line("k");
        terminal.shows("ended 0");
        assert_eq!(a(), "top\nmine\nend\n");
    });
}

#[test]
fn a_conflict_is_edited_with_markers_and_what_was_written_is_applied() {
    let world = World::new(*identities().last().unwrap());
    world.repository(&[("a.txt", "x\n")]);
    let editor = world.path("my editor");
    // It has the terminal, and waits for its user.
    fs::write(
        &editor,
        "#!/bin/sh\ncp \"$2\" \"$(dirname \"$0\")/edited\"; printf 'editor %s? ' $1\nread word < /dev/tty
        test $word = leave || sed -i -e '/^[<=>]/d' -e s/agents/$word/ \"$2\"\n",
    )
    .unwrap();
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    world.give();
    let terminal = small(&world);
    let environment = format!("EDITOR=\"'{}' --wait\"", editor.display());
    in_conflict(&world, &terminal, &environment);
    terminal.line("a");
    terminal.asks("Enter to decide later?");
    terminal.line("e");
    terminal.asks("editor --wait?");
    // What is left is asked about.
    terminal.line("leave");
    terminal.asks("take it as it is? [y/N]");
    terminal.line("n");
    terminal.asks("Enter to decide later?");
    terminal.line("e");
    terminal.asks("editor --wait?");
    terminal.line("together");
    terminal.shows("merged    a.txt");
    terminal.shows("ended 0");
    let marked = "top\n<<<<<<< yours\nmine\n=======\nagents\n>>>>>>> the agent's\nend\n";
    assert_eq!(read(world.path("edited")), marked);
    assert_eq!(read(world.project().join("a.txt")), "top\nmine\ntogether\nend\n");
    let id = world.listed()[0]["id"].as_str().unwrap().to_owned();
    world.aw(["sessions", "undo", &id]).ends(0);
    assert_eq!(read(world.project().join("a.txt")), "top\nmine\nend\n");
    world.aw(["sessions", "redo", &id]).ends(0);
    assert_eq!(read(world.project().join("a.txt")), "top\nmine\ntogether\nend\n");
}

#[test]
fn a_conflict_is_settled_by_the_merge_tool_of_the_user_and_never_of_the_project() {
    let world = World::new(*identities().last().unwrap());
    world.repository(&[("a.txt", "x\n")]);
    let evil = world.path("evil");
    world.outside(&format!(
        "git config merge.tool evil; git config mergetool.evil.cmd 'touch {}'; git config mergetool.mine.cmd 'touch {}'",
        evil.display(),
        evil.display()
    ));
    let terminal = small(&world);
    in_conflict(&world, &terminal, "EDITOR=false");
    terminal.line("a");
    terminal.asks("Enter to decide later?");
    assert!(!terminal.screen().contains("[m]erge"), "{}", terminal.screen());
    terminal.line("");
    terminal.asks(QUESTION);
    terminal.line("k");
    terminal.shows("ended 0");
    let tool = "cat \"$BASE\" \"$LOCAL\" \"$REMOTE\" > \"$MERGED\"";
    fs::write(
        world.home().join(".gitconfig"),
        format!(
            "[merge]\n\ttool = mine\n[mergetool \"mine\"]\n\ttrustExitCode = true\n\tcmd = {}\n",
            quoted(tool)
        ),
    )
    .unwrap();
    world.give();
    in_conflict(&world, &terminal, "EDITOR=false");
    terminal.line("a");
    terminal.asks("Enter to decide later?");
    terminal.shows("merge tool: mine");
    terminal.line("m");
    terminal.shows("ended 0");
    let all = "top\nmiddle\nend\ntop\nmine\nend\ntop\nagents\nend\n";
    assert_eq!(read(world.project().join("a.txt")), all);
    assert!(!evil.exists());
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A program that the project brings along is not run, whoever put its directory into `PATH`.
#[test]
fn no_program_of_the_project_is_run_for_a_review() {
    let world = World::new(*identities().last().unwrap());
    let stolen = world.path("stolen");
    let program = format!("#!/bin/sh\ntouch {}\n", stolen.display());
    world.repository(&[
        ("a.txt", "x\n"),
        ("bin/less", &program),
        ("bin/ed", &program),
        ("bin/git", &program),
    ]);
    world.outside("chmod +x bin/*");
    let terminal = small(&world);
    let project = world.project();
    in_conflict(
        &world,
        &terminal,
        &format!("PATH={0}/bin:$PATH EDITOR={0}/bin/ed PAGER=less", project.display()),
    );
    terminal.line("d");
    terminal.asks(QUESTION);
    terminal.line("a");
    terminal.asks("Enter to decide later?");
    assert!(!terminal.screen().contains("[e]dit"), "{}", terminal.screen());
    terminal.line("");
    terminal.asks(QUESTION);
    terminal.line("k");
    terminal.shows("ended 0");
    assert!(!stolen.exists());
}

#[test]
fn hunks_are_picked_one_by_one_and_the_others_stay() {
    for_each_identity(|world| {
        let base: String = (1..=30).map(|number| format!("line {number}\n")).collect();
        world.repository(&[("a.txt", &base), ("b.txt", "b\n")]);
        let terminal = small(&world);
        let edits = "s/line 2$/TWO/; s/line 15$/FIFTEEN/; s/line 28$/TWENTYEIGHT/";
        terminal.line(&format!(
            "$AW mount -- sh -c \"sed -i -e '{edits}' a.txt; echo more >> b.txt\"; echo ended $?"
        ));
        terminal.asks(QUESTION);
        terminal.shows("2 changes  +4 -3 in session mount-");
        terminal.shows("modified  a.txt  +3 -3");
        terminal.shows("modified  b.txt  +1 -0");
        terminal.line("p");
        terminal.asks("(Enter to go back):");
        terminal.line("1h");
        for (hunk, answer) in [("+TWO", "y"), ("+FIFTEEN", "n"), ("+TWENTYEIGHT", "y")] {
            terminal.shows(hunk);
            terminal.asks("[q] no more");
            terminal.line(answer);
        }
        terminal.shows("2 changes left in the session");
        terminal.shows("ended 0");
        let picked = base.replace("line 2\n", "TWO\n").replace("line 28\n", "TWENTYEIGHT\n");
        assert_eq!(read(world.project().join("a.txt")), picked);
        assert_eq!(read(world.project().join("b.txt")), "b\n");
        let id = world.listed()[0]["id"].as_str().unwrap().to_owned();
        world.aw(["sessions", "apply", &id]).ends(0);
        assert_eq!(read(world.project().join("a.txt")), picked.replace("line 15\n", "FIFTEEN\n"));
        assert_eq!(read(world.project().join("b.txt")), "b\nmore\n");
    });
}

#[test]
fn a_long_diff_is_shown_in_a_pager_and_nothing_in_it_commands_the_terminal() {
    let world = World::new(*identities().last().unwrap());
    world.repository(&[("a.txt", "x\n")]);
    let out = world.path("paged");
    let pager = world.path("pager");
    fs::write(
        &pager,
        format!("#!/bin/sh\ncat > {0}; env > {0}.env; printf 'paged '; read x < /dev/tty\n", out.display()),
    )
    .unwrap();
    fs::set_permissions(&pager, fs::Permissions::from_mode(0o755)).unwrap();
    world.give();
    let terminal = small(&world);
    let script = "for i in $(seq 60); do printf \"\\033[2Jline $i\\n\"; done > a.txt";
    terminal.line(&format!("PAGER={} $AW mount -- sh -c '{script}'; echo ended $?", pager.display()));
    terminal.asks(QUESTION);
    terminal.line("d");
    terminal.asks("paged");
    // This is for the pager, and no answer of the next question.
    terminal.line("a");
    terminal.asks(QUESTION);
    let paged = read(&out);
    assert!(paged.contains("+\\u{1b}[2Jline 60\n") && !paged.contains('\u{1b}'), "{paged}");
    assert_eq!(read(world.project().join("a.txt")), "x\n");
    terminal.line("k");
    terminal.shows("ended 0");
    // less gets colours, and may start nothing.
    fs::rename(&pager, world.path("less")).unwrap();
    terminal.clear();
    let less = world.path("less");
    terminal.line(&format!("PAGER={} $AW mount -- sh -c '{script}'; echo ended $?", less.display()));
    terminal.asks(QUESTION);
    terminal.line("d");
    terminal.asks("paged");
    let paged = read(&out);
    assert!(paged.contains("\u{1b}[32m+") && !paged.contains("\u{1b}[2J"), "{paged}");
    assert!(read(world.path("paged.env")).contains("LESSSECURE=1"));
    terminal.line("");
    terminal.asks(QUESTION);
    terminal.line("k");
    terminal.shows("ended 0");
    // Without colours, and on a terminal that can do nothing.
    terminal.clear();
    terminal
        .line(&format!("TERM=dumb PAGER={} $AW mount -- sh -c '{script}'; echo ended $?", less.display()));
    terminal.asks(QUESTION);
    terminal.line("d");
    terminal.shows("line 60");
    terminal.asks(QUESTION);
    terminal.line("k");
    terminal.shows("ended 0");
}

/// Somebody writes to the agent's side while the question is open.
#[test]
fn what_is_not_what_was_looked_at_is_not_applied() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n"), ("gone.txt", "gone\n")]);
        let terminal = small(&world);
        for evil in ["echo EVIL > a.txt", "echo EVIL > gone.txt"] {
            terminal.clear();
            terminal.line("$AW mount --mount copy -- sh -c 'echo nice > a.txt; rm gone.txt'; echo ended $?");
            terminal.asks(QUESTION);
            let id = world.listed()[0]["id"].as_str().unwrap().to_owned();
            let mount = world.sessions().join(&id).join("mount");
            world.outside(&format!("cd {}; {evil}", mount.display()));
            terminal.line("a");
            terminal.shows("ended 3");
            terminal.shows("changed after you looked at it");
            assert_eq!(read(world.project().join("a.txt")), "one\n");
            assert_eq!(read(world.project().join("gone.txt")), "gone\n");
            world.aw(["sessions", "discard", &id]).ends(0);
        }
    });
}

#[test]
fn renames_are_shown_as_renames_and_one_half_takes_both() {
    for_each_identity(|world| {
        let long: String = (1..=30).map(|number| format!("line {number}\n")).collect();
        world.repository(&[("old.txt", "same\n"), ("src/edited.txt", &long), ("c.txt", "c\n")]);
        let terminal = small(&world);
        let script = "mv old.txt new.txt; mkdir lib; mv src/edited.txt lib/; sed -i s/.*15/FIFTEEN/ lib/edited.txt; echo d > c.txt";
        terminal.line(&format!("PAGER=cat $AW mount -- sh -c '{script}'; echo ended $?"));
        terminal.asks(QUESTION);
        terminal.shows("renamed   old.txt -> new.txt  +0 -0");
        terminal.shows("renamed   src/edited.txt -> lib/edited.txt  +1 -1");
        assert!(!terminal.screen().contains("deleted   old.txt"), "{}", terminal.screen());
        terminal.line("d");
        terminal.shows("renamed from src/edited.txt");
        terminal.shows("+FIFTEEN");
        terminal.asks(QUESTION);
        terminal.line("p");
        terminal.asks("(Enter to go back):");
        let row = terminal.screen();
        let row = row.lines().rfind(|line| line.ends_with("renamed   old.txt -> new.txt  +0 -0")).unwrap();
        terminal.line(row.split_whitespace().next().unwrap());
        terminal.shows("ended 0");
        terminal.shows("applied 1 change");
        assert_eq!(world.outside("ls; cat new.txt c.txt"), "c.txt\nnew.txt\nsrc\nsame\nc\n");
        let id = world.listed()[0]["id"].as_str().unwrap().to_owned();
        // The other half says the same.
        let applied =
            world.aw(["sessions", "apply", &id, "--only", "src/edited.txt", "--json"]).ends(0).json();
        assert_eq!(world.outside("ls lib; ls src 2>/dev/null || true"), "edited.txt\n", "{applied:#}");
        let kept = &applied["outcome"]["applied"];
        assert!(kept.to_string().contains("\"renamedFrom\":\"src/edited.txt\""), "{kept:#}");
        world.aw(["sessions", "undo", &id]).ends(0);
        assert_eq!(world.outside("cat src/edited.txt"), long);
    });
}

#[test]
fn an_apply_with_conflicts_asks_about_them_at_a_terminal() {
    let world = World::new(*identities().last().unwrap());
    world.repository(&[("a.txt", "base\n"), ("b.txt", "base\n")]);
    world.mounted(&["--apply", "never"], "echo agents > a.txt; echo agents > b.txt").ends(0);
    world.outside("echo mine > a.txt; echo mine > b.txt");
    let id = world.listed()[0]["id"].as_str().unwrap().to_owned();
    let terminal = small(&world);
    // Scripts are not asked.
    terminal.line(&format!("$AW sessions apply {id} --json > /dev/null; echo ended $?"));
    terminal.shows("ended 3");
    terminal.clear();
    terminal.line(&format!("$AW sessions apply {id}; echo ended $?"));
    terminal.shows("conflict 1 of 2: a.txt");
    terminal.asks("Enter to decide later?");
    terminal.line("");
    terminal.shows("ended 3");
    terminal.shows(&format!("sessions apply {id} --theirs a.txt"));
    terminal.clear();
    terminal.line(&format!("$AW sessions apply {id} --theirs b.txt; echo ended $?"));
    terminal.shows("conflict 1 of 1: a.txt");
    terminal.asks("Enter to decide later?");
    assert_eq!(read(world.project().join("b.txt")), "mine\n");
    terminal.line("t");
    terminal.shows("ended 0");
    assert_eq!(world.outside("cat a.txt b.txt"), "agents\nagents\n");
}

/// Ctrl-Z in the editor leads to the shell, and `fg` back into the editor.
#[test]
fn an_editor_can_be_suspended() {
    let world = World::new(*identities().last().unwrap());
    world.repository(&[("a.txt", "x\n")]);
    let editor = world.path("editor");
    fs::write(
        &editor,
        "#!/bin/sh\necho began; sleep 0.3; read word; sed -i '/^[<=>]/d' \"$1\"; echo $word >> \"$1\"\n",
    )
    .unwrap();
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    world.give();
    let terminal = small(&world);
    in_conflict(&world, &terminal, &format!("EDITOR={}", editor.display()));
    terminal.line("a");
    terminal.asks("Enter to decide later?");
    terminal.line("e");
    terminal.asks("began");
    terminal.keys(&["C-z"]);
    terminal.shows("Stopped");
    terminal.line("echo in-shell-$((1+1))");
    terminal.shows("in-shell-2");
    terminal.line("fg");
    std::thread::sleep(Duration::from_millis(700));
    terminal.line("word");
    terminal.shows("merged    a.txt");
    assert_eq!(read(world.project().join("a.txt")), "top\nmine\nagents\nend\nword\n");
    // Ctrl-C is for the editor.
    in_conflict(&world, &terminal, &format!("EDITOR={}", editor.display()));
    terminal.line("a");
    terminal.asks("Enter to decide later?");
    terminal.line("e");
    terminal.asks("began");
    terminal.keys(&["C-c"]);
    terminal.shows("failed");
    terminal.asks("Enter to decide later?");
    // One that comes right after a run may have been meant for it.
    std::thread::sleep(Duration::from_millis(1100));
    terminal.keys(&["C-c"]);
    terminal.shows("ended 130");
    assert_eq!(states(&world)[0], "held");
}
