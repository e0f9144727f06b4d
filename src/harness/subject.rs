//! What a tool works on, in a few words: the path or the command in its input.

use super::events::text;
use serde_json::Value;

/// Enough for a command or a long path. A path gets shorter where it is shown: there it is relative to the project.
const LONGEST: usize = 500;

/// The inputs that describe a call best, in order of preference; the spellings of all harnesses.
const KEYS: [&str; 14] = [
    "file_path",
    "filePath",
    "notebook_path",
    "command",
    "cmd",
    "path",
    "pattern",
    "url",
    "query",
    "skill",
    "name",
    "subagent_type",
    "description",
    "prompt",
];

pub fn of_input(input: &Value) -> Option<String> {
    KEYS.iter().find_map(|key| text(&input[*key])).map(short)
}

/// One line of limited length.
pub fn short(long: &str) -> String {
    let mut words = String::new();
    for word in long.split_whitespace() {
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
        // Commands can contain whole files; there is no need to read all of it.
        if words.len() > LONGEST * 4 {
            break;
        }
    }
    match words.char_indices().nth(LONGEST) {
        None => words,
        Some(_) => {
            let kept: String = words.chars().take(LONGEST - 1).collect();
            format!("{}…", kept.trim_end())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_path_or_the_command_is_the_subject() {
        let of = |input: Value| of_input(&input);
        assert_eq!(of(json!({"content": "x", "file_path": "/a/b"})), Some("/a/b".into()));
        assert_eq!(of(json!({"description": "List", "command": "ls\n  -l"})), Some("ls -l".into()));
        assert_eq!(of(json!({"command": ["ls"], "description": "List"})), Some("List".into()));
        assert_eq!(of(json!({"command": ""})), None);
        assert_eq!(of(json!("text")), None);
        assert_eq!(of(Value::Null), None);
    }

    #[test]
    fn long_ones_are_cut_between_characters() {
        let long = short(&"é".repeat(10_000));
        assert_eq!((long.chars().count(), long.ends_with("é…")), (LONGEST, true));
        assert_eq!(short(&"x".repeat(LONGEST)), "x".repeat(LONGEST));
        assert!(short(&"word ".repeat(100_000)).chars().count() <= LONGEST);
    }
}
