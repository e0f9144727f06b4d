//! What the hooks of a repository lead to: the scripts that their text names, what these name, and the settings of hook managers.
//! Too many rather than too few, but a file that is plainly data, and a directory that is only looked at, stay the agent's to
//! change. It runs nothing, and does not see through package managers, `make` and names that are computed.

use super::hook_managers;
use super::named_files::{Bases, Files, Kind, counts, is_data, suffixes, without_parents};
use super::repository::LARGEST_SETTINGS;
use super::shell_runs::{Run, runs_in};
use super::shell_words::{entered_in, looked_in, names_in, scripts_in};
use crate::files::regular;
use crate::load::layer_places::trail;
use std::collections::{BTreeSet, HashSet, VecDeque};
use std::path::{Path, PathBuf};

/// Entries of a directory with hooks.
const MOST_ENTRIES: usize = 128;
/// Scripts of scripts that are read. What the last ones name is protected, and not read.
const DEEPEST: usize = 3;
const MOST_SCRIPTS: usize = 128;
const LARGEST_SCRIPT: u64 = 256 << 10;
/// Paths that are found.
const MOST_FOUND: usize = 2_000;
/// Directories that names in a script may begin in.
const MOST_BASES: usize = 24;

const IMPORTS: [&str; 9] = [
    "import",
    "from",
    "require",
    "require_relative",
    "-m",
    "import_module",
    "__import__",
    "run_module",
    "autoload",
];
const FROM_HERE: [&str; 4] = ["import_module", "__import__", "run_module", "autoload"];

/// Directories of package managers and of the machine: nothing in them is read.
const PACKAGES: [&str; 4] = ["node_modules", "site-packages", ".venv", "venv"];
const MACHINE: [&str; 6] = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc"];

/// Everything that scripts lead to, wherever it is.
#[derive(Debug, Default)]
pub(super) struct HookScripts {
    pub(super) paths: BTreeSet<PathBuf>,
    /// Patterns for the settings of the programs that they run.
    pub(super) patterns: BTreeSet<String>,
}

/// What the hooks in a directory lead to.
pub(super) fn of_hooks(dir: &Path, work_trees: &[PathBuf], home: Option<&Path>) -> HookScripts {
    let mut search = Search::new(work_trees, home);
    search.hooks(dir);
    // Husky's scripts in `.husky/_` run those in `.husky`.
    if let Some(parent) = dir.parent().filter(|_| dir.ends_with("_")) {
        search.hooks(parent);
    }
    search.all()
}

/// The same for scripts that are protected for another reason.
pub(super) fn of_scripts<'a>(
    scripts: impl Iterator<Item = &'a Path>,
    work_trees: &[PathBuf],
    home: Option<&Path>,
) -> HookScripts {
    let mut search = Search::new(work_trees, home);
    for script in scripts {
        search.file(script, Role::Script, 1);
    }
    search.all()
}

/// The same for a command line that is run in a directory.
pub(super) fn of_command(line: &str, base: &Path, home: Option<&Path>) -> HookScripts {
    let trees = [base.to_owned()];
    let mut search = Search::new(&trees, home);
    search.text(base, &Script { path: base.join("-"), depth: 0, role: Role::Command }, line);
    search.all()
}

/// What a text is about, and so how much of what it names counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Hook,
    /// Its settings count too, as everything that it names.
    Command,
    Script,
    /// Settings of a hook manager: what they name is run, or read as settings.
    Settings,
}

struct Script {
    path: PathBuf,
    /// How many scripts lead to it.
    depth: usize,
    role: Role,
}

struct Search<'a> {
    work_trees: &'a [PathBuf],
    found: BTreeSet<PathBuf>,
    patterns: BTreeSet<String>,
    pending: VecDeque<Script>,
    known: HashSet<PathBuf>,
    scripts_read: usize,
    files: Files<'a>,
}

impl<'a> Search<'a> {
    fn new(work_trees: &'a [PathBuf], home: Option<&'a Path>) -> Search<'a> {
        Search {
            work_trees,
            found: BTreeSet::new(),
            patterns: BTreeSet::new(),
            pending: VecDeque::new(),
            known: HashSet::new(),
            scripts_read: 0,
            files: Files::new(home),
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
            self.pending.push_back(Script { path, depth: 0, role: Role::Hook });
        }
    }

    fn all(mut self) -> HookScripts {
        while let Some(script) = self.pending.pop_front() {
            let most = if script.depth == 0 { LARGEST_SETTINGS } else { LARGEST_SCRIPT };
            let Ok(bytes) = regular::read(&script.path, most) else { continue };
            if bytes.contains(&0) {
                continue;
            }
            self.scripts_read += 1;
            if self.scripts_read > MOST_SCRIPTS {
                break;
            }
            let text = without_comments(&String::from_utf8_lossy(&bytes));
            for tree in self.work_trees {
                self.text(tree, &script, &text);
            }
        }
        HookScripts { paths: self.found, patterns: self.patterns }
    }

    /// The files of a program in the top directories of the work trees: they name what it runs, and may be directories of scripts.
    fn settings(&mut self, program: &str, role: Role, depth: usize) {
        for dir in self.work_trees.iter().flat_map(|tree| [tree.clone(), tree.join(".config")]) {
            if dir.ends_with(".config") {
                // It may become a link.
                self.found.insert(dir.join(format!("{program}.yml")));
            }
            for name in self.files.entries(&dir) {
                let text = name.to_string_lossy();
                if hook_managers::may_be_of(program, &text)
                    && (role == Role::Settings || !text.ends_with(".md"))
                {
                    let path = dir.join(&name);
                    match self.files.kind(&path) {
                        Kind::Directory => self.directory(&path, depth),
                        _ => self.file(&path, role, depth),
                    }
                }
            }
        }
    }

    fn text(&mut self, work_tree: &Path, script: &Script, text: &str) {
        let depth = script.depth + 1;
        let (is_first, is_command) = (script.depth == 0, script.role == Role::Command);
        let own = own_directories(&script.path);
        let mut names = names_in(text);
        if is_command {
            // Names with blanks.
            let words = shlex::split(text).unwrap_or_default();
            let parts =
                words.iter().flat_map(|word| [Some(&**word), word.rsplit_once('=').map(|(_, part)| part)]);
            let is_new = |part: &&str| {
                part.contains(' ') && self.files.kind(&self.files.expanded(part, work_tree)) == Kind::File
            };
            names.extend(parts.flatten().filter(is_new).map(str::to_owned).collect::<Vec<_>>());
        }
        let mut entered: Vec<PathBuf> = Vec::new();
        for directories in entered_in(text) {
            let from = std::iter::once(work_tree).chain(entered.iter().map(PathBuf::as_path));
            let further: Vec<PathBuf> = from
                .flat_map(|base| directories.iter().map(|name| self.files.expanded(name, base)))
                .collect();
            entered.extend(further);
            entered.truncate(MOST_BASES);
        }
        let mut bases = Bases {
            present: [work_tree.to_owned()].into_iter().chain(own.clone()).collect(),
            to_come: [work_tree.to_owned()].into_iter().chain(entered.clone()).collect(),
        };
        let of_names =
            names.iter().flat_map(|name| suffixes(name).map(|end| self.files.expanded(end, work_tree)));
        for base in entered.iter().cloned().chain(of_names.collect::<Vec<_>>()) {
            let present = &mut bases.present;
            if present.len() < MOST_BASES
                && !present.contains(&base)
                && self.files.kind(&base) == Kind::Directory
            {
                present.push(base);
            }
        }
        for name in &names {
            for path in self.files.present(name, &bases.present) {
                if is_command || counts(name, &path) {
                    let role = if script.role == Role::Settings { Role::Settings } else { Role::Script };
                    self.file(&path, role, depth);
                }
            }
        }
        self.modules(text, &names, work_tree, &own, depth);
        if is_first {
            let scripts = scripts_in(text);
            for name in &names {
                let is_path = name.contains('/') && (is_command || !is_data(name));
                let mut paths = if scripts.contains(name) {
                    self.files.expected(name, &bases.to_come)
                } else if is_path || (is_command && name.contains('.')) {
                    self.files.new_files(name, &bases.to_come)
                } else if is_command {
                    self.files.new_files(name, &entered)
                } else {
                    continue;
                };
                paths.retain(|path| !entered.contains(path));
                self.come(paths, depth);
            }
        }
        bases.to_come.extend(own);
        let is_shell = is_shell(script, text);
        // Settings name commands.
        let runs_commands =
            is_shell || script.role == Role::Settings || script.path.to_str().is_some_and(is_data);
        for stem in hook_managers::named_in(text).filter(|_| !is_command) {
            let patterns = hook_managers::patterns(stem);
            if !self.patterns.contains(&patterns[0]) {
                self.patterns.extend(patterns);
                self.settings(stem, Role::Settings, depth);
            }
        }
        for run in runs_in(text) {
            match run {
                // What a function of another language is given.
                Run::File(name) | Run::Module(name) if !is_shell && is_data(&name) => {}
                Run::File(name) => {
                    let may_come = runs_commands && (is_first || name.contains(['/', '.']));
                    self.run(&name, &bases, may_come, depth);
                }
                Run::Module(name) => {
                    let may_come = runs_commands && (is_first || name.contains(['/', '.']));
                    if !self.run(&name, &bases, may_come, depth) {
                        self.module(&name, &bases, (is_shell, may_come), depth);
                    }
                }
                Run::Directory(name) if is_shell => self.directories(&name, &bases, depth),
                Run::Absolute(name)
                    if self.work_trees.iter().any(|tree| Path::new(&name).starts_with(tree)) =>
                {
                    self.directory(Path::new(&name), depth);
                }
                Run::Program(name)
                    if runs_commands && !is_command && hook_managers::may_have_settings(&name) =>
                {
                    let patterns = hook_managers::patterns_of_program(&name);
                    if !self.patterns.contains(&patterns[0]) {
                        self.patterns.extend(patterns);
                        self.settings(&name, Role::Script, depth);
                    }
                }
                Run::Directory(_) | Run::Absolute(_) | Run::Program(_) => {}
            }
        }
        for name in if is_shell { Vec::new() } else { looked_in(text) } {
            if name.contains('/')
                || self.files.kind(&self.files.expanded(&name, work_tree)) == Kind::Directory
            {
                self.directories(&name, &bases, depth);
            }
        }
        for value in if script.role == Role::Settings { hook_managers::values_in(text) } else { Vec::new() } {
            let path = self.files.expanded(value, work_tree);
            match self.files.kind(&path) {
                Kind::File => self.file(&path, Role::Settings, depth),
                Kind::Directory => self.directory(&path, depth),
                Kind::Nothing => {}
            }
        }
    }

    /// Something that is run. Says whether it is there.
    fn run(&mut self, name: &str, bases: &Bases, may_come: bool, depth: usize) -> bool {
        let present = self.files.present(name, &bases.present);
        for path in &present {
            self.file(path, Role::Script, depth);
        }
        if present.is_empty() && may_come {
            let paths = self.files.new_files(name, &bases.to_come);
            self.come(paths, depth);
        }
        !present.is_empty()
    }

    /// Something that an interpreter is given: `python3 tools/check`, with a `tools/check/__main__.py`.
    fn module(&mut self, name: &str, bases: &Bases, (is_shell, may_come): (bool, bool), depth: usize) {
        for base in bases.present.iter().filter(|_| is_shell) {
            let path = self.files.expanded(name, base);
            for file in self.files.meant(&path) {
                self.file(&file, Role::Script, depth);
                if file.starts_with(&path) {
                    self.directory(&path, depth);
                }
            }
        }
        if may_come {
            let paths = self.files.expected(name, &bases.to_come);
            self.come(paths, depth);
        }
    }

    /// What is not there yet.
    fn come(&mut self, paths: Vec<PathBuf>, depth: usize) {
        for path in paths {
            self.file(&path, Role::Script, depth);
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
            // What is imported from the working directory, whatever is there already.
            let is_from_here = line.contains(" -c") || FROM_HERE.iter().any(|word| line.contains(word));
            for name in names_in(line) {
                if is_from_here && depth == 1 {
                    let paths = self.files.expected(&name.replace('.', "/"), &[work_tree.to_owned()]);
                    self.come(paths, depth);
                }
                let module = name.trim_start_matches('.').replace('.', "/");
                wanted.extend(
                    own.iter()
                        .map(PathBuf::as_path)
                        .chain(is_from_here.then_some(work_tree))
                        .map(|dir| dir.join(&module)),
                );
            }
        }
        for path in wanted {
            if self.files.kind(&path) != Kind::File {
                for file in self.files.meant(&path) {
                    self.file(&file, Role::Script, depth);
                }
            }
        }
    }

    /// Directories with what a script runs, whether they are there or not.
    fn directories(&mut self, name: &str, bases: &Bases, depth: usize) {
        let mut present = Vec::new();
        for end in suffixes(name) {
            for base in &bases.present {
                let path = self.files.expanded(end, base);
                if self.files.kind(&path) == Kind::Directory {
                    present.push(path);
                }
            }
        }
        let rest = without_parents(name);
        if !rest.as_os_str().is_empty() {
            present.extend(bases.to_come.iter().map(|base| base.join(&rest)));
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
            self.file(&entry.path(), Role::Script, depth);
        }
    }

    /// Something that is run, and what it runs.
    fn file(&mut self, path: &Path, role: Role, depth: usize) {
        if self.found.len() >= MOST_FOUND {
            return;
        }
        self.found.insert(path.to_owned());
        let is_package = path.components().any(|part| PACKAGES.iter().any(|name| part.as_os_str() == *name));
        if depth < DEEPEST
            && !is_package
            && self.files.kind(path) == Kind::File
            && self.known.insert(path.to_owned())
        {
            self.pending.push_back(Script { path: path.to_owned(), depth, role });
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
