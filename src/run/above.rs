//! Finds what a harness would take for its configuration in the directories above the project. It reads no file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Directories with commands, skills, plugins and settings.
const DIRECTORIES: [&str; 4] = [".claude", ".opencode", ".codex", ".agents"];
const FILES: [&str; 5] = [".mcp.json", "opencode.json", "opencode.jsonc", "tui.json", "tui.jsonc"];
/// Variables that name directories which a run needs, one or several.
const NEEDED: [&str; 4] = ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "PATH"];

/// By their real paths. What the user has in the home directory, or needs for the run, is left alone.
pub(super) fn configuration(
    root: &Path,
    home: Option<&Path>,
    env: &BTreeMap<String, String>,
) -> Vec<PathBuf> {
    let home = home.and_then(|home| home.canonicalize().ok());
    let needed: Vec<PathBuf> = NEEDED
        .iter()
        .filter_map(|name| env.get(*name))
        .flat_map(std::env::split_paths)
        .filter_map(|path| path.canonicalize().ok())
        .chain(home.clone())
        .chain([root.to_path_buf()])
        .collect();
    let mut found = Vec::new();
    for dir in root.ancestors().skip(1) {
        let directories = DIRECTORIES.iter().filter(|_| home.as_deref() != Some(dir));
        let named = directories.chain(&FILES).map(|name| dir.join(name));
        found.extend(named.filter_map(|path| {
            // A link leads to what is covered, but not to what is the user's own.
            let real = path.canonicalize().ok()?;
            let is_users_own = real != path && home.as_ref().is_some_and(|home| real.starts_with(home));
            let is_needed = needed.iter().any(|needed| needed.starts_with(&real));
            (!is_users_own && !is_needed).then_some(real)
        }));
    }
    found
}
