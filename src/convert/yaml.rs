//! YAML as a JSON value, with limits against malicious documents. YAML 1.2: `no` and `on` are strings.

use crate::model::shape::Object;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use serde_saphyr::options::DuplicateKeyPolicy;
use std::fmt;

/// A document in two forms: a version `1.10` may be meant as a number or as text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Yaml {
    /// With the types of YAML.
    pub value: Value,
    /// The same, with every number and flag as the text in the file.
    pub written: Value,
    /// A key occurs more than once, at any level. The last value is used.
    pub repeats: bool,
}

/// The keys of a document, in both forms.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Keys {
    pub values: Object,
    pub written: Object,
    /// Top-level keys that occur more than once; empty where only nested keys do.
    pub repeated: Option<Vec<String>>,
}

impl Yaml {
    /// `None` where the document is not a mapping.
    pub fn keys(self) -> Option<Keys> {
        match (self.value, self.written) {
            (Value::Object(values), Value::Object(written)) => {
                Some(Keys { values, written, repeated: self.repeats.then(Vec::new) })
            }
            _ => None,
        }
    }
}

/// Parses one document. An error is one line.
pub fn parse(text: &str) -> Result<Yaml, String> {
    // The parser limits depth, nodes and the expansion of aliases.
    let strict = serde_saphyr::options! { duplicate_keys: DuplicateKeyPolicy::Error, strict_booleans: true };
    // The last of a repeated key wins, as in most YAML parsers.
    let options = || {
        serde_saphyr::options! { duplicate_keys: DuplicateKeyPolicy::LastWins, strict_booleans: true }
    };
    let strictly = serde_saphyr::from_str_with_options::<Value>(text, strict);
    let repeats = strictly.is_err();
    let value = strictly.or_else(|_| serde_saphyr::from_str_with_options::<Value>(text, options()));
    let value = value.map_err(|error| {
        let text = error.to_string();
        let line = text.lines().next().unwrap_or("not valid YAML").trim_start_matches("error: ");
        // The rest is advice for programmers.
        line.split("; use from_str").next().unwrap_or(line).to_owned()
    })?;
    // The parser returns a scalar as written where text is requested; the first pass shows where that is needed.
    let written = serde_saphyr::with_deserializer_from_str_with_options(text, options(), |document| {
        AsWritten(&value).deserialize(document)
    });
    Ok(Yaml { written: written.unwrap_or_else(|_| value.clone()), value, repeats })
}

/// Reads a node a second time, as text.
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
        formatter.write_str("the same node as before")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut nodes: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        for known in self.0.as_array().into_iter().flatten() {
            entries.extend(nodes.next_element_seed(AsWritten(known))?);
        }
        // The parser requires that all elements are read.
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
                // It belongs to an earlier value of a repeated key.
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
