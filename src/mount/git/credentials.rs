//! Takes credentials out of the text of a git configuration, for the mount's own copy of it: headers for http (a CI checkout keeps its
//! token there), user names and passwords in urls, helpers that carry a password. It never touches the user's file.

use super::config_file::value_goes_on;
use std::ops::Range;

/// The configuration without its credentials; `None` where it has none.
pub(crate) fn without_credentials(config: &[u8]) -> Option<Vec<u8>> {
    let mut kept: Vec<u8> = Vec::with_capacity(config.len());
    let mut section = String::new();
    let mut lines = config.split_inclusive(|byte| *byte == b'\n');
    while let Some(line) = lines.next() {
        let mut rest = line;
        let mut has_header = false;
        while let (Some(header), after) = split_header(rest) {
            section = String::from_utf8_lossy(header).to_ascii_lowercase();
            kept.extend(without_userinfo(header));
            rest = after;
            has_header = true;
        }
        // A value goes on in the next line after a backslash, a comment does not.
        let mut whole = rest.to_vec();
        let mut quoted = false;
        let mut goes_on = value_of(rest).is_some_and(|value| value_goes_on(value, &mut quoted));
        while goes_on {
            let Some(more) = lines.next() else { break };
            goes_on = value_goes_on(more, &mut quoted);
            whole.extend_from_slice(more);
        }
        let is_continued = whole.len() > rest.len();
        let rest = whole.as_slice();
        if !is_secret(&section, rest) {
            let joined = if is_continued { joined(rest) } else { rest.to_vec() };
            let without = without_userinfo(&joined);
            // The lines stay as they are where nothing was taken out.
            kept.extend_from_slice(if without == joined { rest } else { &without });
        } else if has_header {
            kept.push(b'\n');
        }
    }
    (kept != config).then_some(kept)
}

/// The text without its credentials; `None` where it has none.
pub(crate) type Cleaner = fn(&[u8]) -> Option<Vec<u8>>;

/// A file that names a remote by its urls, without what is secret in them.
pub(crate) fn without_credentials_in_urls(text: &[u8]) -> Option<Vec<u8>> {
    let without = without_userinfo(text);
    (without != text).then_some(without)
}

fn ends_with_backslash(line: &[u8]) -> bool {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    line.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// What follows the key of a line; `None` for a comment or a key alone.
fn value_of(line: &[u8]) -> Option<&[u8]> {
    if matches!(line.trim_ascii_start().first(), None | Some(b'#' | b';')) {
        return None;
    }
    line.iter().position(|byte| *byte == b'=').map(|at| &line[at + 1..])
}

/// `[section "name"]` at the start of a line, and what follows it there.
fn split_header(line: &[u8]) -> (Option<&[u8]>, &[u8]) {
    let start = line.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    if line.get(start) != Some(&b'[') {
        return (None, line);
    }
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in line.iter().enumerate().skip(start) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b']' if !quoted => return (Some(&line[..=at]), &line[at + 1..]),
            _ => {}
        }
    }
    (None, line)
}

/// Whether a line is nothing but a credential.
fn is_secret(section: &str, line: &[u8]) -> bool {
    let text = String::from_utf8_lossy(line).to_ascii_lowercase();
    let key = text.split(['=', '#', ';']).next().unwrap_or_default().trim();
    let section = section.trim_start().trim_start_matches('[').trim_start();
    match key {
        "extraheader" | "cookiefile" | "sslkey" => section.starts_with("http"),
        "helper" => {
            section.starts_with("credential") && (text.contains("password") || text.contains("token"))
        }
        "auth" | "authorization" | "pat" => true,
        _ => {
            let key: String = key.chars().filter(char::is_ascii_alphanumeric).collect();
            WORDS.iter().any(|word| key.contains(word)) || COMMANDS.iter().any(|word| text.contains(word))
        }
    }
}

/// In the name of a setting or of a part of a url, without what separates words.
const WORDS: [&str; 4] = ["pass", "token", "secret", "apikey"];
/// In a command line: programs and headers that a credential follows.
const COMMANDS: [&str; 3] = ["sshpass", "authorization:", "private-token:"];

/// A value that goes on in the next line, as one.
fn joined(lines: &[u8]) -> Vec<u8> {
    let mut whole = Vec::with_capacity(lines.len());
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        let goes_on =
            ends_with_backslash(line).then(|| line.iter().rposition(|byte| *byte == b'\\')).flatten();
        whole.extend_from_slice(&line[..goes_on.unwrap_or(line.len())]);
    }
    whole
}

/// Urls without what is secret in them: `https://user:password@host` is `https://host`.
fn without_userinfo(text: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(text.len());
    let mut start = 0;
    for part in secret_parts(text) {
        kept.extend_from_slice(&text[start..part.start]);
        start = part.end;
    }
    kept.extend_from_slice(&text[start..]);
    kept
}

/// The same for a text whose length may not change: something else is in the place of what is secret. `None` where nothing is.
pub(crate) fn with_masked_urls(text: &[u8]) -> Option<Vec<u8>> {
    let parts = secret_parts(text);
    let mut masked = text.to_vec();
    for part in parts.iter().cloned() {
        let end = part.end - usize::from(text[part.end - 1] == b'@');
        masked[part.start..end].fill(b'x');
    }
    (!parts.is_empty() && masked != text).then_some(masked)
}

/// What stands before the host in urls, with the `@`. The user of ssh stays. A query that has a token in it goes as a whole.
fn secret_parts(text: &[u8]) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut at = 0;
    while let Some(colon) = memchr::memmem::find(&text[at..], b"://") {
        let before = &text[at..at + colon];
        at += colon + 3;
        let is_end = |byte: &u8| byte.is_ascii_whitespace() || b"/?#'".contains(byte);
        let rest = &text[at..];
        let authority = &rest[..rest.iter().position(is_end).unwrap_or(rest.len())];
        let scheme = before.rsplit(|byte| !byte.is_ascii_alphanumeric()).next().unwrap_or_default();
        let user = authority.iter().rposition(|byte| *byte == b'@');
        if let Some(end) = user
            && (scheme.starts_with(b"http") || authority[..end].contains(&b':'))
        {
            parts.push(at..at + end + 1);
            at += end + 1;
        }
        let rest = &text[at..];
        let url = rest.iter().position(|byte| byte.is_ascii_whitespace() || b"\"'".contains(byte));
        let url = &rest[..url.unwrap_or(rest.len())];
        if let Some(query) = url.iter().position(|byte| *byte == b'?')
            && has_secret(&url[query..])
        {
            parts.push(at + query..at + url.len());
            at += url.len();
        }
    }
    parts
}

fn has_secret(query: &[u8]) -> bool {
    let names = query.iter().filter(|byte| byte.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase);
    let names: Vec<u8> = names.collect();
    WORDS.iter().any(|word| memchr::memmem::find(&names, word.as_bytes()).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(config: &str) -> String {
        let kept = without_credentials(config.as_bytes()).unwrap_or_else(|| config.as_bytes().to_vec());
        String::from_utf8(kept).unwrap()
    }

    #[test]
    fn an_ordinary_configuration_stays_as_it_is() {
        let config = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = git@h.example:o/r.git\n\tpushurl = ssh://git@h.example/o/r\n\
            [user]\n\tname = A @ B\n[credential]\n\thelper = store\n[http]\n\tsslVerify = true\n# https://\n";
        assert_eq!(without_credentials(config.as_bytes()), None);
    }

    #[test]
    fn what_is_masked_stays_as_long_as_it_was() {
        let masked =
            |text: &str| with_masked_urls(text.as_bytes()).map(|text| String::from_utf8(text).unwrap());
        let text = "pull https://u:S@h.example/x main\n\0git@h.example:x https://h.example/?token=S\n";
        let without = "pull https://xxx@h.example/x main\n\0git@h.example:x https://h.example/xxxxxxxx\n";
        assert_eq!(masked(text).as_deref(), Some(without));
        assert_eq!(masked(without), None);
        assert_eq!(masked("pull ssh://git@h.example/x\n"), None);
    }

    #[test]
    fn headers_passwords_and_helpers_with_one_are_gone_and_the_rest_stays() {
        for (config, kept) in [
            (
                "[http \"https://h.example/\"]\n\textraheader = AUTHORIZATION: basic S\n\tproxy = x\n",
                "[http \"https://h.example/\"]\n\tproxy = x\n",
            ),
            ("[HTTP]\n ExtraHeader=S \\\n S2\n\tn = 1\n", "[HTTP]\n\tn = 1\n"),
            ("[http] extraheader = S\n[core]\n", "[http]\n[core]\n"),
            ("[core][http] extraheader = S\n[core]\n", "[core][http]\n[core]\n"),
            ("[http]\n# note \\\n\textraheader = S\n\tn = 1\n", "[http]\n# note \\\n\tn = 1\n"),
            ("[http]\n\tn = 1 ; x \\\n\textraheader = S\n", "[http]\n\tn = 1 ; x \\\n"),
            ("[http \"a]b\"]extraheader = S", "[http \"a]b\"]\n"),
            (
                "[remote \"o\"]\n\turl = https://x-access-token:S@h.example/o/r\n",
                "[remote \"o\"]\n\turl = https://h.example/o/r\n",
            ),
            (
                "[remote \"o\"]\n\turl = \"https://S@h.example/a@b\"\n",
                "[remote \"o\"]\n\turl = \"https://h.example/a@b\"\n",
            ),
            (
                "[url \"https://u:S@h.example/\"]\n\tinsteadOf = git@h.example:\n",
                "[url \"https://h.example/\"]\n\tinsteadOf = git@h.example:\n",
            ),
            ("[http]\n\tproxy = http://u:S@p.example:1\n", "[http]\n\tproxy = http://p.example:1\n"),
            (
                "[sendemail]\n\tsmtpPass = S\n\tsmtpUser = u\n[imap]\n\tpass = S\n[github]\n\toauth-token = S\n",
                "[sendemail]\n\tsmtpUser = u\n[imap]\n[github]\n",
            ),
            ("[core]\n\tsshCommand = sshpass -p S ssh\n\tbare = false\n", "[core]\n\tbare = false\n"),
            (
                "[remote \"o\"]\n\turl = https://h.example/x?private_token=S\n\tpushurl = https://u:S\\\nS@h.example/x\n",
                "[remote \"o\"]\n\turl = https://h.example/x\n\tpushurl = https://h.example/x\n",
            ),
            (
                "[remote \"o\"]\n\turl = https://u:\"S\"S@h.example/x\n",
                "[remote \"o\"]\n\turl = https://h.example/x\n",
            ),
            (
                "[credential]\n\thelper = \"!f() { echo password=S; }; f\"\n\tuseHttpPath = true\n",
                "[credential]\n\tuseHttpPath = true\n",
            ),
        ] {
            assert_eq!(text(config), kept);
            assert!(without_credentials(kept.as_bytes()).is_none(), "{kept}");
        }
    }

    proptest::proptest! {
        #[test]
        fn it_never_adds_anything_but_line_ends_and_settles_at_once(
            config in "(\\[[a-z\" ]{0,6}\\]|url=|extraheader=|https://|[a-z:@]{0,4}|\\\\|\n|\"| ){0,20}",
        ) {
            let once = text(&config);
            proptest::prop_assert!(once.len() <= config.len() + 1);
            proptest::prop_assert_eq!(text(&once), once);
        }
    }
}
