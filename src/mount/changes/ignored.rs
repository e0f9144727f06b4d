//! Whether git ignores a path, by the ignore files as the agent left them or as the project has them, and the user's own index.
//! A tracked path is never ignored, whatever a pattern says. It changes nothing.

use crate::files::regular;
use crate::git;
use crate::mount::fs::stat::Kind;
use crate::mount::fs::tree::{Lookup, Tree};
use crate::mount::git::repository::{LARGEST_POINTER, LARGEST_SETTINGS};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// More than this is no ignore file.
const LARGEST_FILE: u64 = 1 << 20;
/// Pathspecs for one git command, well below the limit for arguments.
const BATCH_BYTES: usize = 64 * 1024;

/// Asked path by path, then [`IgnoreView::tracked`] once for all that patterns ignore.
pub(super) struct IgnoreView<'a> {
    project: &'a Tree,
    mount: &'a Tree,
    /// Overlay: the project shows through where the mount's own tree has nothing.
    shows_through: bool,
    /// `None` where there is no repository: git ignores nothing then.
    outer: Option<[Gitignore; 2]>,
    files: HashMap<PathBuf, Option<Gitignore>>,
    directories: HashMap<PathBuf, bool>,
}

impl<'a> IgnoreView<'a> {
    pub(super) fn new(project: &'a Tree, mount: &'a Tree, shows_through: bool) -> IgnoreView<'a> {
        let repository = project.path().join(".git");
        let outer = repository
            .exists()
            .then(|| [patterns_of(&info_exclude(&repository)), excludes_file(project.path())]);
        IgnoreView {
            project,
            mount,
            shows_through,
            outer,
            files: HashMap::new(),
            directories: HashMap::new(),
        }
    }

    /// As the project has it now, whatever the agent made of the ignore files.
    pub(super) fn of_project(&self) -> IgnoreView<'a> {
        IgnoreView {
            project: self.project,
            mount: self.project,
            shows_through: false,
            outer: self.outer.clone(),
            files: HashMap::new(),
            directories: HashMap::new(),
        }
    }

    /// The top-most ignored directory or path that covers this one, by patterns alone.
    pub(super) fn ignored_by_pattern(&mut self, path: &Path, is_dir: bool) -> Option<PathBuf> {
        self.outer.as_ref()?;
        let parents: Vec<&Path> =
            path.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty()).collect();
        for parent in parents.into_iter().rev() {
            let known = self.directories.get(parent).copied();
            let ignored = known.unwrap_or_else(|| self.matches(parent, true));
            self.directories.insert(parent.to_owned(), ignored);
            if ignored {
                return Some(parent.to_owned());
            }
        }
        self.matches(path, is_dir).then(|| path.to_owned())
    }

    /// Those paths at or below the given ones that the user's index tracks. Without a usable git nothing counts as
    /// tracked: such changes are kept out, not lost.
    pub(super) fn tracked(&self, tops: &HashSet<PathBuf>) -> HashSet<PathBuf> {
        let mut tracked = HashSet::new();
        let mut tops: Vec<&PathBuf> = tops.iter().collect();
        tops.sort();
        while !tops.is_empty() {
            let mut command = git::command(self.project.path());
            command.args(["ls-files", "-z", "--cached", "--"]);
            let mut size = 0;
            while let Some(top) = tops.pop() {
                command.arg(top);
                size += top.as_os_str().len() + 1;
                if size > BATCH_BYTES {
                    break;
                }
            }
            let Ok(output) = git::run(command) else { return tracked };
            let names = output.stdout.split(|&byte| byte == 0).filter(|name| !name.is_empty());
            tracked.extend(names.map(|name| PathBuf::from(OsStr::from_bytes(name))));
        }
        tracked
    }

    fn matches(&mut self, path: &Path, is_dir: bool) -> bool {
        // The ignore file nearest to the path has the last word.
        for directory in path.ancestors().skip(1) {
            self.load(directory);
            let Some(Some(rules)) = self.files.get(directory) else { continue };
            let Ok(relative) = path.strip_prefix(directory) else { continue };
            match rules.matched(relative, is_dir) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        for rules in self.outer.iter().flatten() {
            match rules.matched(path, is_dir) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
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
        let rules = tree.and_then(|tree| read(tree, &path)).map(|text| patterns(&text));
        self.files.insert(directory.to_owned(), rules);
    }
}

/// What `core.excludesFile` names. The repository's own settings are asked only where they have it: git takes its time.
fn excludes_file(project: &Path) -> Gitignore {
    let config = project.join(".git/config");
    let says = regular::read(&config, LARGEST_SETTINGS)
        .is_ok_and(|text| text.to_ascii_lowercase().windows(12).any(|word| word == b"excludesfile"));
    if !says {
        return Gitignore::global().0;
    }
    let mut command = git::command(project);
    command.args(["config", "--type=path", "--get", "core.excludesFile"]);
    let Ok(output) = git::run(command) else { return Gitignore::global().0 };
    let file = Path::new(OsStr::from_bytes(output.stdout.trim_ascii_end())).to_owned();
    patterns_of(&project.join(file))
}

/// The patterns of a file that is not in a tree of ours.
fn patterns_of(file: &Path) -> Gitignore {
    let bytes = regular::read(file, LARGEST_SETTINGS).unwrap_or_default();
    patterns(&String::from_utf8_lossy(&bytes))
}

fn patterns(text: &str) -> Gitignore {
    let mut builder = GitignoreBuilder::new("");
    for line in text.trim_start_matches('\u{feff}').lines() {
        // A pattern that git does not understand ignores nothing.
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

fn read(tree: &Tree, path: &Path) -> Option<String> {
    let (file, _) = tree.open_file(path).ok()?;
    let mut bytes = Vec::new();
    file.take(LARGEST_FILE).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// `.git/info/exclude`, also where `.git` is a file that points to a worktree's directory.
fn info_exclude(repository: &Path) -> PathBuf {
    let text = |path: &Path| String::from_utf8(regular::read(path, LARGEST_POINTER).ok()?).ok();
    let git_dir =
        text(repository).and_then(|text| text.strip_prefix("gitdir:").map(|path| PathBuf::from(path.trim())));
    let Some(git_dir) = git_dir else { return repository.join("info/exclude") };
    let common = text(&git_dir.join("commondir")).map_or(git_dir.clone(), |text| git_dir.join(text.trim()));
    common.join("info/exclude")
}
