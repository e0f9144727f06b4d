//! Edits that a headless run could not make because there was nobody to ask: its work is incomplete, so it failed. What the persona
//! itself rules out is no failure. Decides nothing about commands.

use super::open::OpenRun;
use crate::harness::adapter;
use crate::host::normalised;
use crate::model::mount::Backend;
use crate::model::persona::Permissions;
use crate::model::plan::Mode;
use crate::model::tier::Harness;
use crate::model::tool_rule::{ToolRule, denies_all_edits};
use crate::mount::changes::diff::printable_name;
use crate::rules::{PathRules, Visibility};
use anyhow::Result;
use std::path::{Path, PathBuf};

/// More than anybody reads in one line.
const MOST_NAMED: usize = 3;

impl OpenRun<'_> {
    /// Makes a run that was not allowed to make an edit a failed one.
    pub(super) fn fail_for_denied_edits(&mut self) -> Result<()> {
        let missing = self.missing_edits()?;
        let Some(agent) = self.run.plan.agent().filter(|_| !missing.is_empty()) else { return Ok(()) };
        let mode = self.permissions().and_then(|permissions| permissions.mode.as_deref());
        let reason = reason(&missing, agent.harness.kind, mode);
        if let Some(outcome) = &mut self.report.outcome {
            outcome.fail(reason);
        }
        Ok(())
    }

    fn permissions(&self) -> Option<&Permissions> {
        self.run.parts.as_ref().map(|parts| &parts.found.resolved.persona.permissions)
    }

    /// The files, relative to the project, that the agent wanted to change, could not, and did not change in another way.
    fn missing_edits(&mut self) -> Result<Vec<PathBuf>> {
        let harness = match self.run.plan.agent() {
            Some(agent) if agent.mode == Mode::Headless => agent.harness.kind,
            _ => return Ok(Vec::new()),
        };
        let asks = self.permissions().is_some_and(|permissions| asks_about_edits(permissions, harness));
        let outcome = self.report.outcome.as_ref().filter(|outcome| asks && outcome.succeeded());
        let Some(denied) = outcome.map(|outcome| outcome.denied_edits.clone()) else { return Ok(Vec::new()) };
        let (record, spec) = (&self.mount.record, &self.run.plan.mount);
        let seen_at = match record.backend {
            Backend::Copy => self.session.dir.join(&record.data),
            _ => record.root.to_path_buf(),
        };
        let roots = [seen_at, record.root.to_path_buf()];
        let rules = PathRules::compile(&spec.rules)?;
        let mut missing: Vec<PathBuf> =
            denied.iter().filter_map(|path| inside(path, &roots, &spec.cwd)).collect();
        // A file that the agent may not change in any way is the persona's decision.
        missing.retain(|path| rules.decide(path, false).visibility == Visibility::Writable);
        missing.dedup();
        if let Some(review) = self.review()? {
            missing.retain(|path| !review.changes.iter().any(|change| change.path.0 == *path));
        }
        Ok(missing)
    }
}

/// Whether a denied edit means that somebody had to be asked, and not that the persona forbids it.
fn asks_about_edits(permissions: &Permissions, harness: Harness) -> bool {
    let mode = permissions.mode.as_deref();
    if mode == Some("plan") || denies_all_edits(&permissions.deny) {
        return false;
    }
    if adapter(harness).denied_edits_are_questions {
        // In every mode: claude asks about files of the user's editor, say, even if it accepts edits.
        return true;
    }
    // Whatever it would ask about is denied in a headless run, just like what the persona denies.
    let denies_edits = permissions.deny.iter().any(|entry| ToolRule::parse(entry).edits_files());
    !matches!(mode, Some("acceptEdits" | "bypassPermissions")) && !denies_edits
}

/// The path relative to the project; `None` for one outside of it.
fn inside(path: &Path, roots: &[PathBuf], cwd: &Path) -> Option<PathBuf> {
    let path = normalised(&roots[0].join(cwd).join(path));
    roots.iter().find_map(|root| path.strip_prefix(root).ok()).map(Path::to_path_buf)
}

fn reason(files: &[PathBuf], harness: Harness, mode: Option<&str>) -> String {
    let names: Vec<String> = files.iter().take(MOST_NAMED).map(|file| printable_name(file)).collect();
    let more = match files.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let names = format!("{}{more}", names.join(", "));
    if matches!(mode, None | Some("default")) {
        return format!(
            "the agent was not allowed to edit {names}: this persona asks first, and a headless run has nobody to ask; set \
             `permissions.mode` of the persona to `acceptEdits`"
        );
    }
    format!(
        "the agent was not allowed to edit {names}: {harness} asks about such files even in this `permissions.mode`, and a headless \
         run has nobody to ask; run it in a terminal, or set the mode to `bypassPermissions`"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permissions(mode: Option<&str>, deny: &[&str]) -> Permissions {
        let deny = deny.iter().map(ToString::to_string).collect();
        Permissions { allow: None, deny, mode: mode.map(str::to_owned) }
    }

    #[test]
    fn what_the_persona_forbids_is_not_asked_about() {
        let asks = |mode, deny: &[&str], harness| asks_about_edits(&permissions(mode, deny), harness);
        for harness in Harness::ALL {
            assert!(asks(None, &[], harness) && asks(Some("default"), &["Bash"], harness), "{harness}");
            assert!(!asks(Some("plan"), &[], harness), "{harness}");
            assert!(!asks(Some("default"), &["Edit", "Write"], harness), "{harness}");
        }
        // A path that claude denies is not among those that it would have asked about.
        assert!(asks(Some("default"), &["Edit(docs/**)"], Harness::Claude));
        assert!(!asks(Some("default"), &["Edit(docs/**)"], Harness::Opencode));
        assert!(asks(Some("acceptEdits"), &[], Harness::Claude));
        assert!(!asks(Some("acceptEdits"), &[], Harness::Opencode));
    }

    #[test]
    fn paths_are_seen_from_the_project_wherever_the_agent_sees_it() {
        let roots = ["/session/mount".into(), "/project".into()];
        let inside = |path: &str| inside(Path::new(path), &roots, Path::new("sub"));
        assert_eq!(inside("/session/mount/a/b"), Some("a/b".into()));
        assert_eq!(inside("/project/a"), Some("a".into()));
        assert_eq!(inside("a"), Some("sub/a".into()));
        assert_eq!(inside("../a"), Some("a".into()));
        assert_eq!(inside("/etc/hosts"), None);
        assert_eq!(inside("/project/../etc/hosts"), None);
    }
}
