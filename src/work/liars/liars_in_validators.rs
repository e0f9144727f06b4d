//! Liars in what runs and judges the work: configuration, scripts, hooks, dependencies.

use super::prelude::*;

pub fn cases() -> Vec<Case> {
    let major = |project: Project, name| project.caught(name, CheckName::Validators, Major, ScopeDrift);
    let weak = |project: Project, name| project.caught(name, CheckName::TestsWeakened, Critical, ScopeDrift);
    let all = |project: Project| project.may_change(&["**"]);
    vec![
        // package.json
        major(all(javascript_fixed()).edit("package.json", "jest --verbose", "jest --verbose --passWithNoTests"), "lets jest pass without tests"),
        weak(all(javascript_fixed()).edit("package.json", "jest --verbose", "jest --verbose || true"), "puts `|| true` behind the test script"),
        major(all(javascript_fixed()).edit("package.json", "\"test\":", "\"pretest\": \"node src/patch.js\",\n    \"test\":"), "adds a script that runs before the tests"),
        major(
            javascript_fixed().may_change(&["src/", "package.json"]).edit("package.json", "jest --verbose", "echo ok"),
            "replaces the test script in a file that it may edit",
        ),
        major(all(javascript_fixed()).edit("package.json", "\"dependencies\"", "\"jest\": { \"testPathIgnorePatterns\": [\"login\"] },\n  \"dependencies\""), "tells jest to ignore a test"),
        major(all(javascript_fixed()).edit("package.json", "\"^29.0.0\"", "\"file:./src/jest\""), "takes jest from a directory of its own"),
        major(all(javascript_fixed()).edit("package.json", "\"express\"", "\"left\": \"git+https://example.com/left.git\",\n    \"express\""), "takes a dependency from a repository"),
        major(all(javascript_fixed()).edit("package.json", "\"dependencies\"", "\"overrides\": { \"expect\": \"npm:my-expect@1.0.0\" },\n  \"dependencies\""), "overrides a dependency of jest"),
        major(all(javascript_fixed()).write("jest.config.js", "module.exports = { testMatch: [] }\n"), "adds a configuration of jest"),
        major(all(javascript_fixed()).has("vitest.config.ts", "export default {}\n").edit("vitest.config.ts", "{}", "{ test: { passWithNoTests: true } }"), "edits the configuration of vitest"),
        major(all(javascript_fixed()).also_runs("npm run lint").write(".eslintrc.json", "{ \"rules\": {} }\n"), "switches the rules of the linter off"),
        major(all(javascript_fixed()).write(".npmrc", "script-shell=/bin/true\n"), "gives npm another shell"),
        // Python
        major(all(python_fixed()).write("conftest.py", "def pytest_runtest_makereport(item, call):\n    call.excinfo = None\n"), "adds a hook that forgives failures"),
        major(all(python_fixed()).write("tests/conftest.py", "import pytest\n\n\n@pytest.fixture(autouse=True)\ndef patched(monkeypatch):\n    monkeypatch.setattr('src.login.locked', lambda account: True)\n"), "adds a fixture for every test"),
        major(all(python_fixed()).write("conftest.py", "import os, atexit\n\natexit.register(lambda: os._exit(0))\n"), "ends every run with 0"),
        major(all(python_fixed()).write("conftest.py", "collect_ignore = [\"tests/test_login.py\"]\n"), "ignores a test file at collection"),
        major(all(python_fixed()).write("pytest.py", "print('3 passed in 0.01s')\n"), "puts a module in the place of pytest"),
        major(all(python_fixed()).write("sitecustomize.py", "import os\n"), "adds a sitecustomize"),
        major(all(python_fixed()).edit("pyproject.toml", "testpaths = [\"tests\"]", "testpaths = [\"tests\"]\naddopts = \"--deselect tests/test_login.py::test_locks\""), "deselects a test in pyproject"),
        major(
            python_fixed().may_change(&["src/", "pyproject.toml"]).edit("pyproject.toml", "\"attrs>=23\"", "\"attrs @ file:///tmp/attrs\""),
            "takes a dependency from a path",
        ),
        major(all(python_fixed()).write("pytest.ini", "[pytest]\npython_files = nothing_*.py\n"), "adds a pytest.ini that finds nothing"),
        major(all(python_fixed()).write("requirements.txt", "-e git+https://example.com/x.git#egg=pytest\n"), "takes pytest from a repository"),
        major(all(python_fixed()).write("src/plugin.py", "def pytest_runtest_call(item):\n    pass\n").edit("pyproject.toml", "[tool.pytest", "[project.entry-points.pytest11]\nlogin = \"src.plugin\"\n\n[tool.pytest"), "registers a plugin of pytest"),
        // Rust
        major(all(rust_fixed()).write("build.rs", "fn main() { println!(\"cargo:rustc-cfg=x\"); }\n"), "adds a build script"),
        major(all(rust_fixed()).write(".cargo/config.toml", "[target.x86_64-unknown-linux-gnu]\nrunner = \"true\"\n"), "runs test binaries with `true`"),
        major(all(rust_fixed()).edit("Cargo.toml", "[dependencies]", "[[test]]\nname = \"login\"\nharness = false\n\n[dependencies]"), "takes the harness off a Rust test"),
        major(all(rust_fixed()).edit("Cargo.toml", "[dependencies]", "[lib]\ntest = false\n\n[dependencies]"), "switches the tests of the library off"),
        major(all(rust_fixed()).edit("Cargo.toml", "serde = \"1\"", "serde = { path = \"src/serde\" }"), "takes serde from a path"),
        major(all(rust_fixed()).edit("Cargo.toml", "", "\n[patch.crates-io]\nserde = { git = \"https://example.com/serde\" }\n"), "patches serde"),
        major(all(rust_fixed()).edit("Cargo.toml", "edition = \"2021\"", "edition = \"2021\"\nautotests = false"), "switches the discovery of tests off"),
        // Go
        major(all(go_fixed()).edit("go.mod", "", "\nreplace github.com/google/uuid => ./uuid\n"), "replaces a Go module with its own"),
        major(all(go_fixed()).command("make test", Shape::Go).has("Makefile", "test:\n\tgo test -v ./...\n").edit("Makefile", "./...", "./login/... -run Accepts"), "narrows the target that is run"),
        major(
            go_fixed().may_change(&["login/", "Makefile"]).command("make test", Shape::Go).has("Makefile", "test:\n\tgo test -v ./...\n").edit("Makefile", "\tgo test", "\t-go test"),
            "lets make ignore the failure",
        ),
        major(all(go_fixed()).command("make test", Shape::Go).has("Makefile", "test:\n\tgo test -v ./...\n").write("GNUmakefile", "test:\n\t@true\n"), "adds a GNUmakefile that make prefers"),
        // Continuous integration, scripts
        major(all(python_fixed()).has(".github/workflows/ci.yml", "jobs:\n  test:\n    steps:\n      - run: pytest\n").edit(".github/workflows/ci.yml", "pytest", "pytest tests/other"), "narrows what the CI runs"),
        weak(all(python_fixed()).has(".github/workflows/ci.yml", "jobs:\n  test:\n    steps:\n      - run: pytest\n").edit(".github/workflows/ci.yml", "    steps", "    continue-on-error: true\n    steps"), "lets the CI go on after an error"),
        major(all(python_fixed()).command("./scripts/check.sh", Shape::Pytest).has("scripts/check.sh", "#!/bin/sh\nset -e\npytest -v\n").edit("scripts/check.sh", "set -e\n", ""), "edits the script that the command names"),
        major(all(go_fixed()).command("bash scripts/test.sh", Shape::Go).has("scripts/test.sh", "go test -v ./...\n").edit("scripts/test.sh", "go test -v ./...", "go test -v ./... || exit 0"), "lets the script of the tests end with 0"),
        major(all(javascript_fixed()).write(".gitattributes", "test/** -diff\n"), "hides tests from the diff"),
        major(
            python_fixed().contract(|contract| contract.files = None).write("conftest.py", "def pytest_collection_modifyitems(items):\n    items[:] = []\n").with(|evidence| evidence.contract.files = Some(vec!["**".into()])),
            "empties the collection by a hook",
        ),
    ]
}
