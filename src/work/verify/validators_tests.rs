use super::*;

fn judged(path: &str, before: Option<&str>, after: Option<&str>, change: impl Fn(&mut Evidence)) -> Outcome {
    let mut found = evidence(vec![edit(path, before, after)]);
    found.contract.files = Some(vec!["**".into()]);
    found.base = base(&[
        "package.json",
        "src/a.js",
        "crates/core/Cargo.toml",
        "tests/test_a.py",
        "packages/core/package.json",
    ]);
    change(&mut found);
    outcome(&found, CheckName::Validators)
}

fn drift() -> Outcome {
    failed(CheckSeverity::Major, Blocker::ScopeDrift)
}

#[test]
fn manifests_are_compared_by_the_keys_that_count() {
    let package = r#"{"scripts":{"test":"jest","build":"tsc","posttest":"x"},"dependencies":{"a":"^1"}}"#;
    let put = |from: &str, to: &str| package.replace(from, to);
    for (after, expected) in [
        (put("\"jest\"", "\"true\""), drift()),
        (put("\"posttest\":\"x\"", "\"posttest\":\"y\""), drift()),
        (put("\"test\"", "\"pretest\":\"rm -r t\",\"test\""), drift()),
        (put("{\"scripts\"", "{\"jest\":{\"bail\":0},\"scripts\""), drift()),
        (put("{\"scripts\"", "{\"overrides\":{\"a\":\"1\"},\"scripts\""), drift()),
        (put("{\"a\"", "{\"b\":\"file:./b\",\"a\""), drift()),
        (put("\"^1\"", "\"git+https://x/a.git\""), drift()),
        (put("{\"a\"", "{\"b\":\"user/b\",\"a\""), drift()),
        (put("{\"scripts\"", "{,"), drift()),
        (put("\"build\":\"tsc\"", "\"build\":\"esbuild\",\"docs\":\"d\""), PASSED),
        (put("{\"a\"", "{\"b\":\"^2.0.0\",\"@s/c\":\"workspace:*\",\"a\""), PASSED),
        (put("{\"a\"", "{\"core\":\"file:packages/core\",\"a\""), PASSED),
        (put("{\"scripts\"", "{\"version\":\"2\",\"scripts\""), PASSED),
    ] {
        for files in [vec!["**".to_owned()], vec!["package.json".to_owned()]] {
            let found = judged("package.json", Some(package), Some(&after), |evidence| {
                evidence.contract.files = Some(files.clone());
            });
            assert_eq!(found, expected, "{after}");
        }
        let free = judged("package.json", Some(package), Some(&after), |evidence| {
            evidence.contract.validators = Guard::MayChange;
        });
        assert_eq!(free, PASSED);
    }
    let called =
        |evidence: &mut Evidence| evidence.contract.validation_commands[0].command = "npm run build".into();
    assert_eq!(judged("package.json", Some(package), Some(&put("tsc", "true")), called), drift());
    let cargo = "[package]\nname = \"a\"\n[dependencies]\nserde = \"1\"\n";
    for (after, expected) in [
        (format!("{cargo}tokio = \"1\"\n"), PASSED),
        (format!("{cargo}core = {{ path = \"crates/core\" }}\n"), PASSED),
        (format!("{cargo}fake = {{ path = \"fake\" }}\n"), drift()),
        (cargo.replace("\"1\"", "{ git = \"https://x\" }"), drift()),
        (cargo.replace("\"1\"", "{ path = \"crates/core\" }"), drift()),
        (format!("{cargo}[patch.crates-io]\nserde = {{ path = \"x\" }}\n"), drift()),
        (format!("{cargo}[[test]]\nname = \"x\"\nharness = false\n"), drift()),
        (format!("{cargo}[lib]\ntest = false\n"), drift()),
        (format!("{cargo}[lib]\ncrate-type = [\"cdylib\"]\n"), PASSED),
        (format!("{cargo}[profile.test]\ndebug-assertions = false\n"), drift()),
        (format!("{cargo}[profile.release]\nlto = true\n"), PASSED),
    ] {
        assert_eq!(judged("Cargo.toml", Some(cargo), Some(&after), |_| {}), expected, "{after}");
    }
    let python = "[project]\nname = \"a\"\ndependencies = [\"x>1\"]\n";
    for (after, expected) in [
        (python.replace("\"x>1\"", "\"x>1\", \"y\""), PASSED),
        (python.replace("\"x>1\"", "\"x @ git+https://x\""), drift()),
        (format!("{python}[tool.pytest.ini_options]\naddopts = \"-k none\"\n"), drift()),
        (format!("{python}[tool.ruff]\nignore = [\"E\"]\n"), drift()),
        (format!("{python}[tool.commitizen]\nname = \"x\"\n"), PASSED),
    ] {
        assert_eq!(judged("pyproject.toml", Some(python), Some(&after), |_| {}), expected, "{after}");
    }
}

#[test]
fn files_that_run_and_judge_the_work() {
    let command = |line: &'static str| {
        move |evidence: &mut Evidence| {
            evidence.contract.validation_commands =
                vec![ValidationCommand::new(line, CommandOrigin::Contract)];
        }
    };
    let old = Some("old\n");
    for (path, before, after, line, expected) in [
        ("jest.config.js", None, "x", "npm test", drift()),
        (".github/workflows/ci.yml", old, "x", "npm test", drift()),
        (".gitattributes", None, "* -diff", "npm test", drift()),
        (".cargo/config.toml", None, "[alias]", "cargo test", drift()),
        ("sub/build.rs", None, "x", "cargo test", MINOR),
        ("tests/pytest.ini", None, "x", "pytest", drift()),
        ("pytest.py", None, "x", "pytest", drift()),
        ("src/unittest/__init__.py", None, "x", "python -m unittest", drift()),
        ("src/app/plugins/pytest.py", None, "x", "pytest", PASSED),
        ("scripts/run.sh", old, "exit 0", "bash scripts/run.sh", drift()),
        ("run", old, "exit 0", "./run --all", drift()),
        ("tools/check.py", old, "x", "cd tools && python check.py", drift()),
        ("src/main.py", old, "x", "python src/main.py --help", PASSED),
        ("scripts/other.sh", old, "exit 0", "npm test", PASSED),
        ("tests/test_a.py", old, "x", "pytest tests/test_a.py", PASSED),
        ("tests/fixtures/app/package.json", None, "{\"scripts\":{\"test\":\"x\"}}", "npm test", PASSED),
        ("packages/new/tsconfig.json", None, "{}", "npm test", MINOR),
        ("go.mod", Some("module a\n"), "module a\nreplace x => ./x\n", "go test ./...", drift()),
        ("go.mod", Some("module a\n"), "module a\nrequire x v1.0.0\n", "go test ./...", PASSED),
        ("requirements.txt", old, "old\ngit+https://x/y\n", "pytest", drift()),
        ("requirements.txt", old, "old\nrequests==2\n-e .\n", "pytest", PASSED),
        (
            "conftest.py",
            None,
            "import pytest\n\n@pytest.fixture\ndef db():\n    return 1\n",
            "pytest",
            PASSED,
        ),
        ("conftest.py", None, "def pytest_runtest_makereport(item):\n    pass\n", "pytest", drift()),
        (
            "conftest.py",
            None,
            "@pytest.fixture(\n    autouse = True)\ndef db():\n    return 1\n",
            "pytest",
            drift(),
        ),
        (
            "conftest.py",
            Some("def pytest_configure():\n    a()\n"),
            "def pytest_configure():\n    b()\n",
            "pytest",
            drift(),
        ),
        (
            "conftest.py",
            Some("def pytest_configure():\n    a()\n"),
            "X = 1\ndef pytest_configure():\n    a()\n",
            "pytest",
            PASSED,
        ),
        ("src/a.js", old, "x", "npm test", PASSED),
    ] {
        assert_eq!(judged(path, before, Some(after), command(line)), expected, "{path} {line} {after}");
    }
}

#[test]
fn naming_a_file_permits_what_no_command_depends_on() {
    let make = "CC = cc\ntest: build\n\tpytest\nbuild:\n\techo b\nlint:\n\truff\n";
    let named = |evidence: &mut Evidence| {
        evidence.contract.files = Some(vec!["./Makefile".into(), "jest.config.js".into()]);
        evidence.contract.validation_commands[0].command = "make test".into();
    };
    for (after, expected) in [
        (make.replace("ruff", "true"), PASSED),
        (format!("{make}docs:\n\tsphinx\n"), PASSED),
        (format!("{make}NEW = 1\n"), PASSED),
        (make.replace("pytest", "true"), drift()),
        (make.replace("echo b", "rm tests"), drift()),
        (make.replace("CC = cc", "CC = true"), drift()),
        (format!("SHELL = /bin/true\n{make}"), drift()),
    ] {
        assert_eq!(judged("Makefile", Some(make), Some(&after), named), expected, "{after}");
    }
    assert_eq!(judged("jest.config.js", Some("a"), Some("b"), named), PASSED);
    assert_eq!(judged("Makefile", Some(make), Some(make), |_| {}), PASSED);
}

#[test]
fn hostile_manifests_are_bounded() {
    let deep = format!("{{\"x\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(judged("package.json", Some("{}"), Some(&deep), |_| {}), drift());
    let deep = format!("x = {}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(judged("Cargo.toml", Some(""), Some(&deep), |_| {}), drift());
    let long = format!("{}\n", "def pytest_x(".repeat(100_000));
    assert_eq!(judged("conftest.py", None, Some(&long), |_| {}), drift());
    let rules = "a: a\n\techo\n".repeat(50_000);
    let make = |evidence: &mut Evidence| {
        evidence.contract.validation_commands[0].command = "make a".into();
        evidence.contract.files = Some(vec!["Makefile".into()]);
    };
    assert_eq!(judged("Makefile", Some("a:\n"), Some(&rules), make), drift());
}
