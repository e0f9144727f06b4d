//! Env references and input placeholders in texts: `$VAR` as a whole value, `${VAR}` anywhere, `$INPUT` in prompts.
//! Finds and replaces names; whose values they stand for is the caller's business.

use std::collections::BTreeMap;

/// A piece of a text with env references.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece<'t> {
    Text(&'t str),
    Variable(&'t str),
}

fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte == b'_'
}

fn is_name(byte: u8) -> bool {
    is_name_start(byte) || byte.is_ascii_digit()
}

/// The name at the start of this text and its length.
fn name_at(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    if !bytes.first().copied().is_some_and(is_name_start) {
        return None;
    }
    let end = bytes.iter().position(|byte| !is_name(*byte)).unwrap_or(bytes.len());
    Some(&text[..end])
}

/// A value of `env` or of an MCP server, cut at its references. A bare `$VAR` inside other text stays text.
pub fn env_pieces(value: &str) -> Vec<Piece<'_>> {
    if let Some(name) = value.strip_prefix('$').and_then(name_at)
        && name.len() + 1 == value.len()
    {
        return vec![Piece::Variable(name)];
    }
    let mut pieces = Vec::new();
    let mut rest = value;
    let mut from = 0;
    while let Some(found) = rest[from..].find("${") {
        let at = from + found;
        match name_at(&rest[at + 2..]) {
            Some(name) if rest[at + 2 + name.len()..].starts_with('}') => {
                if at > 0 {
                    pieces.push(Piece::Text(&rest[..at]));
                }
                pieces.push(Piece::Variable(name));
                rest = &rest[at + name.len() + 3..];
                from = 0;
            }
            _ => from = at + 2,
        }
    }
    if !rest.is_empty() || pieces.is_empty() {
        pieces.push(Piece::Text(rest));
    }
    pieces
}

/// The names that a value refers to.
pub fn env_names(value: &str) -> Vec<&str> {
    env_pieces(value)
        .into_iter()
        .filter_map(|piece| match piece {
            Piece::Variable(name) => Some(name),
            Piece::Text(_) => None,
        })
        .collect()
}

/// The names whose values a server is given by us or by its harness. claude fills in more than we do: `${X:-default}`, and names
/// in lower case.
pub fn names_a_harness_reads(value: &str) -> Vec<&str> {
    let mut names = env_names(value);
    let mut rest = value;
    while let Some((_, after)) = rest.split_once("${") {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = after.find(|c| !is_name(c)).unwrap_or(after.len());
        let (name, tail) = after.split_at(end);
        let is_closed = tail.starts_with('}') || (tail.starts_with(":-") && tail.contains('}'));
        if is_closed && !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) {
            names.push(name);
        }
        rest = after;
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// The names that stand as `$NAME` or `${NAME}` in a prompt, declared or not, each once.
pub fn names_in(prompt: &str) -> Vec<&str> {
    let mut names: Vec<&str> = prompt
        .match_indices('$')
        .filter_map(|(at, _)| {
            let after = &prompt[at + 1..];
            name_at(after.strip_prefix('{').unwrap_or(after))
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Fills in `$NAME` and `${NAME}` of declared inputs, in one pass: what a value contains is never expanded again.
pub fn fill_inputs(text: &str, values: &BTreeMap<String, String>) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        filled.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let braced = after.strip_prefix('{');
        let name = name_at(braced.unwrap_or(after));
        let closed = |name: &str| braced.is_none_or(|inner| inner[name.len()..].starts_with('}'));
        match name.filter(|name| closed(name)).and_then(|name| Some((name, values.get(name)?))) {
            Some((name, value)) => {
                filled.push_str(value);
                rest = &after[name.len() + if braced.is_some() { 2 } else { 0 }..];
            }
            None => {
                filled.push('$');
                rest = after;
            }
        }
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn env_references_are_whole_or_braced() {
        use Piece::{Text, Variable};
        assert_eq!(env_pieces("$TOKEN"), [Variable("TOKEN")]);
        assert_eq!(env_pieces("Bearer ${TOKEN}!"), [Text("Bearer "), Variable("TOKEN"), Text("!")]);
        assert_eq!(env_pieces("${A}${B}"), [Variable("A"), Variable("B")]);
        for literal in ["Bearer $TOKEN", "$lower", "${lower}", "${A", "$", "${}", "", "$A-B", "${A-B}"] {
            assert_eq!(env_pieces(literal), [Text(literal)], "{literal}");
        }
        assert_eq!(env_pieces("${a${B}"), [Text("${a"), Variable("B")]);
    }

    #[test]
    fn a_harness_reads_more_than_we_do() {
        assert_eq!(names_a_harness_reads("$A"), ["A"]);
        assert_eq!(names_a_harness_reads("${A} ${B:-x} ${c} ${d:-}"), ["A", "B", "c", "d"]);
        assert_eq!(names_a_harness_reads("${${X:-HOME}} ${A-B} ${1} ${} ${E:-x $F ${g"), ["X"]);
        assert_eq!(names_a_harness_reads("${a${B}"), ["B"]);
    }

    #[test]
    fn names_in_prompts_are_found_in_both_spellings() {
        assert_eq!(names_in("do $TASK in ${PLACE}, $TASK for $5 and $lower: $"), ["PLACE", "TASK"]);
    }

    #[test]
    fn only_declared_inputs_are_filled_in_and_only_once() {
        let values =
            BTreeMap::from([("A".into(), "$B".into()), ("B".into(), "b".into()), ("AB".into(), "ab".into())]);
        assert_eq!(fill_inputs("$A ${A} $B ${AB} $AB. $ABC ${A", &values), "$B $B b ab ab. $ABC ${A");
        assert_eq!(fill_inputs("$HOME costs $5 é$", &values), "$HOME costs $5 é$");
    }
}
