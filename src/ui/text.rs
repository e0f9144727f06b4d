//! Makes text short enough for a terminal, and names fit for a shell.

use super::printable;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use unicode_width::UnicodeWidthStr;

/// The first `width` characters on one line, with an ellipsis where something was cut.
pub fn shortened(text: &str, width: usize) -> String {
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if one_line.chars().count() <= width {
        return one_line;
    }
    let mut short: String = one_line.chars().take(width.saturating_sub(1)).collect();
    short.truncate(short.trim_end().len());
    short.push('…');
    short
}

/// How many columns of a terminal a text takes.
pub fn display_width(text: &str) -> usize {
    text.width()
}

/// As much of a line as fits into this many columns of a terminal, with an ellipsis where something was cut.
pub fn fitted(text: &str, columns: usize) -> String {
    if display_width(text) <= columns {
        return text.to_owned();
    }
    let mut short = String::new();
    for c in text.chars() {
        short.push(c);
        if display_width(&short) >= columns {
            short.pop();
            break;
        }
    }
    short.truncate(short.trim_end().len());
    if columns > 0 {
        short.push('…');
    }
    short
}

/// A text in lines of at most this many columns, broken between words where that is possible. Lines that are short enough stay.
pub fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines = Vec::new();
    for whole in text.lines() {
        if display_width(whole) <= columns {
            lines.push(whole.to_owned());
            continue;
        }
        let mut line = String::new();
        for word in whole.split(' ') {
            if !line.is_empty() && display_width(&line) + 1 + display_width(word) > columns {
                lines.push(std::mem::take(&mut line));
            } else if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
            while display_width(&line) > columns {
                let rest = line.split_off(end_of_columns(&line, columns));
                lines.push(std::mem::replace(&mut line, rest));
            }
        }
        if !line.is_empty() {
            lines.push(line);
        }
    }
    lines
}

/// Where the text that fits into this many columns ends; never before its first letter.
fn end_of_columns(text: &str, columns: usize) -> usize {
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
    ends.take_while(|end| display_width(&text[..*end]) <= columns)
        .last()
        .unwrap_or_else(|| text.chars().next().map_or(0, char::len_utf8))
}

/// A path as one word of a shell's command line, to be pasted: nothing in it can command the terminal or the shell.
pub fn shell_word(path: &Path) -> String {
    let plain = path.to_str().filter(|text| *printable(text) == **text && !text.contains(['\n', '\t', '`']));
    if let Some(quoted) = plain.and_then(|text| shlex::try_quote(text).ok()) {
        return quoted.into_owned();
    }
    let escaped = |byte: &u8| match byte {
        b'\\' | b'\'' | b'`' | 0..0x20 | 0x7f.. => format!("\\x{byte:02x}"),
        plain => char::from(*plain).to_string(),
    };
    format!("$'{}'", path.as_os_str().as_bytes().iter().map(escaped).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_for_the_shell_is_the_path_again() {
        for (path, word) in [
            ("src/a-b.rs", "src/a-b.rs"),
            ("with space", "'with space'"),
            ("it's; rm", "\"it's; rm\""),
            ("a\nb\x1b[2J", "$'a\\x0ab\\x1b[2J'"),
            ("a`id`", "$'a\\x60id\\x60'"),
        ] {
            assert_eq!(shell_word(Path::new(path)), word);
            let output =
                std::process::Command::new("bash").args(["-c", &format!("printf %s {word}")]).output();
            assert_eq!(output.unwrap().stdout, path.as_bytes());
        }
    }

    #[test]
    fn a_line_fits_into_its_columns() {
        for (text, columns, fits) in [
            ("short", 5, "short"),
            ("longer", 5, "long…"),
            ("one two", 5, "one…"),
            ("日本語", 6, "日本語"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
            ("x", 0, ""),
        ] {
            assert_eq!(fitted(text, columns), fits, "{text} {columns}");
            assert!(display_width(&fitted(text, columns)) <= columns);
        }
    }

    #[test]
    fn a_text_is_wrapped_between_words() {
        let of = |text: &str, columns| wrapped(text, columns);
        assert_eq!(of("one two three\n\n  four", 8), ["one two", "three", "", "  four"]);
        assert_eq!(of("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(of("日本語", 3), ["日", "本", "語"]);
        assert_eq!(of("日", 1), ["日"]);
    }

    #[test]
    fn long_text_is_cut_at_a_character() {
        assert_eq!(shortened("één  twee\ndrie", 9), "één twee…");
        assert_eq!(shortened("short", 9), "short");
    }
}
