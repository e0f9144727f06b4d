//! Sections of INI files that configure runners and linters. Compares their lines; comments and blank lines do not count.

use super::{Edit, Findings, Side, dependencies};
use std::collections::BTreeMap;

/// The lines of each section that configures a runner or a linter.
fn sections(text: &str) -> BTreeMap<String, Vec<&str>> {
    const TOOLS: [&str; 15] = [
        "pytest",
        "tool:pytest",
        "tox",
        "testenv",
        "flake8",
        "mypy",
        "coverage",
        "pylint",
        "isort",
        "pycodestyle",
        "pydocstyle",
        "ruff",
        "nosetests",
        "options.entry_points",
        "bandit",
    ];
    let mut found: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut current: Option<String> = None;
    for line in text.lines() {
        let plain = line.trim();
        if let Some(name) = plain.strip_prefix('[').and_then(|rest| rest.split(']').next())
            && line.starts_with('[')
        {
            let name = name.trim().to_lowercase();
            let stem = name.split([':', '-']).next().unwrap_or_default();
            let is_tool = TOOLS.contains(&name.as_str()) || TOOLS.contains(&stem);
            current = is_tool.then_some(name);
            continue;
        }
        if let Some(section) = &current
            && !plain.is_empty()
            && !plain.starts_with(['#', ';'])
        {
            found.entry(section.clone()).or_default().push(plain);
        }
    }
    // Entry points are of interest only where pytest loads them.
    if let Some(lines) = found.get_mut("options.entry_points") {
        let start = lines.iter().position(|line| line.starts_with("pytest11")).unwrap_or(lines.len());
        lines.drain(..start);
    }
    found.retain(|_, lines| !lines.is_empty());
    found
}

pub fn runner_sections(edit: &Edit, findings: &mut Findings) {
    if matches!(edit.after, Side::Unreadable) {
        return findings.major(edit.path, "is no readable text any more");
    }
    let (before, after) = (sections(edit.before.text()), sections(edit.after.text()));
    for name in before.keys().chain(after.keys()) {
        if before.get(name) != after.get(name) {
            findings.major(edit.path, &format!("section `{name}` changed"));
        }
    }
}

pub fn setup_cfg(edit: &Edit, findings: &mut Findings) {
    runner_sections(edit, findings);
    dependencies::lines(edit, "setup.cfg", findings);
}
