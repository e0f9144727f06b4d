//! Git's format for binary content: deflated, in lines of base 85. It buffers no more than a line.

use crate::mount::git::blob::Blob;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::{self, Write};

const ALPHABET: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
/// Bytes on a line.
const LINE: usize = 52;

/// Both directions, so that the patch can also be reversed.
pub(super) fn write(old: &Blob, new: &Blob, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"GIT binary patch\n")?;
    literal(new, out)?;
    literal(old, out)
}

fn literal(blob: &Blob, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "literal {}", blob.size())?;
    let lines = Lines { out, line: Vec::with_capacity(LINE) };
    let mut encoder = ZlibEncoder::new(lines, Compression::default());
    blob.copy_to(&mut encoder)?;
    let mut lines = encoder.finish()?;
    lines.end_line()?;
    lines.out.write_all(b"\n")
}

struct Lines<'a> {
    out: &'a mut dyn Write,
    line: Vec<u8>,
}

impl Lines<'_> {
    fn end_line(&mut self) -> io::Result<()> {
        let length = u8::try_from(self.line.len()).map_err(io::Error::other)?;
        if length == 0 {
            return Ok(());
        }
        let mut text = vec![if length <= 26 { b'A' + length - 1 } else { b'a' + length - 27 }];
        for chunk in self.line.chunks(4) {
            let mut four = [0; 4];
            four[..chunk.len()].copy_from_slice(chunk);
            let mut number = u32::from_be_bytes(four);
            let mut five = [0; 5];
            for digit in five.iter_mut().rev() {
                *digit = ALPHABET[(number % 85) as usize];
                number /= 85;
            }
            text.extend(five);
        }
        text.push(b'\n');
        self.line.clear();
        self.out.write_all(&text)
    }
}

impl Write for Lines<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = bytes.len().min(LINE - self.line.len());
        self.line.extend_from_slice(&bytes[..length]);
        if self.line.len() == LINE {
            self.end_line()?;
        }
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
