//! Finds the line and column of a key path in a JSON text, after the fact: files without problems never pay for it.

use crate::model::shape::{KeyPath, Step};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// A place in a text, counted from 1; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    pub line: usize,
    pub column: usize,
}

/// Where this path stands: at its key if it has one, else at its value; as deep as the text goes.
pub fn locate(text: &str, path: &KeyPath) -> Place {
    let mut offset = text.len() - text.trim_start().len();
    let mut here = text.trim();
    for step in &path.0 {
        let Some((inner, is_keyed)) = child(here, step) else { break };
        let value_offset = inner.as_ptr() as usize - text.as_ptr() as usize;
        offset = if is_keyed { key_before(text, value_offset) } else { value_offset };
        here = inner;
    }
    place_of(text, offset)
}

/// The place of a byte offset.
pub fn place_of(text: &str, offset: usize) -> Place {
    let before = &text[..offset.min(text.len())];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    Place { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 }
}

fn child<'t>(text: &'t str, step: &Step) -> Option<(&'t str, bool)> {
    match step {
        Step::Key(key) => {
            let mut deserializer = serde_json::Deserializer::from_str(text);
            Some((ValueOf(key).deserialize(&mut deserializer).ok()??.get(), true))
        }
        Step::Index(index) => {
            let list: Vec<&'t RawValue> = serde_json::from_str(text).ok()?;
            Some((list.get(*index)?.get(), false))
        }
    }
}

/// The value under one key of an object; the others are passed over and cost nothing.
struct ValueOf<'k>(&'k str);

impl<'de> DeserializeSeed<'de> for ValueOf<'_> {
    type Value = Option<&'de RawValue>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ValueOf<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(key) = map.next_key::<Key>()? {
            if key.0 == self.0 {
                found = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// Borrowed where it has no escapes.
#[derive(Deserialize)]
struct Key<'t>(#[serde(borrow)] Cow<'t, str>);

/// From a value back over the colon to the quote that opens its key.
fn key_before(text: &str, value_offset: usize) -> usize {
    let before_colon = text[..value_offset].trim_end().trim_end_matches(':').trim_end();
    let bytes = before_colon.as_bytes();
    let mut open = bytes.len().saturating_sub(1);
    while open > 0 {
        open -= 1;
        let backslashes = bytes[..open].iter().rev().take_while(|byte| **byte == b'\\').count();
        if bytes[open] == b'"' && backslashes % 2 == 0 {
            return open;
        }
    }
    value_offset
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_found_at_its_key() {
        let text = "{\n  \"a\": 1,\n  \"t\": { \"é\" : {\n      \"q\\\"k\": [ 1,\n  {\"x\":2}] } }\n}";
        let at = |path: &[Step]| {
            let place = locate(text, &KeyPath(path.to_vec()));
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
