//! Writes and reads names in git's patch syntax: on one line, quoted if they contain anything unusual. The quoted form is safe to show
//! on a terminal.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// A name with a prefix such as `a/`. Quotes more than git does, which git accepts: spaces, so that two names on one line can be told
/// apart.
pub(super) fn quoted(prefix: &str, path: &Path) -> String {
    let bytes = path.as_os_str().as_bytes();
    let is_plain = |byte: &u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
    if bytes.iter().all(is_plain) {
        return format!("{prefix}{}", path.display());
    }
    let mut text = format!("\"{prefix}");
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => {
                text.push('\\');
                text.push(char::from(byte));
            }
            b'\n' => text.push_str("\\n"),
            b'\t' => text.push_str("\\t"),
            b' '..=b'~' => text.push(char::from(byte)),
            _ => text.push_str(&format!("\\{byte:03o}")),
        }
    }
    text.push('"');
    text
}

/// Reads a name that `quoted` wrote at the start of a text; also returns the rest.
pub(super) fn unquoted(text: &[u8]) -> Option<(PathBuf, &[u8])> {
    let Some(mut rest) = text.strip_prefix(b"\"") else {
        let end = memchr::memchr(b' ', text).unwrap_or(text.len());
        return Some((path(text[..end].to_vec()), &text[end..]));
    };
    let mut name = Vec::new();
    loop {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        match byte {
            b'"' => return Some((path(name), rest)),
            b'\\' => {
                let (&escaped, after) = rest.split_first()?;
                rest = after;
                match escaped {
                    b'n' => name.push(b'\n'),
                    b't' => name.push(b'\t'),
                    b'0'..=b'3' => {
                        let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
                        name.push((escaped - b'0') * 64 + u8::from_str_radix(digits, 8).ok()?);
                        rest = &rest[2..];
                    }
                    other => name.push(other),
                }
            }
            other => name.push(other),
        }
    }
}

fn path(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn every_name_is_on_one_line_and_read_back() {
        for name in [
            &b"plain-1.txt"[..],
            b" sp ",
            b"new\nline",
            b"\xff\xfe\t",
            b"q\"uo\\te",
            b"\x1b[31m",
            "\u{fc}".as_bytes(),
        ] {
            let path = Path::new(OsStr::from_bytes(name));
            let text = quoted("a/", path);
            assert!(text.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{text}");
            let line = format!("{text} b/x");
            let (read, rest) = unquoted(line.as_bytes()).unwrap();
            assert_eq!((read.strip_prefix("a/").unwrap(), rest), (path, &b" b/x"[..]));
        }
        assert_eq!(unquoted(b"\"a/cut off"), None);
        assert_eq!(unquoted(b"\"a/\\"), None);
        assert_eq!(unquoted(b"\"a/\\3"), None);
    }
}
