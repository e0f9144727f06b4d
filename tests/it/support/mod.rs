//! `TestEnv`: a home, a project and an environment that belong to one test alone. The other files add to it: who runs,
//! sessions, fake harnesses, packs, a terminal, sessions from a fixture.

pub(crate) mod harness;
pub(crate) mod mount;
pub(crate) mod packs;
mod recorded;
pub(crate) mod require;
pub(crate) mod sessions;
pub(crate) mod terminal;

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub struct TestEnv {
    dir: tempfile::TempDir,
    vars: Vec<(String, String)>,
    cwd: PathBuf,
}

/// What a command did. Looking at it is the point of running it.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl TestEnv {
    /// An empty home and an empty git repository.
    pub fn new() -> TestEnv {
        let env = TestEnv::empty_in(&std::env::temp_dir());
        for name in ["objects", "refs"] {
            std::fs::create_dir_all(env.project().join(".git").join(name)).expect("writable");
        }
        env.write("project/.git/HEAD", "ref: refs/heads/main\n");
        env
    }

    /// An empty home and an empty project that others may enter, below this directory.
    pub fn empty_in(place: &Path) -> TestEnv {
        let dir = tempfile::Builder::new().prefix("aw-test-").tempdir_in(place).expect("a temp directory");
        std::fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).expect("ours");
        let root = dir.path().canonicalize().expect("it exists");
        for name in ["home", "project"] {
            std::fs::create_dir(root.join(name)).expect("writable");
        }
        // Harnesses that are there, so that a dry run has nothing to warn of. Nobody starts them.
        std::fs::create_dir(root.join("harnesses")).expect("writable");
        for name in ["claude", "codex", "opencode"] {
            let file = root.join("harnesses").join(name);
            std::fs::write(&file, "#!/bin/sh\nexit 70\n").expect("writable");
            std::fs::set_permissions(&file, Permissions::from_mode(0o755)).expect("writable");
        }
        TestEnv { cwd: root.join("project"), dir, vars: Vec::new() }
    }

    pub fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().expect("it exists")
    }

    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// The workforce home.
    pub fn workforce(&self) -> PathBuf {
        self.home().join(".agentworkforce/workforce")
    }

    pub fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    pub fn set_cwd(&mut self, dir: impl AsRef<Path>) {
        self.cwd = self.root().join(dir);
    }

    pub fn set_var(&mut self, name: &str, value: &str) {
        self.vars.push((name.to_owned(), value.to_owned()));
    }

    /// Writes a file below the test's root, making its directories.
    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("writable");
        std::fs::write(&path, content).expect("writable");
        path
    }

    pub fn read(&self, path: impl AsRef<Path>) -> String {
        let path = self.root().join(path);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// A persona file of the project layer, named after its id.
    pub fn project_persona(&self, persona: &Value) -> PathBuf {
        self.persona("project/.agentworkforce/workforce/personas", persona)
    }

    /// A persona file of the user layer, named after its id.
    pub fn user_persona(&self, persona: &Value) -> PathBuf {
        self.persona("home/.agentworkforce/workforce/personas", persona)
    }

    pub fn persona(&self, dir: &str, persona: &Value) -> PathBuf {
        let id = persona["id"].as_str().expect("an id");
        self.write(format!("{dir}/{id}.json"), serde_json::to_vec_pretty(persona).expect("JSON"))
    }

    pub fn user_role(&self, key: &str, role: &Value) -> PathBuf {
        let path = format!("home/.agentworkforce/workforce/roles/{key}.json");
        self.write(path, serde_json::to_vec_pretty(role).expect("JSON"))
    }

    pub fn project_role(&self, key: &str, role: &Value) -> PathBuf {
        let path = format!("project/.agentworkforce/workforce/roles/{key}.json");
        self.write(path, serde_json::to_vec_pretty(role).expect("JSON"))
    }

    pub fn config(&self, config: &Value) -> PathBuf {
        self.write(
            "home/.agentworkforce/workforce/config.json",
            serde_json::to_vec_pretty(config).expect("JSON"),
        )
    }

    /// The command with nothing of this process's environment but the path.
    pub fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut words = terminal::without_terminal();
        words.push(env!("CARGO_BIN_EXE_agentworkforce"));
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).args(args).current_dir(&self.cwd).env_clear().stdin(Stdio::null());
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::iter::once(self.root().join("harnesses")).chain(std::env::split_paths(&path));
        command.env("HOME", self.home()).env("PATH", std::env::join_paths(path).expect("no colon in it"));
        command.envs(self.vars.iter().map(|(name, value)| (name, value)));
        command
    }

    pub fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ran {
        Ran::of(&self.command(args).output().expect("the binary runs"))
    }

    pub fn run_with_input<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>, input: &str) -> Ran {
        use std::io::Write;
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        let mut stdin = child.stdin.take().expect("piped");
        // The command may end without reading; that is its right.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        Ran::of(&child.wait_with_output().expect("it ends"))
    }

    /// The plan of a run as JSON; fails the test where there is none.
    pub fn plan(&self, args: &[&str]) -> Value {
        let mut all = vec!["agent", "--dry-run", "--json"];
        all.extend(args);
        self.run(all).json()
    }

    /// The plan of a run that is refused with this code: it is printed all the same.
    #[track_caller]
    pub fn refused_plan(&self, code: i32, args: &[&str]) -> Value {
        let mut all = vec!["agent", "--dry-run", "--json"];
        all.extend(args);
        self.run(all).refused_json(code)
    }

    /// The system prompt exactly as a harness is given it; the plan and `show --prompt` must agree on it.
    #[track_caller]
    pub fn prompt(&self, args: &[&str]) -> String {
        let mut all = vec!["agent", "--dry-run", "--json"];
        all.extend(args);
        let ran = self.run(all);
        let plan: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("no plan: {ran:#?}"));
        let planned = plan["systemPrompt"].as_str().expect("a prompt").to_owned();
        let mut all = vec!["show", "--prompt"];
        all.extend(args);
        let shown = self.run(all);
        assert_eq!((shown.code, &shown.stdout), (0, &planned), "{shown:#?}");
        planned
    }

    /// The command's own process with these changes to it.
    pub fn run_changed<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        change: impl FnOnce(&mut Command),
    ) -> Ran {
        let mut command = self.command(args);
        change(&mut command);
        Ran::of(&command.output().expect("the binary runs"))
    }

    /// One persona's row of `list --json`.
    #[track_caller]
    pub fn row(&self, id: &str) -> Value {
        let list = self.run(["list", "--json"]).json();
        let rows = list["personas"].as_array().expect("rows");
        let row = rows.iter().find(|row| row["persona"] == id);
        row.unwrap_or_else(|| panic!("{id} is not in {list:#}")).clone()
    }

    /// Every path below the test's root with what it is and holds, to see that nothing was touched.
    pub fn everything(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        let mut pending = vec![self.root()];
        while let Some(dir) = pending.pop() {
            for entry in std::fs::read_dir(&dir).expect("readable") {
                let path = entry.expect("readable").path();
                let metadata = path.symlink_metadata().expect("it exists");
                let changed = metadata.modified().expect("a time");
                let content =
                    if metadata.is_file() { std::fs::read(&path).expect("readable") } else { Vec::new() };
                let kind = metadata.file_type();
                found.insert(path.display().to_string(), format!("{kind:?} {changed:?} {content:?}"));
                if metadata.is_dir() {
                    pending.push(path);
                }
            }
        }
        found
    }

    /// Paths of this test replaced by words, so that a snapshot is the same everywhere.
    pub fn normal(&self, text: &str) -> String {
        let root = self.root();
        text.replace(&*root.join("project").to_string_lossy(), "<project>")
            .replace(&*root.join("home").to_string_lossy(), "<home>")
            .replace(&*root.to_string_lossy(), "<root>")
    }
}

/// The smallest persona that stands alone and runs.
pub fn flat(id: &str, prompt: &str) -> Value {
    json!({"id": id, "intent": id, "description": format!("{id} for tests"), "harness": "claude", "systemPrompt": prompt})
}

/// The object with these keys set.
pub fn with(mut object: Value, more: &Value) -> Value {
    for (key, value) in more.as_object().expect("an object") {
        object[key] = value.clone();
    }
    object
}

/// The warnings of a plan, without those about the harness: this machine may not have it.
pub fn warnings(plan: &Value) -> Vec<String> {
    let list = plan["warnings"].as_array().expect("warnings");
    let of_the_persona = list.iter().filter(|warning| warning["code"] != "harness");
    of_the_persona.map(|warning| warning["message"].as_str().expect("text").to_owned()).collect()
}

/// `harness/model`, with `-` for no model.
pub fn runtime(plan: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    format!("{}/{}", text(&plan["harness"]["kind"]), text(&plan["model"]["value"]))
}

impl Ran {
    pub fn of(output: &std::process::Output) -> Ran {
        Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// The JSON of a command that ends with this code.
    #[track_caller]
    pub fn refused_json(&self, code: i32) -> Value {
        assert_eq!(self.code, code, "{self:#?}");
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// The one JSON object on stdout of a command that succeeded.
    #[track_caller]
    pub fn json(&self) -> Value {
        assert_eq!(self.code, 0, "{self:#?}");
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// The command failed with this code, and says this on stderr.
    #[track_caller]
    pub fn fails(&self, code: i32, says: &str) -> &Ran {
        assert_eq!(self.code, code, "{self:#?}");
        assert!(self.stderr.contains(says), "{says:?} is not in {self:#?}");
        self
    }

    /// The command failed with this code in JSON mode: one object on stdout, the same for people on stderr.
    #[track_caller]
    pub fn fails_in_json(&self, code: i32, kind: &str) -> Value {
        assert_eq!(self.code, code, "{self:#?}");
        let value: Value =
            serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"));
        assert_eq!(
            (&value["error"]["kind"], &value["error"]["exitCode"]),
            (&json!(kind), &json!(code)),
            "{self:#?}"
        );
        value["error"].clone()
    }

    /// The command failed with this code, and says this on stdout: its answer is bad news.
    #[track_caller]
    pub fn fails_with_output(&self, code: i32, says: &str) -> &Ran {
        assert_eq!(self.code, code, "{self:#?}");
        assert!(self.stdout.contains(says), "{says:?} is not in {self:#?}");
        self
    }

    #[track_caller]
    pub fn succeeds(&self) -> &Ran {
        assert_eq!(self.code, 0, "{self:#?}");
        self
    }
}
