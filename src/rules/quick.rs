//! The path rules for a walk over very many names: a few byte comparisons show that most names match no rule.
//! Every real decision is made by `rules`.

use crate::model::mount::{Effect, PathRule};
use crate::rules::{Decision, PathRules};
use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Rules, and which names could matter to them.
pub(crate) struct QuickRules<'a> {
    rules: &'a PathRules,
    names: Names,
}

/// A superset of the names that a rule can match.
#[derive(Debug, Default, PartialEq, Eq)]
struct Names {
    exact: HashSet<Vec<u8>>,
    /// How a name starts and ends.
    affixes: Vec<(Vec<u8>, Vec<u8>)>,
    /// Some rule is too clever to be told by the name.
    any: bool,
}

impl<'a> QuickRules<'a> {
    pub(crate) fn new(rules: &'a PathRules, list: &[PathRule]) -> QuickRules<'a> {
        let mut names = Names::default();
        // What is readonly is of no interest to a walk; what hides, or lifts a hiding, is.
        for rule in list.iter().filter(|rule| matches!(rule.effect, Effect::Hidden | Effect::Reveal)) {
            names.add(&rule.pattern);
        }
        QuickRules { rules, names }
    }

    /// Whether and by which rule a path is hidden, and whether it is inherited; nothing else of the decision may be used.
    pub(crate) fn decide_child(&self, parent: &Decision, path: &Path, is_dir: bool) -> Decision {
        // `Path::file_name` looks at every component, for every file.
        let name = path.as_os_str().as_bytes().rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        if self.names.may_match(name) || parent.hides_rest.is_some() {
            self.rules.decide_child(parent, path, is_dir)
        } else {
            *parent
        }
    }
}

impl Names {
    fn add(&mut self, pattern: &str) {
        if pattern.is_empty() || pattern.starts_with('#') {
            return;
        }
        let pattern = pattern.strip_prefix('!').unwrap_or(pattern);
        let pattern = pattern.strip_suffix('/').unwrap_or(pattern);
        // A path is matched to its end, so its own name is matched by the last part.
        let last = pattern.rsplit('/').next().unwrap_or_default();
        let clever = pattern.trim() != pattern
            || last.is_empty()
            || last.contains(['?', '[', ']', '{', '}', '\\'])
            || last.contains("**");
        match (clever, last.split('*').collect::<Vec<_>>().as_slice()) {
            (false, [name]) => {
                self.exact.insert(name.as_bytes().to_vec());
            }
            (false, [start, end]) => self.affixes.push((start.as_bytes().to_vec(), end.as_bytes().to_vec())),
            _ => self.any = true,
        }
    }

    fn may_match(&self, name: &[u8]) -> bool {
        self.any
            || self.exact.contains(name)
            || self.affixes.iter().any(|(start, end)| name.starts_with(start) && name.ends_with(end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::mount::RuleSource;
    use proptest::prelude::*;

    fn rule(pattern: &str, effect: Effect, source: RuleSource) -> PathRule {
        PathRule { pattern: pattern.into(), effect, source, origin: String::new() }
    }

    #[test]
    fn a_name_that_no_rule_knows_is_not_looked_at_further() {
        let mut names = Names::default();
        for pattern in [".env", "*.pem", "id_*.pub", "docs/private", "/top/", "!.env.example", "# comment"] {
            names.add(pattern);
        }
        let may: Vec<&str> =
            [".env", "x.pem", "id_a.pub", "private", "top", ".env.example", "main.rs", "docs", "id_a"]
                .into_iter()
                .filter(|name| names.may_match(name.as_bytes()))
                .collect();
        assert_eq!(may, [".env", "x.pem", "id_a.pub", "private", "top", ".env.example"]);
        for clever in ["a?c", "[ab]", "x/**", "a*b*c", "\\!x", " .env", ".env "] {
            let mut names = Names::default();
            names.add(clever);
            assert!(names.may_match(b"anything"), "{clever}");
        }
    }

    proptest! {
        #[test]
        fn the_quick_answer_is_the_real_one(
            patterns in proptest::collection::vec(("[!/]?", "(a|b|\\*|\\*\\*|a\\*|\\*b|ab|\\?)(/(a|b|\\*|\\*\\*|ab))?/?", 0..4_usize), 1..6),
            paths in proptest::collection::vec(proptest::collection::vec("(a|b|ab|aab|c)", 1..4), 1..12),
        ) {
            let list: Vec<PathRule> = patterns
                .iter()
                .map(|(mark, body, kind)| {
                    let (effect, source) = [
                        (Effect::Hidden, RuleSource::Config),
                        (Effect::Hidden, RuleSource::BuiltinSecret),
                        (Effect::Reveal, RuleSource::Persona),
                        (Effect::Readonly, RuleSource::Config),
                    ][*kind];
                    rule(&format!("{mark}{body}"), effect, source)
                })
                .collect();
            let Ok(rules) = PathRules::compile(&list) else { return Ok(()) };
            let quick = QuickRules::new(&rules, &list);
            for path in &paths {
                let (mut slow_state, mut quick_state) = (Decision::ROOT, Decision::ROOT);
                let mut so_far = std::path::PathBuf::new();
                for (depth, name) in path.iter().enumerate() {
                    so_far.push(name);
                    let is_dir = depth + 1 < path.len();
                    slow_state = rules.decide_child(&slow_state, &so_far, is_dir);
                    quick_state = quick.decide_child(&quick_state, &so_far, is_dir);
                    prop_assert_eq!(slow_state.is_hidden(), quick_state.is_hidden(), "{:?} {:?}", &list, &so_far);
                    if slow_state.is_hidden() {
                        prop_assert_eq!(slow_state.rule, quick_state.rule);
                    }
                }
            }
        }
    }
}
