//! Puts obtained skills where a harness looks for them: `<target>/<name>/SKILL.md` and the files beside it.

use super::ObtainedSkill;
use super::bundle::{Bundle, SKILL_FILE};
use super::frontmatter::completed;
use crate::error::{CommandError, Result};
use std::path::{Path, PathBuf};

/// A file of a skill for the mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFile {
    /// Relative to the root of the mount.
    pub path: PathBuf,
    pub bytes: Vec<u8>,
    pub mode: u32,
}

/// Copies the skills below `target` as `target/<name>/SKILL.md ...`, readable by this user alone: what claude's plugin
/// directory `<D>/skills`, opencode's `skills.paths` and codex's `.agents/skills` take.
pub fn stage(skills: &[ObtainedSkill], target: &Path) -> Result<()> {
    for skill in skills {
        let place = target.join(&skill.name);
        ready(skill)?.write_to(&place).map_err(|error| {
            CommandError::internal(format!("skill `{}` cannot be put into {}", skill.id, place.display()))
                .caused_by(error)
        })?;
    }
    Ok(())
}

/// The same as files to plant in the mount (for codex: below `.agents/skills`).
pub fn planted(skills: &[ObtainedSkill], below: &Path) -> Result<Vec<SkillFile>> {
    let mut files = Vec::new();
    for skill in skills {
        let place = below.join(&skill.name);
        files.extend(ready(skill)?.files.into_iter().map(|(path, file)| SkillFile {
            path: place.join(path),
            bytes: file.bytes,
            mode: if file.executable { 0o755 } else { 0o644 },
        }));
    }
    Ok(files)
}

/// The skill with the keys in front of SKILL.md that harnesses insist on. The text itself stays as it is.
fn ready(skill: &ObtainedSkill) -> Result<Bundle> {
    let gone = |why: String| {
        CommandError::internal(format!("skill `{}` is not in {} any more", skill.id, skill.dir.display()))
            .caused_by(why)
            .hint("run it again: what is missing in the cache is fetched anew")
    };
    let mut bundle =
        Bundle::of_directory(&skill.dir, &|_, _| false).map_err(|error| gone(format!("{error:#}")))?.bundle;
    let is_whole = skill.dir.file_name().is_some_and(|name| *name == *bundle.hash());
    let file = bundle.files.get_mut(Path::new(SKILL_FILE)).filter(|_| is_whole);
    let file = file.ok_or_else(|| gone("it is not what was obtained".into()))?;
    file.bytes = completed(&file.bytes, &skill.name, &skill.description);
    Ok(bundle)
}
