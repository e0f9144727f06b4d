//! Ranks texts for a task by the words that they share with it: BM25 over weighted fields, offline and always the same.

use std::collections::{BTreeMap, BTreeSet};

/// One thing that may be chosen, as fields with what a word in them is worth.
pub struct Choice<'a> {
    pub id: &'a str,
    pub fields: Vec<(&'static str, f64, String)>,
}

/// A choice that has something to do with the task.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked<'a> {
    pub id: &'a str,
    pub score: f64,
    /// The words of the task, each with the fields in which it was found.
    pub reasons: Vec<(String, Vec<&'static str>)>,
}

/// How fast more of the same word stops to count, and how much the length of a field does.
const SATURATION: f64 = 1.2;
const LENGTH: f64 = 0.6;
/// A word that only starts like the task's.
const PREFIX: f64 = 0.4;
/// A word that means the same job.
const KINSHIP: f64 = 0.3;

/// Words that say nothing about a job.
const EMPTY: [&str; 72] = [
    "a", "an", "the", "and", "or", "of", "to", "in", "on", "for", "with", "is", "are", "be", "it", "its",
    "this", "that", "my", "our", "your", "me", "we", "you", "i", "why", "what", "when", "how", "which",
    "who", "do", "does", "can", "should", "would", "please", "need", "want", "help", "from", "by", "at",
    "as", "into", "not", "no", "use", "using", "some", "any", "all", "has", "have", "if", "so", "make",
    "get", "then", "there", "was", "will", "new", "it's", "up", "against", "over", "out", "about", "down",
    "me", "them",
];

/// The choices that share a word with the task, best first; equals by their ids.
pub fn rank<'a>(task: &str, choices: &[Choice<'a>]) -> Vec<Ranked<'a>> {
    let wanted = wanted(task);
    let documents: Vec<Vec<(&'static str, f64, Vec<String>)>> = choices
        .iter()
        .map(|choice| {
            choice.fields.iter().map(|(name, weight, text)| (*name, *weight, stems(text))).collect()
        })
        .collect();
    let averages = average_lengths(&documents);
    let mut scores: Vec<Ranked> =
        choices.iter().map(|choice| Ranked { id: choice.id, score: 0.0, reasons: Vec::new() }).collect();
    for (stem, word) in &wanted {
        let found: Vec<(f64, Vec<&'static str>)> =
            documents.iter().map(|fields| weight_of(stem, fields, &averages)).collect();
        let having = found.iter().filter(|(weight, _)| *weight > 0.0).count();
        #[allow(clippy::cast_precision_loss)]
        let (all, having) = (documents.len() as f64, having as f64);
        let rarity = (1.0 + (all - having + 0.5) / (having + 0.5)).ln();
        for (ranked, (weight, fields)) in scores.iter_mut().zip(found) {
            if weight > 0.0 {
                ranked.score += rarity * weight * (SATURATION + 1.0) / (weight + SATURATION);
                ranked.reasons.push((word.clone(), fields));
            }
        }
    }
    scores.retain(|ranked| ranked.score > 0.0);
    scores.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(b.id)));
    scores
}

/// The task's stems in its order, each with the word that it stands for.
fn wanted(task: &str) -> Vec<(String, String)> {
    let mut seen = BTreeSet::new();
    words(task)
        .filter(|word| !EMPTY.contains(&word.as_str()))
        .map(|word| (stem(&word), word))
        .filter(|(stem, _)| seen.insert(stem.clone()))
        .collect()
}

fn average_lengths(documents: &[Vec<(&'static str, f64, Vec<String>)>]) -> BTreeMap<&'static str, f64> {
    let mut sums: BTreeMap<&'static str, (usize, usize)> = BTreeMap::new();
    for (name, _, stems) in documents.iter().flatten() {
        let sum = sums.entry(name).or_default();
        *sum = (sum.0 + stems.len(), sum.1 + 1);
    }
    #[allow(clippy::cast_precision_loss)]
    let average = |(words, fields): (usize, usize)| (words as f64 / fields.max(1) as f64).max(1.0);
    sums.into_iter().map(|(name, sum)| (name, average(sum))).collect()
}

fn weight_of(
    wanted: &str,
    fields: &[(&'static str, f64, Vec<String>)],
    averages: &BTreeMap<&'static str, f64>,
) -> (f64, Vec<&'static str>) {
    let (mut weight, mut names) = (0.0, Vec::new());
    for (name, worth, stems) in fields {
        let times: f64 = stems.iter().map(|stem| likeness(wanted, stem)).sum();
        if times > 0.0 {
            #[allow(clippy::cast_precision_loss)]
            let length = stems.len() as f64 / averages.get(name).copied().unwrap_or(1.0);
            weight += worth * times / (1.0 - LENGTH + LENGTH * length);
            names.push(*name);
        }
    }
    (weight, names)
}

/// Words that people use for the same job. A word of the same row counts half.
const KIN: [&[&str]; 8] = [
    &["refactor", "clean", "cleanup", "tidy", "restructure", "duplicate", "simplify", "rename"],
    &["debug", "bug", "crash", "hang", "broken", "error", "exception", "wrong"],
    &["document", "documentation", "docs", "doc", "readme", "guide", "tutorial", "manual"],
    &["security", "secure", "vulnerability", "exploit", "injection", "cve", "attack", "xss"],
    &["test", "coverage", "regression", "flaky"],
    &["release", "publish", "ship", "version", "changelog"],
    &["review", "pr", "diff", "merge", "critique"],
    &["implement", "build", "feature", "add", "develop", "code"],
];

fn are_kin(a: &str, b: &str) -> bool {
    let has = |row: &[&str], stemmed: &str| row.iter().any(|word| stem(word) == stemmed);
    KIN.iter().any(|row| has(row, a) && has(row, b))
}

fn likeness(wanted: &str, found: &str) -> f64 {
    let (short, long) = if wanted.len() < found.len() { (wanted, found) } else { (found, wanted) };
    match () {
        () if wanted == found => 1.0,
        () if short.chars().count() >= 4 && long.starts_with(short) => PREFIX,
        () if are_kin(wanted, found) => KINSHIP,
        () => 0.0,
    }
}

fn words(text: &str) -> impl Iterator<Item = String> {
    let lower = text.to_lowercase();
    let words: Vec<String> = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect();
    words.into_iter()
}

fn stems(text: &str) -> Vec<String> {
    words(text).map(|word| stem(&word)).collect()
}

/// Without the ending of a plural, a doer or a doing: `reviewers`, `reviewing` and `review` are one.
fn stem(word: &str) -> String {
    if !word.is_ascii() || word.len() < 4 {
        return word.to_owned();
    }
    let mut stem = word;
    if let Some(rest) = stem.strip_suffix("ies") {
        return format!("{rest}y");
    }
    if let Some(rest) = stem.strip_suffix('s').filter(|rest| !rest.ends_with(['s', 'u', 'i'])) {
        stem = rest;
    }
    for ending in ["ing", "ed", "er", "or", "ly"] {
        if let Some(rest) = stem.strip_suffix(ending).filter(|rest| rest.len() >= 3) {
            stem = rest;
            break;
        }
    }
    let bytes = stem.as_bytes();
    // `debugg` of `debugger`, but not `ss` and `ll`, which words have of their own.
    if let [.., a, b] = bytes
        && a == b
        && !matches!(b, b's' | b'l')
        && stem.len() > 3
    {
        stem = &stem[..stem.len() - 1];
    }
    stem.strip_suffix('e').filter(|rest| rest.len() >= 3).unwrap_or(stem).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_of_one_kind_have_one_stem() {
        for family in [
            ["review", "reviews", "reviewer", "reviewing"],
            ["debug", "debugger", "debugging", "debugs"],
            ["write", "writer", "writing", "writes"],
            ["test", "tests", "tester", "testing"],
        ] {
            let stems: BTreeSet<String> = family.iter().map(|word| stem(word)).collect();
            assert_eq!(stems.len(), 1, "{family:?}: {stems:?}");
        }
        assert_eq!((stem("queries"), stem("bus")), ("query".into(), "bus".into()));
    }

    fn choices() -> Vec<Choice<'static>> {
        let choice = |id: &'static str, text: &str| Choice {
            id,
            fields: vec![("id", 3.0, id.to_owned()), ("description", 1.0, text.to_owned())],
        };
        vec![
            choice("code-reviewer", "Reviews a diff before merging"),
            choice("debugger", "Finds the cause of a bug or crash"),
            choice("docs-writer", "Writes documentation"),
        ]
    }

    #[test]
    fn the_one_that_speaks_of_the_task_comes_first_and_says_why() {
        let ranked = rank("Why does it crash? Please debug it", &choices());
        assert_eq!(ranked[0].id, "debugger");
        assert_eq!(
            ranked[0].reasons,
            [
                ("crash".to_owned(), vec!["id", "description"]),
                ("debug".to_owned(), vec!["id", "description"])
            ]
        );
        assert_eq!(rank("reviewing code", &choices())[0].id, "code-reviewer");
        assert_eq!(rank("a readme", &choices())[0].id, "docs-writer");
        assert!(rank("the of and", &choices()).is_empty());
    }

    proptest! {
        #[test]
        fn ranking_never_fails_and_is_always_the_same(task in ".{0,80}") {
            prop_assert_eq!(rank(&task, &choices()), rank(&task, &choices()));
        }
    }
}
