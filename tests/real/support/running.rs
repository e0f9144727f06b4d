//! A command at work without a terminal: what it prints is collected, and it can be sent a signal meanwhile.

use super::processes;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What a command did. Looking at it is the point of running it.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// None when a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

pub struct Running {
    /// The world that its processes belong to.
    root: PathBuf,
    child: Child,
    what: String,
    stdout: JoinHandle<String>,
    stderr: JoinHandle<String>,
}

impl Running {
    #[track_caller]
    pub fn start(root: PathBuf, command: &mut Command, input: &str) -> Running {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let mut stdin = child.stdin.take().expect("piped");
        let input = input.to_owned();
        // The command may end without reading; that is its right.
        std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
        let stdout = collect(child.stdout.take().expect("piped"));
        let stderr = collect(child.stderr.take().expect("piped"));
        Running { root, child, what: format!("{command:?}"), stdout, stderr }
    }

    pub fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).expect("an id");
        kill(Pid::from_raw(id), signal).expect("it is there");
    }

    /// Waits for the end; past the limit the test fails.
    #[track_caller]
    pub fn end(mut self, limit: Duration) -> Ran {
        let end = Instant::now() + limit;
        let mut late = false;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("our child") {
                break status;
            }
            if Instant::now() > end {
                late = true;
                processes::end_all(&self.root);
                break self.child.wait().expect("our child");
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        let (stdout, stderr) = (self.stdout.join().expect("read"), self.stderr.join().expect("read"));
        let ran = Ran { code: status.code(), stdout, stderr };
        assert!(!late, "{} did not end within {limit:?}: {ran:#?}", self.what);
        ran
    }
}

impl Ran {
    #[track_caller]
    pub fn succeeds(&self) -> &Ran {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self
    }
}

fn collect(mut stream: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
