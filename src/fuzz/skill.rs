//! The frontmatter of a SKILL.md: completing it loses nothing and is idempotent.

use crate::skills::frontmatter::{completed, first_words, name_in, plain_name};

pub fn check(data: &[u8]) {
    let _ = (first_words(data), name_in(data).and_then(|name| plain_name(&name)));
    let once = completed(data, "a-skill", "what \"it\" does");
    assert_eq!(name_in(&once).as_deref(), Some("a-skill"), "{}", String::from_utf8_lossy(&once));
    let twice = completed(&once, "a-skill", "what \"it\" does");
    assert!(twice == once, "{}", String::from_utf8_lossy(&twice));
    if let Some(name) = std::str::from_utf8(data).ok().and_then(plain_name) {
        assert_eq!(plain_name(&name), Some(name));
    }
}
