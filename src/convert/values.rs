//! Reads values of other tools' files as the needed types: text from any plain value, lists from lists or commas.

use crate::model::shape::Object;
use serde_json::{Map, Value};

/// Plain values as text; a list of them as lines.
pub fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Array(entries) => {
            entries.iter().map(text).collect::<Option<Vec<_>>>().map(|lines| lines.join("\n"))
        }
        Value::Null | Value::Object(_) => None,
    }
}

/// A list, or text with commas between its entries; commas in parentheses belong to their entry.
pub fn list(value: &Value) -> Vec<String> {
    let mut entries = match value {
        Value::Array(values) => values.iter().filter_map(text).collect(),
        Value::String(text) => split_at_commas(text),
        _ => Vec::new(),
    };
    for entry in &mut entries {
        *entry = unquoted(entry.trim()).to_owned();
    }
    entries.retain(|entry| !entry.is_empty());
    let mut seen = std::collections::BTreeSet::new();
    entries.retain(|entry| seen.insert(entry.clone()));
    entries
}

fn split_at_commas(text: &str) -> Vec<String> {
    let text = text.trim();
    let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let (mut entries, mut depth) = (vec![String::new()], 0_usize);
    for c in inner.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' | '\n' if depth == 0 => {
                entries.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = entries.last_mut() {
            last.push(c);
        }
    }
    entries
}

/// Without one pair of quotes around it.
pub fn unquoted(text: &str) -> &str {
    let within = |mark: char| text.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark));
    within('"').or_else(|| within('\'')).unwrap_or(text)
}

/// JSON for YAML and for TOML comments: characters that these refuse are escaped.
pub fn printable_json(value: &Value) -> String {
    let mut text = String::new();
    // They can only be in strings, where an escape means the same.
    for c in value.to_string().chars() {
        match c {
            '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                text.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => text.push(c),
        }
    }
    text
}

pub fn whole(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// A number, also one that is written as a text.
pub fn number(value: &Value) -> Option<Value> {
    match value {
        Value::Number(_) => Some(value.clone()),
        Value::String(text) => text.trim().parse::<serde_json::Number>().ok().map(Value::Number),
        _ => None,
    }
}

pub fn flag(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        // Words that people write for a flag.
        Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

/// Keys whose values are always numbers.
const NUMBERS: [&str; 8] =
    ["temperature", "top_p", "topP", "steps", "maxSteps", "maxTurns", "timeout", "max_turns"];

/// Whether a number or a flag would be written like this.
fn is_written_so(value: &Value, text: &str) -> bool {
    let canonical = value.to_string();
    canonical == text
}

/// The value to keep. A number or a flag that would be written differently is kept as text: a colour `007` is not 7, and
/// a version `1.10` is not 1.1.
pub fn faithful(key: &str, value: &Value, written: &Value) -> Value {
    match (value, written) {
        (Value::Number(_) | Value::Bool(_), Value::String(text))
            if !is_written_so(value, text) && !NUMBERS.contains(&key) =>
        {
            written.clone()
        }
        (Value::Array(values), Value::Array(texts)) => {
            values.iter().zip(texts).map(|(value, text)| faithful(key, value, text)).collect()
        }
        (Value::Object(values), Value::Object(texts)) => values
            .iter()
            .map(|(key, value)| (key.clone(), faithful(key, value, texts.get(key).unwrap_or(value))))
            .collect::<Map<_, _>>()
            .into(),
        (value, _) => value.clone(),
    }
}

pub fn set_path(object: &mut Object, path: &str, value: Value) {
    match path.split_once('.') {
        None => {
            object.insert(path.to_owned(), value);
        }
        Some((key, rest)) => {
            let inner = object.entry(key).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(inner) = inner {
                set_path(inner, rest, value);
            }
        }
    }
}

/// Starts of examples in the descriptions of public collections.
const EXAMPLES: [&str; 4] = ["<example", "examples:", "example:", "<commentary"];
/// Long enough to choose a persona by.
const LONGEST: usize = 600;

/// The text up to its examples, as one line. Some files have a literal `\n` for a line break.
pub fn first_paragraph(text: &str) -> String {
    let text = text.replace("\\n", "\n").replace("\\\"", "\"");
    // Only ASCII changes, so that positions are the same in both.
    let lower = text.to_ascii_lowercase();
    let end = EXAMPLES.iter().filter_map(|mark| lower.find(mark)).filter(|at| *at > 0).min();
    let before = text[..end.unwrap_or(text.len())].split_whitespace().collect::<Vec<_>>().join(" ");
    let before =
        if before.is_empty() { text.split_whitespace().collect::<Vec<_>>().join(" ") } else { before };
    if before.chars().count() <= LONGEST {
        return before;
    }
    let cut: String = before.chars().take(LONGEST).collect();
    let at = cut.rfind(". ").map_or_else(|| cut.rfind(' ').unwrap_or(cut.len()), |at| at + 1);
    cut[..at].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_are_lists_or_text_with_commas_outside_of_parentheses() {
        assert_eq!(list(&json!("Read, Bash(a, b) , ,'Grep'")), ["Read", "Bash(a, b)", "Grep"]);
        assert_eq!(list(&json!("[Read, Write]")), ["Read", "Write"]);
        assert_eq!(list(&json!(["Read", 3, null, "Read"])), ["Read", "3"]);
    }

    #[test]
    fn a_description_ends_where_its_examples_start() {
        assert_eq!(first_paragraph("Use it.\\n\\nExamples:\\n<example>x</example>"), "Use it.");
        assert_eq!(first_paragraph("<example>only</example>"), "<example>only</example>");
        assert_eq!(first_paragraph("  a\n b "), "a b");
        assert!(first_paragraph(&"wort é. ".repeat(200)).chars().count() <= LONGEST);
    }
}
