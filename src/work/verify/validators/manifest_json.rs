//! What `package.json` and `composer.json` say about running tests and about where dependencies come from. Other keys do not matter.

use super::{Edit, Findings, Side, directory};
use crate::work::verify::listed_path::normal;
use serde_json::{Map, Value};

/// Sections that configure a runner, a linter or a compiler.
const SECTIONS: [&str; 17] = [
    "jest",
    "mocha",
    "ava",
    "nyc",
    "c8",
    "vitest",
    "tap",
    "jasmine",
    "karma",
    "babel",
    "eslintConfig",
    "eslintIgnore",
    "xo",
    "standard",
    "tsd",
    "wireit",
    "lint-staged",
];

/// Keys that put other packages in the place of those that were asked for.
const OVERRIDES: [&str; 5] = ["overrides", "resolutions", "pnpm", "dependenciesMeta", "patchedDependencies"];

const DEPENDENCIES: [&str; 5] =
    ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies", "bundledDependencies"];

/// The object of one side; none if it cannot be read.
fn object(side: Side) -> Option<Map<String, Value>> {
    match side {
        Side::Missing => Some(Map::new()),
        Side::Unreadable => None,
        Side::Text(text) => serde_json::from_str(text).ok(),
    }
}

pub fn package(edit: &Edit, is_new_package: bool, findings: &mut Findings) {
    let Some(after) = object(edit.after) else {
        return findings.major(edit.path, "is no valid JSON any more");
    };
    let Some(before) = object(edit.before) else {
        return findings.major(edit.path, "changed, and was no valid JSON before");
    };
    sources(edit, &before, &after, findings);
    for key in OVERRIDES {
        let is_changed = before.get(key) != after.get(key);
        if is_changed && (key != "pnpm" || pnpm_overrides(&before) != pnpm_overrides(&after)) {
            findings.major(edit.path, &format!("`{key}` changed: it replaces dependencies"));
        }
    }
    // The scripts of a new package are called by nobody yet.
    if is_new_package {
        return;
    }
    for script in &edit.named.scripts {
        let of = |object: &Map<String, Value>| {
            object.get("scripts").and_then(|scripts| scripts.get(script)).cloned()
        };
        if of(&before) != of(&after) {
            findings.major(edit.path, &format!("script `{script}` changed"));
        }
    }
    for key in SECTIONS {
        if before.get(key) != after.get(key) {
            findings.major(edit.path, &format!("`{key}` changed: it configures a tool that judges the work"));
        }
    }
}

fn pnpm_overrides(object: &Map<String, Value>) -> Vec<Option<&Value>> {
    let pnpm = object.get("pnpm");
    ["overrides", "patchedDependencies", "packageExtensions"].iter().map(|key| pnpm?.get(*key)).collect()
}

fn sources(edit: &Edit, before: &Map<String, Value>, after: &Map<String, Value>, findings: &mut Findings) {
    for key in DEPENDENCIES {
        let Some(new) = after.get(key).and_then(Value::as_object) else { continue };
        for (name, source) in new {
            let old = before.get(key).and_then(|old| old.get(name));
            let Some(text) = source.as_str().filter(|_| old != Some(source)) else { continue };
            if is_foreign(edit, name, text, was_there(before, name)) {
                findings.major(edit.path, &format!("dependency `{name}` comes from {text}"));
            }
        }
    }
}

fn was_there(before: &Map<String, Value>, name: &str) -> bool {
    DEPENDENCIES.iter().any(|key| before.get(*key).is_some_and(|old| old.get(name).is_some()))
}

fn is_foreign(edit: &Edit, name: &str, source: &str, was_there: bool) -> bool {
    const STARTS: [&str; 19] = [
        "git:",
        "git+",
        "git@",
        "http:",
        "https:",
        "ssh:",
        "github:",
        "gitlab:",
        "bitbucket:",
        "gist:",
        "patch:",
        "exec:",
        "file:",
        "link:",
        "portal:",
        "./",
        "../",
        "/",
        "~/",
    ];
    let source = source.trim();
    // Another package of the same workspace, which was there.
    let local = ["file:", "link:", "portal:"].iter().find_map(|start| source.strip_prefix(start));
    if let Some(path) = local.or_else(|| source.starts_with("..").then_some(source))
        && let Some(path) = normal(format!("{}/{path}", directory(edit.path)).trim_start_matches('/'))
        && !was_there
        && edit.evidence.base.paths.contains(&format!("{path}/package.json"))
        && edit.evidence.changes.find(&format!("{path}/package.json")).is_none()
    {
        return false;
    }
    if let Some(alias) = source.strip_prefix("npm:") {
        let is_same = alias.rsplit_once('@').map_or(alias, |(name, _)| name).trim_end_matches('@') == name;
        return !is_same && (was_there || edit.named.words.contains(name));
    }
    if source.starts_with("workspace:") || source.starts_with("catalog:") {
        return false;
    }
    STARTS.iter().any(|start| source.starts_with(start)) || (source.contains('/') && !source.starts_with('@'))
}

pub fn composer(edit: &Edit, findings: &mut Findings) {
    let (Some(before), Some(after)) = (object(edit.before), object(edit.after)) else {
        return findings.major(edit.path, "is no valid JSON");
    };
    for key in ["repositories", "scripts", "replace"] {
        if before.get(key) != after.get(key) {
            findings.major(edit.path, &format!("`{key}` changed"));
        }
    }
}
