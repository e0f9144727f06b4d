//! Looks at the place of a run: its root, the rules and layers there, the repository's own setup, and what is in the way. It changes
//! nothing.

use super::above;
use super::named_by_personas::{NamedByPersonas, skill_at};
use super::persona_parts::PersonaParts;
use super::setup::{self, Setup};
use super::tree_files;
use super::users_config;
use crate::host::{Host, own_project};
use crate::load::layer_places::{self, Outside};
use crate::load::rule_files::RuleFiles;
use crate::model::decided::Level;
use crate::model::inherit::{Inherit, PlannedInherit};
use crate::model::limits::LimitObstacles;
use crate::model::plan::SkillKind;
use crate::model::skill_source::{kind_of, name_of};
use crate::mount::git::harness_setup::{self, Around, Program};
use crate::mount::git::settings;
use crate::mount::git::surroundings::GitSurroundings;
use crate::mount::{self, InjectedFile, root};
use crate::plan::mount::MountPlace;
use crate::plan::parts::{Obstacles, RunFacts, RunFlags};
use crate::resolve::persona::ResolvedPersona;
use crate::resolve::sidecar::{self, SidecarText};
use crate::rules::layer::{GitPlace, SetupElsewhere};
use crate::workforce::Workforce;
use anyhow::Result;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What decides about agents in the root: the layers, the rule files, and what this persona and the others of the layers name.
fn layers_in(
    workforce: &Workforce,
    parts: Option<&PersonaParts>,
    named: &NamedByPersonas,
    root: &Path,
) -> Vec<PathBuf> {
    let files = named_by(workforce, parts, root);
    let files = files.iter().chain(&named.files).map(PathBuf::as_path);
    let mut places = layer_places::on_the_way_to_all(files, root);
    // The project as a whole is none.
    places.remove(Path::new(""));
    places.extend(layer_places::inside(&workforce.layers, root));
    places.into_iter().collect()
}

/// The same outside of the root.
pub(super) fn layers_outside(workforce: &Workforce, parts: Option<&PersonaParts>, root: &Path) -> Outside {
    layer_places::outside(&workforce.layers, named_by(workforce, parts, root), root)
}

/// The local skills of a persona that are neither beside the file that declares them nor in this directory, by id.
pub fn missing_skills(host: &Host, resolved: &ResolvedPersona, root: &Path) -> Vec<String> {
    let declared_in = resolved.sources_of("skills").pop();
    let anchors: Vec<&Path> =
        declared_in.as_ref().and_then(|source| source.dir()).into_iter().chain([root]).collect();
    let is_missing = |source: &str| {
        let path = host.expand_tilde(source);
        kind_of(source) == SkillKind::Local && !anchors.iter().any(|anchor| anchor.join(&path).exists())
    };
    let missing = resolved.persona.skills.iter().filter(|skill| is_missing(&skill.source));
    missing.map(|skill| skill.id.clone().unwrap_or_else(|| name_of(&skill.source))).collect()
}

/// Where the local skills and the instruction files of this persona are, or would be.
fn named_by(workforce: &Workforce, parts: Option<&PersonaParts>, root: &Path) -> Vec<PathBuf> {
    let mut places = Vec::new();
    let Some(parts) = parts else { return places };
    let resolved = &parts.found.resolved;
    let origins = resolved.origins();
    let declared_in =
        origins.get("skills").and_then(|sources| sources.last()).and_then(|source| source.dir());
    for skill in resolved.persona.skills.iter().filter(|skill| kind_of(&skill.source) == SkillKind::Local) {
        let source = workforce.host.expand_tilde(&skill.source);
        places
            .extend([declared_in, Some(root)].into_iter().flatten().map(|anchor| skill_at(anchor, &source)));
    }
    places.extend(sidecar::all(resolved).into_iter().filter_map(|sidecar| match sidecar.text {
        SidecarText::File(path) => Some(path),
        SidecarText::Pack(_) | SidecarText::Builtin(_) => None,
    }));
    places
}

/// The directory that is mounted.
pub(super) fn place(workforce: &Workforce, root: Option<&Path>) -> Result<root::MountRoot> {
    let host = &workforce.host;
    let asked = root.map(|dir| host.expand_tilde(&dir.to_string_lossy()));
    let home = host.home_dir();
    let around = around(workforce, home.as_deref());
    let place = root::find(around, asked.as_deref(), workforce.layers.project_root.as_deref())?;
    own_project::add(&place.root);
    Ok(place)
}

fn around<'a>(workforce: &'a Workforce, home: Option<&'a Path>) -> root::Surroundings<'a> {
    root::Surroundings { cwd: &workforce.host.cwd, home, state: &workforce.layers.home }
}

/// What the caller asks for, as far as it decides where to look.
pub(super) struct Wanted<'a> {
    /// Where the run is.
    pub(super) place: root::MountRoot,
    pub(super) flags: &'a RunFlags,
    pub(super) inherit: Option<&'a [Inherit]>,
    /// The agent's files of a session that goes on.
    pub(super) earlier: Option<PathBuf>,
}

/// Where the run is, and what was found there; and the files for its mount that were made of the repository's own setup.
pub(super) fn facts(
    workforce: &Workforce,
    wanted: Wanted<'_>,
    parts: Option<&PersonaParts>,
) -> Result<(RunFacts, Vec<InjectedFile>)> {
    let Wanted { place, flags, inherit, earlier } = wanted;
    let host = &workforce.host;
    let home = host.home_dir();
    let around = around(workforce, home.as_deref());
    let refused = root::refuse(&place.root, around).err().map(|error| error.to_string());
    let id = parts.map_or("mount", |parts| parts.found.resolved.id());
    let rules = workforce.rule_files(&place.root, id)?;
    let blocking = workforce.blocking_problems(parts.map(|parts| &parts.found), &rules);
    let unreadable = blocking.iter().map(|problem| problem.to_warning().message).collect();
    let mut warnings = parts.map(|parts| parts.warnings.clone()).unwrap_or_default();
    let RuleFiles { files: rule_files, prefix: rule_prefix, .. } = rules;
    let mut inherit = match parts {
        Some(parts) => inherited(workforce, parts, inherit),
        None => PlannedInherit::default(),
    };
    let snapshot = workforce.layers.files.snapshot.as_deref();
    let setup = match parts {
        Some(parts) => {
            let policy = &parts.found.resolved.persona.mount;
            let config = &workforce.config.settings.mount;
            let lifts = |patterns: &[String]| patterns.iter().any(|pattern| pattern.starts_with('!'));
            let reveals = [&policy.reveal_patterns, &config.reveal_patterns, &flags.mount.reveal]
                .into_iter()
                .any(|patterns| !patterns.is_empty())
                || lifts(&policy.ignored_patterns)
                || lifts(&config.ignored_patterns)
                || rule_files.iter().any(|(_, text)| text.lines().any(|line| line.starts_with('!')));
            let around = setup::Surroundings {
                root: &place.root,
                cwd: &place.cwd,
                harness: parts.selection.harness.value,
                env: &host.env,
                home: home.as_deref(),
                snapshot,
                earlier,
                reveals,
            };
            setup::read(&around, &inherit)
        }
        None => Setup::default(),
    };
    inherit.hidden = setup.hidden;
    warnings.extend(setup.warnings);
    let untrusted_servers = match (snapshot, parts) {
        (Some(snapshot), Some(parts)) => {
            let mut servers = setup.found.servers.clone();
            servers.extend(parts.found.resolved.persona.mcp_servers.clone());
            tree_files::started_by(&servers, &snapshot.top, &place.root.join(&place.cwd))
        }
        _ => BTreeMap::new(),
    };
    let named = NamedByPersonas::read(workforce, &place.root);
    let setup_elsewhere = setup_elsewhere(host, (&place.root, &place.cwd), parts.is_some(), named.programs());
    let above = match parts {
        Some(_) => above::configuration(&place.root, home.as_deref(), &host.env),
        None => Vec::new(),
    };
    let facts = RunFacts {
        // Those of a commit are unpacked by the run.
        missing_skills: match (snapshot, parts) {
            (None, Some(parts)) => missing_skills(host, &parts.found.resolved, &place.root),
            _ => Vec::new(),
        },
        inherit,
        setup: setup.found,
        env: host.env.clone(),
        home,
        place: MountPlace {
            layers: layers_in(workforce, parts, &named, &place.root),
            protected: layers_outside(workforce, parts, &place.root).there,
            above,
            users_config: users_config::inside(&place.root, host.home_dir().as_deref(), &host.env),
            git_settings: git_settings(host, &place.root),
            setup_elsewhere,
            is_repository: place.root.join(".git").symlink_metadata().is_ok(),
            root: place.root,
            cwd: place.cwd,
            rule_files,
            rule_prefix,
            setup: setup.places,
        },
        persona_ref: workforce.persona_ref().cloned(),
        untrusted_servers,
        warnings,
        obstacles: Obstacles {
            unreadable,
            root: refused,
            mount: None,
            limits: limit_obstacles(workforce, parts),
        },
    };
    Ok((facts, setup.files))
}

/// What is taken over from the repository's own setup: the flag over the persona over the config.
fn inherited(workforce: &Workforce, parts: &PersonaParts, flag: Option<&[Inherit]>) -> PlannedInherit {
    let persona = parts.found.resolved.persona.inherit.as_deref();
    let config = workforce.config.settings.inherit.as_deref();
    PlannedInherit::decide([(Level::Flag, flag), (Level::Persona, persona), (Level::Config, config)])
}

/// Asked of the machine only where some limit needs a control group.
fn limit_obstacles(workforce: &Workforce, parts: Option<&PersonaParts>) -> LimitObstacles {
    let of_persona = parts.map(|parts| parts.found.resolved.persona.limits).unwrap_or_default();
    if of_persona.over(workforce.config.settings.limits).need_control_group() {
        mount::limit_obstacles()
    } else {
        LimitObstacles::default()
    }
}

/// Files in the root that git takes settings from or runs, in the repository around it or by the user's own settings.
fn git_settings(host: &Host, root: &Path) -> Vec<(GitPlace, String)> {
    let Ok(root) = root.canonicalize() else { return Vec::new() };
    let around = GitSurroundings::of(&host.env, host.home_dir(), Some(host.cwd.clone()));
    settings::places(settings::work_tree_around(&root), &root, &around)
}

/// What configuration of harnesses leads to in the root, and the programs of personas.
fn setup_elsewhere(
    host: &Host,
    (root, cwd): (&Path, &Path),
    is_persona: bool,
    programs: Vec<Program>,
) -> SetupElsewhere {
    let Ok(root) = root.canonicalize() else { return SetupElsewhere::default() };
    let cwd = root.join(cwd);
    let home = host.home_dir();
    let around = Around { root: &root, cwd: Some(&cwd), home: home.as_deref(), env: &host.env };
    let directories = harness_setup::directories(&root, Some(&cwd));
    let tops = directories.iter().flat_map(|dir| harness_setup::named_in(dir)).collect();
    harness_setup::elsewhere(&tops, is_persona, programs, around)
}
