//! The mount that a run asks for: backend, sandbox level and the rules for paths, in their order of precedence.

use crate::harness::{ANY_PROJECT_CONFIG, adapter};
use crate::model::inherit::Inherit;
use crate::model::mount::{Backend, Effect, LayerChanges, MountSpec, PathRule, RuleSource, Sandbox};
use crate::model::persona::MountPolicy;
use crate::model::settings::MountSettings;
use crate::model::tier::Harness;
use crate::rules::inherit::{INSTRUCTIONS, SetupPlace, inherit_rules, revealed_rules};
use crate::rules::layer::{
    GitPlace, SetupElsewhere, git_rules, harness_rules, layer_rules, setup_rules, users_config_rules,
};
use crate::rules::{builtin_harness_rules, builtin_secret_rules, parse_rule_file};
use std::path::PathBuf;

/// What the command line says about the mount.
#[derive(Debug, Clone, Default)]
pub struct MountFlags {
    pub backend: Option<Backend>,
    pub sandbox: Option<Sandbox>,
    /// `--reveal`.
    pub reveal: Vec<String>,
    /// `--allow-layer-changes`.
    pub allow_layer_changes: bool,
}

/// The place of the run and the rule files that were found in it.
#[derive(Debug, Clone, Default)]
pub struct MountPlace {
    pub root: PathBuf,
    pub cwd: PathBuf,
    /// Whether the root is the top level of a git repository.
    pub is_repository: bool,
    /// Name and text, in rising order of precedence.
    pub rule_files: Vec<(String, String)>,
    /// Prefix of a file's name in its origin, for example the git ref.
    pub rule_prefix: String,
    /// Where persona layers of this run are in the root, relative to it.
    pub layers: Vec<PathBuf>,
    /// Layers of this run outside of the root, by their real paths.
    pub protected: Vec<PathBuf>,
    /// Configuration of harnesses above the root, by its real paths.
    pub above: Vec<PathBuf>,
    /// The user's own configuration of harnesses in the root, relative to it.
    pub users_config: Vec<PathBuf>,
    /// Files in the root that git takes settings from or runs, relative to it, with the setting that says so.
    pub git_settings: Vec<(GitPlace, String)>,
    /// What configuration of harnesses and personas lead to in the root.
    pub setup_elsewhere: SetupElsewhere,
    /// What of the repository's own setup may be shown as it is in the working tree. `None` with `--persona-ref`: that tree is
    /// not trusted.
    pub setup: Option<Vec<SetupPlace>>,
}

/// The persona's side of a mount.
pub struct MountPersona<'a> {
    pub id: &'a str,
    pub harness: Harness,
    /// What is inherited, and what says so.
    pub inherit: &'a [Inherit],
    pub inherit_origin: String,
}

/// Without a persona, configuration of harnesses is a part of the project that can be seen and changed; changes are marked.
pub fn spec(
    persona: Option<&MountPersona>,
    policy: &MountPolicy,
    settings: &MountSettings,
    flags: &MountFlags,
    place: &MountPlace,
) -> MountSpec {
    let backend = flags.backend.or(policy.backend).or(settings.backend).unwrap_or(Backend::Auto);
    let layer_changes = match (flags.allow_layer_changes, policy.allow_layer_changes) {
        (true, _) => LayerChanges::Allowed,
        (false, Some(true)) => LayerChanges::Reviewed,
        (false, _) => LayerChanges::Protected,
    };
    MountSpec {
        root: place.root.clone(),
        cwd: place.cwd.clone(),
        backend,
        sandbox: flags.sandbox.or(policy.sandbox.max(settings.sandbox)),
        rules: rules(persona, policy, settings, &flags.reveal, place, layer_changes),
        layer_changes,
        include: policy.include_patterns.clone(),
        writable: Vec::new(),
        harness_config: Vec::new(),
        devices: settings.devices.clone(),
        sockets: Vec::new(),
        git_credentials: settings.git_credentials,
        nested_sandbox: false,
        protected: place.protected.clone(),
        above: place.above.clone(),
    }
}

fn rules(
    persona: Option<&MountPersona>,
    policy: &MountPolicy,
    settings: &MountSettings,
    reveal: &[String],
    place: &MountPlace,
    layer_changes: LayerChanges,
) -> Vec<PathRule> {
    let mut rules = builtin_secret_rules();
    rules.extend(
        persona
            .map(|persona| persona.harness)
            .into_iter()
            .flat_map(|harness| builtin_harness_rules(harness.name(), adapter(harness).project_config)),
    );
    if persona.is_none() {
        // Instructions tell an agent what to do, not what it may do, and are an ordinary part of the project.
        let obeyed = ANY_PROJECT_CONFIG.into_iter().filter(|name| !INSTRUCTIONS.contains(name));
        rules.extend(harness_rules(obeyed));
    }
    rules.extend(users_config_rules(&place.users_config));
    rules.extend(layer_rules(&place.layers, layer_changes));
    rules.extend(setup_rules(&rules, &place.setup_elsewhere));
    rules.extend(git_rules(&place.git_settings));
    let mut add = |patterns: &[String], effect: Effect, source: RuleSource, origin: &str| {
        rules.extend(patterns.iter().map(|pattern| PathRule {
            pattern: pattern.clone(),
            effect,
            source,
            origin: origin.to_owned(),
        }));
    };
    let config = RuleSource::Config;
    add(&settings.ignored_patterns, Effect::Hidden, config, "config: mount.ignoredPatterns");
    add(&settings.readonly_patterns, Effect::Readonly, config, "config: mount.readonlyPatterns");
    add(&settings.reveal_patterns, Effect::Reveal, config, "config: mount.revealPatterns");
    let source = RuleSource::Persona;
    let id = persona.map_or("mount", |persona| persona.id);
    let origin = |key: &str| format!("persona {id}: mount.{key}");
    add(&policy.ignored_patterns, Effect::Hidden, source, &origin("ignoredPatterns"));
    add(&policy.readonly_patterns, Effect::Readonly, source, &origin("readonlyPatterns"));
    add(&policy.reveal_patterns, Effect::Reveal, source, &origin("revealPatterns"));
    add(reveal, Effect::Reveal, source, "--reveal");
    for (name, text) in &place.rule_files {
        let effect = if name.ends_with(".agentreadonly") { Effect::Readonly } else { Effect::Hidden };
        let for_all = matches!(name.as_str(), ".agentignore" | ".agentreadonly");
        let source = if for_all { RuleSource::ProjectFile } else { RuleSource::PersonaFile };
        rules.extend(parse_rule_file(text, effect, source, &format!("{}{name}", place.rule_prefix)));
    }
    if let (Some(persona), Some(places)) = (persona, &place.setup) {
        rules.extend(inherit_rules(persona.inherit, places, &persona.inherit_origin));
        // A pattern that cannot be compiled is reported where all of them are.
        rules.extend(revealed_rules(&rules, places).unwrap_or_default());
    }
    rules
}
