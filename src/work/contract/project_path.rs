//! Says what is wrong with a path or pattern that a contract names. Looks at the text only.

/// Longer paths do not exist.
const MAX_LENGTH: usize = 1024;

/// Why a path cannot be named by a contract, and what to do about it.
pub fn problem(path: &str, is_hidden: &dyn Fn(&str) -> bool) -> Option<(String, &'static str)> {
    let plain = path.trim_start_matches("./");
    let inside = "name a path relative to the project";
    if path.len() > MAX_LENGTH {
        return Some((format!("is longer than {MAX_LENGTH} bytes"), "shorten it"));
    }
    if path.chars().any(char::is_control) {
        return Some(("contains control characters".into(), "remove them"));
    }
    if path.starts_with('/') || path.starts_with('\\') || path.starts_with('~') || has_drive(path) {
        return Some(("leaves the project: it is absolute".into(), inside));
    }
    if path.split(['/', '\\']).any(|part| part == "..") {
        return Some(("leaves the project: it contains `..`".into(), inside));
    }
    if path.starts_with('!') {
        return Some(("is negated, which is not supported".into(), "list what may change"));
    }
    if plain.split('/').any(|part| part.eq_ignore_ascii_case(".git")) {
        return Some(("is in `.git`, which is never part of the work".into(), "leave it out"));
    }
    let bare = plain.trim_end_matches('/');
    if !bare.is_empty() && bare != "." && is_hidden(bare) {
        return Some((
            "is hidden by the mount: the worker cannot see or change it".into(),
            "leave it out, or reveal it with `--reveal`",
        ));
    }
    None
}

fn has_drive(path: &str) -> bool {
    let bytes = path.as_bytes();
    bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':'
}
