//! What belongs to the projects that we work on: the one that we were started in, and those of runs and sessions elsewhere. An agent or
//! a pull request may have written it, so that none of it is run outside of a mount. Tools put such directories into `PATH` (`npm run`,
//! direnv).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

/// The tops of projects that this process works on besides the one that it was started in. None is ever forgotten.
static OTHERS: RwLock<BTreeSet<PathBuf>> = RwLock::new(BTreeSet::new());

/// Notes that this process works on the project of a directory.
pub fn add(dir: &Path) {
    let Some(top) = top_of(dir, std::env::home_dir().as_deref()) else { return };
    let is_known = OTHERS.read().unwrap_or_else(PoisonError::into_inner).contains(&top);
    // Everything is in the root directory.
    if !is_known && top.parent().is_some() {
        OTHERS.write().unwrap_or_else(PoisonError::into_inner).insert(top);
    }
}

/// Whether a program is a file of one of the projects, as it is spelled or behind links.
pub fn contains(program: &Path) -> bool {
    let own = std::env::current_dir().ok().and_then(|cwd| top_of(&cwd, std::env::home_dir().as_deref()));
    let others = OTHERS.read().unwrap_or_else(PoisonError::into_inner);
    let spelled = program.parent().and_then(|dir| dir.canonicalize().ok());
    let real = program.canonicalize().ok();
    let is_in = |path: PathBuf| own.iter().chain(others.iter()).any(|top| path.starts_with(top));
    spelled.into_iter().chain(real).any(is_in)
}

/// The directory with the repository or the persona layer, else the working directory. The user's home is no project, even if it is
/// a repository.
fn top_of(cwd: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let cwd = cwd.canonicalize().ok()?;
    let home = home.and_then(|home| home.canonicalize().ok());
    let is_above_home = |dir: &&Path| home.as_ref().is_some_and(|home| home.starts_with(dir));
    let is_top = |dir: &&Path| [".git", ".agentworkforce"].iter().any(|name| dir.join(name).exists());
    let top = cwd.ancestors().take_while(|dir| !is_above_home(dir)).find(is_top);
    top.or_else(|| Some(cwd.as_path()).filter(|cwd| !is_above_home(cwd))).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::create_dir_all;

    #[test]
    fn a_project_ends_at_its_repository_and_a_home_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        for path in [".git", "repo/.git", "repo/deep", "plain/deep", ".agentworkforce"] {
            create_dir_all(home.join(path)).unwrap();
        }
        let top = |path: &str| top_of(&home.join(path), Some(&home));
        assert_eq!(top("repo/deep"), Some(home.join("repo")));
        assert_eq!(top("plain/deep"), Some(home.join("plain/deep")));
        assert_eq!(top(""), None);
    }
}
