//! What several commands say in the same words: warnings, and where the project layer comes from.

use crate::model::warning::Warning;
use crate::ui::{Ui, printable};
use crate::workforce::Workforce;

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
