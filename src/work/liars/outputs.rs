//! What the real runners print, for a few tests: written once, so that a case names only tests and outcomes.

use std::fmt::Write;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// `pytest -v`
    Pytest,
    /// `pytest`: files and dots
    PytestShort,
    Unittest,
    Cargo,
    /// `jest --verbose`
    Jest,
    /// `jest` with many files: no names
    JestShort,
    Vitest,
    Mocha,
    NodeTest,
    /// `go test -v`
    Go,
    /// `go test`: packages alone
    GoShort,
}

struct Suite<'t> {
    file: &'t str,
    tests: Vec<(char, &'t str)>,
}

/// `file: +passed -failed ~skipped | other: +passed`; `_` in a name of a script stands for a space.
fn suites(text: &str) -> Vec<Suite<'_>> {
    let parts = text.split(" | ").filter(|part| !part.trim().is_empty());
    parts
        .map(|part| {
            let (file, tests) = part.split_once(": ").unwrap_or((part.trim_end_matches(':'), ""));
            let tests = tests.split_whitespace().map(|test| (test.chars().next().unwrap(), &test[1..]));
            Suite { file: file.trim(), tests: tests.collect() }
        })
        .collect()
}

/// The exit code and the text.
pub fn output(shape: Shape, tests: &str) -> (i32, String) {
    let suites = suites(tests);
    let count = |wanted: char| {
        suites.iter().flat_map(|suite| &suite.tests).filter(|(sign, _)| *sign == wanted).count()
    };
    let (passed, failed, skipped) = (count('+'), count('-'), count('~'));
    let total = passed + failed + skipped;
    let mut text = String::new();
    let code = match shape {
        Shape::Pytest | Shape::PytestShort => {
            pytest(&mut text, shape, &suites, total);
            let counts: Vec<String> = [(failed, "failed"), (passed, "passed"), (skipped, "skipped")]
                .iter()
                .filter(|(count, _)| *count > 0)
                .map(|(count, word)| format!("{count} {word}"))
                .collect();
            let counts = if counts.is_empty() { "no tests ran".to_owned() } else { counts.join(", ") };
            writeln!(
                text,
                "============================== {counts} in 0.03s ==============================="
            )
            .unwrap();
            if total == 0 { 5 } else { i32::from(failed > 0) }
        }
        Shape::Unittest => {
            for suite in &suites {
                let module = suite.file.trim_end_matches(".py").replace('/', ".");
                for (sign, name) in &suite.tests {
                    let word = match sign {
                        '+' => "ok",
                        '-' => "FAIL",
                        _ => "skipped 'later'",
                    };
                    writeln!(text, "{name} ({module}.LoginTest.{name}) ... {word}").unwrap();
                }
            }
            writeln!(text, "\n----------------------------------------------------------------------\nRan {total} tests in 0.001s\n").unwrap();
            text.push_str(&if failed > 0 {
                format!("FAILED (failures={failed})\n")
            } else {
                "OK\n".to_owned()
            });
            i32::from(failed > 0)
        }
        Shape::Cargo => {
            cargo(&mut text, &suites);
            if failed > 0 { 101 } else { 0 }
        }
        Shape::Jest | Shape::JestShort => {
            for suite in &suites {
                let has_failed = suite.tests.iter().any(|(sign, _)| *sign == '-');
                writeln!(text, "{} {}", if has_failed { "FAIL" } else { "PASS" }, suite.file).unwrap();
                if shape == Shape::Jest {
                    text.push_str("  login\n");
                    for (sign, name) in &suite.tests {
                        let name = name.replace('_', " ");
                        let line = match sign {
                            '+' => format!("    ✓ {name} (2 ms)"),
                            '-' => format!("    ✕ {name} (3 ms)"),
                            _ => format!("    ○ skipped {name}"),
                        };
                        writeln!(text, "{line}").unwrap();
                    }
                }
                if has_failed {
                    text.push_str("\n  ● login › fails\n\n    expect(received).toBe(expected) // Object.is equality\n\n    Expected: true\n    Received: false\n\n");
                }
            }
            if total == 0 {
                text.push_str("No tests found, exiting with code 1\n");
                return (1, text);
            }
            let parts: Vec<String> =
                [(failed, "failed"), (skipped, "skipped"), (passed, "passed"), (total, "total")]
                    .iter()
                    .filter(|(count, _)| *count > 0)
                    .map(|(count, word)| format!("{count} {word}"))
                    .collect();
            writeln!(
                text,
                "\nTest Suites: {} total\nTests:       {}\nSnapshots:   0 total\nTime:        0.8 s\nRan all test suites.",
                suites.len(),
                parts.join(", ")
            )
            .unwrap();
            i32::from(failed > 0)
        }
        Shape::Vitest => {
            text.push_str("\n RUN  v1.6.0 /project\n\n");
            for suite in &suites {
                for (sign, name) in &suite.tests {
                    let mark = match sign {
                        '+' => '✓',
                        '-' => '×',
                        _ => '↓',
                    };
                    writeln!(text, " {mark} {} > login > {}", suite.file, name.replace('_', " ")).unwrap();
                }
            }
            let parts: Vec<String> = [(failed, "failed"), (passed, "passed"), (skipped, "skipped")]
                .iter()
                .filter(|(count, _)| *count > 0)
                .map(|(count, word)| format!("{count} {word}"))
                .collect();
            writeln!(text, "\n Test Files  {0} passed ({0})\n      Tests  {1} ({total})\n   Start at  10:00:00\n   Duration  300ms\n", suites.len(), parts.join(" | ")).unwrap();
            i32::from(failed > 0)
        }
        Shape::Mocha => {
            text.push_str("\n\n");
            for suite in &suites {
                writeln!(text, "  {}", suite.file).unwrap();
                for (number, (sign, name)) in suite.tests.iter().enumerate() {
                    let name = name.replace('_', " ");
                    let line = match sign {
                        '+' => format!("    ✔ {name}"),
                        '-' => format!("    {}) {name}", number + 1),
                        _ => format!("    - {name}"),
                    };
                    writeln!(text, "{line}").unwrap();
                }
            }
            writeln!(text, "\n\n  {passed} passing (9ms)").unwrap();
            if skipped > 0 {
                writeln!(text, "  {skipped} pending").unwrap();
            }
            if failed > 0 {
                writeln!(
                    text,
                    "  {failed} failing\n\n  1) login\n\n      AssertionError [ERR_ASSERTION]: false == true"
                )
                .unwrap();
            }
            i32::try_from(failed).unwrap()
        }
        Shape::NodeTest => {
            for (sign, name) in suites.iter().flat_map(|suite| &suite.tests) {
                let name = name.replace('_', " ");
                let line = match sign {
                    '+' => format!("✔ {name} (0.5ms)"),
                    '-' => format!("✖ {name} (0.7ms)"),
                    _ => format!("﹣ {name} (0.1ms) # SKIP"),
                };
                writeln!(text, "{line}").unwrap();
            }
            writeln!(text, "ℹ tests {total}\nℹ suites 0\nℹ pass {passed}\nℹ fail {failed}\nℹ cancelled 0\nℹ skipped {skipped}\nℹ todo 0\nℹ duration_ms 60").unwrap();
            i32::from(failed > 0)
        }
        Shape::Go | Shape::GoShort => {
            for suite in &suites {
                let has_failed = suite.tests.iter().any(|(sign, _)| *sign == '-');
                for (sign, name) in &suite.tests {
                    if shape == Shape::Go {
                        writeln!(text, "=== RUN   {name}").unwrap();
                    }
                    let word = match sign {
                        '+' => "PASS",
                        '-' => "FAIL",
                        _ => "SKIP",
                    };
                    if shape == Shape::Go || *sign == '-' {
                        writeln!(text, "--- {word}: {name} (0.00s)").unwrap();
                    }
                }
                if shape == Shape::Go {
                    text.push_str(if has_failed { "FAIL\n" } else { "PASS\n" });
                }
                let end = if has_failed { "FAIL" } else { "ok  " };
                writeln!(text, "{end}\t{}\t0.004s", suite.file).unwrap();
            }
            i32::from(failed > 0)
        }
    };
    (code, text)
}

fn pytest(text: &mut String, shape: Shape, suites: &[Suite], total: usize) {
    text.push_str("============================= test session starts ==============================\n");
    text.push_str("platform linux -- Python 3.12.3, pytest-8.2.0, pluggy-1.5.0\nrootdir: /project\n");
    writeln!(text, "collected {total} items\n").unwrap();
    for suite in suites {
        if shape == Shape::PytestShort {
            let marks: String = suite
                .tests
                .iter()
                .map(|(sign, _)| match sign {
                    '+' => '.',
                    '-' => 'F',
                    _ => 's',
                })
                .collect();
            if !marks.is_empty() {
                writeln!(
                    text,
                    "{} {marks}                                                   [100%]",
                    suite.file
                )
                .unwrap();
            }
            continue;
        }
        for (sign, name) in &suite.tests {
            let word = match sign {
                '+' => "PASSED",
                '-' => "FAILED",
                _ => "SKIPPED (later)",
            };
            writeln!(text, "{}::{name} {word}                                  [ 50%]", suite.file).unwrap();
        }
    }
    let failed: Vec<String> = suites
        .iter()
        .flat_map(|suite| {
            suite
                .tests
                .iter()
                .filter(|(sign, _)| *sign == '-')
                .map(move |(_, name)| format!("{}::{name}", suite.file))
        })
        .collect();
    if !failed.is_empty() {
        text.push_str("\n=================================== FAILURES ===================================\n");
        text.push_str("E       assert False is True\n");
        text.push_str("=========================== short test summary info ============================\n");
        for name in failed {
            writeln!(text, "FAILED {name} - assert False is True").unwrap();
        }
    }
}

fn cargo(text: &mut String, suites: &[Suite]) {
    text.push_str("   Compiling login v0.1.0 (/project)\n    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.61s\n");
    for suite in suites {
        let binary = if suite.file == "src/lib.rs" {
            "login"
        } else {
            suite.file.trim_end_matches(".rs").rsplit('/').next().unwrap()
        };
        let kind = if suite.file == "src/lib.rs" { "unittests " } else { "" };
        writeln!(text, "     Running {kind}{} (target/debug/deps/{binary}-0123456789abcdef)\n", suite.file)
            .unwrap();
        writeln!(text, "running {} tests", suite.tests.len()).unwrap();
        let count = |wanted: char| suite.tests.iter().filter(|(sign, _)| *sign == wanted).count();
        for (sign, name) in &suite.tests {
            let word = match sign {
                '+' => "ok",
                '-' => "FAILED",
                _ => "ignored",
            };
            writeln!(text, "test {name} ... {word}").unwrap();
        }
        let (passed, failed, ignored) = (count('+'), count('-'), count('~'));
        if failed > 0 {
            text.push_str("\nfailures:\n\n---- locks stdout ----\nthread 'locks' panicked at tests/login.rs:9:5:\nassertion `left == right` failed\n  left: false\n right: true\n\n");
        }
        let word = if failed > 0 { "FAILED" } else { "ok" };
        writeln!(text, "\ntest result: {word}. {passed} passed; {failed} failed; {ignored} ignored; 0 measured; 0 filtered out; finished in 0.00s\n").unwrap();
        if failed > 0 {
            break;
        }
    }
}
