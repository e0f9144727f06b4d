//! Takes a manifest: one walk over a tree on all cores that reads names and stats, and no content.
//! How a manifest is written and asked is `manifest`'s business.

use crate::model::mount::PathRule;
use crate::mount::changes::manifest::{Entry, Manifest, ManifestWriter, bytes_of, path_order};
use crate::mount::fs::stat::{Kind, Stat};
use crate::mount::fs::tree::Tree;
use crate::mount::fs::walk::{BUFFER, PathIn, Reader, share, threads};
use crate::rules::quick::QuickRules;
use crate::rules::{Decision, PathRules};
use anyhow::{Context, anyhow};
use rustix::fs::{AtFlags, Mode, OFlags, RawDir, fstat, openat, statat};
use rustix::io::Errno;
use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// How many cores a walk may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cores {
    All,
    /// Something is being started meanwhile, and must not wait for us.
    AllButOne,
}

impl Manifest {
    /// Walks a tree and writes what it finds to a file. Hidden paths are left out, and so is what lies inside a `.git`,
    /// which is never compared. There is no file once `is_unneeded`, which is asked again and again, says so.
    pub fn take(
        tree: &Tree,
        rules: &[PathRule],
        cores: Cores,
        directory: &Path,
        name: &str,
        is_unneeded: &(dyn Fn() -> bool + Sync),
    ) -> anyhow::Result<()> {
        let compiled = PathRules::compile(rules).map_err(|error| anyhow!("{error}"))?;
        let rules = QuickRules::new(&compiled, rules);
        let unreadable = || format!("cannot read {}", tree.path().display());
        match listings(tree, &rules, cores, is_unneeded).with_context(unreadable)? {
            Some(writer) => writer.write(directory, name),
            None => Ok(()),
        }
    }
}

/// `None` if it is unneeded by now.
fn listings(
    tree: &Tree,
    rules: &QuickRules,
    cores: Cores,
    is_unneeded: &(dyn Fn() -> bool + Sync),
) -> io::Result<Option<ManifestWriter>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = openat(tree.fd(), ".", flags, Mode::empty())?;
    let reader = |_| Lister {
        rules,
        is_unneeded,
        listings: Vec::new(),
        problem: None,
        buffer: Vec::with_capacity(BUFFER),
    };
    let threads = match cores {
        Cores::All => threads(),
        Cores::AllButOne => threads().saturating_sub(1).max(1),
    };
    let readers = (0..threads).map(reader).collect();
    let mut all = Vec::new();
    for lister in share(root, vec![(PathBuf::new(), Decision::ROOT)], readers) {
        if let Some(problem) = lister.problem {
            return Err(problem);
        }
        all.extend(lister.listings);
    }
    if is_unneeded() {
        return Ok(None);
    }
    // In path order a directory is followed by those in it, which is the order of writing, too.
    all.sort_unstable_by(|a, b| path_order(bytes_of(&a.path), bytes_of(&b.path)));
    let mut writer = ManifestWriter::default();
    let mut next = 0;
    if !all.is_empty() {
        write(&all, &mut next, &mut writer);
    }
    Ok(if is_unneeded() { None } else { Some(writer) })
}

/// One directory.
struct Listing {
    path: PathBuf,
    own: Entry,
    /// By name.
    entries: Vec<(CString, Entry)>,
}

/// Writes the next listing with those below it.
fn write(all: &[Listing], next: &mut usize, writer: &mut ManifestWriter) {
    let listing = &all[*next];
    *next += 1;
    writer.push(bytes_of(&listing.path), &listing.own);
    let mut child = PathIn::new(&listing.path);
    for (name, entry) in &listing.entries {
        let path = child.named(name.as_bytes());
        if all.get(*next).is_some_and(|below| below.path.as_os_str() == path.as_os_str()) {
            write(all, next, writer);
        } else {
            // Gone or replaced since the listing, or closed to us, if it is a directory: known as far as the stat says.
            writer.push(bytes_of(path), entry);
        }
    }
}

struct Lister<'a> {
    rules: &'a QuickRules<'a>,
    is_unneeded: &'a (dyn Fn() -> bool + Sync),
    listings: Vec<Listing>,
    problem: Option<io::Error>,
    buffer: Vec<u8>,
}

impl Reader for Lister<'_> {
    type State = Decision;

    fn read(
        &mut self,
        dir: &OwnedFd,
        path: &Path,
        decision: &Decision,
        found: &mut Vec<(PathBuf, Decision)>,
    ) {
        if (self.is_unneeded)() {
            return;
        }
        match self.list(dir, path, decision, found) {
            Ok(listing) => self.listings.push(listing),
            Err(error) => self.problem = Some(error),
        }
    }

    fn closed(&mut self, _: &Path, _: io::Error) {}
}

impl Lister<'_> {
    fn list(
        &mut self,
        dir: &OwnedFd,
        path: &Path,
        decision: &Decision,
        found: &mut Vec<(PathBuf, Decision)>,
    ) -> io::Result<Listing> {
        let mut names = Vec::new();
        let mut entries = RawDir::new(dir, self.buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name();
            if !matches!(name.to_bytes(), b"." | b"..") {
                names.push(name.to_owned());
            }
        }
        // After the listing: a ctime that is still older than the launch then vouches for what the listing does not have.
        let own = Entry::from(&Stat::from(&fstat(dir)?));
        names.sort_unstable();
        let mut child = PathIn::new(path);
        let mut entries = Vec::with_capacity(names.len());
        for name in names {
            let stat = match statat(dir, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => Stat::from(&stat),
                // A directory that may be listed and not searched.
                Err(Errno::NOENT | Errno::ACCESS) => continue,
                Err(error) => return Err(error.into()),
            };
            let is_dir = stat.kind == Kind::Dir;
            let path = child.named(name.as_bytes());
            let below = self.rules.decide_child(decision, path, is_dir);
            if below.is_hidden() {
                continue;
            }
            if is_dir && name.as_bytes() != b".git" {
                found.push((path.to_path_buf(), below));
            }
            entries.push((name, Entry::from(&stat)));
        }
        Ok(Listing { path: path.to_path_buf(), own, entries })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn the_walk_leaves_out_hidden_paths_and_the_inside_of_git() {
        let dir = tempfile::tempdir().unwrap();
        for path in ["src/deep", ".git/objects", "secret/x"] {
            std::fs::create_dir_all(dir.path().join(path)).unwrap();
        }
        for path in ["src/deep/a", ".git/HEAD", "secret/x/y", ".env"] {
            std::fs::write(dir.path().join(path), "x").unwrap();
        }
        let mut rules = crate::rules::builtin_secret_rules();
        rules.push(crate::model::mount::PathRule {
            pattern: "secret/".into(),
            effect: crate::model::mount::Effect::Hidden,
            source: crate::model::mount::RuleSource::ProjectFile,
            origin: String::new(),
        });
        let session = tempfile::tempdir().unwrap();
        let project = Tree::open(dir.path()).unwrap();
        Manifest::take(&project, &rules, Cores::All, session.path(), "m", &|| true).unwrap();
        assert!(Manifest::read(session.path(), "m").unwrap().is_none());
        Manifest::take(&project, &rules, Cores::All, session.path(), "m", &|| false).unwrap();
        let manifest = Manifest::read(session.path(), "m").unwrap().unwrap();
        let paths: Vec<_> = manifest.entries().map(|entry| entry.unwrap().0).collect();
        assert_eq!(paths, ["", ".git", "src", "src/deep", "src/deep/a"].map(PathBuf::from));
    }
}
