//! The manual: one page with every command, its arguments, examples and exit codes, in the language of `man`.

use super::help::{EXAMPLES, GROUPS};
use clap::{Arg, Command};
use std::fmt::Write as _;

const EXITS: [(&str, &str); 9] = [
    ("0", "Done."),
    ("1", "A run or a check failed, or lint, install or doctor found problems."),
    ("2", "Usage, unknown persona or tier, invalid persona or config, missing input: nothing was started."),
    ("3", "Conflict: the work is complete and held; nothing was overwritten."),
    ("4", "Refused by policy: --strict, --sandbox, --locked."),
    ("124", "A time limit was reached."),
    ("125", "The runner itself failed."),
    ("126, 127", "The harness cannot be executed, was not found."),
    ("128+n", "Ended by signal n."),
];

const FILES: [(&str, &str); 3] = [
    (".agentworkforce/workforce/", "Personas and roles of a project."),
    (
        "~/.agentworkforce/workforce/",
        "Your own personas and roles, config.json and sessions; AGENT_WORKFORCE_HOME moves it.",
    ),
    (".agentignore, .agentreadonly", "What no agent sees, what no agent changes; gitignore grammar."),
];

pub fn page(command: Command) -> String {
    let mut command = command;
    command.build();
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let version = command.get_version().unwrap_or_default().to_owned();
    let mut out = format!(".TH agentworkforce 1 \"\" \"agentworkforce {}\"\n", escaped(&version));
    let _ = writeln!(out, ".SH NAME\nagentworkforce \\- {}", escaped(&about));
    out.push_str(".SH SYNOPSIS\n.B agentworkforce\n[\\-\\-json] <command> [options]\n");
    let _ = writeln!(out, ".SH DESCRIPTION\n{}.", escaped(&about));
    out.push_str("Without a command, on a terminal, it opens a list of personas to pick from.\n");
    out.push_str(".SH OPTIONS\n");
    for argument in command.get_arguments() {
        describe(&mut out, argument);
    }
    out.push_str(".SH COMMANDS\n");
    for name in GROUPS.iter().flat_map(|(_, names)| names.iter()) {
        if let Some(subcommand) = command.find_subcommand_mut(name) {
            write_command(&mut out, subcommand);
        }
    }
    out.push_str(".SH EXIT STATUS\n");
    for (code, meaning) in EXITS {
        item(&mut out, code, meaning);
    }
    out.push_str(".SH FILES\n");
    for (path, meaning) in FILES {
        item(&mut out, path, meaning);
    }
    out
}

/// A command without commands of its own has a section; the others have one for each of theirs.
fn write_command(out: &mut String, command: &mut Command) {
    if command.is_hide_set() {
        return;
    }
    if command.has_subcommands() {
        for subcommand in command.get_subcommands_mut() {
            write_command(out, subcommand);
        }
        return;
    }
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").split_whitespace().collect::<Vec<_>>().join(" ");
    let _ = writeln!(out, ".SS {}", escaped(&usage));
    if let Some(about) = command.get_about() {
        let _ = writeln!(out, "{}.", escaped(&about.to_string()));
    }
    for positional in [true, false] {
        let wanted = |argument: &&Arg| argument.is_positional() == positional && is_own(argument);
        for argument in command.get_arguments().filter(wanted) {
            describe(out, argument);
        }
    }
    let examples = EXAMPLES.iter().find(|(name, _)| *name == command.get_name());
    for (words, meaning) in examples.map_or(&[][..], |(_, examples)| examples) {
        item(out, &format!("agentworkforce {words}"), &format!("Example: {meaning}"));
    }
}

/// Those of every command are told once.
fn is_own(argument: &Arg) -> bool {
    !argument.is_hide_set() && !["help", "version", "json"].contains(&argument.get_id().as_str())
}

fn describe(out: &mut String, argument: &Arg) {
    let mut name = Vec::new();
    name.extend(argument.get_short().map(|short| format!("-{short}")));
    name.extend(argument.get_long().map(|long| format!("--{long}")));
    let mut name = name.join(", ");
    if argument.is_positional() || argument.get_action().takes_values() {
        let value = argument.get_value_names().and_then(|names| names.first().map(ToString::to_string));
        let value = value.unwrap_or_else(|| argument.get_id().to_string());
        name = format!("{name} <{value}>").trim_start().to_owned();
    }
    let mut meaning = argument.get_help().map(ToString::to_string).unwrap_or_default();
    let values: Vec<String> = argument
        .get_possible_values()
        .iter()
        .filter(|value| argument.get_action().takes_values() && !value.is_hide_set())
        .map(|value| match value.get_help() {
            Some(help) => format!("{} ({help})", value.get_name()),
            None => value.get_name().to_owned(),
        })
        .collect();
    if !values.is_empty() {
        let _ = write!(meaning, ": {}", values.join(", "));
    }
    item(out, &name, &meaning);
}

fn item(out: &mut String, name: &str, meaning: &str) {
    let end = if meaning.ends_with('.') { "" } else { "." };
    let _ = writeln!(out, ".TP\n.B {}\n{}{end}", escaped(name), escaped(meaning));
}

/// No backslash, hyphen or dot at the start of a line may mean anything to the typesetter.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-").replace('\n', " ");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}
