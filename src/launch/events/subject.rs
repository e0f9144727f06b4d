//! What a tool works on, in a few words: the path or the command out of its input.

use serde_json::Value;

/// Enough to recognise a command by, and it still fits in a line of a terminal.
const LONGEST: usize = 120;

/// The inputs that say most about a call, the best first; spellings of all harnesses.
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
    KEYS.iter().find_map(|key| super::text(&input[*key])).map(short)
}

/// One line of at most 120 characters.
pub fn short(text: &str) -> String {
    let mut words = String::new();
    for word in text.split_whitespace() {
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
        // Commands can hold whole files; there is no need to walk through them.
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
