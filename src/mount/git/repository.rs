//! Keeps git quiet and private in a mount: where a repository's directories are, which hidden files it tracks, and the
//! mount's own index and exclude file. It never writes the user's git directory, and exports no commits.

use crate::files::regular;
use crate::git::{self, Limits};
use crate::mount::git::index_file::IndexFile;
use crate::tool;
use anyhow::bail;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// An ignore file that git waits for is no reason to wait longer: then nothing is left out.
const CHECK_IGNORE: Duration = Duration::from_secs(5);
/// What a `.git` file or `commondir` may hold: one path.
pub(crate) const LARGEST_POINTER: u64 = 16 * 1024;
/// An index of some million files.
pub(crate) const LARGEST_INDEX: u64 = 1 << 30;
/// A configuration or exclude file that people or git write.
pub(crate) const LARGEST_SETTINGS: u64 = 8 << 20;

/// A work tree and where its metadata is; absolute paths without symlinks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    pub work_tree: PathBuf,
    /// `HEAD` and `index`.
    pub git_dir: PathBuf,
    /// Refs, objects, config.
    pub common_dir: PathBuf,
}

impl Repository {
    /// The repository whose work tree starts at this directory, if there is one.
    pub fn at(work_tree: &Path) -> Option<Repository> {
        let dot_git = work_tree.join(".git");
        let git_dir = if fs::metadata(&dot_git).ok()?.is_dir() {
            dot_git.canonicalize().ok()?
        } else {
            let target = pointer_target(&regular::read(&dot_git, LARGEST_POINTER).ok()?)?;
            work_tree.join(target).canonicalize().ok()?
        };
        let common_dir = match regular::read(&git_dir.join("commondir"), LARGEST_POINTER) {
            Ok(text) => git_dir.join(OsStr::from_bytes(text.trim_ascii_end())).canonicalize().ok()?,
            Err(_) => git_dir.clone(),
        };
        // What git itself asks of a git directory.
        let looks_right = git_dir.join("HEAD").symlink_metadata().is_ok()
            && common_dir.join("objects").is_dir()
            && common_dir.join("refs").is_dir();
        looks_right.then(|| Repository { work_tree: work_tree.to_path_buf(), git_dir, common_dir })
    }

    /// The directories outside `root` that git would write to, the common one first: each needs a private view of its own.
    pub fn outside(&self, root: &Path) -> Vec<PathBuf> {
        let mut dirs: Vec<PathBuf> = Vec::new();
        let mut add = |dir: PathBuf| {
            if !dir.starts_with(root) && !dirs.iter().any(|known| dir.starts_with(known)) {
                dirs.push(dir);
            }
        };
        for dir in [&self.common_dir, &self.git_dir] {
            add(dir.clone());
            // `git-new-workdir` and Android's `repo` share refs and objects by symlinks.
            for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_symlink())
                    && let Ok(target) = entry.path().canonicalize()
                    && target.is_dir()
                {
                    add(target);
                }
            }
        }
        dirs
    }

    /// Starts listing the tracked paths while the caller does something else.
    pub fn list_tracked(&self) -> Option<TrackedList> {
        let (repository, index) = (self.clone(), self.git_dir.join("index"));
        let list = move || match regular::read(&index, LARGEST_INDEX).map(IndexFile::parse) {
            Ok(Some(index)) => Some(Tracked::Index(Arc::new(index))),
            Ok(None) => repository.ask_for_tracked(),
            // Git would have to read the same file.
            Err(error) if error.kind() == io::ErrorKind::NotFound => repository.ask_for_tracked(),
            Err(_) => None,
        };
        std::thread::Builder::new().spawn(list).ok().map(TrackedList)
    }

    fn ask_for_tracked(&self) -> Option<Tracked> {
        let mut command = self.git(&self.git_dir);
        command.args(["ls-files", "--cached", "-z"]).stdin(Stdio::null());
        let output = git::output_of(command, None, Limits::default()).ok()?;
        let mut names = split_zeros(&output.stdout);
        names.sort_unstable_by(|a, b| a.as_os_str().as_bytes().cmp(b.as_os_str().as_bytes()));
        output.status.success().then(|| Tracked::Listed(names.into()))
    }

    /// Marks paths as skip-worktree in the index at `index`, a private copy. `git_dir` is only read.
    pub fn skip_worktree(&self, git_dir: &Path, index: &Path, paths: &[PathBuf]) -> io::Result<()> {
        if let Some(known) = IndexFile::parse(regular::read(index, LARGEST_INDEX)?) {
            return fs::write(index, known.with_skip_worktree(paths));
        }
        let mut command = self.git(git_dir);
        command
            // A split index would put its shared half into the user's git directory; the hash of an index is read by nobody
            // but costs more than all the rest.
            .args(["-c", "core.splitIndex=false", "-c", "index.skipHash=true"])
            .args(["update-index", "-z", "--skip-worktree", "--stdin"])
            .env("GIT_INDEX_FILE", index);
        let bytes: Vec<u8> =
            paths.iter().flat_map(|path| path.as_os_str().as_bytes().iter().copied().chain([0])).collect();
        let output = git::output_of(command, Some(tool::input(&bytes)?), Limits::default())
            .map_err(|error| io::Error::other(format!("git update-index failed: {error}")))?;
        if output.status.success() {
            return Ok(());
        }
        Err(io::Error::other(format!("git update-index failed: {}", output.stderr.trim())))
    }

    /// Of some paths, those that git ignores. Asked in one go.
    pub fn ignored(&self, paths: &[PathBuf]) -> Option<Vec<PathBuf>> {
        if paths.is_empty() {
            return Some(Vec::new());
        }
        // With the slash a pattern like `target/` matches whatever git finds on disk.
        let found = self.check_ignore(&["--no-index"], paths, b"/\0").ok()?;
        let strip = |path: PathBuf| path.components().collect::<PathBuf>();
        Some(found.into_iter().map(strip).collect())
    }

    /// Of some paths, those that git ignores and does not track: it would overwrite what is there without a word.
    pub fn expendable<'a>(&self, paths: impl Iterator<Item = &'a Path>) -> anyhow::Result<Vec<PathBuf>> {
        self.check_ignore(&[], paths, b"\0")
    }

    /// Of some paths and whether they are directories, those that a pattern ignores, tracked or not, and whether the pattern is in an
    /// ignore file of the work tree.
    pub fn says_ignored(
        &self,
        paths: impl Iterator<Item = (PathBuf, bool)>,
    ) -> anyhow::Result<Vec<(PathBuf, bool)>> {
        // A name may begin like a word of git's.
        let plain = paths.map(|(path, is_dir)| {
            let mut name = OsString::from("./");
            name.push(path);
            name.push(if is_dir { "/" } else { "" });
            PathBuf::from(name)
        });
        let fields = self.check_ignore(&["--no-index", "--verbose"], plain, b"\0")?;
        // The file, the line, the pattern, the path.
        let ignored = fields.chunks_exact(4).filter(|said| !said[2].as_os_str().as_bytes().starts_with(b"!"));
        let in_tree = |file: &Path| file.is_relative() && file.ends_with(".gitignore");
        let strip = |path: &Path| path.components().filter(|part| *part != Component::CurDir).collect();
        Ok(ignored.map(|said| (strip(&said[3]), in_tree(&said[0]))).collect())
    }

    fn check_ignore(
        &self,
        options: &[&str],
        paths: impl IntoIterator<Item = impl AsRef<Path>>,
        end: &[u8],
    ) -> anyhow::Result<Vec<PathBuf>> {
        let mut command = self.git(&self.git_dir);
        for (key, value) in git::settings_of_environment(&["core.excludesfile", "core.ignorecase"]) {
            command.arg("-c").arg(format!("{key}={value}"));
        }
        command.args(["check-ignore", "-z", "--stdin"]).args(options);
        let mut bytes = Vec::new();
        for path in paths {
            bytes.extend_from_slice(path.as_ref().as_os_str().as_bytes());
            bytes.extend_from_slice(end);
        }
        let limits = Limits { time: CHECK_IGNORE, ..Limits::default() };
        let output = git::output_of(command, Some(tool::input(&bytes)?), limits)?;
        // 1 says that none is ignored.
        if !matches!(output.status.code(), Some(0 | 1)) {
            bail!("git check-ignore: {}", output.stderr.trim());
        }
        Ok(split_zeros(&output.stdout))
    }

    /// git with this repository named outright (so that it neither searches nor asks who owns it) and nothing of the repository
    /// or the environment that runs programs.
    fn git(&self, git_dir: &Path) -> Command {
        let mut command = git::command(&self.work_tree);
        command.args(["-c", "core.attributesFile=/dev/null"]).env("GIT_ATTR_NOSYSTEM", "1");
        // `check-ignore` refuses it.
        command.env_remove("GIT_LITERAL_PATHSPECS");
        command.env("GIT_DIR", git_dir).env("GIT_WORK_TREE", &self.work_tree);
        if git_dir == self.git_dir {
            command.env("GIT_COMMON_DIR", &self.common_dir);
        }
        command
    }
}

/// A list that is still being made.
pub struct TrackedList(std::thread::JoinHandle<Option<Tracked>>);

impl TrackedList {
    /// The tracked paths; nothing if git could not say.
    pub fn finish(self) -> Option<Tracked> {
        self.0.join().ok().flatten()
    }
}

/// The tracked paths of a repository, sorted as bytes, so that everything below a directory lies together. Cheap to clone.
#[derive(Clone)]
pub enum Tracked {
    Index(Arc<IndexFile>),
    /// An index that only git itself understands.
    Listed(Arc<[PathBuf]>),
}

impl Default for Tracked {
    fn default() -> Tracked {
        Tracked::Listed(Arc::from([]))
    }
}

impl Tracked {
    fn len(&self) -> usize {
        match self {
            Tracked::Index(index) => index.len(),
            Tracked::Listed(paths) => paths.len(),
        }
    }

    fn name(&self, number: usize) -> &[u8] {
        match self {
            Tracked::Index(index) => index.name(number),
            Tracked::Listed(paths) => paths[number].as_os_str().as_bytes(),
        }
    }

    /// The first name that is not before this one.
    fn first_from(&self, name: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.name(middle) < name {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// What is tracked at a path or below it. An unmerged path may come more than once.
    pub fn at_or_below(&self, path: &Path) -> impl Iterator<Item = PathBuf> {
        let mut prefix = path.as_os_str().as_bytes().to_vec();
        prefix.push(b'/');
        let below = (self.first_from(&prefix)..self.len())
            .map(|number| self.name(number))
            .take_while(move |name| name.starts_with(&prefix))
            .map(|name| PathBuf::from(OsStr::from_bytes(name)));
        self.contains(path).then(|| path.to_path_buf()).into_iter().chain(below)
    }

    pub fn contains(&self, path: &Path) -> bool {
        let name = path.as_os_str().as_bytes();
        let place = self.first_from(name);
        place < self.len() && self.name(place) == name
    }

    /// The index that this was read from with some paths marked skip-worktree; `None` if git has to be asked.
    pub(crate) fn index_with_skip_worktree(&self, paths: &[PathBuf]) -> Option<Vec<u8>> {
        match self {
            Tracked::Index(index) => Some(index.with_skip_worktree(paths)),
            Tracked::Listed(_) => None,
        }
    }
}

/// The user's exclude file with one anchored line more for each injected path. A name with a line break cannot be said there.
pub fn exclude_with(existing: &[u8], injected: &[PathBuf]) -> Vec<u8> {
    let mut text = existing.to_vec();
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    for path in injected {
        let bytes = path.as_os_str().as_bytes();
        if bytes.contains(&b'\n') {
            continue;
        }
        text.push(b'/');
        for &byte in bytes {
            if b"\\*?[ ".contains(&byte) {
                text.push(b'\\');
            }
            text.push(byte);
        }
        text.push(b'\n');
    }
    text
}

/// A configuration that asks for a sparse checkout, with the line more that lets skip-worktree stay on files that exist.
pub(crate) fn keep_marks_when_sparse(config: &[u8]) -> Option<Vec<u8>> {
    let word: &[u8] = b"sparsecheckout";
    let asks = config.to_ascii_lowercase().windows(word.len()).any(|window| window == word);
    asks.then(|| [config, b"\n[sparse]\n\texpectFilesOutsideOfPatterns = true\n"].concat())
}

/// Where a `.git` file points.
pub fn pointer_target(text: &[u8]) -> Option<PathBuf> {
    let target = text.strip_prefix(b"gitdir:")?.trim_ascii();
    (!target.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(target)))
}

fn split_zeros(bytes: &[u8]) -> Vec<PathBuf> {
    bytes
        .split(|&byte| byte == 0)
        .filter(|name| !name.is_empty())
        .map(|name| PathBuf::from(OsString::from_vec(name.to_vec())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn git(dir: &Path, args: &[&str]) {
        let mut command = git::command(dir);
        command.args(["-c", "user.name=t", "-c", "user.email=t@t"]).args(args);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn repository(dir: &Path) -> Repository {
        fs::create_dir_all(dir).unwrap();
        git(dir, &["init", "-q"]);
        fs::create_dir_all(dir.join("d")).unwrap();
        for path in ["a", "d/x", "d/y", "dz"] {
            fs::write(dir.join(path), path).unwrap();
        }
        git(dir, &["add", "-A"]);
        git(dir, &["commit", "-qm", "one"]);
        Repository::at(&dir.canonicalize().unwrap()).unwrap()
    }

    #[test]
    fn worktrees_and_submodules_are_seen_to_live_elsewhere() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        let main = repository(&top.join("main"));
        assert_eq!(main.outside(&main.work_tree), Vec::<PathBuf>::new());
        git(&main.work_tree, &["worktree", "add", "-q", "../linked"]);
        let linked = Repository::at(&top.join("linked")).unwrap();
        assert_eq!(linked.git_dir, top.join("main/.git/worktrees/linked"));
        assert_eq!(linked.common_dir, main.git_dir);
        assert_eq!(linked.outside(&linked.work_tree), [main.git_dir]);
        assert_eq!(Repository::at(&top), None);
    }

    #[test]
    fn tracked_paths_below_a_directory_are_found_and_not_its_namesakes() {
        let temp = tempfile::tempdir().unwrap();
        let repo = repository(&temp.path().join("r"));
        let tracked = repo.list_tracked().unwrap().finish().unwrap();
        let below: Vec<PathBuf> = tracked.at_or_below(Path::new("d")).collect();
        assert_eq!(below, [PathBuf::from("d/x"), "d/y".into()]);
        assert_eq!(tracked.at_or_below(Path::new("a")).collect::<Vec<_>>(), [PathBuf::from("a")]);
        assert_eq!(tracked.at_or_below(Path::new("no")).count(), 0);
        assert!(tracked.contains(Path::new("dz")) && !tracked.contains(Path::new("d")));
    }

    #[test]
    fn only_the_private_index_is_marked() {
        let temp = tempfile::tempdir().unwrap();
        let repo = repository(&temp.path().join("r"));
        let before = fs::read(repo.git_dir.join("index")).unwrap();
        let index = temp.path().join("index");
        fs::copy(repo.git_dir.join("index"), &index).unwrap();
        repo.skip_worktree(&repo.git_dir, &index, &["d/x".into()]).unwrap();
        assert_eq!(fs::read(repo.git_dir.join("index")).unwrap(), before);
        let mut list = repo.git(&repo.git_dir);
        let output = list.env("GIT_INDEX_FILE", &index).args(["ls-files", "-v"]).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "H a\nS d/x\nH d/y\nH dz\n");
    }

    #[test]
    fn ignored_directories_are_told_from_others() {
        let temp = tempfile::tempdir().unwrap();
        let repo = repository(&temp.path().join("r"));
        fs::write(repo.work_tree.join(".gitignore"), "target/\n").unwrap();
        let asked = ["target".into(), "sub/target".into(), "src".into()];
        assert_eq!(repo.ignored(&asked).unwrap(), [PathBuf::from("target"), "sub/target".into()]);
        assert_eq!(repo.ignored(&["src".into()]).unwrap(), Vec::<PathBuf>::new());
    }

    #[test]
    fn injected_names_are_excluded_literally() {
        let text = exclude_with(b"*.log", &["CLAUDE.md".into(), "a b/[x]*".into(), "bad\nname".into()]);
        assert_eq!(String::from_utf8(text).unwrap(), "*.log\n/CLAUDE.md\n/a\\ b/\\[x]\\*\n");
    }
}
