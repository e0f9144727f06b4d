//! Git's index file, as far as marking entries needs it: the names, and a copy with some of them marked skip-worktree.
//! Anything out of the ordinary (version 4, a split or sparse index, SHA-256) is not read here; git itself is asked then.

use std::collections::HashSet;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

const HEADER: usize = 12;
/// Times, ids and sizes, then the SHA-1 of the content.
const BEFORE_FLAGS: usize = 60;
const HASH: usize = 20;
/// In the flags of an entry: more flags follow. In those: skip-worktree.
const EXTENDED: u8 = 0x40;
const SKIP_WORKTREE: u8 = 0x40;

/// An index that was understood to its last byte.
pub struct IndexFile {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    /// Extensions that say nothing about positions in the file.
    kept: Vec<Range<usize>>,
}

struct Entry {
    start: usize,
    name: Range<usize>,
}

impl IndexFile {
    pub(crate) fn parse(bytes: Vec<u8>) -> Option<IndexFile> {
        let end = bytes.len().checked_sub(HASH)?;
        if bytes.get(..4)? != b"DIRC" || !matches!(number(&bytes, 4)?, 2 | 3) {
            return None;
        }
        let count = usize::try_from(number(&bytes, 8)?).ok()?;
        // No entry is shorter than this; a count that lies must not cost memory.
        let mut entries: Vec<Entry> = Vec::with_capacity(count.min(end / BEFORE_FLAGS));
        let mut at = HEADER;
        for _ in 0..count {
            let extended = bytes.get(at + BEFORE_FLAGS)? & EXTENDED != 0;
            let name_start = at + BEFORE_FLAGS + 2 + if extended { 2 } else { 0 };
            let length = name_length(&bytes, at, name_start, end)?;
            let name = name_start..name_start + length;
            let next = at + padded(name.end - at);
            if length == 0 || bytes.get(name.end..next)?.iter().any(|&byte| byte != 0) {
                return None;
            }
            // Unmerged paths are there up to three times.
            let is_sorted = entries.last().is_none_or(|last| bytes[last.name.clone()] <= bytes[name.clone()]);
            if !is_sorted {
                return None;
            }
            entries.push(Entry { start: at, name });
            at = next;
        }
        let mut kept = Vec::new();
        while at < end {
            let name = bytes.get(at..at + 4)?;
            let next = at + 8 + usize::try_from(number(&bytes, at + 4)?).ok()?;
            match name {
                // Where entries lie; they move.
                b"EOIE" | b"IEOT" => {}
                b"TREE" | b"REUC" | b"UNTR" => kept.push(at..next),
                _ => return None,
            }
            at = next;
        }
        (at == end).then_some(IndexFile { bytes, entries, kept })
    }

    /// How many names there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// In the order of their bytes.
    pub(crate) fn name(&self, number: usize) -> &[u8] {
        &self.bytes[self.entries[number].name.clone()]
    }

    /// The same index with these paths marked. Its hash is left out, as with `index.skipHash`: nobody reads it.
    pub(crate) fn with_skip_worktree(&self, paths: &[PathBuf]) -> Vec<u8> {
        let marked: HashSet<&[u8]> = paths.iter().map(|path| path.as_os_str().as_bytes()).collect();
        let mut out = Vec::with_capacity(self.bytes.len() + 16 * marked.len());
        out.extend_from_slice(b"DIRC\0\0\0\x03");
        // Everything between two marked entries stays as it is, to the byte.
        let mut copied = 8;
        for (number, entry) in self.entries.iter().enumerate() {
            let name = self.name(number);
            if !marked.contains(name) {
                continue;
            }
            out.extend_from_slice(&self.bytes[copied..entry.start]);
            let start = out.len();
            out.extend_from_slice(&self.bytes[entry.start..entry.name.start]);
            if out[start + BEFORE_FLAGS] & EXTENDED == 0 {
                out[start + BEFORE_FLAGS] |= EXTENDED;
                out.extend_from_slice(&[0, 0]);
            }
            out[start + BEFORE_FLAGS + 2] |= SKIP_WORKTREE;
            out.extend_from_slice(name);
            out.resize(start + padded(out.len() - start), 0);
            copied = entry.start + padded(entry.name.end - entry.start);
        }
        out.extend_from_slice(&self.bytes[copied..self.entries_end()]);
        for extension in &self.kept {
            out.extend_from_slice(&self.bytes[extension.clone()]);
        }
        out.extend_from_slice(&[0; HASH]);
        out
    }

    fn entries_end(&self) -> usize {
        self.entries.last().map_or(HEADER, |last| last.start + padded(last.name.end - last.start))
    }
}

/// The flags say it, unless it is too long for them.
fn name_length(bytes: &[u8], at: usize, start: usize, end: usize) -> Option<usize> {
    const LONG: usize = 0xfff;
    let flags = bytes.get(at + BEFORE_FLAGS..at + BEFORE_FLAGS + 2)?;
    let said = usize::from(u16::from_be_bytes([flags[0], flags[1]])) & LONG;
    let name = bytes.get(start..end)?;
    if said == LONG {
        return name.iter().position(|&byte| byte == 0);
    }
    // The byte behind it is checked with the padding.
    (!name.get(..said)?.contains(&0)).then_some(said)
}

/// Entries end with one to eight zeros, at a multiple of eight.
fn padded(length: usize) -> usize {
    (length / 8 + 1) * 8
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::fs;
    use std::path::Path;
    use std::process::Stdio;

    fn git(dir: &Path, words: &[&str]) -> String {
        let mut command = crate::git::command(dir);
        command.args(["-c", "user.name=t", "-c", "user.email=t@t"]).args(words);
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Names of every length modulo eight, an entry with flags of its own and cached trees.
    fn repository() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().to_path_buf();
        git(&root, &["init", "-q"]);
        for length in 1..20 {
            fs::create_dir_all(root.join(format!("d{}", length % 3))).unwrap();
            fs::write(root.join(format!("d{}/{}", length % 3, "n".repeat(length))), "x").unwrap();
        }
        git(&root, &["add", "-A"]);
        git(&root, &["commit", "-qm", "one"]);
        fs::write(root.join("intended"), "y").unwrap();
        git(&root, &["add", "-N", "intended"]);
        (dir, root)
    }

    #[test]
    fn git_reads_a_marked_index_as_if_it_had_written_it() {
        let (_dir, root) = repository();
        let bytes = fs::read(root.join(".git/index")).unwrap();
        let names: Vec<String> = git(&root, &["ls-files"]).lines().map(str::to_owned).collect();
        let index = IndexFile::parse(bytes.clone()).unwrap();
        let read: Vec<String> =
            (0..index.len()).map(|number| String::from_utf8_lossy(index.name(number)).into_owned()).collect();
        assert_eq!(read, names);
        for step in 1..5 {
            let marked: Vec<PathBuf> = names.iter().step_by(step).map(PathBuf::from).collect();
            let ours = IndexFile::parse(bytes.clone()).unwrap().with_skip_worktree(&marked);
            fs::write(root.join(".git/index"), &ours).unwrap();
            let seen = (git(&root, &["ls-files", "-v", "-s"]), git(&root, &["status", "--porcelain"]));
            fs::write(root.join(".git/index"), &bytes).unwrap();
            let mut words = vec!["update-index", "--skip-worktree"];
            words.extend(names.iter().step_by(step).map(String::as_str));
            git(&root, &words);
            let expected = (git(&root, &["ls-files", "-v", "-s"]), git(&root, &["status", "--porcelain"]));
            assert_eq!(seen, expected);
            fs::write(root.join(".git/index"), &bytes).unwrap();
            // Marking what is marked changes nothing, and our own result is understood again.
            assert_eq!(IndexFile::parse(ours.clone()).unwrap().with_skip_worktree(&marked), ours);
        }
    }

    #[test]
    fn what_is_out_of_the_ordinary_is_left_to_git() {
        let (_dir, root) = repository();
        let index = root.join(".git/index");
        let plain = fs::read(&index).unwrap();
        for cut in [0, 3, 11, 40, plain.len() / 2, plain.len() - 1] {
            assert!(IndexFile::parse(plain[..cut].to_vec()).is_none(), "cut at {cut}");
        }
        git(&root, &["update-index", "--index-version", "4"]);
        assert!(IndexFile::parse(fs::read(&index).unwrap()).is_none());
        fs::write(&index, &plain).unwrap();
        git(&root, &["update-index", "--split-index"]);
        assert!(IndexFile::parse(fs::read(&index).unwrap()).is_none());
        let other = tempfile::tempdir().unwrap();
        git(other.path(), &["init", "-q", "--object-format=sha256"]);
        fs::write(other.path().join("a"), "").unwrap();
        git(other.path(), &["add", "a"]);
        assert!(IndexFile::parse(fs::read(other.path().join(".git/index")).unwrap()).is_none());
    }
}
