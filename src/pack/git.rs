//! Reads a pack out of a git repository: fetched shallow, read from the objects, never checked out.

use super::limits::{MAX_BYTES, MAX_FILES};
use super::tree::Tree;
use crate::remote::fetch_context::FetchContext;
use crate::remote::git_source::{GitSource, split_tail};
use crate::remote::repository::{Entry, Repository};
use anyhow::{Result, anyhow, bail};
use std::path::Path;

/// The files and their commit. `at` is a commit to use instead of the one that the source names.
pub fn fetch(source: &GitSource, at: Option<&str>, context: &FetchContext<'_>) -> Result<(Tree, String)> {
    let git = Repository::new(context)?;
    let tail = source.tail.as_deref().or(source.name.as_deref());
    let (reference, path) = match tail {
        Some(tail) => {
            let refs = git.refs(&source.url)?;
            split_tail(tail, &refs).ok_or_else(|| anyhow!("the repository has no branch or tag `{tail}`"))?
        }
        None => ("HEAD".to_owned(), ""),
    };
    git.fetch(&source.url, at.unwrap_or(&reference))?;
    let listed = git.tree()?;
    let mut wanted: Vec<(&str, &Entry)> = Vec::new();
    for (file, entry) in &listed {
        let Ok(inside) = file.strip_prefix(Path::new(path)) else { continue };
        let Some(inside) = inside.to_str() else {
            bail!("`{}` has a name that is not UTF-8", file.display())
        };
        if entry.is_file() || entry.is_link() {
            wanted.push((inside, entry));
        }
    }
    if wanted.len() > MAX_FILES {
        bail!("it has more than {MAX_FILES} files");
    }
    if wanted.iter().map(|(_, entry)| entry.size).sum::<u64>() > MAX_BYTES {
        bail!("it is larger than {} MB", MAX_BYTES / 1024 / 1024);
    }
    let entries: Vec<&Entry> = wanted.iter().map(|(_, entry)| *entry).collect();
    let blobs = git.blobs(&entries, MAX_BYTES)?;
    let mut tree = Tree::default();
    for (file, entry) in wanted {
        let bytes = blobs.get(&entry.object).cloned().unwrap_or_default();
        if entry.is_link() {
            let Ok(target) = String::from_utf8(bytes) else {
                bail!("the link `{file}` leads out of the pack")
            };
            tree.add_link(file, &target)?;
        } else {
            tree.add_file(file, bytes, entry.mode == "100755")?;
        }
    }
    if tree.is_empty() {
        bail!("it has no files at `{path}`");
    }
    tree.check()?;
    Ok((tree, git.commit()?))
}
