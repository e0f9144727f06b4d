//! What is known about single programs: which pass whatever happens, and which only start another one.

use super::ending::{Ending, passes};
use super::shell::Word;

/// A command without variables in front, and without programs that end as what they start.
pub fn without_wrappers<'w>(words: &'w [&'w Word]) -> &'w [&'w Word] {
    let mut words = words;
    loop {
        while words.first().is_some_and(|word| is_assignment(word)) {
            words = &words[1..];
        }
        let Some(first) = words.first() else { return words };
        let name = first.text.rsplit('/').next().unwrap_or_default();
        let with_value: &[&str] = match name {
            "env" => &["-u", "-C", "-S", "--unset", "--chdir"],
            "nice" => &["-n"],
            "stdbuf" => &["-i", "-o", "-e"],
            "timeout" => &["-s", "-k", "--signal", "--kill-after"],
            "sudo" => &["-u", "-g"],
            "command" | "exec" | "nohup" | "setsid" | "time" | "builtin" | "busybox" | "xvfb-run"
            | "chronic" => &[],
            _ => return words,
        };
        let mut rest = &words[1..];
        while let Some(option) = rest.first().filter(|word| word.text.starts_with('-')) {
            let takes_value = with_value.contains(&option.text.as_str());
            rest = rest.get(1 + usize::from(takes_value)..).unwrap_or_default();
        }
        if name == "timeout" {
            rest = rest.get(1..).unwrap_or_default();
        }
        // `env` alone prints variables; `command -v x` looks a program up.
        let is_lookup =
            name == "command" && words.get(1).is_some_and(|word| matches!(word.text.as_str(), "-v" | "-V"));
        if rest.is_empty() || is_lookup {
            return words;
        }
        words = rest;
    }
}

fn is_assignment(word: &Word) -> bool {
    let Some((name, _)) = word.text.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Flags with which a runner passes although nothing was tested, or although something failed.
pub fn lenient_flag(name: &str, arguments: &[&str]) -> Option<String> {
    if matches!(
        name,
        "grep" | "egrep" | "fgrep" | "rg" | "ag" | "ack" | "git" | "echo" | "printf" | "test" | "[" | "[["
    ) {
        return None;
    }
    for argument in arguments {
        let (flag, value) = argument.split_once('=').unwrap_or((argument, "true"));
        let is_off = matches!(value, "false" | "0" | "no");
        if matches!(flag, "--passWithNoTests" | "--pass-with-no-tests") && !is_off {
            return Some(format!("`{flag}` passes without any test"));
        }
        if flag == "--exit-zero"
            && matches!(name, "ruff" | "flake8" | "pylint" | "python" | "python3" | "uv" | "uvx" | "poetry")
        {
            return Some("`--exit-zero` passes whatever is found".into());
        }
    }
    let ignores =
        |short: &str, long: &str| arguments.iter().any(|argument| *argument == short || *argument == long);
    match name {
        "make" | "gmake" if ignores("-i", "--ignore-errors") => Some("`make -i` ignores errors".into()),
        "make" | "gmake" if ignores("-n", "--dry-run") => Some("`make -n` runs nothing".into()),
        "mvn" if ignores("-fn", "--fail-never") => Some("`mvn -fn` never fails".into()),
        _ => None,
    }
}

pub fn exits_with_zero(action: &str) -> bool {
    let words: Vec<&str> =
        action.split(|c: char| c.is_whitespace() || c == ';').filter(|word| !word.is_empty()).collect();
    words.windows(2).any(|pair| pair == ["exit", "0"])
}

/// `[ 1 = 1 ]`, `test x`: nothing in it depends on the project.
pub fn constant_test(arguments: &[&Word]) -> Ending {
    let words: Vec<&&Word> =
        arguments.iter().filter(|word| !matches!(word.text.as_str(), "]" | "]]")).collect();
    if words.iter().any(|word| word.is_expanded) {
        return Ending::Either;
    }
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let is_true = match texts.as_slice() {
        [text] | ["-n", text] => !text.is_empty(),
        ["-z", text] => text.is_empty(),
        [a, "=" | "==" | "-eq" | "-le" | "-ge", b] => a == b,
        [a, "!=" | "-ne", b] => a != b,
        _ => false,
    };
    if is_true { passes("it compares nothing of the project") } else { Ending::Either }
}

/// `python -c pass`, `node -e ""`.
pub fn inline_code(name: &str, arguments: &[&str]) -> Ending {
    let [flag, code] = arguments else {
        return if only_shows(name, arguments) {
            passes("it only shows a version or help")
        } else {
            Ending::Either
        };
    };
    let code = code.trim().trim_end_matches(';').replace(' ', "");
    let is_nothing = [
        "",
        "pass",
        "0",
        "1",
        "true",
        "exit(0)",
        "exit()",
        "process.exit(0)",
        "process.exit()",
        "importsys;sys.exit(0)",
        "exit0",
    ];
    if matches!(*flag, "-c" | "-e" | "--eval" | "-r") && is_nothing.contains(&code.as_str()) {
        passes(format!("the code for `{name}` does nothing"))
    } else {
        Ending::Either
    }
}

pub fn only_shows(name: &str, arguments: &[&str]) -> bool {
    const KNOWN: [&str; 22] = [
        "npm", "npx", "pnpm", "yarn", "bun", "node", "deno", "jest", "vitest", "mocha", "tsc", "eslint",
        "pytest", "python", "python3", "tox", "uv", "cargo", "rustc", "go", "make", "git",
    ];
    let shows =
        |argument: &str| matches!(argument, "--version" | "--help" | "-V" | "-h" | "version" | "help");
    KNOWN.contains(&name) && matches!(arguments, [only] if shows(only) || (*only == "-v" && name != "pytest" && name != "go"))
        // `vitest -v` and the like show a version; `mocha help` does not exist and fails.
        && !(matches!(name, "make" | "tox" | "pytest" | "mocha") && matches!(arguments, ["help" | "version"]))
}
