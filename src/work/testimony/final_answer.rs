//! Finds the last JSON object of a text that carries a nonce. Does not judge what is in it.

use super::LARGEST_REPORT;
use memchr::memmem;
use serde::de::IgnoredAny;

/// How often the nonce is looked for, and how many bytes are read again while looking for the object around it: a text made to be
/// slow is given up.
const MOST_PLACES: usize = 64;
const MOST_BYTES: usize = 32 * 1024 * 1024;

/// The text of the object; none if the nonce is nowhere in the answer.
pub fn find<'t>(answer: &'t str, nonce: &str) -> Result<Option<&'t str>, String> {
    if nonce.is_empty() {
        return Ok(None);
    }
    let mut budget = MOST_BYTES;
    let mut was_named = false;
    for place in memmem::rfind_iter(answer.as_bytes(), nonce.as_bytes()).take(MOST_PLACES) {
        was_named = true;
        if let Some(object) = object_around(answer, place, nonce, &mut budget) {
            return Ok(Some(object));
        }
        if budget == 0 {
            break;
        }
    }
    if was_named {
        return Err("the final answer names the nonce, but not in a complete JSON object".to_owned());
    }
    Ok(None)
}

/// The innermost object that has the nonce at this place as a value of its own.
fn object_around<'t>(answer: &'t str, place: usize, nonce: &str, budget: &mut usize) -> Option<&'t str> {
    let from = answer.floor_char_boundary(place.saturating_sub(LARGEST_REPORT));
    let to = answer.floor_char_boundary(answer.len().min(from + 2 * LARGEST_REPORT));
    let window = &answer[from..to];
    for start in memchr::memrchr_iter(b'{', &window.as_bytes()[..place - from]) {
        if *budget == 0 {
            return None;
        }
        // What does not begin like an object with a key costs nothing.
        let rest = &window[start..];
        if !rest[1..].trim_start_matches([' ', '\t', '\n', '\r']).starts_with('"') {
            *budget = budget.saturating_sub(8);
            continue;
        }
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
        let parsed = values.next();
        let read = match &parsed {
            Some(Ok(_)) => values.byte_offset(),
            _ => rest.len(),
        };
        *budget = budget.saturating_sub(read.max(8));
        let is_around = matches!(parsed, Some(Ok(_))) && start + read > place - from;
        if is_around && carries(&rest[..read], nonce) {
            return Some(&rest[..read]);
        }
    }
    None
}

/// Whether the object itself, not one inside it, has the nonce. One with a repeated key counts: it is refused with a reason later.
fn carries(object: &str, nonce: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Nonce {
        nonce: Option<String>,
    }
    match serde_json::from_str::<Nonce>(object) {
        Ok(found) => found.nonce.as_deref() == Some(nonce),
        Err(error) => error.to_string().contains("duplicate field `nonce`"),
    }
}
