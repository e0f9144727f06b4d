//! Which files run and judge the work, by their path. Reads none of them.

use super::named::Named;
use crate::work::path_kind::{extension, file_name, is_ci, is_runner_configuration};

/// Configuration of runners, linters, compilers and task runners, and what a continuous integration runs.
pub fn is_validator(path: &str) -> bool {
    const NAMES: [&str; 40] = [
        ".pnpmfile.cjs",
        ".pnpmfile.mjs",
        ".pnp.cjs",
        ".pnp.loader.mjs",
        "insta.yaml",
        "gradle.properties",
        "maven.config",
        "jvm.config",
        ".eslintignore",
        ".prettierignore",
        ".stylelintrc",
        ".stylelintrc.json",
        "tslint.json",
        "pyrightconfig.json",
        ".pre-commit-config.yaml",
        "lefthook.yml",
        "bunfig.toml",
        "deno.json",
        "deno.jsonc",
        "phpunit.xml",
        "phpunit.xml.dist",
        "phpstan.neon",
        ".rspec",
        ".rubocop.yml",
        "tarpaulin.toml",
        "mocha.opts",
        ".taprc",
        "taskfile.yaml",
        ".golangci.yaml",
        ".golangci.toml",
        "detekt.yml",
        "checkstyle.xml",
        "testng.xml",
        "pytest.toml",
        ".pytest.toml",
        "hatch.toml",
        "mise.toml",
        ".envrc",
        "web-test-runner.config.js",
        ".yarnrc.yaml",
    ];
    const STEMS: [&str; 6] = [".nycrc", ".c8rc", "nyc.config", "tsup.config", "rollup.config", "wdio.conf"];
    let lower = path.to_lowercase();
    let name = file_name(&lower);
    let is_stem =
        |stem: &&str| name.strip_prefix(*stem).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    let is_hook = lower.starts_with(".husky/") || lower.contains("/.husky/");
    is_runner_configuration(path)
        || is_ci(path)
        || NAMES.contains(&name)
        || STEMS.iter().any(is_stem)
        || is_hook
        || is_make_part(name)
        || shadows_runner(path)
}

/// `rules.mk` is included by a Makefile.
fn is_make_part(name: &str) -> bool {
    extension(name) == "mk"
}

/// Where it stands does not matter: it is found from afar, or takes effect by being there.
pub fn is_effective_anywhere(path: &str) -> bool {
    let lower = path.to_lowercase();
    !lower.contains('/')
        || is_ci(path)
        || shadows_runner(path)
        || lower.split('/').any(|part| matches!(part, ".cargo" | ".config" | ".husky"))
        || matches!(file_name(&lower), "sitecustomize.py" | "usercustomize.py")
}

/// Test data: a project in a fixture is no validator of this one.
pub fn is_data(path: &str) -> bool {
    const DIRECTORIES: [&str; 8] = [
        "fixtures",
        "fixture",
        "__fixtures__",
        "testdata",
        "test-data",
        "__snapshots__",
        "snapshots",
        "templates",
    ];
    let lower = path.to_lowercase();
    let mut parts: Vec<&str> = lower.split('/').collect();
    parts.pop();
    parts.iter().any(|part| DIRECTORIES.contains(part))
}

/// A module that is loaded in place of the runner: from where Python looks first, or from among the installed packages.
pub fn shadows_runner(path: &str) -> bool {
    const PYTHON: [&str; 10] =
        ["pytest", "_pytest", "unittest", "pluggy", "nose", "nose2", "tox", "nox", "xdist", "pytest_cov"];
    const NODE: [&str; 14] = [
        "jest",
        "mocha",
        "vitest",
        "ava",
        "tap",
        "tape",
        "jasmine",
        "karma",
        "eslint",
        "tsc",
        "typescript",
        "playwright",
        "cypress",
        "nyc",
    ];
    let lower = path.to_lowercase();
    let parts: Vec<&str> = lower.split('/').collect();
    if parts.iter().any(|part| matches!(*part, "node_modules" | "site-packages")) {
        return true;
    }
    let is_first =
        |at: usize| at == 0 || at == 1 && matches!(parts[0], "src" | "lib" | "tests" | "test" | "python");
    let last = parts.len() - 1;
    let (stem, ending) = parts[last].rsplit_once('.').unwrap_or((parts[last], ""));
    match ending {
        "py" | "pyi" | "so" => {
            let is_module = is_first(last) && PYTHON.contains(&stem);
            let is_package = last > 0 && is_first(last - 1) && PYTHON.contains(&parts[last - 1]);
            is_module || is_package
        }
        "js" | "cjs" | "mjs" => last == 0 && NODE.contains(&stem),
        "pth" => last == 0,
        _ => false,
    }
}

/// A file that a command runs: named as the program or given to a shell; given to another interpreter only if it is no code of the
/// project itself.
pub fn is_script(path: &str, named: &Named) -> bool {
    const DIRECTORIES: [&str; 12] =
        ["scripts", "script", "bin", "tools", "tool", "hack", "ci", "dev", "test", "tests", "build", "tasks"];
    const WORDS: [&str; 8] = ["check", "test", "verify", "lint", "validat", "runner", "setup", "assert"];
    if named.programs.contains(path) {
        return true;
    }
    let lower = path.to_lowercase();
    let mut parts: Vec<&str> = lower.split('/').collect();
    let name = parts.pop().unwrap_or_default();
    let is_tool =
        parts.iter().any(|part| DIRECTORIES.contains(part)) || WORDS.iter().any(|word| name.contains(word));
    named.options.contains(path) || (named.arguments.contains(path) && is_tool)
}
