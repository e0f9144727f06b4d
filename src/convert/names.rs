//! Makes ids of names: lower-case slugs that are safe as file and git ref names.

use crate::model::text_rules::slugged;

const MAX_LENGTH: usize = 64;

/// The id for the name in a source, else for its file name. A name without Latin letters or digits gets a number that is
/// the same on every import.
pub fn id(name: Option<&str>, fallback: &str) -> String {
    let named = name.map(slug).filter(|id| !id.is_empty());
    let from_file = || Some(slug(fallback)).filter(|id| !id.is_empty());
    named.or_else(from_file).unwrap_or_else(|| numbered(name.unwrap_or(fallback)))
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

/// The id with a number, where another agent has the same.
pub fn with_suffix(id: &str, number: usize) -> String {
    format!("{id}-{number}")
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
    use crate::model::text_rules;
    use proptest::prelude::*;

    #[test]
    fn names_become_slugs() {
        assert_eq!(id(Some("UI Designer"), "x"), "ui-designer");
        assert_eq!(id(Some("Prüfer für Straßen"), "x"), "prufer-fur-strassen");
        assert_eq!(id(Some("代码审查"), "code_review"), "code-review");
        assert_eq!(id(Some("代码审查"), "审"), id(Some("代码审查"), "查"));
        assert_eq!(id(None, "a.b"), "a-b");
        assert_eq!(id(Some("C++ pro"), ""), "cplusplus-pro");
    }

    proptest! {
        #[test]
        fn every_name_becomes_an_id(name in ".{0,200}", file in ".{0,40}") {
            prop_assert_eq!(text_rules::slug(&id(Some(&name), &file)), Ok(()));
        }
    }
}
