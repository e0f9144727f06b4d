//! codex: a profile file in a private `CODEX_HOME` of links to the user's own entries, so that nothing is written there.

use super::session_file;
use crate::model::persona::McpServer;
use crate::model::plan::{Conversation, FileBody, LinkFarm, Mode, PlannedFile};
use crate::model::template::{Hole, Template};
use crate::model::tool_rule::denies_all_edits;
use crate::plan::job::{HarnessPlan, Job};
use crate::resolve::references::{Piece, env_names, env_pieces};
use std::fmt::Write as _;
use std::path::PathBuf;

const PROFILE: &str = "agentworkforce";
/// codex cuts project instructions at 32 KiB without a word unless it is told otherwise.
const DEFAULT_DOC_BYTES: usize = 32 * 1024;

pub fn plan(job: &Job) -> HarnessPlan {
    let mut plan = HarnessPlan::new("codex");
    if job.mode == Mode::Interactive {
        // The daemon that it shares with other sessions knows nothing of this run and would outlive it.
        plan.arg("--no-daemon");
    }
    private_home(&mut plan, job);
    plan.option("-p", PROFILE);
    if let Some(model) = job.model {
        let name = model.split_once('/').map_or(model, |(_, name)| name);
        plan.option("-m", name);
        plan.enforced("model", "-m");
    }
    if let Some(reasoning) = &job.settings.reasoning {
        plan.option("-c", format!("model_reasoning_effort={}", toml_text(reasoning)));
        plan.enforced("harnessSettings.reasoning", "model_reasoning_effort");
    }
    sandbox(&mut plan, job);
    trust(&mut plan);
    if let Some(search) = job.settings.web_search {
        // `--search` has no effect on `exec`, and without a word codex offers a search of stored pages.
        let mode = if search { "live" } else { "disabled" };
        plan.option("-c", format!("web_search={}", toml_text(mode)));
        plan.enforced("harnessSettings.webSearch", format!("web_search = {mode}"));
    }
    if job.mode == Mode::Headless {
        // The approval flag is only known before `exec`.
        for arg in ["exec", "--json", "--skip-git-repo-check"] {
            plan.arg(arg);
        }
    }
    match job.resume {
        Some(Conversation::Id(id)) => plan.option("resume", id),
        Some(Conversation::Latest) => plan.option("resume", "--last"),
        None => {}
    }
    if job.mode == Mode::Headless {
        plan.arg("-");
    }
    enforcement(&mut plan, job);
    plan
}

fn private_home(plan: &mut HarnessPlan, job: &Job) {
    let theirs = match (job.codex_home, job.home) {
        (Some(dir), _) => dir.to_owned(),
        (None, Some(home)) => home.join(".codex").display().to_string(),
        (None, None) => ".codex".to_owned(),
    };
    plan.state.push(PathBuf::from(&theirs));
    let entries = if job.hermetic { vec!["auth.json".to_owned()] } else { vec!["*".to_owned()] };
    // A login in this run, and its conversation, are the user's afterwards.
    let new = if job.hermetic { &["auth.json"][..] } else { &["auth.json", "history.jsonl", "sessions/"] };
    let new = new.iter().map(|&name| name.to_owned()).collect();
    plan.files.push(PlannedFile {
        path: Template::session("codex-home"),
        purpose: "CODEX_HOME".into(),
        body: FileBody::LinksTo(LinkFarm { directory: theirs, entries, new }),
    });
    plan.env.insert("CODEX_HOME".into(), Template::session("codex-home"));
    let profile = profile(plan, job);
    plan.files.push(session_file(
        &format!("codex-home/{PROFILE}.config.toml"),
        "codex profile",
        Template::text(profile),
    ));
    if job.hermetic {
        plan.advisory(
            "hermetic",
            "a CODEX_HOME with the login and nothing else; skills in ~/.agents are still found",
        );
    }
}

/// Keys before tables, as TOML wants it.
fn profile(plan: &mut HarnessPlan, job: &Job) -> String {
    let mut toml = String::new();
    if !job.system_prompt.is_empty() {
        let _ = writeln!(toml, "developer_instructions = {}", toml_text(job.system_prompt));
    }
    // AGENTS.md files above the mounted directory belong to other projects.
    if job.mounted {
        toml.push_str("project_root_markers = []\n");
    }
    // Room for a real AGENTS.md before ours in `extend` mode.
    if let Some(bytes) = job.sidecar_bytes {
        let _ = writeln!(toml, "project_doc_max_bytes = {}", bytes + DEFAULT_DOC_BYTES * 4);
    }
    for (name, server) in job.mcp_servers {
        mcp_server(plan, &mut toml, name, server, job.mode);
    }
    toml
}

fn mcp_server(plan: &mut HarnessPlan, toml: &mut String, name: &str, server: &McpServer, mode: Mode) {
    let mut body = String::new();
    match &server.url {
        Some(url) if !env_names(url).is_empty() => {
            let why = "codex cannot refer to a variable in a url";
            plan.warn(format!("mcpServers.{name}: {why}; the server is left out"));
            plan.unsupported(&format!("mcpServers.{name}"), why);
            return;
        }
        Some(url) => {
            let _ = writeln!(body, "url = {}", toml_text(url));
            headers(plan, &mut body, name, server);
        }
        None => stdio(&mut body, server),
    }
    if mode == Mode::Headless {
        // Headless nobody can approve, and codex refuses every call without this.
        body.push_str("default_tools_approval_mode = \"approve\"\n");
    }
    let _ = write!(toml, "\n[mcp_servers.{}]\n{body}", toml_text(name));
}

/// codex hands a server only what it is told to; values that refer to variables go through a shell, which alone
/// sees them, so that they are in no file.
fn stdio(body: &mut String, server: &McpServer) {
    let command = server.command.as_deref().unwrap_or_default();
    let words: Vec<&str> = std::iter::once(command).chain(server.args.iter().map(String::as_str)).collect();
    let mut variables: Vec<&str> =
        words.iter().copied().chain(server.env.values().map(String::as_str)).flat_map(env_names).collect();
    variables.sort_unstable();
    variables.dedup();
    let list = |words: &[String]| {
        format!("[{}]", words.iter().map(|word| toml_text(word)).collect::<Vec<_>>().join(", "))
    };
    if variables.is_empty() {
        let args: Vec<String> = server.args.clone();
        let _ = writeln!(body, "command = {}\nargs = {}", toml_text(command), list(&args));
        if !server.env.is_empty() {
            let pairs: Vec<String> = server
                .env
                .iter()
                .map(|(key, value)| format!("{} = {}", toml_text(key), toml_text(value)))
                .collect();
            let _ = writeln!(body, "env = {{ {} }}", pairs.join(", "));
        }
        return;
    }
    let mut script = String::new();
    for (key, value) in &server.env {
        let _ = write!(script, "{key}={}; export {key}; ", shell_word(value));
    }
    let words: Vec<String> = words.into_iter().map(shell_word).collect();
    let _ = write!(script, "exec {}", words.join(" "));
    let _ = writeln!(body, "command = \"sh\"\nargs = {}", list(&["-c".to_owned(), script]));
    let names: Vec<String> = variables.into_iter().map(str::to_owned).collect();
    let _ = writeln!(body, "env_vars = {}", list(&names));
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

fn headers(plan: &mut HarnessPlan, body: &mut String, name: &str, server: &McpServer) {
    let (mut plain, mut by_variable) = (Vec::new(), Vec::new());
    for (index, (header, value)) in server.headers.iter().enumerate() {
        let pieces = env_pieces(value);
        match pieces.as_slice() {
            [Piece::Text(text)] => plain.push(format!("{} = {}", toml_text(header), toml_text(text))),
            [Piece::Text("Bearer "), Piece::Variable(variable)]
                if header.eq_ignore_ascii_case("authorization") =>
            {
                let _ = writeln!(body, "bearer_token_env_var = {}", toml_text(variable));
            }
            [Piece::Variable(variable)] => {
                by_variable.push(format!("{} = {}", toml_text(header), toml_text(variable)));
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
                by_variable.push(format!("{} = {}", toml_text(header), toml_text(&variable)));
            }
        }
    }
    if !plain.is_empty() {
        let _ = writeln!(body, "http_headers = {{ {} }}", plain.join(", "));
    }
    if !by_variable.is_empty() {
        let _ = writeln!(body, "env_http_headers = {{ {} }}", by_variable.join(", "));
    }
}

/// codex's own sandbox: what the persona says, else what its permissions amount to.
fn sandbox(plan: &mut HarnessPlan, job: &Job) {
    let (settings, permissions) = (job.settings, job.permissions);
    if settings.dangerously_bypass_approvals_and_sandbox == Some(true) {
        plan.arg("--dangerously-bypass-approvals-and-sandbox");
        plan.enforced(
            "harnessSettings.dangerouslyBypassApprovalsAndSandbox",
            "passed on; the mount is the only barrier",
        );
        let why = "the persona switches codex's sandbox and approvals off";
        let said = [
            ("harnessSettings.sandboxMode", settings.sandbox_mode.is_some()),
            ("harnessSettings.approvalPolicy", settings.approval_policy.is_some()),
            (
                "harnessSettings.workspaceWriteNetworkAccess",
                settings.workspace_write_network_access.is_some(),
            ),
            ("permissions.allow", permissions.allow.is_some()),
            ("permissions.deny", !permissions.deny.is_empty()),
            ("permissions.mode", permissions.mode.is_some()),
        ];
        for (field, _) in said.into_iter().filter(|(_, said)| *said) {
            plan.unsupported(field, why);
        }
        return;
    }
    let mode = permissions.mode.as_deref();
    let no_edits = denies_all_edits(&permissions.deny);
    let sandbox = match settings.sandbox_mode.as_deref() {
        // Deny beats what a setting allows.
        Some(_) | None if no_edits || mode == Some("plan") => "read-only",
        Some(said) => said,
        None if mode == Some("bypassPermissions") => "danger-full-access",
        // Said although a trusted project gets it anyway: what is meant must not hang on another flag.
        None => "workspace-write",
    };
    plan.option("--sandbox", sandbox);
    if let Some(said) = &settings.sandbox_mode {
        let note = if sandbox == said {
            String::new()
        } else {
            format!(": what is denied or planned beats `{said}`")
        };
        plan.enforced("harnessSettings.sandboxMode", format!("--sandbox {sandbox}{note}"));
    }
    approval(plan, job, no_edits);
    network(plan, job, sandbox);
    permission_rows(plan, job, sandbox, no_edits);
}

/// When codex asks a person to let a command out of the sandbox.
fn approval(plan: &mut HarnessPlan, job: &Job, no_edits: bool) {
    let said = job.settings.approval_policy.as_deref();
    let policy = match said {
        // Headless nobody can answer, and what is denied must not be a matter of pressing a key.
        _ if job.mode == Mode::Headless || no_edits => "never",
        Some("never") => "never",
        Some(_) => "on-request",
        None if job.permissions.mode.as_deref() == Some("bypassPermissions") => "never",
        None => return,
    };
    plan.option("-a", policy);
    match said {
        None => {}
        Some("never" | "on-request") => {
            let how = match policy {
                "never" => "-a never: nothing leaves the sandbox",
                _ => "-a on-request: what leaves the sandbox is asked for",
            };
            plan.enforced("harnessSettings.approvalPolicy", how);
        }
        Some(said) => {
            let how = format!("codex no longer knows `{said}`; it gets `{policy}`");
            plan.unsupported("harnessSettings.approvalPolicy", how);
        }
    }
}

fn network(plan: &mut HarnessPlan, job: &Job, sandbox: &str) {
    let Some(wanted) = job.settings.workspace_write_network_access else { return };
    plan.option("-c", format!("sandbox_workspace_write.network_access={wanted}"));
    let (has, how) = match sandbox {
        "read-only" => (false, "--sandbox read-only has no network"),
        "danger-full-access" => (true, "--sandbox danger-full-access has the network"),
        _ => (wanted, "sandbox_workspace_write.network_access"),
    };
    if has == wanted {
        plan.enforced("harnessSettings.workspaceWriteNetworkAccess", how);
    } else {
        plan.unsupported("harnessSettings.workspaceWriteNetworkAccess", how);
    }
}

fn permission_rows(plan: &mut HarnessPlan, job: &Job, sandbox: &str, no_edits: bool) {
    let permissions = job.permissions;
    match (permissions.mode.as_deref(), sandbox) {
        (None, _) => {}
        (Some("plan" | "default"), "read-only") => {
            plan.enforced("permissions.mode", "--sandbox read-only: nothing is changed unasked");
        }
        (Some("bypassPermissions"), "danger-full-access") => {
            plan.enforced("permissions.mode", "--sandbox danger-full-access");
        }
        (Some(_), _) => plan.advisory(
            "permissions.mode",
            format!(
                "--sandbox {sandbox}: codex asks by sandbox, not by tool, and runs commands in it unasked"
            ),
        ),
    }
    if !permissions.deny.is_empty() {
        let whole = permissions.deny.iter().all(|entry| {
            let rule = crate::model::tool_rule::ToolRule::parse(entry);
            rule.edits_files() && rule.argument.is_none()
        });
        if whole && sandbox == "read-only" && (no_edits || job.mode == Mode::Headless) {
            plan.enforced("permissions.deny", "--sandbox read-only with -a never");
        } else {
            plan.advisory(
                "permissions.deny",
                "codex has no deny patterns; its sandbox and the mount hold the rest",
            );
        }
    }
    if permissions.allow.is_some() {
        plan.advisory("permissions.allow", "codex allows by sandbox, not by tool");
    }
}

/// Without this codex asks whether to trust the directory; the user's own config is not touched.
fn trust(plan: &mut HarnessPlan) {
    plan.option_at(
        "-c",
        Template::text("projects={\"").then(Hole::Mount).then_text("\"={trust_level=\"trusted\"}}"),
    );
}

fn enforcement(plan: &mut HarnessPlan, job: &Job) {
    if !job.mcp_servers.is_empty() && job.hermetic {
        plan.enforced("mcpServers", "these servers, in a CODEX_HOME without the user's own");
    } else if !job.mcp_servers.is_empty() {
        plan.advisory("mcpServers", "these servers are added; servers of the user's own config stay");
    }
    if job.has_skills && job.mounted {
        let below = std::path::Path::new("/").join(job.cwd).join(".agents/skills");
        plan.skills_path = Some(Template(vec![Hole::Mount, Hole::Text(below.display().to_string())]));
        plan.enforced("skills", ".agents/skills in the mount, never applied");
    } else if job.has_skills {
        plan.unsupported(
            "skills",
            "codex finds skills in the project, and without a mount nothing is written there",
        );
        plan.warn("codex gets no skills: there is no mount, and your repository is not touched");
    }
    if job.limits.turns.is_some() {
        plan.unsupported("limits.turns", "codex has no turn limit");
    }
    match job.limits.usd {
        Some(0.0) => plan.enforced("limits.usd", "a cap of zero: the launch is refused"),
        Some(_) => plan.unsupported("limits.usd", "codex has no money cap"),
        None => {}
    }
    if job.bare {
        plan.unsupported("bareMode", "a mode of claude");
    }
}

/// A TOML basic string.
fn toml_text(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toml_text_survives_anything() {
        assert_eq!(toml_text("a\"b\\c\n\u{1}é"), "\"a\\\"b\\\\c\\n\\u0001é\"");
    }

    #[test]
    fn a_shell_word_leaves_only_references_to_the_shell() {
        assert_eq!(shell_word("--token=${TOKEN};rm"), "'--token='\"${TOKEN}\"';rm'");
        assert_eq!(shell_word("$X"), "\"${X}\"");
        assert_eq!(shell_word("a b$(c)"), "'a b$(c)'");
    }
}
