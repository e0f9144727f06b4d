//! Cuts a stream into lines without ever holding more than one of them. What a line means is not known here.

/// A line longer than this is cut: no harness has a use for it, and memory is not endless.
const LONGEST: usize = 16 << 20;

#[derive(Debug, Default)]
pub struct Lines {
    /// The beginning of a line whose end has not come yet.
    begun: Vec<u8>,
    /// The rest of a line that is too long is passed over.
    skipping: bool,
}

impl Lines {
    /// Takes the next piece of the stream and hands on every line that it completes.
    pub fn take(&mut self, mut bytes: &[u8], mut each: impl FnMut(&[u8])) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(end);
            bytes = &rest[1..];
            if self.skipping {
                self.skipping = false;
            } else if self.begun.is_empty() {
                each(line);
            } else {
                self.begin(line);
                each(&std::mem::take(&mut self.begun));
                // What the rest of a cut line was, it ended here.
                self.skipping = false;
            }
        }
        if !self.skipping {
            self.begin(bytes);
            if self.skipping {
                each(&std::mem::take(&mut self.begun));
            }
        }
    }

    /// The last line, where the stream ended without a line break.
    pub fn finish(&mut self, each: impl FnOnce(&[u8])) {
        let last = std::mem::take(&mut self.begun);
        if !last.is_empty() {
            each(&last);
        }
    }

    fn begin(&mut self, bytes: &[u8]) {
        let room = LONGEST - self.begun.len().min(LONGEST);
        self.begun.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.skipping = bytes.len() > room;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(pieces: &[&[u8]]) -> Vec<Vec<u8>> {
        let (mut lines, mut got) = (Lines::default(), Vec::new());
        for piece in pieces {
            lines.take(piece, |line| got.push(line.to_vec()));
        }
        lines.finish(|line| got.push(line.to_vec()));
        got
    }

    #[test]
    fn lines_come_whole_however_the_stream_is_cut() {
        let text = b"one\n\ntwo three\nfour";
        let whole = cut(&[text]);
        assert_eq!(whole, [b"one".to_vec(), b"".to_vec(), b"two three".to_vec(), b"four".to_vec()]);
        for at in 0..text.len() {
            assert_eq!(cut(&[&text[..at], &text[at..]]), whole, "cut at {at}");
        }
    }

    #[test]
    fn a_line_without_end_is_cut_and_the_next_one_is_read() {
        let long = vec![b'x'; LONGEST / 2 + 1];
        let got = cut(&[&long, &long, &long, b"rest\nnext\n"]);
        assert_eq!(got.iter().map(Vec::len).collect::<Vec<_>>(), [LONGEST, 4]);
        assert_eq!(got[1], b"next");
    }
}
