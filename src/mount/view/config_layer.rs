//! A private layer over a directory of the harness's configuration, as plain data. It is made and looked into elsewhere.

use crate::model::mount::HarnessConfig;
use crate::model::raw_path::RawPath;
use crate::mount::process::inside::protocol::OverlaySpec;

/// One directory of configuration with its private layer.
#[derive(Debug, Clone)]
pub(super) struct ConfigLayer {
    pub(super) overlay: OverlaySpec,
    /// What is written through.
    pub(super) through: Vec<RawPath>,
    /// The file that the layer has a copy of, which nothing inside may write.
    pub(super) copied: Option<RawPath>,
    pub(super) config: HarnessConfig,
}
