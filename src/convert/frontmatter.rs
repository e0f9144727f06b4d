//! Reads the frontmatter of a markdown file. Where it is not valid YAML, as in many public files, it is read key by key,
//! with a warning. Finding it is the job of `split_frontmatter`.

use super::split_frontmatter::{KNOWN_KEYS, Split, key_of, split};
use super::text::normalised;
use super::yaml::{self, Keys};
use super::{embedded_persona, toml_keys, values};
use crate::model::shape::Object;
use crate::model::warning::{Warning, WarningCode};
use serde_json::Value;
use std::collections::BTreeSet;

/// A markdown file as its keys and the text after them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parts {
    pub keys: Object,
    /// The same, with every number and flag as the text in the file.
    pub written: Object,
    pub body: String,
    /// Whether there is any frontmatter.
    pub has_block: bool,
    /// Keys that occur more than once.
    pub repeated: Vec<String>,
    /// The comment with a persona that one of our own exports wrote.
    pub embedded: Option<embedded_persona::Comment>,
    pub warnings: Vec<Warning>,
}

/// Words that start the lines of a dialogue in examples and are not keys.
const DIALOGUE: [&str; 6] = ["user", "assistant", "context", "human", "commentary", "example"];

pub fn read(text: &str) -> Parts {
    let text = normalised(text);
    let Some(Split { block, body, closed, toml }) = split(&text) else {
        return Parts { body: trimmed(&text), ..Parts::default() };
    };
    let mut parts = Parts {
        body: trimmed(&body),
        has_block: true,
        embedded: embedded_persona::read(&text, &block),
        ..Parts::default()
    };
    let invalid = |text: String| Warning::new(WarningCode::InvalidFile, text);
    if !closed {
        let text = "the frontmatter is not closed with `---`; it was read up to the first blank line";
        parts.warnings.push(invalid(text.into()));
    }
    let keys = if toml { of_toml(&block) } else { of_yaml(&block) };
    let mut keys = keys.unwrap_or_else(|why| {
        let format = if toml { "TOML" } else { "YAML" };
        parts
            .warnings
            .push(invalid(format!("the frontmatter is not valid {format} ({why}); it was read key by key")));
        key_by_key(&block.replace('\u{a0}', " "))
    });
    restore_colours(&block, &mut keys);
    (parts.repeated, parts.warnings) = {
        let mut warnings = parts.warnings;
        let repeated = keys.repeated_in(&block, &mut warnings);
        (repeated, warnings)
    };
    (parts.keys, parts.written) = (keys.values, keys.written);
    parts
}

fn of_yaml(block: &str) -> Result<Keys, String> {
    let parsed = yaml::parse(block)?;
    if parsed.value.is_null() {
        return Ok(Keys::default());
    }
    if let (Value::Array(values), Value::Array(written)) = (&parsed.value, &parsed.written) {
        // `- name: x`, `- description: y`: a list instead of keys.
        let merged = |entries: &[Value]| -> Object {
            entries
                .iter()
                .filter_map(Value::as_object)
                .flatten()
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect()
        };
        let keys = Keys { values: merged(values), written: merged(written), ..Keys::default() };
        return if keys.values.is_empty() { Err("no keys".into()) } else { Ok(keys) };
    }
    parsed.keys().ok_or_else(|| "no keys".into())
}

fn of_toml(block: &str) -> Result<Keys, String> {
    let values = toml_keys::parse(block)?;
    Ok(Keys { written: values.clone(), values, ..Keys::default() })
}

/// `color: #ff0000` is meant as a colour, but in YAML it is a comment.
fn restore_colours(block: &str, keys: &mut Keys) {
    for line in block.lines() {
        let Some((key, rest)) = line.split_once(':') else { continue };
        let is_colour = rest.trim().strip_prefix('#').is_some_and(|digits| {
            matches!(digits.len(), 3 | 4 | 6 | 8) && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        });
        if is_colour && keys.values.get(key).is_some_and(Value::is_null) {
            let value = Value::from(rest.trim());
            keys.values.insert(key.to_owned(), value.clone());
            keys.written.insert(key.to_owned(), value);
        }
    }
}

/// Without blank lines at the start and without the last line end.
fn trimmed(text: &str) -> String {
    let start = text.len() - text.trim_start().len();
    let start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let text = &text[start..];
    text.strip_suffix('\n').unwrap_or(text).to_owned()
}

/// The key that an unindented line starts: bare, in quotes, a number, or after `?`.
fn any_key_of(line: &str) -> Option<&str> {
    if let Some(key) = line.strip_prefix("? ") {
        return Some(values::unquoted(key.trim())).filter(|key| !key.is_empty());
    }
    let quote = line.chars().next().filter(|c| matches!(c, '"' | '\''));
    if let Some((key, rest)) = quote.and_then(|quote| line[1..].split_once(quote)) {
        let rest = rest.trim_start().strip_prefix(':')?;
        return (rest.is_empty() || rest.starts_with([' ', '\t'])).then_some(key);
    }
    if let Some((number, rest)) = line.split_once(':')
        && !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
    {
        return (rest.is_empty() || rest.starts_with([' ', '\t'])).then_some(number);
    }
    key_of(line)
}

impl Keys {
    /// The keys that occur more than once at the top level. For nested ones there is only a warning.
    pub fn repeated_in(&self, block: &str, warnings: &mut Vec<Warning>) -> Vec<String> {
        let Some(known) = &self.repeated else { return Vec::new() };
        let mut seen = BTreeSet::new();
        let again = block.lines().filter_map(any_key_of).filter(|key| !seen.insert(*key)).map(str::to_owned);
        let repeated: BTreeSet<String> =
            if known.is_empty() { again.collect() } else { known.iter().cloned().collect() };
        if repeated.is_empty() {
            let text = "a key occurs more than once; the last value was used";
            warnings.push(Warning::new(WarningCode::InvalidFile, text));
        }
        repeated.into_iter().collect()
    }
}

/// Splits the block at its keys and reads each part by itself, so that one invalid value does not affect the others.
pub fn key_by_key(block: &str) -> Keys {
    let mut pieces: Vec<(String, String)> = Vec::new();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut repeated = Vec::new();
    // Unclosed examples in the current part: lines in them do not start a key.
    let mut open = 0_usize;
    for line in block.lines() {
        let starts =
            any_key_of(line).filter(|key| starts_piece(key, open > 0) && !(open > 0 && seen.contains(key)));
        match (starts, pieces.last_mut()) {
            (Some(key), _) => {
                if !seen.insert(key) {
                    repeated.push(key.to_owned());
                }
                open = 0;
                pieces.push((key.to_owned(), line.to_owned()));
            }
            (None, Some((_, piece))) => {
                piece.push('\n');
                piece.push_str(line);
            }
            // Text before the first key, such as a comment.
            (None, None) => continue,
        }
        open = (open + line.matches("<example").count()).saturating_sub(line.matches("</example").count());
    }
    let mut keys = Keys { repeated: (!repeated.is_empty()).then_some(repeated), ..Keys::default() };
    for (key, piece) in pieces {
        let (value, written) = value_of(&key, &piece);
        keys.values.insert(key.clone(), value);
        keys.written.insert(key, written);
    }
    keys
}

fn starts_piece(key: &str, in_example: bool) -> bool {
    !DIALOGUE.contains(&key.to_ascii_lowercase().as_str()) && (!in_example || KNOWN_KEYS.contains(&key))
}

/// The value of one part, and the same as written.
fn value_of(key: &str, piece: &str) -> (Value, Value) {
    let spaced: String = piece.lines().map(|line| expand_tabs(line) + "\n").collect();
    if let Some(mut keys) = yaml::parse(&spaced).ok().and_then(yaml::Yaml::keys)
        && keys.values.len() == 1
        && let (Some(value), Some(written)) = (keys.values.shift_remove(key), keys.written.shift_remove(key))
    {
        return (value, written);
    }
    let raw = piece.split_once(':').map_or("", |(_, rest)| rest).trim();
    let raw =
        raw.strip_prefix(['|', '>']).map_or(raw, |rest| rest.trim_start_matches(['-', '+']).trim_start());
    let lines: Vec<&str> = raw.lines().map(str::trim).collect();
    let items: Option<Vec<&str>> =
        lines.iter().filter(|line| !line.is_empty()).map(|line| line.strip_prefix("- ")).collect();
    let value: Value = match items {
        Some(items) if !items.is_empty() => {
            items.into_iter().map(|item| Value::from(values::unquoted(item.trim()))).collect()
        }
        _ => Value::String(values::unquoted(&lines.join("\n")).to_owned()),
    };
    (value.clone(), value)
}

/// Replaces tabs in the indentation by spaces, because YAML refuses them.
fn expand_tabs(line: &str) -> String {
    let rest = line.trim_start_matches([' ', '\t']);
    line[..line.len() - rest.len()].replace('\t', "  ") + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    fn keys(text: &str) -> Value {
        Value::Object(read(text).keys)
    }

    #[test]
    fn yaml_is_read_as_yaml() {
        let parts = read(
            "\u{feff}---\r\nname: a\r\ntools:\r\n  - Read\r\n  - Grep\r\n---\r\n\r\n# Hi\r\n\r\nthere\r\n",
        );
        assert_eq!(Value::Object(parts.keys), json!({"name": "a", "tools": ["Read", "Grep"]}));
        assert_eq!((parts.body.as_str(), parts.warnings.len()), ("# Hi\n\nthere", 0));
    }

    #[test]
    fn invalid_yaml_is_read_key_by_key_with_a_warning() {
        let text = "---\nname: ui\ndescription: Use it when: always. Examples:\\n<example>\nContext: x\nuser: \"Do: it\"\nassistant: \"ok\"\n</example>\ncolor: red\ntools: Read, Write\nmaxTurns: 3\n---\nBody\n";
        let parts = read(text);
        assert_eq!(parts.keys["color"], json!("red"));
        assert_eq!(parts.keys["maxTurns"], json!(3));
        assert_eq!(
            parts.keys.keys().collect::<Vec<_>>(),
            ["name", "description", "color", "tools", "maxTurns"]
        );
        assert!(parts.keys["description"].as_str().unwrap().ends_with("</example>"));
        assert!(parts.warnings[0].message.contains("key by key"), "{:?}", parts.warnings);
    }

    #[test]
    fn tabs_lists_and_quotes_survive_an_invalid_value() {
        let text = "---\ndescription: a: b: c\ntools:\n\t- Read\n\t- 'Grep'\nmodel: \"opus\"\nnested:\n  a: 1\n---\nx";
        assert_eq!(
            keys(text),
            json!({"description": "a: b: c", "tools": ["Read", "Grep"], "model": "opus", "nested": {"a": 1}})
        );
    }

    #[test]
    fn plain_text_has_no_frontmatter() {
        for text in ["# Title\n\ntext", "", "---\n\n# Rule\n\ntext", "plain: text is no block"] {
            assert!(!read(text).has_block, "{text:?}");
        }
        assert_eq!(read("name: a\n---\nbody").keys["name"], json!("a"));
        assert!(!read("# Title\n\n---\n\nNote: a rule is no block\n\n---\n").has_block);
        assert!(read("---\n---\n\nContent").has_block);
        assert_eq!(read("---\nname: a\n\nbody").body, "body");
    }

    #[test]
    fn text_around_the_block_does_not_hide_it() {
        for text in [
            "\n\n---\nname: a\n---\nbody\n",
            "<!-- c\n d -->\n\n---\nname: a\n---\nbody\n",
            "```yaml\n---\nname: a\n---\n```\nbody\n",
            "````chatagent\n---\nname: a\n---\nbody\n````\n",
            "  ---\n  name: a\n  ---\nbody\n",
            "+++\nname = \"a\"\n+++\nbody\n",
            "---\n- name: a\n---\nbody\n",
            "---\nname:\u{a0}a\n---\nbody\n",
            "---\n{\"name\": \"a\"}\n---\nbody\n",
        ] {
            let parts = read(text);
            assert_eq!((keys(text)["name"].as_str(), parts.body.as_str()), (Some("a"), "body"), "{text:?}");
        }
        let parts = read("# Title\n\n---\nname: a\n---\nbody\n");
        assert_eq!((parts.keys["name"].as_str(), parts.body.as_str()), (Some("a"), "# Title\n\nbody"));
        assert_eq!(
            keys("---\ncolor: #ff0000\nname: a # b\n---\nx"),
            json!({"color": "#ff0000", "name": "a"})
        );
    }
}
