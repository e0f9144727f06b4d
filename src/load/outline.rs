//! One fast pass over a persona file for `list`: checks everything, keeps only what a list shows, and gives up at the
//! first problem. It reports nothing; the full reader does that.

use crate::model::formats::{BYPASS, PERSONA};
use crate::model::persona::{Persona, Runtime};
use crate::model::shape::{Field, FieldStatus, Shape, TextRule, is_free_key};
use crate::model::text_rules;
use crate::model::tier::Tier;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// Placeholder for a text that a list does not show.
pub(crate) const SOME_TEXT: &str = "…";

/// More free names in one object than people write; comparing them all would take too long.
const MOST_NAMES: usize = 64;

const _: () = assert!(PERSONA.len() <= 64, "the keys of an object are remembered as bits");

/// The persona of a valid file without `extends`, reduced to what a list shows. `None` only means that the file needs
/// the full reader.
pub fn outline(text: &str) -> Option<Persona> {
    let mut persona = Persona::default();
    let whole = Walk { shape: Shape::Object(PERSONA), slot: Slot::Persona(&mut persona) };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    whole.deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    if let Some(name) = &mut persona.name {
        *name = name.trim().to_owned();
    }
    (!persona.id.is_empty()).then_some(persona)
}

fn doubt<E: de::Error, T>() -> Result<T, E> {
    Err(E::custom("needs the full reader"))
}

/// A value under its shape, and where it goes.
struct Walk<'p> {
    shape: Shape,
    slot: Slot<'p>,
}

/// Where a value is stored, or what is checked about it.
enum Slot<'p> {
    Nowhere,
    Persona(&'p mut Persona),
    Tiers(&'p mut BTreeMap<Tier, Box<Runtime>>),
    Runtime(&'p mut Runtime),
    Id(&'p mut String),
    Text(&'p mut Option<String>),
    /// A long text; only its presence is kept.
    LongText(&'p mut Option<String>),
    DefaultTier(&'p mut Option<Tier>),
    Texts(&'p mut Vec<String>),
    OneOf(&'p mut Vec<String>),
    Skill,
    Servers,
    Server {
        kind: Option<String>,
    },
}

impl Slot<'_> {
    /// The slot of the value under this key; `None` where the full reader is needed.
    fn under(&mut self, key: &str) -> Option<Slot<'_>> {
        Some(match self {
            Slot::Persona(persona) => match key {
                "id" => Slot::Id(&mut persona.id),
                "intent" => Slot::Text(&mut persona.intent),
                "description" => Slot::Text(&mut persona.description),
                "name" => Slot::Text(&mut persona.name),
                "emoji" => Slot::Text(&mut persona.emoji),
                "role" => Slot::Text(&mut persona.role),
                "tags" => Slot::Texts(&mut persona.tags),
                "expertise" => Slot::Texts(&mut persona.expertise),
                "defaultTier" => Slot::DefaultTier(&mut persona.default_tier),
                "tiers" => Slot::Tiers(&mut persona.tiers),
                "skills" => Slot::Skill,
                "mcpServers" => Slot::Servers,
                // The base is in another file.
                "extends" => return None,
                key => of_runtime(&mut persona.runtime, key),
            },
            Slot::Tiers(tiers) => Slot::Runtime(tiers.entry(key.parse().ok()?).or_default()),
            Slot::Runtime(runtime) => of_runtime(runtime, key),
            Slot::Servers => Slot::Server { kind: None },
            Slot::Server { kind } if key == "type" => Slot::Text(kind),
            _ => Slot::Nowhere,
        })
    }

    /// Whether an object with these keys is complete: what `resolve` checks on merged ones.
    fn is_whole(&self, has: impl Fn(&str) -> bool) -> bool {
        match self {
            Slot::Persona(_) | Slot::Runtime(_) => {
                let channel = |path, content, mode| !has(mode) || has(path) || has(content);
                channel("claudeMd", "claudeMdContent", "claudeMdMode")
                    && channel("agentsMd", "agentsMdContent", "agentsMdMode")
            }
            Slot::Skill => has("source"),
            Slot::Server { kind } => match kind.as_deref() {
                Some("stdio") => has("command"),
                Some(_) => has("url"),
                None => has("command") || has("url"),
            },
            _ => true,
        }
    }
}

fn of_runtime<'r>(runtime: &'r mut Runtime, key: &str) -> Slot<'r> {
    match key {
        "harness" => Slot::Text(&mut runtime.harness),
        "model" => Slot::Text(&mut runtime.model),
        "systemPrompt" => Slot::LongText(&mut runtime.system_prompt),
        "claudeMd" => Slot::Text(&mut runtime.claude_md),
        "claudeMdContent" => Slot::LongText(&mut runtime.claude_md_content),
        "agentsMd" => Slot::Text(&mut runtime.agents_md),
        "agentsMdContent" => Slot::LongText(&mut runtime.agents_md_content),
        _ => Slot::Nowhere,
    }
}

/// Whether this text is valid as it is.
fn is_plain(shape: Shape, text: &str) -> bool {
    match shape {
        Shape::Anything => true,
        // A blank setting counts as unset.
        Shape::Text => !text.trim_start().is_empty(),
        Shape::Checked(rule) => {
            let foreign = rule == TextRule::Harness && text_rules::FOREIGN_HARNESSES.contains(&text);
            let unset = matches!(rule, TextRule::Value | TextRule::Line) && text.trim_start().is_empty();
            let literal = rule == TextRule::Supplied && text_rules::bare_variable(text).is_some();
            !foreign && !unset && !literal && text_rules::check(rule, text).is_ok()
        }
        Shape::Choice(words) => words.contains(&text),
        Shape::Either(shapes) => {
            let for_texts =
                |shape: &&Shape| matches!(shape, Shape::Text | Shape::Checked(_) | Shape::Choice(_));
            shapes.iter().find(for_texts).is_some_and(|shape| is_plain(*shape, text))
        }
        _ => false,
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<(), E> {
        if matches!(self.shape, Shape::Flag | Shape::Anything) { Ok(()) } else { doubt() }
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<(), E> {
        match self.shape {
            Shape::Whole(floor) if number >= floor => Ok(()),
            Shape::Whole(_) => doubt(),
            #[allow(clippy::cast_precision_loss)] // as serde_json does for the full reader
            _ => self.visit_f64(number as f64),
        }
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<(), E> {
        // Only negative numbers come this way, and no field takes one.
        if matches!(self.shape, Shape::Anything) { Ok(()) } else { doubt() }
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<(), E> {
        match self.shape {
            Shape::Anything => Ok(()),
            Shape::Above(floor) if number.is_finite() && number > floor => Ok(()),
            Shape::AtLeast(floor) if number.is_finite() && number >= floor => Ok(()),
            _ => doubt(),
        }
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        // Null means "unset" or removes something: the full reader knows which.
        if matches!(self.shape, Shape::Anything) { Ok(()) } else { doubt() }
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<(), E> {
        if !is_plain(self.shape, text) {
            return doubt();
        }
        match self.slot {
            Slot::Id(id) => text.clone_into(id),
            Slot::Text(slot) => *slot = Some(text.to_owned()),
            Slot::LongText(slot) => *slot = Some(SOME_TEXT.to_owned()),
            Slot::DefaultTier(slot) => *slot = text.parse().ok(),
            Slot::OneOf(list) => list.push(text.to_owned()),
            // A text for a list, and words among the skills, are short forms of something else.
            Slot::Texts(_) | Slot::Skill => return doubt(),
            _ => {}
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        let shape = match self.shape {
            Shape::Anything => Shape::Anything,
            Shape::List(entry) => *entry,
            Shape::Either(shapes) => match shapes.iter().find_map(|shape| match shape {
                Shape::List(entry) => Some(*entry),
                _ => None,
            }) {
                Some(entry) => *entry,
                None => return doubt(),
            },
            _ => return doubt(),
        };
        loop {
            let slot = match &mut self.slot {
                Slot::Texts(list) => Slot::OneOf(list),
                Slot::Skill => Slot::Skill,
                _ => Slot::Nowhere,
            };
            if list.next_element_seed(Walk { shape, slot })?.is_none() {
                return Ok(());
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        match self.shape {
            Shape::Anything => names(map, self.slot, None),
            Shape::Map(rule, entry) => names(map, self.slot, Some((rule, *entry))),
            Shape::Object(fields) => keys(map, self.slot, fields),
            Shape::Either(shapes) => match shapes.iter().find_map(|shape| match shape {
                Shape::Object(fields) => Some(*fields),
                _ => None,
            }) {
                Some(fields) => keys(map, self.slot, fields),
                None => doubt(),
            },
            _ => doubt(),
        }
    }
}

/// An object of known keys, each at most once.
fn keys<'de, A: MapAccess<'de>>(mut map: A, mut slot: Slot, fields: &[Field]) -> Result<(), A::Error> {
    let mut seen = 0_u64;
    let mut free = Names::default();
    while let Some(key) = map.next_key_seed(Name)? {
        let Some(index) = fields.iter().position(|field| field.key == key) else {
            if !is_free_key(&key) || !free.add(key) {
                return doubt();
            }
            map.next_value_seed(Walk { shape: Shape::Anything, slot: Slot::Nowhere })?;
            continue;
        };
        let (field, bit) = (&fields[index], 1_u64 << index);
        if seen & bit != 0
            || matches!(field.status, FieldStatus::Legacy(_) | FieldStatus::Refused)
            // What it means depends on its neighbours.
            || field.key == BYPASS
        {
            return doubt();
        }
        seen |= bit;
        let Some(slot) = slot.under(field.key) else { return doubt() };
        map.next_value_seed(Walk { shape: field.shape, slot })?;
    }
    let has =
        |key: &str| fields.iter().position(|field| field.key == key).is_some_and(|at| seen >> at & 1 == 1);
    if slot.is_whole(has) { Ok(()) } else { doubt() }
}

/// An object of free names, each at most once.
fn names<'de, A: MapAccess<'de>>(
    mut map: A,
    mut slot: Slot,
    rule: Option<(TextRule, Shape)>,
) -> Result<(), A::Error> {
    let mut names = Names::default();
    while let Some(name) = map.next_key_seed(Name)? {
        if rule.is_some_and(|(rule, _)| text_rules::check(rule, &name).is_err()) {
            return doubt();
        }
        let Some(slot) = slot.under(&name) else { return doubt() };
        if !names.add(name) {
            return doubt();
        }
        map.next_value_seed(Walk { shape: rule.map_or(Shape::Anything, |(_, entry)| entry), slot })?;
    }
    Ok(())
}

/// The names in an object so far.
#[derive(Default)]
struct Names<'de>(Vec<Cow<'de, str>>);

impl<'de> Names<'de> {
    /// Whether this one is new; false where there are too many to compare.
    fn add(&mut self, name: Cow<'de, str>) -> bool {
        let is_new = self.0.len() < MOST_NAMES && !self.0.contains(&name);
        self.0.push(name);
        is_new
    }
}

/// A key, borrowed from the text where it has no escapes in it.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Cow<'de, str>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E>(self, name: &str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Owned(name.to_owned()))
    }
}

#[cfg(test)]
#[path = "outline_tests.rs"]
mod tests;
