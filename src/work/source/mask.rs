//! Blanks strings and comments, byte for byte, so that what is left can be searched for code. Line ends stay.

use super::Language;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Code,
    String,
    Comment,
}

/// The text with the insides of strings, and comments, as spaces. Of equal length; the quotes stay.
pub fn masked(text: &str, language: Language) -> String {
    blanked(text, language, |kind| kind != Kind::Code)
}

/// The text with the insides of strings as spaces.
pub fn without_strings(text: &str, language: Language) -> String {
    blanked(text, language, |kind| kind == Kind::String)
}

/// The text with everything but comments as spaces.
pub fn comments(text: &str, language: Language) -> String {
    blanked(text, language, |kind| kind != Kind::Comment)
}

fn blanked(text: &str, language: Language, is_blank: impl Fn(Kind) -> bool) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let mut lexer = Lexer {
        text: text.as_bytes(),
        at: 0,
        language,
        parts: Vec::new(),
        templates: Vec::new(),
        last: b'\n',
        word: Vec::new(),
    };
    lexer.run();
    let mut from = 0;
    let mut blank = |from: usize, to: usize, kind: Kind| {
        if is_blank(kind) {
            bytes[from..to].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        }
    };
    for (start, end, kind) in lexer.parts {
        blank(from, start, Kind::Code);
        blank(start, end, kind);
        from = end;
    }
    blank(from, text.len(), Kind::Code);
    // Every part begins and ends at an ASCII byte, so this is always UTF-8.
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    language: Language,
    parts: Vec<(usize, usize, Kind)>,
    /// For each template literal that is open: the braces that are open within its `${`.
    templates: Vec<usize>,
    /// The last byte of code that is no space: decides whether a slash begins a regular expression.
    last: u8,
    /// The word that ends there.
    word: Vec<u8>,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn starts(&self, text: &[u8]) -> bool {
        self.text[self.at..].starts_with(text)
    }

    fn part(&mut self, end: usize, kind: Kind) {
        let end = end.min(self.text.len());
        self.parts.push((self.at, end, kind));
        self.at = end;
    }

    fn run(&mut self) {
        while self.at < self.text.len() {
            if self.comment() || self.string() {
                continue;
            }
            let byte = self.peek(0);
            if !byte.is_ascii_whitespace() {
                let joins = is_word(byte) && self.at > 0 && is_word(self.text[self.at - 1]);
                if !joins {
                    self.word.clear();
                }
                // Only keywords are asked for.
                if self.word.len() < 12 {
                    self.word.push(byte);
                }
                self.last = byte;
            }
            self.at += 1;
        }
    }

    fn line_end(&self) -> usize {
        memchr::memchr(b'\n', &self.text[self.at..]).map_or(self.text.len(), |length| self.at + length)
    }

    fn comment(&mut self) -> bool {
        let has_slashes =
            matches!(self.language, Language::Rust | Language::Script | Language::Go | Language::Java);
        if has_slashes && self.starts(b"//") {
            let end = self.line_end();
            self.part(end, Kind::Comment);
            return true;
        }
        if has_slashes && self.starts(b"/*") {
            let end = self.block_comment_end();
            self.part(end, Kind::Comment);
            return true;
        }
        let at_line_start = self.at == 0 || self.text[self.at - 1] == b'\n';
        if self.language == Language::Ruby && at_line_start && self.starts(b"=begin") {
            let end = find(self.text, self.at, b"\n=end").map_or(self.text.len(), |end| end + 5);
            self.part(end, Kind::Comment);
            return true;
        }
        let at_word_start = at_line_start || matches!(self.text[self.at - 1], b' ' | b'\t' | b';' | b'(');
        let is_hash = match self.language {
            Language::Python | Language::Ruby => true,
            Language::Shell | Language::Config => at_word_start,
            // PHP; the directives of C are code.
            _ => false,
        };
        if is_hash && self.peek(0) == b'#' {
            let end = self.line_end();
            self.part(end, Kind::Comment);
            return true;
        }
        false
    }

    fn block_comment_end(&self) -> usize {
        let mut depth = 0_usize;
        let mut at = self.at;
        while at < self.text.len() {
            if self.text[at..].starts_with(b"/*") && (depth == 0 || self.language == Language::Rust) {
                depth += 1;
                at += 2;
            } else if self.text[at..].starts_with(b"*/") {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            } else {
                at += 1;
            }
        }
        at
    }

    fn string(&mut self) -> bool {
        let byte = self.peek(0);
        match self.language {
            Language::Rust => match byte {
                b'"' => self.quoted(b"\"", true, true),
                b'r' if !self.is_within_word() => return self.raw_rust(),
                b'\'' => return self.rust_character(),
                _ => return false,
            },
            Language::Python => match byte {
                b'"' | b'\'' if self.peek(1) == byte && self.peek(2) == byte => {
                    self.quoted(&[byte; 3], true, true);
                }
                b'"' | b'\'' => self.quoted(&[byte], true, false),
                _ => return false,
            },
            Language::Script => return self.script_string(),
            Language::Go => match byte {
                b'`' => self.quoted(b"`", false, true),
                b'"' | b'\'' => self.quoted(&[byte], true, false),
                _ => return false,
            },
            Language::Java => match byte {
                b'"' if self.starts(b"\"\"\"") => self.quoted(b"\"\"\"", true, true),
                b'"' => self.quoted(b"\"", true, false),
                // 1'000'000 in C++ is a number.
                b'\'' if !self.is_within_word() => self.quoted(b"'", true, false),
                _ => return false,
            },
            Language::Ruby => match byte {
                b'"' | b'\'' => self.quoted(&[byte], true, true),
                _ => return false,
            },
            Language::Shell => match byte {
                b'\\' => {
                    self.at = (self.at + 2).min(self.text.len());
                    return true;
                }
                b'\'' => self.quoted(b"'", false, true),
                b'"' => self.quoted(b"\"", true, true),
                _ => return false,
            },
            Language::Config => match byte {
                b'"' | b'\'' if !self.is_within_word() => self.quoted(&[byte], byte == b'"', false),
                _ => return false,
            },
        }
        true
    }

    fn is_within_word(&self) -> bool {
        // `br"…"` and `cr"…"` are raw strings too.
        let before = self.at.checked_sub(1).map_or(0, |at| self.text[at]);
        let is_prefix =
            matches!(before, b'b' | b'c') && self.at.checked_sub(2).is_none_or(|at| !is_word(self.text[at]));
        is_word(before) && !(is_prefix && self.language == Language::Rust)
    }

    /// A string from here to its closing quotes; without an end, to the end of the line or of the text.
    fn quoted(&mut self, quotes: &[u8], has_escapes: bool, spans_lines: bool) {
        self.at += quotes.len();
        let mut end = self.at;
        while end < self.text.len() {
            let byte = self.text[end];
            if has_escapes && byte == b'\\' {
                end += 2;
                continue;
            }
            if self.text[end..].starts_with(quotes) {
                break;
            }
            if byte == b'\n' && !spans_lines {
                break;
            }
            end += 1;
        }
        let end = char_end(self.text, end);
        self.part(end, Kind::String);
        if self.starts(quotes) {
            self.at += quotes.len();
        }
        self.last = b'"';
        self.word.clear();
    }

    fn raw_rust(&mut self) -> bool {
        let hashes = self.text[self.at + 1..].iter().take(256).take_while(|byte| **byte == b'#').count();
        if self.peek(1 + hashes) != b'"' {
            return false;
        }
        let mut closing = vec![b'"'];
        closing.resize(1 + hashes, b'#');
        self.at += 2 + hashes;
        let end = find(self.text, self.at, &closing).unwrap_or(self.text.len());
        self.part(end, Kind::String);
        self.at = (self.at + closing.len()).min(self.text.len());
        true
    }

    /// A character, or a lifetime, which is code.
    fn rust_character(&mut self) -> bool {
        if self.peek(1) == b'\\' {
            self.quoted(b"'", true, false);
            return true;
        }
        let width = match self.peek(1) {
            0..=0x7f => 1,
            0x80..=0xdf => 2,
            0xe0..=0xef => 3,
            _ => 4,
        };
        if self.peek(1 + width) == b'\'' {
            self.at += 1;
            self.part(self.at + width, Kind::String);
            self.at += 1;
            return true;
        }
        false
    }

    fn script_string(&mut self) -> bool {
        match self.peek(0) {
            byte @ (b'"' | b'\'') => self.quoted(&[byte], true, false),
            b'`' => {
                self.at += 1;
                self.template();
            }
            b'{' => {
                if let Some(depth) = self.templates.last_mut() {
                    *depth += 1;
                }
                return false;
            }
            b'}' => match self.templates.last_mut() {
                Some(0) => {
                    self.templates.pop();
                    self.at += 1;
                    self.template();
                }
                Some(depth) => {
                    *depth -= 1;
                    return false;
                }
                None => return false,
            },
            b'/' => return self.regular_expression(),
            _ => return false,
        }
        true
    }

    /// The text of a template literal, up to its end or to a `${`.
    fn template(&mut self) {
        let mut end = self.at;
        while end < self.text.len() && self.text[end] != b'`' && !self.text[end..].starts_with(b"${") {
            end += if self.text[end] == b'\\' { 2 } else { 1 };
        }
        let end = char_end(self.text, end);
        self.part(end, Kind::String);
        match self.peek(0) {
            b'$' => {
                self.at += 2;
                self.templates.push(0);
                self.last = b'{';
            }
            b'`' => {
                self.at += 1;
                self.last = b'"';
            }
            _ => {}
        }
        self.word.clear();
    }

    fn regular_expression(&mut self) -> bool {
        const KEYWORDS: [&[u8]; 8] =
            [b"return", b"typeof", b"case", b"in", b"of", b"delete", b"void", b"throw"];
        let may_begin =
            b"(,=:[!&|?{};+-*%<>~^\n".contains(&self.last) || KEYWORDS.contains(&self.word.as_slice());
        if !may_begin {
            return false;
        }
        let mut at = self.at + 1;
        let mut in_class = false;
        loop {
            match self.text.get(at) {
                None | Some(b'\n') => return false,
                Some(b'\\') => at += 1,
                Some(b'[') => in_class = true,
                Some(b']') => in_class = false,
                Some(b'/') if !in_class => break,
                Some(_) => {}
            }
            at += 1;
            // A longer one is not looked for: a line of slashes must not cost the square of its length.
            if at - self.at > 2000 {
                return false;
            }
        }
        self.at += 1;
        self.part(at, Kind::String);
        self.at = (self.at + 1).min(self.text.len());
        self.last = b'"';
        self.word.clear();
        true
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// An escape may have jumped into a character.
fn char_end(text: &[u8], at: usize) -> usize {
    let mut at = at.min(text.len());
    while at < text.len() && text[at] & 0xc0 == 0x80 {
        at += 1;
    }
    at
}

fn find(text: &[u8], from: usize, what: &[u8]) -> Option<usize> {
    memchr::memmem::find(text.get(from..)?, what).map(|at| from + at)
}
