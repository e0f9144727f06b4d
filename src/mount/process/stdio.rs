//! Connects the child's standard streams. The child never gets one of the user's files itself: whoever holds a descriptor can reopen
//! the file through `/proc/self/fd`, bypassing every mount, even for writing. This module starts nothing.

use crate::tool;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, SeekFrom, fcntl_getfl, fcntl_setfl, seek};
use rustix::io::{Errno, ioctl_fionread};
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::process::Stdio;
use std::thread::JoinHandle;

/// Input files up to this size are copied. A larger one is passed through a pipe.
const LARGEST_COPY: u64 = 64 << 20;

/// Where the child's standard streams go.
#[derive(Debug)]
pub struct ChildStdio {
    pub stdin: Stdio,
    pub stdout: Stdio,
    pub stderr: Stdio,
    pub(super) relay: Relay,
}

/// Copies and pipes between the child and the user's files.
#[derive(Debug, Default)]
pub(super) struct Relay {
    outputs: Vec<Output>,
    /// A copy of our standard input, and its offset in the original.
    input: Option<(File, u64)>,
}

/// What is carried into one file.
#[derive(Debug)]
struct Output {
    carrier: JoinHandle<()>,
    /// Closed when everything inside has ended.
    inside: PipeWriter,
}

impl Relay {
    /// Everything that the child wrote is where it belongs, and whoever shares our input goes on where the child stopped. The child
    /// and all that it started are gone.
    pub(super) fn finish(self) {
        for Output { carrier, inside } in self.outputs {
            drop(inside);
            let _ = carrier.join();
        }
        if let Some((copy, start)) = self.input
            && let Ok(read) = seek(&copy, SeekFrom::Current(0))
        {
            let _ = seek(io::stdin(), SeekFrom::Start(start + read));
        }
    }
}

impl ChildStdio {
    /// Ours: for a person at a terminal, or a script.
    pub fn inherited() -> io::Result<ChildStdio> {
        ChildStdio::carrying(io::stdout().as_fd())
    }

    /// Ours, with what it prints on our stderr: for a caller whose stdout is its own.
    pub fn all_on_stderr() -> io::Result<ChildStdio> {
        ChildStdio::carrying(io::stderr().as_fd())
    }

    /// No input, and output that the caller reads.
    pub fn piped() -> ChildStdio {
        ChildStdio {
            stdin: Stdio::null(),
            stdout: Stdio::piped(),
            stderr: Stdio::piped(),
            relay: Relay::default(),
        }
    }

    /// This input, and output that the caller reads.
    pub fn with_input(bytes: &[u8]) -> io::Result<ChildStdio> {
        Ok(ChildStdio { stdin: tool::input(bytes)?, ..ChildStdio::piped() })
    }

    fn carrying(out: BorrowedFd<'_>) -> io::Result<ChildStdio> {
        let mut relay = Relay::default();
        let stdin = relay.input(io::stdin().as_fd())?;
        let (out, err) = (File::from(out.try_clone_to_owned()?), io::stderr().as_fd().try_clone_to_owned()?);
        let err = File::from(err);
        let is_one = same_file(&out, &err)?;
        let (stdout, stderr) = if is_one && is_file(&out)? {
            let pipe = relay.output(out)?;
            (Stdio::from(pipe.try_clone()?), Stdio::from(pipe))
        } else {
            (relay.stream(out)?, relay.stream(err)?)
        };
        Ok(ChildStdio { stdin, stdout, stderr, relay })
    }
}

impl Relay {
    fn input(&mut self, stdin: BorrowedFd<'_>) -> io::Result<Stdio> {
        // A script may have closed it.
        let Ok(stdin) = stdin.try_clone_to_owned() else { return Ok(Stdio::null()) };
        let mut file = File::from(stdin);
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Ok(Stdio::null());
        }
        if !metadata.is_file() {
            return Ok(Stdio::from(OwnedFd::from(file)));
        }
        let start = seek(&file, SeekFrom::Current(0))?;
        if metadata.len().saturating_sub(start) > LARGEST_COPY {
            let (read, mut write) = io::pipe()?;
            // It ends with the file, or when nobody reads any more.
            std::thread::spawn(move || io::copy(&mut file, &mut write));
            return Ok(read.into());
        }
        let mut bytes = Vec::new();
        Read::by_ref(&mut file).take(LARGEST_COPY).read_to_end(&mut bytes)?;
        seek(&file, SeekFrom::Start(start))?;
        let copy = tool::in_memory(&bytes)?;
        self.input = Some((copy.try_clone()?, start));
        Ok(copy.into())
    }

    fn stream(&mut self, file: File) -> io::Result<Stdio> {
        if is_file(&file)? { Ok(self.output(file)?.into()) } else { Ok(Stdio::from(OwnedFd::from(file))) }
    }

    /// A pipe into a file of the user's.
    fn output(&mut self, mut file: File) -> io::Result<PipeWriter> {
        let (read, write) = io::pipe()?;
        let (ended, inside) = io::pipe()?;
        never_wait(&read)?;
        let carrier = std::thread::spawn(move || {
            let _ = carry(read, &mut file, &ended).and_then(|()| file.flush());
        });
        self.outputs.push(Output { carrier, inside });
        Ok(write)
    }
}

/// Until the pipe is closed or `ended` is: then what is in it by now. Somebody outside may have been handed its other end.
fn carry(mut read: PipeReader, file: &mut File, ended: &PipeReader) -> io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    let mut left = None;
    loop {
        if left.is_none() {
            let mut ready = [PollFd::new(&read, PollFlags::IN), PollFd::new(ended, PollFlags::IN)];
            match poll(&mut ready, None) {
                Ok(_) if !ready[1].revents().is_empty() => left = Some(ioctl_fionread(&read)?),
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        match read.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(length) => {
                file.write_all(&buffer[..length])?;
                left = left.map(|left| left.saturating_sub(length as u64));
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && left.is_none() => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        }
        if left == Some(0) {
            return Ok(());
        }
    }
}

/// Whoever reads an empty pipe is told so, also if somebody else has taken what was in it.
pub(super) fn never_wait(pipe: impl AsFd) -> io::Result<()> {
    let flags = fcntl_getfl(&pipe)?;
    Ok(fcntl_setfl(&pipe, flags | OFlags::NONBLOCK)?)
}

fn is_file(file: &File) -> io::Result<bool> {
    let metadata = file.metadata()?;
    Ok(metadata.is_file() || metadata.is_dir())
}

fn same_file(a: &File, b: &File) -> io::Result<bool> {
    let (a, b) = (a.metadata()?, b.metadata()?);
    Ok((a.dev(), a.ino()) == (b.dev(), b.ino()))
}
