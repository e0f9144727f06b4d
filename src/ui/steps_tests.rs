use super::*;
use anstream::adapter::strip_str;
use pretty_assertions::assert_eq;

fn message(text: &str) -> Event {
    Event::Message { text: text.to_owned() }
}

fn started(id: &str, subject: &str) -> Event {
    Event::ToolStarted { id: id.to_owned(), name: "Bash".to_owned(), subject: Some(subject.to_owned()) }
}

fn finished(id: &str, ok: bool, output: &str, seconds: f64) -> Event {
    let (id, name) = (id.to_owned(), "Bash".to_owned());
    Event::ToolFinished { id, name, ok, output: Some(output.to_owned()), seconds: Some(seconds) }
}

fn ended(result: &str) -> Event {
    Event::Ended { ok: true, result: Some(result.to_owned()), reason: None }
}

fn shown(steps: &mut Steps, events: &[Event], columns: Option<usize>) -> Vec<String> {
    let lines = events.iter().flat_map(|event| steps.take(event, columns)).collect::<Vec<_>>();
    lines.iter().map(|line| strip_str(line).to_string()).collect()
}

fn a_run() -> Vec<Event> {
    vec![
        message("I look\nat it."),
        started("1", "cargo test --manifest-path /work/p/Cargo.toml"),
        finished("1", true, "ok\n", 12.3),
        started("2", "false"),
        finished("2", false, "\nit failed\nmore", 0.2),
        Event::Error { message: "the model answered 529".into() },
        message("all done"),
        ended("all done"),
    ]
}

#[test]
fn a_step_is_a_line_and_the_result_is_left_to_others() {
    let mut steps = Steps::new(Detail::Line).without_result();
    steps.relative_to("/work/p");
    let expected = [
        "• I look at it.",
        "  Bash cargo test --manifest-path Cargo.toml  12s",
        "  Bash false  failed: it failed",
        "  error: the model answered 529",
    ];
    assert_eq!(shown(&mut steps, &a_run(), None), expected);
    // What was said before the end and is not the result is shown.
    let mut steps = Steps::new(Detail::Line).without_result();
    assert_eq!(shown(&mut steps, &[message("a"), message("b"), ended("c")], None), ["• a", "• b"]);
}

#[test]
fn a_transcript_has_everything_and_says_what_it_leaves_out() {
    let mut steps = Steps::new(Detail::Whole);
    let long: String = (1..=40).map(|number| format!("line {number}\n")).collect();
    let events = [
        Event::Task { text: "one\ntwo".into() },
        message("I look\n\nat it."),
        started("1", "seq 40"),
        finished("1", true, &long, 61.0),
        started("2", "sleep 100"),
    ];
    let mut lines = shown(&mut steps, &events, Some(80));
    lines.extend(steps.rest(Some(80)).iter().map(|line| strip_str(line).to_string()));
    assert_eq!(
        lines[..7],
        ["> one", "> two", "• I look", "", "  at it.", "  Bash seq 40  1m01s", "    line 1"]
    );
    assert_eq!(lines[lines.len() - 2..], ["    … 28 more lines", "  Bash sleep 100  not finished"]);
}

#[test]
fn no_line_is_wider_than_the_terminal_and_nothing_in_it_commands_it() {
    let hostile = "a\u{1b}[2J\u{1b}]0;title\u{7}\r日本語 ".repeat(30);
    let events = [
        message(&hostile),
        started("1", &hostile),
        finished("1", false, &hostile, 5.0),
        Event::Error { message: hostile.clone() },
    ];
    for columns in [10, 40, 79] {
        for detail in [Detail::Line, Detail::Brief] {
            let mut steps = Steps::new(detail);
            for event in &events {
                let lines = steps.take(event, Some(columns));
                assert!(lines.len() <= MOST_LINES, "{lines:?}");
                for line in lines {
                    let plain = strip_str(&line).to_string();
                    assert!(display_width(&plain) <= columns.max(FEWEST), "{columns}: {plain}");
                    assert!(!plain.contains(char::is_control), "{plain:?}");
                }
                assert!(!steps.doing().contains(char::is_control));
            }
        }
    }
    let mut steps = Steps::new(Detail::Whole);
    let all = shown(&mut steps, &events, None).join("");
    assert!(all.contains("\\u{1b}[2J") && !all.contains(char::is_control), "{all:?}");
}

#[test]
fn what_is_at_work_and_what_was_used_is_known() {
    let mut steps = Steps::new(Detail::Line);
    assert_eq!(steps.doing(), "starting");
    for (event, doing) in [
        (message("I begin"), "I begin"),
        (started("1", "ls"), "Bash ls"),
        (started("2", "make"), "Bash make"),
        (finished("2", true, "", 0.0), "Bash ls"),
        (finished("1", true, "", 0.0), "thinking"),
    ] {
        steps.take(&event, None);
        assert_eq!(steps.doing(), doing);
    }
    let usage = Usage { turns: Some(3), cost_usd: Some(0.456), ..Usage::default() };
    steps.take(&Event::Usage(usage), None);
    assert_eq!(usage_parts(steps.usage()), ["3 turns", "$0.46"]);
    assert_eq!(usage_parts(&Usage::default()), Vec::<String>::new());
}

#[test]
fn only_paths_in_the_project_lose_its_directory() {
    let mut steps = Steps::new(Detail::Whole);
    steps.relative_to("/tmp/p");
    let text = "cat '/tmp/p/a' --out=/tmp/p/b https://host.example/tmp/p/c /backup/tmp/p/d file:///tmp/p/e";
    let expected = "  Bash cat 'a' --out=b https://host.example/tmp/p/c /backup/tmp/p/d file:///tmp/p/e";
    let events = [started("1", text), finished("1", true, "/tmp/p/a:1\n/x/tmp/p/b", 0.0)];
    assert_eq!(shown(&mut steps, &events, None), [expected, "    a:1", "    /x/tmp/p/b"]);
    // Words stay as they are.
    let said = shown(&mut steps, &[message("see /tmp/p/a")], None);
    assert_eq!(said, ["• see /tmp/p/a"]);
}

#[test]
fn a_tool_at_work_is_shown_once_before_its_end() {
    let mut steps = Steps::new(Detail::Whole);
    assert!(steps.running().is_empty());
    shown(&mut steps, &[started("1", "make")], None);
    let running: Vec<String> = steps.running().iter().map(|line| strip_str(line).to_string()).collect();
    assert_eq!((running, steps.running()), (vec!["  Bash make  running".to_owned()], Vec::new()));
    assert_eq!(shown(&mut steps, &[finished("1", true, "", 2.0)], None), ["  Bash make  2s"]);
}
