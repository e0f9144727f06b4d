//! Task files: which parts of them take part in the commands. Understands as much of make and just as that needs.

use super::{Edit, Findings, Side, sections};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TaskFile {
    Make,
    Just,
}

/// The targets of task files, with what they need and do.
#[derive(Default, PartialEq, Eq)]
pub struct Tasks {
    targets: BTreeMap<String, Target>,
    /// The one that is made when none is named.
    first: Option<String>,
    /// Lines that belong to no target: variables, includes, settings.
    common: Vec<String>,
}

#[derive(Default, Clone, PartialEq, Eq)]
struct Target {
    needs: Vec<String>,
    lines: Vec<String>,
}

impl Tasks {
    pub fn read(&mut self, text: &str, kind: TaskFile) {
        let mut current: Vec<String> = Vec::new();
        for line in text.lines() {
            let is_recipe = line.starts_with('\t') || (kind == TaskFile::Just && line.starts_with(' '));
            if is_recipe && !current.is_empty() {
                for name in &current {
                    self.targets.entry(name.clone()).or_default().lines.push(line.trim().to_owned());
                }
                continue;
            }
            let plain = line.split('#').next().unwrap_or_default().trim();
            if plain.is_empty() {
                continue;
            }
            let is_rule = plain.split_once(':').filter(|(names, rest)| {
                let is_assignment = rest.starts_with('=') || rest.starts_with(":=") || names.contains('=');
                !is_assignment && !names.starts_with("set ") && !names.starts_with("alias ")
            });
            let Some((names, needs)) = is_rule else {
                current.clear();
                self.common.push(plain.to_owned());
                continue;
            };
            let needs = needs.trim_start_matches(':');
            let (needs, inline) = needs.split_once(';').unwrap_or((needs, ""));
            current = match kind {
                TaskFile::Make => names.split_whitespace().map(str::to_owned).collect(),
                // Parameters follow the name.
                TaskFile::Just => names
                    .split_whitespace()
                    .take(1)
                    .map(|name| name.trim_start_matches('@').to_owned())
                    .collect(),
            };
            for name in &current {
                if !name.starts_with('.') && self.first.is_none() {
                    self.first = Some(name.clone());
                }
                let target = self.targets.entry(name.clone()).or_default();
                target.needs.extend(needs.split_whitespace().map(str::to_owned));
                target.lines.extend((!inline.trim().is_empty()).then(|| inline.trim().to_owned()));
            }
        }
    }

    fn of(text: &str, kind: TaskFile) -> Tasks {
        let mut tasks = Tasks::default();
        tasks.read(text, kind);
        tasks
    }

    /// A target and all that it needs.
    fn closure(&self, target: &str) -> BTreeMap<&str, &Target> {
        let start = if target.is_empty() { self.first.as_deref().unwrap_or_default() } else { target };
        let mut found = BTreeMap::new();
        let mut pending = vec![start];
        while let Some(name) = pending.pop() {
            let Some((name, target)) = self.targets.get_key_value(name) else { continue };
            if found.insert(name.as_str(), target).is_none() {
                pending.extend(target.needs.iter().map(String::as_str));
            }
        }
        found
    }

    /// What is run for a target, without the marks in front of a line.
    pub fn recipe_lines(&self, target: &str) -> Vec<String> {
        let closure = self.closure(target);
        let lines = closure.values().flat_map(|target| &target.lines);
        lines
            .map(|line| line.trim_start_matches(['@', '-', '+']).replace("$(MAKE)", "make"))
            .take(500)
            .collect()
    }
}

/// A file that `files` names: it may be edited, but what the commands use of it stays.
pub fn named_file(edit: &Edit, name: &str, findings: &mut Findings) {
    let kind = match name {
        "makefile" | "gnumakefile" => TaskFile::Make,
        "justfile" | ".justfile" => TaskFile::Just,
        "pytest.ini" | ".pytest.ini" | "tox.ini" => return sections::runner_sections(edit, findings),
        _ => return,
    };
    if matches!(edit.after, Side::Unreadable) {
        return findings.major(edit.path, "is no readable text any more");
    }
    if matches!(edit.before, Side::Missing) && !edit.named.targets.is_empty() {
        return findings.major(edit.path, "new, and a command names its targets");
    }
    let (before, after) = (Tasks::of(edit.before.text(), kind), Tasks::of(edit.after.text(), kind));
    for target in &edit.named.targets {
        if before.closure(target) != after.closure(target) {
            let shown = if target.is_empty() { "the default target" } else { target.as_str() };
            findings.major(edit.path, &format!("a command depends on `{shown}`, and it changed"));
        }
    }
    for special in [".IGNORE", ".ONESHELL", ".POSIX", ".DEFAULT", ".EXPORT_ALL_VARIABLES"] {
        if before.targets.get(special) != after.targets.get(special) {
            findings.major(edit.path, &format!("`{special}` changed"));
        }
    }
    // New variables harm nothing as long as those that were there, and the settings, stay.
    if !edit.named.targets.is_empty() {
        let is_setting = |line: &&String| {
            let start = line.split([' ', ':', '=', '?', '+']).next().unwrap_or_default();
            matches!(
                start,
                "SHELL"
                    | ".SHELLFLAGS"
                    | "MAKEFLAGS"
                    | "include"
                    | "-include"
                    | "sinclude"
                    | "set"
                    | "override"
                    | "export"
                    | "unexport"
                    | ".DEFAULT_GOAL"
                    | "VPATH"
                    | "vpath"
                    | "define"
                    | "PATH"
            )
        };
        // A variable that a recipe uses, given another value.
        let recipes: Vec<String> =
            edit.named.targets.iter().flat_map(|target| before.recipe_lines(target)).collect();
        let is_used = |line: &&String| {
            let name = line.split([' ', ':', '=', '?', '+']).next().unwrap_or_default();
            !name.is_empty()
                && recipes.iter().any(|recipe| {
                    ["$(", "${", "{{", "{{ "].iter().any(|open| recipe.contains(&format!("{open}{name}")))
                })
        };
        let variables = |tasks: &Tasks| -> BTreeSet<String> { tasks.common.iter().cloned().collect() };
        let (old, new) = (variables(&before), variables(&after));
        let is_lost = old.difference(&new).next().is_some();
        if is_lost
            || after
                .common
                .iter()
                .filter(|line| !old.contains(*line))
                .any(|line| is_setting(&line) || is_used(&line))
        {
            findings.major(edit.path, "variables or settings of the task runner changed");
        }
    }
}
