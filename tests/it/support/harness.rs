//! Fake harnesses: shell scripts that write down how they were called and then do what a test wants.

use crate::support::mount::{Identity, World, soon};
use crate::support::sessions::Did;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub(crate) const HARNESSES: [&str; 3] = ["claude", "opencode", "codex"];

/// What each harness says when all is well, as shell functions: `begins`, `answers TEXT`.
pub(crate) const SPEECH: &str = r#"
case "$(basename "$0")" in
claude)
  begins() { echo '{"type":"system","subtype":"init","session_id":"talk-1","model":"fake-model","tools":[]}'; }
  answers() { printf '{"type":"result","subtype":"success","is_error":false,"result":"%s","session_id":"talk-1","num_turns":2,"total_cost_usd":0.5,"usage":{"input_tokens":10,"output_tokens":5},"permission_denials":[]}\n' "$1"; } ;;
codex)
  begins() { echo '{"type":"thread.started","thread_id":"talk-1"}'; echo '{"type":"turn.started"}'; }
  answers() { printf '{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"%s"}}\n' "$1"
    echo '{"type":"turn.completed","usage":{"input_tokens":10,"cached_input_tokens":0,"output_tokens":5}}'; } ;;
opencode)
  begins() { echo '{"type":"step_start","timestamp":1,"sessionID":"talk-1","part":{"id":"p1","sessionID":"talk-1","messageID":"m1","type":"step-start"}}'; }
  answers() { printf '{"type":"text","timestamp":2,"sessionID":"talk-1","part":{"id":"p2","sessionID":"talk-1","messageID":"m1","type":"text","text":"%s","time":{"start":1,"end":2}}}\n' "$1"
    echo '{"type":"step_finish","timestamp":3,"sessionID":"talk-1","part":{"id":"p3","sessionID":"talk-1","messageID":"m1","type":"step-finish","reason":"stop","cost":0.5,"tokens":{"input":10,"output":5,"reasoning":0,"cache":{"read":0,"write":0}}}}'; } ;;
esac
"#;

impl World {
    /// A repository with a persona `weaver` on claude and fake harnesses that do `script`.
    pub(crate) fn with_harness(who: Identity, script: &str) -> World {
        World::with_harness_in(who, &std::env::temp_dir(), script)
    }

    /// The same in another place.
    pub(crate) fn with_harness_in(who: Identity, place: &Path, script: &str) -> World {
        let world = World::new_in(who, place);
        world.repository(&[
            ("main.txt", "one\ntwo\n"),
            ("CLAUDE.md", "REPO-CLAUDE\n"),
            ("AGENTS.md", "REPO-AGENTS\n"),
        ]);
        world.persona(&weaver());
        for name in HARNESSES {
            world.harness(name, script);
        }
        world
    }

    /// A fake harness; it answers `--version` by itself and writes down its call before `script` begins.
    pub(crate) fn harness(&self, name: &str, script: &str) {
        let record = self.path("record");
        fs::create_dir_all(&record).unwrap();
        let text = format!(
            "#!/bin/sh\nif [ \"$1\" = --version ]; then echo \"9.8.7 (fake)\"; exit 0; fi\nrecord='{}'\n\
             printf '%s\\0' \"$@\" > \"$record/argv\"; env -0 > \"$record/env\"; pwd > \"$record/cwd\"\n\
             if ! [ -t 0 ]; then cat > \"$record/stdin\"; fi\n{SPEECH}\n{script}\n",
            record.display()
        );
        self.raw_harness(name, &text, 0o755);
    }

    pub(crate) fn raw_harness(&self, name: &str, text: &str, mode: u32) {
        let file = self.path("bin").join(name);
        fs::create_dir_all(self.path("bin")).unwrap();
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        self.give();
    }

    /// What a fake harness wrote down.
    pub(crate) fn recorded(&self, what: &str) -> String {
        let path = self.path("record").join(what);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub(crate) fn recorded_argv(&self) -> Vec<String> {
        self.recorded("argv").split_terminator('\0').map(str::to_owned).collect()
    }

    pub(crate) fn recorded_env(&self, name: &str) -> Option<String> {
        let prefix = format!("{name}=");
        self.recorded("env").split('\0').find_map(|pair| pair.strip_prefix(&prefix).map(str::to_owned))
    }

    /// `agent weaver FLAGS`, with the fakes first in `PATH`.
    pub(crate) fn agent_command(&self, flags: &[&str]) -> Command {
        let mut command = self.aw_command(["agent"].iter().chain(flags));
        let path = format!("{}:{}", self.path("bin").display(), std::env::var("PATH").unwrap_or_default());
        command.env("PATH", path);
        command
    }

    /// The same with nothing else in `PATH`.
    pub(crate) fn agent_with_only(&self, path: &std::path::Path, flags: &[&str]) -> Did {
        let mut command = self.program("env");
        command.arg(format!("PATH={}", path.display())).arg(crate::support::mount::BINARY).arg("agent");
        Did::of(&command.args(flags).stdin(Stdio::null()).output().unwrap())
    }

    pub(crate) fn agent(&self, flags: &[&str]) -> Did {
        Did::of(&self.agent_command(flags).output().unwrap())
    }

    /// A headless run of `weaver` with these flags besides; its report and its exit code.
    pub(crate) fn report(&self, flags: &[&str]) -> (Value, i32) {
        let mut all = vec!["weaver", "-p", "do it", "--json"];
        all.extend(flags);
        let did = self.agent(&all);
        (did.json(), did.code)
    }

    /// A started headless run, once the harness made `ready`.
    pub(crate) fn agent_at_work(&self, flags: &[&str]) -> Child {
        let mut all = vec!["weaver", "-p", "do it", "--json"];
        all.extend(flags);
        let mut command = self.agent_command(&all);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        assert!(soon(|| self.record("ready").exists()), "the harness does not start");
        child
    }

    pub(crate) fn record(&self, name: &str) -> PathBuf {
        self.path("record").join(name)
    }

    pub(crate) fn session_count(&self) -> usize {
        fs::read_dir(self.sessions()).map_or(0, |entries| entries.flatten().count())
    }
}

pub(crate) fn weaver() -> Value {
    json!({
        "id": "weaver", "intent": "work", "description": "works", "harness": "claude",
        "systemPrompt": "You work.", "claudeMd": "weaver.md", "agentsMd": "weaver.md"
    })
}
