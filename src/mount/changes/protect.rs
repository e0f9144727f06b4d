//! Sorts out what must never be applied: hidden and read-only paths, files that we put there, what makes git run something.
//! What may be applied is passed on unjudged.

use super::change::{Protected, ProtectedWhy, Review};
use super::compare::{After, Base, Verdict, compare};
use super::content::{same_content, unreadable};
use super::path_states::{base_kind, base_of, now_of};
use super::three_way::ThreeWay;
use super::touched::{Touched, is_git_name};
use crate::files::regular;
use crate::model::mount::{Effect, PathRule, RuleSource};
use crate::model::mount_record::{InjectedRecord, LARGEST_INJECTED};
use crate::mount::fs::near::Near;
use crate::mount::fs::stat::Kind;
use crate::mount::fs::tree::Tree;
use crate::mount::git::repository::LARGEST_SETTINGS;
use crate::mount::git::settings;
use crate::rules::inherit::is_installed_by_harness;
use crate::rules::layer::folded;
use crate::rules::near::NearRules;
use crate::rules::{PathRules, Visibility};
use anyhow::Context;
use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};

/// What may be applied.
#[derive(Default)]
pub(super) struct Candidates {
    pub(super) touched: Vec<Touched>,
    /// Those of them that decide what agents may do.
    pub(super) about_agents: HashSet<PathBuf>,
}

pub(super) fn without_protected(
    sides: &ThreeWay<'_>,
    rules: &PathRules,
    touched: Vec<Touched>,
    review: &mut Review,
) -> anyhow::Result<Candidates> {
    let near = NearRules::new(rules);
    let injected: HashMap<&Path, &InjectedRecord> =
        sides.record.injected.iter().map(|injected| (injected.path.0.as_path(), injected)).collect();
    let made_for_injected: HashSet<&Path> =
        injected.keys().flat_map(|path| path.ancestors().skip(1)).collect();
    let closed: HashMap<&Path, &PathRule> = sides
        .record
        .hidden
        .iter()
        .filter(|hidden| hidden.rule.source.is_of_one_path())
        .map(|hidden| (hidden.path.0.as_path(), &hidden.rule))
        .collect();
    let mut seen_injected = HashSet::new();
    let mut candidates = Candidates::default();
    for one in touched {
        let path = one.path.as_path();
        if path.components().any(|component| is_git_name(component.as_os_str())) {
            review.git_paths += 1;
            continue;
        }
        if let Some(injected) = injected.get(path) {
            seen_injected.insert(path.to_owned());
            if !is_as_injected(sides.mount, injected, &one.after)? {
                review.protected.push(protected(&one, ProtectedWhy::Injected, None));
            }
            continue;
        }
        let is_dir = matches!(one.after, After::Dir { .. })
            || (one.after == After::Absent && base_kind(sides.base, path)? == Some(Kind::Dir));
        // A directory that is only there for an injected file is ours as well.
        if is_dir && made_for_injected.contains(path) {
            let is_ours = match base_of(sides, path)? {
                Base::Absent => true,
                Base::Unknown => sides.project.stat(path)?.is_none(),
                Base::Known(_) => false,
            };
            if is_ours {
                continue;
            }
        }
        // What the project has at a place that could not be read is not known, so nothing may be put there.
        if !closed.is_empty()
            && let Some(rule) = path.ancestors().find_map(|above| closed.get(above))
        {
            review.protected.push(protected(&one, ProtectedWhy::Hidden, Some((*rule).clone())));
            continue;
        }
        let decision = near.decide(path, is_dir);
        let layer = layer_that_it_leads_to(rules, &one);
        let leads_to =
            layer.filter(|&rule| sides.rules.get(rule).is_some_and(|rule| rule.effect == Effect::Readonly));
        let (why, rule) = match (decision.visibility, leads_to) {
            (Visibility::Hidden, _) => (Some(ProtectedWhy::Hidden), decision.rule),
            (Visibility::Readonly, _) => (Some(ProtectedWhy::Readonly), decision.rule),
            (Visibility::Writable, Some(layer)) => (Some(ProtectedWhy::Readonly), Some(layer)),
            (Visibility::Writable, None) => (None, None),
        };
        if let Some(why) = why {
            let rule = rule.and_then(|index| sides.rules.get(index)).cloned();
            let is_setup = rule.as_ref().is_some_and(|rule| rule.source == RuleSource::BuiltinHarness);
            if is_setup && is_installed_by_harness(path) && base_of(sides, path)? == Base::Absent {
                continue;
            }
            if is_real_write(sides, &one)? {
                review.protected.push(protected(&one, why, rule));
            }
            continue;
        }
        let was_special = one.after == After::Absent && base_kind(sides.base, path)? == Some(Kind::Special);
        if one.after == After::Special || was_special {
            review.special.push(path.into());
            continue;
        }
        if runs_commands_in_modules(sides, &one) {
            review.protected.push(protected(&one, ProtectedWhy::Readonly, Some(modules_rule())));
            continue;
        }
        if decision.is_layer() || layer.is_some() {
            candidates.about_agents.insert(one.path.clone());
        }
        candidates.touched.push(one);
    }
    // An overlay shows a removed injected file by nothing at all, a copy as a deletion of something not in the base.
    for (path, injected) in injected {
        let is_gone = sides.mount.stat(path)?.is_none_or(|stat| stat.is_whiteout());
        if is_gone && !seen_injected.contains(path) {
            let gone = Touched { path: path.to_owned(), after: After::Absent };
            if !is_as_injected(sides.mount, injected, &gone.after)? {
                review.protected.push(protected(&gone, ProtectedWhy::Injected, None));
            }
        }
    }
    review.protected.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(candidates)
}

/// Whether this is a `.gitmodules` that has git run a command.
fn runs_commands_in_modules(sides: &ThreeWay<'_>, one: &Touched) -> bool {
    let is_modules = one.path.file_name().is_some_and(|name| *folded(name) == *b".gitmodules");
    if !is_modules || !matches!(one.after, After::File { .. }) {
        return false;
    }
    let Ok((file, _)) = sides.mount.open_file(&one.path) else { return true };
    regular::content(file, LARGEST_SETTINGS).map_or(true, |text| settings::modules_run_commands(&text))
}

fn modules_rule() -> PathRule {
    PathRule {
        pattern: ".gitmodules".to_owned(),
        effect: Effect::Readonly,
        source: RuleSource::BuiltinGit,
        origin: "built-in: git settings (`update` runs a command)".to_owned(),
    }
}

/// The layer that a link at this path would replace, because the layer is somewhere below it.
fn layer_that_it_leads_to(rules: &PathRules, one: &Touched) -> Option<usize> {
    match one.after {
        After::Dir { .. } | After::Absent => None,
        After::File { .. } | After::Symlink | After::Special => rules.layer_below(&one.path),
    }
}

fn protected(one: &Touched, why: ProtectedWhy, rule: Option<PathRule>) -> Protected {
    Protected { path: one.path.clone().into(), why, deleted: one.after == After::Absent, rule }
}

fn is_as_injected(mount: &Tree, injected: &InjectedRecord, after: &After) -> anyhow::Result<bool> {
    let After::File { mode, .. } = after else { return Ok(false) };
    if mode & 0o777 != injected.mode & 0o777 {
        return Ok(false);
    }
    let (file, stat) = mount.open_file(&injected.path).with_context(|| unreadable(mount, &injected.path))?;
    if stat.size > LARGEST_INJECTED {
        return Ok(false);
    }
    let mut hasher = blake3::Hasher::new();
    let mut file = file.take(LARGEST_INJECTED);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let length = file.read(&mut buffer)?;
        if length == 0 {
            return Ok(hasher.finalize().to_hex().as_str() == injected.blake3);
        }
        hasher.update(&buffer[..length]);
    }
}

/// A readonly or hidden path that was only passed through or rewritten as it is needs no word in the report.
pub(super) fn is_real_write(sides: &ThreeWay<'_>, one: &Touched) -> anyhow::Result<bool> {
    let base = base_of(sides, &one.path)?;
    let now = now_of(sides, &Near::new(sides.project), &one.path)?;
    Ok(match (&base, &one.after) {
        (Base::Absent, After::Absent) => false,
        (Base::Absent, _) => true,
        // Whatever it was: what is as the user has it now was not written.
        (Base::Known(_) | Base::Unknown, after) => {
            let verdict = compare(&base, &now, after, || same_content(sides, &one.path, after))?;
            !matches!(verdict, Verdict::Nothing | Verdict::KeepUsers)
        }
    })
}
