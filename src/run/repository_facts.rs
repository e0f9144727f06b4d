//! What the repositories of a run say about its work: which refs moved, whether a commit has it, which repositories lie between. Git is
//! only run in a view of the work, where the agent's own settings of it are not in force.

use super::command_views::{Measured, ViewCommand};
use super::open::OpenRun;
use crate::files::regular;
use crate::mount::git::export::moved_refs;
use crate::session::Session;
use anyhow::Result;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// How long git may take for one question.
const GIT_SECONDS: f64 = 30.0;
/// Paths of a commit that are looked at.
const MOST_PATHS: usize = 300;
const LARGEST_GIT_FILE: u64 = 4096;

/// A commit that somebody names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitFacts {
    pub exists: bool,
    /// Whether it has these changes.
    pub contains: bool,
    pub branch: Option<String>,
}

impl OpenRun<'_> {
    /// The refs that the agent moved or made.
    pub fn moved_refs(&self) -> Vec<String> {
        moved_refs(&self.session.dir, &self.mount.record)
    }

    /// Whether the project is in a repository.
    pub fn is_repository(&self) -> bool {
        !self.mount.record.git.is_empty() || self.run.facts.place.is_repository
    }

    /// The branch that the project is on, if it is on one.
    pub fn branch(&self) -> Option<String> {
        let git_dir = &self.mount.record.git.first()?.git_dir;
        let head = regular::read(&git_dir.join("HEAD"), LARGEST_GIT_FILE).ok()?;
        Some(std::str::from_utf8(&head).ok()?.trim().strip_prefix("ref: refs/heads/")?.to_owned())
    }

    /// Whether the project is a submodule of a repository above it.
    pub fn has_superproject(&self) -> bool {
        let text = regular::read(&self.run.plan.mount.root.join(".git"), LARGEST_GIT_FILE);
        text.is_ok_and(|text| String::from_utf8_lossy(&text).contains("/modules/"))
    }

    /// The repositories between the root and these paths, in the project or in the work.
    pub fn nested_repositories<'p>(&self, paths: impl Iterator<Item = &'p Path>) -> Vec<PathBuf> {
        let sides = [self.run.plan.mount.root.clone(), self.session.dir.join(&self.mount.record.data)];
        let mut found = BTreeSet::new();
        let mut seen = BTreeSet::new();
        for path in paths {
            for above in path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
                if !seen.insert(above.to_path_buf()) {
                    break;
                }
                if sides.iter().any(|side| side.join(above).join(".git").symlink_metadata().is_ok()) {
                    found.insert(above.to_path_buf());
                }
            }
        }
        found.into_iter().collect()
    }

    /// What is known of a commit. `present` are paths that it has to have as the work has them, `absent` those that it must not have.
    pub fn commit_facts(
        &mut self,
        name: &str,
        present: &[PathBuf],
        absent: &[PathBuf],
    ) -> Result<CommitFacts> {
        let unknown = CommitFacts { exists: false, contains: false, branch: None };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
        if name.is_empty() || name.len() > 200 || name.starts_with('-') || !name.chars().all(is_plain) {
            return Ok(unknown);
        }
        let view = self.command_view(Measured::WithIgnored)?;
        let up = "../".repeat(self.run.plan.mount.cwd.components().count());
        let cd = if up.is_empty() { String::new() } else { format!("cd {up} && ") };
        let mut ask = |script: &str| -> Result<(bool, String)> {
            let mut said = Vec::new();
            let line = format!("{cd}{script}");
            let command = ViewCommand {
                line: &line,
                timeout_seconds: GIT_SECONDS,
                log: "commit.log",
                tap: &mut |bytes| {
                    if said.len() < 64 << 10 {
                        said.extend_from_slice(bytes);
                    }
                },
            };
            let outcome = self.run_in(&view, command)?;
            Ok((outcome.passed(), String::from_utf8_lossy(&said).trim().to_owned()))
        };
        let (exists, id) = ask(&format!("git rev-parse --verify --quiet '{name}^{{commit}}'"))?;
        let is_id = matches!(id.len(), 40 | 64) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !exists || !is_id {
            return Ok(unknown);
        }
        let quoted =
            |path: &PathBuf| shlex::try_quote(&path.to_string_lossy()).map(std::borrow::Cow::into_owned).ok();
        let each = |paths: &[PathBuf], test: &str| -> String {
            let list: Vec<String> = paths.iter().take(MOST_PATHS).filter_map(quoted).collect();
            if list.is_empty() {
                return String::new();
            }
            format!("for p in {}; do {test} || exit 4; done; ", list.join(" "))
        };
        let has = format!(
            "git cat-file -e \"{id}:./$p\" 2>/dev/null && git diff --no-ext-diff --quiet {id} -- \":(literal)$p\""
        );
        let lacks = format!("! git cat-file -e \"{id}:./$p\" 2>/dev/null");
        let (contains, _) = ask(&format!("({}{}true)", each(present, &has), each(absent, &lacks)))?;
        let (_, branches) =
            ask(&format!("git for-each-ref --contains {id} --format='%(refname:short)' refs/heads"))?;
        let branch = branches.lines().next().map(str::to_owned);
        Ok(CommitFacts { exists, contains, branch })
    }

    /// The session of the run.
    pub fn session(&self) -> &Session {
        &self.session
    }
}
