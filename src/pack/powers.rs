//! What a persona of a pack asks for that takes protection away or starts programs. Pure; whoever installs it is told.

use crate::load::file;
use crate::model::shape::Object;
use serde_json::Value;
use std::path::Path;

/// The kind of the one power that no pack has unless it is allowed to.
pub const BYPASS: &str = "bypass";
const BYPASS_KEY: &str = "dangerouslyBypassApprovalsAndSandbox";

/// Variables by which a program runs other code, or talks to somebody else.
const VARIABLES: [&str; 14] = [
    "PATH",
    "SHELL",
    "BASH_ENV",
    "ENV",
    "ZDOTDIR",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PERL5OPT",
    "RUBYOPT",
    "JAVA_TOOL_OPTIONS",
    "NODE_EXTRA_CA_CERTS",
];
const STARTS: [&str; 5] = ["LD_", "DYLD_", "GIT_", "PYTHON", "NPM_CONFIG_"];
const ENDS: [&str; 3] = ["_BASE_URL", "_PROXY", "_CONFIG_DIR"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Power {
    /// A stable word for scripts.
    pub kind: &'static str,
    /// The key and what it means, after `asks for`.
    pub text: String,
}

/// In the order of how much they take away.
pub fn of_persona(object: &Object) -> Vec<Power> {
    let mut found = Vec::new();
    let mut add = |kind, text: String| found.push(Power { kind, text });
    for (key, settings) in settings(object) {
        if settings.get(BYPASS_KEY) == Some(&Value::Bool(true)) {
            add(BYPASS, format!("{key}.{BYPASS_KEY}: codex asks nothing and has no sandbox"));
        }
    }
    let text = |group: &str, key: &str| object.get(group)?.get(key)?.as_str();
    if text("permissions", "mode") == Some("bypassPermissions") {
        add(
            "permission-mode",
            "permissions.mode: bypassPermissions: nothing is asked before it is done".into(),
        );
    }
    for (key, settings) in settings(object) {
        if settings.get("sandboxMode").and_then(Value::as_str) == Some("danger-full-access") {
            add("sandbox-mode", format!("{key}.sandboxMode: danger-full-access: codex has no sandbox"));
        }
    }
    let list = |group: &str, key: &str| -> Vec<&str> {
        let list = object.get(group).and_then(|group| group.get(key)).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str).collect()
    };
    let revealed = list("mount", "revealPatterns");
    if !revealed.is_empty() {
        add(
            "reveals",
            format!("mount.revealPatterns: {}: secrets that are hidden otherwise", revealed.join(", ")),
        );
    }
    let allowed = list("permissions", "removeDeny");
    if !allowed.is_empty() {
        add("removes-deny", format!("permissions.removeDeny: {}: its base denies that", allowed.join(", ")));
    }
    if text("mount", "sandbox") == Some("off") {
        add("sandbox-off", "mount.sandbox: off: it runs wherever nothing can be protected".into());
    }
    for (name, server) in object.get("mcpServers").and_then(Value::as_object).into_iter().flatten() {
        let Some(command) = server.get("command").and_then(Value::as_str) else { continue };
        let args = server.get("args").and_then(Value::as_array).into_iter().flatten();
        let words: Vec<&str> = std::iter::once(command).chain(args.filter_map(Value::as_str)).collect();
        add("starts", format!("mcpServers.{name}: it starts `{}`", words.join(" ")));
    }
    for (name, value) in object.get("env").and_then(Value::as_object).into_iter().flatten() {
        if is_telling(name) {
            add(
                "environment",
                format!("env.{name}: {value}: it changes which programs run or where they talk to"),
            );
        }
    }
    found
}

/// The same of a file that may be anything.
pub fn of_text(text: &str) -> Vec<Power> {
    file::parse_object(Path::new("persona"), text).map(|object| of_persona(&object)).unwrap_or_default()
}

/// The settings of the harness, of all tiers and of each.
fn settings(object: &Object) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    found.extend(object.get("harnessSettings").map(|settings| ("harnessSettings".to_owned(), settings)));
    for (tier, runtime) in object.get("tiers").and_then(Value::as_object).into_iter().flatten() {
        let settings = runtime.get("harnessSettings");
        found.extend(settings.map(|settings| (format!("tiers.{tier}.harnessSettings"), settings)));
    }
    found
}

fn is_telling(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    VARIABLES.contains(&name.as_str())
        || STARTS.iter().any(|start| name.starts_with(start))
        || ENDS.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<&'static str> {
        of_text(text).into_iter().map(|power| power.kind).collect()
    }

    #[test]
    fn an_ordinary_persona_asks_for_nothing() {
        let ordinary = r#"{"id": "a", "permissions": {"mode": "plan"}, "mount": {"sandbox": "strict", "revealPatterns": []},
            "harnessSettings": {"dangerouslyBypassApprovalsAndSandbox": false, "sandboxMode": "read-only"},
            "mcpServers": {"w": {"url": "https://h.example"}}, "env": {"TOKEN": "$TOKEN", "GITHUB_TOKEN": "x"}}"#;
        assert_eq!(kinds(ordinary), [""; 0]);
        assert_eq!(kinds("[]"), [""; 0]);
    }

    #[test]
    fn tiers_count_and_so_do_variables_that_run_code() {
        let asks = r#"{"tiers": {"best": {"harnessSettings": {"dangerouslyBypassApprovalsAndSandbox": true}}},
            "env": {"LD_PRELOAD": "x", "ANTHROPIC_BASE_URL": "y", "path": "z"}}"#;
        assert_eq!(kinds(asks), ["bypass", "environment", "environment", "environment"]);
    }
}
