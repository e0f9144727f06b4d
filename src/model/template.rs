//! A text with holes that only a real run can fill: the session directory, the mount, values of variables.
//! In JSON it reads `{session}/system-prompt.md` or `Bearer ${TOKEN}`; the holes stay typed, so other text that
//! happens to look like one is never filled.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hole {
    Text(String),
    /// The directory of the session, private to this run.
    Session,
    /// The id of the session.
    SessionId,
    /// The id of a new conversation, for a harness that takes one.
    ConversationId,
    /// The root of the project as the harness sees it.
    Mount,
    /// The value of this variable in the runner's environment.
    Variable(String),
    /// The same as a part of a JSON text: for opencode, which pastes values into its configuration before it reads it.
    JsonVariable(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Template(pub Vec<Hole>);

impl Template {
    pub fn text(text: impl Into<String>) -> Template {
        Template(vec![Hole::Text(text.into())])
    }

    /// A file in the session directory.
    pub fn session(path: &str) -> Template {
        Template(vec![Hole::Session, Hole::Text(format!("/{path}"))])
    }

    #[must_use]
    pub fn then(mut self, hole: Hole) -> Template {
        self.0.push(hole);
        self
    }

    #[must_use]
    pub fn then_text(self, text: impl Into<String>) -> Template {
        self.then(Hole::Text(text.into()))
    }

    /// A document (JSON, TOML) that names the session directory: `build` is given a stand-in for it and writes the
    /// text. The stand-in is a character that the document does not contain, so nothing else can be taken for it.
    pub fn document(build: impl Fn(&str) -> String) -> Template {
        let plain = build("");
        let Some(stand_in) = unused_character(&plain) else {
            return Template::text(plain);
        };
        let text = build(&stand_in.to_string());
        let mut holes = Vec::new();
        for (index, part) in text.split(stand_in).enumerate() {
            if index > 0 {
                holes.push(Hole::Session);
            }
            if !part.is_empty() {
                holes.push(Hole::Text(part.to_owned()));
            }
        }
        Template(holes)
    }
}

/// A character that this text does not contain, to stand for something else in it.
pub fn unused_character(text: &str) -> Option<char> {
    ('\u{e000}'..='\u{f8ff}').find(|c| !text.contains(*c))
}

/// A text as it stands between the quotes of a JSON text, with nothing in it that opencode would replace: it looks for
/// `{env:...}` and `{file:...}` before it reads the JSON.
pub fn json_literal(text: &str) -> String {
    let quoted = serde_json::to_string(text).expect("text is JSON");
    quoted[1..quoted.len() - 1].replace('{', "\\u007b")
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for hole in &self.0 {
            match hole {
                Hole::Text(text) => f.write_str(text)?,
                Hole::Session => f.write_str("{session}")?,
                Hole::SessionId => f.write_str("{session-id}")?,
                Hole::ConversationId => f.write_str("{conversation-id}")?,
                Hole::Mount => f.write_str("{mount}")?,
                Hole::Variable(name) | Hole::JsonVariable(name) => write!(f, "${{{name}}}")?,
            }
        }
        Ok(())
    }
}

impl Serialize for Template {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Template {
    fn schema_name() -> Cow<'static, str> {
        "Template".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "Text in which `{session}`, `{session-id}`, `{conversation-id}`, `{mount}` and `${VARIABLE}` are filled in by a real run."
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_holes_where_the_writer_put_them_and_nowhere_else() {
        let hostile = "{session} \u{e000} ${X}";
        let template = Template::document(|session| format!("a={session}/p b={hostile}"));
        let rest = format!("/p b={hostile}");
        assert_eq!(template.0, [Hole::Text("a=".to_owned()), Hole::Session, Hole::Text(rest)]);
    }
}
