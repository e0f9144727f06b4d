//! Makes other people's text safe to show. Changes nothing that is printable already.

use super::invisible::{has_no_width, is_invisible_override, shows_nothing};
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

/// A name on one line in which everything can be seen: what is blank or takes no room is shown as an escape, and so is a space
/// at the start or end of one of its parts.
pub fn printable_name(name: &str) -> String {
    let mut result = String::with_capacity(name.len() + 8);
    // What a mark would be put on.
    let mut base = '/';
    let mut rest = name.chars();
    while let Some(c) = rest.next() {
        let is_last = rest.as_str().is_empty() || rest.as_str().starts_with('/');
        match c {
            '\n' => result.push_str("\\n"),
            '\t' => result.push_str("\\t"),
            ' ' if base == '/' || is_last => result.extend(c.escape_unicode()),
            _ if c == ' ' || c.is_ascii_graphic() => result.push(c),
            _ if shows_nothing(c) => result.extend(c.escape_unicode()),
            // The standard library knows the categories: controls, formats, separators, private and unassigned characters are
            // escaped everywhere, marks at the start of a text.
            _ if !is_escaped(c.encode_utf8(&mut [0; 4])) => result.push(c),
            _ if base.is_alphanumeric() && !is_escaped(&format!("a{c}")) => {
                result.push(c);
                continue;
            }
            _ => result.extend(c.escape_unicode()),
        }
        base = c;
    }
    result
}

fn is_escaped(text: &str) -> bool {
    text.escape_debug().count() > text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_name_is_invisible() {
        for name in [
            "src/a b.txt",
            "it's \"x\" \\.rs",
            "é/ü/ß",
            "e\u{301}t\u{e9}.md",
            "日本語/ひらがな/한국어",
            "हिन्दी",
            "❤ 🎉",
            "e\u{302}\u{301}",
        ] {
            assert_eq!(printable_name(name), name);
        }
        for (name, shown) in [
            ("a.txt ", "a.txt\\u{20}"),
            (" a/b /c", "\\u{20}a/b\\u{20}/c"),
            ("a\nb\tc\u{1b}", "a\\nb\\tc\\u{1b}"),
            ("x\u{301}.\u{301}", "x\u{301}.\\u{301}"),
        ] {
            assert_eq!(printable_name(name), shown);
        }
        let blank = "\u{a0}\u{ad}\u{34f}\u{61c}\u{115f}\u{1160}\u{1680}\u{17b4}\u{17b5}\u{180b}\u{180e}\u{180f}\u{2000}\u{200a}\u{200b}\
             \u{200c}\u{200d}\u{200e}\u{202e}\u{202f}\u{205f}\u{2060}\u{2065}\u{206f}\u{2800}\u{3000}\u{3164}\u{fe00}\u{fe0f}\u{feff}\u{ffa0}\
             \u{fff9}\u{1bca0}\u{1d159}\u{1d173}\u{e0001}\u{e0061}\u{e0100}\u{e01ef}\u{e000}\u{10ffff}";
        for c in blank.chars() {
            for name in [format!("a{c}b"), format!("{c}b"), format!("a.{c}"), format!("a{c}")] {
                let escape = c.escape_unicode().to_string();
                assert_eq!(printable_name(&name), name.replace(c, &escape));
            }
        }
    }

    #[test]
    fn escape_sequences_are_shown_not_obeyed() {
        assert_eq!(printable("a\u{1b}[31mb\rc"), "a\\u{1b}[31mb\\u{d}c");
        assert_eq!(printable("a\u{ad}b\u{3164}"), "a\\u{ad}b\\u{3164}");
        assert_eq!(printable("plain\n\ttext é"), "plain\n\ttext é");
    }
}
