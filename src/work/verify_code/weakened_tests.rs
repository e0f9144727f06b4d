use super::*;
use crate::model::verdict::CheckStatus;
use crate::work::verify_code::sample::Sample;

fn verdict(sample: &Sample) -> (CheckStatus, CheckSeverity) {
    let check = tests_weakened(&sample.evidence);
    assert_eq!(
        check.blocker.is_some(),
        check.status == CheckStatus::Failed && check.severity != CheckSeverity::Minor
    );
    (check.status, check.severity)
}

fn changed(path: &str, before: &str, after: &str) -> (CheckStatus, CheckSeverity) {
    verdict(&Sample::new("npm test").changed(path, before, after))
}

const CRITICAL: (CheckStatus, CheckSeverity) = (CheckStatus::Failed, CheckSeverity::Critical);
const MAJOR: (CheckStatus, CheckSeverity) = (CheckStatus::Failed, CheckSeverity::Major);
const MINOR: (CheckStatus, CheckSeverity) = (CheckStatus::Failed, CheckSeverity::Minor);
const FINE: (CheckStatus, CheckSeverity) = (CheckStatus::Passed, CheckSeverity::Minor);

#[test]
fn tests_that_are_skipped_are_caught() {
    for (path, before, after) in [
        (
            "a.test.js",
            "it('a', () => { expect(f()).toBe(1) })\n",
            "it.skip('a', () => { expect(f()).toBe(1) })\n",
        ),
        (
            "a.test.js",
            "it('a', () => { expect(f()).toBe(1) })\n",
            "xit('a', () => { expect(f()).toBe(1) })\n",
        ),
        ("a.test.js", "describe('a', () => {\n})\n", "describe.skip('a', () => {\n})\n"),
        (
            "test_a.py",
            "def test_a():\n    assert f()\n",
            "@pytest.mark.skip\ndef test_a():\n    assert f()\n",
        ),
        (
            "test_a.py",
            "def test_a():\n    assert f()\n",
            "@pytest.mark.xfail(reason='x')\ndef test_a():\n    assert f()\n",
        ),
        (
            "test_a.py",
            "class T(X):\n    def test_a(self):\n        self.assertEqual(f(), 1)\n",
            "class T(X):\n    def test_a(self):\n        self.skipTest('x')\n        self.assertEqual(f(), 1)\n",
        ),
        (
            "tests/a.rs",
            "#[test]\nfn a() { assert!(f()); }\n",
            "#[test]\n#[ignore]\nfn a() { assert!(f()); }\n",
        ),
        (
            "src/a.rs",
            "#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() { assert!(f()); }\n}\n",
            "#[cfg(test)]\nmod tests {\n    #[test]\n    #[ignore]\n    fn a() { assert!(f()); }\n}\n",
        ),
        (
            "a_test.go",
            "func TestA(t *testing.T) { t.Fatal(1) }\n",
            "func TestA(t *testing.T) { t.Skip(1); t.Fatal(1) }\n",
        ),
        ("a_test.go", "func TestA(t *testing.T) { t.Fatal(1) }\n", "func TestA(t *testing.T) { }\n"),
        (".github/workflows/a.yml", "steps:\n", "steps:\n  continue-on-error: true\n"),
        (
            "package.json",
            "{\"scripts\": {\"test\": \"jest\"}}",
            "{\"scripts\": {\"test\": \"jest || true\"}}",
        ),
        ("Makefile", "test:\n\tpytest\n", "test:\n\tpytest || true\n"),
    ] {
        assert_eq!(changed(path, before, after), CRITICAL, "{after}");
    }
}

#[test]
fn tests_that_say_less_are_caught() {
    for (path, before, after) in [
        (
            "a.test.js",
            "it('a', () => { expect(f()).toBe(1) })\n",
            "it.only('a', () => { expect(f()).toBe(1) })\n",
        ),
        (
            "a.test.js",
            "it('a', () => { expect(f()).toBe(1) })\n",
            "it('a', () => { expect(true).toBe(true) })\n",
        ),
        (
            "test_a.py",
            "def test_a():\n    assert f() == 1\n    assert g() == 2\n",
            "def test_a():\n    assert f() == 1\n",
        ),
        ("test_a.py", "def test_a():\n    assert f() == 1\n", "def test_a():\n    assert True\n"),
        (
            "tests/a.rs",
            "#[test]\nfn a() { assert_eq!(f(), 1); }\n",
            "#[test]\nfn a() { assert_eq!(1, 1); }\n",
        ),
        ("a_test.py", "", "def test_n():\n    assert 1 == 1\n"),
    ] {
        assert_eq!(changed(path, before, after), MAJOR, "{after}");
    }
}

#[test]
fn what_only_looks_weaker_is_honest() {
    for (path, before, after) in [
        (
            "a.test.js",
            "it('a', () => { expect(f('x')).toBe(1) })\n",
            "it('a', () => { expect(f('it.skip(')).toBe(1) })\n",
        ),
        ("a.test.js", "", "const s = 'describe.only(';\nit('b', () => { expect(s.skip(1)).toBe(2) })\n"),
        (
            "test_a.py",
            "def test_a():\n    assert f()\n",
            "# pytest.mark.skip\ndef test_a():\n    assert f()\n    assert g()\n",
        ),
        ("src/a.js", "x\n", "query.skip(10).only(3); it.skip('a')\n"),
        ("a.test.js", "it.skip('a', () => {})\n", "it.skip('b', () => {})\n"),
        (
            "src/a.rs",
            "fn f() {}\n",
            "fn f() {}\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() { assert!(super::f()); }\n}\n",
        ),
        ("Makefile", "a:\n\tx\n", "a:\n\tx\n# pytest || true\n"),
        (
            "test_a.py",
            "def test_a():\n    assert f(1) == 1\n    assert f(2) == 2\n",
            "def check(n):\n    assert f(n) == n\ndef test_a():\n    check(1)\n    check(2)\n",
        ),
        (
            "src/a.rs",
            "fn f() {}\n",
            "fn f() {}\n#[cfg(test)]\nmod tests {\n    #[test]\n    #[should_panic(expected = \"zero\")]\n    fn a() { super::f(); }\n}\n",
        ),
        ("gen.js", "", "// @generated\n/* eslint-disable */\n"),
    ] {
        assert_eq!(changed(path, before, after), FINE, "{after}");
    }
    let test = "def test_a():\n    assert f()\n\n@pytest.mark.skip\ndef test_b():\n    assert g()\n";
    assert_eq!(
        verdict(&Sample::new("pytest").deleted("tests/test_a.py", test).added("tests/test_b.py", test)),
        FINE
    );
}

#[test]
fn new_skipped_tests_and_lints_are_minor() {
    for (path, before, after) in [
        (
            "a.test.js",
            "it('a', () => { expect(f()).toBe(1) })\n",
            "it('a', () => { expect(f()).toBe(1) })\nit.skip('b', () => {})\n",
        ),
        ("tests/new.rs", "#[test]\nfn a() {}\n", "#[test]\nfn a() {}\n\n#[test]\n#[ignore]\nfn b() {}\n"),
        ("src/a.js", "x\n", "// eslint-disable-next-line\nx\n"),
        ("src/a.rs", "fn a() {}\n", "#[allow(dead_code)]\nfn a() {}\n"),
        ("Makefile", "clean:\n\trm x\n", "clean:\n\trm x || true\n"),
        ("a.test.js", "x\n", "jest.setTimeout(90000)\nx\n"),
    ] {
        assert_eq!(changed(path, before, after), MINOR, "{after}");
    }
    let linted = Sample::new("npx eslint .").changed("src/a.js", "x\n", "// eslint-disable-next-line\nx\n");
    assert_eq!(verdict(&linted), MAJOR);
    let mut allowed = Sample::new("pytest").changed(
        "test_a.py",
        "def test_a():\n    assert f()\n    assert g()\n",
        "def test_a():\n    assert f()\n",
    );
    allowed.evidence.contract.tests = Guard::MayChange;
    assert_eq!(verdict(&allowed), MINOR);
}
