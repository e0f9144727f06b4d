//! What the commands of a contract name: scripts of manifests, targets, files that are run; also through scripts and targets of the
//! base.

use super::tasks::{TaskFile, Tasks};
use crate::work::evidence::Evidence;
use crate::work::verify::listed_path::normal;
use crate::work::verify::shell_words::{canonical, program, simple_commands};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// More lines than this are not followed.
const MOST_LINES: usize = 1000;

#[derive(Default)]
pub struct Named {
    /// Of `package.json`.
    pub scripts: BTreeSet<String>,
    /// Of Makefiles and justfiles; the empty one is the default.
    pub targets: BTreeSet<String>,
    /// Files that are run as programs or by a shell.
    pub programs: BTreeSet<String>,
    /// Files that are given to an interpreter.
    pub arguments: BTreeSet<String>,
    /// Files that are given to an option: `--config x`, `-r ./setup.js`.
    pub options: BTreeSet<String>,
    /// Every word: profiles, features and tools are among them.
    pub words: BTreeSet<String>,
}

impl Named {
    pub fn of(evidence: &Evidence) -> Named {
        let mut named = Named::default();
        let contract = &evidence.contract;
        let done = contract.definition_of_done.iter().filter_map(|item| item.check.as_deref());
        let commands = contract.validation_commands.iter().map(|command| command.command.as_str());
        let own = commands.chain(contract.setup.iter().map(String::as_str)).chain(done);
        let mut pending: Vec<(String, String)> = own.map(|line| (String::new(), line.to_owned())).collect();
        let scripts = base_scripts(evidence);
        let tasks = base_tasks(evidence);
        let mut read = 0;
        while let Some((directory, line)) = pending.pop() {
            read += 1;
            if read > MOST_LINES {
                break;
            }
            let mut here = directory;
            for words in simple_commands(&line) {
                if words[0] == "cd" || words[0] == "pushd" {
                    here = words.get(1).map_or(String::new(), |to| joined(&here, to));
                    continue;
                }
                for line in named.add(&here, &words, &scripts, &tasks) {
                    pending.push((here.clone(), line));
                }
            }
        }
        for script in ["preinstall", "install", "postinstall", "prepare", "test"] {
            named.add_script(script);
        }
        named
    }

    fn add_script(&mut self, name: &str) -> bool {
        self.scripts.insert(format!("pre{name}"));
        self.scripts.insert(format!("post{name}"));
        self.scripts.insert(name.to_owned())
    }

    /// The lines that the named scripts and targets consist of, the first time that they are named.
    fn add(
        &mut self,
        here: &str,
        words: &[String],
        scripts: &BTreeMap<String, String>,
        tasks: &Tasks,
    ) -> Vec<String> {
        let mut lines = Vec::new();
        self.words.extend(words.iter().filter(|word| word.len() < 200).cloned());
        if words[0].contains('/') {
            insert(&mut self.programs, here, &words[0]);
        }
        let plain = canonical(words);
        let Some(first) = plain.first() else { return lines };
        self.words.insert(first.clone());
        let arguments: Vec<&String> = plain[1..].iter().filter(|word| !word.starts_with('-')).collect();
        match first.as_str() {
            "npm" | "pnpm" | "yarn" | "bun" | "npm-run-all" | "run-s" | "run-p" | "concurrently"
            | "wireit" => {
                for word in arguments {
                    let name = word.strip_prefix("npm:").unwrap_or(word);
                    for name in [name.to_owned(), format!("pre{name}"), format!("post{name}")] {
                        if self.scripts.insert(name.clone()) {
                            lines.extend(scripts.get(&name).cloned());
                        }
                    }
                }
            }
            "make" | "gmake" | "just" => {
                let mut targets: Vec<String> =
                    arguments.into_iter().filter(|word| !word.contains('=')).cloned().collect();
                if targets.is_empty() {
                    targets.push(String::new());
                }
                for target in targets {
                    if self.targets.insert(target.clone()) {
                        lines.extend(tasks.recipe_lines(&target));
                    }
                }
            }
            "sh" | "bash" | "zsh" | "dash" | "source" | "." => {
                if let Some(script) = arguments.first() {
                    insert(&mut self.programs, here, script);
                }
            }
            _ => {
                for word in arguments {
                    insert(&mut self.arguments, here, word);
                }
            }
        }
        self.add_options(here, &plain);
        // The program itself, by the name that it was called by.
        if program(&words[0]) == words[0] && words[0].contains('.') {
            insert(&mut self.arguments, here, &words[0]);
        }
        lines
    }

    /// Files behind options; what selects or excludes tests is no file that is run.
    fn add_options(&mut self, here: &str, words: &[String]) {
        for (index, word) in words.iter().enumerate().skip(1) {
            let (option, value) = match word.split_once('=') {
                Some((option, value)) => (option, value),
                None => (words[index - 1].as_str(), word.as_str()),
            };
            let names_file = matches!(
                option,
                "-c" | "--config"
                    | "--config-file"
                    | "-r"
                    | "--require"
                    | "--import"
                    | "--loader"
                    | "--rcfile"
                    | "--rootdir"
                    | "-f"
                    | "--file"
                    | "--makefile"
                    | "--setup-file"
                    | "--globalSetup"
                    | "--project"
                    | "--settings"
                    | "--manifest-path"
            );
            if names_file {
                insert(&mut self.options, here, value);
            }
        }
    }
}

fn joined(here: &str, path: &str) -> String {
    normal(format!("{here}/{path}").trim_start_matches('/')).unwrap_or_default()
}

fn insert(paths: &mut BTreeSet<String>, here: &str, word: &str) {
    if word.len() < 4096 && !word.starts_with('/') {
        paths.insert(joined(here, word));
    }
}

/// The scripts of the package at the root, as they were at launch.
fn base_scripts(evidence: &Evidence) -> BTreeMap<String, String> {
    let text = base_text(evidence, "package.json").unwrap_or_default();
    let value: Value =
        serde_json::from_str(text.strip_prefix('\u{feff}').unwrap_or(text)).unwrap_or_default();
    let scripts = value.get("scripts").and_then(Value::as_object);
    let of_text = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
    scripts.map(|scripts| scripts.iter().filter_map(of_text).collect()).unwrap_or_default()
}

fn base_tasks(evidence: &Evidence) -> Tasks {
    let mut tasks = Tasks::default();
    for (path, kind) in [
        ("GNUmakefile", TaskFile::Make),
        ("makefile", TaskFile::Make),
        ("Makefile", TaskFile::Make),
        ("justfile", TaskFile::Just),
        ("Justfile", TaskFile::Just),
        (".justfile", TaskFile::Just),
    ] {
        if let Some(text) = base_text(evidence, path) {
            tasks.read(text, kind);
        }
    }
    tasks
}

/// A file at launch, whether the work changed it or not.
pub fn base_text<'e>(evidence: &'e Evidence, path: &str) -> Option<&'e str> {
    match evidence.changes.find(path) {
        Some(file) => file.text_before(),
        None => evidence.base.text(path),
    }
}
