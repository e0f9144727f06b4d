//! Finds the last JSON object in a text. In linear time, whatever the text is; it does not judge the object.

use serde_json::Value;

/// Longer answers are looked at from this far before their end.
const LONGEST: usize = 1024 * 1024;
/// A text can have many braces that belong to no object; so many objects are tried, of at most `LONGEST` bytes together.
const MOST_TRIES: usize = 64;

/// The last object that is not inside another, if it parses. Objects in code fences and in running text count.
pub fn last_object(text: &str) -> Option<Value> {
    let text = &text[text.ceil_char_boundary(text.len().saturating_sub(LONGEST))..];
    let mut spans = spans(text);
    let mut tried = 0;
    for _ in 0..MOST_TRIES {
        let (start, end) = spans.pop()?;
        tried += end - start;
        if tried > 2 * LONGEST {
            return None;
        }
        if let Ok(value) = crate::files::strict_json::parse(&text[start..end]) {
            return Some(value);
        }
    }
    None
}

/// From each outermost opening brace to its closing one, quotes respected from the first brace on. A brace that is never closed hides
/// nothing: what follows it is looked at by itself.
fn spans(text: &str) -> Vec<(usize, usize)> {
    let mut open: Vec<usize> = Vec::new();
    let mut closed: Vec<(usize, usize)> = Vec::new();
    let (mut in_string, mut escaped) = (false, false);
    for (position, byte) in text.bytes().enumerate() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                // JSON strings have no line breaks: the quote was prose.
                b'"' | b'\n' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' if !open.is_empty() => in_string = true,
            b'{' => open.push(position),
            b'}' => {
                if let Some(start) = open.pop() {
                    // What it contains is no candidate of its own.
                    while closed.last().is_some_and(|(inner, _)| *inner > start) {
                        closed.pop();
                    }
                    closed.push((start, position + 1));
                }
            }
            _ => {}
        }
    }
    closed
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_last_outermost_object_is_found() {
        let cases = [
            (r#"first {"a":1} then {"b":{"c":2}} done"#, Some(json!({"b": {"c": 2}}))),
            ("```json\n{\"a\": \"}{\"}\n```", Some(json!({"a": "}{"}))),
            (r#"{"a":1} and a lone } brace {"#, Some(json!({"a": 1}))),
            (r#"unclosed { then {"a":"it's \"x\""}"#, Some(json!({"a": "it's \"x\""}))),
            (r#"she said "go {"a":1}"#, Some(json!({"a": 1}))),
            (r#"{"a":1} fn main() { x }"#, Some(json!({"a": 1}))),
            (r#"{"a":1,"a":2}"#, None),
            ("no object", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(last_object(text), expected, "{text}");
        }
    }

    #[test]
    fn hostile_texts_take_linear_time() {
        let texts = [
            "{".repeat(3_000_000),
            "{}{".repeat(500_000),
            "{\"".repeat(500_000),
            "}".repeat(1_000_000),
            "{a}".repeat(400_000),
            format!("{}{}", "{".repeat(500_000), "}".repeat(500_000)),
            format!("{}1{}", "{\"a\":".repeat(150_000), "}".repeat(150_000)),
        ];
        for text in texts {
            let _ = last_object(&text);
        }
    }
}
