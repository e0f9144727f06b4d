//! Matches a path against a pattern: `*`, `**`, `?`, `[a-z]`, as gitignore has them, always against the whole path. In time linear in
//! the path, whatever the pattern.

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Char(char),
    /// Any character but `/`.
    Any,
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
    /// Any number of characters but `/`.
    Star,
    /// `**/`: any number of whole directories; this and the next token belong together.
    Directories,
    InDirectory,
    /// `**` at the end: everything below.
    Below,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob(Vec<Token>);

/// Whether a text is a pattern rather than a path.
pub fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

impl Glob {
    pub fn new(pattern: &str) -> Glob {
        let chars: Vec<char> = pattern.chars().collect();
        let mut tokens = Vec::new();
        let mut index = 0;
        while let Some(&c) = chars.get(index) {
            match c {
                '*' => {
                    let run = chars[index..].iter().take_while(|c| **c == '*').count();
                    let after = index + run;
                    let is_whole = index == 0 || chars[index - 1] == '/';
                    index = after;
                    match chars.get(after) {
                        Some('/') if run >= 2 && is_whole => {
                            tokens.extend([Token::Directories, Token::InDirectory]);
                            index += 1;
                        }
                        None if run >= 2 && is_whole => tokens.push(Token::Below),
                        _ => tokens.push(Token::Star),
                    }
                    continue;
                }
                '?' => tokens.push(Token::Any),
                '[' => {
                    if let Some((class, end)) = class(&chars, index) {
                        tokens.push(class);
                        index = end;
                        continue;
                    }
                    tokens.push(Token::Char('['));
                }
                '\\' if index + 1 < chars.len() => {
                    index += 1;
                    tokens.push(Token::Char(chars[index]));
                }
                c => tokens.push(Token::Char(c)),
            }
            index += 1;
        }
        Glob(tokens)
    }

    pub fn matches(&self, path: &str) -> bool {
        let end = self.0.len();
        let mut here = vec![false; end + 1];
        here[0] = true;
        self.skip_empty(&mut here);
        for c in path.chars() {
            let mut next = vec![false; end + 1];
            for (index, token) in self.0.iter().enumerate().filter(|(index, _)| here[*index]) {
                match token {
                    Token::Char(wanted) => next[index + 1] |= c == *wanted,
                    Token::Any | Token::Directories => next[index + 1] |= c != '/',
                    Token::Class { negated, ranges } => {
                        let is_in = ranges.iter().any(|(from, to)| (*from..=*to).contains(&c));
                        next[index + 1] |= c != '/' && is_in != *negated;
                    }
                    Token::Star => next[index] |= c != '/',
                    Token::InDirectory if c == '/' => next[index - 1] = true,
                    Token::InDirectory => next[index] = true,
                    Token::Below => {
                        next[index] = true;
                        next[index + 1] = true;
                    }
                }
            }
            self.skip_empty(&mut next);
            here = next;
        }
        here[end]
    }

    /// What matches nothing is passed without a character.
    fn skip_empty(&self, states: &mut [bool]) {
        for (index, token) in self.0.iter().enumerate() {
            if states[index] {
                match token {
                    Token::Star => states[index + 1] = true,
                    Token::Directories => states[index + 2] = true,
                    _ => {}
                }
            }
        }
    }
}

/// `[a-z]` from its bracket, and the index behind it. None if it is not closed.
fn class(chars: &[char], start: usize) -> Option<(Token, usize)> {
    let mut index = start + 1;
    let negated = matches!(chars.get(index), Some('!' | '^'));
    index += usize::from(negated);
    let mut ranges = Vec::new();
    let first = index;
    loop {
        let c = *chars.get(index)?;
        if c == ']' && index > first {
            return Some((Token::Class { negated, ranges }, index + 1));
        }
        let is_range = chars.get(index + 1) == Some(&'-') && chars.get(index + 2).is_some_and(|c| *c != ']');
        if is_range {
            ranges.push((c, chars[index + 2]));
            index += 3;
        } else {
            ranges.push((c, c));
            index += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_paths() {
        let cases: [(&str, &[&str], &[&str]); 11] = [
            ("*.js", &["a.js", ".js"], &["src/a.js", "a.jsx", "a.js/b"]),
            ("src/*.js", &["src/a.js"], &["src/a/b.js", "a.js"]),
            ("src/**", &["src/a", "src/a/b.js"], &["src", "srcs/a", "a/src/b"]),
            ("**/a.js", &["a.js", "x/a.js", "x/y/a.js"], &["xa.js", "x/ba.js", "a.js/b"]),
            ("src/**/t.rs", &["src/t.rs", "src/a/b/t.rs"], &["src/at.rs", "t.rs", "src/a/t.rs/b"]),
            ("a?c", &["abc", "aéc"], &["ac", "a/c", "abbc"]),
            ("v[0-9].md", &["v1.md"], &["va.md", "v10.md"]),
            ("v[!0-9]", &["va"], &["v1", "v/"]),
            ("[]x]", &["]", "x"], &["[", "y"]),
            ("a**b", &["ab", "axxb"], &["a/b"]),
            ("a\\*[", &["a*["], &["ax["]),
        ];
        for (pattern, matching, other) in cases {
            let glob = Glob::new(pattern);
            for path in matching {
                assert!(glob.matches(path), "{pattern} {path}");
            }
            for path in other {
                assert!(!glob.matches(path), "{pattern} {path}");
            }
        }
    }

    #[test]
    fn a_hostile_pattern_takes_no_longer_than_its_length() {
        assert!(!Glob::new(&"*a".repeat(300)).matches(&"ab".repeat(1500)));
        assert!(Glob::new(&"*a".repeat(300)).matches(&"a".repeat(3000)));
        assert!(!Glob::new(&format!("{}b", "**/".repeat(300))).matches(&"a/".repeat(1000)));
    }
}
