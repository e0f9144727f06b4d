//! The words, strings and signs of a source text, without comments and without regard to how it is laid out.

use super::{Language, mask, tests_in};

/// Words and numbers as they are, signs one by one, a string as `"` and its content, and the line ends.
pub fn tokens(text: &str, language: Language) -> Vec<String> {
    let code = mask::masked(text, language);
    let plain = tests_in::without_comments(text, language);
    let bytes = code.as_bytes();
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80;
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        if is_word(byte) {
            let length = bytes[at..].iter().take_while(|byte| is_word(**byte)).count();
            found.push(plain.get(at..at + length).unwrap_or("").to_owned());
            at += length;
            continue;
        }
        // A lifetime has no closing quote.
        let is_lifetime = language == Language::Rust
            && byte == b'\''
            && bytes.get(at + 1).is_some_and(|next| is_word(*next));
        if matches!(byte, b'"' | b'\'' | b'`') && !is_lifetime {
            let length = memchr::memchr(byte, &bytes[at + 1..]).unwrap_or(bytes.len() - at - 1);
            found.push(format!("\"{}", plain.get(at + 1..at + 1 + length).unwrap_or("")));
            at += length + 2;
            continue;
        }
        if byte == b'\n' || !byte.is_ascii_whitespace() {
            found.push(char::from(byte).to_string());
        }
        at += 1;
    }
    found
}
