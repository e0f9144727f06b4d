//! Paths as people write them, brought to the form in which changes are named. Knows nothing about changes.

/// Relative, without `.`, `..` and doubled or trailing slashes; none if it leaves the project or is absolute. The root is empty.
pub fn normal(path: &str) -> Option<String> {
    if path.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// The parts of an absolute path, with `.` and `..` resolved.
fn absolute_parts(path: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts
}

/// How a listed path may be meant, the likeliest first: as it stands, with the other slash, without what stands beside it.
pub fn spellings(listed: &str) -> Vec<String> {
    let listed = listed.trim();
    let mut spellings: Vec<String> = Vec::new();
    let mut add = |text: &str| {
        if let Some(path) = normal(text).filter(|path| !path.is_empty() && !spellings.contains(path)) {
            spellings.push(path);
        }
    };
    add(listed);
    let plain = listed.trim_matches(['"', '\'', '`']);
    add(plain);
    if plain.contains('\\') {
        add(&unquoted(plain));
        add(&plain.replace('\\', "/"));
    }
    // `src/a.js (new)`, `src/a.js: fixed`, `src/a.js:12`, `M src/a.js`
    for end in [" (", ": ", " - ", " — "] {
        if let Some((path, _)) = plain.split_once(end) {
            add(path.trim());
        }
    }
    if let Some((path, line)) = plain.split_once(':')
        && line.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'-'))
    {
        add(path);
    }
    for status in ["M ", "A ", "D ", "R ", "?? ", "- ", "* ", "+ "] {
        if let Some(path) = plain.strip_prefix(status) {
            add(path.trim());
        }
    }
    spellings
}

/// The ends of an absolute path that may be relative to the root, the longest first.
pub fn ends(listed: &str) -> Vec<String> {
    let plain = listed.trim().trim_matches(['"', '\'', '`']);
    let plain = plain.strip_prefix("file://").unwrap_or(plain);
    let slashed = if plain.contains('\\') { plain.replace('\\', "/") } else { plain.to_owned() };
    let is_absolute = slashed.starts_with('/') || slashed.as_bytes().get(1..3) == Some(b":/");
    if !is_absolute {
        return Vec::new();
    }
    let parts = absolute_parts(&slashed);
    // A path of the system has at most 4096 bytes, and few parts.
    (0..parts.len().min(64)).map(|start| parts[start..].join("/")).collect()
}

/// Whether the path plainly lies outside of any project: what is there is no part of the work.
pub fn is_elsewhere(listed: &str) -> bool {
    let plain = listed.trim().trim_matches(['"', '\'', '`']);
    let temporary = ["/tmp/", "/var/tmp/", "/private/tmp/", "/dev/", "~/", "$HOME/", "$TMPDIR/"];
    temporary.iter().any(|start| plain.starts_with(start))
        || (!plain.starts_with('/') && normal(plain).is_none())
}

/// A name as git quotes it: `a\303\244.txt`.
fn unquoted(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let octal = after.get(..3).filter(|digits| digits.iter().all(|digit| matches!(digit, b'0'..=b'7')));
        match (first, octal) {
            (b'\\', Some(digits)) => {
                let value = digits.iter().fold(0u32, |value, digit| value * 8 + u32::from(digit - b'0'));
                bytes.push(u8::try_from(value & 0xff).unwrap_or_default());
                rest = &after[3..];
            }
            (b'\\', None) if matches!(after.first(), Some(b'"' | b'\\')) => {
                bytes.push(after[0]);
                rest = &after[1..];
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
