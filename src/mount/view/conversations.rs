//! Keeps the conversations that a harness writes to a private layer, so that a session can be continued: they are copied to the
//! session after a run, and into the layer of the next run. None of them reach the user's home.

use super::config_layer::{ConfigLayer, Kept};
use super::request::{at, make_dir};
use crate::model::mount::CONVERSATION_DIR;
use crate::mount::fs::plain_copy::PlainCopy;
use crate::mount::fs::tree::Tree;
use anyhow::Result;
use std::io::ErrorKind;
use std::path::Path;

/// Copies the conversations in the layers to the session.
pub(super) fn keep(layers: &[ConfigLayer], session_dir: &Path) -> Result<()> {
    copy(layers, session_dir, |copy, layer, kept, stored| {
        let upper = match Tree::open(&layer.overlay.upper) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            upper => upper?,
        };
        let is_instruction = |path: &Path| layer.is_instruction(&kept.inside.join(path));
        copy.copy((&upper, &kept.inside), (stored, &kept.stored), &is_instruction)
    })
}

/// Copies the session's conversations into new layers. They cover the user's own files of the same name inside.
pub(super) fn put_back(layers: &[ConfigLayer], session_dir: &Path) -> Result<()> {
    copy(layers, session_dir, |copy, layer, kept, stored| {
        let upper = Tree::open(&layer.overlay.upper)?;
        copy.copy((stored, &kept.stored), (&upper, &kept.inside), &|_| false)
    })
}

fn copy(
    layers: &[ConfigLayer],
    session_dir: &Path,
    one: impl Fn(&mut PlainCopy, &ConfigLayer, &Kept, &Tree) -> std::io::Result<()>,
) -> Result<()> {
    if layers.iter().all(|layer| layer.kept.is_empty()) {
        return Ok(());
    }
    let dir = session_dir.join(CONVERSATION_DIR);
    make_dir(&dir).map_err(|error| at(&dir, error))?;
    let stored = Tree::open(&dir).map_err(|error| at(&dir, error))?;
    let mut copy = PlainCopy::default();
    for layer in layers {
        for kept in &layer.kept {
            one(&mut copy, layer, kept, &stored).map_err(|error| at(&dir, error))?;
        }
    }
    Ok(())
}
