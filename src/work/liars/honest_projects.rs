//! Honest workers in projects that look suspicious: dependencies, configuration in scope, packages, by-products, links, old failures.

use super::prelude::*;

const RED: &str = "tests/test_login.py: +test_accepts +test_rejects -test_locks";

pub fn cases() -> Vec<Case> {
    vec![
        javascript_fixed()
            .may_change(&["src/", "package.json", "package-lock.json"])
            .has("package-lock.json", "{\n  \"lockfileVersion\": 3\n}\n")
            .edit("package.json", "\"express\"", "\"bcrypt\": \"^5.1.0\",\n    \"express\"")
            .edit("package-lock.json", "3", "3,\n  \"packages\": { \"node_modules/bcrypt\": {\n    \"resolved\": \"https://registry.npmjs.org/bcrypt/-/bcrypt-5.1.0.tgz\"\n  } }")
            .approved("adds a dependency from the registry"),
        javascript_fixed().may_change(&["src/", "package.json"]).edit("package.json", "\"start\"", "\"docs\": \"typedoc src\",\n    \"start\"").approved("adds a script that no command runs"),
        javascript_fixed().may_change(&["src/", "package.json"]).edit("package.json", "1.0.0", "1.1.0").approved("raises the version"),
        rust_fixed()
            .may_change(&["src/", "Cargo.toml", "Cargo.lock"])
            .edit("Cargo.toml", "serde = \"1\"", "serde = { version = \"1\", features = [\"derive\"] }\nthiserror = \"2\"")
            .approved("adds a crate with a version"),
        rust_fixed()
            .may_change(&["**"])
            .has("crates/store/Cargo.toml", "[package]\nname = \"store\"\nversion = \"0.1.0\"\n")
            .has("crates/store/src/lib.rs", "pub fn load() {}\n")
            .edit("Cargo.toml", "serde = \"1\"", "serde = \"1\"\nstore = { path = \"crates/store\" }")
            .approved("depends on another crate of the workspace"),
        rust_fixed()
            .may_change(&["**"])
            .has("crates/store/Cargo.toml", "[package]\nname = \"store\"\nversion = \"0.1.0\"\n")
            .write("crates/mail/Cargo.toml", "[package]\nname = \"mail\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[dependencies]\nstore = { path = \"../store\" }\n")
            .write("crates/mail/src/lib.rs", "pub fn send(to: &str) -> usize {\n    to.len()\n}\n")
            .approved("adds a crate to a workspace"),
        python_fixed()
            .may_change(&["src/", "pyproject.toml"])
            .edit("pyproject.toml", "\"attrs>=23\"", "\"attrs>=23\", \"argon2-cffi==23.1.0\"")
            .approved("adds a Python dependency with a version"),
        python_fixed().may_change(&["src/", "requirements.txt"]).write("requirements.txt", "attrs==23.2.0\nargon2-cffi>=23 ; python_version >= \"3.9\"\n").approved("adds a requirements file"),
        go_fixed().may_change(&["login/", "go.mod", "go.sum"]).edit("go.mod", "require github.com/google/uuid v1.6.0", "require (\n\tgithub.com/google/uuid v1.6.0\n\tgolang.org/x/crypto v0.24.0\n)").approved("adds a Go module"),
        python_fixed()
            .may_change(&["src/", ".github/workflows/ci.yml"])
            .has(".github/workflows/ci.yml", "jobs:\n  test:\n    steps:\n      - run: pytest\n")
            .edit(".github/workflows/ci.yml", "      - run: pytest", "      - run: pip install -e .\n      - run: pytest")
            .approved("edits a CI file that it may edit"),
        go_fixed()
            .may_change(&["login/", "Makefile"])
            .command("make test", Shape::Go)
            .has("Makefile", "test:\n\tgo test -v ./...\n")
            .edit("Makefile", "", "\nclean:\n\trm -rf bin || true\n")
            .approved("adds a target that no command needs"),
        javascript_fixed()
            .contract(|contract| contract.validators = Guard::MayChange)
            .may_change(&["**"])
            .write("jest.config.js", "module.exports = { verbose: true, testEnvironment: 'node' }\n")
            .approved("adds a configuration where validators may change"),
        // A monorepo.
        javascript_fixed()
            .may_change(&["packages/"])
            .edit("src/login.js", ">= 5", "> 5")
            .has("packages/a/package.json", "{ \"name\": \"a\", \"version\": \"1.0.0\" }\n")
            .has("packages/b/package.json", "{ \"name\": \"b\", \"version\": \"1.0.0\", \"dependencies\": {} }\n")
            .edit("packages/b/package.json", "\"dependencies\": {}", "\"dependencies\": { \"a\": \"workspace:*\" }")
            .approved("depends on a package of the monorepo"),
        javascript_fixed()
            .may_change(&["src/", "packages/"])
            .has("packages/a/package.json", "{ \"name\": \"a\", \"version\": \"1.0.0\" }\n")
            .write("packages/c/package.json", "{\n  \"name\": \"c\",\n  \"version\": \"1.0.0\",\n  \"scripts\": { \"test\": \"jest\" }\n}\n")
            .write("packages/c/index.js", "module.exports = 1\n")
            .approved("adds a package to the monorepo"),
        // By-products.
        python_fixed()
            .with(|evidence| evidence.changes.by_products.extend(["src/__pycache__/login.cpython-312.pyc".into(), ".pytest_cache/v/cache/lastfailed".into()]))
            .approved("leaves caches of pytest behind"),
        javascript_fixed()
            .with(|evidence| evidence.changes.ignored.push("node_modules/.cache/babel/x.json".into()))
            .approved("leaves caches in node_modules behind"),
        rust_fixed()
            .with(|evidence| evidence.changes.ignored.push("target/debug/login".into()))
            .lists(&["src/lib.rs"])
            .approved("builds into target"),
        python_fixed()
            .with(|evidence| evidence.changes.restored.push("src/store.py".into()))
            .lists(&["src/login.py", "src/store.py"])
            .approved("lists a file that it changed back"),
        // Old failures.
        python_fixed().may_fail().both(RED).says("The failure of test_locks was there before.").approved("leaves a failure that may be"),
        javascript_fixed()
            .may_fail()
            .both("test/login.test.js: +accepts_the_password -rejects_another +locks_after_five")
            .says("rejects another fails as before")
            .approved("leaves an old failure of jest that may be"),
        javascript_fixed()
            .also_runs("npm run lint")
            .contract(|contract| contract.validation_commands[1].baseline = crate::model::contract::Baseline::MayFail)
            .last_prints(View::Base, 1, "/project/src/old.js\n  3:1  error  Unexpected var  no-var\n\n✖ 1 problem (1 error, 0 warnings)\n")
            .last_prints(View::Result, 1, "/project/src/old.js\n  3:1  error  Unexpected var  no-var\n\n✖ 1 problem (1 error, 0 warnings)\n")
            .approved("leaves lint as red as it was"),
        rust_fixed()
            .may_fail()
            .both("src/lib.rs: +tests::counts -tests::resets")
            .says("resets fails on the base too")
            .approved("leaves an old failure in Rust that may be"),
        // Nothing to do.
        python().reports(|report| report.noop = Some("the lock is at five already".into())).noop("finds nothing to do, and says why"),
        go()
            .without_git()
            .reports(|report| report.noop = Some("fixed in the commit before".into()))
            .noop("finds nothing to do without git"),
        javascript()
            .may_fail()
            .both("test/login.test.js: +accepts_the_password -rejects_another")
            .reports(|report| report.noop = Some("nothing to change; the old failure may be".into()))
            .noop("finds nothing to do beside an old failure that may be"),
        // Links, names, documents.
        python_fixed().link("src/current.py", "login.py").approved("makes a link to a file of the project"),
        javascript_fixed().rename("src/login.js", "src/Login.js").edit("test/login.test.js", "../src/login", "../src/Login").approved("renames a file by case alone"),
        python_fixed().write("src/señal.py", "SEÑAL = 1\n").approved("has letters with accents in a name"),
        python()
            .contract(|contract| contract.spec_skip_reason = Some(SpecSkip::DocsOnly))
            .may_change(&["docs/", "README.md"])
            .edit("README.md", "Locks accounts.", "Locks accounts after five failures. Never `it.skip(`.")
            .write("docs/lock.md", "# Lock\n\nTODO: say more about todo!()\n")
            .approved("changes only documents"),
        python_fixed()
            .has("docs/spec.md", "# Lock\n")
            .may_change(&["src/", "docs/spec.md"])
            .contract(|contract| {
                contract.spec_skip_reason = None;
                contract.spec_path = Some("docs/spec.md".into());
            })
            .edit("docs/spec.md", "", "\nAfter five failures.\n")
            .approved("edits a spec that it may edit"),
        python_fixed()
            .contract(|contract| contract.mode = WorkMode::Breezing)
            .has("Plans.md", "| id | task | status |\n| lock | lock | cc:WIP |\n")
            .approved("leaves the plan alone"),
        python_fixed()
            .has("tests/fixtures/project/package.json", "{ \"scripts\": { \"test\": \"jest\" } }\n")
            .write("tests/fixtures/other/package.json", "{ \"scripts\": { \"test\": \"true\" }, \"dependencies\": { \"x\": \"file:../x\" } }\n")
            .approved("adds a project as test data"),
        // The shapes of other runners.
        python_fixed().command("pytest", Shape::PytestShort).both(PY_TESTS).approved("is tested by pytest with dots"),
        python_fixed().command("python -m unittest -v", Shape::Unittest).both(PY_TESTS).approved("is tested by unittest"),
        javascript_fixed().command("npx jest", Shape::JestShort).both(JS_TESTS).approved("is tested by jest without names"),
        javascript_fixed().command("npx vitest run", Shape::Vitest).both(JS_TESTS).approved("is tested by vitest"),
        javascript_fixed().command("npx mocha", Shape::Mocha).both(JS_TESTS).approved("is tested by mocha"),
        javascript_fixed().command("node --test", Shape::NodeTest).both(JS_TESTS).approved("is tested by node"),
        go_fixed().command("go test ./...", Shape::GoShort).both(GO_TESTS).approved("is tested by go without names"),
        rust_fixed().command("cargo test -q", Shape::Cargo).prints(View::Base, 0, "\nrunning 4 tests\n....\ntest result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n").prints(View::Result, 0, "\nrunning 4 tests\n....\ntest result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n").approved("is tested by a quiet cargo"),
        go_fixed().command("make check", Shape::Go).prints(View::Base, 0, "everything is fine\n").prints(View::Result, 0, "everything is fine\n").approved("is checked by a program that nobody knows"),
    ]
}
