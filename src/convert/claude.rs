//! Claude Code's subagents: markdown with frontmatter, the body is the prompt.

use super::account::Account;
use super::tools::{Rules, contradicted, left_out};
use super::{Draft, Format, Source, frontmatter, servers, values};
use crate::model::formats::PERMISSION_MODES;

pub fn convert(source: &Source) -> Result<Draft, String> {
    let parts = frontmatter::read(source.text);
    let mut account = Account::new(Format::Claude, parts.keys).written(parts.written);
    account.carry(parts.carried);
    account.repeated(&parts.repeated);
    for warning in parts.warnings {
        account.warn(warning);
    }
    if !parts.has_block && !parts.body.trim().is_empty() {
        account.warn("it has no frontmatter: the name is the file's, the whole text is the prompt");
    }
    account.name("name", source.stem());
    describe(&mut account, &parts.body);
    model(&mut account);
    permissions(&mut account);
    account.turns("maxTurns");
    account.move_text("effort", "harnessSettings.reasoning");
    servers::all(&mut account, "mcpServers");
    account.prompt(&parts.body)?;
    if !parts.body.trim().is_empty() {
        account.mapped("(body)", "systemPrompt");
    }
    Ok(account.finish())
}

/// The description that is there, else the first sentence of the text that is no heading.
pub fn describe(account: &mut Account, body: &str) {
    account.description("description");
    if account.says("description") {
        return;
    }
    let is_prose = |line: &&str| line.starts_with(|c: char| c.is_alphabetic() || c == '*' || c == '"');
    if let Some(line) = body.lines().map(str::trim).find(is_prose) {
        account.set("description", values::first_paragraph(line.trim_matches('*')));
    }
}

/// An alias or an id; `inherit` and its like leave the choice to the harness.
fn model(account: &mut Account) {
    let Some(model) = account.text("model") else { return };
    match model.trim() {
        "inherit" | "default" => account.mapped("model", "the harness's own model"),
        model if is_foreign(model) => {
            account.warn(format!("`{model}` is no model of claude: the harness picks one"));
        }
        model => {
            account.set("model", model);
            account.mapped("model", "model");
        }
    }
}

/// Models of other houses, which people write into files that several tools read.
fn is_foreign(model: &str) -> bool {
    let model = model.to_ascii_lowercase();
    let others =
        ["gpt", "gemini", "deepseek", "grok", "qwen", "llama", "mistral", "glm", "kimi", "o1", "o3", "o4"];
    let name = model.rsplit('/').next().unwrap_or(&model);
    others.iter().any(|other| name.starts_with(other))
}

fn permissions(account: &mut Account) {
    let mut rules = Rules::default();
    let denied =
        ["disallowedTools", "disallowed-tools", "disallowed_tools"].into_iter().find(|key| account.has(key));
    let allowed =
        ["tools", "allowed-tools", "allowedTools", "allowed_tools"].into_iter().find(|key| account.has(key));
    if let Some((key, value)) = allowed.and_then(|key| Some((key, account.as_written(key)?))) {
        let tools = values::list(&value);
        if tools.is_empty() && value.is_array() {
            none_listed(account, &mut rules, key);
        } else if tools.is_empty() {
            account.keep(key, value);
        } else {
            if matches!(tools.as_slice(), [all] if all == "*" || all == "All tools") {
                account.mapped(key, "no limit, as without it");
            } else {
                account.mapped(key, "permissions.allow");
                // Denials beside the list only narrow it.
                let others = left_out(&tools);
                for tool in &others {
                    rules.deny(*tool);
                }
                if !others.is_empty() {
                    account.mapped(&format!("{key} (those not listed)"), "permissions.deny");
                }
            }
            tools
                .into_iter()
                .filter(|tool| tool != "*" && tool != "All tools")
                .for_each(|tool| rules.allow(tool));
        }
    }
    if let Some((key, value)) = denied.and_then(|key| Some((key, account.as_written(key)?))) {
        for tool in values::list(&value) {
            rules.deny(tool);
        }
        account.mapped(key, "permissions.deny");
    }
    let mode = account.text("permissionMode");
    if let Some(mode) = mode.filter(|mode| PERMISSION_MODES.contains(&mode.trim())) {
        if let Some(why) = contradicted(mode.trim(), &rules.deny) {
            account.dropped("permissionMode", format!("`{}`, but {why}", mode.trim()));
        } else {
            account.set("permissions.mode", mode.trim());
            account.mapped("permissionMode", "permissions.mode");
        }
    }
    rules.write(account);
}

/// An empty list means no tools at all, and not all of them.
pub fn none_listed(account: &mut Account, rules: &mut Rules, key: &str) {
    for tool in left_out(&[]) {
        rules.deny(tool);
    }
    account.mapped(key, "permissions.deny");
    account.warn("it lists no tools: those that change something or reach out are denied");
}
