//! Our own files: read with limits, locked, and replaced in one step so that nothing is lost.
//! Knows nothing about what the keys mean.

pub mod atomic;
pub mod backup;
pub mod error;
pub mod json;
pub mod json_file;
pub mod lock;
pub mod owned;
pub mod private_home;
pub mod regular;
pub mod strict_json;
pub mod text;
