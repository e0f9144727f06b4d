//! Finds the files that a persona or a role names in its JSON, and rewrites these paths without changing any other byte.

use crate::model::plan::SkillKind;
use crate::model::shape::{KeyPath, Object, Step};
use crate::model::skill_source::kind_of;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferenceKind {
    /// A `.md` beside the JSON.
    Text,
    /// A directory with SKILL.md, or a `.md`.
    Skill,
}

#[derive(Debug, Clone)]
pub struct Reference {
    pub at: KeyPath,
    pub path: String,
    pub kind: ReferenceKind,
}

/// The files that a persona names, in the order of its JSON.
pub fn of_persona(object: &Object) -> Vec<Reference> {
    let mut found = Vec::new();
    for (key, value) in object {
        let at = KeyPath::default().key(key);
        match (key.as_str(), value) {
            ("claudeMd" | "agentsMd", Value::String(path)) => found.push(text(at, path)),
            ("tiers", Value::Object(tiers)) => {
                for (tier, runtime) in tiers {
                    let Value::Object(runtime) = runtime else { continue };
                    for (key, value) in runtime {
                        if let ("claudeMd" | "agentsMd", Value::String(path)) = (key.as_str(), value) {
                            found.push(text(at.key(tier).key(key), path));
                        }
                    }
                }
            }
            ("skills", Value::Array(skills)) => {
                for (index, skill) in skills.iter().enumerate() {
                    let Some(Value::String(source)) = skill.get("source") else { continue };
                    if is_local(source) {
                        let at = at.index(index).key("source");
                        found.push(Reference { at, path: source.clone(), kind: ReferenceKind::Skill });
                    }
                }
            }
            _ => {}
        }
    }
    found
}

/// The files that a role names.
pub fn of_role(object: &Object) -> Vec<Reference> {
    match object.get("charterFile") {
        Some(Value::String(path)) => vec![text(KeyPath::default().key("charterFile"), path)],
        _ => Vec::new(),
    }
}

fn text(at: KeyPath, path: &str) -> Reference {
    Reference { at, path: path.to_owned(), kind: ReferenceKind::Text }
}

/// A source that means something else on another machine, including the path of a repository.
fn is_local(source: &str) -> bool {
    if is_file_url(source) {
        return true;
    }
    match kind_of(source) {
        SkillKind::Local => true,
        SkillKind::Git => source.starts_with(['.', '/', '~']),
        _ => false,
    }
}

/// A local path as a URL.
pub fn is_file_url(source: &str) -> bool {
    let source = source.to_ascii_lowercase();
    source.strip_prefix("git+").unwrap_or(&source).starts_with("file:")
}

/// The JSON with new texts at these keys and every other byte unchanged.
pub fn rewrite(text: &str, changes: &[(KeyPath, String)]) -> String {
    let mut spans: Vec<(usize, usize, &str)> = changes
        .iter()
        .filter_map(|(at, new)| {
            let (start, end) = span(text, at)?;
            Some((start, end, new.as_str()))
        })
        .collect();
    spans.sort_unstable();
    let mut result = String::with_capacity(text.len());
    let mut from = 0;
    for (start, end, new) in spans {
        result.push_str(&text[from..start]);
        result.push_str(&Value::from(new).to_string());
        from = end;
    }
    result.push_str(&text[from..]);
    result
}

/// The byte range of a value in the text.
fn span(text: &str, path: &KeyPath) -> Option<(usize, usize)> {
    let mut here = text.trim();
    for step in &path.0 {
        here = match step {
            Step::Key(key) => {
                let mut object: BTreeMap<String, &RawValue> = serde_json::from_str(here).ok()?;
                object.remove(key)?.get()
            }
            Step::Index(index) => {
                let list: Vec<&RawValue> = serde_json::from_str(here).ok()?;
                list.get(*index)?.get()
            }
        };
    }
    let start = here.as_ptr() as usize - text.as_ptr() as usize;
    Some((start, start + here.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERSONA: &str = "{\n  \"z\": 1.50,\n\t\"agentsMd\" : \"./a.md\",\n  \"skills\": [\"word\", {\"id\":\"s\", \
        \"source\":\"./s/x.md\"}, {\"source\":\"@scope/p\"}],\n  \"tiers\": {\"best\": {\"claudeMd\": \"b\\u002emd\"}}, \
        \"a\": 1e400\n}";

    #[test]
    fn references_are_found_in_order_and_changed_in_place() {
        let object = serde_json::from_str(&PERSONA.replace("1e400", "1")).unwrap();
        let found = of_persona(&object);
        let shown: Vec<String> =
            found.iter().map(|reference| format!("{}={}", reference.at, reference.path)).collect();
        assert_eq!(shown, ["agentsMd=./a.md", "skills[1].source=./s/x.md", "tiers.best.claudeMd=b.md"]);
        let changes: Vec<(KeyPath, String)> =
            found.into_iter().enumerate().map(|(n, reference)| (reference.at, format!("n\"{n}"))).collect();
        let expected = PERSONA
            .replace("\"./a.md\"", r#""n\"0""#)
            .replace("\"./s/x.md\"", r#""n\"1""#)
            .replace("\"b\\u002emd\"", r#""n\"2""#);
        assert_eq!(rewrite(PERSONA, &changes), expected);
    }

    #[test]
    fn repositories_named_by_path_are_local() {
        for (source, local) in [
            ("./r.git", true),
            ("~/s", true),
            ("s/x.md", true),
            ("file:///s", true),
            ("git+file:///s", true),
            ("https://h.example/o/r", false),
            ("a/b", false),
        ] {
            assert_eq!(is_local(source), local, "{source}");
        }
    }
}
