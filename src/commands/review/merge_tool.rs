//! Lets the user settle a conflict in the merge tool that is configured for git, outside of the project: `git mergetool` runs in a
//! repository of its own that has nothing but the three versions.

use super::editor::name_for;
use crate::files::regular;
use crate::git;
use crate::host::Host;
use crate::host::terminal::UserTerminal;
use crate::mount::changes::markers::Marked;
use crate::mount::changes::merge::LARGEST;
use crate::mount::changes::versions::TextVersions;
use crate::tool::{self, at_terminal};
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;

/// The name of the user's merge tool.
pub(super) fn configured(host: &Host, scratch: &Path) -> Option<String> {
    let repository = Repository::new(host, scratch).ok()?;
    let answer = git::run(repository.git(&["config", "--get", "merge.tool"])).ok()?;
    let name = String::from_utf8(answer.stdout).ok()?.trim().to_owned();
    (!name.is_empty()).then_some(name)
}

/// What the user made of the versions.
pub(super) fn merge(
    host: &Host,
    terminal: &UserTerminal,
    scratch: &Path,
    path: &Path,
    versions: &TextVersions,
) -> Result<Vec<u8>> {
    let repository = Repository::new(host, scratch)?;
    let name = name_for(path);
    let file = repository.directory.path().join(&name);
    std::fs::write(&file, Marked::of(versions).text)?;
    let mut entries = String::new();
    let stages = [(1, versions.base.as_deref()), (2, Some(&*versions.ours)), (3, Some(&*versions.theirs))];
    for (stage, text) in stages {
        let Some(text) = text else { continue };
        let hash = repository.git(&["hash-object", "-w", "--no-filters", "--stdin"]);
        let hash = git::run_with(hash, Some(tool::input(text)?), git::Limits::default())?;
        let hash = String::from_utf8(hash.stdout)?;
        entries.push_str(&format!("100644 {} {stage}\t{name}\n", hash.trim()));
    }
    let index = repository.git(&["update-index", "--index-info"]);
    git::run_with(index, Some(tool::input(entries.as_bytes())?), git::Limits::default())?;
    let mut command =
        repository.git(&["-c", "mergetool.keepBackup=false", "mergetool", "--no-prompt", "--", &name]);
    let ended_well = at_terminal::run(terminal, &mut command, repository.directory.path(), None)?;
    if !ended_well {
        bail!("the merge tool failed");
    }
    regular::read(&file, LARGEST).context("what the merge tool wrote cannot be read")
}

/// An empty repository for one conflict; gone with the value.
struct Repository<'a> {
    host: &'a Host,
    directory: tempfile::TempDir,
}

impl Repository<'_> {
    fn new<'a>(host: &'a Host, scratch: &Path) -> Result<Repository<'a>> {
        let directory = tempfile::Builder::new().prefix("merge-").tempdir_in(scratch)?;
        let repository = Repository { host, directory };
        git::run(repository.git(&["init", "--quiet", "--template="]))?;
        Ok(repository)
    }

    fn git(&self, words: &[&str]) -> Command {
        let root = self.directory.path();
        let mut command = git::command(root);
        command.args(words).env("GIT_CEILING_DIRECTORIES", root);
        // The tool speaks the user's language.
        match self.host.env.get("LC_ALL") {
            Some(locale) => command.env("LC_ALL", locale),
            None => command.env_remove("LC_ALL"),
        };
        command
    }
}
