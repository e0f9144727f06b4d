//! Looks up many paths of a tree, most of them next to the previous one: it opens a directory once for all of them, and does not ask
//! again for one that does not exist. Only for trees that do not change meanwhile.

use super::stat::{Kind, Stat};
use super::tree::{self, Lookup, Tree};
use rustix::io::Errno;
use std::cell::RefCell;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// A tree, and the directory of the last lookup.
pub struct Near<'a> {
    tree: &'a Tree,
    last: RefCell<Last>,
}

enum Last {
    Nothing,
    Open(PathBuf, OwnedFd),
    /// Nothing exists below this path, which has this many components before its last.
    Missing(PathBuf, usize),
}

impl<'a> Near<'a> {
    pub fn new(tree: &'a Tree) -> Near<'a> {
        Near { tree, last: RefCell::new(Last::Nothing) }
    }

    /// The same as [`Tree::lookup`].
    pub fn lookup(&self, path: &Path) -> io::Result<Lookup> {
        let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
            return self.tree.lookup(path);
        };
        if directory.as_os_str().is_empty() {
            return self.tree.lookup(path);
        }
        let mut last = self.last.borrow_mut();
        match &*last {
            Last::Open(known, _) if known == directory => {}
            Last::Missing(missing, existing) if directory.starts_with(missing) => {
                return Ok(Lookup::NoParent { existing: *existing });
            }
            _ => *last = self.open(directory)?,
        }
        match &*last {
            Last::Open(_, dir) => {
                Ok(tree::stat_at(dir.as_fd(), name)?.map_or(Lookup::Absent, Lookup::Present))
            }
            Last::Missing(_, existing) => Ok(Lookup::NoParent { existing: *existing }),
            Last::Nothing => self.tree.lookup(path),
        }
    }

    pub fn stat(&self, path: &Path) -> io::Result<Option<Stat>> {
        Ok(self.lookup(path)?.stat())
    }

    fn open(&self, directory: &Path) -> io::Result<Last> {
        match self.tree.open_dir(directory) {
            Ok(dir) => return Ok(Last::Open(directory.to_owned(), dir)),
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                _ => return Err(error),
            },
        }
        let existing = match self.tree.lookup(directory)? {
            Lookup::NoParent { existing } => existing,
            // It has come back this very moment.
            Lookup::Present(stat) if stat.kind == Kind::Dir => return Ok(Last::Nothing),
            Lookup::Present(_) | Lookup::Absent => directory.components().count() - 1,
        };
        Ok(Last::Missing(directory.components().take(existing + 1).collect(), existing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn every_answer_is_that_of_the_tree_in_any_order() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("a/b")).unwrap();
        std::fs::create_dir_all(dir.path().join("a.b")).unwrap();
        std::fs::write(dir.path().join("a/b/file"), "x").unwrap();
        std::fs::write(dir.path().join("a.b/file"), "x").unwrap();
        symlink("b", dir.path().join("a/link")).unwrap();
        let tree = Tree::open(dir.path()).unwrap();
        let paths = [
            "",
            "a",
            "b",
            "a/b",
            "a/c",
            "a/b/file",
            "a/b/none",
            "a/b/file/x",
            "a/b/file/x/y",
            "a/c/x",
            "a/c/x/y",
            "a/cc/x",
            "a/link",
            "a/link/file",
            "a/link/file/x",
            "no",
            "no/x",
            "no/x/y/z",
            "nothing/x",
            "a.b/file",
        ];
        for first in paths {
            for second in paths {
                let near = Near::new(&tree);
                for path in [first, second, first] {
                    let path = Path::new(path);
                    assert_eq!(near.lookup(path).unwrap(), tree.lookup(path).unwrap(), "{first} {second}");
                }
            }
        }
        assert!(Near::new(&tree).lookup(Path::new("../x")).is_err());
        assert!(Near::new(&tree).lookup(Path::new("a/../x")).is_err());
    }
}
