//! The frontmatter of a SKILL.md: reads the name, and adds the keys that harnesses require. Works on lines with top-level
//! keys and keeps every other line unchanged, because the text must stay what its author wrote.

use crate::convert::split_frontmatter::{key_of, split_strictly};

/// A name that every harness accepts: lower-case letters and digits with single hyphens, at most 64 characters.
/// opencode refuses anything else and requires a directory of the same name.
pub fn plain_name(text: &str) -> Option<String> {
    let mut name = String::new();
    for c in text.trim().chars() {
        match c.to_ascii_lowercase() {
            c @ ('a'..='z' | '0'..='9') => name.push(c),
            _ if !name.is_empty() && !name.ends_with('-') => name.push('-'),
            _ => {}
        }
    }
    name.truncate(64);
    name.truncate(name.trim_end_matches('-').len());
    (!name.is_empty()).then_some(name)
}

/// The name in SKILL.md.
pub fn name_in(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let value = Parts::of(&text).value("name")?;
    let value = unquoted(value);
    (!value.is_empty()).then(|| value.to_owned())
}

/// A value without the marks around it.
pub(super) fn unquoted(value: &str) -> &str {
    let quoted = |mark: char| value.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark));
    quoted('"').or_else(|| quoted('\'')).unwrap_or(value).trim()
}

/// The text with this name and with a description. Missing keys are added, another name is replaced, and where there is
/// no frontmatter, one is added.
pub fn completed(bytes: &[u8], name: &str, description: &str) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        // Not UTF-8: the frontmatter is added in front, once.
        if name_in(bytes).as_deref() == Some(name)
            && Parts::of(&String::from_utf8_lossy(bytes)).has("description")
        {
            return bytes.to_vec();
        }
        let mut all = block(name, description).into_bytes();
        all.extend_from_slice(bytes);
        return all;
    };
    let parts = Parts::of(text);
    let Some(lines) = &parts.lines else {
        return (block(name, description) + parts.body).into_bytes();
    };
    let keeps_name = name_in(bytes).as_deref() == Some(name);
    let mut result = String::from("---\n");
    if !keeps_name {
        result.push_str(&format!("name: {name}\n"));
    }
    if !parts.has("description") {
        result.push_str(&format!("description: {}\n", quoted(description)));
    }
    let mut is_dropped = false;
    for line in lines {
        let goes_on = line.starts_with([' ', '\t']);
        is_dropped = match key_of(line) {
            Some("name") => !keeps_name,
            Some("description") => !parts.has("description"),
            _ => is_dropped && goes_on,
        };
        if !is_dropped {
            result.push_str(line.trim_end_matches('\r'));
            result.push('\n');
        }
    }
    result.push_str("---\n");
    result.push_str(parts.body);
    result.into_bytes()
}

/// The first line of a text, for a skill without a description.
pub fn first_words(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let line = Parts::of(&text).body.lines().map(|line| line.trim_start_matches('#').trim().to_owned());
    line.into_iter().find(|line| !line.is_empty())
}

fn block(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {}\n---\n\n", quoted(description))
}

/// One line in double quotes, which YAML reads like JSON. Harnesses accept at most 1024 characters.
fn quoted(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line: String = line.chars().take(1024).collect();
    serde_json::to_string(&line).expect("text is JSON")
}

/// The lines of the frontmatter, if there is any, and the body.
struct Parts<'t> {
    lines: Option<Vec<&'t str>>,
    body: &'t str,
}

impl<'t> Parts<'t> {
    fn of(text: &'t str) -> Parts<'t> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        match split_strictly(text) {
            Some((lines, body)) => Parts { lines: Some(lines), body },
            None => Parts { lines: None, body: text },
        }
    }

    fn has(&self, key: &str) -> bool {
        let lines = self.lines.as_deref().unwrap_or_default();
        let Some(at) = lines.iter().position(|line| key_of(line) == Some(key)) else { return false };
        // `description:` has no value, unless indented lines follow.
        let goes_on = lines.get(at + 1).is_some_and(|line| line.starts_with([' ', '\t']));
        self.value(key).is_some() || goes_on
    }

    fn value(&self, key: &str) -> Option<&'t str> {
        let lines = self.lines.as_deref()?;
        let line = lines.iter().find(|line| key_of(line) == Some(key))?;
        line.split_once(':').map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn completed_text(text: &str) -> String {
        String::from_utf8(completed(text.as_bytes(), "my-skill", "does \"x\"")).unwrap()
    }

    #[test]
    fn names_are_what_every_harness_takes() {
        let cases = [
            ("my-skill", Some("my-skill")),
            ("My  Skill_v2!", Some("my-skill-v2")),
            ("../../etc", Some("etc")),
            ("--a--", Some("a")),
            ("@scope/name", Some("scope-name")),
            ("é", None),
            ("", None),
        ];
        for (text, name) in cases {
            assert_eq!(plain_name(text).as_deref(), name, "{text}");
        }
        assert_eq!(plain_name(&"a-".repeat(50)).unwrap().len(), 63);
    }

    #[test]
    fn a_text_without_a_block_gets_one_and_keeps_every_byte() {
        assert_eq!(
            completed_text("# Title\n"),
            "---\nname: my-skill\ndescription: \"does \\\"x\\\"\"\n---\n\n# Title\n"
        );
        let unclosed = "---\nname: a\nbody";
        assert!(completed_text(unclosed).ends_with(unclosed));
    }

    #[test]
    fn what_is_missing_is_added_and_what_is_there_stays() {
        assert_eq!(
            completed_text("---\nname: my-skill\nlicense: MIT\nmetadata:\n  name: other\n---\nbody\n"),
            "---\ndescription: \"does \\\"x\\\"\"\nname: my-skill\nlicense: MIT\nmetadata:\n  name: other\n---\nbody\n"
        );
        let whole = "---\nname: my-skill\ndescription: >\n  long\n  text\n---\nbody\n";
        assert_eq!(completed_text(whole), whole);
        assert_eq!(
            completed_text("---\r\nname: \"Other Name\"\r\ndescription: d\r\n---\r\nbody\r\n"),
            "---\nname: my-skill\ndescription: d\n---\nbody\r\n"
        );
        assert_eq!(
            completed_text("---\nname:\ndescription: d\n---\n"),
            "---\nname: my-skill\ndescription: d\n---\n"
        );
    }

    #[test]
    fn what_is_no_text_gets_one_block_and_not_a_second() {
        let once = completed(b"\xff\xfe---\nname: x\n", "my-skill", "d");
        assert!(once.ends_with(b"---\n\n\xff\xfe---\nname: x\n"));
        assert_eq!(completed(&once, "my-skill", "d"), once);
    }

    #[test]
    fn the_own_name_of_a_skill_is_found() {
        assert_eq!(name_in(b"---\nname: 'a b'\n---\n").as_deref(), Some("a b"));
        assert_eq!(name_in(b"\xef\xbb\xbf---\nname: x\n---\n").as_deref(), Some("x"));
        assert_eq!(name_in(b"name: x\n"), None);
        assert_eq!(first_words(b"---\nname: x\n---\n\n# Does it\n").as_deref(), Some("Does it"));
    }

    proptest! {
        #[test]
        fn completing_loses_no_body_and_is_done_once(text in "(---\n)?([a-z]{0,5}:? ?[a-z\"]{0,5}\n){0,4}(---\n)?[ -~\n]{0,40}") {
            let once = completed(text.as_bytes(), "n", "d");
            prop_assert_eq!(name_in(&once), Some("n".to_owned()));
            let body = Parts::of(&text).body.to_owned();
            prop_assert!(String::from_utf8(once.clone()).unwrap().ends_with(&body));
            prop_assert_eq!(completed(&once, "n", "d"), once);
        }
    }
}
