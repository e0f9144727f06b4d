//! Tests whose assertions still stand in their body but decide nothing: it ends before them, or what they raise is swallowed. Looks at
//! masked text.

use super::weakened_markers::assertions;
use crate::work::source::Language;

/// Longer bodies are not looked at.
const LONGEST_BODY: usize = 64 * 1024;

/// Whether the body of a test returns, whatever happens, before an assertion.
pub fn ends_early(code: &str, language: Language) -> bool {
    if code.len() > LONGEST_BODY {
        return false;
    }
    let is_return = |line: &str| match language {
        Language::Python => line == "return" || line == "return None",
        Language::Script => matches!(line, "return" | "return;" | "return undefined" | "return undefined;"),
        Language::Go => line == "return",
        Language::Rust => matches!(line, "return;" | "return Ok(());"),
        Language::Java => line == "return;",
        _ => false,
    };
    let own_depth = match language {
        Language::Python => code.lines().skip(1).filter(|line| !line.trim().is_empty()).map(indent).min(),
        _ => Some(1),
    };
    let mut depth = 0_usize;
    let mut end = 0;
    for line in code.split_inclusive('\n') {
        end += line.len();
        let here = if language == Language::Python { indent(line) } else { depth };
        if Some(here) == own_depth && is_return(line.trim()) {
            return assertions(code.get(end..).unwrap_or(""), language) > 0;
        }
        for byte in line.bytes() {
            match byte {
                b'{' => depth += 1,
                b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
    }
    false
}

/// How often an assertion stands where its failure is swallowed.
pub fn swallowed(code: &str, language: Language) -> usize {
    if code.len() > LONGEST_BODY {
        return 0;
    }
    match language {
        Language::Python => swallowed_in_python(code),
        Language::Script | Language::Java => swallowed_in_braces(code, language),
        Language::Rust => {
            code.lines().filter(|line| line.contains("let _ =") && line.contains("catch_unwind(")).count()
        }
        _ => 0,
    }
}

/// How many `expect(…)` are followed by no matcher.
pub fn bare_expects(code: &str) -> usize {
    if code.len() > LONGEST_BODY {
        return 0;
    }
    let bytes = code.as_bytes();
    let mut found = 0;
    for (at, sign) in code.match_indices("expect(") {
        if at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || matches!(bytes[at - 1], b'_' | b'.' | b'$')) {
            continue;
        }
        let mut depth = 1_usize;
        let inside = bytes[at + sign.len()..].iter().take(4000);
        let length = inside
            .take_while(|byte| {
                match byte {
                    b'(' => depth += 1,
                    b')' => depth -= 1,
                    _ => {}
                }
                depth > 0
            })
            .count();
        let rest = code.get(at + sign.len() + length + 1..);
        found += usize::from(depth == 0 && rest.is_some_and(|rest| !rest.trim_start().starts_with('.')));
    }
    found
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn swallowed_in_python(code: &str) -> usize {
    let lines: Vec<&str> = code.lines().collect();
    let below = |start: usize| {
        let depth = indent(lines[start]);
        let is_below = move |line: &&&str| line.trim().is_empty() || indent(line) > depth;
        lines[start + 1..].iter().take_while(is_below).copied().collect::<Vec<_>>()
    };
    let asserts = |lines: &[&str]| assertions(&lines.join("\n"), Language::Python) > 0;
    let mut found = 0;
    for (at, line) in lines.iter().enumerate() {
        let compact: String = line.chars().filter(|c| !c.is_whitespace()).collect();
        let is_general = |text: &str| {
            matches!(text, "" | "Exception" | "BaseException") || text.contains("AssertionError")
        };
        if let Some(what) = compact.strip_prefix("except").and_then(|rest| rest.strip_suffix(':')) {
            let what =
                what.rsplit_once("as").filter(|(_, name)| name.len() < 4).map_or(what, |(what, _)| what);
            let forgives =
                below(at).iter().map(|line| line.trim()).filter(|line| !line.is_empty()).all(|line| {
                    matches!(line, "pass" | "..." | "return" | "continue") || line.starts_with("print(")
                });
            let start = (0..at)
                .rev()
                .find(|start| indent(lines[*start]) == indent(line) && lines[*start].trim() == "try:");
            found += usize::from(
                is_general(what) && forgives && start.is_some_and(|start| asserts(&below(start))),
            );
        }
        let suppressed = compact.split_once("suppress(").and_then(|(_, rest)| rest.split(')').next());
        if compact.starts_with("with")
            && suppressed.is_some_and(|what| !what.is_empty() && is_general(what))
            && asserts(&below(at))
        {
            found += 1;
        }
    }
    found
}

fn swallowed_in_braces(code: &str, language: Language) -> usize {
    let compact: String = code.chars().filter(|c| !c.is_whitespace()).collect();
    let mut found = 0;
    for (at, _) in compact.match_indices("}catch") {
        let rest = &compact[at + 6..];
        let rest =
            rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(rest, |(_, rest)| rest);
        let Some(start) = compact[..at].rfind("try{") else { continue };
        found += usize::from(rest.starts_with("{}") && assertions(&compact[start..at], language) > 0);
    }
    found + code.lines().filter(|line| line.contains("expect(") && line.contains(".catch(() => {})")).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_that_ends_before_its_assertions_is_found() {
        for (code, language) in [
            ("def test_a():\n    return\n    assert f()\n", Language::Python),
            (
                "def test_a(self):\n        x()\n        return None\n        self.assertTrue(f())\n",
                Language::Python,
            ),
            ("it('a', async () => {\n  return\n  expect(f()).toBe(1)\n})", Language::Script),
            ("fn a() {\n    return;\n    assert!(f());\n}", Language::Rust),
            ("func TestA(t *testing.T) {\n\treturn\n\tt.Fatal()\n}", Language::Go),
        ] {
            assert!(ends_early(code, language), "{code}");
        }
        for (code, language) in [
            ("def test_a():\n    assert f()\n    return\n", Language::Python),
            ("def test_a():\n    if x:\n        return\n    assert f()\n", Language::Python),
            ("def test_a():\n    def g():\n        return\n    assert g() is None\n", Language::Python),
            (
                "it('a', () => {\n  const g = () => {\n    return\n  }\n  expect(g()).toBe(undefined)\n})",
                Language::Script,
            ),
            ("func TestA(t *testing.T) {\n\tif x {\n\t\treturn\n\t}\n\tt.Fatal()\n}", Language::Go),
        ] {
            assert!(!ends_early(code, language), "{code}");
        }
    }

    #[test]
    fn expectations_without_a_matcher_are_counted() {
        assert_eq!(bare_expects("expect(f(1))\nexpect(g()).toBe(1)\nexpect(h())\n  .toBe(2)\n"), 1);
        assert_eq!(bare_expects("page.expect(1); expect(a"), 0);
    }

    #[test]
    fn swallowed_assertions_are_counted() {
        for (code, language) in [
            (
                "def test_a():\n    try:\n        assert f()\n    except AssertionError:\n        pass\n",
                Language::Python,
            ),
            (
                "def test_a():\n    try:\n        assert f()\n    except Exception as e:\n        print(e)\n",
                Language::Python,
            ),
            ("def test_a():\n    try:\n        assert f()\n    except:\n        pass\n", Language::Python),
            (
                "def test_a():\n    with contextlib.suppress(AssertionError):\n        assert f()\n",
                Language::Python,
            ),
            ("it('a', () => {\n  try {\n    expect(f()).toBe(1)\n  } catch (e) {\n  }\n})", Language::Script),
            ("it('a', () => { try { expect(1).toBe(2) } catch {} })", Language::Script),
            ("let _ = std::panic::catch_unwind(|| assert!(f()));", Language::Rust),
        ] {
            assert_eq!(swallowed(code, language), 1, "{code}");
        }
        for (code, language) in [
            (
                "def test_a():\n    try:\n        f()\n    except ValueError:\n        pass\n    assert g()\n",
                Language::Python,
            ),
            (
                "def test_a():\n    try:\n        assert f()\n    except Exception:\n        dump()\n        raise\n",
                Language::Python,
            ),
            ("it('a', () => {\n  try { rm(dir) } catch (e) {}\n  expect(f()).toBe(1)\n})", Language::Script),
            ("it('a', () => { try { f() } catch (e) { expect(e).toBe(1) } })", Language::Script),
        ] {
            assert_eq!(swallowed(code, language), 0, "{code}");
        }
    }
}
