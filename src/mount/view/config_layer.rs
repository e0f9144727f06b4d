//! A private layer over a directory of the harness's configuration, as plain data. `harness_config` creates and inspects it.

use crate::model::mount::HarnessConfig;
use crate::model::raw_path::RawPath;
use crate::mount::process::inside::protocol::OverlaySpec;
use std::path::{Path, PathBuf};

/// One directory of configuration with its private layer.
#[derive(Debug, Clone)]
pub(super) struct ConfigLayer {
    pub(super) overlay: OverlaySpec,
    /// Its conversations, which the session keeps.
    pub(super) kept: Vec<Kept>,
    /// A file that is copied into the layer and that nothing inside may write.
    pub(super) copied: Option<RawPath>,
    pub(super) config: HarnessConfig,
}

/// A directory with conversations.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    /// Relative to the layer.
    pub(super) inside: PathBuf,
    /// Relative to the directory of the session's conversations.
    pub(super) stored: PathBuf,
}

impl ConfigLayer {
    /// Whether a path, relative to the layer, is inside a directory of conversations.
    pub(super) fn is_conversation(&self, path: &Path) -> bool {
        self.kept.iter().any(|kept| path.starts_with(&kept.inside)) && !self.is_instruction(path)
    }

    /// Whether a path among the conversations contains instructions for later runs.
    pub(super) fn is_instruction(&self, path: &Path) -> bool {
        let fits = |pattern: &String| {
            let mut names = path.iter();
            Path::new(pattern)
                .iter()
                .all(|wanted| names.next().is_some_and(|name| wanted == "*" || wanted == name))
        };
        self.config.instructions.iter().any(fits)
    }
}
