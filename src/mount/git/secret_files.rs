//! Which files of a git directory may hold credentials: configurations of submodules and linked worktrees, files that a
//! configuration includes, those of git's own store, cookies and keys that a setting names. It changes nothing.

use super::config_file::settings;
use super::repository::LARGEST_SETTINGS;
use crate::files::regular;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The configurations of a git directory.
pub(crate) const CONFIGS: [&str; 2] = ["config", "config.worktree"];
/// Directories that are looked at, and configurations that are read.
const MOST: usize = 2048;
const DEEPEST: usize = 16;

/// Paths relative to the git directory.
#[derive(Debug, Default)]
pub(crate) struct SecretFiles {
    pub(crate) configs: BTreeSet<PathBuf>,
    /// Nothing but credentials.
    pub(crate) stores: BTreeSet<PathBuf>,
    /// Remotes as older versions of git name them, one file each. Git still reads them.
    pub(crate) remotes: BTreeSet<PathBuf>,
}

/// The directories of such remotes.
pub(crate) const REMOTES: [&str; 2] = ["remotes", "branches"];
/// Remotes of one git directory that are looked at.
const MOST_REMOTES: usize = 256;

impl SecretFiles {
    pub(crate) fn of(git_dir: &Path) -> SecretFiles {
        let mut found = SecretFiles::default();
        let Ok(top) = git_dir.canonicalize() else { return found };
        let mut pending: Vec<PathBuf> = Vec::new();
        for Part { dir, .. } in parts_of(&top) {
            pending.extend(CONFIGS.map(|name| dir.join(name)));
            pending.extend(copies_of_configs(&dir));
            found.remotes.extend(remotes(&dir).filter_map(|file| file_below(&top, &file)));
        }
        while let Some(config) = pending.pop().filter(|_| found.configs.len() < MOST) {
            let Some(inside) = file_below(&top, &config) else { continue };
            let Ok(text) = regular::read(&config, LARGEST_SETTINGS) else { continue };
            if !found.configs.insert(inside) {
                continue;
            }
            for (key, value) in settings(&String::from_utf8_lossy(&text)) {
                let last = key.rsplit('.').next().unwrap_or_default();
                if key.starts_with("include") && last == "path" {
                    pending.push(config.parent().unwrap_or(&top).join(value));
                    continue;
                }
                let named = match (key.split('.').next().unwrap_or_default(), last) {
                    ("credential", "helper") => store_files(&value),
                    ("http", "cookiefile" | "sslkey") => vec![value],
                    ("core", "sshcommand") => words_after(&value, "-i"),
                    _ => continue,
                };
                let bases = [top.parent().unwrap_or(&top), &top];
                let files = named.iter().map(|file| expanded(file));
                let files = files.flat_map(|file| bases.map(|base| base.join(&file)));
                found.stores.extend(files.filter_map(|file| file_below(&top, &file)));
            }
        }
        found.configs.retain(|config| !found.stores.contains(config));
        found
    }
}

/// A directory with files that git reads: the git directory itself, that of a submodule or of a linked worktree.
pub(super) struct Part {
    pub(super) dir: PathBuf,
    /// The name of a submodule may have slashes: then the directory on the way is no repository.
    pub(super) is_repository: bool,
}

pub(super) fn parts_of(git_dir: &Path) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut dirs = vec![(git_dir.to_owned(), 0)];
    while let Some((dir, depth)) = dirs.pop().filter(|_| parts.len() < MOST) {
        let is_repository = depth == 0 || dir.join("HEAD").symlink_metadata().is_ok();
        let below =
            if is_repository { vec![dir.join("modules"), dir.join("worktrees")] } else { vec![dir.clone()] };
        parts.push(Part { dir, is_repository });
        if depth >= DEEPEST {
            continue;
        }
        for entry in below.iter().flat_map(fs::read_dir).flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                dirs.push((entry.path(), depth + 1));
            }
        }
    }
    parts
}

/// What editors and tools leave beside a configuration: `config.bak`, `config~`.
fn copies_of_configs(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"config")))
}

fn remotes(git_dir: &Path) -> impl Iterator<Item = PathBuf> {
    let dirs = REMOTES.map(|name| git_dir.join(name)).into_iter();
    let files = |dir: PathBuf| fs::read_dir(dir).into_iter().flatten().flatten().take(MOST_REMOTES);
    dirs.flat_map(files).map(|entry| entry.path())
}

/// The real place of a file, if it is in the directory.
fn file_below(top: &Path, file: &Path) -> Option<PathBuf> {
    let real = file.canonicalize().ok().filter(|real| real.is_file())?;
    Some(real.strip_prefix(top).ok()?.to_owned())
}

fn expanded(file: &str) -> PathBuf {
    match (file.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => Path::new(&home).join(rest),
        _ => file.into(),
    }
}

fn words_after(command: &str, option: &str) -> Vec<String> {
    let words = shlex::split(command).unwrap_or_default();
    words.windows(2).filter(|pair| pair[0] == option).map(|pair| pair[1].clone()).collect()
}

/// The files of `store --file=x`.
fn store_files(helper: &str) -> Vec<String> {
    let words = shlex::split(helper.trim_start_matches('!')).unwrap_or_default();
    if !words.iter().any(|word| word == "store" || word.ends_with("credential-store")) {
        return Vec::new();
    }
    let joined = words.iter().filter_map(|word| word.strip_prefix("--file=")).map(str::to_owned);
    let apart = words.windows(2).filter(|pair| pair[0] == "--file").map(|pair| pair[1].clone());
    joined.chain(apart).collect()
}
