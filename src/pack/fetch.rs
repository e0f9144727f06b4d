//! Reads the files of a pack from any kind of source into memory. What they mean is decided in `contents`.

use super::error::{FetchFailure, PackError};
use super::source::PackSource;
use super::tree::Tree;
use super::{archive, directory, git, npm, single_persona};
use crate::host::Host;
use crate::remote::error::RemoteError;
use crate::remote::fetch_context::FetchContext;
use crate::remote::git_source::{userinfo, without_password};
use crate::tool::ToolError;
use std::path::Path;
use std::time::Duration;

/// The limits of a fetch.
pub struct Fetching<'a> {
    pub host: &'a Host,
    pub time: Duration,
    /// Called repeatedly during a fetch; `true` stops it.
    pub stop: &'a dyn Fn() -> bool,
}

pub struct Fetched {
    pub tree: Tree,
    /// The commit, where the source has commits.
    pub commit: Option<String>,
}

/// `pinned` is the commit that a lock names.
pub fn fetch(
    source: &PackSource,
    pinned: Option<&str>,
    fetching: &Fetching<'_>,
) -> Result<Fetched, PackError> {
    let fetched = match source {
        PackSource::Directory(dir) => directory::read(dir).map(|tree| (tree, None)),
        PackSource::Archive(file) => {
            directory::open_file(file).and_then(archive::read).map(|tree| (tree, None))
        }
        PackSource::Persona(file) => single_persona::read(file).map(|tree| (tree, None)),
        PackSource::Npm(spec) => {
            with_scratch(fetching, |context| npm::fetch(spec, context)).map(|tree| (tree, None))
        }
        PackSource::Git(source) => with_scratch(fetching, |context| git::fetch(source, pinned, context))
            .map(|(tree, commit)| (tree, Some(commit))),
    };
    match fetched {
        Ok((tree, commit)) => Ok(Fetched { tree, commit }),
        Err(error) => Err(without_secrets(source, &error)),
    }
}

/// With a directory that is removed afterwards.
fn with_scratch<T>(
    fetching: &Fetching<'_>,
    work: impl FnOnce(&FetchContext<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let scratch = tempfile::Builder::new().prefix("agentworkforce-install-").tempdir()?;
    let Fetching { host, time, stop } = *fetching;
    work(&FetchContext { host, scratch: scratch.path(), time, stop })
}

/// The error without the password that the source may contain.
fn without_secrets(source: &PackSource, error: &anyhow::Error) -> PackError {
    let shown = source.lock_text(Path::new("/nonexistent"));
    let secret = match source {
        PackSource::Npm(spec) => userinfo(spec),
        PackSource::Git(source) => userinfo(&source.url),
        _ => None,
    };
    let hide = |text: String| match secret {
        Some(secret) => text.replace(secret, "***"),
        None => without_password(&text),
    };
    let is_archive = matches!(source, PackSource::Archive(_));
    let reason = match error.downcast_ref::<ToolError>() {
        Some(ToolError::TimedOut { .. }) => FetchFailure::TimedOut,
        _ if error.is::<RemoteError>() => FetchFailure::MissingProgram,
        _ if is_archive && error.is::<archive::NotAnArchive>() => FetchFailure::NotAnArchive,
        _ => FetchFailure::Other,
    };
    let causes = error.chain().map(|cause| hide(cause.to_string())).collect();
    PackError::Fetch { shown, reason, causes }
}
