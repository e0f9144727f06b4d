//! What a conversion gives: persona and role documents with a record of every source field. Plain data.

use crate::model::shape::Object;
use crate::model::warning::Warning;
use serde::Serialize;

/// What happened to one field of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FieldFate {
    pub field: String,
    #[serde(flatten)]
    pub fate: Fate,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "fate", rename_all = "lowercase")]
pub enum Fate {
    /// It has the same meaning in the other format, under this key.
    Mapped {
        to: String,
    },
    /// It has no meaning there and is kept unchanged, under this key.
    Kept {
        to: String,
    },
    Dropped {
        why: String,
    },
}

/// A persona document and what happened to every source field.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    pub persona: Object,
    pub fields: Vec<FieldFate>,
    pub warnings: Vec<Warning>,
    /// A role that the file contains, too.
    pub role: Option<RoleDraft>,
    /// Fields that only the comment of an earlier export has: in somebody else's file they are easily overlooked.
    pub only_in_comment: Vec<String>,
}

/// A role document under its key.
#[derive(Debug, Clone, PartialEq)]
pub struct RoleDraft {
    pub key: String,
    pub role: Object,
    pub fields: Vec<FieldFate>,
    pub warnings: Vec<Warning>,
}

/// The contents of one file. An agent that cannot be used is listed with the reason and does not stop the others.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Converted {
    pub drafts: Vec<Draft>,
    pub roles: Vec<RoleDraft>,
    pub refused: Vec<String>,
    /// Fields of the file that do not belong to any of its agents.
    pub fields: Vec<FieldFate>,
}

impl Converted {
    pub fn single(draft: Result<Draft, String>) -> Converted {
        match draft {
            Ok(mut draft) => {
                let roles = draft.role.take().into_iter().collect();
                Converted { drafts: vec![draft], roles, ..Converted::default() }
            }
            Err(reason) => Converted { refused: vec![reason], ..Converted::default() },
        }
    }
}
