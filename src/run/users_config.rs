//! Where the user's own configuration of harnesses is in the project: behind links, for those who keep it in a repository, or because
//! the project is around the home directory. It reads names and links, no files.

use crate::load::layer_places::{links_in, on_the_way};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Below the home directory.
const USUAL: [&str; 7] = [
    ".agents",
    ".claude",
    ".claude.json",
    ".codex",
    ".config/opencode",
    ".local/share/opencode",
    ".opencode",
];
/// Variables that name another directory, with what it is in there.
const SAID: [(&str, &str); 4] = [
    ("CLAUDE_CONFIG_DIR", ""),
    ("CODEX_HOME", ""),
    ("XDG_CONFIG_HOME", "opencode"),
    ("XDG_DATA_HOME", "opencode"),
];

/// Directories that hold one entry per item; each may be a link.
const LISTS: [&str; 13] = [
    "agent", "agents", "command", "commands", "hooks", "plugin", "plugins", "prompts", "rules", "skill",
    "skills", "tool", "tools",
];

/// The places, relative to the root.
pub(super) fn inside(root: &Path, home: Option<&Path>, env: &BTreeMap<String, String>) -> Vec<PathBuf> {
    let said = SAID.iter().filter_map(|(name, below)| {
        let dir = env.get(*name).filter(|dir| !dir.is_empty())?;
        Some(Path::new(dir).join(below))
    });
    let usual = home.into_iter().flat_map(|home| USUAL.map(|name| home.join(name)));
    let mut paths: Vec<PathBuf> = usual.chain(said).collect();
    for path in paths.clone() {
        links_in(&path, 1, &mut paths);
        for list in LISTS {
            links_in(&path.join(list), 1, &mut paths);
        }
    }
    let places: BTreeSet<PathBuf> = paths.iter().flat_map(|path| on_the_way(path, root)).collect();
    // The project as a whole is what the agent works on.
    places.into_iter().filter(|place| !place.as_os_str().is_empty()).collect()
}
