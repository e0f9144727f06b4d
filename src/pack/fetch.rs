//! From a source to the files of a pack in memory, whatever it takes to get them.

use super::source::{ACCEPTED, PackSource};
use super::tree::Tree;
use super::{archive, directory, git, npm, refused, single};
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::host::Host;
use crate::remote::git_source::{userinfo, without_password};
use crate::remote::surroundings::Surroundings;
use crate::tool::ToolError;
use std::path::Path;
use std::time::Duration;

/// How to fetch.
pub struct Fetching<'a> {
    pub host: &'a Host,
    pub time: Duration,
    /// Asked again and again while something is fetched: whether the user wants to stop.
    pub stop: &'a dyn Fn() -> bool,
}

pub struct Fetched {
    pub tree: Tree,
    /// The commit, where the source has commits.
    pub commit: Option<String>,
}

/// `pinned` is the commit that a lock names.
pub fn fetch(source: &PackSource, pinned: Option<&str>, fetching: &Fetching<'_>) -> Result<Fetched> {
    let fetched = match source {
        PackSource::Directory(dir) => directory::read(dir).map(|tree| (tree, None)),
        PackSource::Archive(file) => {
            directory::open_file(file).and_then(archive::read).map(|tree| (tree, None))
        }
        PackSource::Persona(file) => single::read(file).map(|tree| (tree, None)),
        PackSource::Npm(spec) => aside(fetching, |around| npm::fetch(spec, around)).map(|tree| (tree, None)),
        PackSource::Git(source) => aside(fetching, |around| git::fetch(source, pinned, around))
            .map(|(tree, commit)| (tree, Some(commit))),
    };
    match fetched {
        Ok((tree, commit)) => Ok(Fetched { tree, commit }),
        Err(error) => Err(explained(source, &error)),
    }
}

/// With a directory that is thrown away afterwards, whatever happens.
fn aside<T>(
    fetching: &Fetching<'_>,
    work: impl FnOnce(&Surroundings<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let scratch = tempfile::Builder::new().prefix("agentworkforce-install-").tempdir()?;
    let Fetching { host, time, stop } = *fetching;
    work(&Surroundings { host, scratch: scratch.path(), time, stop })
}

fn explained(source: &PackSource, error: &anyhow::Error) -> CommandError {
    let shown = source.kept(Path::new("/nonexistent"));
    let secret = match source {
        PackSource::Npm(spec) => userinfo(spec),
        PackSource::Git(source) => userinfo(&source.url),
        _ => None,
    };
    let hide = |text: String| match secret {
        Some(secret) => text.replace(secret, "***"),
        None => without_password(&text),
    };
    let mut explained = refused(format!("{shown} is not installed"));
    explained.causes = error.chain().map(|cause| hide(cause.to_string())).collect();
    match (error.downcast_ref::<ToolError>(), source) {
        (Some(ToolError::TimedOut { .. }), _) => {
            explained.exit = Exit::TimedOut;
            explained.hint("check the network and the registry, or give it longer with `--timeout`")
        }
        (_, PackSource::Archive(_)) if error.downcast_ref::<archive::NoArchive>().is_some() => {
            explained.hint(ACCEPTED)
        }
        _ => explained,
    }
}
