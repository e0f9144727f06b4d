//! Fetches a package with the user's own npm, which packs it into a temporary directory. Runs no script of the package.

use super::tree::Tree;
use super::{archive, directory};
use crate::files::regular;
use crate::remote::fetch_context::{FetchContext, failure_reason};
use anyhow::{Context, Result, bail};
use std::path::PathBuf;

const LARGEST_NPMRC: u64 = 1 << 20;
const MAX_OUTPUT: u64 = 16 * 1024 * 1024;
/// Variables that `.npmrc` files usually refer to.
const TOKENS: [&str; 2] = ["NPM_TOKEN", "NODE_AUTH_TOKEN"];

pub fn fetch(spec: &str, context: &FetchContext<'_>) -> Result<Tree> {
    let npm = context.program("npm")?;
    let (dir, packed) = (context.scratch.join("project"), context.scratch.join("packed"));
    for dir in [&dir, &packed] {
        std::fs::create_dir(dir)?;
    }
    // npm searches the parent directories for a project and must not find one.
    std::fs::write(dir.join("package.json"), "{\"private\": true}\n")?;
    let mut command = context.command(&npm);
    command.args(["pack", "--json", "--ignore-scripts", "--loglevel=error", "--pack-destination"]);
    command.arg(&packed).current_dir(&dir);
    // If npm reads something as a repository, it has no git, and a nested npm runs no scripts either.
    command.arg("--git=/nonexistent/git").env("NPM_CONFIG_IGNORE_SCRIPTS", "true");
    command.env("CI", "1").env("NO_COLOR", "1").env("NPM_CONFIG_UPDATE_NOTIFIER", "false");
    command.arg("--").arg(spec);
    for name in TOKENS.map(str::to_owned).into_iter().chain(variables_in_npmrc(context)) {
        if let Some(value) = context.host.env.get(&name) {
            command.env(name, value);
        }
    }
    let finished = context.run(&mut command, None, MAX_OUTPUT)?;
    if !finished.status.success() {
        bail!("`npm pack` failed: {}", failure_reason(&finished.stderr));
    }
    let files = std::fs::read_dir(&packed)?.map(|entry| entry.map(|entry| entry.path()));
    let files: Vec<PathBuf> = files.collect::<std::io::Result<_>>()?;
    let [file] = &files[..] else { bail!("`npm pack` wrote {} files instead of one", files.len()) };
    archive::read(directory::open_file(file)?).context("npm did not fetch a pack")
}

/// The variables that the user's `.npmrc` refers to, such as tokens for their registry.
fn variables_in_npmrc(context: &FetchContext<'_>) -> Vec<String> {
    let configured = ["NPM_CONFIG_USERCONFIG", "npm_config_userconfig"];
    let configured = configured.iter().find_map(|name| context.host.var(name)).map(PathBuf::from);
    let file = configured.or_else(|| context.host.home_dir().map(|home| home.join(".npmrc")));
    let bytes = file.and_then(|file| regular::read(&file, LARGEST_NPMRC).ok()).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let names = text.split("${").skip(1).filter_map(|rest| rest.split_once('}'));
    names.map(|(name, _)| name.trim_end_matches('?').to_owned()).collect()
}
