//! The terms that a session began under, and whether a run that goes on with it would change them: its mount and what was decided
//! about its changes rest on them. Here is the one place where a resume is compared with the first run.

use super::error::RunError;
use crate::harness::adapter;
use crate::model::inherit::Inherit;
use crate::model::mount::{Backend, Effect, PathRule, RuleSource, Sandbox};
use crate::model::mount_record::{MountRecord, RULES_FILE};
use crate::model::plan::{ApplyPolicy, CarriedOver, PlannedCheck, RunPlan};
use crate::plan::parts::RunFlags;
use crate::rules::layer::is_of_setup;
use crate::session::Session;
use anyhow::Result;
use serde::Deserialize;

/// The plan of a session's last run.
pub(super) const PLAN_FILE: &str = "plan.json";

/// What the last run of a session was to do with its result.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct LastPlan {
    checks: Vec<PlannedCheck>,
    changes: LastChanges,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct LastChanges {
    apply: Option<ApplyPolicy>,
}

/// What holds work back in a session goes on with it, unless the command line says otherwise: what a failed check held would else be
/// applied unchecked. `auto` and `ask` are not taken over, because the default says where somebody can be asked.
pub(super) fn carry_over(
    session: &Session,
    no_checks: bool,
    flags: &mut RunFlags,
) -> Result<Vec<CarriedOver>> {
    let last: LastPlan = session.read_json(PLAN_FILE)?.unwrap_or_default();
    let mut carried = Vec::new();
    if flags.checks.is_empty() && !no_checks && !last.checks.is_empty() {
        flags.checks = last.checks;
        carried.push(CarriedOver::Checks);
    }
    if flags.apply.is_none() && last.changes.apply == Some(ApplyPolicy::Never) {
        flags.apply = Some(ApplyPolicy::Never);
        carried.push(CarriedOver::ApplyNever);
    }
    Ok(carried)
}

/// Fails, with the reason, if the plan is made under other terms than the session.
pub(super) fn are_the_same(session: &Session, record: &MountRecord, plan: &RunPlan) -> Result<()> {
    let id = || session.id.to_string();
    // The mount of the session keeps its level, and the level decides where the conversation is.
    let (was, asked) = (record.sandbox, plan.mount.sandbox.unwrap_or(record.sandbox));
    if asked > was || (was == Sandbox::Strict && asked < was) {
        return Err(RunError::OtherLevel { session: id(), was, asked }.into());
    }
    if let Some(was) = session.inherit()?.filter(|was| *was != plan.inherit.kinds) {
        let (was, now) = (named(&was), named(&plan.inherit.kinds));
        return Err(RunError::OtherInherit { session: id(), was, now }.into());
    }
    if !session.dir.join(&record.data).is_dir() {
        let harness = plan.agent().map(|agent| agent.harness.kind);
        if let Some(harness) = harness.filter(|kind| adapter(*kind).records.keeps_directory)
            && record.backend == Backend::Copy
        {
            return Err(RunError::CopyGone { session: id(), harness }.into());
        }
        // A new mount is made, by the rules of today.
        return Ok(());
    }
    let began: Option<Vec<PathRule>> = session.read_json(RULES_FILE)?;
    if let Some(change) = began.and_then(|began| changed_rule(&began, &plan.mount.rules)) {
        return Err(RunError::OtherRules { session: id(), change }.into());
    }
    Ok(())
}

fn named(kinds: &[Inherit]) -> String {
    match kinds {
        [] => "none".to_owned(),
        kinds => kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(","),
    }
}

/// The first difference, for people. Our own list of secrets is left out: it changes with a release, and what it hides is hidden
/// whenever a mount is used again. So is what configuration of harnesses leads to.
fn changed_rule(began: &[PathRule], now: &[PathRule]) -> Option<String> {
    let counted = |rules: &[PathRule]| -> Vec<PathRule> {
        let counts = |rule: &&PathRule| rule.source != RuleSource::BuiltinSecret && !is_of_setup(rule);
        rules.iter().filter(counts).cloned().collect()
    };
    let is_same =
        |a: &PathRule, b: &PathRule| (&a.pattern, a.effect, a.source) == (&b.pattern, b.effect, b.source);
    let (began, now) = (counted(began), counted(now));
    let missing_in = |rules: &[PathRule], rule: &PathRule| !rules.iter().any(|other| is_same(rule, other));
    if let Some(new) = now.iter().find(|rule| missing_in(&began, rule)) {
        return Some(format!("now {}", described(new)));
    }
    if let Some(gone) = began.iter().find(|rule| missing_in(&now, rule)) {
        return Some(format!("no longer {}", described(gone)));
    }
    let is_reordered = began.len() != now.len() || began.iter().zip(&now).any(|(a, b)| !is_same(a, b));
    is_reordered.then(|| "their order is another one".to_owned())
}

fn described(rule: &PathRule) -> String {
    let effect = match rule.effect {
        Effect::Hidden => "hidden",
        Effect::Readonly => "read-only",
        Effect::Reveal => "revealed",
        Effect::Layer => "open to changes",
        Effect::Inherit => "inherited",
    };
    format!("`{}` is {effect} ({})", rule.pattern, rule.origin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn rule(pattern: &str, effect: Effect, source: RuleSource) -> PathRule {
        PathRule { pattern: pattern.into(), effect, source, origin: "there".into() }
    }

    #[test]
    fn the_first_changed_rule_is_told() {
        let secret = |pattern| rule(pattern, Effect::Hidden, RuleSource::BuiltinSecret);
        let (a, b) = (
            rule("a", Effect::Hidden, RuleSource::Persona),
            rule("!a/b", Effect::Hidden, RuleSource::ProjectFile),
        );
        let moved = PathRule { origin: "elsewhere".into(), ..b.clone() };
        let readonly = rule("a", Effect::Readonly, RuleSource::Persona);
        assert_eq!(
            changed_rule(&[secret("x"), a.clone(), b.clone()], &[secret("y"), a.clone(), moved]),
            None
        );
        assert_eq!(
            changed_rule(std::slice::from_ref(&a), &[a.clone(), b.clone()]).unwrap(),
            "now `!a/b` is hidden (there)"
        );
        assert_eq!(
            changed_rule(&[a.clone(), b.clone()], std::slice::from_ref(&b)).unwrap(),
            "no longer `a` is hidden (there)"
        );
        assert_eq!(
            changed_rule(std::slice::from_ref(&a), &[readonly]).unwrap(),
            "now `a` is read-only (there)"
        );
        assert_eq!(changed_rule(&[a.clone(), b.clone()], &[b, a]).unwrap(), "their order is another one");
    }
}
