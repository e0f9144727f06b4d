//! Expands the braces of a glob, which are literal in the rules of a mount: `*.{key,pem}` is `*.key` and `*.pem`.

/// More than anybody writes; two groups of ten alternatives are a hundred patterns.
const MAX_PATTERNS: usize = 256;
const MAX_LENGTH: usize = 1024;

/// The patterns without braces that together match the same. `None` where they are too many, not balanced, or escaped.
pub fn expand(pattern: &str) -> Option<Vec<String>> {
    if !pattern.contains(['{', '}', '\\']) {
        return Some(vec![pattern.to_owned()]);
    }
    if pattern.contains(['[', '\\']) || pattern.len() > MAX_LENGTH {
        return None;
    }
    let mut waiting = vec![pattern.to_owned()];
    let mut done = Vec::new();
    while let Some(pattern) = waiting.pop() {
        let Some((before, alternatives, after)) = first_group(&pattern) else {
            if pattern.contains(['{', '}']) {
                return None;
            }
            done.push(pattern);
            continue;
        };
        // The last one is taken first.
        waiting.extend(alternatives.iter().rev().map(|inner| format!("{before}{inner}{after}")));
        if waiting.len() + done.len() > MAX_PATTERNS {
            return None;
        }
    }
    done.iter().all(|pattern| !pattern.is_empty()).then_some(done)
}

/// The first group of alternatives, with what is before and after it.
fn first_group(pattern: &str) -> Option<(&str, Vec<&str>, &str)> {
    let open = pattern.find('{')?;
    let (mut depth, mut starts) = (0_usize, open + 1);
    let mut alternatives = Vec::new();
    for (at, c) in pattern.char_indices().skip_while(|(at, _)| *at < open) {
        match c {
            '{' => depth += 1,
            ',' | '}' if depth == 1 => {
                alternatives.push(&pattern[starts..at]);
                starts = at + 1;
                if c == '}' {
                    return Some((&pattern[..open], alternatives, &pattern[starts..]));
                }
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_become_patterns_or_nothing() {
        let expanded = |pattern: &str| expand(pattern).map(|patterns| patterns.join(" "));
        for (pattern, expected) in [
            ("src/*.rs", Some("src/*.rs")),
            ("*.{key,pem}", Some("*.key *.pem")),
            ("{a,b/{c,d}}/x", Some("a/x b/c/x b/d/x")),
            ("{a}{b,c}", Some("ab ac")),
            ("a{,.bak}", Some("a a.bak")),
            ("{,}", None),
            ("a{b", None),
            ("a}b", None),
            ("a\\{b", None),
            ("[{]x}", None),
        ] {
            assert_eq!(expanded(pattern).as_deref(), expected, "{pattern}");
        }
        assert_eq!(expand(&"{a,b}".repeat(30)), None);
        assert_eq!(expand(&"{".repeat(100_000)), None);
    }
}
