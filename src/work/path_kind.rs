//! What a path of a project is, as its name tells: a test, a lock file, something that runs or judges tests. Pure.

/// The last part of a path.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The ending without the dot, in lower case; empty if there is none.
pub fn extension(path: &str) -> String {
    let name = file_name(path);
    name.rsplit_once('.')
        .filter(|(stem, _)| !stem.is_empty())
        .map_or_else(String::new, |(_, ending)| ending.to_lowercase())
}

fn has_directory(path: &str, names: &[&str]) -> bool {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    parts.iter().any(|part| names.contains(&part.to_lowercase().as_str()))
}

const CODE: [&str; 32] = [
    "rs", "py", "js", "jsx", "ts", "tsx", "mjs", "cjs", "mts", "cts", "go", "java", "kt", "scala", "rb",
    "php", "c", "h", "cc", "cpp", "hpp", "cs", "swift", "ex", "exs", "hs", "lua", "sh", "bash", "pl", "vue",
    "svelte",
];

pub fn is_code(path: &str) -> bool {
    CODE.contains(&extension(path).as_str())
}

/// A test, by the conventions of its language: what a change of it means is for `tests` of a contract.
pub fn is_test(path: &str) -> bool {
    let name = file_name(path).to_lowercase();
    if name == "conftest.py" {
        return false;
    }
    let stem = name.split('.').next().unwrap_or(&name);
    let in_directory = has_directory(path, &["test", "tests", "__tests__", "spec", "specs", "e2e"]);
    match extension(path).as_str() {
        "py" => stem.starts_with("test_") || stem.ends_with("_test") || in_directory,
        "go" | "exs" => stem.ends_with("_test"),
        "rs" => stem == "tests" || stem.ends_with("_test") || stem.ends_with("_tests") || in_directory,
        "rb" => stem.ends_with("_spec") || stem.ends_with("_test") || in_directory,
        "java" | "kt" | "scala" | "cs" | "swift" | "php" => {
            let stem = file_name(path).split('.').next().unwrap_or_default();
            stem.ends_with("Test") || stem.ends_with("Tests") || stem.ends_with("Spec") || in_directory
        }
        "js" | "jsx" | "ts" | "tsx" | "mjs" | "cjs" | "mts" | "cts" | "vue" | "svelte" => {
            const PARTS: [&str; 8] =
                [".test.", ".spec.", "_test.", "-test.", "_spec.", "-spec.", ".e2e.", ".cy."];
            PARTS.iter().any(|part| name.contains(part))
                || stem == "test"
                || stem.starts_with("test-")
                || in_directory
        }
        "c" | "h" | "cc" | "cpp" | "hpp" | "hs" | "lua" | "sh" | "bash" | "pl" | "ex" => {
            in_directory || stem.starts_with("test_")
        }
        "t" | "bats" => true,
        _ => false,
    }
}

/// Expected output and test data.
pub fn is_fixture(path: &str) -> bool {
    let is_snapshot =
        matches!(extension(path).as_str(), "snap" | "snapshot" | "ambr" | "golden" | "approved");
    let directories = [
        "fixtures",
        "fixture",
        "__snapshots__",
        "snapshots",
        "testdata",
        "test-data",
        "golden",
        "goldens",
        "__fixtures__",
    ];
    is_snapshot
        || has_directory(path, &directories)
        || (has_directory(path, &["tests", "test", "__tests__"]) && !is_code(path))
}

/// A file that pins the versions of dependencies.
pub fn is_lock_file(path: &str) -> bool {
    const NAMES: [&str; 17] = [
        "package-lock.json",
        "npm-shrinkwrap.json",
        "yarn.lock",
        "pnpm-lock.yaml",
        "bun.lock",
        "bun.lockb",
        "cargo.lock",
        "poetry.lock",
        "uv.lock",
        "pdm.lock",
        "pipfile.lock",
        "go.sum",
        "gemfile.lock",
        "composer.lock",
        "mix.lock",
        "flake.lock",
        "packages.lock.json",
    ];
    NAMES.contains(&file_name(path).to_lowercase().as_str())
}

/// A file that names dependencies.
pub fn is_dependency_manifest(path: &str) -> bool {
    const NAMES: [&str; 16] = [
        "package.json",
        "cargo.toml",
        "pyproject.toml",
        "setup.py",
        "setup.cfg",
        "requirements.txt",
        "pipfile",
        "go.mod",
        "gemfile",
        "composer.json",
        "mix.exs",
        "pom.xml",
        "build.gradle",
        "build.gradle.kts",
        "environment.yml",
        "requirements.in",
    ];
    let name = file_name(path).to_lowercase();
    NAMES.contains(&name.as_str())
        || (name.starts_with("requirements") && matches!(extension(&name).as_str(), "txt" | "in"))
}

/// What a continuous integration runs.
pub fn is_ci(path: &str) -> bool {
    const NAMES: [&str; 10] = [
        ".gitlab-ci.yml",
        ".travis.yml",
        "azure-pipelines.yml",
        "jenkinsfile",
        "appveyor.yml",
        ".appveyor.yml",
        "bitbucket-pipelines.yml",
        ".drone.yml",
        ".cirrus.yml",
        "cloudbuild.yaml",
    ];
    let lower = path.to_lowercase();
    NAMES.contains(&file_name(&lower))
        || [".github/workflows/", ".github/actions/", ".circleci/", ".buildkite/", ".ci/", "ci/"].iter().any(
            |directory| {
                lower.starts_with(directory)
                    || lower.contains(&format!("/{directory}")) && directory.starts_with('.')
            },
        )
}

/// Configuration of a test runner, linter, compiler or task runner, whatever it says: it decides what a command means.
pub fn is_runner_configuration(path: &str) -> bool {
    const NAMES: [&str; 34] = [
        "makefile",
        "gnumakefile",
        "justfile",
        ".justfile",
        "taskfile.yml",
        "rakefile",
        "pytest.ini",
        ".pytest.ini",
        "tox.ini",
        "noxfile.py",
        "conftest.py",
        "sitecustomize.py",
        "usercustomize.py",
        ".coveragerc",
        "mypy.ini",
        ".flake8",
        "ruff.toml",
        ".ruff.toml",
        "pylintrc",
        ".pylintrc",
        "build.rs",
        "clippy.toml",
        ".clippy.toml",
        "rustfmt.toml",
        ".rustfmt.toml",
        "rust-toolchain",
        "rust-toolchain.toml",
        "nextest.toml",
        ".npmrc",
        ".yarnrc",
        ".yarnrc.yml",
        ".gitattributes",
        ".golangci.yml",
        "deny.toml",
    ];
    const STEMS: [&str; 24] = [
        "jest.config",
        "jest.setup",
        "vitest.config",
        "vitest.workspace",
        "vitest.setup",
        "vite.config",
        ".mocharc",
        "karma.conf",
        "playwright.config",
        "cypress.config",
        "ava.config",
        "babel.config",
        ".babelrc",
        "tsconfig",
        "jsconfig",
        ".eslintrc",
        "eslint.config",
        "biome",
        ".prettierrc",
        "prettier.config",
        "turbo",
        "nx",
        ".swcrc",
        "webpack.config",
    ];
    let lower = path.to_lowercase();
    let name = file_name(&lower);
    let is_stem =
        |stem: &&str| name == *stem || name.strip_prefix(*stem).is_some_and(|rest| rest.starts_with('.'));
    let is_cargo = lower == ".cargo/config.toml"
        || lower.ends_with("/.cargo/config.toml")
        || lower == ".cargo/config"
        || lower.ends_with("/.cargo/config");
    NAMES.contains(&name) || STEMS.iter().any(is_stem) || is_cargo
}

/// A document: prose, nothing that is run.
pub fn is_document(path: &str) -> bool {
    let name = file_name(path).to_lowercase();
    matches!(extension(path).as_str(), "md" | "markdown" | "rst" | "txt" | "adoc" | "asciidoc")
        && !is_dependency_manifest(path)
        || matches!(name.as_str(), "license" | "readme" | "changelog" | "authors" | "notice" | "copying")
}

/// Below a directory that tools fill by themselves.
pub fn is_cache(path: &str) -> bool {
    const NAMES: [&str; 20] = [
        "__pycache__",
        ".pytest_cache",
        ".mypy_cache",
        ".ruff_cache",
        ".tox",
        ".nox",
        ".hypothesis",
        "node_modules",
        ".turbo",
        ".nx",
        ".next",
        ".nuxt",
        ".parcel-cache",
        ".cache",
        ".nyc_output",
        "coverage",
        "htmlcov",
        "target",
        ".gradle",
        ".eslintcache",
    ];
    path.split('/').any(|part| NAMES.contains(&part))
        || matches!(extension(path).as_str(), "pyc" | "pyo")
        || matches!(file_name(path), ".coverage" | ".eslintcache" | ".DS_Store")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_known_by_the_conventions_of_their_language() {
        let tests = [
            "tests/test_login.py",
            "pkg/test_a.py",
            "pkg/a_test.py",
            "src/login.test.ts",
            "src/login.spec.js",
            "__tests__/x.js",
            "a/b_test.go",
            "tests/it/main.rs",
            "src/foo/tests.rs",
            "spec/a_spec.rb",
            "src/test/java/ATest.java",
            "test/run.sh",
        ];
        for path in tests {
            assert!(is_test(path), "{path}");
        }
        for path in [
            "src/login.js",
            "src/contest.py",
            "src/latest.ts",
            "testing.go",
            "conftest.py",
            "README.md",
            "src/protests/x.rs",
        ] {
            assert!(!is_test(path), "{path}");
        }
    }

    #[test]
    fn what_judges_the_work_is_known() {
        for path in [
            "jest.config.ts",
            "a/conftest.py",
            ".cargo/config.toml",
            "Makefile",
            "tsconfig.build.json",
            ".eslintrc.json",
            "build.rs",
        ] {
            assert!(is_runner_configuration(path), "{path}");
        }
        for path in ["src/jest.ts", "docs/make.md", "src/config.toml", "nxt.js"] {
            assert!(!is_runner_configuration(path), "{path}");
        }
        assert!(
            is_ci(".github/workflows/ci.yml")
                && is_ci(".ci/run")
                && is_ci("ci/build.sh")
                && !is_ci("src/ci/x.rs")
        );
        assert!(is_lock_file("a/Cargo.lock") && is_dependency_manifest("requirements-dev.txt"));
        assert!(
            is_fixture("tests/data/a.json")
                && is_fixture("src/__snapshots__/a.snap")
                && !is_fixture("src/a.json")
        );
        assert!(is_document("docs/a.md") && !is_document("requirements.txt"));
        assert!(is_cache("a/__pycache__/x.pyc") && is_cache(".coverage") && !is_cache("src/caching.rs"));
    }
}
