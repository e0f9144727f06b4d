//! Feature flags: a registry in code, so that a flag always has a meaning, a default and an end.

use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Feature {
    pub id: &'static str,
    pub description: &'static str,
    pub default: bool,
    pub added_in: &'static str,
    pub expires: &'static str,
}

pub const AGENT_LIBRARY: &str = "agent-library";
pub const AGENT_RENAME: &str = "agent-rename";

pub const FEATURES: [Feature; 2] = [
    Feature {
        id: AGENT_LIBRARY,
        description: "commands that create, edit and delete roles, and runtime defaults of roles",
        default: true,
        added_in: "0.1.0",
        expires: "2027-06",
    },
    Feature {
        id: AGENT_RENAME,
        description: "the command that renames a persona",
        default: true,
        added_in: "0.1.0",
        expires: "2027-06",
    },
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FeatureSource {
    Env,
    Config,
    Default,
}

/// A flag as it stands in this run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FeatureState {
    #[serde(flatten)]
    pub feature: Feature,
    pub on: bool,
    pub from: FeatureSource,
}

/// The name of the variable that overrides a flag.
pub fn variable(id: &str) -> String {
    format!("AGENTWORKFORCE_FEATURE_{}", id.replace('-', "_").to_uppercase())
}

/// The state of every flag: environment over config over default. An id or a value that is not known is an error.
pub fn states(
    env: &BTreeMap<String, String>,
    config: &BTreeMap<String, bool>,
) -> Result<Vec<FeatureState>, String> {
    if let Some(id) = config.keys().find(|id| !FEATURES.iter().any(|feature| feature.id == id.as_str())) {
        return Err(format!("config `features.{id}`: there is no feature `{id}`"));
    }
    let known: Vec<String> = FEATURES.iter().map(|feature| variable(feature.id)).collect();
    let stray = env.keys().find(|name| name.starts_with("AGENTWORKFORCE_FEATURE_") && !known.contains(name));
    if let Some(name) = stray {
        return Err(format!("variable `{name}`: there is no such feature"));
    }
    FEATURES.iter().map(|feature| state(feature, env, config)).collect()
}

fn state(
    feature: &Feature,
    env: &BTreeMap<String, String>,
    config: &BTreeMap<String, bool>,
) -> Result<FeatureState, String> {
    let name = variable(feature.id);
    let from_env = match env.get(&name).map(|value| value.trim()) {
        Some("1") => Some(true),
        Some("0") => Some(false),
        Some("") | None => None,
        Some(other) => return Err(format!("variable `{name}`: `{other}` is neither 1 nor 0")),
    };
    let (on, from) = match (from_env, config.get(feature.id)) {
        (Some(on), _) => (on, FeatureSource::Env),
        (None, Some(on)) => (*on, FeatureSource::Config),
        (None, None) => (feature.default, FeatureSource::Default),
    };
    Ok(FeatureState { feature: *feature, on, from })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_beats_the_config_beats_the_default() {
        let config = BTreeMap::from([(AGENT_LIBRARY.to_owned(), false), (AGENT_RENAME.to_owned(), false)]);
        let env = BTreeMap::from([("AGENTWORKFORCE_FEATURE_AGENT_RENAME".to_owned(), "1".to_owned())]);
        let found: Vec<_> =
            states(&env, &config).unwrap().iter().map(|state| (state.on, state.from)).collect();
        assert_eq!(found, [(false, FeatureSource::Config), (true, FeatureSource::Env)]);
    }

    #[test]
    fn an_unknown_id_or_value_is_an_error() {
        let none = BTreeMap::new();
        assert!(states(&none, &BTreeMap::from([("agent-libary".to_owned(), true)])).is_err());
        assert!(states(&BTreeMap::from([(variable("x"), "1".to_owned())]), &BTreeMap::new()).is_err());
        assert!(
            states(&BTreeMap::from([(variable(AGENT_LIBRARY), "yes".to_owned())]), &BTreeMap::new()).is_err()
        );
    }
}
