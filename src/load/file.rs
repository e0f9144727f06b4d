//! One file of a layer against the table of its format. Reading it is left to `files`.

use super::check;
use crate::model::locate::Locator;
use crate::model::shape::{Field, Object};
use std::path::Path;

pub use crate::files::json::{not_an_object, parse_object, syntax_problem};
pub use crate::files::text::{MAX_BYTES, read_text, text_of};
pub use crate::model::file_problem::FileProblem;

/// Problems of one file that are shown with their place. Nobody fixes more than this at once, and every place is a
/// reading of the file up to there.
const MOST_PLACES: usize = 100;

/// All problems of an object that was read from this text.
pub fn check_object(path: &Path, text: &str, object: &Object, fields: &'static [Field]) -> Vec<FileProblem> {
    let problems = check::check(object, fields);
    let locator = (!problems.is_empty() && !text.is_empty()).then(|| Locator::new(text));
    problems
        .into_iter()
        .enumerate()
        .map(|(index, problem)| {
            let locator = locator.as_ref().filter(|_| index < MOST_PLACES);
            FileProblem::at(path, problem, locator)
        })
        .collect()
}
