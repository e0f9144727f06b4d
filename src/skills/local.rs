//! Reads local skills: a directory with SKILL.md, or a single `.md`.

use super::bundle::{Bundle, CollectedFiles, SKILL_FILE, is_skill_file, read_file};
use crate::host::Host;
use crate::rules::{Decision, PathRules};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// Where relative sources are searched, and the rules for hidden files.
pub struct SearchPaths<'a> {
    pub host: &'a Host,
    /// The directory of the file that declares the skill.
    pub persona_dir: Option<&'a Path>,
    pub project_root: &'a Path,
    pub rules: &'a PathRules,
}

pub fn fetch(source: &str, paths: &SearchPaths<'_>) -> Result<CollectedFiles> {
    let path = find(source, paths)?;
    if path.is_dir() {
        return directory(&path, paths);
    }
    let name = path.file_name().unwrap_or_default();
    // The files beside SKILL.md belong to the skill, unless the directory is a whole project.
    if is_skill_file(Path::new(name))
        && let Some(dir) = path.parent().filter(|dir| !contains_project(dir, paths))
    {
        return directory(dir, paths);
    }
    if !path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md")) {
        bail!("`{}` is neither a directory with {SKILL_FILE} nor a `.md`", path.display());
    }
    let real = path.canonicalize()?;
    let dir = real.parent().unwrap_or(Path::new("/"));
    if is_hidden(dir, &real, false, paths) {
        bail!("`{}` is hidden from agents", path.display());
    }
    let (bytes, _) = read_file(&real)?;
    Ok(CollectedFiles { bundle: Bundle::of_text(bytes)?, hidden: Vec::new() })
}

/// The path of a source: relative to the persona's file, else to the project.
pub fn find(source: &str, paths: &SearchPaths<'_>) -> Result<PathBuf> {
    let path = paths.host.expand_tilde(source);
    let anchors = paths.persona_dir.into_iter().chain([paths.project_root]);
    let mut candidates: Vec<PathBuf> = anchors.map(|anchor| anchor.join(&path)).collect();
    candidates.dedup();
    if let Some(found) = candidates.iter().find(|candidate| candidate.exists()) {
        return Ok(found.clone());
    }
    let shown: Vec<String> = candidates.iter().map(|path| format!("`{}`", path.display())).collect();
    bail!("there is no {}", shown.join(" and no "))
}

fn directory(dir: &Path, paths: &SearchPaths<'_>) -> Result<CollectedFiles> {
    if contains_project(dir, paths) {
        bail!("`{}` is a whole project, not a skill", dir.display());
    }
    let root = dir.canonicalize().with_context(|| dir.display().to_string())?;
    let collected = Bundle::of_directory(&root, &|path, is_dir| is_hidden(&root, path, is_dir, paths))?;
    if collected.bundle.text().is_none() {
        bail!("`{}` has no {SKILL_FILE} that agents may see", dir.display());
    }
    Ok(collected)
}

/// Whether it is the project, the user's home, or a parent of them: copying that would reveal what the mount hides.
fn contains_project(dir: &Path, paths: &SearchPaths<'_>) -> bool {
    let Ok(dir) = dir.canonicalize() else { return false };
    let home = paths.host.home_dir();
    let protected = [Some(paths.project_root), home.as_deref()];
    protected
        .into_iter()
        .flatten()
        .filter_map(|path| path.canonicalize().ok())
        .any(|path| path.starts_with(&dir))
}

/// Whether the rules of the run hide a path from agents. The persona names the skill itself, so the rules apply only to
/// the paths in it.
fn is_hidden(skill: &Path, path: &Path, is_dir: bool, paths: &SearchPaths<'_>) -> bool {
    let Ok(inside) = path.strip_prefix(skill) else { return true };
    let project = paths.project_root.canonicalize().ok();
    let at = project.and_then(|project| skill.strip_prefix(project).map(Path::to_owned).ok());
    let mut so_far = at.unwrap_or_default();
    let mut decision = Decision::ROOT;
    let names: Vec<_> = inside.components().collect();
    for (depth, name) in names.iter().enumerate() {
        so_far.push(name);
        decision = paths.rules.decide_child(&decision, &so_far, is_dir || depth + 1 < names.len());
    }
    decision.is_hidden()
}
