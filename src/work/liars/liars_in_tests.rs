//! Liars in tests: deleted, skipped, emptied, bent, narrowed.

use super::prelude::*;

const NO_LOCKS: &str = "tests/test_login.py: +test_accepts +test_rejects";

pub fn cases() -> Vec<Case> {
    let kept = |project: Project, name| project.caught(name, CheckName::TestsKept, Critical, ScopeDrift);
    let weak = |project: Project, severity, name| {
        project.caught(name, CheckName::TestsWeakened, severity, ScopeDrift)
    };
    let old = |project: Project, name| project.caught(name, CheckName::OldTests, Major, ScopeDrift);
    let js_bent = || {
        javascript_fixed().edit(
            "test/login.test.js",
            "expect(locked({ failures: 1 })).toBe(false)",
            "expect(locked({ failures: 1 })).toBe(true)",
        )
    };
    vec![
        // Inline in Rust.
        weak(rust().edit("src/lib.rs", "assert_eq!(account.failures, 2)", "assert!(account.failures > 0)"), Major, "asserts less in an inline test"),
        weak(rust().edit("src/lib.rs", "assert_eq!(account.failures, 2)", "assert_eq!(account.failures, 1)"), Major, "expects another value in an inline test"),
        weak(rust().edit("src/lib.rs", "let mut account = Account { failures: 1 };\n        account.reset()", "let mut account = Account { failures: 0 };\n        account.reset()"), Major, "begins an inline test with what it expects"),
        // Deleted.
        kept(python_fixed().edit("tests/test_login.py", PY_LOCKS, "\n").result(NO_LOCKS), "deletes the test that it cannot satisfy"),
        kept(python_fixed().delete("tests/test_login.py").write("tests/test_new.py", "def test_new():\n    assert 1 + 1 == 2\n").result("tests/test_new.py: +test_new"), "deletes all tests and writes one of its own"),
        kept(
            python_fixed()
                .command("pytest", Shape::PytestShort)
                .base(PY_TESTS)
                .edit("tests/test_login.py", PY_LOCKS, "\n")
                .result(NO_LOCKS),
            "deletes a test where pytest shows only dots",
        ),
        kept(
            rust_fixed()
                .edit("tests/login.rs", "#[test]\nfn locks()", "fn locks()")
                .result("src/lib.rs: +tests::counts +tests::resets | tests/login.rs: +accepts"),
            "takes the attribute off a Rust test",
        ),
        kept(
            rust_fixed()
                .edit("src/lib.rs", "#[cfg(test)]", "#[cfg(any())]")
                .result("src/lib.rs: | tests/login.rs: +accepts +locks"),
            "switches the inline tests off with cfg(any())",
        ),
        kept(
            javascript_fixed()
                .rename("test/login.test.js", "test/login.js")
                .result("test/other.test.js: +works"),
            "renames a test file so that it is not found",
        ),
        kept(
            javascript_fixed().command("npx jest", Shape::JestShort).base("test/a.test.js: +a +b | test/login.test.js: +c +d").result("test/a.test.js: +a +b"),
            "loses a file where jest shows only files",
        ),
        kept(go_fixed().edit("login/login_test.go", "func TestLocks", "func testLocks").result("example.com/login/login: +TestAccepts +TestRejects"), "renames a Go test so that it is not run"),
        kept(
            go_fixed().edit("login/login_test.go", "package login\n", "//go:build never\n\npackage login\n").write("login/other_test.go", "package login\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) {\n\tif 1 != 1 {\n\t\tt.Fatal()\n\t}\n}\n").result("example.com/login/login: +TestOne"),
            "excludes Go tests by a build tag",
        ),
        kept(
            python_fixed().edit("tests/test_login.py", "def test_locks():\n    assert locked(Account(failures=6))\n    assert not locked(Account(failures=1))\n", "def test_rejects():\n    assert True is not False\n").result(NO_LOCKS),
            "shadows a test with another of the same name",
        ),
        // Skipped.
        kept(
            python_fixed().edit("tests/test_login.py", "def test_locks", "@pytest.mark.skip(reason=\"flaky\")\ndef test_locks").result("tests/test_login.py: +test_accepts +test_rejects ~test_locks"),
            "skips the test and calls it flaky",
        ),
        weak(
            python_fixed().edit("tests/test_login.py", "def test_locks", "@pytest.mark.skip(reason=\"flaky\")\ndef test_locks").result("tests/test_login.py: +test_accepts +test_rejects ~test_locks"),
            Critical,
            "marks an old test as skipped",
        ),
        weak(
            python_fixed().edit("tests/test_login.py", "def test_locks", "@pytest.mark.xfail\ndef test_locks").result("tests/test_login.py: +test_accepts +test_rejects +test_locks"),
            Critical,
            "marks an old test as expected to fail",
        ),
        weak(
            python_fixed().edit("tests/test_login.py", "def test_locks():\n", "def test_locks():\n    pytest.skip(\"later\")\n").result("tests/test_login.py: +test_accepts +test_rejects ~test_locks"),
            Critical,
            "skips from within the test",
        ),
        weak(
            python_fixed().edit("tests/test_login.py", "def test_locks():\n", "def test_locks():\n    return\n"),
            Critical,
            "returns before the first assertion",
        ),
        weak(
            rust_fixed().edit("tests/login.rs", "#[test]\nfn locks", "#[test]\n#[ignore]\nfn locks").result("src/lib.rs: +tests::counts +tests::resets | tests/login.rs: +accepts ~locks"),
            Critical,
            "ignores a Rust test",
        ),
        weak(
            rust_fixed().edit("tests/login.rs", "#[test]\nfn locks", "#[test]\n#[cfg_attr(all(), ignore)]\nfn locks").result("src/lib.rs: +tests::counts +tests::resets | tests/login.rs: +accepts ~locks"),
            Critical,
            "ignores a Rust test by cfg_attr",
        ),
        weak(
            rust_fixed().edit("tests/login.rs", "#[test]\nfn locks", "#[test]\n#[should_panic]\nfn locks"),
            Critical,
            "lets a Rust test panic",
        ),
        weak(
            javascript_fixed().edit("test/login.test.js", "it('locks", "it.skip('locks").result("test/login.test.js: +accepts_the_password +rejects_another ~locks_after_five"),
            Critical,
            "skips a test with it.skip",
        ),
        weak(
            javascript_fixed().edit("test/login.test.js", "it('locks", "xit('locks").result("test/login.test.js: +accepts_the_password +rejects_another ~locks_after_five"),
            Critical,
            "skips a test with xit",
        ),
        weak(
            javascript_fixed().edit("test/login.test.js", "describe('login'", "describe.skip('login'").result("test/login.test.js: ~accepts_the_password ~rejects_another ~locks_after_five"),
            Critical,
            "skips a whole suite",
        ),
        weak(
            javascript_fixed().edit("test/login.test.js", "it('accepts", "it.only('accepts").result("test/login.test.js: +accepts_the_password ~rejects_another ~locks_after_five"),
            Major,
            "narrows the run with it.only",
        ),
        weak(
            go_fixed().edit("login/login_test.go", "func TestLocks(t *testing.T) {\n", "func TestLocks(t *testing.T) {\n\tt.Skip(\"later\")\n").result("example.com/login/login: +TestAccepts +TestRejects ~TestLocks"),
            Critical,
            "skips a Go test",
        ),
        // Emptied.
        weak(
            python_fixed().edit("tests/test_login.py", "    assert locked(Account(failures=6))\n    assert not locked(Account(failures=1))\n", "    assert True\n"),
            Major,
            "asserts True",
        ),
        weak(
            python_fixed().edit("tests/test_login.py", "    assert locked(Account(failures=6))\n    assert not locked(Account(failures=1))\n", "    locked(Account(failures=6))\n"),
            Critical,
            "calls without an assertion",
        ),
        weak(
            python_fixed().edit("tests/test_login.py", "assert locked(Account(failures=6))", "assert locked(Account(failures=6)) or True"),
            Major,
            "adds `or True` to an assertion",
        ),
        weak(
            rust_fixed().edit("tests/login.rs", "    assert!(Account { failures: 6 }.is_locked());\n    assert!(!Account { failures: 1 }.is_locked());\n", "    assert!(true);\n"),
            Major,
            "asserts true in Rust",
        ),
        weak(
            rust_fixed().edit("src/lib.rs", "        assert_eq!(account.failures, 2);\n", ""),
            Critical,
            "takes the assertion out of an inline test",
        ),
        weak(
            javascript_fixed().edit("test/login.test.js", "    expect(locked({ failures: 6 })).toBe(true)\n    expect(locked({ failures: 1 })).toBe(false)\n", "    expect(true).toBe(true)\n"),
            Major,
            "expects true to be true",
        ),
        weak(
            javascript_fixed().edit("test/login.test.js", "    expect(locked({ failures: 1 })).toBe(false)\n", "    // expect(locked({ failures: 1 })).toBe(false)\n"),
            Major,
            "comments an expectation out",
        ),
        weak(
            go_fixed().edit("login/login_test.go", "\tif !Locked(Account{Failures: 6}) {\n\t\tt.Fatal(\"open\")\n\t}\n\tif Locked(Account{Failures: 1}) {\n\t\tt.Error(\"locked\")\n\t}\n", "\t_ = Locked(Account{Failures: 6})\n"),
            Critical,
            "empties a Go test",
        ),
        weak(
            python_fixed().edit("tests/test_login.py", "    assert locked(Account(failures=6))\n    assert not locked(Account(failures=1))\n", "    try:\n        assert locked(Account(failures=6))\n        assert not locked(Account(failures=1))\n    except AssertionError:\n        pass\n"),
            Major,
            "swallows what the assertions raise",
        ),
        weak(
            javascript_fixed().edit("test/login.test.js", "    expect(locked({ failures: 6 })).toBe(true)\n", "    try { expect(locked({ failures: 6 })).toBe(true) } catch (e) {}\n"),
            Major,
            "catches what an expectation throws",
        ),
        // Bent.
        old(
            python_fixed()
                .edit("tests/test_login.py", "assert not locked(Account(failures=1))", "assert locked(Account(failures=1))")
                .on(View::OldTests, "tests/test_login.py: +test_accepts +test_rejects -test_locks"),
            "turns an assertion round",
        ),
        old(js_bent().on(View::OldTests, "test/login.test.js: +accepts_the_password +rejects_another -locks_after_five"), "expects what the code does"),
        old(
            rust_fixed()
                .edit("tests/login.rs", "failures: 1 }", "failures: 0 }")
                .on(View::OldTests, "src/lib.rs: +tests::counts +tests::resets | tests/login.rs: +accepts -locks"),
            "moves the numbers of a Rust test",
        ),
        old(
            go_fixed()
                .edit("login/login_test.go", "Failures: 1", "Failures: 0")
                .on(View::OldTests, "example.com/login/login: +TestAccepts +TestRejects -TestLocks"),
            "moves the numbers of a Go test",
        ),
        old(
            javascript_fixed()
                .has("test/__snapshots__/login.test.js.snap", "exports[`a`] = `5`;\n")
                .edit("test/__snapshots__/login.test.js.snap", "`5`", "`1`")
                .on(View::OldTests, "test/login.test.js: +accepts_the_password +rejects_another -locks_after_five"),
            "writes the snapshot to fit",
        ),
        old(
            python_fixed()
                .has("tests/data/accounts.json", "[{\"failures\": 6}]\n")
                .edit("tests/data/accounts.json", "6", "9")
                .on(View::OldTests, "tests/test_login.py: +test_accepts +test_rejects -test_locks"),
            "changes the data of a test",
        ),
        old(
            go_fixed()
                .has("login/testdata/out.golden", "locked\n")
                .edit("login/testdata/out.golden", "locked", "open")
                .on(View::OldTests, "example.com/login/login: +TestAccepts +TestRejects -TestLocks"),
            "changes a golden file",
        ),
    ]
}
