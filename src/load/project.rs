//! Looks at the project around the working directory: its root and the rule files in it. Decides nothing.

use super::layers::same_directory;
use crate::host::Host;
use std::path::{Path, PathBuf};

/// The directory that a run is about, and where in it the user stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    pub root: PathBuf,
    /// The working directory relative to the root.
    pub cwd: PathBuf,
}

/// The git top level, else the directory with `.agentworkforce`, else the working directory; or what was asked for.
pub fn find(host: &Host, layer_root: Option<&Path>, asked: Option<&Path>) -> Project {
    let root = match asked {
        Some(dir) => host.absolute(&host.expand_tilde(&dir.to_string_lossy())),
        None => {
            git_top_level(host).or_else(|| layer_root.map(Path::to_owned)).unwrap_or_else(|| host.cwd.clone())
        }
    };
    let cwd = host.cwd.strip_prefix(&root).map(Path::to_owned).unwrap_or_default();
    Project { root, cwd }
}

fn git_top_level(host: &Host) -> Option<PathBuf> {
    let top = host.cwd.ancestors().find(|dir| dir.join(".git").symlink_metadata().is_ok())?;
    // A home directory under version control is not a project.
    let is_home = host.home_dir().is_some_and(|home| same_directory(&home, top));
    (!is_home).then(|| top.to_owned())
}

/// A gitignore-like file of the project root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleFile {
    pub name: String,
    pub text: String,
}

/// The rule files that count for this persona, in rising order of precedence, and those that cannot be read.
pub fn rule_files(root: &Path, persona_id: &str) -> (Vec<RuleFile>, Vec<String>) {
    let names = [
        ".agentignore".to_owned(),
        ".agentreadonly".to_owned(),
        format!(".{persona_id}.agentignore"),
        format!(".{persona_id}.agentreadonly"),
    ];
    let (mut files, mut problems) = (Vec::new(), Vec::new());
    for name in names {
        match super::file::read_text(&root.join(&name)) {
            Ok(Some(text)) => files.push(RuleFile { name, text }),
            Ok(None) => {}
            Err(problem) => problems.push(problem.to_string()),
        }
    }
    (files, problems)
}
