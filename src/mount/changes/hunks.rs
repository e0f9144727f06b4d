//! The agent's edits of one file as separate hunks, so that some of them can be picked. It produces texts and writes nothing.

use super::change::{Change, MergedText};
use super::merge::{Hunk, Lines, Merge, WAYS, merge};
use super::three_way::ThreeWay;
use super::versions::{TextVersions, text_versions};
use crate::model::printable::printable;
use std::fmt::Write;

/// Nobody goes through more than this one by one.
const MOST: usize = 300;
/// Unchanged lines around one.
const CONTEXT: usize = 3;

/// The hunks of a file with a known base.
#[derive(Debug)]
pub struct Hunks {
    versions: TextVersions,
    base: Vec<u8>,
    found: Vec<Hunk>,
}

/// The result of picking some of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PickedText {
    pub text: MergedText,
    /// The agent's complete version, which the hunks were taken from.
    pub theirs: Vec<u8>,
    pub mode: u32,
    /// Not all of them.
    pub partly: bool,
}

impl Hunks {
    /// `None` if the change can only be taken as a whole.
    pub fn of(sides: &ThreeWay<'_>, change: &Change) -> anyhow::Result<Option<Hunks>> {
        if change.conflict.is_some() {
            return Ok(None);
        }
        Ok(text_versions(sides, change)?.and_then(Hunks::of_versions))
    }

    fn of_versions(versions: TextVersions) -> Option<Hunks> {
        let base = versions.base.clone()?;
        // Nobody can review something that is not readable text.
        std::str::from_utf8(&base).ok()?;
        std::str::from_utf8(&versions.theirs).ok()?;
        let mut lines = Lines::default();
        let (old, new) = (lines.number(&base), lines.number(&versions.theirs));
        let found = WAYS[0].compare(&old, &new);
        (!found.is_empty() && found.len() <= MOST).then_some(Hunks { versions, base, found })
    }

    pub fn count(&self) -> usize {
        self.found.len()
    }

    /// One hunk with the lines around it, ready for a terminal.
    pub fn shown(&self, number: usize) -> String {
        let (old, new) = (lines_of(&self.base), lines_of(&self.versions.theirs));
        let Hunk { old: removed, new: added } = &self.found[number];
        let before = removed.start.saturating_sub(CONTEXT)..removed.start;
        let after = removed.end..(removed.end + CONTEXT).min(old.len());
        let around = before.len() + after.len();
        let mut text = format!(
            "@@ -{},{} +{},{} @@\n",
            before.start + 1,
            removed.len() + around,
            added.start + 1 - before.len(),
            added.len() + around
        );
        let mut push = |sign: char, lines: &[&[u8]]| {
            for line in lines {
                let line = String::from_utf8_lossy(line);
                let end = if line.ends_with('\n') { "" } else { "\n\\ No newline at end of file\n" };
                let _ = write!(text, "{sign}{line}{end}");
            }
        };
        push(' ', &old[before]);
        push('-', &old[removed.clone()]);
        push('+', &new[added.clone()]);
        push(' ', &old[after]);
        printable(&text).into_owned()
    }

    /// The user's text with these hunks applied; `None` if they cannot be merged with the user's edits.
    pub fn pick(&self, is_picked: &[bool]) -> Option<PickedText> {
        let agents = self.version_with(is_picked);
        let result = match merge(&self.base, &self.versions.ours, &agents) {
            Merge::Clean(result) => result,
            Merge::Conflict(_) if self.versions.ours == self.base => agents.clone(),
            Merge::Conflict(_) => return None,
        };
        let text = MergedText { result, agents, base: Some(self.base.clone()) };
        let partly = is_picked.contains(&false);
        Some(PickedText { text, theirs: self.versions.theirs.clone(), mode: self.versions.mode, partly })
    }

    /// What the agent's version would be with only these hunks.
    fn version_with(&self, is_picked: &[bool]) -> Vec<u8> {
        let (old, new) = (lines_of(&self.base), lines_of(&self.versions.theirs));
        let mut version = Vec::new();
        let mut push = |lines: &[&[u8]]| {
            for line in lines {
                // A line that was the last one and has no end may have become another.
                if version.last().is_some_and(|&last| last != b'\n') {
                    version.push(b'\n');
                }
                version.extend_from_slice(line);
            }
        };
        let mut at = 0;
        for (hunk, picked) in self.found.iter().zip(is_picked) {
            push(&old[at..hunk.old.start]);
            push(if *picked { &new[hunk.new.clone()] } else { &old[hunk.old.clone()] });
            at = hunk.old.end;
        }
        push(&old[at..]);
        version
    }
}

fn lines_of(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|&byte| byte == b'\n').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hunks(base: &str, ours: &str, theirs: &str) -> Hunks {
        let versions =
            TextVersions { base: Some(base.into()), ours: ours.into(), theirs: theirs.into(), mode: 0o644 };
        Hunks::of_versions(versions).unwrap()
    }

    #[test]
    fn some_of_the_hunks_make_a_text_of_their_own() {
        let base = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let theirs = "one\n2\n3\n4\nfive\n6\n7\n8\nnine";
        let hunks = hunks(base, base, theirs);
        assert_eq!(hunks.count(), 3);
        assert_eq!(hunks.shown(1), "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
        let picked = hunks.pick(&[true, false, true]).unwrap();
        assert_eq!(picked.text.result, b"one\n2\n3\n4\n5\n6\n7\n8\nnine");
        assert!(picked.partly);
        assert_eq!(hunks.pick(&[true; 3]).unwrap().text.result, theirs.as_bytes());
        assert_eq!(hunks.pick(&[false; 3]).unwrap().text.result, base.as_bytes());
    }

    #[test]
    fn hunks_are_merged_with_what_the_user_changed() {
        let base = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let hunks = hunks(base, "1\n2\n3\n4\nmine\n6\n7\n8\n9\n", "one\n2\n3\n4\n5\n6\n7\n8\nnine\n");
        let picked = hunks.pick(&[false, true]).unwrap();
        assert_eq!(picked.text.result, b"1\n2\n3\n4\nmine\n6\n7\n8\nnine\n");
        assert_eq!(picked.text.agents, b"1\n2\n3\n4\n5\n6\n7\n8\nnine\n");
    }
}
