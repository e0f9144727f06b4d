//! Splits a shell script into commands and words, with what is not known about a word before it runs. Quotes are passed over, so that
//! commands in strings are commands too. It looks at no files and fails on nothing: other languages give words without meaning.

use std::collections::HashSet;

/// A piece of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Variable(String),
    /// The output of a command.
    Output,
    /// Some characters of the names of files.
    Pattern,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Word(pub(super) Vec<Part>);

impl Word {
    /// The word, if nothing in it is unknown.
    pub(super) fn text(&self) -> Option<&str> {
        match self.0.as_slice() {
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    pub(super) fn is_flag(&self) -> bool {
        matches!(self.0.first(), Some(Part::Text(text)) if text.starts_with('-'))
    }

    /// `NAME=value` or `NAME+=value`.
    pub(super) fn assignment(&self) -> Option<(&str, Word)> {
        let (name, value) = self.setting()?;
        let name = name.strip_suffix('+').unwrap_or(name);
        let is_name = !name.is_empty()
            && name.chars().all(is_of_name)
            && !name.starts_with(|c: char| c.is_ascii_digit());
        is_name.then_some((name, value))
    }

    /// What is before and after the first `=`.
    pub(super) fn setting(&self) -> Option<(&str, Word)> {
        let Some(Part::Text(text)) = self.0.first() else { return None };
        let (name, _) = text.split_once('=')?;
        Some((name, self.after(name.len() + 1)))
    }

    /// The word without its first bytes, which are text.
    pub(super) fn after(&self, bytes: usize) -> Word {
        let Some(Part::Text(text)) = self.0.first() else { return Word::default() };
        let first = Some(&text[bytes..]).filter(|rest| !rest.is_empty());
        let first = first.map(|rest| Part::Text(rest.to_owned()));
        Word(first.into_iter().chain(self.0[1..].iter().cloned()).collect())
    }

    /// The parts of a list, as in `PATH`.
    pub(super) fn split(&self, separator: char) -> Vec<Word> {
        let mut found = vec![Word::default()];
        for part in &self.0 {
            let Part::Text(text) = part else {
                found.last_mut().expect("one word").0.push(part.clone());
                continue;
            };
            for (number, piece) in text.split(separator).enumerate() {
                if number > 0 {
                    found.push(Word::default());
                }
                if !piece.is_empty() {
                    found.last_mut().expect("one word").0.push(Part::Text(piece.to_owned()));
                }
            }
        }
        found
    }

    fn push(&mut self, char: char) {
        if let Some(Part::Text(text)) = self.0.last_mut() {
            text.push(char);
        } else {
            self.0.push(Part::Text(char.to_string()));
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Command {
    pub(super) words: Vec<Word>,
    /// Whether it reads what the command before it prints.
    pub(super) is_piped: bool,
}

#[derive(Debug, Default)]
pub(super) struct Script {
    pub(super) commands: Vec<Command>,
    /// Names of the functions that it defines.
    pub(super) functions: HashSet<String>,
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// A command that is being read, and what ends the substitution that it is in.
#[derive(Default)]
struct Frame {
    command: Command,
    word: Word,
    closed_by: Option<char>,
    open_brackets: usize,
}

impl Frame {
    /// Whether patterns of a `case` follow.
    fn is_before_patterns(&self) -> bool {
        let is_case = |word: &Word| word.text() == Some("case");
        self.word.text() == Some("in") && self.command.words.iter().any(is_case)
    }

    /// Whether it is between `[[` and `]]`.
    fn is_condition(&self) -> bool {
        let is = |word: &Word, text: &str| word.text() == Some(text);
        let since = self.command.words.iter().rposition(|word| is(word, "[["));
        since.is_some_and(|at| !self.command.words[at..].iter().any(|word| is(word, "]")))
            && !is(&self.word, "]")
    }

    fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        if !word.0.is_empty() {
            self.command.words.push(word);
        }
    }
}

struct Reader<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    script: Script,
    frame: Frame,
    outer: Vec<Frame>,
}

pub(super) fn parse(text: &str) -> Script {
    let mut reader = Reader {
        rest: text.chars().peekable(),
        script: Script::default(),
        frame: Frame::default(),
        outer: Vec::new(),
    };
    while let Some(char) = reader.rest.next() {
        reader.take(char);
    }
    while !reader.outer.is_empty() {
        reader.close();
    }
    reader.end_command(false);
    reader.script
}

impl Reader<'_> {
    fn take(&mut self, char: char) {
        let next = self.rest.peek().copied();
        let is_start = self.frame.word.0.is_empty();
        if char.is_whitespace() && self.frame.is_before_patterns() {
            self.end_command(false);
            return self.patterns();
        }
        match char {
            '[' if is_start && next == Some('[') => {
                self.rest.next();
                self.frame.word.0.push(Part::Text("[[".to_owned()));
            }
            // Operators of a condition.
            '|' | '&' | '(' | ')' | '<' | '>' if self.frame.is_condition() => self.frame.end_word(),
            ';' if next == Some(';') => {
                self.rest.next();
                self.end_command(false);
                self.patterns();
            }
            '"' | '\'' | ']' if !is_start || char != ']' => {}
            '\\' => match self.rest.next() {
                Some('\n') | None => {}
                Some(escaped) => self.frame.word.push(escaped),
            },
            '$' => self.expansion(next),
            '`' if self.frame.closed_by == Some('`') => self.close(),
            '`' => self.open('`'),
            '<' | '>' if next == Some('(') => {
                self.rest.next();
                self.open(')');
            }
            '(' if next == Some(')') => {
                self.rest.next();
                self.frame.end_word();
                let name = self.frame.command.words.pop();
                self.script.functions.extend(name.as_ref().and_then(Word::text).map(str::to_owned));
                self.end_command(false);
            }
            '(' => {
                self.frame.open_brackets += 1;
                self.end_command(false);
            }
            ')' if self.frame.open_brackets > 0 => {
                self.frame.open_brackets -= 1;
                self.end_command(false);
            }
            ')' if self.frame.closed_by == Some(')') => self.close(),
            '|' => {
                let is_or = next == Some('|');
                if is_or {
                    self.rest.next();
                }
                self.end_command(!is_or);
            }
            '\n' | ';' | '&' | ')' => self.end_command(false),
            '{' if next.is_none_or(char::is_whitespace) => self.end_command(false),
            '}' if is_start => self.end_command(false),
            '{' | '*' | '?' => self.frame.word.0.push(Part::Pattern),
            '[' if !is_start => self.frame.word.0.push(Part::Pattern),
            '}' => {}
            '#' if is_start => while self.rest.next_if(|&c| c != '\n').is_some() {},
            '<' | '>' => self.frame.end_word(),
            _ if char.is_whitespace() => self.frame.end_word(),
            _ => self.frame.word.push(char),
        }
    }

    /// Passes over the patterns before the commands of a `case`.
    fn patterns(&mut self) {
        while self.rest.next_if(|c| c.is_whitespace()).is_some() {}
        if !self.rest.clone().take(4).eq("esac".chars()) {
            self.rest.by_ref().find(|&c| c == ')');
        }
    }

    fn expansion(&mut self, next: Option<char>) {
        let mut name = String::new();
        match next {
            Some('(') => {
                self.rest.next();
                return self.open(')');
            }
            Some('{') => {
                self.rest.next();
                while let Some(char) = self.rest.next_if(|&c| is_of_name(c)) {
                    name.push(char);
                }
                while self.rest.next_if(|&c| c != '}' && c != '\n').is_some() {}
                self.rest.next_if_eq(&'}');
            }
            Some(digit) if digit.is_ascii_digit() => name.extend(self.rest.next()),
            Some(char) if is_of_name(char) => {
                while let Some(char) = self.rest.next_if(|&c| is_of_name(c)) {
                    name.push(char);
                }
            }
            Some('@' | '*' | '#' | '?' | '!' | '-' | '$') => name.extend(self.rest.next()),
            _ => return,
        }
        self.frame.word.0.push(Part::Variable(name));
    }

    fn open(&mut self, closed_by: char) {
        let frame = Frame { closed_by: Some(closed_by), ..Frame::default() };
        self.outer.push(std::mem::replace(&mut self.frame, frame));
    }

    fn close(&mut self) {
        self.end_command(false);
        if let Some(outer) = self.outer.pop() {
            self.frame = outer;
            self.frame.word.0.push(Part::Output);
        }
    }

    fn end_command(&mut self, is_piped: bool) {
        self.frame.end_word();
        let next = Command { is_piped, ..Command::default() };
        let command = std::mem::replace(&mut self.frame.command, next);
        if command.words.is_empty() {
            // `|` at the end of a line.
            self.frame.command.is_piped |= command.is_piped;
        } else {
            self.script.commands.push(command);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    /// Variables as `$name`, what is unknown as `*`, commands with `|` before them if they are piped.
    fn shown(text: &str) -> Vec<String> {
        let part = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Variable(name) => format!("${name}"),
            Part::Output | Part::Pattern => "*".to_owned(),
        };
        let word = |word: &Word| word.0.iter().map(part).collect::<String>();
        let words = |command: &Command| command.words.iter().map(word).collect::<Vec<_>>().join(" ");
        let pipe = |command: &Command| if command.is_piped { "| " } else { "" };
        parse(text).commands.iter().map(|command| format!("{}{}", pipe(command), words(command))).collect()
    }

    #[test]
    fn commands_are_found_wherever_a_script_has_them() {
        for (text, expected) in [
            ("exec \"$(dirname \"$0\")/../x.sh\" \"$@\"", vec!["dirname $0", "exec */../x.sh $@"]),
            ("A=\"${0%/*}/x\"; [ -x \"$A\" ] && $A", vec!["A=$0/x", "[ -x $A ]", "$A"]),
            ("for f in d/*.sh; do\n sh \"$f\"; done", vec!["for f in d/*.sh", "do", "sh $f", "done"]),
            ("cat d/* |\n sh || true", vec!["cat d/*", "| sh", "true"]),
            ("sh -c 'a `b c` d' # no", vec!["b c", "sh -c a * d"]),
            ("run() { \"$1\"; }\nrun \\\n a\\ b", vec!["$1", "run a b"]),
            ("x < <(find d) > $((1+(2)))", vec!["find d", "1+", "2", "x * *"]),
            ("case $f in\n src/*|t/*) a ;;\n (b) c;; esac; d", vec!["case $f in", "a", "c", "esac", "d"]),
            (
                "if [[ -f $f && ($f == src/* || x) ]] && y; then z; fi",
                vec!["if [[ -f $f $f == src/* x ]", "y", "then z", "fi"],
            ),
            ("$(a $(b $(", vec!["b *", "a *", "*"]),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
        assert!(parse("run() { x; }").functions.contains("run"));
    }

    #[test]
    fn assignments_are_told_from_words() {
        let first = |text: &str| {
            let script = parse(text);
            script.commands[0].words[0].assignment().map(|(name, value)| (name.to_owned(), value))
        };
        let (name, value) = first("DIR=\"$ROOT/x\"").unwrap();
        assert_eq!(name, "DIR");
        assert_eq!(value.0, [Part::Variable("ROOT".to_owned()), Part::Text("/x".to_owned())]);
        assert_eq!(first("--x=y"), None);
        assert_eq!(first("x"), None);
    }
}
