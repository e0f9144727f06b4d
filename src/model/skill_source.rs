//! Tells the forms of a skill source apart. Fetching them is an effect and happens elsewhere.

use crate::model::plan::SkillKind;

/// What kind of source this is, by its text alone.
pub fn kind_of(source: &str) -> SkillKind {
    let rest = source.strip_prefix("https://").or_else(|| source.strip_prefix("http://"));
    match rest {
        Some(rest) if rest.starts_with("prpm.dev/packages/") => SkillKind::Prpm,
        Some(rest) if rest.starts_with("skills.sh/") => SkillKind::SkillsSh,
        Some(_) => SkillKind::Git,
        None if source.starts_with("git@")
            || source.starts_with("ssh://")
            || source.starts_with("git://")
            || source.starts_with("file://") =>
        {
            SkillKind::Git
        }
        None if source.contains("://") => SkillKind::Unknown,
        None if is_repository(source) => SkillKind::Git,
        None if source.starts_with(['.', '/', '~']) || has_md_ending(source) => SkillKind::Local,
        None if is_package(source) => SkillKind::Prpm,
        None => SkillKind::Local,
    }
}

fn has_md_ending(source: &str) -> bool {
    source.to_ascii_lowercase().ends_with(".md")
}

/// A path to a repository: `x.git`, `x.git#name` or `x.git/tree/<ref>/<path>`.
fn is_repository(source: &str) -> bool {
    let place = source.split('#').next().unwrap_or_default().trim_end_matches('/');
    let place = place.split("/tree/").next().unwrap_or_default();
    place.strip_suffix(".git").is_some_and(|rest| !rest.is_empty() && !rest.ends_with('/'))
}

/// `@scope/name` or `scope/name`.
fn is_package(source: &str) -> bool {
    let word =
        |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    let plain = source.strip_prefix('@').unwrap_or(source);
    plain.split_once('/').is_some_and(|(scope, name)| word(scope) && word(name))
}

/// The last word of a source, as a name for a skill that has none.
pub fn name_of(source: &str) -> String {
    let tail = source.rsplit(['/', '#', '\\']).find(|part| !part.is_empty()).unwrap_or(source);
    tail.trim_end_matches(".md").trim_end_matches(".git").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_in_the_wild_are_told_apart() {
        let cases = [
            ("https://prpm.dev/packages/s/n", SkillKind::Prpm),
            ("@agent-relay/writeback", SkillKind::Prpm),
            ("scope/name", SkillKind::Prpm),
            ("https://github.com/o/r#name", SkillKind::Git),
            ("https://github.com/o/r/tree/main/skills/x", SkillKind::Git),
            ("git@github.com:o/r.git", SkillKind::Git),
            ("https://skills.sh/o/r/x", SkillKind::SkillsSh),
            ("./skills/x.md", SkillKind::Local),
            ("skills/deep/x.md", SkillKind::Local),
            ("skills/a/b", SkillKind::Local),
            ("file:///a/b.git#x", SkillKind::Git),
            ("./b.git", SkillKind::Git),
            ("/a/b.git/tree/main/x", SkillKind::Git),
            ("./a/.git", SkillKind::Local),
            ("ftp://x/y", SkillKind::Unknown),
        ];
        for (source, kind) in cases {
            assert_eq!(kind_of(source), kind, "{source}");
        }
    }
}
