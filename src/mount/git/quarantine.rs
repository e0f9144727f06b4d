//! Copies the agent's git objects into a directory of ours, where each has the name that its content gives it. Nothing that the
//! agent says about them (indexes, bitmaps, alternates, commit graphs, grafts) is read. It judges no content.

use super::config_file::settings;
use super::repository::LARGEST_SETTINGS;
use crate::files::regular;
use crate::git::{self, Limits};
use crate::host::interruption;
use crate::model::mount_record::GitRecord;
use crate::mount::fs::stat::Kind;
use crate::mount::fs::tree::{self, Tree};
use anyhow::{Context, bail};
use flate2::Compression;
use flate2::bufread::ZlibDecoder;
use flate2::write::ZlibEncoder;
use sha1::Digest;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Files of an agent's object directory that are looked at.
const MOST_FILES: usize = 500_000;
/// What is copied of all repositories in sum, and how long this may take.
const MOST_BYTES: u64 = 8 << 30;
const TIME: Duration = Duration::from_mins(1);
/// What is copied before the clock and signals are looked at again.
const STEP: u64 = 16 << 20;
/// What is no blob is held in memory as a whole by whoever reads it. A tree of this size has a million names.
const LARGEST_OTHER: u64 = 64 << 20;
/// What git may hold of one object; a larger blob is streamed, and one that a delta unfolds to is refused.
const MEMORY_OF_ONE: &str = "256m";
/// So that it holds few objects at a time.
const FRUGAL: [&str; 8] = [
    "-c",
    "core.bigFileThreshold=64m",
    "-c",
    "core.deltaBaseCacheLimit=64m",
    "-c",
    "pack.threads=1",
    "-c",
    "pack.windowMemory=128m",
];
/// Files that are named when they were left out.
const MOST_NAMED: usize = 3;

/// What copying may still cost.
pub(super) struct Allowance {
    time: Duration,
    bytes: u64,
}

impl Default for Allowance {
    fn default() -> Allowance {
        Allowance { time: TIME, bytes: MOST_BYTES }
    }
}

/// The agent's objects under names that are true.
pub(super) struct Quarantine {
    objects: PathBuf,
    /// Files that were not taken, and why. An object that was in one of them is missing, which git notices.
    left_out: Vec<String>,
}

impl Quarantine {
    /// Makes it in `scratch`. What the real repository has under the same name is not copied: that is the one that counts.
    pub(super) fn new(
        repository: &GitRecord,
        agents: &Tree,
        scratch: &Path,
        allowance: &mut Allowance,
    ) -> anyhow::Result<Quarantine> {
        let objects = scratch.join("objects");
        std::fs::create_dir(&objects)?;
        let mut quarantine = Quarantine { objects, left_out: Vec::new() };
        let Ok(agents) = agents.below(Path::new("objects")) else { return Ok(quarantine) };
        let began = Instant::now();
        let real = repository.common_dir.join("objects");
        let found = Found::in_directory(&agents, &real, &mut quarantine.left_out)?;
        let mut copy = Copy { repository, agents: &agents, real: &real, scratch, began, allowance };
        quarantine.fill(&mut copy, found)?;
        allowance.time = allowance.time.saturating_sub(began.elapsed());
        Ok(quarantine)
    }

    fn fill(&mut self, copy: &mut Copy<'_>, found: Found) -> anyhow::Result<()> {
        if let Some(pack) = copy.pack_of_loose(found.loose, &mut self.left_out)?
            && let Err(error) = copy.index(pack, &self.objects)
        {
            self.left_out.push(format!("loose objects: {error:#}"));
        }
        // The small ones first: one that takes too long is then no reason to leave out the others.
        for (size, name) in found.packs {
            interruption::check()?;
            if let Err(error) = copy.pack(&name, size, &self.objects) {
                self.left_out.push(format!("{}: {error:#}", name.display()));
            }
        }
        Ok(())
    }

    /// Lets a command in the real repository see these objects, too.
    pub(super) fn add_to(&self, command: &mut Command) {
        command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted(&self.objects));
    }

    /// Limits the memory of a command that reads objects of the agent's: a few bytes may unfold to any amount.
    pub(super) fn limit(command: &mut Command) {
        command.args(FRUGAL).env("GIT_ALLOC_LIMIT", MEMORY_OF_ONE);
    }

    /// What went wrong with a branch, and what may be the reason.
    pub(super) fn explain(&self, error: &anyhow::Error) -> String {
        let mut text = format!("{error:#}");
        if !self.left_out.is_empty() {
            let named: Vec<&str> = self.left_out.iter().take(MOST_NAMED).map(String::as_str).collect();
            text.push_str("; not read: ");
            text.push_str(&named.join(", "));
            if self.left_out.len() > MOST_NAMED {
                text.push_str(&format!(" and {} more", self.left_out.len() - MOST_NAMED));
            }
        }
        text
    }
}

/// Files in an object directory that the real repository does not have.
#[derive(Default)]
struct Found {
    loose: Vec<PathBuf>,
    /// The smallest first.
    packs: Vec<(u64, PathBuf)>,
}

impl Found {
    fn in_directory(agents: &Tree, real: &Path, left_out: &mut Vec<String>) -> anyhow::Result<Found> {
        let mut found = Found::default();
        let mut left = MOST_FILES;
        for dir in tree::list(agents.fd())? {
            let is_pack = dir == "pack";
            if !is_pack && !is_hex(&dir, &[2]) {
                continue;
            }
            // Not a directory, or closed: nothing in it is used.
            let Ok(opened) = agents.open_dir(Path::new(&dir)) else { continue };
            for name in tree::list(opened.as_fd())? {
                left = left.checked_sub(1).context("there are too many objects")?;
                let is_wanted =
                    if is_pack { name.as_bytes().ends_with(b".pack") } else { is_hex(&name, &[38, 62]) };
                let path = Path::new(&dir).join(&name);
                // Git touches what it would have to write again, and an overlay then has a copy of it, of a whole pack even.
                if !is_wanted
                    || real.join(&path).metadata().is_ok_and(|real| real.is_file() && real.len() > 0)
                {
                    continue;
                }
                match tree::stat_at(opened.as_fd(), &name)? {
                    Some(stat) if stat.kind == Kind::File && is_pack => found.packs.push((stat.size, path)),
                    Some(stat) if stat.kind == Kind::File => found.loose.push(path),
                    Some(stat) if !stat.is_whiteout() => {
                        left_out.push(format!("{} is not a file", path.display()));
                    }
                    _ => {}
                }
            }
        }
        found.packs.sort();
        Ok(found)
    }
}

fn is_hex(name: &OsStr, lengths: &[usize]) -> bool {
    lengths.contains(&name.len()) && name.as_bytes().iter().all(u8::is_ascii_hexdigit)
}

struct Copy<'a> {
    repository: &'a GitRecord,
    /// The two object directories.
    agents: &'a Tree,
    real: &'a Path,
    scratch: &'a Path,
    began: Instant,
    allowance: &'a mut Allowance,
}

impl Copy<'_> {
    /// Takes bytes from what may be copied.
    fn take(&mut self, bytes: u64) -> anyhow::Result<()> {
        self.time_left()?;
        let left = self.allowance.bytes.checked_sub(bytes);
        self.allowance.bytes = left.with_context(|| format!("there is more than {} GB", MOST_BYTES >> 30))?;
        Ok(())
    }

    fn time_left(&self) -> anyhow::Result<Duration> {
        let left = self.allowance.time.saturating_sub(self.began.elapsed());
        if left.is_zero() {
            bail!("there was no time to read it ({} s)", TIME.as_secs());
        }
        Ok(left)
    }

    /// The content of loose objects as one pack, which has no names in it. What cannot be an object is left out.
    fn pack_of_loose(
        &mut self,
        loose: Vec<PathBuf>,
        left_out: &mut Vec<String>,
    ) -> anyhow::Result<Option<File>> {
        if loose.is_empty() {
            return Ok(None);
        }
        let mut pack = BufWriter::new(tempfile::tempfile_in(self.scratch)?);
        pack.write_all(&pack_header(0))?;
        let (mut count, mut end) = (0, pack.stream_position()?);
        for name in loose {
            interruption::check()?;
            match self.loose(&name, &mut pack) {
                Ok(()) => (count, end) = (count + 1, pack.stream_position()?),
                Err(error) => {
                    left_out.push(format!("{}: {error:#}", name.display()));
                    pack.seek(SeekFrom::Start(end))?;
                }
            }
        }
        let mut pack = pack.into_inner().map_err(io::IntoInnerError::into_error)?;
        pack.set_len(end)?;
        pack.rewind()?;
        pack.write_all(&pack_header(count))?;
        pack.rewind()?;
        // The sum at the end says nothing about the objects; git wants it.
        let sum = if self.is_sha256() { sum::<sha2::Sha256>(&pack)? } else { sum::<sha1::Sha1>(&pack)? };
        pack.write_all(&sum)?;
        pack.rewind()?;
        Ok((count > 0).then_some(pack))
    }

    /// A loose object is `kind size NUL content`, compressed; in a pack the first half is two numbers.
    fn loose(&mut self, name: &Path, pack: &mut BufWriter<File>) -> anyhow::Result<()> {
        let (object, _) = self.agents.open_file(name)?;
        let mut object = BufReader::new(ZlibDecoder::new(BufReader::new(object)));
        let mut header = Vec::new();
        (&mut object).take(32).read_until(0, &mut header)?;
        let (kind, size) = loose_header(&header).context("it is not a git object")?;
        if kind != BLOB && size > LARGEST_OTHER {
            bail!("it is larger than {} MB, and no file", LARGEST_OTHER >> 20);
        }
        self.take(size)?;
        pack.write_all(&entry_header(kind, size))?;
        let mut content = ZlibEncoder::new(&mut *pack, Compression::fast());
        let mut left = size;
        while left > 0 {
            interruption::check()?;
            self.time_left()?;
            let copied = io::copy(&mut (&mut object).take(left.min(STEP)), &mut content)?;
            if copied == 0 {
                break;
            }
            left -= copied;
        }
        content.finish()?;
        if left > 0 || object.read(&mut [0])? != 0 {
            bail!("it is not as long as it says");
        }
        Ok(())
    }

    fn pack(&mut self, name: &Path, size: u64, objects: &Path) -> anyhow::Result<()> {
        let (pack, _) = self.agents.open_file(name)?;
        self.take(size)?;
        self.index(pack, objects)
    }

    /// Git works out the name of each object in a pack, and dies if the real repository has another content for one. A delta may
    /// be against an object of the real repository.
    fn index(&self, pack: File, objects: &Path) -> anyhow::Result<()> {
        let mut index = git::command(&self.repository.common_dir);
        // It is read once and then removed.
        index.args(["-c", "core.fsync=none"]);
        Quarantine::limit(&mut index);
        index.arg("--git-dir").arg(&self.repository.common_dir.0);
        index.args(["index-pack", "--stdin", "--fix-thin"]);
        index.arg(format!("--max-input-size={MOST_BYTES}"));
        index.env("GIT_OBJECT_DIRECTORY", objects);
        index.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted(self.real));
        let limits = Limits { time: self.time_left()?, ..Limits::default() };
        let done = git::output_of(index, Some(pack.into()), limits)?;
        if !done.status.success() {
            bail!("{}", done.stderr.trim());
        }
        Ok(())
    }

    fn is_sha256(&self) -> bool {
        let config = regular::read(&self.repository.common_dir.join("config"), LARGEST_SETTINGS);
        let config = settings(&String::from_utf8_lossy(&config.unwrap_or_default()));
        let format = config.iter().rfind(|(key, _)| key == "extensions.objectformat");
        format.is_some_and(|(_, format)| format == "sha256")
    }
}

/// As a pack numbers it.
const BLOB: u8 = 3;

/// The number that a pack has for a kind of object, and the size of its content.
fn loose_header(header: &[u8]) -> Option<(u8, u64)> {
    let text = std::str::from_utf8(header.strip_suffix(&[0])?).ok()?;
    let (kind, size) = text.split_once(' ')?;
    let kind = match kind {
        "commit" => 1,
        "tree" => 2,
        "blob" => BLOB,
        "tag" => 4,
        _ => return None,
    };
    Some((kind, size.parse().ok()?))
}

fn pack_header(count: u32) -> [u8; 12] {
    let mut header = *b"PACK\0\0\0\x02\0\0\0\0";
    header[8..].copy_from_slice(&count.to_be_bytes());
    header
}

/// Kind and size: four bits of the size in the first byte, seven in each that follows.
fn entry_header(kind: u8, mut size: u64) -> Vec<u8> {
    let low = |size: u64, bits: u8| size.to_le_bytes()[0] & ((1 << bits) - 1);
    let mut bytes = vec![kind << 4 | low(size, 4)];
    size >>= 4;
    while size > 0 {
        if let Some(last) = bytes.last_mut() {
            *last |= 0x80;
        }
        bytes.push(low(size, 7));
        size >>= 7;
    }
    bytes
}

fn sum<Hash: Digest + Write>(file: &File) -> io::Result<Vec<u8>> {
    let mut hash = Hash::new();
    io::copy(&mut &*file, &mut hash)?;
    Ok(hash.finalize().to_vec())
}

/// Git splits this variable at colons unless a part is quoted.
fn quoted(path: &Path) -> OsString {
    let mut text = vec![b'"'];
    for &byte in path.as_os_str().as_bytes() {
        if matches!(byte, b'"' | b'\\') {
            text.push(b'\\');
        }
        text.push(byte);
    }
    text.push(b'"');
    OsString::from_vec(text)
}
