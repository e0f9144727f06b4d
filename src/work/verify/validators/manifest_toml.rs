//! What `Cargo.toml`, `pyproject.toml` and `Pipfile` say about running tests and about where dependencies come from.

use super::dependencies::is_foreign_python;
use super::{Edit, Findings, Side, directory};
use crate::work::verify::listed_path::normal;
use std::collections::{BTreeMap, BTreeSet};
use toml::{Table, Value};

fn table(side: Side) -> Option<Table> {
    match side {
        Side::Missing => Some(Table::new()),
        Side::Unreadable => None,
        Side::Text(text) => toml::from_str(text).ok(),
    }
}

fn sides(edit: &Edit, findings: &mut Findings) -> Option<(Table, Table)> {
    let (before, after) = (table(edit.before), table(edit.after));
    if after.is_none() {
        findings.major(edit.path, "is no valid TOML any more");
    } else if before.is_none() {
        findings.major(edit.path, "changed, and was no valid TOML before");
    }
    Some((before?, after?))
}

/// The value at a dotted path.
fn at<'t>(table: &'t Table, path: &str) -> Option<&'t Value> {
    let mut keys = path.split('.');
    let first = table.get(keys.next()?)?;
    keys.try_fold(first, |value, key| value.get(key))
}

fn compare(edit: &Edit, before: &Table, after: &Table, paths: &[&str], findings: &mut Findings) {
    for path in paths {
        if at(before, path) != at(after, path) {
            findings.major(edit.path, &format!("`{path}` changed"));
        }
    }
}

pub fn cargo(edit: &Edit, is_new_package: bool, findings: &mut Findings) {
    const JUDGING: [&str; 17] = [
        "test",
        "profile.test",
        "profile.dev",
        "patch",
        "replace",
        "lints",
        "workspace.lints",
        "lib.test",
        "lib.harness",
        "lib.doctest",
        "lib.path",
        "package.build",
        "package.autotests",
        "package.metadata.nextest",
        "workspace.exclude",
        "workspace.default-members",
        "badges.ci",
    ];
    let Some((before, after)) = sides(edit, findings) else { return };
    let old = cargo_dependencies(&before);
    for (name, value) in cargo_dependencies(&after) {
        let was_there = old.keys().any(|(_, known)| *known == name.1);
        let source = |value: &Value| -> Vec<Option<Value>> {
            ["path", "git", "registry-index"].iter().map(|key| value.get(*key).cloned()).collect()
        };
        let new = source(value);
        if new.iter().all(Option::is_none) || old.get(&name).is_some_and(|known| source(known) == new) {
            continue;
        }
        let local = value.get("path").and_then(Value::as_str).filter(|_| value.get("git").is_none());
        if !was_there && local.is_some_and(|path| is_old_crate(edit, path)) {
            continue;
        }
        findings.major(
            edit.path,
            &format!("dependency `{}` comes from a path, a repository or another registry", name.1),
        );
    }
    // What a new package says about itself is about new code.
    if is_new_package {
        return;
    }
    compare(edit, &before, &after, &JUDGING, findings);
    if edit.named.words.contains("--release") {
        compare(edit, &before, &after, &["profile.release"], findings);
    }
    for kind in ["bin", "example", "bench"] {
        let silent = |table: &Table| -> BTreeSet<String> {
            let is_off = |value: &&Value| {
                ["test", "harness"].iter().any(|key| value.get(*key).and_then(Value::as_bool) == Some(false))
            };
            let entries = table.get(kind).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            entries.iter().filter(is_off).map(ToString::to_string).collect()
        };
        if kind != "bench" && !silent(&after).is_subset(&silent(&before)) {
            findings.major(edit.path, &format!("`[[{kind}]]` switches tests off"));
        }
    }
    let members = |table: &Table| -> BTreeSet<String> {
        let members = at(table, "workspace.members").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        members.iter().filter_map(|member| member.as_str().map(str::to_owned)).collect()
    };
    if !members(&before).is_subset(&members(&after)) {
        findings.major(edit.path, "`workspace.members` lost a member");
    }
}

/// By table and name: of the package, the workspace and its targets.
fn cargo_dependencies(table: &Table) -> BTreeMap<(String, String), &Value> {
    const KINDS: [&str; 5] =
        ["dependencies", "dev-dependencies", "build-dependencies", "dev_dependencies", "build_dependencies"];
    let mut groups: Vec<(String, &Value)> = Vec::new();
    for kind in KINDS {
        groups.extend(table.get(kind).map(|group| (kind.to_owned(), group)));
        groups.extend(
            at(table, &format!("workspace.{kind}")).map(|group| (format!("workspace.{kind}"), group)),
        );
        for (target, value) in table.get("target").and_then(Value::as_table).into_iter().flatten() {
            groups.extend(value.get(kind).map(|group| (format!("{target}.{kind}"), group)));
        }
    }
    let mut found = BTreeMap::new();
    for (place, group) in groups {
        for (name, value) in group.as_table().into_iter().flatten() {
            found.insert((place.clone(), name.clone()), value);
        }
    }
    found
}

/// A crate of the project that was there and stays as it is.
fn is_old_crate(edit: &Edit, path: &str) -> bool {
    let manifest = normal(format!("{}/{path}/Cargo.toml", directory(edit.path)).trim_start_matches('/'));
    manifest.is_some_and(|manifest| edit.evidence.base.paths.contains(&manifest))
}

pub fn pyproject(edit: &Edit, is_new_package: bool, findings: &mut Findings) {
    const JUDGING: [&str; 25] = [
        "tool.pytest",
        "tool.ruff",
        "tool.mypy",
        "tool.coverage",
        "tool.pyright",
        "tool.basedpyright",
        "tool.flake8",
        "tool.pylint",
        "tool.tox",
        "tool.nox",
        "tool.poe",
        "tool.taskipy",
        "tool.pdm.scripts",
        "tool.hatch.envs",
        "tool.isort",
        "tool.black",
        "tool.bandit",
        "tool.ty",
        "tool.pyrefly",
        "build-system.backend-path",
        "build-system.build-backend",
        "project.entry-points.pytest11",
        "tool.poetry.plugins.pytest11",
        "tool.uv.override-dependencies",
        "tool.poetry.source",
    ];
    let Some((before, after)) = sides(edit, findings) else { return };
    let old = python_requirements(&before);
    for requirement in python_requirements(&after).difference(&old) {
        if is_foreign_python(requirement) {
            findings.major(edit.path, &format!("a dependency from elsewhere: {requirement}"));
        }
    }
    let mut places: Vec<String> =
        ["tool.uv.sources", "tool.poetry.dependencies", "tool.poetry.dev-dependencies"]
            .map(str::to_owned)
            .into();
    for (group, _) in at(&after, "tool.poetry.group").and_then(Value::as_table).into_iter().flatten() {
        places.push(format!("tool.poetry.group.{group}.dependencies"));
    }
    for place in places {
        table_sources(edit, at(&before, &place), at(&after, &place), findings);
    }
    if !is_new_package {
        compare(edit, &before, &after, &JUDGING, findings);
    }
}

/// Entries of a table whose source is a path, a repository or a url.
fn table_sources(edit: &Edit, before: Option<&Value>, after: Option<&Value>, findings: &mut Findings) {
    for (name, value) in after.and_then(Value::as_table).into_iter().flatten() {
        let is_foreign = ["path", "git", "url", "file"].iter().any(|key| value.get(*key).is_some());
        if is_foreign && before.and_then(|old| old.get(name)) != Some(value) {
            findings
                .major(edit.path, &format!("dependency `{name}` comes from a path, a repository or a url"));
        }
    }
}

fn python_requirements(table: &Table) -> BTreeSet<String> {
    let mut lists: Vec<&Value> = Vec::new();
    lists.extend(at(table, "project.dependencies"));
    lists.extend(at(table, "build-system.requires"));
    for place in ["project.optional-dependencies", "dependency-groups"] {
        lists.extend(at(table, place).and_then(Value::as_table).into_iter().flatten().map(|(_, list)| list));
    }
    let texts = lists.into_iter().filter_map(Value::as_array).flatten();
    texts.filter_map(|text| text.as_str().map(str::to_owned)).collect()
}

pub fn pipfile(edit: &Edit, findings: &mut Findings) {
    let Some((before, after)) = sides(edit, findings) else { return };
    for place in ["packages", "dev-packages"] {
        table_sources(edit, before.get(place), after.get(place), findings);
    }
    compare(edit, &before, &after, &["scripts", "source"], findings);
}
