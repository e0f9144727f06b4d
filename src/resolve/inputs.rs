//! Gives every declared input its value: flag, then environment variable, then default, then empty if optional.

use crate::model::decided::{InputOrigin, InputValue};
use crate::model::persona::Input;
use crate::model::shape::Object;
use crate::model::words::nearest;
use std::collections::BTreeMap;

/// Why a run cannot start: inputs without a value, and flags for inputs that are not declared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InputErrors {
    pub missing: Vec<MissingInput>,
    pub unknown: Vec<(String, Option<String>)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingInput {
    pub name: String,
    pub variable: String,
    pub description: Option<String>,
}

pub fn resolve(
    declared: &Object,
    given: &BTreeMap<String, String>,
    env: &BTreeMap<String, String>,
) -> Result<Vec<InputValue>, InputErrors> {
    let mut errors = InputErrors::default();
    for name in given.keys().filter(|name| !declared.contains_key(*name)) {
        let near = nearest(name, declared.keys().map(String::as_str)).map(str::to_owned);
        errors.unknown.push((name.clone(), near));
    }
    let mut values = Vec::new();
    for (name, declaration) in declared {
        let input = serde_json::from_value::<Input>(declaration.clone()).unwrap_or_default();
        let variable = input.env.clone().unwrap_or_else(|| name.clone());
        let from_env = env.get(&variable).filter(|value| !value.is_empty());
        let (value, from) = match (given.get(name), from_env, input.default) {
            (Some(value), _, _) => (value.clone(), InputOrigin::Flag),
            (None, Some(value), _) => (value.clone(), InputOrigin::Variable(variable)),
            (None, None, Some(default)) => (default, InputOrigin::Default),
            (None, None, None) if input.optional => (String::new(), InputOrigin::Optional),
            (None, None, None) => {
                errors.missing.push(MissingInput {
                    name: name.clone(),
                    variable,
                    description: input.description,
                });
                continue;
            }
        };
        values.push(InputValue { name: name.clone(), value, from });
    }
    if errors == InputErrors::default() { Ok(values) } else { Err(errors) }
}

/// The values by name, to fill them into texts.
pub fn by_name(values: &[InputValue]) -> BTreeMap<String, String> {
    values.iter().map(|input| (input.name.clone(), input.value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_flag_beats_the_environment_beats_the_default() {
        let Value::Object(declared) = json!({
            "A": {"default": "d"}, "B": {"env": "B_VAR", "default": "d"}, "C": {"default": "d"}, "D": {"optional": true}
        }) else {
            unreachable!()
        };
        let values =
            resolve(&declared, &map(&[("A", "flag")]), &map(&[("A", "env"), ("B_VAR", "env"), ("C", "")]));
        let found: Vec<_> =
            values.unwrap().into_iter().map(|v| (v.name, v.value, v.from.to_string())).collect();
        let expected =
            [("A", "flag", "flag"), ("B", "env", "env:B_VAR"), ("C", "d", "default"), ("D", "", "optional")];
        assert_eq!(found, expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned())));
    }

    #[test]
    fn every_missing_and_every_unknown_input_is_named_at_once() {
        let Value::Object(declared) = json!({"TARGET": {"description": "where"}, "TASK": {}}) else {
            unreachable!()
        };
        let errors = resolve(&declared, &map(&[("TARGE", "x")]), &map(&[])).unwrap_err();
        assert_eq!(errors.missing.len(), 2);
        assert_eq!(errors.unknown, [("TARGE".to_owned(), Some("TARGET".to_owned()))]);
    }
}
