//! Makes other people's text safe to show. Changes nothing that is printable already.

use super::text_rules::is_invisible_override;
use std::borrow::Cow;

/// Control characters (escape sequences, carriage returns, bidi overrides) shown as escapes, so that a name
/// from a file cannot repaint the terminal. Newlines and tabs stay.
pub fn printable(text: &str) -> Cow<'_, str> {
    let hostile =
        |c: char| (c.is_control() && c != '\n' && c != '\t') || is_invisible_override(c) || has_no_width(c);
    if !text.contains(hostile) {
        return Cow::Borrowed(text);
    }
    let mut result = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if hostile(c) {
            result.extend(c.escape_unicode());
        } else {
            result.push(c);
        }
    }
    Cow::Owned(result)
}

/// Letters that take no room, and the tags that spell a hidden text. Joiners and variation selectors belong to emoji.
fn has_no_width(c: char) -> bool {
    matches!(c, '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{e0001}' | '\u{e0020}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_are_shown_not_obeyed() {
        assert_eq!(printable("a\u{1b}[31mb\rc"), "a\\u{1b}[31mb\\u{d}c");
        assert_eq!(printable("a\u{ad}b\u{3164}"), "a\\u{ad}b\\u{3164}");
        assert_eq!(printable("plain\n\ttext é"), "plain\n\ttext é");
    }
}
