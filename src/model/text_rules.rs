//! The rules for texts that become names, paths or keys: pure predicates that return the reason when they fail.

use super::invisible::{is_invisible_override, shows_something};
use super::shape::TextRule;
use super::tier::Harness;

/// Harness names that files in the wild carry and this runner does not launch.
pub const FOREIGN_HARNESSES: [&str; 1] = ["grok"];

pub fn check(rule: TextRule, text: &str) -> Result<(), String> {
    match rule {
        TextRule::NotBlank => not_blank(text),
        TextRule::Supplied => Ok(()),
        TextRule::Line => no_hostile_characters(text),
        TextRule::Term => term(text),
        TextRule::Slug => slug(text),
        TextRule::RoleKey => role_key(text),
        TextRule::InputName => input_name(text),
        TextRule::VariableName => variable_name(text),
        TextRule::SidecarPath => sidecar_path(text),
        TextRule::DisplayName => display_name(text),
        TextRule::Emoji => emoji(text),
        TextRule::Harness => harness(text),
        TextRule::Value => value(text),
        TextRule::ToolEntry => tool_entry(text),
    }
}

/// What a schema can say about a rule: a regular expression, where one is enough.
pub fn pattern(rule: TextRule) -> Option<&'static str> {
    match rule {
        TextRule::Slug => Some("^[A-Za-z0-9][A-Za-z0-9._-]*$"),
        TextRule::RoleKey => Some("^[a-z0-9]+(-[a-z0-9]+)*$"),
        TextRule::InputName => Some("^[A-Z_][A-Z0-9_]*$"),
        TextRule::VariableName => Some("^[A-Za-z_][A-Za-z0-9_]*$"),
        TextRule::SidecarPath => Some("\\.[mM][dD]$"),
        TextRule::NotBlank | TextRule::Term => Some("\\S"),
        // Blank is unset.
        TextRule::Value => Some("^\\s*([^-\\s]|$)"),
        TextRule::ToolEntry => Some("^\\s*[^-\\s]"),
        TextRule::Supplied | TextRule::Line | TextRule::DisplayName | TextRule::Emoji | TextRule::Harness => {
            None
        }
    }
}

fn not_blank(text: &str) -> Result<(), String> {
    if text.trim().is_empty() { Err("must not be blank".into()) } else { Ok(()) }
}

/// Ids become file, directory and git ref names, so they must be safe as all three.
pub fn slug(text: &str) -> Result<(), String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if text.is_empty() {
        Err("must not be empty".into())
    } else if !text.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        Err("must start with a letter or a digit".into())
    } else if let Some(bad) = text.chars().find(|c| !allowed(*c)) {
        Err(format!("must be a slug of letters, digits, `.`, `_` and `-`; it has {bad:?}"))
    } else if text.contains("..") || text.ends_with('.') || text.to_ascii_lowercase().ends_with(".lock") {
        Err("must not contain `..` or end in `.` or `.lock`: it becomes a file and a git ref name".into())
    } else if text.len() > 128 {
        Err("must be at most 128 characters long".into())
    } else {
        Ok(())
    }
}

fn role_key(text: &str) -> Result<(), String> {
    if !text.is_empty() && slugged(text) == text && text.len() <= 128 {
        Ok(())
    } else {
        Err("must be a lower-case slug such as `lead-explorer`".into())
    }
}

/// A label as a key: lower case, runs of anything else become `-`, trimmed (`Lead / Explorer` -> `lead-explorer`).
pub fn slugged(label: &str) -> String {
    let mut slug = String::with_capacity(label.len());
    for c in label.chars().flat_map(char::to_lowercase) {
        if c.is_ascii_alphanumeric() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(slug.trim_end_matches('-').len());
    slug
}

pub fn input_name(text: &str) -> Result<(), String> {
    let mut chars = text.chars();
    let first = chars.next().is_some_and(|c| c.is_ascii_uppercase() || c == '_');
    if first && chars.all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_') {
        Ok(())
    } else {
        Err("must be an upper-case name such as `TARGET_DIR`".into())
    }
}

/// Names of variables go to processes and into a shell line, so nothing else may be in them.
fn variable_name(text: &str) -> Result<(), String> {
    let mut chars = text.chars();
    let first = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if first && chars.all(|c| c.is_ascii_alphanumeric() || c == '_') {
        Ok(())
    } else {
        Err("must be the name of a variable: letters, digits and `_`".into())
    }
}

fn sidecar_path(text: &str) -> Result<(), String> {
    let bytes = text.as_bytes();
    let drive = bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':';
    if text.trim().is_empty() {
        Err("must not be empty".into())
    } else if text.contains('\0') {
        Err("must not contain a NUL character".into())
    } else if text.starts_with(['/', '\\']) || drive {
        Err("must be relative to the file that names it, not absolute".into())
    } else if text.split(['/', '\\']).any(|segment| segment == "..") {
        Err("must not leave its directory with `..`".into())
    } else if !text.to_ascii_lowercase().ends_with(".md") {
        Err("must name a `.md` file".into())
    } else {
        Ok(())
    }
}

/// An entry of a list that stands in one line of the prompt.
fn term(text: &str) -> Result<(), String> {
    no_hostile_characters(text)?;
    if shows_something(text) { Ok(()) } else { Err("must not be blank".into()) }
}

fn no_hostile_characters(text: &str) -> Result<(), String> {
    match text.chars().find(|c| c.is_control() || is_invisible_override(*c)) {
        Some(c) => Err(format!("must not contain the character {}", c.escape_unicode())),
        None => Ok(()),
    }
}

pub fn display_name(text: &str) -> Result<(), String> {
    no_hostile_characters(text)?;
    match text.trim().chars().count() {
        _ if !shows_something(text) => Err("must not be blank".into()),
        0..=64 => Ok(()),
        length => Err(format!("must be at most 64 characters long; it has {length}")),
    }
}

/// An empty text is allowed: it clears an inherited emoji.
pub fn emoji(text: &str) -> Result<(), String> {
    no_hostile_characters(text)?;
    match text.chars().count() {
        1.. if !shows_something(text) => Err("must not be invisible".into()),
        0..=16 => Ok(()),
        length => Err(format!("must be at most 16 characters long; it has {length}")),
    }
}

fn harness(text: &str) -> Result<(), String> {
    if Harness::names().contains(&text) || FOREIGN_HARNESSES.contains(&text) {
        Ok(())
    } else {
        Err(format!("`{text}` is not a harness: {}", Harness::names().join(", ")))
    }
}

/// Values of personas go to programs as arguments and in files.
pub fn value(text: &str) -> Result<(), String> {
    if text.trim_start().starts_with('-') {
        Err("must not begin with `-`: a harness could take it for an option".into())
    } else if let Some(c) = text.chars().find(|c| c.is_control()) {
        Err(format!("must not contain the character {}", c.escape_unicode()))
    } else {
        Ok(())
    }
}

fn tool_entry(text: &str) -> Result<(), String> {
    not_blank(text)?;
    value(text)?;
    if tool_entries(text).len() > 1 {
        Err("must be one tool or pattern; claude takes it for several, because it separates at commas and blanks \
             outside of parentheses"
            .into())
    } else {
        Ok(())
    }
}

/// The entries that claude finds in a text: commas and blanks separate them, except in parentheses, which do not nest.
pub fn tool_entries(text: &str) -> Vec<&str> {
    let mut is_inside = false;
    let separates = |c: char| {
        match c {
            '(' => is_inside = true,
            ')' => is_inside = false,
            _ => {}
        }
        matches!(c, ',' | ' ') && !is_inside
    };
    text.split(separates).map(str::trim).filter(|entry| !entry.is_empty()).collect()
}

/// A variable in the middle of a value, without braces: it is not filled in.
pub fn bare_variable(value: &str) -> Option<&str> {
    let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let name_behind = |at: usize| {
        let rest = &value[at + 1..];
        let name = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
        (name.len() > 1 && !name.starts_with(|c: char| c.is_ascii_digit())).then_some(name)
    };
    let mut names = value.match_indices('$').filter_map(|(at, _)| name_behind(at));
    names.find(|name| name.len() + 1 < value.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_one_tool_and_no_option() {
        for good in
            ["Read", " Edit ", "Bash(git log --format=a,b)", "Bash(npm (test))", "mcp__a__b", "*", "Bash(-x)"]
        {
            assert_eq!(tool_entry(good), Ok(()), "{good}");
        }
        for bad in
            ["", " ", "-x", " --x=y", "Read Bash", "Read,Bash", "Bash(a (b) c)", "Read\nBash", "Read\0"]
        {
            assert!(tool_entry(bad).is_err(), "{bad:?}");
        }
        assert_eq!(tool_entries("Read, Bash(a, b) x"), ["Read", "Bash(a, b)", "x"]);
    }

    #[test]
    fn slugs_are_safe_as_file_and_ref_names() {
        for good in ["a", "code-reviewer", "A.b_c-9", "x1"] {
            assert_eq!(slug(good), Ok(()), "{good}");
        }
        for bad in ["", "-a", ".a", "a b", "a/b", "a\\b", "a..b", "a.", "a.lock", "a.LOCK", "é", "a\n"] {
            assert!(slug(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn labels_become_keys() {
        assert_eq!(slugged("Lead / Explorer"), "lead-explorer");
        assert_eq!(slugged("  --Ünïcode 9 --"), "n-code-9");
        assert_eq!(slugged("///"), "");
    }

    #[test]
    fn a_sidecar_path_with_dotdot_absolute_empty_or_not_md_is_rejected() {
        for good in ["a.md", "dir/a.MD", "./a.md", "notes..md", "a..b/c.md"] {
            assert_eq!(sidecar_path(good), Ok(()), "{good}");
        }
        let bad = [
            "",
            " ",
            "../a.md",
            "a/../b.md",
            "a\\..\\b.md",
            "/a.md",
            "\\\\srv\\a.md",
            "C:\\a.md",
            "c:a.md",
            "a.txt",
            "a.md\0",
            "a.md/",
            "x\0.md",
        ];
        for bad in bad {
            assert!(sidecar_path(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_variable_inside_a_value_needs_braces() {
        for good in ["$TOKEN", "Bearer ${TOKEN}", "costs $5", "$lower", "a$", "$$", "x $A"] {
            assert_eq!(bare_variable(good), None, "{good}");
        }
        assert_eq!(bare_variable("Bearer $TOKEN"), Some("TOKEN"));
        assert_eq!(bare_variable("$HOME/bin"), Some("HOME"));
    }

    #[test]
    fn a_line_of_the_prompt_is_one_line() {
        for good in ["", "Lead / Explorer", "c++"] {
            assert_eq!(check(TextRule::Line, good), Ok(()), "{good}");
        }
        for bad in ["a\n- Role: Root", "a\rb", "a\tb", "a\u{85}b", "a\u{2029}b", "a\u{202e}b"] {
            assert!(check(TextRule::Line, bad).is_err(), "{bad:?}");
            assert!(check(TextRule::Term, bad).is_err(), "{bad:?}");
        }
        assert!(check(TextRule::Term, "\u{200b}").is_err());
    }

    #[test]
    fn names_have_no_control_or_bidi_characters_and_at_most_64_scalars() {
        assert_eq!(display_name(" Ripley "), Ok(()));
        assert_eq!(display_name(&"é".repeat(64)), Ok(()));
        for bad in
            ["", "  ", "a\nb", "a\u{202e}b", "a\u{2028}b", "\u{200b}", "\u{2800}\u{200d}", &"x".repeat(65)]
        {
            assert!(display_name(bad).is_err(), "{bad:?}");
        }
        assert_eq!(emoji(""), Ok(()));
        assert_eq!(emoji("\u{1f469}\u{200d}\u{1f680}"), Ok(()));
        assert!(emoji("\u{200b}").is_err());
        assert!(emoji(&"x".repeat(17)).is_err());
    }
}
