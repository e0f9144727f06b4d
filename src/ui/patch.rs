//! Colours for a diff. Where the stream is no terminal they go away by themselves, as everywhere.

use super::{BOLD, printable};
use anstyle::{AnsiColor, Style};
use std::fmt::Display;

const PLACE: Style = AnsiColor::Cyan.on_default();
const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();

/// How many lines came and went, behind a name.
pub fn counts(added: impl Display, removed: impl Display) -> String {
    format!("  {ADDED}+{added}{ADDED:#} {REMOVED}-{removed}{REMOVED:#}")
}

/// A diff as people read it: nothing in it can command the terminal, and each kind of line has its colour.
pub fn coloured(text: &str) -> String {
    let mut inside = false;
    let mut result = String::with_capacity(text.len() + 64);
    for line in printable(text).split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        inside = line.starts_with("@@") || (inside && !line.starts_with("diff "));
        let style = match line.as_bytes().first() {
            Some(b'@') => PLACE,
            Some(b'+') if inside => ADDED,
            Some(b'-') if inside => REMOVED,
            // The names in front of the first place.
            Some(_) if !inside => BOLD,
            _ => Style::new(),
        };
        result.push_str(&format!("{style}{line}{style:#}{end}"));
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_colour_of_their_kind_and_the_text_stays() {
        let text = "diff a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n same\n--- old\n+new";
        let coloured = coloured(text);
        assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), text);
        assert!(coloured.contains("\x1b[1m--- a/x"), "{coloured:?}");
        assert!(coloured.contains("\x1b[31m--- old"), "a removed line that looks like a name: {coloured:?}");
        assert!(coloured.contains("\x1b[32m+new\x1b[0m") && coloured.contains("\n same\n"), "{coloured:?}");
    }
}
