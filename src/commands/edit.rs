//! What the editing commands share: where a change goes, and the record of it.

use crate::cli::LayerArg;
use crate::error::{CommandError, Result};
use crate::files::error::cannot_write;
use crate::files::json_file;
use crate::load::places::PROJECT_DIR;
use crate::load::roles;
use crate::model::shape::{Object, Severity};
use crate::model::source::LayerId;
use crate::model::words::nearest;
use crate::session::SessionStore;
use crate::workforce::Workforce;
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What becomes of a key.
#[derive(Debug, Clone, PartialEq)]
pub enum KeyEdit {
    Set(Value),
    Remove,
}

impl KeyEdit {
    pub fn apply(self, object: &mut Object, key: &str) {
        json_file::set(
            object,
            key,
            match self {
                KeyEdit::Set(value) => Some(value),
                KeyEdit::Remove => None,
            },
        );
    }
}

/// The directory that has to be locked for an edit of this file.
pub fn edit_dir(file: &Path) -> &Path {
    file.parent().unwrap_or(Path::new("."))
}

/// Changes a file, unless there is nothing to change; then no file is made either. The caller holds the lock.
pub fn edit_if_changed(file: &Path, change: impl FnOnce(&mut Object) -> Result<()>) -> Result<bool> {
    let before = json_file::read(file)?.unwrap_or_default();
    let mut object = before.clone();
    change(&mut object)?;
    if object == before {
        return Ok(false);
    }
    json_file::stage(file, &object)?.commit()?;
    Ok(true)
}

/// Refuses while a run is going on with a persona that this is about.
pub fn refuse_while_running(workforce: &Workforce, concerns: impl Fn(&str) -> bool) -> Result<()> {
    for session in SessionStore::new(&workforce.layers.home).all()? {
        let Some(status) = session.status().ok().flatten().filter(|status| concerns(&status.persona)) else {
            continue;
        };
        if session.is_live_after_a_moment()? {
            return Err(CommandError::usage(format!(
                "persona `{}` is in use by the running session {}",
                status.persona, session.id
            ))
            .hint("wait until the run has ended; `agentworkforce sessions list` shows it"));
        }
    }
    Ok(())
}

/// The directory of a layer that edits may go to.
pub fn layer_dir(workforce: &Workforce, layer: LayerArg) -> PathBuf {
    match layer {
        LayerArg::User => workforce.layers.home.clone(),
        LayerArg::Project => {
            let root = workforce.layers.project_root.clone();
            root.unwrap_or_else(|| workforce.host.cwd.clone()).join(PROJECT_DIR)
        }
    }
}

/// Where overlays of built-in personas go: the user's personas.
pub fn user_personas(workforce: &Workforce) -> Result<PathBuf> {
    let layer = workforce.layers.all.iter().find(|layer| layer.id == LayerId::User);
    layer.and_then(|layer| layer.personas.clone()).ok_or_else(|| {
        CommandError::usage("the config leaves the user's own personas out of the layers").hint(
            "add their directory with `agentworkforce sources add`, or write the overlay into the project with `--in project`",
        )
    })
}

/// One line in the home's log: what was changed, from what, to what.
pub fn audit(workforce: &Workforce, text: &str) -> Result<()> {
    let dir = workforce.layers.home.join("logs");
    std::fs::create_dir_all(&dir).map_err(|error| cannot_write(&dir, error))?;
    let path = dir.join("audit.log");
    let fail = |error: std::io::Error| cannot_write(&path, error);
    let mut log = std::fs::OpenOptions::new().create(true).append(true).open(&path).map_err(fail)?;
    let time = workforce.host.now().strftime("%Y-%m-%dT%H:%M:%SZ");
    // One write: lines of processes that run at once do not mix.
    Ok(log.write_all(format!("{time} {}\n", text.replace(['\n', '\r'], " ")).as_bytes()).map_err(fail)?)
}

/// Text that may be cleared: an empty one is `None`.
pub fn optional(text: &str) -> Option<String> {
    let trimmed = text.trim();
    (!trimmed.is_empty()).then(|| trimmed.to_owned())
}

/// A list written with commas.
pub fn words(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Asks on a terminal; without one the answer must have been given beforehand.
pub fn confirmed(workforce: &Workforce, question: &str, yes: bool, ui: &mut crate::ui::Ui) -> Result<bool> {
    if yes {
        return Ok(true);
    }
    if !workforce.host.stdin_is_terminal || ui.is_json() {
        return Err(CommandError::usage(format!("{question} needs a yes")).hint("add `--yes`"));
    }
    super::prompter::forget_typed();
    ui.say(&format!("{question}? [y/N]"));
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Why a role cannot be used: its files are broken, or there is none.
pub fn unknown_role(workforce: &Workforce, key: &str) -> CommandError {
    let (_, problems) = workforce.role(key);
    if let Some(problem) = problems.iter().find(|problem| problem.severity == Severity::Error) {
        return CommandError::usage(format!("role `{key}` is not valid"))
            .caused_by(problem)
            .maybe_hint(problem.fix.clone());
    }
    let (keys, _) = roles::keys(&workforce.layers);
    let near = nearest(key, keys.iter().map(String::as_str)).map(|near| format!("did you mean `{near}`?"));
    CommandError::usage(format!("there is no role `{key}`"))
        .maybe_hint(near)
        .hint("`agentworkforce role list` shows them")
}
