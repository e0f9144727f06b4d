//! A harness's standard error in one line, for when nothing else explains a failure.

use super::subject::short;

/// The lines that matter, without colours.
#[derive(Debug, Default)]
pub struct StderrSummary {
    /// The last line that starts with `error`.
    error: Option<String>,
    last: Option<String>,
}

impl StderrSummary {
    /// Keeps a line and returns it as plain text.
    pub fn keep(&mut self, line: &str) -> String {
        let plain = without_escapes(line).trim().to_owned();
        if !plain.is_empty() {
            if plain.to_ascii_lowercase().starts_with("error") {
                self.error = Some(short(&plain));
            }
            self.last = Some(short(&plain));
        }
        plain
    }

    /// A reason, followed by the harness's own words if there are any.
    pub fn explain(&self, reason: &str) -> String {
        match self.error.as_ref().or(self.last.as_ref()) {
            Some(words) => format!("{reason}: {words}"),
            None => reason.to_owned(),
        }
    }
}

/// The text without terminal escape sequences and other control characters.
fn without_escapes(text: &str) -> String {
    let mut plain = anstream::adapter::strip_str(text).to_string();
    plain.retain(|c| !c.is_control() || c == '\t');
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_go_and_words_stay() {
        assert_eq!(without_escapes("\u{1b}[93m\u{1b}[1m! \u{1b}[0magent\u{7}"), "! agent");
        assert_eq!(without_escapes("plain [x] é\u{1b}"), "plain [x] é");
        assert_eq!(without_escapes("\u{1b}["), "");
    }

    #[test]
    fn an_error_explains_more_than_the_last_line() {
        let mut summary = StderrSummary::default();
        assert_eq!(summary.explain("it failed"), "it failed");
        summary.keep("warming up");
        assert_eq!(summary.explain("it failed"), "it failed: warming up");
        summary.keep("Error: no such thread");
        summary.keep("bye");
        summary.keep("   ");
        assert_eq!(summary.explain("it failed"), "it failed: Error: no such thread");
    }
}
