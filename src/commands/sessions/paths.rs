//! What a path means that somebody types for a session: as git takes it, from the working directory, or, where nothing of the session
//! is there, from the project's root. Reads no files of the project.

use crate::error::Result;
use crate::session::Sessions;
use std::path::{Component, Path, PathBuf};

/// How paths are taken.
pub(super) struct Typed {
    root: PathBuf,
    /// The working directory in the project; `None` outside of it.
    here: Option<PathBuf>,
    /// What the session has, asked only where it makes a difference.
    known: Vec<PathBuf>,
}

impl Typed {
    /// For a session. `known` gives the paths that could be meant.
    pub(super) fn of(
        sessions: &Sessions,
        id: &str,
        known: impl FnOnce() -> anyhow::Result<Vec<PathBuf>>,
    ) -> Result<Typed> {
        let root = sessions.store.find(id)?.status()?.map(|status| status.root.0).unwrap_or_default();
        let root = root.canonicalize().unwrap_or(root);
        let here = sessions.host.cwd.strip_prefix(&root).ok().map(Path::to_owned);
        let is_below = here.as_ref().is_some_and(|here| !here.as_os_str().is_empty());
        Ok(Typed { root, here, known: if is_below { known()? } else { Vec::new() } })
    }

    pub(super) fn paths(&self, typed: &[PathBuf]) -> Vec<PathBuf> {
        typed.iter().map(|path| self.path(path)).collect()
    }

    pub(super) fn path(&self, typed: &Path) -> PathBuf {
        if typed.is_absolute() {
            let absolute = typed.strip_prefix(&self.root).ok().and_then(plain);
            return absolute.unwrap_or_else(|| typed.to_owned());
        }
        let from_here = self.here.as_ref().and_then(|here| plain(&here.join(typed)));
        let from_root = plain(typed);
        let is_known = |path: &&PathBuf| self.known.iter().any(|known| known.starts_with(path));
        let meant = [&from_here, &from_root].into_iter().flatten().find(is_known).cloned();
        meant.or(from_root).or(from_here).unwrap_or_else(|| typed.to_owned())
    }
}

/// Without `.` and `..`; `None` for a path that leaves the root.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !plain.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_taken_from_the_working_directory_and_else_from_the_root() {
        let typed = |here: Option<&str>| Typed {
            root: "/p".into(),
            here: here.map(PathBuf::from),
            known: ["README.md", "src/a.rs", "src/deep/b.rs", "deep/b.rs"].map(PathBuf::from).to_vec(),
        };
        for (here, path, meant) in [
            (Some("src"), "a.rs", "src/a.rs"),
            (Some("src"), "./a.rs", "src/a.rs"),
            (Some("src"), "../README.md", "README.md"),
            (Some("src"), ".", "src"),
            (Some("src"), "..", ""),
            (Some("src"), "deep/b.rs", "src/deep/b.rs"),
            (Some("src"), "../deep/b.rs", "deep/b.rs"),
            // As it was before, and as hints name them.
            (Some("src"), "README.md", "README.md"),
            (Some("src"), "src/a.rs", "src/a.rs"),
            (Some("src"), "./README.md", "README.md"),
            (Some("src"), "/p/src/../README.md", "README.md"),
            (Some("src"), "nothing", "nothing"),
            (Some("src"), "../../outside", "../../outside"),
            (Some(""), "./src/a.rs", "src/a.rs"),
            (Some(""), ".", ""),
            (None, "src/a.rs", "src/a.rs"),
            (None, "../README.md", "../README.md"),
            (None, "/elsewhere/x", "/elsewhere/x"),
        ] {
            assert_eq!(typed(here).path(Path::new(path)), Path::new(meant), "{path} in {here:?}");
        }
    }
}
