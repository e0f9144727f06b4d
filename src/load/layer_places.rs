//! Where the layers and rule files of a run are, through every link on the way. It reads names and links, no files.

use super::layers::{Layer, Layers, config_path};
use super::rule_files::is_rule_file;
use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// What the kernel allows in one path.
const MOST_LINKS: usize = 40;

/// In a layer, besides personas and roles. What is not there would count as soon as it was.
const IN_LAYER: [&str; 5] = ["personas", "roles", "agents", "routing.md", "directive.md"];

/// The places of all layers that are in this directory, relative to it: directories, files that are linked into a
/// layer, files that its rule files are links to, and links on the way to them. An empty path means that personas are in
/// the directory itself.
pub fn inside(layers: &Layers, root: &Path) -> Vec<PathBuf> {
    let Ok(root) = root.canonicalize() else { return Vec::new() };
    let mut places = BTreeSet::new();
    let mut add = |path: &Path| places.extend(on_the_way(path, &root));
    add(&config_path(&layers.home));
    for link in linked_rule_files(&root) {
        add(&link);
    }
    for layer in &layers.all {
        for place in parts_of_layer(layer) {
            add(&place);
        }
        let Some(dir) = &layer.root else { continue };
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
    paths.extend(linked_rule_files(&root));
    for layer in &layers.all {
        paths.extend(parts_of_layer(layer));
        paths.extend(layer.root.clone());
    }
    let mut found = Outside::default();
    for path in paths.into_iter().filter(|path| path.is_absolute()) {
        let is_covered = |real: &Path| real.starts_with(&root) || real.starts_with(&home);
        match path.canonicalize() {
            Ok(real) if is_covered(&real) => {}
            // Nobody reads rules or personas from a device.
            Ok(real) if !(real.is_dir() || real.is_file()) => {}
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
    on_the_way_to_all([path].into_iter(), root).into_iter().collect()
}

/// The same for several paths.
pub fn on_the_way_to_all<'a>(paths: impl Iterator<Item = &'a Path>, root: &Path) -> BTreeSet<PathBuf> {
    let Ok(root) = root.canonicalize() else { return BTreeSet::new() };
    let trails = paths.filter(|path| path.is_absolute()).flat_map(trail);
    trails.filter_map(|path| Some(path.strip_prefix(&root).ok()?.to_owned())).collect()
}

/// What a layer consists of, and the links in it. Nothing for one that is not on disk.
fn parts_of_layer(layer: &Layer) -> Vec<PathBuf> {
    let mut places = Vec::new();
    for dir in [&layer.personas, &layer.roles].into_iter().flatten().filter(|dir| dir.is_absolute()) {
        links_in(dir, 1, &mut places);
        places.push(dir.clone());
    }
    if let Some(dir) = layer.root.as_ref().filter(|dir| dir.is_absolute()) {
        places.extend(IN_LAYER.map(|name| dir.join(name)));
        // A charter is in the directory of its persona.
        links_in(&dir.join("agents"), 2, &mut places);
    }
    places
}

/// The links in a directory, and in those below it that are on one of this many levels.
pub fn links_in(dir: &Path, levels: usize, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if levels > 1 && (kind.is_dir() || kind.is_symlink()) {
            links_in(&entry.path(), levels - 1, found);
        }
        if kind.is_symlink() {
            found.push(entry.path());
        }
    }
}

/// The rule files of a directory that are links, whichever persona they are for.
fn linked_rule_files(dir: &Path) -> Vec<PathBuf> {
    let mut links = Vec::new();
    links_in(dir, 1, &mut links);
    links.retain(|link| link.file_name().is_some_and(|name| is_rule_file(name.as_encoded_bytes())));
    links
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
