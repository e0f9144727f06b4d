//! What a persona's `role` means here: the role of the layers, a legacy charter file, or just a label.

use super::Workforce;
use crate::load::file::FileProblem;
use crate::load::{library, roles};
use crate::model::features::Feature;
use crate::model::role::{Charter, Role};
use crate::model::source::LayerId;
use crate::model::text_rules::slugged;
use crate::model::warning::{Warning, WarningCode};
use crate::model::words::nearest;
use crate::resolve::persona::ResolvedPersona;
use crate::resolve::role::{self as resolve_role, RolePart};

impl Workforce {
    /// The role of this key in all layers, with its charter's text. Problems are warnings: a run goes on without.
    pub fn role(&self, key: &str) -> (Option<Role>, Vec<FileProblem>) {
        let (docs, mut problems) = roles::docs(&self.layers, key);
        let mut role = match resolve_role::resolve(key, &docs, library::has_role(key)) {
            Some(Ok(role)) => role,
            Some(Err(text)) => {
                let file = docs.last().and_then(|doc| doc.source.file.clone()).unwrap_or_default();
                problems.push(FileProblem::whole_file(&file, text).with_fix("add `\"label\": \"<name>\"`"));
                return (None, problems);
            }
            None => return (None, problems),
        };
        if let Some(Charter::File { path, source }) = &role.charter {
            match roles::charter_file(&self.layers.files, source, path) {
                Ok(text) => role.charter = Some(Charter::Text { text, source: source.clone() }),
                Err(problem) => {
                    problems.push(problem);
                    role.charter = None;
                }
            }
        }
        (Some(role), problems)
    }

    /// What the persona's `role` means: a role's charter, a legacy charter file, or just a label.
    pub fn role_of(&self, resolved: &ResolvedPersona) -> RoleOf {
        let said = resolved.persona.role.as_deref().map(str::trim);
        let mut result = RoleOf::default();
        if said.is_none() && !self.catalogue.layers.iter().any(|layer| layer.has_agents) {
            return result;
        }
        if let Some(key) = said.filter(|said| slugged(said) == **said) {
            let (role, problems) = self.role(key);
            result.problems.extend(problems);
            if let Some(role) = role {
                let has_charter = role.charter.is_some();
                result = result.with_role(role);
                if has_charter {
                    return result;
                }
            }
        }
        let legacy = resolved.sources.iter().rev().find_map(|source| {
            let layer = self.catalogue.layers.iter().find(|layer| layer.id == source.layer)?;
            roles::legacy_charter(&self.layers.files, layer, resolved.id())
        });
        if let Some((path, text)) = legacy {
            match text {
                Ok(text) => {
                    let label_only = RolePart { label: said.map(str::to_owned), ..RolePart::default() };
                    let part = result.part.get_or_insert(label_only);
                    part.charter = Some(text);
                    part.charter_origin = Some(path.display().to_string());
                    result.legacy_charter = true;
                    return result;
                }
                Err(problem) => result.problems.push(problem),
            }
        }
        if result.role.is_some() {
            return result;
        }
        let Some(said) = said else { return result };
        if self.feature(Feature::AgentLibrary) && slugged(said) != said {
            let (role, problems) = self.role(&slugged(said));
            result.problems.extend(problems);
            if let Some(role) = role {
                result.legacy_label = true;
                return result.with_role(role);
            }
        }
        if slugged(said) == said && result.problems.is_empty() {
            let (keys, _) = roles::keys(&self.layers);
            let near = nearest(said, keys.iter().map(String::as_str));
            let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            let text = format!(
                "there is no role `{said}`: persona `{}` gets the label and no charter{hint}",
                resolved.id()
            );
            result.warnings.push(Warning::new(WarningCode::NotUsed, text));
        }
        result.part = Some(RolePart { label: Some(said.to_owned()), ..RolePart::default() });
        result
    }
}

impl Workforce {
    /// Why a persona lacks the role that it names elsewhere: one of them is in the project, the other is not.
    pub fn role_not_shared(&self, resolved: &ResolvedPersona, role: &Role) -> Option<String> {
        let layer = resolved.sources_of("role").pop()?.layer;
        role_not_shared(resolved.id(), layer, role)
    }
}

/// The same for a persona that says so in this layer.
pub fn role_not_shared(id: &str, layer: LayerId, role: &Role) -> Option<String> {
    let (key, file) = (&role.key, role.source.describe());
    match (layer == LayerId::Project, role.source.layer == LayerId::Project) {
        _ if role.builtin || layer == LayerId::Linted => None,
        (true, false) => Some(format!(
            "the role `{key}` is not in the project but in {file}: for others who use the project, `{id}` has no charter"
        )),
        (false, true) => Some(format!(
            "the role `{key}` is only in this project ({file}): elsewhere `{id}` has no charter"
        )),
        (true, true) | (false, false) => None,
    }
}

/// The meaning of a persona's `role`.
#[derive(Default)]
pub struct RoleOf {
    pub part: Option<RolePart>,
    pub role: Option<Role>,
    /// The persona names the role by its label, not by its key.
    pub legacy_label: bool,
    /// The charter is a file of the legacy place.
    pub legacy_charter: bool,
    pub problems: Vec<FileProblem>,
    pub warnings: Vec<Warning>,
}

impl RoleOf {
    fn with_role(mut self, role: Role) -> RoleOf {
        let (charter, charter_origin) = match &role.charter {
            Some(Charter::Text { text, source }) => (Some(text.clone()), Some(source.describe())),
            _ => (None, None),
        };
        self.part = Some(RolePart {
            key: Some(role.key.clone()),
            label: Some(role.label.clone()),
            charter,
            charter_origin,
        });
        self.role = Some(role);
        self
    }
}
