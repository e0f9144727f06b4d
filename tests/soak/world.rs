//! The place of a soak: a home, a temp directory, shared projects and a harness that does what its run is to do.

use super::Settings;
use super::one_run::{self, Pace};
use super::wish::{PROJECTS, Wish};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Says what claude says, does the script of its run, and notes what it has come to outside of the mount.
const HARNESS: &str = r#"#!/bin/sh
if [ "$1" = --version ]; then echo '9.8.7 (soak)'; exit 0; fi
cat > /dev/null
mark="$SOAK_MARKS/$SOAK_RUN"
echo "$AGENTWORKFORCE_SESSION" > "$mark.session"
echo '{"type":"system","subtype":"init","session_id":"talk","model":"fake","tools":[]}'
finish() {
  : > "$mark.done"
  [ "$1" = 0 ] || exit "$1"
  echo '{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"talk","num_turns":1,"total_cost_usd":0.1,"usage":{"input_tokens":1,"output_tokens":1},"permission_denials":[]}'
  exit 0
}
set -e
. "$SOAK_MARKS/$SOAK_RUN.sh"
"#;

pub struct World {
    dir: PathBuf,
    binary: PathBuf,
}

/// What the home holds: its paths and their size.
pub struct Store {
    pub paths: Vec<String>,
    pub bytes: u64,
}

impl World {
    pub fn new(settings: &Settings, wishes: &[Wish]) -> World {
        let dir = tempfile::Builder::new().prefix("aw-soak-").tempdir_in(&settings.place).expect("writable");
        let dir = dir.keep().canonicalize().expect("it exists");
        let world = World { dir, binary: settings.binary.clone() };
        for name in ["home", "tmp", "bin", "marks"] {
            fs::create_dir_all(world.path(name)).expect("writable");
        }
        world.write("bin/claude", HARNESS);
        fs::set_permissions(world.path("bin/claude"), fs::Permissions::from_mode(0o755)).expect("ours");
        world.write(
            "home/.agentworkforce/workforce/personas/worker.json",
            r#"{"id": "worker", "intent": "work", "description": "works", "harness": "claude", "systemPrompt": "You work.",
                "claudeMd": "worker.md"}"#,
        );
        world.write("home/.agentworkforce/workforce/personas/worker.md", "The worker's own instructions.\n");
        for wish in wishes {
            world.write(&format!("marks/{}.sh", wish.number), &wish.script());
            for (path, before, _) in wish.files() {
                if let Some(before) = before {
                    world.write(&format!("p{}/{path}", wish.project), &before);
                }
            }
        }
        for project in 0..PROJECTS {
            world.write(&format!("p{project}/shared"), "base\n");
            world.write(&format!("p{project}/runs/keep"), "");
            world.write(&format!("p{project}/.env"), "KEY=hidden\n");
            if project + 1 < PROJECTS {
                world.git(project, &["init", "-q", "-b", "main"]);
                world.git(project, &["add", "-A"]);
                world.git(project, &["commit", "-qm", "base"]);
            }
        }
        world
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    pub fn project(&self, number: usize) -> PathBuf {
        self.path(&format!("p{number}"))
    }

    pub fn workforce(&self) -> PathBuf {
        self.path("home/.agentworkforce/workforce")
    }

    pub fn mark(&self, number: usize, what: &str) -> PathBuf {
        self.path(&format!("marks/{number}.{what}"))
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("it has one")).expect("writable");
        fs::write(path, text).expect("writable");
    }

    /// A program in a project with this world's environment and nothing else.
    pub fn program(&self, program: &Path, project: usize) -> Command {
        let mut command = Command::new(program);
        let path = format!("{}:{}", self.path("bin").display(), std::env::var("PATH").unwrap_or_default());
        command.current_dir(self.project(project)).env_clear().env("PATH", path);
        command.env("HOME", self.path("home")).env("TMPDIR", self.path("tmp"));
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("SOAK_MARKS", self.path("marks"));
        for who in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{who}_NAME"), "soak")
                .env(format!("GIT_{who}_EMAIL"), "soak@example.org");
        }
        command.stdin(Stdio::null());
        command
    }

    /// The program under test.
    pub fn command(&self, args: &[&str], project: usize) -> Command {
        let mut command = self.program(&self.binary, project);
        command.args(args);
        command
    }

    pub fn output(&self, args: &[&str]) -> Output {
        self.command(args, 0).output().expect("the program starts")
    }

    /// The answer of a command that must succeed.
    pub fn ask(&self, args: &[&str]) -> Result<Value, String> {
        let output = self.output(args);
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        if !output.status.success() {
            return Err(format!("`{}` ends with {}: {said}", args.join(" "), output.status));
        }
        serde_json::from_slice(&output.stdout).map_err(|error| format!("`{}`: {error}", args.join(" ")))
    }

    pub fn git(&self, project: usize, args: &[&str]) -> String {
        let output = self.program(Path::new("git"), project).args(args).output().expect("git starts");
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// One run that nobody hurts, so that what is made once is made, and how long a run takes is known.
    pub fn warm_up(&self) -> Pace {
        self.write("marks/first.sh", "finish 0");
        let began = std::time::Instant::now();
        let mut command = self.command(&["agent", "worker", "-p", "x", "--json"], 0);
        let output = command.env("SOAK_RUN", "first").output().expect("the program starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let took = began.elapsed();
        self.ask(&["sessions", "prune", "--older-than", "0s", "--json"]).expect("nothing is left");
        Pace::starting_at(took)
    }

    pub fn store(&self) -> Store {
        let mut found = Store { paths: Vec::new(), bytes: 0 };
        let mut pending = vec![self.workforce()];
        while let Some(dir) = pending.pop() {
            for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
                let path = entry.path();
                let Ok(metadata) = path.symlink_metadata() else { continue };
                let name = path.strip_prefix(self.workforce()).expect("it is below").display().to_string();
                // One file a project, which is its lock for good.
                if name.starts_with("locks/") {
                    continue;
                }
                found.bytes += if metadata.is_file() { metadata.len() } else { 0 };
                if metadata.is_dir() {
                    pending.push(path);
                }
                found.paths.push(name);
            }
        }
        found.paths.sort();
        found
    }

    /// The most memory that `sessions list` takes, in kilobytes, and how many sessions it lists.
    pub fn peak_of_list(&self) -> (u64, usize) {
        // It may be gone before it is looked at.
        (0..10).map(|_| self.peak_of_one_list()).find(|(peak, _)| *peak > 0).unwrap_or_default()
    }

    fn peak_of_one_list(&self) -> (u64, usize) {
        let mut command = self.command(&["sessions", "list", "--json"], 0);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the program starts");
        let mut stdout = child.stdout.take().expect("piped");
        // It writes all at once at its end: the first byte is the time to look.
        let mut text = vec![0];
        std::io::Read::read_exact(&mut stdout, &mut text).expect("it prints");
        let peak = one_run::peak(child.id()).unwrap_or(0);
        std::io::Read::read_to_end(&mut stdout, &mut text).expect("it prints");
        let _ = child.wait();
        let listed: Value = serde_json::from_slice(&text).unwrap_or_default();
        (peak, listed["sessions"].as_array().map_or(0, Vec::len))
    }

    /// The sessions there are, by the process that made them.
    pub fn sessions(&self) -> Result<BTreeMap<u64, Value>, String> {
        let listed = self.ask(&["sessions", "list", "--json"])?;
        let sessions = listed["sessions"].as_array().cloned().unwrap_or_default();
        Ok(sessions.into_iter().map(|entry| (entry["status"]["pid"].as_u64().unwrap_or(0), entry)).collect())
    }

    pub fn remove(&self) {
        let _ = agentworkforce::mount::fs::cleanup::remove_tree(&self.dir);
    }
}
