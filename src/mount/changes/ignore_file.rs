//! Parses ignore files into patterns, within limits, because a hostile author may try to make them expensive. Patterns beyond the limits
//! are skipped; git, which has its own limits, is asked about files that the user has. It reads no files.

use crate::rules::glob::{for_globset, says_nothing, wildcards};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// No path is longer.
const LONGEST: usize = 4096;
/// Limits of wildcards, the expensive part of a pattern: in one pattern, in a file, and in all files together.
const MOST_IN_PATTERN: usize = 256;
const MOST_IN_FILE: usize = 40_000;
const MOST_WILDCARDS: usize = 200_000;
/// Patterns of all files together, in bytes.
const MOST_BYTES: usize = 16 << 20;
/// As long as git itself may take to list what it ignores.
const MOST_TIME: Duration = Duration::from_secs(20);

/// The patterns of one file.
pub(super) type Patterns = Arc<Gitignore>;

/// What was spent on ignore files so far.
#[derive(Default)]
pub(super) struct IgnoreFiles {
    /// Very many directories may have the same one.
    known: HashMap<blake3::Hash, Patterns>,
    bytes: usize,
    wildcards: usize,
    time: Duration,
}

impl IgnoreFiles {
    pub(super) fn nothing() -> Patterns {
        Arc::new(Gitignore::empty())
    }

    pub(super) fn patterns(&mut self, text: &str) -> Patterns {
        let began = Instant::now();
        let hash = blake3::hash(text.as_bytes());
        if let Some(known) = self.known.get(&hash) {
            self.time += began.elapsed();
            return Arc::clone(known);
        }
        let mut builder = GitignoreBuilder::new("");
        let mut in_file = 0;
        for line in text.trim_start_matches('\u{feff}').lines().filter(|line| !says_nothing(line)) {
            let cost = if line.len() > LONGEST { usize::MAX } else { wildcards(line) };
            if cost > MOST_IN_PATTERN || !self.has_left(line.len(), cost) || in_file + cost > MOST_IN_FILE {
                continue;
            }
            in_file += cost;
            self.bytes += line.len();
            self.wildcards += cost;
            // Like git, skip invalid patterns.
            let _ = builder.add_line(None, &for_globset(line));
        }
        let patterns = Arc::new(builder.build().unwrap_or_else(|_| Gitignore::empty()));
        self.known.insert(hash, Arc::clone(&patterns));
        self.time += began.elapsed();
        patterns
    }

    fn has_left(&self, bytes: usize, wildcards: usize) -> bool {
        self.bytes + bytes <= MOST_BYTES
            && self.wildcards + wildcards <= MOST_WILDCARDS
            && self.time < MOST_TIME
    }

    /// Whether a pattern in the file matches a path, and if so, whether it ignores the path.
    pub(super) fn says(&mut self, patterns: &Gitignore, path: &Path, is_dir: bool) -> Option<bool> {
        if patterns.is_empty() || self.time >= MOST_TIME {
            return None;
        }
        let began = Instant::now();
        let said = match patterns.matched(path, is_dir) {
            Match::Ignore(_) => Some(true),
            Match::Whitelist(_) => Some(false),
            Match::None => None,
        };
        self.time += began.elapsed();
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expensive_patterns_are_passed_over_and_the_others_count() {
        let mut files = IgnoreFiles::default();
        let text = format!("{}\n{}\n*.o\n!keep.o\n", "*a?".repeat(1000), "x".repeat(5000));
        let patterns = files.patterns(&text);
        assert_eq!(patterns.len(), 2);
        assert_eq!(files.says(&patterns, Path::new("x.o"), false), Some(true));
        assert_eq!(files.says(&patterns, Path::new("keep.o"), false), Some(false));
        assert!(Arc::ptr_eq(&patterns, &files.patterns(&text)));
        for number in 0..100 {
            let _ = files.patterns(&format!("{}\n", format!("{number}{}\n", "*a?".repeat(100)).repeat(300)));
        }
        assert!(files.wildcards <= MOST_WILDCARDS, "{}", files.wildcards);
        assert!(files.patterns(&"*a?".repeat(120)).is_empty(), "not enough is left");
    }
}
