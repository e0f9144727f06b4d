//! Writes a file format's table as a Markdown reference, for people. What the JSON Schema says to editors, in tables.

use super::shape::{Field, FieldStatus, Merge, Shape, TextRule};
use super::tier::Harness;
use std::fmt::Write as _;

/// A table for the top level, one for each object below it, and a line for what is accepted without effect.
pub fn markdown(fields: &[Field]) -> String {
    let mut out = String::new();
    section(&mut out, "", fields);
    out
}

fn section(out: &mut String, place: &str, fields: &[Field]) {
    if !place.is_empty() {
        let _ = writeln!(out, "\n#### `{place}`\n");
    }
    out.push_str("| key | value | a higher layer | meaning |\n|---|---|---|---|\n");
    for field in shown(fields) {
        let meaning = match field.status {
            FieldStatus::Unsupported => format!("{} Reported as unsupported.", field.doc),
            FieldStatus::Refused => {
                format!("{} A run is refused unless `--ignore-unsupported` is given.", field.doc)
            }
            _ => field.doc.to_owned(),
        };
        let _ = writeln!(
            out,
            "| `{}` | {} | {} | {} |",
            field.key,
            cell(&value(field.shape)),
            merge(field),
            cell(&meaning)
        );
    }
    accepted(out, fields);
    // Alternatives that share their fields, as the tiers do, are shown once.
    let mut written: Vec<(&[Field], Vec<&str>)> = Vec::new();
    for field in shown(fields) {
        if let Some((_, inner)) = below(field.shape) {
            match written.iter_mut().find(|(known, _)| std::ptr::eq(*known, inner)) {
                Some((_, keys)) => keys.push(field.key),
                None => written.push((inner, vec![field.key])),
            }
        }
    }
    for (inner, keys) in written {
        let mark = shown(fields).find(|field| field.key == keys[0]).and_then(|field| below(field.shape));
        let keys = if keys.len() > 1 { format!("<{}>", keys.join("|")) } else { keys[0].to_owned() };
        let dot = if place.is_empty() { "" } else { "." };
        section(out, &format!("{place}{dot}{keys}{}", mark.map_or("", |(mark, _)| mark)), inner);
    }
}

fn shown(fields: &[Field]) -> impl Iterator<Item = &Field> {
    let is_shown = |field: &&Field| {
        matches!(field.status, FieldStatus::Used | FieldStatus::Unsupported | FieldStatus::Refused)
    };
    fields.iter().filter(is_shown)
}

fn accepted(out: &mut String, fields: &[Field]) {
    let names = |wanted: fn(&FieldStatus) -> bool| -> Vec<String> {
        fields.iter().filter(|field| wanted(&field.status)).map(|field| format!("`{}`", field.key)).collect()
    };
    for field in fields.iter().filter(|field| matches!(field.status, FieldStatus::Legacy(_))) {
        let _ = writeln!(out, "\n`{}`: {}", field.key, field.doc);
    }
    let unused = names(|status| *status == FieldStatus::NotUsed);
    if !unused.is_empty() {
        let _ = writeln!(out, "\nAccepted, kept and without effect here: {}.", unused.join(", "));
    }
}

/// The fields of an object inside this shape, and how its place is written.
fn below(shape: Shape) -> Option<(&'static str, &'static [Field])> {
    match shape {
        Shape::Object(fields) => Some(("", fields)),
        Shape::List(entry) => below(*entry).map(|(_, fields)| ("[]", fields)),
        Shape::Map(_, entry) => below(*entry).map(|(_, fields)| (".<name>", fields)),
        Shape::Either(shapes) => shapes.iter().find_map(|one| below(*one)),
        _ => None,
    }
}

fn value(shape: Shape) -> String {
    match shape {
        Shape::Text => "text".into(),
        Shape::Checked(rule) => checked(rule),
        Shape::Choice(words) => choice(words),
        Shape::Flag => "`true` or `false`".into(),
        Shape::Above(floor) => format!("number above {floor}"),
        Shape::AtLeast(floor) => format!("number of at least {floor}"),
        Shape::Whole(floor) => format!("whole number of at least {floor}"),
        Shape::List(Shape::Text | Shape::Checked(_)) => "list of texts".into(),
        Shape::List(entry) => format!("list: {}", value(*entry)),
        Shape::Map(_, entry) => format!("map of names: {}", value(*entry)),
        Shape::Object(_) => "object, see below".into(),
        Shape::Either(shapes) => shapes.iter().map(|one| value(*one)).collect::<Vec<_>>().join(" or "),
        Shape::Anything => "anything".into(),
    }
}

fn checked(rule: TextRule) -> String {
    let text = match rule {
        TextRule::Harness => return choice(&Harness::names()),
        TextRule::NotBlank => "text, not blank",
        TextRule::Supplied => "text",
        TextRule::Line => "text in one line",
        TextRule::Term => "text in one line, not blank",
        TextRule::Slug => "slug: letters, digits, `.`, `_`, `-`",
        TextRule::RoleKey => "key of a role",
        TextRule::InputName => "capitals, digits, `_`",
        TextRule::VariableName => "name of a variable",
        TextRule::SidecarPath => "path of a `.md` file",
        TextRule::DisplayName => "text, at most 64 characters",
        TextRule::Emoji => "an emoji",
        TextRule::Value => "text that does not begin with `-`",
        TextRule::ToolEntry => "one tool or pattern",
    };
    text.to_owned()
}

fn choice(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

fn merge(field: &Field) -> String {
    let mut text = match (field.key, field.merge, field.shape) {
        // These two are about the file itself.
        ("id" | "extends", ..) => "not inherited".into(),
        (_, Merge::Append, _) => "appends".into(),
        (_, Merge::Union { removed_by: "" }, _) => "adds".into(),
        (_, Merge::Union { removed_by }, _) => format!("adds; `{removed_by}` removes"),
        (_, Merge::Replace, Shape::Object(_)) => "each field".into(),
        (_, Merge::Replace, Shape::Map(..)) => "each name; `null` removes one".into(),
        (_, Merge::Replace, _) => "replaces".to_owned(),
    };
    if let Some(sibling) = field.clears {
        let _ = write!(text, ", clears `{sibling}`");
    }
    if field.reaches_tiers {
        text.push_str(", in every inherited tier too");
    }
    text
}

/// A bar ends a cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
