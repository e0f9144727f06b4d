//! Walks the project once before it is mounted, to find what is hidden and by which rule, and which repositories are inside. It reads
//! names and types, and changes nothing.

use super::bare_repositories::BareRepositories;
use super::setup_links::SetupLinks;
use crate::harness::is_project_config;
use crate::model::mount::{GitCredentials, PathRule, RuleSource};
use crate::model::mount_record::HiddenPath;
use crate::model::raw_path::RawPath;
use crate::mount::fs::walk::{Kind, Step, Visitor, threads, walk};
use crate::rules::inherit::stray_rule;
use crate::rules::layer::is_layer_by_name;
use crate::rules::quick::QuickRules;
use crate::rules::{Decision, PathRules, unreadable_rule};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What the walk found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct HiddenScan {
    /// The top-most hidden paths, sorted.
    pub hidden: Vec<HiddenPath>,
    /// Work trees below the root, relative to it, sorted.
    pub nested_repositories: Vec<PathBuf>,
    /// Links that are layers or rule files, or are in a layer, sorted.
    pub layer_links: Vec<RawPath>,
    /// Entries with the name of configuration of harnesses, sorted.
    pub setup: Vec<RawPath>,
}

/// Walks the project.
pub fn scan_hidden(
    root: &Path,
    compiled: &PathRules,
    list: &[PathRule],
    credentials: GitCredentials,
) -> io::Result<HiddenScan> {
    let bare = BareRepositories::new(root, credentials);
    let rules = QuickRules::new(compiled, list);
    let links = SetupLinks::new(root, compiled);
    let visitors = (0..threads())
        .map(|_| Found {
            rules: &rules,
            links: &links,
            bare: &bare,
            list,
            scan: HiddenScan::default(),
            failed: None,
        })
        .collect();
    let mut all = HiddenScan::default();
    for Found { scan, failed, .. } in walk(root, Decision::ROOT, visitors)? {
        if let Some(error) = failed {
            return Err(error);
        }
        all.hidden.extend(scan.hidden);
        all.nested_repositories.extend(scan.nested_repositories);
        all.layer_links.extend(scan.layer_links);
        all.setup.extend(scan.setup);
    }
    all.hidden.sort_by(|a, b| a.path.cmp(&b.path));
    all.nested_repositories.sort();
    all.layer_links.sort();
    all.setup.sort();
    Ok(all)
}

impl HiddenScan {
    /// Records a link that affects what agents may do, and configuration of harnesses, hidden or not.
    pub(super) fn see(&mut self, path: &Path, kind: Kind) {
        if kind == Kind::Symlink && is_layer_by_name(path) {
            self.layer_links.push(RawPath::from(path));
        }
        // `Path::file_name` looks at every component, for every file.
        let name = path.as_os_str().as_bytes().rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        if is_project_config(OsStr::from_bytes(name))
            && !path.components().any(|part| part.as_os_str() == "node_modules")
        {
            self.setup.push(RawPath::from(path));
        }
    }

    /// Records a hidden path.
    pub(super) fn hide(&mut self, path: &Path, is_dir: bool, decision: &Decision, list: &[PathRule]) {
        let rule = decision.rule.and_then(|index| list.get(index));
        let rule = rule.unwrap_or_else(|| unreachable!("inside the root, only a rule hides")).clone();
        self.hidden.push(HiddenPath { path: RawPath::from(path), is_dir, rule });
    }

    /// Hides a directory that cannot be read: its content cannot be judged, and its owner could make it readable from inside.
    pub(super) fn hide_unreadable(&mut self, path: &Path) {
        let rule = unreadable_rule(path);
        self.hidden.push(HiddenPath { path: RawPath::from(path), is_dir: true, rule });
    }

    /// Hides files inside the repository's own setup that are not part of it.
    pub(super) fn hide_stray(&mut self, path: &Path, is_dir: bool) {
        let rule = stray_rule(path);
        self.hidden.push(HiddenPath { path: RawPath::from(path), is_dir, rule });
    }

    /// Hides a file that contains credentials of a repository.
    pub(super) fn hide_credentials(&mut self, path: &Path, rule: PathRule) {
        self.hidden.push(HiddenPath { path: RawPath::from(path), is_dir: false, rule });
    }

    /// Shows the files of these git directories, which the mount makes private anyway.
    pub(super) fn show_in(&mut self, root: &Path, git_dirs: &[&Path]) {
        self.hidden.retain(|hidden| {
            hidden.rule.source != RuleSource::Credentials
                || !git_dirs.iter().any(|dir| root.join(&hidden.path).starts_with(dir))
        });
    }

    /// Directories that are hidden because they cannot be read.
    pub(super) fn unreadable(&self) -> impl Iterator<Item = &Path> {
        let closed = self.hidden.iter().filter(|hidden| hidden.rule.source == RuleSource::Unreadable);
        closed.map(|hidden| hidden.path.0.as_path())
    }

    /// Records a work tree below the root. Rules do not apply to its `.git`: a branch may be called `x.key`.
    pub(super) fn is_git_of_work_tree(&mut self, path: &Path) -> bool {
        if path.file_name().is_none_or(|name| name != ".git") {
            return false;
        }
        if let Some(work_tree) = path.parent().filter(|dir| !dir.as_os_str().is_empty()) {
            self.nested_repositories.push(work_tree.to_path_buf());
        }
        true
    }
}

struct Found<'a> {
    rules: &'a QuickRules<'a>,
    links: &'a SetupLinks<'a>,
    bare: &'a BareRepositories<'a>,
    list: &'a [PathRule],
    scan: HiddenScan,
    /// Why the root itself cannot be read.
    failed: Option<io::Error>,
}

impl Visitor for Found<'_> {
    type State = Decision;

    fn entry(&mut self, parent: &Decision, path: &Path, kind: Kind) -> Step<Decision> {
        let is_dir = kind == Kind::Dir;
        self.scan.see(path, kind);
        let decision = self.rules.decide_child(parent, path, is_dir);
        if decision.is_hidden() {
            self.scan.hide(path, is_dir, &decision, self.list);
            return Step::Skip;
        }
        if self.links.must_be_hidden(path, kind, &decision) {
            self.scan.hide_stray(path, is_dir);
            return Step::Skip;
        }
        if self.scan.is_git_of_work_tree(path) {
            return Step::Skip;
        }
        if kind == Kind::File
            && let Some(rule) = self.bare.rule_for(path)
        {
            self.scan.hide_credentials(path, rule);
            return Step::Skip;
        }
        Step::Descend(decision)
    }

    fn unreadable(&mut self, path: &Path, error: io::Error) {
        if path.as_os_str().is_empty() {
            self.failed = Some(error);
        } else if error.kind() != io::ErrorKind::NotFound {
            self.scan.hide_unreadable(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::mount::Effect;
    use std::fs;

    #[test]
    fn the_topmost_hidden_paths_are_found_and_git_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        for path in
            ["a/.env", "a/secrets/x", "a/secrets/.env", ".git/refs/x.key", "sub/.git/x.key", "x.key", "ok"]
        {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let list: Vec<PathRule> = [".env", "secrets/", "*.key"]
            .map(|pattern| PathRule {
                pattern: pattern.into(),
                effect: Effect::Hidden,
                source: RuleSource::Config,
                origin: format!("test: {pattern}"),
            })
            .to_vec();
        let compiled = PathRules::compile(&list).unwrap();
        let found = scan_hidden(dir.path(), &compiled, &list, GitCredentials::Hide).unwrap();
        let hidden: Vec<_> = found
            .hidden
            .iter()
            .map(|hidden| (hidden.path.to_str().unwrap(), hidden.is_dir, hidden.rule.origin.as_str()))
            .collect();
        assert_eq!(
            hidden,
            [
                ("a/.env", false, "test: .env"),
                ("a/secrets", true, "test: secrets/"),
                ("x.key", false, "test: *.key")
            ]
        );
        assert_eq!(found.nested_repositories, [PathBuf::from("sub")]);
    }
}
