//! Dependencies that come from elsewhere than a registry, in files that are read line by line. A new one with a version is fine.

use super::{Edit, Findings, Side};
use crate::work::verify::lines::added_lines;

/// Whether a file, by its name in lower case, is read line by line.
pub fn looks_at(name: &str) -> bool {
    let is_requirements =
        name.starts_with("requirements") && (extension_is(name, "txt") || extension_is(name, "in"));
    is_requirements
        || matches!(
            name,
            "setup.py"
                | "go.mod"
                | "go.work"
                | "gemfile"
                | "pnpm-workspace.yaml"
                | "pom.xml"
                | "build.gradle"
                | "build.gradle.kts"
                | "package-lock.json"
                | "npm-shrinkwrap.json"
                | "cargo.lock"
        )
}

fn extension_is(name: &str, ending: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, found)| found == ending)
}

pub fn lines(edit: &Edit, name: &str, findings: &mut Findings) {
    const OVERRIDES: [&str; 3] = ["overrides:", "patchedDependencies:", "packageExtensions:"];
    if matches!(edit.after, Side::Unreadable) {
        // Lock files are often larger than what is read.
        if !extension_is(name, "lock") && !matches!(name, "package-lock.json" | "npm-shrinkwrap.json") {
            findings.major(edit.path, "is no readable text any more");
        }
        return;
    }
    if name == "pnpm-workspace.yaml"
        && yaml_section(edit.before.text(), &OVERRIDES) != yaml_section(edit.after.text(), &OVERRIDES)
    {
        findings.major(edit.path, "overrides of dependencies changed");
    }
    for (_, line) in added_lines(edit.before.text(), edit.after.text()) {
        let plain = line.trim();
        if plain.len() > 4000 || plain.starts_with("//") || plain.starts_with('#') {
            continue;
        }
        if is_foreign(name, plain) {
            findings
                .major(edit.path, &format!("a dependency from elsewhere, or a switch for tests: {plain}"));
        }
    }
}

fn is_foreign(name: &str, line: &str) -> bool {
    let has = |parts: &[&str]| parts.iter().any(|part| line.contains(part));
    match name {
        "go.mod" | "go.work" => line.contains("=>"),
        "gemfile" => {
            line.starts_with("gem ")
                && has(&["path:", "git:", "github:", ":path =>", ":git =>", ":github =>"])
        }
        "pnpm-workspace.yaml" => false,
        "pom.xml" => has(&["skipTests", "maven.test.skip", "testFailureIgnore", "<systemPath>", "skipITs"]),
        "build.gradle" | "build.gradle.kts" => {
            has(&[
                "ignoreFailures",
                "isIgnoreFailures",
                "failOnNoMatchingTests",
                "onlyIf",
                "enabled = false",
                "files(",
                "fileTree(",
            ]) || (line.contains("exclude") && line.to_lowercase().contains("test"))
        }
        "package-lock.json" | "npm-shrinkwrap.json" => {
            line.starts_with("\"resolved\"") && has(&["git+", "git://", "\"file:", "\"http://"])
        }
        "cargo.lock" => line.starts_with("source = \"git+"),
        "setup.py" => has(&["pytest11"]) || is_foreign_python(line) && line.contains(" @ "),
        "setup.cfg" => line.contains(" @ ") && is_foreign_python(line),
        _ => is_requirement_from_elsewhere(line),
    }
}

fn is_requirement_from_elsewhere(line: &str) -> bool {
    let own_project = matches!(line, "-e ." | "--editable ." | "-e ./" | ".");
    let option = [
        "-e ",
        "--editable",
        "-i ",
        "--index-url",
        "--extra-index-url",
        "-f ",
        "--find-links",
        "--trusted-host",
    ];
    !own_project && (option.iter().any(|start| line.starts_with(start)) || is_foreign_python(line))
}

/// `name @ git+https://…`, `./local`, `https://…/x.whl`
pub fn is_foreign_python(requirement: &str) -> bool {
    let requirement = requirement.trim_matches(['"', '\'', ',', ' ']);
    let source = requirement.split_once('@').map_or(requirement, |(_, source)| source.trim());
    let starts = ["git+", "hg+", "svn+", "bzr+", "file:", "http://", "https://", "./", "../", "/", "${"];
    starts.iter().any(|start| source.starts_with(start))
        || requirement.contains("@ git+")
        || requirement.contains("@ file:")
}

/// The lines below some keys at the left edge.
fn yaml_section<'t>(text: &'t str, keys: &[&str]) -> Vec<&'t str> {
    let mut is_inside = false;
    let mut lines = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#')) {
        if !line.starts_with([' ', '\t', '-']) {
            is_inside = keys.iter().any(|key| line.starts_with(key));
        }
        if is_inside {
            lines.push(line.trim_end());
        }
    }
    lines
}
