//! Picks tier, harness and model for a run, each with the level that decided it.

use super::persona::{Form, ResolvedPersona};
use crate::model::decided::{Decided, Level};
use crate::model::persona::{HarnessSettings, Runtime};
use crate::model::role::Role;
use crate::model::tier::{Harness, Tier};
use crate::model::warning::{Warning, WarningCode};

/// What the levels above and below the persona say.
#[derive(Debug, Clone, Copy, Default)]
pub struct Levels<'a> {
    pub flag_harness: Option<Harness>,
    pub flag_model: Option<&'a str>,
    /// The role, where its runtime defaults count.
    pub role: Option<&'a Role>,
    pub config_harness: Option<&'a str>,
    pub config_model: Option<&'a str>,
}

/// A persona at a tier: what runs.
#[derive(Debug, Clone)]
pub struct Selection {
    pub tier: Tier,
    pub harness: Decided<Harness>,
    pub model: Option<Decided<String>>,
    pub settings: HarnessSettings,
    /// The tier's own runtime, without what the top level adds.
    pub own: Runtime,
    pub warnings: Vec<Warning>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectError {
    pub message: String,
    pub hint: Option<String>,
}

pub fn select(
    resolved: &ResolvedPersona,
    asked: Option<Tier>,
    levels: &Levels,
) -> Result<Selection, SelectError> {
    let mut warnings = Vec::new();
    let tier = pick_tier(resolved, asked, &mut warnings)?;
    let own = resolved.persona.tiers.get(&tier).map(|own| (**own).clone()).unwrap_or_default();
    let top = &resolved.persona.runtime;
    let said_harness = own.harness.as_deref().or(top.harness.as_deref());
    let harness = pick_harness(resolved.id(), said_harness, levels)?;
    let model = pick_model(resolved, tier, &own, &harness, levels, &mut warnings);
    let settings = own.harness_settings.over(&top.harness_settings);
    Ok(Selection { tier, harness, model, settings, own, warnings })
}

fn pick_tier(
    resolved: &ResolvedPersona,
    asked: Option<Tier>,
    warnings: &mut Vec<Warning>,
) -> Result<Tier, SelectError> {
    let id = resolved.id();
    if let Some(reason) = resolved.not_runnable() {
        return Err(SelectError {
            message: format!("persona `{id}` cannot be run: {reason}"),
            hint: Some("`agentworkforce list` shows the ones that can".into()),
        });
    }
    let offered = resolved.tiers();
    let names = || offered.iter().map(|tier| tier.name()).collect::<Vec<_>>().join(", ");
    match (asked, resolved.form()) {
        (Some(tier), Form::Flat) => {
            let text = format!("persona `{id}` has one runtime for every tier; `@{tier}` changes nothing");
            warnings.push(Warning::new(WarningCode::NotUsed, text));
            Ok(tier)
        }
        (Some(tier), _) if offered.contains(&tier) => Ok(tier),
        (Some(tier), _) => Err(SelectError {
            message: format!("persona `{id}` has no tier `{tier}`"),
            hint: Some(format!("it has {}", names())),
        }),
        (None, _) => {
            let wanted = resolved.persona.default_tier.unwrap_or(Tier::BestValue);
            if offered.contains(&wanted) {
                return Ok(wanted);
            }
            let first = offered[0];
            let text = format!("persona `{id}` has no tier `{wanted}`; using `{first}`");
            warnings.push(Warning::new(WarningCode::NotUsed, text));
            Ok(first)
        }
    }
}

fn pick_harness(id: &str, said: Option<&str>, levels: &Levels) -> Result<Decided<Harness>, SelectError> {
    if let Some(value) = levels.flag_harness {
        return Ok(Decided { value, from: Level::Flag });
    }
    let role = levels.role.and_then(|role| role.default_harness.as_deref());
    let said_by = [(said, Level::Persona), (role, Level::Role), (levels.config_harness, Level::Config)];
    let Some((name, from)) = said_by.into_iter().find_map(|(name, from)| Some((name?, from))) else {
        return Ok(Decided { value: Harness::DEFAULT, from: Level::Default });
    };
    match name.parse() {
        Ok(value) => Ok(Decided { value, from }),
        Err(_) => Err(SelectError {
            message: format!("persona `{id}` runs on `{name}`, which this runner does not launch"),
            hint: Some(format!("run it on another one with `--harness`: {}", Harness::names().join(", "))),
        }),
    }
}

/// A model counts only where the harness that its level alone would resolve to is the chosen one, so that a model
/// chosen for one harness is never passed to another.
fn pick_model(
    resolved: &ResolvedPersona,
    tier: Tier,
    own: &Runtime,
    harness: &Decided<Harness>,
    levels: &Levels,
    warnings: &mut Vec<Warning>,
) -> Option<Decided<String>> {
    if let Some(model) = levels.flag_model {
        return Some(Decided { value: model.to_owned(), from: Level::Flag });
    }
    let config_harness = levels.config_harness.unwrap_or(Harness::DEFAULT.name());
    let role_harness = levels.role.and_then(|role| role.default_harness.as_deref()).unwrap_or(config_harness);
    let role_model = levels.role.and_then(|role| role.default_model.as_deref());

    let top = &resolved.persona.runtime;
    let persona_model = own.model.as_deref().or(top.model.as_deref());
    let persona_harness = persona_model.map(|_| {
        let path = if own.model.is_some() { format!("tiers.{tier}.model") } else { "model".to_owned() };
        // The file that chose the model had a harness in mind: the one that counted when it was written.
        let chosen_in = resolved.sources_of(&path).pop();
        chosen_in
            .and_then(|source| resolved.harness_as_of(&source, tier, own.model.is_some()))
            .unwrap_or_else(|| role_harness.to_owned())
    });
    let candidates = [
        (persona_model, persona_harness.as_deref().unwrap_or(role_harness), Level::Persona),
        (role_model, role_harness, Level::Role),
        (levels.config_model, config_harness, Level::Config),
    ];
    for (model, chosen_for, from) in candidates {
        let Some(model) = model else { continue };
        if chosen_for == harness.value.name() {
            return Some(Decided { value: model.to_owned(), from });
        }
        if from == Level::Persona {
            let text = format!(
                "model `{model}` was chosen for {chosen_for} and is not passed to {}; name one with `--model`",
                harness.value
            );
            warnings.push(Warning::new(WarningCode::NotUsed, text));
        }
    }
    None
}
