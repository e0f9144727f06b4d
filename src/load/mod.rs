//! Finds and reads layers: personas, roles, config. Nothing is merged here.

pub mod catalogue;
pub mod check;
pub mod config;
pub mod file;
pub mod folder;
pub mod layers;
pub mod library;
pub mod locate;
pub mod normalise;
mod outline;
pub mod project;
pub mod roles;
pub mod sidecar;
mod strict_json;
