//! Finds the block of keys in front of a markdown file: also where it is indented, fenced in, or comes after a comment
//! or a heading, as in files that people wrote by hand.

use super::frontmatter::{USUAL, key_of};

/// A text, cut in two.
pub struct Cut {
    pub block: String,
    pub body: String,
    pub closed: bool,
    pub toml: bool,
}

/// `None` where the text has no block.
pub fn cut(text: &str) -> Option<Cut> {
    let start = without_comments(text);
    let (start, fence) = without_code_fence(start);
    let start = dedented(start);
    let (above, start) = below_headings(&start);
    let mut cut = at_fences(start)?;
    if let Some(fence) = fence {
        cut.body = without_closing(&cut.body, fence);
    }
    if !above.trim().is_empty() {
        cut.body = format!("{}\n\n{}", above.trim(), cut.body.trim_start_matches('\n'));
    }
    Some(cut)
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

/// Without the line that opens a code block around the keys or around everything, and how that is closed.
fn without_code_fence(text: &str) -> (&str, Option<&str>) {
    let Some((first, rest)) = text.split_once('\n') else { return (text, None) };
    let ticks = first.len() - first.trim_start_matches('`').len();
    if ticks >= 3 && rest.lines().next().is_some_and(is_fence) {
        (rest, Some(&first[..ticks]))
    } else {
        (text, None)
    }
}

/// The body without the line that closes the code block: right below the keys, or at the end.
fn without_closing(body: &str, fence: &str) -> String {
    let body = body.trim_start_matches('\n');
    match body.strip_prefix(fence).and_then(|rest| rest.strip_prefix('\n')) {
        Some(rest) => rest.to_owned(),
        None => body.trim_end().strip_suffix(fence).unwrap_or(body).to_owned(),
    }
}

/// Without the blanks that the first line starts with, if it is the start of a block.
fn dedented(text: &str) -> String {
    let blanks = text.len() - text.trim_start_matches([' ', '\t']).len();
    if blanks == 0 || !text.lines().next().is_some_and(|line| is_fence(line.trim_start())) {
        return text.to_owned();
    }
    let indent = &text[..blanks];
    text.lines().map(|line| format!("{}\n", line.strip_prefix(indent).unwrap_or(line))).collect()
}

/// Headings in front of a block belong to the text. A rule below a heading is no block.
fn below_headings(text: &str) -> (&str, &str) {
    if !text.starts_with('#') {
        return ("", text);
    }
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if is_fence(line) {
            let next = text[at + line.len()..].lines().next().and_then(key_of);
            let is_block = next.is_some_and(|key| USUAL.contains(&key));
            return if is_block { (&text[..at], &text[at..]) } else { ("", text) };
        }
        if !line.trim().is_empty() && !line.starts_with('#') {
            break;
        }
        at += line.len();
    }
    ("", text)
}

fn at_fences(text: &str) -> Option<Cut> {
    let start = text.trim_start();
    let (first, rest) = start.split_once('\n').unwrap_or((start, ""));
    if first.trim_end() == "+++" {
        let (block, body) = rest.split_once("\n+++")?;
        let body = body.split_once('\n').map_or("", |(_, body)| body);
        return Some(Cut { block: format!("{block}\n"), body: body.to_owned(), closed: true, toml: true });
    }
    let rest = if is_fence(first) {
        rest
    } else if key_of(first).is_some_and(|key| USUAL.contains(&key)) && start.lines().any(is_fence) {
        // The first `---` was forgotten.
        start
    } else {
        return None;
    };
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if is_fence(line) || line.trim_end() == "..." {
            let body = rest[at + line.len()..].to_owned();
            return Some(Cut { block: rest[..at].to_owned(), body, closed: true, toml: false });
        }
        at += line.len();
    }
    // Never closed. A rule of markdown at the top of a plain text is no block.
    let first_line = rest.lines().find(|line| !line.trim().is_empty())?;
    key_of(first_line)?;
    let end = rest.find("\n\n").map_or(rest.len(), |at| at + 1);
    Some(Cut { block: rest[..end].to_owned(), body: rest[end..].to_owned(), closed: false, toml: false })
}
