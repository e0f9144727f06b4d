//! GitHub Copilot's custom agents: markdown with frontmatter, the body is the prompt.

use super::account::Account;
use super::claude::{describe, none_listed};
use super::tools::{self, Rules};
use super::{Draft, Format, Source, frontmatter, servers, values};
use serde_json::Value;

pub fn convert(source: &Source) -> Result<Draft, String> {
    let parts = frontmatter::read(source.text);
    let mut account = Account::new(Format::Copilot, parts.keys).written(parts.written);
    account.carry(parts.carried);
    account.repeated(&parts.repeated);
    for warning in parts.warnings {
        account.warn(warning);
    }
    account.name("name", source.stem());
    describe(&mut account, &parts.body);
    if let Some(value) = account.as_written("tools") {
        permissions(&mut account, &value);
    }
    servers::all(&mut account, "mcp-servers");
    account.prompt(&parts.body)?;
    if !parts.body.trim().is_empty() {
        account.mapped("(body)", "systemPrompt");
    }
    // `model` names one of copilot's own catalogue, `handoffs` its own agents: kept, as is everything else.
    Ok(account.finish())
}

fn permissions(account: &mut Account, value: &Value) {
    let said = values::list(value);
    let mut rules = Rules::default();
    let mut unknown = Vec::new();
    for tool in &said {
        match tools::of_copilot(tool) {
            Some(ours) => ours.into_iter().for_each(|tool| rules.allow(tool)),
            None => unknown.push(tool.clone()),
        }
    }
    if said.is_empty() && value.is_array() {
        none_listed(account, &mut rules, "tools");
        return rules.write(account);
    }
    if said.is_empty() || unknown.len() == said.len() {
        return;
    }
    account.mapped("tools", "permissions.allow");
    let others = tools::left_out(&rules.allow);
    for tool in &others {
        rules.deny(*tool);
    }
    if !others.is_empty() {
        account.mapped("tools (those not listed)", "permissions.deny");
    }
    rules.write(account);
    if !unknown.is_empty() {
        for tool in unknown {
            account.dropped(&format!("tools.{tool}"), "a tool that only copilot has");
        }
        account.keep("tools", value.clone());
    }
}
