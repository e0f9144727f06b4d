//! Which directories are layers, highest first: project, configured directories or the user's, the embedded library.

use super::config::Config;
use super::files::Files;
use super::places::{PROJECT_DIR, same_directory};
use super::snapshot::Snapshot;
use crate::files::owned;
use crate::host::Host;
use crate::model::source::LayerId;
use crate::model::warning::{Warning, WarningCode};
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One layer. The library has no directories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    pub id: LayerId,
    /// Where its persona files are.
    pub personas: Option<PathBuf>,
    /// Where its role files are.
    pub roles: Option<PathBuf>,
    pub root: Option<PathBuf>,
    /// Whether the root has a legacy `agents` directory at all.
    pub has_agents: bool,
}

/// The layers of this run, and where a project or user file would be written.
#[derive(Debug, Clone)]
pub struct Layers {
    pub all: Vec<Layer>,
    pub home: PathBuf,
    /// The directory that holds `.agentworkforce`, if one was found.
    pub project_root: Option<PathBuf>,
    pub files: Files,
    pub warnings: Vec<Warning>,
}

/// The workforce home's config file.
pub fn config_path(home: &Path) -> PathBuf {
    home.join("config.json")
}

/// Where the user's own personas are: `AGENT_WORKFORCE_CONFIG_DIR` (legacy) or `personas` in the home.
pub fn user_personas(host: &Host, home: &Path) -> PathBuf {
    match host.var("AGENT_WORKFORCE_CONFIG_DIR") {
        Some(dir) => host.absolute(&host.expand_tilde(dir)),
        None => home.join("personas"),
    }
}

/// A configured directory as an absolute path: `~` expanded, relative ones seen from the config file.
pub fn configured_dir(host: &Host, home: &Path, text: &str) -> PathBuf {
    host.absolute(&home.join(host.expand_tilde(text)))
}

/// With a snapshot the project layer is the one of its commit, and the working tree is not looked at.
pub fn find(host: &Host, config: &Config, snapshot: Option<Snapshot>) -> Result<Layers> {
    let files = Files { snapshot: snapshot.map(Arc::new) };
    let home = host.workforce_home()?;
    let user_dir = user_personas(host, &home);
    let mut warnings = Vec::new();
    let mut all = Vec::new();

    let (project_root, project_dir) = match files.snapshot.as_deref() {
        None => {
            let root = project_root(host, &home, &mut warnings);
            (root.clone(), root.map(|root| root.join(PROJECT_DIR)))
        }
        Some(snapshot) => {
            warnings.extend(about_snapshot(snapshot));
            let shown = |project: &PathBuf| snapshot.shown(&project.join(PROJECT_DIR));
            let root = snapshot.project.as_ref().map(|project| snapshot.top.join(project));
            (root, snapshot.project.as_ref().map(shown))
        }
    };
    if let Some(dir) = project_dir {
        all.push(Layer {
            id: LayerId::Project,
            personas: Some(dir.join("personas")),
            roles: Some(dir.join("roles")),
            has_agents: files.is_dir(&dir.join("agents")),
            root: Some(dir),
        });
    }

    let configured = match &config.settings.persona_dirs {
        Some(dirs) => dirs.iter().map(|dir| configured_dir(host, &home, dir)).collect(),
        None => vec![user_dir.clone()],
    };
    let mut seen: Vec<PathBuf> = Vec::new();
    for (index, dir) in configured.into_iter().enumerate() {
        if seen.contains(&dir) {
            let text =
                format!("[config] duplicate persona source directory {}; keeping first", dir.display());
            warnings.push(Warning::new(WarningCode::Layer, text));
            continue;
        }
        seen.push(dir.clone());
        all.push(if dir == user_dir {
            user_layer(&home, Some(user_dir.clone()))
        } else {
            let nested = dir.join("personas");
            Layer {
                id: LayerId::Directory(index + 1),
                personas: Some(if nested.is_dir() { nested } else { dir.clone() }),
                roles: Some(dir.join("roles")),
                has_agents: dir.join("agents").is_dir(),
                root: Some(dir),
            }
        });
    }
    if !all.iter().any(|layer| layer.id == LayerId::User) {
        // Personas of the home count only where the config names them; its roles always do.
        all.push(user_layer(&home, None));
    }
    if let Some(snapshot) = files.snapshot.as_deref() {
        warnings.extend(all.iter().filter_map(|layer| in_working_tree(layer, snapshot)));
    }
    all.push(Layer { id: LayerId::Library, personas: None, roles: None, root: None, has_agents: false });
    Ok(Layers { all, home, project_root, files, warnings })
}

fn about_snapshot(snapshot: &Snapshot) -> Vec<Warning> {
    let mut texts = Vec::new();
    if let Some(link) = snapshot.linked_layer() {
        texts.push(format!("{} is a link, which is not followed in a commit", link.display()));
    }
    if snapshot.project.is_none() {
        let reference = &snapshot.reference;
        texts.push(format!("{reference} has no {PROJECT_DIR}: the project layer is empty"));
    }
    texts.into_iter().map(|text| Warning::new(WarningCode::Layer, text)).collect()
}

/// A layer of the user's that changes of the working tree can still reach.
fn in_working_tree(layer: &Layer, snapshot: &Snapshot) -> Option<Warning> {
    let top = snapshot.top.canonicalize().ok()?;
    let dirs = [&layer.personas, &layer.roles, &layer.root].into_iter().flatten();
    let inside = |dir: &&PathBuf| {
        dir.is_absolute()
            && (dir.starts_with(&top) || dir.canonicalize().is_ok_and(|dir| dir.starts_with(&top)))
    };
    let dir = dirs.into_iter().find(inside)?;
    let text = format!(
        "{} (layer `{}`) is in the working tree and is not read from the git ref",
        dir.display(),
        layer.id
    );
    Some(Warning::new(WarningCode::Layer, text))
}

fn user_layer(home: &Path, personas: Option<PathBuf>) -> Layer {
    Layer {
        id: LayerId::User,
        personas,
        roles: Some(home.join("roles")),
        root: Some(home.to_owned()),
        has_agents: home.join("agents").is_dir(),
    }
}

/// The nearest directory from the working directory up that has `.agentworkforce/workforce`,
/// not above the top level of the repository nor above the home directory.
fn project_root(host: &Host, workforce_home: &Path, warnings: &mut Vec<Warning>) -> Option<PathBuf> {
    let home = host.home_dir();
    for dir in host.cwd.ancestors() {
        let candidate = dir.join(PROJECT_DIR);
        // In the home directory itself that name is the user's own home, not a project.
        if candidate.is_dir() && !same_directory(&candidate, workforce_home) {
            let outer = candidate.parent().and_then(|outer| owned::stranger_of(outer, &host.cwd));
            let Some(stranger) = outer.or_else(|| owned::stranger_of(&candidate, &host.cwd)) else {
                return Some(dir.to_owned());
            };
            let text = format!("{} belongs to user {stranger}, and is not used", candidate.display());
            warnings.push(Warning::new(WarningCode::Layer, text));
        }
        let is_home = || home.as_deref().is_some_and(|home| same_directory(home, dir));
        if owned::has_repository(dir, &host.cwd) || is_home() {
            return None;
        }
    }
    None
}
