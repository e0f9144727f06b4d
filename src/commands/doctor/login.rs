//! Whether a harness is logged in, as far as its files and the environment tell. No request is made, and of what is
//! found only the place is said.

use super::Row;
use crate::host::Host;
use crate::model::tier::Harness;
use serde_json::Value;
use std::path::{Path, PathBuf};

pub const AREA: &str = "login";
/// Login files are small; what is not is none.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

/// What was found.
#[derive(Debug, PartialEq, Eq)]
pub enum Login {
    /// By this variable, file or setting.
    By(String),
    /// There is none; with what else is worth knowing.
    None(String),
    /// There is none, and it is not needed for everything.
    NotNeeded(String),
    /// A file that should hold it cannot be understood.
    Broken(String),
}

impl Login {
    /// Whether a run has a chance.
    pub fn is_enough(&self) -> bool {
        matches!(self, Login::By(_) | Login::NotNeeded(_))
    }

    pub fn row(self, harness: Harness) -> Row {
        let name = harness.name();
        let fix = match harness {
            Harness::Claude => "run `claude` and log in, or set ANTHROPIC_API_KEY",
            Harness::Codex => "codex login, or set CODEX_API_KEY",
            Harness::Opencode => "opencode auth login",
        };
        match self {
            Login::By(what) => Row::ok(AREA, name, what),
            Login::None(detail) | Login::NotNeeded(detail) => Row::warning(AREA, name, detail, fix),
            Login::Broken(detail) => Row::problem(AREA, name, detail, fix),
        }
    }
}

pub fn look(harness: Harness, host: &Host) -> Login {
    match harness {
        Harness::Claude => claude(host),
        Harness::Codex => codex(host),
        Harness::Opencode => opencode(host),
    }
}

fn claude(host: &Host) -> Login {
    const KEYS: [&str; 3] = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"];
    const CLOUDS: [&str; 3] =
        ["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"];
    if let Some(name) = first_set(host, &KEYS) {
        return Login::By(name);
    }
    if let Some(name) = first_set(host, &CLOUDS) {
        return Login::By(format!("the cloud's own, {name}"));
    }
    let home = host.home_dir().unwrap_or_default();
    let own = host.var("CLAUDE_CONFIG_DIR").map(|dir| host.absolute(&host.expand_tilde(dir)));
    let dir = own.clone().unwrap_or_else(|| home.join(".claude"));
    let credentials = dir.join(".credentials.json");
    match read_json(&credentials) {
        Ok(Some(value)) => {
            let oauth = value.get("claudeAiOauth");
            let has = |key: &str| {
                oauth
                    .and_then(|oauth| oauth.get(key))
                    .and_then(Value::as_str)
                    .is_some_and(|text| !text.is_empty())
            };
            let expires = oauth.and_then(|oauth| oauth.get("expiresAt")).and_then(Value::as_i64);
            let is_over = expires.is_some_and(|at| at < host.now().as_millisecond());
            if has("refreshToken") || (has("accessToken") && !is_over) {
                return Login::By(shown(&credentials));
            }
            if has("accessToken") {
                return Login::None(format!("the login in {} has expired", shown(&credentials)));
            }
        }
        Ok(None) => {}
        Err(why) => return Login::Broken(why),
    }
    let settings = dir.join("settings.json");
    if read_json(&settings).is_ok_and(|value| value.is_some_and(|value| value.get("apiKeyHelper").is_some()))
    {
        return Login::By(format!("apiKeyHelper in {}", shown(&settings)));
    }
    let state = own.unwrap_or(home).join(".claude.json");
    if read_json(&state).is_ok_and(|value| value.is_some_and(|value| value["primaryApiKey"].is_string())) {
        return Login::By(shown(&state));
    }
    if cfg!(target_os = "macos") {
        return Login::NotNeeded("cannot be told: claude keeps its login in the keychain".into());
    }
    Login::None("no key in the environment and no login of claude's own".into())
}

fn codex(host: &Host) -> Login {
    if let Some(name) = first_set(host, &["CODEX_API_KEY"]) {
        return Login::By(name);
    }
    let home = host.home_dir().unwrap_or_default();
    let dir = host.var("CODEX_HOME").map(|dir| host.absolute(&host.expand_tilde(dir)));
    let dir = dir.unwrap_or_else(|| home.join(".codex"));
    let auth = dir.join("auth.json");
    match read_json(&auth) {
        Ok(Some(value)) => {
            let has_key = value["OPENAI_API_KEY"].as_str().is_some_and(|key| !key.is_empty());
            if has_key || value["tokens"].is_object() {
                return Login::By(shown(&auth));
            }
        }
        Ok(None) => {}
        Err(why) => return Login::Broken(why),
    }
    let config = dir.join("config.toml");
    let text = read_text(&config).ok().flatten().unwrap_or_default();
    if let Some(provider) = own_provider(&text) {
        let place = format!("model provider `{}` in {}", provider.name, shown(&config));
        return match provider.env_key {
            Some(key) if host.var(&key).is_some() => Login::By(format!("{place}, {key}")),
            Some(key) => Login::None(format!("{place} wants {key}, which is not set")),
            None => Login::By(place),
        };
    }
    if host.var("OPENAI_API_KEY").is_some() {
        return Login::None("codex does not read OPENAI_API_KEY from the environment".into());
    }
    Login::None("no key in the environment and no login of codex's own".into())
}

/// The provider that codex's config chooses.
#[derive(Debug, PartialEq, Eq)]
struct Provider {
    name: String,
    env_key: Option<String>,
}

/// Two keys of a TOML file; a parser for the whole language would be more than the question is worth.
fn own_provider(text: &str) -> Option<Provider> {
    let mut table = String::new();
    let mut chosen = None;
    let mut env_keys = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            table = name.replace('"', "").trim().to_owned();
        } else if let Some((key, value)) = line.split_once('=') {
            let value =
                value.split('#').next().unwrap_or_default().trim().trim_matches(['"', '\'']).to_owned();
            match (table.as_str(), key.trim()) {
                ("", "model_provider") => chosen = Some(value),
                (_, "env_key") => env_keys.push((table.clone(), value)),
                _ => {}
            }
        }
    }
    let name = chosen.filter(|name| name != "openai")?;
    let of_chosen = env_keys.into_iter().find(|(table, _)| *table == format!("model_providers.{name}"));
    Some(Provider { env_key: of_chosen.map(|(_, key)| key), name })
}

fn opencode(host: &Host) -> Login {
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
    let home = host.home_dir().unwrap_or_default();
    let under = |variable: &str, usual: &str| {
        host.var(variable).map_or_else(|| home.join(usual), PathBuf::from).join("opencode")
    };
    let auth = under("XDG_DATA_HOME", ".local/share").join("auth.json");
    match read_json(&auth) {
        Ok(Some(Value::Object(providers))) if !providers.is_empty() => {
            let names: Vec<&str> = providers.keys().map(String::as_str).take(5).collect();
            return Login::By(format!("{} ({})", shown(&auth), names.join(", ")));
        }
        Ok(_) => {}
        Err(why) => return Login::Broken(why),
    }
    if let Some(name) = first_set(host, &KEYS) {
        return Login::By(name);
    }
    let config = under("XDG_CONFIG_HOME", ".config");
    let own = host.var("OPENCODE_CONFIG").map(|file| host.absolute(&host.expand_tilde(file)));
    let files = own.into_iter().chain(["opencode.json", "opencode.jsonc"].map(|name| config.join(name)));
    for file in files {
        // With comments it is no JSON, so this looks for the word.
        if read_text(&file).ok().flatten().is_some_and(|text| text.contains("\"provider\"")) {
            return Login::By(format!("provider in {}", shown(&file)));
        }
    }
    Login::NotNeeded("no login; only opencode's own free models can be used".into())
}

fn first_set(host: &Host, names: &[&str]) -> Option<String> {
    names.iter().find(|name| host.var(name).is_some()).map(|name| (*name).to_owned())
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// `None` where there is no file. The error says which file it is and nothing of what is in it.
fn read_json(path: &Path) -> Result<Option<Value>, String> {
    let Some(text) = read_text(path)? else { return Ok(None) };
    match serde_json::from_str(&text) {
        Ok(value) => Ok(Some(value)),
        Err(error) => Err(format!("{} is not valid JSON (line {})", shown(path), error.line())),
    }
}

fn read_text(path: &Path) -> Result<Option<String>, String> {
    let cannot = |why: String| format!("{} cannot be read: {why}", shown(path));
    match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(cannot(error.to_string())),
        Ok(metadata) if !metadata.is_file() || metadata.len() > MOST_BYTES => {
            Err(cannot("it is no file of that kind".into()))
        }
        Ok(_) => std::fs::read_to_string(path).map(Some).map_err(|error| cannot(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_provider_of_codex_is_found() {
        let text = "model_provider = \"mine\" # x\n[model_providers.other]\nenv_key = \"NO\"\n[model_providers.\"mine\"]\nenv_key='MY_KEY'\n";
        let mine = Provider { name: "mine".into(), env_key: Some("MY_KEY".into()) };
        assert_eq!(own_provider(text), Some(mine));
        assert_eq!(own_provider("[profiles.x]\nmodel_provider = \"mine\"\n"), None);
        assert_eq!(own_provider("model_provider = \"openai\""), None);
        let local = Provider { name: "local".into(), env_key: None };
        assert_eq!(own_provider("model_provider = \"local\""), Some(local));
    }
}
