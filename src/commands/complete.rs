//! Completion: the script of a shell, and the answers to what the script asks while somebody types. Errors are not printed: they
//! would appear in the middle of the line that is typed.

use super::config;
use crate::cli::completion::{self, AskingShell, Candidate, Expected, Named};
use crate::exit::Exit;
use crate::host::Host;
use crate::load::roles;
use crate::model::tier::Tier;
use crate::session::SessionStore;
use crate::session::store::{LAST, Session};
use crate::ui::text::shortened;
use crate::ui::{Ui, printable};
use crate::workforce::{Found, Workforce};
use std::collections::BTreeSet;
use std::ffi::OsString;

/// Longest meaning that is shown beside a word.
const LONGEST_MEANING: usize = 60;
/// For the shell: let it complete file names.
const FILES: &str = "\tfiles";

pub fn script(shell: clap_complete::Shell, ui: &mut Ui) -> Exit {
    match AskingShell::script(shell) {
        Some(script) => ui.verbatim(script.as_bytes()),
        None => ui.verbatim(&completion::static_script(shell)),
    }
    Exit::Done
}

/// One line for each word that fits.
pub fn run(shell: AskingShell, asked: &[OsString], host: &Host, ui: &mut Ui) -> Exit {
    let Some(asked) = asked.iter().map(|word| word.to_str()).collect::<Option<Vec<&str>>>() else {
        return Exit::Done;
    };
    let (words, breaks) = match (shell, asked.as_slice()) {
        (AskingShell::Bash, [line, breaks]) => (words_of(line), *breaks),
        _ => (asked.iter().map(|&word| word.to_owned()).collect(), ""),
    };
    let expected = completion::expected(&words, &super::hidden(host));
    let mut candidates = expected.candidates.clone();
    candidates.extend(expected.named.map(|named| on_disk(named, &expected, host)).unwrap_or_default());
    candidates.retain(|candidate| candidate.word.starts_with(&expected.typed));
    if candidates.is_empty() && expected.files {
        ui.line(FILES);
    }
    // bash replaces only what stands behind the last of its word breaks; an `@` belongs to what follows.
    let whole = format!("{}{}", expected.prefix, expected.typed);
    let is_break = |c: &(usize, char)| breaks.contains(c.1);
    let kept = whole.char_indices().rfind(is_break);
    let kept = kept.map_or(0, |(at, c)| if c == '@' { at } else { at + c.len_utf8() });
    for candidate in candidates {
        let word = format!("{}{}", expected.prefix, candidate.word);
        let meaning = candidate.meaning.filter(|meaning| !meaning.trim().is_empty());
        let meaning = meaning.map(|meaning| shortened(&printable(&meaning), LONGEST_MEANING));
        ui.line(match (shell, meaning) {
            (AskingShell::Bash, _) => word[kept..].to_owned(),
            (AskingShell::Zsh, meaning) => {
                let escaped = word.replace('\\', "\\\\").replace(':', "\\:");
                meaning.map_or(escaped.clone(), |meaning| format!("{escaped}:{meaning}"))
            }
            (AskingShell::Fish, Some(meaning)) => format!("{word}\t{meaning}"),
            (AskingShell::Fish, None) => word,
        });
    }
    Exit::Done
}

/// The words of a command line behind the program's name; the last is where the cursor is, and may be empty or in open quotes.
fn words_of(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), Some(String::new()), None);
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (Some('\''), letter) => word.get_or_insert_default().push(letter),
            (_, '\\') => word.get_or_insert_default().extend(letters.next()),
            (None, '"' | '\'') => {
                word.get_or_insert_default();
                quote = Some(letter);
            }
            (None, ' ' | '\t') => words.extend(word.take()),
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.push(word.unwrap_or_default());
    words.split_off(1.min(words.len()))
}

fn on_disk(named: Named, expected: &Expected, host: &Host) -> Vec<Candidate> {
    match named {
        Named::Persona | Named::Selector | Named::Tag => personas(named, &expected.typed, host),
        Named::Role => {
            let workforce = Workforce::open_outlines(host, None).ok();
            let keys = workforce.map(|workforce| roles::keys(&workforce.layers).0).unwrap_or_default();
            keys.into_iter().map(|key| Candidate::new(key, None)).collect()
        }
        Named::Session => {
            let last = Candidate::new(LAST, Some("the last one in this project".into()));
            std::iter::once(last).chain(sessions(host, |_| true)).collect()
        }
        Named::Running => sessions(host, |session| session.is_live().unwrap_or(false)),
        Named::Setting => {
            let settings = config::settings().into_iter();
            settings.map(|(key, _, meaning)| Candidate::new(key, Some(meaning.to_owned()))).collect()
        }
    }
}

fn personas(named: Named, typed: &str, host: &Host) -> Vec<Candidate> {
    let Ok(workforce) = Workforce::open_outlines(host, None) else { return Vec::new() };
    let (found, _) = workforce.all();
    if named == Named::Tag {
        let tags: BTreeSet<&String> = found.iter().flat_map(|found| &found.resolved.persona.tags).collect();
        return tags.into_iter().map(|tag| Candidate::new(tag, None)).collect();
    }
    // The tiers of a persona only once it is named: otherwise they would be all that is seen.
    let id = typed.split_once('@').map(|(id, _)| id);
    let candidates = |found: &Found| {
        let resolved = &found.resolved;
        let meaning = resolved.persona.description.clone();
        if id != Some(resolved.id()) {
            return vec![Candidate::new(resolved.id(), meaning)];
        }
        let tier = |tier: Tier| Candidate::new(format!("{}@{}", resolved.id(), tier.name()), meaning.clone());
        resolved.tiers().into_iter().map(tier).collect()
    };
    found.iter().flat_map(candidates).collect()
}

/// Newest first: the time is behind the persona in a session's name.
fn sessions(host: &Host, is_meant: impl Fn(&Session) -> bool) -> Vec<Candidate> {
    let Ok(home) = host.workforce_home() else { return Vec::new() };
    let mut names: Vec<String> = SessionStore::new(&home)
        .all()
        .unwrap_or_default()
        .into_iter()
        .filter(is_meant)
        .map(|one| one.id.to_string())
        .collect();
    // `<persona>-<date>-<time>-<digits>`
    let time = |name: &str| {
        let parts: Vec<&str> = name.rsplitn(4, '-').collect();
        (parts.get(2).copied().map(str::to_owned), parts.get(1).copied().map(str::to_owned))
    };
    names.sort_by_key(|name| std::cmp::Reverse(time(name)));
    names.into_iter().map(|name| Candidate::new(name, None)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_as_the_shell_does() {
        for (line, words) in [
            ("agentworkforce ", &[""][..]),
            ("agentworkforce ag", &["ag"]),
            ("agentworkforce agent  deb", &["agent", "deb"]),
            ("agentworkforce agent 'a b' \"c d", &["agent", "a b", "c d"]),
            ("agentworkforce agent -p \"it's\" x\\ y", &["agent", "-p", "it's", "x y"]),
            ("agentworkforce agent '' ", &["agent", "", ""]),
            ("agentworkforce", &[]),
        ] {
            assert_eq!(words_of(line), words, "{line}");
        }
    }
}
