//! Finds commands that cannot fail: they would prove nothing. In doubt a command is taken for honest.

use super::ending::{Ending, passes};
use super::programs::{
    constant_test, exits_with_zero, inline_code, lenient_flag, only_shows, without_wrappers,
};
use super::shell::{Operator, Token, Word, tokens};

/// How deep `sh -c`, groups and conditions are followed.
const MAX_DEPTH: usize = 8;

/// Why a command cannot fail; none if it can, or if that cannot be told.
pub fn weak_command(command: &str) -> Option<String> {
    if command.trim().is_empty() {
        return Some("it is empty".into());
    }
    match Script::default().read(command, 0) {
        Ending::Passes(reason) => Some(reason),
        Ending::Either | Ending::Fails => None,
    }
}

/// What was set so far, and how the script can end before its end.
#[derive(Debug, Clone, Default)]
struct Script {
    /// `set -e`
    stops_at_errors: bool,
    /// `set -o pipefail`
    sees_pipes: bool,
    /// Some command in it can end the script with something else than 0.
    may_stop: bool,
    /// `exit 0` was reached, or the like: what follows is not run.
    exited: Option<Ending>,
    /// A flag that makes a runner pass whatever happens.
    lenient: Option<String>,
}

impl Script {
    fn read(&mut self, command: &str, depth: usize) -> Ending {
        let Some(tokens) = tokens(command) else { return Ending::Either };
        let ending = self.list(&tokens, depth);
        if let Some(reason) = self.lenient.take() {
            return Ending::Passes(reason);
        }
        ending
    }

    /// Statements one after the other: the last one counts, unless one before can stop the script.
    fn list(&mut self, tokens: &[Token], depth: usize) -> Ending {
        if depth > MAX_DEPTH {
            return Ending::Either;
        }
        let statements = split(tokens, &[Operator::Then, Operator::Background]);
        let mut last = passes("it is empty");
        let count = statements.iter().filter(|(tokens, _)| !tokens.is_empty()).count();
        for (statement, end) in statements.iter().filter(|(tokens, _)| !tokens.is_empty()) {
            let before = last.clone();
            let stops_before = self.stops_at_errors;
            let ending = self.chain(statement, &before, depth);
            if self.exited.is_some() {
                last = ending;
                break;
            }
            if *end == Some(Operator::Background) {
                last = passes("its command runs in the background, and nobody waits for its result");
                continue;
            }
            self.may_stop |= stops_before && !matches!(ending, Ending::Passes(_));
            last = match ending {
                Ending::Passes(reason) if count > 1 && before == Ending::Either => {
                    Ending::Passes(format!("its last command cannot fail: {reason}"))
                }
                other => other,
            };
        }
        match last {
            Ending::Passes(_) if self.may_stop => Ending::Either,
            other => other,
        }
    }

    /// `a && b || c`
    fn chain(&mut self, tokens: &[Token], before: &Ending, depth: usize) -> Ending {
        let mut ending: Option<Ending> = None;
        let mut joint = None;
        for (part, next) in split(tokens, &[Operator::And, Operator::Or]) {
            let runs_always = match (&ending, joint) {
                (Some(Ending::Passes(_)), Some(Operator::Or))
                | (Some(Ending::Fails), Some(Operator::And)) => None,
                (Some(Ending::Either), _) => Some(false),
                _ => Some(true),
            };
            if let Some(is_certain) = runs_always {
                let exited = self.exited.take();
                let own = self.pipeline(part, before, depth);
                let did_exit = self.exited.take();
                self.exited = exited;
                if did_exit.is_some() && is_certain {
                    self.exited = did_exit;
                    return own;
                }
                // What may or may not be run can end the script.
                if did_exit.is_some() && !matches!(own, Ending::Passes(_)) {
                    self.may_stop = true;
                }
                ending = Some(match (ending, joint, own) {
                    (Some(Ending::Either), Some(Operator::Or), Ending::Passes(reason)) => {
                        Ending::Passes(format!("its failure is thrown away by `||`: {reason}"))
                    }
                    (Some(Ending::Either), _, _) => Ending::Either,
                    (_, _, own) => own,
                });
            }
            joint = next;
        }
        ending.unwrap_or_else(|| passes("it is empty"))
    }

    /// `a | b`: the last one counts, unless `pipefail` is set.
    fn pipeline(&mut self, tokens: &[Token], before: &Ending, depth: usize) -> Ending {
        let mut tokens = tokens;
        let mut inverted = false;
        while let Some(Token::Word(word)) = tokens.first()
            && !word.is_quoted
            && matches!(word.text.as_str(), "!" | "time")
        {
            inverted ^= word.text == "!";
            tokens = &tokens[1..];
        }
        let parts = split(tokens, &[Operator::Pipe]);
        let is_pipe = parts.len() > 1;
        let mut can_fail = false;
        let mut ending = passes("it is empty");
        for (index, (part, _)) in parts.iter().enumerate() {
            // Each part is a process of its own: an `exit` in it ends only that.
            let exited = self.exited.take();
            let may_stop = self.may_stop;
            ending = self.element(part, before, is_pipe && index + 1 == parts.len(), depth);
            if is_pipe {
                self.exited = exited;
                self.may_stop = may_stop;
            }
            can_fail |= !matches!(ending, Ending::Passes(_));
        }
        if is_pipe && self.sees_pipes && can_fail && matches!(ending, Ending::Passes(_)) {
            ending = Ending::Either;
        }
        match (inverted, ending) {
            (true, Ending::Passes(_)) => Ending::Fails,
            (true, Ending::Fails) => passes("it turns a failure into a success"),
            (_, ending) => ending,
        }
    }

    /// A group, a condition, a loop, or a plain command.
    fn element(&mut self, tokens: &[Token], before: &Ending, ends_pipe: bool, depth: usize) -> Ending {
        match tokens.first() {
            None => return passes("it is empty"),
            Some(Token::Operator(Operator::Open)) => {
                let Some(end) = tokens.iter().rposition(|token| *token == Token::Operator(Operator::Close))
                else {
                    return Ending::Either;
                };
                // A shell of its own.
                let mut inner = Script { may_stop: false, exited: None, ..self.clone() };
                let ending = inner.list(&tokens[1..end], depth + 1);
                self.lenient = self.lenient.take().or(inner.lenient);
                return ending;
            }
            Some(Token::Operator(_)) => return Ending::Either,
            Some(Token::Word(word)) if word.is_quoted => {}
            Some(Token::Word(word)) => match word.text.as_str() {
                "{" => {
                    let end = tokens.iter().rposition(|token| is_word(token, "}")).unwrap_or(tokens.len());
                    return self.list(&tokens[1..end.max(1)], depth + 1);
                }
                "if" | "for" => return self.compound(tokens, depth),
                "while" | "until" | "case" | "select" | "function" => {
                    self.may_stop |= stops(tokens);
                    return Ending::Either;
                }
                _ => {}
            },
        }
        if tokens.iter().any(|token| matches!(token, Token::Operator(Operator::Open))) {
            return Ending::Either;
        }
        let words: Vec<&Word> = tokens
            .iter()
            .filter_map(|token| match token {
                Token::Word(word) => Some(word),
                Token::Operator(_) => None,
            })
            .collect();
        self.simple(&words, before, ends_pipe, depth)
    }

    /// `if` and `for` end as what is in them; a condition that fails is none of it.
    fn compound(&mut self, tokens: &[Token], depth: usize) -> Ending {
        self.may_stop |= stops(tokens);
        let mut inner = Script { sees_pipes: self.sees_pipes, ..Script::default() };
        let mut is_body = false;
        for (part, _) in split_flat(tokens) {
            let mut part = part;
            while let Some(Token::Word(word)) = part.first().filter(|token| is_keyword(token)) {
                is_body = matches!(word.text.as_str(), "then" | "do" | "else");
                part = &part[1..];
            }
            if is_body && !part.is_empty() && !matches!(inner.list(part, depth + 1), Ending::Passes(_)) {
                return Ending::Either;
            }
        }
        passes("nothing in its condition or loop can fail")
    }

    fn simple(&mut self, words: &[&Word], before: &Ending, ends_pipe: bool, depth: usize) -> Ending {
        let all = words;
        let words = without_wrappers(words);
        let Some((program, arguments)) = words.split_first() else {
            let runs = all.iter().any(|word| word.runs_command);
            return if runs { Ending::Either } else { passes("it only sets variables") };
        };
        if program.is_expanded {
            return Ending::Either;
        }
        let name = program.text.rsplit('/').next().unwrap_or_default();
        let texts: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
        if let Some(reason) = lenient_flag(name, &texts) {
            self.lenient.get_or_insert(reason);
        }
        match name {
            "true" | ":" | "echo" | "printf" => passes(format!("`{name}` always succeeds")),
            "false" => Ending::Fails,
            "exit" | "return" => {
                let ending = match arguments.first() {
                    None => before.clone(),
                    Some(code) if code.is_expanded => Ending::Either,
                    Some(code) if code.text.chars().all(|c| c == '0') => {
                        passes(format!("it ends in `{name} 0`"))
                    }
                    Some(_) => Ending::Fails,
                };
                self.exited = Some(ending.clone());
                ending
            }
            "set" => {
                self.set(&texts);
                passes("`set` always succeeds")
            }
            "trap"
                if texts.first().is_some_and(|action| exits_with_zero(action))
                    && texts.iter().any(|text| matches!(*text, "EXIT" | "0" | "ERR")) =>
            {
                self.lenient.get_or_insert("its `trap` turns a failure into a success".into());
                passes("`trap` always succeeds")
            }
            "export" | "unset" | "umask" | "trap" | "sleep" | "shopt" | "alias" | "local" | "readonly"
            | "declare" => passes(format!("`{name}` hardly ever fails")),
            "pwd" | "date" | "whoami" | "hostname" | "uname" | "uptime" | "ls" | "env" | "clear" | "yes"
            | "wait" | "jobs"
                if arguments.is_empty() =>
            {
                passes(format!("`{name}` always succeeds"))
            }
            "tee" | "cat" | "head" | "tail" | "sort" | "uniq" | "wc" | "tr" | "cut" | "nl" | "column"
            | "less" | "more" | "fold" | "rev" | "tac" | "ts"
                if ends_pipe =>
            {
                passes(format!("it ends in `{name}`, which succeeds whatever comes before it"))
            }
            "sed" if ends_pipe && !texts.iter().any(|text| text.contains(['q', 'Q'])) => {
                passes("it ends in `sed`, which succeeds whatever comes before it")
            }
            "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" => self.shell(arguments, depth),
            "eval" if !arguments.iter().any(|word| word.is_expanded) => self.nested(&texts.join(" "), depth),
            "test" | "[" | "[[" => constant_test(arguments),
            "node" | "python" | "python3" | "ruby" | "perl" | "deno" | "php" => inline_code(name, &texts),
            _ if only_shows(name, &texts) => passes("it only shows a version or help"),
            _ => Ending::Either,
        }
    }

    fn set(&mut self, options: &[&str]) {
        let mut words = options.iter();
        while let Some(word) = words.next() {
            let Some(sign) = word.chars().next().filter(|c| matches!(c, '-' | '+')) else { return };
            let on = sign == '-';
            for letter in word.chars().skip(1) {
                match letter {
                    'e' => self.stops_at_errors = on,
                    'o' => match words.next() {
                        Some(&"pipefail") => self.sees_pipes = on,
                        Some(&"errexit") => self.stops_at_errors = on,
                        _ => {}
                    },
                    _ => {}
                }
            }
        }
    }

    /// `sh -c "..."` with options of its own.
    fn shell(&mut self, arguments: &[&Word], depth: usize) -> Ending {
        let mut inner = Script::default();
        let mut words = arguments.iter();
        let mut is_code = false;
        while let Some(word) = words.next() {
            let text = word.text.as_str();
            if is_code && !text.starts_with('-') {
                if depth >= MAX_DEPTH {
                    return Ending::Either;
                }
                return inner.read(text, depth + 1);
            }
            if text.starts_with("--") {
                continue;
            }
            let Some(letters) = text.strip_prefix('-') else {
                return Ending::Either;
            };
            is_code |= letters.contains('c');
            inner.stops_at_errors |= letters.contains('e');
            if letters.contains('o') && words.next().is_some_and(|option| option.text == "pipefail") {
                inner.sees_pipes = true;
            }
            if letters.contains('n') {
                return Ending::Either;
            }
        }
        Ending::Either
    }

    fn nested(&mut self, code: &str, depth: usize) -> Ending {
        if depth >= MAX_DEPTH {
            return Ending::Either;
        }
        let Some(tokens) = tokens(code) else { return Ending::Either };
        self.list(&tokens, depth + 1)
    }
}

fn is_word(token: &Token, text: &str) -> bool {
    matches!(token, Token::Word(word) if !word.is_quoted && word.text == text)
}

fn is_keyword(token: &Token) -> bool {
    ["if", "then", "elif", "else", "fi", "for", "do", "done"].iter().any(|text| is_word(token, text))
}

/// Whether something in there ends the script with something else than 0.
fn stops(tokens: &[Token]) -> bool {
    tokens.windows(2).any(|pair| {
        let ends = is_word(&pair[0], "exit") || is_word(&pair[0], "return");
        ends && matches!(&pair[1], Token::Word(code) if code.text != "0")
    })
}

/// The parts between operators, outside of groups and compound commands, each with the operator behind it.
fn split<'t>(tokens: &'t [Token], at: &[Operator]) -> Vec<(&'t [Token], Option<Operator>)> {
    let mut parts = Vec::new();
    let (mut start, mut depth) = (0, 0_i64);
    let mut begins = true;
    for (index, token) in tokens.iter().enumerate() {
        match token {
            Token::Operator(Operator::Open) => depth += 1,
            Token::Operator(Operator::Close) => depth -= 1,
            Token::Operator(operator) if depth == 0 && at.contains(operator) => {
                parts.push((&tokens[start..index], Some(*operator)));
                start = index + 1;
            }
            Token::Word(word) if begins && !word.is_quoted => match word.text.as_str() {
                "{" | "if" | "for" | "while" | "until" | "case" | "select" => depth += 1,
                "}" | "fi" | "done" | "esac" => depth -= 1,
                _ => {}
            },
            _ => {}
        }
        begins = match token {
            Token::Operator(_) => true,
            Token::Word(word) => {
                begins
                    && ["{", "!", "then", "do", "else", "elif", "if", "while", "until", "time"]
                        .contains(&word.text.as_str())
            }
        };
    }
    parts.push((&tokens[start..], None));
    parts
}

/// The statements of a compound command, whatever they are nested in.
fn split_flat(tokens: &[Token]) -> Vec<(&[Token], Option<Operator>)> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (index, token) in tokens.iter().enumerate() {
        if let Token::Operator(operator @ (Operator::Then | Operator::Background)) = token {
            parts.push((&tokens[start..index], Some(*operator)));
            start = index + 1;
        }
    }
    parts.push((&tokens[start..], None));
    parts
}

#[cfg(test)]
#[path = "weak_command_tests.rs"]
mod tests;
