//! Reads the repository's own setup of harnesses: what a run inherits, and what it would find there. All of it comes from the working
//! tree, without following links, or with `--persona-ref` all of it from the commit. Decides nothing about what is inherited.

use super::setup_files::{SetupFiles, TreeFiles};
use crate::convert::setup_servers;
use crate::files::regular;
use crate::harness::adapter;
use crate::load::snapshot::Snapshot;
use crate::model::inherit::{HiddenSetup, Inherit, PlannedInherit};
use crate::model::persona::McpServer;
use crate::model::tier::Harness;
use crate::model::warning::{Warning, WarningCode};
use crate::mount::InjectedFile;
use crate::plan::parts::FoundSetup;
use crate::rules::inherit::{INSTRUCTIONS, SetupPlace, directories, is_instruction_file, places};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::path::{Path, PathBuf};

/// What a user has of MCP servers, conversations and much else.
const LARGEST_STATE: u64 = 32 << 20;
/// How many directory entries are looked at for instruction files further down. That takes a few milliseconds.
const MOST_ENTRIES: usize = 5_000;
/// Directories full of other people's files.
const MADE: [&str; 4] = ["node_modules", "target", "vendor", "dist"];
/// Programs pass over it at the beginning of a file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What a run is about to inherit from.
pub(super) struct Surroundings<'a> {
    pub root: &'a Path,
    /// Relative to the root.
    pub cwd: &'a Path,
    pub harness: Harness,
    pub env: &'a BTreeMap<String, String>,
    pub home: Option<&'a Path>,
    pub snapshot: Option<&'a Snapshot>,
    /// The agent's files of a session that goes on.
    pub earlier: Option<PathBuf>,
    /// Whether patterns may show what is not inherited.
    pub reveals: bool,
}

/// What was found.
#[derive(Default)]
pub(super) struct Setup {
    pub found: FoundSetup,
    /// `None` where the working tree is not trusted.
    pub places: Option<Vec<SetupPlace>>,
    /// Files that the mount has instead of what the working tree has, or hides.
    pub files: Vec<InjectedFile>,
    /// What is there and not inherited.
    pub hidden: Vec<HiddenSetup>,
    pub warnings: Vec<Warning>,
}

pub(super) fn read(around: &Surroundings, inherit: &PlannedInherit) -> Setup {
    let mut setup = Setup::default();
    let all = places(around.cwd);
    let files = match around.snapshot {
        Some(snapshot) => SetupFiles::of_commit(snapshot, around.root, &all),
        None => SetupFiles::Tree(TreeFiles::open(around.root)),
    };
    let servers = servers(&files, around, inherit, &mut setup);
    let hooks = hooks(&files, around, inherit, &mut setup);
    setup.found.servers = servers;
    setup.found.users_servers = users_servers(around);
    setup.found.hooks = hooks;
    if inherit.has(Inherit::Mcp) {
        match foreign_servers(around) {
            Ok(names) => setup.found.foreign_servers = names,
            Err(file) => {
                let text = format!(
                    "which MCP servers {} configures is not clear, so that no others than those of this run are started",
                    file.display()
                );
                setup.warnings.push(Warning::new(WarningCode::Harness, text));
                setup.found.has_unclear_servers = true;
            }
        }
    }
    note_hidden_files(&files, around, inherit, &all, &mut setup);
    if inherit.has(Inherit::Hooks) && around.snapshot.is_some() {
        let text =
            "hooks are not inherited: they run in the working tree, and `--persona-ref` trusts nothing of it";
        setup.warnings.push(Warning::new(WarningCode::NotUsed, text));
    }
    match files.in_mount(&all, inherit, around.reveals) {
        Ok(in_mount) => {
            setup.warnings.extend(in_mount.warnings);
            setup.files = in_mount.files;
            setup.places = in_mount.places;
        }
        Err(why) => {
            let text = format!("nothing of the repository's own files is inherited: {why}");
            setup.warnings.push(Warning::new(WarningCode::NotUsed, text));
            setup.places = around.snapshot.is_none().then(Vec::new);
        }
    }
    setup.hidden.sort_by_key(|hidden| hidden.kind);
    setup
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// The repository's servers; those of the run's own harness win, and those of the nearest directory.
fn servers(
    files: &SetupFiles,
    around: &Surroundings,
    inherit: &PlannedInherit,
    setup: &mut Setup,
) -> BTreeMap<String, McpServer> {
    let mut found: BTreeMap<String, McpServer> = BTreeMap::new();
    let mut named = Vec::new();
    let mut harnesses = Harness::ALL;
    harnesses.reverse();
    harnesses.sort_by_key(|harness| *harness == around.harness);
    for name in harnesses.iter().flat_map(|harness| adapter(*harness).server_files) {
        for dir in directories(around.cwd) {
            let path = dir.join(name);
            let read = files.text(&path).and_then(|text| match text {
                Some(text) => setup_servers::read(name, &text).map(Some),
                None => Ok(None),
            });
            match read {
                Ok(None) => {}
                Ok(Some(read)) => {
                    if !read.servers.is_empty() {
                        named.push(shown(&path));
                    }
                    found.extend(read.servers);
                    for (server, why) in read.left_out.into_iter().filter(|_| inherit.has(Inherit::Mcp)) {
                        let text = format!("{}: MCP server `{server}` is left out: {why}", path.display());
                        setup.warnings.push(Warning::new(WarningCode::NotUsed, text));
                    }
                }
                Err(why) => problem(&path, &why, Inherit::Mcp, inherit, setup),
            }
        }
    }
    if !inherit.has(Inherit::Mcp) {
        let users = &adapter(around.harness).user_servers;
        if users.as_ref().is_some_and(|users| users.only_inherited) && !users_servers(around).is_empty() {
            named.push("your own MCP servers".to_owned());
        }
        if !named.is_empty() {
            setup.hidden.push(HiddenSetup { kind: Inherit::Mcp, what: named });
        }
    }
    found
}

/// A file that cannot be read matters only to those who inherit from it.
fn problem(path: &Path, why: &str, kind: Inherit, inherit: &PlannedInherit, setup: &mut Setup) {
    if inherit.has(kind) {
        let text = format!("{} is not inherited: {why}", path.display());
        setup.warnings.push(Warning::new(WarningCode::InvalidFile, text));
    }
}

/// The hooks by event, of all files together that this harness takes them from.
fn hooks(
    files: &SetupFiles,
    around: &Surroundings,
    inherit: &PlannedInherit,
    setup: &mut Setup,
) -> Map<String, Value> {
    let mut all: Map<String, Value> = Map::new();
    let mut named = Vec::new();
    for dir in directories(around.cwd) {
        for path in adapter(around.harness).hook_files.iter().map(|name| dir.join(name)) {
            match files.text(&path).and_then(|text| text.map(|text| hooks_in(&path, &text)).transpose()) {
                Ok(None) => {}
                Ok(Some(events)) => {
                    if !events.is_empty() {
                        named.push(shown(&path));
                    }
                    for (event, list) in events {
                        let slot = all.entry(event).or_insert_with(|| Value::Array(Vec::new()));
                        if let Value::Array(slot) = slot {
                            slot.extend(list);
                        }
                    }
                }
                Err(why) => problem(&path, &why, Inherit::Hooks, inherit, setup),
            }
        }
    }
    // Nothing brings those of a commit.
    if !inherit.has(Inherit::Hooks) && !named.is_empty() && around.snapshot.is_none() {
        setup.hidden.push(HiddenSetup { kind: Inherit::Hooks, what: named });
    }
    // They would run what the working tree has, whichever commit they are from.
    if around.snapshot.is_some() || !inherit.has(Inherit::Hooks) { Map::new() } else { all }
}

fn hooks_in(path: &Path, text: &str) -> Result<Vec<(String, Vec<Value>)>, String> {
    let settings: Value = if path.extension().is_some_and(|extension| extension == "toml") {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| error.message().to_owned())?;
        serde_json::to_value(table).map_err(|error| error.to_string())?
    } else {
        serde_json::from_str(text).map_err(|error| format!("invalid JSON: {error}"))?
    };
    let Some(hooks) = settings.get("hooks") else { return Ok(Vec::new()) };
    let Value::Object(events) = hooks else { return Err("`hooks` is not an object".into()) };
    let list = |(event, list): (&String, &Value)| match list {
        Value::Array(list) => Ok((event.clone(), list.clone())),
        // What codex notes of hooks that were reviewed.
        Value::Object(_) if event == "state" => Ok((event.clone(), Vec::new())),
        _ => Err(format!("`hooks.{event}` is not a list")),
    };
    let all: Result<Vec<(String, Vec<Value>)>, String> = events.iter().map(list).collect();
    Ok(all?.into_iter().filter(|(_, list)| !list.is_empty()).collect())
}

/// What exists of the other kinds.
fn note_hidden_files(
    files: &SetupFiles,
    around: &Surroundings,
    inherit: &PlannedInherit,
    all: &[SetupPlace],
    setup: &mut Setup,
) {
    for kind in [Inherit::Instructions, Inherit::Commands, Inherit::Skills] {
        if inherit.has(kind) {
            continue;
        }
        let mut candidates = Vec::new();
        if kind == Inherit::Instructions {
            let named = |dir: PathBuf| INSTRUCTIONS.map(|name| dir.join(name));
            candidates.extend(directories(around.cwd).into_iter().flat_map(named));
        }
        let of_kind = all.iter().filter(|place| place.kind == kind);
        candidates.extend(of_kind.map(|place| place.path.clone()));
        let mut what: Vec<String> =
            candidates.iter().filter(|path| files.exists(path)).map(|path| shown(path)).collect();
        if kind == Inherit::Instructions && around.snapshot.is_none() {
            let nested = instructions_below(around.root, around.cwd);
            what.extend(
                nested.iter().map(|path| shown(path)).filter(|path| !candidates.contains(&path.into())),
            );
        }
        if !what.is_empty() {
            setup.hidden.push(HiddenSetup { kind, what });
        }
    }
}

/// Instruction files in the directories below the working directory, those near the top first. It only tells the user what a run does
/// not see, so it does not search a large project to its end, nor what is installed or made there.
fn instructions_below(root: &Path, cwd: &Path) -> Vec<PathBuf> {
    let (mut found, mut seen) = (Vec::new(), 0);
    let mut waiting = VecDeque::from([cwd.to_owned()]);
    while let Some(dir) = waiting.pop_front().filter(|_| seen < MOST_ENTRIES) {
        let entries = std::fs::read_dir(root.join(&dir)).into_iter().flatten().flatten();
        for entry in entries.take(MOST_ENTRIES - seen) {
            seen += 1;
            let (name, path) = (entry.file_name(), dir.join(entry.file_name()));
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                found.extend(is_instruction_file(&path).then_some(path));
            } else if !name.as_encoded_bytes().starts_with(b".") && !MADE.iter().any(|made| name == *made) {
                waiting.push_back(path);
            }
        }
    }
    found.sort_by_key(|path| (path.components().count(), path.clone()));
    found
}

/// The user's own MCP servers, for everything or for this project. A file that cannot be read names none.
fn users_servers(around: &Surroundings) -> BTreeSet<String> {
    let Some(servers) = &adapter(around.harness).user_servers else { return BTreeSet::new() };
    let said = around.env.get(servers.variable).filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let Some(dir) = said.or_else(|| around.home.map(|home| home.join(servers.usual))) else {
        return BTreeSet::new();
    };
    let project: PathBuf = around.root.join(around.cwd).components().collect();
    let names = |file: &&str| {
        let bytes = regular::read(&dir.join(file), LARGEST_STATE).ok()?;
        setup_servers::names(file, std::str::from_utf8(&bytes).ok()?, &project.display().to_string()).ok()
    };
    servers.files.iter().filter_map(names).flatten().collect()
}

/// Servers that the harness starts besides the user's and the repository's: those of directories above the project, and those
/// that an agent has written into a mount that is used again. Fails with a file that the harness may read in another way than we do.
fn foreign_servers(around: &Surroundings) -> Result<Vec<String>, PathBuf> {
    let servers = adapter(around.harness).user_servers.as_ref();
    let Some(name) = servers.and_then(|servers| servers.in_directories_above) else { return Ok(Vec::new()) };
    let above = around.root.ancestors().skip(1).map(Path::to_owned);
    let earlier = around
        .earlier
        .iter()
        .flat_map(|data| directories(around.cwd).into_iter().map(move |dir| data.join(dir)));
    let mut names = BTreeSet::new();
    for dir in above.chain(earlier) {
        let file = dir.join(name);
        if file.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            continue;
        }
        let Ok(bytes) = regular::read(&file, LARGEST_STATE) else { return Err(file) };
        let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
        let Ok(value) = serde_json::from_slice::<Value>(text) else { return Err(file) };
        names.extend(value["mcpServers"].as_object().into_iter().flat_map(Map::keys).cloned());
    }
    Ok(names.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_of_directories_below_are_found() {
        let dir = tempfile::tempdir().unwrap();
        for path in
            ["a/b/CLAUDE.md", "a/AGENTS.md", "a/README.md", "node_modules/x/CLAUDE.md", ".git/CLAUDE.md"]
        {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        assert_eq!(
            instructions_below(dir.path(), Path::new("")),
            ["a/AGENTS.md", "a/b/CLAUDE.md"].map(PathBuf::from)
        );
        assert_eq!(instructions_below(dir.path(), Path::new("a/b")), [PathBuf::from("a/b/CLAUDE.md")]);
    }

    #[test]
    fn hooks_are_lists_by_event() {
        let hooks_in = |text: &str| hooks_in(Path::new("settings.json"), text);
        let hooks = hooks_in(r#"{"hooks": {"Stop": [{"hooks": []}], "PreToolUse": []}, "env": {"A": "b"}}"#);
        assert_eq!(hooks.unwrap().iter().map(|(event, _)| event.as_str()).collect::<Vec<_>>(), ["Stop"]);
        assert_eq!(hooks_in("{}"), Ok(Vec::new()));
        for wrong in ["[", r#"{"hooks": []}"#, r#"{"hooks": {"Stop": {}}}"#] {
            assert!(hooks_in(wrong).is_err(), "{wrong}");
        }
        let toml =
            "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = 'command'\ncommand = 'x'\n[hooks.state]\nx = 1\n";
        let hooks = super::hooks_in(Path::new(".codex/config.toml"), toml).unwrap();
        assert_eq!(hooks.len(), 1, "{hooks:?}");
    }
}
