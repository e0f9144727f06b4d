//! Which test runner a command line starts. Reads the text alone: what a script of the project does is handed in.

const RUNNERS: [(&str, &str); 14] = [
    ("pytest", "pytest"),
    ("py.test", "pytest"),
    ("jest", "jest"),
    ("vitest", "vitest"),
    ("mocha", "mocha"),
    ("ava", "tap"),
    ("tap", "tap"),
    ("tape", "tap"),
    ("rspec", "rspec"),
    ("phpunit", "phpunit"),
    ("ctest", "ctest"),
    ("prove", "prove"),
    ("bats", "tap"),
    ("cargo-nextest", "cargo nextest"),
];

/// The runner that a command line starts. `script` is the text of the package script that it names (`npm test`), if it names one.
pub fn runner_of_command(command: &str, script: Option<&str>) -> Option<&'static str> {
    let found = of_line(command);
    if found.is_some() {
        return found;
    }
    script.and_then(of_line)
}

/// Whether such a command prints a full summary by itself: it has no flag that silences or replaces it, and its output goes nowhere else.
pub fn runner_prints_summary(command: &str, script: Option<&str>) -> bool {
    let is_plain = |text: &str| {
        let quiet = [
            "-qq",
            "-qqq",
            "--quiet",
            "--silent",
            "--reporter",
            "--reporters",
            "--no-summary",
            "--json",
            "--no-run",
            "--list",
        ];
        !text.contains(['|', '>'])
            && !text.split_whitespace().any(|word| {
                let flag = word.split('=').next().unwrap_or(word);
                quiet.contains(&flag)
                    || matches!(
                        word,
                        "--collect-only" | "--co" | "--version" | "--help" | "-h" | "--listTests"
                    )
            })
    };
    runner_of_command(command, script).is_some() && is_plain(command) && script.is_none_or(is_plain)
}

fn of_line(command: &str) -> Option<&'static str> {
    let words: Vec<&str> = command
        .split(|c: char| c.is_whitespace() || ";&|()".contains(c))
        .filter(|word| !word.is_empty())
        .take(400)
        .collect();
    for (at, word) in words.iter().enumerate() {
        let name = word.trim_matches(['"', '\'']).rsplit('/').next().unwrap_or(word);
        // The words behind it, without toolchains (`+nightly`).
        let mut rest = words[at + 1..].iter().copied().filter(|next| !next.starts_with('+'));
        let found = match name {
            "cargo" => match rest.find(|next| !next.starts_with('-')) {
                Some("test" | "t") => Some("cargo test"),
                Some("nextest") => Some("cargo nextest"),
                _ => None,
            },
            "go" if rest.next() == Some("test") => Some("go test"),
            "node" if rest.any(|next| next == "--test") => Some("node --test"),
            "ctest" => Some("ctest"),
            "mvn" | "mvnw" if rest.any(|next| matches!(next, "test" | "verify" | "install" | "package")) => {
                Some("surefire")
            }
            _ if name.starts_with("python") || name == "py" => {
                let mut rest = words[at + 1..].iter().copied().skip_while(|next| *next != "-m").skip(1);
                match rest.next() {
                    Some("pytest") => Some("pytest"),
                    Some("unittest") => Some("unittest"),
                    _ => None,
                }
            }
            _ if is_command_position(&words, at) => {
                RUNNERS.iter().find(|(known, _)| *known == name).map(|(_, runner)| *runner)
            }
            _ => None,
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Whether the word is run, not an argument: `npx jest` and `CI=1 jest` run it, `npm install jest` and `echo pytest` do not.
fn is_command_position(words: &[&str], at: usize) -> bool {
    words[..at].iter().all(|word| {
        !matches!(
            word.rsplit('/').next().unwrap_or(word),
            "install"
                | "i"
                | "add"
                | "remove"
                | "uninstall"
                | "echo"
                | "printf"
                | "grep"
                | "rg"
                | "rm"
                | "cat"
                | "which"
        )
    })
}
