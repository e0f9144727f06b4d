//! Folds names to what a reader takes them for: case, width, composition and letters of other scripts that look the same. Only the
//! common ones: there is no whole Unicode table here.

/// Letters that are the same in another case or composition. What merely looks alike stays different.
pub fn same_letters(text: &str) -> String {
    fold(text, false)
}

/// What a name looks like: two names of the same look are one name to a reader.
pub fn look(text: &str) -> String {
    fold(text, true)
}

fn fold(text: &str, with_confusables: bool) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(text.len());
    for c in text.chars() {
        if is_nothing(c) {
            continue;
        }
        push_compatible(c, with_confusables, &mut folded);
    }
    folded
}

/// What a name does not show: zero width, soft hyphens, bidi controls, variation selectors.
fn is_nothing(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{2069}'
        | '\u{feff}' | '\u{61c}' | '\u{fe00}'..='\u{fe0f}')
}

fn push_compatible(c: char, with_confusables: bool, folded: &mut String) {
    let expanded = match c {
        // Fullwidth forms are ASCII, moved.
        '\u{ff01}'..='\u{ff5e}' => {
            let plain = char::from_u32(c as u32 - 0xff01 + 0x21).unwrap_or(c);
            folded.extend(plain.to_lowercase());
            return;
        }
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => " ",
        'ﬀ' => "ff",
        'ﬁ' => "fi",
        'ﬂ' => "fl",
        'ﬃ' => "ffi",
        'ﬄ' => "ffl",
        'ﬅ' | 'ﬆ' => "st",
        'ß' | 'ẞ' => "ss",
        'Ĳ' | 'ĳ' => "ij",
        '…' => "...",
        '‐' | '‑' => "-",
        'ſ' => "s",
        'K' => "k",
        'Å' => "a\u{30a}",
        'ª' => "a",
        'º' => "o",
        '⁰' | '₀' => "0",
        '¹' | '₁' => "1",
        '²' | '₂' => "2",
        '³' | '₃' => "3",
        '№' => "no",
        '™' => "tm",
        _ => "",
    };
    if !expanded.is_empty() {
        folded.push_str(expanded);
        return;
    }
    for lower in c.to_lowercase() {
        // A dotted capital I becomes an i with a dot above it.
        if let Some((base, mark)) = composed(lower) {
            folded.push(if with_confusables { looks_like(base) } else { base });
            folded.push(mark);
        } else if with_confusables {
            folded.push(looks_like(lower));
        } else {
            folded.push(lower);
        }
    }
}

/// The parts of a letter with a mark, for the letters of European languages.
fn composed(c: char) -> Option<(char, char)> {
    const MARKED: [(char, &str, &str); 13] = [
        ('\u{300}', "aeiounwyεαοι", "àèìòùǹẁỳὲὰὸὶ"),
        ('\u{301}', "aeiouycnrslzgkpwmαεηιουω", "áéíóúýćńŕśĺźǵḱṕẃḿάέήίόύώ"),
        ('\u{302}', "aeioucghjswyz", "âêîôûĉĝĥĵŝŵŷẑ"),
        ('\u{303}', "anoieuvy", "ãñõĩẽũṽỹ"),
        ('\u{304}', "aeiouy", "āēīōūȳ"),
        ('\u{306}', "aegiouи", "ăĕğĭŏŭй"),
        ('\u{307}', "cegzabdfhmnprstwxy", "ċėġżȧḃḋḟḣṁṅṗṙṡṫẇẋẏ"),
        ('\u{308}', "aeiouyеіхwιυ", "äëïöüÿёїӽẅϊϋ"),
        ('\u{30a}', "auwy", "åůẘẙ"),
        ('\u{30b}', "ou", "őű"),
        ('\u{30c}', "cdenrstzaioughjkl", "čďěňřšťžǎǐǒǔǧȟǰǩľ"),
        ('\u{327}', "cegklnrstdh", "çȩģķļņŗşţḑḩ"),
        ('\u{328}', "aeiuo", "ąęįųǫ"),
    ];
    if c.is_ascii() {
        return None;
    }
    MARKED.iter().find_map(|(mark, bases, letters)| {
        let position = letters.chars().position(|letter| letter == c)?;
        Some((bases.chars().nth(position)?, *mark))
    })
}

/// The ASCII letter that a lower-case letter of another script is taken for. Digits stay digits: `1` and `l` are told apart by most
/// fonts, and honest names differ in them.
fn looks_like(c: char) -> char {
    match c {
        'а' | 'α' | 'ɑ' | 'ａ' => 'a',
        'Ь' | 'ь' | 'Ƅ' | 'β' => 'b',
        'с' | 'ϲ' | 'ᴄ' => 'c',
        'ԁ' | 'ɗ' => 'd',
        'е' | 'ҽ' | 'ε' => 'e',
        'ƒ' | 'ϝ' => 'f',
        'ɡ' | 'ց' => 'g',
        'һ' | 'հ' | 'н' | 'η' => 'h',
        'і' | 'ι' | 'ı' | 'ɩ' | 'ӏ' => 'i',
        'ј' | 'ϳ' => 'j',
        'к' | 'κ' => 'k',
        'ǀ' => 'l',
        'м' | 'μ' | 'µ' => 'm',
        'ո' | 'п' => 'n',
        'о' | 'ο' | 'օ' | 'ᴏ' | 'σ' => 'o',
        'р' | 'ρ' => 'p',
        'ԛ' => 'q',
        'г' | 'ᴦ' => 'r',
        'ѕ' | 'ꜱ' => 's',
        'т' | 'τ' => 't',
        'υ' | 'ս' | 'ᴜ' => 'u',
        'ν' | 'ѵ' | 'ᴠ' => 'v',
        'ԝ' | 'ѡ' | 'ω' | 'ᴡ' => 'w',
        'х' | 'χ' => 'x',
        'у' | 'γ' | 'ү' => 'y',
        'ᴢ' | 'ζ' => 'z',
        '‚' => ',',
        '․' => '.',
        '‒' | '–' | '−' | '﹣' | '⁃' => '-',
        '∕' | '⁄' => '/',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_same_look_are_one() {
        let same = [
            ("src/Login.js", "src/login.js"),
            ("src/lоgin.js", "src/login.js"),
            ("src/ｌｏｇｉｎ.js", "src/login.js"),
            ("α.py", "a.py"),
            ("lo\u{200b}gin.js", "login.js"),
            ("café.txt", "cafe\u{301}.txt"),
            ("ﬁle", "file"),
            ("STRAẞE", "strasse"),
            ("ΡΑТН.rs", "path.rs"),
        ];
        for (left, right) in same {
            assert_eq!(look(left), look(right), "{left} {right}");
        }
    }

    #[test]
    fn other_names_stay_apart() {
        for (left, right) in [
            ("v1.rs", "vl.rs"),
            ("cafe.txt", "café.txt"),
            ("o.js", "0.js"),
            ("мир.txt", "мара.txt"),
            ("日.md", "曰.md"),
        ] {
            assert_ne!(look(left), look(right), "{left} {right}");
        }
        assert_ne!(same_letters("lоgin.js"), same_letters("login.js"));
        assert_eq!(same_letters("ÄB.txt"), same_letters("a\u{308}b.txt"));
    }
}
