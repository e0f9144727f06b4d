//! Cuts texts to a number of tokens, four characters each, and says so. It does not know any model's real tokens.

use std::borrow::Cow;

pub const CHARACTERS_PER_TOKEN: usize = 4;

fn mark(tokens: usize) -> String {
    format!("[... cut at {tokens} tokens]")
}

/// How many tokens a text has, rounded up.
pub fn count(text: &str) -> usize {
    text.chars().count().div_ceil(CHARACTERS_PER_TOKEN)
}

pub fn fits(text: &str, tokens: usize) -> bool {
    // A text of few bytes needs no counting, and one that is far too long none either.
    let most = tokens.saturating_mul(CHARACTERS_PER_TOKEN);
    text.len() <= most || (text.len() <= most.saturating_mul(4) && text.chars().count() <= most)
}

/// The first so many characters.
fn head(text: &str, characters: usize) -> &str {
    text.char_indices().nth(characters).map_or(text, |(end, _)| &text[..end])
}

/// The last so many characters.
fn tail(text: &str, characters: usize) -> &str {
    if characters == 0 {
        return "";
    }
    text.char_indices().rev().nth(characters - 1).map_or(text, |(start, _)| &text[start..])
}

/// Keeps the beginning.
pub fn end_cut(text: &str, tokens: usize) -> Cow<'_, str> {
    if fits(text, tokens) {
        return Cow::Borrowed(text);
    }
    let mark = mark(tokens);
    let room = (tokens * CHARACTERS_PER_TOKEN).saturating_sub(mark.len() + 1);
    Cow::Owned(format!("{}\n{mark}", head(text, room).trim_end()))
}

/// Keeps the beginning and the end.
pub fn middle_cut(text: &str, tokens: usize) -> Cow<'_, str> {
    if fits(text, tokens) {
        return Cow::Borrowed(text);
    }
    let mark = mark(tokens);
    let room = (tokens * CHARACTERS_PER_TOKEN).saturating_sub(mark.len() + 2);
    let front = room / 2;
    Cow::Owned(format!("{}\n{mark}\n{}", head(text, front), tail(text, room - front)))
}

/// A head that says what is the matter, and output whose end is the newest: the beginning of the output is cut first.
pub fn newest_kept(first: &str, output: &str, tokens: usize) -> String {
    if output.is_empty() {
        return end_cut(first, tokens).into_owned();
    }
    let whole = format!("{first}\n\n{output}");
    if fits(&whole, tokens) {
        return whole;
    }
    // Output always has a quarter of the room.
    let first = end_cut(first, tokens - tokens / 4);
    let mark = mark(tokens);
    let used = first.chars().count() + mark.len() + 3;
    let room = (tokens * CHARACTERS_PER_TOKEN).saturating_sub(used);
    format!("{first}\n\n{mark}\n{}", tail(output, room))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_left_alone() {
        assert_eq!(end_cut("abcd", 1), "abcd");
        assert_eq!(middle_cut("", 0), "");
        assert_eq!(newest_kept("a", "b", 10), "a\n\nb");
        assert_eq!(end_cut(&"é".repeat(40), 10), "é".repeat(40));
    }

    #[test]
    fn what_is_cut_says_so_and_keeps_to_its_budget() {
        for text in ["x".repeat(5000), "é🎉".repeat(3000)] {
            for tokens in [10, 50, 300] {
                let results = [
                    end_cut(&text, tokens).into_owned(),
                    middle_cut(&text, tokens).into_owned(),
                    newest_kept(&text, &text, tokens),
                ];
                for result in results {
                    assert!(result.contains(&format!("[... cut at {tokens} tokens]")), "{result}");
                    assert!(count(&result) <= tokens || tokens < 20, "{} {tokens}", count(&result));
                }
            }
        }
    }

    #[test]
    fn the_end_of_the_output_stays() {
        let output: String = (0..1000).map(|line| format!("line {line}\n")).collect();
        let text = newest_kept(&"reason ".repeat(2000), &format!("{output}the last error"), 100);
        assert!(text.starts_with("reason") && text.ends_with("the last error"), "{text}");
        let text = middle_cut(&output, 50);
        assert!(text.starts_with("line 0") && text.ends_with("line 999\n"), "{text}");
    }
}
