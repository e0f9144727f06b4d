//! Marks that people put into the text of a task: to skip TDD, to ask an advisor first. And the id made from a task.

use crate::model::contract::Contract;

/// Longest id that is made from a task: it becomes a directory and a branch.
const MAX_ID: usize = 48;

const ADVISOR: &str = "<!-- advisor:required -->";

/// What a task says about TDD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TddMark {
    /// Skipped, for this reason.
    Skip(String),
    /// `[skip:tdd]` or `[tdd:skip]`: the reason has to be given elsewhere.
    SkipWithoutReason,
}

/// `[tdd:skip:reason]` and `[skip:tdd]` in a text; a mark with a reason comes before one without.
pub fn tdd_mark(text: &str) -> Option<TddMark> {
    let mut bare = false;
    for (start, _) in text.match_indices('[') {
        let rest = &text[start + 1..];
        let line = rest.split(['\n', '[']).next().unwrap_or_default();
        let Some(inner) = line.split_once(']').map(|(inner, _)| inner.trim()) else { continue };
        let lower = inner.to_ascii_lowercase();
        if lower == "skip:tdd" || lower == "tdd:skip" {
            bare = true;
        } else if lower.starts_with("tdd:skip:") || lower.starts_with("skip:tdd:") {
            let reason = inner["tdd:skip:".len()..].trim();
            if reason.is_empty() {
                bare = true;
            } else {
                return Some(TddMark::Skip(reason.to_owned()));
            }
        }
    }
    bare.then_some(TddMark::SkipWithoutReason)
}

/// Whether a text asks for advice before anything is launched. Spaces within the mark do not matter.
pub fn has_advisor_mark(text: &str) -> bool {
    if text.contains(ADVISOR) {
        return true;
    }
    text.match_indices("<!--").any(|(start, mark)| {
        let rest = text[start + mark.len()..].trim_start();
        let Some(rest) = rest.strip_prefix("advisor:") else { return false };
        rest.trim_start().strip_prefix("required").is_some_and(|rest| rest.trim_start().starts_with("-->"))
    })
}

/// Whether a contract asks for advice before anything is launched: the mark in its task, context, or definition of done, or a risk
/// flag.
pub fn needs_advice_first(contract: &Contract) -> bool {
    let done = contract.definition_of_done.iter().map(|item| item.text.as_str());
    let other = contract.unknown.values().filter_map(serde_json::Value::as_str);
    let texts = [contract.task.as_str(), contract.context.as_deref().unwrap_or_default()];
    !contract.risk_flags.is_empty()
        || texts
            .into_iter()
            .chain(done)
            .chain(contract.non_goals.iter().map(String::as_str))
            .chain(other)
            .any(has_advisor_mark)
}

/// Whether TDD counts for a contract: it asks for it, the config does not switch it off, and nothing skips it.
pub fn tdd_counts(contract: &Contract, is_enforced: bool) -> bool {
    is_enforced && contract.tdd_required && contract.skip_tdd_reason.is_none()
}

/// An id from the text of a task: `Fix the login lockout!` is `fix-the-login-lockout`.
pub fn task_id_of(task: &str) -> String {
    let mut id = String::new();
    for c in without_marks(task).chars() {
        if id.len() >= MAX_ID {
            break;
        }
        if c.is_ascii_alphanumeric() {
            id.push(c.to_ascii_lowercase());
        } else if !id.is_empty() && !id.ends_with('-') && c != '\'' {
            id.push('-');
        }
    }
    // Not in the middle of a word, if that leaves enough.
    if id.len() >= MAX_ID
        && let Some(end) = id.rfind('-').filter(|end| *end >= MAX_ID / 2)
    {
        id.truncate(end);
    }
    let id = id.trim_matches('-');
    if id.is_empty() { fallback_id(task) } else { id.to_owned() }
}

/// Of a task without any ASCII letter or digit: still the same id for the same task.
fn fallback_id(task: &str) -> String {
    let hash = blake3::hash(task.as_bytes()).to_hex();
    format!("task-{}", &hash.as_str()[..8])
}

fn without_marks(task: &str) -> String {
    let first_line =
        task.lines().map(str::trim).find(|line| line.chars().any(char::is_alphanumeric)).unwrap_or_default();
    let mut plain = String::new();
    let mut rest = first_line;
    while let Some(start) = rest.find("[tdd:skip").or_else(|| rest.find("[skip:tdd")) {
        plain.push_str(&rest[..start]);
        let Some(end) = rest[start..].find(']') else { return plain };
        rest = &rest[start + end + 1..];
    }
    plain.push_str(rest);
    plain.replace(ADVISOR, " ")
}

/// What is wrong with an id. It becomes a file name and the name of a branch.
pub fn id_problem(id: &str) -> Option<String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if let Some(bad) = id.chars().find(|c| !allowed(*c)) {
        return Some(format!("must consist of letters, digits, `.`, `_` and `-`; it has {bad:?}"));
    }
    if id.is_empty() {
        return Some("must not be empty".into());
    }
    if id.len() > 128 {
        return Some("must be at most 128 characters long".into());
    }
    let ends_badly = id.ends_with('.') || id.to_ascii_lowercase().ends_with(".lock");
    if id.starts_with(['-', '.']) || id.contains("..") || ends_badly {
        return Some(
            "must not begin with `-` or `.`, contain `..`, or end in `.` or `.lock`: it becomes a branch"
                .into(),
        );
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_may_skip_tdd_with_a_reason() {
        let reason = |text: &str| Some(TddMark::Skip(text.to_owned()));
        let cases = [
            ("rename it [tdd:skip:docs only]", reason("docs only")),
            ("[skip:tdd] rename it", Some(TddMark::SkipWithoutReason)),
            ("[tdd:skip: ] rename it", Some(TddMark::SkipWithoutReason)),
            ("[skip:tdd] and [TDD:skip:mechanical]", reason("mechanical")),
            ("[x] a [tdd] test", None),
            ("[tdd:skip:never closed", None),
            ("é[", None),
        ];
        for (text, expected) in cases {
            assert_eq!(tdd_mark(text), expected, "{text}");
        }
    }

    #[test]
    fn the_mark_for_advice_is_a_comment_not_a_word() {
        for text in [
            "a <!-- advisor:required --> b",
            "<!--advisor:required-->",
            "<!-- x --><!--  advisor: required  -->",
        ] {
            assert!(has_advisor_mark(text), "{text}");
        }
        for text in ["advisor:required", "<!-- advisor:optional -->", "<!-- advisor:required", "<!--", ""] {
            assert!(!has_advisor_mark(text), "{text}");
        }
    }

    #[test]
    fn an_id_is_made_from_the_task() {
        let cases = [
            ("Fix the login lockout!", "fix-the-login-lockout"),
            ("  don't   break\nmore", "dont-break"),
            ("rename [tdd:skip:docs only] it", "rename-it"),
            ("add <!-- advisor:required --> x", "add-x"),
            (
                "a very long task text that goes on and on and on for ever",
                "a-very-long-task-text-that-goes-on-and-on-and",
            ),
            ("../../etc/passwd", "etc-passwd"),
        ];
        for (task, expected) in cases {
            assert_eq!(task_id_of(task), expected);
            assert_eq!(id_problem(expected), None);
        }
        assert!(task_id_of("日本語").starts_with("task-") && id_problem(&task_id_of("日本語")).is_none());
        assert!(task_id_of(&"x".repeat(1_000_000)).len() <= MAX_ID);
    }

    #[test]
    fn ids_are_names_of_branches() {
        for id in ["fix-login", "T1.2", "_x", "42"] {
            assert_eq!(id_problem(id), None, "{id}");
        }
        for id in ["", "a b", "../x", ".x", "a..b", "x.lock", "-x", "x.", "é", &"x".repeat(200)] {
            assert!(id_problem(id).is_some(), "{id}");
        }
    }
}
