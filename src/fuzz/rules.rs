//! Path rules: what is below a hidden directory is hidden, the quick answer of the walk equals that of the rules, and a
//! path that leaves the project is hidden.

use crate::model::mount::{Effect, PathRule, RuleSource};
use crate::rules::quick::QuickRules;
use crate::rules::{Decision, PathRules, Visibility, parse_rule_file};
use std::path::{Component, Path, PathBuf};

/// Two parts: lines of rules, each with a letter in front that says of which kind, and lines of paths.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut parts = super::parts(text);
    let (patterns, paths) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let mut list: Vec<PathRule> = patterns.lines().filter_map(rule).take(20).collect();
    list.extend(parse_rule_file(paths, Effect::Hidden, RuleSource::Config, "file").into_iter().take(5));
    let Ok(rules) = PathRules::compile(&list) else { return };
    let quick = QuickRules::new(&rules, &list);
    for path in paths.lines().take(20) {
        walked(&rules, &quick, Path::new(path), &list);
    }
}

fn rule(line: &str) -> Option<PathRule> {
    let mut chars = line.chars();
    let (effect, source) = match chars.next()? {
        's' => (Effect::Hidden, RuleSource::BuiltinSecret),
        'r' => (Effect::Reveal, RuleSource::Persona),
        'o' => (Effect::Readonly, RuleSource::Config),
        _ => (Effect::Hidden, RuleSource::Config),
    };
    Some(PathRule { pattern: chars.as_str().to_owned(), effect, source, origin: String::new() })
}

fn walked(rules: &PathRules, quick: &QuickRules, path: &Path, list: &[PathRule]) {
    let whole = rules.decide(path, false);
    if path.components().any(|part| part == Component::ParentDir) {
        assert_eq!(whole.visibility, Visibility::Hidden, "{} leaves the root", path.display());
        return;
    }
    let names: Vec<_> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name),
            _ => None,
        })
        .collect();
    let (mut slow_state, mut quick_state) = (Decision::ROOT, Decision::ROOT);
    let mut so_far = PathBuf::new();
    for (depth, name) in names.iter().enumerate() {
        so_far.push(name);
        let is_dir = depth + 1 < names.len();
        let before = slow_state;
        slow_state = rules.decide_child(&slow_state, &so_far, is_dir);
        quick_state = quick.decide_child(&quick_state, &so_far, is_dir);
        assert!(
            !before.is_hidden() || slow_state.is_hidden(),
            "hidden is inherited: {} {list:?}",
            so_far.display()
        );
        assert_eq!(slow_state.is_hidden(), quick_state.is_hidden(), "{} {list:?}", so_far.display());
        if slow_state.is_hidden() {
            assert_eq!(slow_state.rule, quick_state.rule, "{} {list:?}", so_far.display());
        }
    }
    assert_eq!(whole, slow_state, "{} {list:?}", path.display());
}
