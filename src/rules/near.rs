//! The path rules for many paths one after the other, where most are beside the one before: their directory is judged once.
//! Every decision is that of `rules`.

use super::{Decision, PathRules};
use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// Rules, and the decision for the directory of the last path.
pub(crate) struct NearRules<'a> {
    rules: &'a PathRules,
    last: RefCell<Option<(PathBuf, Decision)>>,
}

impl<'a> NearRules<'a> {
    pub(crate) fn new(rules: &'a PathRules) -> NearRules<'a> {
        NearRules { rules, last: RefCell::new(None) }
    }

    /// The same as [`PathRules::decide`], of a path that is made of names alone.
    pub(crate) fn decide(&self, path: &Path, is_dir: bool) -> Decision {
        let (Some(parent), Some(_)) = (path.parent(), path.file_name()) else {
            return self.rules.decide(path, is_dir);
        };
        let mut last = self.last.borrow_mut();
        let decision = match &*last {
            Some((known, decision)) if known == parent => *decision,
            _ => {
                let decision = self.rules.decide(parent, true);
                *last = Some((parent.to_owned(), decision));
                decision
            }
        };
        self.rules.decide_child(&decision, path, is_dir)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::mount::{Effect, LayerChanges, PathRule, RuleSource};
    use crate::rules::{builtin_secret_rules, layer::layer_rules};

    #[test]
    fn every_decision_is_that_of_the_rules() {
        let rule = |pattern: &str, effect: Effect| PathRule {
            pattern: pattern.to_owned(),
            effect,
            source: RuleSource::Config,
            origin: String::new(),
        };
        let mut list = builtin_secret_rules();
        list.extend(layer_rules(&[PathBuf::from("team/personas")], LayerChanges::default()));
        list.extend([rule("*", Effect::Readonly), rule("!agents/", Effect::Readonly)]);
        list.extend([rule("secret/", Effect::Hidden), rule("/deep/*.pem", Effect::Reveal)]);
        let rules = PathRules::compile(&list).unwrap();
        let near = NearRules::new(&rules);
        let paths = [
            "",
            "x",
            ".env",
            "agents",
            "agents/x",
            "agents/deep/x",
            "agents/.env",
            "secret",
            "secret/x",
            "secret/x/y",
            "deep/a.pem",
            "deep/b.pem",
            "deep/deep/a.pem",
            "team/personas/a.json",
            "team/personas",
            ".agentworkforce/x",
            "a/../b",
            "..",
            ".ssh/config",
        ];
        for path in paths.iter().chain(paths.iter().rev()).map(Path::new) {
            for is_dir in [false, true] {
                assert_eq!(near.decide(path, is_dir), rules.decide(path, is_dir), "{}", path.display());
            }
        }
    }
}
