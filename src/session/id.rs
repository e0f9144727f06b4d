//! The name of a session: persona, time and a few random digits, fit for a directory and for a git ref.
//! It carries no meaning that anything relies on.

use jiff::Timestamp;

/// Longest part of a persona's id in a session's name.
const LONGEST_PERSONA: usize = 40;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(String);

impl SessionId {
    /// Whatever a persona is called, the name has only letters, digits, `-` and `_`: one directory, and a valid ref.
    pub fn new(persona: &str, now: Timestamp, random: &str) -> SessionId {
        let clean = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
        let persona: String = persona.chars().map(clean).take(LONGEST_PERSONA).collect();
        let persona = persona.trim_matches('-');
        let persona = if persona.is_empty() { "session" } else { persona };
        SessionId(format!("{persona}-{}-{random}", now.strftime("%Y%m%d-%H%M%S")))
    }

    /// The name of an existing directory, if it can be one of ours.
    pub fn parse(name: &str) -> Option<SessionId> {
        let is_ours = !name.is_empty()
            && name.len() <= 200
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
            && !name.starts_with('-');
        is_ours.then(|| SessionId(name.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The random digits at its end, which name it in lists.
    pub fn short(&self) -> &str {
        short_name(&self.0)
    }
}

/// What follows the last dash of a name.
pub fn short_name(id: &str) -> &str {
    id.rsplit('-').next().unwrap_or(id)
}

impl std::fmt::Display for SessionId {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_persona_gives_one_plain_directory_name() {
        let now: Timestamp = "2026-11-16T05:00:00Z".parse().unwrap();
        for (persona, expected) in [
            ("code-reviewer", "code-reviewer-20261116-050000-ab12"),
            ("a/b", "a-b-20261116-050000-ab12"),
            ("../../x", "x-20261116-050000-ab12"),
            ("has space.lock", "has-space-lock-20261116-050000-ab12"),
            ("", "session-20261116-050000-ab12"),
            ("..", "session-20261116-050000-ab12"),
        ] {
            let id = SessionId::new(persona, now, "ab12");
            assert_eq!(id.as_str(), expected);
            assert_eq!(SessionId::parse(id.as_str()), Some(id));
        }
        assert!(SessionId::parse("../x").is_none() && SessionId::parse(".trash").is_none());
    }
}
