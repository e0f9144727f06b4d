//! Lays a higher layer over a lower one, field by field as the format's table says, and remembers who said what.
//! Merging is associative, and an empty overlay changes nothing.

use crate::model::shape::{Field, Merge, Object, Shape, field};
use crate::model::source::Source;
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// For every field that is set: the files that set it, lowest layer first.
pub type Origins = BTreeMap<String, Vec<Arc<Source>>>;

/// An object with the origin of each of its fields.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Layered {
    pub object: Object,
    pub origins: Origins,
    /// For lists that several layers build together: the file behind each entry, in step with the list.
    entries: Origins,
}

impl Layered {
    /// One file's object: it set everything that it has.
    pub fn from_file(object: &Object, source: &Arc<Source>, fields: &'static [Field]) -> Layered {
        let mut file = Layered::default();
        let mut object = object.clone();
        claim(&mut object, fields, "", source, &mut file);
        file.object = object;
        file
    }

    /// This layer under a higher one.
    #[must_use]
    pub fn under(mut self, high: &Layered, fields: &'static [Field]) -> Layered {
        reach_into_tiers(&mut self, high, fields);
        let mut object = std::mem::take(&mut self.object);
        merge_objects(&mut object, &high.object, fields, "", &mut self, high);
        self.object = object;
        self
    }

    /// Takes out what only steers merging: nulls that removed something, and the lists of entries to remove.
    #[must_use]
    pub fn finished(mut self, fields: &'static [Field]) -> Layered {
        let mut gone = Some(Vec::new());
        finish(&mut self.object, fields, "", &mut gone);
        for path in gone.into_iter().flatten() {
            self.forget(&path);
        }
        for (path, behind) in &self.entries {
            if let Some(said) = self.origins.get_mut(path)
                && !behind.is_empty()
            {
                said.retain(|source| behind.contains(source));
            }
        }
        self.entries.clear();
        self
    }

    fn forget(&mut self, path: &str) {
        for map in [&mut self.origins, &mut self.entries] {
            for key in keys_at_or_below(map, path) {
                map.remove(&key);
            }
        }
    }

    /// The higher layer alone has said this, and everything below it.
    fn adopt(&mut self, path: &str, high: &Layered) {
        for (mine, theirs) in [(&mut self.origins, &high.origins), (&mut self.entries, &high.entries)] {
            for key in keys_at_or_below(theirs, path) {
                let sources = theirs[&key].clone();
                mine.insert(key, sources);
            }
        }
    }
}

/// One file's object without what only steers merging.
pub fn finished(mut object: Object, fields: &'static [Field]) -> Object {
    finish(&mut object, fields, "", &mut None);
    object
}

fn keys_at_or_below(map: &Origins, path: &str) -> Vec<String> {
    // Everything that starts with the path stands together; `a-b` may stand between `a` and `a.b`.
    let from_here = map.range::<str, _>((std::ops::Bound::Included(path), std::ops::Bound::Unbounded));
    let nearby = from_here.map(|(key, _)| key).take_while(|key| key.starts_with(path));
    nearby.filter(|key| key.len() == path.len() || key.as_bytes()[path.len()] == b'.').cloned().collect()
}

fn joined(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// The shape whose keys merge one by one, if this value has one.
fn inner(shape: Shape, value: &Value) -> Option<Inner> {
    match (shape, value) {
        (Shape::Object(fields), Value::Object(_)) => Some(Inner::Fields(fields)),
        (Shape::Map(..), Value::Object(_)) => Some(Inner::Keys),
        (Shape::Either(shapes), value) => shapes.iter().find_map(|shape| inner(*shape, value)),
        _ => None,
    }
}

enum Inner {
    Fields(&'static [Field]),
    Keys,
}

/// Names the file behind everything in its object; duplicates inside a joined list go, as they would in a merge.
fn claim(
    object: &mut Object,
    fields: &'static [Field],
    path: &str,
    source: &Arc<Source>,
    file: &mut Layered,
) {
    for (key, value) in object.iter_mut() {
        let here = joined(path, key);
        let known = field(fields, key);
        let shape = known.map_or(Shape::Anything, |field| field.shape);
        match (inner(shape, value), value) {
            (Some(Inner::Fields(fields)), Value::Object(nested)) => {
                claim(nested, fields, &here, source, file);
            }
            (Some(Inner::Keys), Value::Object(nested)) => {
                for key in nested.keys() {
                    file.origins.insert(joined(&here, key), vec![source.clone()]);
                }
            }
            (_, value) => {
                let merge = known.map_or(Merge::Replace, |field| field.merge);
                if let (true, Value::Array(list)) = (merge != Merge::Replace, value) {
                    if merge != Merge::Append {
                        *list = without_duplicates(list);
                    }
                    file.entries.insert(here.clone(), vec![source.clone(); list.len()]);
                }
                file.origins.insert(here, vec![source.clone()]);
            }
        }
    }
}

fn without_duplicates(list: &[Value]) -> Vec<Value> {
    let mut seen = HashSet::new();
    list.iter().filter(|entry| seen.insert(*entry)).cloned().collect()
}

/// A runtime field at the top level of the higher layer replaces what lower tiers say.
fn reach_into_tiers(low: &mut Layered, high: &Layered, fields: &'static [Field]) {
    let Some(Value::Object(mut tiers)) = low.object.get("tiers").cloned() else { return };
    for field in fields.iter().filter(|field| field.reaches_tiers) {
        let Some(said) = high.object.get(field.key) else { continue };
        for (tier, runtime) in &mut tiers {
            let Value::Object(runtime) = runtime else { continue };
            let here = format!("tiers.{tier}.{}", field.key);
            match (runtime.get_mut(field.key), said) {
                (Some(Value::Object(settings)), Value::Object(said)) => {
                    for key in said.keys() {
                        if settings.shift_remove(key).is_some() {
                            low.forget(&joined(&here, key));
                        }
                    }
                }
                (Some(_), _) => {
                    runtime.shift_remove(field.key);
                    low.forget(&here);
                }
                (None, _) => {}
            }
        }
    }
    low.object.insert("tiers".into(), Value::Object(tiers));
}

fn merge_objects(
    low: &mut Object,
    high: &Object,
    fields: &'static [Field],
    path: &str,
    merged: &mut Layered,
    high_layer: &Layered,
) {
    take_out_removed(low, high, fields, path, merged);
    for (key, value) in high {
        let known = field(fields, key);
        if let Some(cleared) = known.and_then(|field| field.clears)
            && !high.contains_key(cleared)
            && low.shift_remove(cleared).is_some()
        {
            merged.forget(&joined(path, cleared));
        }
        let here = joined(path, key);
        let shape = known.map_or(Shape::Anything, |field| field.shape);
        let nested = low.get(key).and_then(|below| inner(shape, below));
        match (nested, low.get_mut(key), value) {
            (Some(Inner::Fields(fields)), Some(Value::Object(below)), Value::Object(above)) => {
                merge_objects(below, above, fields, &here, merged, high_layer);
            }
            (Some(Inner::Keys), Some(Value::Object(below)), Value::Object(above)) => {
                for (key, value) in above {
                    below.insert(key.clone(), value.clone());
                    merged.adopt(&joined(&here, key), high_layer);
                }
            }
            _ => match known.map_or(Merge::Replace, |field| field.merge) {
                Merge::Replace => {
                    merged.forget(&here);
                    low.insert(key.clone(), value.clone());
                    merged.adopt(&here, high_layer);
                }
                how @ (Merge::Append | Merge::Union { .. }) => {
                    let below = low.entry(key.clone()).or_insert_with(|| Value::Array(Vec::new()));
                    if let (Value::Array(below), Value::Array(above)) = (below, value) {
                        join_lists(below, above, how, &here, merged, high_layer);
                    }
                }
            },
        }
    }
}

/// Lists of entries to remove apply to lower layers only, so they come before anything is added.
fn take_out_removed(low: &mut Object, high: &Object, fields: &[Field], path: &str, merged: &mut Layered) {
    for field in fields {
        let Merge::Union { removed_by } = field.merge else { continue };
        let (Some(Value::Array(list)), Some(Value::Array(removed))) =
            (low.get_mut(field.key), high.get(removed_by))
        else {
            continue;
        };
        let behind = merged.entries.entry(joined(path, field.key)).or_default();
        let removed: HashSet<&Value> = removed.iter().collect();
        let stays: Vec<bool> = list.iter().map(|entry| !removed.contains(entry)).collect();
        let mut stay = stays.iter();
        list.retain(|_| *stay.next().unwrap_or(&true));
        let mut stay = stays.iter();
        behind.retain(|_| *stay.next().unwrap_or(&true));
    }
}

fn join_lists(
    below: &mut Vec<Value>,
    above: &[Value],
    how: Merge,
    path: &str,
    merged: &mut Layered,
    high: &Layered,
) {
    let their_sources = high.entries.get(path).map_or(&[][..], Vec::as_slice);
    let my_sources = merged.entries.entry(path.to_owned()).or_default();
    let mut seen: HashSet<Value> =
        if how == Merge::Append { HashSet::new() } else { below.iter().cloned().collect() };
    for (entry, source) in above.iter().zip(their_sources) {
        if how == Merge::Append || seen.insert(entry.clone()) {
            below.push(entry.clone());
            my_sources.push(source.clone());
        }
    }
    let said = merged.origins.entry(path.to_owned()).or_default();
    for source in high.origins.get(path).into_iter().flatten() {
        if !said.contains(source) {
            said.push(source.clone());
        }
    }
}

/// `gone` is called with every path that was removed.
fn finish(object: &mut Object, fields: &'static [Field], path: &str, gone: &mut Option<Vec<String>>) {
    for field in fields {
        if let Merge::Union { removed_by } = field.merge
            && object.shift_remove(removed_by).is_some()
            && let Some(gone) = gone
        {
            gone.push(joined(path, removed_by));
        }
    }
    if object.values().any(Value::is_null) {
        object.retain(|key, value| {
            let removed = value.is_null() && field(fields, key).is_some();
            if let Some(gone) = gone.as_mut().filter(|_| removed) {
                gone.push(joined(path, key));
            }
            !removed
        });
    }
    for (key, value) in object.iter_mut() {
        let shape = field(fields, key).map_or(Shape::Anything, |field| field.shape);
        // Paths are only worth putting together for somebody who listens.
        let here = || gone.as_ref().map(|_| joined(path, key)).unwrap_or_default();
        match (inner(shape, value), value) {
            (Some(Inner::Fields(fields)), Value::Object(nested)) => {
                let here = here();
                finish(nested, fields, &here, gone);
            }
            (Some(Inner::Keys), Value::Object(nested)) if nested.values().any(Value::is_null) => {
                let here = here();
                if let Some(gone) = gone {
                    let removed = nested.iter().filter(|(_, value)| value.is_null());
                    gone.extend(removed.map(|(key, _)| joined(&here, key)));
                }
                nested.retain(|_, value| !value.is_null());
            }
            _ => {}
        }
    }
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
