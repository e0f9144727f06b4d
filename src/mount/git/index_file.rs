//! Git's index file, as far as it is needed here: the names, what git knows of a file, and a copy with some entries marked
//! skip-worktree.
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
/// In the flags of an entry: assumed to be valid, more flags, and the stage of an unmerged path.
const MARKED: u8 = 0xf0;

/// What git knows of a file that was added: its stat then, cut to what an index holds, and its blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    /// Seconds and nanoseconds.
    pub(crate) ctime: (u32, u32),
    pub(crate) mtime: (u32, u32),
    pub(crate) ino: u32,
    pub(crate) mode: u32,
    pub(crate) size: u32,
    pub(crate) id: [u8; HASH],
}

/// An index that was understood to its last byte.
#[derive(Debug)]
pub struct IndexFile {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    /// Extensions that say nothing about positions in the file.
    kept: Vec<Range<usize>>,
}

#[derive(Debug)]
struct Entry {
    start: usize,
    name: Range<usize>,
}

impl IndexFile {
    pub(crate) fn parse(bytes: Vec<u8>) -> Option<IndexFile> {
        let end = bytes.len().checked_sub(HASH)?;
        if bytes.get(..4)? != b"DIRC" || !matches!(number_at(&bytes, 4)?, 2 | 3) {
            return None;
        }
        let count = usize::try_from(number_at(&bytes, 8)?).ok()?;
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
            let next = at + 8 + usize::try_from(number_at(&bytes, at + 4)?).ok()?;
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

    /// The entry of a file, unless it is unmerged or marked in any way: then git does not look at the file.
    pub(crate) fn entry(&self, name: &[u8]) -> Option<IndexEntry> {
        let number = self.entries.binary_search_by(|entry| self.bytes[entry.name.clone()].cmp(name)).ok()?;
        let entry = &self.entries[number];
        let at = |offset: usize| number_at(&self.bytes, entry.start + offset);
        if self.bytes[entry.start + BEFORE_FLAGS] & MARKED != 0 {
            return None;
        }
        let id = entry.start + BEFORE_FLAGS - HASH..entry.start + BEFORE_FLAGS;
        Some(IndexEntry {
            ctime: (at(0)?, at(4)?),
            mtime: (at(8)?, at(12)?),
            ino: at(20)?,
            mode: at(24)?,
            size: at(36)?,
            id: self.bytes[id].try_into().ok()?,
        })
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

fn number_at(bytes: &[u8], at: usize) -> Option<u32> {
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
    fn an_entry_says_what_git_saw() {
        use std::os::unix::fs::MetadataExt;
        let (_dir, root) = repository();
        let index = IndexFile::parse(fs::read(root.join(".git/index")).unwrap()).unwrap();
        let found = index.entry(b"d1/nnnn").unwrap();
        let stat = fs::metadata(root.join("d1/nnnn")).unwrap();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let expected = IndexEntry {
            ctime: (stat.ctime() as u32, stat.ctime_nsec() as u32),
            mtime: (stat.mtime() as u32, stat.mtime_nsec() as u32),
            ino: stat.ino() as u32,
            mode: 0o100_644,
            size: 1,
            id: found.id,
        };
        assert_eq!(found, expected);
        let id: String = found.id.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(git(&root, &["cat-file", "blob", &id]), "x");
        // Added in intention only, and not there at all.
        assert_eq!((index.entry(b"intended"), index.entry(b"d1/nnn")), (None, None));
        git(&root, &["update-index", "--assume-unchanged", "d1/nnnn"]);
        let index = IndexFile::parse(fs::read(root.join(".git/index")).unwrap()).unwrap();
        assert_eq!(index.entry(b"d1/nnnn"), None);
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
