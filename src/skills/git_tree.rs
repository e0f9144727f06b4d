//! Finds a skill in the tree of a commit and reads its files, from a repository or from objects that are at hand. Fetches nothing.

use super::bundle::{Bundle, MAX_BYTES, is_skill_file};
use super::choose::{Candidate, Wanted, choose};
use super::frontmatter::name_in;
use crate::remote::repository::{Entry, Repository, Tree};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

const MAX_CANDIDATES: usize = 500;

/// Where files are read from: a repository, or the files of a skill that must be those of a commit.
pub(super) trait Blobs {
    fn blobs(&self, entries: &[&Entry], most: u64) -> Result<BTreeMap<String, Vec<u8>>>;
}

impl Blobs for Repository<'_> {
    fn blobs(&self, entries: &[&Entry], most: u64) -> Result<BTreeMap<String, Vec<u8>>> {
        Repository::blobs(self, entries, most)
    }
}

/// The skill at or below a path, and the file or directory of the tree that it is.
pub(super) fn read_skill(
    git: &dyn Blobs,
    tree: &Tree,
    path: &Path,
    name: Option<&str>,
    id: &str,
) -> Result<(Bundle, PathBuf)> {
    if let Some(entry) =
        tree.get(path).filter(|_| !is_skill_file(Path::new(path.file_name().unwrap_or_default())))
    {
        if !path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md")) {
            bail!("`{}` is neither a directory nor a `.md`", path.display());
        }
        let mut blobs = git.blobs(&[entry], MAX_BYTES)?;
        let bundle = Bundle::of_text(blobs.remove(&entry.object).context("the file is missing")?)?;
        return Ok((bundle, path.to_owned()));
    }
    let place = match tree.get(path) {
        Some(_) => path.parent().unwrap_or(Path::new("")),
        None => path,
    };
    let dir = place.join(choose(&candidates(git, tree, place)?, Wanted { name, id })?);
    let below = tree.range(dir.clone()..).take_while(|(path, _)| path.starts_with(&dir));
    let below: Vec<(&PathBuf, &Entry)> = below.collect();
    let links: Vec<&Entry> = below.iter().map(|(_, entry)| *entry).filter(|entry| entry.is_link()).collect();
    let targets = git.blobs(&links, MAX_BYTES)?;
    let mut wanted: Vec<(PathBuf, &Entry)> = Vec::new();
    for (path, entry) in below {
        let inside = path.strip_prefix(&dir)?.to_owned();
        if entry.is_link() {
            let target = targets.get(&entry.object).map(Vec::as_slice).unwrap_or_default();
            wanted.push((inside, resolve_link(tree, &dir, path, target)?));
        } else if entry.is_file() {
            wanted.push((inside, entry));
        }
    }
    let total: u64 = wanted.iter().map(|(_, entry)| entry.size).sum();
    if total > MAX_BYTES {
        bail!("it is larger than {} MB", MAX_BYTES / 1024 / 1024);
    }
    let entries: Vec<&Entry> = wanted.iter().map(|(_, entry)| *entry).collect();
    let blobs = git.blobs(&entries, MAX_BYTES)?;
    let mut bundle = Bundle::default();
    for (path, entry) in wanted {
        let bytes = blobs.get(&entry.object).cloned();
        let bytes = bytes.with_context(|| format!("`{}` is missing", path.display()))?;
        bundle.add(path, bytes, entry.mode == "100755")?;
    }
    bundle.normalise_skill_file();
    Ok((bundle, dir))
}

/// The directories with a SKILL.md at or below a path, relative to it.
fn candidates(git: &dyn Blobs, tree: &Tree, place: &Path) -> Result<Vec<Candidate>> {
    let mut found = Vec::new();
    for (path, entry) in tree {
        let Ok(inside) = path.strip_prefix(place) else { continue };
        if entry.is_file() && inside.file_name().is_some_and(|name| is_skill_file(Path::new(name))) {
            found.push((inside.parent().unwrap_or(Path::new("")).to_owned(), entry));
        }
    }
    found.truncate(MAX_CANDIDATES);
    let entries: Vec<&Entry> =
        found.iter().map(|(_, entry)| *entry).filter(|entry| entry.size < MAX_BYTES).collect();
    let blobs = git.blobs(&entries, MAX_BYTES)?;
    let candidate = |(dir, entry): (PathBuf, &Entry)| Candidate {
        dir,
        name: blobs.get(&entry.object).and_then(|bytes| name_in(bytes)),
    };
    Ok(found.into_iter().map(candidate).collect())
}

/// The file that a link in the skill points to.
fn resolve_link<'t>(tree: &'t Tree, dir: &Path, link: &Path, target: &[u8]) -> Result<&'t Entry> {
    let shown = link.strip_prefix(dir).unwrap_or(link).display();
    let target = Path::new(OsStr::from_bytes(target));
    let mut place = link.parent().unwrap_or(Path::new("")).to_owned();
    for part in target.components() {
        match part {
            Component::Normal(name) => place.push(name),
            Component::CurDir => {}
            Component::ParentDir if place.pop() => {}
            _ => bail!("the link `{shown}` leads out of the skill"),
        }
    }
    if !place.starts_with(dir) {
        bail!("the link `{shown}` leads out of the skill");
    }
    match tree.get(&place) {
        Some(entry) if entry.is_file() => Ok(entry),
        _ => bail!("the link `{shown}` does not lead to a file of the skill"),
    }
}
