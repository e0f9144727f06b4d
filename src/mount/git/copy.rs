//! Copies a git directory for the copy backend: everything but the objects, which are borrowed from the real one.
//! The result never points at metadata that the user's own git writes.

use crate::files::regular;
use crate::mount::fs::copy_file::Copier;
use crate::mount::git::repository::{LARGEST_POINTER, LARGEST_SETTINGS, Repository, pointer_target};
use rustix::fs::{CWD, Mode, OFlags, openat};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Names in a git directory that are not copied.
const NOT_COPIED: [&str; 5] = ["objects", "worktrees", "commondir", "gitdir", "lfs"];

const TRUST_TIMES: &str = "[core]\n\ttrustctime = false\n\tcheckStat = minimal\n";
const ORDINARY: &str = "[core]\n\tbare = false\n\tworktree = ..\n";

/// A `config` of a copy without what we added to it.
pub(crate) fn without_our_settings(mut config: Vec<u8>) -> Vec<u8> {
    for ours in [TRUST_TIMES, ORDINARY].map(|text| format!("\n{text}")) {
        while let Some(at) = memchr::memmem::find(&config, ours.as_bytes()) {
            config.drain(at..at + ours.len());
        }
    }
    config
}

/// Makes the private side of a repository of the project in the copied tree and says where it is.
pub(crate) fn copy_repository(
    repository: &Repository,
    root: &Path,
    mount: &Path,
    work_tree: &Path,
) -> io::Result<Repository> {
    let pointer = repository.work_tree.join(".git");
    // A submodule's pointer goes to `.git/modules`, which is copied with the outer repository: it stays true if it is relative.
    if let Some(inside) = kept_pointer(&pointer, repository, root) {
        fs::write(work_tree.join(".git"), regular::read(&pointer, LARGEST_POINTER)?)?;
        let git_dir = mount.join(inside);
        return Ok(Repository { work_tree: work_tree.to_path_buf(), common_dir: git_dir.clone(), git_dir });
    }
    let git_dir = work_tree.join(".git");
    copy_git_dir(&repository.common_dir, &git_dir)?;
    if repository.git_dir != repository.common_dir {
        copy_entries(&repository.git_dir, &git_dir)?;
    }
    adapt_config(&git_dir)?;
    Ok(Repository { work_tree: work_tree.to_path_buf(), common_dir: git_dir.clone(), git_dir })
}

fn kept_pointer(pointer: &Path, repository: &Repository, root: &Path) -> Option<PathBuf> {
    let target = pointer_target(&regular::read(pointer, LARGEST_POINTER).ok()?)?;
    let inside = repository.git_dir.strip_prefix(root).ok()?;
    let is_module = inside.components().any(|part| part.as_os_str() == "modules");
    (target.is_relative() && is_module && repository.git_dir == repository.common_dir)
        .then(|| inside.to_path_buf())
}

fn copy_git_dir(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to.join("objects/info"))?;
    fs::create_dir_all(to.join("objects/pack"))?;
    let mut alternates = from.join("objects").canonicalize()?.into_os_string().as_bytes().to_vec();
    alternates.push(b'\n');
    fs::write(to.join("objects/info/alternates"), alternates)?;
    copy_entries(from, to)
}

fn copy_entries(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let (from_fd, to_fd) = (openat(CWD, from, flags, Mode::empty())?, openat(CWD, to, flags, Mode::empty())?);
    let reflink = AtomicBool::new(true);
    let mut copier = Copier::new(&from_fd, &to_fd, &reflink);
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        let text = name.to_string_lossy();
        if NOT_COPIED.contains(&&*text) || text.ends_with(".lock") {
            continue;
        }
        let kind = entry.file_type()?;
        let target = to.join(&name);
        // What `worktrees/x` has of its own stands in for what the common directory has.
        if !kind.is_dir() && fs::symlink_metadata(&target).is_ok() {
            fs::remove_file(&target)?;
        }
        if kind.is_dir() && is_git_dir(&entry.path()) {
            copy_git_dir(&entry.path(), &target)?;
            trust_times(&target)?;
        } else if kind.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else if kind.is_symlink() {
            copy_link(&entry.path(), &target)?;
        } else if kind.is_file() {
            match copier.file(Path::new(&name), Path::new(&name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}

/// Like [`copy_entries`], for directories below a git directory: there, every name is data.
fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    if is_git_dir(from) {
        copy_git_dir(from, to)?;
        return trust_times(to);
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else if kind.is_symlink() {
            copy_link(&entry.path(), &target)?;
        } else if kind.is_file() && !entry.file_name().as_bytes().ends_with(b".lock") {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

/// A shared `refs` or `config` behind a link would be written through it: what it points at is copied instead.
fn copy_link(from: &Path, to: &Path) -> io::Result<()> {
    match fs::metadata(from) {
        Ok(meta) if meta.is_dir() => copy_tree(&from.canonicalize()?, to),
        Ok(meta) if meta.is_file() => fs::copy(from, to).map(|_| ()),
        // `HEAD` may be a link to a branch that has no commit yet.
        _ => std::os::unix::fs::symlink(fs::read_link(from)?, to),
    }
}

fn is_git_dir(dir: &Path) -> bool {
    dir.join("HEAD").is_file() && dir.join("objects").is_dir() && dir.join("refs").is_dir()
}

/// A copy has the times and sizes of the index, but other inodes and change times: without this the first `git status` would
/// read every file.
fn trust_times(git_dir: &Path) -> io::Result<()> {
    append(&git_dir.join("config"), TRUST_TIMES)
}

/// The copy is an ordinary repository, whatever the original was: a submodule or a worktree of a bare one says otherwise.
fn adapt_config(git_dir: &Path) -> io::Result<()> {
    for name in ["config", "config.worktree"] {
        let path = git_dir.join(name);
        let text = regular::read(&path, LARGEST_SETTINGS).unwrap_or_default();
        let private = private_config(name, text.clone(), false);
        if private != text {
            fs::write(&path, private)?;
        }
    }
    Ok(())
}

/// A configuration of the user's, as the copy has it. That of a submodule still says where its files are.
pub(crate) fn private_config(name: &str, mut text: Vec<u8>, is_module: bool) -> Vec<u8> {
    let lower = text.to_ascii_lowercase();
    let says = |word: &[u8]| lower.windows(word.len()).any(|window| window == word);
    if name == "config" {
        text.extend_from_slice(format!("\n{TRUST_TIMES}").as_bytes());
    }
    if !is_module && (says(b"worktree") || says(b"bare = true") || says(b"bare=true")) {
        text.extend_from_slice(format!("\n{ORDINARY}").as_bytes());
    }
    text
}

fn append(path: &Path, text: &str) -> io::Result<()> {
    use std::io::Write;
    let mut file = fs::OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(b"\n")?;
    file.write_all(text.as_bytes())
}
