//! Properties that must hold for all input from other people: one function per kind of input, which takes any bytes and
//! panics where a property is violated. The fuzzers in `fuzz/` call them with generated inputs, the tests with stored ones.

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
mod work;

/// A property check by its name. The names are directories of `fuzz/corpus`.
pub type Target = (&'static str, fn(&[u8]));

pub const TARGETS: [Target; 12] = [
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
    ("work", work::check),
];

pub fn target(name: &str) -> Option<fn(&[u8])> {
    TARGETS.iter().find(|(known, _)| *known == name).map(|(_, check)| *check)
}

/// The parts of an input, separated by lines of `%%`.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n%%\n")
}

/// The first line of an input, and the rest: for checks that need a name besides the text.
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

    /// Every input that once violated a property, and the corpus that the fuzzers start from.
    #[test]
    fn every_property_holds_for_the_stored_inputs() {
        for (name, check) in TARGETS {
            let corpus = inputs("corpus", name);
            assert!(!corpus.is_empty(), "{name} has no corpus");
            for file in corpus.into_iter().chain(inputs("found", name)) {
                // Names the input of a panic.
                eprintln!("{}", file.display());
                check(&std::fs::read(&file).expect("readable"));
            }
        }
    }

    /// Inputs whose time once grew with the square of their size, or worse.
    #[test]
    fn time_does_not_grow_with_the_square_of_the_size() {
        let many = |count: usize, each: &dyn Fn(usize) -> String| -> String {
            (0..count).map(each).collect::<Vec<_>>().join(",")
        };
        let persona = r#"{"id":"a","intent":"i","systemPrompt":"p""#;
        let unknown = many(30_000, &|n| format!("\"k{n}\":1"));
        let allowed = many(30_000, &|n| format!("\"t{n}\""));
        let tools = many(30_000, &|n| format!("T{n}"));
        let free = many(8_000, &|n| format!("\"x-{n}\":1"));
        let denials = many(20_000, &|n| format!("{{\"tool_name\":\"T{n}\"}}"));
        let again = many(30_000, &|n| format!("\"t{}\"", n * 2));
        let inputs = [
            ("settings", format!("{{{unknown}}}")),
            ("persona", format!("{persona},{unknown}}}")),
            ("persona", format!("{persona},{free}}}")),
            (
                "persona",
                format!(
                    "{persona},\"permissions\":{{\"allow\":[{allowed}]}}}}\n%%\n{{\"id\":\"a\",\"permissions\":{{\"allow\":[{again}],\"removeAllow\":[{again}]}}}}"
                ),
            ),
            ("import", format!("a.md\n---\nname: a\ntools: {tools}\n---\nx")),
            ("events", format!("claude\n{{\"type\":\"result\",\"permission_denials\":[{denials}]}}")),
        ];
        for (name, input) in inputs {
            let began = std::time::Instant::now();
            target(name).expect("a known check")(input.as_bytes());
            assert!(began.elapsed().as_secs() < 60, "{name}: {} after {:?}", &input[..60], began.elapsed());
        }
    }

    #[test]
    fn every_directory_of_inputs_belongs_to_a_check() {
        for kind in ["corpus", "found"] {
            let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz").join(kind);
            for entry in std::fs::read_dir(dir).into_iter().flatten() {
                let name = entry.expect("readable").file_name().into_string().expect("text");
                assert!(target(&name).is_some(), "{kind}/{name}");
            }
        }
    }
}
