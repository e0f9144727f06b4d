//! Files of the user outside the project that later commands read: what they are before a run and after it.

use crate::files::regular;
use crate::host::Host;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Larger files are compared by their size and time.
const LARGEST: u64 = 4 << 20;
const MOST_PTH: usize = 500;

/// Relative to the home, each with the reason why a change matters.
const WATCHED: [(&str, &str); 11] = [
    (".npmrc", "npm reads it in every project"),
    (".yarnrc", "yarn reads it in every project"),
    (".yarnrc.yml", "yarn reads it in every project"),
    (".cargo/config.toml", "cargo reads it in every project"),
    (".cargo/config", "cargo reads it in every project"),
    (".gitconfig", "git reads it in every repository"),
    (".config/git/config", "git reads it in every repository"),
    (".config/git/attributes", "git reads it in every repository"),
    (".config/pip/pip.conf", "pip reads it"),
    (".pip/pip.conf", "pip reads it"),
    (".pydistutils.cfg", "Python's build tools read it"),
];

/// What was found, by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outside {
    states: BTreeMap<PathBuf, (Option<String>, &'static str)>,
}

impl Outside {
    pub fn look(host: &Host) -> Outside {
        let Some(home) = host.home_dir() else { return Outside::default() };
        let mut states = BTreeMap::new();
        for (name, why) in WATCHED {
            let path = home.join(name);
            states.insert(path.clone(), (state(&path), why));
        }
        for path in python_hooks(&home.join(".local/lib")) {
            states.insert(path.clone(), (state(&path), "every Python program of yours runs it at its start"));
        }
        Outside { states }
    }

    /// What is different now, with the reason why it matters.
    pub fn changes(&self, now: &Outside) -> Vec<String> {
        let mut changes = Vec::new();
        let none = (None, "");
        let paths =
            self.states.keys().chain(now.states.keys().filter(|path| !self.states.contains_key(*path)));
        for path in paths {
            let before = self.states.get(path).unwrap_or(&none);
            let after = now.states.get(path).unwrap_or(&none);
            if before.0 != after.0 {
                let why = if after.1.is_empty() { before.1 } else { after.1 };
                changes.push(format!("{}: {why}", path.display()));
            }
        }
        changes
    }
}

fn state(path: &Path) -> Option<String> {
    let meta = path.symlink_metadata().ok()?;
    if meta.is_symlink() {
        return std::fs::read_link(path).ok().map(|target| format!("link {}", target.display()));
    }
    match regular::read(path, LARGEST) {
        Ok(bytes) => Some(blake3::hash(&bytes).to_hex().to_string()),
        Err(_) => Some(format!("{} bytes", meta.len())),
    }
}

/// What Python runs by itself from the user's own packages.
fn python_hooks(lib: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries = |dir: &Path| std::fs::read_dir(dir).into_iter().flatten().flatten();
    for version in entries(lib).filter(|entry| entry.file_name().to_string_lossy().starts_with("python")) {
        for entry in entries(&version.path().join("site-packages")) {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.ends_with(".pth") || matches!(&*name, "sitecustomize.py" | "usercustomize.py") {
                found.push(entry.path());
            }
            if found.len() >= MOST_PTH {
                return found;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_is_named_with_the_reason() {
        let home = tempfile::tempdir().unwrap();
        let host = Host {
            env: [("HOME".to_owned(), home.path().display().to_string())].into(),
            cwd: home.path().into(),
            stdin_is_terminal: false,
            stderr_is_terminal: false,
        };
        std::fs::write(home.path().join(".gitconfig"), "a").unwrap();
        let before = Outside::look(&host);
        assert_eq!(before.changes(&Outside::look(&host)), Vec::<String>::new());
        let site = home.path().join(".local/lib/python3.12/site-packages");
        std::fs::create_dir_all(&site).unwrap();
        std::fs::write(site.join("x.pth"), "import os").unwrap();
        std::fs::write(home.path().join(".gitconfig"), "b").unwrap();
        let changes = before.changes(&Outside::look(&host));
        assert_eq!(changes.len(), 2, "{changes:?}");
        assert!(changes[0].ends_with(".gitconfig: git reads it in every repository"), "{changes:?}");
    }
}
