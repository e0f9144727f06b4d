//! Looks at the project around the working directory: its root and the rule files in it. Decides nothing.

use super::file::{self, FileProblem};
use super::files::unreadable;
use super::layers::same_directory;
use super::snapshot::{Item, Snapshot, Unreadable};
use crate::error::Result;
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

/// The gitignore-like files of a project root, in rising order of precedence.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuleFiles {
    /// Names and texts.
    pub files: Vec<(String, String)>,
    /// What stands before a name where its origin is told: the ref that the files come from.
    pub prefix: String,
}

fn rule_file_names(persona_id: &str) -> [String; 4] {
    [
        ".agentignore".to_owned(),
        ".agentreadonly".to_owned(),
        format!(".{persona_id}.agentignore"),
        format!(".{persona_id}.agentreadonly"),
    ]
}

/// The rule files that count for this persona, and those that cannot be read.
pub fn rule_files(root: &Path, persona_id: &str) -> (RuleFiles, Vec<String>) {
    let (mut found, mut problems) = (RuleFiles::default(), Vec::new());
    for name in rule_file_names(persona_id) {
        match file::read_text(&root.join(&name)) {
            Ok(Some(text)) => found.files.push((name, text)),
            Ok(None) => {}
            Err(problem) => problems.push(problem.to_string()),
        }
    }
    (found, problems)
}

/// The same as a commit has them.
pub fn rule_files_of(snapshot: &Snapshot, root: &Path, persona_id: &str) -> Result<(RuleFiles, Vec<String>)> {
    let mut found = RuleFiles { prefix: snapshot.prefix(), ..RuleFiles::default() };
    let mut problems = Vec::new();
    for (name, item) in snapshot.files_of(root, &rule_file_names(persona_id))? {
        let path = snapshot.shown(Path::new(&name));
        let text = match item {
            Item::File(bytes) => file::text_of(&path, bytes),
            Item::TooLarge(size) => Err(unreadable(&path, Unreadable::TooLarge(size))),
            Item::Link(_) => {
                Err(FileProblem::whole_file(&path, "is a link, which is not followed in a commit"))
            }
        };
        match text {
            Ok(text) => found.files.push((name, text)),
            Err(problem) => problems.push(problem.to_string()),
        }
    }
    Ok((found, problems))
}
