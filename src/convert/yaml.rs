//! YAML as a JSON value, with limits against documents that are made to cost. YAML 1.2: `no` and `on` are words.

use crate::model::shape::Object;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use serde_saphyr::options::DuplicateKeyPolicy;
use std::fmt;

/// A document twice over: a version `1.10` is a number to some and a text to others.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Yaml {
    /// With the types of YAML.
    pub value: Value,
    /// The same, with every number and every yes or no as the text that the file has for it.
    pub written: Value,
    /// A key stands there more than once, at the top or further in. The last one holds.
    pub repeats: bool,
}

/// The keys of a document, in both forms.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Keys {
    pub values: Object,
    pub written: Object,
    /// Keys at the top that stand there more than once; nothing in it where they are further in.
    pub repeated: Option<Vec<String>>,
}

impl Yaml {
    /// `None` where the document is no mapping.
    pub fn keys(self) -> Option<Keys> {
        match (self.value, self.written) {
            (Value::Object(values), Value::Object(written)) => {
                Some(Keys { values, written, repeated: self.repeats.then(Vec::new) })
            }
            _ => None,
        }
    }
}

/// Parses one document. The reason of a failure is one line.
pub fn parse(text: &str) -> Result<Yaml, String> {
    // The parser's own budget bounds depth, nodes and what aliases may grow to.
    let strict = serde_saphyr::options! { duplicate_keys: DuplicateKeyPolicy::Error, strict_booleans: true };
    // The last of a repeated key holds, as with most readers of YAML.
    let options = || {
        serde_saphyr::options! { duplicate_keys: DuplicateKeyPolicy::LastWins, strict_booleans: true }
    };
    let strictly = serde_saphyr::from_str_with_options::<Value>(text, strict);
    let repeats = strictly.is_err();
    let value = strictly.or_else(|_| serde_saphyr::from_str_with_options::<Value>(text, options()));
    let value = value.map_err(|error| {
        let text = error.to_string();
        let line = text.lines().next().unwrap_or("not valid YAML").trim_start_matches("error: ");
        // What follows is advice to programmers.
        line.split("; use from_str").next().unwrap_or(line).to_owned()
    })?;
    // The parser hands out a scalar as it is written where text is asked for; only now is it known where to ask.
    let written = serde_saphyr::with_deserializer_from_str_with_options(text, options(), |document| {
        AsWritten(&value).deserialize(document)
    });
    Ok(Yaml { written: written.unwrap_or_else(|_| value.clone()), value, repeats })
}

/// Reads a node again whose value is known.
struct AsWritten<'v>(&'v Value);

impl<'de> DeserializeSeed<'de> for AsWritten<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, node: D) -> Result<Value, D::Error> {
        match self.0 {
            Value::Number(_) | Value::Bool(_) => node.deserialize_string(self),
            Value::Array(_) => node.deserialize_seq(self),
            Value::Object(_) => node.deserialize_map(self),
            Value::Null | Value::String(_) => {
                node.deserialize_ignored_any(IgnoredAny).map(|_| self.0.clone())
            }
        }
    }
}

impl<'de> Visitor<'de> for AsWritten<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("the node that was read before")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut nodes: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        for known in self.0.as_array().into_iter().flatten() {
            entries.extend(nodes.next_element_seed(AsWritten(known))?);
        }
        // Whatever is left has to be read for the parser's sake.
        while nodes.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Array(entries))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut nodes: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = nodes.next_key::<String>()? {
            match self.0.get(&key) {
                Some(known) => {
                    object.insert(key, nodes.next_value_seed(AsWritten(known))?);
                }
                // It is in an earlier one of a repeated key.
                None => {
                    nodes.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    #[test]
    fn numbers_and_flags_are_there_as_values_and_as_written() {
        let text = "a: no\nb: 007\nc: 1.10\nd: [on, 1_0, 0x1F, {e: true}]\nf: ~\ng: 'x'\nh: 3\ny: y\n";
        let Yaml { value, written, .. } = parse(text).expect("YAML");
        assert_eq!((&value["a"], &value["c"], &value["h"]), (&json!("no"), &json!(1.1), &json!(3)));
        assert_eq!(
            written,
            json!({"a": "no", "b": "007", "c": "1.10", "d": ["on", "1_0", "0x1F", {"e": "true"}], "f": null, "g": "x", "h": "3", "y": "y"})
        );
    }

    #[test]
    fn anchors_merges_and_repeated_keys_are_the_same_in_both() {
        let text = "base: {q: 9}\nbase: &b {n: 01, m: x}\nother:\n  <<: *b\n  m: 2.0\nlist: [*b, 1e3]\n";
        let Yaml { value, written, repeats } = parse(text).expect("YAML");
        assert_eq!(value["other"]["m"], json!(2.0));
        assert_eq!((&written["other"]["m"], &written["other"]["n"]), (&json!("2.0"), &json!("01")));
        assert_eq!((&written["base"]["n"], &written["list"][1]), (&json!("01"), &json!("1e3")));
        assert!(repeats);
        assert!(!parse("base: &b {n: 1}\nother:\n  <<: *b\n  n: 2\n").expect("YAML").repeats);
    }
}
