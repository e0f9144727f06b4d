//! Where opencode finds its logins: `auth.json`, the variables of providers, a provider in its config. Without any, its own
//! free models still work.

use crate::harness::login::{Login, UserFiles, first_set, read_json};
use jsonc_parser::JsonValue;
use serde_json::Value;
use std::path::PathBuf;

const KEYS: [&str; 11] = [
    "OPENCODE_API_KEY",
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_GENERATIVE_AI_API_KEY",
    "GROQ_API_KEY",
    "XAI_API_KEY",
    "MISTRAL_API_KEY",
    "DEEPSEEK_API_KEY",
    "AWS_BEARER_TOKEN_BEDROCK",
];

pub fn login(user: &dyn UserFiles) -> Login {
    let below = |variable: &str, usual: &str| {
        user.var(variable).map_or_else(|| user.home().join(usual), PathBuf::from).join("opencode")
    };
    let auth = below("XDG_DATA_HOME", ".local/share").join("auth.json");
    match read_json(user, &auth) {
        Ok(Some(Value::Object(providers))) if !providers.is_empty() => {
            let names: Vec<&str> = providers.keys().map(String::as_str).take(5).collect();
            return Login::Found(format!("{} ({})", auth.display(), names.join(", ")));
        }
        Ok(_) => {}
        Err(why) => return Login::Broken(why),
    }
    if let Some(name) = first_set(user, &KEYS) {
        return Login::Found(name);
    }
    let config = below("XDG_CONFIG_HOME", ".config");
    let own = user.path_in_var("OPENCODE_CONFIG");
    let files = own.into_iter().chain(["opencode.json", "opencode.jsonc"].map(|name| config.join(name)));
    for file in files {
        let text = user.read(&file).ok().flatten().unwrap_or_default();
        if names_provider(&text) {
            return Login::Found(format!("provider in {}", file.display()));
        }
    }
    Login::NotNeeded("no login; only opencode's own free models can be used".into())
}

/// Both config files may have comments.
fn names_provider(text: &str) -> bool {
    let config = jsonc_parser::parse_to_value(text, &jsonc_parser::ParseOptions::default());
    matches!(config, Ok(Some(JsonValue::Object(config))) if config.get("provider").is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_is_found_in_a_config_with_comments() {
        assert!(names_provider("{ // mine\n \"provider\": {\"x\": {}}, }"));
        assert!(!names_provider("{\"agent\": {\"provider\": 1}} // \"provider\""));
        assert!(!names_provider("{\"provider\""));
    }
}
