//! Splits a markdown file into its frontmatter and its body. Tolerates frontmatter that is indented, in a code block, or
//! after a comment or heading, as in hand-written files. Does not parse the keys.

/// Usual keys of agent files: one of these ends a value that was left open.
pub(super) const KNOWN_KEYS: [&str; 16] = [
    "name",
    "description",
    "tools",
    "model",
    "color",
    "permissionMode",
    "disallowedTools",
    "maxTurns",
    "skills",
    "mcpServers",
    "hooks",
    "memory",
    "mode",
    "temperature",
    "permission",
    "version",
];

/// The two parts of a file.
pub struct Split {
    pub block: String,
    pub body: String,
    pub closed: bool,
    pub toml: bool,
}

/// `None` where the text has no frontmatter.
pub fn split(text: &str) -> Option<Split> {
    let start = without_comments(text);
    let (start, fence) = without_code_fence(start);
    let start = dedented(start);
    let (above, start) = below_headings(&start);
    let mut found = at_fences(start)?;
    if let Some(fence) = fence {
        found.body = without_closing(&found.body, fence);
    }
    if !above.trim().is_empty() {
        found.body = format!("{}\n\n{}", above.trim(), found.body.trim_start_matches('\n'));
    }
    Some(found)
}

fn is_fence(line: &str) -> bool {
    let line = line.trim_end();
    line.len() >= 3 && line.bytes().all(|byte| byte == b'-')
}

fn without_comments(text: &str) -> &str {
    let mut start = text.trim_start_matches('\n');
    while let Some((_, rest)) =
        start.trim_start().strip_prefix("<!--").and_then(|rest| rest.split_once("-->"))
    {
        start = rest.trim_start_matches([' ', '\n']);
    }
    start
}

/// Without the line that opens a code block around the frontmatter or the whole text, and the line that closes it.
fn without_code_fence(text: &str) -> (&str, Option<&str>) {
    let Some((first, rest)) = text.split_once('\n') else { return (text, None) };
    let ticks = first.len() - first.trim_start_matches('`').len();
    if ticks >= 3 && rest.lines().next().is_some_and(is_fence) {
        (rest, Some(&first[..ticks]))
    } else {
        (text, None)
    }
}

/// The body without the line that closes the code block, at its start or its end.
fn without_closing(body: &str, fence: &str) -> String {
    let body = body.trim_start_matches('\n');
    match body.strip_prefix(fence).and_then(|rest| rest.strip_prefix('\n')) {
        Some(rest) => rest.to_owned(),
        None => body.trim_end().strip_suffix(fence).unwrap_or(body).to_owned(),
    }
}

/// Without the indentation of the first line, if that starts a block.
fn dedented(text: &str) -> String {
    let blanks = text.len() - text.trim_start_matches([' ', '\t']).len();
    if blanks == 0 || !text.lines().next().is_some_and(|line| is_fence(line.trim_start())) {
        return text.to_owned();
    }
    let indent = &text[..blanks];
    text.lines().map(|line| format!("{}\n", line.strip_prefix(indent).unwrap_or(line))).collect()
}

/// Headings before a block belong to the body. A horizontal rule after a heading is not a block.
fn below_headings(text: &str) -> (&str, &str) {
    if !text.starts_with('#') {
        return ("", text);
    }
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if is_fence(line) {
            let next = text[at + line.len()..].lines().next().and_then(key_of);
            let is_block = next.is_some_and(|key| KNOWN_KEYS.contains(&key));
            return if is_block { (&text[..at], &text[at..]) } else { ("", text) };
        }
        if !line.trim().is_empty() && !line.starts_with('#') {
            break;
        }
        at += line.len();
    }
    ("", text)
}

/// The block between two lines of `---` or `+++`.
fn at_fences(text: &str) -> Option<Split> {
    let start = text.trim_start();
    let (first, rest) = start.split_once('\n').unwrap_or((start, ""));
    if first.trim_end() == "+++" {
        let (block, body) = rest.split_once("\n+++")?;
        let body = body.split_once('\n').map_or("", |(_, body)| body);
        return Some(Split { block: format!("{block}\n"), body: body.to_owned(), closed: true, toml: true });
    }
    let rest = if is_fence(first) {
        rest
    } else if key_of(first).is_some_and(|key| KNOWN_KEYS.contains(&key)) && start.lines().any(is_fence) {
        // The first `---` is missing.
        start
    } else {
        return None;
    };
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if is_fence(line) || line.trim_end() == "..." {
            let body = rest[at + line.len()..].to_owned();
            return Some(Split { block: rest[..at].to_owned(), body, closed: true, toml: false });
        }
        at += line.len();
    }
    // Never closed. A horizontal rule at the start of plain text is not a block.
    let first_line = rest.lines().find(|line| !line.trim().is_empty())?;
    key_of(first_line)?;
    let end = rest.find("\n\n").map_or(rest.len(), |at| at + 1);
    Some(Split { block: rest[..end].to_owned(), body: rest[end..].to_owned(), closed: false, toml: false })
}

/// The lines between a first line `---` and the next one, and the rest: the only form that harnesses accept.
pub fn split_strictly(text: &str) -> Option<(Vec<&str>, &str)> {
    let (first, rest) = text.split_once('\n')?;
    if first.trim_end() != "---" {
        return None;
    }
    let mut lines = Vec::new();
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        at += line.len();
        if line.trim_end() == "---" {
            return Some((lines, &rest[at..]));
        }
        lines.push(line.trim_end_matches('\n'));
    }
    None
}

/// The key that a line starts.
pub fn key_of(line: &str) -> Option<&str> {
    let (key, rest) = line.split_once(':')?;
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let is_word = key.starts_with(|c: char| c.is_ascii_alphabetic()) && key.chars().all(word);
    (is_word && (rest.is_empty() || rest.starts_with([' ', '\t']))).then_some(key)
}
