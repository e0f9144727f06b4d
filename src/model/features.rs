//! Feature flags: a registry in code, so that a flag always has a meaning, a default and an end date.

use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    AgentLibrary,
    AgentRename,
}

/// What the registry says about a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FeatureInfo {
    pub id: Feature,
    pub description: &'static str,
    pub default: bool,
    pub added_in: &'static str,
    pub expires: &'static str,
}

impl Feature {
    pub const ALL: [Feature; 2] = [Feature::AgentLibrary, Feature::AgentRename];

    pub const fn id(self) -> &'static str {
        match self {
            Feature::AgentLibrary => "agent-library",
            Feature::AgentRename => "agent-rename",
        }
    }

    pub fn of_id(id: &str) -> Option<Feature> {
        Feature::ALL.into_iter().find(|feature| feature.id() == id)
    }

    pub const fn info(self) -> FeatureInfo {
        let description = match self {
            Feature::AgentLibrary => {
                "commands that create, edit and delete roles, and runtime defaults of roles"
            }
            Feature::AgentRename => "the command that renames a persona",
        };
        FeatureInfo { id: self, description, default: true, added_in: "0.1.0", expires: "2027-06" }
    }

    /// The variable that overrides the flag.
    pub fn variable(self) -> String {
        format!("{PREFIX}{}", self.id().replace('-', "_").to_uppercase())
    }
}

impl Serialize for Feature {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

const PREFIX: &str = "AGENTWORKFORCE_FEATURE_";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FeatureSource {
    Env,
    Config,
    Default,
}

/// A flag as it is set in this run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FeatureState {
    #[serde(flatten)]
    pub feature: FeatureInfo,
    pub on: bool,
    pub from: FeatureSource,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FeatureError {
    #[error("config `features.{id}`: there is no feature `{id}`")]
    UnknownInConfig { id: String },
    #[error("variable `{variable}`: there is no such feature")]
    UnknownVariable { variable: String },
    #[error("variable `{variable}`: `{value}` is neither 1 nor 0")]
    InvalidValue { variable: String, value: String },
}

/// The state of every flag: environment over config over default. An unknown id or value is an error.
pub fn states(
    env: &BTreeMap<String, String>,
    config: &BTreeMap<String, bool>,
) -> Result<Vec<FeatureState>, FeatureError> {
    if let Some(id) = config.keys().find(|id| Feature::of_id(id).is_none()) {
        return Err(FeatureError::UnknownInConfig { id: id.clone() });
    }
    let known = Feature::ALL.map(Feature::variable);
    if let Some(variable) = env.keys().find(|name| name.starts_with(PREFIX) && !known.contains(name)) {
        return Err(FeatureError::UnknownVariable { variable: variable.clone() });
    }
    Feature::ALL.into_iter().map(|feature| state(feature, env, config)).collect()
}

fn state(
    feature: Feature,
    env: &BTreeMap<String, String>,
    config: &BTreeMap<String, bool>,
) -> Result<FeatureState, FeatureError> {
    let variable = feature.variable();
    let from_env = match env.get(&variable).map(|value| value.trim()) {
        Some("1") => Some(true),
        Some("0") => Some(false),
        Some("") | None => None,
        Some(other) => return Err(FeatureError::InvalidValue { value: other.to_owned(), variable }),
    };
    let (on, from) = match (from_env, config.get(feature.id())) {
        (Some(on), _) => (on, FeatureSource::Env),
        (None, Some(on)) => (*on, FeatureSource::Config),
        (None, None) => (feature.info().default, FeatureSource::Default),
    };
    Ok(FeatureState { feature: feature.info(), on, from })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_beats_the_config_beats_the_default() {
        let config = BTreeMap::from(Feature::ALL.map(|feature| (feature.id().to_owned(), false)));
        let env = BTreeMap::from([("AGENTWORKFORCE_FEATURE_AGENT_RENAME".to_owned(), "1".to_owned())]);
        let found: Vec<_> =
            states(&env, &config).unwrap().iter().map(|state| (state.on, state.from)).collect();
        assert_eq!(found, [(false, FeatureSource::Config), (true, FeatureSource::Env)]);
    }

    #[test]
    fn an_unknown_id_or_value_is_an_error() {
        let none = BTreeMap::new();
        assert_eq!(
            states(&none, &BTreeMap::from([("agent-libary".to_owned(), true)])),
            Err(FeatureError::UnknownInConfig { id: "agent-libary".into() })
        );
        let stray = format!("{PREFIX}X");
        assert_eq!(
            states(&BTreeMap::from([(stray.clone(), "1".to_owned())]), &BTreeMap::new()),
            Err(FeatureError::UnknownVariable { variable: stray })
        );
        let variable = Feature::AgentLibrary.variable();
        assert_eq!(
            states(&BTreeMap::from([(variable.clone(), "yes".to_owned())]), &BTreeMap::new()),
            Err(FeatureError::InvalidValue { variable, value: "yes".into() })
        );
    }
}
