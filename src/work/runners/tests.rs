//! Outputs of real runners, whole and cut off, and output that is hostile.

use super::*;
use crate::work::evidence::TestOutcome::{self, Failed, Passed, Skipped};

fn read(output: &str) -> Option<TestSummary> {
    let mut whole = SummaryReader::new();
    whole.feed(output.as_bytes());
    let whole = whole.finish();
    // However it is cut into pieces, the answer is the same.
    let mut pieces = SummaryReader::new();
    output.as_bytes().chunks(7).for_each(|piece| pieces.feed(piece));
    assert_eq!(pieces.finish(), whole);
    whole
}

fn counts(output: &str) -> (String, u64, u64, u64, bool) {
    let found = read(output).unwrap_or_else(|| panic!("no runner in:\n{output}"));
    (found.runner, found.passed, found.failed, found.skipped, found.is_complete)
}

fn names(output: &str) -> Vec<(String, TestOutcome)> {
    read(output).unwrap().tests.into_iter().collect()
}

fn named(pairs: &[(&str, TestOutcome)]) -> Vec<(String, TestOutcome)> {
    let mut pairs: Vec<_> = pairs.iter().map(|(name, outcome)| ((*name).to_owned(), *outcome)).collect();
    pairs.sort();
    pairs
}

const CARGO: &str = "\
   Compiling foo v0.1.0 (/tmp/foo)
     Running unittests src/lib.rs (target/debug/deps/foo-0123456789abcdef)

running 3 tests
test a::works ... \u{1b}[32mok\u{1b}[m
test b ... ignored, too slow
test c - should panic ... FAILED

failures:

---- c stdout ----
thread 'c' panicked at src/lib.rs:3:5:
boom

test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s

     Running tests/it.rs (target/debug/deps/it-0123456789abcdef)

running 1 test
test a::works ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s

   Doc-tests foo

running 1 test
test src/lib.rs - f (line 3) ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.21s
";

#[test]
fn several_binaries_of_cargo_add_up() {
    assert_eq!(counts(CARGO), ("cargo test".into(), 3, 1, 1, true));
    let expected = [
        ("foo::a::works", Passed),
        ("foo::b", Skipped),
        ("foo::c", Failed),
        ("it::a::works", Passed),
        ("foo (doc)::src/lib.rs - f", Passed),
    ];
    assert_eq!(names(CARGO), named(&expected));
}

#[test]
fn a_runner_that_was_cut_off_is_known_and_not_complete() {
    let cut = [
        ("running 5 tests\ntest a ... ok\n", "cargo test", 1),
        (CARGO.rsplit_once("test result").unwrap().0, "cargo test", 3),
        ("=== test session starts ===\nplatform linux\ncollected 2 items\n\na.py .", "pytest", 0),
        ("test_a (t.T) ... ok\ntest_b (t.T) ... ok\n", "unittest", 2),
        ("Ran 3 tests in 0.1s\n", "unittest", 0),
        ("TAP version 13\n# Subtest: a\nok 1 - a\n", "tap", 1),
        ("PASS src/a.test.js\n", "jest", 0),
        (" RUN  v1.6.0 /tmp/x\n\n", "vitest", 0),
        ("=== RUN   TestA\n", "go test", 0),
        ("=== RUN   TestA\n--- PASS: TestA (0.00s)\n", "go test", 0),
        ("PHPUnit 9.5.0 by Sebastian Bergmann and contributors.\n\n..", "phpunit", 0),
        ("Run options: --seed 1\n\n# Running:\n\n..", "minitest", 0),
        ("Test project /tmp/b\n    Start 1: a\n", "ctest", 0),
        ("-------\n T E S T S\n-------\n", "surefire", 0),
        ("    Starting 3 tests across 2 binaries\n", "cargo nextest", 0),
    ];
    for (output, runner, passed) in cut {
        let found = read(output).unwrap_or_else(|| panic!("{output}"));
        assert_eq!(
            (found.runner.as_str(), found.passed, found.is_complete),
            (runner, passed, false),
            "{output}"
        );
    }
}

#[test]
fn whole_summaries_are_counted() {
    let cases = [
        (
            "    Starting 3 tests across 1 binary\n        PASS [   0.005s] foo a\n        FAIL [   0.006s] (2/3) foo::it b\n\
          ------------\n     Summary [   0.010s] 3 tests run: 2 passed (1 slow), 1 failed, 4 skipped\n",
            ("cargo nextest", 2, 1, 4),
        ),
        (
            "== test session starts ==\ncollected 3 items\n\na.py ..F [100%]\n\n===== 1 failed, 2 passed, 1 skipped, 2 warnings in 0.12s =====\n",
            ("pytest", 2, 1, 1),
        ),
        ("..s.                    [100%]\n3 passed, 1 skipped in 0.01s\n", ("pytest", 3, 0, 1)),
        ("= test session starts =\n\n=== no tests ran in 0.01s ===\n", ("pytest", 0, 0, 0)),
        (
            "== test session starts ==\n== 1 passed, 2 xfailed, 1 xpassed, 1 error in 61.20s (0:01:01) ==\n",
            ("pytest", 2, 1, 2),
        ),
        ("...\n-----\nRan 3 tests in 0.001s\n\nOK\n", ("unittest", 3, 0, 0)),
        ("Ran 5 tests in 0.001s\n\nFAILED (failures=1, errors=1, skipped=1)\n", ("unittest", 2, 2, 1)),
        ("Ran 0 tests in 0.000s\n\nNO TESTS RAN\n", ("unittest", 0, 0, 0)),
        (
            "✔ a (0.5ms)\n✖ b (1ms)\nℹ tests 2\nℹ suites 0\nℹ pass 1\nℹ fail 1\nℹ cancelled 0\nℹ skipped 0\nℹ todo 0\n",
            ("node --test", 1, 1, 0),
        ),
        (
            "TAP version 13\n# Subtest: a\nok 1 - a\n1..1\n# tests 1\n# suites 0\n# pass 1\n# fail 0\n# cancelled 0\n# skipped 0\n# todo 0\n",
            ("node --test", 1, 0, 0),
        ),
        ("TAP version 13\nok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP\n1..3\n", ("tap", 1, 1, 1)),
        (
            "PASS src/a.test.js (5.1 s)\nFAIL src/b.test.js\n\nTest Suites: 1 failed, 1 passed, 2 total\nTests:       1 failed, 1 skipped, 3 passed, 5 total\n",
            ("jest", 3, 1, 1),
        ),
        ("No tests found, exiting with code 0\n", ("jest", 0, 0, 0)),
        (
            " RUN  v1.6.0 /tmp\n\n ✓ src/a.test.ts  (3 tests | 1 skipped) 5ms\n\n Test Files  1 passed (1)\n      Tests  2 passed | 1 skipped (3)\n",
            ("vitest", 2, 0, 1),
        ),
        (
            "\n  suite\n    ✔ a\n    1) b\n    - c\n\n  1 passing (10ms)\n  1 pending\n  1 failing\n\n  1) suite b:\n",
            ("mocha", 1, 1, 1),
        ),
        (
            "ok  \texample.com/a\t0.1s\nFAIL\texample.com/b\t0.2s\n?   \texample.com/c\t[no test files]\nFAIL\n",
            ("go test", 1, 1, 0),
        ),
        (
            "=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n    b_test.go:3: no\n--- SKIP: TestB (0.00s)\nPASS\nok  \tx\t0.1s\n",
            ("go test", 1, 0, 1),
        ),
        (
            "{\"Action\":\"start\",\"Package\":\"x\"}\n{\"Action\":\"run\",\"Package\":\"x\",\"Test\":\"TestA\"}\n{\"Action\":\"pass\",\"Package\":\"x\",\"Test\":\"TestA\"}\n{\"Action\":\"pass\",\"Package\":\"x\"}\n",
            ("go test", 1, 0, 0),
        ),
        ("ok  \tx\t0.1s [no tests to run]\n", ("go test", 0, 0, 0)),
        (
            "..F\n\n5 examples, 1 failure, 2 pending\n\nrspec ./spec/a_spec.rb:3 # A does it\n",
            ("rspec", 2, 1, 2),
        ),
        ("# Running:\n\n...\n\n3 runs, 5 assertions, 1 failures, 0 errors, 1 skips\n", ("minitest", 1, 1, 1)),
        (
            "PHPUnit 9.5.0 by Sebastian Bergmann and contributors.\n\n...\n\nOK (3 tests, 5 assertions)\n",
            ("phpunit", 3, 0, 0),
        ),
        (
            "PHPUnit 9.5.0 by Sebastian Bergmann and contributors.\n\nTests: 4, Assertions: 5, Failures: 1, Skipped: 1.\n",
            ("phpunit", 2, 1, 1),
        ),
        (
            "[INFO]  T E S T S\n[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s - in a.BTest\n[INFO] Results:\n[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0\n",
            ("surefire", 2, 0, 0),
        ),
        (
            "Test project /b\n1/2 Test #1: a ........   Passed    0.01 sec\n2/2 Test #2: b ........***Failed    0.01 sec\n\n50% tests passed, 1 tests failed out of 2\n",
            ("ctest", 1, 1, 0),
        ),
        (
            "t/a.t .. ok\nt/b.t .. ok\nAll tests successful.\nFiles=2, Tests=10,  0 wallclock secs\nResult: PASS\n",
            ("prove", 10, 0, 0),
        ),
    ];
    for (output, (runner, passed, failed, skipped)) in cases {
        assert_eq!(counts(output), (runner.to_owned(), passed, failed, skipped, true), "{output}");
    }
}

#[test]
fn tests_are_named_where_the_runner_names_them() {
    let pytest = "= test session starts =\ntests/test_a.py::test_x PASSED   [ 33%]\ntests/test_a.py::test_y[a b] FAILED [ 66%]\n\
                  tests/test_a.py::test_z SKIPPED (slow) [100%]\n[gw0] [ 20%] PASSED t/b.py::T::m\n== 1 passed in 0.1s ==\n";
    let expected = [
        ("tests/test_a.py::test_x", Passed),
        ("tests/test_a.py::test_y[a b]", Failed),
        ("tests/test_a.py::test_z", Skipped),
        ("t/b.py::T::m", Passed),
    ];
    assert_eq!(names(pytest), named(&expected));
    let unittest = "test_a (t.T.test_a) ... ok\ntest_b (t.T)\nWhat it does ... FAIL\ntest_c (t.T) ... skipped 'x'\nRan 3 tests in 0.1s\n\nFAILED (failures=1, skipped=1)\n";
    assert_eq!(
        names(unittest),
        named(&[("t.T.test_a", Passed), ("t.T.test_b", Failed), ("t.T.test_c", Skipped)])
    );
    let node = "▶ suite\n  ✔ a (0.5ms)\n  ✖ b (1ms)\n✖ suite (2ms)\n✔ c (1ms)\nℹ tests 3\nℹ pass 2\nℹ fail 1\n\n✖ failing tests:\n\n✖ b (1ms)\n";
    assert_eq!(names(node), named(&[("suite > a", Passed), ("suite > b", Failed), ("c", Passed)]));
    let tap = "TAP version 13\n# Subtest: suite\n    # Subtest: a\n    ok 1 - a\n    1..1\nok 1 - suite\n# Subtest: c\nok 2 - c\n1..2\n";
    assert_eq!(names(tap), named(&[("suite > a", Passed), ("c", Passed)]));
    let jest = "PASS src/a.test.js\n  login\n    ✓ works (3 ms)\n    ○ skipped later\n  ✕ top\n\nTests:       1 failed, 1 skipped, 1 passed, 3 total\n";
    let expected = [
        ("src/a.test.js > login > works", Passed),
        ("src/a.test.js > login > later", Skipped),
        ("src/a.test.js > top", Failed),
    ];
    assert_eq!(names(jest), named(&expected));
    let go = "=== RUN   TestA\n=== RUN   TestA/x\n--- PASS: TestA (0.00s)\n    --- PASS: TestA/x (0.00s)\nok  \tm/p\t0.1s\n";
    assert_eq!(names(go), named(&[("m/p.TestA", Passed), ("m/p.TestA/x", Passed)]));
    let mocha = "  suite\n    ✔ a (5ms)\n    1) b\n    - c\n\n  1 passing (10ms)\n";
    assert_eq!(names(mocha), named(&[("suite > a", Passed), ("suite > b", Failed), ("suite > c", Skipped)]));
}

#[test]
fn a_program_that_is_no_runner_has_no_summary() {
    for output in [
        "",
        "hello\nok\n",
        "error: failed to compile\n",
        "Compiling foo\nFinished in 3.2s\n",
        "3 files changed in 2s\n",
        "PASS everything\n",
        "RUN apt-get update\n",
        "running 5 services\n",
        "ok, done\n",
        "Tests: all fine\n",
        "# pass the salt\n",
    ] {
        assert_eq!(read(output), None, "{output}");
    }
}

#[test]
fn two_runners_add_up_and_both_must_end() {
    let both = "running 1 test\ntest a ... ok\ntest result: ok. 1 passed; 0 failed; 0 ignored\n== 2 passed in 0.1s ==\n";
    assert_eq!(counts(both), ("cargo test + pytest".into(), 3, 0, 0, true));
    let cut = "running 1 test\n== 2 passed in 0.1s ==\n";
    assert_eq!(counts(cut), ("cargo test + pytest".into(), 2, 0, 0, false));
}

#[test]
fn hostile_output_neither_panics_nor_grows() {
    let mut reader = SummaryReader::new();
    let long = vec![b'x'; 1 << 20];
    for _ in 0..64 {
        reader.feed(&long);
    }
    reader.feed(b"\n\x1b[31");
    let binary: Vec<u8> = (0..=255).collect();
    for _ in 0..1000 {
        reader.feed(&binary);
    }
    reader.feed(b"\nrunning 2 tests\n");
    for number in 0..60_000 {
        reader.feed(format!("test t{number} ... ok\n").as_bytes());
    }
    reader.feed(b"test result: ok. 99999999999999999999 passed; 0 failed\ntest result: ok. 2 passed; 0 failed; 0 ignored\n");
    let found = reader.finish().unwrap();
    assert_eq!((found.passed, found.tests.len(), found.is_complete), (2, 0, true));
    for line in [
        "= in s =",
        "Ran  tests in ",
        "--- : ",
        "ok 1",
        "1..",
        "Summary [ ] run: ",
        "Tests run: ",
        "[gw",
        "RUN v",
        "RUN é",
        "{\"Action\"",
        "FAIL\t",
        "] (",
        "test  ... ",
    ] {
        let _ = read(line);
    }
}

#[test]
fn the_runner_of_a_command_line_is_known() {
    let cases = [
        ("cargo test", None, Some("cargo test")),
        ("cargo +nightly test -p x", None, Some("cargo test")),
        ("cargo nextest run", None, Some("cargo nextest")),
        ("cargo build", None, None),
        ("CI=1 npx jest --ci", None, Some("jest")),
        ("python3 -m pytest -q", None, Some("pytest")),
        ("python -m unittest discover", None, Some("unittest")),
        ("./node_modules/.bin/vitest run", None, Some("vitest")),
        ("cd a && go test ./...", None, Some("go test")),
        ("npm test", Some("node --test test/"), Some("node --test")),
        ("npm test", None, None),
        ("npm install jest", None, None),
        ("echo pytest", None, None),
        ("bundle exec rspec", None, Some("rspec")),
        ("mvn -q test", None, Some("surefire")),
    ];
    for (command, script, expected) in cases {
        assert_eq!(runner_of_command(command, script), expected, "{command}");
    }
    assert!(runner_prints_summary("pytest -q", None) && runner_prints_summary("npm test", Some("jest")));
    for silent in [
        "pytest -qq",
        "pytest > /dev/null",
        "npx jest --silent",
        "cargo test --quiet",
        "cargo test --no-run",
        "true",
    ] {
        assert!(!runner_prints_summary(silent, None), "{silent}");
    }
}

#[test]
fn error_lines_are_found() {
    let tail: Vec<String> = [
        "ok",
        "",
        "\u{1b}[31mAssertionError: 1 != 2\u{1b}[0m",
        "test a ... FAILED",
        "0 failed",
        "AssertionError: 1 != 2",
    ]
    .map(str::to_owned)
    .to_vec();
    assert_eq!(error_lines(&tail), ["AssertionError: 1 != 2", "test a ... FAILED"]);
    assert_eq!(first_error_line(&["a".to_owned(), "b".to_owned(), " ".to_owned()]), Some("b".to_owned()));
    assert_eq!(first_error_line(&[]), None);
}

#[test]
fn the_same_failure_is_the_same_line() {
    let pairs = [
        ("error at /tmp/a/b.rs:3:5", "error at /home/x/b.rs:99:1"),
        ("took 3.25s, 0x7ffe12", "took 17ms, 0xdeadbeef"),
        ("expected 3 but was 4", "expected 30 but was 41"),
        ("\u{1b}[31mboom\u{1b}[0m in 3 ms", "boom in 12 s"),
        ("id 9f86d081884c7d65", "id 60303ae22b998861"),
        ("connect 127.0.0.1:8080", "connect 10.1.2.33:9"),
    ];
    for (one, other) in pairs {
        assert_eq!(normalised(one), normalised(other));
    }
    assert_ne!(normalised("cannot find value `a`"), normalised("cannot find value `b`"));
    let _ = normalised(&"0/\\x".repeat(100_000));
}
