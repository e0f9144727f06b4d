//! The block of keys in front of a markdown file. YAML where it is YAML; else read key by key, because many public
//! files are not, and said so.

use super::cut::{self, Cut};
use super::yaml::{self, Keys};
use super::{carried, codex, values};
use crate::model::shape::Object;
use serde_json::Value;
use std::collections::BTreeSet;

/// A markdown file as its keys and the text below them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parts {
    pub keys: Object,
    /// The same with every plain value as the text that stands there.
    pub written: Object,
    pub body: String,
    /// False where there is no block at all.
    pub has_block: bool,
    /// Keys that stand there more than once.
    pub repeated: Vec<String>,
    /// What one of our own exports left in a comment.
    pub carried: Option<carried::Found>,
    /// What had to be overlooked.
    pub warnings: Vec<String>,
}

/// Keys that agent files have: one of these ends a value that was left open.
pub(super) const USUAL: [&str; 16] = [
    "name",
    "description",
    "tools",
    "model",
    "color",
    "permissionMode",
    "disallowedTools",
    "maxTurns",
    "skills",
    "mcpServers",
    "hooks",
    "memory",
    "mode",
    "temperature",
    "permission",
    "version",
];
/// Words that start lines of a dialogue in examples, and are no keys.
const DIALOGUE: [&str; 6] = ["user", "assistant", "context", "human", "commentary", "example"];

pub fn read(text: &str) -> Parts {
    let text = plain(text);
    let Some(Cut { block, body, closed, toml }) = cut::cut(&text) else {
        return Parts { body: trimmed(&text), ..Parts::default() };
    };
    let mut parts = Parts {
        body: trimmed(&body),
        has_block: true,
        carried: carried::read(&text, &block),
        ..Parts::default()
    };
    if !closed {
        parts.warnings.push(
            "the frontmatter is not closed with `---`; it was taken to end at the first blank line".into(),
        );
    }
    let keys = if toml { of_toml(&block) } else { of_yaml(&block) };
    let mut keys = keys.unwrap_or_else(|why| {
        let format = if toml { "TOML" } else { "YAML" };
        parts.warnings.push(format!("the frontmatter is not valid {format} ({why}); it was read key by key"));
        key_by_key(&block.replace('\u{a0}', " "))
    });
    colours(&block, &mut keys);
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
        // `- name: x`, `- description: y`: a list where there should be none.
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
    let values = codex::parse(block)?;
    Ok(Keys { written: values.clone(), values, ..Keys::default() })
}

/// `color: #ff0000` is a colour to everybody but YAML, to which it is a comment.
fn colours(block: &str, keys: &mut Keys) {
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

/// Without a byte order mark, and with one kind of line end.
pub fn plain(text: &str) -> String {
    plain_lines(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// With one kind of line end.
pub fn plain_lines(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// Blank lines in front and the last line end belong to the file, not to the text.
fn trimmed(text: &str) -> String {
    let start = text.len() - text.trim_start().len();
    let start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let text = &text[start..];
    text.strip_suffix('\n').unwrap_or(text).to_owned()
}

/// The key of a line that starts one.
pub(super) fn key_of(line: &str) -> Option<&str> {
    let (key, rest) = line.split_once(':')?;
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let is_word = key.starts_with(|c: char| c.is_ascii_alphabetic()) && key.chars().all(word);
    (is_word && (rest.is_empty() || rest.starts_with([' ', '\t']))).then_some(key)
}

/// The key that a line at the edge starts, however it is written: bare, in quotes, a number, behind a `?`.
fn started(line: &str) -> Option<&str> {
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
    /// The keys that stand in this block more than once; where it is others, further in, a warning is all there is.
    pub fn repeated_in(&self, block: &str, warnings: &mut Vec<String>) -> Vec<String> {
        let Some(known) = &self.repeated else { return Vec::new() };
        let mut seen = BTreeSet::new();
        let again = block.lines().filter_map(started).filter(|key| !seen.insert(*key)).map(str::to_owned);
        let repeated: BTreeSet<String> =
            if known.is_empty() { again.collect() } else { known.iter().cloned().collect() };
        if repeated.is_empty() {
            warnings.push("a key stands there more than once; the last one was taken".into());
        }
        repeated.into_iter().collect()
    }
}

/// Cuts the block at its keys and reads each piece for itself, so that one broken value spoils no other.
pub fn key_by_key(block: &str) -> Keys {
    let mut pieces: Vec<(String, String)> = Vec::new();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut repeated = Vec::new();
    // Examples that were opened and not closed in the piece at hand: what stands in them starts no key.
    let mut open = 0_usize;
    for line in block.lines() {
        let starts =
            started(line).filter(|key| starts_piece(key, open > 0) && !(open > 0 && seen.contains(key)));
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
            // Text in front of the first key: a comment, or nothing that could be named.
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
    !DIALOGUE.contains(&key.to_ascii_lowercase().as_str()) && (!in_example || USUAL.contains(&key))
}

/// The value of one piece, and the same as written.
fn value_of(key: &str, piece: &str) -> (Value, Value) {
    let spaced: String = piece.lines().map(|line| untabbed(line) + "\n").collect();
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

/// Tabs that indent, as spaces: YAML refuses them.
fn untabbed(line: &str) -> String {
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
    fn a_block_of_yaml_is_yaml() {
        let parts = read(
            "\u{feff}---\r\nname: a\r\ntools:\r\n  - Read\r\n  - Grep\r\n---\r\n\r\n# Hi\r\n\r\nthere\r\n",
        );
        assert_eq!(Value::Object(parts.keys), json!({"name": "a", "tools": ["Read", "Grep"]}));
        assert_eq!((parts.body.as_str(), parts.warnings.len()), ("# Hi\n\nthere", 0));
    }

    #[test]
    fn a_block_that_is_no_yaml_is_read_key_by_key_and_said_so() {
        let text = "---\nname: ui\ndescription: Use it when: always. Examples:\\n<example>\nContext: x\nuser: \"Do: it\"\nassistant: \"ok\"\n</example>\ncolor: red\ntools: Read, Write\nmaxTurns: 3\n---\nBody\n";
        let parts = read(text);
        assert_eq!(parts.keys["color"], json!("red"));
        assert_eq!(parts.keys["maxTurns"], json!(3));
        assert_eq!(
            parts.keys.keys().collect::<Vec<_>>(),
            ["name", "description", "color", "tools", "maxTurns"]
        );
        assert!(parts.keys["description"].as_str().unwrap().ends_with("</example>"));
        assert!(parts.warnings[0].contains("key by key"), "{:?}", parts.warnings);
    }

    #[test]
    fn tabs_lists_and_quotes_survive_a_broken_neighbour() {
        let text = "---\ndescription: a: b: c\ntools:\n\t- Read\n\t- 'Grep'\nmodel: \"opus\"\nnested:\n  a: 1\n---\nx";
        assert_eq!(
            keys(text),
            json!({"description": "a: b: c", "tools": ["Read", "Grep"], "model": "opus", "nested": {"a": 1}})
        );
    }

    #[test]
    fn a_text_without_a_block_has_none() {
        for text in ["# Title\n\ntext", "", "---\n\n# Rule\n\ntext", "plain: text is no block"] {
            assert!(!read(text).has_block, "{text:?}");
        }
        assert_eq!(read("name: a\n---\nbody").keys["name"], json!("a"));
        assert!(!read("# Title\n\n---\n\nNote: a rule is no block\n\n---\n").has_block);
        assert!(read("---\n---\n\nContent").has_block);
        assert_eq!(read("---\nname: a\n\nbody").body, "body");
    }

    #[test]
    fn what_stands_around_a_block_does_not_hide_it() {
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
