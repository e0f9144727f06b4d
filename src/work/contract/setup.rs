//! Chooses what has to be run before the commands: dependencies that a lock file pins. Says when that is needed.

use super::found_commands::{package, package_manager};
use super::project_files::ProjectFiles;
use crate::work::path_kind;
use serde_json::Value;

/// A default setup command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    pub command: &'static str,
    pub why: String,
    /// The directory that it fills: heavy, and ignored by git.
    pub directory: &'static str,
    /// The files that it reads.
    pub files: &'static [&'static str],
}

const NODE: &[&str] = &[
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    "bun.lock",
    "bun.lockb",
];
const PYTHON: &[&str] = &["pyproject.toml", "uv.lock", "poetry.lock"];

/// What the lock files of a project ask for. Only what writes into the project: `pip install` without an environment of its own would
/// change the user's, and cargo and go fetch what they need themselves.
pub fn setup_commands(project: &ProjectFiles) -> Vec<Setup> {
    let mut setup: Vec<Setup> = node(project).into_iter().collect();
    let python = |command, lock: &str| Setup {
        command,
        why: format!("{lock} pins its dependencies"),
        directory: ".venv",
        files: PYTHON,
    };
    if project.has("uv.lock") {
        setup.push(python("uv sync --frozen", "uv.lock"));
    } else if project.has("poetry.lock") {
        setup.push(python("poetry install --no-interaction", "poetry.lock"));
    }
    setup
}

fn node(project: &ProjectFiles) -> Option<Setup> {
    let package = package(project)?;
    let lists = ["dependencies", "devDependencies", "optionalDependencies", "workspaces"];
    let is_filled = |value: &Value| match value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(list) => !list.is_empty(),
        _ => false,
    };
    if !lists.into_iter().any(|list| package.get(list).is_some_and(is_filled)) {
        return None;
    }
    let lock = |names: &[&'static str]| names.iter().copied().find(|name| project.has(name));
    let (command, lock) = match package_manager(project) {
        "pnpm" => ("pnpm install --frozen-lockfile", lock(&["pnpm-lock.yaml"])?),
        "yarn" => (yarn(project, &package), lock(&["yarn.lock"])?),
        "bun" => ("bun install --frozen-lockfile", lock(&["bun.lock", "bun.lockb"])?),
        _ => ("npm ci", lock(&["package-lock.json", "npm-shrinkwrap.json"])?),
    };
    Some(Setup {
        command,
        why: format!("{lock} pins its dependencies"),
        directory: "node_modules",
        files: NODE,
    })
}

/// The first yarn has another word for it than the later ones.
fn yarn(project: &ProjectFiles, package: &serde_json::Map<String, Value>) -> &'static str {
    let named = package.get("packageManager").and_then(Value::as_str).unwrap_or_default();
    let is_first = match named.strip_prefix("yarn@") {
        Some(version) => version.starts_with("1."),
        None => match project.text("yarn.lock") {
            Some(lock) => lock.lines().take(5).any(|line| line.contains("yarn lockfile v1")),
            None => !project.has(".yarnrc.yml"),
        },
    };
    if is_first { "yarn install --frozen-lockfile" } else { "yarn install --immutable" }
}

/// Why a setup has to be run: a file that it reads was changed, or what it fills is missing. `changed` are the paths whose dependencies
/// changed (see [`changes_dependencies`]); `is_there` says whether a directory is in the view.
pub fn setup_reason(setup: &Setup, changed: &[&str], is_there: &dyn Fn(&str) -> bool) -> Option<String> {
    let reads = |path: &&&str| setup.files.contains(&path_kind::file_name(path));
    if let Some(path) = changed.iter().find(reads) {
        return Some(format!("{path} changed"));
    }
    (!is_there(setup.directory)).then(|| format!("{}/ is missing", setup.directory))
}

/// Whether a change of this file changes what has to be installed: of a package.json, only some keys do.
pub fn changes_dependencies(path: &str, before: Option<&str>, after: Option<&str>) -> bool {
    if !path_kind::is_dependency_manifest(path) && !path_kind::is_lock_file(path) {
        return false;
    }
    if path_kind::file_name(path) != "package.json" {
        return before != after;
    }
    let relevant = |text: Option<&str>| -> Option<Vec<Value>> {
        let package: Value = serde_json::from_str(text?).ok()?;
        let keys = [
            "dependencies",
            "devDependencies",
            "optionalDependencies",
            "peerDependencies",
            "overrides",
            "resolutions",
            "workspaces",
            "packageManager",
        ];
        Some(keys.iter().map(|key| package.get(key).cloned().unwrap_or_default()).collect())
    };
    match (relevant(before), relevant(after)) {
        (Some(before), Some(after)) => before != after,
        _ => before != after,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files with their texts, and the commands that follow from them.
    type Case = (&'static [(&'static str, &'static str)], &'static [&'static str]);

    fn commands(files: &[(&str, &str)]) -> Vec<&'static str> {
        let texts = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        setup_commands(&ProjectFiles { texts, ..ProjectFiles::default() })
            .into_iter()
            .map(|setup| setup.command)
            .collect()
    }

    const NEEDS: (&str, &str) = ("package.json", "{\"devDependencies\": {\"jest\": \"1\"}}");

    #[test]
    fn the_lock_file_says_how_to_install() {
        let cases: [Case; 10] = [
            (&[NEEDS, ("package-lock.json", "")], &["npm ci"]),
            (&[NEEDS, ("pnpm-lock.yaml", "")], &["pnpm install --frozen-lockfile"]),
            (&[NEEDS, ("yarn.lock", "# yarn lockfile v1")], &["yarn install --frozen-lockfile"]),
            (&[NEEDS, ("yarn.lock", "__metadata:")], &["yarn install --immutable"]),
            (&[NEEDS, ("bun.lockb", "")], &["bun install --frozen-lockfile"]),
            (&[NEEDS], &[]),
            (&[("package.json", "{}"), ("package-lock.json", "")], &[]),
            (&[("uv.lock", "")], &["uv sync --frozen"]),
            (&[("poetry.lock", "")], &["poetry install --no-interaction"]),
            (&[("requirements.txt", "pytest"), ("Cargo.lock", ""), ("go.sum", "")], &[]),
        ];
        for (files, expected) in cases {
            assert_eq!(commands(files), expected, "{files:?}");
        }
    }

    #[test]
    fn it_is_run_only_where_it_is_needed() {
        let texts =
            [NEEDS, ("package-lock.json", "")].map(|(name, text)| (name.to_owned(), text.to_owned())).into();
        let setup = setup_commands(&ProjectFiles { texts, ..ProjectFiles::default() }).remove(0);
        assert_eq!(setup_reason(&setup, &["src/a.js"], &|_| true), None);
        assert_eq!(
            setup_reason(&setup, &["package.json"], &|_| true).as_deref(),
            Some("package.json changed")
        );
        assert_eq!(setup_reason(&setup, &[], &|_| false).as_deref(), Some("node_modules/ is missing"));
    }

    #[test]
    fn a_new_script_installs_nothing() {
        let before = Some("{\"scripts\": {}, \"dependencies\": {\"a\": \"1\"}}");
        let script = Some("{\"scripts\": {\"x\": \"y\"}, \"dependencies\": {\"a\": \"1\"}}");
        let dependency = Some("{\"dependencies\": {\"a\": \"2\"}}");
        assert!(!changes_dependencies("package.json", before, script));
        assert!(changes_dependencies("app/package.json", before, dependency));
        assert!(changes_dependencies("package.json", before, Some("{")));
        assert!(
            changes_dependencies("uv.lock", None, Some(""))
                && !changes_dependencies("src/a.js", None, Some(""))
        );
    }
}
