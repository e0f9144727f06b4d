//! Programs that run the file that they are given: which they are, and which of the words that they are given may be that file. Where it
//! is not known whether an option has a value, both the value and the word after it may be: too many rather than too few.

/// Programs that run a file, and commands of the shell that do.
const INTERPRETERS: [&str; 47] = [
    ".",
    "source",
    "sh",
    "ash",
    "bash",
    "csh",
    "dash",
    "fish",
    "ksh",
    "mksh",
    "tcsh",
    "xonsh",
    "zsh",
    "pwsh",
    "nu",
    "python",
    "pypy",
    "perl",
    "raku",
    "ruby",
    "node",
    "nodejs",
    "deno",
    "bun",
    "tsx",
    "ts-node",
    "php",
    "lua",
    "luajit",
    "tclsh",
    "wish",
    "expect",
    "awk",
    "gawk",
    "mawk",
    "Rscript",
    "julia",
    "elixir",
    "escript",
    "java",
    "groovy",
    "guile",
    "racket",
    "clojure",
    "bb",
    "gjs",
    "osascript",
];
const SHELLS: [&str; 10] = ["sh", "ash", "bash", "csh", "dash", "ksh", "mksh", "tcsh", "zsh", "fish"];
const JAVASCRIPT: [&str; 6] = ["node", "nodejs", "deno", "bun", "tsx", "ts-node"];

/// Options of programs that are followed by a file with commands, whatever else they are given.
const FILES: [(&str, &str); 15] = [
    ("awk", "-f"),
    ("awk", "--file"),
    ("emacs", "-l"),
    ("emacs", "--script"),
    ("gawk", "-f"),
    ("gawk", "--file"),
    ("gdb", "-x"),
    ("mawk", "-f"),
    ("scp", "-F"),
    ("sed", "-f"),
    ("sed", "--file"),
    ("sftp", "-F"),
    ("ssh", "-F"),
    ("vim", "-S"),
    ("vim", "-u"),
];

/// Options of all programs for JavaScript without a value, besides those that begin like [`SWITCHES`].
const JAVASCRIPT_SWITCHES: [&str; 14] = [
    "-A", "-T", "-i", "-q", "-w", "--bun", "--esm", "--files", "--hot", "--quiet", "--silent", "--smol",
    "--strict", "--watch",
];
/// How options of any program begin that say yes or no.
const SWITCHES: [&str; 14] = [
    "--no-",
    "--allow-",
    "--deny-",
    "--enable-",
    "--disable-",
    "--trace-",
    "--inspect",
    "--experimental-",
    "--throw-",
    "--pending-",
    "--expose-",
    "--preserve-",
    "--transpile-",
    "--frozen",
];

fn name_of(word: &str) -> &str {
    word.rsplit_once('/').map_or(word, |(_, name)| name)
}

pub(super) fn is_interpreter(word: &str) -> bool {
    // `python3.13`.
    let version = |c: char| c.is_ascii_digit() || c == '.';
    let name = name_of(word);
    INTERPRETERS.contains(&name) || INTERPRETERS.contains(&name.trim_end_matches(version))
}

/// Whether a program runs what is in the file that follows this option.
pub(super) fn takes_script(program: &str, option: &str) -> bool {
    FILES.contains(&(name_of(program), option))
}

/// Whether `-c` is followed by a command, and not by a file with settings.
pub(super) fn takes_commands(interpreter: &str) -> bool {
    let name = name_of(interpreter).trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    name != "php" && !JAVASCRIPT.contains(&name)
}

/// What follows an option of an interpreter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Values {
    /// This many words are no script.
    Known(usize),
    /// The next one may be a value, or the script.
    Perhaps,
}

pub(super) fn is_option(interpreter: &str, word: &str) -> bool {
    let is_shell = SHELLS.contains(&name_of(interpreter));
    word.starts_with('-') || (is_shell && word.starts_with('+') && word.len() > 1)
}

pub(super) fn values(interpreter: &str, option: &str) -> Values {
    use Values::{Known, Perhaps};
    let name = name_of(interpreter);
    let is_long = option.starts_with("--");
    if option.contains('=') || SWITCHES.iter().any(|start| option.starts_with(start)) {
        return Known(0);
    }
    // `-euo pipefail`: the last letter has the value, others before it none.
    let letters = option.trim_start_matches(['-', '+']);
    let is_of = |all: &str| !is_long && letters.chars().all(|letter| all.contains(letter));
    match name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') {
        _ if letters.is_empty() => Known(0),
        "fish" if is_of("NPhilnv") => Known(0),
        "fish" => Perhaps,
        shell if SHELLS.contains(&shell) && !is_long => Known(letters.matches(['o', 'O']).count()),
        shell if SHELLS.contains(&shell) => {
            if matches!(letters, "rcfile" | "init-file") {
                Perhaps
            } else {
                Known(0)
            }
        }
        "python" | "pypy" if is_of("BEIOPRSVbdhiqsuvx") => Known(0),
        "python" | "pypy" if !is_long && (letters.ends_with(['W', 'X'])) => Known(1),
        "python" | "pypy" if !is_long && letters.starts_with(['W', 'X']) => Known(0),
        "ruby" if !is_long => Known(usize::from(letters == "E")),
        "ruby" if matches!(letters, "encoding" | "external-encoding" | "internal-encoding") => Known(1),
        "php" if letters == "d" || letters == "define" => Known(1),
        "php" if !is_long && letters != "c" => Known(0),
        "lua" | "luajit" if is_of("EWiv") => Known(0),
        "awk" | "gawk" | "mawk" if matches!(letters, "F" | "v") => Known(1),
        "java" if matches!(letters, "cp" | "classpath" | "class-path" | "p" | "module-path") => Known(1),
        "perl" | "awk" | "gawk" | "mawk" | "java" if !is_long => Known(0),
        "node" | "nodejs" if matches!(letters, "conditions" | "title" | "input-type") => Known(1),
        script if JAVASCRIPT.contains(&script) && JAVASCRIPT_SWITCHES.contains(&option) => Known(0),
        _ => Perhaps,
    }
}

/// Follows the words that an interpreter is given.
#[derive(Debug, Default)]
pub(super) struct Given {
    values: usize,
    /// An option that may have a value was the last one.
    is_open: bool,
    /// There was such an option, and a word that may be its value.
    is_second: bool,
}

/// What a word is that is no option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Value,
    /// A value or the script: what follows may be the script, too.
    ValueOrScript,
    Script,
    /// The script, or an argument of what came before.
    ScriptOrArgument,
}

impl Given {
    pub(super) fn option(&mut self, interpreter: &str, option: &str) {
        match values(interpreter, option) {
            Values::Known(count) => self.values += count,
            Values::Perhaps => self.is_open = true,
        }
    }

    pub(super) fn word(&mut self) -> Place {
        if self.values > 0 {
            self.values -= 1;
            return Place::Value;
        }
        if std::mem::take(&mut self.is_open) {
            self.is_second = true;
            return Place::ValueOrScript;
        }
        if self.is_second { Place::ScriptOrArgument } else { Place::Script }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_interpreters_have_the_values_that_they_have() {
        use Values::{Known, Perhaps};
        for (interpreter, option, expected) in [
            ("bash", "-euo", Known(1)),
            ("/bin/bash", "+O", Known(1)),
            ("bash", "--norc", Known(0)),
            ("zsh", "-x", Known(0)),
            ("python3.13", "-W", Known(1)),
            ("python3", "-uB", Known(0)),
            ("python3", "-Wignore", Known(0)),
            ("node", "--no-warnings", Known(0)),
            ("node", "--env-file", Perhaps),
            ("tsx", "--tsconfig", Perhaps),
            ("tsx", "--tsconfig=t", Known(0)),
            ("php", "-c", Perhaps),
            ("php", "-d", Known(1)),
            ("ruby", "-w", Known(0)),
            ("awk", "-F", Known(1)),
            ("java", "-jar", Known(0)),
        ] {
            assert_eq!(values(interpreter, option), expected, "{interpreter} {option}");
        }
        assert!(is_option("bash", "+o") && !is_option("node", "+o") && !is_option("bash", "+"));
    }
}
