//! Words of a shell command that may be names of files or directories, found without understanding the command: too many rather
//! than too few. It looks at no files.

use super::interpreters::{Given, Place, is_interpreter, is_option};

/// Variables with directories that programs and code are looked for in.
pub(crate) const SEARCH_VARIABLES: [&str; 19] = [
    "PATH",
    "NODE_PATH",
    "PYTHONPATH",
    "PYTHONHOME",
    "PERL5LIB",
    "PERLLIB",
    "RUBYLIB",
    "CLASSPATH",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "GEM_PATH",
    "GEM_HOME",
    "GIT_EXEC_PATH",
    "LUA_PATH",
    "LUA_CPATH",
    "JULIA_LOAD_PATH",
    "ERL_LIBS",
    "FPATH",
    "CDPATH",
];

/// What goes to the directory that follows.
const ENTERS: [&str; 6] = ["cd", "pushd", "-C", "--chdir", "--directory", "--cwd"];

fn is_between(c: char) -> bool {
    c.is_whitespace() || "\"'`;|&()<>{}$=,:!\\*?[]#".contains(c)
}

/// Everything in a shell command that may be the name of a file or directory.
pub(super) fn names_in(command: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut start = 0;
    for part in command.split(is_between) {
        let before = command[..start].chars().next_back();
        start += part.len() + command[start + part.len()..].chars().next().map_or(0, char::len_utf8);
        let mut add = |name: &str| {
            // `.` and `..` are no files, `-x` is a flag.
            if name.contains(|c| c != '.' && c != '/') && !name.starts_with('-') {
                names.push(name.trim_end_matches('/').to_owned());
            }
        };
        add(part);
        // `-r./check`.
        let attached =
            part.strip_prefix('-').filter(|flag| !flag.starts_with('-') && flag.contains(['/', '.']));
        add(attached.and_then(|flag| flag.get(1..)).unwrap_or_default());
        // What follows `$VARIABLE/` or `"$(command)"/` may be anywhere, in the work tree too.
        match before {
            Some('$') => add(part.split_once('/').map_or("", |(_, rest)| rest)),
            Some(')' | '}' | '`' | '"' | '\'') => add(part.trim_start_matches('/')),
            _ => {}
        }
    }
    names.sort();
    names.dedup();
    names
}

/// Bare or not, what an interpreter in a command may be given as its script.
pub(super) fn scripts_in(command: &str) -> Vec<String> {
    let words: Vec<&str> = command.split(is_between).filter(|word| !word.is_empty()).collect();
    let starts = (0..words.len()).filter(|&at| is_interpreter(words[at]));
    starts.flat_map(|at| scripts_given(words[at], &words[at + 1..])).map(str::to_owned).collect()
}

fn scripts_given<'a>(interpreter: &str, words: &[&'a str]) -> Vec<&'a str> {
    let mut given = Given::default();
    let mut found = Vec::new();
    for word in words.iter().filter(|word| **word != ".") {
        if is_option(interpreter, word) {
            given.option(interpreter, word);
            continue;
        }
        let place = given.word();
        if place != Place::Value {
            found.push(*word);
        }
        if matches!(place, Place::Script | Place::ScriptOrArgument) {
            break;
        }
    }
    found
}

/// For every change of the directory in a command, the names of which one is where it goes.
pub(super) fn entered_in(command: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut start = 0;
    for word in command.split(is_between) {
        let end = start + word.len();
        // `-Ctools`.
        let attached = word.strip_prefix("-C").unwrap_or_default();
        if ENTERS.contains(&word) || !attached.is_empty() {
            let rest = &command[start + word.len() - attached.len()..];
            // A command whose output is the name may have any operator in it.
            let part = rest.split([';', '&', '|', '\n']).next().unwrap_or_default();
            found.push(names_in(if part.contains("$(") || part.contains('`') { rest } else { part }));
        }
        start = end + command[end..].chars().next().map_or(0, char::len_utf8);
    }
    found
}

/// What looks for code in the directories that follow, in languages other than that of a shell.
const SEARCHED: [&str; 8] = [
    "sys.path",
    "addsitedir",
    "LOAD_PATH",
    "module.paths",
    "NODE_PATH",
    "PYTHONPATH",
    "package.path",
    "include_path",
];
/// What lists the files of the directory that follows.
const LISTS: [&str; 17] = [
    "glob",
    "glob.glob",
    "iglob",
    "glob.iglob",
    "rglob",
    "globSync",
    "os.listdir",
    "listdir",
    "os.scandir",
    "scandir",
    "os.walk",
    "readdir",
    "readdirSync",
    "opendir",
    "Dir",
    "Dir.glob",
    "Path",
];
/// What runs the program, or the code, that it is given.
const CALLS: [&str; 27] = [
    "run",
    "call",
    "check_call",
    "check_output",
    "Popen",
    "popen",
    "system",
    "exec",
    "execSync",
    "execFile",
    "execFileSync",
    "execfile",
    "spawn",
    "spawnSync",
    "fork",
    "require",
    "import",
    "load",
    "import_module",
    "__import__",
    "run_path",
    "run_module",
    "spec_from_file_location",
    "execv",
    "execl",
    "execvp",
    "eval",
];

/// Names of directories of which a program in another language than that of a shell may run what is in them.
pub(super) fn looked_in(code: &str) -> Vec<String> {
    let runs = runs_what_it_finds(code);
    let is_of_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let mut found = Vec::new();
    for line in code.lines() {
        let mut at = 0;
        for word in line.split(|c| !is_of_word(c)) {
            at += word.len();
            let last = word.rsplit('.').next().unwrap_or_default();
            let looks = SEARCHED.iter().any(|start| word.starts_with(start))
                || (runs && (LISTS.contains(&word) || LISTS.contains(&last)));
            if looks {
                found.extend(names_in(&line[at..]));
                break;
            }
            at += line[at..].chars().next().map_or(0, char::len_utf8);
        }
    }
    found
}

/// Whether code runs something that it does not name itself, or gives it to an interpreter.
fn runs_what_it_finds(code: &str) -> bool {
    let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
    let is_run = |(at, _): (usize, &str)| {
        let word = code[..at].rsplit(|c| !is_of_word(c)).next().unwrap_or_default();
        let given = code[at + 1..].trim_start_matches(|c: char| c.is_whitespace() || c == '[');
        CALLS.contains(&word) && !given.starts_with(['"', '\'', '`', ')'])
    };
    // Not the line that says what runs the script itself.
    let own = code.strip_prefix("#!").and_then(|code| code.split_once('\n')).map_or(code, |(_, rest)| rest);
    let mut words = own.split(['"', '\'']).filter(|word| *word != "." && *word != "source");
    code.match_indices('(').any(is_run)
        || own.contains("sys.executable")
        || own.contains("execPath")
        || words.any(is_interpreter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn names_are_found_wherever_a_command_has_them() {
        for (command, name) in [
            ("sh -c 'exec tools/sq.sh -x'", "tools/sq.sh"),
            ("tools/semi.sh;true", "tools/semi.sh"),
            ("\"$(git rev-parse --show-toplevel)\"/tools/top.sh", "tools/top.sh"),
            ("$ROOT/tools/top.sh", "tools/top.sh"),
            ("${ROOT}/tools/top.sh", "tools/top.sh"),
            ("X=1;tools/env.sh|cat", "tools/env.sh"),
            ("cd tools/ && ./pre.sh", "./pre.sh"),
            ("cd tools/ && ./pre.sh", "tools"),
            ("é`./ü.sh`é", "./ü.sh"),
        ] {
            assert!(
                names_in(command).iter().any(|found| found == name),
                "{command}: {:?}",
                names_in(command)
            );
        }
        assert_eq!(names_in("-x .. ./ / $ "), Vec::<String>::new());
        assert_eq!(names_in("ruby -r./a/b -Ic/d --x/y"), ["./a/b", "c/d", "ruby"]);
    }

    #[test]
    fn directories_that_code_runs_something_of_are_found() {
        for (code, name) in [
            ("for f in glob.glob('u1/checks/*.py'): exec(open(f).read())", "u1/checks"),
            ("for f in os.listdir('u5/c'):\n  subprocess.run([sys.executable, f])", "u5/c"),
            ("sys.path.insert(0,'u4/lib')", "u4/lib"),
            ("fs.readdirSync('v1/c').forEach(f => require(path.join(d, f)))", "v1/c"),
            ("readdirSync('v1/c').map(f => execFileSync('node', [f]))", "v1/c"),
        ] {
            assert!(looked_in(code).iter().any(|found| found == name), "{code}: {:?}", looked_in(code));
        }
        let looks = "#!/usr/bin/env python3\nfor f in glob.glob('src/*.py'):\n  subprocess.run(['black', f])";
        assert_eq!(looked_in(looks), Vec::<String>::new());
    }

    #[test]
    fn what_an_interpreter_is_given_is_found() {
        for command in [
            "sh run",
            "X=1 /usr/bin/env python3.13 -u run %f",
            "true;. run",
            "sh < run",
            "bash -c 'node \"run\"'",
            "['python3', '-W', 'ignore', 'run']",
            "tsx --tsconfig t run",
        ] {
            assert!(scripts_in(command).iter().any(|found| found == "run"), "{command}");
        }
        assert_eq!(scripts_in("npm run build"), Vec::<String>::new());
        assert_eq!(scripts_in("sh"), Vec::<String>::new());
    }

    #[test]
    fn directories_that_a_command_goes_to_are_found() {
        for (command, expected) in [
            ("cd tools && sh run", vec![vec!["tools"]]),
            ("sh -c 'cd \"a\"; pushd b/c/ && run'", vec![vec!["a"], vec!["b/c"]]),
            ("env -C tools sh run", vec![vec!["run", "sh", "tools"]]),
            ("make -Ctools;env --chdir=x", vec![vec!["tools"], vec!["x"]]),
            ("cd $(echo tools | cat) && sh run", vec![vec!["cat", "echo", "run", "sh", "tools"]]),
            ("cd", vec![vec![]]),
            ("tools/cd run", vec![]),
        ] {
            assert_eq!(entered_in(command), expected, "{command}");
        }
    }
}
