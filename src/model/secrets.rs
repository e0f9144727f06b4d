//! Values that must not turn up in what we write, with the names they are known by: finding them and replacing them,
//! in a text or in a stream of chunks, in all forms that `secret_forms` knows. It never says a value.

use super::secret_forms::{self, Rest, Unescaped};
use aho_corasick::{AhoCorasick, Anchored, Input, MatchKind, StartKind};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;

/// Shorter values are found by chance in ordinary text. The config can set another length (`secrets.minLength`).
pub const SHORTEST: usize = 12;

/// Variables whose values are long enough, but everybody may know them.
const ORDINARY: [&str; 16] = [
    "HOME", "PATH", "PWD", "OLDPWD", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TMPDIR",
    "EDITOR", "VISUAL", "HOSTNAME", "TZ", "PAGER",
];

/// Whether the name of a variable says that its value is not for everybody.
pub fn sounds_secret(name: &str) -> bool {
    const WORDS: [&str; 7] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "PRIVATE"];
    let name = name.to_ascii_uppercase();
    WORDS.iter().any(|word| name.contains(word))
}

/// What to look for. Two names of one value are one: the first.
#[derive(Clone)]
pub struct Secrets {
    names: Vec<String>,
    /// For each pattern the place of its name.
    owners: Vec<usize>,
    longest: usize,
    /// Finds the longest of those that start first: for replacing. `None` where there is nothing to look for.
    leftmost: Option<AhoCorasick>,
    /// Finds all: a value inside of another is out, too.
    all: Option<AhoCorasick>,
}

impl Secrets {
    /// From the variables that a run refers to. Short values and ordinary variables do not count.
    pub fn new<N: AsRef<str>, V: AsRef<str>>(pairs: impl IntoIterator<Item = (N, V)>) -> Secrets {
        Secrets::at_least(SHORTEST, pairs)
    }

    /// The same where values count from this length on.
    pub fn at_least<N: AsRef<str>, V: AsRef<str>>(
        shortest: usize,
        pairs: impl IntoIterator<Item = (N, V)>,
    ) -> Secrets {
        let (mut names, mut owners) = (Vec::new(), Vec::new());
        let (mut values, mut patterns) = (Vec::<String>::new(), Vec::<Vec<u8>>::new());
        for (name, value) in pairs {
            let (name, value) = (name.as_ref(), value.as_ref().trim());
            if value.len() < shortest.max(1) || is_ordinary(name) || values.iter().any(|known| known == value)
            {
                continue;
            }
            for pattern in secret_forms::of(value) {
                if !patterns.contains(&pattern) {
                    patterns.push(pattern);
                    owners.push(names.len());
                }
            }
            values.push(value.to_owned());
            names.push(name.to_owned());
        }
        let automaton = |kind: MatchKind| {
            let mut builder = AhoCorasick::builder();
            let built = builder.match_kind(kind).start_kind(StartKind::Unanchored).build(&patterns);
            (!patterns.is_empty()).then(|| built.expect("a few short patterns"))
        };
        Secrets {
            longest: patterns.iter().map(Vec::len).max().unwrap_or(0),
            leftmost: automaton(MatchKind::LeftmostLongest),
            all: automaton(MatchKind::Standard),
            names,
            owners,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The text with `[redacted:NAME]` in place of every value.
    pub fn redact(&self, text: &str) -> String {
        let mut redactor = self.redactor();
        let mut bytes = redactor.write(text.as_bytes());
        bytes.extend(redactor.finish());
        // Values and what comes instead are text, so nothing is cut inside of a character.
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The same for every text in a JSON value. Names of fields and numbers stay: what is printed must stay readable.
    pub fn redact_json(&self, value: &mut Value) {
        if self.is_empty() {
            return;
        }
        match value {
            Value::String(text) => *text = self.redact(text),
            Value::Array(list) => list.iter_mut().for_each(|value| self.redact_json(value)),
            Value::Object(object) => object.values_mut().for_each(|value| self.redact_json(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// For a stream of chunks; values may be cut anywhere.
    pub fn redactor(&self) -> Redactor<'_> {
        Redactor { secrets: self, held: Vec::new() }
    }

    /// For a stream of chunks that is only looked at.
    pub fn scanner(&self) -> Scanner<'_> {
        Scanner { secrets: self, tail: Vec::new(), found: BTreeSet::new() }
    }

    /// The names of the values in these bytes.
    pub fn found_in(&self, bytes: &[u8]) -> Vec<String> {
        let mut scanner = self.scanner();
        scanner.write(bytes);
        scanner.found()
    }

    fn name_of(&self, pattern: usize) -> &str {
        &self.names[self.owners[pattern]]
    }
}

/// Values never show, not even in a debugging print.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Secrets").field(&self.names).finish()
    }
}

fn is_ordinary(name: &str) -> bool {
    ORDINARY.contains(&name) || name.starts_with("XDG_") || name.starts_with("LC_")
}

/// The text with `[redacted:NAME]` in place of every value: for one text; for many keep a [`Secrets`].
pub fn redact(text: &str, pairs: &[(String, String)]) -> String {
    Secrets::new(pairs.iter().map(|(name, value)| (name, value))).redact(text)
}

/// Replaces values in a stream. It holds back only what could still become one.
pub struct Redactor<'s> {
    secrets: &'s Secrets,
    held: Vec<u8>,
}

impl Redactor<'_> {
    /// Takes a chunk and gives back what is decided.
    #[must_use]
    pub fn write(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        self.give(Rest::ToCome)
    }

    /// The rest: nothing more comes.
    #[must_use]
    pub fn finish(&mut self) -> Vec<u8> {
        self.give(Rest::Nothing)
    }

    fn give(&mut self, rest: Rest) -> Vec<u8> {
        let Some(automaton) = &self.secrets.leftmost else { return std::mem::take(&mut self.held) };
        let plain = Unescaped::of(&self.held, rest);
        // A value that starts before this is there as a whole; a later one may go on in the next chunk.
        let decided = match rest {
            Rest::ToCome => (plain.bytes().len() + 1).saturating_sub(self.secrets.longest.max(1)),
            Rest::Nothing => plain.bytes().len(),
        };
        let mut out = Vec::with_capacity(self.held.len());
        let (mut at, mut copied) = (0, 0);
        while at < decided {
            let input = Input::new(plain.bytes()).range(at..).anchored(Anchored::No);
            let Some(found) = automaton.find(input).filter(|found| found.start() < decided) else { break };
            out.extend_from_slice(&self.held[copied..plain.start(found.start())]);
            let name = self.secrets.name_of(found.pattern().as_usize());
            out.extend_from_slice(format!("[redacted:{name}]").as_bytes());
            at = found.end();
            copied = plain.start(at);
        }
        let end = copied.max(plain.start(decided.max(at)));
        out.extend_from_slice(&self.held[copied..end]);
        drop(plain);
        self.held.drain(..end);
        out
    }
}

/// Looks for values in a stream.
pub struct Scanner<'s> {
    secrets: &'s Secrets,
    tail: Vec<u8>,
    found: BTreeSet<usize>,
}

impl Scanner<'_> {
    pub fn write(&mut self, bytes: &[u8]) {
        let Some(automaton) = &self.secrets.all else { return };
        self.tail.extend_from_slice(bytes);
        let plain = Unescaped::of(&self.tail, Rest::ToCome);
        for found in automaton.find_overlapping_iter(plain.bytes()) {
            self.found.insert(self.secrets.owners[found.pattern().as_usize()]);
        }
        let done = (plain.bytes().len() + 1).saturating_sub(self.secrets.longest.max(1));
        let done = plain.start(done);
        drop(plain);
        self.tail.drain(..done);
    }

    /// Whether every value was found: then the rest need not be looked at.
    pub fn has_all(&self) -> bool {
        self.found.len() == self.secrets.names.len()
    }

    /// The names of what was found so far.
    pub fn found(&self) -> Vec<String> {
        let mut found = self.found.clone();
        if let Some(automaton) = &self.secrets.all {
            // An escape at the end that did not go on.
            let plain = Unescaped::of(&self.tail, Rest::Nothing);
            let last = automaton.find_overlapping_iter(plain.bytes());
            found.extend(last.map(|found| self.secrets.owners[found.pattern().as_usize()]));
        }
        found.iter().map(|owner| self.secrets.names[*owner].clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pairs(values: &[(&str, &str)]) -> Vec<(String, String)> {
        values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn values_become_their_names() {
        let pairs = pairs(&[("KEY", "abcdefghijkl"), ("SHORT", "abc"), ("HOME", "/home/somebody")]);
        assert_eq!(
            redact("a abcdefghijkl, abc, abcdefghijklabcdefghijkl /home/somebody", &pairs),
            "a [redacted:KEY], abc, [redacted:KEY][redacted:KEY] /home/somebody"
        );
        assert_eq!(redact("nothing", &[]), "nothing");
    }

    #[test]
    fn the_longest_value_is_replaced_and_a_value_inside_of_it_is_found_too() {
        let pairs = pairs(&[("IN", "abcdefghijkl"), ("OUT", "abcdefghijklmn"), ("SAME", "abcdefghijkl")]);
        assert_eq!(redact("xabcdefghijklmny", &pairs), "x[redacted:OUT]y");
        let secrets = Secrets::new(pairs.clone());
        assert_eq!(secrets.found_in(b"xabcdefghijklmny"), ["IN", "OUT"]);
        assert_eq!(secrets.found_in(b"nothing"), [""; 0]);
        assert!(!format!("{secrets:?}").contains("abcdef"));
    }

    #[test]
    fn a_key_of_several_lines_is_found_in_json_and_around_blanks() {
        let pairs = pairs(&[("PEM", "line one\nline \"two\"\n")]);
        let json = serde_json::to_string("x line one\nline \"two\"\n y").unwrap();
        assert_eq!(redact(&json, &pairs), "\"x [redacted:PEM]\\n y\"");
        assert_eq!(redact("line one\nline \"two\"", &pairs), "[redacted:PEM]");
    }

    const KEY: &str = "sk-live/9+f=\u{e9}\"x";

    /// Every way in which a harness or a tool may write a value.
    fn forms(value: &str) -> Vec<String> {
        let escape = |c: char| {
            let mut units = [0; 2];
            c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect::<String>()
        };
        let percent = |byte: &u8| format!("%{byte:02X}");
        let json = serde_json::to_string(value).unwrap();
        let json = json[1..json.len() - 1].to_owned();
        let nested = serde_json::to_string(&json).unwrap();
        let hex = |value: &str| value.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
        vec![
            value.to_owned(),
            json.clone(),
            json.replace('/', "\\/"),
            nested[1..nested.len() - 1].to_owned(),
            value.chars().map(escape).collect(),
            format!("{}{}", escape('s'), &value[1..]),
            format!("\\{}{}", escape('s'), &value[1..]),
            value.bytes().map(|byte| percent(&byte)).collect(),
            value.replace('/', "%2F").replace('+', "%2B").replace('=', "%3d"),
            hex(value),
            hex(value).to_uppercase(),
            value.bytes().map(|byte| format!("\\x{byte:02x}")).collect(),
        ]
    }

    #[test]
    fn a_value_is_found_in_whatever_form_it_is_written_and_wherever_it_is_cut() {
        let secrets = Secrets::new([("KEY", KEY)]);
        for form in forms(KEY) {
            let text = format!("before {form} after");
            assert_eq!(secrets.redact(&text), "before [redacted:KEY] after", "{form}");
            assert_eq!(secrets.found_in(text.as_bytes()), ["KEY"], "{form}");
            for cut in 0..=text.len() {
                let (mut redactor, mut scanner) = (secrets.redactor(), secrets.scanner());
                let mut out = redactor.write(&text.as_bytes()[..cut]);
                out.extend(redactor.write(&text.as_bytes()[cut..]));
                out.extend(redactor.finish());
                assert_eq!(String::from_utf8(out).unwrap(), "before [redacted:KEY] after", "{form} at {cut}");
                scanner.write(&text.as_bytes()[..cut]);
                scanner.write(&text.as_bytes()[cut..]);
                assert_eq!(scanner.found(), ["KEY"], "{form} at {cut}");
            }
        }
    }

    #[test]
    fn a_value_in_base64_is_found_at_every_offset() {
        let secrets = Secrets::new([("KEY", KEY)]);
        for before in ["", "x", "xy", "user:"] {
            for after in ["", "!", "!!"] {
                for (plus, slash) in [('+', '/'), ('-', '_')] {
                    let text = secret_forms::base64(format!("{before}{KEY}{after}").as_bytes(), plus, slash);
                    assert!(secrets.redact(&text).contains("[redacted:KEY]"), "{before:?} {after:?}: {text}");
                    assert!(secrets.redact(&text).len() < 40, "{}", secrets.redact(&text));
                }
            }
        }
    }

    #[test]
    fn text_with_escapes_of_its_own_is_left_as_it_is() {
        let secrets = Secrets::new([("KEY", KEY)]);
        for text in [
            r"C:\new\u00zz 100% \",
            "\\u00",
            "%4",
            "50%",
            r"a\/b \u0073 \x4",
            "\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\",
        ] {
            assert_eq!(secrets.redact(text), text);
        }
    }

    #[test]
    fn the_shortest_length_can_be_chosen() {
        let pairs = [("PIN", "hunter2")];
        assert_eq!(Secrets::new(pairs).redact("hunter2"), "hunter2");
        assert_eq!(Secrets::at_least(6, pairs).redact("a hunter2"), "a [redacted:PIN]");
    }

    /// Two letters and long repeats: values overlap each other and themselves as badly as they can.
    fn value() -> impl Strategy<Value = String> {
        "[ab]{12,16}"
    }

    proptest! {
        #[test]
        fn a_stream_is_redacted_as_its_whole(
            values in proptest::collection::vec(value(), 0..4),
            pieces in proptest::collection::vec(prop_oneof![value(), "[abé]{0,5}".boxed()], 0..8),
            repeat in 0_usize..3,
            cuts in proptest::collection::vec(0_usize..200, 0..12),
        ) {
            let named: Vec<(String, String)> =
                values.iter().enumerate().map(|(number, value)| (format!("V{number}"), value.clone())).collect();
            let mut text = pieces.concat();
            for value in values.iter().cycle().take(values.len() * repeat) {
                text.push_str(value);
            }
            let secrets = Secrets::new(named.clone());
            // The whole string, by the plainest means: leftmost, then longest.
            let mut plain = String::new();
            let mut rest = text.as_str();
            while let Some(first) = rest.chars().next() {
                let best = named.iter().filter(|(_, value)| rest.starts_with(value.as_str())).max_by(|a, b| {
                    a.1.len().cmp(&b.1.len()).then_with(|| b.0.cmp(&a.0))
                });
                match best {
                    Some((name, value)) => {
                        plain.push_str(&format!("[redacted:{name}]"));
                        rest = &rest[value.len()..];
                    }
                    None => {
                        plain.push(first);
                        rest = &rest[first.len_utf8()..];
                    }
                }
            }
            prop_assert_eq!(secrets.redact(&text), plain.clone());

            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let mut redactor = secrets.redactor();
            let mut scanner = secrets.scanner();
            let mut streamed = Vec::new();
            for pair in cuts.windows(2) {
                let chunk = &text.as_bytes()[pair[0]..pair[1]];
                streamed.extend(redactor.write(chunk));
                scanner.write(chunk);
            }
            streamed.extend(redactor.finish());
            prop_assert_eq!(String::from_utf8(streamed).unwrap(), plain);
            let there: BTreeSet<&String> = named.iter().filter(|(_, value)| text.contains(value.as_str())).map(|(_, value)| value).collect();
            prop_assert_eq!(scanner.found().len(), there.len());
            prop_assert_eq!(scanner.found(), secrets.found_in(text.as_bytes()));
        }

        #[test]
        fn nothing_is_held_back_for_long(text in "[ -~]{0,200}") {
            let secrets = Secrets::new([("A", "abcdefghijkl")]);
            let mut redactor = secrets.redactor();
            let given = redactor.write(text.as_bytes()).len();
            // A value in base64 or hexadecimal is longer than itself, and the last escape may be cut.
            prop_assert!(text.len() - given < 24 + 16);
        }
    }
}
