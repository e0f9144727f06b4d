//! Puts what a plan generated where the harness finds it, and fills in what only a real run knows.
//! Everything is written below the session directory, readable by its owner alone.

use super::error::LaunchError;
use crate::harness::adapter;
use crate::host::Host;
use crate::model::mount::CONVERSATION_DIR;
use crate::model::plan::{AgentPlan, FileBody, LinkFarm, RunPlan};
use crate::model::secrets::Secrets;
use crate::model::template::{Hole, Template, json_literal};
use crate::mount::ChildCommand;
use crate::mount::fs::cleanup;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// What the templates of a plan stand for in this run.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    pub session_dir: &'a Path,
    pub session_id: &'a str,
    /// The id of a conversation that begins.
    pub conversation_id: &'a str,
    /// The root of the project as the harness sees it.
    pub mount: &'a Path,
}

impl Default for Places<'_> {
    fn default() -> Self {
        Places { session_dir: Path::new(""), session_id: "", conversation_id: "", mount: Path::new("") }
    }
}

/// What of the session directory the harness has to see.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Shown {
    pub read_only: Vec<PathBuf>,
    /// Directories that the harness keeps things in.
    pub writable: Vec<PathBuf>,
}

/// Makes the directories of the user's home that stay writable at the sandbox level `strict`: what is not there when the
/// mount is made cannot be left open, and a harness that runs for the first time dies where it cannot make them.
pub fn make_state(plan: &RunPlan, host: &Host) {
    let Some(home) = host.home_dir() else { return };
    // A name with an ending is a file, which is its harness's own to make.
    let is_directory = |path: &&PathBuf| path.starts_with(&home) && path.extension().is_none();
    let config = plan.mount.harness_config.iter().map(|config| &config.dir);
    for dir in plan.mount.writable.iter().chain(config).filter(is_directory) {
        // Where this fails the harness says more about it than we could.
        let _ = make_private(dir);
    }
}

/// Writes the files of a plan. One that is there already is replaced: a session that goes on gets them anew.
pub fn write_files(plan: &AgentPlan, session_dir: &Path) -> Result<Shown> {
    let places = Places { session_dir, ..Places::default() };
    let mut shown = Shown::default();
    let paths: Vec<PathBuf> = plan
        .files
        .iter()
        .map(|file| fill(&file.path, &places, &BTreeMap::new()).map(PathBuf::from))
        .collect::<Result<_>>()?;
    for (file, path) in plan.files.iter().zip(&paths) {
        let written = match &file.body {
            FileBody::Content(content) => {
                let text = fill(content, &places, &BTreeMap::new())?;
                write_private(path, text.as_encoded_bytes())
            }
            // What an earlier run of the session left there could be configuration.
            FileBody::Directory(_) if !path.ends_with(CONVERSATION_DIR) => {
                cleanup::remove_tree(path).and_then(|()| make_private(path))
            }
            FileBody::Directory(_) => make_private(path),
            FileBody::LinksTo(farm) => link(farm, path, &paths),
        };
        written.with_context(|| format!("{} cannot be written", path.display()))?;
        let in_writable = shown.writable.iter().any(|dir| path.starts_with(dir));
        match file.body {
            _ if in_writable => {}
            FileBody::Content(_) => shown.read_only.push(path.clone()),
            FileBody::Directory(_) | FileBody::LinksTo(_) => shown.writable.push(path.clone()),
        }
    }
    Ok(shown)
}

/// Takes the values of secrets out of the files of a plan when they are no longer needed. A run that goes on gets them anew.
pub fn redact_files(plan: &AgentPlan, session_dir: &Path, secrets: &Secrets) -> Result<()> {
    if secrets.is_empty() {
        return Ok(());
    }
    let places = Places { session_dir, ..Places::default() };
    for file in &plan.files {
        let FileBody::Content(content) = &file.body else { continue };
        let text = fill(content, &places, &BTreeMap::new())?;
        let Some(text) = text.to_str() else { continue };
        let redacted = secrets.redact(text);
        if redacted != text {
            let path = PathBuf::from(fill(&file.path, &places, &BTreeMap::new())?);
            if path.symlink_metadata().is_err() {
                continue;
            }
            write_private(&path, redacted.as_bytes())
                .with_context(|| format!("{} cannot be written", path.display()))?;
        }
    }
    Ok(())
}

/// Where in a session directory a harness keeps conversations, relative to it.
pub fn conversation_places(plan: &AgentPlan) -> Result<Vec<PathBuf>> {
    let places = Places::default();
    let mut found = vec![PathBuf::from(CONVERSATION_DIR)];
    for file in &plan.files {
        if let FileBody::LinksTo(farm) = &file.body {
            let dir = fill(&file.path, &places, &BTreeMap::new())?;
            // Without a session directory it begins with the slash that follows it.
            let dir = Path::new(&dir).components().skip(1).collect::<PathBuf>();
            found.extend(farm.kept.iter().map(|name| dir.join(name)));
        }
    }
    Ok(found)
}

/// The command of a plan with everything filled in. Values of variables go into the environment and nowhere else.
pub fn command(plan: &AgentPlan, program: &Path, places: &Places<'_>, host: &Host) -> Result<ChildCommand> {
    let mut argv = vec![program.as_os_str().to_owned()];
    for arg in &plan.command.args {
        argv.push(fill(arg, places, &host.env)?);
    }
    let mut env = vec![(OsString::from("AGENTWORKFORCE_TEST_KILL_AT"), None)];
    for (name, value) in &plan.command.env {
        env.push((OsString::from(name), Some(fill(value, places, &host.env)?)));
    }
    Ok(ChildCommand { argv, env, ends_at: Some(adapter(plan.harness.kind).ends_at) })
}

fn fill(template: &Template, places: &Places<'_>, env: &BTreeMap<String, String>) -> Result<OsString> {
    let mut filled = Vec::new();
    for hole in &template.0 {
        match hole {
            Hole::Text(text) => filled.extend_from_slice(text.as_bytes()),
            Hole::Session => filled.extend_from_slice(places.session_dir.as_os_str().as_encoded_bytes()),
            Hole::SessionId => filled.extend_from_slice(places.session_id.as_bytes()),
            Hole::ConversationId => filled.extend_from_slice(places.conversation_id.as_bytes()),
            Hole::Mount => filled.extend(quoted(places.mount.as_os_str())),
            Hole::Variable(name) => filled.extend_from_slice(variable(name, env)?.as_bytes()),
            Hole::JsonVariable(name) => filled.extend(json_literal(variable(name, env)?).into_bytes()),
        }
    }
    Ok(OsString::from_vec(filled))
}

/// The plan leaves out what has no value; one that is missing here went away in between.
fn variable<'e>(name: &str, env: &'e BTreeMap<String, String>) -> Result<&'e str, LaunchError> {
    env.get(name).map(String::as_str).ok_or_else(|| LaunchError::VariableUnset { name: name.to_owned() })
}

/// The root stands in quoted strings only.
fn quoted(text: &OsStr) -> Vec<u8> {
    let mut bytes = Vec::new();
    for &byte in text.as_encoded_bytes() {
        if matches!(byte, b'"' | b'\\') {
            bytes.push(b'\\');
        }
        bytes.push(byte);
    }
    bytes
}

fn make_private(dir: &Path) -> std::io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Replaces whatever has the name, and never writes through a link.
pub fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        make_private(parent)?;
    }
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)
}

/// Links to the entries of a directory of the user's, which may not exist. A name that a file of ours takes is left out: writing
/// ours must not end in theirs.
fn link(farm: &LinkFarm, dir: &Path, ours: &[PathBuf]) -> std::io::Result<()> {
    make_private(dir)?;
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_symlink() || !farm.kept.iter().any(|kept| entry.file_name() == kept.as_str()) {
            cleanup::remove_tree(&entry.path())?;
        }
    }
    let theirs = Path::new(&farm.directory);
    let names: Vec<OsString> = if farm.entries.iter().any(|entry| entry == "*") {
        match std::fs::read_dir(theirs) {
            Ok(entries) => {
                entries.map(|entry| entry.map(|entry| entry.file_name())).collect::<std::io::Result<_>>()?
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        }
    } else {
        farm.entries.iter().map(OsString::from).filter(|name| theirs.join(name).exists()).collect()
    };
    for name in farm.new.iter().filter_map(|name| name.strip_suffix('/')) {
        // A directory cannot be made through a link that leads nowhere.
        make_private(&theirs.join(name))?;
    }
    let new = farm.new.iter().map(|name| OsString::from(name.trim_end_matches('/')));
    if !farm.new.is_empty() {
        make_private(theirs)?;
    }
    for name in names.into_iter().chain(new) {
        let link = dir.join(&name);
        if ours.contains(&link) || link.symlink_metadata().is_ok() {
            continue;
        }
        std::os::unix::fs::symlink(theirs.join(&name), &link)?;
    }
    Ok(())
}
