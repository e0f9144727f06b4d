//! Finds the chain of files that a persona is built from: itself, its base, the base of that, and so on.
//! Works on ids, intents and layers only; nothing is read or merged here.

use crate::model::known_packs::install_base_hint;
use crate::model::persona::Header;
use crate::model::source::LayerId;
use crate::model::words::nearest;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainError {
    /// The file that is at fault.
    pub at: usize,
    pub message: String,
    pub hint: Option<String>,
}

/// Positions in `files` from the start down to the lowest base.
pub fn chain(files: &[&Header], start: usize, layers: &[Option<LayerId>]) -> Result<Vec<usize>, ChainError> {
    let mut chain = vec![start];
    while let Some(next) = base_of(files, layers, &chain)? {
        chain.push(next);
    }
    Ok(chain)
}

fn base_of(
    files: &[&Header],
    layers: &[Option<LayerId>],
    chain: &[usize],
) -> Result<Option<usize>, ChainError> {
    let file = files[*chain.last().expect("a chain has a start")];
    match (&file.extends, &file.intent) {
        (Some(key), _) => explicit_base(files, file, key, layers, chain).map(Some),
        // A file with an intent and no `extends` has no base.
        (None, Some(_)) => Ok(None),
        (None, None) => {
            Ok(files.iter().position(|other| other.layer > file.layer && same_id(&other.id, &file.id)))
        }
    }
}

fn explicit_base(
    files: &[&Header],
    file: &Header,
    key: &str,
    layers: &[Option<LayerId>],
    chain: &[usize],
) -> Result<usize, ChainError> {
    for (layer, id) in layers.iter().enumerate().skip(file.layer + 1) {
        if let Some(base) = files.iter().position(|other| other.layer == layer && same_id(&other.id, key)) {
            return Ok(base);
        }
        let has_intent =
            |index: &usize| files[*index].layer == layer && files[*index].intent.as_deref() == Some(key);
        let with_intent: Vec<usize> = (0..files.len()).filter(has_intent).collect();
        match with_intent.as_slice() {
            [] => {}
            [base] => return Ok(*base),
            several => {
                let ids: Vec<&str> = several.iter().map(|index| files[*index].id.as_str()).collect();
                return Err(ChainError {
                    at: *chain.last().expect("a chain has a start"),
                    message: format!(
                        "extends `{key}` is ambiguous in {}: it is the intent of {}",
                        name(*id),
                        ids.join(", ")
                    ),
                    hint: Some("extend one of these ids".into()),
                });
            }
        }
    }
    Err(no_base(files, file, key, layers, chain))
}

fn no_base(
    files: &[&Header],
    file: &Header,
    key: &str,
    layers: &[Option<LayerId>],
    chain: &[usize],
) -> ChainError {
    let at = *chain.last().expect("a chain has a start");
    let mut path: Vec<String> = chain.iter().map(|index| files[*index].id.clone()).collect();
    path.push(key.to_owned());
    let user_layer_is_below = layers[file.layer + 1..].contains(&Some(LayerId::User));
    let install_hint = install_base_hint(key, user_layer_is_below);
    // Follow on through files that may not be extended, to tell a cycle from a base in the wrong place.
    let mut next = files.iter().find(|other| same_id(&other.id, key) && other.layer <= file.layer);
    // Its own id means the same id one layer below.
    if same_id(key, &file.id) {
        next = None;
    }
    let Some(found) = next else {
        let lower: Vec<String> = layers[file.layer + 1..].iter().flatten().map(ToString::to_string).collect();
        let lower = lower.join(", ");
        let lower = if lower.is_empty() { "none".to_owned() } else { lower };
        let below = files.iter().filter(|other| other.layer > file.layer).map(|other| other.id.as_str());
        return ChainError {
            at,
            message: format!("extends `{key}` does not match any persona in lower layers ({lower})"),
            hint: install_hint.or_else(|| nearest(key, below).map(|near| format!("did you mean `{near}`?"))),
        };
    };
    let place = layers[found.layer].map(LayerId::title).unwrap_or_default();
    let whose = if found.layer == file.layer { "its own" } else { "a higher" };
    for _ in 0..files.len() {
        let Some(key) = next.and_then(|file| file.extends.as_deref()) else { break };
        let repeated = path.iter().any(|id| same_id(id, key));
        path.push(key.to_owned());
        if repeated {
            return ChainError {
                at,
                message: format!("extends cycle: {}", path.join(" -> ")),
                hint: Some("remove `extends` from one of them".into()),
            };
        }
        next = files.iter().find(|other| same_id(&other.id, key));
    }
    ChainError {
        at,
        message: format!(
            "extends `{key}` names a persona of {whose} layer (`{place}`): {}",
            path.join(" -> ")
        ),
        hint: Some(install_hint.map_or_else(
            || "a base must be in a lower layer".to_owned(),
            |hint| format!("a base must be in a lower layer; {hint}"),
        )),
    }
}

fn name(layer: Option<LayerId>) -> String {
    layer.map(|id| id.to_string()).unwrap_or_default()
}

/// Ids that differ only in case are the same.
pub fn same_id(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(id: &str, intent: Option<&str>, extends: Option<&str>, layer: usize) -> Header {
        Header {
            id: id.into(),
            intent: intent.map(str::to_owned),
            extends: extends.map(str::to_owned),
            layer,
        }
    }

    fn ids(files: &[Header], start: usize) -> Result<Vec<(usize, &str)>, String> {
        let layers = [LayerId::Project, LayerId::User, LayerId::Library].map(Some);
        let headers: Vec<&Header> = files.iter().collect();
        chain(&headers, start, &layers)
            .map(|found| {
                found.into_iter().map(|index| (files[index].layer, files[index].id.as_str())).collect()
            })
            .map_err(|error| error.message)
    }

    #[test]
    fn same_id_below_is_inherited_from_and_an_intent_stands_alone() {
        let files = [file("a", None, None, 0), file("A", None, None, 1), file("a", Some("i"), None, 2)];
        assert_eq!(ids(&files, 0), Ok(vec![(0, "a"), (1, "A"), (2, "a")]));
        let files = [file("a", Some("x"), None, 0), file("a", Some("i"), None, 2)];
        assert_eq!(ids(&files, 0), Ok(vec![(0, "a")]));
    }

    #[test]
    fn extends_of_the_own_id_means_one_layer_below() {
        let files = [file("a", None, Some("a"), 0), file("a", Some("i"), None, 2)];
        assert_eq!(ids(&files, 0), Ok(vec![(0, "a"), (2, "a")]));
    }

    #[test]
    fn extends_matches_id_before_intent_layer_by_layer() {
        let files = [
            file("a", None, Some("review"), 0),
            file("b", Some("review"), None, 1),
            file("review", Some("x"), None, 1),
            file("c", Some("review"), None, 2),
        ];
        assert_eq!(ids(&files, 0), Ok(vec![(0, "a"), (1, "review")]));
        assert_eq!(
            ids(&[file("a", None, Some("i"), 0), file("b", Some("i"), None, 2)], 0),
            Ok(vec![(0, "a"), (2, "b")])
        );
    }

    #[test]
    fn an_ambiguous_intent_names_the_ids() {
        let files =
            [file("a", None, Some("i"), 0), file("b", Some("i"), None, 1), file("c", Some("i"), None, 1)];
        assert_eq!(ids(&files, 0), Err("extends `i` is ambiguous in user: it is the intent of b, c".into()));
    }

    #[test]
    fn a_cycle_an_unknown_base_and_a_base_that_is_not_below_name_the_chain() {
        let files = [file("a", None, Some("b"), 0), file("b", None, Some("a"), 0)];
        assert_eq!(ids(&files, 0), Err("extends cycle: a -> b -> a".into()));
        let files = [file("a", None, Some("b"), 1), file("b", Some("i"), None, 0)];
        assert_eq!(
            ids(&files, 0),
            Err("extends `b` names a persona of a higher layer (`project`): a -> b".into())
        );
        let files = [file("a", None, Some("zzz"), 1)];
        assert_eq!(
            ids(&files, 0),
            Err("extends `zzz` does not match any persona in lower layers (library)".into())
        );
        // A file that extends itself with nothing below.
        let files = [file("a", None, Some("a"), 0)];
        assert_eq!(
            ids(&files, 0),
            Err("extends `a` does not match any persona in lower layers (user, library)".into())
        );
    }
}
