//! Selects one of several skills by name.

use super::frontmatter::plain_name;
use anyhow::{Result, bail};
use std::path::{Path, PathBuf};

/// A directory with a SKILL.md.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Relative to the searched path; empty for that path itself.
    pub dir: PathBuf,
    /// The name in its SKILL.md.
    pub name: Option<String>,
}

/// What is known about the wanted skill.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The name after `#`, which must match.
    pub name: Option<&'a str>,
    /// The id in the persona, which may match.
    pub id: &'a str,
}

pub fn choose(candidates: &[Candidate], wanted: Wanted<'_>) -> Result<PathBuf> {
    if candidates.is_empty() {
        bail!("it has no SKILL.md");
    }
    if let Some(name) = wanted.name {
        return match best(candidates, name) {
            Some(dir) => Ok(dir),
            None => bail!("it has no skill `{name}`; it has {}", names(candidates)),
        };
    }
    if candidates.iter().any(|candidate| candidate.dir.as_os_str().is_empty()) {
        return Ok(PathBuf::new());
    }
    if let [only] = candidates {
        return Ok(only.dir.clone());
    }
    match best(candidates, wanted.id) {
        Some(dir) => Ok(dir),
        None => bail!("it has several skills, select one with `#name`: {}", names(candidates)),
    }
}

/// The candidate with this name. The directory counts more than the name in the text, and the one closest to the top
/// wins, so that the choice is always the same.
fn best(candidates: &[Candidate], name: &str) -> Option<PathBuf> {
    let plain = plain_name(name);
    let rank = |candidate: &Candidate| {
        let last = candidate.dir.file_name().and_then(|last| last.to_str()).unwrap_or_default();
        let said = candidate.name.as_deref().unwrap_or_default();
        let same = |text: &str| plain.is_some() && plain_name(text) == plain;
        match () {
            () if candidate.dir == Path::new(name) => Some(0),
            () if last == name => Some(1),
            () if said == name => Some(2),
            () if same(last) || same(said) => Some(3),
            () => None,
        }
    };
    let ranked = candidates.iter().filter_map(|candidate| Some((rank(candidate)?, candidate)));
    let nearest = ranked
        .min_by_key(|(rank, candidate)| (*rank, candidate.dir.components().count(), candidate.dir.clone()));
    nearest.map(|(_, candidate)| candidate.dir.clone())
}

fn names(candidates: &[Candidate]) -> String {
    let name = |candidate: &Candidate| {
        let last = candidate.dir.file_name().map(|last| last.to_string_lossy().into_owned());
        last.or_else(|| candidate.name.clone()).unwrap_or_else(|| "one at the top level".to_owned())
    };
    let mut names: Vec<String> = candidates.iter().map(name).collect();
    names.sort();
    names.dedup();
    let more = names.len().saturating_sub(10);
    names.truncate(10);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(dirs: &[(&str, &str)]) -> Vec<Candidate> {
        let one = |(dir, name): &(&str, &str)| Candidate {
            dir: dir.into(),
            name: (!name.is_empty()).then(|| (*name).to_owned()),
        };
        dirs.iter().map(one).collect()
    }

    fn chosen(dirs: &[(&str, &str)], name: Option<&str>, id: &str) -> Result<String, String> {
        let wanted = Wanted { name, id };
        choose(&candidates(dirs), wanted)
            .map(|dir| dir.display().to_string())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_name_decides_and_nothing_else_will_do() {
        let dirs = [("skills/a", ""), ("x/skills/b", "b"), ("skills/c", "Deep C")];
        assert_eq!(chosen(&dirs, Some("b"), "a"), Ok("x/skills/b".into()));
        assert_eq!(chosen(&dirs, Some("deep-c"), "a"), Ok("skills/c".into()));
        assert_eq!(chosen(&dirs, Some("skills/a"), ""), Ok("skills/a".into()));
        assert_eq!(chosen(&dirs, Some("d"), "a"), Err("it has no skill `d`; it has a, b, c".into()));
    }

    #[test]
    fn without_a_name_the_top_the_only_one_or_the_id_decides() {
        assert_eq!(chosen(&[("", ""), ("skills/a", "")], None, "a"), Ok(String::new()));
        assert_eq!(chosen(&[("skills/z", "")], None, "a"), Ok("skills/z".into()));
        assert_eq!(chosen(&[("s/a", ""), ("s/b", "")], None, "b"), Ok("s/b".into()));
        assert!(chosen(&[("s/a", ""), ("s/b", "")], None, "q").unwrap_err().contains("#name"));
        assert_eq!(chosen(&[], None, "q"), Err("it has no SKILL.md".into()));
    }

    #[test]
    fn the_nearest_of_two_equals_is_taken() {
        assert_eq!(chosen(&[("p/q/skills/a", ""), ("skills/a", "")], Some("a"), ""), Ok("skills/a".into()));
    }
}
