//! Writes a file format's table as JSON Schema, for editors and for other programs.

use super::shape::{Field, FieldStatus, Shape, TextRule};
use super::text_rules;
use super::tier::Harness;
use serde_json::{Map, Value, json};

/// The schema of a whole file. Overlays say only what they change, so next to nothing is required.
pub fn schema(title: &str, description: &str, fields: &[Field], required: &[&str]) -> Value {
    let mut schema = object(fields);
    let root = schema.as_object_mut().expect("an object");
    root.insert("required".into(), json!(required));
    let mut whole = Map::new();
    whole.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
    whole.insert("title".into(), title.into());
    whole.insert("description".into(), description.into());
    whole.append(root);
    Value::Object(whole)
}

fn object(fields: &[Field]) -> Value {
    let mut properties = Map::new();
    for field in fields {
        let mut value = nullable(shape(field.shape));
        if let Value::Object(map) = &mut value {
            map.insert("description".into(), field.doc.into());
            if matches!(field.status, FieldStatus::Legacy(_)) {
                map.insert("deprecated".into(), true.into());
            }
        }
        properties.insert(field.key.to_owned(), value);
    }
    // Unknown keys are kept and reported, so the schema lets them pass; a linter says what they might have been.
    json!({"type": "object", "properties": properties})
}

fn shape(shape_of: Shape) -> Value {
    match shape_of {
        Shape::Text => json!({"type": "string"}),
        Shape::Checked(TextRule::Harness) => json!({"type": "string", "enum": known_harnesses()}),
        Shape::Checked(rule) => text(rule),
        Shape::Choice(words) => json!({"type": "string", "enum": words}),
        Shape::Flag => json!({"type": "boolean"}),
        Shape::Above(floor) => json!({"type": "number", "exclusiveMinimum": floor}),
        Shape::AtLeast(floor) => json!({"type": "number", "minimum": floor}),
        Shape::Whole(floor) => json!({"type": "integer", "minimum": floor}),
        Shape::List(entry) => json!({"type": "array", "items": shape(*entry)}),
        Shape::Map(rule, entry) => json!({
            "type": "object",
            "propertyNames": text(rule),
            "additionalProperties": nullable(shape(*entry)),
        }),
        Shape::Object(fields) => object(fields),
        Shape::Either(shapes) => json!({"anyOf": shapes.iter().map(|one| shape(*one)).collect::<Vec<_>>()}),
        Shape::Anything => json!({}),
    }
}

fn known_harnesses() -> Vec<&'static str> {
    // Blank counts as unset, so it is allowed wherever a harness may be named.
    Harness::names().into_iter().chain(text_rules::FOREIGN_HARNESSES).chain([""]).collect()
}

fn text(rule: TextRule) -> Value {
    match (rule, text_rules::pattern(rule)) {
        (TextRule::DisplayName, _) => json!({"type": "string", "maxLength": 64}),
        (TextRule::Emoji, _) => json!({"type": "string", "maxLength": 16}),
        (_, Some(pattern)) => json!({"type": "string", "pattern": pattern}),
        (_, None) => json!({"type": "string"}),
    }
}

/// Null means "unset", and removes an inherited key from a map.
fn nullable(schema: Value) -> Value {
    match schema {
        Value::Object(map) if map.is_empty() => Value::Object(map),
        Value::Object(mut map) => {
            if let Some(Value::String(kind)) = map.get("type").cloned() {
                map.insert("type".into(), json!([kind, "null"]));
                if let Some(Value::Array(words)) = map.get_mut("enum") {
                    words.push(Value::Null);
                }
                return Value::Object(map);
            }
            if let Some(Value::Array(shapes)) = map.get_mut("anyOf") {
                shapes.push(json!({"type": "null"}));
            }
            Value::Object(map)
        }
        other => other,
    }
}
