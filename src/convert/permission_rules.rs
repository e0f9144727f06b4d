//! The permissions of a persona while they are collected.

use super::persona_builder::PersonaBuilder;
use super::tools::{Meaning, ToolNames, unlisted_tools};
use crate::model::printable::printable;
use crate::model::shape::TextRule;
use crate::model::text_rules;
use serde_json::Value;
use std::collections::HashSet;

#[derive(Default)]
pub struct PermissionRules {
    pub allow: Vec<String>,
    pub deny: Vec<String>,
}

impl PermissionRules {
    pub fn allow(&mut self, entry: impl Into<String>) {
        self.allow.push(entry.into());
    }

    pub fn deny(&mut self, entry: impl Into<String>) {
        self.deny.push(entry.into());
    }

    /// Several tools in one entry become several entries. What could be an option of a harness is left out.
    fn leave_out_invalid(&mut self, builder: &mut PersonaBuilder) {
        let check = |entry: &str| text_rules::check(TextRule::ToolEntry, entry);
        let mut allow = Vec::new();
        for entry in std::mem::take(&mut self.allow) {
            for part in parts(&entry) {
                match check(part) {
                    Ok(()) => allow.push(part.to_owned()),
                    Err(why) => builder.warn(format!("the tool `{}` is left out: it {why}", printable(part))),
                }
            }
        }
        self.allow = allow;
        let mut deny = Vec::new();
        for entry in std::mem::take(&mut self.deny) {
            let Err(why) = check(&entry) else {
                deny.push(entry);
                continue;
            };
            // A denial must not get lost: without its pattern, it is one of the whole tool.
            let tools =
                text_rules::tool_entries(&entry).into_iter().filter_map(|part| part.split('(').next());
            let is_name = |tool: &&str| {
                let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '*');
                check(tool).is_ok() && tool.chars().all(is_word)
            };
            let tools: Vec<String> = tools.filter(is_name).map(str::to_owned).collect();
            let instead = match tools.as_slice() {
                [] => "nothing is denied".to_owned(),
                tools => format!("{} is denied altogether", tools.join(", ")),
            };
            builder.warn(format!("in the place of the denied `{}`, {instead}: it {why}", printable(&entry)));
            deny.extend(tools);
        }
        self.deny = deny;
    }

    /// Allows the tools of a list. A list is a limit: what changes something or uses the network and is not in it is denied.
    pub fn limit_to(&mut self, builder: &mut PersonaBuilder, key: &str, said: &[String], names: &ToolNames) {
        builder.mapped(key, "permissions.allow");
        let tools = self.deny_others(builder, key, said, names);
        self.allow.extend(tools);
    }

    /// Denies what changes something or uses the network and is not in the list. Returns the tools of the list.
    pub fn deny_others(
        &mut self,
        builder: &mut PersonaBuilder,
        key: &str,
        said: &[String],
        names: &ToolNames,
    ) -> Vec<String> {
        let (mut tools, unknown) = translated(builder, key, said, names);
        let others = unlisted_tools(&tools);
        for tool in &others {
            self.deny(*tool);
        }
        if !others.is_empty() {
            builder.mapped(&format!("{key} (those not listed)"), "permissions.deny");
        }
        if tools.is_empty() {
            builder.warn(format!(
                "none of its tools is known here ({}): it may not run commands, edit files or use the web; set `permissions` yourself",
                printable(&said.join(", "))
            ));
        } else {
            report_unknown(builder, &unknown);
        }
        tools.extend(unknown);
        tools
    }

    /// Allows the tools of a list that is no limit, where `is_available`.
    pub fn allow_listed(
        &mut self,
        builder: &mut PersonaBuilder,
        key: &str,
        said: &[String],
        names: &ToolNames,
        is_available: impl Fn(&str) -> bool,
    ) {
        let (tools, unknown) = translated(builder, key, said, names);
        builder.mapped(key, "permissions.allow");
        report_unknown(builder, &unknown);
        self.allow.extend(tools.into_iter().filter(|tool| is_available(tool)));
    }

    /// Denies the tools of a list.
    pub fn deny_listed(
        &mut self,
        builder: &mut PersonaBuilder,
        key: &str,
        said: &[String],
        names: &ToolNames,
    ) {
        let (tools, unknown) = translated(builder, key, said, names);
        builder.mapped(key, "permissions.deny");
        report_unknown(builder, &unknown);
        self.deny.extend(tools.into_iter().chain(unknown));
    }

    /// An empty list means no tools at all, not all of them.
    pub fn deny_unlisted(&mut self, builder: &mut PersonaBuilder, key: &str) {
        for tool in unlisted_tools(&[]) {
            self.deny(tool);
        }
        builder.mapped(key, "permissions.deny");
        builder.warn("it lists no tools: those that change something or use the network are denied");
    }

    pub fn write(mut self, builder: &mut PersonaBuilder) {
        self.leave_out_invalid(builder);
        let texts = |entries: Vec<String>| {
            let mut seen = HashSet::new();
            entries
                .into_iter()
                .filter(|entry| seen.insert(entry.clone()))
                .map(Value::String)
                .collect::<Value>()
        };
        if !self.allow.is_empty() {
            builder.set("permissions.allow", texts(self.allow));
        }
        if !self.deny.is_empty() {
            builder.set("permissions.deny", texts(self.deny));
        }
    }
}

fn report_unknown(builder: &mut PersonaBuilder, unknown: &[String]) {
    if !unknown.is_empty() {
        builder.warn(format!("it lists tools that are not known here: {}", printable(&unknown.join(", "))));
    }
}

/// The tools of a list, and the entries about which nothing is known. What no harness has is dropped.
fn translated(
    builder: &mut PersonaBuilder,
    key: &str,
    said: &[String],
    names: &ToolNames,
) -> (Vec<String>, Vec<String>) {
    let (mut tools, mut unknown) = (Vec::new(), Vec::new());
    let mut has_dropped = false;
    for entry in said {
        match names.meaning(entry) {
            Meaning::Tools(ours) => tools.extend(ours),
            Meaning::NoCounterpart => {
                has_dropped = true;
                builder.dropped(&format!("{key}.{entry}"), format!("a tool that only {} has", names.source));
            }
            Meaning::Unknown => unknown.push(entry.clone()),
        }
    }
    if let Some(value) = builder.as_written(key).filter(|_| has_dropped) {
        builder.keep(key, value);
    }
    (tools, unknown)
}

/// The entries of a text; one with anything else between them is left whole, to be reported as it is.
fn parts(entry: &str) -> Vec<&str> {
    match text_rules::tool_entries(entry) {
        several if several.len() > 1 && entry.contains(',') => several,
        _ => vec![entry.trim()],
    }
}
