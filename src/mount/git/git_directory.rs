//! Directories that git takes for a repository by what they hold, whatever their name. Their configuration runs programs as soon
//! as somebody calls git in them. It decides from names alone, wherever they come from: what is in the files does not matter.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// What git reads in a repository. Only this counts in the project's own directory, where everything else is ordinary work.
const READ_BY_GIT: [&str; 14] = [
    "HEAD",
    "branches",
    "commondir",
    "config",
    "config.worktree",
    "gitdir",
    "hooks",
    "index",
    "info",
    "modules",
    "objects",
    "packed-refs",
    "refs",
    "worktrees",
];

/// The names that make a directory one; git may look for the last two elsewhere.
pub(crate) const MARKS: [&str; 4] = ["HEAD", "commondir", "objects", "refs"];

pub(crate) struct GitDirectories<Has> {
    /// Whether there would be something at a path.
    has: Has,
    known: HashMap<PathBuf, bool>,
    /// The directory of the last file, and what it is a part of.
    last: Option<(PathBuf, Option<PathBuf>)>,
}

impl<Has: Fn(&Path) -> bool> GitDirectories<Has> {
    pub(crate) fn new(has: Has) -> GitDirectories<Has> {
        GitDirectories { has, known: HashMap::new(), last: None }
    }

    /// The outermost repository that this path is a part of.
    pub(crate) fn around(&mut self, path: &Path) -> Option<PathBuf> {
        self.outermost(path.ancestors(), path)
    }

    /// The same for what is a directory nowhere, and so no repository itself.
    pub(crate) fn around_file(&mut self, path: &Path) -> Option<PathBuf> {
        let parent = path.parent()?;
        // What is a part of the root depends on its name, everything else on its directory alone.
        if self.is_one(Path::new("")) {
            return self.outermost(parent.ancestors(), path);
        }
        if let Some((known, around)) = &self.last
            && known == parent
        {
            return around.clone();
        }
        let around = self.outermost(parent.ancestors(), path);
        self.last = Some((parent.to_owned(), around.clone()));
        around
    }

    fn outermost<'a>(&mut self, above: impl Iterator<Item = &'a Path>, path: &Path) -> Option<PathBuf> {
        let mut above: Vec<&Path> = above.collect();
        above.reverse();
        above.into_iter().find(|&dir| self.is_one(dir) && is_part(dir, path)).map(Path::to_owned)
    }

    fn is_one(&mut self, dir: &Path) -> bool {
        if let Some(&known) = self.known.get(dir) {
            return known;
        }
        let [head, commondir, objects, refs] = MARKS.map(|name| dir.join(name));
        let has = |path: PathBuf| (self.has)(&path);
        let is_one = has(head) && (has(commondir) || (has(objects) && has(refs)));
        self.known.insert(dir.to_owned(), is_one);
        is_one
    }
}

fn is_part(dir: &Path, path: &Path) -> bool {
    let is_root = dir.as_os_str().is_empty();
    !is_root
        || path
            .components()
            .next()
            .is_some_and(|first| READ_BY_GIT.iter().any(|name| first.as_os_str().eq_ignore_ascii_case(name)))
}
