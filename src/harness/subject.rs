//! What a tool works on, in a few words: the path or the command in its input.

use super::events::text;
use serde_json::Value;

/// Enough to recognise a command, and short enough for a line in a terminal.
const LONGEST: usize = 120;

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

/// One line of at most 120 characters.
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
        assert_eq!((long.chars().count(), long.ends_with("é…")), (120, true));
        assert_eq!(short(&"x".repeat(120)), "x".repeat(120));
        assert!(short(&"word ".repeat(100_000)).chars().count() <= 120);
    }
}
