//! The permissions of a persona while they are collected.

use super::persona_builder::PersonaBuilder;
use super::tools::{ALL, Meaning, ToolNames, unlisted_tools};
use crate::model::printable::printable;
use crate::model::shape::TextRule;
use crate::model::text_rules;
use std::collections::BTreeSet;

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
        self.allow.extend(tools.allowed);
    }

    /// Denies what changes something or uses the network and is not in the list.
    pub fn deny_others(
        &mut self,
        builder: &mut PersonaBuilder,
        key: &str,
        said: &[String],
        names: &ToolNames,
    ) -> Listed {
        let (mut tools, unknown) = translated(builder, key, said, names);
        let others = unlisted_tools(&tools.available());
        for tool in &others {
            self.deny(*tool);
        }
        if !others.is_empty() {
            builder.mapped(&format!("{key} (those not listed)"), "permissions.deny");
        }
        if tools.allowed.is_empty() && tools.parts.is_empty() {
            builder.warn(format!(
                "none of its tools is known here ({}): it may not run commands, edit files or use the web; set `permissions` yourself",
                printable(&said.join(", "))
            ));
        } else {
            report_unknown(builder, &unknown);
            report_parts(builder, &tools);
        }
        tools.allowed.extend(unknown);
        builder.lists_tools(&tools.allowed);
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
        report_parts(builder, &tools);
        self.allow.extend(tools.allowed.into_iter().filter(|tool| is_available(tool)));
    }

    /// Denies the tools of a list.
    pub fn deny_listed(
        &mut self,
        builder: &mut PersonaBuilder,
        key: &str,
        said: &[String],
        names: &ToolNames,
    ) {
        if said.iter().any(|entry| entry == "*") {
            self.deny.extend(ALL.iter().map(ToString::to_string));
        }
        let said: Vec<String> = said.iter().filter(|entry| *entry != "*").cloned().collect();
        let (tools, unknown) = translated(builder, key, &said, names);
        builder.mapped(key, "permissions.deny");
        report_unknown(builder, &unknown);
        self.deny.extend(tools.available().into_iter().chain(unknown));
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
        builder.add(["permissions", "allow"], self.allow);
        builder.add(["permissions", "deny"], self.deny);
    }
}

fn report_unknown(builder: &mut PersonaBuilder, unknown: &[String]) {
    if !unknown.is_empty() {
        builder.warn(format!("it lists tools that are not known here: {}", printable(&unknown.join(", "))));
    }
}

/// The tools of a list.
#[derive(Default)]
pub struct Listed {
    pub allowed: Vec<String>,
    /// Only a part of these is listed: they are not denied, and ask.
    parts: Vec<String>,
    /// The entries that stand for parts.
    entries_of_parts: String,
}

impl Listed {
    pub fn available(&self) -> Vec<String> {
        self.allowed.iter().chain(&self.parts).cloned().collect()
    }
}

/// The tools of a list, and the entries about which nothing is known. What no harness has is dropped.
fn translated(
    builder: &mut PersonaBuilder,
    key: &str,
    said: &[String],
    names: &ToolNames,
) -> (Listed, Vec<String>) {
    let (mut tools, mut unknown, mut parts) = (Listed::default(), Vec::new(), Vec::new());
    let mut has_dropped = false;
    for entry in said {
        match names.meaning(entry) {
            Meaning::Tools(ours) => tools.allowed.extend(ours),
            Meaning::PartOf(ours) => {
                parts.push(entry.as_str());
                tools.parts.extend(ours.iter().map(ToString::to_string));
            }
            Meaning::NoCounterpart => {
                has_dropped = true;
                builder.dropped(&format!("{key}.{entry}"), format!("a tool that only {} has", names.source));
            }
            Meaning::Unknown => unknown.push(entry.clone()),
        }
    }
    tools.entries_of_parts = parts.join(", ");
    if let Some(value) = builder.as_written(key).filter(|_| has_dropped) {
        builder.keep(key, value);
    }
    (tools, unknown)
}

fn report_parts(builder: &mut PersonaBuilder, tools: &Listed) {
    let mut wider: BTreeSet<&str> = tools.parts.iter().map(String::as_str).collect();
    wider.retain(|tool| !tools.allowed.iter().any(|allowed| allowed == tool));
    let wider: Vec<&str> = wider.into_iter().collect();
    if !wider.is_empty() {
        builder.warn(format!(
            "it lists tools that do less than those here, which ask each time: {} ({})",
            printable(&tools.entries_of_parts),
            wider.join(", ")
        ));
    }
}

/// The entries of a text; one with anything else between them is left whole, to be reported as it is.
fn parts(entry: &str) -> Vec<&str> {
    match text_rules::tool_entries(entry) {
        several if several.len() > 1 && entry.contains(',') => several,
        _ => vec![entry.trim()],
    }
}
