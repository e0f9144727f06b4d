//! Reads what belongs to one persona at a tier: its layers, role, inputs and instruction file. It decides nothing about the run.

use super::error::RunError;
use super::request::Overrides;
use crate::harness::adapter;
use crate::model::decided::InputValue;
use crate::model::features::Feature;
use crate::model::selector::Selector;
use crate::model::warning::Warning;
use crate::plan::parts::RunParts;
use crate::resolve::inputs;
use crate::resolve::role::RolePart;
use crate::resolve::select::{Levels, Selection, select};
use crate::resolve::sidecar::{self as resolve_sidecar, Sidecar};
use crate::workforce::{Found, Workforce, not_used, warnings_of};
use anyhow::Result;

/// A persona at a tier with everything read that a plan or a prompt needs.
pub struct PersonaParts {
    pub found: Found,
    pub selection: Selection,
    pub role: Option<RolePart>,
    pub inputs: Vec<InputValue>,
    pub sidecar: Option<(Sidecar, String)>,
    pub warnings: Vec<Warning>,
}

impl PersonaParts {
    pub fn read(workforce: &Workforce, persona: &Selector, overrides: &Overrides) -> Result<PersonaParts> {
        let found = workforce.find(&persona.name)?;
        PersonaParts::of(workforce, found, persona, overrides)
    }

    /// For those who only look: inputs that a run would ask for stay visible as placeholders.
    pub fn preview(workforce: &Workforce, persona: &Selector, overrides: &Overrides) -> Result<PersonaParts> {
        let found = workforce.find(&persona.name)?;
        let mut overrides = overrides.clone();
        let declared = &found.resolved.persona.inputs;
        if let Err(errors) = inputs::resolve(declared, &overrides.inputs, &workforce.host.env) {
            for input in errors.missing {
                overrides.inputs.insert(input.name.clone(), format!("${}", input.name));
            }
        }
        PersonaParts::of(workforce, found, persona, &overrides)
    }

    fn of(
        workforce: &Workforce,
        mut found: Found,
        persona: &Selector,
        overrides: &Overrides,
    ) -> Result<PersonaParts> {
        let role = workforce.role_of(&found.resolved);
        // Without its charter it would be somebody else.
        found.problems.extend(role.problems);
        let mut warnings = warnings_of(&found.problems);
        warnings.extend(not_used(&found.resolved));
        warnings.extend(role.warnings);

        let settings = &workforce.config.settings;
        let levels = Levels {
            flag_harness: overrides.harness,
            flag_model: overrides.model.as_deref(),
            role: role.role.as_ref().filter(|_| workforce.feature(Feature::AgentLibrary)),
            config_harness: settings.default_harness.as_deref(),
            config_model: settings.default_model.as_deref(),
        };
        let selection = select(&found.resolved, persona.tier, &levels)
            .map_err(|error| RunError::Selection { message: error.message, hint: error.hint })?;

        let declared = &found.resolved.persona.inputs;
        let inputs = inputs::resolve(declared, &overrides.inputs, &workforce.host.env)
            .map_err(|errors| RunError::Inputs { persona: persona.name.clone(), errors })?;

        let channel = adapter(selection.harness.value).sidecar;
        let sidecar = match resolve_sidecar::choose(&found.resolved, &selection, channel) {
            Some(sidecar) => match workforce.sidecar_text(&sidecar) {
                Ok(text) => Some((sidecar, text)),
                Err(problem) => {
                    warnings.extend(warnings_of(std::slice::from_ref(&problem)));
                    found.problems.push(problem);
                    None
                }
            },
            None => None,
        };
        Ok(PersonaParts { found, selection, role: role.part, inputs, sidecar, warnings })
    }

    pub fn parts<'a>(&'a self, workforce: &'a Workforce) -> RunParts<'a> {
        RunParts {
            resolved: &self.found.resolved,
            selection: &self.selection,
            role: self.role.clone(),
            inputs: &self.inputs,
            sidecar: self.sidecar.as_ref().map(|(sidecar, text)| (sidecar, text.clone())),
            settings: &workforce.config.settings,
        }
    }
}
