//! What a format has no word for travels in a comment of the exported file: the other tool passes over it, and an
//! import takes it back.

use super::values::printable_json;
use crate::model::shape::Object;
use serde_json::Value;

/// How the line starts, in YAML and in TOML.
const MARK: &str = "# agentworkforce: ";

/// The keys that may travel. Who it is and its job are written out in the prompt, and would stand there twice.
pub const KEYS: [&str; 10] = [
    "intent",
    "tags",
    "mount",
    "env",
    "limits",
    "harnessSettings",
    "permissions",
    "mcpServers",
    "bareMode",
    "hermetic",
];

/// The line for these fields; nothing where there are none.
pub fn line(fields: &Object) -> String {
    if fields.is_empty() {
        return String::new();
    }
    format!("{MARK}{}\n", printable_json(&Value::Object(fields.clone())))
}

/// The comments that a file begins with: further down, a line that looks like one may be in the middle of a text.
pub fn in_front(text: &str) -> &str {
    let is_comment = |line: &&str| line.trim().is_empty() || line.starts_with('#');
    let length: usize = text.split_inclusive('\n').take_while(is_comment).map(str::len).sum();
    &text[..length]
}

/// The fields in the lines of a file's own keys.
pub fn read(text: &str) -> Option<Object> {
    let json = text.lines().find_map(|line| line.trim_end().strip_prefix(MARK))?;
    let Ok(Value::Object(object)) = serde_json::from_str(json) else { return None };
    Some(object.into_iter().filter(|(key, _)| KEYS.contains(&key.as_str())).collect())
}

/// Puts the fields in where the file itself says nothing: whoever edited it since is right.
pub fn fill(persona: &mut Object, carried: Object) {
    for (key, value) in carried {
        match (persona.get_mut(&key), value) {
            // The id stands in for an intent that is not said.
            (_, value) if key == "intent" => {
                persona.insert(key, value);
            }
            (None, value) => {
                persona.insert(key, value);
            }
            (Some(Value::Object(said)), Value::Object(more)) => {
                for (inner, value) in more {
                    said.entry(inner).or_insert(value);
                }
            }
            (Some(_), _) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_travels_comes_back_and_never_over_what_is_said() {
        let Value::Object(fields) =
            json!({"tags": ["a"], "limits": {"turns": 3, "usd": 1}, "systemPrompt": "no"})
        else {
            panic!("an object")
        };
        let back = read(&format!("name: x\n{}", line(&fields))).expect("a line");
        assert!(!back.contains_key("systemPrompt"));
        let Value::Object(mut persona) = json!({"limits": {"turns": 9}}) else { panic!("an object") };
        fill(&mut persona, back);
        assert_eq!(Value::Object(persona), json!({"limits": {"turns": 9, "usd": 1}, "tags": ["a"]}));
        assert_eq!(in_front("# a\n\n# b\nc = 1\n# d\n"), "# a\n\n# b\n");
        assert_eq!(read("# agentworkforce: [1]\n# agentworkforce:"), None);
    }
}
