//! What belongs to the configuration of harnesses in a project and has another name: what its links lead to, instructions that others
//! import, and programs that it starts. It reads a bounded number of files, runs nothing, and decides nothing.

use super::interpreters::is_interpreter;
use super::settings;
use crate::convert::setup_servers::parse;
use crate::files::regular;
use crate::harness::is_project_config;
use crate::load::layer_places::{links_in, on_the_way};
use crate::model::persona::McpServer;
use crate::rules::inherit::is_instruction_file;
use crate::rules::layer::{GitPlace, SetupElsewhere, folded, is_layer_by_name, of_setup};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

/// Entries of a directory that are looked at.
const MOST_BESIDE: usize = 10_000;
/// Configuration that is looked at, links of it, and files that are read.
const MOST_TOPS: usize = 1_000;
const MOST_LINKS: usize = 500;
const MOST_FILES: usize = 64;
const LARGEST_FILE: u64 = 1 << 20;
/// Programs that are started, and places in sum.
const MOST_PROGRAMS: usize = 128;
const MOST_PLACES: usize = 2_000;
/// Imports of imports; claude itself follows five.
const DEEPEST: usize = 5;
/// As deep as a file of a skill in a directory of a harness, or a charter in a layer.
const LEVELS: usize = 4;

/// Files of a directory that an interpreter starts when it is given the directory.
const ENTRIES: [&str; 11] = [
    "package.json",
    "index.js",
    "index.mjs",
    "index.cjs",
    "index.ts",
    "main.go",
    "main.py",
    "__main__.py",
    "main.ts",
    "mod.ts",
    "deno.json",
];

/// Where a run is, and what the user has.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    /// Without links.
    pub root: &'a Path,
    /// Where harnesses are started, absolute.
    pub cwd: Option<&'a Path>,
    pub home: Option<&'a Path>,
    pub env: &'a BTreeMap<String, String>,
}

/// Something that a harness starts.
#[derive(Debug, Clone, Default)]
pub struct Program {
    pub origin: String,
    /// Where relative paths may begin, besides the root and the working directory.
    pub bases: Vec<PathBuf>,
    pub line: String,
    pub env: BTreeMap<String, String>,
}

impl Program {
    /// A server of a persona; `None` if it is no program.
    pub fn of_server(origin: String, server: &McpServer) -> Option<Program> {
        let words = server.command.iter().chain(&server.args).map(String::as_str).collect::<Vec<_>>();
        server.command.as_ref()?;
        Some(Program { origin, bases: Vec::new(), line: joined(&words), env: server.env.clone() })
    }
}

/// The entries of a directory that decide about agents by their names.
pub fn named_in(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten().take(MOST_BESIDE);
    let is_named = |name: &std::ffi::OsStr| is_project_config(name) || is_layer_by_name(Path::new(name));
    entries.filter(|entry| is_named(&entry.file_name())).map(|entry| entry.path()).collect()
}

/// The root, and the directories between it and the working directory.
pub fn directories(root: &Path, cwd: Option<&Path>) -> Vec<PathBuf> {
    let between = cwd.into_iter().flat_map(Path::ancestors).take_while(|dir| dir.starts_with(root));
    between.chain([root]).map(Path::to_owned).collect()
}

/// The links at one of these paths, and in what is there.
pub(super) fn links_at(path: &Path) -> Vec<PathBuf> {
    let mut links = Vec::new();
    if path.is_symlink() {
        links.push(path.to_owned());
    }
    links_in(path, LEVELS, &mut links);
    links.truncate(MOST_LINKS);
    links
}

/// Reads what the configuration at these paths says, and the user's own; and adds programs that are started for another reason.
/// Instructions count in a persona's run, which changes none.
pub fn elsewhere(
    tops: &BTreeSet<PathBuf>,
    with_instructions: bool,
    programs: Vec<Program>,
    around: Around,
) -> SetupElsewhere {
    let is_setup = |top: &&PathBuf| {
        top.file_name().is_some_and(is_project_config) && (with_instructions || !is_instruction_file(top))
    };
    let mut tops: Vec<&PathBuf> = tops.iter().filter(is_setup).collect();
    // What is near counts most.
    tops.sort_by_key(|top| top.components().count());
    tops.truncate(MOST_TOPS);
    let mut reader = Reader { around, with_instructions, files: 0, linked: BTreeMap::new(), programs };
    for top in tops {
        reader.top(top);
    }
    reader.users_own();
    let Reader { linked, programs, .. } = reader;
    let mut started = BTreeMap::new();
    for program in programs.iter().take(MOST_PROGRAMS) {
        if started.len() >= MOST_PLACES {
            break;
        }
        for (place, why) in started_by(program, around) {
            started.entry(place).or_insert(why);
        }
    }
    SetupElsewhere {
        linked: linked.into_iter().take(MOST_PLACES).collect(),
        started: started.into_iter().take(MOST_PLACES).collect(),
    }
}

struct Reader<'a> {
    around: Around<'a>,
    with_instructions: bool,
    files: usize,
    linked: BTreeMap<GitPlace, String>,
    programs: Vec<Program>,
}

impl Reader<'_> {
    /// Configuration of the project: a file or directory.
    fn top(&mut self, top: &Path) {
        for link in links_at(top) {
            self.link(&link, &of_setup("a link of it leads there"));
        }
        let Some((name, dir)) = top.file_name().zip(top.parent()) else { return };
        let name = String::from_utf8_lossy(&folded(name)).into_owned();
        let files: &[&str] = match name.as_str() {
            ".claude" => &["settings.json", "settings.local.json"],
            ".codex" => &["config.toml", "hooks.json"],
            ".opencode" => &["opencode.json", "opencode.jsonc", "tui.json", "tui.jsonc"],
            _ => &[],
        };
        for file in files {
            self.settings(&top.join(file), dir);
        }
        if name.contains(".json") {
            self.settings(top, dir);
        }
        if name == ".opencode" {
            self.plugins(top);
        }
        if !self.with_instructions {
            return;
        }
        if is_instruction_file(top) {
            self.imports(top);
        }
        if name == ".claude" {
            self.imports(&top.join("CLAUDE.md"));
            for rule in std::fs::read_dir(top.join("rules")).into_iter().flatten().flatten() {
                self.imports(&rule.path());
            }
        }
    }

    /// Code that opencode loads by itself.
    fn plugins(&mut self, top: &Path) {
        for list in ["plugin", "plugins", "tool", "tools"] {
            for file in std::fs::read_dir(top.join(list)).into_iter().flatten().flatten().take(MOST_FILES) {
                let line = joined(&[&file.path().to_string_lossy()]);
                self.start(Program {
                    origin: started_for(&file.path(), self.around),
                    line,
                    ..Program::default()
                });
            }
        }
    }

    fn users_own(&mut self) {
        let Around { env, home, root, cwd } = self.around;
        let said = |name: &str| env.get(name).filter(|dir| !dir.is_empty()).map(PathBuf::from);
        let at_home = |name: &str| home.map(|home| home.join(name));
        let claude = said("CLAUDE_CONFIG_DIR").or_else(|| at_home(".claude"));
        let codex = said("CODEX_HOME").or_else(|| at_home(".codex"));
        let opencode = said("XDG_CONFIG_HOME").or_else(|| at_home(".config")).map(|dir| dir.join("opencode"));
        let lists: [(_, &[&str]); 3] = [
            (claude, &["settings.json", "settings.local.json"]),
            (codex, &["config.toml", "hooks.json"]),
            (opencode, &["opencode.json", "opencode.jsonc", "config.json"]),
        ];
        for (dir, names) in lists {
            for name in names {
                if let Some(dir) = &dir {
                    self.settings(&dir.join(name), root);
                }
            }
        }
        self.settings(Path::new("/etc/claude-code/managed-settings.json"), root);
        // Its servers alone: it has much else.
        let state =
            said("CLAUDE_CONFIG_DIR").or(home.map(Path::to_owned)).map(|dir| dir.join(".claude.json"));
        let Some((state, text)) = state.and_then(|file| Some((file.clone(), self.text(&file)?))) else {
            return;
        };
        if !text.contains("\"mcpServers\"") {
            return;
        }
        let value: Value = serde_json::from_str(&text).unwrap_or_default();
        let projects =
            [Some(root), cwd].into_iter().flatten().map(|dir| &value["projects"][&*dir.to_string_lossy()]);
        for said in projects.chain([&value]) {
            self.programs_in(&said["mcpServers"], &state, root);
        }
    }

    fn text(&mut self, file: &Path) -> Option<String> {
        if self.files >= MOST_FILES {
            return None;
        }
        let bytes = regular::read(file, LARGEST_FILE).ok()?;
        self.files += 1;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn settings(&mut self, file: &Path, base: &Path) {
        let Some(text) = self.text(file) else { return };
        let Ok(value) = parse(&file.to_string_lossy(), &text) else { return };
        self.programs_in(&value, file, base);
    }

    /// Whatever has the form of a command, wherever it stands: new versions have new places for it.
    fn programs_in(&mut self, value: &Value, file: &Path, base: &Path) {
        match value {
            Value::Array(list) => list.iter().for_each(|value| self.programs_in(value, file, base)),
            Value::Object(object) => self.object(object, file, base),
            Value::String(text) => {
                for rest in text.split("{file:").skip(1) {
                    let name = rest.split('}').next().unwrap_or_default().to_owned();
                    self.instructions(&name, file, file.parent().unwrap_or(base));
                }
            }
            _ => {}
        }
    }

    fn object(&mut self, object: &Map<String, Value>, file: &Path, base: &Path) {
        let texts = |value: &Value| -> Vec<String> {
            let list = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
            // A plugin may be a list of its name and its options.
            let first = |value: &Value| value.as_str().or_else(|| value[0].as_str()).map(str::to_owned);
            list.iter().filter_map(first).collect()
        };
        let lined = |value: &Value| match value {
            Value::String(line) => line.clone(),
            list => joined(&texts(list).iter().map(String::as_str).collect::<Vec<_>>()),
        };
        let said = |key: &str| object.get(key).and_then(Value::as_str);
        for (key, value) in object {
            let is_line = key == "notify"
                || (value.is_string()
                    && ["Helper", "Refresh", "Export"].iter().any(|end| key.ends_with(end)));
            let lines: Vec<String> = match key.as_str() {
                "command" => {
                    let args = object.get("args").map(texts).unwrap_or_default();
                    let args: Vec<&str> = args.iter().map(String::as_str).collect();
                    vec![format!("{} {}", lined(value), joined(&args))]
                }
                "plugin" | "plugins" => texts(value).iter().filter_map(|name| plugin_file(name)).collect(),
                "path" if matches!(said("source"), Some("directory" | "file")) => vec![lined(value)],
                "instructions" | "model_instructions_file" | "experimental_instructions_file" => {
                    for name in texts(value) {
                        self.instructions(&name, file, base);
                    }
                    Vec::new()
                }
                _ if is_line => vec![lined(value)],
                _ => Vec::new(),
            };
            for line in lines {
                let env =
                    ["env", "environment"].iter().filter_map(|key| object.get(*key)?.as_object()).flatten();
                let env = env.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
                // Hooks run where the harness does, plugins are found beside their file.
                let bases = [
                    Some(base.to_owned()),
                    file.parent().map(Path::to_owned),
                    said("cwd").map(|cwd| base.join(cwd)),
                ];
                let bases = bases.into_iter().flatten().collect();
                self.start(Program {
                    origin: started_for(file, self.around),
                    bases,
                    line,
                    env: env.collect(),
                });
            }
            self.programs_in(value, file, base);
        }
    }

    fn start(&mut self, program: Program) {
        if self.programs.len() < MOST_PROGRAMS {
            self.programs.push(program);
        }
    }

    /// Files that configuration names as instructions, with wildcards perhaps.
    fn instructions(&mut self, name: &str, file: &Path, base: &Path) {
        if !self.with_instructions || name.contains("://") {
            return;
        }
        let why = of_setup(&format!("instructions that {} names", shown(file, self.around)));
        let path = self.expanded(name, base);
        let has_wildcard = |part: &Path| part.to_string_lossy().contains(['*', '?', '[', '{']);
        if !has_wildcard(&path) {
            self.link(&path, &why);
            return;
        }
        let below: PathBuf = path.iter().take_while(|part| !has_wildcard(Path::new(part))).collect();
        let last = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Ok(below) = below.strip_prefix(self.around.root)
            && last.contains('.')
        {
            let place = GitPlace::Named { below: below.to_owned(), name: last };
            self.linked.insert(place, why);
        }
    }

    /// What instructions import with `@path`.
    fn imports(&mut self, file: &Path) {
        let mut pending = vec![(file.to_owned(), 0)];
        let mut known = HashSet::new();
        while let Some((file, depth)) = pending.pop() {
            let Ok(real) = file.canonicalize() else { continue };
            if !known.insert(real.clone()) {
                continue;
            }
            let Some(text) = self.text(&file) else { continue };
            let why = of_setup(&format!("instructions that {} imports", shown(&file, self.around)));
            let is_around = |c: char| "()[]{}<>\"'`*_,;:.!?".contains(c);
            for word in text.split_whitespace() {
                let Some(name) = word.trim_start_matches(is_around).strip_prefix('@') else { continue };
                let name = name.trim_end_matches(is_around);
                let path = self.expanded(name, real.parent().unwrap_or(Path::new("/")));
                if !(path.is_file() || (is_text(&path) && !path.exists())) {
                    continue;
                }
                self.link(&path, &why);
                if depth < DEEPEST {
                    pending.push((path, depth + 1));
                }
            }
        }
    }

    fn expanded(&self, name: &str, base: &Path) -> PathBuf {
        match (name.strip_prefix("~/"), self.around.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => base.join(name),
        }
    }

    /// A path, and every link on the way to it, as far as they are in the root.
    fn link(&mut self, path: &Path, why: &str) {
        for place in on_the_way(path, self.around.root) {
            // The project as a whole is what the agent works on.
            if !place.as_os_str().is_empty() {
                self.linked.entry(GitPlace::Path(place)).or_insert_with(|| why.to_owned());
            }
        }
    }
}

fn is_text(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "md" || ending == "txt")
}

fn joined(words: &[&str]) -> String {
    shlex::try_join(words.iter().copied()).unwrap_or_else(|_| words.join(" "))
}

fn shown(file: &Path, around: Around) -> String {
    file.strip_prefix(around.root).unwrap_or(file).display().to_string()
}

fn started_for(file: &Path, around: Around) -> String {
    of_setup(&format!("a program that {} starts", shown(file, around)))
}

/// A plugin that is a file, and no package.
fn plugin_file(name: &str) -> Option<String> {
    let path = name.strip_prefix("file://").or_else(|| name.strip_prefix("file:")).unwrap_or(name);
    path.starts_with(['.', '/', '~']).then(|| joined(&[path]))
}

/// The places below the root that a program consists of.
fn started_by(program: &Program, around: Around) -> BTreeMap<GitPlace, String> {
    let Around { root, cwd, home, .. } = around;
    let mut bases: Vec<PathBuf> = [root.to_owned()].into();
    bases.extend(cwd.into_iter().map(Path::to_owned).chain(program.bases.iter().cloned()));
    let mut seen = HashSet::new();
    bases.retain(|base| seen.insert(base.clone()));
    let words = shlex::split(&program.line);
    let words = words.unwrap_or_else(|| program.line.split_whitespace().map(str::to_owned).collect());
    let mut line = program.line.clone();
    for (name, value) in program.env.iter().filter(|(name, value)| *name != "PATH" && value.contains('/')) {
        line = format!("{} {line}", joined(&[&format!("{name}={value}")]));
    }
    let expanded = |word: &str, base: &Path| {
        let rest = ["~/", "$HOME/", "${HOME}/"].iter().find_map(|start| word.strip_prefix(start));
        match (rest, home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => base.join(word),
        }
    };
    // Directories that an interpreter is given are programs; others are what a program works on.
    let is_option = |word: &&String| word.starts_with('-') || *word == "run";
    let given = (0..words.len()).filter(|&at| is_interpreter(&words[at]) || words[at] == "go");
    let given = given.filter_map(|at| words[at + 1..].iter().find(|word| !is_option(word)));
    let started: Vec<PathBuf> = given
        .flat_map(|word| bases.iter().filter_map(|base| expanded(word, base).canonicalize().ok()))
        .collect();
    let counts = |dir: &Path| {
        started.iter().any(|started| started == dir) && ENTRIES.iter().any(|entry| dir.join(entry).is_file())
    };
    // A script of the user's own may run one of the project.
    let is_own = |path: &PathBuf| path.is_file() && !path.starts_with("/usr") && !path.starts_with("/bin");
    let scripts: Vec<PathBuf> =
        words.iter().flat_map(|word| bases.iter().map(|base| expanded(word, base))).filter(is_own).collect();
    let mut found = settings::started_by(&line, &scripts, &program.origin, (root, home, &bases), counts);
    let searched = program.env.get("PATH").into_iter().flat_map(|value| value.split(':'));
    for dir in searched {
        // What a variable stands for may be the project.
        let rest = if dir.starts_with('$') { dir.split_once('/').map_or("", |(_, rest)| rest) } else { dir };
        for place in bases.iter().flat_map(|base| on_the_way(&expanded(rest, base), root)) {
            if !rest.is_empty() && !place.as_os_str().is_empty() {
                found.insert(GitPlace::Path(place), program.origin.clone());
            }
        }
    }
    found
}
