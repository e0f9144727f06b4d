//! The layers of this place, opened once and asked by everyone: config, features, personas, roles and rule files.
//! It puts the stages together; what each thing means is decided in `load` and `resolve`.

mod deleted;
mod error;
mod find;
mod roles;
mod warnings;

pub use error::WorkforceError;
pub use find::Found;
pub use roles::{RoleOf, role_not_shared};
pub use warnings::{not_used, warnings_of};

use crate::host::Host;
use crate::load::catalogue::{Catalogue, Reading};
use crate::load::config::{self, Config};
use crate::load::file::FileProblem;
use crate::load::layers::{self, Layers};
use crate::load::rule_files::{self, RuleFiles};
use crate::load::sidecar;
use crate::load::snapshot::Snapshot;
use crate::model::features::{self, Feature, FeatureState};
use crate::model::plan::PersonaRef;
use crate::model::shape::Severity;
use crate::model::warning::Warning;
use crate::resolve::sidecar::{Sidecar, SidecarText};
use anyhow::Result;
use std::path::Path;

/// Everything that is known before a persona is picked.
pub struct Workforce {
    pub host: Host,
    pub config: Config,
    pub layers: Layers,
    pub catalogue: Catalogue,
    pub features: Vec<FeatureState>,
}

impl Workforce {
    /// For commands that deal with one persona.
    pub fn open(host: &Host) -> Result<Workforce> {
        Workforce::read(host, Reading::Headers, None)
    }

    /// The same, with the project layer of this git ref instead of the working tree's.
    pub fn open_at(host: &Host, persona_ref: Option<&str>) -> Result<Workforce> {
        Workforce::read(host, Reading::Headers, persona_ref)
    }

    /// For commands that list personas: long texts are not read.
    pub fn open_outlines(host: &Host, persona_ref: Option<&str>) -> Result<Workforce> {
        Workforce::read(host, Reading::Outlines, persona_ref)
    }

    /// For commands that check or change all personas.
    pub fn open_whole(host: &Host, persona_ref: Option<&str>) -> Result<Workforce> {
        Workforce::read(host, Reading::Everything, persona_ref)
    }

    fn read(host: &Host, reading: Reading, persona_ref: Option<&str>) -> Result<Workforce> {
        let home = host.workforce_home()?;
        let config = config::read(&layers::config_path(&home));
        let features = features::states(&host.env, &config.settings.features)
            .map_err(|error| WorkforceError::Feature { config: config.path.clone(), error })?;
        let snapshot = persona_ref.map(|reference| Snapshot::open(host, reference)).transpose()?;
        let layers = layers::find(host, &config, snapshot)?;
        let catalogue = Catalogue::scan(&layers, reading);
        Ok(Workforce { host: host.clone(), config, layers, catalogue, features })
    }

    /// What the project layer is read from, if it is not the working tree.
    pub fn snapshot(&self) -> Option<&Snapshot> {
        self.layers.files.snapshot.as_deref()
    }

    /// The commit that the project layer comes from, if it is not the working tree.
    pub fn persona_ref(&self) -> Option<&PersonaRef> {
        self.snapshot().map(|snapshot| &snapshot.reference)
    }

    /// The rule files of this project root that apply to the persona. Read once per run: a run passes the value on.
    pub fn rule_files(&self, root: &Path, persona_id: &str) -> Result<RuleFiles> {
        match self.snapshot() {
            None => Ok(rule_files::in_directory(root, persona_id)),
            Some(snapshot) => rule_files::in_commit(snapshot, root, persona_id),
        }
    }

    pub fn feature(&self, feature: Feature) -> bool {
        self.features.iter().any(|state| state.feature.id == feature && state.on)
    }

    /// Warnings that concern every command: the config and the layers themselves.
    pub fn general_warnings(&self) -> Vec<Warning> {
        let config = self.config.problems.iter().map(FileProblem::to_warning);
        let files = self.catalogue.problems.iter().map(FileProblem::to_warning);
        config.chain(self.layers.warnings.iter().cloned()).chain(files).collect()
    }

    /// Unreadable or invalid files that would restrict this run: settings, rule files, files of this persona.
    /// A run that ignored them could do more than the user allows. Reads nothing; `found` is the run's persona, if it
    /// has one, and `rules` are its rule files.
    pub fn blocking_problems(&self, found: Option<&Found>, rules: &RuleFiles) -> Vec<FileProblem> {
        let own_problems = found.into_iter().flat_map(|found| &found.problems);
        let errors = self.config.problems.iter().chain(own_problems);
        let errors = errors.filter(|problem| problem.severity == Severity::Error);
        let own_files =
            found.into_iter().flat_map(|found| self.catalogue.problems_that_concern(&found.lineage));
        errors.chain(own_files).chain(&rules.problems).cloned().collect()
    }

    /// The text of a chosen sidecar. A missing file is only a warning: the run continues without it. One that cannot be
    /// read is an error.
    pub fn sidecar_text(&self, sidecar: &Sidecar) -> std::result::Result<String, FileProblem> {
        match &sidecar.text {
            SidecarText::Pack(text) | SidecarText::Builtin(text) => Ok(text.clone()),
            SidecarText::File(path) => {
                let anchor = sidecar.source.dir().unwrap_or(Path::new("/"));
                sidecar::read(&self.layers.files, anchor, path).map_err(|mut problem| {
                    problem.key.clone_from(&sidecar.key);
                    problem
                })
            }
        }
    }
}
