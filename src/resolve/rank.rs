//! Ranks texts for a task by the words that they share with it: BM25 over weighted fields, offline and deterministic.

use super::stemmer::{stem, words};
use std::collections::{BTreeMap, BTreeSet};

/// One candidate: its fields, each with the weight of a word in it.
pub struct Choice<'a> {
    pub id: &'a str,
    pub fields: Vec<(&'static str, f64, String)>,
}

/// A candidate that matches the task.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked<'a> {
    pub id: &'a str,
    pub score: f64,
    pub reasons: Vec<Reason>,
}

/// A word of the task, and the fields in which it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    pub word: String,
    /// The related word that was found instead.
    pub related: Option<&'static str>,
    pub fields: Vec<&'static str>,
}

/// BM25's k1 and b: how fast repeated words stop counting, and how much the length of a field matters.
const SATURATION: f64 = 8.0;
const LENGTH: f64 = 0.6;
/// The share that a related word counts.
const RELATED_SHARE: f64 = 0.5;
/// The share of their rarity that two words of the task count extra where they are adjacent.
const ADJACENT: f64 = 0.4;

/// Words that say nothing about a task.
const STOP_WORDS: &str = "a an the and or of to in on for with is are be it its this that my our your me we you i when who do does \
    can should would please need want help from by at as into not no use using some any all has have if so \
    make get then there was will it's up against over out about down them after before why";

/// Words that developers use for the same kind of task.
const RELATED: [&str; 11] = [
    "refactor clean cleanup tidy restructure duplicate simplify rename split extract dead unused legacy move long",
    "debug bug crash hang broken error exception wrong freeze fix misbehave incorrect stuck panic",
    "profile performance slow memory leak latency fast faster speed load timeout optimise optimize debug",
    "document documentation docs doc readme guide tutorial manual typo wiki",
    "security secure vulnerability exploit injection cve attack xss csrf audit secret leaked password threat",
    "test coverage regression flaky unit e2e assert mock",
    "release publish ship version changelog tag",
    "review pr diff merge critique pull",
    "ci pipeline build workflow actions red failing compile lint",
    "implement build feature add develop code create new support write",
    "explain understand where how what trace works codebase onboard",
];

type Fields = Vec<(&'static str, f64, Vec<String>)>;

/// The choices that share a word with the task, best first; equals by their ids.
pub fn rank<'a>(task: &str, choices: &[Choice<'a>]) -> Vec<Ranked<'a>> {
    let wanted = wanted(task);
    let documents: Vec<Fields> = choices
        .iter()
        .map(|choice| {
            let stems = |text: &str| words(text).iter().map(|word| stem(word)).collect();
            choice.fields.iter().map(|(name, weight, text)| (*name, *weight, stems(text))).collect()
        })
        .collect();
    let averages = average_lengths(&documents);
    let mut scores: Vec<Ranked> =
        choices.iter().map(|choice| Ranked { id: choice.id, score: 0.0, reasons: Vec::new() }).collect();
    for (stem, word) in &wanted {
        let related = related_to(stem);
        let terms: Vec<(&str, Option<&'static str>, f64)> = std::iter::once((stem.as_str(), None, 1.0))
            .chain(related.iter().map(|(stem, word)| (stem.as_str(), Some(*word), RELATED_SHARE)))
            .map(|(term, related, share)| (term, related, share * rarity(term, &documents)))
            .collect();
        for (ranked, fields) in scores.iter_mut().zip(&documents) {
            // Related words do not add up.
            let mut best = 0.0_f64;
            let (mut places, mut by) = (Vec::new(), None);
            for (term, related, worth) in &terms {
                let (weight, names) = weight_of(term, fields, &averages);
                let score = worth * weight * (SATURATION + 1.0) / (weight + SATURATION);
                // The word itself comes first and is the better reason.
                if places.is_empty() || (score > best && *term != stem && !contains(stem, fields)) {
                    by = *related;
                    places = names;
                }
                best = best.max(score);
            }
            if best > 0.0 {
                ranked.score += best;
                ranked.reasons.push(Reason { word: word.clone(), related: by, fields: places });
            }
        }
    }
    for pair in wanted.windows(2) {
        let (first, second) = (&pair[0].0, &pair[1].0);
        let worth = ADJACENT * (rarity(first, &documents) + rarity(second, &documents)) / 2.0;
        for (ranked, fields) in scores.iter_mut().zip(&documents) {
            let are_adjacent =
                |stems: &Vec<String>| stems.windows(2).any(|two| two[0] == *first && two[1] == *second);
            if fields.iter().any(|(_, _, stems)| are_adjacent(stems)) {
                ranked.score += worth;
            }
        }
    }
    scores.retain(|ranked| ranked.score > 0.0);
    scores.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(b.id)));
    scores
}

/// The task's stems in order, each with its word.
fn wanted(task: &str) -> Vec<(String, String)> {
    let mut seen = BTreeSet::new();
    words(task)
        .into_iter()
        .filter(|word| !STOP_WORDS.split(' ').any(|stop| stop == word))
        .map(|word| (stem(&word), word))
        .filter(|(stem, _)| seen.insert(stem.clone()))
        .collect()
}

fn contains(term: &str, fields: &Fields) -> bool {
    fields.iter().any(|(_, _, stems)| stems.iter().any(|stem| stem == term))
}

/// Inverse document frequency: the rarer a word, the more it counts.
fn rarity(term: &str, documents: &[Fields]) -> f64 {
    let has_term = |fields: &&Fields| contains(term, fields);
    #[allow(clippy::cast_precision_loss)]
    let (all, having) = (documents.len() as f64, documents.iter().filter(has_term).count() as f64);
    (1.0 + (all - having + 0.5) / (having + 0.5)).ln()
}

fn average_lengths(documents: &[Fields]) -> BTreeMap<&'static str, f64> {
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
    term: &str,
    fields: &Fields,
    averages: &BTreeMap<&'static str, f64>,
) -> (f64, Vec<&'static str>) {
    let (mut weight, mut names) = (0.0, Vec::new());
    for (name, worth, stems) in fields {
        let times = stems.iter().filter(|stem| *stem == term).count();
        if times > 0 {
            #[allow(clippy::cast_precision_loss)]
            let (times, length) =
                (times as f64, stems.len() as f64 / averages.get(name).copied().unwrap_or(1.0));
            weight += worth * times / (1.0 - LENGTH + LENGTH * length);
            names.push(*name);
        }
    }
    (weight, names)
}

/// The stems of related words, with the words.
fn related_to(wanted: &str) -> BTreeMap<String, &'static str> {
    let stems =
        |row: &&'static str| row.split(' ').map(|word| (stem(word), word)).collect::<BTreeMap<_, _>>();
    let mut related: BTreeMap<String, &'static str> =
        RELATED.iter().map(stems).filter(|row| row.contains_key(wanted)).flatten().collect();
    related.remove(wanted);
    related
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
    fn the_best_match_comes_first_with_its_reasons() {
        let ranked = rank("Why does it crash? Please debug it", &choices());
        assert_eq!(ranked[0].id, "debugger");
        let reason =
            |word: &str, related, field| Reason { word: word.to_owned(), related, fields: vec![field] };
        assert_eq!(ranked[0].reasons, [reason("crash", None, "description"), reason("debug", None, "id")]);
        let related = &rank("it may freeze", &choices())[0].reasons[0];
        assert_eq!((related.word.as_str(), related.related.is_some()), ("freeze", true));
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
