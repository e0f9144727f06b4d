//! What may follow on a command line, for the completion scripts. Flags and commands are known here; personas, roles and
//! sessions are looked up by whoever calls.

use crate::model::tier::{Harness, Tier};
use clap::builder::ValueHint;
use clap::{Arg, Command, ValueEnum};

/// The shells whose scripts ask the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AskingShell {
    Bash,
    Zsh,
    Fish,
}

impl AskingShell {
    /// The script of a shell, if it is one that asks.
    pub fn script(shell: clap_complete::Shell) -> Option<&'static str> {
        match shell {
            clap_complete::Shell::Bash => Some(include_str!("completion_scripts/agentworkforce.bash")),
            clap_complete::Shell::Zsh => Some(include_str!("completion_scripts/agentworkforce.zsh")),
            clap_complete::Shell::Fish => Some(include_str!("completion_scripts/agentworkforce.fish")),
            _ => None,
        }
    }
}

/// The script of a shell that is given all words at once.
pub fn static_script(shell: clap_complete::Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut super::command(&[]), "agentworkforce", &mut script);
    script
}

/// What only the disk knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    Persona,
    /// A persona, perhaps with a tier.
    Selector,
    Role,
    /// A session, or `last`.
    Session,
    /// A session that is running.
    Running,
    Tag,
    /// A key of the config.
    Setting,
}

/// A word that fits, with what it means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub word: String,
    pub meaning: Option<String>,
}

impl Candidate {
    pub fn new(word: impl Into<String>, meaning: Option<String>) -> Candidate {
        Candidate { word: word.into(), meaning }
    }
}

/// What may stand where the cursor is.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// In front of every word: `--harness=`.
    pub prefix: String,
    /// What the word has to start with.
    pub typed: String,
    pub candidates: Vec<Candidate>,
    pub named: Option<Named>,
    pub files: bool,
}

/// What may stand in place of the last of these words, the program's name not among them. `hidden` commands are left out.
pub fn expected(words: &[String], hidden: &[&str]) -> Expected {
    let Some((current, before)) = words.split_last() else { return Expected::default() };
    let mut root = super::command(hidden);
    root.build();
    let (mut command, mut path) = (&root, String::new());
    let mut positional = 0;
    let mut awaits: Option<&Arg> = None;
    for word in before {
        if awaits.take().is_some() {
            continue;
        }
        if word == "--" {
            return Expected { typed: current.clone(), files: true, ..Expected::default() };
        }
        if word.starts_with('-') && word.len() > 1 {
            awaits = flag(command, word).filter(|arg| takes_next(arg, word));
        } else if let Some(subcommand) = command.find_subcommand(word).filter(|_| positional == 0) {
            command = subcommand;
            path = format!("{path} {}", subcommand.get_name()).trim_start().to_owned();
        } else {
            positional += 1;
        }
    }
    if let Some(arg) = awaits {
        return value_of(arg, &path, current, "");
    }
    if let Some((name, typed)) = current.split_once('=').filter(|(name, _)| name.starts_with("--")) {
        let arg = flag(command, name).filter(|arg| arg.get_action().takes_values());
        let prefix = format!("{name}=");
        return arg.map(|arg| value_of(arg, &path, typed, &prefix)).unwrap_or_default();
    }
    if current.starts_with('-') {
        return Expected { typed: current.clone(), candidates: flags(command), ..Expected::default() };
    }
    let subcommands = command.get_subcommands().filter(|sub| positional == 0 && !sub.is_hide_set());
    let about = |sub: &Command| sub.get_about().map(ToString::to_string);
    let mut candidates: Vec<Candidate> =
        subcommands.map(|sub| Candidate::new(sub.get_name(), about(sub))).collect();
    // What follows `help` are the names of commands.
    if path == "help" {
        let mut named = Some(&root);
        for word in before.iter().skip(1) {
            named = named.and_then(|command| command.find_subcommand(word));
        }
        let subs = named.into_iter().flat_map(Command::get_subcommands).filter(|sub| !sub.is_hide_set());
        candidates.extend(subs.map(|sub| Candidate::new(sub.get_name(), about(sub))));
        return Expected { typed: current.clone(), candidates, ..Expected::default() };
    }
    let last = command.get_positionals().last().filter(|arg| takes_many(arg));
    let mut expected =
        match command.get_positionals().nth(positional).or(last).filter(|arg| !arg.is_last_set()) {
            Some(arg) => value_of(arg, &path, current, ""),
            None => Expected { typed: current.clone(), ..Expected::default() },
        };
    expected.candidates.splice(0..0, candidates);
    expected
}

fn takes_many(arg: &Arg) -> bool {
    arg.get_num_args().is_some_and(|count| count.max_values() > 1)
        || matches!(arg.get_action(), clap::ArgAction::Append)
}

/// The flag that a word names; of letters in one word, the last.
fn flag<'c>(command: &'c Command, word: &str) -> Option<&'c Arg> {
    let is_named = |arg: &&Arg| match word.strip_prefix("--") {
        Some(long) => {
            let name = long.split('=').next().unwrap_or(long);
            let has_alias = arg.get_all_aliases().is_some_and(|aliases| aliases.contains(&name));
            arg.get_long() == Some(name) || has_alias
        }
        None => arg.get_short().is_some() && arg.get_short() == word.chars().last(),
    };
    command.get_arguments().find(is_named)
}

/// Whether the next word is its value.
fn takes_next(arg: &Arg, word: &str) -> bool {
    let needs_value = arg.get_num_args().is_none_or(|count| count.min_values() > 0);
    arg.get_action().takes_values() && needs_value && !word.contains('=')
}

fn flags(command: &Command) -> Vec<Candidate> {
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set() && !arg.is_positional());
    shown
        .filter_map(|arg| {
            let meaning = arg.get_help().map(ToString::to_string);
            Some(Candidate::new(format!("--{}", arg.get_long()?), meaning))
        })
        .collect()
}

fn value_of(arg: &Arg, path: &str, typed: &str, prefix: &str) -> Expected {
    let is_list = arg.get_value_delimiter() == Some(',');
    let (done, typed) = match typed.rsplit_once(',').filter(|_| is_list) {
        Some((done, typed)) => (format!("{done},"), typed),
        None => (String::new(), typed),
    };
    let possible = arg.get_possible_values().into_iter().filter(|value| !value.is_hide_set());
    let known =
        possible.map(|value| Candidate::new(value.get_name(), value.get_help().map(ToString::to_string)));
    let id = arg.get_id().as_str();
    let words = match (path, id) {
        // Their values are checked later, with a message that says more than clap's.
        (_, "harness") | ("export", "to") => Harness::names().to_vec(),
        (_, "tier" | "default_tier") => Tier::ALL.map(Tier::name).to_vec(),
        ("create" | "import", "to") => vec!["project", "user"],
        _ => Vec::new(),
    };
    Expected {
        prefix: format!("{prefix}{done}"),
        typed: typed.to_owned(),
        candidates: known.chain(words.into_iter().map(|word| Candidate::new(word, None))).collect(),
        named: named(path, id),
        files: !matches!(arg.get_value_hint(), ValueHint::Unknown | ValueHint::Other)
            || matches!((path, id), ("lint", "targets") | ("create" | "import", "to")),
    }
}

/// What an argument names.
fn named(path: &str, id: &str) -> Option<Named> {
    let (command, _) = path.split_once(' ').unwrap_or((path, ""));
    match (command, id) {
        ("agent" | "show" | "export", "selector") | ("mount", "persona") => Some(Named::Selector),
        ("lint", "targets") | ("create", "extends") | ("persona", "id") | ("sessions", "persona") => {
            Some(Named::Persona)
        }
        ("create" | "persona", "role") => Some(Named::Role),
        ("role", "key" | "reassign_to") if path != "role create" => Some(Named::Role),
        ("sessions", "id") if path == "sessions stop" => Some(Named::Running),
        ("agent", "resume") | ("sessions", "id") => Some(Named::Session),
        ("config", "key") => Some(Named::Setting),
        ("list", "tag") => Some(Named::Tag),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn at(line: &str) -> Expected {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        expected(&words, &[])
    }

    fn words(expected: &Expected) -> Vec<&str> {
        let fit = expected.candidates.iter().filter(|one| one.word.starts_with(&expected.typed));
        fit.map(|candidate| candidate.word.as_str()).collect()
    }

    #[test]
    fn commands_and_flags_are_known() {
        assert_eq!(words(&at("se")), ["sessions"]);
        assert_eq!(words(&at("__")), [""; 0]);
        assert_eq!(words(&at("sessions dis")), ["discard"]);
        assert_eq!(words(&at("agent x --sand")), ["--sandbox"]);
        assert_eq!(words(&at("agent x --sandbox s")), ["strict"]);
        assert_eq!(words(&at("agent x --sandbox=s")), ["strict"]);
        assert_eq!(at("agent x --sandbox=s").prefix, "--sandbox=");
        assert_eq!(words(&at("agent x --harness c")), ["claude", "codex"]);
        assert_eq!(words(&at("agent x --inherit mcp,co")), ["commands"]);
        assert_eq!(at("agent x --inherit mcp,co").prefix, "mcp,");
        assert_eq!(words(&at("help sessions un")), ["undo"]);
        assert_eq!(words(&at("list --tier mi")), ["minimum"]);
    }

    #[test]
    fn what_the_disk_knows_is_named() {
        for (line, named) in [
            ("agent deb", Some(Named::Selector)),
            ("agent -v --strict deb", Some(Named::Selector)),
            ("agent --model x deb", Some(Named::Selector)),
            ("agent --model deb", None),
            ("agent debugger word", None),
            ("agent x --resume ", Some(Named::Session)),
            ("mount --persona d", Some(Named::Selector)),
            ("sessions diff e", Some(Named::Session)),
            ("sessions --json apply e", Some(Named::Session)),
            ("sessions stop e", Some(Named::Running)),
            ("sessions list --persona e", Some(Named::Persona)),
            ("sessions list e", None),
            ("config set lim", Some(Named::Setting)),
            ("config unset lim", Some(Named::Setting)),
            ("config set limits.usd 3", None),
            ("persona rename e", Some(Named::Persona)),
            ("persona set x --role e", Some(Named::Role)),
            ("role delete x --reassign-to e", Some(Named::Role)),
            ("role create e", None),
            ("list --tag r", Some(Named::Tag)),
            ("list --filter-tag r", Some(Named::Tag)),
        ] {
            assert_eq!(at(line).named, named, "{line}");
        }
    }

    #[test]
    fn files_are_left_to_the_shell() {
        for (line, files) in [
            ("agent x --prompt-file ", true),
            ("mount -- ls ", true),
            ("lint ", true),
            ("import ", true),
            ("agent ", false),
            ("agent x --model ", false),
        ] {
            assert_eq!(at(line).files, files, "{line}");
        }
    }

    /// Every name in the tables above is an argument of its command.
    #[test]
    fn every_named_argument_exists() {
        fn count(command: &Command, path: &str, found: &mut Vec<String>) {
            for arg in command.get_arguments() {
                if named(path, arg.get_id().as_str()).is_some() {
                    found.push(format!("{path} {}", arg.get_id()).trim().to_owned());
                }
            }
            for sub in command.get_subcommands() {
                count(sub, format!("{path} {}", sub.get_name()).trim(), found);
            }
        }
        let mut found = Vec::new();
        count(&crate::cli::command(&[]), "", &mut found);
        for argument in [
            "agent selector",
            "agent resume",
            "mount persona",
            "show selector",
            "export selector",
            "lint targets",
            "create extends",
            "create role",
            "persona set id",
            "persona set role",
            "role show key",
            "role delete reassign_to",
            "sessions diff id",
            "sessions stop id",
            "sessions list persona",
            "config set key",
            "config get key",
            "list tag",
        ] {
            assert!(found.iter().any(|name| name == argument), "{argument}: {found:?}");
        }
    }
}
