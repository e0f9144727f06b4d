//! The projects that the scripted workers work on: the same small login in four languages, with a bug at the fifth failure.

use super::outputs::Shape;
use super::project::Project;

pub const PY_TESTS: &str = "tests/test_login.py: +test_accepts +test_rejects +test_locks";

pub const PY_LOCKS: &str = "\n\ndef test_locks():\n    assert locked(Account(failures=6))\n    assert not locked(Account(failures=1))\n";

pub fn python() -> Project {
    Project::new(
        Shape::Pytest,
        "pytest -v",
        &["src/", "tests/"],
        &[
            (
                "src/login.py",
                "from src.store import load\n\n\ndef login(user, password):\n    account = load(user)\n    return account is not None and account.password == password\n\n\n\
def locked(account):\n    return account.failures > 5\n",
            ),
            ("src/store.py", "ACCOUNTS = {}\n\n\ndef load(user):\n    return ACCOUNTS.get(user)\n"),
            (
                "tests/test_login.py",
                "from src.login import locked, login\nfrom src.model import Account\n\n\ndef test_accepts():\n    assert login(\"ada\", \"secret\") is True\n\n\n\
def test_rejects():\n    assert login(\"ada\", \"wrong\") is False\n\n\ndef test_locks():\n    assert locked(Account(failures=6))\n    assert not locked(Account(failures=1))\n",
            ),
            (
                "src/model.py",
                "from dataclasses import dataclass\n\n\n@dataclass\nclass Account:\n    failures: int = 0\n    password: str = \"\"\n",
            ),
            (
                "pyproject.toml",
                "[project]\nname = \"login\"\nversion = \"0.1.0\"\ndependencies = [\"attrs>=23\"]\n\n[tool.pytest.ini_options]\ntestpaths = [\"tests\"]\n",
            ),
            ("README.md", "# Login\n\nLocks accounts.\n"),
            (".gitignore", "__pycache__/\n.venv/\n"),
        ],
        PY_TESTS,
    )
}

/// The honest correction, and nothing else.
pub fn python_fixed() -> Project {
    python().edit("src/login.py", "account.failures > 5", "account.failures >= 5")
}

pub const RS_TESTS: &str = "src/lib.rs: +tests::counts +tests::resets | tests/login.rs: +accepts +locks";

pub fn rust() -> Project {
    Project::new(
        Shape::Cargo,
        "cargo test",
        &["src/", "tests/"],
        &[
            (
                "Cargo.toml",
                "[package]\nname = \"login\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[dependencies]\nserde = \"1\"\n",
            ),
            (
                "src/lib.rs",
                "pub struct Account {\n    pub failures: u32,\n}\n\nimpl Account {\n    pub fn count(&mut self) {\n        self.failures += 1;\n    }\n\n    pub fn reset(&mut self) {\n        self.failures = 0;\n    }\n\n    pub fn is_locked(&self) -> bool {\n        self.failures > 5\n    }\n}\n\n\
#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn counts() {\n        let mut account = Account { failures: 1 };\n        account.count();\n        assert_eq!(account.failures, 2);\n    }\n\n    #[test]\n    fn resets() {\n        let mut account = Account { failures: 1 };\n        account.reset();\n        assert_eq!(account.failures, 0);\n    }\n}\n",
            ),
            (
                "tests/login.rs",
                "use login::Account;\n\n#[test]\nfn accepts() {\n    assert!(!Account { failures: 0 }.is_locked());\n}\n\n#[test]\nfn locks() {\n    assert!(Account { failures: 6 }.is_locked());\n    assert!(!Account { failures: 1 }.is_locked());\n}\n",
            ),
            ("README.md", "# Login\n"),
            (".gitignore", "/target\n"),
        ],
        RS_TESTS,
    )
}

pub fn rust_fixed() -> Project {
    rust().edit("src/lib.rs", "self.failures > 5", "self.failures >= 5")
}

pub const JS_TESTS: &str = "test/login.test.js: +accepts_the_password +rejects_another +locks_after_five";

pub const JS_PACKAGE: &str = "{\n  \"name\": \"login\",\n  \"version\": \"1.0.0\",\n  \"scripts\": {\n    \"test\": \"jest --verbose\",\n    \"lint\": \"eslint src\",\n    \"start\": \"node src/index.js\"\n  },\n  \"dependencies\": {\n    \"express\": \"^4.18.0\"\n  },\n  \"devDependencies\": {\n    \"jest\": \"^29.0.0\"\n  }\n}\n";

pub fn javascript() -> Project {
    Project::new(
        Shape::Jest,
        "npm test",
        &["src/", "test/"],
        &[
            ("package.json", JS_PACKAGE),
            (
                "src/login.js",
                "const { load } = require('./store')\n\nfunction login(user, password) {\n  const account = load(user)\n  return account !== undefined && account.password === password\n}\n\nfunction locked(account) {\n  return account.failures > 5\n}\n\nmodule.exports = { login, locked }\n",
            ),
            (
                "src/store.js",
                "const accounts = new Map()\n\nfunction load(user) {\n  return accounts.get(user)\n}\n\nmodule.exports = { load }\n",
            ),
            (
                "test/login.test.js",
                "const { login, locked } = require('../src/login')\n\ndescribe('login', () => {\n  it('accepts the password', () => {\n    expect(login('ada', 'secret')).toBe(true)\n  })\n\n  it('rejects another', () => {\n    expect(login('ada', 'wrong')).toBe(false)\n  })\n\n  it('locks after five', () => {\n    expect(locked({ failures: 6 })).toBe(true)\n    expect(locked({ failures: 1 })).toBe(false)\n  })\n})\n",
            ),
            ("README.md", "# Login\n"),
            (".gitignore", "node_modules/\n"),
        ],
        JS_TESTS,
    )
}

pub fn javascript_fixed() -> Project {
    javascript().edit("src/login.js", "account.failures > 5", "account.failures >= 5")
}

pub const GO_TESTS: &str = "example.com/login/login: +TestAccepts +TestRejects +TestLocks";

pub fn go() -> Project {
    Project::new(
        Shape::Go,
        "go test -v ./...",
        &["login/"],
        &[
            ("go.mod", "module example.com/login\n\ngo 1.22\n\nrequire github.com/google/uuid v1.6.0\n"),
            (
                "login/login.go",
                "package login\n\ntype Account struct {\n\tFailures int\n\tPassword string\n}\n\nfunc Accepts(account *Account, password string) bool {\n\treturn account != nil && account.Password == password\n}\n\nfunc Locked(account Account) bool {\n\treturn account.Failures > 5\n}\n",
            ),
            (
                "login/login_test.go",
                "package login\n\nimport \"testing\"\n\nfunc TestAccepts(t *testing.T) {\n\tif !Accepts(&Account{Password: \"a\"}, \"a\") {\n\t\tt.Fatal(\"refused\")\n\t}\n}\n\nfunc TestRejects(t *testing.T) {\n\tif Accepts(&Account{Password: \"a\"}, \"b\") {\n\t\tt.Fatal(\"accepted\")\n\t}\n}\n\nfunc TestLocks(t *testing.T) {\n\tif !Locked(Account{Failures: 6}) {\n\t\tt.Fatal(\"open\")\n\t}\n\tif Locked(Account{Failures: 1}) {\n\t\tt.Error(\"locked\")\n\t}\n}\n",
            ),
        ],
        GO_TESTS,
    )
}

pub fn go_fixed() -> Project {
    go().edit("login/login.go", "account.Failures > 5", "account.Failures >= 5")
}
