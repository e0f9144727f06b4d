//! A shallow fetch of somebody else's repository into a temporary directory. Nothing is checked out: files are read from
//! the objects, so no hook, filter or attribute of the repository takes effect.

use super::fetch_context::{FetchContext, failure_reason};
use crate::tool;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const FETCHED: &str = "refs/heads/fetched";
/// The refs and trees of the largest repositories are well below this.
const MAX_LISTING: u64 = 64 * 1024 * 1024;
/// Larger blobs are not fetched where the server supports filters.
const LARGE_BLOBS: &str = "--filter=blob:limit=20m";

/// One file of the tree.
#[derive(Debug, Clone)]
pub struct Entry {
    pub mode: String,
    pub object: String,
    pub size: u64,
}

pub type Tree = BTreeMap<PathBuf, Entry>;

impl Entry {
    pub fn is_file(&self) -> bool {
        self.mode.starts_with("100")
    }

    fn is_dir(&self) -> bool {
        self.mode == "040000"
    }

    pub fn is_link(&self) -> bool {
        self.mode == "120000"
    }
}

/// A bare repository in the scratch directory.
pub struct Repository<'a> {
    program: PathBuf,
    dir: PathBuf,
    /// Whether the user configured their own ssh command.
    has_own_ssh: bool,
    context: &'a FetchContext<'a>,
}

impl<'a> Repository<'a> {
    pub fn new(context: &'a FetchContext<'a>) -> Result<Repository<'a>> {
        let dir = context.scratch.join("repository");
        let mut git = Repository { program: context.program("git")?, dir, has_own_ssh: true, context };
        // Without a template it has no hooks, not even the user's own.
        let words = ["init", "--quiet", "--bare", "--template="];
        git.run(git.command().args(words).arg(&git.dir), None, MAX_LISTING)?;
        let configured =
            git.run(git.command().args(["config", "--get", "core.sshCommand"]), None, MAX_LISTING);
        let in_environment =
            ["GIT_SSH_COMMAND", "GIT_SSH"].iter().any(|name| context.host.env.contains_key(*name));
        git.has_own_ssh = configured.is_ok() || in_environment;
        Ok(git)
    }

    pub fn refs(&self, url: &str) -> Result<Vec<String>> {
        let listed = self.run(self.command().args(["ls-remote", "--", url]), None, MAX_LISTING)?;
        let listed = String::from_utf8_lossy(&listed);
        Ok(listed.lines().filter_map(|line| line.split_once('\t')).map(|(_, name)| name.into()).collect())
    }

    pub fn fetch(&self, url: &str, reference: &str) -> Result<()> {
        let words = ["fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-auto-gc"];
        let mut command = self.in_repository();
        command.args(words).args([LARGE_BLOBS, "--", url, &format!("+{reference}:{FETCHED}")]);
        self.run(&mut command, None, MAX_LISTING).map(drop)
    }

    /// The commit that was fetched.
    pub fn commit(&self) -> Result<String> {
        let said =
            self.run(self.in_repository().args(["rev-parse", "--verify", FETCHED]), None, MAX_LISTING)?;
        Ok(String::from_utf8_lossy(&said).trim().to_owned())
    }

    pub fn tree(&self) -> Result<Tree> {
        let mut tree = self.listed()?;
        tree.retain(|_, entry| !entry.is_dir());
        Ok(tree)
    }

    /// The raw commit that was fetched, and the raw trees of these directories of it: the way from its id to what it holds.
    pub fn directories(&self, wanted: &dyn Fn(&Path) -> bool) -> Result<Vec<(String, Vec<u8>)>> {
        let commit = self.commit()?;
        let mut listing = self.listed()?;
        listing.retain(|path, entry| entry.is_dir() && wanted(path));
        let mut names = vec![commit.clone(), format!("{commit}^{{tree}}")];
        names.extend(listing.into_values().map(|entry| entry.object));
        let objects = self.objects(&names, MAX_LISTING)?;
        Ok(objects.into_values().collect())
    }

    fn listed(&self) -> Result<Tree> {
        let words = ["ls-tree", "-r", "-t", "-l", "-z", "--full-tree", FETCHED];
        let listed = self.run(self.in_repository().args(words), None, MAX_LISTING)?;
        let mut tree = Tree::new();
        for line in listed.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
            let tab =
                line.iter().position(|byte| *byte == b'\t').context("unexpected output of git ls-tree")?;
            let words = String::from_utf8_lossy(&line[..tab]).into_owned();
            let words: Vec<&str> = words.split_whitespace().collect();
            let [mode, _, object, size] = words[..] else { bail!("unexpected output of git ls-tree") };
            let size = size.parse().unwrap_or(0);
            let entry = Entry { mode: mode.to_owned(), object: object.to_owned(), size };
            tree.insert(PathBuf::from(OsStr::from_bytes(&line[tab + 1..])), entry);
        }
        Ok(tree)
    }

    /// The contents of these entries by object id, at most this many bytes in total.
    pub fn blobs(&self, entries: &[&Entry], most: u64) -> Result<BTreeMap<String, Vec<u8>>> {
        let names: Vec<String> = entries.iter().map(|entry| entry.object.clone()).collect();
        let objects = self.objects(&names, most)?;
        if objects.values().any(|(kind, _)| kind != "blob") {
            bail!("a file of the repository is not one");
        }
        Ok(objects.into_iter().map(|(object, (_, bytes))| (object, bytes)).collect())
    }

    /// Kind and content by object id.
    fn objects(&self, names: &[String], most: u64) -> Result<BTreeMap<String, (String, Vec<u8>)>> {
        if names.is_empty() {
            return Ok(BTreeMap::new());
        }
        let list: String = names.iter().map(|name| format!("{name}\n")).collect();
        let most = most * 2 + MAX_LISTING;
        let output = self.run(
            self.in_repository().args(["cat-file", "--batch"]),
            Some(tool::input(list.as_bytes())?),
            most,
        )?;
        let mut blobs = BTreeMap::new();
        let mut rest = output.as_slice();
        while !rest.is_empty() {
            let end =
                rest.iter().position(|byte| *byte == b'\n').context("unexpected output of git cat-file")?;
            let header = String::from_utf8_lossy(&rest[..end]).into_owned();
            let words: Vec<&str> = header.split(' ').collect();
            let [object, kind, size] = words[..] else {
                bail!("a file of the repository is too large or missing")
            };
            let size: usize = size.parse()?;
            let bytes = rest.get(end + 1..end + 1 + size).context("incomplete output of git cat-file")?;
            blobs.insert(object.to_owned(), (kind.to_owned(), bytes.to_owned()));
            rest = rest.get(end + 2 + size..).unwrap_or_default();
        }
        Ok(blobs)
    }

    fn in_repository(&self) -> Command {
        let mut command = self.command();
        command.arg("--git-dir").arg(&self.dir);
        command
    }

    /// git with everything disabled that could run a program or ask a question.
    fn command(&self) -> Command {
        let mut command = self.context.command(&self.program);
        let settings = ["core.hooksPath=/dev/null", "core.fsmonitor=false", "core.askPass=", "gc.auto=0"];
        for setting in settings.into_iter().chain(["maintenance.auto=false", "protocol.ext.allow=never"]) {
            command.args(["-c", setting]);
        }
        if !self.has_own_ssh {
            // ssh itself asks on the terminal, whatever git's settings are.
            command.env("GIT_SSH_COMMAND", "ssh -o BatchMode=yes");
        }
        command
            .current_dir(self.context.scratch)
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ALLOW_PROTOCOL", "file:git:http:https:ssh")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_LFS_SKIP_SMUDGE", "1")
            .env("GCM_INTERACTIVE", "never")
            .env("LC_ALL", "C");
        command
    }

    fn run(&self, command: &mut Command, stdin: Option<Stdio>, most: u64) -> Result<Vec<u8>> {
        let finished = self.context.run(command, stdin, most)?;
        if !finished.status.success() {
            bail!("git failed: {}", failure_reason(&finished.stderr));
        }
        Ok(finished.stdout)
    }
}
