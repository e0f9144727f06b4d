//! The project layer of a commit: read from git's objects into memory, never checked out. The working tree is not
//! read.

use super::error::LoadError;
use super::places::{PROJECT_DIR, same_directory};
use crate::host::Host;
use crate::model::plan::PersonaRef;
use crate::tool::{self, Bounds, Finished, ToolError};
use anyhow::Result;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

/// The content of larger files is not read; no file of a layer may be larger.
const MOST_FILE: u64 = 16 << 20;
/// All files of a layer together.
const MOST_BYTES: u64 = 50 << 20;
const MOST_LISTING: u64 = 16 << 20;
const TIME: Duration = Duration::from_mins(1);
/// Maximum length of a chain of links.
const MOST_LINKS: usize = 8;

/// On top of what is switched off for every call of git: nothing is fetched, and a directory of the working tree that
/// looks like a repository is not taken for one.
const OFFLINE: [&str; 4] = ["-c", "protocol.allow=never", "-c", "safe.bareRepository=explicit"];

/// The files of a commit that this run uses.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub reference: PersonaRef,
    /// The top level of the repository.
    pub top: PathBuf,
    /// The directory with the layer's `.agentworkforce`, relative to the top level.
    pub project: Option<PathBuf>,
    /// By display path: `<ref>:<path>`.
    items: BTreeMap<PathBuf, Item>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    File(Vec<u8>),
    TooLarge(u64),
    /// With its target.
    Link(Vec<u8>),
}

/// A file or link of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileOfCommit {
    /// Relative to the directory that was asked for.
    pub path: PathBuf,
    pub item: Item,
    pub executable: bool,
}

/// Why something of a commit cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreadable {
    TooLarge(u64),
    LeadsOut,
}

impl Snapshot {
    /// The layer of the working directory in this commit: that of the nearest directory up to the top level.
    pub fn open(host: &Host, reference: &str) -> Result<Snapshot> {
        let top = top_level(host)?;
        let commit = commit_of(&top, reference)?;
        let reference = PersonaRef { reference: reference.to_owned(), commit };
        let mut snapshot = Snapshot { reference, top, project: None, items: BTreeMap::new() };
        let dirs = host.cwd.ancestors().map_while(|dir| dir.strip_prefix(&snapshot.top).ok());
        let dirs: Vec<PathBuf> = dirs.map(Path::to_owned).collect();
        let asked: Vec<PathBuf> = dirs.iter().map(|dir| dir.join(".agentworkforce")).collect();
        let found = snapshot.read(&asked, Below::Everything)?;
        let has_layer = |dir: &&PathBuf| found.keys().any(|path| path.starts_with(dir.join(PROJECT_DIR)));
        snapshot.project = dirs.iter().find(has_layer).cloned();
        snapshot.items = found.into_iter().map(|(path, item)| (snapshot.shown(&path), item)).collect();
        Ok(snapshot)
    }

    /// The display path of a path in the repository: `<ref>:<path>`. Readers use it too.
    pub fn shown(&self, path: &Path) -> PathBuf {
        let mut shown = OsString::from(self.prefix());
        shown.push(path);
        PathBuf::from(shown)
    }

    /// What every path of the commit starts with.
    pub fn prefix(&self) -> String {
        let PersonaRef { reference, .. } = &self.reference;
        // A ref may be any expression; as a path it must stay relative.
        let plain = reference.chars().all(|c| c.is_ascii_graphic()) && !reference.starts_with('/');
        if plain { format!("{reference}:") } else { format!("{}:", self.reference.short()) }
    }

    /// The path relative to the top level of a display path.
    pub fn relative(&self, shown: &Path) -> Option<PathBuf> {
        let rest = shown.as_os_str().as_bytes().strip_prefix(self.prefix().as_bytes())?;
        Some(PathBuf::from(OsStr::from_bytes(rest)))
    }

    /// The bytes of a file; links are followed as long as they stay in their directory or below.
    pub fn bytes(&self, path: &Path) -> Result<Option<&[u8]>, Unreadable> {
        let mut path = path.to_owned();
        for _ in 0..MOST_LINKS {
            match self.items.get(&path) {
                None => return Ok(None),
                Some(Item::File(bytes)) => return Ok(Some(bytes)),
                Some(Item::TooLarge(size)) => return Err(Unreadable::TooLarge(*size)),
                Some(Item::Link(target)) => path = beside(&path, target).ok_or(Unreadable::LeadsOut)?,
            }
        }
        Err(Unreadable::LeadsOut)
    }

    /// The names of files and links directly in a directory, sorted.
    pub fn names_in<'s>(&'s self, dir: &'s Path) -> impl Iterator<Item = &'s OsStr> {
        self.items.keys().filter(move |path| path.parent() == Some(dir)).filter_map(|path| path.file_name())
    }

    pub fn is_dir(&self, dir: &Path) -> bool {
        self.items.keys().any(|path| path.starts_with(dir) && path != dir)
    }

    /// A link in place of one of the layer's directories; it is not followed.
    pub fn linked_layer(&self) -> Option<&Path> {
        let places = ["personas", "roles", "agents"].map(|name| Path::new(PROJECT_DIR).join(name));
        let is_place = |path: &Path| {
            let path = self.relative(path).unwrap_or_default();
            path.ends_with(".agentworkforce")
                || path.ends_with(PROJECT_DIR)
                || places.iter().any(|place| path.ends_with(place))
        };
        let link = self.items.iter().find(|(path, item)| matches!(item, Item::Link(_)) && is_place(path));
        link.map(|(path, _)| path.as_path())
    }

    /// These files of a directory, as they are in the commit; missing ones are left out.
    pub fn files_of(&self, dir: &Path, names: &[String]) -> Result<Vec<(String, Item)>> {
        let inside = self.inside(dir)?;
        let asked: Vec<PathBuf> = names.iter().map(|name| inside.join(name)).collect();
        let mut found = self.read(&asked, Below::Nothing)?;
        Ok(names
            .iter()
            .zip(&asked)
            .filter_map(|(name, path)| Some((name.clone(), found.remove(path)?)))
            .collect())
    }

    /// The files and links of the commit below a directory whose paths, relative to it, are wanted.
    pub fn files_below(&self, dir: &Path, wanted: impl Fn(&Path) -> bool) -> Result<Vec<FileOfCommit>> {
        let inside = self.inside(dir)?;
        let below = if inside.as_os_str().is_empty() { Vec::new() } else { vec![inside.clone()] };
        let is_wanted = |path: &Path| path.strip_prefix(&inside).is_ok_and(&wanted);
        let found = self.read_wanted(&below, Below::Everything, is_wanted)?;
        let file = |(path, (item, executable)): (PathBuf, (Item, bool))| {
            let path = path.strip_prefix(&inside).ok()?.to_owned();
            Some(FileOfCommit { path, item, executable })
        };
        Ok(found.into_iter().filter_map(file).collect())
    }

    /// A directory of the working tree as a path of the repository.
    fn inside(&self, dir: &Path) -> Result<PathBuf, LoadError> {
        let mut inside = [dir.to_owned()].into_iter().chain(dir.canonicalize().ok());
        let inside = inside.find_map(|dir| dir.strip_prefix(&self.top).map(Path::to_owned).ok());
        inside.ok_or_else(|| LoadError::OutsideRepository { dir: dir.to_owned(), top: self.top.clone() })
    }

    /// Writes the files into a private directory, for readers that need real files.
    pub fn export(&self, to: &Path) -> io::Result<()> {
        for shown in self.items.keys() {
            let (Ok(Some(bytes)), Some(path)) = (self.bytes(shown), self.relative(shown)) else { continue };
            let target = to.join(path);
            let dir = target.parent().unwrap_or(to);
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
            std::fs::write(&target, bytes)?;
        }
        Ok(())
    }

    /// What the commit has at these paths.
    fn read(&self, asked: &[PathBuf], below: Below) -> Result<BTreeMap<PathBuf, Item>> {
        let found = self.read_wanted(asked, below, |_| true)?;
        Ok(found.into_iter().map(|(path, (item, _))| (path, item)).collect())
    }

    /// The same for some of them, each with whether it is executable.
    fn read_wanted(
        &self,
        asked: &[PathBuf],
        below: Below,
        is_wanted: impl Fn(&Path) -> bool,
    ) -> Result<BTreeMap<PathBuf, (Item, bool)>> {
        let mut words: Vec<&OsStr> = ["ls-tree", "-z", "-l", "--full-tree"].map(OsStr::new).into();
        if below == Below::Everything {
            words.push(OsStr::new("-r"));
        }
        words.extend([OsStr::new(&self.reference.commit), OsStr::new("--")]);
        words.extend(asked.iter().map(|path| path.as_os_str()));
        let listing = self.git(&words, None, MOST_LISTING)?;
        let entries = listing.split(|byte| *byte == 0).filter_map(Entry::parse);
        let entries: Vec<Entry> = entries.filter(|entry| is_wanted(&entry.path)).collect();
        let wanted: Vec<&Entry> = entries.iter().filter(|entry| entry.size <= MOST_FILE).collect();
        if wanted.iter().map(|entry| entry.size).sum::<u64>() > MOST_BYTES {
            let reference = self.reference.clone();
            return Err(LoadError::LayerTooLarge { reference, most_megabytes: MOST_BYTES >> 20 }.into());
        }
        let mut contents = self.contents(&wanted)?;
        let item = |entry: Entry| {
            let item = match contents.remove(&entry.path) {
                Some(bytes) if entry.is_link => Item::Link(bytes),
                Some(bytes) => Item::File(bytes),
                None => Item::TooLarge(entry.size),
            };
            (entry.path, (item, entry.is_executable))
        };
        Ok(entries.into_iter().map(item).collect())
    }

    fn contents(&self, entries: &[&Entry]) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
        if entries.is_empty() {
            return Ok(BTreeMap::new());
        }
        let list: String = entries.iter().map(|entry| format!("{}\n", entry.object)).collect();
        let words = ["cat-file", "--batch"].map(OsStr::new);
        let output = self.git(&words, Some(tool::input(list.as_bytes())?), MOST_BYTES + MOST_LISTING)?;
        let mut rest = output.as_slice();
        let mut contents = BTreeMap::new();
        for entry in entries {
            // `<object> blob <size>`, the bytes, a line feed.
            let head = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            let is_blob = rest[..head].ends_with(format!(" blob {}", entry.size).as_bytes());
            let size = usize::try_from(entry.size).unwrap_or(usize::MAX);
            let Some(bytes) = rest.get(head + 1..).and_then(|rest| rest.get(..size)).filter(|_| is_blob)
            else {
                return Err(LoadError::MissingObject { path: self.shown(&entry.path) }.into());
            };
            contents.insert(entry.path.clone(), bytes.to_owned());
            rest = rest.get(head + 1 + size + 1..).unwrap_or_default();
        }
        Ok(contents)
    }

    fn git(&self, words: &[&OsStr], stdin: Option<Stdio>, most: u64) -> Result<Vec<u8>> {
        let output = git(&self.top, words, stdin, most)?;
        let unreadable =
            |complaint| LoadError::UnreadableCommit { reference: self.reference.clone(), complaint };
        Ok(output.map_err(unreadable)?)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Below {
    Everything,
    Nothing,
}

/// One line of `ls-tree -l`.
struct Entry {
    is_link: bool,
    is_executable: bool,
    object: String,
    size: u64,
    path: PathBuf,
}

impl Entry {
    /// Submodules and directories are left out, and paths that no checkout would make.
    fn parse(line: &[u8]) -> Option<Entry> {
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        let mut words = std::str::from_utf8(&line[..tab]).ok()?.split_ascii_whitespace();
        let (mode, kind, object, size) = (words.next()?, words.next()?, words.next()?, words.next()?);
        let path = PathBuf::from(OsStr::from_bytes(&line[tab + 1..]));
        let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        // A size that is not known is that of a file which this clone does not have; reading it says so.
        let size = size.parse().unwrap_or(0);
        let (is_link, is_executable) = (mode == "120000", mode == "100755");
        let entry = Entry { is_link, is_executable, object: object.to_owned(), size, path };
        (kind == "blob" && is_plain).then_some(entry)
    }
}

/// Where a link leads, if that is in its own directory or below.
fn beside(link: &Path, target: &[u8]) -> Option<PathBuf> {
    let target = Path::new(OsStr::from_bytes(target));
    let stays = target.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    stays.then(|| link.parent().unwrap_or(Path::new("")).join(target))
}

fn top_level(host: &Host) -> Result<PathBuf, LoadError> {
    let top = host.cwd.ancestors().find(|dir| dir.join(".git").symlink_metadata().is_ok());
    let Some(top) = top else { return Err(LoadError::NotARepository { dir: host.cwd.clone() }) };
    if host.home_dir().is_some_and(|home| same_directory(&home, top)) {
        return Err(LoadError::HomeIsTheRepository);
    }
    Ok(top.to_owned())
}

fn commit_of(top: &Path, reference: &str) -> Result<String, LoadError> {
    let expression = format!("{reference}^{{commit}}");
    let words =
        ["-c", "core.warnAmbiguousRefs=true", "rev-parse", "--verify", "--end-of-options", &expression];
    let is_name =
        |text: &str| matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_exact = is_name(reference) || reference.starts_with("refs/");
    let reference = reference.to_owned();
    match ask_git(top, &words.map(OsStr::new), None, MOST_LISTING)? {
        // Whoever names the branch of a pull request may call it `origin/main`.
        Ok(answer) if !is_exact && answer.stderr.contains("is ambiguous") => {
            Err(LoadError::AmbiguousCommit { reference })
        }
        Ok(answer) => {
            let commit = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
            if is_name(&commit) { Ok(commit) } else { Err(LoadError::NotACommit { reference }) }
        }
        Err(complaint) if complaint.contains("not a git repository") => {
            Err(LoadError::BrokenRepository { complaint })
        }
        Err(complaint) if complaint.contains("dubious ownership") => {
            Err(LoadError::UntrustedRepository { complaint })
        }
        Err(complaint) => Err(LoadError::NoSuchCommit { reference, complaint }),
    }
}

/// What git printed, or what it complained about.
fn git(
    top: &Path,
    words: &[&OsStr],
    stdin: Option<Stdio>,
    most: u64,
) -> Result<Result<Vec<u8>, String>, LoadError> {
    Ok(ask_git(top, words, stdin, most)?.map(|answer| answer.stdout))
}

/// The same with its warnings.
fn ask_git(
    top: &Path,
    words: &[&OsStr],
    stdin: Option<Stdio>,
    most: u64,
) -> Result<Result<Finished, String>, LoadError> {
    let mut command = crate::git::command(top);
    command.args(OFFLINE).args(words);
    // A broken repository here must not make git look for another one further up.
    command.env("GIT_CEILING_DIRECTORIES", top.parent().unwrap_or(top));
    let bounds = Bounds { time: TIME, output: most, stop: &|| false };
    let finished = tool::run(&mut command, stdin, bounds).map_err(|error| match error {
        ToolError::Start { error, .. } if error.kind() == io::ErrorKind::NotFound => LoadError::NoGit,
        error => LoadError::Git(error),
    })?;
    if finished.status.success() {
        return Ok(Ok(finished));
    }
    let complaint = finished.stderr.lines().map(str::trim).find(|line| !line.is_empty());
    Ok(Err(complaint.unwrap_or("git failed").to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_tree_are_files_and_links_with_paths_that_stay_inside() {
        let parse =
            |line: &str| Entry::parse(line.as_bytes()).map(|entry| (entry.is_link, entry.size, entry.path));
        let path = |text: &str| PathBuf::from(text);
        assert_eq!(parse("100644 blob abc     12\ta b.json"), Some((false, 12, path("a b.json"))));
        assert_eq!(parse("120000 blob abc      3\tdir/l"), Some((true, 3, path("dir/l"))));
        assert_eq!(parse("160000 commit abc      -\tsub"), None);
        assert_eq!(parse("040000 tree abc      -\tdir"), None);
        assert_eq!(parse("100644 blob abc      1\t../a"), None);
        assert_eq!(parse("100644 blob abc      1\t/a"), None);
    }

    #[test]
    fn a_link_is_followed_beside_and_below_itself_only() {
        assert_eq!(beside(Path::new("r:d/l"), b"x/y.md"), Some("r:d/x/y.md".into()));
        assert_eq!(beside(Path::new("r:d/l"), b"../y.md"), None);
        assert_eq!(beside(Path::new("r:d/l"), b"/etc/passwd"), None);
    }
}
