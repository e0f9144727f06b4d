//! The persona's instruction file as the mount will have it. The repository's own file stays as it is.

use super::error::RunError;
use crate::files::regular;
use crate::files::text::MAX_BYTES;
use crate::load::snapshot::{Item, Snapshot};
use crate::model::mount::{Backend, MountSpec, RuleSource};
use crate::model::persona::SidecarMode;
use crate::model::plan::PlannedSidecar;
use crate::mount::InjectedFile;
use crate::mount::fs::tree::Tree;
use crate::rules::PathRules;
use anyhow::Result;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// What the mount has of the repository's own setup in place of files of the working tree: not what a rule of the user or for
/// secrets hides, and not what the persona replaces.
pub fn shown_setup(
    spec: &MountSpec,
    sidecar: Option<&PlannedSidecar>,
    files: Vec<InjectedFile>,
    snapshot: Option<&Snapshot>,
) -> Vec<InjectedFile> {
    let Ok(rules) = PathRules::compile(&spec.rules) else { return Vec::new() };
    if spec.backend == Backend::None {
        return Vec::new();
    }
    let is_shown = |file: &InjectedFile| {
        let decision = rules.decide(&file.path, false);
        let rule = decision.rule.and_then(|rule| spec.rules.get(rule));
        match snapshot {
            None => decision.is_inherited(),
            // The rules hide what the working tree has there, and these are the commit's.
            Some(_) => rule.is_some_and(|rule| rule.source == RuleSource::BuiltinHarness),
        }
    };
    let is_replaced =
        |file: &InjectedFile| sidecar.is_some_and(|sidecar| Path::new(&sidecar.target) == file.path);
    files.into_iter().filter(|file| is_shown(file) && !is_replaced(file)).collect()
}

/// `extend` reads the repository's file and adds to it.
pub fn sidecar(
    spec: &MountSpec,
    sidecar: &PlannedSidecar,
    snapshot: Option<&Snapshot>,
) -> Result<InjectedFile> {
    let mut bytes = Vec::new();
    if sidecar.mode == SidecarMode::Extend
        && let Some(text) = match snapshot {
            Some(snapshot) => extended(&spec.root.join(&sidecar.target), snapshot)?,
            None => extended_on_disk(spec, Path::new(&sidecar.target))?,
        }
    {
        bytes = text;
        bytes.extend_from_slice(b"\n\n---\n\n");
    }
    bytes.extend_from_slice(sidecar.content.as_bytes());
    Ok(InjectedFile { path: PathBuf::from(&sidecar.target), bytes, mode: 0o644 })
}

/// The repository's own instruction file as it is in the working tree. A link to a file that the agent may not see would show it.
fn extended_on_disk(spec: &MountSpec, target: &Path) -> Result<Option<Vec<u8>>> {
    let named = spec.root.join(target);
    let refused = |why: String| RunError::Sidecar { path: named.clone(), why };
    let failed = |error: std::io::Error| refused(error.to_string());
    let root = spec.root.canonicalize().map_err(failed)?;
    let real = match named.canonicalize() {
        Ok(real) => real,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(failed(error).into()),
    };
    let Ok(inside) = real.strip_prefix(&root) else {
        return Err(refused("it is a link that leads out of the project".into()).into());
    };
    let rules = PathRules::compile(&spec.rules).map_err(|error| refused(error.to_string()))?;
    let decision = rules.decide(inside, false);
    let hidden_by = decision.rule.filter(|_| decision.is_hidden()).and_then(|rule| spec.rules.get(rule));
    // Such files are hidden so that the persona decides about them, and this one decides to extend it.
    if let Some(rule) = hidden_by.filter(|rule| rule.source != RuleSource::BuiltinHarness) {
        if inside == target {
            return Ok(None);
        }
        let why = format!("it is a link to {}, which `{}` hides", inside.display(), rule.pattern);
        return Err(refused(why).into());
    }
    // Not by its path: no part of it may become a link meanwhile.
    let (file, _) = Tree::open(&root).and_then(|tree| tree.open_file(inside)).map_err(failed)?;
    Ok(Some(regular::content(file, MAX_BYTES).map_err(failed)?))
}

/// The repository's own instruction file, if it has one. It comes from the same commit as the persona: what is judged must
/// not instruct its judge.
fn extended(real: &Path, snapshot: &Snapshot) -> Result<Option<Vec<u8>>> {
    let refused = |why: &str| RunError::Sidecar { path: real.to_owned(), why: why.to_owned() };
    let (Some(dir), Some(name)) = (real.parent(), real.file_name().and_then(|name| name.to_str())) else {
        return Ok(None);
    };
    let item_of = |name: &str| anyhow::Ok(snapshot.files_of(dir, &[name.to_owned()])?.pop());
    let mut found = item_of(name)?;
    // `CLAUDE.md -> AGENTS.md` is common; a link that leads elsewhere is not followed.
    if let Some((_, Item::Link(target))) = &found
        && let Ok(beside) = std::str::from_utf8(target)
        && !beside.contains('/')
    {
        found = item_of(beside)?;
    }
    match found {
        None => Ok(None),
        Some((_, Item::File(text))) => Ok(Some(text)),
        Some((_, Item::TooLarge(_))) => Err(refused("it is too large in the commit").into()),
        Some((_, Item::Link(_))) => Err(refused("it is a link in the commit that leads elsewhere").into()),
    }
}
