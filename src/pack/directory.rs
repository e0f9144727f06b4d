//! Reads a directory into a tree, once and without following links: every step starts at an open directory, so replacing a
//! name by a link meanwhile has no effect.

use super::limits::MAX_DEPTH;
use super::tree::{Tree, join};
use anyhow::{Context, Result, bail};
use rustix::fs::{Dir, Mode, OFlags, fstat, openat, readlinkat};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Directories that never belong to a pack.
const LEFT_OUT: [&str; 2] = [".git", "node_modules"];

pub fn read(dir: &Path) -> Result<Tree> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(dir, flags, Mode::empty())?;
    let mut tree = Tree::default();
    walk(&root, "", 0, &mut tree)?;
    tree.check()?;
    Ok(tree)
}

fn walk(dir: &OwnedFd, path: &str, depth: usize, tree: &mut Tree) -> Result<()> {
    if depth > MAX_DEPTH {
        bail!("`{path}` is more than {MAX_DEPTH} directories deep");
    }
    let mut names = Vec::new();
    for entry in Dir::read_from(dir)? {
        let name = entry?.file_name().to_bytes().to_vec();
        if name != b"." && name != b".." {
            let shown = String::from_utf8_lossy(&name).into_owned();
            let name =
                String::from_utf8(name).with_context(|| format!("`{shown}` has a name that is not UTF-8"))?;
            names.push(name);
        }
    }
    names.sort();
    for name in names.iter().filter(|name| !LEFT_OUT.contains(&name.as_str())) {
        let inside = join(path, name);
        entry(dir, name, &inside, depth, tree).with_context(|| format!("`{inside}`"))?;
    }
    Ok(())
}

fn entry(dir: &OwnedFd, name: &str, path: &str, depth: usize, tree: &mut Tree) -> Result<()> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let open = match openat(dir.as_fd(), name, flags, Mode::empty()) {
        Ok(open) => open,
        Err(rustix::io::Errno::LOOP) => {
            // It may have been replaced since it was opened.
            let target = readlinkat(dir.as_fd(), name, Vec::new()).context("changed while it was read")?;
            let target = target.into_string().context("links to a name that is not UTF-8")?;
            return tree.add_link(path, &target);
        }
        // A socket cannot be opened at all.
        Err(rustix::io::Errno::NXIO) => bail!("is neither a file nor a directory"),
        Err(error) => return Err(error).context("cannot be read"),
    };
    let stat = fstat(&open)?;
    match rustix::fs::FileType::from_raw_mode(stat.st_mode) {
        rustix::fs::FileType::Directory => walk(&open, path, depth + 1, tree),
        rustix::fs::FileType::RegularFile => {
            let mut bytes = Vec::new();
            // One byte more than allowed makes the budget refuse it.
            File::from(open).take(tree.left() + 1).read_to_end(&mut bytes)?;
            tree.add_file(path, bytes, stat.st_mode & 0o111 != 0)
        }
        _ => bail!("is neither a file nor a directory"),
    }
}

/// Reads only these paths, each a file or a whole directory. Missing ones are skipped.
pub fn read_some(dir: &Path, paths: &BTreeSet<String>, tree: &mut Tree) -> Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    'paths: for path in paths {
        let mut at = rustix::fs::open(dir, flags, Mode::empty())?;
        let (parents, name) = path.rsplit_once('/').unwrap_or(("", path));
        for part in parents.split('/').filter(|part| !part.is_empty()) {
            match openat(at.as_fd(), part, flags | OFlags::NOFOLLOW, Mode::empty()) {
                Ok(inside) => at = inside,
                Err(_) => continue 'paths,
            }
        }
        if rustix::fs::statat(at.as_fd(), name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            entry(&at, name, path, 0, tree).with_context(|| format!("`{path}`"))?;
        }
    }
    Ok(())
}

/// Opens a regular file.
pub fn open_file(path: &Path) -> Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path.as_os_str().as_bytes(), flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        bail!("it is neither a file nor a directory");
    }
    Ok(file)
}
