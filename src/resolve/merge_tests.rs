use super::*;
use crate::model::formats::PERSONA;
use crate::model::source::LayerId;
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json;

fn layer(id: LayerId, value: Value) -> Layered {
    let Value::Object(object) = value else { panic!("an object") };
    let source = Arc::new(Source { layer: id, file: None });
    Layered::from_file(&object, &source, PERSONA)
}

fn merged(layers: &[(LayerId, Value)]) -> Layered {
    let under = |low: Layered, (id, value): &(LayerId, Value)| low.under(&layer(*id, value.clone()), PERSONA);
    layers.iter().fold(Layered::default(), under).finished(PERSONA)
}

fn origin_labels(layered: &Layered) -> BTreeMap<String, Vec<LayerId>> {
    let labels = |sources: &Vec<Arc<Source>>| sources.iter().map(|source| source.layer).collect();
    layered.origins.iter().map(|(path, sources)| (path.clone(), labels(sources))).collect()
}

fn object(value: Value) -> Object {
    let Value::Object(object) = value else { panic!("an object") };
    object
}

#[test]
fn each_field_merges_as_its_table_says() {
    let result = merged(&[
        (
            LayerId::Library,
            json!({"id": "a", "tags": ["x"], "env": {"A": "1", "B": "2"}, "description": "low",
            "permissions": {"allow": ["r", "w"], "deny": ["d"], "mode": "plan"},
            "mount": {"ignoredPatterns": ["one"]}, "limits": {"turns": 3, "usd": 1}}),
        ),
        (
            LayerId::Project,
            json!({"id": "a", "tags": ["y"], "env": {"B": null, "C": "3"},
            "permissions": {"allow": ["r", "n"], "removeAllow": ["w"], "removeDeny": ["d"]},
            "mount": {"ignoredPatterns": ["one", "!two"]}, "limits": {"usd": 2}}),
        ),
    ]);
    assert_eq!(
        result.object,
        object(json!({"id": "a", "tags": ["y"], "env": {"A": "1", "C": "3"}, "description": "low",
            "permissions": {"allow": ["r", "n"], "deny": [], "mode": "plan"},
            "mount": {"ignoredPatterns": ["one", "one", "!two"]}, "limits": {"turns": 3, "usd": 2}}))
    );
    let origins = origin_labels(&result);
    assert_eq!(origins["permissions.allow"], [LayerId::Library, LayerId::Project]);
    assert_eq!(origins["limits.turns"], [LayerId::Library]);
    assert_eq!(origins["limits.usd"], [LayerId::Project]);
    assert_eq!(origins["env.C"], [LayerId::Project]);
    assert!(!origins.contains_key("env.B"));
    assert!(!origins.contains_key("permissions.removeAllow"));
}

#[test]
fn a_top_level_prompt_replaces_inherited_tier_prompts_but_a_tier_of_the_same_file_wins() {
    let result = merged(&[
        (
            LayerId::User,
            json!({"tiers": {"best": {"systemPrompt": "b", "model": "m"}, "minimum": {"systemPrompt": "c"}}}),
        ),
        (LayerId::Project, json!({"systemPrompt": "top", "tiers": {"minimum": {"systemPrompt": "own"}}})),
    ]);
    assert_eq!(
        result.object,
        object(
            json!({"systemPrompt": "top", "tiers": {"best": {"model": "m"}, "minimum": {"systemPrompt": "own"}}})
        )
    );
}

#[test]
fn a_path_clears_inherited_content_and_the_reverse() {
    let result = merged(&[
        (LayerId::User, json!({"claudeMdContent": "text", "agentsMd": "a.md"})),
        (LayerId::Project, json!({"claudeMd": "c.md", "agentsMdContent": "inline"})),
    ]);
    assert_eq!(result.object, object(json!({"claudeMd": "c.md", "agentsMdContent": "inline"})));
    assert_eq!(origin_labels(&result).len(), 2);
}

/// Small documents that touch every merge rule.
fn document() -> impl Strategy<Value = Object> {
    let word = prop::sample::select(vec!["p", "q", "r"]);
    let words = prop::collection::vec(word.clone(), 0..4);
    let map = prop::collection::btree_map(word.clone(), prop::option::of(word.clone()), 0..3);
    let runtime = || {
        let settings = (prop::option::of(word.clone()), prop::option::of(1..3))
            .prop_map(|(reasoning, timeout)| json!({"reasoning": reasoning, "timeoutSeconds": timeout}));
        (
            prop::option::of(word.clone()),
            prop::option::of(word.clone()),
            prop::option::of(settings),
            prop::option::of(word.clone()),
            prop::option::of(word.clone()),
            prop::option::of(word.clone()),
        )
            .prop_map(|(model, prompt, settings, path, content, mode)| {
                json!({"model": model, "systemPrompt": prompt, "harnessSettings": settings,
                    "claudeMd": path, "claudeMdContent": content, "claudeMdMode": mode})
            })
    };
    let tiers = prop::option::of((prop::option::of(runtime()), prop::option::of(runtime())));
    (
        runtime(),
        tiers,
        prop::option::of(map),
        prop::collection::vec(prop::option::of(words), 6),
        prop::option::of(word),
    )
        .prop_map(|(top, tiers, env, lists, unknown)| {
            let mut object = object(top);
            object.insert("env".into(), json!(env));
            object.insert("unknownKey".into(), json!(unknown));
            object.insert("tags".into(), json!(lists[0]));
            object.insert("mount".into(), json!({"ignoredPatterns": lists[1]}));
            object.insert(
                "permissions".into(),
                json!({"allow": lists[2], "removeAllow": lists[3],
                "deny": lists[4], "removeDeny": lists[5]}),
            );
            if let Some((best, minimum)) = tiers {
                object.insert("tiers".into(), json!({"best": best, "minimum": minimum}));
            }
            without_nulls(object)
        })
}

/// A document as the loader hands it over: nulls inside maps, and where they remove something.
fn without_nulls(object: Object) -> Object {
    let keep = |(key, value): (String, Value)| match value {
        Value::Null
            if !["model", "systemPrompt", "reasoning", "timeoutSeconds", "claudeMd"].contains(&&*key) =>
        {
            None
        }
        Value::Object(inner) if key != "env" => Some((key, Value::Object(without_nulls(inner)))),
        value => Some((key, value)),
    };
    object.into_iter().filter_map(keep).collect()
}

#[test]
fn a_null_removes_what_lower_layers_say_and_their_origin() {
    let base = json!({"id": "a", "model": "m", "claudeMdContent": "c", "limits": {"usd": 1, "turns": 2},
        "tiers": {"best": {"model": "n"}}});
    let above = json!({"id": "a", "model": null, "claudeMd": null, "limits": {"usd": null}});
    let result = merged(&[(LayerId::Library, base), (LayerId::User, above)]);
    assert_eq!(
        Value::Object(result.object),
        json!({"id": "a", "limits": {"turns": 2}, "tiers": {"best": {}}})
    );
    assert_eq!(result.origins.keys().collect::<Vec<_>>(), ["id", "limits.turns"]);
}

fn labelled(id: LayerId, object: &Object) -> Layered {
    layer(id, Value::Object(object.clone()))
}

proptest! {
    #[test]
    fn merging_an_empty_overlay_changes_nothing(doc in document()) {
        let file = labelled(LayerId::User, &doc);
        let empty = labelled(LayerId::Project, &Object::new());
        prop_assert_eq!(file.clone().under(&empty, PERSONA), file.clone());
        prop_assert_eq!(empty.under(&file, PERSONA), file);
    }

    #[test]
    fn merging_three_layers_is_associative(low in document(), middle in document(), high in document()) {
        let (low, middle, high) = (labelled(LayerId::Library, &low), labelled(LayerId::User, &middle), labelled(LayerId::Project, &high));
        let from_below = low.clone().under(&middle, PERSONA).under(&high, PERSONA);
        let from_above = low.under(&middle.under(&high, PERSONA), PERSONA);
        prop_assert_eq!(from_below, from_above);
    }

    #[test]
    fn origins_name_exactly_the_layers_that_contributed(low in document(), high in document()) {
        let (low_only, both) = (
            labelled(LayerId::User, &low).finished(PERSONA),
            labelled(LayerId::User, &low).under(&labelled(LayerId::Project, &high), PERSONA).finished(PERSONA),
        );
        // A field with one origin has that layer's value; a list that both built has entries of both.
        let high_only = labelled(LayerId::Project, &high).finished(PERSONA);
        for (path, sources) in &both.origins {
            let value = at(&both.object, path);
            let layers: Vec<LayerId> = sources.iter().map(|source| source.layer).collect();
            prop_assert!(value.is_some(), "{} has origins but no value", path);
            match layers.as_slice() {
                // The higher layer may have taken entries out; that leaves the rest the lower one's.
                [LayerId::User] if path.starts_with("permissions.") => {
                    let below = at(&low_only.object, path).and_then(Value::as_array);
                    for entry in value.and_then(Value::as_array).into_iter().flatten() {
                        prop_assert!(below.is_some_and(|below| below.contains(entry)));
                    }
                }
                [LayerId::User] => prop_assert_eq!(value, at(&low_only.object, path)),
                [LayerId::Project] => prop_assert_eq!(value, at(&high_only.object, path)),
                [LayerId::User, LayerId::Project] => prop_assert!(value.is_some_and(Value::is_array)),
                other => prop_assert!(false, "{} has origins {:?}", path, other),
            }
        }
        for path in leaves(&both.object, "") {
            prop_assert!(both.origins.contains_key(&path), "{} has no origin", path);
        }
    }
}

fn at<'o>(object: &'o Object, path: &str) -> Option<&'o Value> {
    let mut parts = path.split('.');
    let first = object.get(parts.next()?)?;
    parts.try_fold(first, |value, part| value.get(part))
}

fn leaves(object: &Object, path: &str) -> Vec<String> {
    let leaf = |(key, value): (&String, &Value)| match value {
        Value::Object(inner) => leaves(inner, &joined(path, key)),
        _ => vec![joined(path, key)],
    };
    object.iter().flat_map(leaf).collect()
}
