//! The files of a pack in memory, by their paths in the pack. Links stay links and are followed only inside the pack.
//! Reads no files: the readers of directories, archives and repositories add them.

use super::limits::{Budget, MAX_DEPTH, MAX_PATH_LENGTH};
use anyhow::{Result, bail};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A longer chain of links is taken for a cycle.
const MAX_LINKS: usize = 40;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    pub bytes: Arc<[u8]>,
    pub executable: bool,
}

#[derive(Debug)]
enum Node {
    File(File),
    /// The target, relative to the directory of the link.
    Link(String),
}

#[derive(Debug, Default)]
pub struct Tree {
    nodes: BTreeMap<String, Node>,
    budget: Budget,
}

/// The path without `.` and double slashes; an error where it could leave the pack. Empty: the root of the pack.
pub fn clean_path(path: &str) -> Result<String> {
    let shown = path.escape_debug();
    if path.len() > MAX_PATH_LENGTH {
        bail!("a path of {} characters is too long", path.len());
    }
    if path.contains(|c: char| c.is_control() || c == '\\') {
        bail!("`{shown}` has a control character or a backslash in its name");
    }
    if path.starts_with('/') || has_drive(path) {
        bail!("`{shown}` is an absolute path");
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if parts.contains(&"..") {
        bail!("`{shown}` leaves the pack with `..`");
    }
    if parts.len() > MAX_DEPTH {
        bail!("`{shown}` is more than {MAX_DEPTH} directories deep");
    }
    Ok(parts.join("/"))
}

fn has_drive(path: &str) -> bool {
    matches!(path.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}

/// The directory of a path; empty for the root of the pack.
pub fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(dir, _)| dir)
}

pub fn basename(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

pub fn join(dir: &str, name: &str) -> String {
    if dir.is_empty() { name.to_owned() } else { format!("{dir}/{name}") }
}

impl Tree {
    /// How many bytes the next file may have.
    pub fn left(&self) -> u64 {
        self.budget.left()
    }

    pub fn add_file(&mut self, path: &str, bytes: Vec<u8>, executable: bool) -> Result<()> {
        self.budget.spend(bytes.len() as u64)?;
        self.add(path, Node::File(File { bytes: bytes.into(), executable }))
    }

    pub fn add_link(&mut self, path: &str, target: &str) -> Result<()> {
        self.budget.spend(target.len() as u64)?;
        // Following long links repeatedly would take too long.
        if target.len() > MAX_PATH_LENGTH {
            bail!("a link of {} characters is too long", target.len());
        }
        self.add(path, Node::Link(target.to_owned()))
    }

    fn add(&mut self, path: &str, node: Node) -> Result<()> {
        let path = clean_path(path)?;
        if path.is_empty() {
            bail!("a file has no name");
        }
        if self.nodes.contains_key(&path) {
            bail!("`{path}` occurs twice");
        }
        self.nodes.insert(path, node);
        Ok(())
    }

    /// Checks the complete tree: no file is also a directory, and no link leaves the pack.
    pub fn check(&self) -> Result<()> {
        for (path, node) in &self.nodes {
            let mut dir = parent(path);
            while !dir.is_empty() {
                if self.nodes.contains_key(dir) {
                    bail!("`{dir}` is both a file or link and a directory");
                }
                dir = parent(dir);
            }
            if let Node::Link(target) = node
                && link_destination(parent(path), target).is_none()
            {
                bail!("the link `{path}` leads out of the pack");
            }
        }
        Ok(())
    }

    /// The tree of one directory, which becomes the root. A link that leads out of it is an error.
    pub fn below(self, dir: &str) -> Result<Tree> {
        let dir = clean_path(dir)?;
        if dir.is_empty() {
            return Ok(self);
        }
        let start = format!("{dir}/");
        let inside = self.nodes.into_iter();
        let inside = inside.filter_map(|(path, node)| Some((path.strip_prefix(&start)?.to_owned(), node)));
        let tree = Tree { nodes: inside.collect(), budget: self.budget };
        tree.check()?;
        Ok(tree)
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The names of the top-level entries.
    pub fn top_level(&self) -> Vec<&str> {
        let mut names: Vec<&str> =
            self.nodes.keys().map(|path| path.split('/').next().unwrap_or_default()).collect();
        names.dedup();
        names
    }

    pub fn is_dir(&self, path: &str) -> bool {
        self.resolve(path).is_some_and(|path| self.has_entries(&path))
    }

    fn has_entries(&self, dir: &str) -> bool {
        let start = if dir.is_empty() { String::new() } else { format!("{dir}/") };
        self.nodes.range(start.clone()..).next().is_some_and(|(path, _)| path.starts_with(&start))
    }

    pub fn file(&self, path: &str) -> Option<&File> {
        match self.nodes.get(&self.resolve(path)?) {
            Some(Node::File(file)) => Some(file),
            _ => None,
        }
    }

    /// Every file and every link to a file below a directory, relative to it.
    pub fn files_below(&self, dir: &str) -> Vec<(String, &File)> {
        let Some(dir) = self.resolve(dir) else { return Vec::new() };
        let start = if dir.is_empty() { String::new() } else { format!("{dir}/") };
        let below = self.nodes.range(start.clone()..).take_while(|(path, _)| path.starts_with(&start));
        below.filter_map(|(path, _)| Some((path[start.len()..].to_owned(), self.file(path)?))).collect()
    }

    /// A link below a directory that does not lead to a file of the pack.
    pub fn broken_link_below(&self, dir: &str) -> Option<String> {
        let start = format!("{}/", self.resolve(dir)?);
        let below = self.nodes.range(start.clone()..).take_while(|(path, _)| path.starts_with(&start));
        let mut paths = below.map(|(path, _)| path);
        paths.find(|path| self.file(path).is_none()).cloned()
    }

    /// The path with every link resolved; `None` where it leaves the pack or is a cycle.
    fn resolve(&self, path: &str) -> Option<String> {
        let mut at = String::new();
        let mut ahead: Vec<String> = path.split('/').rev().map(str::to_owned).collect();
        let mut links = 0;
        while let Some(part) = ahead.pop() {
            if part.is_empty() || part == "." {
                continue;
            }
            if part == ".." {
                if at.is_empty() {
                    return None;
                }
                at = parent(&at).to_owned();
                continue;
            }
            let next = join(&at, &part);
            match self.nodes.get(&next) {
                Some(Node::Link(target)) => {
                    links += 1;
                    if links > MAX_LINKS || target.starts_with('/') {
                        return None;
                    }
                    ahead.extend(target.split('/').rev().map(str::to_owned));
                }
                _ => at = next,
            }
        }
        Some(at)
    }
}

/// The destination of a link by its text alone; `None` where it leaves the pack.
fn link_destination(dir: &str, target: &str) -> Option<String> {
    if target.starts_with('/') || target.contains(['\\', '\0']) || has_drive(target) {
        return None;
    }
    let mut at: Vec<&str> = dir.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                at.pop()?;
            }
            part => at.push(part),
        }
    }
    Some(at.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)], links: &[(&str, &str)]) -> Result<Tree> {
        let mut tree = Tree::default();
        for (path, text) in files {
            tree.add_file(path, text.as_bytes().to_vec(), false)?;
        }
        for (path, target) in links {
            tree.add_link(path, target)?;
        }
        tree.check()?;
        Ok(tree)
    }

    #[test]
    fn names_are_cleaned_or_refused() {
        assert_eq!(clean_path("./a//b/./c").unwrap(), "a/b/c");
        for bad in
            ["../a", "a/../b", "/a", "a\\b", "C:/a", "a\nb", "a\0", &"a/".repeat(40), &"a".repeat(2000)]
        {
            assert!(clean_path(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn links_are_followed_inside() {
        let tree =
            tree(&[("d/a.md", "x")], &[("b.md", "d/a.md"), ("e", "d"), ("d/up.md", "../b.md")]).unwrap();
        for path in ["b.md", "e/a.md", "d/up.md", "e/up.md"] {
            assert_eq!(tree.file(path).map(|file| &*file.bytes), Some(&b"x"[..]), "{path}");
        }
        assert!(tree.is_dir("e") && !tree.is_dir("b.md") && tree.is_dir(""));
        assert!(tree.file("../a").is_none());
    }

    #[test]
    fn links_that_leave_and_files_that_are_directories_are_refused() {
        for target in ["..", "/etc/passwd", "a/../../x", "C:\\x"] {
            assert!(tree(&[], &[("l", target)]).is_err(), "{target}");
        }
        assert!(tree(&[("a", ""), ("a/b", "")], &[]).is_err());
        assert!(tree(&[("a/b", "")], &[("a", "c")]).is_err());
        assert!(tree(&[("a", ""), ("./a", "")], &[]).is_err());
        assert!(tree(&[], &[("l", &"a/../".repeat(300))]).is_err());
    }

    #[test]
    fn cycles_of_links_end() {
        let tree = tree(&[("x", "")], &[("a", "b"), ("b", "a"), ("c", "c/c")]).unwrap();
        assert!(tree.file("a").is_none() && tree.file("c").is_none());
    }
}
