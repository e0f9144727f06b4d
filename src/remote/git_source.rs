//! Splits the text of a git source into repository, ref and path, and name. Does not contact the repository.

/// `url[/tree/<ref>/<path>][#name]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitSource {
    pub url: String,
    /// The ref and the path after `/tree/` or `/blob/`: only the repository knows where the ref ends.
    pub tail: Option<String>,
    pub name: Option<String>,
}

impl GitSource {
    pub fn parse(source: &str) -> GitSource {
        // Blanks and slashes at the end of a part have no meaning and would not survive in the lock.
        let is_padding = |c: char| c == '/' || c.is_whitespace();
        let (place, name) = match source.rsplit_once('#') {
            Some((place, name)) => (place, Some(name.trim_matches(is_padding).to_owned())),
            None => (source, None),
        };
        let place = place.trim_end_matches(is_padding);
        let split = ["/tree/", "/blob/"].iter().find_map(|word| split_at(place, word));
        let (url, tail) = match split {
            Some((url, tail)) => (url.trim_end(), Some(tail.trim_matches(is_padding).to_owned())),
            None => (place, None),
        };
        GitSource {
            url: url.to_owned(),
            tail: tail.filter(|tail| !tail.is_empty()),
            name: name.filter(|name| !name.is_empty()),
        }
    }

    /// Whether the source names a commit, so that it always means the same files.
    pub fn is_pinned(&self) -> bool {
        self.pinned().is_some()
    }

    /// The commit that the source names, and the path in it.
    pub fn pinned(&self) -> Option<(&str, &str)> {
        let tail = self.tail.as_deref()?;
        let (commit, path) = tail.split_once('/').unwrap_or((tail, ""));
        is_commit(commit).then(|| (commit, path.trim_start_matches('/')))
    }
}

/// Splits a tail into ref and path. The longest ref wins, as branches may have slashes.
pub fn split_tail<'t>(tail: &'t str, refs: &[String]) -> Option<(String, &'t str)> {
    let ends = tail.match_indices('/').map(|(at, _)| at).chain([tail.len()]);
    let mut ends: Vec<usize> = ends.collect();
    ends.reverse();
    for end in ends {
        let (name, path) = (&tail[..end], tail[end..].trim_start_matches('/'));
        for full in [format!("refs/heads/{name}"), format!("refs/tags/{name}")] {
            if refs.contains(&full) {
                return Some((full, path));
            }
        }
        if is_commit(name) {
            return Some((name.to_owned(), path));
        }
    }
    None
}

fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A directory may be called `tree`, too: on a host the word comes after owner and repository, on disk after `.git`.
fn split_at<'s>(place: &'s str, word: &str) -> Option<(&'s str, &'s str)> {
    let on_host = place.strip_prefix("https://").or_else(|| place.strip_prefix("http://"));
    place.match_indices(word).find_map(|(at, _)| {
        let url = place[..at].trim_end_matches("/-");
        let is_repository = match on_host {
            Some(_) => url.matches('/').count() >= 4,
            None => url.strip_suffix(".git").is_some(),
        };
        is_repository.then(|| (url, &place[at + word.len()..]))
    })
}

/// The source without a password, for messages and the lock.
pub fn without_password(source: &str) -> String {
    match userinfo(source).zip(source.split_once("://")) {
        // Directly after the scheme: the same text may occur elsewhere.
        Some((secret, (scheme, rest))) => format!("{scheme}://***{}", &rest[secret.len()..]),
        None => source.to_owned(),
    }
}

/// The part of a URL before the host, which may contain a password.
pub fn userinfo(source: &str) -> Option<&str> {
    let (scheme, rest) = source.split_once("://")?;
    let authority = rest.split(['/', '#', '?']).next()?;
    let (user, _) = authority.rsplit_once('@')?;
    // The user of ssh is not a secret; it is usually `git`.
    (!user.is_empty() && (scheme.starts_with("http") || user.contains(':'))).then_some(user)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(source: &str) -> (String, Option<String>, Option<String>) {
        let GitSource { url, tail, name } = GitSource::parse(source);
        (url, tail, name)
    }

    #[test]
    fn sources_are_taken_apart() {
        let some = |text: &str| Some(text.to_owned());
        let cases = [
            ("https://h.example/o/r", "https://h.example/o/r", None, None),
            ("https://h.example/o/r/#n", "https://h.example/o/r", None, some("n")),
            ("https://h.example/o/r/tree/main/s/x", "https://h.example/o/r", some("main/s/x"), None),
            ("https://h.example/o/r/-/tree/v1/#n", "https://h.example/o/r", some("v1"), some("n")),
            (
                "https://h.example/o/r/blob/v1/s/SKILL.md",
                "https://h.example/o/r",
                some("v1/s/SKILL.md"),
                None,
            ),
            ("https://h.example/tree/r", "https://h.example/tree/r", None, None),
            ("git@h.example:o/r.git#n", "git@h.example:o/r.git", None, some("n")),
            ("file:///a/tree/r.git/tree/main/x", "file:///a/tree/r.git", some("main/x"), None),
        ];
        for (source, url, tail, name) in cases {
            assert_eq!(parsed(source), (url.to_owned(), tail, name), "{source}");
        }
    }

    #[test]
    fn the_longest_ref_wins() {
        let refs = ["refs/heads/feat", "refs/heads/feat/x", "refs/tags/v1"].map(str::to_owned);
        assert_eq!(split_tail("feat/x/skills/a", &refs), Some(("refs/heads/feat/x".into(), "skills/a")));
        assert_eq!(split_tail("feat/y", &refs), Some(("refs/heads/feat".into(), "y")));
        assert_eq!(split_tail("v1", &refs), Some(("refs/tags/v1".into(), "")));
        assert_eq!(split_tail("nope/x", &refs), None);
        let commit = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(split_tail(&format!("{commit}/s"), &refs), Some((commit.into(), "s")));
        assert!(GitSource::parse(&format!("https://h.example/o/r/tree/{commit}/s")).is_pinned());
        assert!(!GitSource::parse("https://h.example/o/r/tree/main/s").is_pinned());
    }

    #[test]
    fn passwords_are_not_shown() {
        assert_eq!(without_password("https://u:secret@h.example/o/r#n"), "https://***@h.example/o/r#n");
        assert_eq!(without_password("https://token@h.example/o/r"), "https://***@h.example/o/r");
        assert_eq!(without_password("https://http@h.example/o/r"), "https://***@h.example/o/r");
        for plain in ["ssh://git@h.example/o/r", "git@h.example:o/r", "https://h.example/a@b"] {
            assert_eq!(without_password(plain), plain);
        }
    }
}
