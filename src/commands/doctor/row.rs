//! A row of the answer: what was checked, how it is, and what to do about it.

use serde::Serialize;

/// One thing that was checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    pub area: Area,
    pub name: String,
    pub status: Status,
    pub detail: String,
    /// What to do about it, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// What a row is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Area {
    Harness,
    Login,
    Tool,
    Home,
    Mount,
    Workforce,
    Sessions,
}

impl Area {
    pub fn name(self) -> &'static str {
        match self {
            Area::Harness => "harness",
            Area::Login => "login",
            Area::Tool => "tool",
            Area::Home => "home",
            Area::Mount => "mount",
            Area::Workforce => "workforce",
            Area::Sessions => "sessions",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Ok,
    /// Something is missing, but runs are possible without it.
    Warning,
    /// Something is broken, or nothing can run.
    Problem,
}

impl Row {
    pub fn ok(area: Area, name: &str, detail: impl Into<String>) -> Row {
        Row { area, name: name.to_owned(), status: Status::Ok, detail: detail.into(), fix: None }
    }

    pub fn warning(area: Area, name: &str, detail: impl Into<String>, fix: impl Into<String>) -> Row {
        Row { status: Status::Warning, fix: Some(fix.into()), ..Row::ok(area, name, detail) }
    }

    pub fn problem(area: Area, name: &str, detail: impl Into<String>, fix: impl Into<String>) -> Row {
        Row { status: Status::Problem, ..Row::warning(area, name, detail, fix) }
    }
}
