//! Tells the forms of a pack's source apart, and writes a source down so that it can be followed again.

use crate::error::{CommandError, Result};
use crate::host::Host;
use crate::remote::git_source::{GitSource, without_password};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PackSource {
    Directory(PathBuf),
    Archive(PathBuf),
    /// The JSON of one persona: a pack of one, with the files that it names.
    Persona(PathBuf),
    /// What npm understands: a name with or without a version or tag, an archive on a server, `file:<path>`.
    Npm(String),
    Git(GitSource),
}

/// What people can name.
pub const ACCEPTED: &str = "name a directory, a `.tgz`, a persona's `.json`, a git url or an npm package";

impl PackSource {
    /// What this text of the user means.
    pub fn parse(text: &str, host: &Host) -> Result<PackSource> {
        let source = PackSource::of_text(text, host, &host.cwd)?;
        match source.place().and_then(|path| path.metadata().err().zip(Some(path))) {
            Some((error, path)) => {
                Err(CommandError::usage(format!("there is no pack at {}", path.display()))
                    .caused_by(error)
                    .hint(ACCEPTED))
            }
            None => Ok(source),
        }
    }

    /// Where it is on this machine, if it is a file or a directory here.
    pub fn place(&self) -> Option<&Path> {
        match self {
            PackSource::Directory(path) | PackSource::Archive(path) | PackSource::Persona(path) => Some(path),
            PackSource::Npm(_) | PackSource::Git(_) => None,
        }
    }

    /// The same for what a lock kept, whether or not it is still there. `base` is where relative paths start.
    pub fn of_text(text: &str, host: &Host, base: &Path) -> Result<PackSource> {
        let text = text.trim();
        if text.is_empty() || text.starts_with('-') || text.contains(char::is_control) {
            return Err(CommandError::usage(format!("`{}` is no source of a pack", text.escape_debug()))
                .hint(ACCEPTED));
        }
        if let Some(spec) = text.strip_prefix("npm:") {
            return if is_package(spec) {
                Ok(PackSource::Npm(spec.to_owned()))
            } else {
                Err(CommandError::usage(format!("`{spec}` is no npm package"))
                    .hint("write `npm:name`, `npm:@scope/name` or either with `@version`"))
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
            return Err(CommandError::usage(format!("`{text}` is neither a path here nor an npm package"))
                .hint("for a repository write its whole url; for a directory start with `./`"));
        }
        Ok(PackSource::Npm(text.to_owned()))
    }

    /// The source as the lock keeps it: no password, and paths near `base` seen from there.
    pub fn kept(&self, base: &Path) -> String {
        let path = |path: &Path| seen_from(base, path);
        match self {
            PackSource::Directory(dir) => {
                let text = path(dir);
                // A blank at the end would be taken for one that the user typed, and `x.tgz` for an archive.
                let needs_end = text.ends_with(char::is_whitespace) || is_archive(&text) || is_json(&text);
                if needs_end { text + "/" } else { text }
            }
            PackSource::Archive(file) | PackSource::Persona(file) => path(file),
            PackSource::Npm(spec) => match spec.strip_prefix("file:") {
                Some(file) => format!("file:{}", path(Path::new(file))),
                // A package may be called as a file or a repository is.
                None if is_package(spec) && looks_like_a_place(spec) => format!("npm:{spec}"),
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
                // The last `#` is where the name starts: one in the place itself needs another behind it.
                if source.name.is_some() || text.contains('#') {
                    text = format!("{text}#{}", source.name.as_deref().unwrap_or_default());
                }
                // Whatever it is called may look like a url, too.
                let text = without_password(&text);
                if is_git(&text) { text } else { format!("git+{text}") }
            }
        }
    }

    /// Whether both give versions of one pack: then one may follow the other.
    pub fn is_kin(&self, other: &PackSource) -> bool {
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

    /// A name for a pack that has none of its own.
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

/// `name`, `name@version` or `name@tag`, with or without a scope: what comes from a registry and from nowhere else.
fn is_package(spec: &str) -> bool {
    let name = npm_name(spec);
    // npm would take a name with a hyphen in front for an option.
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

/// A path as another checkout of both would have it. Where they share nothing but the root, that says nothing.
fn seen_from(base: &Path, path: &Path) -> String {
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

fn looks_like_a_place(text: &str) -> bool {
    is_archive(text) || is_json(text) || is_git(text) || text.starts_with(['.', '~'])
}

fn is_json(text: &str) -> bool {
    text.to_ascii_lowercase().ends_with(".json")
}

fn is_archive(text: &str) -> bool {
    [".tgz", ".tar.gz", ".tar"].iter().any(|ending| text.to_ascii_lowercase().ends_with(ending))
}

/// `packs/mine` where there is such a directory: npm would take it for a repository.
fn is_relative_path(text: &str, path: &Path) -> bool {
    !text.starts_with('@') && text.contains('/') && path.exists()
}

fn is_git(text: &str) -> bool {
    let place = text.split('#').next().unwrap_or_default().trim_end_matches('/');
    let ends_so =
        |place: &str| place.strip_suffix(".git").is_some_and(|rest| !rest.is_empty() && !rest.ends_with('/'));
    let has_scheme = ["ssh://", "git://", "file://"].iter().any(|scheme| text.starts_with(scheme));
    let is_page = (text.starts_with("https://") || text.starts_with("http://")) && !is_archive(place);
    text.starts_with("git@")
        || has_scheme
        || is_page
        || ends_so(place.split("/tree/").next().unwrap_or(place))
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

    fn parsed(text: &str) -> Result<PackSource> {
        PackSource::parse(text, &host())
    }

    #[test]
    fn packages_of_a_registry_are_told_from_repositories() {
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
    fn what_is_kept_means_the_same_again() {
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
            assert_eq!(parsed(&source.kept(base)).unwrap(), source, "{text}");
        }
        let blank = PackSource::Directory("/nowhere/here/a ".into());
        assert_eq!(PackSource::of_text(&blank.kept(base), &host(), base).unwrap(), blank);
        assert_eq!(parsed("https://u:p@h.example/o/r").unwrap().kept(base), "https://***@h.example/o/r");
        assert_eq!(
            parsed("git@h.example:r#https://u:p@h").unwrap().kept(base),
            "git@h.example:r#https://***@h"
        );
    }

    #[test]
    fn paths_are_kept_as_another_checkout_has_them() {
        let kept = |path: &str| seen_from(Path::new("/home/u/project"), Path::new(path));
        assert_eq!(kept("/home/u/project/packs/a"), "./packs/a");
        assert_eq!(kept("/home/u/packs/a"), "../packs/a");
        assert_eq!(kept("/home/u"), "..");
        assert_eq!(kept("/home/u/projects"), "../projects");
        assert_eq!(kept("/mnt/packs/a"), "/mnt/packs/a");
    }

    #[test]
    fn names_and_kin() {
        let source = |text: &str| parsed(text).unwrap();
        assert_eq!(source("@s/p@1.0.0").name(), "@s/p");
        assert_eq!(source("https://h.example/o/r.git#v1").name(), "r");
        assert_eq!(PackSource::Archive("/a/p-1.0.tar.gz".into()).name(), "p-1.0");
        assert!(source("@s/p@1").is_kin(&source("@s/p@2")) && !source("@s/p").is_kin(&source("@s/q")));
        assert!(!source("@s/p").is_kin(&source("https://h.example/s/p")));
    }
}
