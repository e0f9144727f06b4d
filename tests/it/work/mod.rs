//! Work with a contract, from the command line: attempts are measured, lies are caught, and only what is approved is applied.

mod contracts;
mod directive;
mod ending;
mod hard_cases;
mod measuring;
mod races;
mod verify_links;

use crate::support::harness::SPEECH;
use crate::support::mount::{BINARY, Identity, World};
use crate::support::sessions::Did;
use serde_json::{Value, json};
use std::process::{Command, Stdio};

/// A project whose one test is red, and a fake worker `hand`; `$n` is the number of its run, and `report FILES` hands in a report.
pub(crate) fn world(script: &str) -> World {
    let world = World::new(Identity::Own);
    world.repository(&[
        ("calc.sh", "add() { echo $(($1 - $2)); }\n"),
        ("check.sh", ". ./calc.sh\n[ \"$(add 1 2)\" = 3 ]\n"),
        ("notes.md", "notes\n"),
        (".gitignore", "build/\n"),
    ]);
    world.persona(&json!({
        "id": "hand", "intent": "work", "description": "works", "harness": "claude", "systemPrompt": "You work."
    }));
    harness(&world, script);
    world
}

/// Replaces what the fake worker does.
pub(crate) fn harness(world: &World, script: &str) {
    let record = world.path("record");
    std::fs::create_dir_all(&record).unwrap();
    let text = format!(
        "#!/bin/sh\nif [ \"$1\" = --version ]; then echo \"9.8.7 (fake)\"; exit 0; fi\nrecord='{}'\n\
         n=$(($(cat \"$record/count\" 2>/dev/null || echo 0) + 1)); echo $n > \"$record/count\"\n\
         printf '%s\\0' \"$@\" > \"$record/argv\"; cat > \"$record/stdin.$n\"\n{SPEECH}\n\
         report() {{ printf '{{\"schema_version\":\"worker-report.v1\",\"status\":\"completed\",\"task\":\"x\",\"files_changed\":[%s],\
         \"commit\":null,\"summary\":\"done\",\"memory_updates\":[],\"nonce\":\"%s\"}}' \"$1\" \"$AGENTWORKFORCE_NONCE\" \
         > \"$AGENTWORKFORCE_REPORT\"; }}\n\
         mend() {{ echo 'add() {{ echo $(($1 + $2)); }}' > calc.sh; }}\n\
         begins\n{script}\nanswers done\n",
        record.display()
    );
    world.raw_harness("claude", &text, 0o755);
}

impl World {
    pub(crate) fn work_command(&self, flags: &[&str]) -> Command {
        let mut command = self.program(BINARY);
        let path = format!("{}:{}", self.path("bin").display(), std::env::var("PATH").unwrap_or_default());
        command.env("PATH", path).stdin(Stdio::null());
        command.args(flags);
        command
    }

    pub(crate) fn worked(&self, flags: &[&str]) -> Did {
        Did::of(&self.work_command(flags).output().unwrap())
    }

    /// `work "mend add"` by the hand, with its verdict and exit code.
    pub(crate) fn verdict(&self, flags: &[&str]) -> (Value, i32) {
        let mut all =
            vec!["work", "mend add", "--as", "hand", "--check", "sh check.sh", "--apply", "auto", "--json"];
        all.extend(flags);
        let did = self.worked(&all);
        (did.json(), did.code)
    }

    pub(crate) fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.project().join(path)).unwrap_or_default()
    }
}

/// The status of a check of the last attempt.
pub(crate) fn status<'v>(verdict: &'v Value, id: &str) -> &'v str {
    let checks = verdict["checks"].as_array().unwrap();
    let check =
        checks.iter().find(|check| check["id"] == id).unwrap_or_else(|| panic!("no {id}: {verdict:#}"));
    check["status"].as_str().unwrap()
}
