//! Where claude finds its login: variables, its credentials file, a helper in its settings.

use crate::harness::login::{Login, UserFiles, first_set, has_text, read_json};
use serde_json::Value;

const KEYS: [&str; 3] = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"];
/// With these the cloud's own credentials are used.
const CLOUDS: [&str; 3] = ["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"];

pub fn login(user: &dyn UserFiles) -> Login {
    if let Some(name) = first_set(user, &KEYS) {
        return Login::Found(name);
    }
    if let Some(name) = first_set(user, &CLOUDS) {
        return Login::Found(format!("the cloud's own, {name}"));
    }
    let own = user.path_in_var("CLAUDE_CONFIG_DIR");
    let dir = own.clone().unwrap_or_else(|| user.home().join(".claude"));
    let credentials = dir.join(".credentials.json");
    match read_json(user, &credentials) {
        Ok(Some(value)) => {
            let oauth = &value["claudeAiOauth"];
            let expired = oauth["expiresAt"].as_i64().is_some_and(|at| at < user.now());
            if has_text(oauth, "refreshToken") || (has_text(oauth, "accessToken") && !expired) {
                return Login::Found(credentials.display().to_string());
            }
            if has_text(oauth, "accessToken") {
                return Login::Missing(format!("the login in {} has expired", credentials.display()));
            }
        }
        Ok(None) => {}
        Err(why) => return Login::Broken(why),
    }
    let settings = dir.join("settings.json");
    if read_json(user, &settings)
        .is_ok_and(|value| value.is_some_and(|value| value["apiKeyHelper"] != Value::Null))
    {
        return Login::Found(format!("apiKeyHelper in {}", settings.display()));
    }
    let state = own.unwrap_or_else(|| user.home()).join(".claude.json");
    if read_json(user, &state)
        .is_ok_and(|value| value.is_some_and(|value| value["primaryApiKey"].is_string()))
    {
        return Login::Found(state.display().to_string());
    }
    if cfg!(target_os = "macos") {
        return Login::NotNeeded("unknown: claude keeps its login in the keychain".into());
    }
    Login::Missing("no key in the environment and no login of claude's own".into())
}
