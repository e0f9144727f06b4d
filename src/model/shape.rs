//! The language in which the file formats are written down: fields, their shapes and how layers merge them.
//! One table a format serves checking, merging, `schema` and the reference; nothing here reads a file.

use serde_json::{Map, Value};
use std::fmt;

/// A JSON object whose keys keep the order in which the file has them.
pub type Object = Map<String, Value>;

/// One key of a format.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    pub key: &'static str,
    pub shape: Shape,
    pub merge: Merge,
    pub status: FieldStatus,
    /// Setting this key clears what lower layers said under that one (a path and its inlined content).
    pub clears: Option<&'static str>,
    /// Setting this key at the top level replaces what lower layers said in their tiers.
    pub reaches_tiers: bool,
    /// `null` says nothing here or below, instead of removing what lower layers said.
    pub keeps_inherited: bool,
    /// One sentence for the schema and the reference.
    pub doc: &'static str,
}

/// What a value may look like.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    Text,
    /// Text with a rule for its content.
    Checked(TextRule),
    Choice(&'static [&'static str]),
    Flag,
    /// A finite number above this.
    Above(f64),
    /// A finite number of at least this.
    AtLeast(f64),
    /// A whole number of at least this.
    Whole(u64),
    List(&'static Shape),
    /// Free keys that follow a rule, each with a value of one shape; `null` removes an inherited key.
    Map(TextRule, &'static Shape),
    Object(&'static [Field]),
    /// The first shape that fits the JSON type.
    Either(&'static [Shape]),
    Anything,
}

/// How a higher layer's value meets a lower one's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merge {
    /// Leaves replace; objects merge per field, maps per key.
    Replace,
    /// Lists are joined without duplicates; entries of the named sibling list are taken out of the lower one.
    Union { removed_by: &'static str },
    /// Lists are appended in layer order.
    Append,
}

/// How this runner treats a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldStatus {
    Used,
    /// Accepted because the files people have carry it; reported as not used by this runner.
    NotUsed,
    /// Accepted, and reported as `unsupported` in the enforcement matrix.
    Unsupported,
    /// A restriction that is planned: until then, a run that would ignore it is refused.
    Refused,
    /// Read under another key; the id of its entry in the deprecation table.
    Legacy(&'static str),
}

/// A rule for the content of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextRule {
    NotBlank,
    /// Text that stands in one line of the prompt.
    Line,
    /// The same in a list, and not blank.
    Term,
    /// A value that may refer to variables of the environment.
    Supplied,
    Slug,
    RoleKey,
    InputName,
    /// A name that every shell takes for a variable.
    VariableName,
    SidecarPath,
    DisplayName,
    Emoji,
    Harness,
    /// A value that goes to a harness: nothing that could be taken for an option.
    Value,
    /// A tool or a tool pattern, and only one.
    ToolEntry,
}

impl Field {
    pub const fn new(key: &'static str, shape: Shape, doc: &'static str) -> Field {
        Field {
            key,
            shape,
            merge: Merge::Replace,
            status: FieldStatus::Used,
            clears: None,
            reaches_tiers: false,
            keeps_inherited: false,
            doc,
        }
    }

    pub const fn text(key: &'static str, doc: &'static str) -> Field {
        Field::new(key, Shape::Text, doc)
    }

    pub const fn merge(mut self, merge: Merge) -> Field {
        self.merge = merge;
        self
    }

    pub const fn clears(mut self, sibling: &'static str) -> Field {
        self.clears = Some(sibling);
        self
    }

    pub const fn reaches_tiers(mut self) -> Field {
        self.reaches_tiers = true;
        self
    }

    pub const fn keeps_inherited(mut self) -> Field {
        self.keeps_inherited = true;
        self
    }

    /// Whether `null` removes what lower layers said. Lists that layers build together have ways of their own, and what has
    /// keys of its own is removed key by key.
    pub fn is_removed_by_null(&self) -> bool {
        let has_keys = matches!(self.shape, Shape::Object(_) | Shape::Map(..));
        self.merge == Merge::Replace && !has_keys && !self.keeps_inherited
    }

    pub const fn status(mut self, status: FieldStatus) -> Field {
        self.status = status;
        self
    }
}

/// Finds a field by its key.
pub fn field<'a>(fields: &'a [Field], key: &str) -> Option<&'a Field> {
    fields.iter().find(|field| field.key == key)
}

/// Keys that are allowed in any object: `$schema`, `$comment`, `x-anything`.
pub fn is_free_key(key: &str) -> bool {
    key.starts_with('$') || key.starts_with("x-")
}

/// The way to a value inside a file: `tiers.best.harnessSettings.reasoning`, `skills[2].id`.
#[derive(Debug, Clone, PartialEq, Eq, Default, PartialOrd, Ord)]
pub struct KeyPath(pub Vec<Step>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    Key(String),
    Index(usize),
}

impl KeyPath {
    pub fn key(&self, key: &str) -> KeyPath {
        self.with(Step::Key(key.to_owned()))
    }

    pub fn index(&self, index: usize) -> KeyPath {
        self.with(Step::Index(index))
    }

    fn with(&self, step: Step) -> KeyPath {
        let mut steps = self.0.clone();
        steps.push(step);
        KeyPath(steps)
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if position == 0 => write!(f, "{key}")?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; never fails anything.
    Note,
    /// Something will not do what the file says; `--strict` makes it an error.
    Warning,
    /// The file cannot be used.
    Error,
}

/// One thing that is wrong with a value, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub severity: Severity,
    pub at: KeyPath,
    pub message: String,
    pub fix: Option<String>,
}

impl Problem {
    pub fn new(severity: Severity, at: KeyPath, message: impl Into<String>) -> Problem {
        Problem { severity, at, message: message.into(), fix: None }
    }

    #[must_use]
    pub fn fix(mut self, fix: impl Into<String>) -> Problem {
        self.fix = Some(fix.into());
        self
    }
}
