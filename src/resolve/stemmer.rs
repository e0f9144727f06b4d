//! Splits a text into words and reduces English words to their stems: `reviewers`, `reviewing` and `review` are one.
//! Words of other languages stay as they are.

pub fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let is_end = |c: char| !c.is_alphanumeric();
    lower.split(is_end).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Suffixes, longest first.
const ENDINGS: [&str; 17] = [
    "ability", "ation", "ition", "ment", "able", "ible", "ness", "ator", "sion", "ion", "ity", "ing", "ure",
    "ed", "er", "ly", "al",
];

/// The word without its suffixes. The result need not be a word; it is the same for related words.
pub fn stem(word: &str) -> String {
    if !word.is_ascii() || word.len() < 4 {
        return word.to_owned();
    }
    let mut stem = word.to_owned();
    if let Some(rest) = stem.strip_suffix("ies") {
        stem = format!("{rest}y");
    } else if let Some(rest) = stem.strip_suffix('s').filter(|rest| !rest.ends_with(['s', 'u', 'i'])) {
        stem = rest.to_owned();
    }
    // Twice: `implementations`, `refactorings`, `leaked`.
    for _ in 0..2 {
        // A short ending needs little in front of it: `fixing`, but not `sec` of `secure`.
        let shortest = |ending: &str| if matches!(ending, "ing" | "ed" | "er") { 3 } else { 4 };
        let rest = ENDINGS.iter().find_map(|ending| {
            stem.strip_suffix(ending).filter(|rest| is_root(rest) && rest.len() >= shortest(ending))
        });
        match rest {
            Some(rest) => stem = rest.to_owned(),
            None => break,
        }
    }
    let mut stem = stem.as_str();
    // `debugg` of `debugger`, but not `ss` and `ll`, which are part of words.
    if let [.., a, b] = stem.as_bytes()
        && a == b
        && !matches!(b, b's' | b'l')
        && stem.len() > 3
    {
        stem = &stem[..stem.len() - 1];
    }
    for ending in ["ate", "at", "e", "y"] {
        if let Some(rest) =
            stem.strip_suffix(ending).filter(|rest| is_root(rest) && rest.len() > ending.len())
        {
            stem = rest;
            break;
        }
    }
    stem.to_owned()
}

/// At least three letters with a vowel.
fn is_root(text: &str) -> bool {
    text.len() >= 3 && text.contains(['a', 'e', 'i', 'o', 'u', 'y'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn related_words_have_one_stem() {
        let families: [&[&str]; 14] = [
            &["review", "reviews", "reviewer", "reviewing"],
            &["debug", "debugger", "debugging", "debugs"],
            &["write", "writer", "writing", "writes"],
            &["test", "tests", "tester", "testing"],
            &["implement", "implements", "implementation", "implementing"],
            &["document", "documents", "documentation"],
            &["secure", "security"],
            &["vulnerable", "vulnerability", "vulnerabilities"],
            &["migrate", "migration", "migrating"],
            &["architect", "architecture"],
            &["fail", "fails", "failing", "failure", "failed"],
            &["refactor", "refactorer", "refactoring"],
            &["query", "queries"],
            &["release", "releases", "released"],
        ];
        for family in families {
            let stems: BTreeSet<String> = family.iter().map(|word| stem(word)).collect();
            assert_eq!(stems.len(), 1, "{family:?}: {stems:?}");
        }
        for [one, other] in [["test", "text"], ["plan", "plant"], ["build", "bus"], ["rest", "restructure"]] {
            assert_ne!(stem(one), stem(other), "{one} {other}");
        }
        assert_eq!(stem("bus"), "bus");
    }
}
