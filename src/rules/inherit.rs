//! Which parts of a repository's own setup of harnesses a run sees. Instructions are known by their names, at any depth; commands,
//! skills and scripts of hooks by their places, from the root down to the working directory. Whatever a rule says, nothing else of
//! that setup is shown: settings stay hidden. Pure; links are judged where the tree is walked.

use super::layer::{literal, place_of};
use super::{PathRules, RuleError, RuleList};
use crate::model::inherit::Inherit;
use crate::model::mount::{Effect, PathRule, RuleSource};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Files that harnesses read in any directory.
pub const INSTRUCTIONS: [&str; 5] =
    ["CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "AGENTS.override.md", "CONTEXT.md"];

/// What else is shown, below a directory that a harness starts from.
const PLACES: [(&str, Inherit); 12] = [
    (".claude/CLAUDE.md", Inherit::Instructions),
    (".claude/rules", Inherit::Instructions),
    (".claude/commands", Inherit::Commands),
    (".opencode/command", Inherit::Commands),
    (".opencode/commands", Inherit::Commands),
    (".claude/skills", Inherit::Skills),
    (".agents/skills", Inherit::Skills),
    (".opencode/skill", Inherit::Skills),
    (".opencode/skills", Inherit::Skills),
    (".skills", Inherit::Skills),
    // The commands are in the settings, which stay hidden; the scripts that they start are here.
    (".claude/hooks", Inherit::Hooks),
    (".codex/hooks", Inherit::Hooks),
];

/// What makes a directory of skills more than instructions: claude and codex take hooks, servers and programs from it.
const PLUGINS: [&str; 4] = [".claude-plugin", ".codex-plugin", ".cursor-plugin", "openai.yaml"];

/// Names of files and directories that a harness takes settings from, or runs.
const SETTINGS: [&str; 7] = [
    ".mcp.json",
    ".codex",
    "opencode.json",
    "opencode.jsonc",
    "tui.json",
    "tui.jsonc",
    "settings.local.json",
];

/// Something of the repository's own setup.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SetupPlace {
    /// Relative to the root.
    pub path: PathBuf,
    pub kind: Inherit,
}

/// Directories from the root to the working directory, which is relative to it.
pub fn directories(cwd: &Path) -> Vec<PathBuf> {
    let mut dirs: Vec<PathBuf> = cwd.ancestors().map(Path::to_owned).collect();
    dirs.reverse();
    dirs
}

/// All places that could be inherited by a run in this directory.
pub fn places(cwd: &Path) -> Vec<SetupPlace> {
    let below =
        |dir: PathBuf| PLACES.map(|(place, kind)| SetupPlace { path: dir.join(place), kind }).into_iter();
    directories(cwd).into_iter().flat_map(below).collect()
}

/// What kind of setup a path is, by its name.
pub fn kind_of(path: &Path) -> Option<Inherit> {
    if is_instruction_file(path) {
        return Some(Inherit::Instructions);
    }
    PLACES.iter().find(|(place, _)| path.ends_with(place)).map(|(_, kind)| *kind)
}

pub fn is_instruction_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| INSTRUCTIONS.iter().any(|known| name == *known))
}

/// Whether a path in a directory of skills is the manifest of a plugin, by its name.
pub fn is_plugin(path: &Path) -> bool {
    path.file_name().is_some_and(|name| PLUGINS.iter().any(|known| name == *known))
}

/// Whether a harness could take a file for a command or a skill, by its name.
pub fn is_text(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
}

/// Commands and skills are instructions only: what their files have of powers is taken out.
pub fn is_cleaned(kind: Inherit) -> bool {
    matches!(kind, Inherit::Commands | Inherit::Skills)
}

/// The rules that show what is inherited.
pub fn inherit_rules(kinds: &[Inherit], places: &[SetupPlace], from: &str) -> Vec<PathRule> {
    let rule = |pattern: String, kind: Inherit| PathRule {
        pattern,
        effect: Effect::Inherit,
        source: RuleSource::BuiltinHarness,
        origin: format!("{from}: inherit {kind}"),
    };
    let mut rules = Vec::new();
    if kinds.contains(&Inherit::Instructions) {
        rules.extend(INSTRUCTIONS.map(|name| rule(name.to_owned(), Inherit::Instructions)));
    }
    let inherited = places.iter().filter(|place| kinds.contains(&place.kind));
    rules.extend(inherited.map(|place| rule(literal(&place.path), place.kind)));
    rules
}

/// The rules for what patterns that reveal, and patterns with `!`, show of the repository's own setup.
pub fn revealed_rules(list: &[PathRule], places: &[SetupPlace]) -> Result<Vec<PathRule>, RuleError> {
    let lifting: Vec<PathRule> = list.iter().filter_map(lifting).collect();
    let mut rules = Vec::new();
    for rule in &lifting {
        let name = PathRule { pattern: last_part(&rule.pattern).to_owned(), ..rule.clone() };
        let globs = RuleList::compile(&[name], |_| true)?;
        if INSTRUCTIONS.iter().any(|name| globs.last_match(Path::new(name), false).is_some()) {
            rules.push(rule.clone());
        }
    }
    let globs = RuleList::compile(&lifting, |_| true)?;
    for place in places.iter().filter(|place| place.kind != Inherit::Hooks) {
        let on_the_way = place.path.ancestors().filter(|path| !path.as_os_str().is_empty());
        let decides = on_the_way.filter_map(|path| globs.last_match(path, true)).max();
        if let Some(index) = decides.filter(|&index| globs.is_positive(index)) {
            rules.push(PathRule { pattern: literal(&place.path), ..lifting[index].clone() });
        }
    }
    Ok(rules)
}

/// Whether the rules show a place of the repository's setup. Settings are never shown, whatever is in them.
pub fn is_shown(rules: &PathRules, kind: Inherit, path: &Path) -> bool {
    !matches!(kind, Inherit::Mcp | Inherit::Hooks)
        && !rules.decide(path, !is_instruction_file(path)).is_hidden()
}

/// The rule that shows what this one lifts.
fn lifting(rule: &PathRule) -> Option<PathRule> {
    let pattern = match rule.effect {
        Effect::Reveal => rule.pattern.clone(),
        Effect::Hidden if rule.source > RuleSource::Unreadable => rule.pattern.strip_prefix('!')?.to_owned(),
        _ => return None,
    };
    Some(PathRule { pattern, effect: Effect::Inherit, source: RuleSource::BuiltinHarness, ..rule.clone() })
}

fn last_part(pattern: &str) -> &str {
    let pattern = pattern.strip_prefix('!').unwrap_or(pattern);
    pattern.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}

/// Why a pattern cannot reveal what it names, if it names settings of a harness.
pub fn refused_reveal(pattern: &str) -> Option<String> {
    if pattern.starts_with('!') {
        return None;
    }
    let last = last_part(pattern);
    let path = pattern.trim_matches('/');
    let is_settings = SETTINGS.contains(&last)
        || ["opencode.json*", "tui.json*"].contains(&last)
        || [".claude/settings.json", ".claude/agents", ".opencode/plugin", ".opencode/agent"]
            .iter()
            .any(|settings| Path::new(path).ends_with(settings));
    is_settings.then(|| {
        format!(
            "`{pattern}` is configuration that a harness obeys, and stays hidden: inherit `mcp` or `hooks` instead"
        )
    })
}

/// What a pattern names only a part of is shown, if it names a whole directory of a harness.
pub fn partly_revealed(pattern: &str) -> Option<String> {
    let last = last_part(pattern);
    let is_directory = [".claude", ".opencode", ".agents"].contains(&last) && !pattern.starts_with('!');
    is_directory.then(|| {
        format!("`{pattern}` shows instructions, commands and skills; settings, hooks and agents in it stay hidden")
    })
}

/// What opencode installs beside its configuration, in every run that finds it missing.
const INSTALLED: [&str; 5] = [".gitignore", "bun.lock", "node_modules", "package-lock.json", "package.json"];

/// Whether a path is what a harness itself puts beside the setup that it is shown, and not the agent's work.
pub fn is_installed_by_harness(path: &Path) -> bool {
    let mut parts = path.iter().skip_while(|part| *part != ".opencode").skip(1);
    parts.next().is_some_and(|part| INSTALLED.iter().any(|name| part == *name))
}

const STRAY_LINK: &str = "built-in: a link that leads out of the inherited setup";
const PLUGIN: &str = "built-in: a plugin, which commands and skills do not bring along";

/// Hides a link of the repository's own setup that leads out of it, or a plugin in it.
pub fn stray_rule(path: &Path) -> PathRule {
    let origin = if is_plugin(path) { PLUGIN } else { STRAY_LINK };
    PathRule {
        pattern: literal(path),
        effect: Effect::Hidden,
        source: RuleSource::BuiltinHarness,
        origin: origin.to_owned(),
    }
}

/// Why something of an inherited place stays hidden, if its rule is one of those.
pub fn why_stray(rule: &PathRule) -> Option<&'static str> {
    match rule.origin.as_str() {
        _ if rule.source != RuleSource::BuiltinHarness => None,
        STRAY_LINK => Some("links may lead to what is inherited and cleaned, and nowhere else"),
        PLUGIN => Some("a plugin brings hooks and programs, and skills bring instructions only"),
        _ => None,
    }
}

#[derive(Debug, Clone)]
pub(super) struct InheritRules {
    list: RuleList,
    places: BTreeSet<PathBuf>,
    /// Directories with a place in them.
    containers: BTreeSet<PathBuf>,
}

impl InheritRules {
    pub(super) fn compile(rules: &[PathRule]) -> Result<InheritRules, RuleError> {
        let is_own = |rule: &PathRule| rule.effect == Effect::Inherit;
        let literals = rules.iter().filter(|rule| is_own(rule)).filter_map(|rule| place_of(&rule.pattern));
        let places: BTreeSet<PathBuf> = literals.filter(|path| kind_of(path).is_some()).collect();
        let parents = places.iter().flat_map(|place| place.ancestors().skip(1).map(Path::to_owned));
        let containers = parents.filter(|parent| !parent.as_os_str().is_empty()).collect();
        Ok(InheritRules { list: RuleList::compile(rules, is_own)?, places, containers })
    }

    /// The rule that shows this path of the repository's setup.
    pub(super) fn matching(&self, path: &Path, is_dir: bool) -> Option<usize> {
        if !is_instruction_file(path) && !self.places.contains(path) {
            return None;
        }
        self.list.last_match(path, is_dir).filter(|&rule| self.list.is_positive(rule))
    }

    /// Whether a path is a place of commands or skills, or in one.
    pub(super) fn is_cleaned(&self, path: &Path) -> bool {
        let is_place = |dir: &Path| self.places.contains(dir) && kind_of(dir).is_some_and(is_cleaned);
        path.ancestors().any(is_place)
    }

    /// Whether something in this directory is shown, though the directory itself is not.
    pub(super) fn leads_through(&self, dir: &Path) -> bool {
        self.containers.contains(dir)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{PathRules, Visibility, builtin_harness_rules, builtin_secret_rules};

    const CONFIG: [&str; 8] =
        ["CLAUDE.md", ".claude", ".mcp.json", "AGENTS.md", ".opencode", ".codex", ".agents", ".skills"];

    fn all(more: Vec<PathRule>) -> Vec<PathRule> {
        let mut rules = builtin_secret_rules();
        rules.extend(builtin_harness_rules("claude", &CONFIG));
        rules.extend(more);
        rules
    }

    fn said(pattern: &str, effect: Effect, source: RuleSource) -> PathRule {
        PathRule { pattern: pattern.into(), effect, source, origin: "test".into() }
    }

    fn visible(rules: &[PathRule], path: &str, is_dir: bool) -> bool {
        let decision = PathRules::compile(rules).unwrap().decide(Path::new(path), is_dir);
        // What is shown of the setup can never be changed.
        assert_ne!(decision.visibility, Visibility::Writable, "{path}");
        !decision.is_hidden()
    }

    #[test]
    fn nothing_but_what_is_inherited_is_shown() {
        let kinds = [Inherit::Instructions, Inherit::Commands, Inherit::Skills];
        let places = places(Path::new("api/v1"));
        let rules = all(inherit_rules(&kinds, &places, "persona x"));
        for path in [
            "CLAUDE.md",
            "deep/er/AGENTS.md",
            ".claude/CLAUDE.md",
            ".claude/rules/a.md",
            ".claude/commands/git/commit.md",
            "api/.claude/skills/s/SKILL.md",
            "api/v1/.opencode/command/c.md",
            ".agents/skills/x/run.sh",
        ] {
            assert!(visible(&rules, path, false), "{path}");
        }
        for path in [
            ".mcp.json",
            ".claude/settings.json",
            ".claude/settings.local.json",
            ".claude/agents/a.md",
            ".claude/hooks/h.sh",
            ".codex/config.toml",
            ".opencode/plugin/p.js",
            "elsewhere/.claude/skills/s/SKILL.md",
            ".claude/skills/s/.mcp.json",
            ".claude/skills/s/.claude/settings.json",
            ".claude/skills/s/.env",
            ".claude/skills/s/.codex/config.toml",
        ] {
            assert!(!visible(&rules, path, false), "{path}");
        }
        for path in [".claude", "api/.claude", ".opencode"] {
            assert!(visible(&rules, path, true), "{path}");
            assert!(!visible(&rules, path, false), "a link to {path} brings its settings along");
        }
        assert!(!visible(&rules, "elsewhere/.claude", true));
        assert!(!visible(&all(inherit_rules(&[], &places, "persona x")), "CLAUDE.md", false));
    }

    #[test]
    fn what_is_ignored_stays_hidden_and_no_rule_makes_the_rest_writable() {
        let mut rules = all(inherit_rules(&[Inherit::Instructions], &places(Path::new("")), "persona x"));
        rules.push(said("!CLAUDE.md", Effect::Readonly, RuleSource::ProjectFile));
        assert!(visible(&rules, "CLAUDE.md", false));
        rules.push(said("docs/CLAUDE.md", Effect::Hidden, RuleSource::ProjectFile));
        assert!(!visible(&rules, "docs/CLAUDE.md", false) && visible(&rules, "CLAUDE.md", false));
    }

    #[test]
    fn revealing_shows_instructions_commands_and_skills_and_never_settings() {
        let places = places(Path::new(""));
        for (pattern, shown, hidden) in [
            ("CLAUDE.md", &["CLAUDE.md", "sub/CLAUDE.md"][..], &["AGENTS.md"][..]),
            ("/CLAUDE.md", &["CLAUDE.md"], &["sub/CLAUDE.md"]),
            (
                ".claude",
                &[".claude/skills/s", ".claude/commands/c.md"],
                &[".claude/settings.json", "CLAUDE.md"],
            ),
            (".claude/commands/", &[".claude/commands/c.md"], &[".claude/skills/s"]),
            (".claude/settings.json", &[], &[".claude/settings.json", ".claude/commands/c.md"]),
            ("/.mcp.json", &[], &[".mcp.json"]),
            ("*", &["CLAUDE.md", ".claude/skills/s"], &[".mcp.json", ".codex/x", ".claude/settings.json"]),
        ] {
            for rule in [
                said(pattern, Effect::Reveal, RuleSource::Config),
                said(&format!("!{pattern}"), Effect::Hidden, RuleSource::ProjectFile),
            ] {
                let mut rules = all(vec![rule]);
                assert!(hidden.iter().chain(shown).all(|path| !visible(&rules, path, false)), "{pattern}");
                rules.extend(revealed_rules(&rules, &places).unwrap());
                for path in shown {
                    assert!(visible(&rules, path, false), "{pattern}: {path}");
                }
                for path in hidden {
                    assert!(!visible(&rules, path, false), "{pattern}: {path}");
                }
            }
        }
    }

    #[test]
    fn a_pattern_for_settings_is_refused_with_the_reason() {
        for pattern in [
            ".mcp.json",
            "**/.mcp.json",
            ".codex/",
            "opencode.json*",
            "/opencode.jsonc",
            "tui.json",
            "a/tui.json*",
            ".claude/settings.json",
            "a/.claude/settings.local.json",
        ] {
            assert!(refused_reveal(pattern).is_some(), "{pattern}");
        }
        for pattern in [".env", "CLAUDE.md", ".claude", "*", "!.mcp.json", ".claude/commands"] {
            assert_eq!(refused_reveal(pattern), None, "{pattern}");
        }
        assert!(is_installed_by_harness(Path::new("a/.opencode/node_modules/x/y.js")));
        assert!(!is_installed_by_harness(Path::new(".opencode/command/package.json")));
        assert!(!is_installed_by_harness(Path::new("node_modules/x")));
        assert!(partly_revealed("a/.claude/").is_some() && partly_revealed(".env").is_none());
    }
}
