//! The personas and roles that are embedded in the binary. They were checked and inlined by `build.rs`.

mod embedded {
    include!(concat!(env!("OUT_DIR"), "/library.rs"));
}

/// One embedded file.
#[derive(Debug, Clone, Copy)]
pub struct Embedded {
    pub key: &'static str,
    pub intent: Option<&'static str>,
    pub json: &'static str,
    /// The same with an ellipsis for every long text, which a list does not show.
    pub outline: &'static str,
}

fn entries(table: &'static [(&str, Option<&str>, &str, &str)]) -> impl Iterator<Item = Embedded> {
    table.iter().map(|(key, intent, json, outline)| Embedded { key, intent: *intent, json, outline })
}

pub fn personas() -> impl Iterator<Item = Embedded> {
    entries(embedded::PERSONAS)
}

pub fn roles() -> impl Iterator<Item = Embedded> {
    entries(embedded::ROLES)
}

/// Whether the library has a persona of this id, in any case.
pub fn has_persona(id: &str) -> bool {
    personas().any(|persona| persona.key.eq_ignore_ascii_case(id))
}

pub fn has_role(key: &str) -> bool {
    roles().any(|role| role.key == key)
}
