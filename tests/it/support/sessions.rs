//! What the end-to-end tests share: a world with `mount` and `sessions` in it, snapshots, and somebody who edits meanwhile.

use crate::support::mount::{BINARY, Identity, World, soon};
use crate::support::terminal::without_terminal;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

pub(crate) const BACKENDS: [&str; 2] = ["overlay", "copy"];

/// What a command did.
#[derive(Debug)]
pub(crate) struct Did {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Did {
    pub(crate) fn of(output: &Output) -> Did {
        use std::os::unix::process::ExitStatusExt;
        Did {
            code: output.status.code().unwrap_or_else(|| -output.status.signal().unwrap_or(0)),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    #[track_caller]
    pub(crate) fn ends(self, code: i32) -> Did {
        assert_eq!(self.code, code, "{self:#?}");
        self
    }

    #[track_caller]
    pub(crate) fn says(&self, text: &str) -> &Did {
        assert!(self.stderr.contains(text) || self.stdout.contains(text), "{text:?} is not in {self:#?}");
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// The paths of a list of objects in a report.
pub(crate) fn paths(list: &Value) -> Vec<String> {
    let list = list.as_array().cloned().unwrap_or_default();
    list.iter().map(|item| item["path"].as_str().unwrap_or_default().to_owned()).collect()
}

impl World {
    /// The built binary as the world's identity.
    pub(crate) fn aw<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Did {
        Did::of(&self.aw_command(args).output().unwrap())
    }

    pub(crate) fn aw_command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        // A test in the background of a script would start it with Ctrl-C ignored.
        let mut command = self.program("env");
        command.arg("--default-signal=INT,QUIT,HUP,TERM").args(without_terminal());
        command.arg(BINARY).args(args).stdin(Stdio::null());
        command
    }

    /// `mount FLAGS -- sh -ec SCRIPT`.
    pub(crate) fn mounted(&self, flags: &[&str], script: &str) -> Did {
        Did::of(&self.mounted_command(flags, script).output().unwrap())
    }

    pub(crate) fn mounted_command(&self, flags: &[&str], script: &str) -> Command {
        self.aw_command(["mount"].iter().chain(flags).chain(&["--", "sh", "-ec", script]))
    }

    /// A started command that waits in the mount until [`Waiting::go`]; `script` may wait more often.
    pub(crate) fn waiting(&self, flags: &[&str], before: &str, after: &str) -> Waiting<'_> {
        let number = fs::read_dir(self.path("")).unwrap().count();
        let (ready, go) = (self.path(&format!("ready-{number}")), self.path(&format!("go-{number}")));
        let script = format!(
            "{before}\ntouch '{}'\nwhile ! test -e '{}'; do sleep 0.01; done\n{after}",
            ready.display(),
            go.display()
        );
        let mut command = self.mounted_command(flags, &script);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        assert!(soon(|| ready.exists()), "the command in the mount does not start");
        Waiting { child, go, _world: self }
    }

    /// A repository with everything committed.
    pub(crate) fn repository(&self, files: &[(&str, &str)]) -> &World {
        self.files(files);
        self.outside("git init -q -b main . && git add -A && git commit -qm base");
        self
    }

    pub(crate) fn persona(&self, persona: &Value) {
        let dir = self.home().join(".agentworkforce/workforce/personas");
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join(format!("{}.json", persona["id"].as_str().unwrap())), persona.to_string())
            .unwrap();
        self.give();
    }

    /// The sessions there are, as `sessions list --json` says.
    pub(crate) fn listed(&self) -> Vec<Value> {
        self.aw(["sessions", "list", "--json"]).ends(0).json()["sessions"].as_array().unwrap().clone()
    }

    #[track_caller]
    pub(crate) fn only_session(&self) -> String {
        let listed = self.listed();
        assert_eq!(listed.len(), 1, "{listed:#?}");
        listed[0]["id"].as_str().unwrap().to_owned()
    }

    /// Processes that belong to this world: its directory is in their environment.
    pub(crate) fn processes(&self) -> Vec<i32> {
        let mark = self.path("home").into_os_string().into_encoded_bytes();
        let pids = fs::read_dir("/proc").unwrap().flatten();
        let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let has = |file: String| {
            fs::read(file).is_ok_and(|text| text.windows(mark.len()).any(|window| window == mark.as_slice()))
        };
        pids.filter(|pid| has(format!("/proc/{pid}/environ"))).collect()
    }

    #[track_caller]
    pub(crate) fn nobody_is_left(&self) {
        assert!(soon(|| self.processes().is_empty()), "processes are left: {:?}", self.processes());
    }
}

/// A command that runs in a mount.
pub(crate) struct Waiting<'a> {
    child: Child,
    go: PathBuf,
    _world: &'a World,
}

impl Waiting<'_> {
    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    pub(crate) fn signal(&self, signal: nix::sys::signal::Signal) {
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(self.pid()), signal).unwrap();
    }

    pub(crate) fn go(self) -> Did {
        fs::write(&self.go, "").unwrap();
        self.end()
    }

    pub(crate) fn end(self) -> Did {
        Did::of(&self.child.wait_with_output().unwrap())
    }
}

/// Everything below a directory but `.git`, as text that can be compared.
pub(crate) type Snapshot = BTreeMap<PathBuf, String>;

pub(crate) fn snapshot(root: &Path) -> Snapshot {
    fn collect(root: &Path, at: &Path, into: &mut Snapshot) {
        for entry in fs::read_dir(root.join(at)).unwrap() {
            let path = at.join(entry.unwrap().file_name());
            let full = root.join(&path);
            let metadata = fs::symlink_metadata(&full).unwrap();
            let (kind, mode) = (metadata.file_type(), metadata.permissions().mode() & 0o7777);
            let text = if kind.is_dir() {
                if path != Path::new(".git") {
                    collect(root, &path, into);
                }
                format!("dir {mode:o}")
            } else if kind.is_symlink() {
                format!("link {}", fs::read_link(&full).unwrap().display())
            } else if kind.is_fifo() {
                "fifo".into()
            } else {
                format!("file {mode:o} {:?}", String::from_utf8_lossy(&fs::read(&full).unwrap()))
            };
            into.insert(path, text);
        }
    }
    let mut found = Snapshot::new();
    collect(root, Path::new(""), &mut found);
    found
}

/// A temporary directory where syncs cost nothing, if there is one.
pub(crate) fn fast_world(who: Identity) -> World {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { World::new_in(who, memory) } else { World::new(who) }
}
