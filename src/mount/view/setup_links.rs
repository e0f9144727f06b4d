//! Which links of the repository's own setup may be shown. A harness reads such a file without being asked, so a link must not lead
//! to a secret, out of the project, or to settings. Reads links; changes nothing.

use crate::rules::inherit::is_instruction_file;
use crate::rules::{Decision, PathRules};
use std::path::{Path, PathBuf};

pub(super) struct SetupLinks<'a> {
    root: &'a Path,
    /// As links are resolved.
    real_root: Option<PathBuf>,
    rules: &'a PathRules,
}

impl<'a> SetupLinks<'a> {
    pub(super) fn new(root: &'a Path, rules: &'a PathRules) -> SetupLinks<'a> {
        SetupLinks { root, real_root: root.canonicalize().ok(), rules }
    }

    /// Whether a link that the rules show leads to what is no part of the setup. Instructions may be any file of the project that
    /// the agent may see; commands and skills are checked where they are, so a link to others has to be hidden.
    pub(super) fn must_be_hidden(&self, link: &Path, decision: &Decision) -> bool {
        if !decision.is_inherited() {
            return false;
        }
        let named = self.root.join(link);
        // In a copy an absolute link leads to the project itself.
        if std::fs::read_link(&named).map_or(true, |target| target.is_absolute()) {
            return true;
        }
        let real = named.canonicalize().ok();
        let inside =
            real.as_ref().zip(self.real_root.as_ref()).and_then(|(real, root)| real.strip_prefix(root).ok());
        let Some(inside) = inside else { return true };
        let target = self.rules.decide(inside, self.root.join(inside).is_dir());
        let is_part = target.is_inherited() || (is_instruction_file(link) && !target.is_hidden());
        !is_part || inside.components().any(|part| part.as_os_str() == ".git")
    }
}
