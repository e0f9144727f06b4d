//! Which commit is being built, as far as it can be told: git is asked, else what `cargo package` noted is read.
//! A source archive has neither, and then nothing is claimed.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What the binary is made from; a change of anything else changes nothing in it.
pub const SOURCES: [&str; 6] = ["src", "personas", "build", "build.rs", "Cargo.toml", "Cargo.lock"];

#[derive(Debug, PartialEq, Eq)]
pub struct Commit {
    /// `0123456789ab`, or `0123456789ab, modified`.
    pub name: String,
    /// The files that change when another commit is checked out or made.
    pub watched: Vec<PathBuf>,
}

/// The commit of the checkout or packaged crate whose top is this directory.
pub fn of(root: &Path) -> Option<Commit> {
    by_git(root).or_else(|| noted(root))
}

fn by_git(root: &Path) -> Option<Commit> {
    let commit = git(root, &["rev-parse", "--short=12", "HEAD"])?;
    let paths = git(root, &["rev-parse", "--git-path", "HEAD", "--git-path", "logs/HEAD"])?;
    // A file that is not there would count as changed at every build.
    let watched = paths.lines().map(|path| root.join(path)).filter(|path| path.exists()).collect();
    let status = [&["status", "--porcelain", "--"][..], &SOURCES].concat();
    let modified = git(root, &status).is_some_and(|changes| !changes.trim().is_empty());
    Some(Commit { name: named(commit.trim(), modified), watched })
}

/// `.cargo_vcs_info.json`, which is in every packaged crate.
fn noted(root: &Path) -> Option<Commit> {
    let text = std::fs::read_to_string(root.join(".cargo_vcs_info.json")).ok()?;
    let value: serde_json::Value = serde_json::from_str(&text).ok()?;
    let commit =
        value["git"]["sha1"].as_str().filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    let modified = value["git"]["dirty"].as_bool().unwrap_or(false);
    Some(Commit { name: named(commit.get(..12)?, modified), watched: Vec::new() })
}

fn named(commit: &str, modified: bool) -> String {
    if modified { format!("{commit}, modified") } else { commit.to_owned() }
}

fn git(root: &Path, args: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    command.args(args).current_dir(root).env("GIT_OPTIONAL_LOCKS", "0");
    // An archive that lies in somebody's repository is not a commit of that repository.
    if let Some(parent) = root.parent() {
        command.env("GIT_CEILING_DIRECTORIES", parent);
    }
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(name);
    }
    let output = command.output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()
}
