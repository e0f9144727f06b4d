//! What git and harnesses take settings from or run as the project is now, and where links of layers lead, as rules. The run could
//! only know of its own repository and layers, and the user may have changed that. It judges nothing.

use super::harness_setup::{self, Around, links_at, named_in};
use super::surroundings::GitSurroundings;
use super::{settings, work_trees};
use crate::git;
use crate::load::layer_places::on_the_way;
use crate::model::mount::{Effect, PathRule, RuleSource};
use crate::model::mount_record::MountRecord;
use crate::rules::layer::{
    effect_on_layers, effect_on_setup, git_rules, is_layer_by_name, linked_rule, setup_rules,
};
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

/// The rules of the run and those of now: of the repositories of the run, of the one that the root is in, and of those around
/// the given paths; and of the links that decide about agents and of configuration of harnesses: those that the run found, and
/// those of now in the root, in the working directory and in the directories that the paths are in.
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
    let mut dirs: BTreeSet<PathBuf> = [root.clone()].into();
    for path in paths {
        let new = path.ancestors().skip(1).take_while(|dir| seen.insert(dir));
        dirs.extend(new.map(|dir| root.join(dir)));
    }
    // A link to a work tree is not one.
    let is_here = |dir: &&PathBuf| is_tree(dir) && dir.canonicalize().is_ok_and(|real| real == **dir);
    trees.extend(dirs.iter().filter(is_here).cloned());
    let of_git = |rule: &&PathRule| rule.source == RuleSource::BuiltinGit;
    let mut known: HashSet<String> = rules.iter().filter(of_git).map(|rule| rule.pattern.clone()).collect();
    let around = GitSurroundings::of_process();
    for tree in trees {
        let rules = git_rules(&settings::places(&tree, &root, &around));
        list.extend(rules.into_iter().filter(|rule| known.insert(rule.pattern.clone())));
    }
    let cwd = around.cwd.as_deref().filter(|cwd| cwd.starts_with(&root));
    dirs.extend(harness_setup::directories(&root, cwd));
    let named: Vec<PathBuf> = dirs.iter().flat_map(|dir| named_in(dir)).collect();
    // As strict as the rules for the links themselves.
    if let Some(effect) = effect_on_layers(rules) {
        let is_layer = |path: &&PathBuf| path.strip_prefix(&root).is_ok_and(is_layer_by_name);
        let now = named.iter().filter(is_layer).flat_map(|path| links_at(path));
        let links = record.layer_links.iter().map(|link| root.join(link)).chain(now);
        let places: BTreeSet<PathBuf> = links.flat_map(|link| on_the_way(&link, &root)).collect();
        list.extend(places.iter().filter_map(|place| linked_rule(place, effect)));
    }
    if let Some(effect) = effect_on_setup(rules) {
        let tops = record.setup.iter().map(|path| root.join(path)).chain(named).collect();
        let env = git::environment();
        let around = Around { root: &root, cwd, home: around.home.as_deref(), env: &env };
        let found = harness_setup::elsewhere(&tops, effect == Effect::Readonly, Vec::new(), around);
        let mut new = setup_rules(rules, &found);
        new.retain(|rule| !rules.contains(rule));
        list.extend(new);
    }
    list
}
