//! The kinds of sources that packs come from, and how a source is written in the lock. Fetches nothing.

use super::error::PackError;
use crate::host::Host;
use crate::remote::git_source::{GitSource, without_password};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PackSource {
    Directory(PathBuf),
    Archive(PathBuf),
    /// The JSON file of a single persona, with the files that it names.
    Persona(PathBuf),
    /// A package for npm: a name with or without a version or tag, the URL of an archive, `file:<path>`.
    Npm(String),
    Git(GitSource),
}

impl PackSource {
    /// Parses what the user wrote; a local path must exist.
    pub fn parse(text: &str, host: &Host) -> Result<PackSource, PackError> {
        let source = PackSource::of_text(text, host, &host.cwd)?;
        match source.local_path().and_then(|path| path.metadata().err().zip(Some(path))) {
            Some((error, path)) => Err(PackError::NotFound { path: path.to_owned(), source: error }),
            None => Ok(source),
        }
    }

    /// The path of a local file or directory.
    pub fn local_path(&self) -> Option<&Path> {
        match self {
            PackSource::Directory(path) | PackSource::Archive(path) | PackSource::Persona(path) => Some(path),
            PackSource::Npm(_) | PackSource::Git(_) => None,
        }
    }

    /// Parses a source of the lock, whether or not it still exists. Relative paths start at `base`.
    pub fn of_text(text: &str, host: &Host, base: &Path) -> Result<PackSource, PackError> {
        let text = text.trim();
        if text.is_empty() || text.starts_with('-') || text.contains(char::is_control) {
            return Err(PackError::InvalidSource(text.to_owned()));
        }
        if let Some(spec) = text.strip_prefix("npm:") {
            return if is_package(spec) {
                Ok(PackSource::Npm(spec.to_owned()))
            } else {
                Err(PackError::InvalidPackage(spec.to_owned()))
            };
        }
        let at = |text: &str| host.absolute(&base.join(host.expand_tilde(text)));
        let plain = text.strip_prefix("git+").unwrap_or(text);
        if plain != text || is_git(text) {
            let mut source = GitSource::parse(plain);
            if !source.url.contains(':') {
                source.url = at(&source.url).display().to_string();
            }
            return Ok(PackSource::Git(source));
        }
        if let Some(path) = text.strip_prefix("file:") {
            return Ok(PackSource::Npm(format!("file:{}", at(path).display())));
        }
        let is_on_server = text.starts_with("https://") || text.starts_with("http://");
        if is_on_server && !text.contains('#') {
            return Ok(PackSource::Npm(text.to_owned()));
        }
        let is_named_as_path = text.starts_with(['.', '/', '~']);
        let path = at(text);
        let is_file = is_archive(text) || is_json(text);
        if is_named_as_path || is_file || is_relative_path(text, &path) {
            let is_directory = path.metadata().map_or(!is_file, |found| found.is_dir());
            return Ok(match is_directory {
                true => PackSource::Directory(path),
                false if is_json(text) => PackSource::Persona(path),
                false => PackSource::Archive(path),
            });
        }
        if !is_package(text) {
            // npm would clone a repository and run its scripts.
            return Err(PackError::UnknownSource(text.to_owned()));
        }
        Ok(PackSource::Npm(text.to_owned()))
    }

    /// The source as in the lock: without a password, and with paths relative to `base` where they are close to it.
    pub fn lock_text(&self, base: &Path) -> String {
        let path = |path: &Path| relative_to(base, path);
        match self {
            PackSource::Directory(dir) => {
                let text = path(dir);
                // A blank at the end would be trimmed, and `x.tgz` read as an archive.
                let needs_end = text.ends_with(char::is_whitespace) || is_archive(&text) || is_json(&text);
                if needs_end { text + "/" } else { text }
            }
            PackSource::Archive(file) | PackSource::Persona(file) => path(file),
            PackSource::Npm(spec) => match spec.strip_prefix("file:") {
                Some(file) => format!("file:{}", path(Path::new(file))),
                // The name of a package may look like a file or a repository.
                None if is_package(spec) && looks_like_path_or_git(spec) => format!("npm:{spec}"),
                None => without_password(spec),
            },
            PackSource::Git(source) => {
                let mut text = if source.url.starts_with('/') {
                    path(Path::new(&source.url))
                } else {
                    without_password(&source.url)
                };
                if let Some(tail) = &source.tail {
                    text = format!("{text}/tree/{tail}");
                }
                // The last `#` starts the name, so a `#` in the path needs another one after it.
                if source.name.is_some() || text.contains('#') {
                    text = format!("{text}#{}", source.name.as_deref().unwrap_or_default());
                }
                // The name may look like a URL, too.
                let text = without_password(&text);
                if is_git(&text) { text } else { format!("git+{text}") }
            }
        }
    }

    /// Whether both are versions of one pack, so that one may replace the other.
    pub fn is_same_pack(&self, other: &PackSource) -> bool {
        match (self, other) {
            (PackSource::Npm(a), PackSource::Npm(b)) => npm_name(a) == npm_name(b),
            (PackSource::Git(a), PackSource::Git(b)) => {
                without_password(&a.url).trim_end_matches(".git")
                    == without_password(&b.url).trim_end_matches(".git")
            }
            (PackSource::Archive(_), PackSource::Archive(_)) => true,
            (a, b) => a == b,
        }
    }

    /// The name of a pack without a manifest.
    pub fn name(&self) -> String {
        let tail = |text: &str| {
            let text = text.trim_end_matches('/');
            text.rsplit(['/', ':']).next().unwrap_or(text).to_owned()
        };
        match self {
            PackSource::Directory(path) => tail(&path.display().to_string()),
            PackSource::Persona(path) => {
                path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
            }
            PackSource::Archive(path) => {
                let name = tail(&path.display().to_string());
                let endings = [".tar.gz", ".tgz", ".tar"];
                endings.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name).to_owned()
            }
            PackSource::Npm(spec) => npm_name(spec).to_owned(),
            PackSource::Git(source) => tail(source.url.trim_end_matches(".git")),
        }
    }
}

/// `name`, `name@version` or `name@tag`, with or without a scope: only what npm fetches from a registry.
fn is_package(spec: &str) -> bool {
    let name = npm_name(spec);
    // npm would read a name that starts with a hyphen as an option.
    let word = |text: &str| {
        !text.is_empty()
            && !text.starts_with('-')
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "-._~".contains(c))
    };
    let is_name = match name.strip_prefix('@') {
        Some(scoped) => scoped.split_once('/').is_some_and(|(scope, name)| word(scope) && word(name)),
        None => word(name),
    };
    is_name && !spec[name.len()..].contains([':', '/', '#'])
}

/// `@scope/name@version` without the version.
fn npm_name(spec: &str) -> &str {
    match spec.char_indices().skip(1).find(|(_, c)| *c == '@') {
        Some((at, _)) => &spec[..at],
        None => spec,
    }
}

/// A relative path, valid in another checkout of both. Absolute where they share nothing but the root.
fn relative_to(base: &Path, path: &Path) -> String {
    let shared = base.components().zip(path.components()).take_while(|(a, b)| a == b).count();
    let up = base.components().count() - shared;
    let rest: PathBuf = path.components().skip(shared).collect();
    match (up, shared) {
        (0, _) => format!("./{}", rest.display()),
        (_, 0 | 1) => path.display().to_string(),
        _ => {
            let ups = vec![".."; up].join("/");
            if rest.as_os_str().is_empty() { ups } else { format!("{ups}/{}", rest.display()) }
        }
    }
}

fn looks_like_path_or_git(text: &str) -> bool {
    is_archive(text) || is_json(text) || is_git(text) || text.starts_with(['.', '~'])
}

fn is_json(text: &str) -> bool {
    text.to_ascii_lowercase().ends_with(".json")
}

fn is_archive(text: &str) -> bool {
    [".tgz", ".tar.gz", ".tar"].iter().any(|ending| text.to_ascii_lowercase().ends_with(ending))
}

/// An existing path such as `packs/mine`, which npm would read as a repository.
fn is_relative_path(text: &str, path: &Path) -> bool {
    !text.starts_with('@') && text.contains('/') && path.exists()
}

fn is_git(text: &str) -> bool {
    let place = text.split('#').next().unwrap_or_default().trim_end_matches('/');
    let ends_in_git =
        |place: &str| place.strip_suffix(".git").is_some_and(|rest| !rest.is_empty() && !rest.ends_with('/'));
    let has_scheme = ["ssh://", "git://", "file://"].iter().any(|scheme| text.starts_with(scheme));
    let is_page = (text.starts_with("https://") || text.starts_with("http://")) && !is_archive(place);
    text.starts_with("git@")
        || has_scheme
        || is_page
        || ends_in_git(place.split("/tree/").next().unwrap_or(place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn host() -> Host {
        Host {
            env: BTreeMap::from([("HOME".into(), "/home/u".into())]),
            cwd: "/nowhere/here".into(),
            stdin_is_terminal: false,
            stderr_is_terminal: false,
        }
    }

    fn parsed(text: &str) -> Result<PackSource, PackError> {
        PackSource::parse(text, &host())
    }

    #[test]
    fn packages_and_repositories_are_distinguished() {
        for spec in ["personas", "@scope/pack", "@scope/pack@^1.2", "pack@next", "https://h.example/p.tgz"] {
            assert_eq!(parsed(spec).unwrap(), PackSource::Npm(spec.into()), "{spec}");
        }
        let git =
            ["https://h.example/o/r", "git@h.example:o/r.git", "git+ssh://h.example/o/r", "file:///a/r"];
        for url in
            git.into_iter().chain(["./r.git", "https://h.example/o/r/tree/main/packs/a", "ssh://h/r#v1"])
        {
            assert!(matches!(parsed(url).unwrap(), PackSource::Git(_)), "{url}");
        }
        for bad in [
            "",
            "-x",
            "--registry=x",
            "npm:-g",
            "npm:--global@1",
            "a\nb",
            "owner/repository",
            "hub:o/r",
            "./missing",
            "x.tgz",
            "@s/p@hub:o/r",
            "p@git+ssh://h/r",
            "@s/p/q",
            "p@o/r",
            "https://h.example/p.tgz#0123",
        ] {
            assert!(parsed(bad).is_err(), "{bad:?}");
        }
        for (text, name) in [("npm:pack", "pack"), ("npm:@s/p@1", "@s/p@1"), ("npm:x.json", "x.json")] {
            assert_eq!(parsed(text).unwrap(), PackSource::Npm(name.into()), "{text}");
        }
        assert!(parsed("npm:").is_err() && parsed("npm:o/r").is_err() && parsed("npm:../x").is_err());
        assert_eq!(parsed("file:./p").unwrap(), PackSource::Npm("file:/nowhere/here/p".into()));
    }

    #[test]
    fn the_text_in_the_lock_means_the_same_source() {
        let base = Path::new("/nowhere/here");
        for text in [
            "@scope/pack@^1.2",
            "https://h.example/o/r#v1",
            "./r.git",
            "file:./p",
            "git+/elsewhere/r",
            "git+/a#b#",
            "npm:x.tgz",
            "npm:x.git",
            "git+../r",
        ] {
            let source = parsed(text).unwrap();
            assert_eq!(parsed(&source.lock_text(base)).unwrap(), source, "{text}");
        }
        let blank = PackSource::Directory("/nowhere/here/a ".into());
        assert_eq!(PackSource::of_text(&blank.lock_text(base), &host(), base).unwrap(), blank);
        assert_eq!(parsed("https://u:p@h.example/o/r").unwrap().lock_text(base), "https://***@h.example/o/r");
        assert_eq!(
            parsed("git@h.example:r#https://u:p@h").unwrap().lock_text(base),
            "git@h.example:r#https://***@h"
        );
    }

    #[test]
    fn paths_in_the_lock_are_relative() {
        let kept = |path: &str| relative_to(Path::new("/home/u/project"), Path::new(path));
        assert_eq!(kept("/home/u/project/packs/a"), "./packs/a");
        assert_eq!(kept("/home/u/packs/a"), "../packs/a");
        assert_eq!(kept("/home/u"), "..");
        assert_eq!(kept("/home/u/projects"), "../projects");
        assert_eq!(kept("/mnt/packs/a"), "/mnt/packs/a");
    }

    #[test]
    fn names_and_versions_of_one_pack() {
        let source = |text: &str| parsed(text).unwrap();
        assert_eq!(source("@s/p@1.0.0").name(), "@s/p");
        assert_eq!(source("https://h.example/o/r.git#v1").name(), "r");
        assert_eq!(PackSource::Archive("/a/p-1.0.tar.gz".into()).name(), "p-1.0");
        assert!(
            source("@s/p@1").is_same_pack(&source("@s/p@2")) && !source("@s/p").is_same_pack(&source("@s/q"))
        );
        assert!(!source("@s/p").is_same_pack(&source("https://h.example/s/p")));
    }
}
