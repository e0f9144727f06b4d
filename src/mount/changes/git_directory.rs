//! Directories that git takes for a repository by what they hold, whatever their name. Their configuration runs programs as soon
//! as somebody calls git in them. It decides from names alone: what is in the files does not matter.

use super::three_way::ThreeWay;
use super::touched::Touched;
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

pub(super) struct GitDirectories<'a> {
    sides: &'a ThreeWay<'a>,
    known: HashMap<PathBuf, bool>,
}

impl<'a> GitDirectories<'a> {
    pub(super) fn new(sides: &'a ThreeWay<'a>) -> GitDirectories<'a> {
        GitDirectories { sides, known: HashMap::new() }
    }

    /// The outermost repository that this path is a part of.
    pub(super) fn around(&mut self, one: &Touched) -> Option<PathBuf> {
        let mut above: Vec<&Path> = one.path.ancestors().collect();
        above.reverse();
        above.into_iter().find(|&dir| self.is_one(dir) && is_part(dir, &one.path)).map(Path::to_owned)
    }

    fn is_one(&mut self, dir: &Path) -> bool {
        if let Some(&known) = self.known.get(dir) {
            return known;
        }
        // Git may look for the other two elsewhere.
        let has = |name: &str| self.has(&dir.join(name));
        let is_one = has("HEAD") && (has("commondir") || (has("objects") && has("refs")));
        self.known.insert(dir.to_owned(), is_one);
        is_one
    }

    /// On either side: a repository may be made in two runs, and what the agent removes may stay.
    fn has(&self, path: &Path) -> bool {
        let agents = self.sides.mount.stat(path).ok().flatten();
        agents.is_some_and(|stat| !stat.is_whiteout())
            || self.sides.project.stat(path).ok().flatten().is_some()
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
