use super::*;
use crate::harness::adapter;
use crate::model::tier::Harness;
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use std::os::unix::ffi::OsStrExt;

fn rule(pattern: &str, effect: Effect, source: RuleSource) -> PathRule {
    PathRule { pattern: pattern.into(), effect, source, origin: "test".into() }
}

fn hide(pattern: &str) -> PathRule {
    rule(pattern, Effect::Hidden, RuleSource::ProjectFile)
}

fn readonly(pattern: &str) -> PathRule {
    rule(pattern, Effect::Readonly, RuleSource::Persona)
}

fn reveal(pattern: &str) -> PathRule {
    rule(pattern, Effect::Reveal, RuleSource::Config)
}

fn compile(rules: &[PathRule]) -> PathRules {
    PathRules::compile(rules).unwrap()
}

fn file(rules: &[PathRule], path: &str) -> Visibility {
    compile(rules).decide(Path::new(path), false).visibility
}

fn with_secrets(rules: &[PathRule]) -> Vec<PathRule> {
    let mut all = builtin_secret_rules();
    all.extend(rules.iter().cloned());
    all
}

use Visibility::{Hidden, Readonly, Writable};

#[test]
fn without_rules_everything_is_writable() {
    assert_eq!(file(&[], "a/b"), Writable);
    assert_eq!(compile(&[]).decide(Path::new(""), true), Decision::ROOT);
}

#[test]
fn the_last_match_wins_and_is_named() {
    let rules = [hide("*.log"), hide("!keep.log"), hide("logs/keep.log")];
    let compiled = compile(&rules);
    assert_eq!(compiled.decide(Path::new("a.log"), false).rule, Some(0));
    assert_eq!(compiled.decide(Path::new("keep.log"), false).visibility, Writable);
    let last = compiled.decide(Path::new("logs/keep.log"), false);
    assert_eq!((last.visibility, last.rule), (Hidden, Some(2)));
}

#[test]
fn a_child_of_a_hidden_directory_cannot_be_reopened() {
    let rules = [hide("private/"), hide("!private/open.txt"), hide("!**/open.txt")];
    assert_eq!(file(&rules, "private/open.txt"), Hidden);
    assert_eq!(file(&rules, "private/deep/er/open.txt"), Hidden);
    assert_eq!(file(&rules, "open.txt"), Writable);
}

#[test]
fn a_directory_pattern_does_not_match_a_file() {
    assert_eq!(file(&[hide("build/")], "build"), Writable);
    assert_eq!(file(&[hide("build/")], "build/x"), Hidden);
    assert_eq!(file(&[hide("/top")], "sub/top"), Writable);
    assert_eq!(file(&[hide("a/**/z")], "a/b/c/z"), Hidden);
}

#[test]
fn secrets_are_hidden_at_any_depth_and_examples_are_not() {
    let rules = builtin_secret_rules();
    for secret in [
        ".env",
        "a/.env",
        ".env.production",
        "x/y/server.pem",
        "tls.key",
        "id_rsa",
        "id_rsa.pub",
        "id_ed25519",
        "id_ed25519_sk",
        "id_ecdsa",
        "a/id_ecdsa_sk",
        ".env~",
        "a/.envrc",
        ".git-credentials",
        ".pgpass",
        "home/.docker/config.json",
        ".docker/config.json",
        ".npmrc",
        ".pypirc",
        ".netrc",
        ".aws/credentials",
        "home/.ssh/config",
        "a.p12",
        "a.pfx",
        "credentials.json",
        "service-account-1.json",
    ] {
        assert_eq!(file(&rules, secret), Hidden, "{secret}");
    }
    for open in [
        ".env.example",
        "a/.env.sample",
        ".env.template",
        "environment",
        "keys.rs",
        "docker/config.json",
        "src/credentials.rs",
    ] {
        assert_eq!(file(&rules, open), Writable, "{open}");
    }
}

#[test]
fn a_negation_of_any_source_cannot_reveal_a_secret() {
    for source in [RuleSource::Config, RuleSource::Persona, RuleSource::ProjectFile, RuleSource::PersonaFile]
    {
        let rules =
            with_secrets(&[rule("!.env", Effect::Hidden, source), rule("!*", Effect::Hidden, source)]);
        assert_eq!(file(&rules, ".env"), Hidden);
    }
}

#[test]
fn reveal_lifts_a_secret_and_nothing_else() {
    assert_eq!(file(&with_secrets(&[reveal(".env.test")]), ".env.test"), Writable);
    assert_eq!(file(&with_secrets(&[reveal(".env.test")]), ".env"), Hidden);
    assert_eq!(file(&with_secrets(&[hide("fixtures/"), reveal("fixtures/")]), "fixtures/a.pem"), Hidden);
    let compiled = compile(&with_secrets(&[reveal("fixtures/")]));
    let revealed = compiled.decide(Path::new("fixtures/tls/a.pem"), false);
    assert_eq!((revealed.visibility, revealed.rule), (Writable, Some(builtin_secret_rules().len())));
    let but_one = with_secrets(&[reveal("*.pem"), reveal("!prod.pem")]);
    assert_eq!((file(&but_one, "a.pem"), file(&but_one, "prod.pem")), (Writable, Hidden));
    // The directory must be revealed; one file of a hidden directory stays hidden.
    assert_eq!(file(&with_secrets(&[reveal(".aws/config")]), ".aws/config"), Hidden);
    assert_eq!(file(&with_secrets(&[reveal(".aws/")]), ".aws/config"), Writable);
}

#[test]
fn hidden_beats_readonly() {
    assert_eq!(file(&[readonly("*"), hide("a")], "a"), Hidden);
    assert_eq!(file(&[hide("a"), readonly("*"), readonly("!a")], "a"), Hidden);
    assert_eq!(file(&with_secrets(&[readonly("*"), readonly("!.env")]), ".env"), Hidden);
}

#[test]
fn a_readonly_allow_list_opens_the_directory_and_all_below_it() {
    let rules = [readonly("*"), readonly("!agents/"), readonly("!docs/api/")];
    let compiled = compile(&rules);
    let of = |path: &str, is_dir: bool| compiled.decide(Path::new(path), is_dir).visibility;
    assert_eq!(of("agents", true), Writable);
    assert_eq!(of("agents/a.js", false), Writable);
    assert_eq!(of("agents/deep/er/a.js", false), Writable);
    assert_eq!(of("src/a.js", false), Readonly);
    assert_eq!(of("README.md", false), Readonly);
    assert_eq!(of("docs/api/x.md", false), Writable);
    assert_eq!(of("docs/x.md", false), Readonly);
    let closed_again = [readonly("*"), readonly("!agents/"), readonly("*.lock")];
    assert_eq!(file(&closed_again, "agents/deep/a.lock"), Readonly);
}

#[test]
fn only_the_harness_names_are_hidden() {
    let codex = builtin_harness_rules("codex", adapter(Harness::Codex).project_config);
    for name in [
        "AGENTS.md",
        "sub/AGENTS.md",
        "sub/CONTEXT.md",
        ".codex/config.toml",
        ".skills/x",
        "opencode.jsonc",
        "tui.json",
        "sub/tui.jsonc",
        "CLAUDE.md",
    ] {
        assert_eq!(file(&codex, name), Hidden, "{name}");
    }
    for name in
        ["skills/a.md", "lib/skills/impl.py", "agents/x", "docs/CLAUDE.md.txt", "tui.js", "src/context.md.rs"]
    {
        assert_eq!(file(&codex, name), Writable, "{name}");
    }
    let claude = builtin_harness_rules("claude", adapter(Harness::Claude).project_config);
    assert_eq!(file(&claude, ".opencode/plugin/x.js"), Hidden);
    let mut reopened = codex;
    reopened.push(rule("!CLAUDE.md", Effect::Hidden, RuleSource::Persona));
    // It takes a rule of its own, which makes it readonly.
    assert_eq!(file(&reopened, "CLAUDE.md"), Hidden);
}

#[test]
fn rule_files_are_read_as_git_reads_them() {
    let text = "\u{feff}# comment\r\n\r\na.txt  \r\n\\#literal\nspace\\ \n!keep\\!\n\t\nlast";
    let patterns: Vec<(String, String)> =
        parse_rule_file(text, Effect::Hidden, RuleSource::ProjectFile, ".agentignore")
            .into_iter()
            .map(|rule| (rule.pattern, rule.origin))
            .collect();
    let expected = [
        ("a.txt", ".agentignore:3"),
        ("\\#literal", ".agentignore:4"),
        ("space\\ ", ".agentignore:5"),
        ("!keep\\!", ".agentignore:6"),
        ("last", ".agentignore:8"),
    ];
    assert_eq!(patterns, expected.map(|(pattern, origin)| (pattern.to_owned(), origin.to_owned())));
}

#[test]
fn escaped_first_characters_are_literal() {
    assert_eq!(file(&[hide("\\#a")], "#a"), Hidden);
    assert_eq!(file(&[hide("\\!a")], "!a"), Hidden);
    assert_eq!(file(&[hide("a\\ ")], "a "), Hidden);
}

#[test]
fn a_bad_pattern_names_its_index() {
    let error = PathRules::compile(&[hide("ok"), hide("b\\")]).unwrap_err();
    assert_eq!(error.index, 1);
    assert!(error.message.contains("`b\\`"), "{}", error.message);
    assert_eq!(PathRules::compile(&[hide("a\nb")]).unwrap_err().index, 0);
}

#[test]
fn odd_paths_never_panic_and_fail_closed() {
    let rules = compile(&with_secrets(&[hide("/"), hide("!"), hide("**"), hide("*.x")]));
    assert_eq!(rules.decide(Path::new("../x"), false).visibility, Hidden);
    assert_eq!(rules.decide(Path::new("/etc/a.x"), false).visibility, Hidden);
    let odd = OsStr::from_bytes(b"\xff\xfe/\x80.x");
    assert_eq!(compile(&[hide("*.x")]).decide(Path::new(odd), false).visibility, Hidden);
    assert_eq!(compile(&[hide("*")]).decide(Path::new(odd), false).visibility, Hidden);
    assert_eq!(file(&[hide("*.x")], "new\nline/a.x"), Hidden);
    assert_eq!(file(&[hide("*")], "new\nline"), Hidden);
}

fn name() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => prop::sample::select(vec!["a", "b", "c", ".env", "x.pem", "agents", "A", "a b"])
            .prop_map(|name| name.as_bytes().to_vec()),
        1 => prop::collection::vec(1_u8..=255, 1..6)
            .prop_filter("a name", |bytes| !bytes.contains(&b'/') && bytes != b"." && bytes != b".."),
    ]
}

fn path() -> impl Strategy<Value = PathBuf> {
    prop::collection::vec(name(), 1..6)
        .prop_map(|names| names.iter().map(|name| OsStr::from_bytes(name)).collect())
}

fn pattern() -> impl Strategy<Value = String> {
    let part =
        prop::sample::select(vec!["a", "b", "*", "?", "**", "[ab]", ".env", "*.pem", "agents", "A", "a*"]);
    (any::<bool>(), any::<bool>(), prop::collection::vec(part, 1..4), any::<bool>()).prop_map(
        |(negated, anchored, parts, directory)| {
            format!(
                "{}{}{}{}",
                if negated { "!" } else { "" },
                if anchored { "/" } else { "" },
                parts.join("/"),
                if directory { "/" } else { "" }
            )
        },
    )
}

fn any_rule() -> impl Strategy<Value = PathRule> {
    (pattern(), 0..8).prop_map(|(pattern, kind)| match kind {
        0..=3 => hide(&pattern),
        4..=6 => readonly(&pattern),
        _ => reveal(&pattern),
    })
}

fn rules() -> impl Strategy<Value = Vec<PathRule>> {
    prop::collection::vec(any_rule(), 0..8).prop_map(|rules| with_secrets(&rules))
}

proptest! {
    #[test]
    fn hidden_is_inherited(rules in rules(), parent in path(), child in path()) {
        let rules = compile(&rules);
        if rules.decide(&parent, true).is_hidden() {
            prop_assert!(rules.decide(&parent.join(child), false).is_hidden());
        }
    }

    #[test]
    fn a_path_decided_directly_equals_the_walk(rules in rules(), path in path(), is_dir: bool) {
        let rules = compile(&rules);
        let mut walked = Decision::ROOT;
        let ancestors: Vec<&Path> = path.ancestors().filter(|at| !at.as_os_str().is_empty()).collect();
        for at in ancestors.into_iter().rev() {
            walked = rules.decide_child(&walked, at, at != path || is_dir);
        }
        prop_assert_eq!(walked, rules.decide(&path, is_dir));
    }

    #[test]
    fn a_rule_for_another_name_changes_nothing(
        rules in rules(), path in path(), is_dir: bool, at in 0_usize..30, effect in 0..3,
    ) {
        let other = ["unrelated-name", "/unrelated-name/**", "!unrelated-name/"][at % 3];
        let other = [hide(other), readonly(other), reveal(other)][usize::try_from(effect).unwrap()].clone();
        let at = at.min(rules.len());
        let mut more = rules.clone();
        more.insert(at, other);
        let expected = compile(&rules).decide(&path, is_dir);
        let got = compile(&more).decide(&path, is_dir);
        prop_assert_eq!(got.visibility, expected.visibility);
        let moved = expected.rule.map(|rule| if rule >= at { rule + 1 } else { rule });
        prop_assert_eq!(got.rule, moved);
    }

    #[test]
    fn no_rule_but_reveal_shows_a_secret(rules in rules(), path in path()) {
        let without_reveal: Vec<PathRule> =
            rules.into_iter().filter(|rule| rule.effect != Effect::Reveal).collect();
        if compile(&builtin_secret_rules()).decide(&path, false).is_hidden() {
            prop_assert!(compile(&without_reveal).decide(&path, false).is_hidden());
        }
    }

    #[test]
    fn a_parsed_file_never_panics(text in "\\PC{0,80}") {
        let _ = PathRules::compile(&parse_rule_file(&text, Effect::Hidden, RuleSource::ProjectFile, "f"));
    }
}

#[test]
fn braces_are_literal_as_in_git() {
    assert_eq!(file(&[hide("{{name}}/")], "{{name}}/x"), Hidden);
    assert_eq!(file(&[hide("a{b,c}")], "ab"), Writable);
    assert_eq!(file(&[hide("a{b,c}")], "a{b,c}"), Hidden);
    assert_eq!(file(&[hide("[{}]x")], "{x"), Hidden);
    assert_eq!(file(&[hide("a\\{")], "a{"), Hidden);
    assert_eq!(file(&[hide("[{")], "[{"), Hidden);
}

#[test]
fn patterns_that_match_nothing_are_reported_and_others_are_not() {
    let rule = |pattern: &str| PathRule {
        pattern: pattern.into(),
        effect: Effect::Hidden,
        source: RuleSource::Persona,
        origin: "here".into(),
    };
    for pattern in ["./secrets", "!./secrets", "~/x", "../x", "a//b", "a/./b", "a/../b", "//"] {
        let reported = unmatchable_patterns(&[rule(pattern)]);
        assert_eq!(reported.len(), usize::from(pattern != "//"), "{pattern}");
        let compiled = PathRules::compile(&[rule(pattern)]).unwrap();
        for path in ["secrets", "x", "a/b", "b"] {
            assert!(!compiled.decide(Path::new(path), false).is_hidden(), "{pattern} hides {path}");
        }
    }
    for pattern in
        ["secrets", "/secrets", "secrets/", "a/**/b", "**/.env", "!keep", ".env.*", "a/.b/..c", "/"]
    {
        assert_eq!(unmatchable_patterns(&[rule(pattern)]), Vec::<Warning>::new(), "{pattern}");
    }
}

#[test]
fn patterns_that_would_cost_too_much_are_refused() {
    let long = rule(&"[".repeat(1_000_000), Effect::Hidden, RuleSource::ProjectFile);
    assert!(PathRules::compile(&[long]).unwrap_err().to_string().contains("longer than 4096"));
    let wild = rule(&"*a?".repeat(100), Effect::Hidden, RuleSource::ProjectFile);
    assert!(PathRules::compile(&[wild]).unwrap_err().to_string().contains("more than 128 wildcards"));
    let all = vec![rule(&"*a?".repeat(50), Effect::Hidden, RuleSource::ProjectFile); 51];
    let error = PathRules::compile(&all).unwrap_err();
    assert_eq!((error.index, error.to_string().contains("more than 5000 wildcards")), (50, true));
    // What is taken literally costs nothing.
    let plain = vec![rule(&r"\*\?\[".repeat(500), Effect::Hidden, RuleSource::ProjectFile); 20];
    assert!(PathRules::compile(&plain).is_ok());
    let many = vec![rule("x", Effect::Hidden, RuleSource::ProjectFile); 20_001];
    assert!(PathRules::compile(&many).unwrap_err().to_string().contains("more than 20000"));
}
