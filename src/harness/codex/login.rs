//! Where codex finds its login: a variable, `auth.json`, or a model provider of the user's own.

use crate::harness::login::{Login, UserFiles, first_set, has_text, read_json};
use toml::Table;

pub fn login(user: &dyn UserFiles) -> Login {
    if let Some(name) = first_set(user, &["CODEX_API_KEY"]) {
        return Login::Found(name);
    }
    let dir = user.path_in_var("CODEX_HOME").unwrap_or_else(|| user.home().join(".codex"));
    let auth = dir.join("auth.json");
    match read_json(user, &auth) {
        Ok(Some(value)) => {
            if has_text(&value, "OPENAI_API_KEY") || value["tokens"].is_object() {
                return Login::Found(auth.display().to_string());
            }
        }
        Ok(None) => {}
        Err(why) => return Login::Broken(why),
    }
    let config = dir.join("config.toml");
    let text = user.read(&config).ok().flatten().unwrap_or_default();
    if let Some(provider) = own_provider(&text) {
        let place = format!("model provider `{}` in {}", provider.name, config.display());
        return match provider.env_key {
            Some(key) if user.var(&key).is_some() => Login::Found(format!("{place}, {key}")),
            Some(key) => Login::Missing(format!("{place} wants {key}, which is not set")),
            None => Login::Found(place),
        };
    }
    if user.var("OPENAI_API_KEY").is_some() {
        return Login::Missing("codex does not read OPENAI_API_KEY from the environment".into());
    }
    Login::Missing("no key in the environment and no login of codex's own".into())
}

/// The provider that codex's config chooses.
#[derive(Debug, PartialEq, Eq)]
struct Provider {
    name: String,
    env_key: Option<String>,
}

/// `None` for codex's own provider, and for a config that is not TOML: codex itself reports that.
fn own_provider(text: &str) -> Option<Provider> {
    let config: Table = text.parse().ok()?;
    let name = config.get("model_provider")?.as_str().filter(|name| *name != "openai")?;
    let provider = config.get("model_providers").and_then(|all| all.get(name));
    let env_key = provider.and_then(|provider| provider.get("env_key")?.as_str()).map(str::to_owned);
    Some(Provider { name: name.to_owned(), env_key })
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
        assert_eq!(own_provider("model_provider = "), None);
        let local = Provider { name: "local".into(), env_key: None };
        assert_eq!(own_provider("model_provider = \"local\""), Some(local));
    }
}
