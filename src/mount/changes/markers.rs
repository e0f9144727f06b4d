//! Combines two versions of a text, with conflict markers where both changed the same lines. Pure: bytes in, bytes out.

use super::merge::{Change, Lines, Region, Regions, WAYS};
use super::versions::TextVersions;

/// The marker length that git uses, unless a version has lines that look like markers.
const SHORTEST: usize = 7;
/// The labels of the two sides.
const OURS: &str = "yours";
const THEIRS: &str = "the agent's";

/// A text with conflict markers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marked {
    pub text: Vec<u8>,
    /// The length of its markers: longer than anything in the versions that could be mistaken for one.
    width: usize,
}

impl Marked {
    pub fn of(versions: &TextVersions) -> Marked {
        let TextVersions { base, ours, theirs, .. } = versions;
        let width = [ours, theirs].map(|text| longest_marker(text)).into_iter().max().unwrap_or(0) + 1;
        let width = width.max(SHORTEST);
        let mut lines = Lines::default();
        let (our_ids, their_ids) = (lines.number(ours), lines.number(theirs));
        let three_way = base.as_ref().map(|base| {
            let base_ids = lines.number(base);
            over_base(&base_ids, &our_ids, &their_ids)
        });
        let has_conflict = |parts: &Vec<Part>| parts.iter().any(|part| matches!(part, Part::Conflict { .. }));
        // If one way of comparing the versions finds no conflict but another one does, both are shown in full.
        let parts = three_way.filter(has_conflict).unwrap_or_else(|| side_by_side(&our_ids, &their_ids));
        let end =
            if ours.windows(2).chain(theirs.windows(2)).any(|pair| pair == b"\r\n") { "\r\n" } else { "\n" };
        let mut text = Vec::new();
        for part in &parts {
            match part {
                Part::Common(ids) => push(&mut text, &lines, ids, end),
                Part::Conflict { ours, theirs } => {
                    marker(&mut text, '<', width, OURS, end);
                    push(&mut text, &lines, ours, end);
                    marker(&mut text, '=', width, "", end);
                    push(&mut text, &lines, theirs, end);
                    marker(&mut text, '>', width, THEIRS, end);
                }
            }
        }
        Marked { text, width }
    }

    /// Whether an edited version still contains one of the markers.
    pub fn is_left_in(&self, text: &[u8]) -> bool {
        text.split(|&byte| byte == b'\n').any(|line| {
            ['<', '=', '>'].iter().any(|&sign| {
                let length = line.iter().take_while(|&&byte| byte == sign as u8).count();
                length == self.width && line.get(length).is_none_or(|&byte| matches!(byte, b' ' | b'\r'))
            })
        })
    }
}

enum Part {
    Common(Vec<u32>),
    Conflict { ours: Vec<u32>, theirs: Vec<u32> },
}

/// The longest run of a marker's character at the start of a line.
fn longest_marker(text: &[u8]) -> usize {
    let runs = text.split(|&byte| byte == b'\n').map(|line| match line.first() {
        Some(&sign) if matches!(sign, b'<' | b'=' | b'>' | b'|') => {
            line.iter().take_while(|&&byte| byte == sign).count()
        }
        _ => 0,
    });
    runs.max().unwrap_or(0)
}

fn marker(text: &mut Vec<u8>, sign: char, width: usize, name: &str, end: &str) {
    let space = if name.is_empty() { "" } else { " " };
    let signs: String = std::iter::repeat_n(sign, width).collect();
    end_line(text, end);
    text.extend_from_slice(format!("{signs}{space}{name}{end}").as_bytes());
}

fn push(text: &mut Vec<u8>, lines: &Lines<'_>, ids: &[u32], end: &str) {
    for &id in ids {
        end_line(text, end);
        text.extend_from_slice(lines.lines[id as usize]);
    }
}

/// The last line of a version may lack a line end.
fn end_line(text: &mut Vec<u8>, end: &str) {
    if text.last().is_some_and(|&last| last != b'\n') {
        text.extend_from_slice(end.as_bytes());
    }
}

/// Combines both sides over the base: changes of one side are taken as they are, touching changes of both become a conflict.
fn over_base(base: &[u32], ours: &[u32], theirs: &[u32]) -> Vec<Part> {
    let (our_hunks, their_hunks) = (WAYS[0].hunks(base, ours), WAYS[0].hunks(base, theirs));
    let mut parts = Vec::new();
    let mut at = 0;
    for Region { base: changed, change } in Regions::of((ours, &our_hunks), (theirs, &their_hunks)) {
        parts.push(Part::Common(base[at..changed.start].to_vec()));
        match change {
            Change::Both { ours, theirs } => conflict(ours, theirs, &mut parts),
            Change::Ours(lines) | Change::Theirs(lines) => parts.push(Part::Common(lines.to_vec())),
        }
        at = changed.end;
    }
    parts.push(Part::Common(base[at..].to_vec()));
    parts
}

/// Without a base, whatever differs is a conflict.
fn side_by_side(ours: &[u32], theirs: &[u32]) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut at = 0;
    for hunk in WAYS[0].compare(ours, theirs) {
        parts.push(Part::Common(ours[at..hunk.old.start].to_vec()));
        parts.push(Part::Conflict {
            ours: ours[hunk.old.clone()].to_vec(),
            theirs: theirs[hunk.new].to_vec(),
        });
        at = hunk.old.end;
    }
    parts.push(Part::Common(ours[at..].to_vec()));
    parts
}

/// Common lines at the beginning and the end are not part of the conflict.
fn conflict(ours: &[u32], theirs: &[u32], parts: &mut Vec<Part>) {
    let before = ours.iter().zip(theirs).take_while(|(a, b)| a == b).count();
    parts.push(Part::Common(ours[..before].to_vec()));
    let (ours, theirs) = (&ours[before..], &theirs[before..]);
    let after = ours.iter().rev().zip(theirs.iter().rev()).take_while(|(a, b)| a == b).count();
    let (our_end, their_end) = (ours.len() - after, theirs.len() - after);
    if our_end > 0 || their_end > 0 {
        parts.push(Part::Conflict { ours: ours[..our_end].to_vec(), theirs: theirs[..their_end].to_vec() });
    }
    parts.push(Part::Common(ours[our_end..].to_vec()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(base: Option<&str>, ours: &str, theirs: &str) -> (String, Marked) {
        let versions = TextVersions {
            base: base.map(Into::into),
            ours: ours.into(),
            theirs: theirs.into(),
            mode: 0o644,
        };
        let marked = Marked::of(&versions);
        (String::from_utf8(marked.text.clone()).unwrap(), marked)
    }

    #[test]
    fn only_what_both_changed_is_between_markers() {
        let base = "top\none\na\nb\nc\nd\ne\nend\n";
        let ours = "TOP\none\na\nb\nc\nours\ne\nend\n";
        let theirs = "top\none\na\nb\nc\ntheirs\ne\nEND\n";
        let (text, marked) = marked(Some(base), ours, theirs);
        let conflict = "<<<<<<< yours\nours\n=======\ntheirs\n>>>>>>> the agent's\n";
        assert_eq!(text, format!("TOP\none\na\nb\nc\n{conflict}e\nEND\n"));
        assert!(marked.is_left_in(text.as_bytes()) && !marked.is_left_in(b"one\n\n==\n"));
    }

    #[test]
    fn without_a_base_all_that_differs_is_between_markers() {
        let (text, _) = marked(None, "same\nours", "same\ntheirs\n");
        assert_eq!(text, "same\n<<<<<<< yours\nours\n=======\ntheirs\n>>>>>>> the agent's\n");
    }

    #[test]
    fn lines_that_look_like_markers_make_the_markers_longer() {
        let (text, marked) = marked(Some("x\n"), "ours\n", "=======\n>>>>>>>> fake\n");
        let expected = "<<<<<<<<< yours\nours\n=========\n=======\n>>>>>>>> fake\n>>>>>>>>> the agent's\n";
        assert_eq!(text, expected);
        assert!(!marked.is_left_in(b"=======\n>>>>>>>> fake\n"));
        assert!(marked.is_left_in(b"a\n=========\nb\n"));
    }

    #[test]
    fn markers_end_like_the_other_lines() {
        let (text, _) = marked(Some("x\r\n"), "ours\r\n", "theirs\r\n");
        assert_eq!(text, "<<<<<<< yours\r\nours\r\n=======\r\ntheirs\r\n>>>>>>> the agent's\r\n");
    }
}
