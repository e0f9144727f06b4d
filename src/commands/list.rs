//! `list`: the catalogue, one row a persona or one row a tier.

use super::request::{parse_harness, parse_tier};
use super::say;
use crate::cli::ListArgs;
use crate::error::Result;
use crate::exit::Exit;
use crate::host::Host;
use crate::model::amounts::counted;
use crate::model::features::Feature;
use crate::model::plan::PersonaRef;
use crate::model::source::LayerId;
use crate::model::text_rules::slugged;
use crate::model::tier::Tier;
use crate::model::warning::Warning;
use crate::resolve::select::{Levels, select};
use crate::resolve::sidecar::{self, Sidecar, SidecarText};
use crate::ui::{Table, Ui};
use crate::workforce::{Found, RoleOf, Workforce, warnings_of};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The incumbent's keys first, so that scripts go on working, then ours.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row<'a> {
    pub persona: &'a str,
    pub source: LayerId,
    pub harness: Option<&'static str>,
    pub model: Option<String>,
    pub intent: Option<&'a str>,
    pub tags: &'a [String],
    pub description: Option<&'a str>,
    /// The tier.
    pub rating: Option<Tier>,
    pub name: &'a str,
    pub emoji: Option<&'a str>,
    pub role: Option<String>,
    pub expertise: &'a [String],
    pub file: Option<Cow<'a, str>>,
    pub runnable: bool,
    /// Why not, where it is not.
    pub reason: Option<String>,
}

impl Row<'_> {
    /// Emoji and name, as far as they say more than the id.
    pub fn title(&self) -> String {
        match (self.emoji, self.name == self.persona) {
            (Some(emoji), true) => emoji.to_owned(),
            (Some(emoji), false) => format!("{emoji} {}", self.name),
            (None, true) => String::new(),
            (None, false) => self.name.to_owned(),
        }
    }
}

/// On a narrow screen the layer and the tier go before the model, and the id stays to the end.
const WITHOUT: [(usize, usize); 8] = [(5, 0), (4, 18), (1, 10), (2, 0), (4, 0), (3, 0), (1, 0), (0, 8)];
const WITH_DESCRIPTION: [(usize, usize); 11] =
    [(6, 24), (5, 0), (2, 0), (4, 18), (1, 10), (6, 16), (3, 0), (4, 0), (6, 12), (1, 0), (0, 8)];

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Listing<'a> {
    schema_version: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    persona_ref: Option<&'a PersonaRef>,
    personas: Vec<Row<'a>>,
    warnings: Vec<Warning>,
}

pub fn run(args: &ListArgs, host: &Host, ui: &mut Ui) -> Result<Exit> {
    let tier = args.tier.as_deref().map(parse_tier).transpose()?;
    let harness = args.harness.as_deref().map(parse_harness).transpose()?;
    let workforce = Workforce::open_outlines(host, args.from.persona_ref())?;
    let (found, problems) = workforce.all();
    let mut warnings = workforce.general_warnings();
    warnings.extend(warnings_of(&problems));
    for persona in &found {
        warnings.extend(warnings_of(&persona.problems));
        warnings.extend(missing_sidecars(&workforce, persona));
    }
    say::persona_ref(&workforce, ui);
    say::warnings(&warnings, ui);
    let mut rows = rows(&workforce, &found, tier, args.all);
    rows.retain(|row| harness.is_none_or(|harness| row.harness == Some(harness.name())));
    rows.retain(|row| {
        args.tag.as_ref().is_none_or(|tag| row.tags.iter().any(|own| own.eq_ignore_ascii_case(tag)))
    });
    if ui.is_json() {
        let persona_ref = workforce.persona_ref();
        ui.json(&Listing { schema_version: 2, persona_ref, personas: rows, warnings });
    } else {
        print(&rows, args, ui);
    }
    // The process ends now; freeing hundreds of personas first would only cost time.
    std::mem::forget((workforce, found));
    Ok(Exit::Done)
}

/// The sidecars of a persona that a run would go without.
fn missing_sidecars(workforce: &Workforce, found: &Found) -> Vec<Warning> {
    let missing = |sidecar: Sidecar| {
        let mut problem = workforce.sidecar_text(&sidecar).err()?;
        problem.message = format!("persona `{}`: {}", found.resolved.id(), problem.message);
        Some(problem.to_warning())
    };
    let sidecars = sidecar::all(&found.resolved).into_iter();
    sidecars.filter(|sidecar| matches!(sidecar.text, SidecarText::File(_))).filter_map(missing).collect()
}

/// One row a persona at its default tier, or at this tier, or at every tier it offers.
pub fn rows<'a>(
    workforce: &Workforce,
    found: &'a [Found],
    tier: Option<Tier>,
    every_tier: bool,
) -> Vec<Row<'a>> {
    let mut rows = Vec::with_capacity(found.len());
    for (persona, role) in found.iter().zip(roles_of(workforce, found)) {
        let resolved = &persona.resolved;
        let offered = resolved.tiers();
        let asked: Vec<Option<Tier>> = match (tier, every_tier) {
            (Some(tier), _) if offered.contains(&tier) => vec![Some(tier)],
            (Some(_), _) => continue,
            (None, true) if !offered.is_empty() => offered.into_iter().map(Some).collect(),
            (None, _) => vec![None],
        };
        rows.extend(asked.into_iter().map(|tier| row(workforce, persona, &role, tier)));
    }
    rows
}

/// The role of each persona, read once for all that have it.
pub fn roles_of(workforce: &Workforce, found: &[Found]) -> Vec<Rc<RoleOf>> {
    let mut known: BTreeMap<&str, Rc<RoleOf>> = BTreeMap::new();
    let role_of = |persona| Rc::new(workforce.role_of(persona));
    let roles = found.iter().map(|found| match found.resolved.persona.role.as_deref() {
        // Personas that name a role by its key share its files; what a label means depends on the persona.
        Some(key) if slugged(key) == key => {
            known.entry(key).or_insert_with(|| role_of(&found.resolved)).clone()
        }
        _ => role_of(&found.resolved),
    });
    roles.collect()
}

fn row<'a>(workforce: &Workforce, persona: &'a Found, role: &RoleOf, tier: Option<Tier>) -> Row<'a> {
    let resolved = &persona.resolved;
    let settings = &workforce.config.settings;
    let levels = Levels {
        role: role.role.as_ref().filter(|_| workforce.feature(Feature::AgentLibrary)),
        config_harness: settings.default_harness.as_deref(),
        config_model: settings.default_model.as_deref(),
        ..Levels::default()
    };
    let selection = select(resolved, tier, &levels);
    let (selected, reason) = match selection {
        Ok(selection) => (Some(selection), None),
        Err(error) => (None, Some(resolved.not_runnable().unwrap_or(error.message))),
    };
    let p = &resolved.persona;
    Row {
        persona: resolved.id(),
        source: resolved.source().layer,
        harness: selected.as_ref().map(|selection| selection.harness.value.name()),
        rating: selected.as_ref().map(|selection| selection.tier),
        runnable: selected.is_some(),
        reason,
        model: selected.and_then(|selection| selection.model).map(|model| model.value),
        intent: p.intent.as_deref(),
        tags: &p.tags,
        description: p.description.as_deref(),
        name: resolved.display_name(),
        emoji: p.emoji.as_deref().filter(|emoji| !emoji.is_empty()),
        role: role.part.as_ref().and_then(|part| part.key.clone().or_else(|| part.label.clone())),
        expertise: &p.expertise,
        file: resolved.source().file.as_ref().map(|file| file.to_string_lossy()),
    }
}

fn print(rows: &[Row], args: &ListArgs, ui: &mut Ui) {
    let describe = !args.no_display_description;
    let mut header = vec!["PERSONA", "NAME", "TIER", "HARNESS", "MODEL", "SOURCE"];
    if describe {
        header.push("DESCRIPTION");
    }
    let mut table = Table::new(&header).giving_way(if describe { &WITH_DESCRIPTION } else { &WITHOUT });
    for row in rows {
        let mut cells = vec![
            row.persona.to_owned(),
            row.title(),
            row.rating.map(|tier| tier.name().to_owned()).unwrap_or_default(),
            row.harness.unwrap_or("-").to_owned(),
            row.model.clone().unwrap_or_else(|| "-".to_owned()),
            row.source.title(),
        ];
        if describe {
            cells.push(match &row.reason {
                Some(reason) => format!("(not runnable: {reason})"),
                None => row.description.unwrap_or_default().to_owned(),
            });
        }
        table.row(cells);
    }
    ui.table(&table);
    let mut ids: Vec<&str> = rows.iter().map(|row| row.persona).collect();
    ids.dedup();
    ui.line("");
    ui.line(format!("{}, {}", counted(ids.len(), "persona"), counted(rows.len(), "row")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn personas_of_one_role_share_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let home = dir.path().display().to_string();
        let host = Host {
            env: BTreeMap::from([("HOME".to_owned(), home)]),
            cwd: dir.path().to_owned(),
            stdin_is_terminal: false,
            stderr_is_terminal: false,
        };
        let workforce = Workforce::open(&host).expect("the built-in ones");
        let (found, _) = workforce.all();
        let roles = roles_of(&workforce, &found);
        let of = |id: &str| {
            let at = found.iter().position(|found| found.resolved.id() == id).expect(id);
            roles[at].clone()
        };
        assert!(Rc::ptr_eq(&of("dallas"), &of("engineer")));
        assert!(!Rc::ptr_eq(&of("dallas"), &of("code-reviewer")));
    }
}
