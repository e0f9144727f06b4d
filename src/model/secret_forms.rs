//! The forms in which a value may stand in a text: escaped for JSON (`\\u0073`, `\\/`, once or more often), as bytes (`\\x73`), percent
//! encoded, in hexadecimal or base64. Escapes are undone before a value is looked for; the others are looked for as they are.

/// Longer runs of backslashes are no escape that anybody writes.
const LONGEST_RUN: usize = 9;
/// Fewer letters are found by chance.
const SHORTEST_BASE64: usize = 8;
const STANDARD: (char, char) = ('+', '/');
const IN_URLS: (char, char) = ('-', '_');

/// What to look for in a text whose escapes are undone.
pub(super) fn of(value: &str) -> Vec<Vec<u8>> {
    let bytes = value.as_bytes();
    let mut forms = vec![Unescaped::of(bytes, Rest::Nothing).bytes().to_vec()];
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    forms.push(hex.to_uppercase().into_bytes());
    forms.push(hex.into_bytes());
    for (plus, slash) in [STANDARD, IN_URLS] {
        // Where it starts in a group of three decides which letters it becomes. The first and the last may be shared with others.
        for before in 0..3 {
            let padded = [&b"\0\0"[..before], bytes].concat();
            let whole = base64(&padded, plus, slash);
            let (first, last) = ((before * 8).div_ceil(6), padded.len() * 8 / 6);
            let form = &whole.as_bytes()[first..last];
            if form.len() >= SHORTEST_BASE64 {
                forms.push(form.to_vec());
            }
        }
    }
    forms.dedup();
    forms
}

pub(super) fn base64(bytes: &[u8], plus: char, slash: char) -> String {
    let letters: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain([plus, slash]).collect();
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte))
            << (8 * (3 - group.len()));
        for place in 0..=group.len() {
            text.push(letters[bits >> (18 - 6 * place) & 63]);
        }
    }
    text
}

/// Whether more bytes may follow, which could belong to the last escape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    ToCome,
    Nothing,
}

/// Bytes whose escapes are undone, with the way back. An escape at the end that may go on is not in it.
pub(super) struct Unescaped<'b> {
    original: &'b [u8],
    /// `None` where there is no escape: then it is the original.
    undone: Option<Undone>,
}

#[derive(Default)]
struct Undone {
    bytes: Vec<u8>,
    /// For each byte where it starts in the original.
    starts: Vec<usize>,
    /// Where the part ends in the original that was looked at.
    end: usize,
}

/// What stands at a place of a text.
enum Token {
    Plain,
    /// These bytes, written with that many.
    Escape([u8; 4], usize, usize),
    /// An escape may begin here: more is needed to tell.
    Unfinished,
}

impl<'b> Unescaped<'b> {
    pub(super) fn of(original: &'b [u8], rest: Rest) -> Unescaped<'b> {
        let Some(first) = memchr::memchr2(b'\\', b'%', original) else {
            return Unescaped { original, undone: None };
        };
        let mut undone = Undone { bytes: original[..first].to_vec(), starts: (0..first).collect(), end: 0 };
        let mut at = first;
        while at < original.len() {
            match token(&original[at..], rest) {
                Token::Plain => {
                    undone.bytes.push(original[at]);
                    undone.starts.push(at);
                    at += 1;
                }
                Token::Escape(bytes, length, written) => {
                    undone.bytes.extend_from_slice(&bytes[..length]);
                    undone.starts.extend(std::iter::repeat_n(at, length));
                    at += written;
                }
                Token::Unfinished => break,
            }
        }
        undone.end = at;
        Unescaped { original, undone: Some(undone) }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.undone.as_ref().map_or(self.original, |undone| &undone.bytes)
    }

    /// Where in the original a byte starts; one past the last is the end of what was looked at.
    pub(super) fn start(&self, at: usize) -> usize {
        match &self.undone {
            None => at.min(self.original.len()),
            Some(undone) => undone.starts.get(at).copied().unwrap_or(undone.end),
        }
    }
}

fn token(text: &[u8], rest: Rest) -> Token {
    match text.first() {
        Some(b'%') => match hexadecimal(&text[1..], 2) {
            Some(byte) => one(byte, 3),
            None => plain_or_unfinished(&text[1..], 2, rest),
        },
        Some(b'\\') => backslashes(text, rest),
        _ => Token::Plain,
    }
}

/// JSON in JSON doubles its backslashes, so any number of them may stand before an escape.
fn backslashes(text: &[u8], rest: Rest) -> Token {
    let run = text.iter().take_while(|byte| **byte == b'\\').count();
    if run > LONGEST_RUN {
        return Token::Plain;
    }
    let after = &text[run..];
    match after.first() {
        None if rest == Rest::ToCome => Token::Unfinished,
        Some(b'u') => match hexadecimal(&after[1..], 4) {
            Some(code) => character(code, run, after, rest),
            None if rest == Rest::ToCome && is_cut(&after[1..], 4) => Token::Unfinished,
            None => one(u32::from(b'\\'), run),
        },
        Some(b'x') => match hexadecimal(&after[1..], 2) {
            Some(byte) => one(byte, run + 3),
            None if rest == Rest::ToCome && is_cut(&after[1..], 2) => Token::Unfinished,
            None => one(u32::from(b'\\'), run),
        },
        Some(b'n') => one(u32::from(b'\n'), run + 1),
        Some(b'r') => one(u32::from(b'\r'), run + 1),
        Some(b't') => one(u32::from(b'\t'), run + 1),
        Some(sign @ (b'/' | b'"' | b'\'')) => one(u32::from(*sign), run + 1),
        _ => one(u32::from(b'\\'), run),
    }
}

/// `\uXXXX`, or two of them for a character beyond the first plane.
fn character(code: u32, run: usize, after: &[u8], rest: Rest) -> Token {
    let written = run + 5;
    if (0xd800..0xdc00).contains(&code) {
        let next = &after[5..];
        let second_run = next.iter().take_while(|byte| **byte == b'\\').count();
        let low = next
            .get(second_run..)
            .and_then(|next| next.strip_prefix(b"u"))
            .and_then(|next| hexadecimal(next, 4));
        return match low.filter(|low| (0xdc00..0xe000).contains(low) && second_run > 0) {
            Some(low) => {
                let code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                encoded(code, written + second_run + 5)
            }
            None if rest == Rest::ToCome && next.len() < LONGEST_RUN + 5 => Token::Unfinished,
            None => one(u32::from(b'?'), written),
        };
    }
    encoded(code, written)
}

fn encoded(code: u32, written: usize) -> Token {
    let mut bytes = [0; 4];
    let length = char::from_u32(code).map_or(0, |c| c.encode_utf8(&mut bytes).len());
    if length == 0 { one(u32::from(b'?'), written) } else { Token::Escape(bytes, length, written) }
}

fn one(byte: u32, written: usize) -> Token {
    Token::Escape([u8::try_from(byte).unwrap_or(b'?'), 0, 0, 0], 1, written)
}

fn plain_or_unfinished(after: &[u8], digits: usize, rest: Rest) -> Token {
    if rest == Rest::ToCome && is_cut(after, digits) { Token::Unfinished } else { Token::Plain }
}

/// Whether all that is there are digits, and there are too few.
fn is_cut(after: &[u8], digits: usize) -> bool {
    after.len() < digits && after.iter().all(u8::is_ascii_hexdigit)
}

fn hexadecimal(text: &[u8], digits: usize) -> Option<u32> {
    let text = std::str::from_utf8(text.get(..digits)?).ok()?;
    text.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u32::from_str_radix(text, 16).ok())?
}
