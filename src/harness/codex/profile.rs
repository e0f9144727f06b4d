//! codex's profile file, in a private `CODEX_HOME` of links to the user's own entries, so that nothing is written there.

use super::user_config;
use crate::harness::job::{HarnessPlan, Job};
use crate::model::demand::Demand;
use crate::model::inherit::Inherit;
use crate::model::persona::McpServer;
use crate::model::plan::{FileBody, LinkFarm, Mode, PlannedFile};
use crate::model::template::{Hole, Template};
use crate::model::tool_rule::ToolRule;
use crate::model::warning::WarningCode;
use crate::resolve::references::{Piece, env_names, env_pieces};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use toml::{Table, Value};

pub const PROFILE: &str = "agentworkforce";
/// `CODEX_HOME` in the session directory.
pub const HOME: &str = "codex-home";
/// codex locks every conversation that it has open. They are this run's own, so they say which one it has.
pub const LOCKS: &str = "codex-home/thread-writer-locks";
/// codex silently cuts project instructions at 32 KiB by default.
const DEFAULT_DOC_BYTES: usize = 32 * 1024;

pub fn private_home(plan: &mut HarnessPlan, job: &Job) {
    let own = job.env.get("CODEX_HOME").filter(|dir| !dir.is_empty());
    let theirs = match (own, job.home) {
        (Some(dir), _) => dir.clone(),
        (None, Some(home)) => home.join(".codex").display().to_string(),
        (None, None) => ".codex".to_owned(),
    };
    user_config::protect(plan, PathBuf::from(&theirs));
    let entries = if job.hermetic { vec!["auth.json".to_owned()] } else { vec!["*".to_owned()] };
    // The user keeps a login that is made in this run, and its conversation.
    let new = if job.hermetic { &["auth.json"][..] } else { &["auth.json", "history.jsonl", "sessions/"] };
    let new = new.iter().map(|&name| name.to_owned()).collect();
    plan.files.push(PlannedFile {
        path: Template::session(HOME),
        purpose: "CODEX_HOME".into(),
        body: FileBody::LinksTo(LinkFarm {
            directory: theirs,
            entries,
            new,
            kept: user_config::conversations(),
        }),
    });
    plan.session_directory(LOCKS, "locks of conversations");
    plan.env.insert("CODEX_HOME".into(), Template::session(HOME));
    let profile = toml::to_string_pretty(&profile(plan, job)).expect("a table of texts, numbers and tables");
    let path = format!("{HOME}/{PROFILE}.config.toml");
    plan.session_file(&path, "codex profile", Template::text(profile));
    if job.hermetic {
        plan.advisory(
            Demand::Hermetic,
            "a CODEX_HOME with the login and nothing else; skills in ~/.agents are still found",
        );
    }
}

fn profile(plan: &mut HarnessPlan, job: &Job) -> Table {
    let mut profile = Table::new();
    if !job.system_prompt.is_empty() {
        profile.insert("developer_instructions".into(), job.system_prompt.into());
    }
    // AGENTS.md files above the mounted directory belong to other projects. Those between it and the working directory are found
    // by the repository, if it is one.
    let inherits = [Inherit::Instructions, Inherit::Skills].into_iter().any(|kind| job.inherit.has(kind));
    if job.mounted && !(inherits && job.root_is_repository) {
        profile.insert("project_root_markers".into(), Value::Array(Vec::new()));
    }
    if job.mounted {
        // Files of the project that the user's own configuration names as instructions are neither hidden nor protected.
        profile.insert("project_doc_fallback_filenames".into(), Value::Array(Vec::new()));
    }
    // Room for a real AGENTS.md before ours in `extend` mode, and for the repository's own.
    let bytes = job.sidecar_bytes.or_else(|| job.inherit.has(Inherit::Instructions).then_some(0));
    if let Some(bytes) = bytes {
        let most = i64::try_from(bytes + DEFAULT_DOC_BYTES * 4).unwrap_or(i64::MAX);
        profile.insert("project_doc_max_bytes".into(), most.into());
    }
    if job.mounted && !job.hooks.is_empty() {
        match Value::try_from(job.hooks) {
            Ok(hooks) => {
                profile.insert("hooks".into(), hooks);
            }
            Err(error) => plan.warn(WarningCode::NotUsed, format!("hooks are not inherited: {error}")),
        }
    }
    let mut servers = Table::new();
    for (name, server) in job.mcp_servers {
        if let Some(server) = mcp_server(plan, name, server, job.mode) {
            servers.insert(name.clone(), server.into());
        }
    }
    // What the user's own configuration says of a server stays, and this is added.
    for name in job.allowed_servers().iter().filter(|name| !job.mcp_servers.contains_key(*name)) {
        servers.insert(name.clone(), approved().into());
    }
    for (name, server) in &mut servers {
        if let Value::Table(server) = server {
            deny_tools(server, name, job);
        }
    }
    if !servers.is_empty() {
        profile.insert("mcp_servers".into(), servers.into());
    }
    profile
}

fn mcp_server(plan: &mut HarnessPlan, name: &str, server: &McpServer, mode: Mode) -> Option<Table> {
    let mut table = match &server.url {
        Some(url) if !env_names(url).is_empty() => {
            let why = "codex cannot refer to a variable in a url";
            plan.warn(WarningCode::NotUsed, format!("mcpServers.{name}: {why}; the server is left out"));
            plan.unsupported(Demand::McpServer(name.to_owned()), why);
            return None;
        }
        Some(url) => http(plan, name, url, server),
        None => stdio(server),
    };
    if mode == Mode::Headless {
        table.extend(approved());
    }
    Some(table)
}

/// Nobody can approve in a headless run, and codex refuses every call without this.
fn approved() -> Table {
    Table::from_iter([("default_tools_approval_mode".to_owned(), "approve".into())])
}

/// What the persona denies of a server, as far as codex can say it.
fn deny_tools(server: &mut Table, name: &str, job: &Job) {
    let denied = job.permissions.deny.iter().filter_map(|entry| ToolRule::parse(entry).mcp_tool(name));
    let (all, some): (Vec<&str>, Vec<&str>) = denied.partition(|tool| *tool == "*");
    if !all.is_empty() {
        server.insert("enabled".into(), false.into());
    }
    if !some.is_empty() {
        server.insert("disabled_tools".into(), some.into());
    }
}

/// codex passes a server only the variables that are listed. Values that refer to variables are put together by a shell,
/// which alone sees them, so that they are in no file.
fn stdio(server: &McpServer) -> Table {
    let command = server.command.as_deref().unwrap_or_default();
    let words: Vec<&str> = std::iter::once(command).chain(server.args.iter().map(String::as_str)).collect();
    let mut variables: Vec<&str> =
        words.iter().copied().chain(server.env.values().map(String::as_str)).flat_map(env_names).collect();
    variables.sort_unstable();
    variables.dedup();
    let mut table = Table::new();
    if variables.is_empty() {
        table.insert("command".into(), command.into());
        table.insert("args".into(), server.args.clone().into());
        if !server.env.is_empty() {
            table.insert("env".into(), strings(&server.env).into());
        }
        return table;
    }
    let mut script = String::new();
    for (key, value) in &server.env {
        let _ = write!(script, "{key}={}; export {key}; ", shell_word(value));
    }
    let words: Vec<String> = words.into_iter().map(shell_word).collect();
    let _ = write!(script, "exec {}", words.join(" "));
    table.insert("command".into(), "sh".into());
    table.insert("args".into(), vec!["-c".to_owned(), script].into());
    table.insert("env_vars".into(), variables.into());
    table
}

fn strings(map: &BTreeMap<String, String>) -> Table {
    map.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect()
}

/// A word for sh: quoted, with its references left to the shell.
fn shell_word(text: &str) -> String {
    let piece = |piece: Piece| match piece {
        Piece::Text(text) => {
            shlex::try_quote(text).map_or_else(|_| "''".to_owned(), std::borrow::Cow::into_owned)
        }
        Piece::Variable(name) => format!("\"${{{name}}}\""),
    };
    env_pieces(text).into_iter().map(piece).collect()
}

fn http(plan: &mut HarnessPlan, name: &str, url: &str, server: &McpServer) -> Table {
    let mut table = Table::new();
    table.insert("url".into(), url.into());
    let (mut plain, mut by_variable) = (BTreeMap::new(), BTreeMap::new());
    for (index, (header, value)) in server.headers.iter().enumerate() {
        let pieces = env_pieces(value);
        match pieces.as_slice() {
            [Piece::Text(text)] => {
                plain.insert(header.clone(), (*text).to_owned());
            }
            [Piece::Text("Bearer "), Piece::Variable(variable)]
                if header.eq_ignore_ascii_case("authorization") =>
            {
                table.insert("bearer_token_env_var".into(), (*variable).into());
            }
            [Piece::Variable(variable)] => {
                by_variable.insert(header.clone(), (*variable).to_owned());
            }
            _ => {
                // Put together in the harness's environment; the file only names it.
                let plain_name: String = name
                    .chars()
                    .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' })
                    .collect();
                let variable = format!("AGENTWORKFORCE_MCP_{plain_name}_{index}");
                let hole = |piece: Piece| match piece {
                    Piece::Text(text) => Hole::Text(text.to_owned()),
                    Piece::Variable(name) => Hole::Variable(name.to_owned()),
                };
                plan.env.insert(variable.clone(), Template(pieces.into_iter().map(hole).collect()));
                by_variable.insert(header.clone(), variable);
            }
        }
    }
    for (key, headers) in [("http_headers", plain), ("env_http_headers", by_variable)] {
        if !headers.is_empty() {
            table.insert(key.into(), strings(&headers).into());
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_word_leaves_only_references_to_the_shell() {
        assert_eq!(shell_word("--token=${TOKEN};rm"), "'--token='\"${TOKEN}\"';rm'");
        assert_eq!(shell_word("$X"), "\"${X}\"");
        assert_eq!(shell_word("a b$(c)"), "'a b$(c)'");
    }

    #[test]
    fn any_prompt_survives_the_profile() {
        for prompt in ["a\"b\\c\n\u{1}é", "\n'''\"\"\"\r\n\ttrailing \\\n", "\r", "'"] {
            let mut table = Table::new();
            table.insert("developer_instructions".into(), prompt.into());
            let read: Table = toml::to_string_pretty(&table).expect("written").parse().expect("TOML");
            assert_eq!(read["developer_instructions"].as_str(), Some(prompt));
        }
    }
}
