//! Text files of any platform with one kind of line end.

/// Without a byte order mark, and with `\n` as line end.
pub fn normalised(text: &str) -> String {
    normalised_lines(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// With `\n` as line end.
pub fn normalised_lines(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// In one line: what is blank between words becomes one space.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
