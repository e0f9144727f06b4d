//! The one decision on a path: hidden, readonly or writable, and which rule says so. Pure; it never looks at a disk.
//!
//! These lists are judged apart, each by its last matching rule:
//! - *hide* (secrets, the repository's setup of harnesses, and everything else): judged for every directory from the root down;
//!   below a hidden directory everything is hidden, so a `!` cannot reopen one file of it;
//! - *inherit*: shows parts of the repository's setup, read-only, and nothing else;
//! - *reveal*: lifts a built-in secret and nothing else; a directory that it names is meant with all it holds;
//! - *readonly*: a rule for a directory holds for everything below it until a later rule says otherwise, so that
//!   the allow-list `*`, `!agents/` leaves `agents/` and all its files writable.
//!
//! Persona layers, rule files and git settings are judged before *readonly*, and nothing in the other lists makes them writable.

pub mod glob;
pub mod inherit;
pub mod layer;
pub(crate) mod near;
pub(crate) mod quick;

use self::inherit::InheritRules;
use self::layer::LayerRules;
use crate::model::mount::{Effect, PathRule, RuleSource};
use crate::model::warning::{Warning, WarningCode};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// What the agent may do with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Visibility {
    /// Not there, from inside.
    Hidden,
    /// There; writes are never applied.
    Readonly,
    Writable,
}

/// The answer for one path. It also carries what the walk needs to go on below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    pub visibility: Visibility,
    /// The rule that decided, as an index into the compiled slice; for a writable path the `!` or reveal rule, if any.
    pub rule: Option<usize>,
    readonly: Option<usize>,
    reveal: Option<usize>,
    /// The layer rule, or the one about git settings.
    layer: Option<usize>,
    about_agents: bool,
    /// The rule that shows it, for what is a part of the repository's own setup.
    inherited: Option<usize>,
    /// The rule that hides everything in it but what is inherited.
    hides_rest: Option<usize>,
}

impl Decision {
    /// The root itself: nothing hides it.
    pub const ROOT: Decision = Decision { visibility: Visibility::Writable, ..Decision::hidden(None) };

    pub fn is_hidden(&self) -> bool {
        self.visibility == Visibility::Hidden
    }

    const fn hidden(rule: Option<usize>) -> Decision {
        Decision {
            visibility: Visibility::Hidden,
            rule,
            readonly: None,
            reveal: None,
            layer: None,
            about_agents: false,
            inherited: None,
            hides_rest: None,
        }
    }

    /// Whether it is a part of the repository's own setup that the run inherits.
    pub fn is_inherited(&self) -> bool {
        self.inherited.is_some()
    }

    /// Whether the path decides what agents may do.
    pub fn is_layer(&self) -> bool {
        self.about_agents
    }
}

/// A pattern that is not gitignore grammar.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rule {index}: {message}")]
pub struct RuleError {
    /// Into the slice that was compiled.
    pub index: usize,
    pub message: String,
}

/// All rules of a mount, ready to be asked.
#[derive(Debug, Clone)]
pub struct PathRules {
    secrets: RuleList,
    /// The repository's own setup of harnesses.
    setup: RuleList,
    hidden: RuleList,
    inherit: InheritRules,
    reveal: RuleList,
    readonly: RuleList,
    layers: LayerRules,
}

impl PathRules {
    /// Compiles rules in rising order of precedence; the order of the slice decides, not the `source` of a rule.
    pub fn compile(rules: &[PathRule]) -> Result<PathRules, RuleError> {
        let list = |wanted: fn(&PathRule) -> bool| RuleList::compile(rules, wanted);
        Ok(PathRules {
            secrets: list(|rule| rule.effect == Effect::Hidden && rule.source == RuleSource::BuiltinSecret)?,
            setup: list(|rule| rule.effect == Effect::Hidden && rule.source == RuleSource::BuiltinHarness)?,
            hidden: list(|rule| {
                rule.effect == Effect::Hidden
                    && !matches!(rule.source, RuleSource::BuiltinSecret | RuleSource::BuiltinHarness)
            })?,
            inherit: InheritRules::compile(rules)?,
            reveal: list(|rule| rule.effect == Effect::Reveal)?,
            readonly: list(|rule| {
                rule.effect == Effect::Readonly
                    && !matches!(rule.source, RuleSource::BuiltinLayer | RuleSource::BuiltinGit)
            })?,
            layers: LayerRules::compile(rules)?,
        })
    }

    /// The rule for a layer or for git settings somewhere below a path: as a link it would put something else in its place.
    pub fn layer_below(&self, path: &Path) -> Option<usize> {
        self.layers.below(path)
    }

    /// Whether a path is in a place of commands or skills that is inherited.
    pub fn is_cleaned(&self, path: &Path) -> bool {
        self.inherit.is_cleaned(path)
    }

    /// The decision for a path relative to the root. A path that leaves the root is hidden: nobody may ask for it.
    pub fn decide(&self, path: &Path, is_dir: bool) -> Decision {
        let mut names: Vec<&OsStr> = Vec::new();
        for component in path.components() {
            match component {
                Component::Normal(name) => names.push(name),
                Component::CurDir | Component::RootDir => {}
                Component::ParentDir | Component::Prefix(_) => return Decision::hidden(None),
            }
        }
        let mut decision = Decision::ROOT;
        let mut so_far = PathBuf::new();
        for (depth, name) in names.iter().enumerate() {
            so_far.push(name);
            decision = self.decide_child(&decision, &so_far, is_dir || depth + 1 < names.len());
        }
        decision
    }

    /// The same for a walk that holds the decision for the parent directory already.
    pub fn decide_child(&self, parent: &Decision, path: &Path, is_dir: bool) -> Decision {
        if parent.is_hidden() {
            return *parent;
        }
        // Indices rise with precedence, so the later of "matched here" and "matched above" is the greater.
        let reveal = self.reveal.last_match(path, is_dir).max(parent.reveal);
        let revealed = reveal.is_some_and(|rule| self.reveal.is_positive(rule));
        if let Some(rule) = self.hidden.last_match(path, is_dir)
            && self.hidden.is_positive(rule)
        {
            return Decision::hidden(Some(rule));
        }
        let setup = self.setup.last_match(path, is_dir).filter(|&rule| self.setup.is_positive(rule));
        let (inherited, hides_rest) = match setup.or(parent.hides_rest) {
            None => (parent.inherited, None),
            Some(hides) => match self.inherit.matching(path, is_dir) {
                Some(shows) => (Some(shows), None),
                // Not for a link: it brings along whatever it leads to.
                None if is_dir && self.inherit.leads_through(path) => (None, Some(hides)),
                None => return Decision::hidden(Some(hides)),
            },
        };
        let secret = self.secrets.last_match(path, is_dir).filter(|&rule| self.secrets.is_positive(rule));
        if secret.is_some() && !revealed {
            return Decision::hidden(secret);
        }
        let readonly = self.readonly.last_match(path, is_dir).max(parent.readonly);
        let own = self.layers.matching(path);
        // The one that protects wins.
        let layer =
            [parent.layer, own].into_iter().flatten().max_by_key(|&rule| self.layers.is_protected(rule));
        let about_agents = parent.about_agents || own.is_some_and(|rule| self.layers.is_about_agents(rule));
        let (visibility, rule) = match readonly {
            _ if inherited.or(hides_rest).is_some() => (Visibility::Readonly, inherited.or(hides_rest)),
            _ if layer.is_some_and(|rule| self.layers.is_protected(rule)) => (Visibility::Readonly, layer),
            Some(rule) if self.readonly.is_positive(rule) => (Visibility::Readonly, Some(rule)),
            Some(rule) => (Visibility::Writable, Some(rule)),
            None => (Visibility::Writable, layer.or(secret.and(reveal))),
        };
        Decision { visibility, rule, readonly, reveal, layer, about_agents, inherited, hides_rest }
    }
}

/// Warns about patterns that can match no path, with the fix. gitignore patterns cannot leave the root or start at a
/// home directory, and whoever writes such a pattern believes that something is protected.
pub fn unmatchable_patterns(rules: &[PathRule]) -> Vec<Warning> {
    let why = |pattern: &str| {
        let bare = pattern.strip_prefix('!').unwrap_or(pattern);
        if let Some(rest) = bare.strip_prefix("./") {
            return Some(format!("write `/{rest}`"));
        }
        if bare.starts_with("~/") {
            return Some("paths are relative to the project".to_owned());
        }
        let parts: Vec<&str> = bare.trim_end_matches('/').split('/').skip(1).collect();
        if bare.starts_with("../") || parts.iter().any(|part| matches!(*part, "" | "." | "..")) {
            return Some("no path of the project is spelled like this".to_owned());
        }
        None
    };
    rules
        .iter()
        .filter_map(|rule| {
            let why = why(&rule.pattern)?;
            let text = format!("{}: pattern `{}` matches nothing: {why}", rule.origin, rule.pattern);
            Some(Warning::new(WarningCode::NoMatch, text))
        })
        .collect()
}

/// The rules of one kind, with the index that each has in the whole slice.
#[derive(Debug, Clone)]
struct RuleList {
    globs: Gitignore,
    /// By index in the whole slice: whether the rule is without `!`.
    positive: Vec<bool>,
}

impl RuleList {
    fn compile(rules: &[PathRule], wanted: fn(&PathRule) -> bool) -> Result<RuleList, RuleError> {
        RuleList::build(GitignoreBuilder::new(""), rules, wanted)
    }

    /// Matches in any case.
    fn compile_folded(rules: &[PathRule], wanted: fn(&PathRule) -> bool) -> Result<RuleList, RuleError> {
        let mut builder = GitignoreBuilder::new("");
        let folding = builder.case_insensitive(true).map(|_| ());
        folding.map_err(|cause| RuleError { index: 0, message: cause.to_string() })?;
        RuleList::build(builder, rules, wanted)
    }

    fn build(
        mut builder: GitignoreBuilder,
        rules: &[PathRule],
        wanted: fn(&PathRule) -> bool,
    ) -> Result<RuleList, RuleError> {
        if rules.len() > MOST_RULES {
            return Err(RuleError {
                index: MOST_RULES,
                message: format!("there are more than {MOST_RULES} patterns"),
            });
        }
        let (mut bytes, mut wildcards) = (0, 0);
        for (index, rule) in rules.iter().enumerate().filter(|(_, rule)| wanted(rule)) {
            let error = |message: String| RuleError { index, message };
            let start = || rule.pattern.chars().take(40).collect::<String>();
            if rule.pattern.contains(['\n', '\0']) {
                return Err(error(format!("`{}` has a line break or a zero byte in it", rule.pattern)));
            }
            if rule.pattern.len() > LONGEST {
                return Err(error(format!("`{}...` is longer than {LONGEST} bytes", start())));
            }
            let cost = glob::wildcards(&rule.pattern);
            if cost > MOST_IN_PATTERN {
                return Err(error(format!("`{}...` has more than {MOST_IN_PATTERN} wildcards", start())));
            }
            bytes += rule.pattern.len();
            wildcards += cost;
            if wildcards > MOST_WILDCARDS {
                let text =
                    format!("there are more than {MOST_WILDCARDS} wildcards in the patterns up to here");
                return Err(error(text));
            }
            if bytes > MOST_BYTES {
                return Err(error(format!("the patterns up to here are longer than {MOST_BYTES} bytes")));
            }
            if glob::says_nothing(&rule.pattern) {
                continue;
            }
            // `from` is the only thing that comes back with a match, so the index travels in it.
            let pattern = glob::for_globset(&rule.pattern);
            builder.add_line(Some(PathBuf::from(index.to_string())), &pattern).map_err(|cause| {
                error(format!("`{}` is not a valid pattern: {}", rule.pattern, innermost(&cause)))
            })?;
        }
        let globs = builder.build().map_err(|cause| RuleError {
            index: 0,
            message: format!("the patterns are too large: {cause}"),
        })?;
        Ok(RuleList { globs, positive: rules.iter().map(|rule| !rule.pattern.starts_with('!')).collect() })
    }

    fn last_match(&self, path: &Path, is_dir: bool) -> Option<usize> {
        if self.globs.is_empty() {
            return None;
        }
        let glob = self.globs.matched(path, is_dir).inner().copied()?;
        glob.from()?.to_str()?.parse().ok()
    }

    fn is_positive(&self, rule: usize) -> bool {
        self.positive[rule]
    }
}

/// No path is longer. The project's own files have patterns, and a hostile one must not cost more than a moment.
const LONGEST: usize = 4096;
const MOST_RULES: usize = 20_000;
const MOST_BYTES: usize = 2 << 20;
/// The part of a pattern that costs, in one and in all of a kind.
const MOST_IN_PATTERN: usize = 128;
const MOST_WILDCARDS: usize = 5_000;

/// The part of an `ignore` error that says what is wrong, without the path that we put our index in.
fn innermost(error: &ignore::Error) -> String {
    match error {
        ignore::Error::WithPath { err, .. }
        | ignore::Error::WithLineNumber { err, .. }
        | ignore::Error::WithDepth { err, .. } => innermost(err),
        ignore::Error::Glob { err, .. } => err.clone(),
        other => other.to_string(),
    }
}

/// Secrets that are hidden unless the config or the persona reveals them.
pub fn builtin_secret_rules() -> Vec<PathRule> {
    const PATTERNS: [&str; 25] = [
        ".env",
        ".env.*",
        ".env~",
        ".envrc",
        "!.env.example",
        "!.env.sample",
        "!.env.template",
        "*.pem",
        "*.key",
        "id_rsa*",
        "id_dsa*",
        "id_ecdsa*",
        "id_ed25519*",
        ".npmrc",
        ".pypirc",
        ".netrc",
        ".pgpass",
        ".git-credentials",
        "**/.docker/config.json",
        ".aws/",
        ".ssh/",
        "*.p12",
        "*.pfx",
        "credentials.json",
        "service-account*.json",
    ];
    builtin(&PATTERNS, RuleSource::BuiltinSecret, "built-in: secrets")
}

/// The project's own configuration of the harness, hidden so that the persona decides.
pub fn builtin_harness_rules(harness: &str, project_config: &[&str]) -> Vec<PathRule> {
    let origin = format!("built-in: configuration of {harness}");
    builtin(project_config, RuleSource::BuiltinHarness, &origin)
}

/// Hides a directory that cannot be read: what is in it cannot be judged, and its owner could open it from inside.
pub fn unreadable_rule(path: &Path) -> PathRule {
    PathRule {
        pattern: layer::literal(path),
        effect: Effect::Hidden,
        source: RuleSource::Unreadable,
        origin: "built-in: it cannot be read".to_owned(),
    }
}

/// Hides a file that has credentials of a git repository in it.
pub fn credentials_rule(path: &Path) -> PathRule {
    PathRule {
        pattern: layer::literal(path),
        effect: Effect::Hidden,
        source: RuleSource::Credentials,
        origin: "built-in: credentials of a git repository".to_owned(),
    }
}

fn builtin(patterns: &[&str], source: RuleSource, origin: &str) -> Vec<PathRule> {
    let rule = |pattern: &&str| PathRule {
        pattern: (*pattern).to_owned(),
        effect: Effect::Hidden,
        source,
        origin: origin.to_owned(),
    };
    patterns.iter().map(rule).collect()
}

/// The rules that a gitignore-like file holds: `file_label` and the line number become the origin of each.
pub fn parse_rule_file(text: &str, effect: Effect, source: RuleSource, file_label: &str) -> Vec<PathRule> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let rule = |(index, line): (usize, &str)| {
        let line = without_trailing_blanks(line.strip_suffix('\r').unwrap_or(line));
        let is_rule = !line.is_empty() && !line.starts_with('#');
        is_rule.then(|| PathRule {
            pattern: line.to_owned(),
            effect,
            source,
            origin: format!("{file_label}:{}", index + 1),
        })
    };
    text.split('\n').enumerate().filter_map(rule).collect()
}

/// Trailing spaces and tabs do not count, unless the first of them is escaped with a backslash.
fn without_trailing_blanks(line: &str) -> &str {
    let trimmed = line.trim_end_matches([' ', '\t']);
    let backslashes = trimmed.bytes().rev().take_while(|&byte| byte == b'\\').count();
    let escaped = backslashes % 2 == 1 && trimmed.len() < line.len();
    if escaped { &line[..=trimmed.len()] } else { trimmed }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
