//! Puts obtained skills where a harness reads them: `<target>/<name>/SKILL.md` and the files beside it.

use super::bundle::{Bundle, SKILL_FILE, is_skill_file};
use super::error::SkillError;
use super::frontmatter::completed;
use super::obtain::ObtainedSkill;
use super::powers::without_powers;
use crate::model::printable::printable;
use crate::model::warning::{Warning, WarningCode};
use crate::rules::inherit::is_plugin;
use anyhow::{Context, Result};
use std::borrow::Cow;
use std::collections::BTreeSet;
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
pub fn stage(skills: &[ObtainedSkill], target: &Path) -> Result<Vec<Warning>> {
    let mut warnings = Vec::new();
    for skill in skills {
        let place = target.join(&skill.name);
        let written = completed_bundle(skill, &mut warnings)?.write_to(&place);
        written.with_context(|| format!("skill `{}` cannot be copied to {}", skill.id, place.display()))?;
    }
    Ok(warnings)
}

/// The skills as files for the mount (for codex: below `.agents/skills`).
pub fn files_for_mount(skills: &[ObtainedSkill], below: &Path) -> Result<(Vec<SkillFile>, Vec<Warning>)> {
    let (mut files, mut warnings) = (Vec::new(), Vec::new());
    for skill in skills {
        let place = below.join(&skill.name);
        files.extend(completed_bundle(skill, &mut warnings)?.files.into_iter().map(|(path, file)| {
            SkillFile {
                path: place.join(path),
                bytes: file.bytes,
                mode: if file.executable { 0o755 } else { 0o644 },
            }
        }));
    }
    Ok((files, warnings))
}

/// The skill with the frontmatter that harnesses require, and without settings that give it powers. The text itself is
/// unchanged.
fn completed_bundle(skill: &ObtainedSkill, warnings: &mut Vec<Warning>) -> Result<Bundle, SkillError> {
    let gone =
        |reason: String| SkillError::NotInCache { id: skill.id.clone(), dir: skill.dir.clone(), reason };
    let mut bundle =
        Bundle::of_directory(&skill.dir, &|_, _| false).map_err(|error| gone(format!("{error:#}")))?.bundle;
    let is_unchanged = skill.dir.file_name().is_some_and(|name| *name == *bundle.hash());
    if !is_unchanged {
        return Err(gone("its content has changed".into()));
    }
    let (mut removed, mut is_shortened) = (BTreeSet::new(), false);
    // Harnesses take hooks and servers from plugins.
    let has = bundle.files.len();
    bundle.files.retain(|path, _| !path.ancestors().any(is_plugin));
    let has_plugin = bundle.files.len() < has;
    // Harnesses find skills in the directories of others, too.
    let is_skill = |path: &Path| path.file_name().is_some_and(|name| is_skill_file(Path::new(name)));
    for (_, file) in bundle.files.iter_mut().filter(|(path, _)| is_skill(path)) {
        let harmless = without_powers(&file.bytes);
        removed.extend(harmless.removed);
        is_shortened |= harmless.is_shortened;
        if let Cow::Owned(bytes) = harmless.bytes {
            file.bytes = bytes;
        }
    }
    let mut warn = |text: String| {
        warnings.push(Warning::new(WarningCode::Skill, format!("skill `{}`: {text}", skill.id)));
    };
    if !removed.is_empty() {
        let names: Vec<String> = removed.iter().map(|name| format!("`{}`", printable(name))).collect();
        warn(format!(
            "{} left out: a skill brings instructions, permissions are the persona's",
            names.join(", ")
        ));
    }
    if has_plugin {
        warn("its plugin is left out: a skill brings instructions only".to_owned());
    }
    if is_shortened {
        warn("parts of its frontmatter are left out, because it is not valid YAML".to_owned());
    }
    let file = bundle.files.get_mut(Path::new(SKILL_FILE));
    let file = file.ok_or_else(|| gone("it has no SKILL.md".into()))?;
    file.bytes = completed(&file.bytes, &skill.name, &skill.description);
    Ok(bundle)
}
