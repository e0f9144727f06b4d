//! A line of opencode's log (`--print-logs`): `key=value key="quoted value"`.

#[derive(Debug, PartialEq, Eq)]
pub struct LogLine(Vec<(String, String)>);

impl LogLine {
    /// `None` for any other line.
    pub fn parse(line: &str) -> Option<LogLine> {
        if !line.starts_with("timestamp=") {
            return None;
        }
        let mut fields = Vec::new();
        let mut rest = line;
        while let Some((key, after)) = rest.split_once('=') {
            let (value, after) = value(after);
            fields.push((key.trim_start().to_owned(), value));
            rest = after;
        }
        Some(LogLine(fields))
    }

    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }
}

/// The value at the start of a text, and the rest.
fn value(text: &str) -> (String, &str) {
    if !text.starts_with('"') {
        let end = text.find(' ').unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    }
    // The quotes and escapes are those of JSON.
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<String>();
    match values.next() {
        Some(Ok(value)) => (value, &text[values.byte_offset()..]),
        _ => (text.to_owned(), ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_quoted_or_not() {
        let line = r#"timestamp=2026-11-16T09:07:10.711Z level=ERROR message=failed error="A \"b\": c=d\n e" last=x"#;
        let log = LogLine::parse(line).expect("a log line");
        assert_eq!(log.get("level"), Some("ERROR"));
        assert_eq!(log.get("error"), Some("A \"b\": c=d\n e"));
        assert_eq!((log.get("last"), log.get("none")), (Some("x"), None));
    }

    #[test]
    fn other_lines_are_ignored_and_broken_ones_do_no_harm() {
        assert_eq!(LogLine::parse("agent=x"), None);
        for line in
            ["timestamp=", "timestamp=1 =", "timestamp=1 a=\"b", "timestamp=1 é=\"é\"é x", "timestamp=1 a"]
        {
            assert!(LogLine::parse(line).is_some(), "{line}");
        }
    }
}
