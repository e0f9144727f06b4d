//! Where the layers of a run are in a project, through every link on the way. It reads names and links, no files.

use super::layers::{Layers, config_path};
use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// What the kernel allows in one path.
const MOST_LINKS: usize = 40;

/// The places of all layers that are in this directory, relative to it: directories, files that are linked into a
/// layer, and links on the way to them. An empty path means that personas are in the directory itself.
pub fn inside(layers: &Layers, root: &Path) -> Vec<PathBuf> {
    let Ok(root) = root.canonicalize() else { return Vec::new() };
    let mut places = BTreeSet::new();
    let mut add = |path: &Path| places.extend(on_the_way(path, &root));
    add(&config_path(&layers.home));
    for layer in &layers.all {
        for dir in [&layer.personas, &layer.roles].into_iter().flatten() {
            add(dir);
            for link in links_in(dir) {
                add(&link);
            }
        }
        let Some(dir) = &layer.root else { continue };
        // Directories that would count as soon as they are there.
        for name in ["personas", "roles", "agents", "routing.md", "directive.md"] {
            add(&dir.join(name));
        }
        // A project may keep its layer in its own top directory, which is not a layer as a whole.
        if dir.canonicalize().is_ok_and(|dir| dir != root) {
            add(dir);
        }
    }
    places.into_iter().collect()
}

/// What decides about agents and is outside of a project.
#[derive(Debug, Default)]
pub struct Outside {
    /// Directories and files by their real paths, none of them below another.
    pub there: Vec<PathBuf>,
    /// What would count as soon as somebody made it.
    pub absent: Vec<PathBuf>,
    /// Paths that links are on the way of, with where they lead.
    pub linked: Vec<(PathBuf, PathBuf)>,
}

/// The layers, and `more` directories like them, that are neither in this directory nor in our home.
pub fn outside(layers: &Layers, more: Vec<PathBuf>, root: &Path) -> Outside {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (root, home) = (real(root), real(&layers.home));
    let mut paths = more;
    paths.push(config_path(&layers.home));
    for layer in &layers.all {
        for dir in [&layer.personas, &layer.roles].into_iter().flatten() {
            paths.extend(links_in(dir));
            paths.push(dir.clone());
        }
        paths.extend(layer.root.clone());
    }
    let mut found = Outside::default();
    for path in paths.into_iter().filter(|path| path.is_absolute()) {
        let is_covered = |real: &Path| real.starts_with(&root) || real.starts_with(&home);
        match path.canonicalize() {
            Ok(real) if is_covered(&real) => {}
            // The project is in a layer, which is not one as a whole.
            Ok(real) if root.starts_with(&real) || home.starts_with(&real) => {
                found.there.extend(parts_of(&real));
            }
            Ok(real) => {
                if real != path {
                    found.linked.push((path, real.clone()));
                }
                found.there.push(real);
            }
            Err(_) => found.absent.extend(trail(&path).pop().filter(|place| !is_covered(place))),
        }
    }
    found.there.sort();
    // An ancestor sorts before what is below it.
    found.there.dedup_by(|next, above| next.starts_with(above));
    found.absent.retain(|path| !found.there.iter().any(|above| path.starts_with(above)));
    found
}

/// The personas and roles in a directory that holds other things as well.
fn parts_of(dir: &Path) -> Vec<PathBuf> {
    let is_part = |path: &PathBuf| {
        path.extension().is_some_and(|extension| extension == "json")
            || ["personas", "roles", "agents"].iter().any(|name| path.ends_with(name))
    };
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(is_part).filter_map(|path| path.canonicalize().ok()).collect()
}

/// Of a path and the links that lead to it, those that are in this directory, relative to it.
pub fn on_the_way(path: &Path, root: &Path) -> Vec<PathBuf> {
    if !path.is_absolute() {
        return Vec::new();
    }
    let Ok(root) = root.canonicalize() else { return Vec::new() };
    trail(path).iter().filter_map(|path| Some(path.strip_prefix(&root).ok()?.to_owned())).collect()
}

fn links_in(dir: &Path) -> Vec<PathBuf> {
    if !dir.is_absolute() {
        return Vec::new();
    }
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let is_link = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_symlink());
    entries.filter(is_link).map(|entry| entry.path()).collect()
}

/// Every link that is followed to get to a path, without links before it, and where the path leads in the end. What
/// does not exist is taken as it is spelled.
pub(crate) fn trail(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut at = PathBuf::from("/");
    let mut pending: VecDeque<OsString> = parts(path).collect();
    while let Some(name) = pending.pop_front() {
        if name == ".." {
            at.pop();
            continue;
        }
        at.push(&name);
        let Ok(target) = std::fs::read_link(&at) else { continue };
        found.push(at.clone());
        if found.len() > MOST_LINKS {
            return found;
        }
        at.pop();
        if target.is_absolute() {
            at = PathBuf::from("/");
        }
        for part in parts(&target).collect::<Vec<_>>().into_iter().rev() {
            pending.push_front(part);
        }
    }
    found.push(at);
    found
}

fn parts(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn every_link_on_the_way_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("real/deep")).unwrap();
        symlink("real", root.join("one")).unwrap();
        symlink("../one/deep", root.join("real/two")).unwrap();
        symlink(root.join("real/two"), root.join("three")).unwrap();
        let names: Vec<PathBuf> = trail(&root.join("three/x/y"))
            .iter()
            .map(|path| path.strip_prefix(&root).unwrap().to_owned())
            .collect();
        let expected = ["three", "real/two", "one", "real/deep/x/y"].map(PathBuf::from);
        assert_eq!(names, expected);
        symlink("loop", root.join("loop")).unwrap();
        assert!(trail(&root.join("loop")).len() > MOST_LINKS);
    }
}
