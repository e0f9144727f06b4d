//! Checks a JSON value against the table of its format and lists every problem with its key path.
//! Values are changed in `normalise`, not here.

use crate::model::shape::{
    Field, FieldStatus, KeyPath, Object, Problem, Severity, Shape, TextRule, field, is_free_key,
};
use crate::model::text_rules;
use crate::model::tier::Harness;
use crate::model::words::nearest;
use serde_json::Value;

/// Every problem of this object, in the order of the file.
pub fn check(object: &Object, fields: &'static [Field]) -> Vec<Problem> {
    let mut checker = Checker { problems: Vec::new() };
    checker.object(object, fields, &Path::Root);
    checker.problems
}

/// The path to the current value; a `KeyPath` is only made for a problem.
enum Path<'p> {
    Root,
    Key(&'p Path<'p>, &'p str),
    Index(&'p Path<'p>, usize),
}

impl Path<'_> {
    fn to_key_path(&self) -> KeyPath {
        match self {
            Path::Root => KeyPath::default(),
            Path::Key(parent, key) => parent.to_key_path().key(key),
            Path::Index(parent, index) => parent.to_key_path().index(*index),
        }
    }
}

/// Maximum number of unknown keys of one file for which a similar known key is looked up.
const MOST_GUESSES: usize = 100;

struct Checker {
    problems: Vec<Problem>,
}

impl Checker {
    fn object(&mut self, object: &Object, fields: &'static [Field], at: &Path) {
        for (key, value) in object {
            match field(fields, key) {
                Some(known) => self.known(known, value, &Path::Key(at, key)),
                None if is_free_key(key) => {}
                None => {
                    let mut problem = Problem::new(
                        Severity::Warning,
                        Path::Key(at, key).to_key_path(),
                        format!("unknown field `{key}`"),
                    );
                    // More than this is not a typing error, and the search would dominate the run time.
                    if self.problems.len() < MOST_GUESSES {
                        problem.fix = nearest(key, fields.iter().map(|field| field.key))
                            .map(|near| format!("did you mean `{near}`?"));
                    }
                    self.problems.push(problem);
                }
            }
        }
    }

    fn known(&mut self, field: &Field, value: &Value, at: &Path) {
        match field.status {
            FieldStatus::NotUsed => return,
            FieldStatus::Unsupported => {
                let text = format!("`{}` is not supported by this runner", field.key);
                self.problems.push(Problem::new(Severity::Note, at.to_key_path(), text));
            }
            FieldStatus::Refused if !value.is_null() => {
                let text = "is not enforced by this runner: a run is refused without `--ignore-unsupported`";
                self.problems.push(Problem::new(Severity::Warning, at.to_key_path(), text));
            }
            FieldStatus::Used | FieldStatus::Legacy(_) | FieldStatus::Refused => {}
        }
        // Null says that there is no value.
        if !value.is_null() {
            self.value(field.shape, value, at);
        }
    }

    fn value(&mut self, shape: Shape, value: &Value, at: &Path) {
        match (shape, value) {
            (Shape::Anything, _) | (Shape::Text, Value::String(_)) | (Shape::Flag, Value::Bool(_)) => {}
            (Shape::Checked(rule), Value::String(text)) => self.text(rule, text, at),
            (Shape::Choice(words), Value::String(text)) => self.choice(words, text, at),
            (Shape::Above(floor), Value::Number(number)) => {
                if !number.as_f64().is_some_and(|n| n.is_finite() && n > floor) {
                    self.error(at, format!("must be a number above {floor}"));
                }
            }
            (Shape::AtLeast(floor), Value::Number(number)) => {
                if !number.as_f64().is_some_and(|n| n.is_finite() && n >= floor) {
                    self.error(at, format!("must be a number of at least {floor}"));
                }
            }
            (Shape::Whole(floor), Value::Number(number)) => {
                if number.as_u64().is_none_or(|n| n < floor) {
                    self.error(at, format!("must be a whole number of at least {floor}"));
                }
            }
            (Shape::List(entry), Value::Array(entries)) => {
                for (index, value) in entries.iter().enumerate() {
                    self.value(*entry, value, &Path::Index(at, index));
                }
            }
            (Shape::Map(rule, entry), Value::Object(map)) => {
                for (key, value) in map {
                    if let Err(reason) = text_rules::check(rule, key) {
                        self.error(&Path::Key(at, key), format!("the name {reason}"));
                    } else if !value.is_null() {
                        self.value(*entry, value, &Path::Key(at, key));
                    }
                }
            }
            (Shape::Object(fields), Value::Object(object)) => self.object(object, fields, at),
            (Shape::Either(shapes), value) => match shapes.iter().find(|shape| fits(**shape, value)) {
                Some(shape) => self.value(*shape, value, at),
                None => self.wrong_type(shape, value, at),
            },
            (shape, value) => self.wrong_type(shape, value, at),
        }
    }

    fn text(&mut self, rule: TextRule, text: &str, at: &Path) {
        // Blank counts as unset for text settings; only these have to be said.
        let must_be_said = matches!(
            rule,
            TextRule::Slug
                | TextRule::RoleKey
                | TextRule::SidecarPath
                | TextRule::NotBlank
                | TextRule::Term
                | TextRule::ToolEntry
        );
        if text.trim().is_empty() && !must_be_said {
            return;
        }
        if let Err(reason) = text_rules::check(rule, text) {
            let near =
                (rule == TextRule::Harness).then(|| nearest(text, Harness::names().into_iter())).flatten();
            self.problems.push(Problem {
                severity: Severity::Error,
                at: at.to_key_path(),
                message: reason,
                fix: near.map(|near| format!("did you mean `{near}`?")),
            });
        } else if let Some(name) = text_rules::bare_variable(text).filter(|_| rule == TextRule::Supplied) {
            let message = format!("`${name}` inside a text is not filled in");
            let problem = Problem::new(Severity::Warning, at.to_key_path(), message);
            self.problems.push(problem.fix(format!("write `${{{name}}}`")));
        } else if rule == TextRule::Harness && text_rules::FOREIGN_HARNESSES.contains(&text) {
            self.problems.push(
                Problem::new(
                    Severity::Warning,
                    at.to_key_path(),
                    format!("this runner does not launch `{text}`"),
                )
                .fix(format!("use one of {}, or run it with `--harness`", Harness::names().join(", "))),
            );
        }
    }

    fn choice(&mut self, words: &[&'static str], text: &str, at: &Path) {
        if !words.contains(&text) {
            let near = nearest(text, words.iter().copied());
            self.problems.push(Problem {
                severity: Severity::Error,
                at: at.to_key_path(),
                message: format!("`{text}` is not one of {}", words.join(", ")),
                fix: near.map(|near| format!("did you mean `{near}`?")),
            });
        }
    }

    fn wrong_type(&mut self, shape: Shape, value: &Value, at: &Path) {
        self.error(at, format!("must be {}, not {}", wanted(shape), found(value)));
    }

    fn error(&mut self, at: &Path, message: String) {
        self.problems.push(Problem::new(Severity::Error, at.to_key_path(), message));
    }
}

fn fits(shape: Shape, value: &Value) -> bool {
    match shape {
        Shape::Anything => true,
        Shape::Text | Shape::Checked(_) | Shape::Choice(_) => value.is_string(),
        Shape::Flag => value.is_boolean(),
        Shape::Above(_) | Shape::AtLeast(_) | Shape::Whole(_) => value.is_number(),
        Shape::List(_) => value.is_array(),
        Shape::Map(..) | Shape::Object(_) => value.is_object(),
        Shape::Either(shapes) => shapes.iter().any(|shape| fits(*shape, value)),
    }
}

fn wanted(shape: Shape) -> String {
    match shape {
        Shape::Anything => "anything".into(),
        Shape::Text | Shape::Checked(_) => "text".into(),
        Shape::Choice(words) => format!("one of {}", words.join(", ")),
        Shape::Flag => "true or false".into(),
        Shape::Above(_) | Shape::AtLeast(_) => "a number".into(),
        Shape::Whole(_) => "a whole number".into(),
        Shape::List(_) => "a list".into(),
        Shape::Map(..) | Shape::Object(_) => "an object".into(),
        Shape::Either(shapes) => shapes.iter().map(|shape| wanted(*shape)).collect::<Vec<_>>().join(" or "),
    }
}

fn found(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::formats::PERSONA;
    use serde_json::json;

    fn problems(value: Value) -> Vec<String> {
        let Value::Object(object) = value else { panic!("an object") };
        let line = |p: Problem| match p.fix {
            Some(fix) => format!("{}: {} ({fix})", p.at, p.message),
            None => format!("{}: {}", p.at, p.message),
        };
        check(&object, PERSONA).into_iter().map(line).collect()
    }

    #[test]
    fn a_typo_gets_a_suggestion_at_every_depth() {
        assert_eq!(
            problems(
                json!({"id": "a", "desciption": "x", "tiers": {"best": {"harnessSettings": {"timeoutSecond": 3}}}})
            ),
            [
                "desciption: unknown field `desciption` (did you mean `description`?)",
                "tiers.best.harnessSettings.timeoutSecond: unknown field `timeoutSecond` (did you mean `timeoutSeconds`?)",
            ]
        );
    }

    #[test]
    fn every_problem_of_a_file_is_listed_not_only_the_first() {
        let harnesses = Harness::names().join(", ");
        assert_eq!(
            problems(
                json!({"id": "a b", "tags": "x", "permissions": {"mode": "plann"}, "skills": [{"id": 3}],
                "harness": "cluade", "limits": {"turns": 0}, "inputs": {"low": "x"}})
            ),
            [
                "id: must be a slug of letters, digits, `.`, `_` and `-`; it has ' '",
                "tags: must be a list, not text",
                "permissions.mode: `plann` is not one of default, acceptEdits, bypassPermissions, plan (did you mean `plan`?)",
                "skills[0].id: must be text, not a number",
                &format!("harness: `cluade` is not a harness: {harnesses} (did you mean `claude`?)"),
                "limits.turns: must be a whole number of at least 1",
                "inputs.low: the name must be an upper-case name such as `TARGET_DIR`",
            ]
        );
    }

    #[test]
    fn an_unknown_sidecar_mode_is_rejected() {
        assert_eq!(
            problems(
                json!({"id": "a", "claudeMdMode": "append", "tiers": {"minimum": {"agentsMdMode": "over"}}})
            ),
            [
                "claudeMdMode: `append` is not one of overwrite, extend",
                "tiers.minimum.agentsMdMode: `over` is not one of overwrite, extend (did you mean `overwrite`?)",
            ]
        );
    }

    #[test]
    fn keys_of_other_tools_and_free_keys_pass() {
        let file = json!({"id": "a", "$schema": "x", "$comment": "y", "x-team": 1, "cloud": true, "sandbox": {"a": 1},
            "integrations": {}, "memory": null});
        assert_eq!(problems(file), Vec::<String>::new());
    }
}
