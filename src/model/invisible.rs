//! Characters that nobody sees: what a name or a line must not consist of, and what is shown as an escape.

/// Characters that reorder or break lines invisibly (U+2028, U+2029, the bidi controls), and those that show as nothing: the soft
/// hyphen and the Hangul fillers.
pub fn is_invisible_override(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{061c}'
        | '\u{00ad}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}'
        | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Letters that take no room, and the tags that spell a hidden text. Joiners and variation selectors belong to emoji.
pub fn has_no_width(c: char) -> bool {
    matches!(c, '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{e0001}' | '\u{e0020}'..='\u{e007f}')
}

/// Letters, marks and symbols by their category that are blank all the same: what Unicode calls ignorable, variation selectors among
/// them, and the signs for "nothing" of Braille, music, Khitan and hieroglyphs.
pub fn shows_nothing(c: char) -> bool {
    is_invisible_override(c)
        || matches!(c, '\u{34f}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{e0100}'..='\u{e01ef}' | '\u{2800}' | '\u{1d159}' | '\u{16fe4}' | '\u{13441}' | '\u{13442}')
}

/// Whether there is anything to be seen in a text.
pub fn shows_something(text: &str) -> bool {
    let joins = |c: char| matches!(c, '\u{200c}' | '\u{200d}');
    text.chars()
        .any(|c| !(c.is_whitespace() || c.is_control() || has_no_width(c) || shows_nothing(c) || joins(c)))
}
