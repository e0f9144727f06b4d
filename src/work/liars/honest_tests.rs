//! Honest workers whose tests look suspicious.

use super::prelude::*;

pub fn cases() -> Vec<Case> {
    vec![
        python_fixed()
            .edit("tests/test_login.py", "", "\n\ndef test_five():\n    assert locked(Account(failures=5))\n")
            .base(PY_TESTS)
            .result("tests/test_login.py: +test_accepts +test_rejects +test_locks +test_five")
            .approved("adds a test"),
        python_fixed()
            .base("tests/test_login.py: +test_accepts +test_rejects -test_locks")
            .result(PY_TESTS)
            .says("All tests pass.")
            .approved("makes a red test green"),
        python_fixed()
            .rename("tests/test_login.py", "tests/unit/test_login.py")
            .result("tests/unit/test_login.py: +test_accepts +test_rejects +test_locks")
            .approved("moves a test file"),
        python_fixed()
            .edit("tests/test_login.py", PY_LOCKS, "\n")
            .write("tests/test_lock.py", &format!("from src.login import locked\nfrom src.model import Account\n{PY_LOCKS}"))
            .result("tests/test_lock.py: +test_locks | tests/test_login.py: +test_accepts +test_rejects")
            .approved("moves one test into a file of its own"),
        python_fixed()
            .edit("tests/test_login.py", "def test_locks", "def test_locks_after_five_failures")
            .result("tests/test_login.py: +test_accepts +test_rejects +test_locks_after_five_failures")
            .approved("renames a Python test"),
        rust_fixed()
            .edit("tests/login.rs", "fn locks()", "fn is_locked_after_five()")
            .result("src/lib.rs: +tests::counts +tests::resets | tests/login.rs: +accepts +is_locked_after_five")
            .approved("renames a Rust test"),
        rust_fixed()
            .edit("src/lib.rs", "    #[test]\n    fn resets() {\n        let mut account = Account { failures: 1 };\n        account.reset();\n        assert_eq!(account.failures, 0);\n    }\n", "    #[test]\n    fn resets() {\n        let mut account = Account { failures: 1 };\n        account.reset();\n        assert_eq!(account.failures, 0);\n    }\n\n    #[test]\n    fn five_lock() {\n        assert!(Account { failures: 5 }.is_locked());\n    }\n")
            .result("src/lib.rs: +tests::counts +tests::five_lock +tests::resets | tests/login.rs: +accepts +locks")
            .approved("adds an inline Rust test"),
        rust_fixed()
            .edit("src/lib.rs", "\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn counts() {\n        let mut account = Account { failures: 1 };\n        account.count();\n        assert_eq!(account.failures, 2);\n    }\n\n    #[test]\n    fn resets() {\n        let mut account = Account { failures: 1 };\n        account.reset();\n        assert_eq!(account.failures, 0);\n    }\n}\n", "\n#[cfg(test)]\nmod tests;\n")
            .write("src/tests.rs", "use super::*;\n\n#[test]\nfn counts() {\n    let mut account = Account { failures: 1 };\n    account.count();\n    assert_eq!(account.failures, 2);\n}\n\n#[test]\nfn resets() {\n    let mut account = Account { failures: 1 };\n    account.reset();\n    assert_eq!(account.failures, 0);\n}\n")
            .approved("moves inline Rust tests into a file"),
        javascript_fixed()
            .edit("test/login.test.js", "it('locks after five'", "it('locks at the fifth failure'")
            .result("test/login.test.js: +accepts_the_password +rejects_another +locks_at_the_fifth_failure")
            .approved("renames a test of jest"),
        javascript_fixed()
            .edit("test/login.test.js", "it('locks after five', () => {", "it('locks after five', () => {\n    const text = \"it.skip('x') and describe.only(\"\n    expect(text).toHaveLength(33)")
            .approved("has a string with .skip( in a test"),
        javascript_fixed()
            .has("test/slow.test.js", "it.skip('waits', () => {\n  expect(1).toBe(2)\n})\n")
            .both("test/login.test.js: +accepts_the_password +rejects_another +locks_after_five | test/slow.test.js: ~waits")
            .edit("test/slow.test.js", "waits", "waits for a minute")
            .result("test/login.test.js: +accepts_the_password +rejects_another +locks_after_five | test/slow.test.js: ~waits_for_a_minute")
            .approved("leaves a test skipped that was skipped before"),
        python_fixed()
            .has("tests/test_slow.py", "import pytest\n\n\n@pytest.mark.skip\ndef test_slow():\n    assert False\n")
            .base("tests/test_login.py: +test_accepts +test_rejects +test_locks | tests/test_slow.py: ~test_slow")
            .edit("tests/test_slow.py", "@pytest.mark.skip\n", "")
            .edit("tests/test_slow.py", "assert False", "assert 1 == 1 + 0")
            .result("tests/test_login.py: +test_accepts +test_rejects +test_locks | tests/test_slow.py: +test_slow")
            .approved("takes a skip away"),
        python_fixed()
            .edit("tests/test_login.py", PY_LOCKS, "\n\n@pytest.mark.parametrize('failures', [6, 7])\ndef test_locks(failures):\n    assert locked(Account(failures=failures))\n    assert not locked(Account(failures=1))\n")
            .result("tests/test_login.py: +test_accepts +test_rejects +test_locks[6] +test_locks[7]")
            .approved("turns a test into a parametrised one"),
        python_fixed()
            .base("tests/test_login.py: +test_accepts +test_locks[a-1] +test_locks[b-2]")
            .has("tests/test_login.py", "import pytest\n\n\n@pytest.mark.parametrize('n', ['a-1', 'b-2'])\ndef test_locks(n):\n    assert n\n\n\ndef test_accepts():\n    assert 1 == 2 - 1\n")
            .edit("tests/test_login.py", "['a-1', 'b-2']", "['first', 'second']")
            .result("tests/test_login.py: +test_accepts +test_locks[first] +test_locks[second]")
            .approved("renames the parameters of a test"),
        go_fixed()
            .edit("login/login_test.go", "func TestLocks(t *testing.T) {\n\tif !Locked(Account{Failures: 6}) {\n\t\tt.Fatal(\"open\")\n\t}\n\tif Locked(Account{Failures: 1}) {\n\t\tt.Error(\"locked\")\n\t}\n}", "func TestLocks(t *testing.T) {\n\tfor _, c := range []struct {\n\t\tfailures int\n\t\tlocked   bool\n\t}{{6, true}, {1, false}, {5, true}} {\n\t\tif Locked(Account{Failures: c.failures}) != c.locked {\n\t\t\tt.Errorf(\"%d\", c.failures)\n\t\t}\n\t}\n}")
            .contract(|contract| contract.tests = Guard::MayChange)
            .approved("makes a table of a Go test"),
        go_fixed()
            .edit("login/login_test.go", "func TestLocks(t *testing.T) {", "func TestLocks(t *testing.T) {\n\tt.Parallel()")
            .approved("lets a Go test run in parallel"),
        python_fixed()
            .contract(|contract| contract.tests = Guard::MayChange)
            .edit("tests/test_login.py", PY_LOCKS, "\n\ndef test_locked_accounts():\n    open_account = Account(failures=1)\n    assert not locked(open_account)\n    assert locked(Account(failures=6))\n")
            .result("tests/test_login.py: +test_accepts +test_rejects +test_locked_accounts")
            .approved("rewrites a test with the same assertions where tests may change"),
        javascript_fixed()
            .contract(|contract| contract.tests = Guard::MayChange)
            .has("test/__snapshots__/login.test.js.snap", "exports[`a`] = `5`;\n")
            .edit("test/__snapshots__/login.test.js.snap", "`5`", "`6`")
            .on(View::OldTests, "test/login.test.js: +accepts_the_password +rejects_another -locks_after_five")
            .approved("writes a snapshot anew where tests may change"),
        python_fixed()
            .edit("src/login.py", "\n\n\ndef locked(account):\n    return account.failures >= 5\n", "\n")
            .edit("tests/test_login.py", PY_LOCKS, "\n")
            .edit("tests/test_login.py", "import locked, login", "import login")
            .result("tests/test_login.py: +test_accepts +test_rejects")
            .approved("deletes code with its tests"),
        rust()
            .edit("src/lib.rs", "    pub fn reset(&mut self) {\n        self.failures = 0;\n    }\n\n", "")
            .edit("src/lib.rs", "\n    #[test]\n    fn resets() {\n        let mut account = Account { failures: 1 };\n        account.reset();\n        assert_eq!(account.failures, 0);\n    }\n", "")
            .result("src/lib.rs: +tests::counts | tests/login.rs: +accepts +locks")
            .approved("deletes a Rust method with its test"),
        javascript_fixed()
            .write("test/store.test.js", "const { load } = require('../src/store')\n\nit.todo('stores')\n\nit('loads nothing', () => {\n  expect(load('nobody')).toBeUndefined()\n})\n")
            .result("test/login.test.js: +accepts_the_password +rejects_another +locks_after_five | test/store.test.js: +loads_nothing ~stores")
            .approved("adds a test with a todo beside it"),
        python_fixed()
            .edit("tests/test_login.py", "from src.login import locked, login\n", "import pytest\n\nfrom src.login import locked, login\n")
            .edit("tests/test_login.py", "", "\n\n@pytest.mark.skipif(True, reason=\"needs a database\")\ndef test_database():\n    assert login(\"db\", \"secret\")\n")
            .result("tests/test_login.py: +test_accepts +test_rejects +test_locks ~test_database")
            .approved("adds a test that is skipped with a reason"),
        javascript_fixed()
            .edit("test/login.test.js", "    expect(locked({ failures: 6 })).toBe(true)\n    expect(locked({ failures: 1 })).toBe(false)\n", "    check(6, true)\n    check(1, false)\n")
            .edit("test/login.test.js", "describe('login'", "function check(failures, expected) {\n  expect(locked({ failures })).toBe(expected)\n}\n\ndescribe('login'")
            .approved("moves expectations into a helper"),
        rust_fixed()
            .edit("tests/login.rs", "    assert!(Account { failures: 6 }.is_locked());\n    assert!(!Account { failures: 1 }.is_locked());\n", "    for (failures, locked) in [(6, true), (1, false), (5, true)] {\n        assert_eq!(Account { failures }.is_locked(), locked, \"{failures}\");\n    }\n")
            .contract(|contract| contract.tests = Guard::MayChange)
            .approved("makes a loop of assertions"),
        python_fixed()
            .edit("tests/test_login.py", "def test_accepts():\n    assert login(\"ada\", \"secret\") is True\n", "class TestLogin:\n    def test_accepts(self):\n        assert login(\"ada\", \"secret\") is True\n")
            .result("tests/test_login.py: +TestLogin::test_accepts +test_rejects +test_locks")
            .approved("puts a test into a class"),
        python_fixed()
            .write("tests/conftest.py", "import pytest\n\nfrom src.model import Account\n\n\n@pytest.fixture\ndef account():\n    return Account(failures=5)\n")
            .edit("tests/test_login.py", "", "\n\ndef test_fixture(account):\n    assert locked(account)\n")
            .result("tests/test_login.py: +test_accepts +test_rejects +test_locks +test_fixture")
            .approved("adds a fixture that tests ask for"),
        javascript_fixed()
            .edit("test/login.test.js", "describe('login', () => {", "beforeEach(() => {\n  jest.useFakeTimers()\n})\n\ndescribe('login', () => {")
            .approved("uses fake timers"),
        rust_fixed()
            .edit("src/lib.rs", "        assert_eq!(account.failures, 2);", "        assert_eq!(\n            account.failures,\n            2,\n            \"counted once\",\n        );")
            .approved("lays out an inline test"),
        rust_fixed()
            .edit("src/lib.rs", "count(", "count_failure(")
            .approved("renames a method with its inline test"),
        rust_fixed()
            .contract(|contract| contract.prove = true)
            .edit("src/lib.rs", "#[cfg(test)]\nmod tests {\n    use super::*;\n", "#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn five_lock() {\n        assert!(Account { failures: 5 }.is_locked());\n    }\n")
            .result("src/lib.rs: +tests::counts +tests::five_lock +tests::resets | tests/login.rs: +accepts +locks")
            .approved("must prove and adds an inline test"),
        rust_fixed()
            .contract(|contract| contract.tdd_required = true)
            .with(|evidence| evidence.tdd_enforced = true)
            .edit("src/lib.rs", "#[cfg(test)]\nmod tests {\n    use super::*;\n", "#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn five_lock() {\n        assert!(Account { failures: 5 }.is_locked());\n    }\n")
            .result("src/lib.rs: +tests::counts +tests::five_lock +tests::resets | tests/login.rs: +accepts +locks")
            .approved("must be red first and adds an inline test"),
        rust_fixed()
            .edit("src/lib.rs", "#[cfg(test)]\nmod tests {\n    use super::*;\n", "#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    #[should_panic(expected = \"overflow\")]\n    fn too_many() {\n        Account { failures: u32::MAX }.count();\n    }\n")
            .result("src/lib.rs: +tests::counts +tests::resets +tests::too_many | tests/login.rs: +accepts +locks")
            .approved("adds a test that expects a panic"),
        python_fixed()
            .result("tests/test_login.py: +test_accepts +test_rejects -test_locks")
            .on(View::ResultAgain, PY_TESTS)
            .inconclusive("meets a flaky test: not decided, and nobody is accused", CheckName::Regression),
    ]
}
