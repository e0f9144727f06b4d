//! What is known about the project when commands are chosen: names at its root, and the texts of a few manifests. Reads nothing.

use std::collections::{BTreeMap, BTreeSet};

/// The root of a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectFiles {
    /// Names at the root, directories without a slash.
    pub names: BTreeSet<String>,
    /// The texts of those in [`ProjectFiles::WANTED`] that are there.
    pub texts: BTreeMap<String, String>,
}

impl ProjectFiles {
    /// The files at the root whose texts are needed.
    pub const WANTED: [&str; 16] = [
        "package.json",
        "yarn.lock",
        "Cargo.toml",
        "pyproject.toml",
        "pytest.ini",
        ".pytest.ini",
        "setup.cfg",
        "tox.ini",
        "requirements.txt",
        "go.mod",
        "Makefile",
        "makefile",
        "GNUmakefile",
        "justfile",
        ".justfile",
        "Justfile",
    ];

    pub fn has(&self, name: &str) -> bool {
        self.names.contains(name) || self.texts.contains_key(name)
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str)
    }
}
