//! A world in which a real harness runs offline: a home that has been through every first-run question, a project, a
//! model on loopback, and nothing of this process's environment.

use super::model_server::ModelServer;
use super::processes::{self, MARK, Process};
use super::pty::Terminal;
use super::running::{Ran, Running};
use super::turn::Turn;
use super::{installed, persona, pty};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The model that the homes name; no harness knows it, so none has opinions about it.
pub const MODEL: &str = "scripted";
/// What the harnesses log in with.
pub const TOKEN: &str = "scratch-token";
/// Ample for one turn of the slowest harness on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(150);

fn named_directory() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("aw-real-");
    builder
}

pub struct Scratch {
    dir: tempfile::TempDir,
    bin: PathBuf,
    vars: Vec<(String, String)>,
    pub model: ModelServer,
}

impl Scratch {
    pub fn new(script: impl IntoIterator<Item = Turn>) -> Scratch {
        Scratch::made(named_directory().tempdir().expect("a temp directory"), script)
    }

    /// The same where nothing is temporary: sandboxes leave the usual places for temporary files open.
    pub fn outside_of_temp() -> Scratch {
        let places = [env!("CARGO_TARGET_TMPDIR"), "/var/lib", "/run/lock"];
        // The checkout itself may be in a temp directory.
        let temporary = [std::env::temp_dir(), "/tmp".into(), "/var/tmp".into(), "/dev/shm".into()];
        let mut lasting =
            places.iter().filter(|place| !temporary.iter().any(|temp| Path::new(place).starts_with(temp)));
        let made = lasting.find_map(|place| named_directory().tempdir_in(place).ok());
        Scratch::made(made.unwrap_or_else(|| panic!("this test needs to write in one of {places:?}")), [])
    }

    fn made(dir: tempfile::TempDir, script: impl IntoIterator<Item = Turn>) -> Scratch {
        let bin = installed::bin_directory();
        let scratch = Scratch { dir, bin, vars: Vec::new(), model: ModelServer::start(script) };
        for name in ["home", "project", "tmp"] {
            std::fs::create_dir_all(scratch.root().join(name)).expect("writable");
        }
        scratch.prepare_claude();
        scratch.prepare_codex();
        scratch.prepare_opencode();
        scratch.write("project/README.md", "A project.\n");
        scratch.git(&["init", "--quiet", "--initial-branch", "main"]);
        scratch.git(&["add", "."]);
        scratch.git(&["commit", "--quiet", "--message", "start"]);
        scratch
    }

    pub fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().expect("it exists")
    }

    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    pub fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    /// A variable for every command from now on.
    pub fn set_var(&mut self, name: &str, value: impl Into<String>) {
        self.vars.push((name.to_owned(), value.into()));
    }

    /// Writes a file below the world's root (`project/…`, `home/…`), making its directories.
    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("writable");
        std::fs::write(&path, content).expect("writable");
        path
    }

    #[track_caller]
    pub fn read(&self, path: impl AsRef<Path>) -> String {
        let path = self.root().join(path);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// A persona file of the project layer, named after its id.
    pub fn persona(&self, persona: &Value) -> PathBuf {
        let id = persona["id"].as_str().expect("an id");
        let path = format!("project/.agentworkforce/workforce/personas/{id}.json");
        self.write(path, serde_json::to_vec_pretty(persona).expect("JSON"))
    }

    pub fn git(&self, args: &[&str]) {
        let names = ["user.name=Tester", "user.email=tester@example.invalid"];
        let mut command = self.command("git");
        command.args(names.iter().flat_map(|name| ["-c", name])).args(args);
        let output = command.output().expect("git runs");
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// A program found on the world's path, in the project, with the world's environment.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.project()).env_clear().envs(self.environment()).stdin(Stdio::null());
        command
    }

    /// Our own binary.
    pub fn agentworkforce<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_agentworkforce"));
        command.args(args);
        command
    }

    /// Where its commands are found.
    pub fn path(&self) -> String {
        let path =
            [self.bin.as_path(), Path::new("/usr/local/bin"), Path::new("/usr/bin"), Path::new("/bin")];
        path.map(|dir| dir.display().to_string()).join(":")
    }

    fn environment(&self) -> Vec<(String, String)> {
        let text = |path: PathBuf| path.display().to_string();
        let fixed: [(&str, String); 18] = [
            ("HOME", text(self.home())),
            ("PATH", self.path()),
            ("TMPDIR", text(self.root().join("tmp"))),
            (MARK, text(self.root())),
            (persona::SECRET.0, persona::SECRET.1.into()),
            ("LANG", "C.UTF-8".into()),
            ("TERM", "xterm-256color".into()),
            ("SHELL", "/bin/bash".into()),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
            // A token and not a key: claude asks before it uses a key that it does not know.
            ("ANTHROPIC_BASE_URL", self.model.url()),
            ("ANTHROPIC_AUTH_TOKEN", TOKEN.into()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".into()),
            ("DISABLE_AUTOUPDATER", "1".into()),
            ("SCRATCH_API_KEY", TOKEN.into()),
            ("OPENCODE_DISABLE_MODELS_FETCH", "1".into()),
            ("OPENCODE_DISABLE_AUTOUPDATE", "1".into()),
            ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1".into()),
            ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1".into()),
        ];
        let fixed = fixed.into_iter().map(|(name, value)| (name.to_owned(), value));
        fixed.chain(self.vars.iter().cloned()).collect()
    }

    fn prepare_claude(&self) {
        let trusted = json!({"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true});
        let mut projects = serde_json::Map::new();
        projects.insert(self.project().display().to_string(), trusted);
        let state = json!({
            "hasCompletedOnboarding": true, "theme": "dark", "bypassPermissionsModeAccepted": true,
            "projects": projects,
        });
        self.write("home/.claude.json", state.to_string());
    }

    fn prepare_codex(&self) {
        let config = format!(
            "model = \"{MODEL}\"\n\
             model_provider = \"scratch\"\n\
             check_for_update_on_startup = false\n\n\
             [model_providers.scratch]\n\
             name = \"Scratch\"\n\
             base_url = \"{url}/v1\"\n\
             wire_api = \"responses\"\n\
             env_key = \"SCRATCH_API_KEY\"\n\
             request_max_retries = 0\n\
             stream_max_retries = 0\n\n\
             [projects.\"{project}\"]\n\
             trust_level = \"trusted\"\n",
            url = self.model.url(),
            project = self.project().display(),
        );
        self.write("home/.codex/config.toml", config);
    }

    fn prepare_opencode(&self) {
        let url = format!("{}/v1", self.model.url());
        let options = json!({"baseURL": url, "apiKey": TOKEN});
        let limit = json!({"context": 200_000, "output": 8_000});
        let mut models = serde_json::Map::new();
        for name in [MODEL, "named"] {
            models.insert(name.into(), json!({"name": name, "tool_call": true, "limit": limit}));
        }
        let config = json!({
            "$schema": "https://opencode.ai/config.json",
            "model": format!("scratch/{MODEL}"),
            "small_model": format!("scratch/{MODEL}"),
            "autoupdate": false,
            "share": "disabled",
            "provider": {
                "scratch": {
                    "npm": "@ai-sdk/openai-compatible", "name": "Scratch", "options": options, "models": models,
                },
                // The same model under the names that personas use.
                "anthropic": {"options": options},
                "openai": {"options": options},
            },
        });
        self.write(
            "home/.config/opencode/opencode.json",
            serde_json::to_vec_pretty(&config).expect("plain JSON"),
        );
    }

    /// Runs a command to its end with this on standard input.
    #[track_caller]
    pub fn run(&self, command: &mut Command, input: &str) -> Ran {
        self.start(command, input).end(PATIENCE)
    }

    /// Starts a command with this on standard input.
    #[track_caller]
    pub fn start(&self, command: &mut Command, input: &str) -> Running {
        Running::start(self.root(), command, input)
    }

    /// Starts a program in a terminal of its own.
    #[track_caller]
    pub fn terminal(&self, command: &Command) -> Terminal {
        Terminal::open(self.root(), command, pty::SIZE)
    }

    /// Processes of this world that are still there after a moment's patience.
    pub fn leftovers(&self) -> Vec<Process> {
        processes::that_stay(&self.root(), Duration::from_secs(3))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // They would write into directories that are about to go.
        processes::end_all(&self.root());
        // The kernel leaves directories with mode 000 that an ordinary user cannot remove as they are.
        let _ = agentworkforce::mount::fs::cleanup::remove_tree(self.dir.path());
    }
}
