//! Skills in git repositories. Nothing is ever checked out: the files are read from the objects, so no hook, filter or
//! attribute of the repository has any say.

use super::bundle::{Bundle, MOST_BYTES, is_skill_file};
use super::choose::{Candidate, Wanted, choose};
use super::frontmatter::name_in;
use super::git_source::{GitSource, split_tail};
use super::surroundings::{Surroundings, last_words};
use anyhow::{Context, Result, anyhow, bail};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

const FETCHED: &str = "refs/heads/fetched";
/// Lists of refs and trees of the largest repositories stay well below.
const MOST_LISTING: u64 = 64 * 1024 * 1024;
/// Blobs beyond this are not even fetched where the server can leave them out.
const LARGE_BLOBS: &str = "--filter=blob:limit=20m";
const MOST_CANDIDATES: usize = 500;

pub fn fetch(source: &GitSource, id: &str, around: &Surroundings<'_>) -> Result<Bundle> {
    let git = Git { program: around.program("git")?, repository: around.scratch.join("repository"), around };
    git.init()?;
    let (reference, path) = match &source.tail {
        Some(tail) => {
            let refs = git.refs(&source.url)?;
            split_tail(tail, &refs).ok_or_else(|| anyhow!("it has no branch or tag for `{tail}`"))?
        }
        None => ("HEAD".to_owned(), ""),
    };
    git.fetch(&source.url, &reference)?;
    let tree = git.tree()?;
    take(&git, &tree, Path::new(path), source.name.as_deref(), id)
}

/// One file of the tree.
#[derive(Debug, Clone)]
struct Entry {
    mode: String,
    object: String,
    size: u64,
}

type Tree = BTreeMap<PathBuf, Entry>;

impl Entry {
    fn is_file(&self) -> bool {
        self.mode.starts_with("100")
    }

    fn is_link(&self) -> bool {
        self.mode == "120000"
    }
}

fn take(git: &Git<'_>, tree: &Tree, path: &Path, name: Option<&str>, id: &str) -> Result<Bundle> {
    if let Some(entry) =
        tree.get(path).filter(|_| !is_skill_file(Path::new(path.file_name().unwrap_or_default())))
    {
        if !path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md")) {
            bail!("`{}` is neither a directory nor a `.md`", path.display());
        }
        let mut blobs = git.blobs(&[entry])?;
        return Bundle::of_text(blobs.remove(&entry.object).unwrap_or_default());
    }
    let place = match tree.get(path) {
        Some(_) => path.parent().unwrap_or(Path::new("")),
        None => path,
    };
    let dir = place.join(choose(&candidates(git, tree, place)?, Wanted { name, id })?);
    let below = tree.range(dir.clone()..).take_while(|(path, _)| path.starts_with(&dir));
    let below: Vec<(&PathBuf, &Entry)> = below.collect();
    let links: Vec<&Entry> = below.iter().map(|(_, entry)| *entry).filter(|entry| entry.is_link()).collect();
    let targets = git.blobs(&links)?;
    let mut wanted: Vec<(PathBuf, &Entry)> = Vec::new();
    for (path, entry) in below {
        let inside = path.strip_prefix(&dir)?.to_owned();
        if entry.is_link() {
            let target = targets.get(&entry.object).map(Vec::as_slice).unwrap_or_default();
            wanted.push((inside, followed(tree, &dir, path, target)?));
        } else if entry.is_file() {
            wanted.push((inside, entry));
        }
    }
    let total: u64 = wanted.iter().map(|(_, entry)| entry.size).sum();
    if total > MOST_BYTES {
        bail!("it is larger than {} MB", MOST_BYTES / 1024 / 1024);
    }
    let entries: Vec<&Entry> = wanted.iter().map(|(_, entry)| *entry).collect();
    let blobs = git.blobs(&entries)?;
    let mut bundle = Bundle::default();
    for (path, entry) in wanted {
        let bytes = blobs.get(&entry.object).cloned().unwrap_or_default();
        bundle.add(path, bytes, entry.mode == "100755")?;
    }
    bundle.settle_name();
    Ok(bundle)
}

/// The directories with a SKILL.md at or below a place, relative to it.
fn candidates(git: &Git<'_>, tree: &Tree, place: &Path) -> Result<Vec<Candidate>> {
    let mut found = Vec::new();
    for (path, entry) in tree {
        let Ok(inside) = path.strip_prefix(place) else { continue };
        if entry.is_file() && inside.file_name().is_some_and(|name| is_skill_file(Path::new(name))) {
            found.push((inside.parent().unwrap_or(Path::new("")).to_owned(), entry));
        }
    }
    found.truncate(MOST_CANDIDATES);
    let entries: Vec<&Entry> =
        found.iter().map(|(_, entry)| *entry).filter(|entry| entry.size < MOST_BYTES).collect();
    let blobs = git.blobs(&entries)?;
    let candidate = |(dir, entry): (PathBuf, &Entry)| Candidate {
        dir,
        name: blobs.get(&entry.object).and_then(|bytes| name_in(bytes)),
    };
    Ok(found.into_iter().map(candidate).collect())
}

/// The file that a link in the skill leads to.
fn followed<'t>(tree: &'t Tree, dir: &Path, link: &Path, target: &[u8]) -> Result<&'t Entry> {
    let shown = link.strip_prefix(dir).unwrap_or(link).display();
    let target = Path::new(OsStr::from_bytes(target));
    let mut place = link.parent().unwrap_or(Path::new("")).to_owned();
    for part in target.components() {
        match part {
            Component::Normal(name) => place.push(name),
            Component::CurDir => {}
            Component::ParentDir if place.pop() => {}
            _ => bail!("the link `{shown}` leads out of the skill"),
        }
    }
    if !place.starts_with(dir) {
        bail!("the link `{shown}` leads out of the skill");
    }
    match tree.get(&place) {
        Some(entry) if entry.is_file() => Ok(entry),
        _ => bail!("the link `{shown}` does not lead to a file of the skill"),
    }
}

/// A bare repository in the scratch directory.
struct Git<'a> {
    program: PathBuf,
    repository: PathBuf,
    around: &'a Surroundings<'a>,
}

impl Git<'_> {
    fn init(&self) -> Result<()> {
        // Without a template there are no hooks in it, not even the user's own.
        let words = ["init", "--quiet", "--bare", "--template="];
        self.run(self.command().args(words).arg(&self.repository), None, MOST_LISTING).map(drop)
    }

    fn refs(&self, url: &str) -> Result<Vec<String>> {
        let listed = self.run(self.command().args(["ls-remote", "--", url]), None, MOST_LISTING)?;
        let listed = String::from_utf8_lossy(&listed);
        Ok(listed.lines().filter_map(|line| line.split_once('\t')).map(|(_, name)| name.into()).collect())
    }

    fn fetch(&self, url: &str, reference: &str) -> Result<()> {
        let words = ["fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-auto-gc"];
        let mut command = self.in_repository();
        command.args(words).args([LARGE_BLOBS, "--", url, &format!("+{reference}:{FETCHED}")]);
        self.run(&mut command, None, MOST_LISTING).map(drop)
    }

    fn tree(&self) -> Result<Tree> {
        let words = ["ls-tree", "-r", "-l", "-z", "--full-tree", FETCHED];
        let listed = self.run(self.in_repository().args(words), None, MOST_LISTING)?;
        let mut tree = Tree::new();
        for line in listed.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
            let tab = line.iter().position(|byte| *byte == b'\t').context("git listed something odd")?;
            let words = String::from_utf8_lossy(&line[..tab]).into_owned();
            let words: Vec<&str> = words.split_whitespace().collect();
            let [mode, _, object, size] = words[..] else { bail!("git listed something odd") };
            let size = size.parse().unwrap_or(0);
            let entry = Entry { mode: mode.to_owned(), object: object.to_owned(), size };
            tree.insert(PathBuf::from(OsStr::from_bytes(&line[tab + 1..])), entry);
        }
        Ok(tree)
    }

    /// The contents of these, by object.
    fn blobs(&self, entries: &[&Entry]) -> Result<BTreeMap<String, Vec<u8>>> {
        if entries.is_empty() {
            return Ok(BTreeMap::new());
        }
        let mut list = tempfile::tempfile_in(self.around.scratch)?;
        for entry in entries {
            writeln!(list, "{}", entry.object)?;
        }
        list.seek(SeekFrom::Start(0))?;
        let most = MOST_BYTES * 2 + MOST_LISTING;
        let output = self.run(self.in_repository().args(["cat-file", "--batch"]), Some(list), most)?;
        let mut blobs = BTreeMap::new();
        let mut rest = output.as_slice();
        while !rest.is_empty() {
            let end = rest.iter().position(|byte| *byte == b'\n').context("git answered something odd")?;
            let header = String::from_utf8_lossy(&rest[..end]).into_owned();
            let words: Vec<&str> = header.split(' ').collect();
            let [object, "blob", size] = words[..] else { bail!("a file of it is too large or missing") };
            let size: usize = size.parse()?;
            let bytes = rest.get(end + 1..end + 1 + size).context("git answered too little")?;
            blobs.insert(object.to_owned(), bytes.to_owned());
            rest = rest.get(end + 2 + size..).unwrap_or_default();
        }
        Ok(blobs)
    }

    fn in_repository(&self) -> Command {
        let mut command = self.command();
        command.arg("--git-dir").arg(&self.repository);
        command
    }

    /// git with everything switched off that could run a program or ask a question.
    fn command(&self) -> Command {
        let mut command = self.around.command(&self.program);
        let settings = ["core.hooksPath=/dev/null", "core.fsmonitor=false", "core.askPass=", "gc.auto=0"];
        for setting in settings.into_iter().chain(["maintenance.auto=false", "protocol.ext.allow=never"]) {
            command.args(["-c", setting]);
        }
        if !self.around.host.env.contains_key("GIT_SSH_COMMAND") {
            command.env("GIT_SSH_COMMAND", "ssh -o BatchMode=yes");
        }
        command
            .current_dir(self.around.scratch)
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ALLOW_PROTOCOL", "file:git:http:https:ssh")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_LFS_SKIP_SMUDGE", "1")
            .env("GCM_INTERACTIVE", "never")
            .env("LC_ALL", "C");
        command
    }

    fn run(&self, command: &mut Command, stdin: Option<std::fs::File>, most: u64) -> Result<Vec<u8>> {
        let finished = self.around.run(command, stdin, most)?;
        if !finished.status.success() {
            bail!("git failed: {}", last_words(&finished.stderr));
        }
        Ok(finished.stdout)
    }
}
