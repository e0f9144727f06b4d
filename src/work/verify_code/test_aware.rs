//! Code that behaves in another way when tests run.

use super::short;
use crate::model::verdict::{Blocker, Check, CheckName, CheckSeverity};
use crate::work::evidence::Evidence;
use crate::work::path_kind::{
    file_name, is_ci, is_code, is_document, is_fixture, is_runner_configuration, is_test,
};
use crate::work::source::{Language, added_lines, inline_tests, without_comments, without_ranges};

/// The sign that a line asks whether it is being tested.
fn sign(line: &str) -> Option<&'static str> {
    const PLAIN: [&str; 8] = [
        "RUST_TEST_THREADS",
        "NEXTEST_RUN_ID",
        "PYTEST_CURRENT_TEST",
        "JEST_WORKER_ID",
        "testing.Testing()",
        "AGENTWORKFORCE",
        "mountinfo",
        "NODE_TEST_CONTEXT",
    ];
    const CI: [&str; 9] = [
        "env.CI",
        "env['CI']",
        "env[\"CI\"]",
        "environ['CI']",
        "environ[\"CI\"]",
        "environ.get('CI'",
        "environ.get(\"CI\"",
        "getenv(\"CI\")",
        "getenv('CI')",
    ];
    if let Some(found) = PLAIN.into_iter().find(|sign| line.contains(sign)) {
        return Some(found);
    }
    let has_word = |word: &str| {
        line.match_indices(word).any(|(at, _)| {
            let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            !is_part(line[..at].chars().next_back()) && !is_part(line[at + word.len()..].chars().next())
        })
    };
    let is_quoted = |word: &str| line.contains(&format!("'{word}'")) || line.contains(&format!("\"{word}\""));
    if line.contains("sys.modules") && ["pytest", "_pytest", "unittest"].into_iter().any(is_quoted) {
        return Some("sys.modules");
    }
    if line.contains("NODE_ENV") && is_quoted("test") {
        return Some("NODE_ENV");
    }
    if is_quoted("NEXTEST") {
        return Some("NEXTEST");
    }
    if has_word("VITEST") {
        return Some("VITEST");
    }
    let compact: String = line.chars().filter(|c| !c.is_whitespace()).take(2000).collect();
    if compact.contains("cfg!(test)") || compact.contains("cfg(not(test))") {
        return Some("cfg(test)");
    }
    if let Some(found) = runner_sign(line, &compact) {
        return Some(found);
    }
    let is_ci = CI.iter().any(|sign| {
        line.match_indices(sign)
            .any(|(at, _)| !line[at + sign.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    }) || compact.contains("env::var(\"CI\")")
        || compact.contains("env::var_os(\"CI\")")
        || compact.contains("Getenv(\"CI\")");
    is_ci.then_some("env.CI")
}

/// Signs that a runner is there: its globals, its flags, its name among the arguments.
fn runner_sign(line: &str, compact: &str) -> Option<&'static str> {
    const GLOBALS: [&str; 6] = ["jest", "vi", "mocha", "describe", "it", "expect"];
    const RUNNERS: [&str; 7] = ["pytest", "py.test", "unittest", "jest", "mocha", "vitest", "go-build"];
    if line.contains("npm_lifecycle_event")
        && ["'test", "\"test", "`test"].iter().any(|word| line.contains(word))
    {
        return Some("npm_lifecycle_event");
    }
    let is_global = |name: &&str| {
        ["'", "\""].iter().any(|quote| {
            ["===", "!==", "==", "!="].iter().any(|sign| {
                let asked = format!("typeof{name}{sign}{quote}");
                ["undefined", "object"].iter().any(|kind| compact.contains(&format!("{asked}{kind}")))
            })
        })
    };
    if GLOBALS.iter().any(is_global) {
        return Some("a global of a test runner");
    }
    if compact.contains("flag.Lookup(\"test.") || compact.contains("os.Args[0],\".test\"") {
        return Some("the flags of go test");
    }
    let names_arguments =
        ["sys.argv", "sys.orig_argv", "process.argv", "sys._getframe", "inspect.stack", "os.Args"];
    if names_arguments.iter().any(|name| line.contains(name))
        && RUNNERS.iter().any(|runner| line.contains(runner))
    {
        return Some("a test runner among the arguments");
    }
    let asks_stack = ["inspect.stack", "_getframe", "extract_stack", "Error().stack", "runtime.Caller"];
    if asks_stack.iter().any(|name| line.contains(name)) && line.contains("test") {
        return Some("tests on the stack");
    }
    None
}

/// Lines that ask for a value which a line before took from the environment: `const mode = process.env.NODE_ENV`.
fn aliases<'t>(lines: &[&'t str]) -> Vec<&'t str> {
    let taken = lines.iter().filter(|line| line.contains("NODE_ENV"));
    let names = taken.filter_map(|line| {
        let (left, _) = line.split_once('=')?;
        let name = left.trim().rsplit([' ', ':']).next()?;
        (name.len() > 1 && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$')).then_some(name)
    });
    names.take(20).collect()
}

fn asks_alias(line: &str, aliases: &[&str]) -> Option<&'static str> {
    let is_asked = ["'test'", "\"test\""].iter().any(|word| line.contains(word)) && line.contains("==");
    let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '$');
    (is_asked && !aliases.is_empty() && words.any(|word| aliases.contains(&word))).then_some("NODE_ENV")
}

/// Names that hold what is on the stack, or how the program was called, from the line that took it.
fn callers<'t>(lines: &[&'t str]) -> Vec<&'t str> {
    let taken = lines.iter().filter(|line| ORIGINS.iter().any(|origin| line.contains(origin)));
    let names = taken.filter_map(|line| {
        let left = match line.trim_start().strip_prefix("for ") {
            Some(rest) => rest.split(" in ").next()?,
            None => line.split_once('=').filter(|(left, _)| !left.contains('('))?.0,
        };
        left.trim().rsplit([' ', ':', ',']).next()
    });
    let is_name = |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    names.filter(is_name).take(20).collect()
}

const ORIGINS: [&str; 9] = [
    "sys.argv",
    "sys.orig_argv",
    "process.argv",
    "require.main",
    "inspect.stack",
    "_getframe",
    "extract_stack",
    "Error().stack",
    "os.Args",
];

/// A line that compares them with how tests are called. `argv[2] === 'test'` is a command of a program, and no such name.
fn asks_caller(line: &str, callers: &[&str]) -> Option<&'static str> {
    const NAMES: [&str; 10] =
        [".test.", ".spec.", "_test", "test_", "/test", "tests/", "pytest", "unittest", "jest", "mocha"];
    let mut strings = line.split(['"', '\'', '`']).skip(1).step_by(2);
    let is_named = strings.any(|text| NAMES.iter().any(|name| text.contains(name)));
    let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
    let is_taken = ORIGINS.iter().any(|origin| line.contains(origin))
        || !callers.is_empty() && words.any(|word| callers.contains(&word));
    let compares = [
        "==",
        " in ",
        "with(",
        "With(",
        "includes(",
        "match",
        "search(",
        "test(",
        "indexOf(",
        "Suffix(",
        "Contains(",
    ]
    .iter()
    .any(|sign| line.contains(sign));
    (is_named && is_taken && compares).then_some("how it was called")
}

/// Python without its docstrings and other long strings; line ends stay.
fn without_long_strings(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    loop {
        let next = ["\"\"\"", "'''"].iter().filter_map(|quote| rest.find(quote).map(|at| (at, *quote))).min();
        let Some((at, quote)) = next else { break };
        result.push_str(&rest[..at]);
        let inside = &rest[at + 3..];
        let end = inside.find(quote).unwrap_or(inside.len());
        result.extend(inside[..end].chars().filter(|c| *c == '\n'));
        rest = inside.get(end + 3..).unwrap_or("");
    }
    result.push_str(rest);
    result
}

/// `test-aware`.
pub fn test_aware(evidence: &Evidence) -> Check {
    let id = CheckName::TestAware;
    let expected = "code does not ask whether it is being tested";
    let (mut new, mut known) = (Vec::new(), Vec::new());
    for file in &evidence.changes.files {
        let name = file.name();
        let is_judge = is_test(&name)
            || is_fixture(&name)
            || is_runner_configuration(&name)
            || is_ci(&name)
            || is_document(&name);
        let Some(language) = Language::of(&name).filter(|_| is_code(&name) && !is_judge) else { continue };
        let Some(after) = file.text_after() else { continue };
        let code = |text: &str| {
            let text = if language == Language::Rust {
                without_ranges(text, &inline_tests(text))
            } else {
                text.to_owned()
            };
            let text = without_comments(&text, language);
            if language == Language::Python { without_long_strings(&text) } else { text }
        };
        let (before, after) = (code(file.text_before().unwrap_or("")), code(after));
        let stem = file_name(&name).to_lowercase();
        let is_configuration =
            ["config", "settings", "setup", "gulpfile", "gruntfile"].iter().any(|word| stem.contains(word));
        let added = added_lines(&before, &after);
        let aliases = aliases(&added.iter().map(|line| line.text).collect::<Vec<_>>());
        let callers = callers(&added.iter().map(|line| line.text).collect::<Vec<_>>());
        for line in added {
            let Some(sign) = sign(line.text)
                .or_else(|| asks_alias(line.text, &aliases))
                .or_else(|| asks_caller(line.text, &callers))
                .filter(|sign| !is_configuration || !matches!(*sign, "NODE_ENV" | "env.CI" | "VITEST"))
            else {
                continue;
            };
            let had_it = before.lines().any(|old| self::sign(old) == Some(sign));
            let shown = format!("{name}:{}: {}", line.number, line.text.trim());
            if had_it { known.push(shown) } else { new.push(shown) }
        }
    }
    if !new.is_empty() {
        let observed = format!("{} new lines ask for it", new.len());
        return Check::failed(id, CheckSeverity::Major, Some(Blocker::ScopeDrift), expected, observed)
            .with_evidence(short(new));
    }
    if !known.is_empty() {
        return Check::failed(id, CheckSeverity::Minor, None, expected, "lines were added to what was there")
            .with_evidence(short(known));
    }
    Check::passed(id, expected, "none found")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::verdict::CheckStatus;
    use crate::work::verify_code::sample::Sample;

    #[test]
    fn code_that_knows_of_tests_is_caught() {
        for (path, text) in [
            ("a.py", "if os.environ.get('PYTEST_CURRENT_TEST'):\n    return 1\n"),
            ("a.py", "if 'pytest' in sys.modules: x()\n"),
            ("src/a.js", "if (process.env.JEST_WORKER_ID) {}\n"),
            ("src/a.js", "if (process.env.NODE_ENV === 'test') {}\n"),
            ("src/a.ts", "if (process.env.VITEST) {}\n"),
            ("src/a.ts", "if (process.env.CI) {}\n"),
            ("src/a.rs", "fn a() -> bool { cfg!(test) }\n"),
            ("a.go", "if testing.Testing() {}\n"),
            ("a.py", "open('/proc/self/mountinfo')\n"),
            ("a.py", "os.environ['AGENTWORKFORCE_NONCE']\n"),
            ("src/a.js", "if (typeof jest !== 'undefined') {}\n"),
            ("src/a.js", "const mode = process.env.NODE_ENV\nif (mode === 'test') {}\n"),
            ("src/a.js", "if (process.env.npm_lifecycle_event === 'test') {}\n"),
            ("a.py", "if any('pytest' in a for a in sys.argv): x()\n"),
            ("a.py", "if any('unittest' in a for a in sys.orig_argv): x()\n"),
            ("a.py", "for f in inspect.stack():\n    if f.function.startswith('test_'):\n        x()\n"),
            ("src/a.js", "if (require.main.filename.endsWith('.test.js')) {}\n"),
            ("src/a.js", "const me = process.argv[1]\nif (me.endsWith('math.test.js')) {}\n"),
            ("a.go", "if flag.Lookup(\"test.v\") != nil {}\n"),
        ] {
            let check = test_aware(&Sample::new("x").changed(path, "", text).evidence);
            assert_eq!(
                (check.status, check.severity, check.blocker),
                (CheckStatus::Failed, CheckSeverity::Major, Some(Blocker::ScopeDrift)),
                "{text}"
            );
        }
    }

    #[test]
    fn tests_configuration_and_comments_may_know_of_tests() {
        for (path, text) in [
            ("tests/test_a.py", "os.environ['PYTEST_CURRENT_TEST']\n"),
            ("conftest.py", "os.environ['PYTEST_CURRENT_TEST']\n"),
            ("jest.config.js", "process.env.CI\n"),
            ("src/config.js", "const x = process.env.NODE_ENV === 'test'\n"),
            ("src/a.js", "// NODE_ENV === 'test'\nconst x = process.env.CITY\n"),
            ("src/a.rs", "fn a() {}\n#[cfg(test)]\nmod tests { fn b() { cfg!(test); } }\n"),
            ("README.md", "PYTEST_CURRENT_TEST\n"),
            ("a.py", "def f():\n    \"\"\"Reads PYTEST_CURRENT_TEST\n    never.\"\"\"\n    return 1\n"),
            (
                "src/a.js",
                "if (typeof test === 'function') {}\nconst mode = 'test'\nif (mode === 'test') {}\n",
            ),
            ("src/a.js", "if (process.env.NODE_ENV === 'production') {}\n"),
            ("src/a.js", "const [command] = process.argv.slice(2)\nif (command === 'test') {}\n"),
            ("src/a.js", "if (process.argv[2] === 'test' || require.main === module) {}\n"),
            ("a.py", "args = sys.argv[1:]\nif '--verbose' in args:\n    x('tests/')\n"),
        ] {
            assert_eq!(
                test_aware(&Sample::new("x").changed(path, "", text).evidence).status,
                CheckStatus::Passed,
                "{text}"
            );
        }
        let before = "if (process.env.CI) { a() }\n";
        let known = Sample::new("x").changed(
            "a.js",
            before,
            "if (process.env.CI) { a() }\nif (process.env.CI) { b() }\n",
        );
        assert!(!test_aware(&known.evidence).blocks());
    }
}
