//! Why the skills of a run cannot be put in place. A skill that is merely not available is a warning.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum SkillError {
    /// The cache was changed since the skill was obtained.
    #[error("skill `{id}` is no longer in {}", .dir.display())]
    NotInCache { id: String, dir: PathBuf, reason: String },
}
