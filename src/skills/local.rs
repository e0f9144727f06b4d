//! Skills on this machine: a directory with SKILL.md, or a single `.md`.

use super::bundle::{Bundle, Gathered, SKILL_FILE, is_skill_file, read_file};
use crate::host::Host;
use crate::rules::{Decision, PathRules};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// Where relative sources are looked for, and what agents may not see.
pub struct Places<'a> {
    pub host: &'a Host,
    /// The directory of the file that declares the skill.
    pub persona_dir: Option<&'a Path>,
    pub project_root: &'a Path,
    pub rules: &'a PathRules,
}

pub fn fetch(source: &str, places: &Places<'_>) -> Result<Gathered> {
    let path = find(source, places)?;
    if path.is_dir() {
        return directory(&path, places);
    }
    let name = path.file_name().unwrap_or_default();
    // The files beside SKILL.md belong to it; but not a whole project that happens to have one.
    if is_skill_file(Path::new(name))
        && let Some(dir) = path.parent().filter(|dir| !holds_a_project(dir, places))
    {
        return directory(dir, places);
    }
    if !path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md")) {
        bail!("`{}` is neither a directory with {SKILL_FILE} nor a `.md`", path.display());
    }
    let real = path.canonicalize()?;
    let dir = real.parent().unwrap_or(Path::new("/"));
    if is_hidden(dir, &real, false, places) {
        bail!("`{}` is hidden from agents", path.display());
    }
    let (bytes, _) = read_file(&real)?;
    Ok(Gathered { bundle: Bundle::of_text(bytes)?, left_out: Vec::new() })
}

/// The place that a source names: as the persona's file sees it, else as the project does.
pub fn find(source: &str, places: &Places<'_>) -> Result<PathBuf> {
    let path = places.host.expand_tilde(source);
    let anchors = places.persona_dir.into_iter().chain([places.project_root]);
    let mut candidates: Vec<PathBuf> = anchors.map(|anchor| anchor.join(&path)).collect();
    candidates.dedup();
    if let Some(found) = candidates.iter().find(|candidate| candidate.exists()) {
        return Ok(found.clone());
    }
    let shown: Vec<String> = candidates.iter().map(|path| format!("`{}`", path.display())).collect();
    bail!("there is no {}", shown.join(" and no "))
}

fn directory(dir: &Path, places: &Places<'_>) -> Result<Gathered> {
    if holds_a_project(dir, places) {
        bail!("`{}` is a whole project, not a skill", dir.display());
    }
    let root = dir.canonicalize().with_context(|| dir.display().to_string())?;
    let gathered = Bundle::of_directory(&root, &|path, is_dir| is_hidden(&root, path, is_dir, places))?;
    if gathered.bundle.text().is_none() {
        bail!("`{}` has no {SKILL_FILE} that agents may see", dir.display());
    }
    Ok(gathered)
}

/// The project, the user's home, or something above them: copying that would show what the mount hides.
fn holds_a_project(dir: &Path, places: &Places<'_>) -> bool {
    let Ok(dir) = dir.canonicalize() else { return false };
    let home = places.host.home_dir();
    let kept = [Some(places.project_root), home.as_deref()];
    kept.into_iter().flatten().filter_map(|path| path.canonicalize().ok()).any(|path| path.starts_with(&dir))
}

/// Whether the rules of the run hide a path from agents. A persona that names a skill wants the skill, so only what is
/// inside of it is judged, not where it lies.
fn is_hidden(skill: &Path, path: &Path, is_dir: bool, places: &Places<'_>) -> bool {
    let Ok(inside) = path.strip_prefix(skill) else { return true };
    let project = places.project_root.canonicalize().ok();
    let at = project.and_then(|project| skill.strip_prefix(project).map(Path::to_owned).ok());
    let mut so_far = at.unwrap_or_default();
    let mut decision = Decision::ROOT;
    let names: Vec<_> = inside.components().collect();
    for (depth, name) in names.iter().enumerate() {
        so_far.push(name);
        decision = places.rules.decide_child(&decision, &so_far, is_dir || depth + 1 < names.len());
    }
    decision.is_hidden()
}
