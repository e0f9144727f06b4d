//! Splits a stream of bytes into lines without colours and control characters. Keeps at most the beginning of one line.

/// What is longer is cut: no runner prints a line of its own that long.
pub const LONGEST_LINE: usize = 8 * 1024;

#[derive(Debug, Default)]
pub struct LineSplitter {
    buffer: Vec<u8>,
}

impl LineSplitter {
    pub fn feed(&mut self, bytes: &[u8], sink: &mut dyn FnMut(&str)) {
        let mut rest = bytes;
        // A carriage return ends a line too: progress bars write over themselves.
        while let Some(end) = memchr::memchr2(b'\n', b'\r', rest) {
            self.keep(&rest[..end]);
            self.emit(sink);
            rest = &rest[end + 1..];
        }
        self.keep(rest);
    }

    pub fn finish(&mut self, sink: &mut dyn FnMut(&str)) {
        self.emit(sink);
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = LONGEST_LINE.saturating_sub(self.buffer.len());
        self.buffer.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn emit(&mut self, sink: &mut dyn FnMut(&str)) {
        if !self.buffer.is_empty() {
            let line = without_colours(&String::from_utf8_lossy(&self.buffer));
            sink(line.trim_end());
            self.buffer.clear();
        }
    }
}

/// A text without escape sequences and control characters; tabs stay.
pub fn without_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => match characters.next() {
                // CSI: parameters, then a final byte.
                Some('[') => {
                    for next in characters.by_ref() {
                        if matches!(next, '\u{40}'..='\u{7e}') {
                            break;
                        }
                    }
                }
                // OSC and its like: until BEL, or ESC and a backslash.
                Some(']' | 'P' | '_' | '^') => {
                    while let Some(next) = characters.next() {
                        if next == '\u{7}' {
                            break;
                        }
                        if next == '\u{1b}' {
                            characters.next_if_eq(&'\\');
                            break;
                        }
                    }
                }
                Some('(' | ')') => {
                    characters.next();
                }
                _ => {}
            },
            '\t' => plain.push('\t'),
            other if other.is_control() => {}
            other => plain.push(other),
        }
    }
    plain
}
