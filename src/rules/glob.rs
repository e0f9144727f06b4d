//! From a pattern in the grammar of gitignore to one that `globset` takes for the same: braces are ordinary characters to git, sets
//! have classes (`[[:digit:]]`) and escapes, and a tab at the end counts. It matches nothing itself.

/// The classes that git knows, as ranges.
const CLASSES: [(&str, &[(char, char)]); 12] = [
    ("alnum", &[('0', '9'), ('A', 'Z'), ('a', 'z')]),
    ("alpha", &[('A', 'Z'), ('a', 'z')]),
    ("blank", &[(' ', ' '), ('\t', '\t')]),
    ("cntrl", &[('\u{1}', '\u{1f}'), ('\u{7f}', '\u{7f}')]),
    ("digit", &[('0', '9')]),
    ("graph", &[('!', '~')]),
    ("lower", &[('a', 'z')]),
    ("print", &[(' ', '~')]),
    ("punct", &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')]),
    ("space", &[(' ', ' '), ('\t', '\r')]),
    ("upper", &[('A', 'Z')]),
    ("xdigit", &[('0', '9'), ('A', 'F'), ('a', 'f')]),
];

/// Whether git passes over a line: a lone `!` or `/` matches nothing, and to `ignore` everything.
pub fn says_nothing(pattern: &str) -> bool {
    pattern.trim_end().trim_start_matches('!').trim_matches('/').is_empty()
}

/// How much of a pattern costs more than a comparison: wildcards, and sets by their length.
pub fn wildcards(pattern: &str) -> usize {
    let (mut count, mut in_set, mut escaped) = (0, 0, false);
    for byte in pattern.bytes() {
        // Where a set ends is not known for sure: up to the next bracket.
        in_set += usize::from(in_set > 0);
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'*' | b'?' => count += 1,
            b'[' => {
                count += 1;
                in_set = in_set.max(1);
            }
            b']' => {
                count += in_set / 8;
                in_set = 0;
            }
            _ => {}
        }
    }
    count + in_set / 8
}

/// The pattern for `globset`. What git does not understand stays as it is.
pub fn for_globset(pattern: &str) -> String {
    let mut result = String::with_capacity(pattern.len() + 4);
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => {
                result.push(c);
                result.extend(rest.next());
            }
            '[' => match Set::parse(rest.as_str()) {
                Some((set, after)) => {
                    set.write(&mut result);
                    rest = after.chars();
                }
                None => result.push(c),
            },
            '{' | '}' => {
                result.push('\\');
                result.push(c);
            }
            // `ignore` would take it away at the end.
            '\t' => result.push_str("[\t]"),
            _ => result.push(c),
        }
    }
    result
}

/// `[...]`.
struct Set {
    is_negated: bool,
    ranges: Vec<(char, char)>,
}

impl Set {
    /// From what follows the bracket; also what follows the set. `None` if it does not end or has a class that does not exist.
    fn parse(text: &str) -> Option<(Set, &str)> {
        let inner = text.strip_prefix(['!', '^']).unwrap_or(text);
        let mut set = Set { is_negated: inner.len() < text.len(), ranges: Vec::new() };
        let mut rest = inner;
        // A bracket that comes first does not close it.
        while rest.len() == inner.len() || !rest.starts_with(']') {
            if let Some(class) = rest.strip_prefix("[:") {
                let (name, after) = class.split_once(":]")?;
                let (_, ranges) = CLASSES.iter().find(|(class, _)| *class == name)?;
                set.ranges.extend(*ranges);
                rest = after;
                continue;
            }
            let (low, after) = member(rest)?;
            let end = after.strip_prefix('-').filter(|end| !end.starts_with(']')).and_then(member);
            let (high, after) = end.unwrap_or((low, after));
            // The wrong way round, it has its start in it all the same.
            set.ranges.push((low, high.max(low)));
            rest = after;
        }
        Some((set, &rest[1..]))
    }

    /// A closing bracket must come first, a dash last, and nothing that negates the set right after the opening one.
    fn write(&self, result: &mut String) {
        let has = |wanted: char| self.ranges.iter().any(|(low, high)| (*low..=*high).contains(&wanted));
        result.push('[');
        if self.is_negated {
            result.push('!');
        }
        // The zero byte is in no name: it only takes the first place.
        result.push(if has(']') { ']' } else { '\0' });
        let ranges = self.ranges.iter().flat_map(|&range| without(']', range));
        for (low, high) in ranges.flat_map(|range| without('-', range)) {
            result.push(low);
            if low < high {
                result.extend(['-', high]);
            }
        }
        // To git no set matches what separates directories.
        if self.is_negated {
            result.push('/');
        }
        if has('-') {
            result.push('-');
        }
        result.push(']');
    }
}

/// A character of a set, which may be escaped.
fn member(text: &str) -> Option<(char, &str)> {
    let mut chars = text.chars();
    let first = chars.next()?;
    let member = if first == '\\' { chars.next()? } else { first };
    Some((member, chars.as_str()))
}

/// A range as one or two that leave a character out.
fn without(left_out: char, (low, high): (char, char)) -> impl Iterator<Item = (char, char)> {
    let beside = |by: i64| u32::try_from(i64::from(u32::from(left_out)) + by).ok().and_then(char::from_u32);
    let parts = if (low..=high).contains(&left_out) {
        [beside(-1).map(|end| (low, end)), beside(1).map(|start| (start, high))]
    } else {
        [Some((low, high)), None]
    };
    parts.into_iter().flatten().filter(|(low, high)| low <= high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ignore::gitignore::GitignoreBuilder;
    use std::process::Command;

    fn matches(pattern: &str, name: &str) -> bool {
        let mut builder = GitignoreBuilder::new("");
        if builder.add_line(None, &for_globset(pattern)).is_err() {
            return false;
        }
        builder.build().is_ok_and(|globs| globs.matched(name, false).is_ignore())
    }

    /// Every pattern on every name, compared with git.
    #[test]
    fn patterns_match_what_they_match_in_git() {
        let patterns = [
            "x[[:digit:]]y",
            "x[[:alpha:]_]y",
            "x[![:digit:]]y",
            "x[^[:space:]]y",
            "x[a\\]b]y",
            "x[]a]y",
            "x[!]a]y",
            "x[\\!a]y",
            "x[!!]y",
            "x[a-c-]y",
            "x[-a]y",
            "x[\\--a]y",
            "x[+--]y",
            "x[\\]-a]y",
            "x[[-a]y",
            "x[[:upper:]0-4]y",
            "x[[:punct:]]y",
            "x[[:nothing:]]y",
            "x[{}]y",
            "x{a,b}y",
            "x[ay",
            "x[]y",
            "x[^^]y",
            "x[a^]y",
            "x[[:digit:]-]y",
            "x[z-a]y",
            "*[[:digit:]]",
            "x?y",
            "[[:alpha:]]*y",
        ];
        let members = [
            "0", "5", "a", "B", "_", "]", "[", "-", "!", "^", "{", "}", "\\", " ", ",", "+", "a,b", "{a,b}",
            "", "z",
        ];
        let dir = tempfile::tempdir().unwrap();
        let git = |args: &[&str]| Command::new("git").args(args).current_dir(&dir).output().unwrap();
        assert!(git(&["init", "-q"]).status.success());
        for pattern in patterns {
            std::fs::write(dir.path().join(".gitignore"), format!("{pattern}\n")).unwrap();
            for name in
                members.map(|member| format!("x{member}y")).into_iter().chain(["q7".into(), "x0".into()])
            {
                let said = git(&["check-ignore", "-q", "--no-index", "--", &name]).status.success();
                assert_eq!(matches(pattern, &name), said, "{pattern} and {name}: {}", for_globset(pattern));
            }
        }
    }

    #[test]
    fn a_tab_at_the_end_counts() {
        assert!(matches("a\t", "a\t") && !matches("a\t", "a"));
    }
}
