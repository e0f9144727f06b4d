//! Reads the rule files of a project root, from the working tree or from a commit. `rules` parses them.

use super::file::{self, FileProblem};
use super::files::unreadable;
use super::snapshot::{Item, Snapshot, Unreadable};
use anyhow::Result;
use std::path::Path;

/// The gitignore-like files of a project root, in rising order of precedence.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuleFiles {
    /// Names and texts.
    pub files: Vec<(String, String)>,
    /// Put before a name where its origin is shown: the ref that the files come from.
    pub prefix: String,
    /// Files that exist and cannot be read.
    pub problems: Vec<FileProblem>,
}

fn names(persona_id: &str) -> [String; 4] {
    [
        ".agentignore".to_owned(),
        ".agentreadonly".to_owned(),
        format!(".{persona_id}.agentignore"),
        format!(".{persona_id}.agentreadonly"),
    ]
}

/// Whether a rule file of some persona, or of all of them, has this name.
pub fn is_rule_file(name: &[u8]) -> bool {
    name.starts_with(b".") && (name.ends_with(b".agentignore") || name.ends_with(b".agentreadonly"))
}

/// The rule files of this directory that apply to the persona.
pub fn in_directory(root: &Path, persona_id: &str) -> RuleFiles {
    let mut found = RuleFiles::default();
    for name in names(persona_id) {
        match file::read_text(&root.join(&name)) {
            Ok(Some(text)) => found.files.push((name, text)),
            Ok(None) => {}
            Err(problem) => found.problems.push(problem),
        }
    }
    found
}

/// The same as a commit has them.
pub fn in_commit(snapshot: &Snapshot, root: &Path, persona_id: &str) -> Result<RuleFiles> {
    let mut found = RuleFiles { prefix: snapshot.prefix(), ..RuleFiles::default() };
    for (name, item) in snapshot.files_of(root, &names(persona_id))? {
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
            Err(problem) => found.problems.push(problem),
        }
    }
    Ok(found)
}
