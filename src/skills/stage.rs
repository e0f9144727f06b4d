//! Puts obtained skills where a harness reads them: `<target>/<name>/SKILL.md` and the files beside it.

use super::bundle::{Bundle, SKILL_FILE};
use super::error::SkillError;
use super::frontmatter::completed;
use super::obtain::ObtainedSkill;
use anyhow::{Context, Result};
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
        let written = completed_bundle(skill)?.write_to(&place);
        written.with_context(|| format!("skill `{}` cannot be copied to {}", skill.id, place.display()))?;
    }
    Ok(())
}

/// The skills as files for the mount (for codex: below `.agents/skills`).
pub fn files_for_mount(skills: &[ObtainedSkill], below: &Path) -> Result<Vec<SkillFile>> {
    let mut files = Vec::new();
    for skill in skills {
        let place = below.join(&skill.name);
        files.extend(completed_bundle(skill)?.files.into_iter().map(|(path, file)| SkillFile {
            path: place.join(path),
            bytes: file.bytes,
            mode: if file.executable { 0o755 } else { 0o644 },
        }));
    }
    Ok(files)
}

/// The skill with the frontmatter that harnesses require. The text itself is unchanged.
fn completed_bundle(skill: &ObtainedSkill) -> Result<Bundle, SkillError> {
    let gone =
        |reason: String| SkillError::NotInCache { id: skill.id.clone(), dir: skill.dir.clone(), reason };
    let mut bundle =
        Bundle::of_directory(&skill.dir, &|_, _| false).map_err(|error| gone(format!("{error:#}")))?.bundle;
    let is_unchanged = skill.dir.file_name().is_some_and(|name| *name == *bundle.hash());
    let file = bundle.files.get_mut(Path::new(SKILL_FILE)).filter(|_| is_unchanged);
    let file = file.ok_or_else(|| gone("its content has changed".into()))?;
    file.bytes = completed(&file.bytes, &skill.name, &skill.description);
    Ok(bundle)
}
