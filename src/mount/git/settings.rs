//! Files of a work tree that git takes settings from or runs: `core.hooksPath`, included configuration, filters, drivers. They
//! are as dangerous as `.git/config` and `.git/hooks` themselves. It runs no git in a repository, which might wait for such a file.

use super::config_file::settings;
use super::hook_scripts::{self, HookScripts};
use super::repository::{LARGEST_POINTER, LARGEST_SETTINGS, Repository, pointer_target};
use super::surroundings::{GitSurroundings, is_program};
use super::work_trees;
use crate::files::{owned, regular};
use crate::load::layer_places::trail;
use crate::rules::layer::GitPlace;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

/// Includes in includes, and files in sum. Git itself stops at ten.
const MOST_FILES: usize = 64;

/// Settings that name a file or directory, by section and key. Those of `http` may be for one address.
const PATHS: [&str; 30] = [
    "core.hookspath",
    "core.attributesfile",
    "core.excludesfile",
    "core.fsmonitor",
    "init.templatedir",
    "gpg.ssh.allowedsignersfile",
    "gpg.ssh.revocationfile",
    "http.sslcainfo",
    "http.sslcapath",
    "http.proxysslcainfo",
    "http.pinnedpubkey",
    "http.cookiefile",
    "http.sslcert",
    "http.sslkey",
    "http.proxysslcert",
    "http.proxysslkey",
    "sendemail.smtpsslcertpath",
    "sendemail.aliasesfile",
    "fsck.skiplist",
    "fetch.fsck.skiplist",
    "receive.fsck.skiplist",
    "blame.ignorerevsfile",
    "mailmap.file",
    "commit.template",
    "format.signaturefile",
    "svn.authorsfile",
    "trace2.normaltarget",
    "trace2.perftarget",
    "trace2.eventtarget",
    "include.path",
];

/// Settings whose value is a command line.
const COMMANDS: [&str; 19] = [
    "core.fsmonitor",
    "core.sshcommand",
    "core.pager",
    "core.editor",
    "core.askpass",
    "core.gitproxy",
    "core.alternaterefscommand",
    "diff.external",
    "sequence.editor",
    "interactive.difffilter",
    "gpg.program",
    "uploadpack.packobjectshook",
    "gc.recentobjectshook",
    "imap.tunnel",
    "instaweb.httpd",
    "svn.authorsprog",
    "credential.helper",
    "pager",
    "alias",
];

/// The same for settings with a name in the middle, such as `filter.lfs.clean`.
const NAMED_COMMANDS: [(&str, &str); 29] = [
    ("filter", "clean"),
    ("filter", "smudge"),
    ("filter", "process"),
    ("diff", "command"),
    ("diff", "textconv"),
    ("merge", "driver"),
    ("difftool", "cmd"),
    ("difftool", "path"),
    ("mergetool", "cmd"),
    ("mergetool", "path"),
    ("credential", "helper"),
    ("gpg", "program"),
    ("gpg", "defaultkeycommand"),
    ("trailer", "command"),
    ("trailer", "cmd"),
    ("submodule", "update"),
    ("remote", "uploadpack"),
    ("remote", "receivepack"),
    ("browser", "cmd"),
    ("browser", "path"),
    ("man", "cmd"),
    ("man", "path"),
    ("hook", "command"),
    ("tar", "command"),
    ("guitool", "cmd"),
    // `lfs.customtransfer.x.path` and `lfs.extension.x.clean`.
    ("lfs", "path"),
    ("lfs", "args"),
    ("lfs", "clean"),
    ("lfs", "smudge"),
];

/// Paths below `root` that git takes settings from or runs, with the setting that says so. `root` is without symlinks. Where there is
/// no repository, the user's own settings still name files.
pub fn places(work_tree: &Path, root: &Path, around: &GitSurroundings) -> Vec<(GitPlace, String)> {
    let mut work_trees = vec![work_tree.to_owned()];
    let mut dirs = git_dirs(work_tree).unwrap_or_default();
    let mut bases = work_trees.clone();
    bases.extend(around.cwd.clone().filter(|cwd| cwd.starts_with(root)));
    for base in &bases {
        dirs.extend(around.git_dirs.iter().map(|dir| base.join(dir)).filter(|dir| dir.is_dir()));
        work_trees.extend(around.work_tree.iter().map(|tree| base.join(tree)));
    }
    work_trees.extend(dirs.iter().flat_map(|dir| work_trees::named_in(dir)));
    bases.extend(work_trees.iter().cloned());
    for list in [&mut work_trees, &mut dirs, &mut bases] {
        let mut seen = HashSet::new();
        list.retain(|path| seen.insert(path.clone()));
    }
    let home = around.home.as_deref();
    let mut search = Search { work_trees, root, home, read: Vec::new(), found: BTreeMap::new() };
    for base in &bases {
        for file in &around.config_files {
            search.file(&base.join(file), "the user's git configuration");
        }
        for (key, value) in around.settings.iter().filter(|(key, _)| is_include(key)) {
            search.file(&search.expanded(value, base), key);
        }
        for (name, value) in &around.commands {
            search.command(base, name, value);
        }
        for (name, path) in &around.paths {
            let path = search.expanded(path, base);
            search.add(&path, name);
            if !is_program(name) {
                // Certificates and the like are text too, and name nothing.
                continue;
            }
            let found = hook_scripts::of_scripts([&*path].into_iter(), &search.work_trees, search.home);
            search.scripts(found, name);
        }
    }
    for (key, value) in around.settings.iter().filter(|(key, _)| !is_include(key)) {
        search.everywhere(key, value);
    }
    for dir in &dirs {
        for name in ["config", "config.worktree"] {
            search.file(&dir.join(name), ".git/config");
        }
        search.hooks(&dir.join("hooks"), "a hook");
        for name in ["hooks", "info/attributes"] {
            search.add(&dir.join(name), &format!(".git/{name}"));
        }
    }
    search.found.into_iter().collect()
}

/// Places below `root` that a command line names which is not git's, and what these run in turn, seen from some directories. Of
/// directories that it names only those that `counts` accepts.
pub(super) fn started_by(
    line: &str,
    scripts: &[PathBuf],
    origin: &str,
    (root, home, bases): (&Path, Option<&Path>, &[PathBuf]),
    counts: impl Fn(&Path) -> bool,
) -> BTreeMap<GitPlace, String> {
    let work_trees = bases.to_vec();
    let mut search = Search { work_trees, root, home, read: Vec::new(), found: BTreeMap::new() };
    for base in bases {
        search.command(base, origin, line);
    }
    let mut named: Vec<PathBuf> = scripts.to_vec();
    search.found.retain(|place, _| {
        let GitPlace::Path(inside) = place else { return true };
        let path = root.join(inside);
        let is_directory = path.symlink_metadata().is_ok_and(|found| found.is_dir());
        let is_kept = !is_directory || counts(&path);
        named.extend(Some(path).filter(|_| is_kept));
        is_kept
    });
    let found = hook_scripts::of_scripts(named.iter().map(PathBuf::as_path), &search.work_trees, home);
    search.scripts(found, origin);
    search.found
}

/// Where the repository around a directory begins; the directory itself where there is none.
pub fn work_tree_around(root: &Path) -> &Path {
    owned::repository_around(root).unwrap_or(root)
}

/// Git's own directories of a work tree: the common one, and that of a linked worktree.
fn git_dirs(work_tree: &Path) -> Option<Vec<PathBuf>> {
    if let Some(repository) = Repository::at(work_tree) {
        let mut dirs = vec![repository.common_dir];
        if !dirs.contains(&repository.git_dir) {
            dirs.push(repository.git_dir);
        }
        return Some(dirs);
    }
    // A repository that is not whole yet still has settings.
    let dot_git = work_tree.join(".git");
    if dot_git.is_dir() {
        return Some(vec![dot_git]);
    }
    let target = pointer_target(&regular::read(&dot_git, LARGEST_POINTER).ok()?)?;
    Some(vec![work_tree.join(target)])
}

struct Search<'a> {
    /// Where a relative path may begin.
    work_trees: Vec<PathBuf>,
    root: &'a Path,
    home: Option<&'a Path>,
    read: Vec<PathBuf>,
    found: BTreeMap<GitPlace, String>,
}

impl Search<'_> {
    /// A configuration file with everything that it includes.
    fn file(&mut self, path: &Path, origin: &str) {
        let mut pending = vec![(path.to_owned(), origin.to_owned())];
        while let Some((path, origin)) = pending.pop() {
            if self.read.contains(&path) || self.read.len() >= MOST_FILES {
                continue;
            }
            self.read.push(path.clone());
            self.add(&path, &origin);
            let Ok(bytes) = regular::read(&path, LARGEST_SETTINGS) else { continue };
            for (key, value) in settings(&String::from_utf8_lossy(&bytes)) {
                // Whether an `includeIf` holds may change at any time.
                if is_include(&key) {
                    let base = path.canonicalize().unwrap_or_else(|_| path.clone());
                    let base = base.parent().unwrap_or(Path::new("/"));
                    pending.push((self.expanded(&value, base), key));
                } else {
                    self.everywhere(&key, &value);
                }
            }
        }
    }

    /// A setting, seen from every work tree.
    fn everywhere(&mut self, key: &str, value: &str) {
        for tree in self.work_trees.clone() {
            self.setting(&tree, key, value);
        }
    }

    fn setting(&mut self, work_tree: &Path, key: &str, value: &str) {
        let address = key.strip_prefix("http.").and_then(|rest| rest.rsplit_once('.'));
        if PATHS.contains(&address.map_or(key.to_owned(), |(_, last)| format!("http.{last}")).as_str()) {
            let path = self.expanded(value, work_tree);
            self.add(&path, key);
            if key == "core.hookspath" {
                self.hooks(&path, key);
                // Husky's scripts in `.husky/_` run those in `.husky`.
                if let Some(parent) = path.parent().filter(|_| path.ends_with("_")) {
                    self.add(parent, key);
                    self.hooks(parent, key);
                }
            }
        }
        // `ext::` runs what follows it.
        let value = if is_address(key) { value.strip_prefix("ext::").unwrap_or_default() } else { value };
        let is_other_alias = key.starts_with("alias.") && !value.starts_with('!');
        if !(is_command(key) || is_address(key)) || is_other_alias {
            return;
        }
        self.command(work_tree, key, value);
    }

    /// Files that a command line names, seen from a directory, and what these run in turn.
    fn command(&mut self, base: &Path, origin: &str, value: &str) {
        // `!` starts a shell command in aliases, helpers and submodules.
        let found = hook_scripts::of_command(value.trim_start_matches('!'), base, self.home);
        self.scripts(found, origin);
    }

    fn expanded(&self, value: &str, base: &Path) -> PathBuf {
        match (value.strip_prefix("~/"), self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => base.join(value),
        }
    }

    /// What the hooks in a directory lead to: links, and the scripts and settings that their text names.
    fn hooks(&mut self, dir: &Path, origin: &str) {
        let found = hook_scripts::of_hooks(dir, &self.work_trees, self.home);
        self.scripts(found, origin);
    }

    fn scripts(&mut self, found: HookScripts, origin: &str) {
        for path in found.paths {
            self.add(&path, origin);
        }
        for name in found.patterns {
            for work_tree in &self.work_trees {
                // The whole root, where the work tree begins above it.
                let below = work_tree.strip_prefix(self.root).unwrap_or(Path::new("")).to_owned();
                let place = GitPlace::Named { below, name: name.clone() };
                self.found.entry(place).or_insert_with(|| origin.to_owned());
            }
        }
    }

    /// Notes a path and every link on the way to it, as far as they are in the root and not in a `.git`.
    fn add(&mut self, path: &Path, origin: &str) {
        for place in trail(path) {
            let Ok(inside) = place.strip_prefix(self.root) else { continue };
            let is_git = inside.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git"));
            if !inside.as_os_str().is_empty() && !is_git {
                let place = GitPlace::Path(inside.to_owned());
                self.found.entry(place).or_insert_with(|| origin.to_owned());
            }
        }
    }
}

fn is_include(key: &str) -> bool {
    let last = key.rsplit('.').next().unwrap_or_default();
    last == "path" && matches!(key.split('.').next(), Some("include" | "includeif"))
}

/// Where a repository is fetched from or pushed to.
fn is_address(key: &str) -> bool {
    let last = key.rsplit('.').next().unwrap_or_default();
    matches!(key.split('.').next(), Some("remote" | "submodule")) && matches!(last, "url" | "pushurl")
}

fn is_command(key: &str) -> bool {
    let section = key.split('.').next().unwrap_or_default();
    let last = key.rsplit('.').next().unwrap_or_default();
    let is_mail = section == "sendemail" && (last.ends_with("cmd") || last == "smtpserver");
    is_mail
        || COMMANDS.contains(&key)
        || COMMANDS.contains(&section)
        || NAMED_COMMANDS.contains(&(section, last))
}

/// Whether a `.gitmodules` asks git to run a command; old versions of git do.
pub fn modules_run_commands(text: &[u8]) -> bool {
    let found = settings(&String::from_utf8_lossy(text));
    found.iter().any(|(key, value)| key.ends_with(".update") && value.starts_with('!'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn files_of_the_work_tree_that_settings_name_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("p");
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(".git/HEAD", "ref: refs/heads/main\n");
        write(
            ".git/config",
            "[core]\n hooksPath = .husky/_\n fsmonitor = tools/watch\n attributesFile = /etc/attributes\n\
             [include]\n path = ../.gitconfig\n[includeIf \"onbranch:x\"]\n path = ../more/config\n\
             [filter \"x\"]\n clean = sh clean.sh %f\n[alias]\n up = \"!python ./tools/up.py\"\n st = status -s\n\
             [diff \"d\"]\n textconv = /usr/bin/strings\n[user]\n name = src/name\n",
        );
        write(".gitconfig", "[merge \"m\"]\n driver = scripts/merge %O %A\n");
        write("clean.sh", "");
        write("status", "");
        write("scripts/hook", "");
        fs::create_dir_all(root.join(".git/hooks")).unwrap();
        symlink("../../scripts/hook", root.join(".git/hooks/pre-push")).unwrap();
        let found = places(&root, &root, &GitSurroundings::default());
        let path = |place: &GitPlace| match place {
            GitPlace::Path(path) => path.to_str().unwrap().to_owned(),
            GitPlace::Named { name, .. } => name.clone(),
        };
        let names: Vec<String> = found.iter().map(|(place, _)| path(place)).collect();
        let expected = [
            ".gitconfig",
            ".husky",
            ".husky/_",
            "clean.sh",
            "more/config",
            "scripts/hook",
            "scripts/merge",
            "tools/up.py",
            "tools/watch",
        ];
        assert_eq!(names, expected);
        let global = dir.path().join("global");
        fs::write(&global, "[core]\nhooksPath = .githooks\n").unwrap();
        let around = GitSurroundings { config_files: vec![global], ..GitSurroundings::default() };
        assert!(places(&root, &root, &around).iter().any(|(place, _)| path(place) == ".githooks"));
    }

    #[test]
    fn a_program_that_a_variable_names_is_read_and_a_certificate_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::write(root.join("text"), "#!/bin/sh\nsh tools/next\n").unwrap();
        let found = |variable: &str| {
            let paths = vec![(variable.to_owned(), "./text".to_owned())];
            let found = places(&root, &root, &GitSurroundings { paths, ..GitSurroundings::default() });
            found.into_iter().map(|(place, _)| place).collect::<Vec<_>>()
        };
        let place = |path: &str| GitPlace::Path(path.into());
        assert!(found("GIT_SSH").contains(&place("tools/next")));
        assert_eq!(found("GIT_SSL_CAINFO"), [place("text")]);
    }

    #[test]
    fn settings_that_run_something_are_known() {
        for key in [
            "tar.tgz.command",
            "sendemail.tocmd",
            "sendemail.work.cccmd",
            "guitool.x.cmd",
            "lfs.customtransfer.x.path",
            "lfs.extension.x.clean",
            "gc.recentobjectshook",
            "hook.x.command",
            "man.x.path",
        ] {
            assert!(is_command(key), "{key}");
        }
        assert!(!is_command("sendemail.to") && !is_command("lfs.url"));
    }

    #[test]
    fn a_submodule_that_runs_a_command_is_seen() {
        assert!(modules_run_commands(b"[submodule \"x\"]\n\tpath = x\n\tupdate = !touch y\n"));
        assert!(!modules_run_commands(b"[submodule \"x\"]\n\tpath = x\n\tupdate = rebase\n\turl = !x\n"));
    }
}
