//! Models that a harness does not have, as far as their names tell. Gateways may serve any model, so this is a doubt.

use crate::harness::adapter;
use crate::model::tier::Harness;

/// What is odd about a model, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    pub message: String,
    pub fix: String,
}

pub fn doubt(model: &str, harness: Harness) -> Option<Doubt> {
    let lower = model.to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let is_of = |harness: Harness| adapter(harness).has_model(model);
    if !adapter(harness).model_words.is_empty() && !is_of(harness) {
        let other = Harness::ALL.into_iter().find(|other| is_of(*other));
        if let Some(other) = other {
            return Some(Doubt {
                message: format!("`{model}` looks like a model of {other}, and the harness is {harness}"),
                fix: format!("name a model of {harness}, or set `harness`"),
            });
        }
    }
    let known = || Harness::ALL.into_iter().flat_map(|harness| adapter(harness).model_words.iter().copied());
    let near = words.iter().find_map(|word| Some((*word, known().find(|known| is_slip(word, known))?)));
    near.filter(|(word, _)| !known().any(|known| known == *word)).map(|(word, near)| Doubt {
        message: format!("no harness is known to have a model `{model}`"),
        fix: format!("did you mean `{}`?", lower.replacen(word, near, 1)),
    })
}

/// Whether a word is another one with a letter too many, one missing, or two exchanged.
fn is_slip(word: &str, known: &str) -> bool {
    let letters = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    known.len() > 3
        && strsim::osa_distance(word, known) == 1
        && (word.len() != known.len() || letters(word) == letters(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fix(model: &str, harness: &str) -> Option<String> {
        doubt(model, harness.parse().unwrap()).map(|doubt| doubt.fix)
    }

    #[test]
    fn models_of_others_and_slips_are_doubted_and_nothing_else() {
        for (model, harness) in [
            ("opus", "claude"),
            ("claude-sonnet-4-6", "claude"),
            ("anthropic/claude-3-5-sonnet", "claude"),
            ("us.anthropic.claude-opus-4-20250514-v1:0", "claude"),
            ("glm-5", "claude"),
            ("gpt-5.4-mini", "codex"),
            ("openai-codex/gpt-5.3-codex", "codex"),
            ("o3", "codex"),
            ("qwen/qwen3-coder", "codex"),
            ("qwen/qwen3-coder", "opencode"),
            ("opencode/gpt-5-nano", "opencode"),
            ("anthropic/claude-opus-4", "opencode"),
        ] {
            assert_eq!(fix(model, harness), None, "{model} on {harness}");
        }
        assert_eq!(fix("gpt-5.4", "claude").as_deref(), Some("name a model of claude, or set `harness`"));
        assert_eq!(fix("sonnet", "codex").as_deref(), Some("name a model of codex, or set `harness`"));
        assert_eq!(fix("claude-sonet", "claude").as_deref(), Some("did you mean `claude-sonnet`?"));
        assert_eq!(fix("hiaku", "claude").as_deref(), Some("did you mean `haiku`?"));
        assert_eq!(
            fix("anthropic/claude-opsu-4", "opencode").as_deref(),
            Some("did you mean `anthropic/claude-opus-4`?")
        );
    }
}
