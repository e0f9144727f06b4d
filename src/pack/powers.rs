//! Settings of a pack's persona that weaken protection or start programs. Only finds them; `commands` warns or refuses.

use super::risky_variables::is_dangerous;
use crate::load::file;
use crate::model::harness_variables;
use crate::model::plan::SkillKind;
use crate::model::secrets::sounds_secret;
use crate::model::shape::Object;
use crate::model::skill_source;
use crate::model::tool_rule::ToolRule;
use crate::remote::git_source::{self, GitSource};
use crate::resolve::references::names_a_harness_reads;
use crate::skills::powers::powers_in;
use serde::Serialize;
use serde_json::Value;
use std::path::Path;

use crate::model::formats::BYPASS as BYPASS_KEY;

/// Commands that run whatever they are given: allowed with any arguments, everything is allowed. [`WRAPPERS`] are others.
const LAUNCHERS: &[&str] = &[
    "ash", "awk", "bash", "bun", "bunx", "bundle", "busybox", "cargo", "cmake", "csh", "dash", "deno",
    "docker", "ed", "emacs", "ex", "expect", "find", "fish", "gawk", "gdb", "git", "go", "gradle", "java",
    "julia", "just", "ksh", "lua", "make", "mawk", "mvn", "node", "npm", "npx", "nvim", "perl", "php", "pip",
    "pipx", "pnpm", "pnpx", "podman", "poetry", "pwsh", "python", "rake", "rsync", "ruby", "screen",
    "script", "sh", "socat", "source", "tar", "tclsh", "tmux", "tsx", "uv", "uvx", "vi", "vim", "yarn",
    "zsh",
];

/// The same, and they start what follows, whichever words are before it.
const WRAPPERS: &[&str] = &[
    "command",
    "doas",
    "env",
    "eval",
    "exec",
    "nice",
    "nohup",
    "setsid",
    "ssh",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "time",
    "timeout",
    "unshare",
    "watch",
    "xargs",
];

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
    /// May change what decides about agents.
    ChangesLayers,
    /// Drops a denial of its base.
    RemovesDeny,
    SandboxOff,
    /// Works in a copy, around which there are no walls.
    CopyBackend,
    /// Lifts rules of the user's config or a default that protects.
    LiftsRules,
    /// Starts a program.
    Starts,
    /// Starts what the repository that it works in says: MCP servers or hooks.
    Inherits,
    /// Sets a variable that makes programs run other code, or trust or use other servers.
    Environment,
    /// Hands values of the user's environment to an MCP server, or puts them into its prompt.
    PassesEnvironment,
    /// Allows any command, or files outside the project, without approval.
    WidePermission,
    /// Brings instructions and scripts from elsewhere, which may change without a new version of the pack.
    RemoteSkill,
    /// A skill of the pack has commands or permissions of its own. They are not passed on.
    SkillSettings,
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
        if settings.get("workspaceWriteNetworkAccess") == Some(&Value::Bool(true)) {
            add(
                PowerKind::SandboxMode,
                format!("{key}.workspaceWriteNetworkAccess: codex's sandbox lets commands use the network"),
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
    let layers = object.get("mount").and_then(|mount| mount.get("allowLayerChanges"));
    if layers == Some(&Value::Bool(true)) {
        add(
            PowerKind::ChangesLayers,
            "mount.allowLayerChanges: may change personas, roles and rule files of the project".to_owned(),
        );
    }
    if matches!(text("mount", "backend"), Some("copy" | "none")) {
        add(
            PowerKind::CopyBackend,
            "mount.backend: copy: there are no walls around a copy: the agent can read hidden files and write the real project by \
             their paths"
                .to_owned(),
        );
    }
    for (key, what) in [
        ("ignoredPatterns", "shows what your own rules hide"),
        ("readonlyPatterns", "may change what your own rules protect"),
    ] {
        let lifting: Vec<&str> =
            list("mount", key).into_iter().filter(|pattern| pattern.starts_with('!')).collect();
        if !lifting.is_empty() {
            add(PowerKind::LiftsRules, format!("mount.{key}: {}: {what}", lifting.join(", ")));
        }
    }
    if object.get("hermetic") == Some(&Value::Bool(false)) {
        let what =
            "your own instructions, skills and MCP servers are there, even if your config says otherwise";
        add(PowerKind::LiftsRules, format!("hermetic: false: {what}"));
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
    let inherited = object.get("inherit").and_then(Value::as_array).into_iter().flatten();
    for kind in inherited.filter_map(Value::as_str) {
        let what = match kind {
            "hooks" => "runs the commands that the repository's settings name, unasked",
            "mcp" => "starts the MCP servers of the repository, and yours",
            _ => continue,
        };
        add(PowerKind::Inherits, format!("inherit: {kind}: {what}"));
    }
    for (place, env) in environments(object) {
        for (name, value) in env.iter().filter(|(name, _)| is_dangerous(name)) {
            // Variables of a server reach that server alone.
            let is_harness = matches!(place.as_str(), "env" | "inputs");
            let what = if is_harness && harness_variables::overrides_plan(name) {
                "configures a harness; runs leave it out"
            } else {
                "changes which programs run or which servers they use"
            };
            add(PowerKind::Environment, format!("{place}.{name}: {value}: {what}"));
        }
    }
    for (name, input) in object.get("inputs").and_then(Value::as_object).into_iter().flatten() {
        let variable = input.get("env").and_then(Value::as_str);
        if variable.is_some() || sounds_secret(name) {
            let variable = variable.unwrap_or(name);
            let text = format!("inputs.{name}: takes ${variable} of your environment into its texts");
            add(PowerKind::PassesEnvironment, text);
        }
    }
    for (place, variables) in handed_over(object) {
        let names: Vec<String> =
            variables.iter().map(|name| format!("${}", supplier(object, name))).collect();
        let text = format!("{place}: hands over {} of your environment", names.join(", "));
        add(PowerKind::PassesEnvironment, text);
    }
    for entry in list("permissions", "allow").into_iter().filter(|entry| is_wide(entry)) {
        add(
            PowerKind::WidePermission,
            format!("permissions.allow: {entry}: needs no approval, and allows nearly all"),
        );
    }
    for source in sources(object) {
        let how = match skill_source::kind_of(&source) {
            SkillKind::Local => continue,
            SkillKind::Prpm | SkillKind::SkillsSh => {
                "fetched by a program from npm that runs on your machine"
            }
            SkillKind::Git if GitSource::parse(&source).is_pinned() => {
                "fetched from elsewhere, at this commit"
            }
            SkillKind::Git | SkillKind::Unknown => "fetched from elsewhere, whatever is there by then",
        };
        add(PowerKind::RemoteSkill, format!("skills: {}: {how}", git_source::without_password(&source)));
    }
    found
}

/// The variables that the persona and its MCP servers set, with the key that sets them.
fn environments(object: &Object) -> Vec<(String, &Object)> {
    let servers = object.get("mcpServers").and_then(Value::as_object).into_iter().flatten();
    let own = object.get("env").and_then(Value::as_object).map(|env| ("env".to_owned(), env));
    let theirs = servers.filter_map(|(name, server)| {
        Some((format!("mcpServers.{name}.env"), server.get("env")?.as_object()?))
    });
    // An input is a variable of the harness, too.
    let inputs = object.get("inputs").and_then(Value::as_object).map(|inputs| ("inputs".to_owned(), inputs));
    own.into_iter().chain(theirs).chain(inputs).collect()
}

/// The variable that supplies an input, or the name itself.
fn supplier<'o>(object: &'o Object, name: &'o str) -> &'o str {
    let input = object.get("inputs").and_then(|inputs| inputs.get(name));
    input.and_then(|input| input.get("env")?.as_str()).unwrap_or(name)
}

/// The keys of MCP servers that refer to the environment, with the variables.
fn handed_over(object: &Object) -> Vec<(String, Vec<&str>)> {
    fn collect<'v>(place: &str, value: &'v Value, found: &mut Vec<(String, Vec<&'v str>)>) {
        match value {
            Value::String(text) => {
                let names = names_a_harness_reads(text);
                if !names.is_empty() {
                    found.push((place.to_owned(), names));
                }
            }
            Value::Array(list) => list.iter().for_each(|one| collect(place, one, found)),
            Value::Object(map) => {
                for (key, one) in map {
                    collect(&format!("{place}.{key}"), one, found);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    if let Some(servers) = object.get("mcpServers") {
        collect("mcpServers", servers, &mut found);
    }
    found
}

fn sources(object: &Object) -> Vec<String> {
    let skills = object.get("skills").and_then(Value::as_array).into_iter().flatten();
    let source = |skill: &Value| Some(skill.as_str().or_else(|| skill.get("source")?.as_str())?.to_owned());
    skills.filter_map(source).collect()
}

/// Whether an entry of `permissions.allow` allows any command, or files outside the project.
fn is_wide(entry: &str) -> bool {
    let rule = ToolRule::parse(entry);
    if matches!(rule.tool, "*" | "mcp__*" | "mcp__") {
        return true;
    }
    match (rule.tool, rule.argument) {
        ("Bash" | "PowerShell" | "Monitor", None) => true,
        ("Bash" | "PowerShell" | "Monitor", Some(_)) => {
            runs_anything(&rule.command_pattern().unwrap_or_default())
        }
        ("Read" | "Edit" | "Write" | "MultiEdit" | "NotebookEdit", Some(path)) => {
            path.starts_with("//") || path.starts_with('~') || path.split('/').any(|part| part == "..")
        }
        _ => false,
    }
}

/// `*`, what could be the beginning of a launcher, and a launcher with nothing but options before the first wildcard, which stands for
/// any text.
fn runs_anything(pattern: &str) -> bool {
    let Some((fixed, _)) = pattern.split_once('*') else { return false };
    let fixed = fixed.trim_start().trim_end_matches(':');
    let (first, rest) = fixed.split_once(char::is_whitespace).unwrap_or((fixed, ""));
    let program = first.rsplit('/').next().unwrap_or(first);
    let is_whole = first.len() < fixed.len();
    let launchers = || LAUNCHERS.iter().chain(WRAPPERS);
    if !is_whole && launchers().any(|launcher| launcher.starts_with(program)) {
        return true;
    }
    // `python3.12`, `node-20`.
    let plain = program.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    if !launchers().any(|launcher| [plain, program].contains(launcher)) {
        return false;
    }
    let is_option = |word: &str| word.starts_with('-') || word.contains('=');
    WRAPPERS.contains(&plain) || rest.split_whitespace().all(is_option)
}

/// What the text of a skill asks for besides being read.
pub fn of_skill(path: &str, text: &str) -> Vec<Power> {
    let name = path.strip_suffix("/SKILL.md").unwrap_or(path);
    let name = name.rsplit('/').next().unwrap_or(name);
    let power = |key: String| Power {
        kind: PowerKind::SkillSettings,
        text: format!("skills: {name}: {key}: a skill brings instructions only; runs leave it out"),
    };
    powers_in(text).into_iter().map(power).collect()
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

    #[test]
    fn what_starts_programs_of_the_repository_is_a_power_and_what_is_read_is_none() {
        let inherits = r#"{"inherit": ["instructions", "commands", "skills", "mcp", "hooks"]}"#;
        assert_eq!(kinds(inherits), [PowerKind::Inherits, PowerKind::Inherits]);
        assert_eq!(kinds(r#"{"inherit": ["instructions", "skills"]}"#), []);
    }

    #[test]
    fn what_allows_nearly_everything_is_wide() {
        for wide in [
            "Bash",
            "Bash(*)",
            "Bash(:*)",
            "Bash(**)",
            "Bash(sh:*)",
            "Bash(bash -c:*)",
            "Bash(/bin/sh *)",
            "Bash(python3*)",
            "Bash(sudo:*)",
            "Bash(npx:*)",
            "Bash(ba*)",
            "Bash(s*)",
            "Bash(/usr/bin/*)",
            "Bash(* -c *)",
            "Bash(bash * x)",
            "Bash(python3.12:*)",
            "Bash(command:*)",
            "Bash(git:*)",
            "Bash(git -c *)",
            "Bash(sudo -u root *)",
            "Bash(env A=b *)",
            "Bash(timeout 5 *)",
            "Bash(tar *)",
            "Monitor",
            "*",
            "mcp__*",
            "Write(//**)",
            "Edit(~/**)",
            "Read(//etc/**)",
            "Read(../**)",
        ] {
            assert!(is_wide(wide), "{wide}");
        }
        for narrow in [
            "Bash(git log:*)",
            "Bash(npm test)",
            "Bash(npm run lint*)",
            "Bash(cargo test *)",
            "Bash(ls*)",
            "Bash(git diff *)",
            "Bash(npx eslint:*)",
            "Bash(python -m pytest:*)",
            "Edit",
            "Write(src/**)",
            "mcp__server__tool",
            "Read",
            "Bash(sh)",
        ] {
            assert!(!is_wide(narrow), "{narrow}");
        }
    }
}
