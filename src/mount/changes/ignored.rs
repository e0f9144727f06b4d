//! Decides whether git ignores a path, by the ignore files of the agent's side or of the project, and by the user's own indexes. A
//! tracked path is never ignored, whatever a pattern says. The repository may begin above the root, and there may be others below it:
//! a path that any of them ignores is ignored. It changes nothing.

use super::ignore_file::{IgnoreFiles, Patterns};
use crate::files::{owned, regular};
use crate::git::{self, Limits};
use crate::mount::fs::stat::Kind;
use crate::mount::fs::tree::{Lookup, Tree};
use crate::mount::git::repository::{LARGEST_SETTINGS, Repository};
use crate::mount::git::surroundings::users_excludes_file;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Larger files are not read as ignore files.
const LARGEST_FILE: u64 = 1 << 20;
/// Pathspecs for one git command, well below the limit for arguments.
const BATCH_BYTES: usize = 64 * 1024;

/// If git takes longer to print the path of its exclude file, it is blocked on something.
const EXCLUDES: Duration = Duration::from_secs(10);

/// What a repository ignores by its exclude file and settings.
type Own = [Patterns; 2];

/// A change that no pattern that we read ignores.
pub(super) struct Asked<'a> {
    pub(super) path: &'a Path,
    pub(super) is_dir: bool,
    /// What the user has there.
    pub(super) now: Option<Kind>,
}

impl Asked<'_> {
    fn exists(&self) -> bool {
        self.now.is_some()
    }

    /// Whether to ask git about it as a directory. If the user has a link there, git would look beyond the link.
    fn is_named_as_dir(&self) -> bool {
        self.is_dir && self.now != Some(Kind::Symlink)
    }
}

/// The repository that the root is in.
#[derive(Clone)]
struct Outer {
    top: PathBuf,
    /// The ignore files above the root, nearest first, each with the path of the root relative to it.
    above: Vec<(PathBuf, Patterns)>,
    own: Own,
    /// The root, relative to the top.
    prefix: PathBuf,
}

impl Outer {
    fn around(root: &Path, limits: &mut IgnoreFiles) -> Option<Outer> {
        let real = root.canonicalize().ok()?;
        let top = owned::repository_around(&real)?;
        let prefix = real.strip_prefix(top).ok()?.to_owned();
        let between = real.ancestors().skip(1).take(prefix.components().count());
        let above = between.filter_map(|dir| {
            let patterns = patterns_of(&dir.join(".gitignore"), limits);
            Some((real.strip_prefix(dir).ok()?.to_owned(), patterns))
        });
        let above = above.collect();
        Some(Outer { top: top.to_owned(), above, own: own_patterns(top, limits), prefix })
    }

    fn matched(&self, path: &Path, is_dir: bool, limits: &mut IgnoreFiles) -> Option<bool> {
        let above = self.above.iter().map(|(root, rules)| (rules, root));
        let own = self.own.iter().map(|rules| (rules, &self.prefix));
        above.chain(own).find_map(|(rules, root)| limits.says(rules, &root.join(path), is_dir))
    }
}

/// Queried path by path, and then through [`IgnoreView::tracked`] once for everything that patterns ignore.
pub(super) struct IgnoreView<'a> {
    project: &'a Tree,
    mount: &'a Tree,
    /// Overlay: the project shows through where the mount's tree has nothing.
    shows_through: bool,
    /// `None` if the root is in no repository; then only repositories below it ignore anything.
    outer: Option<Outer>,
    files: HashMap<PathBuf, Option<Patterns>>,
    /// The rules of repositories that begin at directories of the root, `None` where none begins.
    below: HashMap<PathBuf, Option<Own>>,
    directories: HashMap<PathBuf, bool>,
    /// Most paths are next to the previous one.
    last: Option<Last>,
    limits: IgnoreFiles,
}

/// The patterns of a file, and the directory that they apply to.
struct Placed {
    directory: PathBuf,
    rules: Patterns,
}

/// A directory, with what ignores all of it or applies to its entries.
struct Last {
    directory: PathBuf,
    cover: Option<PathBuf>,
    patterns: Vec<Placed>,
}

impl<'a> IgnoreView<'a> {
    pub(super) fn new(project: &'a Tree, mount: &'a Tree, shows_through: bool) -> IgnoreView<'a> {
        let mut limits = IgnoreFiles::default();
        IgnoreView {
            project,
            mount,
            shows_through,
            outer: Outer::around(project.path(), &mut limits),
            files: HashMap::new(),
            below: HashMap::new(),
            directories: HashMap::new(),
            last: None,
            limits,
        }
    }

    /// By the project's current ignore files, whatever the agent did to them.
    pub(super) fn of_project(&self) -> IgnoreView<'a> {
        IgnoreView {
            project: self.project,
            mount: self.project,
            shows_through: false,
            outer: self.outer.clone(),
            files: HashMap::new(),
            below: HashMap::new(),
            directories: HashMap::new(),
            last: None,
            limits: IgnoreFiles::default(),
        }
    }

    /// The topmost ignored path at or above this one, by patterns alone.
    pub(super) fn ignored_by_pattern(&mut self, path: &Path, is_dir: bool) -> Option<PathBuf> {
        let directory = path.parent().unwrap_or(Path::new(""));
        let last = match self.last.take().filter(|last| last.directory == directory) {
            Some(last) => last,
            None => Last {
                directory: directory.to_owned(),
                cover: self.ignored_above(directory),
                patterns: self.patterns_in(directory),
            },
        };
        let cover = last.cover.clone();
        let cover = cover.or_else(|| self.matches(&last.patterns, path, is_dir).then(|| path.to_owned()));
        self.last = Some(last);
        cover
    }

    /// The top-most ignored directory at or above this one.
    fn ignored_above(&mut self, directory: &Path) -> Option<PathBuf> {
        let mut above: Vec<&Path> = directory.ancestors().filter(|dir| !dir.as_os_str().is_empty()).collect();
        above.reverse();
        above
            .into_iter()
            .find(|&directory| {
                if let Some(&known) = self.directories.get(directory) {
                    return known;
                }
                let patterns = self.patterns_in(directory.parent().unwrap_or(Path::new("")));
                let ignored = self.matches(&patterns, directory, true);
                self.directories.insert(directory.to_owned(), ignored);
                ignored
            })
            .map(Path::to_owned)
    }

    /// The changes that git itself ignores: it follows included settings, and may parse patterns differently. New files are not judged by
    /// the project's ignore files, because the agent may change those. If git gives no answer, files that the user has count as
    /// ignored.
    pub(super) fn ignored_by_git(&mut self, asked: &[Asked<'_>]) -> HashSet<PathBuf> {
        let mut by_repository: BTreeMap<PathBuf, Vec<&Asked<'_>>> = BTreeMap::new();
        // The directory of the last one, and the repository that it is in.
        let mut last: Option<(&Path, Option<&Path>)> = None;
        for one in asked {
            let directory = one.path.parent().unwrap_or(Path::new(""));
            let owner = match last {
                Some((known, owner)) if known == directory => owner,
                _ if self.is_beyond_link(one.path) => None,
                _ => Some(directory.ancestors().find(|dir| self.begins(dir)).unwrap_or(Path::new(""))),
            };
            last = Some((directory, owner));
            if let Some(owner) = owner {
                by_repository.entry(owner.to_owned()).or_default().push(one);
            }
        }
        let mut ignored = HashSet::new();
        for (owner, asked) in by_repository {
            let (top, prefix) = match &self.outer {
                _ if !owner.as_os_str().is_empty() => (self.project.path().join(&owner), Path::new("")),
                Some(outer) => (outer.top.clone(), outer.prefix.as_path()),
                None => continue,
            };
            let Some(repository) = Repository::at(&top) else { continue };
            let ask = |asked: &[&Asked<'_>]| -> anyhow::Result<Vec<PathBuf>> {
                let inside = |one: &&Asked<'_>| {
                    (prefix.join(one.path.strip_prefix(&owner).unwrap_or(one.path)), one.is_named_as_dir())
                };
                let said: HashMap<PathBuf, bool> =
                    repository.says_ignored(asked.iter().map(inside))?.into_iter().collect();
                if said.is_empty() {
                    return Ok(Vec::new());
                }
                let counts = |one: &&&Asked<'_>| {
                    said.get(&inside(one).0).is_some_and(|in_tree| one.exists() || !in_tree)
                };
                Ok(asked.iter().filter(counts).map(|one| one.path.to_owned()).collect())
            };
            let answer = ask(&asked).or_else(|error| {
                tracing::debug!("git does not say what it ignores: {error:#}");
                ask(&asked.iter().copied().filter(|one| one.exists()).collect::<Vec<_>>())
            });
            let existing = || asked.iter().filter(|one| one.exists()).map(|one| one.path.to_owned());
            ignored.extend(answer.unwrap_or_else(|_| existing().collect()));
        }
        ignored
    }

    /// Whether something above the path is not a directory in the project: git gives no answer then, and the user has nothing there.
    fn is_beyond_link(&self, path: &Path) -> bool {
        match self.project.lookup(path) {
            Ok(Lookup::NoParent { existing }) => {
                let parent: PathBuf = path.components().take(existing + 1).collect();
                self.project.stat(&parent).ok().flatten().is_some()
            }
            _ => false,
        }
    }

    /// The paths at or below the given ones that the index of their repository tracks. Without a usable git, nothing counts as
    /// tracked: such changes are left in the session, not lost.
    pub(super) fn tracked(&mut self, tops: &HashSet<PathBuf>) -> HashSet<PathBuf> {
        let mut by_repository: BTreeMap<PathBuf, Vec<&Path>> = BTreeMap::new();
        for top in tops {
            let owner = top.ancestors().skip(1).find(|dir| self.begins(dir)).unwrap_or(Path::new(""));
            let inside = top.strip_prefix(owner).unwrap_or(top);
            by_repository.entry(owner.to_owned()).or_default().push(inside);
        }
        let mut tracked = HashSet::new();
        for (owner, mut tops) in by_repository {
            tops.sort();
            while !tops.is_empty() {
                let mut command = git::command(&self.project.path().join(&owner));
                command.args(["ls-files", "-z", "--cached", "--"]);
                let mut size = 0;
                while let Some(top) = tops.pop() {
                    command.arg(top);
                    size += top.as_os_str().len() + 1;
                    if size > BATCH_BYTES {
                        break;
                    }
                }
                let Ok(output) = git::run(command) else { break };
                let names = output.stdout.split(|&byte| byte == 0).filter(|name| !name.is_empty());
                tracked.extend(names.map(|name| owner.join(OsStr::from_bytes(name))));
            }
        }
        tracked
    }

    /// Whether a repository of the user's begins at a directory below the root.
    fn begins(&mut self, directory: &Path) -> bool {
        if directory.as_os_str().is_empty() {
            return false;
        }
        let (project, limits) = (self.project, &mut self.limits);
        let own = || {
            let begins = project.stat(&directory.join(".git")).ok().flatten().is_some();
            begins.then(|| own_patterns(&project.path().join(directory), limits))
        };
        if let Some(known) = self.below.get(directory) {
            return known.is_some();
        }
        self.below.entry(directory.to_owned()).or_insert_with(own).is_some()
    }

    fn matches(&mut self, patterns: &[Placed], path: &Path, is_dir: bool) -> bool {
        let mut said = None;
        for Placed { directory, rules } in patterns {
            let Ok(relative) = path.strip_prefix(directory) else { continue };
            said = said.or_else(|| self.limits.says(rules, relative, is_dir));
        }
        let outer = self.outer.as_ref();
        said.or_else(|| outer?.matched(path, is_dir, &mut self.limits)).unwrap_or(false)
    }

    /// The ignore files that apply to the entries of a directory, nearest first, which takes precedence.
    fn patterns_in(&mut self, directory: &Path) -> Vec<Placed> {
        let mut directories: Vec<&Path> = directory.ancestors().collect();
        if self.outer.is_none() {
            // Git reads no ignore files above the top of a repository.
            let last = directories.iter().rposition(|directory| self.begins(directory));
            directories.truncate(last.map_or(0, |last| last + 1));
        }
        let mut patterns = Vec::new();
        for directory in directories {
            self.load(directory);
            self.begins(directory);
            let files = self.files.get(directory).into_iter().flatten();
            let own = self.below.get(directory).into_iter().flatten().flatten();
            for rules in files.chain(own).filter(|rules| !rules.is_empty()) {
                patterns.push(Placed { directory: directory.to_owned(), rules: Patterns::clone(rules) });
            }
        }
        patterns
    }

    fn load(&mut self, directory: &Path) {
        if self.files.contains_key(directory) {
            return;
        }
        let path = directory.join(".gitignore");
        let tree = match self.mount.lookup(&path) {
            Ok(Lookup::Present(stat)) if stat.kind == Kind::File => Some(self.mount),
            Ok(Lookup::Absent | Lookup::NoParent { .. }) if self.shows_through => Some(self.project),
            _ => None,
        };
        let rules = tree.and_then(|tree| read(tree, &path)).map(|text| self.limits.patterns(&text));
        self.files.insert(directory.to_owned(), rules);
    }
}

/// `info/exclude` and `core.excludesFile` of the repository whose work tree begins here.
fn own_patterns(top: &Path, limits: &mut IgnoreFiles) -> Own {
    let found = Repository::at(top);
    let common = found.map_or_else(|| top.join(".git"), |found| found.common_dir);
    let excludes = excludes_file(top, &common).map(|file| top.join(file));
    let excludes = excludes.map_or_else(IgnoreFiles::nothing, |file| patterns_of(&file, limits));
    [patterns_of(&common.join("info/exclude"), limits), excludes]
}

/// What `core.excludesFile` names. The repository's own settings are asked only where they have it: git takes its time.
fn excludes_file(top: &Path, common: &Path) -> Option<PathBuf> {
    let says = regular::read(&common.join("config"), LARGEST_SETTINGS)
        .is_ok_and(|text| text.to_ascii_lowercase().windows(12).any(|word| word == b"excludesfile"));
    if !says {
        return users_excludes_file();
    }
    let mut command = git::command(top);
    command.args(["config", "--type=path", "--get", "core.excludesFile"]);
    let limits = Limits { time: EXCLUDES, ..Limits::default() };
    let Ok(output) = git::run_with(command, None, limits) else { return users_excludes_file() };
    Some(Path::new(OsStr::from_bytes(output.stdout.trim_ascii_end())).to_owned())
}

/// The patterns of a file that is not in a tree of ours.
fn patterns_of(file: &Path, limits: &mut IgnoreFiles) -> Patterns {
    let bytes = regular::read(file, LARGEST_SETTINGS).unwrap_or_default();
    limits.patterns(&String::from_utf8_lossy(&bytes))
}

fn read(tree: &Tree, path: &Path) -> Option<String> {
    let (file, _) = tree.open_file(path).ok()?;
    let mut bytes = Vec::new();
    file.take(LARGEST_FILE).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
