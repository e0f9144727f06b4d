//! Takes out of the frontmatter of a SKILL.md what makes it more than instructions: commands that a harness runs, and
//! permissions. A persona has fields for those. Does not look at the instructions.

use super::frontmatter::unquoted;
use crate::convert::split_frontmatter::{key_of, split_strictly};
use crate::convert::yaml;
use crate::model::shape::Object;
use serde_json::Value;
use std::borrow::Cow;

/// Without `-` and `_`, in lower case. `context` and `agent` run a skill as another agent, with the permissions of that one.
const POWERS: [&str; 7] =
    ["agent", "allowedtools", "context", "hooks", "mcpservers", "permissionmode", "tools"];

/// A text without powers.
#[derive(Debug, PartialEq, Eq)]
pub struct Harmless<'t> {
    pub bytes: Cow<'t, [u8]>,
    /// The keys that were left out.
    pub removed: Vec<String>,
    /// Lines were left out because the block is not valid YAML: nobody knows what a harness would make of them.
    pub is_shortened: bool,
}

/// The keys in the frontmatter that give the skill a power.
pub fn powers_in(text: &str) -> Vec<String> {
    let text = without_marks(text);
    let Some((lines, _)) = split_strictly(text) else { return Vec::new() };
    Block::of(&lines).powers()
}

/// The text with a frontmatter that gives no power, for every reader of YAML. One that has none stays as it is.
pub fn without_powers<'t>(bytes: &'t [u8]) -> Harmless<'t> {
    let unchanged =
        |bytes: &'t [u8]| Harmless { bytes: Cow::Borrowed(bytes), removed: Vec::new(), is_shortened: false };
    let whole = String::from_utf8_lossy(bytes);
    let text = without_marks(&whole);
    let Some((lines, body)) = split_strictly(text) else {
        if !text.starts_with("---") {
            return unchanged(bytes);
        }
        // Some readers end a block in the middle of a line. Behind a block of ours it is a part of the text.
        let mut all = b"---\n---\n\n".to_vec();
        all.extend_from_slice(text.as_bytes());
        return Harmless { bytes: Cow::Owned(all), removed: Vec::new(), is_shortened: false };
    };
    let block = Block::of(&lines);
    if block.is_harmless(&lines) {
        return unchanged(bytes);
    }
    let (kept, is_shortened) = block.kept(&lines);
    let mut all = String::from("---\n");
    for (key, value) in kept {
        all.push_str(&format!("{key}: {}\n", one_line(&value)));
    }
    all.push_str("---\n");
    all.push_str(body);
    Harmless { bytes: Cow::Owned(all.into_bytes()), removed: block.powers(), is_shortened }
}

/// Without byte order marks in front: some readers take away one after another.
fn without_marks(text: &str) -> &str {
    text.trim_start_matches('\u{feff}')
}

/// What the lines between the fences say.
enum Block<'t> {
    Keys(Object),
    /// Not a map, or not valid for our reader: the lines that begin with a key.
    Lines(Vec<(&'t str, &'t str)>),
}

impl<'t> Block<'t> {
    fn of(lines: &[&'t str]) -> Block<'t> {
        let parsed = yaml::parse(&lines.join("\n")).ok().and_then(yaml::Yaml::keys);
        match parsed {
            Some(keys) => Block::Keys(keys.values),
            None => Block::Lines(lines.iter().filter_map(|line| key_and_value(line)).collect()),
        }
    }

    fn powers(&self) -> Vec<String> {
        let mut found: Vec<String> = match self {
            Block::Keys(keys) => keys.keys().filter(|key| is_power(key)).cloned().collect(),
            Block::Lines(lines) => {
                let keys = lines.iter().map(|(key, _)| (*key).to_owned());
                keys.filter(|key| is_power(key)).collect()
            }
        };
        found.dedup();
        found
    }

    /// No reader can find a power in it: not our own, and none that reads only a part of it or line by line.
    fn is_harmless(&self, lines: &[&str]) -> bool {
        let breaks = ['\r', '\u{85}', '\u{2028}', '\u{2029}'];
        let mut all = lines.iter().flat_map(|line| line.split(breaks));
        let looks_like_power = |line: &str| {
            let start = line.trim_start_matches([' ', '\t', '"', '\'', '?', '{']);
            let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            let end = start.find(|c| !word(c)).unwrap_or(start.len());
            let goes_on = start[end..].trim_start_matches(['"', '\'', ' ', '\t']);
            // An explicit key stands alone on its line.
            let is_key = goes_on.starts_with(':') || line.trim_start().starts_with('?');
            is_power(&start[..end]) && is_key
        };
        match self {
            Block::Keys(keys) => !keys.keys().any(|key| is_power(key)) && !all.any(looks_like_power),
            Block::Lines(_) => false,
        }
    }

    /// The keys that stay, and whether anything else is lost.
    fn kept(&self, lines: &[&str]) -> (Vec<(String, Value)>, bool) {
        let is_plain = |key: &str| key_of(&format!("{key}:")).is_some();
        match self {
            Block::Keys(keys) => {
                let stays = |key: &str| is_plain(key) && !is_power(key);
                let kept = keys.iter().filter(|(key, _)| stays(key));
                let kept = kept.map(|(key, value)| (key.clone(), value.clone())).collect();
                (kept, keys.keys().any(|key| !is_plain(key)))
            }
            Block::Lines(simple) => {
                let stays = |(key, value): &&(&str, &str)| !is_power(key) && !matches!(*value, ">" | "|");
                let kept: Vec<(String, Value)> = simple
                    .iter()
                    .filter(stays)
                    .map(|(key, value)| ((*key).to_owned(), Value::from(unquoted(value))))
                    .collect();
                let said = lines.iter().filter(|line| !line.trim().is_empty()).count();
                let powers = simple.iter().filter(|(key, _)| is_power(key)).count();
                let is_shortened = kept.len() + powers < said;
                (kept, is_shortened)
            }
        }
    }
}

fn key_and_value(line: &str) -> Option<(&str, &str)> {
    let key = key_of(line)?;
    Some((key, line[key.len() + 1..].trim()))
}

fn is_power(key: &str) -> bool {
    let plain: String =
        key.trim().chars().filter(|c| !matches!(c, '-' | '_')).map(|c| c.to_ascii_lowercase()).collect();
    POWERS.contains(&plain.as_str())
}

/// JSON, which is YAML, in ASCII: no character of it ends a line for any reader.
fn one_line(value: &Value) -> String {
    let json = value.to_string();
    let mut ascii = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') {
            ascii.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            ascii.push(c);
        }
    }
    ascii
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(text: &str) -> (String, Vec<String>, bool) {
        let Harmless { bytes, removed, is_shortened } = without_powers(text.as_bytes());
        (String::from_utf8(bytes.into_owned()).expect("text"), removed, is_shortened)
    }

    #[test]
    fn powers_are_taken_out_and_the_rest_stays() {
        let text =
            "---\nname: a\nHooks:\n  Stop: []\nmetadata:\n  agent: x\nallowed_tools: [Bash]\n---\nbody ---\n";
        let kept = "---\nname: \"a\"\nmetadata: {\"agent\":\"x\"}\n---\nbody ---\n";
        assert_eq!(
            cleaned(text),
            (kept.to_owned(), vec!["Hooks".to_owned(), "allowed_tools".to_owned()], false)
        );
        assert_eq!(powers_in(text), ["Hooks", "allowed_tools"]);
    }

    #[test]
    fn marks_in_front_hide_no_powers() {
        let text = "\u{feff}\u{feff}---\nname: a\nhooks: x\n---\n";
        assert_eq!(cleaned(text).0, "---\nname: \"a\"\n---\n");
        assert_eq!(powers_in(text), ["hooks"]);
    }

    #[test]
    fn what_has_no_powers_stays_byte_for_byte() {
        for text in [
            "---\nname: a\ndescription: >\n  for the agent: and its\n  context\n---\nx\r\n",
            "no block\n",
            "---\nname: a\nagents: [b]\n---\n",
            "\u{feff}---\nname: a\n---\n",
        ] {
            assert_eq!(cleaned(text), (text.to_owned(), Vec::new(), false));
        }
    }

    #[test]
    fn lines_that_are_no_yaml_are_written_so_that_they_are() {
        assert_eq!(
            cleaned("---\nname: a\ndescription: Use when: b\nhooks: {x\n---\n"),
            (
                "---\nname: \"a\"\ndescription: \"Use when: b\"\n---\n".to_owned(),
                vec!["hooks".to_owned()],
                false
            )
        );
        let (text, removed, is_shortened) = cleaned("---\nname: a: b\n  more\n---\n");
        assert_eq!((text.as_str(), removed.len(), is_shortened), ("---\nname: \"a: b\"\n---\n", 0, true));
    }

    #[test]
    fn a_block_that_only_some_readers_find_is_text() {
        let text = "---\nhooks: {} ---\nbody";
        assert_eq!(cleaned(text).0, format!("---\n---\n\n{text}"));
    }
}
