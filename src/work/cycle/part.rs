//! Which of the changes a view has. Plain values.

use crate::model::raw_path::RawPath;
use crate::work::evidence::View;

/// Which changes a view has.
#[derive(Debug, Clone, Copy)]
pub enum Part<'a> {
    /// The state at launch.
    Nothing,
    /// All of the change set.
    All,
    /// All but these paths.
    Without(&'a [RawPath]),
    /// These paths alone.
    Only(&'a [RawPath]),
    /// All of it, and what git ignores.
    WithIgnored,
}

impl<'a> Part<'a> {
    /// What a view shows. `old` are the paths that are put back, `tests` those that are kept alone.
    pub fn of(view: View, old: &'a [RawPath], tests: &'a [RawPath]) -> Part<'a> {
        match view {
            View::Base => Part::Nothing,
            View::Result | View::ResultAgain => Part::All,
            View::OldTests => Part::Without(old),
            View::OnlyTests => Part::Only(tests),
            View::WithIgnored => Part::WithIgnored,
        }
    }
}
