//! Makes ids of names: slugs that are safe as file and git ref names, and names of inputs.

use crate::model::text_rules::{self, slugged};
use std::collections::{HashMap, HashSet};

const MAX_LENGTH: usize = 64;

/// The id for the name in a source, else for its file name. What is an id in lower case already stays. A name without Latin letters or digits gets a number that is
/// the same on every import.
pub fn id(name: Option<&str>, fallback: &str) -> String {
    let id_of = |text: &str| {
        let text = text.trim();
        let is_id = text_rules::slug(text).is_ok() && !text.contains(|c: char| c.is_ascii_uppercase());
        Some(if is_id { text.to_owned() } else { slug(text) }).filter(|id| !id.is_empty())
    };
    let named = name.and_then(id_of);
    named.or_else(|| id_of(fallback)).unwrap_or_else(|| numbered(name.unwrap_or(fallback)))
}

/// The key of a role for its name.
pub fn role_key(name: &str) -> String {
    Some(slug(name)).filter(|key| !key.is_empty()).unwrap_or_else(|| numbered(name))
}

/// Variables that programs need: an input of that name would replace them for the harness.
const RESERVED: [&str; 16] = [
    "PATH", "HOME", "USER", "SHELL", "LANG", "PWD", "TERM", "EDITOR", "TMPDIR", "LOGNAME", "HOSTNAME",
    "DISPLAY", "MAIL", "IFS", "BROWSER", "PAGER",
];

/// The name of an input: `pr-number` as `PR_NUMBER`, and `path` with the prefix `RECIPE` as `RECIPE_PATH`.
pub fn input(key: &str, prefix: &str) -> String {
    let name = slugged(key).replace('-', "_").to_ascii_uppercase();
    match name.chars().next() {
        Some(first) if first.is_ascii_digit() => format!("_{name}"),
        Some(_) if !RESERVED.contains(&name.as_str()) && !name.starts_with("LD_") => name,
        _ => format!("{prefix}_{name}"),
    }
}

fn slug(text: &str) -> String {
    let plain: String = text.chars().map(folded).collect();
    let mut slug = slugged(&plain);
    if slug.len() > MAX_LENGTH {
        slug.truncate(MAX_LENGTH);
        slug.truncate(slug.rfind('-').filter(|at| *at > MAX_LENGTH / 2).unwrap_or(MAX_LENGTH));
    }
    slug
}

/// Gives each name once. Case does not count.
#[derive(Default)]
pub struct FreeNames {
    taken: HashSet<String>,
    /// The last number that each name got.
    numbers: HashMap<String, usize>,
}

impl FreeNames {
    /// The name, with a number where it is taken already.
    pub fn free(&mut self, name: &str) -> String {
        let mut free = name.to_owned();
        while self.taken.contains(&free.to_ascii_lowercase()) {
            let number = self.numbers.entry(name.to_ascii_lowercase()).or_insert(1);
            *number += 1;
            free = with_suffix(name, *number);
        }
        free
    }

    /// Takes the name, with a number where it is taken already.
    pub fn take(&mut self, name: &str) -> String {
        let free = self.free(name);
        self.taken.insert(free.to_ascii_lowercase());
        free
    }
}

/// The id with a number, where another agent has the same.
fn with_suffix(id: &str, number: usize) -> String {
    // An id has at most 128 characters, all of one byte.
    format!("{}-{number}", id.get(..120).unwrap_or(id).trim_end_matches('.'))
}

fn numbered(text: &str) -> String {
    // FNV-1a: small and stable.
    let hash =
        text.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    format!("agent-{hash:08x}")
}

/// Latin letters without diacritics; everything else unchanged.
fn folded(c: char) -> String {
    let plain = match c {
        'à'..='å' | 'ā' | 'ă' | 'ą' | 'À'..='Å' => "a",
        'ç' | 'Ç' | 'ć' | 'č' | 'Č' => "c",
        'è'..='ë' | 'È'..='Ë' | 'ē' | 'ę' | 'ě' => "e",
        'ì'..='ï' | 'Ì'..='Ï' | 'ī' | 'ı' => "i",
        'ñ' | 'Ñ' | 'ń' | 'ň' => "n",
        'ò'..='ö' | 'ø' | 'Ò'..='Ö' | 'Ø' | 'ō' | 'ő' => "o",
        'ù'..='ü' | 'Ù'..='Ü' | 'ū' | 'ů' | 'ű' => "u",
        'ý' | 'ÿ' | 'Ý' => "y",
        'š' | 'Š' | 'ś' | 'ş' => "s",
        'ž' | 'Ž' | 'ź' | 'ż' => "z",
        'ł' | 'Ł' => "l",
        'ß' => "ss",
        'æ' | 'Æ' => "ae",
        'œ' | 'Œ' => "oe",
        '+' => "plus",
        '#' => "sharp",
        other => return other.to_string(),
    };
    plain.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_become_slugs() {
        assert_eq!(id(Some("UI Designer"), "x"), "ui-designer");
        assert_eq!(id(Some("Prüfer für Straßen"), "x"), "prufer-fur-strassen");
        assert_eq!(id(Some("代码审查"), "code review"), "code-review");
        assert_eq!(id(Some("代码审查"), "审"), id(Some("代码审查"), "查"));
        for valid in ["powershell-5.1-expert", "code_review", "a.b", "3d"] {
            assert_eq!((id(Some(valid), "x").as_str(), id(None, valid).as_str()), (valid, valid));
        }
        for (said, safe) in [("a..b", "a-b"), ("a.lock", "a-lock"), (".a", "a"), ("a.", "a"), ("A.B", "a-b")]
        {
            assert_eq!(id(Some(said), "x"), safe);
        }
        assert_eq!(role_key("a.b"), "a-b");
        assert_eq!(id(Some("C++ pro"), ""), "cplusplus-pro");
    }

    proptest! {
        #[test]
        fn every_name_becomes_an_id(name in ".{0,200}", file in ".{0,40}") {
            let id = id(Some(&name), &file);
            prop_assert_eq!(text_rules::slug(&id), Ok(()));
            prop_assert_eq!(text_rules::slug(&with_suffix(&id, 10_000)), Ok(()));
        }
    }
}
