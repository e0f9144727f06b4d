//! The laws that whatever other people wrote must not break: one function a noun, which takes any bytes and panics where
//! a law is broken. The fuzzers in `fuzz/` call them with inputs of their own making, the tests with those that are kept.

mod archive;
mod events;
mod git;
mod import;
mod manifest;
pub(crate) mod persona;
mod records;
mod rules;
mod settings;
mod skill;
mod source;

/// A law by its name. The names are directories of `fuzz/corpus`.
pub type Target = (&'static str, fn(&[u8]));

pub const TARGETS: [Target; 11] = [
    ("archive", archive::check),
    ("events", events::check),
    ("git", git::check),
    ("import", import::check),
    ("manifest", manifest::check),
    ("persona", persona::check),
    ("records", records::check),
    ("rules", rules::check),
    ("settings", settings::check),
    ("skill", skill::check),
    ("source", source::check),
];

pub fn target(name: &str) -> Option<fn(&[u8])> {
    TARGETS.iter().find(|(known, _)| *known == name).map(|(_, check)| *check)
}

/// The parts of an input that has several: they stand between lines of `%%`.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n%%\n")
}

/// The first line of an input, and the rest: for laws that need a word besides the text.
fn headed(text: &str) -> (&str, &str) {
    text.split_once('\n').unwrap_or((text, ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};

    fn inputs(kind: &str, name: &str) -> Vec<PathBuf> {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz").join(kind).join(name);
        let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
        files.sort();
        files
    }

    /// Every input that a fuzzer once broke something with, and the corpus that it starts from.
    #[test]
    fn every_law_holds_for_the_inputs_that_are_kept() {
        for (name, check) in TARGETS {
            let corpus = inputs("corpus", name);
            assert!(!corpus.is_empty(), "{name} has no corpus");
            for file in corpus.into_iter().chain(inputs("found", name)) {
                // The name of the input is worth more than the trace of a panic.
                eprintln!("{}", file.display());
                check(&std::fs::read(&file).expect("readable"));
            }
        }
    }

    #[test]
    fn every_directory_of_inputs_belongs_to_a_law() {
        for kind in ["corpus", "found"] {
            let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz").join(kind);
            for entry in std::fs::read_dir(dir).into_iter().flatten() {
                let name = entry.expect("readable").file_name().into_string().expect("text");
                assert!(target(&name).is_some(), "{kind}/{name}");
            }
        }
    }
}
