//! What a shell script plainly runs: the names of files, and of directories with files that it runs, as far as its own text gives
//! their values. It looks at no files; names that a script computes in other ways are not found.

use super::interpreters::{Given, Place, is_interpreter, is_option, takes_commands, takes_script};
use super::named_files::is_code;
use super::shell_commands::{Command, Part, Script, Word, parse};
use super::shell_words::SEARCH_VARIABLES;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Values of variables that are values of variables, and commands in commands.
const DEEPEST: usize = 6;

/// Values of one word.
const MOST_VALUES: usize = 16;

/// All names of one script.
const MOST_RUNS: usize = 1000;

/// What may be before the command that is run.
const BEFORE: [&str; 28] = [
    "busybox", "if", "then", "else", "elif", "while", "until", "do", "!", "time", "exec", "builtin", "nohup",
    "env", "sudo", "doas", "nice", "ionice", "eval", "setsid", "stdbuf", "timeout", "xargs", "trap", "npx",
    "pnpx", "bunx", "uvx",
];

/// Words that compare what is before them.
const COMPARES: [&str; 5] = ["=", "==", "!=", "=~", "-eq"];

/// Keys of the configuration of hook managers.
const KEYS: [&str; 6] = ["entry:", "run:", "command:", "cmd:", "script:", "exec:"];

/// Commands that print what is in a directory or file.
const LISTS: [&str; 5] = ["find", "ls", "ls-files", "cat", "fd"];

/// Commands that print files.
const PRINTS: [&str; 4] = ["cat", "head", "tac", "tail"];

/// Programs that do not run the command in their arguments, though an interpreter may be named there.
const LOOKS: [&str; 52] = [
    "[", "[[", "alias", "apk", "apt", "apt-get", "asdf", "awk", "basename", "brew", "cargo", "case", "cat",
    "cd", "chmod", "chown", "command", "cp", "cut", "dirname", "dnf", "echo", "egrep", "export", "fgrep",
    "for", "git", "go", "grep", "hash", "head", "killall", "ln", "ls", "make", "mkdir", "mv", "nvm", "pgrep",
    "pip", "pip3", "pkill", "printf", "read", "rg", "rm", "tail", "test", "touch", "type", "which", "yum",
];

/// Options of `go run` without a value.
const GO_SWITCHES: [&str; 9] = ["-a", "-asan", "-msan", "-n", "-race", "-trimpath", "-v", "-work", "-x"];

/// Flags of interpreters before a directory that code is looked for in, and before a file that they run first.
const BEFORE_DIRECTORY: [&str; 2] = ["-I", "-C"];
const BEFORE_FILE: [&str; 5] = ["-r", "--require", "--import", "--loader", "--init-file"];

/// The setting with the directory of hooks.
const HOOKS_PATH: &str = "core.hookspath";

/// Words of interpreters after which the file comes.
const COMMANDS: [&str; 4] = ["run", "exec", "x", "watch"];

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Run {
    File(String),
    /// What an interpreter is given: an ending may be left out, or it is a directory.
    Module(String),
    /// Whatever is in it.
    Directory(String),
    /// The same by an absolute path.
    Absolute(String),
    /// A program that is looked for elsewhere.
    Program(String),
}

pub(super) fn runs_in(text: &str) -> BTreeSet<Run> {
    let script = parse(text);
    let mut search = Search::of(&script);
    for command in &script.commands {
        search.command(&command.words, command.is_piped, 0);
        search.searched(&command.words);
    }
    if search.runs_listed {
        for word in search.listed.clone() {
            search.directory(&word);
        }
    }
    if search.runs_listed || search.runs_printed {
        search
            .found
            .extend(search.printed.iter().filter_map(Word::text).map(|name| Run::File(name.to_owned())));
    }
    search.found
}

/// What a word that is run may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Named {
    /// Without a `/`, it is looked for elsewhere.
    Command,
    /// A script, whose ending may be left out, or a directory with one.
    Script,
    /// A script, or something that it only works on.
    File,
}

struct Search<'a> {
    script: &'a Script,
    /// By variable, whatever is assigned to it anywhere.
    values: HashMap<String, Vec<Word>>,
    /// Variables that are read from somewhere.
    read: HashSet<String>,
    /// What commands are given that list files.
    listed: Vec<Word>,
    runs_listed: bool,
    /// What commands are given that print files.
    printed: Vec<Word>,
    runs_printed: bool,
    /// Variables that have been followed, as commands or as scripts.
    followed: HashSet<(String, bool)>,
    found: BTreeSet<Run>,
}

impl<'a> Search<'a> {
    fn of(script: &'a Script) -> Search<'a> {
        let mut search = Search {
            script,
            values: HashMap::new(),
            read: HashSet::new(),
            listed: Vec::new(),
            runs_listed: false,
            printed: Vec::new(),
            runs_printed: false,
            followed: HashSet::new(),
            found: BTreeSet::new(),
        };
        for Command { words, .. } in &script.commands {
            for (name, value) in words.iter().filter_map(Word::assignment) {
                search.values.entry(name.to_owned()).or_default().push(value);
            }
            let texts: Vec<&str> = words.iter().map(|word| word.text().unwrap_or_default()).collect();
            if let ["for" | "select", name, "in", ..] = texts[..] {
                search.values.entry(name.to_owned()).or_default().extend_from_slice(&words[3..]);
            }
            if let Some(at) = texts.iter().position(|name| script.functions.contains(*name)) {
                // A pattern is more often an argument of what is run.
                let given = words[at..].iter().enumerate().skip(1);
                for (number, word) in given.filter(|(_, word)| !word.0.contains(&Part::Pattern)) {
                    search.values.entry(number.to_string()).or_default().push(word.clone());
                }
            }
            if let Some(at) = texts.iter().position(|text| ["read", "mapfile", "readarray"].contains(text)) {
                search.read.extend(texts[at + 1..].iter().map(|&name| name.to_owned()));
            }
            if let Some(at) = texts.iter().position(|text| PRINTS.contains(text)) {
                search.printed.extend(words[at + 1..].iter().filter(|word| !word.is_flag()).cloned());
            }
            if let Some(at) = texts.iter().position(|text| LISTS.contains(text)) {
                // What follows the first flag of `find` are conditions.
                let is_find = texts[at] == "find";
                let given = words[at + 1..].iter().skip_while(|word| word.is_flag());
                search.listed.extend(given.take_while(|word| !is_find || !word.is_flag()).cloned());
            }
        }
        search
    }

    fn command(&mut self, words: &[Word], is_piped: bool, depth: usize) {
        if depth > DEEPEST || self.found.len() > MOST_RUNS {
            return;
        }
        let (mut words, mut is_prefixed) = (words, depth > 0);
        while let Some((first, rest)) = words.split_first() {
            let text = first.text().unwrap_or_default();
            // `command -v x` runs nothing.
            if text == "command" && rest.first().is_some_and(|flag| matches!(flag.text(), Some("-v" | "-V")))
            {
                return;
            }
            // A part of a condition.
            let is_compared = rest.first().and_then(Word::text).is_some_and(|text| COMPARES.contains(&text));
            if is_compared || (!is_prefixed && first.is_flag() && text != "-") {
                return;
            }
            let is_number = text.starts_with(|c: char| c.is_ascii_digit()) && !text.contains('/');
            // `entry: x` in the configuration of a hook manager, and `src/*.c: x`.
            let is_key = matches!(first.0.last(), Some(Part::Text(text)) if text.ends_with(':'));
            if is_key && first.text().is_some() && !KEYS.contains(&text) {
                return;
            }
            let is_before = BEFORE.contains(&text) || text == "command" || is_number || is_key;
            if !(is_before || first.is_flag() || first.assignment().is_some()) {
                break;
            }
            is_prefixed = true;
            words = rest;
        }
        let Some((first, given)) = words.split_first() else { return };
        let name = first.text().unwrap_or_default();
        let mut has_script = false;
        for pair in given.windows(2) {
            if pair[0].text().is_some_and(|option| takes_script(name, option)) {
                self.run(&pair[1], Named::Script, depth);
                has_script = true;
            }
        }
        if has_script {
            return;
        }
        if is_interpreter(name) {
            self.run(first, Named::Command, depth);
            return self.interpreter(name, given, is_piped, depth);
        }
        match name {
            "run-parts" => {
                for word in given.iter().filter(|word| !word.is_flag()) {
                    self.directory(word);
                    self.variable(word, Named::Command, depth);
                }
            }
            "find" => {
                let is_exec =
                    |word: &Word| matches!(word.text(), Some("-exec" | "-execdir" | "-ok" | "-okdir"));
                if let Some(at) = given.iter().position(is_exec) {
                    self.command(&given[at + 1..], true, depth + 1);
                }
            }
            // `{}` of `find`, and the like.
            "" if matches!(first.0[..], [Part::Output | Part::Pattern]) => {
                self.runs_listed |= is_piped;
                self.runs_printed |= first.0 == [Part::Output];
            }
            _ => {
                if !name.is_empty() && !name.contains('/') && !self.script.functions.contains(name) {
                    self.found.insert(Run::Program(name.to_owned()));
                }
                self.run(first, Named::Command, depth);
                // `uv run x`, `bundle exec x`.
                let is_runner = |word: &Word| matches!(word.text(), Some("run" | "exec" | "dlx"));
                match given.iter().position(is_runner) {
                    Some(at) if name == "go" => self.packages(&given[at + 1..], depth),
                    Some(at) if at == 0 || given[0].is_flag() => {
                        self.command(&given[at + 1..], is_piped, depth + 1);
                        self.code(&given[at + 1..], depth);
                    }
                    _ => {}
                }
                // `flock x sh y`, and what follows the value of an option: `timeout -s KILL 5 sh y`.
                let starts = |word: &Word| {
                    let text = word.text().unwrap_or_default();
                    let is_command = !text.contains('/') || text.starts_with('/');
                    is_command && !matches!(text, "." | "source") && is_interpreter(text)
                };
                if let Some(at) = given.iter().position(starts).filter(|_| !LOOKS.contains(&name)) {
                    self.command(&given[at..], false, depth + 1);
                }
            }
        }
    }

    /// `uv run --with x check.py`: code that is run as a command.
    fn code(&mut self, given: &[Word], depth: usize) {
        let mut is_after_option = false;
        for word in given {
            if word.text().is_some_and(is_code) {
                return self.run(word, Named::File, depth);
            }
            if !(word.is_flag() || is_after_option) {
                return;
            }
            is_after_option = word.is_flag();
        }
    }

    /// What `go run` is given: files, or the directory of a package.
    fn packages(&mut self, given: &[Word], depth: usize) {
        let mut may_be_value = false;
        for word in given {
            let text = word.text().unwrap_or_default();
            if word.is_flag() {
                may_be_value = !text.contains('=') && !GO_SWITCHES.contains(&text);
                continue;
            }
            let is_file = text.rsplit_once('.').is_some_and(|(_, ending)| ending == "go");
            if is_file {
                self.run(word, Named::File, depth);
            } else {
                self.directory(word);
            }
            if !(is_file || std::mem::take(&mut may_be_value)) {
                return;
            }
        }
    }

    /// What an interpreter is given.
    fn interpreter(&mut self, name: &str, given: &[Word], is_piped: bool, depth: usize) {
        let is_source = matches!(name, "." | "source");
        let mut words = given.iter().enumerate();
        let mut options = Given::default();
        while let Some((at, word)) = words.next() {
            // `-Itools`, `-r./check`.
            let attached = |flags: &[&str]| {
                let text = word.text()?;
                flags
                    .iter()
                    .any(|flag| text.len() > flag.len() && text.starts_with(flag))
                    .then(|| word.after(2))
            };
            if let Some(word) = attached(&BEFORE_DIRECTORY) {
                self.directory(&word);
                continue;
            }
            if let Some(word) = attached(&["-r"]) {
                self.run(&word, Named::Script, depth);
                continue;
            }
            match word.text() {
                // Checks the syntax.
                Some("-n" | "--test" | "--check") => return,
                Some("-l") if name == "php" => return,
                Some("-m") => {
                    let module = given.get(at + 1).and_then(Word::text);
                    self.found.extend(module.map(|module| Run::Module(module.replace('.', "/"))));
                    return;
                }
                // `-I` of python is a flag alone.
                Some("-I") if name.starts_with("python") => {}
                Some(flag) if BEFORE_DIRECTORY.contains(&flag) => {
                    if let Some((_, word)) = words.next() {
                        self.directory(word);
                    }
                }
                Some(flag) if BEFORE_FILE.contains(&flag) => {
                    if let Some((_, word)) = words.next() {
                        self.run(word, Named::Script, depth);
                    }
                }
                Some(flag)
                    if flag.starts_with('-')
                        && !flag.starts_with("--")
                        && flag.ends_with('c')
                        && takes_commands(name) =>
                {
                    return self.command(&given[at + 1..], is_piped, depth + 1);
                }
                Some("-") => self.runs_listed |= is_piped,
                Some(option) if is_option(name, option) => options.option(name, option),
                _ if word.is_flag() => {}
                _ if is_source || !matches!(word.0[..], [Part::Output | Part::Pattern]) => {
                    self.runs_printed |= word.0 == [Part::Output];
                    let is_command = word.text().is_some_and(|word| COMMANDS.contains(&word));
                    let place = if is_command { Place::ValueOrScript } else { options.word() };
                    match place {
                        Place::Value => {}
                        Place::ValueOrScript => self.run(word, Named::Script, depth),
                        Place::Script => return self.run(word, Named::Script, depth),
                        Place::ScriptOrArgument => return self.run(word, Named::File, depth),
                    }
                }
                // `sh {}`.
                _ => {
                    self.runs_listed |= is_piped;
                    self.runs_printed |= word.0 == [Part::Output];
                    return;
                }
            }
        }
        self.runs_listed |= is_piped;
    }

    /// Directories that a command makes others look in for programs, for code, or for hooks.
    fn searched(&mut self, words: &[Word]) {
        let variables = words.iter().filter_map(Word::assignment);
        let variables = variables.filter(|(name, _)| SEARCH_VARIABLES.contains(name));
        for word in variables.flat_map(|(_, value)| value.split(':')).collect::<Vec<_>>() {
            match word.0.first() {
                // Of the machine and the user, unless it is in a work tree.
                Some(Part::Text(text)) if text.starts_with('/') => {
                    self.found.extend(word.text().map(|path| Run::Absolute(path.to_owned())));
                }
                Some(Part::Text(text)) if text.starts_with('~') => {}
                Some(Part::Variable(name)) if name == "HOME" || SEARCH_VARIABLES.contains(&&**name) => {}
                Some(_) => self.directory(&word),
                None => {}
            }
        }
        for (at, word) in words.iter().enumerate() {
            let set = word
                .setting()
                .filter(|(name, _)| name.trim_start_matches("-c").eq_ignore_ascii_case(HOOKS_PATH));
            let is_alone = word.text().is_some_and(|text| text.eq_ignore_ascii_case(HOOKS_PATH));
            let value =
                set.map(|(_, value)| value).or_else(|| words.get(at + 1).filter(|_| is_alone).cloned());
            if let Some(word) = value {
                self.directory(&word);
            }
        }
    }

    /// A directory of which anything may be run.
    fn directory(&mut self, word: &Word) {
        self.directories(word);
        if let [Part::Variable(name)] = word.0.as_slice() {
            let values = self.values.get(name).cloned().unwrap_or_default();
            for value in values.iter().filter(|value| !matches!(value.0[..], [] | [Part::Variable(_)])) {
                self.directory(value);
            }
        }
        let names = self.values(word, 0).into_iter().filter(|name| name.contains(|c| c != '/' && c != '.'));
        self.found.extend(names.map(Run::Directory));
    }

    /// A word that is run.
    fn run(&mut self, word: &Word, named: Named, depth: usize) {
        if depth > DEEPEST || self.found.len() > MOST_RUNS {
            return;
        }
        let names = self.values(word, 0).into_iter();
        let names = names.filter(|name| named != Named::Command || name.contains('/'));
        self.found.extend(names.map(if named == Named::Script { Run::Module } else { Run::File }));
        self.directories(word);
        self.variable(word, named, depth);
    }

    /// What is in a variable that is run.
    fn variable(&mut self, word: &Word, named: Named, depth: usize) {
        let [Part::Variable(name)] = word.0.as_slice() else { return };
        if !self.followed.insert((name.clone(), named == Named::Command)) {
            return;
        }
        self.runs_listed |= self.read.contains(name);
        // What is given to an interpreter needs no `/`.
        let named = if named == Named::Command { named } else { Named::File };
        for value in self.values.get(name).cloned().unwrap_or_default() {
            self.runs_listed |= value.0 == [Part::Output];
            self.run(&value, named, depth + 1);
        }
        if name == "@" || name == "*" {
            self.variable(&Word(vec![Part::Variable("1".to_owned())]), named, depth);
        }
    }

    /// The directories of which a word names something that is not known.
    fn directories(&mut self, word: &Word) {
        let ends = |part: &Part| matches!(part, Part::Text(text) if text.ends_with('/'));
        let at = (1..word.0.len()).find(|&at| !matches!(word.0[at], Part::Text(_)) && ends(&word.0[at - 1]));
        if let Some(at) = at {
            let names = self.values(&Word(word.0[..at].to_vec()), 0);
            let names = names.into_iter().map(|name| name.trim_end_matches('/').to_owned());
            self.found.extend(names.filter(|name| !name.is_empty()).map(Run::Directory));
        }
    }

    /// What a word may be, as far as it is known: with the values of a variable at its start, or what follows that. A name that
    /// begins with `/` may begin anywhere.
    fn values(&self, word: &Word, depth: usize) -> Vec<String> {
        let Some(last) = word.0.iter().rposition(|part| !matches!(part, Part::Text(_))) else {
            return word.text().map(str::to_owned).into_iter().collect();
        };
        let [Part::Text(end)] = &word.0[last + 1..] else { return Vec::new() };
        let mut found = Vec::new();
        if let (0, Part::Variable(name), true) = (last, &word.0[0], depth < DEEPEST) {
            let values = self.values.get(name).map(Vec::as_slice).unwrap_or_default();
            found.extend(values.iter().take(MOST_VALUES).flat_map(|value| self.values(value, depth + 1)));
            found.truncate(MOST_VALUES);
            found = found.into_iter().map(|value| value + end).collect();
        }
        // `$x.sh` is no name.
        found.extend(end.starts_with('/').then(|| end.clone()));
        found
    }
}

#[cfg(test)]
#[path = "shell_runs_tests.rs"]
mod tests;
