//! Compares the files that the report lists with those that changed. Whether they may change is for `scope`.

use super::excerpt;
use super::fold::same_letters;
use super::listed_path::{ends, is_elsewhere, spellings};
use crate::model::verdict::{Blocker, Check, CheckName, CheckSeverity};
use crate::model::worker_report::WorkerStatus;
use crate::work::evidence::{ChangedFile, Evidence, FileState, Node, ReportSource};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

const EXPECTED: &str = "the report lists what changed, all of it and nothing else";

pub fn files_changed(evidence: &Evidence) -> Check {
    let Some(report) = &evidence.testimony.report else {
        return Check::skipped(CheckName::FilesChanged, "there is no report to compare with");
    };
    if evidence.testimony.source == ReportSource::Runner {
        return Check::passed(CheckName::FilesChanged, EXPECTED, "listed by the runner");
    }
    if report.status != WorkerStatus::Completed && report.files_changed.is_empty() {
        return Check::skipped(CheckName::FilesChanged, "the worker gave up and lists nothing");
    }
    let known = Known::of(evidence);
    let mut listed: HashSet<usize> = HashSet::new();
    let mut invented: BTreeSet<&str> = BTreeSet::new();
    let mut harmless: BTreeSet<&str> = BTreeSet::new();
    for path in &report.files_changed {
        // More than a path can have is no path.
        if path.trim().is_empty() {
            continue;
        }
        let meant = if path.len() > 16 * 1024 { Meaning::Invented } else { known.meaning(path) };
        match meant {
            Meaning::Changed(files) => listed.extend(files),
            Meaning::Touched => {}
            Meaning::NotPartOfTheWork => {
                harmless.insert(path);
            }
            Meaning::Invented => {
                invented.insert(path);
            }
        }
    }
    let unlisted = known.unlisted(&listed);
    let total = evidence.changes.files.iter().filter(|file| !is_directory(file)).count();
    let mut lines = Vec::new();
    for (title, paths) in
        [("never changed", &invented), ("not part of the work", &harmless), ("not reported", &unlisted)]
    {
        lines
            .extend(excerpt::names(paths.iter().copied()).into_iter().map(|path| format!("{title}: {path}")));
    }
    let failed = |severity, blocker, observed: String| {
        Check::failed(CheckName::FilesChanged, severity, blocker, EXPECTED, observed)
            .with_evidence(lines.clone())
    };
    if !invented.is_empty() {
        let observed = format!("{} listed that never changed", excerpt::count(invented.len(), "file"));
        return failed(CheckSeverity::Critical, Some(Blocker::Hallucination), observed);
    }
    if !unlisted.is_empty() {
        let observed = format!("{} changed and not reported", excerpt::count(unlisted.len(), "file"));
        return failed(CheckSeverity::Major, Some(Blocker::Partial), observed);
    }
    if !harmless.is_empty() {
        let observed =
            format!("{} listed that is no part of the work", excerpt::count(harmless.len(), "path"));
        return failed(CheckSeverity::Minor, None, observed);
    }
    Check::passed(
        CheckName::FilesChanged,
        EXPECTED,
        format!("{} of {}", total, excerpt::count(total, "file")),
    )
}

enum Meaning {
    /// Indices of the changes.
    Changed(Vec<usize>),
    /// A directory or pattern that something changed in, but that does not name it.
    Touched,
    /// Ignored, changed back, a by-product, outside of the project.
    NotPartOfTheWork,
    Invented,
}

/// The paths that a listed one can be.
struct Known<'e> {
    evidence: &'e Evidence,
    names: Vec<std::borrow::Cow<'e, str>>,
    by_name: HashMap<&'e str, usize>,
    /// Spelled with other letters: another case, another composition.
    by_letters: HashMap<String, usize>,
    /// Directories that something changed in: whether they are new.
    directories: BTreeMap<&'e str, bool>,
    /// What is no part of the work, also as directories.
    apart: HashSet<&'e str>,
}

fn is_directory(file: &ChangedFile) -> bool {
    let is = |state: &FileState| state.node == Node::Directory;
    file.after.as_ref().or(file.before.as_ref()).is_some_and(is)
}

fn parents(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(end, _)| &path[..end])
}

impl<'e> Known<'e> {
    fn of(evidence: &'e Evidence) -> Known<'e> {
        let changes = &evidence.changes;
        let mut known = Known {
            evidence,
            names: changes.files.iter().map(ChangedFile::name).collect(),
            by_name: HashMap::new(),
            by_letters: HashMap::new(),
            directories: BTreeMap::new(),
            apart: HashSet::new(),
        };
        for (index, file) in changes.files.iter().enumerate() {
            // A name that is not UTF-8 is found by its shown form below.
            if let Some(path) = file.path.0.to_str() {
                known.by_name.insert(path, index);
                for parent in parents(path) {
                    known.directories.entry(parent).or_insert(true);
                }
            }
            known.by_letters.insert(same_letters(&file.name()), index);
        }
        if known.directories.values().any(|is_new| *is_new) {
            for path in evidence.base.paths.iter() {
                for parent in parents(path) {
                    if let Some(is_new) = known.directories.get_mut(parent) {
                        *is_new = false;
                    }
                }
            }
        }
        let git = &evidence.git.settings_written;
        for list in [
            &changes.by_products,
            &changes.ignored,
            &changes.protected,
            &changes.restored,
            &changes.unknown_base,
            git,
        ] {
            known.apart.extend(list.iter().map(|path| path.trim_end_matches('/')));
        }
        known
    }

    fn meaning(&self, listed: &str) -> Meaning {
        let mut spellings = spellings(listed);
        // `old -> new`: both are named.
        for arrow in [" -> ", " => ", " → "] {
            if let Some((old, new)) = listed.split_once(arrow) {
                let found: Vec<usize> = [old, new].iter().filter_map(|path| self.find(path.trim())).collect();
                if found.len() == 2 {
                    return Meaning::Changed(found);
                }
                spellings.insert(0, new.trim().to_owned());
            }
        }
        // Of an absolute path the longest end that is a path of the project: it must not be mistaken for another of the same name.
        let ends = ends(listed);
        let is_known = |path: &String| self.find(path).is_some() || self.is_apart(path) || self.is_old(path);
        spellings.extend(ends.into_iter().find(is_known));
        if let Some(index) = spellings.iter().find_map(|path| self.by_name.get(path.as_str()).copied()) {
            return Meaning::Changed(vec![index]);
        }
        if spellings.iter().any(|path| self.is_apart(path)) {
            return Meaning::NotPartOfTheWork;
        }
        if spellings.iter().any(|path| self.evidence.base.paths.contains(path.as_str())) {
            return Meaning::Invented;
        }
        if let Some(index) = spellings.iter().find_map(|path| self.find(path)) {
            return Meaning::Changed(vec![index]);
        }
        for path in &spellings {
            match self.directories.get(path.as_str()) {
                Some(true) => return Meaning::Changed(self.below(path)),
                Some(false) => return Meaning::Touched,
                None => {}
            }
        }
        let is_root = matches!(listed.trim(), "." | "./");
        let is_pattern = spellings.iter().any(|path| self.matches_pattern(path));
        if is_pattern || (is_root && !self.names.is_empty()) {
            Meaning::Touched
        } else if is_elsewhere(listed) {
            Meaning::NotPartOfTheWork
        } else {
            Meaning::Invented
        }
    }

    fn find(&self, path: &str) -> Option<usize> {
        self.by_name.get(path).or_else(|| self.by_letters.get(&same_letters(path))).copied()
    }

    fn is_old(&self, path: &str) -> bool {
        self.evidence.base.paths.contains(path)
    }

    fn is_apart(&self, path: &str) -> bool {
        self.apart.contains(path) || parents(path).any(|parent| self.apart.contains(parent))
    }

    fn below(&self, directory: &str) -> Vec<usize> {
        let is_below = |name: &str| name.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'));
        (0..self.names.len()).filter(|index| is_below(&self.names[*index])).collect()
    }

    /// `src/*.js`: whether anything changed that has the same beginning and the same end.
    fn matches_pattern(&self, pattern: &str) -> bool {
        let (Some(first), Some(last)) = (pattern.find('*'), pattern.rfind('*')) else { return false };
        let (start, end) = (&pattern[..first], &pattern[last + 1..]);
        self.names.iter().any(|name| name.starts_with(start) && name.ends_with(end))
    }

    /// Changed files that are named by no listed path; a rename is listed by either name.
    fn unlisted(&self, listed: &HashSet<usize>) -> BTreeSet<&str> {
        let files = &self.evidence.changes.files;
        let mut named: HashSet<&str> = HashSet::new();
        for (index, file) in files.iter().enumerate() {
            let Some(old) = file.renamed_from.as_ref().and_then(|old| old.0.to_str()) else { continue };
            let is_old_listed = self.by_name.get(old).is_some_and(|old| listed.contains(old));
            if listed.contains(&index) || is_old_listed {
                named.insert(old);
                named.extend(file.path.0.to_str());
            }
        }
        let mut unlisted = BTreeSet::new();
        for (index, file) in files.iter().enumerate() {
            // A name that JSON cannot hold cannot be listed.
            let Some(path) = file.path.0.to_str() else { continue };
            if !listed.contains(&index) && !named.contains(path) && !is_directory(file) {
                unlisted.insert(path);
            }
        }
        unlisted
    }
}
