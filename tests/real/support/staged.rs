//! A plan carried out by hand: its files put where it says, its command ready to run. What a launcher does, without
//! the mount, so that a plan can be held against the real harness by itself.

use super::scratch::Scratch;
use serde_json::Value;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// The plan of `agentworkforce agent <args> --dry-run --json`.
#[track_caller]
pub fn plan(world: &Scratch, args: &[&str]) -> Value {
    let mut all = vec!["agent", "--dry-run", "--json"];
    all.extend(args);
    let ran = world.run(&mut world.agentworkforce(all), "");
    serde_json::from_str(&ran.succeeds().stdout).expect("JSON")
}

/// The plan's command, with everything that it needs in place.
pub fn stage(world: &Scratch, plan: &Value) -> Command {
    let session = world.root().join("session");
    let filled = |text: &Value| {
        let text = text.as_str().expect("a text");
        text.replace("{session}", &session.display().to_string())
            .replace("{mount}", &world.project().display().to_string())
    };
    std::fs::create_dir_all(&session).expect("writable");
    for file in plan["files"].as_array().expect("files") {
        let path = filled(&file["path"]);
        if file["content"].is_string() {
            world.write(path, filled(&file["content"]));
            continue;
        }
        std::fs::create_dir_all(&path).expect("writable");
        if file["linksTo"].is_object() {
            links(Path::new(&path), &file["linksTo"]);
        }
    }
    if let Some(target) = plan["sidecar"]["target"].as_str() {
        world.write(world.project().join(target), plan["sidecar"]["content"].as_str().expect("a text"));
    }
    let command = &plan["command"];
    let mut staged = world.command(command["program"].as_str().expect("a program"));
    staged.args(command["args"].as_array().expect("arguments").iter().map(&filled));
    for (name, value) in command["env"].as_object().expect("variables") {
        staged.env(name, filled(value));
    }
    staged
}

/// A directory of links to another one's entries.
fn links(farm: &Path, spec: &Value) {
    let theirs = Path::new(spec["directory"].as_str().expect("a directory"));
    let wanted = spec["entries"].as_array().expect("entries");
    for entry in std::fs::read_dir(theirs).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if wanted.iter().any(|wanted| wanted == "*" || *wanted == *name.to_string_lossy()) {
            symlink(entry.path(), farm.join(name)).expect("writable");
        }
    }
}
