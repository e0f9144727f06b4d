//! The lines of an output that say what went wrong, and their form without what differs from run to run.

use super::lines::without_colours;
use super::names::number_before;

const MOST_LINES: usize = 20;
const LONGEST: usize = 400;

/// The lines that name an error, in order; none if there is none.
pub fn error_lines(tail: &[String]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in tail {
        let cut: String = line.chars().take(LONGEST).collect();
        let plain = without_colours(&cut);
        let text = plain.trim();
        if is_error(text) && !found.iter().any(|known| known == text) {
            found.push(text.to_owned());
            if found.len() == MOST_LINES {
                break;
            }
        }
    }
    found
}

/// The first line that names an error, else the last line that is not empty.
pub fn first_error_line(tail: &[String]) -> Option<String> {
    error_lines(tail).into_iter().next().or_else(|| {
        let last =
            tail.iter().rev().map(|line| without_colours(&line.chars().take(LONGEST).collect::<String>()));
        last.map(|line| line.trim().to_owned()).find(|line| !line.is_empty())
    })
}

fn is_error(text: &str) -> bool {
    const BEGINNINGS: [&str; 24] = [
        "error",
        "Error",
        "ERROR",
        "FAIL",
        "fatal",
        "panic:",
        "not ok ",
        "✕",
        "✖",
        "×",
        "--- FAIL",
        "E   ",
        "E  ",
        "npm ERR!",
        "npm error",
        "thread '",
        "Traceback",
        "assertion",
        "AssertionError",
        "Uncaught",
        "Unhandled",
        "● ",
        "failed",
        "Failed",
    ];
    const PARTS: [&str; 12] = [
        "Error: ",
        "error: ",
        "error[",
        "Exception: ",
        "Exception in ",
        "panicked at",
        "... FAILED",
        "... FAIL",
        "Segmentation fault",
        "command not found",
        "No such file or directory",
        ": undefined: ",
    ];
    let is_about_none = ["failed", "errors"].iter().any(|word| number_before(text, word) == Some(0))
        || text.contains("Failures: 0");
    let names_error = BEGINNINGS.iter().any(|beginning| text.starts_with(beginning))
        || PARTS.iter().any(|part| text.contains(part));
    names_error && (!is_about_none || text.contains("FAILED"))
}

/// A line without colours, paths, numbers, hexadecimal and durations: the same failure gives the same line.
pub fn normalised(line: &str) -> String {
    let cut: String = line.chars().take(LONGEST * 4).collect();
    let plain = without_colours(&cut);
    let mut words: Vec<String> = Vec::new();
    for word in plain.split_whitespace() {
        let word = normalised_word(word);
        // A number and its unit may be one word or two: `3 ms`, `3ms`.
        let is_unit = matches!(
            word.trim_matches(|c: char| !c.is_alphanumeric()),
            "ms" | "s" | "sec" | "secs" | "seconds" | "µs"
        );
        if is_unit && words.last().is_some_and(|last| last.ends_with('#')) {
            continue;
        }
        words.push(word);
    }
    words.join(" ")
}

fn normalised_word(word: &str) -> String {
    let core = word.trim_matches(|c: char| "()[]{}<>,;'\"`".contains(c));
    let is_path = core.contains('/') && !core.contains("://") || core.contains('\\');
    if is_path {
        return word.replacen(core, "PATH", 1);
    }
    // `src.py:12:3`: a file with a position.
    if core.contains("://") {
        return word.replacen(core, "URL", 1);
    }
    let mut text = String::with_capacity(word.len());
    let mut run = String::new();
    for character in word.chars().chain(std::iter::once(' ')) {
        if character.is_ascii_alphanumeric() || character == '_' {
            run.push(character);
            continue;
        }
        text.push_str(&normalised_run(&run));
        run.clear();
        if character != ' ' {
            text.push(character);
        }
    }
    // 1.25 and 1:30 are one number each.
    while text.contains("#.#") || text.contains("#:#") || text.contains("#,#") {
        text = text.replace("#.#", "#").replace("#:#", "#").replace("#,#", "#");
    }
    text
}

fn normalised_run(run: &str) -> String {
    if !run.contains(|c: char| c.is_ascii_digit()) {
        return run.to_owned();
    }
    let digits = run.strip_prefix("0x").unwrap_or(run);
    let is_hex = digits.len() >= 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let unit = run.trim_start_matches(|c: char| c.is_ascii_digit());
    if is_hex || run.starts_with("0x") || matches!(unit, "" | "ms" | "s" | "us" | "ns" | "m" | "h") {
        return "#".to_owned();
    }
    // Numbers within a name (`test_2`, `E0308`) are part of it at its beginning only as letters: the rest is dropped.
    let mut text = String::new();
    for character in run.chars() {
        if character.is_ascii_digit() {
            if !text.ends_with('#') {
                text.push('#');
            }
        } else {
            text.push(character);
        }
    }
    text
}
