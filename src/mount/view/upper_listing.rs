//! What the upper directories of an overlay hold, to see later whether anything was written there. It compares names and stats, and
//! does not say what was written.

use crate::model::mount::Backend;
use crate::model::mount_record::MountRecord;
use crate::mount::fs::stat::{Kind, Stat};
use crate::mount::fs::tree::{self, Tree};
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// With more entries than this a comparison is not worth its time.
const MOST: usize = 1000;

/// The entries of the upper directories, by their paths in the session.
#[derive(Debug, PartialEq, Eq)]
pub struct UpperListing(Vec<(PathBuf, Stat)>);

impl UpperListing {
    /// `None` where there is no overlay, or too much in it.
    pub fn of(session: &Path, record: &MountRecord) -> Option<UpperListing> {
        if record.backend != Backend::Overlay {
            return None;
        }
        list(session, record, MOST).ok().filter(|listing| listing.0.len() < MOST)
    }

    /// Whether nothing has changed since, and the directories still have the modes of those of the project that they stand for.
    pub fn is_current(&self, session: &Path, record: &MountRecord) -> bool {
        list(session, record, self.0.len() + 1).is_ok_and(|now| now == *self)
            && self.has_modes_of_project(record).unwrap_or(false)
    }

    fn has_modes_of_project(&self, record: &MountRecord) -> io::Result<bool> {
        let project = Tree::open(&record.root)?;
        for (path, stat) in self.0.iter().filter(|(_, stat)| stat.kind == Kind::Dir) {
            if let Ok(inside) = path.strip_prefix(&record.data)
                && let Some(now) = project.stat(inside)?
                && now.kind == Kind::Dir
                && now.mode != stat.mode
            {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn list(session: &Path, record: &MountRecord, most: usize) -> io::Result<UpperListing> {
    let session = Tree::open(session)?;
    let outside = record.git.iter().flat_map(|git| &git.outside).map(|dir| &dir.upper);
    let mut waiting: Vec<PathBuf> = outside.chain([&record.data]).map(|dir| dir.0.clone()).collect();
    let mut entries = Vec::new();
    while let Some(path) = waiting.pop() {
        let dir = session.open_dir(&path)?;
        let stat = Stat::from(&rustix::fs::fstat(&dir)?);
        // A mount writes attributes of its own to its directories.
        entries.push((path.clone(), Stat { ctime: stat.mtime, ..stat }));
        let mut names = tree::list(dir.as_fd())?;
        names.sort_unstable();
        for name in names {
            if entries.len() >= most {
                return Ok(UpperListing(entries));
            }
            match tree::stat_at(dir.as_fd(), &name)? {
                Some(stat) if stat.kind == Kind::Dir => waiting.push(path.join(name)),
                Some(stat) => entries.push((path.join(name), stat)),
                None => {}
            }
        }
    }
    Ok(UpperListing(entries))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::mount::Sandbox;
    use crate::model::mount_record::Instant;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn whatever_is_written_shows() {
        let changes: [fn(&Path); 7] = [
            |upper| fs::write(upper.join("new"), "").unwrap(),
            |upper| fs::write(upper.join("dir/file"), "longer text").unwrap(),
            |upper| fs::remove_file(upper.join("dir/file")).unwrap(),
            |upper| fs::create_dir(upper.join("dir/below")).unwrap(),
            |upper| fs::set_permissions(upper.join("dir"), Permissions::from_mode(0o700)).unwrap(),
            |upper| fs::write(upper.with_file_name("project/new"), "of the user").unwrap(),
            |upper| {
                let dir = upper.with_file_name("project/dir");
                fs::set_permissions(dir, Permissions::from_mode(0o700)).unwrap();
            },
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let session = tempfile::tempdir().unwrap();
            let session = session.path();
            for name in ["upper/dir", "project/dir"] {
                fs::create_dir_all(session.join(name)).unwrap();
            }
            fs::write(session.join("upper/dir/file"), "text").unwrap();
            let root = session.join("project");
            let now = Instant { seconds: 0, nanos: 0 };
            let mut record = MountRecord::bare(Backend::Overlay, Sandbox::Off, root.into(), now);
            record.data = "upper".into();
            let before = UpperListing::of(session, &record).unwrap();
            assert!(before.is_current(session, &record), "{number}");
            change(&session.join("upper"));
            assert_eq!(before.is_current(session, &record), number == 5, "{number}");
        }
    }
}
