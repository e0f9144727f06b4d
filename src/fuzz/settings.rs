//! Role files and `config.json`: problems are reported, the rest is read, and one bad value does not affect the others.

use crate::load::{config, file, normalise};
use crate::model::formats::ROLE;
use crate::model::role::RoleDoc;
use crate::model::shape::Severity;
use crate::model::source::Source;
use crate::resolve::role::resolve;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// Every part is read as a config and as one layer of a role.
pub fn check(data: &[u8]) {
    let path = Path::new("config.json");
    let Ok(text) = file::text_of(path, data.to_vec()) else { return };
    let mut docs = Vec::new();
    for text in super::parts(&text).take(3) {
        let config = config::of_text(path, text);
        // The valid part by itself is read as the same.
        let written = Value::Object(config.object.clone()).to_string();
        let again = config::of_text(path, &written);
        assert_eq!((again.object, again.settings), (config.object, config.settings));
        docs.extend(role(text));
    }
    for end in 0..=docs.len() {
        if let Some(Ok(role)) = resolve("key", &docs[..end], false) {
            assert!(!role.label.is_empty(), "a label is said");
        }
    }
}

fn role(text: &str) -> Option<RoleDoc> {
    let path = Path::new("role.json");
    let object = file::parse_object(path, text).ok()?;
    let found = file::check_object(path, text, &object, ROLE);
    if found.iter().any(|problem| problem.severity == Severity::Error) {
        return None;
    }
    let object = normalise::role(object);
    assert_eq!(normalise::role(object.clone()), object, "the normal form is its own");
    Some(RoleDoc {
        object,
        source: Arc::new(Source { layer: crate::model::source::LayerId::User, file: Some(path.to_owned()) }),
    })
}
