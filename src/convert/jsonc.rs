//! JSON as people write it in config files: with comments and trailing commas.

use jsonc_parser::tokens::Token;
use jsonc_parser::{ParseOptions, Scanner, ScannerOptions};
use serde_json::Value;

pub fn parse(text: &str) -> Result<Value, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let invalid = |error: &dyn std::fmt::Display| format!("invalid JSON: {error}");
    if let Ok(value) = serde_json::from_str(text) {
        return Ok(value);
    }
    let value: Value = jsonc_parser::parse_to_serde_value(text, &options).map_err(|error| invalid(&error))?;
    // What is nested deeper than strict JSON may be could not be read back from a persona file.
    serde_json::from_str(&value.to_string()).map_err(|error| invalid(&error))
}

/// Whether the text is an object, perhaps after comments, and not YAML or prose.
pub fn is_object(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}');
    let mut scanner = Scanner::new(text, &ScannerOptions::default());
    loop {
        match scanner.scan() {
            Ok(Some(Token::CommentLine(_) | Token::CommentBlock(_))) => {}
            Ok(Some(token)) => return token == Token::OpenBrace,
            Ok(None) | Err(_) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn comments_and_trailing_commas_are_ignored() {
        let text = "{ // a\n \"u\": \"http://x,]\", /* b */ \"l\": [1, 2, ], }";
        assert_eq!(parse(text), Ok(json!({"u": "http://x,]", "l": [1, 2]})));
        for bad in ["{\"a\": }", "{a: 1}", "{'a': 1}", "{\"a\": 1 \"b\": 2}", "{\"a\": 0x1}", "{} {}"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn deep_nesting_is_refused() {
        for depth in [200, 30_000] {
            let text = format!("// c\n{}{}", "[".repeat(depth), "]".repeat(depth));
            assert!(parse(&text).is_err(), "{depth}");
        }
    }

    #[test]
    fn an_object_may_follow_comments() {
        for text in ["{}", "\u{feff} // {\n/* x\n*/ {", "/**/{"] {
            assert!(is_object(text), "{text:?}");
        }
        for text in ["", "// {", "/* {", "/ {", "a: {}", "---\n{}\n---\n", "//"] {
            assert!(!is_object(text), "{text:?}");
        }
    }
}
