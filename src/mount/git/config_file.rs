//! Reads a git configuration file as a list of keys and values, without running git. It follows no includes and judges nothing.

/// `section.subsection.key` with section and key in lower case, and its value.
pub(super) type Setting = (String, String);

/// Every setting of a file. What git would refuse is skipped, not an error: git itself stops at it.
pub(super) fn settings(text: &str) -> Vec<Setting> {
    let mut found = Vec::new();
    let mut section = String::new();
    let mut lines = text.trim_start_matches('\u{feff}').lines();
    while let Some(line) = lines.next() {
        let mut line = line.trim();
        // More than one may stand in a line.
        while let Some((header, after)) = line.strip_prefix('[').and_then(header) {
            section = header;
            line = after.trim();
        }
        if line.starts_with('[') {
            continue;
        }
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, "true"));
        let mut raw = value.trim().to_owned();
        // A backslash at the end of a line goes on with the next one.
        let mut quoted = false;
        let mut goes_on = value_goes_on(raw.as_bytes(), &mut quoted);
        while goes_on {
            raw.pop();
            let Some(next) = lines.next() else { break };
            goes_on = value_goes_on(next.trim_end().as_bytes(), &mut quoted);
            raw.push_str(next.trim_end());
        }
        found.push((format!("{section}.{}", key.trim().to_ascii_lowercase()), unquoted(&raw)));
    }
    found
}

/// Whether a value goes on in the next line: it ends with a backslash that is neither escaped nor in a comment. `quoted` is for one
/// value, line by line.
pub(super) fn value_goes_on(line: &[u8], quoted: &mut bool) -> bool {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let mut escaped = false;
    for byte in line {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => *quoted = !*quoted,
            b'#' | b';' if !*quoted => return false,
            _ => {}
        }
    }
    escaped
}

/// The name of a section, and what follows its closing bracket.
fn header(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut chars = text.char_indices();
    let mut quoted = false;
    let mut was_quoted = false;
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => {
                quoted = !quoted;
                was_quoted = true;
                if quoted {
                    name = name.trim_end().to_owned() + ".";
                }
            }
            '\\' if quoted => name.extend(chars.next().map(|(_, char)| char)),
            ']' if !quoted => return Some((name.trim().to_owned(), &text[at + 1..])),
            _ if quoted || was_quoted => name.push(char),
            _ => name.push(char.to_ascii_lowercase()),
        }
    }
    None
}

/// A value without quotes, escapes and comment.
fn unquoted(raw: &str) -> String {
    let mut value = String::new();
    let mut quoted = false;
    let mut chars = raw.chars();
    while let Some(char) = chars.next() {
        match char {
            '"' => quoted = !quoted,
            '\\' => match chars.next() {
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some('b') => drop(value.pop()),
                other => value.extend(other),
            },
            '#' | ';' if !quoted => break,
            _ => value.push(char),
        }
    }
    value.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_ends_with_its_line_and_headers_may_share_one() {
        let text = "[a]\n# note \\\nk = 1 ; note \\\nl = \"x # y\" \\\n z\n[b][c]m = 2\n";
        let expected = [("a.k", "1"), ("a.l", "x # y  z"), ("c.m", "2")];
        assert_eq!(settings(text), expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
    }

    #[test]
    fn settings_are_read_as_git_reads_them() {
        let text = "[core]\n\thooksPath = .githooks # note\n bare\n[filter \"A b\"] clean = \"x \\\"y\\\" ; z\" \\\n  -q\n\
                    [Include]\npath=\"../.git config\"\n[a.B]\nk = v\n; [core]\n[broken\nx = y\n";
        let found = settings(text);
        let expected = [
            ("core.hookspath", ".githooks"),
            ("core.bare", "true"),
            ("filter.A b.clean", "x \"y\" ; z   -q"),
            ("include.path", "../.git config"),
            ("a.b.k", "v"),
            ("a.b.x", "y"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(found, expected);
    }
}
