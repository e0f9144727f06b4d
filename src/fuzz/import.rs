//! Agent files of other tools: reading one gives valid personas and roles, or a reason.

use crate::convert::detect::{FileKind, kind};
use crate::convert::{Format, Missing, Origin, Source, convert};
use crate::load::check as load_check;
use crate::model::formats::{PERSONA, ROLE};
use crate::model::shape::{Field, Object, Severity};
use crate::model::text_rules;
use serde_json::Value;

/// The first line is the path of the file, the rest its text.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (path, text) = super::headed(text);
    let nearby = |name: &str| match name.len() % 3 {
        0 => Err(Missing::Absent),
        1 => Err(Missing::Outside),
        _ => Ok(format!("nearby {name}")),
    };
    let source = Source { path, below: path, text, nearby: &nearby };
    let origin = if text.len().is_multiple_of(2) { Origin::Named } else { Origin::Found };
    if let FileKind::Agent(format) = kind(&source, origin) {
        read(format, &source);
    }
    // With `--from` any reader may get any file. One at a time, because YAML is slow.
    read(Format::ALL[text.len() % Format::ALL.len()], &source);
}

fn read(format: Format, source: &Source) {
    let Ok(converted) = convert(format, source) else { return };
    for draft in &converted.drafts {
        assert!(draft.fields.iter().all(|field| !field.field.is_empty()));
        // The persona in a comment is not checked here: the command checks the whole and refuses it with a reason.
        if draft.fields.iter().any(|field| field.field == "(comment)") {
            continue;
        }
        valid(&draft.persona, PERSONA);
        let id = draft.persona.get("id").and_then(Value::as_str).unwrap_or_default();
        assert_eq!(text_rules::slug(id), Ok(()), "{id:?}");
    }
    for role in &converted.roles {
        valid(&role.role, ROLE);
        assert_eq!(text_rules::slug(&role.key), Ok(()), "{:?}", role.key);
    }
}

fn valid(document: &Object, fields: &'static [Field]) {
    let problems = load_check::check(document, fields);
    let errors: Vec<_> = problems.iter().filter(|problem| problem.severity == Severity::Error).collect();
    assert!(errors.is_empty(), "{errors:?} in {document:?}");
}
