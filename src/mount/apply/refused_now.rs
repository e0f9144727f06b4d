//! Checks whether an apply would now refuse what an undo or redo is about to bring back: the project and git's settings may have
//! changed since. It changes nothing.

use super::journal::Action;
use super::steps::{Content, Step};
use super::trust::records;
use crate::model::mount::{Effect, PathRule, RuleSource};
use crate::mount::error::MountError;
use crate::mount::fs::stat::Kind;
use crate::mount::fs::tree::Tree;
use crate::mount::git::git_directory::GitDirectories;
use crate::mount::git::settings_now;
use crate::rules::PathRules;
use std::collections::HashSet;
use std::path::Path;

/// Whose versions of files come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Brings {
    /// By an undo.
    Users,
    /// By a redo.
    Agents,
}

/// Fails with the first path that would be refused. Pure removals are allowed, because they bring nothing; and the user's own versions
/// of what decides about agents.
pub(super) fn check(session: &Path, project: &Tree, steps: &[Step], brings: Brings) -> anyhow::Result<()> {
    let goes = |step: &&Step| matches!(step.action, Action::Delete | Action::RemoveDir);
    let gone: HashSet<&Path> = steps.iter().filter(goes).map(|step| step.path.as_path()).collect();
    let brought: Vec<&Step> = steps.iter().filter(|step| !goes(step)).collect();
    let made: HashSet<&Path> = brought.iter().map(|step| step.path.as_path()).collect();
    let refused =
        |step: &Step, why: &str| MountError::RefusedNow { path: step.path.clone(), why: why.to_owned() };

    let mut directories = GitDirectories::new(|path| {
        made.contains(path) || (!gone.contains(path) && project.stat(path).ok().flatten().is_some())
    });
    if let Some(step) = brought.iter().find(|step| directories.around(&step.path).is_some()) {
        return Err(refused(step, "it is in a directory that git takes for a repository").into());
    }

    let (record, rules) = records(session)?;
    let list = settings_now::with_rules(&record, &rules, brought.iter().map(|step| step.path.as_path()));
    let compiled = PathRules::compile(&list)?;
    for step in brought.into_iter().filter(|step| !is_directory(step)) {
        let on_the_way = compiled.layer_below(&step.path);
        let rule = on_the_way.or(compiled.decide(&step.path, false).rule).and_then(|index| list.get(index));
        let is_refused = |rule: &&PathRule| match rule.source {
            RuleSource::BuiltinGit => true,
            RuleSource::BuiltinLayer => rule.effect == Effect::Readonly && brings == Brings::Agents,
            _ => false,
        };
        if let Some(rule) = rule.filter(is_refused) {
            return Err(refused(step, &format!("it is protected by {}", rule.origin)).into());
        }
    }
    Ok(())
}

fn is_directory(step: &Step) -> bool {
    match (&step.content, step.action) {
        (Some(Content::Directory { .. }), _) => true,
        (None, Action::Chmod { .. }) => step.old.is_none_or(|old| old.kind == Kind::Dir),
        _ => false,
    }
}
