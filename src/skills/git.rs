//! Reads skills from git repositories. Nothing is checked out: files are read from the objects, so no hook, filter or
//! attribute of the repository takes effect.

use super::bundle::Bundle;
use super::git_tree::read_skill;
use super::proof::Proof;
use crate::remote::fetch_context::FetchContext;
use crate::remote::git_source::{GitSource, split_tail};
use crate::remote::repository::Repository;
use anyhow::{Result, anyhow};
use std::path::Path;

/// A skill, and for a source that names a commit the way from there to it.
pub struct FetchedSkill {
    pub bundle: Bundle,
    pub proof: Option<Proof>,
}

pub fn fetch(source: &GitSource, id: &str, context: &FetchContext<'_>) -> Result<FetchedSkill> {
    let git = Repository::new(context)?;
    let name = source.name.as_deref();
    if let Some((commit, path)) = source.pinned() {
        // No branch of that name comes before the commit.
        git.fetch(&source.url, commit)?;
        let tree = git.tree()?;
        let (bundle, place) = read_skill(&git, &tree, Path::new(path), name, id)?;
        let proof = Proof::collect(&git, &tree, &place)?;
        return Ok(FetchedSkill { bundle, proof: Some(proof) });
    }
    let (reference, path) = match &source.tail {
        Some(tail) => {
            let refs = git.refs(&source.url)?;
            split_tail(tail, &refs)
                .ok_or_else(|| anyhow!("the repository has no branch or tag for `{tail}`"))?
        }
        None => ("HEAD".to_owned(), ""),
    };
    git.fetch(&source.url, &reference)?;
    let (bundle, _) = read_skill(&git, &git.tree()?, Path::new(path), name, id)?;
    Ok(FetchedSkill { bundle, proof: None })
}
