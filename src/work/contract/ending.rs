//! How a command of a contract can end, as far as its text tells.

/// How a command can end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ending {
    /// Always with 0, for this reason.
    Passes(String),
    Either,
    /// Never with 0.
    Fails,
}

pub(super) fn passes(reason: impl Into<String>) -> Ending {
    Ending::Passes(reason.into())
}
