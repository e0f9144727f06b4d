//! What git takes settings from or runs as the repositories are now, and where links of layers lead, as rules. The run could only
//! know of its own repository and layers, and the user may have changed that. It judges nothing.

use super::surroundings::GitSurroundings;
use super::{settings, work_trees};
use crate::load::layer_places::on_the_way;
use crate::model::mount::{Effect, PathRule, RuleSource};
use crate::model::mount_record::MountRecord;
use crate::rules::layer::{git_rules, linked_rule};
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

/// The rules of the run and those of now: of the repositories of the run, of the one that the root is in, and of those around
/// the given paths; and of the links that decide about agents.
pub(crate) fn with_rules<'a>(
    record: &MountRecord,
    rules: &[PathRule],
    paths: impl Iterator<Item = &'a Path>,
) -> Vec<PathRule> {
    let mut list = rules.to_vec();
    let Ok(root) = record.root.canonicalize() else { return list };
    let is_tree = |dir: &Path| dir.join(".git").symlink_metadata().is_ok();
    let mut trees: BTreeSet<PathBuf> = [settings::work_tree_around(&root).to_owned()].into();
    for git in &record.git {
        trees.extend(work_trees::own(record, git).map(|tree| root.join(tree)));
        trees.extend(work_trees::of(record, git).into_iter().map(|tree| root.join(tree.path)));
    }
    let mut seen: HashSet<&Path> = HashSet::new();
    for path in paths {
        let new = path.ancestors().skip(1).take_while(|dir| seen.insert(dir));
        // A link to a work tree is not one.
        let is_here = |dir: &PathBuf| is_tree(dir) && dir.canonicalize().is_ok_and(|real| real == *dir);
        trees.extend(new.map(|dir| root.join(dir)).filter(is_here));
    }
    let git = |rule: &&PathRule| rule.source == RuleSource::BuiltinGit;
    let mut known: HashSet<String> = rules.iter().filter(git).map(|rule| rule.pattern.clone()).collect();
    let around = GitSurroundings::of_process();
    for tree in trees {
        let rules = git_rules(&settings::places(&tree, &root, &around));
        list.extend(rules.into_iter().filter(|rule| known.insert(rule.pattern.clone())));
    }
    // As strict as the rules for the links themselves; those for configuration of harnesses may be weaker.
    let of_layers = || rules.iter().filter(|rule| rule.source == RuleSource::BuiltinLayer);
    let strict = of_layers().find(|rule| rule.effect == Effect::Readonly);
    if let Some(effect) = strict.or_else(|| of_layers().next()).map(|rule| rule.effect) {
        let places: BTreeSet<PathBuf> =
            record.layer_links.iter().flat_map(|link| on_the_way(&root.join(link), &root)).collect();
        list.extend(places.iter().filter_map(|place| linked_rule(place, effect)));
    }
    list
}
