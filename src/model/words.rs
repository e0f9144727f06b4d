//! Finds what a misspelt word was most likely meant to be. Only suggests; nothing is corrected.

/// The candidate that the user most likely meant, if one is near enough to suggest.
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    nearest_few(word, candidates).into_iter().next()
}

/// At most three candidates that the user may have meant, nearest first, each once.
pub fn nearest_few<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let word = word.to_lowercase();
    let score = |candidate: &str| {
        let candidate = candidate.to_lowercase();
        let prefix = word.len() >= 3 && (candidate.starts_with(&word) || word.starts_with(&candidate));
        // `reviewer` for `code-reviewer`.
        let part = word.len() >= 3 && candidate.split('-').any(|part| part == word);
        strsim::jaro_winkler(&word, &candidate).max(if prefix || part { 0.9 } else { 0.0 })
    };
    let mut near: Vec<(f64, &str)> = candidates
        .map(|candidate| (score(candidate), candidate))
        .filter(|(score, _)| *score >= 0.84)
        .collect();
    near.sort_by(|(a, first), (b, second)| b.total_cmp(a).then_with(|| first.cmp(second)));
    near.dedup_by_key(|(_, candidate)| *candidate);
    near.into_iter().map(|(_, candidate)| candidate).take(3).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_an_id_suggests_it() {
        let ids = ["analyst", "code-reviewer", "engineer", "security-reviewer"];
        assert_eq!(nearest_few("reviewer", ids.into_iter()), ["code-reviewer", "security-reviewer"]);
        assert_eq!(nearest_few("enginer", ids.into_iter()), ["engineer"]);
        assert_eq!(nearest_few("view", ids.into_iter()), <[&str; 0]>::default());
    }
}
