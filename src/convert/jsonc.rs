//! JSON as people write it in config files: with comments and commas before the end.

use serde_json::Value;

pub fn parse(text: &str) -> Result<Value, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let strict = serde_json::from_str(text);
    strict
        .or_else(|_| serde_json::from_str(&bare(text)))
        .map_err(|error| format!("is not valid JSON: {error}"))
}

/// Whether the text is an object, and not YAML or prose: comments may stand in front of it.
pub fn is_object(text: &str) -> bool {
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    loop {
        let after = match (rest.strip_prefix("//"), rest.strip_prefix("/*")) {
            (Some(comment), _) => comment.split_once('\n').map(|(_, after)| after),
            (_, Some(comment)) => comment.split_once("*/").map(|(_, after)| after),
            _ => return rest.starts_with('{'),
        };
        rest = after.unwrap_or_default().trim_start();
    }
}

/// Comments as blanks, and no comma before a closing bracket; what stands in quotes is left alone.
fn bare(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('"', _) => {
                result.push(c);
                while let Some(inner) = chars.next() {
                    result.push(inner);
                    match inner {
                        '\\' => result.extend(chars.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            ('/', Some('/')) => {
                while chars.peek().is_some_and(|next| *next != '\n') {
                    chars.next();
                }
            }
            ('/', Some('*')) => {
                let mut last = ' ';
                chars.next();
                for inner in chars.by_ref() {
                    if last == '*' && inner == '/' {
                        break;
                    }
                    last = inner;
                }
            }
            (']' | '}', _) => {
                let kept = result.trim_end().len();
                if result[..kept].ends_with(',') {
                    result.truncate(kept - 1);
                }
                result.push(c);
            }
            _ => result.push(c),
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn comments_and_last_commas_are_overlooked() {
        let text = "{ // a\n \"u\": \"http://x,]\", /* b */ \"l\": [1, 2, ], }";
        assert_eq!(parse(text), Ok(json!({"u": "http://x,]", "l": [1, 2]})));
        assert!(parse("{\"a\": }").is_err());
    }

    #[test]
    fn an_object_is_one_behind_comments_too() {
        for text in ["{}", "\u{feff} // {\n/* x\n*/ {", "/**/{"] {
            assert!(is_object(text), "{text:?}");
        }
        for text in ["", "// {", "/* {", "/ {", "a: {}", "---\n{}\n---\n", "//"] {
            assert!(!is_object(text), "{text:?}");
        }
    }
}
