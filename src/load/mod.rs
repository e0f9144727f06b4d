//! Finds and reads layers: personas, roles, config. Nothing is merged here.

pub mod broken;
pub mod catalogue;
pub mod check;
pub mod config;
pub mod error;
pub mod file;
pub mod files;
pub mod folder;
pub mod layer_places;
pub mod layers;
pub mod library;
pub mod normalise;
pub(crate) mod outline;
pub mod places;
pub mod roles;
pub mod rule_files;
pub mod sidecar;
pub mod snapshot;
