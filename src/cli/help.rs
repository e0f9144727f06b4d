//! The help of the bare program: commands in the groups in which people look for them.

use clap::Command;
use clap::builder::StyledStr;
use std::fmt::Write as _;

const GROUPS: [(&str, &[&str]); 5] = [
    ("Run", &["agent", "mount", "sessions"]),
    ("Look", &["list", "show", "pick", "lint"]),
    ("Make", &["create", "persona", "role", "schema"]),
    ("Share", &["install", "update", "uninstall", "pack", "import", "export", "sources"]),
    ("Set up", &["doctor", "config", "completions", "man"]),
];

/// `hidden` names commands (`role`) and subcommands (`persona rename`) that this run does not offer.
pub fn grouped(command: Command, hidden: &[&str]) -> Command {
    let mut command = command;
    for name in hidden {
        command = match name.split_once(' ') {
            Some((parent, child)) => command
                .mut_subcommand(parent, |parent| parent.mut_subcommand(child, |child| child.hide(true))),
            None => command.mut_subcommand(name, |subcommand| subcommand.hide(true)),
        };
    }
    let mut text = String::new();
    for (title, names) in GROUPS {
        let rows: Vec<(&str, String)> = names
            .iter()
            .filter(|name| !hidden.contains(name))
            .filter_map(|name| {
                let about = command.find_subcommand(name)?.get_about()?.to_string();
                Some((*name, about))
            })
            .collect();
        if rows.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\x1b[1m{title}:\x1b[0m");
        for (name, about) in rows {
            let _ = writeln!(text, "  {name:<12} {about}");
        }
        text.push('\n');
    }
    command
        .help_template("{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}\x1b[1mOptions:\x1b[0m\n{options}{after-help}")
        .before_help(StyledStr::from(text.trim_end().to_owned() + "\n"))
        .after_help("`agentworkforce <command> --help` says more about each. Alone on a terminal it opens a picker.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn every_command_is_in_a_group() {
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        for command in crate::cli::Cli::command().get_subcommands().filter(|command| !command.is_hide_set()) {
            assert!(grouped.contains(&command.get_name()), "{} is in no group", command.get_name());
        }
    }
}
