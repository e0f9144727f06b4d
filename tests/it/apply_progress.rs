//! An apply that takes longer than a moment shows how far it is, at a terminal of 80 columns and nowhere else.

use crate::support::mount::{World, identities, read};
use crate::support::terminal::Terminal;
use pretty_assertions::assert_eq;
use std::time::Duration;

/// Of a debug build: each of thirty files takes a tenth of a second.
const SLOW: &str = "AGENTWORKFORCE_TEST_SLOW_STAGE=100";

fn held(world: &World) -> String {
    world.mounted(&["--apply", "never"], "mkdir n; seq 30 | while read i; do echo $i > n/$i; done").ends(0);
    world.listed()[0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_long_apply_shows_a_bar_on_a_terminal_and_takes_it_away() {
    let world = World::new(*identities().last().unwrap());
    world.repository(&[("a", "base\n")]);
    let id = held(&world);
    let terminal = Terminal::open_with(&world, 80, 40);
    terminal.line(&format!("{SLOW} $AW sessions apply {id}; echo ended $?"));
    terminal.shows("applying [#");
    let screen = terminal.screen();
    let bar = screen.lines().find(|line| line.contains("applying [")).unwrap();
    assert!(bar.trim_end().ends_with(" %") && bar.len() < 80, "{bar}");
    terminal.shows("ended 0");
    let screen = terminal.screen();
    assert!(!screen.contains("applying ["), "the bar went away:\n{screen}");
    assert!(screen.contains("applied 31 changes"), "{screen}");
    assert_eq!(read(world.project().join("n/30")), "30\n");
    world.aw(["sessions", "undo", &id]).ends(0);

    // At the end of a run, too.
    terminal.clear();
    let script = "mkdir n; seq 30 | while read i; do echo $i > n/$i; done";
    terminal.line(&format!("{SLOW} $AW mount --apply auto -- sh -c '{script}'; echo ended $?"));
    terminal.shows("applying [#");
    terminal.shows("ended 0");
    assert!(!terminal.screen().contains("applying ["), "{}", terminal.screen());
}

#[test]
fn nothing_is_drawn_where_it_could_not_be_taken_away() {
    let world = World::new(*identities().last().unwrap());
    world.repository(&[("a", "base\n")]);
    let (out, err) = (world.path("out"), world.path("err"));
    let (out, err) = (out.to_str().unwrap(), err.to_str().unwrap());
    let id = held(&world);
    let terminal = Terminal::open_with(&world, 80, 40);
    for how in [format!("> {out} 2> {err}"), format!("--json > {out} 2> {err}")] {
        terminal.clear();
        terminal.line(&format!("{SLOW} $AW sessions apply {id} --keep {how}; echo ended $?"));
        terminal.shows("ended 0");
        assert!(!read(err).contains('\u{1b}') && !read(err).contains("applying"), "{}", read(err));
        world.aw(["sessions", "undo", &id]).ends(0);
    }
    terminal.clear();
    terminal.line(&format!("TERM=dumb {SLOW} $AW sessions apply {id} > /dev/null; echo ended $?"));
    std::thread::sleep(Duration::from_secs(2));
    assert!(!terminal.screen().contains("applying"), "{}", terminal.screen());
    terminal.shows("ended 0");
}
