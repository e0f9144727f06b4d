//! Settings of a pack's persona that weaken protection or start programs. Only finds them; `commands` warns or refuses.

use crate::load::file;
use crate::model::shape::Object;
use serde::Serialize;
use serde_json::Value;
use std::path::Path;

const BYPASS_KEY: &str = "dangerouslyBypassApprovalsAndSandbox";

/// Variables that make programs run other code or talk to other servers.
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

/// What a power does. Programs match on these words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PowerKind {
    /// No approvals and no sandbox: refused unless the user allows it.
    Bypass,
    PermissionMode,
    SandboxMode,
    /// Shows the agent files that are hidden by default.
    Reveals,
    /// Drops a denial of its base.
    RemovesDeny,
    SandboxOff,
    /// Starts a program.
    Starts,
    /// Sets a variable that makes programs run other code.
    Environment,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Power {
    pub kind: PowerKind,
    /// The key and what it means, to be written after `asks for`.
    pub text: String,
}

/// The most dangerous first.
pub fn of_persona(object: &Object) -> Vec<Power> {
    let mut found = Vec::new();
    let mut add = |kind, text: String| found.push(Power { kind, text });
    for (key, settings) in settings(object) {
        if settings.get(BYPASS_KEY) == Some(&Value::Bool(true)) {
            add(PowerKind::Bypass, format!("{key}.{BYPASS_KEY}: codex runs without approvals and sandbox"));
        }
    }
    let text = |group: &str, key: &str| object.get(group)?.get(key)?.as_str();
    if text("permissions", "mode") == Some("bypassPermissions") {
        add(PowerKind::PermissionMode, "permissions.mode: bypassPermissions: nothing needs approval".into());
    }
    for (key, settings) in settings(object) {
        if settings.get("sandboxMode").and_then(Value::as_str) == Some("danger-full-access") {
            add(
                PowerKind::SandboxMode,
                format!("{key}.sandboxMode: danger-full-access: codex runs without a sandbox"),
            );
        }
    }
    let list = |group: &str, key: &str| -> Vec<&str> {
        let list = object.get(group).and_then(|group| group.get(key)).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str).collect()
    };
    let revealed = list("mount", "revealPatterns");
    if !revealed.is_empty() {
        add(
            PowerKind::Reveals,
            format!("mount.revealPatterns: {}: files that are hidden by default", revealed.join(", ")),
        );
    }
    let allowed = list("permissions", "removeDeny");
    if !allowed.is_empty() {
        add(
            PowerKind::RemovesDeny,
            format!("permissions.removeDeny: {}: denied by its base", allowed.join(", ")),
        );
    }
    if text("mount", "sandbox") == Some("off") {
        add(PowerKind::SandboxOff, "mount.sandbox: off: it also runs where nothing can be protected".into());
    }
    for (name, server) in object.get("mcpServers").and_then(Value::as_object).into_iter().flatten() {
        let Some(command) = server.get("command").and_then(Value::as_str) else { continue };
        let args = server.get("args").and_then(Value::as_array).into_iter().flatten();
        let words: Vec<&str> = std::iter::once(command).chain(args.filter_map(Value::as_str)).collect();
        add(PowerKind::Starts, format!("mcpServers.{name}: starts `{}`", words.join(" ")));
    }
    for (name, value) in object.get("env").and_then(Value::as_object).into_iter().flatten() {
        if is_dangerous(name) {
            add(
                PowerKind::Environment,
                format!("env.{name}: {value}: changes which programs run or which servers they use"),
            );
        }
    }
    found
}

/// The powers in the text of a file, which may be invalid.
pub fn of_text(text: &str) -> Vec<Power> {
    file::parse_object(Path::new("persona"), text).map(|object| of_persona(&object)).unwrap_or_default()
}

/// The harness settings at the top level and of each tier.
fn settings(object: &Object) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    found.extend(object.get("harnessSettings").map(|settings| ("harnessSettings".to_owned(), settings)));
    for (tier, runtime) in object.get("tiers").and_then(Value::as_object).into_iter().flatten() {
        let settings = runtime.get("harnessSettings");
        found.extend(settings.map(|settings| (format!("tiers.{tier}.harnessSettings"), settings)));
    }
    found
}

fn is_dangerous(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    VARIABLES.contains(&name.as_str())
        || STARTS.iter().any(|start| name.starts_with(start))
        || ENDS.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<PowerKind> {
        of_text(text).into_iter().map(|power| power.kind).collect()
    }

    #[test]
    fn an_ordinary_persona_asks_for_nothing() {
        let ordinary = r#"{"id": "a", "permissions": {"mode": "plan"}, "mount": {"sandbox": "strict", "revealPatterns": []},
            "harnessSettings": {"dangerouslyBypassApprovalsAndSandbox": false, "sandboxMode": "read-only"},
            "mcpServers": {"w": {"url": "https://h.example"}}, "env": {"TOKEN": "$TOKEN", "GITHUB_TOKEN": "x"}}"#;
        assert_eq!(kinds(ordinary), []);
        assert_eq!(kinds("[]"), []);
    }

    #[test]
    fn tiers_count_and_so_do_variables_that_run_code() {
        let asks = r#"{"tiers": {"best": {"harnessSettings": {"dangerouslyBypassApprovalsAndSandbox": true}}},
            "env": {"LD_PRELOAD": "x", "ANTHROPIC_BASE_URL": "y", "path": "z"}}"#;
        let environment = PowerKind::Environment;
        assert_eq!(kinds(asks), [PowerKind::Bypass, environment, environment, environment]);
    }
}
