//! Environment variables that configure a harness. A list of names; what is done about them is elsewhere.

/// Everything that begins like this is the harness's own affair, known to us or not.
const STARTS: [&str; 4] = ["ANTHROPIC_", "CLAUDE_", "CODEX_", "OPENCODE_"];

/// Where harnesses look for their configuration, and what makes them skip a check.
const NAMES: [&str; 7] = [
    "CLAUDECODE",
    "HOME",
    "IS_SANDBOX",
    "XDG_CONFIG_DIRS",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
];

/// Where harnesses, and the programs that start them, keep their files.
pub const PLACES: [&str; 8] = [
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "HOME",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
];

/// Logins, models and the like: they change nothing that a plan promises.
const HARMLESS: [&str; 14] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_DEFAULT_HAIKU_MODEL",
    "ANTHROPIC_DEFAULT_OPUS_MODEL",
    "ANTHROPIC_DEFAULT_SONNET_MODEL",
    "ANTHROPIC_MODEL",
    "ANTHROPIC_SMALL_FAST_MODEL",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_SUBAGENT_MODEL",
    "CODEX_API_KEY",
    "OPENCODE_API_KEY",
    "OPENCODE_DISABLE_AUTOUPDATE",
];

/// Whether a variable is a setting of a harness, other than a login or a model.
pub fn is_setting(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let known = NAMES.contains(&name.as_str()) || STARTS.iter().any(|start| name.starts_with(start));
    known && !HARMLESS.contains(&name.as_str())
}

/// Whether it could replace permissions, servers or settings that a plan calls enforced. Variables that say where requests go are
/// reported at install and passed on: this is how people set a provider of their own.
pub fn overrides_plan(name: &str) -> bool {
    is_setting(name) && !name.to_ascii_uppercase().starts_with("ANTHROPIC_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_kept_from_a_persona_and_logins_are_not() {
        for name in ["OPENCODE_PERMISSION", "CODEX_HOME", "CLAUDE_CODE_NEW_SWITCH", "IS_SANDBOX", "home"] {
            assert!(is_setting(name) && overrides_plan(name), "{name}");
        }
        assert!(is_setting("ANTHROPIC_BASE_URL") && !overrides_plan("ANTHROPIC_BASE_URL"));
        for name in ["ANTHROPIC_API_KEY", "CODEX_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "HOMER", "TOKEN"] {
            assert!(!is_setting(name), "{name}");
        }
    }
}
