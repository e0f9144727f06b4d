//! The names of claude's models in other tools: what their menus show, and ids with a point in them. The models of other vendors are
//! left out, because claude cannot run them.

use super::persona_builder::PersonaBuilder;
use super::values;
use crate::harness::adapter;
use crate::model::tier::Harness;
use serde_json::Value;

/// Words that leave the choice to the harness.
const OWN: [&str; 3] = ["inherit", "default", "auto"];

const FAMILIES: [&str; 3] = ["sonnet", "opus", "haiku"];

/// Sets the model of a persona on claude. Of several the first one that claude has is meant.
pub fn take(builder: &mut PersonaBuilder) {
    let said: Vec<String> = match builder.as_written("model") {
        Some(Value::Array(models)) => models.iter().filter_map(values::text).collect(),
        _ => builder.text("model").into_iter().collect(),
    };
    let said: Vec<&str> = said.iter().map(|model| model.trim()).filter(|model| !model.is_empty()).collect();
    let harness: Option<Harness> = builder.harness().parse().ok();
    let is_model = |name: &str| harness.is_some_and(|harness| adapter(harness).has_model(name));
    if said.is_empty() {
    } else if let Some(model) = said.iter().find_map(|model| of_claude(model, &is_model)) {
        builder.set("model", model);
        builder.mapped("model", "model");
    } else if said.iter().any(|model| OWN.contains(&plain(model).to_ascii_lowercase().as_str())) {
        builder.mapped("model", "the harness's own model");
    } else {
        builder.warn(format!("`{}` is not a model of claude: the harness chooses one", said.join(", ")));
    }
}

/// Without what a menu adds in parentheses, such as `(copilot)` and `(Preview)`.
fn plain(said: &str) -> &str {
    said.split_once('(').map_or(said, |(name, _)| name).trim()
}

/// The name that claude knows the model by. `is_model`: whether it looks like one of its models at all.
fn of_claude(said: &str, is_model: &dyn Fn(&str) -> bool) -> Option<String> {
    let name = plain(said);
    let lower = name.to_ascii_lowercase();
    if OWN.contains(&lower.as_str()) || !is_model(name) {
        return None;
    }
    if FAMILIES.contains(&lower.as_str()) {
        return Some(lower);
    }
    let words: Vec<&str> = lower.split([' ', '-', '_', '\t']).filter(|word| !word.is_empty()).collect();
    let is_id = !name.contains(char::is_whitespace);
    let is_shown = match words.first() {
        Some(&"claude") => !is_id || name.contains('.') || words.len() == 1,
        Some(first) => (!is_id || name.contains('.')) && FAMILIES.contains(first),
        None => false,
    };
    if !is_shown {
        return is_id.then(|| name.to_owned());
    }
    let mut family = None;
    let mut version = None;
    for word in words {
        match word {
            "claude" | "thinking" | "preview" | "latest" => {}
            word if FAMILIES.contains(&word) => family = Some(word),
            word if version.is_none() && word.starts_with(|c: char| c.is_ascii_digit()) => {
                version = Some(word);
            }
            _ => return None,
        }
    }
    let family = family?;
    let Some(version) = version else { return Some(family.to_owned()) };
    let (major, minor) = version.split_once('.').unwrap_or((version, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(major) || !is_number(minor) {
        return None;
    }
    Some(match (major, minor) {
        // Their ids had the family last.
        ("3", "" | "0") => format!("claude-3-{family}-latest"),
        ("3", minor) => format!("claude-3-{minor}-{family}-latest"),
        ("4", "") => format!("claude-{family}-4-0"),
        (major, "") => format!("claude-{family}-{major}"),
        (major, minor) => format!("claude-{family}-{major}-{minor}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(said: &str) -> Option<String> {
        let harness: Harness = "claude".parse().expect("a harness");
        of_claude(said, &|name| adapter(harness).has_model(name))
    }

    #[test]
    fn names_of_menus_become_ids_and_ids_stay() {
        for (said, model) in [
            ("Claude Sonnet 4.5 (copilot)", "claude-sonnet-4-5"),
            ("Claude Opus 4.6 (Preview) (copilot)", "claude-opus-4-6"),
            ("claude sonnet 4", "claude-sonnet-4-0"),
            ("Claude Sonnet 3.7 Thinking", "claude-3-7-sonnet-latest"),
            ("Claude Haiku", "haiku"),
            ("Sonnet 4.5", "claude-sonnet-4-5"),
            ("claude-haiku-4.5", "claude-haiku-4-5"),
            ("Claude Opus 5", "claude-opus-5"),
            ("claude-sonnet-4-20250514", "claude-sonnet-4-20250514"),
            ("opus", "opus"),
            ("sonnet[1m]", "sonnet[1m]"),
            ("sonnet-4.5", "claude-sonnet-4-5"),
            ("claude-sonnet-4-5 (copilot)", "claude-sonnet-4-5"),
            ("Opus (Preview)", "opus"),
            ("us.anthropic.claude-opus-4-20250514-v1:0", "us.anthropic.claude-opus-4-20250514-v1:0"),
        ] {
            assert_eq!(named(said).as_deref(), Some(model), "{said}");
        }
        for foreign in [
            "GPT-5 (copilot)",
            "gpt-5",
            "Gemini 2.5 Pro",
            "Auto (copilot)",
            "auto",
            "openai/o3",
            "My Model",
            "Claude",
            "(x)",
            "",
            "1.10",
            "mixtral-8x7b",
            "openrouter/mixtral-8x7b",
        ] {
            assert_eq!(named(foreign), None, "{foreign}");
        }
    }
}
