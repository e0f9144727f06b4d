//! Functions and their bodies, found on masked text, best effort.

use super::{Language, brackets, mask};
use std::collections::HashMap;
use std::ops::Range;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    /// From its first word to the beginning of its body, attributes and decorators not included.
    pub header: Range<usize>,
    /// What is between its braces, or the indented lines.
    pub body: Range<usize>,
    /// Of its header, counted from 1.
    pub line: usize,
    /// Whether others may use it, as far as its own line says.
    pub is_public: bool,
}

/// How far a body may be from the name.
const LONGEST_HEADER: usize = 4000;
const MOST_FUNCTIONS: usize = 20_000;

pub fn functions(text: &str, language: Language) -> Vec<Function> {
    let code = mask::masked(text, language);
    let mut found = match language {
        Language::Python => indented(&code),
        Language::Ruby => ruby(&code),
        Language::Rust => braced(&code, &["fn"], language),
        Language::Go => braced(&code, &["func"], language),
        Language::Script => {
            let mut found = braced(&code, &["function"], language);
            found.extend(methods(&code, language));
            found.extend(arrows(&code));
            found
        }
        Language::Java => {
            let mut found = braced(&code, &["fun", "func", "function"], language);
            found.extend(methods(&code, language));
            found
        }
        Language::Shell => methods(&code, language),
        Language::Config => Vec::new(),
    };
    found.sort_by_key(|function| (function.body.start, function.header.start));
    found.dedup_by_key(|function| function.body.start);
    let mut line = 1;
    let mut from = 0;
    let mut starts: Vec<usize> = (0..found.len()).collect();
    starts.sort_by_key(|index| found[*index].header.start);
    for index in starts {
        let start = found[index].header.start;
        line += memchr::memchr_iter(b'\n', &code.as_bytes()[from..start]).count();
        from = start;
        found[index].line = line;
    }
    found
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// The word that begins here.
fn word_at(code: &str, at: usize) -> &str {
    let length = code.as_bytes()[at..].iter().take(300).take_while(|byte| is_word(**byte)).count();
    code.get(at..at + length).unwrap_or("")
}

fn skip_space(code: &str, at: usize) -> usize {
    at + code.as_bytes()[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

fn line_start(code: &str, at: usize) -> usize {
    // A line that long holds no declaration that anyone wrote.
    let from = at.saturating_sub(600);
    memchr::memrchr(b'\n', &code.as_bytes()[from..at]).map_or(from, |found| from + found + 1)
}

fn is_public(code: &str, start: usize, name: &str, language: Language) -> bool {
    let line = code.get(line_start(code, start)..start).unwrap_or("");
    match language {
        Language::Rust => line.trim_start().starts_with("pub ") || line.contains(" pub "),
        Language::Go => name.starts_with(char::is_uppercase),
        Language::Script => line.contains("export "),
        Language::Java => line.contains("public "),
        Language::Python | Language::Ruby => !name.starts_with('_') && line.is_empty(),
        Language::Shell | Language::Config => false,
    }
}

/// Functions that a keyword announces: `fn name(…) … { … }`.
fn braced(code: &str, keywords: &[&str], language: Language) -> Vec<Function> {
    let pairs = brackets::pairs(code);
    let mut bodies = Bodies::new(code, &pairs, language);
    let bytes = code.as_bytes();
    let mut found = Vec::new();
    for keyword in keywords {
        for at in memchr::memmem::find_iter(bytes, keyword.as_bytes()) {
            let after = at + keyword.len();
            let is_keyword =
                (at == 0 || !is_word(bytes[at - 1])) && bytes.get(after).is_none_or(|byte| !is_word(*byte));
            if !is_keyword || found.len() >= MOST_FUNCTIONS {
                continue;
            }
            let mut next = skip_space(code, after);
            if language == Language::Go && bytes.get(next) == Some(&b'(') {
                // The receiver.
                let Some(end) = pairs.get(&next) else { continue };
                next = skip_space(code, end + 1);
            }
            if bytes.get(next) == Some(&b'*') {
                next = skip_space(code, next + 1);
            }
            let name = word_at(code, next);
            if name.is_empty() {
                continue;
            }
            if let Some((open, close)) = bodies.after(next + name.len()) {
                found.push(Function {
                    name: name.to_owned(),
                    header: at..open,
                    body: open + 1..close,
                    line: 0,
                    is_public: is_public(code, at, name, language),
                });
            }
        }
    }
    found
}

/// Finds bodies. Names that stand close to each other look through the same text; each part of it is looked through once.
struct Bodies<'a> {
    code: &'a str,
    pairs: &'a HashMap<usize, usize>,
    language: Language,
    /// From places that a search came by to where it ended: between them no body begins.
    passed: HashMap<usize, usize>,
}

impl<'a> Bodies<'a> {
    fn new(code: &'a str, pairs: &'a HashMap<usize, usize>, language: Language) -> Bodies<'a> {
        Bodies { code, pairs, language, passed: HashMap::new() }
    }

    /// The braces of the body behind a name: over parameters and types, not over a semicolon.
    fn after(&mut self, from: usize) -> Option<(usize, usize)> {
        let bytes = self.code.as_bytes();
        let mut seen = Vec::new();
        let mut at = from;
        let mut found = None;
        while at < bytes.len() && at - from < LONGEST_HEADER {
            let may_be_known = at.is_multiple_of(128) || matches!(bytes[at], b'(' | b'[');
            if may_be_known && let Some(end) = self.passed.get(&at) {
                seen.push(at);
                at = *end;
                continue;
            }
            match bytes[at] {
                b'(' | b'[' => {
                    let Some(close) = self.pairs.get(&at) else { break };
                    seen.push(at);
                    at = *close;
                }
                b'{' => {
                    let Some(close) = self.pairs.get(&at) else { break };
                    let before = self.code.get(from..at).unwrap_or("").trim_end();
                    let is_type = self.language == Language::Go
                        && (before.ends_with("interface") || before.ends_with("struct"))
                        || self.language == Language::Script && before.ends_with([':', '|', '<', '&']);
                    if !is_type {
                        found = Some((at, *close));
                        break;
                    }
                    at = *close;
                }
                b';' | b'}' => break,
                b'=' if self.language == Language::Java => break,
                _ if at.is_multiple_of(128) => seen.push(at),
                _ => {}
            }
            at += 1;
        }
        self.passed.extend(seen.into_iter().map(|place| (place, at)));
        found
    }
}

/// `name(…) { … }` without a keyword: methods.
fn methods(code: &str, language: Language) -> Vec<Function> {
    const NO_NAMES: [&str; 22] = [
        "if",
        "for",
        "while",
        "switch",
        "catch",
        "function",
        "return",
        "synchronized",
        "using",
        "lock",
        "foreach",
        "match",
        "when",
        "with",
        "elif",
        "else",
        "do",
        "try",
        "await",
        "typeof",
        "sizeof",
        "fixed",
    ];
    let pairs = brackets::pairs(code);
    let mut bodies = Bodies::new(code, &pairs, language);
    let bytes = code.as_bytes();
    let mut found = Vec::new();
    for open in memchr::memchr_iter(b'(', bytes) {
        let Some(close) = pairs.get(&open) else { continue };
        let length = bytes[..open].iter().rev().take(300).take_while(|byte| is_word(**byte)).count();
        let start = open - length;
        let name = code.get(start..open).unwrap_or("");
        if name.is_empty()
            || name.starts_with(|c: char| c.is_ascii_digit())
            || NO_NAMES.contains(&name)
            || found.len() >= MOST_FUNCTIONS
        {
            continue;
        }
        // A call: `x.name(…)`, `new Name(…) { … }`.
        let before = code.get(line_start(code, start)..start).unwrap_or("").trim_end();
        if before.ends_with('.')
            || before.ends_with("new")
            || before.ends_with("function")
            || before.ends_with('=')
            || before.ends_with('(')
        {
            continue;
        }
        let next = skip_space(code, close + 1);
        let has_body = match bytes.get(next) {
            Some(b'{') => true,
            Some(b':') => language == Language::Script,
            Some(_) => {
                language == Language::Java
                    && matches!(word_at(code, next), "throws" | "const" | "override" | "noexcept" | "where")
            }
            None => false,
        };
        if !has_body {
            continue;
        }
        if let Some((open, close)) = bodies.after(next) {
            found.push(Function {
                name: name.to_owned(),
                header: start..open,
                body: open + 1..close,
                line: 0,
                is_public: is_public(code, start, name, language),
            });
        }
    }
    found
}

/// `const name = (…) => { … }`.
fn arrows(code: &str) -> Vec<Function> {
    let pairs = brackets::pairs(code);
    let bytes = code.as_bytes();
    let mut found = Vec::new();
    for arrow in memchr::memmem::find_iter(bytes, b"=>") {
        let open = skip_space(code, arrow + 2);
        if bytes.get(open) != Some(&b'{') || found.len() >= MOST_FUNCTIONS {
            continue;
        }
        let Some(close) = pairs.get(&open) else { continue };
        let start = line_start(code, arrow);
        let line = code.get(start..arrow).unwrap_or("");
        let words = ["const ", "let ", "var "];
        let Some((at, word)) = words.iter().filter_map(|word| line.find(word).map(|at| (at, word))).min()
        else {
            continue;
        };
        let from = start + at + word.len();
        let name = word_at(code, from);
        let rest = code.get(from + name.len()..arrow).unwrap_or("").trim_start();
        // `const x = a.map((y) => {…})` names a value, not a function.
        let rest =
            rest.strip_prefix('=').map(|rest| rest.trim_start().trim_start_matches("async").trim_start());
        let is_function = rest.is_some_and(|rest| {
            rest.starts_with('(') || rest.chars().all(|c| c.is_alphanumeric() || c == '_' || c == ' ')
        });
        if !name.is_empty() && is_function {
            let is_public = line.contains("export ");
            found.push(Function {
                name: name.to_owned(),
                header: from..open,
                body: open + 1..*close,
                line: 0,
                is_public,
            });
        }
    }
    found
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

/// Python: the lines that are indented more than the `def`.
fn indented(code: &str) -> Vec<Function> {
    let mut found = Vec::new();
    let pairs = brackets::pairs(code);
    for (start, line) in lines(code) {
        let depth = indentation(line);
        let rest = &line[depth..];
        let Some(rest) = rest.strip_prefix("def ").or_else(|| rest.strip_prefix("async def ")) else {
            continue;
        };
        let name_at = start + line.len() - rest.len();
        let name = word_at(code, skip_space(code, name_at));
        let Some(open) = memchr::memchr(b'(', &code.as_bytes()[name_at..]).map(|at| name_at + at) else {
            continue;
        };
        let Some(close) = pairs.get(&open) else { continue };
        let Some(colon) = memchr::memchr(b':', &code.as_bytes()[*close..]).map(|at| close + at) else {
            continue;
        };
        if name.is_empty() || found.len() >= MOST_FUNCTIONS {
            continue;
        }
        let header_end = code[colon..].find('\n').map_or(code.len(), |at| colon + at);
        let mut end = header_end;
        for (next, line) in lines_from(code, header_end + 1) {
            if !line.trim().is_empty() && indentation(line) <= depth {
                break;
            }
            if !line.trim().is_empty() {
                end = next + line.len();
            }
        }
        let is_public = is_public(code, start, name, Language::Python) && depth == 0;
        found.push(Function {
            name: name.to_owned(),
            header: start + depth..colon + 1,
            body: colon + 1..end,
            line: 0,
            is_public,
        });
    }
    found
}

/// Ruby: from `def` to the next `end` that is no further indented.
fn ruby(code: &str) -> Vec<Function> {
    let mut found = Vec::new();
    // The `end`s below, the next one last; one that is further indented than a nearer one closes nothing above that.
    let mut ends: Vec<(usize, usize)> = Vec::new();
    let all: Vec<(usize, &str)> = lines(code).collect();
    for (start, line) in all.into_iter().rev() {
        let depth = indentation(line);
        if line.trim() == "end" {
            let further = ends.iter().rev().take_while(|(other, _)| *other >= depth).count();
            ends.truncate(ends.len() - further);
            ends.push((depth, start));
            continue;
        }
        let Some(rest) = line[depth..].strip_prefix("def ") else { continue };
        let rest = rest.strip_prefix("self.").unwrap_or(rest);
        let name: String =
            rest.chars().take_while(|c| c.is_alphanumeric() || "_?!=".contains(*c)).take(200).collect();
        let body_start = start + line.len();
        // Depths grow from first to last.
        let below = ends.partition_point(|(other, _)| *other <= depth);
        let end = below.checked_sub(1).map(|at| ends[at].1);
        if let Some(end) = end.filter(|_| !name.is_empty() && found.len() < MOST_FUNCTIONS) {
            let is_public = is_public(code, start, &name, Language::Ruby);
            found.push(Function {
                name,
                header: start + depth..body_start,
                body: body_start..end,
                line: 0,
                is_public,
            });
        }
    }
    found
}

fn lines(code: &str) -> impl Iterator<Item = (usize, &str)> {
    lines_from(code, 0)
}

/// Lines with their positions, from the one that begins here.
fn lines_from(code: &str, from: usize) -> impl Iterator<Item = (usize, &str)> {
    let mut at = from;
    code.get(from..).unwrap_or("").split('\n').map(move |line| {
        let start = at;
        at += line.len() + 1;
        (start, line)
    })
}
