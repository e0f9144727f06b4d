//! Splits one of our own patches into its comments and a section for each file. It does not understand other patches.

use super::names::unquoted;
use super::notes::COMMENT;
use crate::model::change_kind::ChangeKind;
use crate::model::printable::printable;
use crate::model::raw_path::RawPath;
use crate::mount::changes::diff::FileDiff;
use std::path::{Path, PathBuf};

const START: &[u8] = b"diff --git ";
const BINARY: &str = "GIT binary patch";

/// The part of a patch that is about one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section<'a> {
    pub old: PathBuf,
    pub new: PathBuf,
    pub bytes: &'a [u8],
}

/// The comments in front, as they are.
pub fn comments(patch: &[u8]) -> &[u8] {
    let end = lines(patch).take_while(|line| line.starts_with(COMMENT.as_bytes())).map(<[u8]>::len).sum();
    &patch[..end]
}

/// Lines of a file's content start with a mark, and lines of binary content hold no space: only a header starts like one.
pub fn sections(patch: &[u8]) -> Vec<Section<'_>> {
    let mut starts = Vec::new();
    let mut at = 0;
    for line in lines(patch) {
        if line.starts_with(START) {
            starts.push(at);
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([patch.len()]);
    starts.iter().zip(ends).filter_map(|(&start, end)| Section::parse(&patch[start..end])).collect()
}

impl<'a> Section<'a> {
    fn parse(bytes: &'a [u8]) -> Option<Section<'a>> {
        let head = lines(bytes).next()?.strip_prefix(START)?;
        let (old, rest) = unquoted(head.strip_suffix(b"\n").unwrap_or(head))?;
        let (new, _) = unquoted(rest.strip_prefix(b" ")?)?;
        let old = old.strip_prefix("a").ok()?.to_owned();
        let new = new.strip_prefix("b").ok()?.to_owned();
        Some(Section { old, new, bytes })
    }

    pub fn is_below(&self, path: &Path) -> bool {
        self.old.starts_with(path) || self.new.starts_with(path)
    }

    /// For display: free of terminal escape sequences, and binary content is mentioned but not printed.
    pub fn for_people(&self) -> FileDiff {
        let whole = String::from_utf8_lossy(self.bytes);
        let (shown, is_binary) = match whole.find(&format!("\n{BINARY}\n")) {
            Some(at) => (format!("{}\nbinary files differ\n", &whole[..at]), true),
            None => (whole.into_owned(), false),
        };
        let head = || shown.lines().take_while(|line| !line.starts_with("@@"));
        let has = |word: &str| head().any(|line| line.starts_with(word));
        let kind = if has("new file") || has("rename to") {
            ChangeKind::Added
        } else if has("deleted file") {
            ChangeKind::Deleted
        } else if has("index ") {
            ChangeKind::Modified
        } else {
            ChangeKind::Mode
        };
        let body = || shown.lines().skip_while(|line| !line.starts_with("@@"));
        let count = |mark: char| (!is_binary).then(|| body().filter(|line| line.starts_with(mark)).count());
        FileDiff {
            path: RawPath::from(self.new.clone()),
            kind,
            conflict: None,
            merged: false,
            touched: false,
            added: count('+'),
            removed: count('-'),
            text: printable(&shown).into_owned(),
        }
    }
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|&byte| byte == b'\n')
}
