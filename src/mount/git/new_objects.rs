//! Reads what the agent's commits add: the commits themselves and the files in them, piece by piece and up to a limit.

use super::candidate::{Candidate, Candidates, candidates};
use super::export::{Job, lines};
use super::quarantine::{Allowance, Quarantine};
use crate::git::{self, Limits};
use crate::host::interruption;
use crate::model::mount_record::MountRecord;
use crate::mount::fs::tree::Tree;
use crate::tool::guard::Guard;
use anyhow::{Context, anyhow};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// More than this of one branch is not read: a run must not take long because an agent brought a large history.
const MOST_OBJECTS: usize = 20_000;
const MOST_BYTES: u64 = 256 << 20;
/// The list of them, in bytes.
const MOST_LISTED: u64 = 64 << 20;
/// How long all branches may take, and one git command.
const TIME: Duration = Duration::from_secs(30);
const TIME_OF_ONE: Duration = Duration::from_secs(20);

/// Receives each new object: its place, described for people, and its bytes.
pub type Reader<'a> = dyn FnMut(&str, &mut dyn Read) -> std::io::Result<()> + 'a;

/// Shows everything that the agent's branches add to the real repository. What was not read is in the answer.
pub fn read_new_objects(session: &Path, record: &MountRecord, reader: &mut Reader<'_>) -> Vec<String> {
    let mut unread = Vec::new();
    let mut began = Instant::now();
    let mut allowance = Allowance::default();
    for repository in &record.git {
        let Ok(agents) = Tree::open(&session.join(&repository.data)) else { continue };
        let Candidates { found, fetched } = candidates(repository, &agents);
        if found.is_empty() {
            continue;
        }
        let scratch = tempfile::Builder::new().prefix("look-").tempdir_in(session);
        let copying = Instant::now();
        let quarantine = scratch
            .as_ref()
            .map_err(|error| anyhow!("{error}"))
            .and_then(|dir| Quarantine::new(repository, &agents, dir.path(), &mut allowance));
        began += copying.elapsed();
        let job = quarantine.map(|quarantine| Job {
            session_id: session.file_name().and_then(OsStr::to_str).unwrap_or_default(),
            repository,
            record,
            quarantine,
        });
        let mut reached = fetched;
        for Candidate { name: branch, tip, unread: problem, is_branch, .. } in found {
            if let Some(problem) = problem {
                unread.push(format!("commits: {problem}"));
                continue;
            }
            let reached_before = if is_branch { &[][..] } else { &reached[..] };
            let read = match &job {
                _ if began.elapsed() > TIME || interruption::signal().is_some() => {
                    Err(anyhow!("there was no time to read them"))
                }
                Ok(job) => job
                    .read_new(&branch, &tip, reached_before, reader)
                    .map_err(|error| anyhow!(job.quarantine.explain(&error))),
                Err(error) => Err(anyhow!("{error:#}")),
            };
            match read {
                Ok(None) => reached.push(tip),
                Ok(Some(limit)) => unread.push(format!("commits on {}: {limit}", branch.display())),
                Err(error) => unread.push(format!("commits on {}: {error:#}", branch.display())),
            }
        }
    }
    unread
}

impl Job<'_> {
    /// The limit that was reached, if one was.
    fn read_new(
        &self,
        branch: &OsStr,
        tip: &str,
        reached: &[String],
        reader: &mut Reader<'_>,
    ) -> anyhow::Result<Option<String>> {
        let mut list = self.git(true);
        let ours = format!("--exclude=refs/agentworkforce/{}/*", self.session_id);
        list.args(["rev-list", "--objects", tip, "--not", &ours, "--all"]).args(reached);
        let limits = Limits { time: TIME_OF_ONE, output: MOST_LISTED };
        let objects = lines(&git::run_with(list, None, limits)?.stdout);
        if objects.is_empty() {
            return Ok(None);
        }
        let mut cat = self.git(true);
        cat.args(["cat-file", "--batch"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut cat = cat.process_group(0).spawn().context("cannot run git")?;
        let guard = Guard::over(&cat, TIME_OF_ONE);
        let mut input = cat.stdin.take().context("git takes no input")?;
        let mut output = BufReader::new(cat.stdout.take().context("git gives no output")?);
        let named: Vec<(&str, &str)> = objects
            .iter()
            .take(MOST_OBJECTS)
            .map(|line| line.split_once(' ').unwrap_or((line, "")))
            .collect();
        let mut bytes = 0;
        let mut limit = (objects.len() > named.len())
            .then(|| format!("only {} of {} objects were read", named.len(), objects.len()));
        let mut read_all = || -> anyhow::Result<()> {
            for (id, path) in &named {
                writeln!(input, "{id}")?;
                input.flush()?;
                let mut header = String::new();
                output.read_line(&mut header)?;
                let mut words = header.split_whitespace().skip(1);
                let (kind, size) = (words.next().unwrap_or_default(), words.next());
                let size: u64 = size.and_then(|size| size.parse().ok()).context("an object is missing")?;
                let place = match kind {
                    "commit" => format!("the message of commit {}", &id[..id.len().min(12)]),
                    _ => format!("{path} (commits on {})", branch.display()),
                };
                let mut content = (&mut output).take(size);
                if kind != "tree" {
                    reader(&place, &mut content)?;
                }
                std::io::copy(&mut content, &mut std::io::sink())?;
                output.read_exact(&mut [0])?;
                bytes += size;
                if bytes > MOST_BYTES {
                    limit = Some(format!("only the first {} MB were read", MOST_BYTES >> 20));
                    break;
                }
            }
            Ok(())
        };
        let read = read_all();
        drop(input);
        drop(output);
        let _ = cat.wait();
        guard.verdict(TIME_OF_ONE)?;
        read.map(|()| limit)
    }
}
