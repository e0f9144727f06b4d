//! Files that no other rule makes writable: those that decide what agents may do (persona layers and rule files, by name at any
//! depth and by place), and those that git takes settings from or runs. Pure; where they are is found out by others.

use super::RuleError;
use super::RuleList;
use crate::load::rule_files::is_rule_file;
use crate::model::mount::{Effect, LayerChanges, PathRule, RuleSource};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

const FILES_OF_OURS: &str = "built-in: files of agentworkforce";
const SETUP: &str = "built-in: configuration of harnesses";

/// Whatever kind of entry has one of these names: a link to a directory is a layer too.
const NAMES: [&str; 7] = [
    ".agentworkforce",
    ".agentignore",
    ".agentreadonly",
    ".*.agentignore",
    ".*.agentreadonly",
    "agentworkforce.lock",
    ".agentworkforce-journal",
];

/// The rules for all layers: those with a fixed name, and the layers of this run that are elsewhere in the project.
/// `places` are relative to the root; an empty one is the root itself.
pub fn layer_rules(places: &[PathBuf], changes: LayerChanges) -> Vec<PathRule> {
    let effect = match changes {
        LayerChanges::Protected => Effect::Readonly,
        LayerChanges::Reviewed | LayerChanges::Allowed => Effect::Layer,
    };
    let named = |name: &&str| layer_rule((*name).to_owned(), effect, FILES_OF_OURS);
    let of_place = |place: &PathBuf| {
        let pattern = if place.as_os_str().is_empty() { "/*.json".to_owned() } else { literal(place) };
        layer_rule(pattern, effect, "built-in: a persona layer or rule file of this run")
    };
    NAMES.iter().map(named).chain(places.iter().map(of_place)).collect()
}

/// What persona layers and rule files may be changed to in a run that has these rules.
pub fn effect_on_layers(rules: &[PathRule]) -> Option<Effect> {
    rules.iter().find(|rule| rule.origin == FILES_OF_OURS).map(|rule| rule.effect)
}

/// The same for configuration of harnesses, which a persona's run never changes; `None` where no rule is about it.
pub fn effect_on_setup(rules: &[PathRule]) -> Option<Effect> {
    let is_hidden =
        |rule: &PathRule| rule.source == RuleSource::BuiltinHarness && rule.effect == Effect::Hidden;
    if rules.iter().any(is_hidden) {
        return Some(Effect::Readonly);
    }
    rules.iter().find(|rule| rule.origin == SETUP).map(|rule| rule.effect)
}

/// The rule for what a link of a layer, or one that is a rule file, leads to. The root as a whole is none.
pub fn linked_rule(place: &Path, effect: Effect) -> Option<PathRule> {
    let is_place = !place.as_os_str().is_empty();
    is_place
        .then(|| layer_rule(literal(place), effect, "built-in: what a persona layer or rule file links to"))
}

fn layer_rule(pattern: String, effect: Effect, origin: &str) -> PathRule {
    PathRule { pattern, effect, source: RuleSource::BuiltinLayer, origin: origin.to_owned() }
}

/// Whether a path is a layer or rule file, or in a layer, by the names in it alone.
pub fn is_layer_by_name(path: &Path) -> bool {
    path.file_name().is_some_and(|name| is_rule_file(&folded(name)))
        || path.components().any(|part| *folded(part.as_os_str()) == *b".agentworkforce")
}

/// The rules for configuration of harnesses that a run may change: the next one starts what it names.
pub fn harness_rules(names: impl Iterator<Item = &'static str>) -> Vec<PathRule> {
    names.map(|name| layer_rule(name.to_owned(), Effect::Layer, SETUP)).collect()
}

/// What belongs to the configuration of harnesses and has another name than that: relative to the root, with the words that say why.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SetupElsewhere {
    /// What links of it lead to, the links on the way, and instructions that others import.
    pub linked: Vec<(GitPlace, String)>,
    /// Programs that it starts.
    pub started: Vec<(GitPlace, String)>,
}

/// The words for a place that configuration of harnesses leads to.
pub fn of_setup(why: &str) -> String {
    format!("configuration of harnesses ({why})")
}

/// Whether a rule is for such a place. These are found again whenever changes are judged.
pub fn is_of_setup(rule: &PathRule) -> bool {
    rule.source == RuleSource::BuiltinLayer
        && rule.origin.strip_prefix(SETUP).is_some_and(|why| why.starts_with(" ("))
}

/// The rules for it in a run with these rules: the links are like the configuration itself, and whoever may change layers may change
/// the programs, too.
pub fn setup_rules(rules: &[PathRule], found: &SetupElsewhere) -> Vec<PathRule> {
    let Some(effect) = effect_on_setup(rules) else { return Vec::new() };
    let on_started =
        if effect == Effect::Readonly { effect_on_layers(rules).unwrap_or(effect) } else { effect };
    let rule = |(place, why): &(GitPlace, String), effect: Effect| {
        layer_rule(place.pattern(), effect, &format!("built-in: {why}"))
    };
    let linked = found.linked.iter().map(|place| rule(place, effect));
    linked.chain(found.started.iter().map(|place| rule(place, on_started))).collect()
}

/// The rules for the user's own configuration of harnesses, by its places in the project.
pub fn users_config_rules(places: &[PathBuf]) -> Vec<PathRule> {
    let origin = "built-in: the user's own configuration of harnesses";
    places.iter().map(|place| layer_rule(literal(place), Effect::Layer, origin)).collect()
}

/// What git takes settings from or runs, relative to the root.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum GitPlace {
    Path(PathBuf),
    /// Whatever matches a pattern below a directory.
    Named {
        below: PathBuf,
        name: String,
    },
}

impl GitPlace {
    fn pattern(&self) -> String {
        match self {
            GitPlace::Path(path) => literal(path),
            GitPlace::Named { below, name } if below.as_os_str().is_empty() => format!("/{name}"),
            GitPlace::Named { below, name } => format!("{}/{name}", literal(below)),
        }
    }
}

/// Repositories of Mercurial, Sapling and Jujutsu: their settings run programs, too.
const OTHER_REPOSITORIES: [&str; 3] = [".hg", ".jj", ".sl"];

/// The rules for files that git takes settings from or runs, with the setting that says so; and for repositories of other programs.
pub fn git_rules(places: &[(GitPlace, String)]) -> Vec<PathRule> {
    let rule = |pattern: String, origin: String| PathRule {
        pattern,
        effect: Effect::Readonly,
        source: RuleSource::BuiltinGit,
        origin,
    };
    let others = OTHER_REPOSITORIES
        .map(|name| rule(name.to_owned(), "built-in: a repository of another program than git".to_owned()));
    let of_git = places
        .iter()
        .map(|(place, setting)| rule(place.pattern(), format!("built-in: git settings ({setting})")));
    others.into_iter().chain(of_git).collect()
}

/// The pattern that matches this path and nothing else.
pub(super) fn literal(path: &Path) -> String {
    let mut pattern = String::from("/");
    for char in path.to_string_lossy().chars() {
        match char {
            // What is not UTF-8 cannot be spelled; one character stands for it.
            char::REPLACEMENT_CHARACTER => pattern.push('?'),
            '*' | '?' | '[' | ']' | '\\' | '!' | '#' | ' ' => pattern.extend(['\\', char]),
            _ => pattern.push(char),
        }
    }
    pattern
}

/// The path that a literal pattern was made from; `None` for a pattern with wildcards.
pub(super) fn place_of(pattern: &str) -> Option<PathBuf> {
    let mut text = String::new();
    let mut rest = pattern.strip_prefix('/')?.chars();
    while let Some(char) = rest.next() {
        match char {
            '\\' => text.extend(rest.next()),
            '*' | '?' | '[' => return None,
            _ => text.push(char),
        }
    }
    Some(PathBuf::from(text))
}

#[derive(Debug, Clone)]
pub(super) struct LayerRules {
    protecting: RuleList,
    /// Those of which a run may change what they match.
    marking: RuleList,
    /// By index in the whole slice: whether changes are never applied.
    protected: Vec<bool>,
    /// By index in the whole slice: whether it is about agents.
    about_agents: Vec<bool>,
    /// Directories that a layer is in, with its rule.
    parents: BTreeMap<PathBuf, usize>,
}

impl LayerRules {
    pub(super) fn compile(rules: &[PathRule]) -> Result<LayerRules, RuleError> {
        // Configuration of harnesses is hidden by its name; here it is found in any other case.
        fn is_layer(rule: &PathRule) -> bool {
            match rule.source {
                RuleSource::BuiltinLayer | RuleSource::BuiltinGit => true,
                source => source == RuleSource::BuiltinHarness && rule.effect == Effect::Hidden,
            }
        }
        fn protects(rule: &PathRule) -> bool {
            matches!(rule.effect, Effect::Readonly | Effect::Hidden)
        }
        let mut parents = BTreeMap::new();
        let ours = || rules.iter().enumerate().filter(|(_, rule)| is_layer(rule));
        let protecting = ours().filter(|(_, rule)| protects(rule));
        for (index, rule) in protecting.chain(ours().filter(|(_, rule)| !protects(rule))) {
            let Some(place) = place_of(&rule.pattern) else { continue };
            for parent in place.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty()) {
                let parent = PathBuf::from(OsStr::from_bytes(&folded(parent.as_os_str())));
                parents.entry(parent).or_insert(index);
            }
        }
        Ok(LayerRules {
            protecting: RuleList::compile_folded(rules, |rule| is_layer(rule) && protects(rule))?,
            marking: RuleList::compile_folded(rules, |rule| is_layer(rule) && !protects(rule))?,
            protected: rules.iter().map(protects).collect(),
            about_agents: rules.iter().map(|rule| rule.source == RuleSource::BuiltinLayer).collect(),
            parents,
        })
    }

    pub(super) fn matching(&self, path: &Path) -> Option<usize> {
        let last_match = |path: &Path| {
            self.protecting.last_match(path, true).or_else(|| self.marking.last_match(path, true))
        };
        match folded(path.as_os_str()) {
            Cow::Borrowed(_) => last_match(path),
            Cow::Owned(bytes) => last_match(Path::new(&std::ffi::OsString::from_vec(bytes))),
        }
    }

    pub(super) fn is_protected(&self, rule: usize) -> bool {
        self.protected[rule]
    }

    pub(super) fn is_about_agents(&self, rule: usize) -> bool {
        self.about_agents[rule]
    }

    pub(super) fn below(&self, path: &Path) -> Option<usize> {
        if self.parents.is_empty() {
            return None;
        }
        self.parents.get(Path::new(OsStr::from_bytes(&folded(path.as_os_str())))).copied()
    }
}

/// A name as a filesystem that folds case compares it, as far as ASCII names are concerned: case, the two letters
/// outside ASCII that fold into it, and characters that are left out of a comparison.
pub fn folded(name: &OsStr) -> Cow<'_, [u8]> {
    let bytes = name.as_bytes();
    if !bytes.iter().any(|byte| byte.is_ascii_uppercase() || !byte.is_ascii()) {
        return Cow::Borrowed(bytes);
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return Cow::Owned(bytes.to_ascii_lowercase()) };
    let mut folded = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\u{212a}' => folded.push('k'),
            '\u{17f}' => folded.push('s'),
            _ if is_ignorable(char) => {}
            _ => folded.push(char.to_ascii_lowercase()),
        }
    }
    Cow::Owned(folded.into_bytes())
}

/// Unicode's `Default_Ignorable_Code_Point`.
fn is_ignorable(char: char) -> bool {
    matches!(char,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{PathRules, Visibility};

    fn visibility(rules: &PathRules, path: &str, is_dir: bool) -> Visibility {
        rules.decide(Path::new(path), is_dir).visibility
    }

    #[test]
    fn names_are_protected_at_any_depth_whatever_kind_of_entry_they_are() {
        let mut list = layer_rules(&[], LayerChanges::Protected);
        list.push(PathRule {
            pattern: "!.agentworkforce".into(),
            effect: Effect::Readonly,
            source: RuleSource::ProjectFile,
            origin: "test".into(),
        });
        let rules = PathRules::compile(&list).unwrap();
        for path in [
            ".agentworkforce",
            ".agentworkforce/workforce/personas/x.json",
            "packages/api/.agentworkforce",
            "packages/api/.AgentWorkforce/directive.md",
            ".agentwor\u{212a}force",
            ".agent\u{200d}ignore",
            "a/.agentignore",
            ".reviewer.agentreadonly",
        ] {
            for is_dir in [false, true] {
                assert_eq!(visibility(&rules, path, is_dir), Visibility::Readonly, "{path}");
            }
        }
        for path in ["agentworkforce", "docs/.agentworkforce.md", "a/agentignore", "src/.agent"] {
            assert_eq!(visibility(&rules, path, false), Visibility::Writable, "{path}");
        }
    }

    #[test]
    fn a_layer_elsewhere_is_protected_with_what_leads_to_it() {
        let list = layer_rules(&["a/b [x]/c!".into(), PathBuf::new()], LayerChanges::Protected);
        let rules = PathRules::compile(&list).unwrap();
        for path in ["a/b [x]/c!", "a/b [x]/c!/x.json", "top.json"] {
            assert_eq!(visibility(&rules, path, false), Visibility::Readonly, "{path}");
        }
        for path in ["a/b x/c!", "b/a/b [x]/c!", "a/top.json"] {
            assert_eq!(visibility(&rules, path, false), Visibility::Writable, "{path}");
        }
        assert!(
            rules.layer_below(Path::new("a")).is_some() && rules.layer_below(Path::new("a/b [x]")).is_some()
        );
        assert!(rules.layer_below(Path::new("a/b")).is_none() && rules.layer_below(Path::new("")).is_none());
    }

    #[test]
    fn what_a_run_may_change_is_still_known_as_a_layer() {
        let rules = PathRules::compile(&layer_rules(&[], LayerChanges::Reviewed)).unwrap();
        let decision = rules.decide(Path::new("x/.agentworkforce/y"), false);
        assert_eq!((decision.visibility, decision.is_layer()), (Visibility::Writable, true));
        assert!(!rules.decide(Path::new("x/y"), false).is_layer());
    }
}
