//! The persona's instruction file as the mount will have it. The repository's own file stays as it is.

use super::error::RunError;
use crate::load::snapshot::{Item, Snapshot};
use crate::model::mount::MountSpec;
use crate::model::persona::SidecarMode;
use crate::model::plan::PlannedSidecar;
use crate::mount::InjectedFile;
use anyhow::Result;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// `extend` reads the repository's file and adds to it.
pub fn sidecar(
    spec: &MountSpec,
    sidecar: &PlannedSidecar,
    snapshot: Option<&Snapshot>,
) -> Result<InjectedFile> {
    let mut bytes = Vec::new();
    if sidecar.mode == SidecarMode::Extend
        && let Some(text) = extended(&spec.root.join(&sidecar.target), snapshot)?
    {
        bytes = text;
        bytes.extend_from_slice(b"\n\n---\n\n");
    }
    bytes.extend_from_slice(sidecar.content.as_bytes());
    Ok(InjectedFile { path: PathBuf::from(&sidecar.target), bytes, mode: 0o644 })
}

/// The repository's own instruction file, if it has one. It comes from the same commit as the persona: what is judged must
/// not instruct its judge.
fn extended(real: &Path, snapshot: Option<&Snapshot>) -> Result<Option<Vec<u8>>> {
    let refused = |why: &str| RunError::Sidecar { path: real.to_owned(), why: why.to_owned() };
    let Some(snapshot) = snapshot else {
        return match std::fs::read(real) {
            Ok(text) => Ok(Some(text)),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(refused(&error.to_string()).into()),
        };
    };
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
