//! Finds settings and hooks of a repository that the agent wrote. They are never applied, because they could run programs.

use super::three_way::ThreeWay;
use crate::mount::fs::tree::{self, Tree};
use crate::mount::git::copy::without_our_settings;
use crate::mount::git::credentials::without_credentials;
use crate::mount::git::repository::keep_marks_when_sparse;
use std::io::Read;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

const SETTINGS: [&str; 3] = ["config", "config.worktree", "info/attributes"];
/// Larger files are neither settings nor hooks; only their sizes are compared.
const LARGEST: u64 = 1 << 20;

/// As paths of the project where they are in it.
pub(super) fn written(sides: &ThreeWay<'_>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let depth = sides.record.data.components().count();
    let Some(session) = sides.mount.path().ancestors().nth(depth) else { return found };
    for git in &sides.record.git {
        let (Ok(agents), Ok(real)) = (Tree::open(&session.join(&git.data)), Tree::open(&git.common_dir))
        else {
            continue;
        };
        let name = git.common_dir.strip_prefix(&sides.record.root).unwrap_or(&git.common_dir).to_owned();
        found.extend(written_in(&agents, &real).into_iter().map(|path| name.join(path)));
    }
    found.sort();
    found
}

fn written_in(agents: &Tree, real: &Tree) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = SETTINGS.iter().map(PathBuf::from).collect();
    if let Ok(hooks) = agents.open_dir(Path::new("hooks")) {
        let names = tree::list(hooks.as_fd()).unwrap_or_default();
        paths.extend(names.into_iter().map(|name| Path::new("hooks").join(name)));
    }
    // The agent did not write what its side lacks; in an overlay that is everything it left alone.
    paths.retain(|path| {
        content(agents, path).is_some_and(|agents| {
            let real = content(real, path);
            // The mount's configuration may lack the credentials in the user's.
            let is_ours = real.as_ref().is_some_and(|(_, real)| {
                let hidden = without_credentials(real).unwrap_or_else(|| real.clone());
                agents.1 == hidden || Some(&agents.1) == keep_marks_when_sparse(&hidden).as_ref()
            });
            !is_ours && Some(agents) != real
        })
    });
    paths
}

fn content(tree: &Tree, path: &Path) -> Option<(u64, Vec<u8>)> {
    let (file, stat) = tree.open_file(path).ok()?;
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes).ok()?;
    let ours_out = without_our_settings(bytes);
    let size = if stat.size > LARGEST { stat.size } else { ours_out.len() as u64 };
    Some((size, ours_out))
}
