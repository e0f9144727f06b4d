//! Shell commands as words, as far as that goes without a shell: enough to tell which programs, scripts and files a command names.

/// Commands and scripts longer than this are not looked into.
const LONGEST: usize = 64 * 1024;

/// The simple commands of a command line, each as its words; without variables set in front and without redirections.
pub fn simple_commands(line: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut pending = vec![(line.to_owned(), 0)];
    while let Some((line, depth)) = pending.pop() {
        if line.len() > LONGEST || found.len() > 1000 {
            continue;
        }
        for part in split_at_operators(&line) {
            let Some(words) = shlex::split(&part) else { continue };
            let words = stripped(words);
            if words.is_empty() {
                continue;
            }
            // `sh -c '…'` is what it runs.
            let is_shell = matches!(program(&words[0]), "sh" | "bash" | "zsh" | "dash");
            if is_shell && depth < 3 {
                let script = words.iter().position(|word| word.starts_with('-') && word.ends_with('c'));
                if let Some(script) = script.and_then(|flag| words.get(flag + 1)) {
                    pending.push((script.clone(), depth + 1));
                    continue;
                }
            }
            found.push(words);
        }
    }
    found
}

/// Cuts at `;`, `&`, `|`, newlines and parentheses outside of quotes.
fn split_at_operators(line: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut quote: Option<char> = None;
    let mut previous = ' ';
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        let is_redirection = c == '&' && (previous == '>' || rest.peek() == Some(&'>'));
        let ends = quote.is_none()
            && !is_redirection
            && matches!(c, ';' | '&' | '|' | '\n' | '(' | ')' | '{' | '}' | '`');
        // Braces are part of words as often as they are groups.
        let is_group = !matches!(c, '{' | '}') || previous.is_whitespace() || previous == ';';
        if ends && is_group && previous != '$' {
            parts.push(String::new());
        } else if let Some(last) = parts.last_mut() {
            match (quote, c) {
                (None, '\'' | '"') => quote = Some(c),
                (Some(open), _) if open == c => quote = None,
                _ => {}
            }
            last.push(c);
            if c == '\\' && quote != Some('\'') {
                last.extend(rest.next());
            }
        }
        previous = c;
    }
    parts
}

/// Without `VAR=value`, `env`, `time`, `sudo`, redirections and the like.
fn stripped(words: Vec<String>) -> Vec<String> {
    let mut result: Vec<String> = Vec::new();
    let mut skips_target = false;
    for word in words {
        if std::mem::take(&mut skips_target) {
            continue;
        }
        let is_assignment = word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        });
        let is_prefix = matches!(
            word.as_str(),
            "env"
                | "time"
                | "sudo"
                | "exec"
                | "command"
                | "nice"
                | "nohup"
                | "then"
                | "do"
                | "if"
                | "!"
                | "else"
                | "while"
                | "cross-env"
        );
        if result.is_empty() && (is_assignment || is_prefix) {
            continue;
        }
        let after_number = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '&');
        if after_number.starts_with('>') || after_number.starts_with('<') {
            skips_target = after_number.trim_start_matches(['>', '<', '|']).is_empty();
            continue;
        }
        result.push(word);
    }
    result
}

/// The name of a program without its directory.
pub fn program(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// One spelling for the ways to write the same call: `npm run test` is `npm test`, `python3 -m pytest` is `pytest`.
pub fn canonical(words: &[String]) -> Vec<String> {
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    for _ in 0..4 {
        let first = words.first().map_or("", |word| program(word));
        let second = words.get(1).copied().unwrap_or_default();
        let dropped = match (first, second) {
            ("npx" | "bunx" | "pnpx", "--yes" | "-y" | "--no-install")
            | ("python" | "python3" | "py", "-m")
            | ("uv" | "poetry" | "pipenv" | "pdm" | "hatch" | "rye", "run")
            | ("bundle" | "npm" | "pnpm" | "yarn", "exec") => 2,
            ("npx" | "bunx" | "pnpx" | "timeout", _) if words.len() > 1 => 1,
            (number, _)
                if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b's') =>
            {
                1
            }
            _ => 0,
        };
        if dropped == 0 {
            break;
        }
        words.drain(..dropped.min(words.len()));
    }
    let mut result: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    if let Some(first) = result.first_mut() {
        *first = program(first).to_owned();
    }
    let is_npm =
        result.first().is_some_and(|first| matches!(first.as_str(), "npm" | "pnpm" | "yarn" | "bun"));
    if is_npm && result.get(1).is_some_and(|word| matches!(word.as_str(), "run" | "run-script")) {
        result.remove(1);
    }
    if is_npm && result.get(1).is_some_and(|word| matches!(word.as_str(), "t" | "tst")) {
        "test".clone_into(&mut result[1]);
    }
    if result.first().is_some_and(|first| first == "python3") {
        "python".clone_into(&mut result[0]);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        simple_commands(line).iter().map(|words| canonical(words).join(" ")).collect()
    }

    #[test]
    fn commands_are_brought_to_one_spelling() {
        let cases = [
            ("CI=1 npm run test 2>&1 | tail -5", vec!["npm test", "tail -5"]),
            ("python3 -m pytest -q && ./scripts/check.sh > out.txt", vec!["pytest -q", "check.sh"]),
            ("bash -c 'cargo test; cargo clippy'", vec!["cargo test", "cargo clippy"]),
            ("cd app && npx jest \"a|b\"", vec!["cd app", "jest a|b"]),
            ("timeout 60s go test ./...", vec!["go test ./..."]),
            ("echo 'unclosed", vec![]),
        ];
        for (line, expected) in cases {
            assert_eq!(words(line), expected, "{line}");
        }
    }
}
