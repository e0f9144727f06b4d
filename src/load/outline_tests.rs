//! The law of the quick pass: where it accepts a file, the careful way has nothing to say and comes to the same.

use super::outline;
use crate::fuzz::persona::{careful, holds};
use crate::load::library;
use crate::model::formats::PERSONA;
use crate::model::shape::{Field, Shape, TextRule};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use proptest::sample::select;
use std::path::PathBuf;

#[test]
fn every_built_in_has_an_outline_that_says_what_its_file_says() {
    for persona in library::personas() {
        assert!(holds(persona.json), "{}", persona.key);
        assert_eq!(outline(persona.json), outline(persona.outline), "{}", persona.key);
    }
}

#[test]
fn most_files_of_the_corpus_have_one() {
    let corpus = std::env::var_os("AGENTWORKFORCE_CORPUS").map(PathBuf::from);
    let corpus =
        corpus.expect("set AGENTWORKFORCE_CORPUS to the corpus, or leave this test out: `--skip corpus`");
    let (mut quick, mut all) = (0, 0);
    let mut pending = vec![corpus];
    while let Some(dir) = pending.pop() {
        for entry in std::fs::read_dir(dir).expect("readable") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|extension| extension == "json") {
                let Ok(text) = std::fs::read_to_string(&path) else { continue };
                let whole = careful(&text).is_ok();
                all += usize::from(whole);
                quick += usize::from(holds(&text));
            }
        }
    }
    assert!(quick * 10 >= all * 9, "{quick} of {all}");
}

#[test]
fn an_ordinary_file_has_one_and_anything_odd_about_it_takes_it_away() {
    let with =
        |more: &str| format!(r#"{{"id": "a", "intent": "i", "harness": "claude", {more} "tags": ["t"]}}"#);
    let fine = [
        r#""description": "é\n\u00e9","#,
        r#""$schema": "s", "$comment": [{"a": null}], "x-team": {"a": 1, "b": {"a": 2}},"#,
        r#""tiers": {"best": {"model": "m", "systemPrompt": "p", "harnessSettings": {"timeoutSeconds": 3}}},"#,
        r#""mcpServers": {"a": {"type": "http", "url": "u"}, "b": {"command": "c", "args": ["x"]}},"#,
        r#""skills": [{"source": "s"}], "inputs": {"A": "x", "B": {"optional": true}}, "limits": {"turns": 1},"#,
        r#""claudeMd": "a.md", "claudeMdMode": "extend", "name": " n ", "emoji": "","#,
        r#""permissions": {"allow": ["Read"]}, "env": {"A": "b"}, "cloud": null, "memory": {"a": [1, -2, 0.5]},"#,
    ];
    for more in fine {
        assert!(holds(&with(more)), "{more}");
    }
    let odd = [
        r#""id": "b","#,
        r#""x-a": 1, "x-a": 2,"#,
        r#""\u0069d": "b","#,
        r#""cloud": {"a": 1, "a": 2},"#,
        r#""env": {"A": "x", "A": "y"},"#,
        r#""env": {"A": null},"#,
        r#""tiers": {"best": {"model": "m", "model": "n"}},"#,
        r#""tiers": {"bset": {}},"#,
        r#""tiers": {"best": {"claudeMdMode": "extend"}},"#,
        r#""agentsMdMode": "extend","#,
        r#""extends": "x","#,
        r#""model": null,"#,
        r#""model": " ","#,
        r#""unknown": 1,"#,
        r#""skills": ["word"],"#,
        r#""skills": [{"id": "no-source"}],"#,
        r#""expertise": "a, b","#,
        r#""mcpServers": {"a": {"type": "stdio", "url": "u"}},"#,
        r#""mcpServers": {"a": {}},"#,
        r#""hermeticHarness": true,"#,
        r#""description": "\ud800","#,
        r#""limits": {"turns": 0},"#,
        r#""limits": {"usd": -1},"#,
        r#""limits": {"wallSeconds": 1e999},"#,
        r#""defaultTier": "top","#,
    ];
    for more in odd {
        assert!(!holds(&with(more)), "{more}");
    }
    for text in [
        "",
        "[]",
        "{}",
        r#"{"intent": "i"}"#,
        r#"{"id": "a", "intent": "i"} x"#,
        r#"{"id": "a b", "intent": "i"}"#,
    ] {
        assert!(!holds(text), "{text}");
    }
    let grok = r#"{"id": "a", "intent": "i", "harness": "grok"}"#;
    assert!(!holds(grok));
}

/// JSON text for a value of this shape, now and then for something else.
fn value(shape: Shape) -> BoxedStrategy<String> {
    let junk =
        select(vec!["null", "3", "-1", "0.5", "true", "\"\"", "\" \"", "\"word\"", "[]", "{}", "[null]"])
            .prop_map(str::to_owned);
    prop_oneof![12 => fitting(shape), 1 => junk].boxed()
}

fn fitting(shape: Shape) -> BoxedStrategy<String> {
    let text = |words: &[&'static str]| {
        select(words.to_vec()).prop_map(|word| serde_json::to_string(word).expect("text")).boxed()
    };
    match shape {
        Shape::Text => text(&["a", "two words", "é\n"]),
        Shape::Checked(TextRule::Harness) => text(&["claude", "codex", "opencode", "grok"]),
        Shape::Checked(TextRule::SidecarPath) => text(&["a.md", "../a.md"]),
        Shape::Checked(TextRule::Slug) => text(&["a", "a-b", "a b"]),
        Shape::Checked(_) => text(&["a", "A"]),
        Shape::Choice(words) => text(words),
        Shape::Flag => Just("true".to_owned()).boxed(),
        Shape::Above(_) | Shape::AtLeast(_) | Shape::Whole(_) => {
            select(vec!["0", "1", "2.5"]).prop_map(str::to_owned).boxed()
        }
        Shape::List(entry) => prop::collection::vec(value(*entry), 0..3)
            .prop_map(|entries| format!("[{}]", entries.join(",")))
            .boxed(),
        Shape::Map(_, entry) => pairs(select(vec!["A", "B", "a"]).boxed(), value(*entry)),
        Shape::Object(fields) => object(fields),
        Shape::Either(shapes) => select(shapes.to_vec()).prop_flat_map(value).boxed(),
        Shape::Anything => text(&["x"]),
    }
}

fn pairs(key: BoxedStrategy<&'static str>, value: BoxedStrategy<String>) -> BoxedStrategy<String> {
    prop::collection::vec((key, value), 0..3)
        .prop_map(|pairs| {
            let pairs: Vec<String> = pairs.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
            format!("{{{}}}", pairs.join(","))
        })
        .boxed()
}

/// Some of the fields, now and then one twice or one that nobody knows.
fn object(fields: &'static [Field]) -> BoxedStrategy<String> {
    let entry = (0..fields.len(), prop::bool::weighted(0.02)).prop_flat_map(move |(index, is_unknown)| {
        let key = if is_unknown { "unknown" } else { fields[index].key };
        value(fields[index].shape).prop_map(move |value| format!("\"{key}\":{value}"))
    });
    prop::collection::vec(entry, 0..5).prop_map(|entries| format!("{{{}}}", entries.join(","))).boxed()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn whatever_has_an_outline_has_nothing_wrong_with_it(rest in object(PERSONA)) {
        let rest = rest.trim_start_matches('{').to_owned();
        let comma = if rest == "}" { "" } else { "," };
        holds(&format!("{{\"id\":\"a\",\"intent\":\"i\"{comma}{rest}"));
        holds(&format!("{{{rest}"));
    }
}
