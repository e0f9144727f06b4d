//! What several commands say in the same way: warnings, JSON answers, and where the project layer comes from.

use crate::model::warning::Warning;
use crate::ui::{Ui, printable};
use crate::workforce::Workforce;
use serde_json::{Map, Value, json};

pub fn warnings<'w>(warnings: impl IntoIterator<Item = &'w Warning>, ui: &mut Ui) {
    for warning in warnings {
        ui.warning(printable(&warning.message));
    }
}

/// Names the commit that the project layer comes from, so that nobody takes it for the working tree's.
pub fn persona_ref(workforce: &Workforce, ui: &mut Ui) {
    if let Some(reference) = workforce.persona_ref().filter(|_| !ui.is_json()) {
        ui.say(&printable(&format!("project layer from {reference}, not from the working tree")));
    }
}

/// The JSON answer of a command: `answer` is an object, and gets the version and the warnings that every answer has.
pub fn json(answer: Value, warnings: &[Warning], ui: &mut Ui) {
    let mut whole = Map::from_iter([("schemaVersion".to_owned(), json!(2))]);
    if let Value::Object(answer) = answer {
        whole.extend(answer);
    }
    whole.insert("warnings".to_owned(), json!(warnings));
    ui.json(&Value::Object(whole));
}
