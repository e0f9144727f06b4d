//! A `TestEnv` that belongs to somebody: commands run in a mount of its project as ourselves and, when we are root, as an
//! ordinary user too.

use crate::support::TestEnv;
use agentworkforce::model::mount::{Backend, GitCredentials, LayerChanges, MountSpec};
use agentworkforce::model::mount_record::MountRecord;
use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_agentworkforce");

/// Who runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Identity {
    /// Whoever runs the tests.
    Own,
    /// An ordinary user; only root can become it.
    Ordinary,
}

pub(crate) const ORDINARY_ID: u32 = 1234;

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

pub(crate) fn identities() -> Vec<Identity> {
    if is_root() { vec![Identity::Own, Identity::Ordinary] } else { vec![Identity::Own] }
}

/// Whether a run of this identity has no capability of its own.
pub(crate) fn is_unprivileged(who: Identity) -> bool {
    who == Identity::Ordinary || !is_root()
}

pub(crate) struct World {
    env: TestEnv,
    pub(crate) who: Identity,
}

impl Deref for World {
    type Target = TestEnv;

    fn deref(&self) -> &TestEnv {
        &self.env
    }
}

/// What a run left.
#[must_use]
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) session: PathBuf,
}

impl Ran {
    pub(crate) fn record(&self) -> MountRecord {
        let text =
            fs::read(self.session.join("mount.json")).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        serde_json::from_slice(&text).unwrap()
    }

    /// What the agent's side has at a path.
    pub(crate) fn data(&self, path: &str) -> PathBuf {
        self.session.join(self.record().data).join(path)
    }

    pub(crate) fn expect(self, code: i32) -> Ran {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }
}

impl World {
    pub(crate) fn new(who: Identity) -> World {
        World::new_in(who, &std::env::temp_dir())
    }

    pub(crate) fn new_in(who: Identity, place: &Path) -> World {
        let world = World { env: TestEnv::empty_in(place), who };
        crate::mount_program::install(&world.path("mount-program"));
        world.give();
        world
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub(crate) fn sessions(&self) -> PathBuf {
        self.workforce().join("sessions")
    }

    /// Files of the project, given to the identity that runs.
    pub(crate) fn files(&self, files: &[(&str, &str)]) -> &World {
        for (path, text) in files {
            let path = self.project().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        self.give();
        self
    }

    /// Everything so far belongs to the identity that runs.
    pub(crate) fn give(&self) {
        if self.who == Identity::Ordinary {
            let owner = format!("{ORDINARY_ID}:{ORDINARY_ID}");
            let status = Command::new("chown").args(["-R", "-h", &owner]).arg(self.root()).status().unwrap();
            assert!(status.success());
        }
    }

    /// A program run as the identity, in the project, with this world's home.
    pub(crate) fn program(&self, program: &str) -> Command {
        let mut command = match self.who {
            Identity::Own => Command::new(program),
            Identity::Ordinary => {
                let mut command = Command::new("setpriv");
                let id = ORDINARY_ID.to_string();
                command.args(["--reuid", &id, "--regid", &id, "--clear-groups", program]);
                command
            }
        };
        command
            .current_dir(self.project())
            .env_remove("AGENT_WORKFORCE_HOME")
            .env("HOME", self.home())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "t")
            .env("GIT_AUTHOR_EMAIL", "t@t")
            .env("GIT_COMMITTER_NAME", "t")
            .env("GIT_COMMITTER_EMAIL", "t@t");
        command
    }

    /// Runs in the real project; the output.
    pub(crate) fn outside(&self, script: &str) -> String {
        let output = self.program("sh").args(["-ec", script]).output().unwrap();
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The program that opens a mount and runs a command in it.
    pub(crate) fn mount_program(&self) -> String {
        self.path("mount-program").to_str().unwrap().to_owned()
    }

    /// The command line that runs a shell script in a mount.
    pub(crate) fn mount(&self, flags: &[&str], script: &str) -> Command {
        let mut command = self.program(&self.mount_program());
        command.args(flags).args(["--", "sh", "-c", script]);
        command
    }

    pub(crate) fn run(&self, flags: &[&str], script: &str) -> Ran {
        self.ran(&self.mount(flags, script).output().unwrap())
    }

    #[allow(clippy::unused_self, reason = "it reads as `world.ran(...)` beside `world.run(...)`")]
    pub(crate) fn ran(&self, output: &Output) -> Ran {
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let session = stderr.lines().find_map(|line| line.strip_prefix("session ")).map(PathBuf::from);
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).replace(crate::mount_program::PREAMBLE, ""),
            stderr,
            session: session.unwrap_or_default(),
        }
    }
}

impl Drop for World {
    /// The kernel leaves directories with mode 000 that an ordinary user cannot remove as they are.
    fn drop(&mut self) {
        let _ = agentworkforce::mount::fs::cleanup::remove_tree(&self.root());
    }
}

/// A mount of this directory with every setting at its default.
pub(crate) fn default_spec(root: PathBuf) -> MountSpec {
    MountSpec {
        root,
        cwd: PathBuf::new(),
        backend: Backend::Auto,
        sandbox: None,
        layer_changes: LayerChanges::default(),
        rules: Vec::new(),
        include: Vec::new(),
        writable: Vec::new(),
        devices: Vec::new(),
        harness_config: Vec::new(),
        sockets: Vec::new(),
        git_credentials: GitCredentials::default(),
        nested_sandbox: false,
        protected: Vec::new(),
        above: Vec::new(),
    }
}

/// Runs a test for every identity that is available here.
pub(crate) fn for_each_identity(test: impl Fn(World)) {
    for who in identities() {
        eprintln!("as {who:?}");
        test(World::new(who));
    }
}

/// Processes (of anybody) whose command line holds a mark.
pub(crate) fn processes_with(mark: &str) -> Vec<i32> {
    let pids =
        fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let has_mark = |pid: &i32| {
        fs::read(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|text| String::from_utf8_lossy(&text).contains(mark))
    };
    pids.filter(has_mark).collect()
}

/// Waits for something to become true; false after ten seconds.
pub(crate) fn soon(mut condition: impl FnMut() -> bool) -> bool {
    for _ in 0..500 {
        if condition() {
            return true;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    false
}

pub(crate) fn read(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
