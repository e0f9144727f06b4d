//! What a terminal in raw mode sends, as keys. Reads nothing itself.

/// One press of a key. What is not needed by a list is `Other`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    Char(char),
    Enter,
    Escape,
    Backspace,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    /// A letter with Ctrl.
    Ctrl(char),
    Other,
}

/// Bytes that have arrived and are not yet a whole key.
#[derive(Debug, Default)]
pub struct KeyReader {
    pending: Vec<u8>,
}

impl KeyReader {
    /// The keys that are complete with these bytes.
    pub fn read(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.pending.extend_from_slice(bytes);
        let mut keys = Vec::new();
        while let Some((key, length)) = first_key(&self.pending) {
            self.pending.drain(..length);
            keys.push(key);
        }
        keys
    }

    /// Whether more may belong to what has arrived: an Escape may be the start of another key.
    pub fn is_waiting(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Nothing more has come: the Escape was one.
    pub fn give_up(&mut self) -> Option<Key> {
        let pending = std::mem::take(&mut self.pending);
        (!pending.is_empty()).then(|| if pending == [0x1b] { Key::Escape } else { Key::Other })
    }
}

/// The first key and its length in bytes; `None` while it may go on.
fn first_key(bytes: &[u8]) -> Option<(Key, usize)> {
    let key = match *bytes.first()? {
        0x1b => return escape_sequence(bytes),
        b'\r' | b'\n' => Key::Enter,
        0x7f | 0x08 => Key::Backspace,
        control @ 0x01..=0x1a => Key::Ctrl(char::from(control - 1 + b'a')),
        0x00..=0x1f => Key::Other,
        _ => return character(bytes),
    };
    Some((key, 1))
}

fn character(bytes: &[u8]) -> Option<(Key, usize)> {
    let start = &bytes[..bytes.len().min(4)];
    let valid = match std::str::from_utf8(start) {
        Ok(text) => text,
        Err(error) if error.valid_up_to() == 0 => return error.error_len().map(|_| (Key::Other, 1)),
        Err(error) => std::str::from_utf8(&start[..error.valid_up_to()]).unwrap_or_default(),
    };
    valid.chars().next().map(|c| (Key::Char(c), c.len_utf8()))
}

fn escape_sequence(bytes: &[u8]) -> Option<(Key, usize)> {
    match bytes.get(1)? {
        b'[' | b'O' => {}
        // Escape twice, or Alt with a letter.
        0x1b => return Some((Key::Escape, 1)),
        _ => return Some((Key::Other, 2)),
    }
    let last = bytes.iter().skip(2).position(|byte| matches!(byte, 0x40..=0x7e))? + 2;
    let key = match &bytes[2..=last] {
        b"A" => Key::Up,
        b"B" => Key::Down,
        b"H" | b"1~" | b"7~" => Key::Home,
        b"F" | b"4~" | b"8~" => Key::End,
        b"5~" => Key::PageUp,
        b"6~" => Key::PageDown,
        _ => Key::Other,
    };
    Some((key, last + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_however_they_are_cut() {
        let text = "a\u{e9}\x1b[A\x1bOB\x1b[5~\x1b[6~\x1b[1;5C\r\x7f\x03日";
        let expected = [
            Key::Char('a'),
            Key::Char('é'),
            Key::Up,
            Key::Down,
            Key::PageUp,
            Key::PageDown,
            Key::Other,
            Key::Enter,
            Key::Backspace,
            Key::Ctrl('c'),
            Key::Char('日'),
        ];
        assert_eq!(KeyReader::default().read(text.as_bytes()), expected);
        let mut reader = KeyReader::default();
        let keys: Vec<Key> = text.as_bytes().iter().flat_map(|byte| reader.read(&[*byte])).collect();
        assert_eq!(keys, expected);
        assert!(!reader.is_waiting());
    }

    #[test]
    fn an_escape_is_one_when_nothing_follows() {
        let mut reader = KeyReader::default();
        assert_eq!(reader.read(b"\x1b"), []);
        assert!(reader.is_waiting());
        assert_eq!(reader.give_up(), Some(Key::Escape));
        assert_eq!(reader.give_up(), None);
    }

    #[test]
    fn no_bytes_stop_the_reading() {
        let mut reader = KeyReader::default();
        assert_eq!(reader.read(b"\xff\x00a"), [Key::Other, Key::Other, Key::Char('a')]);
    }
}
