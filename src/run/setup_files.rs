//! The files of a repository's own setup, in the working tree or in a commit: reads them, and makes of commands and skills what a
//! mount may show. Those are instructions; what their frontmatter has of permissions and hooks is left out.

use crate::files::regular;
use crate::load::snapshot::{FileOfCommit, Item, Snapshot};
use crate::model::inherit::{Inherit, PlannedInherit};
use crate::model::warning::{Warning, WarningCode};
use crate::mount::InjectedFile;
use crate::mount::fs::stat::Kind;
use crate::mount::fs::tree::{self, Tree};
use crate::rules::inherit::{SetupPlace, is_cleaned, is_instruction_file, is_plugin, is_text};
use crate::skills::powers::without_powers;
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

/// No text of a setup is larger.
const LARGEST: u64 = 1 << 20;
const MOST_ENTRIES: usize = 5_000;
const DEEPEST: usize = 16;
/// Length of a chain of links in a commit.
const MOST_LINKS: usize = 8;

/// Where the files come from.
pub(super) enum SetupFiles {
    Tree(TreeFiles),
    Commit(CommitFiles),
}

/// Opened without following links.
pub(super) struct TreeFiles(Option<Tree>);

pub(super) struct CommitFiles {
    files: BTreeMap<PathBuf, FileOfCommit>,
    /// Why it could not be read.
    failed: Option<String>,
}

/// What a mount shows.
#[derive(Default)]
pub(super) struct InMount {
    pub files: Vec<InjectedFile>,
    /// Places of the working tree that may be shown; `None` for a commit.
    pub places: Option<Vec<SetupPlace>>,
    pub warnings: Vec<Warning>,
}

impl TreeFiles {
    pub fn open(root: &Path) -> TreeFiles {
        TreeFiles(root.canonicalize().and_then(|root| Tree::open(&root)).ok())
    }
}

impl SetupFiles {
    pub fn of_commit(snapshot: &Snapshot, root: &Path, places: &[SetupPlace]) -> SetupFiles {
        const READ: [&str; 8] = [
            ".mcp.json",
            "config.toml",
            "opencode.json",
            "opencode.jsonc",
            "settings.json",
            "settings.local.json",
            ".claude",
            ".agents",
        ];
        let is_wanted = |path: &Path| {
            is_instruction_file(path)
                || places.iter().any(|place| path.starts_with(&place.path))
                || path.file_name().is_some_and(|name| READ.iter().any(|read| name == *read))
        };
        let (files, failed) = match snapshot.files_below(root, is_wanted) {
            Ok(files) => (files, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let files = files.into_iter().map(|file| (file.path.clone(), file)).collect();
        SetupFiles::Commit(CommitFiles { files, failed })
    }

    /// The text of a file; `None` if it is not there.
    pub fn text(&self, path: &Path) -> Result<Option<String>, String> {
        let bytes = match self {
            SetupFiles::Tree(TreeFiles(tree)) => {
                let Some(tree) = tree else { return Ok(None) };
                match tree.open_file(path) {
                    Ok((file, _)) => regular::content(file, LARGEST).map_err(|error| error.to_string())?,
                    Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                        return Ok(None);
                    }
                    Err(_) if is_link(tree, path) => return Err("it is a link, or behind one".to_owned()),
                    Err(error) => return Err(error.to_string()),
                }
            }
            SetupFiles::Commit(commit) => match commit.files.get(path).map(|file| &file.item) {
                None => return Ok(None),
                Some(Item::File(bytes)) => bytes.clone(),
                Some(Item::Link(_)) => return Err("it is a link, or behind one".to_owned()),
                Some(Item::TooLarge(_)) => return Err("it is too large".to_owned()),
            },
        };
        String::from_utf8(bytes).map(Some).map_err(|_| "it is not UTF-8".to_owned())
    }

    pub fn exists(&self, path: &Path) -> bool {
        match self {
            SetupFiles::Tree(TreeFiles(tree)) => {
                tree.as_ref().is_some_and(|tree| matches!(tree.stat(path), Ok(Some(_))))
            }
            SetupFiles::Commit(commit) => commit.files.keys().any(|file| file.starts_with(path)),
        }
    }

    /// What the mount shows of these places. A pattern may reveal what is not inherited; nothing of a commit is.
    pub fn in_mount(
        &self,
        all: &[SetupPlace],
        inherit: &PlannedInherit,
        reveals: bool,
    ) -> Result<InMount, String> {
        match self {
            SetupFiles::Tree(files) => Ok(files.in_mount(all, |kind| reveals || inherit.has(kind))),
            SetupFiles::Commit(commit) => commit.in_mount(all, inherit),
        }
    }
}

/// Whether the path or a part of it is a link.
fn is_link(tree: &Tree, path: &Path) -> bool {
    let is_link = |part: &Path| matches!(tree.stat(part), Ok(Some(stat)) if stat.kind == Kind::Symlink);
    path.ancestors().any(is_link)
}

impl TreeFiles {
    fn in_mount(&self, all: &[SetupPlace], may_be_shown: impl Fn(Inherit) -> bool) -> InMount {
        let mut found = InMount { places: Some(Vec::new()), ..InMount::default() };
        let Some(tree) = &self.0 else { return found };
        let mut left_out = LeftOut::default();
        for place in all.iter().filter(|place| may_be_shown(place.kind)) {
            let checked = if is_cleaned(place.kind) {
                harmless(tree, &place.path, &mut left_out)
            } else {
                Ok(Vec::new())
            };
            match checked {
                Ok(files) => {
                    found.files.extend(files);
                    found.places.get_or_insert_default().push(place.clone());
                }
                Err(why) => {
                    let text = format!("{} stays hidden: {why}", place.path.display());
                    found.warnings.push(Warning::new(WarningCode::Skill, text));
                }
            }
        }
        found.warnings.extend(left_out.warning());
        found
    }
}

/// The files below a place that may not be shown as they are.
fn harmless(tree: &Tree, place: &Path, left_out: &mut LeftOut) -> Result<Vec<InjectedFile>, String> {
    let mut found = Vec::new();
    let mut pending = vec![(place.to_owned(), 0)];
    let mut count = 0;
    while let Some((dir, depth)) = pending.pop() {
        let listed = match tree.open_dir(&dir) {
            Ok(fd) => tree::list(std::os::fd::AsFd::as_fd(&fd)).map_err(|error| error.to_string())?,
            // Not there, or a link, which is judged where the tree is walked.
            Err(error)
                if depth == 0
                    && (matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
                        || is_link(tree, &dir)) =>
            {
                return Ok(Vec::new());
            }
            Err(error) => return Err(error.to_string()),
        };
        count += listed.len();
        if count > MOST_ENTRIES || depth > DEEPEST {
            return Err("it has too many files to check".to_owned());
        }
        for name in listed {
            let path = dir.join(name);
            let stat = tree.stat(&path).map_err(|error| error.to_string())?;
            match stat.map(|stat| (stat.kind, stat.mode)) {
                // Hidden where the tree is walked, whatever it is.
                _ if is_plugin(&path) => {}
                Some((Kind::Dir, _)) => pending.push((path, depth + 1)),
                Some((Kind::File, mode)) if is_text(&path) => {
                    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
                    let (file, _) = tree.open_file(&path).map_err(failed)?;
                    let bytes = regular::content(file, LARGEST).map_err(failed)?;
                    if let Some(bytes) = left_out.from(&path, &bytes) {
                        found.push(InjectedFile { path, bytes, mode: mode & 0o777 });
                    }
                }
                _ => {}
            }
        }
    }
    Ok(found)
}

impl CommitFiles {
    fn in_mount(&self, all: &[SetupPlace], inherit: &PlannedInherit) -> Result<InMount, String> {
        let mut found = InMount::default();
        // Hooks run in the working tree.
        let is_inherited = |kind: Inherit| inherit.has(kind) && kind != Inherit::Hooks;
        if let Some(why) =
            self.failed.as_ref().filter(|_| inherit.kinds.iter().any(|kind| is_inherited(*kind)))
        {
            return Err(why.clone());
        }
        let kind_of = |path: &Path| {
            // What is among commands or skills is one of them, whatever it is called.
            let mut places = all.iter().filter(|place| path.starts_with(&place.path));
            let place = places.clone().find(|place| is_cleaned(place.kind)).or_else(|| places.next());
            let named = is_instruction_file(path).then_some(Inherit::Instructions);
            let kind = place.map(|place| place.kind).or(named).filter(|kind| is_inherited(*kind))?;
            let is_part = !is_cleaned(kind) || !path.ancestors().any(is_plugin);
            is_part.then_some(kind)
        };
        let mut left_out = LeftOut::default();
        for file in self.files.values() {
            let Some(kind) = kind_of(&file.path) else { continue };
            let targets = self.behind(file, &|path: &Path| kind_of(path).is_some());
            if targets.is_empty() {
                let text = format!(
                    "{} is not inherited: it is a link that leads elsewhere, or too large",
                    file.path.display()
                );
                found.warnings.push(Warning::new(WarningCode::NotUsed, text));
            }
            for (path, bytes, executable) in targets {
                // A link may give it a place, and a name, that it does not have itself.
                let is_command = is_cleaned(kind) || kind_of(&path).is_some_and(is_cleaned);
                if is_command && path.ancestors().any(is_plugin) {
                    continue;
                }
                let has_powers = is_command && is_text(&path);
                let bytes = match has_powers.then(|| left_out.from(&path, bytes)).flatten() {
                    Some(harmless) => harmless,
                    None => bytes.to_vec(),
                };
                found.files.push(InjectedFile { path, bytes, mode: if executable { 0o755 } else { 0o644 } });
            }
        }
        found.files.sort_by(|a, b| a.path.cmp(&b.path));
        found.files.dedup_by(|a, b| a.path == b.path);
        found.warnings.extend(left_out.warning());
        Ok(found)
    }

    /// The file, or what a link stands for: paths in the mount with their bytes. A link to a directory stands for all files in it.
    fn behind<'f>(
        &'f self,
        file: &'f FileOfCommit,
        is_shown: &dyn Fn(&Path) -> bool,
    ) -> Vec<(PathBuf, &'f [u8], bool)> {
        let mut path = file.path.clone();
        for _ in 0..MOST_LINKS {
            match self.files.get(&path).map(|file| (&file.item, file.executable)) {
                Some((Item::File(bytes), executable)) if is_shown(&path) => {
                    return vec![(file.path.clone(), bytes, executable)];
                }
                Some((Item::Link(target), _)) => match beside(&path, target) {
                    Some(target) => path = target,
                    None => return Vec::new(),
                },
                Some(_) => return Vec::new(),
                None => {
                    let below = self.files.values().filter(|other| other.path.starts_with(&path));
                    let files = below.filter(|other| is_shown(&other.path)).filter_map(|other| {
                        let Item::File(bytes) = &other.item else { return None };
                        let rest = other.path.strip_prefix(&path).ok()?;
                        Some((file.path.join(rest), bytes.as_slice(), other.executable))
                    });
                    return files.collect();
                }
            }
        }
        Vec::new()
    }
}

/// Where a link leads, if that is in the repository.
fn beside(link: &Path, target: &[u8]) -> Option<PathBuf> {
    let target = Path::new(std::str::from_utf8(target).ok()?);
    let mut path = link.parent()?.to_owned();
    for part in target.components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            Component::ParentDir if !path.as_os_str().is_empty() => {
                path.pop();
            }
            _ => return None,
        }
    }
    Some(path)
}

/// What was left out of commands and skills.
#[derive(Default)]
struct LeftOut {
    keys: BTreeSet<String>,
    files: Vec<PathBuf>,
}

impl LeftOut {
    /// The text without powers, if it has any.
    fn from(&mut self, path: &Path, bytes: &[u8]) -> Option<Vec<u8>> {
        let harmless = without_powers(bytes);
        if *harmless.bytes == *bytes {
            return None;
        }
        if !harmless.removed.is_empty() || harmless.is_shortened {
            self.files.push(path.to_owned());
            self.keys.extend(harmless.removed);
        }
        Some(harmless.bytes.into_owned())
    }

    fn warning(&self) -> Option<Warning> {
        const NAMED: usize = 3;
        let first = self.files.first()?;
        let keys: Vec<&str> = self.keys.iter().map(String::as_str).collect();
        let keys = if keys.is_empty() { "lines that are not YAML".to_owned() } else { keys.join(", ") };
        let names: Vec<String> =
            self.files.iter().take(NAMED).map(|path| path.display().to_string()).collect();
        let more = match self.files.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let names = if self.files.len() == 1 { first.display().to_string() } else { names.join(", ") };
        let text = format!(
            "{keys} of {names}{more} left out: commands and skills bring instructions only, the persona has the permissions"
        );
        Some(Warning::new(WarningCode::Skill, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_of_a_commit_stays_in_the_repository() {
        let of = |link: &str, target: &str| beside(Path::new(link), target.as_bytes());
        assert_eq!(of("CLAUDE.md", "AGENTS.md"), Some("AGENTS.md".into()));
        assert_eq!(of(".claude/skills", "../.agents/skills"), Some(".agents/skills".into()));
        assert_eq!(of("CLAUDE.md", "../CLAUDE.md"), None);
        assert_eq!(of("CLAUDE.md", "/etc/passwd"), None);
    }

    #[test]
    fn what_was_left_out_is_said_once() {
        let mut left_out = LeftOut::default();
        assert_eq!(left_out.from(Path::new("a.md"), b"---\ndescription: x\n---\ntext"), None);
        assert_eq!(left_out.warning(), None);
        let bytes = left_out.from(Path::new("b.md"), b"---\ndescription: x\nallowed-tools: Bash\n---\ntext");
        assert!(!String::from_utf8(bytes.unwrap()).unwrap().contains("Bash"));
        assert!(left_out.warning().unwrap().message.starts_with("allowed-tools of b.md left out"));
    }
}
