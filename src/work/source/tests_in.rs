//! The tests within a source file: their names and bodies, and the `#[cfg(test)]` items of Rust.

use super::{Language, brackets, functions, mask};
use std::ops::Range;

/// One test, as its source names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestCase {
    pub name: String,
    /// Without comments, with runs of white space as one space: a test that was moved has the same.
    pub body: String,
    /// Where it stands.
    pub range: Range<usize>,
}

/// The tests of a file by the conventions of its language; in Script those of `it` and `test`.
pub fn test_cases(text: &str, language: Language) -> Vec<TestCase> {
    if language == Language::Script {
        return script_tests(text);
    }
    let code = mask::masked(text, language);
    let plain = without_comments(text, language);
    let found = functions(text, language).into_iter().filter(|function| {
        let name = &function.name;
        match language {
            Language::Python => name.starts_with("test"),
            Language::Ruby => name.starts_with("test_"),
            Language::Go => {
                ["Test", "Benchmark", "Fuzz", "Example"].iter().any(|start| name.starts_with(start))
                    && name != "TestMain"
            }
            Language::Rust => attributes(&code, function.header.start).is_some_and(is_test_attribute),
            Language::Java => {
                attributes(&code, function.header.start).is_some_and(|lines| {
                    lines.contains("@Test") || lines.contains("[Fact]") || lines.contains("[Test")
                }) || name.starts_with("test")
            }
            _ => false,
        }
    });
    let mut budget = budget(text);
    let mut cases = Vec::new();
    for function in found {
        let Some(left) = budget.checked_sub(function.body.len()) else { break };
        budget = left;
        cases.push(TestCase {
            name: function.name,
            body: collapsed(plain.get(function.body.clone()).unwrap_or("")),
            range: function.header.start..function.body.end,
        });
    }
    cases
}

/// How many bytes of bodies are copied: tests that are nested deep must not cost the square of the file.
fn budget(text: &str) -> usize {
    text.len().saturating_mul(4)
}

fn is_test_attribute(attributes: &str) -> bool {
    attributes.contains("#[test]")
        || attributes.contains("::test]")
        || attributes.contains("::test(")
        || attributes.contains("#[rstest")
        || attributes.contains("#[test_case")
}

/// The lines of attributes, annotations and modifiers right above a declaration, its own line included.
fn attributes(code: &str, at: usize) -> Option<&str> {
    let from = (0..=at.saturating_sub(1000)).rev().find(|from| code.is_char_boundary(*from))?;
    let before = code.get(from..at)?;
    let mut start = before.len();
    for (index, line) in before.rsplit('\n').enumerate() {
        let text = line.trim();
        let belongs = index == 0
            || text.starts_with('#')
            || text.starts_with('@')
            || text.starts_with('[')
            || text.is_empty();
        if !belongs || index > 12 {
            break;
        }
        start = start.saturating_sub(line.len() + usize::from(index > 0));
    }
    before.get(start..)
}

/// `it("name", () => { … })` and `test(…)`, with `.only`, `.skip` and the like.
fn script_tests(text: &str) -> Vec<TestCase> {
    let code = mask::masked(text, Language::Script);
    let plain = without_comments(text, Language::Script);
    let pairs = brackets::pairs(&code);
    let bytes = code.as_bytes();
    let mut budget = budget(text);
    let mut found = Vec::new();
    for open in memchr::memchr_iter(b'(', bytes) {
        let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_.$".contains(byte);
        let length = bytes[..open].iter().rev().take(60).take_while(is_part).count();
        let callee = code.get(open - length..open).unwrap_or("");
        let function = callee.split('.').next().unwrap_or("");
        if !matches!(function, "it" | "test" | "specify" | "xit" | "fit" | "xtest") || found.len() >= 20_000 {
            continue;
        }
        if callee.contains('.')
            && !["only", "skip", "todo", "concurrent", "each", "failing"]
                .iter()
                .any(|part| callee.ends_with(part))
        {
            continue;
        }
        let Some(close) = pairs.get(&open) else { continue };
        let Some(left) = budget.checked_sub(close - open) else { break };
        budget = left;
        let arguments = plain.get(open + 1..*close).unwrap_or("");
        let trimmed = arguments.trim_start();
        let Some(quote) = trimmed.chars().next().filter(|c| matches!(c, '"' | '\'' | '`')) else { continue };
        let Some(end) = trimmed[1..].find(quote) else { continue };
        found.push(TestCase {
            name: trimmed[1..=end].to_owned(),
            body: collapsed(trimmed.get(end + 2..).unwrap_or("").trim_start_matches([',', ' '])),
            range: open - length..close + 1,
        });
    }
    found
}

/// The text with comments as spaces; strings stay.
pub fn without_comments(text: &str, language: Language) -> String {
    let comments = mask::comments(text, language);
    let bytes: Vec<u8> = text
        .bytes()
        .zip(comments.bytes())
        .map(|(byte, comment)| if comment == b' ' || comment == b'\n' { byte } else { b' ' })
        .collect();
    // A comment may hold a space among other bytes; it stays one.
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn collapsed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The items of a Rust file that only its tests have: `#[cfg(test)]` and `#[test]`, attributes included.
pub fn inline_tests(text: &str) -> Vec<Range<usize>> {
    let code = mask::masked(text, Language::Rust);
    let pairs = brackets::pairs(&code);
    let bytes = code.as_bytes();
    let mut found: Vec<Range<usize>> = Vec::new();
    for start in memchr::memmem::find_iter(bytes, b"#[") {
        if found.last().is_some_and(|last| start < last.end) {
            continue;
        }
        let Some(end) = pairs.get(&(start + 1)) else { continue };
        let attribute: String = code
            .get(start + 2..*end)
            .unwrap_or("")
            .chars()
            .take(200)
            .filter(|c| !c.is_whitespace())
            .collect();
        let is_test = attribute == "cfg(test)"
            || attribute.starts_with("cfg(all(test,")
            || attribute == "test"
            || attribute.ends_with("::test");
        if !is_test {
            continue;
        }
        if let Some(item_end) = item_end(bytes, end + 1, &pairs) {
            found.push(start..item_end);
        }
    }
    found
}

/// The end of the item that begins here: its closing brace or its semicolon, further attributes skipped.
fn item_end(bytes: &[u8], from: usize, pairs: &std::collections::HashMap<usize, usize>) -> Option<usize> {
    let mut at = from;
    while at < bytes.len() && at - from < 8000 {
        match bytes[at] {
            b'(' | b'[' => at = *pairs.get(&at)?,
            b'{' => return pairs.get(&at).map(|end| end + 1),
            b';' => return Some(at + 1),
            b'}' => return None,
            _ => {}
        }
        at += 1;
    }
    None
}

/// The text with these ranges blanked; line ends stay.
pub fn without_ranges(text: &str, ranges: &[Range<usize>]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for range in ranges {
        if let Some(part) = bytes.get_mut(range.clone()) {
            part.iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
