//! Gets a pack from a registry with the user's own npm, which packs it into a directory that is thrown away.
//! No script of the package is run.

use super::tree::Tree;
use super::{archive, directory};
use crate::remote::surroundings::{Surroundings, last_words};
use anyhow::{Context, Result, bail};
use std::path::PathBuf;

const MOST_OUTPUT: u64 = 16 * 1024 * 1024;
/// Where people keep what their `.npmrc` refers to.
const TOKENS: [&str; 2] = ["NPM_TOKEN", "NODE_AUTH_TOKEN"];

pub fn fetch(spec: &str, around: &Surroundings<'_>) -> Result<Tree> {
    let npm = around.program("npm")?;
    let (dir, packed) = (around.scratch.join("project"), around.scratch.join("packed"));
    for dir in [&dir, &packed] {
        std::fs::create_dir(dir)?;
    }
    // npm looks further up for a project, and must not find one.
    std::fs::write(dir.join("package.json"), "{\"private\": true}\n")?;
    let mut command = around.command(&npm);
    command.args(["pack", "--json", "--ignore-scripts", "--loglevel=error", "--pack-destination"]);
    command.arg(&packed).current_dir(&dir);
    // Should npm ever take something for a repository, it has no git, and its own npm runs no script either.
    command.arg("--git=/nonexistent/git").env("NPM_CONFIG_IGNORE_SCRIPTS", "true");
    command.env("CI", "1").env("NO_COLOR", "1").env("NPM_CONFIG_UPDATE_NOTIFIER", "false");
    command.arg("--").arg(spec);
    for name in TOKENS.map(str::to_owned).into_iter().chain(referred(around)) {
        if let Some(value) = around.host.env.get(&name) {
            command.env(name, value);
        }
    }
    let finished = around.run(&mut command, None, MOST_OUTPUT)?;
    if !finished.status.success() {
        bail!("`npm pack` failed: {}", last_words(&finished.stderr));
    }
    let files = std::fs::read_dir(&packed)?.map(|entry| entry.map(|entry| entry.path()));
    let files: Vec<PathBuf> = files.collect::<std::io::Result<_>>()?;
    let [file] = &files[..] else { bail!("`npm pack` left {} files where one belongs", files.len()) };
    archive::read(directory::open_file(file)?).context("what npm brought is of no use")
}

/// The variables that the user's `.npmrc` names: without them their registry would not let them in.
fn referred(around: &Surroundings<'_>) -> Vec<String> {
    let configured = ["NPM_CONFIG_USERCONFIG", "npm_config_userconfig"];
    let configured = configured.iter().find_map(|name| around.host.var(name)).map(PathBuf::from);
    let file = configured.or_else(|| around.host.home_dir().map(|home| home.join(".npmrc")));
    let text = file.and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
    let names = text.split("${").skip(1).filter_map(|rest| rest.split_once('}'));
    names.map(|(name, _)| name.trim_end_matches('?').to_owned()).collect()
}
