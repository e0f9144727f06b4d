//! New links that lead away, new names that are taken for others, and characters that hide what a line says. Follows links by their
//! text alone.

use super::excerpt;
use super::fold::look;
use super::lines::added_lines;
use crate::model::verdict::{Blocker, Check, CheckName, CheckSeverity};
use crate::work::evidence::{ChangedFile, Evidence, FileState, Node};
use crate::work::path_kind::{is_cache, is_code, is_dependency_manifest, is_runner_configuration};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

const EXPECTED: &str = "links stay inside, names are told apart, and nothing is hidden in a line";

/// Steps in following links, all together.
const MOST_STEPS: usize = 200_000;

pub fn links_names(evidence: &Evidence) -> Check {
    let mut findings: BTreeMap<CheckSeverity, BTreeSet<String>> = BTreeMap::new();
    let mut add = |severity, line: String| {
        findings.entry(severity).or_default().insert(line);
    };
    let is_decided = links(evidence, &mut add);
    names(evidence, &mut add);
    characters(evidence, &mut add);
    let lines: Vec<String> = findings.values().rev().flatten().cloned().collect();
    let total = lines.len();
    let failed = |severity, blocker| {
        let observed = excerpt::count(total, "finding");
        Check::failed(CheckName::LinksNames, severity, blocker, EXPECTED, observed)
            .with_evidence(lines.clone())
    };
    if findings.contains_key(&CheckSeverity::Major) {
        failed(CheckSeverity::Major, Some(Blocker::ScopeDrift))
    } else if !is_decided {
        Check::inconclusive(CheckName::LinksNames, EXPECTED, "there are too many links to follow")
    } else if total > 0 {
        failed(CheckSeverity::Minor, None)
    } else {
        Check::passed(CheckName::LinksNames, EXPECTED, "nothing found")
    }
}

fn link_target(state: Option<&FileState>) -> Option<String> {
    match &state?.node {
        Node::Link(target) => Some(target.0.to_string_lossy().into_owned()),
        _ => None,
    }
}

/// Whether all links could be followed.
fn links(evidence: &Evidence, add: &mut dyn FnMut(CheckSeverity, String)) -> bool {
    let changes = &evidence.changes;
    let new: BTreeMap<String, String> = changes
        .files
        .iter()
        .filter_map(|file| Some((file.name().into_owned(), link_target(file.after.as_ref())?)))
        .collect();
    if new.is_empty() {
        return true;
    }
    let mut inside: HashSet<&str> = HashSet::new();
    for path in evidence.base.paths.iter() {
        inside.insert(path);
        inside.extend(path.match_indices('/').map(|(end, _)| &path[..end]));
    }
    let names: Vec<_> =
        changes.files.iter().filter(|file| file.after.is_some()).map(ChangedFile::name).collect();
    for name in &names {
        inside.insert(name);
        inside.extend(name.match_indices('/').map(|(end, _)| &name[..end]));
    }
    let kept_apart: HashSet<&str> =
        changes.ignored.iter().chain(&changes.protected).map(|path| path.trim_end_matches('/')).collect();
    let mut steps = MOST_STEPS;
    for file in &changes.files {
        let name = file.name();
        let Some(target) = new.get(name.as_ref()) else { continue };
        if link_target(file.before.as_ref()).as_ref() == Some(target) {
            continue;
        }
        let shown = format!("link {} -> {}", excerpt::name(&name), excerpt::name(target));
        match follow(&name, &new, &evidence.base.paths, &mut steps) {
            _ if steps == 0 => return false,
            End::Outside => add(CheckSeverity::Major, format!("{shown} leads out of the project")),
            End::Undecided => {}
            End::At(path) => {
                let is_hidden = |path: &str| {
                    let mut ends = path.match_indices('/').map(|(end, _)| &path[..end]).chain([path]);
                    ends.any(|part| kept_apart.contains(part)) || path.split('/').any(|part| part == ".git")
                };
                let is_known = path.is_empty() || inside.contains(path.as_str());
                if is_hidden(&path) || (!is_known && is_cache(&path)) {
                    add(CheckSeverity::Major, format!("{shown} leads to a hidden or ignored path"));
                } else if !is_known && !evidence.base.paths.is_empty() {
                    add(
                        CheckSeverity::Major,
                        format!(
                            "{shown} leads to nothing that the project shows: a hidden, ignored or missing path"
                        ),
                    );
                }
            }
        }
    }
    true
}

enum End {
    Outside,
    At(String),
    /// It goes through a link of the user, whose target is not known here, or in a circle.
    Undecided,
}

/// Where a new link leads, through other new links.
fn follow(link: &str, links: &BTreeMap<String, String>, base: &BTreeSet<String>, steps: &mut usize) -> End {
    let mut here: Vec<String> = link.split('/').map(str::to_owned).collect();
    let mut ahead: Vec<String> = Vec::new();
    let mut expanded = 0;
    loop {
        let path = here.join("/");
        if let Some(target) = links.get(&path) {
            expanded += 1;
            if expanded > 40 {
                return End::Undecided;
            }
            if target.starts_with('/') {
                return End::Outside;
            }
            here.pop();
            ahead.extend(target.split('/').rev().map(str::to_owned));
        } else if !ahead.is_empty() && base.contains(&path) {
            return End::Undecided;
        }
        loop {
            *steps = steps.saturating_sub(1);
            let Some(part) = ahead.pop() else { return End::At(here.join("/")) };
            match part.as_str() {
                _ if *steps == 0 => return End::Undecided,
                "" | "." => {}
                ".." => {
                    if here.pop().is_none() {
                        return End::Outside;
                    }
                }
                _ => {
                    here.push(part);
                    break;
                }
            }
        }
    }
}

/// New names, and new directories, that look like one that is there.
fn names(evidence: &Evidence, add: &mut dyn FnMut(CheckSeverity, String)) {
    let base = &evidence.base.paths;
    let mut deleted: HashSet<String> = HashSet::new();
    let mut new: BTreeSet<String> = BTreeSet::new();
    for file in &evidence.changes.files {
        let name = file.name().into_owned();
        if file.is_deleted() {
            deleted.insert(name);
        } else if file.before.is_none() {
            new.extend(name.match_indices('/').map(|(end, _)| name[..end].to_owned()));
            new.insert(name);
        }
    }
    if new.is_empty() {
        return;
    }
    let mut by_look: HashMap<String, BTreeSet<&str>> = HashMap::new();
    for name in &new {
        by_look.entry(look(name)).or_default().insert(name);
    }
    // Names of the base that look like a new one; a new name that is there by the letter is not new.
    let mut alike: HashMap<String, BTreeSet<String>> = HashMap::new();
    for path in base.iter().filter(|path| !deleted.contains(*path)) {
        let folded = look(path);
        let ends =
            |text: &str| text.match_indices('/').map(|(end, _)| end).chain([text.len()]).collect::<Vec<_>>();
        // Folding keeps the number of slashes but for letters that look like one; then only the whole is compared.
        let (old, new) = (ends(path), ends(&folded));
        if old.len() != new.len() {
            continue;
        }
        for (old, new) in old.into_iter().zip(new) {
            if by_look.contains_key(&folded[..new]) {
                alike.entry(folded[..new].to_owned()).or_default().insert(path[..old].to_owned());
            }
        }
    }
    for (look, group) in by_look {
        let there = alike.remove(&look).unwrap_or_default();
        let added: Vec<&&str> = group.iter().filter(|name| !there.contains(**name)).collect();
        let all: BTreeSet<&str> = group.iter().copied().chain(there.iter().map(String::as_str)).collect();
        if !added.is_empty() && all.len() > 1 {
            let shown: Vec<String> = all.iter().take(3).map(|name| excerpt::name(name)).collect();
            add(CheckSeverity::Major, format!("names that look the same: {}", shown.join(", ")));
        }
    }
    for name in &new {
        let is_old = base.contains(name);
        if !is_old && name.chars().any(|c| is_bidi(c) || is_zero_width(c)) {
            add(CheckSeverity::Major, format!("invisible characters in the name {}", excerpt::name(name)));
        }
    }
}

/// Controls of the direction of text.
fn is_bidi(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Joiners belong to emoji and to Persian; where they are not between Latin letters, they may be meant.
fn is_zero_width(c: char) -> bool {
    matches!(
        c,
        '\u{200b}' | '\u{2060}'
            ..='\u{2064}'
                | '\u{feff}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{61c}'
                | '\u{ad}'
                | '\u{3164}'
                | '\u{ffa0}'
                | '\u{115f}'
                | '\u{1160}'
    )
}

fn characters(evidence: &Evidence, add: &mut dyn FnMut(CheckSeverity, String)) {
    for file in &evidence.changes.files {
        let name = file.name();
        let is_run = is_code(&name) || is_runner_configuration(&name) || is_dependency_manifest(&name);
        let Some(after) = file.text_after().filter(|text| is_run && !text.is_ascii()) else { continue };
        let mut worst: Option<(CheckSeverity, usize)> = None;
        for (number, line) in added_lines(file.text_before().unwrap_or_default(), after) {
            let Some(severity) = hidden_in(line, number == 1) else { continue };
            if worst.is_none_or(|(known, _)| severity > known) {
                worst = Some((severity, number));
            }
        }
        if let Some((severity, number)) = worst {
            add(severity, format!("{}:{number}: invisible characters", excerpt::name(&name)));
        }
    }
}

/// How bad the invisible characters of a line are: what turns text round or splits a word deceives, others may be data.
fn hidden_in(line: &str, is_first: bool) -> Option<CheckSeverity> {
    // A byte order mark.
    let line = if is_first { line.strip_prefix('\u{feff}').unwrap_or(line) } else { line };
    if line.is_ascii() {
        return None;
    }
    let mut severity = None;
    let mut last = ' ';
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let splits_word = || is_word(last) && rest.clone().next().is_some_and(is_word);
        if is_bidi(c) || ((is_zero_width(c) || matches!(c, '\u{200c}' | '\u{200d}')) && splits_word()) {
            return Some(CheckSeverity::Major);
        }
        if is_zero_width(c) {
            severity = Some(CheckSeverity::Minor);
        }
        last = c;
    }
    severity
}
