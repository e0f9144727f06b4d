//! What the hooks of a repository lead to: the scripts that their text names, what these name, and the settings of hook managers.
//! Too many rather than too few, but a file that is plainly data, and a directory that is only looked at, stay the agent's to
//! change. It runs nothing, and does not see through package managers, `make` and names that are computed.

use super::hook_managers;
use super::repository::LARGEST_SETTINGS;
use super::shell_runs::{Run, runs_in};
use super::shell_words::{entered_in, names_in, scripts_in};
use crate::files::regular;
use crate::load::layer_places::trail;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

/// Entries of a directory with hooks.
const MOST_ENTRIES: usize = 128;
/// Entries of a directory with files of hook managers.
const MOST_BESIDE: usize = 10_000;
/// Scripts of scripts that are read. What the last ones name is protected, and not read.
const DEEPEST: usize = 3;
const MOST_SCRIPTS: usize = 128;
const LARGEST_SCRIPT: u64 = 256 << 10;
/// Paths that are looked for, and that are found.
const MOST_TRIED: usize = 50_000;
const MOST_FOUND: usize = 2_000;
/// Directories that names in a script may begin in.
const MOST_BASES: usize = 24;

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
const IMPORTS: [&str; 5] = ["import", "from", "require", "require_relative", "-m"];

/// Directories of package managers and of the machine: nothing in them is read.
const PACKAGES: [&str; 4] = ["node_modules", "site-packages", ".venv", "venv"];
const MACHINE: [&str; 6] = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc"];

/// Everything that scripts lead to, wherever it is.
#[derive(Debug, Default)]
pub(super) struct HookScripts {
    pub(super) paths: BTreeSet<PathBuf>,
    /// What the names of files begin with that tell hook managers what to run.
    pub(super) managers: BTreeSet<&'static str>,
}

/// What the hooks in a directory lead to.
pub(super) fn of_hooks(dir: &Path, work_trees: &[PathBuf], home: Option<&Path>) -> HookScripts {
    let mut search = Search::new(work_trees, home);
    search.hooks(dir);
    // Husky's scripts in `.husky/_` run those in `.husky`.
    if let Some(parent) = dir.parent().filter(|_| dir.ends_with("_")) {
        search.hooks(parent);
    }
    search.read_all();
    HookScripts { paths: search.found, managers: search.managers }
}

/// The same for scripts that are protected for another reason.
pub(super) fn of_scripts<'a>(
    scripts: impl Iterator<Item = &'a Path>,
    work_trees: &[PathBuf],
    home: Option<&Path>,
) -> HookScripts {
    let mut search = Search::new(work_trees, home);
    for script in scripts {
        search.file(script, 1);
    }
    search.read_all();
    HookScripts { paths: search.found, managers: search.managers }
}

struct Script {
    path: PathBuf,
    /// How many scripts lead to it.
    depth: usize,
}

struct Search<'a> {
    work_trees: &'a [PathBuf],
    home: Option<&'a Path>,
    found: BTreeSet<PathBuf>,
    managers: BTreeSet<&'static str>,
    pending: VecDeque<Script>,
    known: HashSet<PathBuf>,
    scripts_read: usize,
    /// What is at a path.
    kinds: HashMap<PathBuf, Kind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Directory,
    Nothing,
}

impl<'a> Search<'a> {
    fn new(work_trees: &'a [PathBuf], home: Option<&'a Path>) -> Search<'a> {
        Search {
            work_trees,
            home,
            found: BTreeSet::new(),
            managers: BTreeSet::new(),
            pending: VecDeque::new(),
            known: HashSet::new(),
            scripts_read: 0,
            kinds: HashMap::new(),
        }
    }

    fn hooks(&mut self, dir: &Path) {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        let is_sample = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "sample");
        let mut hooks: Vec<PathBuf> =
            entries.map(|entry| entry.path()).filter(|path| !is_sample(path)).take(MOST_ENTRIES).collect();
        hooks.sort();
        for path in hooks {
            if path.is_symlink() {
                self.found.insert(path.clone());
            }
            self.pending.push_back(Script { path, depth: 0 });
        }
    }

    fn read_all(&mut self) {
        while let Some(script) = self.pending.pop_front() {
            let most = if script.depth == 0 { LARGEST_SETTINGS } else { LARGEST_SCRIPT };
            let Ok(bytes) = regular::read(&script.path, most) else { continue };
            if bytes.contains(&0) {
                continue;
            }
            self.scripts_read += 1;
            if self.scripts_read > MOST_SCRIPTS {
                return;
            }
            let text = String::from_utf8_lossy(&bytes);
            for stem in hook_managers::named_in(&text) {
                if self.managers.insert(stem) {
                    self.manager(stem, script.depth + 1);
                }
            }
            for tree in self.work_trees {
                self.script(tree, &script, &without_comments(&text));
            }
        }
    }

    /// The files of a hook manager in the top directories of the work trees.
    fn manager(&mut self, stem: &str, depth: usize) {
        for dir in self.work_trees.iter().flat_map(|tree| [tree.clone(), tree.join(".config")]) {
            for entry in std::fs::read_dir(dir).into_iter().flatten().flatten().take(MOST_BESIDE) {
                if hook_managers::may_be_of(stem, &entry.file_name().to_string_lossy()) {
                    self.settings(&entry.path(), depth);
                }
            }
        }
    }

    /// Settings of a hook manager name what it runs. They may be a directory with scripts.
    fn settings(&mut self, path: &Path, depth: usize) {
        match self.kind(path) {
            Kind::Directory => self.directory(path, depth),
            _ => self.file(path, depth),
        }
    }

    fn script(&mut self, work_tree: &Path, script: &Script, text: &str) {
        let depth = script.depth + 1;
        let is_hook = script.depth == 0;
        let own = own_directories(&script.path);
        let names = names_in(text);
        let entered: Vec<PathBuf> =
            entered_in(text).into_iter().flatten().map(|name| self.expanded(&name, work_tree)).collect();
        let mut bases: Vec<PathBuf> = [work_tree.to_owned()].into_iter().chain(own.clone()).collect();
        let of_names = names.iter().flat_map(|name| suffixes(name).map(|end| self.expanded(end, work_tree)));
        for base in entered.iter().cloned().chain(of_names.collect::<Vec<_>>()) {
            if bases.len() < MOST_BASES && !bases.contains(&base) && self.kind(&base) == Kind::Directory {
                bases.push(base);
            }
        }
        // Where something may be that is not there yet.
        let new_bases: Vec<PathBuf> =
            [work_tree.to_owned()].into_iter().chain(entered).take(MOST_BASES).collect();
        if is_hook {
            let scripts = scripts_in(text);
            let may_come = |name: &&String| scripts.contains(name) || (name.contains('/') && !is_data(name));
            for name in names.iter().filter(may_come) {
                self.new_file(name, &new_bases, depth);
            }
        }
        let new_bases: Vec<PathBuf> = new_bases.into_iter().chain(own.clone()).collect();
        let is_shell = is_shell(script, text);
        // Settings of hook managers name commands.
        let may_add = is_shell || script.path.to_str().is_some_and(is_data);
        for run in runs_in(text) {
            match run {
                Run::Directory(_) if !is_shell => {}
                // What a function of another language is given.
                Run::File(name) if !is_shell && is_data(&name) => {}
                Run::Directory(name) => self.directories(&name, &bases, &new_bases, depth),
                Run::File(name) => {
                    let present = self.present(&name, &bases);
                    for path in &present {
                        self.file(path, depth);
                    }
                    if present.is_empty() {
                        // `python3 tools/check`, with a `__main__.py` there.
                        let paths: Vec<PathBuf> =
                            bases.iter().map(|base| self.expanded(&name, base)).collect();
                        for path in paths.iter().filter(|_| is_shell && name.contains('/')) {
                            let is_module = |file| self.kind(&path.join(file)) == Kind::File;
                            if MODULE_FILES.into_iter().any(is_module) {
                                self.directory(path, depth);
                            }
                        }
                        if may_add && (is_hook || name.contains(['/', '.'])) {
                            self.new_file(&name, &new_bases, depth);
                        }
                    }
                }
            }
        }
        for name in &names {
            for path in self.present(name, &bases) {
                if counts(name, &path) {
                    self.file(&path, depth);
                }
            }
        }
        self.modules(text, &names, work_tree, &own, depth);
    }

    /// The files that a name may stand for: it, or what is left of it without its first parts, which may be a variable, in every
    /// directory that it may begin in.
    fn present(&mut self, name: &str, bases: &[PathBuf]) -> Vec<PathBuf> {
        if name.starts_with('/') && self.kind(Path::new(name)) != Kind::Nothing {
            return vec![PathBuf::from(name)];
        }
        let mut found = Vec::new();
        for end in suffixes(name) {
            for base in bases {
                let path = self.expanded(end, base);
                if self.kind(&path) == Kind::File {
                    found.push(path);
                }
            }
        }
        found
    }

    fn new_file(&mut self, name: &str, bases: &[PathBuf], depth: usize) {
        for base in bases {
            for path in [self.expanded(name.trim_start_matches('/'), base), base.join(without_parents(name))]
            {
                if self.kind(&path) == Kind::Nothing {
                    self.file(&path, depth);
                }
            }
        }
    }

    /// Modules that a script imports: their names have no ending.
    fn modules(&mut self, text: &str, names: &[String], work_tree: &Path, own: &[PathBuf], depth: usize) {
        let mut wanted: Vec<PathBuf> = Vec::new();
        for name in names.iter().filter(|name| name.starts_with("./") || name.starts_with("../")) {
            wanted.extend(own.iter().map(|dir| dir.join(name)));
            wanted.push(work_tree.join(without_parents(name)));
        }
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        let is_import = |line: &&str| line.split(|c| !is_word(c)).any(|word| IMPORTS.contains(&word));
        for line in text.lines().filter(is_import) {
            for name in names_in(line) {
                let module = name.trim_start_matches('.').replace('.', "/");
                wanted.extend(own.iter().map(|dir| dir.join(&module)));
            }
        }
        for path in wanted {
            let found: Vec<PathBuf> = match self.kind(&path) {
                Kind::File => continue,
                Kind::Directory => MODULE_FILES.iter().map(|file| path.join(file)).collect(),
                Kind::Nothing => {
                    let with = |ending: &&str| {
                        let mut path = path.clone().into_os_string();
                        path.push(".");
                        path.push(ending);
                        PathBuf::from(path)
                    };
                    MODULES.iter().map(with).collect()
                }
            };
            for path in found {
                if self.kind(&path) == Kind::File {
                    self.file(&path, depth);
                }
            }
        }
    }

    /// Directories with what a script runs, whether they are there or not.
    fn directories(&mut self, name: &str, bases: &[PathBuf], new_bases: &[PathBuf], depth: usize) {
        let mut present = Vec::new();
        for end in suffixes(name) {
            for base in bases {
                let path = self.expanded(end, base);
                if self.kind(&path) == Kind::Directory {
                    present.push(path);
                }
            }
        }
        let rest = without_parents(name);
        if !rest.as_os_str().is_empty() {
            present.extend(new_bases.iter().map(|base| base.join(&rest)));
        }
        for path in present {
            self.directory(&path, depth);
        }
    }

    fn directory(&mut self, path: &Path, depth: usize) {
        let Some(place) = trail(path).pop() else { return };
        // A work tree as a whole is the agent's work.
        if self.work_trees.iter().any(|tree| tree.starts_with(&place)) || self.found.len() >= MOST_FOUND {
            return;
        }
        self.found.insert(path.to_owned());
        if MACHINE.iter().any(|dir| place.starts_with(dir)) {
            return;
        }
        for entry in std::fs::read_dir(path).into_iter().flatten().flatten().take(MOST_ENTRIES) {
            self.file(&entry.path(), depth);
        }
    }

    /// Something that is run, and what it runs.
    fn file(&mut self, path: &Path, depth: usize) {
        if self.found.len() >= MOST_FOUND {
            return;
        }
        self.found.insert(path.to_owned());
        let is_package = path.components().any(|part| PACKAGES.iter().any(|name| part.as_os_str() == *name));
        if depth < DEEPEST
            && !is_package
            && self.kind(path) == Kind::File
            && self.known.insert(path.to_owned())
        {
            self.pending.push_back(Script { path: path.to_owned(), depth });
        }
    }

    fn kind(&mut self, path: &Path) -> Kind {
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

    fn expanded(&self, name: &str, base: &Path) -> PathBuf {
        let in_home = name.strip_prefix("~/").or_else(|| name.strip_prefix("HOME/"));
        match (in_home, self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => base.join(name),
        }
    }
}

/// The directory of a script: as it is spelled, and without links.
fn own_directories(script: &Path) -> Vec<PathBuf> {
    let real = script.canonicalize().ok();
    let mut found: Vec<PathBuf> = [Some(script), real.as_deref()]
        .into_iter()
        .flatten()
        .filter_map(Path::parent)
        .map(Path::to_owned)
        .collect();
    found.dedup();
    found
}

/// Whether patterns in a text are those of a shell.
fn is_shell(script: &Script, text: &str) -> bool {
    if let Some(interpreter) = text.lines().next().and_then(|line| line.strip_prefix("#!")) {
        return interpreter.contains("sh");
    }
    let ending = script.path.extension().and_then(|ending| ending.to_str());
    script.depth == 0 || ending.is_none_or(|ending| ending.ends_with("sh"))
}

/// A name, and what is left of it without its first parts.
fn suffixes(name: &str) -> impl Iterator<Item = &str> {
    let whole = Some(name).filter(|name| !name.starts_with('/'));
    let rest = name.match_indices('/').map(|(at, _)| &name[at + 1..]);
    whole.into_iter().chain(rest).filter(|end| end.contains(|c| c != '/' && c != '.'))
}

/// A name without the `/` or the `..` that it begins with.
fn without_parents(name: &str) -> PathBuf {
    let parts = Path::new(name).components();
    parts.skip_while(|part| !matches!(part, Component::Normal(_))).collect()
}

/// Whether a file that is named may be run. Hooks name many that they only look at.
fn counts(name: &str, path: &Path) -> bool {
    let has_form = || name.contains(['/', '.']) && !path.to_str().is_some_and(is_data);
    has_form() || is_script(path)
}

fn is_data(name: &str) -> bool {
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

/// Lines that only people read. The first one may name the interpreter.
fn without_comments(text: &str) -> String {
    let is_comment = |line: &&str| {
        let line = line.trim_start();
        (line.starts_with('#') && !line.starts_with("#!")) || line.starts_with("//")
    };
    text.lines().filter(|line| !is_comment(line)).flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
#[path = "hook_scripts_tests.rs"]
mod tests;
