//! Job control and the terminal, in a real one: a shell in a tmux server of our own.

use crate::support::mount::for_each_identity;
use crate::support::terminal::Terminal;
use std::time::Duration;

#[test]
fn control_z_fg_and_control_c_work_as_without_us() {
    for_each_identity(|world| {
        let terminal = Terminal::open(&world);
        terminal.line("$MOUNT -- sh -c 'echo is-$((1+1)); while :; do sleep 0.05; done'");
        terminal.shows("is-2");
        terminal.keys(&["C-z"]);
        terminal.shows("Stopped");
        terminal.line("echo shell-$((20+3))");
        terminal.shows("shell-23");
        terminal.line("fg; echo rc=$?");
        std::thread::sleep(Duration::from_millis(300));
        terminal.keys(&["C-z"]);
        std::thread::sleep(Duration::from_millis(300));
        terminal.line("echo again-$((20+3))");
        terminal.shows("again-23");
        terminal.line("fg; echo rc=$?");
        std::thread::sleep(Duration::from_millis(300));
        terminal.keys(&["C-c"]);
        terminal.shows("rc=130");
        terminal.shows("stops: 2");
    });
}

#[test]
fn a_child_that_suspends_the_whole_group_or_only_itself_comes_back() {
    for_each_identity(|world| {
        let terminal = Terminal::open(&world);
        for how in ["kill -TSTP 0", "kill -STOP $$", "kill -TSTP $$"] {
            terminal.clear();
            terminal.line(&format!("$MOUNT -- sh -c 'echo first-$((1+1)); {how}; echo back-$((1+2))'"));
            terminal.shows("first-2");
            terminal.shows("Stopped");
            assert!(!terminal.screen().contains("back-3"), "{how}");
            terminal.line("fg; echo rc=$?");
            terminal.shows("back-3");
            terminal.shows("rc=0");
        }
    });
}

#[test]
fn the_terminal_is_ours_again_after_a_child_that_took_it() {
    for_each_identity(|world| {
        let terminal = Terminal::open(&world);
        terminal.line("$MOUNT --prompt -- bash --norc -i");
        std::thread::sleep(Duration::from_millis(500));
        terminal.line("echo inner-$((1+1)); cd /; stty -echo raw");
        terminal.shows("inner-2");
        // Raw, without echo: a line ends with a carriage return or a line feed then.
        terminal.keys(&["exit 5", "C-j"]);
        terminal.shows("outcome");
        terminal.line("yes-we-read");
        terminal.shows("answered yes-we-read");
        terminal.line("echo rc=$?");
        terminal.shows("rc=5");
        assert!(!terminal.screen().contains("Stopped"), "{}", terminal.screen());
    });
}

#[test]
fn an_inner_shell_can_be_suspended_and_gets_the_terminal_back() {
    for_each_identity(|world| {
        let terminal = Terminal::open(&world);
        terminal.line("$MOUNT -- bash --norc -i");
        std::thread::sleep(Duration::from_millis(500));
        terminal.line("PS1='inner> '; sleep 100");
        std::thread::sleep(Duration::from_millis(200));
        terminal.keys(&["C-z"]);
        terminal.shows("sleep 100");
        terminal.line("kill -KILL %1; suspend");
        terminal.shows("Stopped");
        std::thread::sleep(Duration::from_millis(300));
        terminal.line("echo outer-$((1+1)); fg; echo rc=$?");
        terminal.shows("outer-2");
        std::thread::sleep(Duration::from_millis(300));
        terminal.line("echo inner-again-$((1+1)); exit 6");
        terminal.shows("inner-again-2");
        terminal.shows("rc=6");
    });
}

#[test]
fn somebody_at_a_terminal_is_told_where_he_is_and_how_to_leave() {
    for_each_identity(|world| {
        let terminal = Terminal::open(&world);
        for (flags, told) in [
            ("--mount overlay", "a private view of"),
            ("--mount copy --apply never", "the changes are held in the session when it ends"),
        ] {
            terminal.clear();
            terminal.line(&format!("$AW mount {flags} -- sh -c 'echo inside-$((1+1))'; echo rc=$?"));
            terminal.shows("inside-2");
            terminal.shows("rc=0");
            // Where a line is broken depends on the length of the project's path.
            let screen = terminal.screen().replace(['\n', ' '], "");
            let (before, _) = screen.split_once("inside-2").unwrap();
            assert!(before.contains(&told.replace(' ', "")) && before.contains("Ctrl-D"), "{screen}");
        }
        // A script has no need of it.
        let did = world.mounted(&["--mount", "overlay"], "true").ends(0);
        assert!(!did.stderr.contains("Ctrl-D"), "{did:?}");
    });
}
