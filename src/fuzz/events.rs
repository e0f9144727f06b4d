//! The output of harnesses: no line breaks a reader, and a run succeeds exactly where the reader has no reason against it.

use crate::harness::adapter;
use crate::harness::events::EventReader;
use crate::launch::lines::Lines;
use crate::model::event::Event;
use crate::model::tier::Harness;

/// The first line names the harness, else all of them read; lines that start with `2>` were on standard error.
pub fn check(data: &[u8]) {
    let whole = lines(&[data]);
    for at in [1, data.len() / 2] {
        let (a, b) = data.split_at(at.min(data.len()));
        assert!(lines(&[a, b]) == whole, "a stream may be cut anywhere");
    }
    let named = whole.first().and_then(|line| std::str::from_utf8(line).ok()?.parse::<Harness>().ok());
    for harness in Harness::ALL.into_iter().filter(|harness| named.is_none_or(|named| named == *harness)) {
        for clean_exit in [true, false] {
            let reader = || (adapter(harness).reader)("agent");
            let (mut one, mut two) = (reader(), reader());
            let events = told(&mut *one, &whole);
            assert!(events == told(&mut *two, &whole), "the same lines say the same");
            let conclusion = one.conclude(clean_exit);
            assert_eq!(conclusion.ok, conclusion.reason.is_none(), "{conclusion:?}");
            assert!(clean_exit || !conclusion.ok, "{conclusion:?}");
            for event in &events {
                serde_json::to_string(event).expect("an event can be printed");
                assert!(!matches!(event, Event::Ended { .. }), "that is for others to say");
            }
        }
    }
}

fn lines(pieces: &[&[u8]]) -> Vec<Vec<u8>> {
    let (mut cutter, mut lines) = (Lines::default(), Vec::new());
    for piece in pieces {
        cutter.take(piece, |line| lines.push(line.to_vec()));
    }
    cutter.finish(|line| lines.push(line.to_vec()));
    lines
}

fn told(reader: &mut dyn EventReader, lines: &[Vec<u8>]) -> Vec<Event> {
    let mut events = Vec::new();
    for line in lines {
        let line = String::from_utf8_lossy(line);
        match line.strip_prefix("2>") {
            Some(line) => reader.read_stderr(line),
            None => events.extend(reader.read(&line)),
        }
        let _ = reader.tool_may_run();
    }
    events
}
