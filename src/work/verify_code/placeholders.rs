//! Bodies that only hold a place, and new TODO comments.

use super::short;
use crate::model::verdict::{Blocker, Check, CheckName, CheckSeverity};
use crate::work::evidence::Evidence;
use crate::work::path_kind::{is_code, is_fixture, is_test};
use crate::work::source::{
    Function, Language, added_lines, comments, functions, inline_tests, masked, without_comments,
    without_ranges,
};
use std::collections::{HashMap, HashSet};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It says itself that it is not done.
    NotDone,
    /// Nothing, or nothing but null.
    Empty,
}

/// `placeholders`.
pub fn placeholders(evidence: &Evidence) -> Check {
    let id = CheckName::Placeholders;
    let expected = "no added body is only a placeholder";
    let (mut found, mut minor) = (Vec::new(), Vec::new());
    for file in &evidence.changes.files {
        let name = file.name();
        let Some(language) =
            Language::of(&name).filter(|_| is_code(&name) && !is_test(&name) && !is_fixture(&name))
        else {
            continue;
        };
        if name.ends_with(".pyi") || name.ends_with(".d.ts") {
            continue;
        }
        let Some(after) = file.text_after() else { continue };
        let before = file.text_before().unwrap_or("");
        let code = |text: &str| {
            if language == Language::Rust {
                without_ranges(text, &inline_tests(text))
            } else {
                text.to_owned()
            }
        };
        let (before, after) = (code(before), code(after));
        let (plain_before, plain) = (without_comments(&before, language), without_comments(&after, language));
        let mask = masked(&after, language);
        let mut known: HashMap<String, Vec<Option<Kind>>> = HashMap::new();
        for function in functions(&before, language) {
            let kind = placeholder(plain_before.get(function.body.clone()).unwrap_or(""), language);
            known.entry(function.name).or_default().push(kind);
        }
        for function in functions(&after, language) {
            let Some(kind) = placeholder(plain.get(function.body.clone()).unwrap_or(""), language) else {
                continue;
            };
            let old = known.get(&function.name);
            if old.is_some_and(|old| old.contains(&Some(kind))) || is_abstract(&mask, &function, language) {
                continue;
            }
            let was_real = old.is_some_and(|old| old.iter().all(Option::is_none));
            let line =
                format!("{name}:{}: `{}` has only a placeholder as its body", function.line, function.name);
            if kind == Kind::NotDone || was_real || must_do_something(&mask, &function, language) {
                found.push(line);
            } else {
                minor.push(line);
            }
        }
        let has_todo = |text: &str| {
            text.split(|c: char| !c.is_alphanumeric() && c != '_')
                .any(|word| matches!(word, "TODO" | "FIXME" | "XXX"))
        };
        let (before, after) = (comments(&before, language), comments(&after, language));
        let known: HashSet<&str> = before.lines().map(str::trim).collect();
        for line in added_lines(&before, &after) {
            if has_todo(line.text) && !known.contains(line.text.trim()) {
                minor.push(format!("{name}:{}: {}", line.number, line.text.trim()));
            }
        }
    }
    if !found.is_empty() {
        let observed = found[0].clone();
        return Check::failed(id, CheckSeverity::Major, Some(Blocker::Partial), expected, observed)
            .with_evidence(short(found));
    }
    if !minor.is_empty() {
        return Check::failed(id, CheckSeverity::Minor, None, expected, minor[0].clone())
            .with_evidence(short(minor));
    }
    Check::passed(id, expected, "none found")
}

fn placeholder(body: &str, language: Language) -> Option<Kind> {
    if body.len() > 2000 {
        return None;
    }
    let mut text = body.trim().trim_end_matches(';').trim();
    if language == Language::Python {
        // A docstring does nothing.
        for quotes in ["\"\"\"", "'''", "\"", "'"] {
            if let Some((_, rest)) = text.strip_prefix(quotes).and_then(|rest| rest.split_once(quotes)) {
                text = rest.trim();
                break;
            }
        }
    }
    if text.lines().filter(|line| !line.trim().is_empty()).count() > 3 {
        return None;
    }
    let lower = text.to_lowercase();
    let is_one = !text.trim_end_matches(';').contains(';') || language == Language::Python;
    let says_so = || {
        lower.contains("not implemented")
            || lower.contains("not yet implemented")
            || lower.contains("unimplemented")
            || lower.contains("todo")
    };
    let raises = ["panic!(", "throw new ", "panic(", "raise ", "throw ", "fatalerror("]
        .iter()
        .any(|start| lower.starts_with(start));
    let is_macro =
        (lower.starts_with("todo!(") || lower.starts_with("unimplemented!(")) && lower.ends_with(')');
    let is_raise =
        lower.starts_with("raise notimplementederror") || lower.starts_with("throw new notimplemented");
    if is_one
        && (is_macro
            || is_raise
            || raises && says_so()
            || language != Language::Python && matches!(text, "TODO()" | "NotImplemented"))
    {
        return Some(Kind::NotDone);
    }
    let is_nothing = match language {
        Language::Python => matches!(text, "" | "pass" | "..." | "return" | "return None"),
        Language::Script | Language::Java => {
            matches!(text, "" | "return" | "return null" | "return undefined")
        }
        Language::Go => matches!(text, "" | "return" | "return nil" | "return nil, nil"),
        Language::Ruby => matches!(text, "" | "nil" | "return nil"),
        Language::Rust => text.is_empty(),
        Language::Shell | Language::Config => false,
    };
    is_nothing.then_some(Kind::Empty)
}

/// The words of a name, in lower case: `handle`, `close` of `handleClose` and of `handle_close`.
fn words_of(name: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    for character in name.chars() {
        if (character == '_' || character.is_uppercase()) && words.last().is_some_and(|word| !word.is_empty())
        {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| character != '_') {
            word.extend(character.to_lowercase());
        }
    }
    words
}

/// Whether a body of nothing is an escape: it has parameters, and nobody says that it may do nothing.
fn must_do_something(code: &str, function: &Function, language: Language) -> bool {
    const MAY_BE_EMPTY: [&str; 16] = [
        "noop",
        "no_op",
        "nop",
        "empty",
        "dummy",
        "stub",
        "null",
        "default",
        "ignore",
        "constructor",
        "__init__",
        "init",
        "new",
        "drop",
        "close",
        "on",
    ];
    // `__exit__` and its like are called by the language: doing nothing is an answer.
    if language == Language::Python && function.name.starts_with("__") && function.name.ends_with("__") {
        return false;
    }
    let name = function.name.to_lowercase();
    let parts = words_of(&function.name);
    let may_be_empty = MAY_BE_EMPTY.iter().any(|word| {
        name == *word
            || word.len() > 2 && parts.iter().any(|part| part == word)
            || *word == "on"
                && (function.name.starts_with("on_")
                    || function.name.starts_with("on") && function.name[2..].starts_with(char::is_uppercase))
    });
    let header = code.get(function.header.clone()).unwrap_or("");
    let parameters =
        header.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map_or("", |(inside, _)| inside);
    let own: Vec<&str> = parameters
        .split(',')
        .map(str::trim)
        .filter(|part| {
            !part.is_empty() && !matches!(part.trim_start_matches(['&', '*']), "self" | "mut self" | "cls")
        })
        .collect();
    // `_x` says that it is not used.
    let uses = own.iter().any(|part| !part.starts_with('_'));
    let is_method_of_go =
        language == Language::Go && header.trim_start_matches("func").trim_start().starts_with('(');
    let enclosing = enclosing(code, function, language);
    let is_implementation = enclosing.is_some_and(|header| {
        header.contains(" for ")
            || header.contains("extends ")
            || header.contains("implements ")
            || header.contains("trait ")
            || header.contains("object")
            || language == Language::Python && header.contains('(') && !header.contains("(object)")
    });
    uses && !may_be_empty && !is_implementation && !is_method_of_go
}

/// A method that others fill in: of an interface, a protocol, an abstract class, or a base class that says so.
fn is_abstract(code: &str, function: &Function, language: Language) -> bool {
    const SIGNS: [&str; 8] = [
        "abstractmethod",
        "overload",
        "abstract ",
        "singledispatch",
        "@Override",
        "override ",
        "abstractproperty",
        "declare ",
    ];
    let from = (0..=function.header.start.saturating_sub(400))
        .rev()
        .find(|at| code.is_char_boundary(*at))
        .unwrap_or(0);
    let before = code.get(from..function.header.start).unwrap_or("");
    let above = before
        .lines()
        .rev()
        .enumerate()
        .take_while(|(index, line)| *index == 0 || line.trim_start().starts_with(['@', '#', '[']))
        .map(|(_, line)| line);
    let line_up = above.take(10).any(|line| SIGNS.iter().any(|sign| line.contains(sign)));
    if line_up {
        return true;
    }
    let Some(header) = enclosing(code, function, language) else { return false };
    let is_open =
        ["Protocol", "ABC", "abstract ", "interface ", "Abstract", "Base", "Mixin", "Interface", "trait "]
            .iter()
            .any(|sign| header.contains(sign));
    if is_open {
        return true;
    }
    // A class that another in the file is made from.
    let name = header
        .split_once("class ")
        .map(|(_, rest)| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default());
    name.is_some_and(|name| {
        !name.is_empty()
            && (code.contains(&format!("({name})"))
                && code.contains("class ")
                && language == Language::Python
                || code.contains(&format!("extends {name}")))
    })
}

/// The line that opens the class, impl or interface around a function.
fn enclosing<'a>(code: &'a str, function: &Function, language: Language) -> Option<&'a str> {
    let before = code.get(..function.header.start)?;
    let near = before.len().saturating_sub(64 * 1024);
    let near = (near..=before.len()).find(|at| before.is_char_boundary(*at))?;
    let before = &before[near..];
    let own_line = before.rsplit('\n').next().unwrap_or("");
    if matches!(language, Language::Python | Language::Ruby) {
        let depth = own_line.len();
        return before
            .lines()
            .rev()
            .skip(usize::from(!own_line.is_empty()))
            .find(|line| !line.trim().is_empty() && line.len() - line.trim_start().len() < depth)
            .filter(|line| line.contains("class "));
    }
    // The last brace that is still open.
    let mut depth = 0_usize;
    for (at, byte) in before.bytes().enumerate().rev() {
        match byte {
            b'}' => depth += 1,
            b'{' if depth > 0 => depth -= 1,
            b'{' => {
                let start = before[..at].rfind(['}', ';', '{']).map_or(0, |found| found + 1);
                return before.get(start..at);
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::verdict::CheckStatus;
    use crate::work::verify_code::sample::Sample;

    fn verdict(path: &str, before: &str, after: &str) -> (CheckStatus, CheckSeverity) {
        let check = placeholders(&Sample::new("x").changed(path, before, after).evidence);
        (check.status, check.severity)
    }

    #[test]
    fn placeholders_are_caught() {
        for (path, before, after) in [
            ("src/a.rs", "", "pub fn a(x: u8) -> u8 {\n    todo!()\n}\n"),
            ("src/a.rs", "", "impl T for X {\n    fn a(&self) { unimplemented!(\"later\") }\n}\n"),
            ("a.py", "", "def lock(user):\n    raise NotImplementedError\n"),
            ("a.py", "", "def lock(user):\n    \"\"\"Locks.\"\"\"\n    pass\n"),
            ("a.py", "def lock(user):\n    return user.lock()\n", "def lock(user):\n    return None\n"),
            ("a.js", "", "export function lock(user) { return null }\n"),
            ("a.js", "", "function lock(user) { throw new Error('not implemented') }\n"),
            ("a.js", "function f() { g() }\n", "function f() { }\n"),
            ("a.go", "", "func Lock(user string) error {\n\treturn nil\n}\n"),
            ("a.go", "", "func Lock() { panic(\"not implemented\") }\n"),
            ("A.java", "", "class A {\n  public User get(int id) { return null; }\n}\n"),
        ] {
            assert_eq!(verdict(path, before, after), (CheckStatus::Failed, CheckSeverity::Major), "{after}");
        }
    }

    #[test]
    fn abstract_and_harmless_bodies_are_honest() {
        for (path, before, after) in [
            (
                "a.py",
                "",
                "class A(ABC):\n    @abstractmethod\n    def lock(self, user):\n        raise NotImplementedError\n",
            ),
            ("a.py", "", "class A(Protocol):\n    def lock(self, user): ...\n"),
            (
                "a.py",
                "",
                "class Shape:\n    def area(self, x):\n        raise NotImplementedError\n\nclass Square(Shape):\n    def area(self, x):\n        return x\n",
            ),
            ("a.py", "", "def f(x):\n    try:\n        g(x)\n    except E:\n        pass\n"),
            ("a.py", "", "class MyError(Exception):\n    pass\n"),
            ("a.rs", "", "pub fn a() -> &'static str { \"todo!()\" }\ntrait T { fn b(&self, x: u8); }\n"),
            (
                "src/a.rs",
                "fn a() { b() }\n",
                "fn a() { b() }\n#[cfg(test)]\nmod tests { fn x(y: u8) { todo!() } }\n",
            ),
            ("tests/test_a.py", "", "def helper(x):\n    pass\n"),
            ("a.md", "", "fn a(x) { todo!() }\n"),
            (
                "a.ts",
                "",
                "interface A { b(x: number): void }\nabstract class B { abstract c(x: number): void; }\n",
            ),
            ("a.js", "function f(x) { return null }\n", "\nfunction f(x) { return null }\n"),
        ] {
            assert_eq!(verdict(path, before, after).0, CheckStatus::Passed, "{after}");
        }
        for (path, after) in [
            ("a.js", "const noop = (x) => {}\nclass A { constructor(private x) {} }\n"),
            ("a.go", "func (nop) Close(x int) error { return nil }\n"),
            ("a.rs", "impl Visitor for X {\n    fn visit(&mut self, x: u8) {}\n}\n"),
            ("a.js", "// TODO: faster\nf()\n"),
        ] {
            let check = placeholders(&Sample::new("x").changed(path, "", after).evidence);
            assert!(!check.blocks(), "{after}");
        }
        assert_eq!(
            verdict("a.js", "", "// TODO: faster\nf()\n"),
            (CheckStatus::Failed, CheckSeverity::Minor)
        );
        assert_eq!(verdict("a.js", "", "f('TODO')\n").0, CheckStatus::Passed);
    }
}
