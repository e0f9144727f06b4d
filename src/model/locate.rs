//! Finds the line and column of a key path in a JSON text. Only called when there is a problem to report: valid files
//! never pay for it.

use super::shape::{KeyPath, Step};
use jsonc_parser::ast::{ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde::Serialize;

/// A place in a text, counted from 1; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    pub line: usize,
    pub column: usize,
}

impl Place {
    /// The place of a byte offset.
    pub fn of_offset(text: &str, offset: usize) -> Place {
        let before = &text[..offset.min(text.len())];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Place { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 }
    }
}

/// A parsed JSON text that answers where its keys are.
pub struct Locator<'t> {
    text: &'t str,
    root: Option<Value<'t>>,
}

impl<'t> Locator<'t> {
    pub fn new(text: &'t str) -> Locator<'t> {
        let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default());
        Locator { text, root: parsed.ok().and_then(|parsed| parsed.value) }
    }

    /// Where this path is: at its key if it has one, else at its value. A missing path is at its nearest parent.
    pub fn place(&self, path: &KeyPath) -> Place {
        let mut offset = self.root.as_ref().map_or(0, Ranged::start);
        let mut here = self.root.as_ref();
        for step in &path.0 {
            let Some((start, value)) = here.and_then(|value| child(value, step)) else { break };
            (offset, here) = (start, Some(value));
        }
        Place::of_offset(self.text, offset)
    }
}

/// The start of a key or list entry, and its value.
fn child<'v, 't>(value: &'v Value<'t>, step: &Step) -> Option<(usize, &'v Value<'t>)> {
    match (value, step) {
        (Value::Object(object), Step::Key(key)) => {
            let has_key = |property: &&ObjectProp| property.name.as_str() == key;
            let property = object.properties.iter().rfind(has_key)?;
            Some((property.start(), &property.value))
        }
        (Value::Array(list), Step::Index(index)) => {
            let entry = list.elements.get(*index)?;
            Some((entry.start(), entry))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_found_at_its_key() {
        let text = "{\n  \"a\": 1,\n  \"t\": { \"é\" : {\n      \"q\\\"k\": [ 1,\n  {\"x\":2}] } }\n}";
        let locator = Locator::new(text);
        let at = |path: &[Step]| {
            let place = locator.place(&KeyPath(path.to_vec()));
            (place.line, place.column)
        };
        let key = |key: &str| Step::Key(key.into());
        assert_eq!(at(&[key("a")]), (2, 3));
        assert_eq!(at(&[key("t"), key("é")]), (3, 10));
        assert_eq!(at(&[key("t"), key("é"), key("q\"k")]), (4, 7));
        assert_eq!(at(&[key("t"), key("é"), key("q\"k"), Step::Index(1)]), (5, 3));
        assert_eq!(at(&[key("t"), key("é"), key("q\"k"), Step::Index(1), key("x")]), (5, 4));
        assert_eq!(at(&[key("t"), key("missing")]), (3, 3));
        assert_eq!(at(&[]), (1, 1));
    }
}
