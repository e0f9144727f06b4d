//! Chooses validation commands from what a project has, and says why. Runs nothing.

use super::project_files::ProjectFiles;
use super::weak_command::weak_command;
use crate::model::contract::{CommandOrigin, Contract, ValidationCommand};
use serde_json::{Map, Value};

/// The scripts of a package.json that test it, the best first.
const SCRIPTS: [&str; 5] = ["test", "check", "verify", "test:ci", "test:unit"];

/// The targets that test a project.
const TARGETS: [&str; 2] = ["test", "check"];

/// The commands that this project is tested with; a target of a makefile only where nothing else is known.
pub fn found_commands(project: &ProjectFiles) -> Vec<ValidationCommand> {
    let languages = [npm(project), cargo(project), python(project), go(project)];
    let mut found: Vec<(String, String)> = languages.into_iter().flatten().collect();
    if found.is_empty() {
        found.extend(make(project).or_else(|| just(project)));
    }
    found
        .into_iter()
        .map(|(command, why)| ValidationCommand::new(command, CommandOrigin::Found(why)))
        .collect()
}

/// Fills in the commands of a contract that has none, and says in one line each which they are and why.
pub fn with_found_commands(contract: &mut Contract, project: &ProjectFiles) -> Vec<String> {
    if !contract.validation_commands.is_empty() {
        return Vec::new();
    }
    contract.validation_commands = found_commands(project);
    let commands = contract.validation_commands.iter();
    commands
        .map(|command| match &command.from {
            CommandOrigin::Found(why) => format!("runs `{}`: {why}", command.command),
            _ => format!("runs `{}`", command.command),
        })
        .collect()
}

/// The package manager of a JavaScript project: as it says, else by its lock file.
pub(super) fn package_manager(project: &ProjectFiles) -> &'static str {
    let named =
        package(project).and_then(|package| package.get("packageManager")?.as_str().map(str::to_owned));
    let named = named.unwrap_or_default();
    let by_name = ["pnpm", "yarn", "bun", "npm"]
        .into_iter()
        .find(|name| named.strip_prefix(*name).is_some_and(|rest| rest.is_empty() || rest.starts_with('@')));
    let locks = [
        ("pnpm-lock.yaml", "pnpm"),
        ("yarn.lock", "yarn"),
        ("bun.lock", "bun"),
        ("bun.lockb", "bun"),
        ("package-lock.json", "npm"),
    ];
    let by_lock = || locks.into_iter().find(|(lock, _)| project.has(lock)).map(|(_, name)| name);
    by_name.or_else(by_lock).unwrap_or("npm")
}

pub(super) fn package(project: &ProjectFiles) -> Option<Map<String, Value>> {
    match serde_json::from_str(project.text("package.json")?.trim_start_matches('\u{feff}')) {
        Ok(Value::Object(package)) => Some(package),
        _ => None,
    }
}

fn npm(project: &ProjectFiles) -> Option<(String, String)> {
    let package = package(project)?;
    let scripts = package.get("scripts")?.as_object()?;
    let name = SCRIPTS
        .into_iter()
        .find(|name| scripts.get(*name).and_then(Value::as_str).is_some_and(proves_something))?;
    let manager = package_manager(project);
    let command = match (manager, name) {
        ("bun", _) => format!("bun run {name}"),
        (_, "test") => format!("{manager} test"),
        _ => format!("{manager} run {name}"),
    };
    Some((command, format!("package.json has a `{name}` script")))
}

/// A script that can fail, that is not the one `npm init` writes, and that ends by itself.
fn proves_something(script: &str) -> bool {
    let watches = script
        .split_whitespace()
        .any(|word| matches!(word, "--watch" | "--watchAll" | "--watch=true" | "--watchAll=true"));
    !script.contains("no test specified") && !watches && weak_command(script).is_none()
}

fn cargo(project: &ProjectFiles) -> Option<(String, String)> {
    let text = project.text("Cargo.toml")?;
    let has_table =
        |name: &str| text.lines().any(|line| line.split('#').next().unwrap_or_default().trim() == name);
    if has_table("[workspace]") {
        return Some(("cargo test --workspace".into(), "Cargo.toml is a workspace".into()));
    }
    Some(("cargo test".into(), "Cargo.toml is a Rust package".into()))
}

fn go(project: &ProjectFiles) -> Option<(String, String)> {
    project.has("go.mod").then(|| ("go test ./...".into(), "go.mod is a Go module".into()))
}

fn python(project: &ProjectFiles) -> Option<(String, String)> {
    let says = |file: &str, word: &str| {
        project.text(file).is_some_and(|text| text.lines().any(|line| line.trim().starts_with(word)))
    };
    let mentions = |file: &str| project.text(file).is_some_and(|text| text.contains("pytest"));
    let manifests =
        ["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "requirements-dev.txt", "tox.ini"];
    let tests = ["tests", "test"].into_iter().find(|name| project.names.contains(*name));
    let why = if let Some(file) = ["pytest.ini", ".pytest.ini"].into_iter().find(|file| project.has(file)) {
        format!("{file} configures pytest")
    } else if says("pyproject.toml", "[tool.pytest") {
        "pyproject.toml configures pytest".to_owned()
    } else if says("setup.cfg", "[tool:pytest]") {
        "setup.cfg configures pytest".to_owned()
    } else if says("tox.ini", "[pytest]") {
        "tox.ini configures pytest".to_owned()
    } else if project.has("conftest.py") {
        "conftest.py belongs to pytest".to_owned()
    } else if let Some(file) =
        ["pyproject.toml", "requirements.txt", "setup.cfg", "tox.ini"].into_iter().find(|file| mentions(file))
    {
        format!("{file} names pytest")
    } else if let Some(tests) = tests.filter(|_| manifests.into_iter().any(|file| project.has(file))) {
        format!("it is a Python project with `{tests}/`")
    } else {
        return None;
    };
    let command = if project.has("uv.lock") {
        "uv run python -m pytest"
    } else if project.has("poetry.lock") {
        "poetry run python -m pytest"
    } else {
        // As a module it finds the project's own modules, whatever the layout; and there is always a `python3`.
        "python3 -m pytest"
    };
    Some((command.into(), why))
}

fn make(project: &ProjectFiles) -> Option<(String, String)> {
    // In the order in which make looks for them.
    let name =
        ["GNUmakefile", "makefile", "Makefile"].into_iter().find(|name| project.text(name).is_some())?;
    let text = project.text(name)?;
    let target = TARGETS.into_iter().find(|target| has_target(text, target, true))?;
    Some((format!("make {target}"), format!("{name} has a `{target}` target")))
}

fn just(project: &ProjectFiles) -> Option<(String, String)> {
    let name = ["justfile", "Justfile", ".justfile"].into_iter().find(|name| project.text(name).is_some())?;
    let text = project.text(name)?;
    let target = TARGETS.into_iter().find(|target| has_target(text, target, false))?;
    Some((format!("just {target}"), format!("{name} has a `{target}` recipe")))
}

/// Whether there is a target of this name that does something which can fail.
fn has_target(text: &str, target: &str, is_make: bool) -> bool {
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with(char::is_whitespace) || line.starts_with('#') {
            continue;
        }
        let Some((head, rest)) = line.split_once(':') else { continue };
        // `test := x` is a variable.
        if rest.starts_with('=') || rest.starts_with(":=") {
            continue;
        }
        let is_it = if is_make {
            head.split_whitespace().any(|word| word == target)
        } else {
            head.trim_start_matches('@').split_whitespace().next() == Some(target)
        };
        if !is_it {
            continue;
        }
        let (needs, inline) = rest.split_once(';').unwrap_or((rest, ""));
        let needs = needs.trim_start_matches(':').split('#').next().unwrap_or_default();
        let mut recipe: Vec<&str> = Some(inline.trim()).filter(|line| !line.is_empty()).into_iter().collect();
        while let Some(line) =
            lines.peek().filter(|line| line.trim().is_empty() || line.starts_with(char::is_whitespace))
        {
            recipe.extend(Some(line.trim()).filter(|line| !line.is_empty()));
            lines.next();
        }
        let can_fail = |line: &&str| {
            // A minus in front ignores failures.
            let is_ignored = line.trim_start_matches(['@', '+']).starts_with('-');
            !is_ignored && weak_command(line.trim_start_matches(['@', '+'])).is_none()
        };
        if !needs.trim().is_empty() || recipe.iter().any(can_fail) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files with their texts, and the commands that follow from them.
    type Case = (&'static [(&'static str, &'static str)], &'static [&'static str]);

    fn project(files: &[(&str, &str)]) -> ProjectFiles {
        let mut project = ProjectFiles::default();
        for (name, text) in files {
            project.names.insert((*name).to_owned());
            if ProjectFiles::WANTED.contains(name) {
                project.texts.insert((*name).to_owned(), (*text).to_owned());
            }
        }
        project
    }

    fn commands(files: &[(&str, &str)]) -> Vec<String> {
        found_commands(&project(files)).into_iter().map(|command| command.command).collect()
    }

    const JEST: &str = "{\"scripts\": {\"test\": \"jest\"}}";

    #[test]
    fn every_kind_of_project_has_its_command() {
        let cases: [Case; 24] = [
            (&[("package.json", JEST)], &["npm test"]),
            (&[("package.json", JEST), ("pnpm-lock.yaml", "")], &["pnpm test"]),
            (&[("package.json", JEST), ("yarn.lock", "")], &["yarn test"]),
            (&[("package.json", JEST), ("bun.lock", "")], &["bun run test"]),
            (
                &[("package.json", "{\"packageManager\": \"pnpm@9\", \"scripts\": {\"check\": \"tsc\"}}")],
                &["pnpm run check"],
            ),
            (
                &[(
                    "package.json",
                    "{\"scripts\": {\"test\": \"echo \\\"Error: no test specified\\\" && exit 1\"}}",
                )],
                &[],
            ),
            (&[("package.json", "{\"scripts\": {\"test\": \"echo ok\"}}")], &[]),
            (
                &[("package.json", "{\"scripts\": {\"test\": \"jest --watch\", \"test:ci\": \"jest\"}}")],
                &["npm run test:ci"],
            ),
            (&[("package.json", "{")], &[]),
            (&[("package.json", "[]")], &[]),
            (&[("Cargo.toml", "[package]\nname = \"a\"")], &["cargo test"]),
            (&[("Cargo.toml", "[workspace] # all\nmembers = []")], &["cargo test --workspace"]),
            (&[("Cargo.toml", ""), ("package.json", JEST)], &["npm test", "cargo test"]),
            (&[("pytest.ini", "")], &["python3 -m pytest"]),
            (
                &[("pyproject.toml", "[tool.pytest.ini_options]"), ("uv.lock", "")],
                &["uv run python -m pytest"],
            ),
            (&[("setup.cfg", "[tool:pytest]")], &["python3 -m pytest"]),
            (&[("pyproject.toml", "[project]"), ("tests", "")], &["python3 -m pytest"]),
            (&[("pyproject.toml", "[project]")], &[]),
            (&[("tests", "")], &[]),
            (&[("go.mod", "module x")], &["go test ./..."]),
            (&[("Makefile", ".PHONY: test\ntest:\n\t./run\n")], &["make test"]),
            (&[("Makefile", "test := x\nall check: build\n")], &["make check"]),
            (&[("Makefile", "test:\n\t@echo ok\n\t-npm test\n")], &[]),
            (&[("justfile", "set shell := [\"sh\"]\n@test *args:\n    cargo nextest run\n")], &["just test"]),
        ];
        for (files, expected) in cases {
            assert_eq!(commands(files), expected, "{files:?}");
        }
    }

    #[test]
    fn the_language_comes_before_the_makefile() {
        assert_eq!(commands(&[("go.mod", ""), ("Makefile", "test:\n\tgo test ./...\n")]), ["go test ./..."]);
    }

    #[test]
    fn what_was_chosen_is_said_in_one_line() {
        let form = crate::work::contract::ShortForm { task: "x".into(), ..Default::default() };
        let mut contract = crate::work::contract::short(&form, &|_| false).unwrap().contract;
        let lines = with_found_commands(&mut contract, &project(&[("go.mod", "")]));
        assert_eq!(lines, ["runs `go test ./...`: go.mod is a Go module"]);
        assert_eq!(with_found_commands(&mut contract, &project(&[("Cargo.toml", "")])), Vec::<String>::new());
    }
}
