//! Splits a shell command into words and operators, as far as is needed to see how it ends. Runs and expands nothing.

/// A piece of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    Word(Word),
    Operator(Operator),
}

/// A word without its quotes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Word {
    pub text: String,
    /// Whether a part of it was quoted or escaped: it is no keyword then.
    pub is_quoted: bool,
    /// Whether the shell puts something else in its place: `$x`, `$(...)`, backticks.
    pub is_expanded: bool,
    /// Whether it runs a command.
    pub runs_command: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `;`, a line break.
    Then,
    /// `&`
    Background,
    And,
    Or,
    Pipe,
    Open,
    Close,
}

/// Longer commands are not looked into.
const MAX_LENGTH: usize = 20_000;

/// The tokens of a command; none where it has something that this does not understand.
pub fn tokens(command: &str) -> Option<Vec<Token>> {
    if command.len() > MAX_LENGTH {
        return None;
    }
    Lexer { chars: command.chars().collect(), at: 0, tokens: Vec::new(), word: None }.run()
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
    tokens: Vec<Token>,
    word: Option<Word>,
}

impl Lexer {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn word(&mut self) -> &mut Word {
        self.word.get_or_insert_default()
    }

    /// Whether the command goes on in the next line.
    fn continues(&self) -> bool {
        let joins = |operator| matches!(operator, Operator::And | Operator::Or | Operator::Pipe);
        self.word.is_none() && matches!(self.tokens.last(), Some(Token::Operator(last)) if joins(*last))
    }

    fn end_word(&mut self) {
        if let Some(word) = self.word.take() {
            self.tokens.push(Token::Word(word));
        }
    }

    fn operator(&mut self, operator: Operator, length: usize) {
        self.end_word();
        self.tokens.push(Token::Operator(operator));
        self.at += length;
    }

    fn run(mut self) -> Option<Vec<Token>> {
        while let Some(c) = self.peek(0) {
            match c {
                '\\' => {
                    match self.peek(1) {
                        Some('\n') => {}
                        Some(next) => {
                            let word = self.word();
                            word.text.push(next);
                            word.is_quoted = true;
                        }
                        None => self.word().text.push('\\'),
                    }
                    self.at += 2;
                }
                '\'' => {
                    self.at += 1;
                    self.word().is_quoted = true;
                    while let Some(c) = self.peek(0).filter(|c| *c != '\'') {
                        self.word().text.push(c);
                        self.at += 1;
                    }
                    self.peek(0)?;
                    self.at += 1;
                }
                '"' => self.double_quoted()?,
                '$' | '`' => self.expansion()?,
                '\n' if self.continues() => self.at += 1,
                '\n' | ';' => self.operator(Operator::Then, 1),
                '&' if self.peek(1) == Some('&') => self.operator(Operator::And, 2),
                '&' if self.peek(1) == Some('>') => self.redirection(1)?,
                '&' => self.operator(Operator::Background, 1),
                '|' if self.peek(1) == Some('|') => self.operator(Operator::Or, 2),
                '|' if self.peek(1) == Some('&') => self.operator(Operator::Pipe, 2),
                '|' => self.operator(Operator::Pipe, 1),
                '(' => self.operator(Operator::Open, 1),
                ')' => self.operator(Operator::Close, 1),
                '<' | '>' => self.redirection(0)?,
                '#' if self.word.is_none() => {
                    while self.peek(0).is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                c if c.is_whitespace() => {
                    self.end_word();
                    self.at += 1;
                }
                c => {
                    self.word().text.push(c);
                    self.at += 1;
                }
            }
        }
        self.end_word();
        Some(self.tokens)
    }

    fn double_quoted(&mut self) -> Option<()> {
        self.at += 1;
        self.word().is_quoted = true;
        loop {
            match self.peek(0)? {
                '"' => {
                    self.at += 1;
                    return Some(());
                }
                '\\' => {
                    let next = self.peek(1)?;
                    if !matches!(next, '"' | '\\' | '$' | '`' | '\n') {
                        self.word().text.push('\\');
                    }
                    if next != '\n' {
                        self.word().text.push(next);
                    }
                    self.at += 2;
                }
                '$' | '`' => self.expansion()?,
                c => {
                    self.word().text.push(c);
                    self.at += 1;
                }
            }
        }
    }

    /// `$x`, `${x}`, `$(...)`, `` `...` ``: kept as it is. Brackets are counted, quotes inside them are not looked at.
    fn expansion(&mut self) -> Option<()> {
        let start = self.at;
        let (open, close) = match (self.peek(0), self.peek(1)) {
            (Some('`'), _) => ('`', '`'),
            (_, Some('(')) => ('(', ')'),
            (_, Some('{')) => ('{', '}'),
            (_, Some(c)) if c.is_alphanumeric() || "_?!#@*$-".contains(c) => {
                let word = self.word();
                word.is_expanded = true;
                word.text.extend(['$', c]);
                self.at += 2;
                return Some(());
            }
            _ => {
                self.word().text.push('$');
                self.at += 1;
                return Some(());
            }
        };
        let is_arithmetic = self.peek(1) == Some('(') && self.peek(2) == Some('(');
        self.at += if open == '`' { 1 } else { 2 };
        let mut depth = 1_usize;
        while depth > 0 {
            let c = self.peek(0)?;
            match c {
                '\\' => self.at += 1,
                c if c == close => depth -= 1,
                c if c == open => depth += 1,
                _ => {}
            }
            self.at += 1;
        }
        let end = self.at.min(self.chars.len());
        let text: String = self.chars[start..end].iter().collect();
        let word = self.word();
        word.text.push_str(&text);
        word.is_expanded = true;
        word.runs_command |= open != '{' && !is_arithmetic;
        Some(())
    }

    /// Takes `2>&1`, `> file`, `&> file`, `<<< text` away. Here-documents are not understood.
    fn redirection(&mut self, skip: usize) -> Option<()> {
        // The number in front belongs to it.
        if self
            .word
            .as_ref()
            .is_some_and(|word| !word.is_quoted && word.text.chars().all(|c| c.is_ascii_digit()))
        {
            self.word = None;
        }
        self.end_word();
        self.at += skip;
        let run = self.chars[self.at..].iter().take_while(|c| matches!(c, '<' | '>')).count();
        if run == 2 && self.peek(0) == Some('<') {
            return None;
        }
        // `<(...)` runs a command.
        if self.peek(run) == Some('(') {
            return None;
        }
        self.at += run;
        self.at += usize::from(matches!(self.peek(0), Some('&' | '|')));
        while self.peek(0).is_some_and(|c| c == ' ' || c == '\t') {
            self.at += 1;
        }
        // Its target, as a word that is dropped.
        let before = self.tokens.len();
        while let Some(c) = self.peek(0) {
            match c {
                c if c.is_whitespace() || ";&|()<>".contains(c) => break,
                '"' => self.double_quoted()?,
                '\'' => {
                    self.at += 1;
                    while self.peek(0)? != '\'' {
                        self.at += 1;
                    }
                    self.at += 1;
                }
                '$' | '`' => self.expansion()?,
                '\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.word = None;
        self.tokens.truncate(before);
        Some(())
    }
}
