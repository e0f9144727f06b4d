//! Makes text short enough for a terminal.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_at_a_character() {
        assert_eq!(shortened("één  twee\ndrie", 9), "één twee…");
        assert_eq!(shortened("short", 9), "short");
    }
}
