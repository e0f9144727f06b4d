//! Chooses the directory to mount, and refuses unsuitable ones. It looks for `.git` and compares paths; it mounts nothing.

use crate::files::owned;
use crate::mount::error::{MountError, RootRefusal};
use crate::mount::git::repository::Repository;
use std::path::{Path, PathBuf};

/// What the choice depends on.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    pub cwd: &'a Path,
    pub home: Option<&'a Path>,
    /// Where sessions are kept; a mount must not contain it.
    pub state: &'a Path,
}

/// The directory to mount and where in it the child starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountRoot {
    /// Absolute, without symlinks.
    pub root: PathBuf,
    /// Relative to the root.
    pub cwd: PathBuf,
}

/// Chooses what to mount: `wanted` (`--root`) if given, otherwise the git top level, otherwise `project` (the directory with
/// `.agentworkforce`, if there is one), otherwise the working directory. Does not check whether it may be mounted.
pub fn find(
    around: Surroundings,
    wanted: Option<&Path>,
    project: Option<&Path>,
) -> Result<MountRoot, MountError> {
    let cwd = resolved(around.cwd)?;
    let home = around.home.map(canonical_or_same);
    let root = match wanted {
        Some(dir) => resolved(&cwd.join(dir))?,
        None => match git_top_level(&cwd).filter(|top| home.as_ref() != Some(top)) {
            Some(top) => top,
            None => resolved(project.unwrap_or(&cwd))?,
        },
    };
    // With `--root` elsewhere the child starts at the root.
    let relative = cwd.strip_prefix(&root).map(Path::to_path_buf).unwrap_or_default();
    Ok(MountRoot { root, cwd: relative })
}

/// Refuses a directory that cannot be mounted as a project.
pub fn refuse(root: &Path, around: Surroundings) -> Result<(), MountError> {
    let home = around.home.map(canonical_or_same);
    let (home, state) = (home.as_deref(), &canonical_or_same(around.state));
    let reason = if root == Path::new("/") {
        RootRefusal::FilesystemRoot
    } else if home == Some(root) {
        RootRefusal::Home
    } else if home.is_some_and(|home| home.starts_with(root)) {
        RootRefusal::AboveHome
    } else if state.starts_with(root) {
        // An upper directory inside its own lower is a loop (ELOOP).
        RootRefusal::AboveState { state: state.clone() }
    } else if root.starts_with(state.join("sessions")) {
        RootRefusal::InsideSession
    } else {
        return Ok(());
    };
    Err(MountError::RefusedRoot { root: root.to_path_buf(), reason })
}

/// The nearest directory at or above `dir` that has a `.git`. One that belongs to another user does not count.
pub fn git_top_level(dir: &Path) -> Option<PathBuf> {
    let is_top = |above: &&Path| Repository::at(above).is_some() && owned::has_repository(above, dir);
    dir.ancestors().find(is_top).map(Path::to_path_buf)
}

fn resolved(path: &Path) -> Result<PathBuf, MountError> {
    let real = path
        .canonicalize()
        .map_err(|error| MountError::UnreadableRoot { root: path.to_path_buf(), error })?;
    if real.is_dir() { Ok(real) } else { Err(MountError::NotADirectory { root: path.to_path_buf() }) }
}

/// The state directory may not exist yet; then its nearest existing parent decides.
fn canonical_or_same(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let Ok(real) = above.canonicalize() {
            return path.strip_prefix(above).map_or_else(|_| real.clone(), |rest| real.join(rest));
        }
    }
    path.to_path_buf()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    struct World {
        _dir: tempfile::TempDir,
        top: PathBuf,
    }

    impl World {
        /// A home with a repository `repo`, a plain directory `plain/sub` and the state directory.
        fn new() -> World {
            let dir = tempfile::tempdir().unwrap();
            let top = dir.path().canonicalize().unwrap();
            for path in [
                "home/repo/.git/refs",
                "home/repo/.git/objects",
                "home/repo/src/deep",
                "home/plain/sub",
                "home/.aw",
            ] {
                fs::create_dir_all(top.join(path)).unwrap();
            }
            fs::write(top.join("home/repo/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
            World { _dir: dir, top }
        }

        fn choose(&self, cwd: &str, wanted: Option<&str>) -> Result<MountRoot, MountError> {
            let home = self.top.join("home");
            let around = Surroundings {
                cwd: &self.top.join(cwd),
                home: Some(&home),
                state: &self.top.join("home/.aw"),
            };
            let found = find(around, wanted.map(Path::new), None)?;
            refuse(&found.root, around).map(|()| found)
        }
    }

    #[test]
    fn a_subdirectory_of_a_repository_mounts_the_whole_repository() {
        let world = World::new();
        let found = world.choose("home/repo/src/deep", None).unwrap();
        assert_eq!(found, MountRoot { root: world.top.join("home/repo"), cwd: "src/deep".into() });
    }

    #[test]
    fn without_a_repository_it_is_the_working_directory() {
        let world = World::new();
        let found = world.choose("home/plain/sub", None).unwrap();
        assert_eq!(found, MountRoot { root: world.top.join("home/plain/sub"), cwd: "".into() });
    }

    #[test]
    fn a_home_that_is_a_repository_is_not_taken_for_the_project() {
        let world = World::new();
        fs::create_dir_all(world.top.join("home/.git/refs")).unwrap();
        fs::create_dir_all(world.top.join("home/.git/objects")).unwrap();
        fs::write(world.top.join("home/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        assert_eq!(world.choose("home/plain", None).unwrap().root, world.top.join("home/plain"));
    }

    #[test]
    fn dangerous_roots_are_refused_with_the_reason() {
        let world = World::new();
        let above = world.top.to_string_lossy().into_owned();
        let state = world.top.join("home/.aw");
        for (root, expected) in [
            ("/", RootRefusal::FilesystemRoot),
            (&format!("{above}/home"), RootRefusal::Home),
            (&above, RootRefusal::AboveHome),
            (&format!("{above}/home/.aw"), RootRefusal::AboveState { state }),
        ] {
            match world.choose("home/plain", Some(root)).unwrap_err() {
                MountError::RefusedRoot { reason, .. } => assert_eq!(reason, expected, "{root}"),
                other => panic!("{root}: {other}"),
            }
        }
    }

    #[test]
    fn a_root_below_a_session_is_refused() {
        let world = World::new();
        fs::create_dir_all(world.top.join("home/.aw/sessions/x/mount")).unwrap();
        assert!(world.choose("home/.aw/sessions/x/mount", None).is_err());
    }
}
