//! The help of the bare program: commands in the groups in which people look for them.

use clap::Command;
use clap::builder::StyledStr;
use std::fmt::Write as _;

pub const GROUPS: [(&str, &[&str]); 5] = [
    ("Run", &["agent", "work", "mount", "sessions"]),
    ("Look", &["list", "show", "pick", "lint", "verify"]),
    ("Make", &["create", "persona", "role", "contract", "schema"]),
    ("Share", &["install", "update", "uninstall", "pack", "import", "export", "sources"]),
    ("Set up", &["doctor", "config", "completions", "man", "help"]),
];

/// What people type first, below the help of the command.
pub const EXAMPLES: [(&str, &[(&str, &str)]); 15] = [
    (
        "agent",
        &[
            ("agent engineer", "interactive, then review the changes"),
            ("agent debugger@best -p \"why is CI red?\"", "headless: one task"),
            ("agent debugger \"explain this\" < build.log", "with the log as context"),
            ("agent engineer -p \"fix it\" --check \"make test\"", "apply only if the check passes"),
            ("agent engineer --dry-run", "print the plan"),
        ],
    ),
    (
        "work",
        &[
            ("work \"fix the login lockout\" --check \"npm test\"", "applied only if the check passes"),
            ("work contract.json --as engineer@best --json", "under a contract file, in a script"),
            ("work contract.json --as engineer,debugger", "a race: the best verified result is applied"),
            ("work \"add a cache\" --review code-reviewer", "with a persona that judges the rest"),
            ("work --resume engineer-2026 --attempts 2", "go on with what was not approved"),
        ],
    ),
    ("verify", &[("verify --report report.json --base origin/main --contract contract.json", "in CI")]),
    (
        "contract",
        &[
            ("contract new T1 --task \"fix the login\" --check \"npm test\"", "write a draft"),
            ("contract check contract.json", "all its problems"),
        ],
    ),
    (
        "mount",
        &[
            ("mount -- make generate", "run any command, review its changes"),
            ("mount --persona engineer -- sh", "a shell with the persona's view"),
        ],
    ),
    (
        "sessions",
        &[
            ("sessions list parser --since 2d", "what was it about?"),
            ("sessions show last", "the last one of this project"),
            ("sessions log last -f", "watch the last run of this project"),
            ("sessions stop engineer-2026", "end a run; the start of a name is enough"),
            ("sessions diff engineer-2026", "its changes"),
            ("sessions diff engineer-2026 | git -C ../other apply", "the changes as a patch"),
            ("sessions undo engineer-2026", "restore the project"),
            ("sessions undo engineer-2026 --only src/lib.rs", "restore one file"),
        ],
    ),
    (
        "show",
        &[
            ("show debugger@best --prompt", "print its system prompt"),
            ("show debugger --files .env", "whether it can see a file, and why"),
        ],
    ),
    (
        "create",
        &[
            ("create api-guard --role reviewer", "a persona for this project"),
            ("create debugger --extends debugger", "your own version of a built-in"),
        ],
    ),
    (
        "lint",
        &[("lint", "every file of every layer"), ("lint personas/api.json --strict", "one file, in CI")],
    ),
    (
        "install",
        &[
            ("install ./pack-1.0.0.tgz", "a file"),
            ("install https://host/team/personas#v2", "a git repository at a tag"),
            ("install --locked", "exactly what the lock lists, in CI"),
        ],
    ),
    (
        "update",
        &[
            ("update --diff", "show what would change"),
            ("update --keep-mine reviewer", "resolve a conflict: keep yours"),
        ],
    ),
    ("import", &[("import ~/.claude/agents --in user", "import all agents of another tool")]),
    ("config", &[("config set limits.usd 5", "default cost limit of a run")]),
    (
        "completions",
        &[
            (
                "completions bash > ~/.local/share/bash-completion/completions/agentworkforce",
                "personas, tiers and sessions too",
            ),
            ("completions fish > ~/.config/fish/completions/agentworkforce.fish", "the same for fish"),
        ],
    ),
    ("pick", &[("pick \"why is CI red?\" --launch", "say who fits best, and start it")]),
];

fn with_examples(command: Command) -> Command {
    EXAMPLES.iter().fold(command, |command, (name, examples)| {
        let width = examples.iter().map(|(words, _)| words.chars().count()).max().unwrap_or_default();
        let mut text = String::from("\x1b[1mExamples:\x1b[0m\n");
        for (words, meaning) in *examples {
            let _ = writeln!(text, "  agentworkforce {words:<width$}  {meaning}");
        }
        let text = StyledStr::from(text.trim_end().to_owned());
        command.mut_subcommand(name, |subcommand| subcommand.after_help(text))
    })
}

/// `hidden` names commands (`role`) and subcommands (`persona rename`) that this run does not offer.
pub fn grouped(command: Command, hidden: &[&str]) -> Command {
    let mut command = with_examples(command);
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
        .after_help("Run `agentworkforce help <command>` for details and examples. Without a command, on a terminal, it opens a \
             list of personas to choose from.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn every_example_is_a_command_line_that_is_understood() {
        for (name, examples) in EXAMPLES {
            for (words, _) in examples {
                let words = shlex::split(words).expect("balanced quotes");
                // What another program gets is its own affair.
                let words: Vec<String> =
                    words.into_iter().take_while(|word| word != "|" && word != ">").collect();
                assert_eq!(words[0], name);
                let args = std::iter::once("agentworkforce".to_owned()).chain(words).map(Into::into);
                crate::cli::parse(args, &[]).unwrap_or_else(|error| panic!("{error}"));
            }
        }
    }

    #[test]
    fn every_argument_says_what_it_is() {
        fn check(command: &Command) {
            for argument in command.get_arguments() {
                assert!(argument.get_help().is_some(), "{} {}", command.get_name(), argument.get_id());
            }
            command.get_subcommands().for_each(check);
        }
        check(&crate::cli::Cli::command());
    }

    #[test]
    fn every_command_is_in_a_group() {
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        for command in crate::cli::Cli::command().get_subcommands().filter(|command| !command.is_hide_set()) {
            assert!(grouped.contains(&command.get_name()), "{} is in no group", command.get_name());
        }
    }
}
