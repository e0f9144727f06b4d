//! Single cases, and `git merge-file` as the judge of thousands of generated ones.

use super::*;
use pretty_assertions::assert_eq;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

const OVERLAP: Merge = Merge::Conflict(MergeConflict::Overlap);
const NOT_TEXT: Merge = Merge::Conflict(MergeConflict::NotText);

fn merged(base: &str, ours: &str, theirs: &str) -> Merge {
    let result = merge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes());
    assert_eq!(merge(base.as_bytes(), theirs.as_bytes(), ours.as_bytes()), result, "it has no favourite");
    result
}

fn clean(text: &str) -> Merge {
    Merge::Clean(text.as_bytes().to_vec())
}

#[test]
fn edits_of_different_lines_are_both_there() {
    assert_eq!(merged("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n"), clean("A\nb\nC\n"));
    assert_eq!(merged("a\nb\nc\n", "a\nb\n", "0\na\nb\nc\n"), clean("0\na\nb\n"));
    assert_eq!(merged("a\nb\nc", "A\nb\nc", "a\nb\nc\n"), clean("A\nb\nc\n"));
    assert_eq!(merged("a\r\nb\r\nc\r\n", "A\r\nb\r\nc\r\n", "a\r\nb\r\nC\r\n"), clean("A\r\nb\r\nC\r\n"));
    let latin = merge(b"\xe4\nb\nc\n", b"\xc4\nb\nc\n", b"\xe4\nb\n\xd6\n");
    assert_eq!(latin, Merge::Clean(b"\xc4\nb\n\xd6\n".to_vec()));
}

#[test]
fn the_same_edit_on_both_sides_is_one_edit() {
    assert_eq!(merged("a\nb\nc\n", "a\nB\nc\n", "a\nB\nc\n"), clean("a\nB\nc\n"));
    assert_eq!(merged("a\nb\nc\nd\n", "A\nb\nc\nd\n", "A\nb\nc\nD\n"), clean("A\nb\nc\nD\n"));
    assert_eq!(merged("", "a\n", "a\n"), clean("a\n"));
    assert_eq!(merged("a\n", "", ""), clean(""));
}

#[test]
fn edits_that_overlap_or_touch_conflict() {
    assert_eq!(merged("a\nb\nc\n", "a\nB\nc\n", "a\nX\nc\n"), OVERLAP);
    assert_eq!(merged("a\nb\nc\n", "A\nb\nc\n", "a\nB\nc\n"), OVERLAP);
    assert_eq!(merged("a\nb\n", "a\nx\nb\n", "a\ny\nb\n"), OVERLAP);
    assert_eq!(merged("a\nb\nc\n", "a\nc\n", "a\nB\nc\n"), OVERLAP);
    assert_eq!(merged("", "a\n", "b\n"), OVERLAP);
    assert_eq!(merged("a\nb", "a\nb\nc", "a\nb\nd"), OVERLAP);
}

/// Which of the equal lines was removed is anybody's guess.
#[test]
fn a_result_that_depends_on_the_comparison_is_none() {
    assert_eq!(merged("a\na\na\na\na\n", "a\na\na\na\n", "a\na\nB\na\na\n"), OVERLAP);
    assert_eq!(merged("x\nx\n-\nx\nx\n", "x\nx\nx\n-\nx\nx\n", "y\nx\n-\nx\nx\n"), OVERLAP);
}

#[test]
fn what_is_not_text_with_one_kind_of_line_end_is_not_merged() {
    let large = format!("a\n{}\n", "x".repeat(2 << 20));
    assert_eq!(merged("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\0\n"), NOT_TEXT);
    assert_eq!(merged("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\r\n"), NOT_TEXT);
    assert_eq!(merged("a\nb\nc\n", "A\nb\nc\n", "a\r\nb\r\nc\r\n"), NOT_TEXT);
    assert_eq!(merged("a\r\nb\nc\n", "A\r\nb\nc\n", "a\r\nb\nC\n"), NOT_TEXT);
    assert_eq!(merged("a\nb\nc\n", "A\nb\nc\n", "a\nb\rx\nc\n"), NOT_TEXT);
    assert_eq!(merged(&large, &large, "a\n"), NOT_TEXT);
}

#[test]
fn large_files_that_have_nothing_in_common_end_soon() {
    let text = |word: &str| -> String { (0..60_000).map(|number| format!("{word} {number}\n")).collect() };
    let began = Instant::now();
    assert_eq!(merged(&text("a"), &text("b"), &text("c")), OVERLAP);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

struct Rng(u64);

impl Rng {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((value ^ (value >> 31)) % limit as u64).unwrap()
    }
}

/// A line of a text in which many lines are the same, some are, or none.
fn line(rng: &mut Rng, variety: usize) -> String {
    match (variety, rng.below(4)) {
        (0, _) => ["", "}", "a"][rng.below(3)].to_owned(),
        (1, 0) => ["", "}", "\treturn;", "{"][rng.below(4)].to_owned(),
        (1, _) => format!("line {}", rng.below(40)),
        _ => format!("line {}", rng.below(1_000_000)),
    }
}

fn edit(rng: &mut Rng, lines: &mut Vec<String>, variety: usize) {
    let at = rng.below(lines.len() + 1);
    let end = (at + 1 + rng.below(3)).min(lines.len());
    match rng.below(6) {
        0 | 1 if at < lines.len() => lines[at] = line(rng, variety),
        2 => drop(lines.drain(at..end)),
        3 => {
            let copied = lines[at..end].to_vec();
            let to = rng.below(lines.len() + 1);
            lines.splice(to..to, copied);
        }
        4 => {
            let moved: Vec<String> = lines.drain(at..end).collect();
            let to = rng.below(lines.len() + 1);
            lines.splice(to..to, moved);
        }
        _ => {
            let new: Vec<String> = (0..=rng.below(3)).map(|_| line(rng, variety)).collect();
            lines.splice(at..at, new);
        }
    }
}

/// Three versions of a text, and how much its lines vary.
fn versions(seed: u64) -> (usize, [Vec<u8>; 3]) {
    let mut rng = Rng(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let variety = rng.below(3);
    let length = [3, 12, 40, 200][rng.below(4)];
    let base: Vec<String> = (0..rng.below(length)).map(|_| line(&mut rng, variety)).collect();
    let mut sides = [base.clone(), base.clone(), base];
    if rng.below(4) == 0 {
        // The agent began with an edit of the user's.
        edit(&mut rng, &mut sides[1], variety);
        sides[2] = sides[1].clone();
    }
    for side in &mut sides[1..] {
        for _ in 0..=rng.below(3) {
            edit(&mut rng, side, variety);
        }
    }
    let end = if rng.below(8) == 0 { "\r\n" } else { "\n" };
    let texts = sides.map(|lines| {
        let mut text = lines.join(end);
        if !lines.is_empty() && rng.below(12) != 0 {
            text.push_str(end);
        }
        text.into_bytes()
    });
    (variety, texts)
}

/// What git makes of it; `None` for a conflict.
fn merge_of_git(dir: &Path, sides: &[Vec<u8>; 3]) -> Option<Vec<u8>> {
    let [base, ours, theirs] = ["base", "ours", "theirs"].map(|name| dir.join(name));
    for (path, bytes) in [&base, &ours, &theirs].into_iter().zip(sides) {
        std::fs::write(path, bytes).unwrap();
    }
    let mut command = Command::new("git");
    command.args(["merge-file", "-p"]).args([ours, base, theirs]).current_dir(dir);
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().unwrap();
    match output.status.code() {
        Some(0) => Some(output.stdout),
        Some(1..=127) => None,
        other => panic!("git merge-file: {other:?}"),
    }
}

/// How many texts; CI takes the default.
fn texts() -> u64 {
    std::env::var("AGENTWORKFORCE_TEXTS").ok().and_then(|count| count.parse().ok()).unwrap_or(10_000)
}

#[test]
fn git_merges_whatever_we_merge_and_to_the_same_bytes() {
    let next = AtomicU64::new(0);
    let [clean, cautious] = [const { [const { AtomicU64::new(0) }; 3] }; 2];
    let count = |counter: &AtomicU64| counter.fetch_add(1, Ordering::Relaxed);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let dir = crate::mount::engine_tests::scratch();
                loop {
                    let seed = count(&next);
                    if seed >= texts() {
                        return;
                    }
                    let (variety, sides) = versions(seed);
                    let ours = merge(&sides[0], &sides[1], &sides[2]);
                    let gits = merge_of_git(dir.path(), &sides);
                    match (ours, gits) {
                        (Merge::Clean(ours), Some(gits)) => {
                            count(&clean[variety]);
                            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                            assert_eq!(text(&ours), text(&gits), "seed {seed}");
                        }
                        (Merge::Clean(_), None) => panic!("seed {seed}: git sees a conflict"),
                        (Merge::Conflict(_), Some(_)) => drop(count(&cautious[variety])),
                        (Merge::Conflict(_), None) => {}
                    }
                }
            });
        }
    });
    let [clean, cautious] = [clean, cautious].map(|counters| counters.map(AtomicU64::into_inner));
    let kinds = ["hardly any line occurs once", "many lines occur once", "all lines differ"];
    for ((kind, clean), cautious) in kinds.iter().zip(clean).zip(cautious) {
        println!("{kind}: {clean} merged as git does, {cautious} left to the user that git merges");
    }
    // Where lines can be told apart, only copied and moved ones make us more careful.
    assert!(clean[2] > texts() / 8, "{clean:?} of {}", texts());
    assert!(cautious[2] < clean[2] / 10, "{cautious:?} of {}", texts());
}
