//! What the name of a file or module in a script may stand for: the path itself, one with an ending that an interpreter adds, or the
//! main files of a directory; in any directory that the name may begin in. It reads no file.

use crate::files::regular;
use std::collections::HashMap;
use std::ffi::OsString;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

/// Paths that are looked for.
const MOST_TRIED: usize = 50_000;
/// Entries of a directory that are looked at.
const MOST_ENTRIES: usize = 10_000;

/// Endings of files that programs look at and do not run, unless they are told to.
const DATA: [&str; 36] = [
    "md", "markdown", "rst", "adoc", "txt", "json", "jsonc", "json5", "toml", "yaml", "yml", "ini", "cfg",
    "conf", "lock", "sum", "mod", "csv", "tsv", "xml", "html", "htm", "css", "scss", "less", "svg", "png",
    "jpg", "jpeg", "gif", "ico", "pdf", "log", "patch", "diff", "snap",
];
const DATA_NAMES: [&str; 5] = [".gitignore", ".gitattributes", ".gitmodules", ".gitkeep", ".editorconfig"];

/// Endings that interpreters add to the name of a module.
const MODULES: [&str; 12] = ["sh", "bash", "py", "js", "cjs", "mjs", "ts", "mts", "cts", "rb", "pl", "lua"];
const MODULE_FILES: [&str; 7] =
    ["index.js", "index.cjs", "index.mjs", "index.ts", "package.json", "__init__.py", "__main__.py"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Directory,
    Nothing,
}

/// Directories that names in a text may begin in.
pub(super) struct Bases {
    pub(super) present: Vec<PathBuf>,
    /// Where something may be that is not there yet.
    pub(super) to_come: Vec<PathBuf>,
}

pub(super) struct Files<'a> {
    home: Option<&'a Path>,
    /// What is at a path.
    kinds: HashMap<PathBuf, Kind>,
    /// What is in a directory.
    entries: HashMap<PathBuf, Vec<OsString>>,
}

impl<'a> Files<'a> {
    pub(super) fn new(home: Option<&'a Path>) -> Files<'a> {
        Files { home, kinds: HashMap::new(), entries: HashMap::new() }
    }

    /// The files that a name may stand for: it, or what is left of it without its first parts, which may be a variable, in every
    /// directory that it may begin in, with the ending that it may have been given without.
    pub(super) fn present(&mut self, name: &str, bases: &[PathBuf]) -> Vec<PathBuf> {
        if name.starts_with('/') && self.kind(Path::new(name)) != Kind::Nothing {
            return vec![PathBuf::from(name)];
        }
        let mut found = Vec::new();
        for end in suffixes(name) {
            for base in bases {
                let path = self.expanded(end, base);
                if self.kind(&path) == Kind::File {
                    found.push(path);
                } else if end.contains('/') {
                    found.extend(self.with_endings(&path));
                }
            }
        }
        found
    }

    /// What a path without an ending, or that of a directory, stands for as a module.
    pub(super) fn meant(&mut self, path: &Path) -> Vec<PathBuf> {
        let mut found = self.with_endings(path);
        if self.kind(path) == Kind::Directory {
            let files: Vec<PathBuf> = MODULE_FILES.iter().map(|file| path.join(file)).collect();
            found.extend(files.into_iter().filter(|file| self.kind(file) == Kind::File));
        }
        found
    }

    /// The files beside a path that have its name and an ending, and are no data.
    pub(super) fn with_endings(&mut self, path: &Path) -> Vec<PathBuf> {
        let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else { return Vec::new() };
        if self.kind(dir) != Kind::Directory {
            return Vec::new();
        }
        let is_it = |entry: &&OsString| {
            let rest = entry.as_encoded_bytes().strip_prefix(name.as_encoded_bytes());
            rest.is_some_and(|rest| rest.starts_with(b".")) && !entry.to_str().is_some_and(is_data)
        };
        let entries = self.entries(dir);
        let found: Vec<PathBuf> = entries.iter().filter(is_it).map(|entry| dir.join(entry)).collect();
        found.into_iter().filter(|path| self.kind(path) == Kind::File).collect()
    }

    pub(super) fn entries(&mut self, dir: &Path) -> Vec<OsString> {
        if let Some(known) = self.entries.get(dir) {
            return known.clone();
        }
        let found = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.file_name());
        let found: Vec<OsString> = found.take(MOST_ENTRIES).collect();
        self.entries.insert(dir.to_owned(), found.clone());
        found
    }

    /// What a name may stand for when it is there: itself, with the endings that interpreters add, and the main files of a
    /// directory.
    pub(super) fn expected(&mut self, name: &str, bases: &[PathBuf]) -> Vec<PathBuf> {
        let mut found = self.new_files(name, bases);
        for base in bases.iter().filter(|_| !is_code(name)) {
            let path = base.join(without_parents(name));
            let with = |ending: &&str| {
                let mut path = path.clone().into_os_string();
                path.push(".");
                path.push(ending);
                PathBuf::from(path)
            };
            match self.kind(&path) {
                Kind::File => {}
                Kind::Directory => found.extend(MODULE_FILES.iter().map(|file| path.join(file))),
                Kind::Nothing => found.extend(MODULES.iter().map(with)),
            }
        }
        found.retain(|path| self.kind(path) == Kind::Nothing);
        found
    }

    /// The paths of a name where nothing is yet.
    pub(super) fn new_files(&mut self, name: &str, bases: &[PathBuf]) -> Vec<PathBuf> {
        if name.starts_with('/') && self.kind(Path::new(name)) != Kind::Nothing {
            return Vec::new();
        }
        let relative = name.trim_start_matches('/');
        let paths =
            bases.iter().flat_map(|base| [self.expanded(relative, base), base.join(without_parents(name))]);
        // One that is spelled in full, or one that begins with what a variable stands for.
        let whole = name.starts_with('/').then(|| PathBuf::from(name));
        let mut found: Vec<PathBuf> = paths.chain(whole).collect();
        found.retain(|path| self.kind(path) == Kind::Nothing);
        found
    }

    pub(super) fn kind(&mut self, path: &Path) -> Kind {
        if let Some(kind) = self.kinds.get(path) {
            return *kind;
        }
        if self.kinds.len() >= MOST_TRIED {
            return Kind::Nothing;
        }
        let kind = match std::fs::metadata(path) {
            Ok(found) if found.is_file() => Kind::File,
            Ok(found) if found.is_dir() => Kind::Directory,
            _ => Kind::Nothing,
        };
        self.kinds.insert(path.to_owned(), kind);
        kind
    }

    pub(super) fn expanded(&self, name: &str, base: &Path) -> PathBuf {
        let in_home = name.strip_prefix("~/").or_else(|| name.strip_prefix("HOME/"));
        match (in_home, self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => base.join(name),
        }
    }
}

/// A name, and what is left of it without its first parts.
pub(super) fn suffixes(name: &str) -> impl Iterator<Item = &str> {
    let whole = Some(name).filter(|name| !name.starts_with('/'));
    let rest = name.match_indices('/').map(|(at, _)| &name[at + 1..]);
    whole.into_iter().chain(rest).filter(|end| end.contains(|c| c != '/' && c != '.'))
}

/// A name without the `/` or the `..` that it begins with.
pub(super) fn without_parents(name: &str) -> PathBuf {
    let parts = Path::new(name).components();
    parts.skip_while(|part| !matches!(part, Component::Normal(_))).collect()
}

/// Whether a file that is named may be run. Hooks name many that they only look at.
pub(super) fn counts(name: &str, path: &Path) -> bool {
    let has_form = || name.contains(['/', '.']) && !path.to_str().is_some_and(is_data);
    has_form() || is_script(path)
}

/// Whether a name has the ending of code that an interpreter runs.
pub(super) fn is_code(name: &str) -> bool {
    let ending = Path::new(name).extension();
    ending.is_some_and(|ending| MODULES.iter().any(|module| ending == *module))
}

pub(super) fn is_data(name: &str) -> bool {
    let path = Path::new(name);
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    DATA.iter().any(|data| ending.eq_ignore_ascii_case(data))
        || path.file_name().is_some_and(|name| DATA_NAMES.iter().any(|data| name == *data))
}

/// Whether a file is made to be run.
fn is_script(path: &Path) -> bool {
    let can_be_run = || path.metadata().is_ok_and(|found| found.permissions().mode() & 0o111 != 0);
    let names_interpreter = || {
        let mut start = [0; 2];
        regular::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok_and(|()| start == *b"#!")
    };
    can_be_run() || names_interpreter()
}
