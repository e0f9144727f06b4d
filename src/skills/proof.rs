//! The git objects that lead from a commit to a skill. With them a copy in the cache is checked against the commit that its source
//! names, so it does not matter who could write to the cache. It fetches nothing.

use super::bundle::Bundle;
use super::git_tree::{Blobs, read_skill};
use crate::remote::git_source::GitSource;
use crate::remote::repository::{Entry, Repository, Tree};
use anyhow::{Context, Result, bail};
use sha1::Sha1;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// No repository that people write by hand has directories nested deeper than this.
const MAX_DEPTH: usize = 64;

/// Raw objects, each with git's own header: what its id is the hash of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proof(Vec<u8>);

impl Proof {
    /// The way from the commit that was fetched to this directory or file of its tree, and all below it but the files.
    pub(super) fn collect(git: &Repository<'_>, tree: &Tree, place: &Path) -> Result<Proof> {
        let on_the_way = |dir: &Path| place.starts_with(dir) || dir.starts_with(place);
        let mut proof = Proof::default();
        for (kind, bytes) in git.directories(&on_the_way)? {
            proof.push(&kind, &bytes);
        }
        // The bundle has what a link leads to, not where it leads.
        let links = tree.iter().filter(|(path, entry)| entry.is_link() && path.starts_with(place));
        let links: Vec<&Entry> = links.map(|(_, entry)| entry).collect();
        for bytes in git.blobs(&links, super::bundle::MAX_BYTES)?.values() {
            proof.push("blob", bytes);
        }
        Ok(proof)
    }

    pub fn of_bytes(bytes: Vec<u8>) -> Proof {
        Proof(bytes)
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn push(&mut self, kind: &str, bytes: &[u8]) {
        self.0.extend_from_slice(format!("{kind} {}\0", bytes.len()).as_bytes());
        self.0.extend_from_slice(bytes);
    }

    /// Whether a skill is what the commit of its source holds.
    pub fn check(&self, source: &GitSource, id: &str, bundle: &Bundle) -> Result<()> {
        let (commit, path) = source.pinned().context("its source names no commit")?;
        let commit = commit.to_ascii_lowercase();
        let algorithm = if commit.len() == 40 { Algorithm::Sha1 } else { Algorithm::Sha256 };
        let mut objects = Objects { algorithm, by_id: BTreeMap::new() };
        objects.add_all(&self.0)?;
        for file in bundle.files.values() {
            objects.add("blob", &file.bytes);
        }
        let (kind, bytes) = objects.by_id.get(&commit).context("the commit is missing")?;
        let header = bytes.strip_prefix(b"tree ").filter(|_| kind == "commit").context("it is no commit")?;
        let root = header.get(..commit.len()).and_then(|id| std::str::from_utf8(id).ok());
        let mut tree = Tree::new();
        objects.read_tree(root.context("the commit has no tree")?, Path::new(""), 0, &mut tree)?;
        let (found, _) = read_skill(&objects, &tree, Path::new(path), source.name.as_deref(), id)?;
        if found != *bundle {
            bail!("it is not what the commit holds");
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Copy)]
enum Algorithm {
    Sha1,
    Sha256,
}

impl Algorithm {
    fn id(self, kind: &str, bytes: &[u8]) -> String {
        let header = format!("{kind} {}\0", bytes.len());
        let digest = match self {
            Algorithm::Sha1 => Sha1::new().chain_update(&header).chain_update(bytes).finalize().to_vec(),
            Algorithm::Sha256 => Sha256::new().chain_update(&header).chain_update(bytes).finalize().to_vec(),
        };
        hexadecimal(&digest)
    }

    fn length(self) -> usize {
        match self {
            Algorithm::Sha1 => 20,
            Algorithm::Sha256 => 32,
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Objects by the id that their content has.
struct Objects {
    algorithm: Algorithm,
    by_id: BTreeMap<String, (String, Vec<u8>)>,
}

impl Objects {
    fn add(&mut self, kind: &str, bytes: &[u8]) {
        let id = self.algorithm.id(kind, bytes);
        self.by_id.insert(id, (kind.to_owned(), bytes.to_owned()));
    }

    fn add_all(&mut self, mut rest: &[u8]) -> Result<()> {
        while !rest.is_empty() {
            let end = rest.iter().take(64).position(|byte| *byte == 0).context("it is damaged")?;
            let header = std::str::from_utf8(&rest[..end])?;
            let (kind, length) = header.split_once(' ').context("it is damaged")?;
            let length: usize = length.parse()?;
            let bytes = rest.get(end + 1..).and_then(|rest| rest.get(..length)).context("it is damaged")?;
            self.add(kind, bytes);
            rest = &rest[end + 1 + length..];
        }
        Ok(())
    }

    /// The files of a tree. Directories that the proof does not have are not on the way to the skill.
    fn read_tree(&self, id: &str, at: &Path, depth: usize, tree: &mut Tree) -> Result<()> {
        let Some((_, mut rest)) = self
            .by_id
            .get(id)
            .filter(|(kind, _)| kind == "tree")
            .map(|(kind, bytes)| (kind, bytes.as_slice()))
        else {
            return Ok(());
        };
        if depth > MAX_DEPTH {
            bail!("its directories are too deep");
        }
        while !rest.is_empty() {
            let end = rest.iter().position(|byte| *byte == 0).context("a tree is damaged")?;
            let space = rest[..end].iter().position(|byte| *byte == b' ').context("a tree is damaged")?;
            let mode = std::str::from_utf8(&rest[..space])?.to_owned();
            let path: PathBuf = at.join(OsStr::from_bytes(&rest[space + 1..end]));
            let id = rest.get(end + 1..end + 1 + self.algorithm.length()).context("a tree is damaged")?;
            rest = &rest[end + 1 + id.len()..];
            let object = hexadecimal(id);
            if mode == "40000" {
                self.read_tree(&object, &path, depth + 1, tree)?;
            } else {
                let size = self.by_id.get(&object).map_or(0, |(_, bytes)| bytes.len() as u64);
                tree.insert(path, Entry { mode, object, size });
            }
        }
        Ok(())
    }
}

impl Blobs for Objects {
    fn blobs(&self, entries: &[&Entry], _most: u64) -> Result<BTreeMap<String, Vec<u8>>> {
        let mut blobs = BTreeMap::new();
        for entry in entries {
            // What is not there belongs to other skills on the way, which nobody asks for.
            if let Some((_, bytes)) = self.by_id.get(&entry.object).filter(|(kind, _)| kind == "blob") {
                blobs.insert(entry.object.clone(), bytes.clone());
            }
        }
        Ok(blobs)
    }
}
