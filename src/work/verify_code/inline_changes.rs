//! What became of the inline tests of Rust that were there: they stand in the code that they test, so those of the base cannot be put
//! back and run. They are compared instead, by name.

use crate::work::evidence::{ChangeSet, ChangedFile};
use crate::work::path_kind::is_test;
use crate::work::source::{Language, functions, inline_tests, tokens};
use std::collections::{BTreeMap, HashMap, HashSet};

/// A test, or what stands beside it, that says something else than before.
pub struct InlineChange {
    /// `src/lib.rs: …`
    pub line: String,
    /// An assertion or an expected value is not what it was; else the test was only written anew around them.
    pub is_bent: bool,
}

const DEFINES: [&str; 9] = ["fn", "let", "mut", "const", "static", "struct", "enum", "trait", "type"];
/// In place of a name that the work changed throughout.
const RENAMED: &str = "\0";

/// The inline tests of the base that changed, those that were moved included. Added ones and other layouts are no change.
pub fn inline_changes(changes: &ChangeSet) -> Vec<InlineChange> {
    let sides: Vec<Side> = changes.files.iter().filter_map(|file| Side::of(changes, file)).collect();
    let mut moved: HashMap<&str, Vec<&Body>> = HashMap::new();
    for side in &sides {
        for body in side.after.iter().filter(|body| side.before.iter().all(|old| old.name != body.name)) {
            moved.entry(body.name.as_str()).or_default().push(body);
        }
    }
    let mut found = Vec::new();
    for side in sides.iter().filter(|side| side.is_inline) {
        for (index, old) in side.before.iter().enumerate() {
            let mut own: Vec<&Body> = side.after.iter().filter(|body| body.name == old.name).collect();
            if own.len() > 1 {
                // The same name in several modules.
                let before = side.before[..index].iter().filter(|body| body.name == old.name).count();
                own = match own.iter().find(|body| body.tokens == old.tokens) {
                    Some(same) => vec![same],
                    None => own.into_iter().skip(before).take(1).collect(),
                };
            }
            if own.is_empty() {
                own = moved.get(old.name.as_str()).cloned().unwrap_or_default();
            }
            let judged = own.iter().map(|new| side.compared(old, new));
            if let Some(Some((is_bent, what))) =
                judged.min_by_key(|judged| judged.as_ref().map(|(bent, _)| *bent))
            {
                found.push(InlineChange { line: format!("{}: `{}` {what}", side.name, old.name), is_bent });
            }
        }
        for (name, value) in &side.constants_before {
            if side.constants_after.get(name).is_some_and(|now| now != value) {
                let line = format!("{}: `{name}` of the inline tests has another value", side.name);
                found.push(InlineChange { line, is_bent: true });
            }
        }
    }
    found
}

struct Body {
    name: String,
    tokens: Vec<String>,
}

struct Side {
    name: String,
    is_inline: bool,
    before: Vec<Body>,
    after: Vec<Body>,
    constants_before: BTreeMap<String, String>,
    constants_after: BTreeMap<String, String>,
    /// Names that the whole file had and defines no more, and those that it defines now and had not.
    lost: HashSet<String>,
    gained: HashSet<String>,
}

impl Side {
    fn of(changes: &ChangeSet, file: &ChangedFile) -> Option<Side> {
        let name = file.name().into_owned();
        if Language::of(&name) != Some(Language::Rust) {
            return None;
        }
        let old_name = || {
            let from = file.renamed_from.as_ref()?;
            changes.files.iter().find(|other| &other.path == from)?.text_before()
        };
        let before = file.text_before().or_else(old_name).unwrap_or("");
        let after = file.text_after().unwrap_or("");
        let (all_before, all_after) = (words(before), words(after));
        let only = |some: &[String], others: &[String]| -> HashSet<String> {
            let others: HashSet<&String> = others.iter().collect();
            defined(some).into_iter().filter(|name| !others.contains(name)).collect()
        };
        let is_inline = !is_test(&name);
        Some(Side {
            before: bodies(before, is_inline),
            after: bodies(after, is_inline),
            constants_before: constants(before, is_inline),
            constants_after: constants(after, is_inline),
            lost: only(&all_before, &all_after),
            gained: only(&all_after, &all_before),
            is_inline,
            name,
        })
    }

    /// Nothing where nothing was lost; else whether the test was bent, and how. By the names as they are, or as they were changed.
    fn compared(&self, old: &Body, new: &Body) -> Option<(bool, String)> {
        let plain = compared(&old.tokens, &new.tokens)?;
        let renamed = compared(&without(&old.tokens, &self.lost), &without(&new.tokens, &self.gained))?;
        Some(if renamed.0 { plain } else { renamed })
    }
}

fn compared(old: &[String], new: &[String]) -> Option<(bool, String)> {
    if old == new {
        return None;
    }
    let (before, after) = (Statements::of(old), Statements::of(new));
    let mut left = after.assertions.clone();
    for assertion in &before.assertions {
        match left.iter().position(|other| other == assertion) {
            Some(at) => drop(left.swap_remove(at)),
            None => return Some((true, format!("no longer has `{}`", readable(assertion)))),
        }
    }
    let asserted: HashSet<&String> = before.assertions.iter().flatten().collect();
    for pair in new.windows(2).filter(|pair| pair[0] == "let" && asserted.contains(&pair[1])) {
        if !old.windows(2).any(|other| other == pair) {
            return Some((true, format!("defines `{}` anew", pair[1])));
        }
    }
    let is_gone = |statement: &&Vec<String>| !after.others.contains(statement);
    let gone: Vec<&Vec<String>> = before.others.iter().filter(is_gone).collect();
    let shape = |statement: &[String]| -> Vec<String> {
        statement.iter().map(|token| if is_literal(token) { "0".into() } else { token.clone() }).collect()
    };
    let shapes: HashSet<Vec<String>> = after
        .others
        .iter()
        .filter(|other| !before.others.contains(other))
        .map(|other| shape(other))
        .collect();
    let is_value = |statement: &&&Vec<String>| {
        shapes.contains(&shape(statement)) && statement.iter().any(|token| is_literal(token))
            || is_plain_value(statement)
    };
    if let Some(statement) = gone.iter().find(is_value) {
        return Some((true, format!("has another value in place of `{}`", readable(statement))));
    }
    (!gone.is_empty()).then(|| (false, "was written anew around its assertions".to_owned()))
}

fn words(text: &str) -> Vec<String> {
    tokens(text, Language::Rust).into_iter().filter(|token| token != "\n").collect()
}

fn without(tokens: &[String], renamed: &HashSet<String>) -> Vec<String> {
    tokens
        .iter()
        .map(|token| if renamed.contains(token) { RENAMED.to_owned() } else { token.clone() })
        .collect()
}

/// Names that a text defines.
fn defined(tokens: &[String]) -> HashSet<String> {
    let is_name = |token: &str| token.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let by_word = tokens.windows(2).filter(|pair| DEFINES.contains(&pair[0].as_str())).map(|pair| &pair[1]);
    let fields = tokens.windows(3).filter(|three| three[1] == ":" && three[2] != ":").map(|three| &three[0]);
    by_word.chain(fields).filter(|name| is_name(name) && *name != "mut").cloned().collect()
}

/// The functions of a file that only its tests have; in a test file all.
fn bodies(text: &str, is_inline: bool) -> Vec<Body> {
    let ranges = inline_tests(text);
    let is_inside = |at: usize| !is_inline || ranges.iter().any(|range| range.contains(&at));
    let mut budget = text.len().saturating_mul(4);
    let mut found = Vec::new();
    for function in functions(text, Language::Rust) {
        if !is_inside(function.header.start) {
            continue;
        }
        let Some(left) = budget.checked_sub(function.body.len()) else { break };
        budget = left;
        let mut tokens = words(text.get(function.body.clone()).unwrap_or(""));
        if let Some(expected) = should_panic(text, function.header.start) {
            tokens.splice(0..0, expected);
        }
        found.push(Body { name: function.name, tokens });
    }
    found
}

/// The attribute above a test that expects a panic, written as an assertion.
fn should_panic(text: &str, at: usize) -> Option<Vec<String>> {
    let from = (at.saturating_sub(600)..at).find(|from| text.is_char_boundary(*from))?;
    let before = text.get(from..at)?;
    let start = before.rfind("#[should_panic")?;
    let attribute = words(&before[start..]);
    let end = attribute.iter().position(|token| token == "]")?;
    if attribute[end..].iter().any(|token| matches!(token.as_str(), "{" | "}" | ";")) {
        return None;
    }
    let inside = attribute[3..end].iter().filter(|token| !matches!(token.as_str(), "(" | ")")).cloned();
    let around = |text: &[&str]| text.iter().map(|token| (*token).to_owned()).collect::<Vec<_>>();
    Some([around(&["assert_panics", "!", "("]), inside.collect(), around(&[")", ";"])].concat())
}

/// `const` and `static` of the inline tests.
fn constants(text: &str, is_inline: bool) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for range in inline_tests(text).into_iter().filter(|_| is_inline) {
        let tokens = words(text.get(range).unwrap_or(""));
        for (at, three) in tokens.windows(3).enumerate() {
            if matches!(three[0].as_str(), "const" | "static") && three[2] == ":" {
                let value = tokens[at + 3..].iter().take(2000).skip_while(|token| *token != "=");
                let value: Vec<&str> = value.take_while(|token| *token != ";").map(String::as_str).collect();
                found.insert(three[1].clone(), value.join(" ").replace(", ]", " ]"));
            }
        }
    }
    found
}

fn is_literal(token: &str) -> bool {
    token.starts_with(|c: char| c == '"' || c.is_ascii_digit()) || matches!(token, "true" | "false")
}

/// `let expected = 2`: names no code.
fn is_plain_value(statement: &[String]) -> bool {
    let Some(at) = statement.iter().position(|token| token == "=") else { return false };
    let is_word = |token: &String| token.starts_with(|c: char| c.is_alphabetic() || c == '_');
    statement[0] == "let" && !statement[at + 1..].iter().any(|token| is_word(token) && !is_literal(token))
}

fn readable(tokens: &[String]) -> String {
    let text: Vec<String> = tokens
        .iter()
        .map(|token| if token.starts_with('"') { format!("{token}\"") } else { token.replace(RENAMED, "…") })
        .collect();
    text.join(" ")
}

/// A body as what it asserts and what else it does.
struct Statements {
    assertions: Vec<Vec<String>>,
    others: Vec<Vec<String>>,
}

impl Statements {
    fn of(tokens: &[String]) -> Statements {
        let (mut assertions, mut others) = (Vec::new(), Vec::new());
        let mut statement: Vec<String> = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            let token = tokens[at].as_str();
            let is_macro = tokens.get(at + 1).is_some_and(|next| next == "!")
                && tokens.get(at + 2).is_some_and(|next| matches!(next.as_str(), "(" | "[" | "{"));
            let named = ["assert", "prop_assert", "debug_assert"].iter().any(|name| token.starts_with(name));
            if is_macro && (named || token == "panic") {
                let (arguments, end) = arguments(tokens, at + 2);
                let kept = match token {
                    "panic" => 0,
                    "assert" | "prop_assert" | "debug_assert" => 1,
                    _ if token.ends_with("_eq") || token.ends_with("_ne") => 2,
                    _ => arguments.len(),
                };
                let mut assertion = vec![token.to_owned()];
                for argument in arguments.into_iter().take(kept) {
                    assertion.push(",".to_owned());
                    assertion.extend(argument);
                }
                assertions.push(assertion);
                at = end;
                continue;
            }
            match token {
                "unwrap_err" | "expect_err" => assertions.push(vec!["unwrap_err".to_owned()]),
                // What it says when it fails is no value.
                "expect" if tokens.get(at + 2).is_some_and(|next| next.starts_with('"')) => {
                    statement.push(token.to_owned());
                    at += 3;
                    continue;
                }
                ";" | "{" | "}" => {
                    others.extend((!statement.is_empty()).then(|| std::mem::take(&mut statement)));
                    at += 1;
                    continue;
                }
                // A comma at the end of a list is layout.
                "," if tokens.get(at + 1).is_none_or(|next| matches!(next.as_str(), ")" | "]" | "}")) => {
                    at += 1;
                    continue;
                }
                _ => {}
            }
            statement.push(token.to_owned());
            at += 1;
        }
        others.extend((!statement.is_empty()).then_some(statement));
        Statements { assertions, others }
    }
}

/// The arguments between the bracket at `open` and its end, and where it goes on.
fn arguments(tokens: &[String], open: usize) -> (Vec<Vec<String>>, usize) {
    let mut found: Vec<Vec<String>> = vec![Vec::new()];
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            found.retain(|argument| !argument.is_empty());
            return (found, at + 1);
        }
        if at == open {
            continue;
        }
        let closes = tokens.get(at + 1).is_some_and(|next| matches!(next.as_str(), ")" | "]" | "}"));
        match token.as_str() {
            "," if depth == 1 => found.push(Vec::new()),
            "," if closes => {}
            _ => found.last_mut().into_iter().for_each(|last| last.push(token.clone())),
        }
    }
    (found, tokens.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::verify_code::sample::Sample;

    /// `None`: no change; else whether it is bent.
    fn bent(before: &str, after: &str) -> Option<bool> {
        let file = |test: &str| {
            format!(
                "pub fn div(a: u8, b: u8) -> u8 {{ a / b }}\n#[cfg(test)]\nmod tests {{\n    use super::*;\n{test}\n}}\n"
            )
        };
        let sample = Sample::new("cargo test").changed("src/lib.rs", &file(before), &file(after));
        inline_changes(&sample.evidence.changes).into_iter().map(|change| change.is_bent).max()
    }

    const OLD: &str = "    #[test]\n    fn divides() {\n        assert_eq!(div(6, 3), 2);\n    }";

    #[test]
    fn bent_inline_tests_are_found() {
        for new in [
            "assert!(div(6, 3) > 0);",
            "assert_eq!(div(6, 3), 6);",
            "assert_eq!(div(6, 3), 2 + 4);",
            "let div = |_, _| 2;\n        assert_eq!(div(6, 3), 2);",
            "assert_ne!(div(6, 3), 2);",
            "",
        ] {
            let new = OLD.replace("assert_eq!(div(6, 3), 2);", new);
            assert_eq!(bent(OLD, &new), Some(true), "{new}");
        }
        let value = "    #[test]\n    fn a() {\n        let expected = 2;\n        assert_eq!(div(6, 3), expected);\n    }";
        assert_eq!(bent(value, &value.replace("= 2", "= 6")), Some(true));
        assert_eq!(bent(value, &value.replace("= 2", "= 2 * 3")), Some(true));
        let constant =
            "    const TWO: u8 = 2;\n    #[test]\n    fn a() {\n        assert_eq!(div(6, 3), TWO);\n    }";
        assert_eq!(bent(constant, &constant.replace("= 2", "= 6")), Some(true));
        let panics =
            "    #[test]\n    #[should_panic(expected = \"zero\")]\n    fn a() {\n        div(1, 0);\n    }";
        assert_eq!(bent(panics, &panics.replace("(expected = \"zero\")", "")), Some(true));
        let helper = "    fn check(a: u8) {\n        assert_eq!(div(a, 1), a);\n    }\n    #[test]\n    fn a() {\n        check(1);\n    }";
        assert_eq!(bent(helper, &helper.replace("assert_eq!(div(a, 1), a)", "let _ = a")), Some(true));
    }

    #[test]
    fn added_and_laid_out_inline_tests_are_no_change() {
        for new in [
            OLD.replace(
                "assert_eq!(div(6, 3), 2);",
                "assert_eq!(\n            div(6, 3,),\n            2,\n            \"message\",\n        );",
            ),
            OLD.replace(
                "assert_eq!(div(6, 3), 2);",
                "// why\n        assert_eq!(div(6, 3), 2);\n        assert_eq!(div(9, 3), 3);",
            ),
            format!("{OLD}\n    #[test]\n    fn more() {{\n        assert_eq!(div(4, 2), 2);\n    }}"),
            format!("    mod inner {{\n{OLD}\n    }}"),
        ] {
            assert_eq!(bent(OLD, &new), None, "{new}");
        }
        let set_up = "    #[test]\n    fn a() {\n        let x = Some(6);\n        assert_eq!(div(x.unwrap(), 3), 2);\n    }";
        assert_eq!(bent(set_up, &set_up.replace("Some(6)", "Some(6).or(None)")), Some(false));
    }

    #[test]
    fn a_name_that_is_changed_throughout_bends_nothing() {
        let before = "pub fn div(a: u8, b: u8) -> u8 { a / b }\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() { assert_eq!(super::div(6, 3), 2); }\n}\n";
        let changes = |after: &str| {
            inline_changes(&Sample::new("cargo test").changed("src/lib.rs", before, after).evidence.changes)
        };
        assert!(changes(&before.replace("div", "quotient")).is_empty());
        // The old function is still there.
        let other = before
            .replace("super::div", "super::two")
            .replace("#[cfg", "fn two(_: u8, _: u8) -> u8 { 2 }\n#[cfg");
        assert!(changes(&other).iter().any(|change| change.is_bent));
    }
}
