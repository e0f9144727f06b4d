//! The end of `persona reset` and `role reset`: files of a layer are moved aside.

use super::edit::{audit, confirmed};
use super::say;
use crate::error::Result;
use crate::exit::Exit;
use crate::files::{backup, lock};
use crate::model::amounts::counted;
use crate::model::path_text::path_text;
use crate::ui::{Ui, printable};
use crate::workforce::Workforce;
use serde_json::json;
use std::path::{Path, PathBuf};

/// What is reset.
pub struct Reset<'a> {
    pub kind: &'static str,
    /// `None`: everything in the directory.
    pub name: Option<&'a str>,
    pub dir: &'a Path,
    pub files: &'a [PathBuf],
}

/// Asks before a whole layer is removed, keeps a copy, and says what happened.
pub fn finish_reset(workforce: &Workforce, reset: &Reset<'_>, yes: bool, ui: &mut Ui) -> Result<Exit> {
    let Reset { kind, name, dir, files } = *reset;
    if files.is_empty() {
        if ui.is_json() {
            say::json(json!({"action": "reset", "removed": []}), &[], ui);
        } else {
            ui.line(format!(
                "nothing to reset in {}; `--in project` or `--in user` looks in the other layer",
                dir.display()
            ));
        }
        return Ok(Exit::Done);
    }
    if name.is_none()
        && !confirmed(
            workforce,
            &format!("removing {} from {}", counted(files.len(), "file"), dir.display()),
            yes,
            ui,
        )?
    {
        ui.line("nothing was changed");
        return Ok(Exit::Done);
    }
    let _lock = lock::directories(&[dir])?;
    let kept = backup::move_aside(&workforce.host, &workforce.layers.home, &format!("{kind}-reset"), files)?;
    audit(workforce, &format!("reset {kind} {}: {}", name.unwrap_or("all"), counted(files.len(), "file")))?;
    if ui.is_json() {
        let removed: Vec<String> = files.iter().map(|file| path_text(file)).collect();
        say::json(json!({"action": "reset", "removed": removed, "backup": kept}), &[], ui);
    } else {
        ui.line(printable(&format!(
            "reset {}; a copy is in {}",
            counted(files.len(), "file"),
            kept.display()
        )));
    }
    Ok(Exit::Done)
}
