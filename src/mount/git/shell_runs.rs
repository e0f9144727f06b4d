//! What a shell script plainly runs: the names of files, and of directories with files that it runs, as far as its own text gives
//! their values. It looks at no files; names that a script computes in other ways are not found.

use super::shell_commands::{Command, Part, Script, Word, parse};
use super::shell_words::{SEARCH_VARIABLES, is_interpreter};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Values of variables that are values of variables, and commands in commands.
const DEEPEST: usize = 6;

/// Values of one word.
const MOST_VALUES: usize = 16;

/// All names of one script.
const MOST_RUNS: usize = 1000;

/// What may be before the command that is run.
const BEFORE: [&str; 27] = [
    "if", "then", "else", "elif", "while", "until", "do", "!", "time", "exec", "builtin", "nohup", "env",
    "sudo", "doas", "nice", "ionice", "eval", "setsid", "stdbuf", "timeout", "xargs", "trap", "npx", "pnpx",
    "bunx", "uvx",
];

/// Words that compare what is before them.
const COMPARES: [&str; 5] = ["=", "==", "!=", "=~", "-eq"];

/// Keys of the configuration of hook managers.
const KEYS: [&str; 6] = ["entry:", "run:", "command:", "cmd:", "script:", "exec:"];

/// Commands that print what is in a directory or file.
const LISTS: [&str; 5] = ["find", "ls", "ls-files", "cat", "fd"];

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
    search.found
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
    /// Variables that have been followed.
    followed: HashSet<String>,
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
        if is_interpreter(name) {
            self.run(first, true, depth);
            return self.interpreter(name, given, is_piped, depth);
        }
        match name {
            "run-parts" => {
                for word in given.iter().filter(|word| !word.is_flag()) {
                    self.directory(word);
                    self.variable(word, depth);
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
            "" if matches!(first.0[..], [Part::Output | Part::Pattern]) => self.runs_listed |= is_piped,
            _ => {
                if !name.is_empty() && !name.contains('/') && !self.script.functions.contains(name) {
                    self.found.insert(Run::Program(name.to_owned()));
                }
                self.run(first, true, depth);
                // `uv run x`, `bundle exec x`.
                if let Some("run" | "exec" | "dlx") = given.first().and_then(Word::text) {
                    self.command(&given[1..], is_piped, depth + 1);
                }
            }
        }
    }

    /// What an interpreter is given.
    fn interpreter(&mut self, name: &str, given: &[Word], is_piped: bool, depth: usize) {
        let is_source = matches!(name, "." | "source");
        let mut words = given.iter().enumerate();
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
                self.run(&word, false, depth);
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
                        self.run(word, false, depth);
                    }
                }
                Some(flag) if flag.starts_with('-') && !flag.starts_with("--") && flag.ends_with('c') => {
                    return self.command(&given[at + 1..], is_piped, depth + 1);
                }
                Some("-") => self.runs_listed |= is_piped,
                _ if word.is_flag() => {}
                _ if is_source || !matches!(word.0[..], [Part::Output | Part::Pattern]) => {
                    self.run(word, false, depth);
                    if !word.text().is_some_and(|word| COMMANDS.contains(&word)) {
                        return;
                    }
                }
                // `sh {}`.
                _ => {
                    self.runs_listed |= is_piped;
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

    /// A word that is run. Commands without `/` are looked for elsewhere.
    fn run(&mut self, word: &Word, is_command: bool, depth: usize) {
        if depth > DEEPEST || self.found.len() > MOST_RUNS {
            return;
        }
        let names = self.values(word, 0).into_iter().filter(|name| !is_command || name.contains('/'));
        self.found.extend(names.map(if is_command { Run::File } else { Run::Module }));
        self.directories(word);
        self.variable(word, depth);
    }

    /// What is in a variable that is run.
    fn variable(&mut self, word: &Word, depth: usize) {
        let [Part::Variable(name)] = word.0.as_slice() else { return };
        if !self.followed.insert(name.clone()) {
            return;
        }
        self.runs_listed |= self.read.contains(name);
        for value in self.values.get(name).cloned().unwrap_or_default() {
            self.runs_listed |= value.0 == [Part::Output];
            self.run(&value, true, depth + 1);
        }
        if name == "@" || name == "*" {
            self.variable(&Word(vec![Part::Variable("1".to_owned())]), depth);
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
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn shown(text: &str) -> Vec<String> {
        let name = |run| match run {
            Run::File(name) | Run::Module(name) => Some(name),
            Run::Directory(name) | Run::Absolute(name) => Some(name + "/*"),
            Run::Program(_) => None,
        };
        runs_in(text).into_iter().filter_map(name).collect()
    }

    #[test]
    fn files_that_are_run_are_found() {
        for (text, expected) in [
            ("exec \"$(dirname \"$0\")/../../scripts/lint.sh\" \"$@\"", vec!["/../../scripts/lint.sh"]),
            ("if true; then ./a.sh; fi", vec!["./a.sh"]),
            (". \"${0%/*}/common.sh\"", vec!["/common.sh"]),
            ("D=tools; . \"$D/lib.sh\"", vec!["/lib.sh", "tools/lib.sh"]),
            ("X=a/b; [ -x \"$X\" ] && exec \"$X\" c/d", vec!["a/b"]),
            ("sh -ec 'exec a/b'", vec!["a/b"]),
            ("uv run --quiet scripts/u.py; npm run build", vec!["scripts/u.py"]),
            ("  - entry: python3 -u scripts/check", vec!["scripts/check"]),
            ("python3 -m tools.check", vec!["tools/check"]),
            (
                "deno run a/b; ruby -r./c d; node --require ./e ./f",
                vec!["./c", "./e", "./f", "a/b", "d", "run"],
            ),
            ("go() { \"$1\"; }; go x/y", vec!["x/y"]),
            ("bash -n a/b; command -v node; grep x src/lib.rs; echo docs/a.md", vec![]),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn directories_with_what_is_run_are_found() {
        for (text, expected) in [
            ("for f in .githooks/d/*; do [ -x \"$f\" ] && \"$f\"; done", vec![".githooks/d/*"]),
            ("run-parts --exit-on-error hooks.d", vec!["hooks.d/*"]),
            (
                "L=\"$(git x)/.hooks/$(basename \"$0\")\"; [ -x \"$L\" ] && exec \"$L\" \"$@\"",
                vec!["/.hooks/*"],
            ),
            ("D=$(git x)/hooks.d; for f in \"$D\"/*.sh; do . \"$f\"; done", vec!["/hooks.d/*"]),
            ("find h.d -type f | sort | while read -r h; do \"$h\"; done", vec!["h.d/*"]),
            ("find h.d -type f -exec sh {} \\;", vec!["h.d/*"]),
            ("ls h.d | xargs -n1 bash", vec!["h.d/*"]),
            ("cat h.d/* | sh", vec!["h.d/*"]),
            ("sh \"h.d/$name\"; h.d/$name", vec!["h.d/*"]),
            ("git ls-files 'h.d/*.sh' | xargs -n1 bash", vec!["h.d/*"]),
            ("each() { for f in \"$1\"/*; do \"$f\"; done }; each h.d src", vec!["h.d/*"]),
            ("export PATH=\"$PWD/h.d:$HOME/bin:$PATH\"; git status", vec!["/h.d/*"]),
            ("D=h.d; PYTHONPATH=$D:lib:/opt/x python3 -c x", vec!["h.d/*", "lib/*", "/opt/x/*"]),
            ("perl -Ih.d -MFoo; ruby -I lib a/b", vec!["a/b", "h.d/*", "lib/*"]),
            ("git -c core.hooksPath=h.d commit; git config core.hooksPath lib", vec!["h.d/*", "lib/*"]),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn directories_that_are_looked_at_are_not() {
        for text in [
            "black src/*.py",
            "for f in src/*.c; do clang-format -i \"$f\"; done",
            "find src -name '*.sh' | xargs shellcheck",
            "find src -name '*.sh' -exec bash -n {} \\;",
            "run() { echo \"$@\"; \"$@\"; }; run black src/*",
            "cp \"docs/$x\" out; cat tests/* | grep TODO; ls src; command -v sh",
            "black . && pytest tests; flake8 . src; node --test tests/unit",
            "for f in src/*; do if [[ -f $f && $f == src/* ]]; then cc \"$f\"; fi; done",
            "case \"$f\" in src/*.py|tests/*) black \"$f\" ;; docs/*) true ;; esac",
            "each() { for f in \"$1\"/*; do echo \"$f\"; done }; each src; php -l src/a.php; npx eslint src/",
            "files: src/lib\n\"src/**/*.ts\": eslint\nlint() { \"$@\"; }; lint src/*",
        ] {
            assert_eq!(shown(text), Vec::<String>::new(), "{text}");
        }
    }
}
