//! The role as decided: a durable charter that every persona pointing at it shares.

use super::shape::Object;
use super::source::Source;
use std::sync::Arc;

/// What one file says.
#[derive(Debug, Clone)]
pub struct RoleDoc {
    pub object: Object,
    pub source: Arc<Source>,
}

/// The role of all layers together. The charter's text is filled in where it is a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role {
    pub key: String,
    pub label: String,
    pub charter: Option<Charter>,
    pub default_harness: Option<String>,
    pub default_model: Option<String>,
    /// The library has this key: it can be overlaid, never deleted.
    pub builtin: bool,
    /// The highest file that says something about it.
    pub source: Arc<Source>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Charter {
    Text {
        text: String,
        source: Arc<Source>,
    },
    /// A `.md` beside the role file, not read yet.
    File {
        path: String,
        source: Arc<Source>,
    },
}
