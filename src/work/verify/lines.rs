//! The lines that a change adds, without a diff: a line that was there as often as it is now was not added.

use std::collections::HashMap;

/// With their numbers, counted from 1.
pub fn added_lines<'t>(before: &str, after: &'t str) -> Vec<(usize, &'t str)> {
    let mut known: HashMap<&str, usize> = HashMap::new();
    for line in before.lines() {
        *known.entry(line).or_default() += 1;
    }
    let mut added = Vec::new();
    for (index, line) in after.lines().enumerate() {
        match known.get_mut(line) {
            Some(times) if *times > 0 => *times -= 1,
            _ => added.push((index + 1, line)),
        }
    }
    added
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_were_there_are_not_added() {
        assert_eq!(added_lines("a\nb\n", "b\na\na\nc\r\n"), [(3, "a"), (4, "c")]);
        assert_eq!(added_lines("", ""), []);
    }
}
