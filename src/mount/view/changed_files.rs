//! Counts what the agent has written so far, while it runs. The count is for people: it costs little and may be too low.

use crate::model::mount::Backend;
use crate::model::mount_record::MountRecord;
use crate::model::raw_path::RawPath;
use crate::mount::fs::tree::Tree;
use rustix::fs::{Dir, FileType};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// How many directory entries are looked at. The agent can make any number of them.
const MOST: usize = 10_000;

/// The upper directory of an overlay; only that knows without comparing.
pub struct ChangedFiles<'a> {
    upper: Tree,
    /// What is injected, or hidden for something that is injected.
    ours: HashSet<&'a Path>,
}

impl ChangedFiles<'_> {
    pub fn of<'a>(record: &'a MountRecord, session_dir: &Path) -> Option<ChangedFiles<'a>> {
        if record.backend != Backend::Overlay {
            return None;
        }
        let upper = Tree::open(&session_dir.join(&record.data)).ok()?;
        let path = |path: &'a RawPath| -> &'a Path { path };
        let injected = record.injected.iter().map(|injected| path(&injected.path));
        let hidden = record.hidden.iter().map(|hidden| path(&hidden.path));
        Some(ChangedFiles { upper, ours: injected.chain(hidden).collect() })
    }

    /// No link is followed: a directory may be replaced by one at any time.
    pub fn count(&self) -> usize {
        let (mut count, mut seen, mut waiting) = (0, 0, vec![PathBuf::new()]);
        while let Some(dir) = waiting.pop() {
            let opened = self.upper.open_dir(&dir).and_then(|dir| Ok(Dir::new(dir)?));
            for entry in opened.into_iter().flatten().flatten() {
                let name = OsStr::from_bytes(entry.file_name().to_bytes());
                if name == "." || name == ".." {
                    continue;
                }
                seen += 1;
                if seen > MOST {
                    return count;
                }
                let path = dir.join(name);
                if entry.file_type() != FileType::Directory {
                    count += usize::from(!self.ours.contains(&*path));
                } else if name != ".git" {
                    waiting.push(path);
                }
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::mount::Sandbox;
    use crate::model::mount_record::Instant;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn files_are_counted_to_a_limit_and_behind_no_link() {
        let session = tempfile::tempdir().unwrap();
        let upper = session.path().join("upper");
        fs::create_dir_all(upper.join("dir/.git")).unwrap();
        fs::create_dir(session.path().join("other")).unwrap();
        for path in ["upper/a", "upper/dir/b", "upper/dir/.git/config", "other/x", "other/y"] {
            fs::write(session.path().join(path), "").unwrap();
        }
        symlink("../other", upper.join("link")).unwrap();
        let now = Instant { seconds: 0, nanos: 0 };
        let mut record = MountRecord::bare(Backend::Overlay, Sandbox::Off, session.path().into(), now);
        record.data = "upper".into();
        assert_eq!(ChangedFiles::of(&record, session.path()).unwrap().count(), 3);
        fs::create_dir(upper.join("many")).unwrap();
        for number in 0..MOST + 100 {
            fs::write(upper.join(format!("many/{number}")), "").unwrap();
        }
        assert!(ChangedFiles::of(&record, session.path()).unwrap().count() <= MOST);
    }
}
